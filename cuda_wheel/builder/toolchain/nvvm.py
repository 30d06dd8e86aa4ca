"""Call libNVVM, by ctypes: plain values in, plain values out. Runs in workers only; see `workers`.

Like `nvrtc`, and for the same reason, this imports nothing else. What libNVVM says is read in `nvvm_log`.
"""

from __future__ import annotations

import ctypes
import os
import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, TypedDict

__all__ = [
    "DATA_LAYOUT",
    "INVALID_OPTION",
    "TRIPLE",
    "compile_ir",
    "ir_version",
    "is_bitcode",
]


if TYPE_CHECKING:
    from typing import Any, TypedDict

    class Request(TypedDict):
        """One compilation: `text` is NVVM IR, as text or bitcode, and `name` its project-relative path, which
        diagnostics and LTO-IR hold. `library` and `libdevice` are absolute paths, `arch` is like "90a". `options` are
        libNVVM's own, but for -arch and -gen-lto."""

        library: str
        libdevice: str
        text: bytes
        name: str
        arch: str
        lto: bool
        options: list[str]

    class Answer(TypedDict):
        """What it gave: `error` names what libNVVM answered, and is empty where it succeeded; `ltoir` is empty where
        nobody asked for it."""

        error: str
        log: str
        ptx: bytes
        ltoir: bytes


DATA_LAYOUT = (
    "e-p:64:64:64-i1:8:8-i8:8:8-i16:16:16-i32:32:32-i64:64:64-i128:128:128-f32:32:32-f64:64:64-"
    "v16:16:16-v32:32:32-v64:64:64-v128:128:128-n16:32:64"
)
"""What NVVM IR must begin with, and TRIPLE. Source: NVVM IR Specification, "Data Layout" and "Target Triple"."""


TRIPLE = "nvptx64-nvidia-cuda"


INVALID_IR = "NVVM_ERROR_INVALID_IR"


INVALID_OPTION = "NVVM_ERROR_INVALID_OPTION"


_VISIBLE = re.compile(
    r"^\.(?:visible|weak) \.(?:entry|(?P<space>global|const)(?: \.attribute\([^()]*\))?(?: \.align \d+)? \.[a-z]+\d+)"
    r" (?P<symbol>[\w$.]+)",
    re.MULTILINE,
)
"""What PTX shows to the driver: kernels, and variables in global and constant memory."""


_SPACES = {"global": 1, "const": 4}
"""Source: NVVM IR Specification, "Address Space"."""


_HAS_LAYOUT = re.compile(rb"^\s*target\s+datalayout\b", re.MULTILINE)


_loaded: dict[str, Any] = {}


def _library(path: str) -> Any:
    library = _loaded.get(path)
    if library is None:
        library = _loaded[path] = ctypes.CDLL(path)
        library.nvvmGetErrorString.restype = ctypes.c_char_p
    return library


def _name_of(library: Any, result: int) -> str:
    return "" if result == 0 else str(library.nvvmGetErrorString(result).decode())


def _check(library: Any, result: int) -> None:
    if result != 0:
        from cuda_wheel.builder.errors import ToolchainError

        raise ToolchainError(f"libNVVM answered {_name_of(library, result)}")


def ir_version(path: str) -> tuple[int, int]:
    """Return the newest version of NVVM IR that the library reads."""
    library = _library(path)
    major, minor, *debug = (ctypes.c_int() for _ in range(4))
    _check(library, library.nvvmIRVersion(*map(ctypes.byref, (major, minor, *debug))))
    return major.value, minor.value


def is_bitcode(text: bytes) -> bool:
    """Return whether NVVM IR is bitcode, bare or wrapped, and not text."""
    return text.startswith((b"BC\xc0\xde", b"\xde\xc0\x17\x0b"))


def compile_ir(request: Request) -> Answer:
    """Return the PTX, and on demand the LTO-IR, that libNVVM makes of NVVM IR.

    The PTX can be linked as it is: it declares what other modules define, and shows them what has external linkage.
    """
    refused = _refused(request["text"])
    if refused:
        return {"error": INVALID_IR, "log": f"{request['name']}: error: {refused}", "ptx": b"", "ltoir": b""}
    error, log, code = _compile(request, [], [])
    answer: Answer = {"error": error, "log": log, "ptx": code.rstrip(b"\0"), "ltoir": b""}
    if request["lto"] and not error:
        kept = _kept(answer["ptx"].decode())
        answer["error"], answer["log"], answer["ltoir"] = _compile(request, ["-gen-lto"], kept)
    return answer


def _refused(text: bytes) -> str:
    """Return what is wrong with NVVM IR that libNVVM does not survive or, in some releases, has no words for."""
    if not text.strip():
        return "the file is empty"
    if not is_bitcode(text) and not _HAS_LAYOUT.search(text):
        return "there is no target datalayout"
    return ""


def _kept(ptx: str) -> list[tuple[str, bytes]]:
    """Return the name and text of a module that keeps what PTX shows to the driver; none where that is nothing.

    Of what @llvm.used does not name, nvJitLink would drop the kernels, and take the variables for constant. These
    declarations give way to the definitions, whatever the types there are.
    """
    declared, used = [], []
    for match in _VISIBLE.finditer(ptx):
        symbol = f'@"{match["symbol"]}"'
        if match["space"] is None:
            declared.append(f"declare void {symbol}()")
            used.append(f"i8* bitcast (void ()* {symbol} to i8*)")
        else:
            space = f"addrspace({_SPACES[match['space']]})"
            declared.append(f"{symbol} = external {space} global [0 x i8]")
            used.append(f"i8* addrspacecast ([0 x i8] {space}* {symbol} to i8*)")
    if not used:
        return []
    lines = [
        f'target datalayout = "{DATA_LAYOUT}"',
        f'target triple = "{TRIPLE}"',
        *declared,
        f'@llvm.used = appending global [{len(used)} x i8*] [{", ".join(used)}], section "llvm.metadata"',
        "!nvvmir.version = !{!0}",
        "!0 = !{i32 2, i32 0}",
    ]
    return [("visible", "\n".join(lines).encode())]


def _compile(request: Request, options: list[str], more: list[tuple[str, bytes]]) -> tuple[str, str, bytes]:
    """Return the error, log and result of compiling the request's IR together with more modules."""
    library = _library(request["library"])
    options = [f"-arch=compute_{request['arch']}", *options, *request["options"]]
    words = (ctypes.c_char_p * len(options))(*map(os.fsencode, options))
    program = ctypes.c_void_p()
    _check(library, library.nvvmCreateProgram(ctypes.byref(program)))
    try:
        for name, text in [(request["name"], request["text"]), *more]:
            _add(library, "nvvmAddModuleToProgram", program, name, text)
        # Symbols stand in bitcode as they do in text. Where none is asked for, PTX is the same with libdevice and
        # without, but LTO-IR is not, and it takes as long again.
        if b"__nv_" in request["text"]:
            with open(request["libdevice"], "rb") as stream:
                _add(library, "nvvmLazyAddModuleToProgram", program, "libdevice", stream.read())
        # What does not pass would crash the compiler, or be compiled all the same.
        result = library.nvvmVerifyProgram(program, len(options), words)
        if result == 0:
            result = library.nvvmCompileProgram(program, len(options), words)
        log = _output(library, program, "ProgramLog").rstrip(b"\0").decode(errors="replace")
        code = b"" if result else _output(library, program, "CompiledResult")
        return _name_of(library, result), log, code
    finally:
        library.nvvmDestroyProgram(ctypes.byref(program))


def _add(library: Any, function: str, program: Any, name: str, text: bytes) -> None:
    add = getattr(library, function)
    _check(library, add(program, ctypes.c_char_p(text), ctypes.c_size_t(len(text)), os.fsencode(name)))


def _output(library: Any, program: Any, what: str) -> bytes:
    size = ctypes.c_size_t()
    _check(library, getattr(library, f"nvvmGet{what}Size")(program, ctypes.byref(size)))
    buffer = ctypes.create_string_buffer(size.value)
    _check(library, getattr(library, f"nvvmGet{what}")(program, buffer))
    return buffer.raw
