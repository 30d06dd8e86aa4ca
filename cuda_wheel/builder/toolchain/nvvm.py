"""Call libNVVM through ctypes. Runs in worker processes only; see `workers`.

Like `nvrtc`, and for the same reason, this module imports almost only the standard library, and returns plain dicts.
`messages.nvvm_log` reads libNVVM's log.
"""

from __future__ import annotations

import ctypes
import os
import re
from functools import cache, partial

from cuda_wheel.runtime.parts.cuda_libraries import read_output

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, TypedDict

    class NvvmRequest(TypedDict):
        """NVVM IR to compile with libNVVM.

        `library` and `libdevice` are absolute paths. `text` is NVVM IR as text or bitcode; `name` is its
        project-relative path, which diagnostics and LTO-IR contain. `arch` is like "90a". `lto` asks for LTO-IR besides
        PTX. `options` are libNVVM's, without -arch and -gen-lto.
        """

        library: str
        libdevice: str
        text: bytes
        name: str
        arch: str
        lto: bool
        options: list[str]

    class NvvmResult(TypedDict):
        """The result of a compilation. `error` is the name of libNVVM's error; "" on success. `ltoir` is b"" unless the
        request asks for it."""

        error: str
        log: str
        ptx: bytes
        ltoir: bytes


__all__ = ["DATA_LAYOUT", "INVALID_OPTION", "TRIPLE", "compile_ir", "ir_version", "is_bitcode"]

DATA_LAYOUT = (
    "e-p:64:64:64-i1:8:8-i8:8:8-i16:16:16-i32:32:32-i64:64:64-i128:128:128-f32:32:32-f64:64:64-"
    "v16:16:16-v32:32:32-v64:64:64-v128:128:128-n16:32:64"
)
"""The `target datalayout` that all NVVM IR must declare; TRIPLE is its `target triple`. Source: NVVM IR Specification,
"Data Layout", "Target Triple"."""

TRIPLE = "nvptx64-nvidia-cuda"

INVALID_IR = "NVVM_ERROR_INVALID_IR"

INVALID_OPTION = "NVVM_ERROR_INVALID_OPTION"

_VISIBLE = re.compile(
    r"^\.(?:visible|weak) \.(?:entry|(?P<space>global|const)(?: \.attribute\([^()]*\))?(?: \.align \d+)? \.[a-z]+\d+)"
    r" (?P<symbol>[\w$.]+)",
    re.MULTILINE,
)
"""Matches a PTX definition that the driver can look up by name. The group "symbol" is the name. The group "space" is
"global" or "const", the state space of a variable; None for a kernel."""

_SPACES = {"global": 1, "const": 4}
"""PTX state space of a variable -> identifier of this address space in NVVM IR: `addrspace(1)` is global memory.
Source: NVVM IR Specification, "Address Space"."""

_HAS_LAYOUT = re.compile(rb"^\s*target\s+datalayout\b", re.MULTILINE)


@cache
def _library(path: str) -> Any:
    library = ctypes.CDLL(path)
    library.nvvmGetErrorString.restype = ctypes.c_char_p
    return library


def _error_name(library: Any, result: int) -> str:
    return "" if result == 0 else str(library.nvvmGetErrorString(result).decode())


def _check(library: Any, result: int) -> None:
    if result != 0:
        from cuda_wheel.builder.errors import ToolchainError  # start-up time: see above

        raise ToolchainError(f"libNVVM returned {_error_name(library, result)}")


def ir_version(path: str) -> tuple[int, int]:
    """Return the newest version (major, minor) of NVVM IR that the libNVVM at a path reads."""
    library = _library(path)
    major, minor, *debug = (ctypes.c_int() for _ in range(4))
    _check(library, library.nvvmIRVersion(*map(ctypes.byref, (major, minor, *debug))))
    return major.value, minor.value


def is_bitcode(text: bytes) -> bool:
    """Return whether NVVM IR is LLVM bitcode, with or without a wrapper; False if it is text."""
    return text.startswith((b"BC\xc0\xde", b"\xde\xc0\x17\x0b"))


def compile_ir(request: NvvmRequest) -> NvvmResult:
    """Return the PTX that libNVVM generates from NVVM IR and, if the request asks for it, the LTO-IR.

    The PTX is relocatable: it declares what other modules define, and symbols with external linkage are visible.
    """
    reason = _invalid_reason(request["text"])
    if reason:
        return {"error": INVALID_IR, "log": f"{request['name']}: error: {reason}", "ptx": b"", "ltoir": b""}
    error, log, code = _compile(request, [], [])
    result: NvvmResult = {"error": error, "log": log, "ptx": code.rstrip(b"\0"), "ltoir": b""}
    if request["lto"] and not error:
        used = _used_module(result["ptx"].decode())
        result["error"], result["log"], result["ltoir"] = _compile(request, ["-gen-lto"], used)
    return result


def _invalid_reason(text: bytes) -> str:
    """Return an error message, such as "the file is empty", if the NVVM IR `text` must not be given to libNVVM. Return
    "" for any other text."""
    # On these texts, libNVVM would crash or, in some releases, fail without a message.
    if not text.strip():
        return "the file is empty"
    if not is_bitcode(text) and not _HAS_LAYOUT.search(text):
        return "there is no target datalayout"
    return ""


def _used_module(ptx: str) -> list[tuple[str, bytes]]:
    """Return an NVVM IR module as [(name, text)]. Its @llvm.used lists the visible symbols of `ptx`. Return [] if `ptx`
    has no visible symbol. The module is to be compiled together with the one that `ptx` was compiled from."""
    # Without this list, nvJitLink drops the kernels, and treats the variables as constant. The module declares the
    # symbols with arbitrary types; the linker replaces these declarations by the definitions.
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


def _compile(request: NvvmRequest, options: list[str], more: list[tuple[str, bytes]]) -> tuple[str, str, bytes]:
    """Compile the request's NVVM IR together with the modules `more`, each (name, text). Return (error name, log,
    code).

    The error name is "" on success. The code is PTX, or LTO-IR if `options` contains "-gen-lto".
    """
    library = _library(request["library"])
    options = [f"-arch=compute_{request['arch']}", *options, *request["options"]]
    arguments = (ctypes.c_char_p * len(options))(*map(os.fsencode, options))
    program = ctypes.c_void_p()
    _check(library, library.nvvmCreateProgram(ctypes.byref(program)))
    try:
        for name, text in [(request["name"], request["text"]), *more]:
            _add(library, "nvvmAddModuleToProgram", program, name, text)
        # Bitcode contains symbols as plain text. Without a call into libdevice, adding it leaves PTX unchanged, but
        # changes LTO-IR and doubles the time to compile.
        if b"__nv_" in request["text"]:
            with open(request["libdevice"], "rb") as stream:
                _add(library, "nvvmLazyAddModuleToProgram", program, "libdevice", stream.read())
        # The compiler crashes on some invalid modules and accepts others.
        result = library.nvvmVerifyProgram(program, len(options), arguments)
        if result == 0:
            result = library.nvvmCompileProgram(program, len(options), arguments)
        log = _output(library, program, "ProgramLog").rstrip(b"\0").decode(errors="replace")
        code = b"" if result else _output(library, program, "CompiledResult")
        return _error_name(library, result), log, code
    finally:
        library.nvvmDestroyProgram(ctypes.byref(program))


def _add(library: Any, function: str, program: Any, name: str, text: bytes) -> None:
    add = getattr(library, function)
    _check(library, add(program, ctypes.c_char_p(text), ctypes.c_size_t(len(text)), os.fsencode(name)))


def _output(library: Any, program: Any, name: str) -> bytes:
    return read_output(library, f"nvvmGet{name}", program, partial(_check, library))
