"""Compile sources that include PyTorch's headers with the macros that PyTorch's `BuildExtension` defines.

Without them the operators and conversions of half-precision types take part in overload resolution, so that a source
may be ambiguous, or may mean another function than in the extension that it comes from. `--expt-relaxed-constexpr`,
which PyTorch also passes, is what cuda-wheel does for all sources. Source: torch.utils.cpp_extension,
COMMON_NVCC_FLAGS and BuildExtension.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from cuda_wheel.builder.config.compiler_options import macro_options, read_options
from cuda_wheel.builder.config.names import TABLE
from cuda_wheel.builder.config.settings import ModuleConfig
from cuda_wheel.builder.sources.header_dependencies import option_folders, reached
from cuda_wheel.builder.sources.source_files import Source
from cuda_wheel.builder.toolchain.toolchain import INCLUDE

__all__ = [
    "BUILD_MACROS",
    "PYTORCH_MACROS",
    "includes_pytorch",
    "needs_pytorch",
    "pytorch_note",
    "with_pytorch_options",
]

PYTORCH_MACROS = (
    "__CUDA_NO_BFLOAT16_CONVERSIONS__",
    "__CUDA_NO_HALF2_OPERATORS__",
    "__CUDA_NO_HALF_CONVERSIONS__",
    "__CUDA_NO_HALF_OPERATORS__",
)
"""Macros that PyTorch's build defines as 1 for device code."""

BUILD_MACROS = (*PYTORCH_MACROS, "TORCH_API_INCLUDE_EXTENSION_H", "TORCH_EXTENSION_NAME")
"""All macros that PyTorch's build defines. The value of TORCH_EXTENSION_NAME is the last part of the module's name; the
others are 1."""

_PYTORCH = re.compile(rb'^[ \t]*#[ \t]*include[ \t]*[<"]((?:torch|ATen|c10|THC|caffe2)/[^>"\n]*)', re.MULTILINE)
"""Matches an include of a header of PyTorch. Group 1 is its name."""

_READ_IF_INSTALLED = re.compile(rb"float8|philox", re.IGNORECASE)
"""Matches names that the stand-ins take from the installed PyTorch, if there is one."""


def with_pytorch_options(
    settings: ModuleConfig, sources: Iterable[Source], root: Path, note: Callable[[str], object]
) -> ModuleConfig:
    """Return a module's settings with PyTorch's macros, if one of its sources includes a header of PyTorch, directly or
    through the project's headers, and the settings do not refuse them.

    A macro that the project's `defines` or options define or undefine is left as it is. `note` gets each
    project-relative path where a header was looked for.
    """
    if not settings.pytorch_options:
        return settings
    arguments = read_options(settings.options, "options").arguments
    folders = (*settings.include_dirs, *option_folders(arguments))
    if not any(includes_pytorch(each, root, folders, note) for each in sources if each.kind == "cuda"):
        return settings
    own = {option.name for option in macro_options(arguments)}
    added = dict.fromkeys(BUILD_MACROS, "1") | {"TORCH_EXTENSION_NAME": settings.name.rpartition(".")[2]}
    defines = {name: value for name, value in added.items() if name not in own} | dict(settings.defines)
    return replace(settings, defines=tuple(sorted(defines.items())))


def includes_pytorch(
    source: Source, root: Path, folders: Iterable[str], note: Callable[[str], object] = lambda path: None
) -> bool:
    """Return whether a source includes a header of PyTorch, directly or through the project's headers."""
    return any(map(_PYTORCH.search, _texts(source, root, folders, note)))


def needs_pytorch(source: Source, root: Path, folders: Iterable[str]) -> bool:
    """Return whether a source compiles only where PyTorch is installed.

    So it is if the source or one of the project's headers includes a header of PyTorch that has no stand-in, or uses
    what the stand-ins take from the installed PyTorch.
    """
    return any(
        _READ_IF_INSTALLED.search(text) or not all(map(_has_stand_in, _PYTORCH.findall(text)))
        for text in _texts(source, root, folders)
    )


def _has_stand_in(name: bytes) -> bool:
    """Return whether a header of PyTorch has a stand-in. Those of single operators have one that is made of a list."""
    return name.startswith(b"ATen/ops/") or (INCLUDE.parent / "pytorch" / os.fsdecode(name.strip())).is_file()


def _texts(
    source: Source, root: Path, folders: Iterable[str], note: Callable[[str], object] = lambda path: None
) -> Iterator[bytes]:
    """Yield the content of a source, then that of each header of the project that it reaches."""
    yield source.content
    for path in reached(root, source.path, tuple(folders), note):
        if path != source.path:
            yield (root / path).read_bytes()


def pytorch_note(names: Sequence[str]) -> list[str]:
    """Return one line which says that the modules of these names got PyTorch's macros; no line if there are none."""
    shown = ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
    if not names:
        return []
    return [
        f"{shown}: PyTorch's headers are included, so compiled with the macros of PyTorch's BuildExtension "
        f"(__CUDA_NO_HALF_OPERATORS__, ...); {TABLE}.pytorch-options = false leaves them out"
    ]
