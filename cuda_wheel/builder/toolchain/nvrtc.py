"""Call NVRTC, by ctypes: plain values in, plain values out. Runs in workers only; see `workers`.

Nothing else is imported, so that a worker is ready in a quarter of the time that `cuda.bindings` takes to import: it
is the better part of what compiling a small kernel costs.
"""

from __future__ import annotations

import ctypes
import glob
import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, TypedDict

__all__ = [
    "INVALID_OPTION",
    "compile_text",
    "load",
    "scratch_file",
    "set_precompiled_heap",
    "supported",
    "version",
]


if TYPE_CHECKING:
    from typing import Any, TypedDict

    class Request(TypedDict, total=False):
        """One compilation. `library` is NVRTC's path, `folder` what relative paths start from; `headers`, which may be
        left out, are texts that `#include` finds by name before it looks for files."""

        library: str
        folder: str
        text: bytes
        name: str
        options: list[str]
        expressions: list[str]
        headers: dict[str, bytes]

    class Answer(TypedDict):
        """What it gave: `error` names what nvrtcCompileProgram answered, and is empty where it succeeded.

        `headers` are the absolute paths of all files read beside the text or, where NVRTC cannot list them, of all that
        may have been; None where nobody can tell.
        `symbols` are those of the expressions, in their order.
        """

        error: str
        log: str
        headers: list[str] | None
        ptx: bytes
        cubin: bytes
        ltoir: bytes
        symbols: list[str]


LIST_HEADERS = ["-Xcudafe", "-H"]
"""An option of NVRTC's front end that no manual names: it prints the tree of includes on standard error."""


INVALID_OPTION = "NVRTC_ERROR_INVALID_OPTION"


_loaded: dict[str, Any] = {}


_listing: dict[str, bool] = {}


def load(path: str) -> None:
    """Load the NVRTC library of that path into this process, so that the first compilation need not."""
    _library(path)


def _library(path: str) -> Any:
    """Return the NVRTC library of that path, loaded after its builtins, which some releases do not find themselves."""
    library = _loaded.get(path)
    if library is None:
        for builtins in glob.glob(os.path.join(glob.escape(os.path.dirname(path)), "*nvrtc-builtins*")):
            ctypes.CDLL(builtins)
        library = _loaded[path] = ctypes.CDLL(path)
        library.nvrtcGetErrorString.restype = ctypes.c_char_p
    return library


def _check(library: Any, result: int) -> None:
    if result != 0:
        from cuda_wheel.builder.errors import ToolchainError

        raise ToolchainError(f"NVRTC answered {library.nvrtcGetErrorString(result).decode()}")


def version(path: str) -> tuple[int, int]:
    """Return the library's CUDA release."""
    library = _library(path)
    major, minor = ctypes.c_int(), ctypes.c_int()
    _check(library, library.nvrtcVersion(ctypes.byref(major), ctypes.byref(minor)))
    return major.value, minor.value


def supported(path: str) -> list[int]:
    """Return the architectures that the library compiles for: 75 for compute_75."""
    library = _library(path)
    count = ctypes.c_int()
    _check(library, library.nvrtcGetNumSupportedArchs(ctypes.byref(count)))
    archs = (ctypes.c_int * count.value)()
    _check(library, library.nvrtcGetSupportedArchs(archs))
    return list(archs)


def set_precompiled_heap(path: str, size: int) -> bool:
    """Have the library keep so many bytes of address space for precompiled headers; return whether it does."""
    library = _library(path)
    return hasattr(library, "nvrtcSetPCHHeapSize") and library.nvrtcSetPCHHeapSize(ctypes.c_size_t(size)) == 0


def compile_text(request: Request) -> Answer:
    """Return what NVRTC makes of a text."""
    os.chdir(request["folder"])
    library = _library(request["library"])
    program = ctypes.c_void_p()
    headers = request.get("headers", {})
    texts = (ctypes.c_char_p * len(headers))(*headers.values())
    names = (ctypes.c_char_p * len(headers))(*map(os.fsencode, headers))
    name = os.fsencode(request["name"])
    _check(
        library,
        library.nvrtcCreateProgram(
            ctypes.byref(program), ctypes.c_char_p(request["text"]), name, len(headers), texts, names
        ),
    )
    try:
        for expression in request["expressions"]:
            _check(library, library.nvrtcAddNameExpression(program, expression.encode()))
        error, read = _compile(library, program, request["options"])
        doubtful = not read and b"include" in request["text"]
        if not error and (read is None or (doubtful and not _lists_headers(request["library"]))):
            from cuda_wheel.builder.sources.includes import read_at_most

            read = read_at_most(request["folder"], request["name"], request["text"], request["options"])
        answer: Answer = {
            "error": error,
            "log": _output(library, program, "ProgramLog").decode(errors="replace"),
            "headers": read,
            "ptx": b"",
            "cubin": b"",
            "ltoir": b"",
            "symbols": [],
        }
        if not error:
            answer["ptx"] = _output(library, program, "PTX")
            answer["cubin"] = _output(library, program, "CUBIN")
            answer["ltoir"] = _output(library, program, "LTOIR")
            answer["symbols"] = [_symbol(library, program, expression) for expression in request["expressions"]]
        return answer
    finally:
        library.nvrtcDestroyProgram(ctypes.byref(program))


def _compile(library: Any, program: Any, options: list[str]) -> tuple[str, list[str] | None]:
    file = scratch_file()
    standard_error = os.dup(2)
    os.dup2(file, 2)
    try:
        error = _result(library, program, [*options, *LIST_HEADERS])
    finally:
        os.dup2(standard_error, 2)
        os.close(standard_error)
        os.lseek(file, 0, os.SEEK_SET)
        with os.fdopen(file, "rb") as printed:
            lines = printed.read().splitlines()
    if error == INVALID_OPTION:  # that one, or one of the project's
        return _result(library, program, options), None
    paths = {os.fsdecode(line.strip()) for line in lines}
    return error, sorted(os.path.abspath(path) for path in paths if os.path.isfile(path))


def _lists_headers(library: str) -> bool:
    """Return whether NVRTC lists what it reads: one that passes over the option would seem to read nothing."""
    if library not in _listing:
        loaded = _library(library)
        program = ctypes.c_void_p()
        folder = os.path.join(os.path.dirname(os.path.abspath(__file__)), "include")
        _check(loaded, loaded.nvrtcCreateProgram(ctypes.byref(program), b"#include <stddef.h>", None, 0, None, None))
        try:
            _listing[library] = bool(_compile(loaded, program, [f"--include-path={folder}"])[1])
        finally:
            loaded.nvrtcDestroyProgram(ctypes.byref(program))
    return _listing[library]


def scratch_file() -> int:
    """Return the descriptor of an empty file without a name, which goes when it is closed."""
    if hasattr(os, "memfd_create"):
        descriptor: int = os.memfd_create("nvrtc")
        return descriptor
    import tempfile

    with tempfile.TemporaryFile() as file:
        return os.dup(file.fileno())


def _result(library: Any, program: Any, options: list[str]) -> str:
    words = (ctypes.c_char_p * len(options))(*map(os.fsencode, options))
    result = library.nvrtcCompileProgram(program, len(options), words)
    return "" if result == 0 else library.nvrtcGetErrorString(result).decode()


def _output(library: Any, program: Any, what: str) -> bytes:
    size = ctypes.c_size_t()
    _check(library, getattr(library, f"nvrtcGet{what}Size")(program, ctypes.byref(size)))
    buffer = ctypes.create_string_buffer(size.value)
    _check(library, getattr(library, f"nvrtcGet{what}")(program, buffer))
    return buffer.raw


def _symbol(library: Any, program: Any, expression: str) -> str:
    symbol = ctypes.c_char_p()
    _check(library, library.nvrtcGetLoweredName(program, expression.encode(), ctypes.byref(symbol)))
    return (symbol.value or b"").decode()
