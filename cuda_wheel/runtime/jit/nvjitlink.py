"""Call nvJitLink through `cuda.bindings`."""

from collections.abc import Callable, Sequence
from typing import Any

from ..errors import ImageError
from ..manifest import Version
from .library_builds import loaded_build

__all__ = ["link_code", "link_code_with_logs", "log_text", "nvjitlink_build", "nvjitlink_version"]


def nvjitlink_version() -> Version | None:
    """Return the version of the installed nvJitLink, or None without one."""
    try:
        from cuda.bindings import nvjitlink  # optional

        version: tuple[int, int] = nvjitlink.version()
    except (ImportError, RuntimeError):  # no binding, or no library behind it
        return None
    return version


def nvjitlink_build() -> str | None:
    """Return what identifies the exact build of the installed nvJitLink; None if that is unknown.

    `nvjitlink_version` is MAJOR.MINOR, and the patches of one version compile differently.
    """
    return loaded_build("nvJitLink")


def link_code(inputs: Sequence[tuple[str, str, bytes]], options: Sequence[str], ptx: bool = False) -> tuple[bytes, str]:
    """Return the cubin, or PTX, that nvJitLink links from the inputs, and its log.

    An input is its kind (a name of nvJitLink's `InputType`), its name in messages, and its content. Raises ImageError
    with nvJitLink's error log.
    """
    code, log, _ = link_code_with_logs(inputs, options, ptx)
    return code, log


def link_code_with_logs(
    inputs: Sequence[tuple[str, str, bytes]], options: Sequence[str], ptx: bool = False
) -> tuple[bytes, str, str]:
    """Link as `link_code` does; also return the error log, which may have text after a success too."""
    from cuda.bindings import nvjitlink  # optional

    try:
        handle = nvjitlink.create(len(options), list(options))
    except nvjitlink.nvJitLinkError as error:
        raise ImageError(f"nvJitLink refuses an option of {' '.join(options)}: {error}") from error
    try:
        add_data, names = _add_data(nvjitlink), [name.encode() for _, name, _ in inputs]
        for (kind, _, content), name in zip(inputs, names, strict=True):
            add_data(handle, getattr(nvjitlink.InputType, kind), content, name)
        nvjitlink.complete(handle)
        what = "ptx" if ptx else "cubin"
        code = bytearray(getattr(nvjitlink, f"get_linked_{what}_size")(handle))
        getattr(nvjitlink, f"get_linked_{what}")(handle, code)
        return bytes(code), _log_of(nvjitlink, "info", handle), _log_of(nvjitlink, "error", handle)
    except nvjitlink.nvJitLinkError as error:
        raise ImageError(_log_of(nvjitlink, "error", handle) or str(error)) from error
    finally:
        nvjitlink.destroy(handle)


def _log_of(nvjitlink: Any, which: str, handle: int) -> str:
    log = bytearray(getattr(nvjitlink, f"get_{which}_log_size")(handle))
    if log:
        getattr(nvjitlink, f"get_{which}_log")(handle, log)
    return log_text(log)


def _add_data(nvjitlink: Any) -> Callable[[int, int, bytes, bytes], None]:
    """Return a function that passes an input to nvJitLink: handle, kind, content and name.

    nvJitLink keeps a pointer to the name, which must stay valid until the link is done. The function of `cuda.bindings`
    frees its copy at once, so that messages could name another input or read freed memory.
    """
    import ctypes  # only for links

    try:
        from cuda.bindings._internal import nvjitlink as internal

        address = internal._inspect_function_pointer("__nvJitLinkAddData")
    except (ImportError, AttributeError):  # another release of cuda.bindings: only messages may be wrong
        return lambda handle, kind, content, name: nvjitlink.add_data(
            handle, kind, content, len(content), name.decode()
        )
    types = (ctypes.c_int, ctypes.c_void_p, ctypes.c_int, ctypes.c_char_p, ctypes.c_size_t, ctypes.c_char_p)
    function = ctypes.CFUNCTYPE(*types)(address)

    def add_data(handle: int, kind: int, content: bytes, name: bytes) -> None:
        status = function(handle, int(kind), content, len(content), name)
        if status != 0:
            raise nvjitlink.nvJitLinkError(status)

    return add_data


def log_text(log: bytearray) -> str:
    """Return the text in a log buffer."""
    return log.rstrip(b"\0\n ").decode(errors="replace")
