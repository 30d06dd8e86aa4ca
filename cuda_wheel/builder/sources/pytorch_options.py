"""Compile sources that include PyTorch's headers with the macros that PyTorch's `BuildExtension` defines.

Without them the operators and conversions of half-precision types take part in overload resolution, so that a source
may be ambiguous, or may mean another function than in the extension that it comes from. `--expt-relaxed-constexpr`,
which PyTorch also passes, is what cuda-wheel does for all sources. Source: torch.utils.cpp_extension,
COMMON_NVCC_FLAGS and BuildExtension.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from cuda_wheel.builder.config.compiler_options import macro_options, read_options
from cuda_wheel.builder.config.settings import TABLE, ModuleConfig
from cuda_wheel.builder.sources.header_dependencies import option_folders, reached
from cuda_wheel.builder.sources.source_files import Source

__all__ = ["BUILD_MACROS", "PYTORCH_MACROS", "includes_pytorch", "pytorch_note", "with_pytorch_options"]

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

_PYTORCH = re.compile(rb'^[ \t]*#[ \t]*include[ \t]*[<"](?:torch|ATen|c10|THC|caffe2)/', re.MULTILINE)


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
    if _PYTORCH.search(source.content):
        return True
    headers = (root / path for path in reached(root, source.path, tuple(folders), note) if path != source.path)
    return any(_PYTORCH.search(header.read_bytes()) for header in headers)


def pytorch_note(names: Sequence[str]) -> list[str]:
    """Return one line which says that the modules of these names got PyTorch's macros; no line if there are none."""
    shown = ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
    if not names:
        return []
    return [
        f"{shown}: PyTorch's headers are included, so compiled with the macros of PyTorch's BuildExtension "
        f"(__CUDA_NO_HALF_OPERATORS__, ...); {TABLE}.pytorch-options = false leaves them out"
    ]
