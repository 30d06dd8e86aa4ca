"""Find CUDA's compilers, which are libraries with a C interface, call them through ctypes, and identify their builds.

`cuda.bindings` has modules for them too, but `cuda.bindings.nvrtc` loads NVRTC of its own major version only, and an
environment with PyTorch has cuda-bindings 13 whatever the toolchain. The libraries' own version numbers are MAJOR.MINOR
only, which does not identify a build.
"""

import ctypes
import os
import struct
import sys
from collections.abc import Sequence
from functools import cache
from typing import Any, BinaryIO

from ..errors import ImageError
from ..manifest import Version

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
__all__ = [
    "PackagedLibrary",
    "build_id",
    "build_of",
    "driver_build",
    "files_of",
    "library_path",
    "library_release",
    "link_code",
    "link_code_with_logs",
    "load_library",
    "loaded_build",
    "nvjitlink_build",
    "nvjitlink_version",
    "open_library",
    "packaged_libraries",
    "read_output",
]


_FOLDERS_OF_12 = {
    "nvrtc": "cuda_nvrtc",
    "nvJitLink": "nvjitlink",
    "nvfatbin": "nvfatbin",
    "nvvm": os.path.join("cuda_nvcc", "nvvm"),
}
"""Library -> its folder below `nvidia` in the Python package that holds it for CUDA 12. From CUDA 13 on, all libraries
are in one folder, such as `nvidia/cu13`."""

PackagedLibrary = tuple[int, str, str]
"""A library in an installed Python package: CUDA's major version, the folder of `sys.path` that holds the package, and
the absolute path of the library."""


def packaged_libraries(name: str) -> "Iterator[PackagedLibrary]":
    """Yield every installed "nvrtc", "nvJitLink", "nvfatbin" or "nvvm" in the folders of `sys.path`.

    They come in the order of the folders, and in each folder the newest first.
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


def _file_of(name: str, major: int, folder: str) -> str | None:
    """Return the path of the library `name` for CUDA's version `major`; None if the library is not there. `folder`:
    folder of the library's Python package, such as "/site-packages/nvidia/cu13"."""
    below, start, end = _place_in_package(name, major)
    folder = os.path.join(folder, *below)
    try:
        found = sorted(each for each in os.listdir(folder) if each.startswith(start) and each.endswith(end))
    except OSError:
        return None
    exact = [each for each in found if each == start] or found
    return os.path.join(folder, exact[0]) if exact else None


def _place_in_package(name: str, major: int) -> tuple[tuple[str, ...], str, str]:
    """Return (folder, prefix, suffix) of a library: its folder in its Python package, as the parts of a path, and the
    prefix and suffix of its file name. "nvrtc", 12 -> (("lib",), "libnvrtc.so.12", "")."""
    if sys.platform == "win32":
        import platform  # slow to import, and only Windows has folders by processor

        machine = "arm64" if platform.machine().lower() in ("arm64", "aarch64") else "x86_64"
        below = ("bin", machine) if major > 12 else ("bin",)
        file = f"nvrtc64_{major}0_0.dll" if name == "nvrtc" else f"{name}_{major}0_0.dll"
        return (below, "nvvm64", ".dll") if name == "nvvm" else (below, file, "")
    if name == "nvvm":
        return ("lib64",) if major == 12 else ("lib",), "libnvvm.so", ""
    return ("lib",), f"lib{name}.so.{major}", ""


def library_path(name: str) -> str | None:
    """Return the absolute path of an installed library, "nvrtc", "nvJitLink" or "nvfatbin"; None without one.

    Workers of a build replace this function, so that all calls of a build use the libraries of one release.
    """
    try:
        from cuda.pathfinder import load_nvidia_dynamic_lib  # optional; finds conda's libraries and toolkits too

        return str(load_nvidia_dynamic_lib(name).abs_path)
    except (ImportError, OSError, RuntimeError):  # it does not search PYTHONPATH, nor frozen applications
        return next((path for _, _, path in packaged_libraries(name)), None)


def open_library(name: str) -> "Any":
    """Return an installed library; None if there is none, or if the system cannot load it."""
    path = library_path(name)
    try:
        return None if path is None else load_library(path)
    except OSError:
        return None


def files_of(library: str) -> list[str]:
    """Return the path of a library and, for NVRTC, of its builtins, which it loads from its own folder."""
    import glob  # only for what is compiled on this machine

    folder, name = os.path.split(library)
    builtins = glob.glob(os.path.join(glob.escape(folder), "*nvrtc-builtins*")) if "nvrtc" in name.lower() else []
    return [library, *(each for each in sorted(builtins) if each != library)]


@cache
def load_library(path: str) -> "Any":
    """Load the library at a path with ctypes; raises OSError."""
    if "nvrtc" in os.path.basename(path):  # some releases do not find their builtins
        for builtins in files_of(path)[1:]:
            ctypes.CDLL(builtins)
    return ctypes.CDLL(path)


def library_release(library: "Any", name: str) -> tuple[int, int] | None:
    """Return the CUDA release of a loaded library, "nvrtc", "nvJitLink" or "nvfatbin"; None for None."""
    function = {"nvrtc": "nvrtcVersion", "nvJitLink": "nvJitLinkVersion", "nvfatbin": "nvFatbinVersion"}[name]
    major, minor = ctypes.c_int(), ctypes.c_int()
    if library is None or getattr(library, function)(ctypes.byref(major), ctypes.byref(minor)):
        return None
    return major.value, minor.value


def read_output(library: "Any", name: str, handle: "Any", check: "Callable[[int], None]") -> bytes:
    """Return an output of a library: for "nvrtcGetPTX", what nvrtcGetPTX writes, whose size nvrtcGetPTXSize returns.

    `handle` is a program or a link, and `check` raises an error for the status of a call that failed.
    """
    size = ctypes.c_size_t()
    check(getattr(library, f"{name}Size")(handle, ctypes.byref(size)))
    buffer = ctypes.create_string_buffer(size.value)
    if size.value:
        check(getattr(library, name)(handle, buffer))
    return buffer.raw


_NOTE_SEGMENT, _GNU_BUILD_ID = 4, 3
"""ELF constants. PT_NOTE is the type of a segment with notes. NT_GNU_BUILD_ID is the type of the note with the build
ID, which the linker computes from the library's content."""

_LARGEST_NOTE = 1 << 16


def build_of(path: str) -> str:
    """Return an identifier of a library file's content; raise OSError if it cannot be read.

    It is the file's size with the build ID or, without one (as on Windows), with the path and time of change.
    """
    with open(path, "rb") as file:
        status = os.fstat(file.fileno())
        build = build_id(file)
    return f"{status.st_size} {build or f'{os.path.realpath(path)} {status.st_mtime_ns}'}"


def build_id(file: BinaryIO) -> str | None:
    """Return the build ID (hexadecimal) of an open library; None if it has none."""
    head = file.read(64)
    if head[:6] != b"\x7fELF\x02\x01":  # not a 64-bit little-endian ELF file
        return None
    try:
        (table,) = struct.unpack_from("<Q", head, 32)
        size, count = struct.unpack_from("<HH", head, 54)
        file.seek(table)
        segments = file.read(size * count)
        for number in range(count):
            kind, _, start, _, _, length = struct.unpack_from("<IIQQQQ", segments, number * size)
            if kind == _NOTE_SEGMENT:
                file.seek(start)
                found = _build_id_note(file.read(min(length, _LARGEST_NOTE)))
                if found is not None:
                    return found.hex()
    except struct.error:  # a damaged file
        pass
    return None


def _build_id_note(notes: bytes) -> bytes | None:
    """Return the build ID in `notes`, the content of a segment with ELF notes; None if no note holds a build ID."""
    at = 0
    while at + 12 <= len(notes):
        name_size, size, kind = struct.unpack_from("<III", notes, at)
        name, start = notes[at + 12 : at + 12 + name_size], at + 12 + -(-name_size // 4) * 4
        if kind == _GNU_BUILD_ID and name == b"GNU\0":
            return notes[start : start + size] or None
        at = start + -(-size // 4) * 4
    return None


def loaded_build(library: str) -> str | None:
    """Return an identifier of the exact build of an installed library, such as "nvJitLink".

    None if it is unknown: the library's output must then not be cached.
    """
    path = library_path(library)
    try:
        return None if path is None else "; ".join(map(build_of, files_of(path)))
    except OSError:
        return None


def driver_build() -> str | None:
    """Return an identifier of the exact release of the driver that this process has loaded; None if it is unknown."""
    try:
        found = sorted({f"{os.path.basename(os.path.realpath(path))} {build_of(path)}" for path in _driver_libraries()})
    except OSError:
        return None
    return "; ".join(found) or None


def _driver_libraries() -> list[str]:
    """Return the paths of the driver's libraries that this process has loaded. Such a path may be a link to a file
    whose name has the driver's release: libcuda.so.580.65.06."""
    if sys.platform == "win32":
        return [os.path.join(os.environ.get("SYSTEMROOT", "C:\\Windows"), "System32", "nvcuda.dll")]
    with open("/proc/self/maps", encoding="utf-8", errors="surrogateescape") as maps:
        paths = {line.split(maxsplit=5)[5].rstrip("\n") for line in maps if "/libcuda.so" in line}
    return sorted(path for path in paths if os.path.isfile(path))


_KINDS = {"CUBIN": 1, "PTX": 2, "LTOIR": 3, "FATBIN": 4, "OBJECT": 5, "LIBRARY": 6}
"""Input kind -> number in nvJitLinkInputType. Source: nvJitLink, nvJitLinkInputType."""

_ERRORS = (
    "ERROR_UNRECOGNIZED_OPTION", "ERROR_MISSING_ARCH", "ERROR_INVALID_INPUT", "ERROR_PTX_COMPILE",
    "ERROR_NVVM_COMPILE", "ERROR_INTERNAL", "ERROR_THREADPOOL", "ERROR_UNRECOGNIZED_INPUT", "ERROR_FINALIZE",
    "ERROR_NULL_INPUT", "ERROR_INCOMPATIBLE_OPTIONS", "ERROR_INCORRECT_INPUT_TYPE", "ERROR_ARCH_MISMATCH",
    "ERROR_OUTDATED_LIBRARY", "ERROR_MISSING_FATBIN", "ERROR_UNRECOGNIZED_ARCH", "ERROR_UNSUPPORTED_ARCH",
    "ERROR_LTO_NOT_ENABLED",
)  # fmt: skip
"""Names of nvJitLinkResult's errors, in the order of their numbers, which begin at 1. Source: nvJitLink,
nvJitLinkResult."""


class _FailedCallError(Exception):
    """A function of nvJitLink failed; the message is the name of its status."""


def nvjitlink_version() -> Version | None:
    """Return the CUDA release of the installed nvJitLink; None without one."""
    return library_release(open_library("nvJitLink"), "nvJitLink")


def nvjitlink_build() -> str | None:
    """Return an identifier of the exact build of the installed nvJitLink; None if it is unknown.

    `nvjitlink_version` is MAJOR.MINOR, and the patches of one version compile differently.
    """
    return loaded_build("nvJitLink")


def link_code(inputs: Sequence[tuple[str, str, bytes]], options: Sequence[str], ptx: bool = False) -> tuple[bytes, str]:
    """Return the cubin or, with `ptx`, the PTX that nvJitLink links from the inputs, and its log.

    An input is its kind ("CUBIN", "PTX", "LTOIR", "FATBIN", "OBJECT", "LIBRARY"), its name in messages, and its
    content. Raises ImageError with nvJitLink's error log.
    """
    code, log, _ = link_code_with_logs(inputs, options, ptx)
    return code, log


def link_code_with_logs(
    inputs: Sequence[tuple[str, str, bytes]], options: Sequence[str], ptx: bool = False
) -> tuple[bytes, str, str]:
    """Return what `link_code` does, and the error log, which may have text even if the link succeeds."""
    library = open_library("nvJitLink")
    if library is None:
        raise ImageError("nvJitLink is not installed")
    handle = ctypes.c_void_p()
    arguments = (ctypes.c_char_p * len(options))(*(option.encode() for option in options))
    try:
        _check(library.nvJitLinkCreate(ctypes.byref(handle), ctypes.c_uint32(len(options)), arguments))
    except _FailedCallError as error:
        raise ImageError(f"nvJitLink refuses an option of {' '.join(options)}: {error}") from error
    # nvJitLink keeps pointers to the names until the link is done.
    names = [name.encode() for _, name, _ in inputs]
    try:
        for (kind, _, content), name in zip(inputs, names, strict=True):
            _check(library.nvJitLinkAddData(handle, _KINDS[kind], content, ctypes.c_size_t(len(content)), name))
        _check(library.nvJitLinkComplete(handle))
        code = read_output(library, f"nvJitLinkGetLinked{'Ptx' if ptx else 'Cubin'}", handle, _check)
        return code, _log_of(library, "Info", handle), _log_of(library, "Error", handle)
    except _FailedCallError as error:
        raise ImageError(_log_of(library, "Error", handle) or str(error)) from error
    finally:
        library.nvJitLinkDestroy(ctypes.byref(handle))


def _check(status: int) -> None:
    if status != 0:
        name = _ERRORS[status - 1] if 0 < status <= len(_ERRORS) else "error"
        raise _FailedCallError(f"{name} ({status})")


def _log_of(library: Any, which: str, handle: Any) -> str:
    log = read_output(library, f"nvJitLinkGet{which}Log", handle, _check)
    return log.rstrip(b"\0\n ").decode(errors="replace")
