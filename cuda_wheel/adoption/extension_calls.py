"""Find the extensions that a setup.py builds with PyTorch's `CUDAExtension`, and the flags of their CUDA sources."""

from __future__ import annotations

import glob
import os
from pathlib import Path
from typing import Any, NamedTuple

from cuda_wheel.adoption.script_reader import ScriptCall, calls_in
from cuda_wheel.adoption.script_values import UNKNOWN, known

__all__ = ["BUILD_EXTENSION", "Extension", "extensions_in"]

BUILD_EXTENSION = (
    "-D__CUDA_NO_HALF_OPERATORS__",
    "-D__CUDA_NO_HALF_CONVERSIONS__",
    "-D__CUDA_NO_BFLOAT16_CONVERSIONS__",
    "-D__CUDA_NO_HALF2_OPERATORS__",
    "--expt-relaxed-constexpr",
)
"""What PyTorch passes to nvcc before an extension's own options (torch.utils.cpp_extension, COMMON_NVCC_FLAGS)."""

_FUNCTIONS = ("CUDAExtension", "load")
"""Those that name the CUDA sources of an extension, in a setup.py and at run time."""


class Extension(NamedTuple):
    """An extension with CUDA sources, as a Python file declares it."""

    name: str
    sources: tuple[str, ...]
    """Its `.cu` files, absolute paths."""
    folders: tuple[str, ...]
    """Its include folders, absolute paths."""
    options: tuple[str, ...]
    """The options that nvcc gets, macros included, and those that PyTorch adds."""
    is_linked: bool
    """Whether its device code is linked across sources."""
    line: int
    unread: tuple[str, ...]
    """The arguments that the text does not determine, in whole or in part."""


def extensions_in(path: Path) -> list[Extension]:
    """Return the extensions that a Python file declares and that have CUDA sources. Raises ConfigError."""
    found = (_extension(call, path.parent) for call in calls_in(path, _FUNCTIONS))
    return [extension for extension in found if extension is not None]


def _extension(call: ScriptCall, folder: Path) -> Extension | None:
    listed = call.argument(1, "sources")
    sources = [path for each in _texts(listed) for path in _paths(each, folder) if path.endswith(".cu")]
    if not sources:
        return None
    name = call.argument(0, "name")
    options, folders = call.keywords.get("extra_cuda_cflags"), call.keywords.get("extra_include_paths")
    macros: Any = None
    if call.function == "CUDAExtension":
        options, folders = call.keywords.get("extra_compile_args"), call.keywords.get("include_dirs")
        options = options.get("nvcc") if isinstance(options, dict) else options
        macros = call.keywords.get("define_macros")
    defines = [f"-D{each[0]}" + (f"={each[1]}" if each[1] is not None else "") for each in _pairs(macros)]
    own = [*defines, *_texts(options)]
    arguments = {"sources": listed, "include_dirs": folders, "define_macros": macros, "nvcc's options": options}
    name = name if isinstance(name, str) else _stem(sources[0])
    named = (f"-DTORCH_EXTENSION_NAME={name.rpartition('.')[2]}", "-DTORCH_API_INCLUDE_EXTENSION_H")
    return Extension(
        name,
        tuple(dict.fromkeys(sources)),
        tuple(os.path.abspath(os.path.join(folder, each)) for each in _texts(folders)),
        (*BUILD_EXTENSION, *own, *named),
        call.keywords.get("dlink") is True,
        call.node.lineno,
        tuple(what for what, value in arguments.items() if not _is_determined(value)),
    )


def _stem(path: str) -> str:
    """Return the name of a file without folders and suffixes."""
    return os.path.basename(path).partition(".")[0]


def _texts(value: Any) -> list[str]:
    """Return the strings and paths of a list."""
    if isinstance(value, str):
        return [value]
    return [os.fspath(each) for each in known(value) if isinstance(each, (str, os.PathLike))]


def _pairs(value: Any) -> list[tuple[str, Any]]:
    return [(each[0], each[1]) for each in known(value) if isinstance(each, (tuple, list)) and len(each) == 2]


def _paths(path: str, folder: Path) -> list[str]:
    """Return the absolute paths of a source, which may be a pattern."""
    whole = os.path.abspath(os.path.join(folder, path))
    return sorted(glob.glob(whole)) if "*" in path else [whole]


def _is_determined(value: Any) -> bool:
    return value is not UNKNOWN and not (isinstance(value, (list, tuple)) and UNKNOWN in value)
