"""Call nvJitLink through `cuda.bindings`."""

from collections.abc import Callable, Sequence
from typing import Any

from .errors import ImageError
from .manifest import Version

__all__ = [
    "link_code",
    "link_code_with_logs",
    "log_text",
    "nvjitlink_version",
]


def nvjitlink_version() -> Version | None:
    """Return the version of the nvJitLink that is installed here, or None."""
    try:
        from cuda.bindings import nvjitlink

        version: tuple[int, int] = nvjitlink.version()
    except (ImportError, RuntimeError):  # no binding, or no library behind it
        return None
    return version


def link_code(inputs: Sequence[tuple[str, str, bytes]], options: Sequence[str], ptx: bool = False) -> tuple[bytes, str]:
    """Return the cubin, or PTX, that nvJitLink makes of these inputs, and its log.

    An input is its kind, as nvJitLink's `InputType` has it, its name in messages, and its content. Raises ImageError
    with nvJitLink's own words.
    """
    code, log, _ = link_code_with_logs(inputs, options, ptx)
    return code, log


def link_code_with_logs(
    inputs: Sequence[tuple[str, str, bytes]], options: Sequence[str], ptx: bool = False
) -> tuple[bytes, str, str]:
    """Do as `link_code` does, and return what its error log holds of a success too."""
    from cuda.bindings import nvjitlink

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
    """Return a function that gives nvJitLink an input: handle, kind, content and name.

    nvJitLink keeps a pointer to the name, which must not go away before the link is done; the function of
    `cuda.bindings` frees its copy at once, so that messages name another input, if not worse.
    """
    import ctypes

    try:
        from cuda.bindings._internal import nvjitlink as internal

        address = internal._inspect_function_pointer("__nvJitLinkAddData")
    except (ImportError, AttributeError):  # another release's binding: no more than messages suffer
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
    return log.rstrip(b"\0\n ").decode(errors="replace")
