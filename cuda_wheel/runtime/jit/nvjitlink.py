"""Call nvJitLink, of any major version, through ctypes."""

import ctypes
from collections.abc import Sequence
from typing import Any

from ..errors import ImageError
from ..manifest import Version
from .cuda_libraries import library_release, open_library, read_output
from .library_builds import loaded_build

__all__ = ["link_code", "link_code_with_logs", "log_text", "nvjitlink_build", "nvjitlink_version"]

_KINDS = {"CUBIN": 1, "PTX": 2, "LTOIR": 3, "FATBIN": 4, "OBJECT": 5, "LIBRARY": 6}
"""Source: nvJitLink, nvJitLinkInputType."""

_ERRORS = (
    "ERROR_UNRECOGNIZED_OPTION", "ERROR_MISSING_ARCH", "ERROR_INVALID_INPUT", "ERROR_PTX_COMPILE",
    "ERROR_NVVM_COMPILE", "ERROR_INTERNAL", "ERROR_THREADPOOL", "ERROR_UNRECOGNIZED_INPUT", "ERROR_FINALIZE",
    "ERROR_NULL_INPUT", "ERROR_INCOMPATIBLE_OPTIONS", "ERROR_INCORRECT_INPUT_TYPE", "ERROR_ARCH_MISMATCH",
    "ERROR_OUTDATED_LIBRARY", "ERROR_MISSING_FATBIN", "ERROR_UNRECOGNIZED_ARCH", "ERROR_UNSUPPORTED_ARCH",
    "ERROR_LTO_NOT_ENABLED",
)  # fmt: skip
"""Source: nvJitLink, nvJitLinkResult, from 1 on."""


class _FailedCallError(Exception):
    """A function of nvJitLink failed; the message is the name of its status."""


def nvjitlink_version() -> Version | None:
    """Return the version of the installed nvJitLink, or None without one."""
    return library_release(open_library("nvJitLink"), "nvJitLink")


def nvjitlink_build() -> str | None:
    """Return what identifies the exact build of the installed nvJitLink; None if that is unknown.

    `nvjitlink_version` is MAJOR.MINOR, and the patches of one version compile differently.
    """
    return loaded_build("nvJitLink")


def link_code(inputs: Sequence[tuple[str, str, bytes]], options: Sequence[str], ptx: bool = False) -> tuple[bytes, str]:
    """Return the cubin, or PTX, that nvJitLink links from the inputs, and its log.

    An input is its kind ("CUBIN", "PTX", "LTOIR", "FATBIN", "OBJECT", "LIBRARY"), its name in messages, and its
    content. Raises ImageError with nvJitLink's error log.
    """
    code, log, _ = link_code_with_logs(inputs, options, ptx)
    return code, log


def link_code_with_logs(
    inputs: Sequence[tuple[str, str, bytes]], options: Sequence[str], ptx: bool = False
) -> tuple[bytes, str, str]:
    """Link as `link_code` does; also return the error log, which may have text after a success too."""
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
    return log_text(read_output(library, f"nvJitLinkGet{which}Log", handle, _check))


def log_text(log: bytes | bytearray) -> str:
    """Return the text in a log buffer."""
    return log.rstrip(b"\0\n ").decode(errors="replace")
