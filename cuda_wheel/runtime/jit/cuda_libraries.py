"""Find CUDA's compilers, which are libraries with a C interface, and call them through ctypes.

`cuda.bindings` has modules for them too, but `cuda.bindings.nvrtc` loads NVRTC of its own major version only, and an
environment with PyTorch has cuda-bindings 13 whatever the toolchain.

This module imports the standard library only, and no `typing`: every worker of a build imports it at its start.
"""

import os
import sys
from functools import cache

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

__all__ = [
    "PackagedLibrary",
    "files_of",
    "library_path",
    "library_release",
    "load_library",
    "open_library",
    "packaged_libraries",
    "read_output",
    "search",
]

_FOLDERS_OF_12 = {
    "nvrtc": "cuda_nvrtc",
    "nvJitLink": "nvjitlink",
    "nvfatbin": "nvfatbin",
    "nvvm": os.path.join("cuda_nvcc", "nvvm"),
}
"""Folders below `nvidia` of each library's package for CUDA 12. Those of later releases share one: `cu13`."""

PackagedLibrary = tuple[int, str, str]
"""A library of an installed package: CUDA's major version, the folder of packages, and the library's absolute path."""


def packaged_libraries(name: str) -> "Iterator[PackagedLibrary]":
    """Yield every library of a name in the folders of `sys.path`: "nvrtc", "nvJitLink", "nvfatbin" or "nvvm".

    They come in the order of the folders, and of one folder the newest first.
    """
    for folder in dict.fromkeys(filter(os.path.isabs, sys.path)):
        try:
            names = os.listdir(os.path.join(folder, "nvidia"))
        except OSError:
            continue
        majors = {int(each[2:]) for each in names if each.startswith("cu") and each[2:].isdigit()}
        for major in sorted(majors | {12}, reverse=True):
            below = f"cu{major}" if major > 12 else _FOLDERS_OF_12[name]
            path = _file_of(name, major, os.path.join(folder, "nvidia", below))
            if path is not None:
                yield major, folder, path


def _file_of(name: str, major: int, package: str) -> str | None:
    """Return the path of a library in the folder of its package; None if it is not there."""
    if sys.platform == "win32":
        import platform  # slow to import, and only Windows has folders by processor

        machine = "arm64" if platform.machine().lower() in ("arm64", "aarch64") else "x86_64"
        below = ("bin", machine) if major > 12 else ("bin",)
        file = f"nvrtc64_{major}0_0.dll" if name == "nvrtc" else f"{name}_{major}0_0.dll"
        start, end = ("nvvm64", ".dll") if name == "nvvm" else (file, "")
    else:
        below = ("lib64",) if name == "nvvm" and major == 12 else ("lib",)
        start, end = ("libnvvm.so", "") if name == "nvvm" else (f"lib{name}.so.{major}", "")
    folder = os.path.join(package, *below)
    try:
        found = sorted(each for each in os.listdir(folder) if each.startswith(start) and each.endswith(end))
    except OSError:
        return None
    exact = [each for each in found if each == start] or found
    return os.path.join(folder, exact[0]) if exact else None


def search(name: str) -> str | None:
    """Return the absolute path of a library as `library_path` does.

    The workers of a build replace this function: all calls of a build need the libraries of one release.
    """
    try:
        from cuda.pathfinder import load_nvidia_dynamic_lib  # optional; finds conda's libraries and toolkits too
    except ImportError:
        return next((path for _, _, path in packaged_libraries(name)), None)
    try:
        return str(load_nvidia_dynamic_lib(name).abs_path)
    except (OSError, RuntimeError):
        return None


def library_path(name: str) -> str | None:
    """Return the absolute path of an installed library, "nvrtc", "nvJitLink" or "nvfatbin"; None without one."""
    return search(name)


def open_library(name: str) -> "Any":
    """Return an installed library; None if there is none, or if the system cannot load it."""
    path = library_path(name)
    try:
        return None if path is None else load_library(path)
    except OSError:
        return None


def files_of(library: str) -> list[str]:
    """Return the paths of a library and of what it loads from its own folder: NVRTC has its builtins there."""
    import glob  # only for what is compiled on this machine

    folder, name = os.path.split(library)
    builtins = glob.glob(os.path.join(glob.escape(folder), "*nvrtc-builtins*")) if "nvrtc" in name.lower() else []
    return [library, *(each for each in sorted(builtins) if each != library)]


@cache
def load_library(path: str) -> "Any":
    """Return the library at a path; raises OSError."""
    import ctypes  # only where something is compiled

    if "nvrtc" in os.path.basename(path):  # some releases do not find their builtins
        for builtins in files_of(path)[1:]:
            ctypes.CDLL(builtins)
    return ctypes.CDLL(path)


def library_release(library: "Any", name: str) -> tuple[int, int] | None:
    """Return the CUDA release of a library, "nvrtc", "nvJitLink" or "nvfatbin"; None without one."""
    import ctypes

    function = {"nvrtc": "nvrtcVersion", "nvJitLink": "nvJitLinkVersion", "nvfatbin": "nvFatbinVersion"}[name]
    major, minor = ctypes.c_int(), ctypes.c_int()
    if library is None or getattr(library, function)(ctypes.byref(major), ctypes.byref(minor)):
        return None
    return major.value, minor.value


def read_output(library: "Any", name: str, handle: "Any", check: "Callable[[int], None]") -> bytes:
    """Return an output of a library: "nvrtcGetPTX" for what nvrtcGetPTX writes, of the size that nvrtcGetPTXSize tells.

    `handle` is a program or a link, and `check` raises an error for the status of a call that failed.
    """
    import ctypes

    size = ctypes.c_size_t()
    check(getattr(library, f"{name}Size")(handle, ctypes.byref(size)))
    buffer = ctypes.create_string_buffer(size.value)
    if size.value:
        check(getattr(library, name)(handle, buffer))
    return buffer.raw
