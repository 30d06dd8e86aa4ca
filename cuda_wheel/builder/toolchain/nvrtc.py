"""Call NVRTC through ctypes. Runs in worker processes only; see `workers`.

This module imports the standard library, and only such modules of this package as import nothing else. A worker is then
ready in a quarter of the time that `cuda.bindings` takes to import, which would be most of the time to compile a small
kernel. Requests and results are plain dicts; the TypedDicts that describe them exist for the type checker only.

`compile_apart` compiles in a copy of this process, which can be killed and whose state is lost. NVRTC's front end
cannot be interrupted otherwise: it calls the callback of nvrtcSetFlowCallback only when it has ended (12.9, 13.0 and
13.5). And the options of a program can change later programs of the same process (scripts/option_leaks.py): after one
with debugging information, NVRTC 12.9 and 13.5 optimise the next ones differently.
"""

from __future__ import annotations

import ctypes
import os
import pickle
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache, partial
from typing import TYPE_CHECKING

from cuda_wheel.builder.jobs import Form
from cuda_wheel.runtime.parts.cuda_libraries import load_library, read_output
from cuda_wheel.runtime.parts.floating_point import NO_CONTRACTION, floating_point, values_of

__all__ = [
    "ENABLE_TILE",
    "FORM_OPTIONS",
    "INVALID_OPTION",
    "compile_apart",
    "compile_text",
    "compile_with_references",
    "cross_references",
    "floating_point_options",
    "line_info_folders",
    "load",
    "preprocessed",
    "ptxas_options",
    "scratch_file",
    "set_precompiled_heap",
    "standards",
    "supported",
    "version",
]


FORM_OPTIONS: dict[Form, list[str]] = {
    "whole": [],
    "ptx": ["--relocatable-device-code=true"],
    "lto": ["--relocatable-device-code=true", "--dlink-time-opt"],
}
"""Form of a job's output, such as "ptx" -> NVRTC options for that form."""

_PTXAS = {"--maxrregcount": "-maxrregcount", "--ptxas-options": "-Xptxas"}
"""NVRTC option that affects ptxas (the PTX assembler) -> nvJitLink option with the same effect."""


def line_info_folders(include_dirs: Sequence[str], system_dirs: Sequence[str]) -> dict[str, str]:
    """Return absolute folder -> its replacement at the start of paths in line information.

    Folders of the toolchain become "cuda/", and those of other libraries, `system_dirs`, "system/". The working
    directory, which is the project's folder, is removed.
    """
    folders = {folder: "cuda/" for folder in include_dirs if os.path.isabs(folder)}
    folders |= dict.fromkeys(system_dirs, "system/")
    return folders | {os.environ.get("PWD", os.getcwd()): ""}


def ptxas_options(options: Sequence[str]) -> list[str]:
    """Return nvJitLink options that have the effect of those of NVRTC's `options` that reach ptxas.

    Like NVRTC, this turns --fmad=false into an option for ptxas, unless the options for ptxas allow fused multiply-add.
    """
    names = {**_PTXAS, **{name: name for name in _PTXAS.values()}}
    own = [f"{names[name]}={value}" for name, value in values_of(options) if name in names]
    chosen = floating_point(options)
    return own if chosen.assembler_fma or chosen.fma else [NO_CONTRACTION, *own]


def floating_point_options(options: Sequence[str]) -> list[str]:
    """Return those of NVRTC's `options` that control floating-point arithmetic, in the spelling of nvJitLink and
    libNVVM."""
    return floating_point(options).compiler_options()


if TYPE_CHECKING:
    from typing import Any, TypedDict

    from typing_extensions import NotRequired

    class NvrtcRequest(TypedDict, total=False):
        """A source to compile with NVRTC.

        `library` is the path of NVRTC. Relative paths start from `folder`. `name` is the name of the source in
        diagnostics. `expressions` are C++ name expressions. `headers`, which may be absent, is name -> content of
        headers in memory, which `#include` finds before files.
        """

        library: str
        folder: str
        text: bytes
        name: str
        options: list[str]
        expressions: list[str]
        headers: dict[str, bytes]

    class NvrtcResult(TypedDict):
        """The result of a compilation. `error` is the name of nvrtcCompileProgram's error; "" on success.

        `headers` are the absolute paths of all files that NVRTC read besides the source; None if it cannot list them.
        `absent` are the names of headers that are empty in the request's `headers` and that NVRTC read; all of the
        empty ones if it cannot list what it read. `symbols` are the lowered names of the request's `expressions`, in
        the same order. `uses_build_time` is whether the source uses `__DATE__`, `__TIME__` or `__TIMESTAMP__`;
        `compile_text` leaves it False. `tile_ir`, the code of CUDA Tile kernels, is there only if an option is
        ENABLE_TILE.
        """

        error: str
        log: str
        headers: list[str] | None
        absent: list[str]
        ptx: bytes
        cubin: bytes
        ltoir: bytes
        symbols: list[str]
        uses_build_time: bool
        tile_ir: NotRequired[bytes]


LIST_HEADERS = ["-Xcudafe", "-H"]
"""NVRTC option, in two arguments, to print the tree of included files to standard error. It is an undocumented option
of NVRTC's front end (C++ parser)."""

INVALID_OPTION = "NVRTC_ERROR_INVALID_OPTION"

ENABLE_TILE = "--enable-tile"
"""NVRTC option that compiles CUDA Tile kernels to Tile IR. Without it, NVRTC 13.3 and later ignore the word
`__tile_global__`, with a warning."""


_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3
"""Identifiers of parameters of glibc's function `mallopt`. M_TRIM_THRESHOLD is how many free bytes a process keeps
before it returns memory to the system. M_MMAP_THRESHOLD is the minimum size, in bytes, of a block that is allocated
with mmap."""


def load(path: str) -> None:
    """Load the NVRTC library at a path into this process, so that the first compilation need not load it."""
    _library(path)


@cache
def _library(path: str) -> Any:
    """Return the NVRTC library at a path; it is loaded at the first call only."""
    library = load_library(path)
    library.nvrtcGetErrorString.restype = ctypes.c_char_p
    _keep_freed_memory()
    return library


def _keep_freed_memory() -> None:
    """Make glibc keep freed memory. The next compilation uses it again."""
    # Otherwise NVRTC's front end spends up to a fifth of its time on page faults, for memory that was returned to the
    # system.
    if sys.platform == "linux" and hasattr(ctypes.CDLL(None), "mallopt"):
        mallopt = ctypes.CDLL(None).mallopt
        mallopt(_MMAP_THRESHOLD, 32 << 20)
        mallopt(_TRIM_THRESHOLD, 256 << 20)


def _check(library: Any, result: int) -> None:
    if result != 0:
        from cuda_wheel.builder.errors import ToolchainError  # start-up time: see above

        raise ToolchainError(f"NVRTC returned {library.nvrtcGetErrorString(result).decode()}")


def version(path: str) -> tuple[int, int]:
    """Return the CUDA release (major, minor) of the NVRTC at a path."""
    library = _library(path)
    major, minor = ctypes.c_int(), ctypes.c_int()
    _check(library, library.nvrtcVersion(ctypes.byref(major), ctypes.byref(minor)))
    return major.value, minor.value


def supported(path: str) -> list[int]:
    """Return the architectures that the NVRTC at a path compiles for, in ascending order: 75 for compute_75."""
    library = _library(path)
    count = ctypes.c_int()
    _check(library, library.nvrtcGetNumSupportedArchs(ctypes.byref(count)))
    archs = (ctypes.c_int * count.value)()
    _check(library, library.nvrtcGetSupportedArchs(archs))
    return list(archs)


def set_precompiled_heap(path: str, size: int) -> bool:
    """Make NVRTC reserve `size` bytes of address space for precompiled headers; return whether it did."""
    library = _library(path)
    return hasattr(library, "nvrtcSetPCHHeapSize") and library.nvrtcSetPCHHeapSize(ctypes.c_size_t(size)) == 0


def compile_text(request: NvrtcRequest) -> NvrtcResult:
    """Return the result of compiling a source with NVRTC in this process.

    Changes the working directory to the request's folder. A source that does not compile is no exception; see `error`
    and `log` of the result.
    """
    os.chdir(request["folder"])
    library = _library(request["library"])
    program = _program(library, request)
    try:
        for expression in request["expressions"]:
            _check(library, library.nvrtcAddNameExpression(program, expression.encode()))
        with _listed_headers() as listed:
            error = _compile_program(library, program, [*request["options"], *LIST_HEADERS])
        headers: list[str] | None = sorted({os.path.abspath(path) for path in listed if os.path.isfile(path)})
        absent = [name for name, content in request.get("headers", {}).items() if not content]
        if error == INVALID_OPTION:  # NVRTC rejects LIST_HEADERS, or one of the project's options
            error = _compile_program(library, program, request["options"])
            headers = None
        else:
            absent = [name for name in absent if name in listed]
        if not error and headers == [] and b"include" in request["text"] and not _lists_headers(request["library"]):
            headers = None
        result: NvrtcResult = {
            "error": error,
            "log": _output(library, program, "ProgramLog").decode(errors="replace"),
            "headers": headers,
            "absent": absent,
            "ptx": b"",
            "cubin": b"",
            "ltoir": b"",
            "symbols": [],
            "uses_build_time": False,
        }
        if not error:
            result["ptx"] = _output(library, program, "PTX")
            result["cubin"] = _output(library, program, "CUBIN")
            result["ltoir"] = _output(library, program, "LTOIR")
            if ENABLE_TILE in request["options"]:
                result["tile_ir"] = _output(library, program, "TileIR")
            result["symbols"] = [_symbol(library, program, expression) for expression in request["expressions"]]
        return result
    finally:
        library.nvrtcDestroyProgram(ctypes.byref(program))


def _program(library: Any, request: NvrtcRequest) -> Any:
    """Return a new NVRTC program for a request; the caller must destroy it."""
    program = ctypes.c_void_p()
    headers = request.get("headers", {})
    contents = (ctypes.c_char_p * len(headers))(*headers.values())
    names = (ctypes.c_char_p * len(headers))(*map(os.fsencode, headers))
    text, name = ctypes.c_char_p(request["text"]), os.fsencode(request["name"])
    _check(library, library.nvrtcCreateProgram(ctypes.byref(program), text, name, len(headers), contents, names))
    return program


@contextmanager
def _listed_headers() -> Iterator[set[str]]:
    """Yield an empty set. At the end of the `with` block, add to the set the headers that NVRTC printed inside the
    block: paths of files, and names of headers in memory. Standard error is redirected inside the block."""
    listed: set[str] = set()
    file = scratch_file()
    standard_error = os.dup(2)
    os.dup2(file, 2)
    try:
        yield listed
    finally:
        os.dup2(standard_error, 2)
        os.close(standard_error)
        os.lseek(file, 0, os.SEEK_SET)
        with os.fdopen(file, "rb") as printed:
            listed.update(os.fsdecode(line.strip()) for line in printed.read().splitlines())


@cache
def _lists_headers(library: str) -> bool:
    """Return whether `LIST_HEADERS` works in the NVRTC at a path: it prints the headers that it reads. Some releases
    ignore that option."""
    loaded = _library(library)
    program = ctypes.c_void_p()
    folder = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "headers", "std")
    _check(loaded, loaded.nvrtcCreateProgram(ctypes.byref(program), b"#include <stddef.h>", None, 0, None, None))
    try:
        with _listed_headers() as listed:
            error = _compile_program(loaded, program, [f"--include-path={folder}", *LIST_HEADERS])
        return error != INVALID_OPTION and bool(listed)
    finally:
        loaded.nvrtcDestroyProgram(ctypes.byref(program))


def standards(path: str) -> list[str]:
    """Return the C++ standards that the NVRTC at a path supports, found by trying each: ["c++11", ...]."""
    from cuda_wheel.builder.config.values import STANDARDS  # only for an error: start-up time

    library, known = _library(path), []
    for standard in STANDARDS:
        program = ctypes.c_void_p()
        _check(library, library.nvrtcCreateProgram(ctypes.byref(program), b"", None, 0, None, None))
        try:
            known += [standard] if not _compile_program(library, program, [f"--std={standard}"]) else []
        finally:
            library.nvrtcDestroyProgram(ctypes.byref(program))
    return known


def compile_with_references(request: NvrtcRequest) -> tuple[NvrtcResult, bytes | None]:
    """Return the result of `compile_text`, and the cross-references of the source, a line for each mention of a name.

    They are None if the source does not compile, or if NVRTC's front end does not write them. A line has an address,
    the qualified name, "D" where the mention defines it, "d" where it declares it or another letter where it uses it
    ("U", "R"), the file, the line and the column. Names that macros paste together are included. The option of the
    front end is undocumented; its output may be 40 MB large, and takes a fifth of the front end's time.
    """
    with _temporary_file() as path:
        result = compile_text({**request, "options": [*request["options"], "-Xcudafe", f"--xref={path}"]})
        if result["error"] == INVALID_OPTION:
            return compile_text(request), None
        try:
            with open(path, "rb") as mentions:
                return result, None if result["error"] else mentions.read()
        except OSError:
            return result, None


def cross_references(request: NvrtcRequest) -> bytes | None:
    """Return the cross-references of a source as `compile_with_references` does, without generating code.

    Templates are parsed and not instantiated: instances declare no other names, and in some sources they take nearly
    all of the front end's time.
    """
    options = [*request["options"], "-Xcudafe", "--instantiate=none", "--fdevice-syntax-only"]
    return compile_with_references({**request, "options": options})[1]


def preprocessed(request: NvrtcRequest) -> bytes | None:
    """Return the preprocessed text of a source, with `#line` directives; None if preprocessing fails or NVRTC's front
    end does not write it.

    The option of the front end is undocumented, and works in all releases from 12.9 to 13.5. The compilation stops
    after preprocessing, with an error without meaning.
    """
    with _temporary_file() as path:
        options = [*request["options"], "-Xcudafe", "-E", "-Xcudafe", f"--output={path}"]
        result = compile_text({**request, "options": options})
        if " error: " in result["log"]:
            return None
        try:
            with open(path, "rb") as text:
                return text.read() or None
        except OSError:
            return None


@contextmanager
def _temporary_file() -> Iterator[str]:
    """Yield the path of a file that does not exist yet, for use in the `with` block. Its folder is temporary, and is
    removed at the end of the block."""
    import tempfile  # few sources need it: start-up time

    with tempfile.TemporaryDirectory(prefix="cuda-wheel-", ignore_cleanup_errors=True) as folder:
        yield os.path.join(folder, "output")


def scratch_file() -> int:
    """Return the descriptor of an empty file without a name, in memory where possible; it disappears when the
    descriptor is closed."""
    if hasattr(os, "memfd_create"):
        descriptor: int = os.memfd_create("nvrtc")
        return descriptor
    import tempfile  # only where there is no memfd_create: start-up time

    with tempfile.TemporaryFile() as file:
        return os.dup(file.fileno())


def _compile_program(library: Any, program: Any, options: list[str]) -> str:
    """Compile an NVRTC program. Return the name of nvrtcCompileProgram's error, such as "NVRTC_ERROR_COMPILATION"; ""
    on success."""
    arguments = (ctypes.c_char_p * len(options))(*map(os.fsencode, options))
    result = library.nvrtcCompileProgram(program, len(options), arguments)
    return "" if result == 0 else library.nvrtcGetErrorString(result).decode()


def _output(library: Any, program: Any, name: str) -> bytes:
    return read_output(library, f"nvrtcGet{name}", program, partial(_check, library))


def _symbol(library: Any, program: Any, expression: str) -> str:
    """Return the lowered (mangled) name of the C++ name expression `expression`, from a program that has been
    compiled."""
    symbol = ctypes.c_char_p()
    _check(library, library.nvrtcGetLoweredName(program, expression.encode(), ctypes.byref(symbol)))
    return (symbol.value or b"").decode()


_WAITING = 20
"""How many times the limit, in seconds of a core, a process of `compile_apart` may take. Only a process that waits for
files reaches it, or one on a machine with many more processes than cores."""

_PARENT_DEATH_SIGNAL = 1
"""PR_SET_PDEATHSIG, the option of Linux's prctl that chooses the signal sent to a process when its parent ends."""

_CHILD = """
import pickle, sys
sys.path[:], request = pickle.load(sys.stdin.buffer)
from cuda_wheel.builder.toolchain.nvrtc import compile_text
pickle.dump(compile_text(request), sys.stdout.buffer)
"""


def compile_apart(request: NvrtcRequest, seconds: int = 0) -> NvrtcResult | None:
    """Return the result of compiling a source in a new process, which compiles nothing else.

    None if it takes more than `seconds` of a core (0: no limit), or if the compiler crashes. On Windows, the limit is
    in seconds of the clock.
    """
    if sys.platform == "win32":  # a process cannot be copied
        return _compile_in_new_process(request, seconds)
    receiver, sender = os.pipe()
    child = os.fork()
    if not child:
        _send(request, sender, seconds)
    os.close(sender)
    with os.fdopen(receiver, "rb") as stream:
        answer = stream.read()
    _, status = os.waitpid(child, 0)
    result: NvrtcResult | None = pickle.loads(answer) if status == 0 else None
    return result


def _compile_in_new_process(request: NvrtcRequest, seconds: int) -> NvrtcResult | None:
    command, input_ = [sys.executable, "-S", "-c", _CHILD], pickle.dumps((sys.path, request))
    try:
        done = subprocess.run(command, input=input_, capture_output=True, timeout=seconds or None, check=False)
    except subprocess.TimeoutExpired:
        return None
    result: NvrtcResult | None = pickle.loads(done.stdout) if done.returncode == 0 else None
    return result


def _send(request: NvrtcRequest, sender: int, seconds: int) -> None:
    """Compile the source in `request`, write the pickled NvrtcResult to the pipe `sender` (a file descriptor), and end
    this process. A timer (not on Windows) kills the process after `seconds` of a core; 0 is no limit."""
    status = 1
    try:
        if sys.platform == "linux":
            ctypes.CDLL(None).prctl(_PARENT_DEATH_SIGNAL, signal.SIGKILL)
        if sys.platform != "win32":
            for number in (signal.SIGPROF, signal.SIGALRM):
                signal.signal(number, signal.SIG_DFL)
            # The time of a core: on a busy machine, the same errors are found as on an idle one.
            signal.setitimer(signal.ITIMER_PROF, seconds)
            signal.alarm(_WAITING * seconds)
        with os.fdopen(sender, "wb") as stream:
            pickle.dump(compile_text(request), stream)
        status = 0
    finally:
        os._exit(status)
