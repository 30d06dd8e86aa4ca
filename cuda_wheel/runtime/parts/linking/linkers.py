"""Link with nvJitLink, in this process or a child process, or with the driver, and read the linkers' messages.

The assembler and the driver's linker word their messages as nvJitLink does. Source: nvJitLink 12.9 and 13.5, and driver
580. The patterns are compiled when a link fails, and not at import, which would take longer than a link.
"""

import ctypes
import enum
import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from ...driver import check_result, cuda_driver, current_device, driver_function
from ...errors import CudaWheelError, DriverError, ImageError, is_frozen
from ...jit import JitOptions
from ...manifest import Target
from ..cuda_libraries import link_code_with_logs

__all__ = [
    "Cause",
    "LinkerInput",
    "LinkerOutput",
    "RefusedError",
    "causes",
    "duplicate_message",
    "duplicate_symbols",
    "link_by_driver",
    "link_by_nvjitlink",
    "link_by_nvjitlink_in_child",
    "locate_errors",
    "locate_link_errors",
    "undefined_message",
    "undefined_symbols",
    "unreported_errors",
]


class LinkerInput(NamedTuple):
    """One input of a linker."""

    kind: str
    name: str
    """Name of this input in the linker's messages."""
    content: bytes


class LinkerOutput(NamedTuple):
    """The result of a link."""

    code: bytes
    log: str
    errors: str
    """Error log. It may contain warnings even if the link succeeded."""
    seconds: float | None
    """Duration in seconds that the linker reports; None if it reports none."""


class RefusedError(CudaWheelError):
    """A linker failed; the message is its log.

    `outdated`: an input comes from a newer CUDA release, so that another linker, or another form of that input, may
    work. `crashed`: the linker's process crashed or timed out.
    """

    def __init__(self, log: str, outdated: bool = False, crashed: bool = False) -> None:
        super().__init__(log)
        self.outdated = outdated
        self.crashed = crashed


class Cause(enum.Enum):
    """Why a link failed."""

    UNDEFINED = "a symbol has no definition"
    DUPLICATE = "a symbol has two definitions"
    LTOIR_FOR_NEWER_GPU = "LTO-IR is for a newer GPU than the target"
    PTX_FOR_NEWER_GPU = "PTX is for a newer GPU than the target"
    NEEDS_LTO = "an input holds LTO-IR, and the link is without LTO"
    BAD_INPUT = "an input is machine code for another GPU, or damaged"
    DAMAGED = "an input is damaged"
    NEWER_LTOIR = "LTO-IR comes from a newer CUDA release than the linker"
    NEWER_PTX = "PTX comes from a newer CUDA release than the linker"


_PATTERNS = {
    Cause.UNDEFINED: r"Undefined reference|Unresolved extern",
    Cause.DUPLICATE: r"Multiple definition|multiply defined",
    Cause.LTOIR_FOR_NEWER_GPU: r"LTOIR arch newer",
    Cause.PTX_FOR_NEWER_GPU: r"SM version specified by \.target is higher",
    Cause.NEEDS_LTO: r"nvvm input without LTO|without LTO enabled",
    Cause.BAD_INPUT: r"bad input",
    Cause.DAMAGED: r"INVALID_INPUT|INCORRECT_INPUT_TYPE|parse Malformed|parse Invalid|Internal error|archive format",
    Cause.NEWER_LTOIR: r"newer version of nvJitLink|IR_VERSION_MISMATCH|incompatible IR detected|OUTDATED_LIBRARY",
    Cause.NEWER_PTX: r"Unsupported \.version|UNSUPPORTED_PTX_VERSION",
}

_UNDEFINED = r"(?:Unresolved extern (?:function|variable)|Undefined reference to) '([^']+)'"

_DUPLICATE = r"Multiple definition of '([^']+)'|Linking globals named '([^']+)': symbol multiply defined"

_UNREPORTED = r"error\s*: |.*(?:Multiple definition of|Unresolved extern variable|Undefined reference to) '"

_NOISE = (
    r"ERROR \d+: (?:finish|complete)$|ERROR [\w ]*: JIT the PTX \(ltoPtx\)$|ERROR in nvvmCompileProgram.*"
    r"|ERROR \w+ \(\d+\) in nvvmCompileProgram callback$"
)
"""Regular expression for a log line that only follows from an error in another line: "ERROR 9: finish"."""

_ASSEMBLER_ERROR = r"ptxas [^\n]*?, line (\d+); (?:error|fatal)\s*: "


def causes(log: str) -> list[Cause]:
    """Return the causes that a linker's log names, in the order of `Cause`."""
    return [cause for cause, pattern in _PATTERNS.items() if re.search(pattern, log)]


def undefined_symbols(log: str) -> list[str]:
    """Return the symbols that a linker's log reports as undefined."""
    return list(dict.fromkeys(re.findall(_UNDEFINED, log)))


def duplicate_symbols(log: str) -> list[str]:
    """Return the symbols that a linker's log reports as defined twice."""
    return list(dict.fromkeys(match[1] or match[2] for match in re.finditer(_DUPLICATE, log)))


def unreported_errors(output: str) -> list[str]:
    """Return the lines with errors in nvJitLink's output of a link that it called a success.

    nvJitLink itself defines a variable that no input defines, and takes one of two definitions.
    """
    lines = (line.removeprefix("@E@") for line in output.splitlines())
    return [line for line in lines if re.match(_UNREPORTED, line)]


def undefined_message(symbol: str) -> str:
    """Return nvJitLink's message for a symbol that no input defines."""
    return f"error   : Undefined reference to '{symbol}'"


def duplicate_message(symbol: str, source: str, first: str) -> str:
    """Return nvJitLink's message for a symbol that first the input `first` and then the input `source` defines."""
    return f"error   : Multiple definition of '{symbol}' in '{source}', first defined in '{first}'"


def locate_errors(log: str, source: str) -> str:
    """Return an assembler's log with each error as "SOURCE:LINE: error: ...", such as "k.ptx:9: error: ..."."""
    return re.sub(_ASSEMBLER_ERROR, lambda match: f"{source}:{match[1]}: error: ", log)


def locate_link_errors(log: str) -> str:
    """Return a linker's log without noise, and with each assembler error as "INPUT:LINE: error: ..."."""
    located = re.sub(_ASSEMBLER_ERROR + r"(.*)\n(?:.*\n)*?.*JIT the PTX \(([^)\n]*)\)", r"\3:\1: error: \2", log)
    return re.sub(_NOISE, "", located, flags=re.MULTILINE)


class _Option(enum.IntEnum):
    """Options of the driver's linker. Source: CUDA Driver API, CUjit_option."""

    MAX_REGISTERS = 0
    WALL_TIME = 2
    INFO_LOG_BUFFER = 3
    INFO_LOG_BUFFER_SIZE_BYTES = 4
    ERROR_LOG_BUFFER = 5
    ERROR_LOG_BUFFER_SIZE_BYTES = 6
    OPTIMIZATION_LEVEL = 7
    TARGET = 9
    LOG_VERBOSE = 12
    GENERATE_LINE_INFO = 13


_INPUT_TYPES = {"cubin": 0, "ptx": 1, "fatbin": 2, "object": 3, "library": 4}
"""Kind of a linker's input -> its number in CUjitInputType. Source: CUDA Driver API, CUjitInputType."""

_TARGET_SUFFIXES = {"": 0, "a": 0x10000, "f": 0x20000}
"""Suffix of an architecture -> number that is added in CUjit_target: 0x10000 + 90 for "90a", 0 + 90 for "90". Source:
CUDA Driver API, CUjit_target."""

_LOG_BYTES = 1 << 16

_POINTER, _INT, _SIZE = ctypes.c_void_p, ctypes.c_int, ctypes.c_size_t

_ARGUMENT_TYPES = {
    "cuLinkCreate": (ctypes.c_uint, _POINTER, _POINTER, _POINTER),
    "cuLinkAddData": (_POINTER, _INT, _POINTER, _SIZE, ctypes.c_char_p, ctypes.c_uint, _POINTER, _POINTER),
    "cuLinkComplete": (_POINTER, _POINTER, _POINTER),
    "cuLinkDestroy": (_POINTER,),
}


def link_by_driver(
    inputs: Sequence[LinkerInput], target: Target, options: JitOptions, device: int | None
) -> LinkerOutput:
    """Return the cubin that the driver links from PTX and machine code.

    A link needs a context: if none of GPU `device` is current, its primary context is made current during the link.
    This calls the driver through ctypes, since the driver returns the time in the array of options, which cuda.bindings
    does not expose. Raises RefusedError with the driver's log, and DriverError if the linker cannot be started.
    """
    log, errors = (ctypes.create_string_buffer(_LOG_BYTES) for _ in range(2))
    milliseconds = ctypes.c_float()
    values = {
        _Option.WALL_TIME: ctypes.addressof(milliseconds),
        _Option.INFO_LOG_BUFFER: ctypes.addressof(log),
        _Option.INFO_LOG_BUFFER_SIZE_BYTES: _LOG_BYTES,
        _Option.ERROR_LOG_BUFFER: ctypes.addressof(errors),
        _Option.ERROR_LOG_BUFFER_SIZE_BYTES: _LOG_BYTES,
        **_compiler_options(target, options),
    }
    keys = (ctypes.c_int * len(values))(*values)
    slots = (ctypes.c_void_p * len(values))(*values.values())
    with _context(device):
        cubin = _linked(inputs, keys, slots, errors)
    # The documentation says that the driver writes the float into the option's own slot; its sample reads it where the
    # slot points.
    slot = list(values).index(_Option.WALL_TIME)
    if slots[slot] != ctypes.addressof(milliseconds):
        milliseconds = ctypes.c_float.from_buffer(slots, slot * ctypes.sizeof(ctypes.c_void_p))
    return LinkerOutput(cubin, _text(log), _text(errors), milliseconds.value / 1000)


def _compiler_options(target: Target, options: JitOptions) -> dict[_Option, int]:
    values = {
        _Option.LOG_VERBOSE: int(options.verbose),
        _Option.GENERATE_LINE_INFO: int(options.lineinfo),
        _Option.TARGET: _TARGET_SUFFIXES[target.suffix] + 10 * target.major + target.minor,
    }
    if options.optimization_level is not None:
        values[_Option.OPTIMIZATION_LEVEL] = options.optimization_level
    if options.max_registers is not None:
        values[_Option.MAX_REGISTERS] = options.max_registers
    return values


def _linked(inputs: Sequence[LinkerInput], keys: Any, slots: Any, errors: Any) -> bytes:
    """Return the cubin that the driver links from `inputs`.

    `keys`: ctypes array with the numbers of the linker's options. `slots`: ctypes array with their values. `errors`:
    buffer of the error log. Raise RefusedError with that log, and DriverError if the linker cannot be started.
    """
    create, add, complete, destroy = (driver_function(name, *types) for name, types in _ARGUMENT_TYPES.items())
    state, code, size = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_size_t()

    def check(result: int, doing: str) -> None:
        if result == 0:
            return
        try:
            check_result((cuda_driver().CUresult(result),), doing)
        except DriverError as error:
            raise RefusedError(f"{error}\n{_text(errors)}".rstrip()) from None

    try:
        check(create(len(keys), keys, slots, ctypes.byref(state)), "starting the driver's linker")
    except RefusedError as error:  # no input can be the reason
        raise DriverError(str(error)) from None
    try:
        for kind, name, content in inputs:
            data = content + b"\0" if kind == "ptx" else content
            result = add(state, _INPUT_TYPES[kind], data, len(data), name.encode(errors="replace"), 0, None, None)
            check(result, f"giving {name} to the driver's linker")
        check(complete(state, ctypes.byref(code), ctypes.byref(size)), "linking")
        return ctypes.string_at(code.value or 0, size.value)
    finally:
        destroy(state)


def _text(buffer: Any) -> str:
    content: bytes = buffer.value
    return content.decode(errors="replace").rstrip()


@contextmanager
def _context(device: int | None) -> Iterator[None]:
    """Make a context on GPU `device` current while a `with` block runs. If `device` is None, keep the context that is
    current, or use GPU 0 if there is none."""
    driver = cuda_driver()
    current = current_device()
    if current is not None and device in (None, current):
        yield
        return
    handle = check_result(driver.cuDeviceGet(device or 0), f"asking for device {device or 0}")
    context = check_result(driver.cuDevicePrimaryCtxRetain(handle), "making a context to link in")
    try:
        check_result(driver.cuCtxPushCurrent(context), "making a context current to link in")
        try:
            yield
        finally:
            driver.cuCtxPopCurrent()
    finally:
        driver.cuDevicePrimaryCtxRelease(handle)


CHILD_TIMEOUT = 600
"""Maximum number of seconds that a child process may run; also the default timeout of a compile job in a build."""

# The package may be the user's own, and importing it would run its code.
_CHILD_PROGRAM = """
import os, pickle, sys, types
answers = os.fdopen(os.dup(1), "wb")
os.dup2(2, 1)  # keep what a library prints out of the answer
package = types.ModuleType("cuda_wheel_child")
package.__path__ = [sys.argv[1]]
sys.modules["cuda_wheel_child"] = package
sys.path[:] = sys.argv[2:]
from cuda_wheel_child.parts.linking.linkers import LinkerInput, RefusedError, link_by_nvjitlink
inputs, options, ptx = pickle.load(sys.stdin.buffer)
try:
    output = link_by_nvjitlink([LinkerInput(*each) for each in inputs], options, ptx)
    answer = False, tuple(output)
except RefusedError as error:
    answer = True, (str(error), error.outdated)
answers.write(pickle.dumps(answer))
answers.close()
"""
"""Python source of the child process, which links with nvJitLink. It imports the loader's modules under the name
`cuda_wheel_child`, without running the code of the package that contains them."""


def link_by_nvjitlink(inputs: Sequence[LinkerInput], options: Sequence[str], ptx: bool) -> LinkerOutput:
    """Return the cubin that nvJitLink links or, with `ptx`, the PTX of the linked program, if all inputs are LTO-IR.

    `options` are nvJitLink's, without -ptx. Raises RefusedError with nvJitLink's log.
    """
    given = [(kind.upper(), name, content) for kind, name, content in inputs]
    try:
        code, log, errors = link_code_with_logs(given, [*options, *["-ptx"] * ptx], ptx)
    except ImageError as error:
        found = causes(f"{error}\n{error.__cause__}")
        raise RefusedError(str(error), Cause.NEWER_LTOIR in found or Cause.NEWER_PTX in found) from None
    return LinkerOutput(code.rstrip(b"\0") if ptx else code, log, errors, None)


def link_by_nvjitlink_in_child(inputs: Sequence[LinkerInput], options: Sequence[str], ptx: bool) -> LinkerOutput:
    """Call `link_by_nvjitlink` in a child process; in this process if no Python can be started.

    On a damaged container (fatbin, object, archive), or one that defines what another input defines, nvJitLink may
    crash, or print the error and succeed. A container's content cannot be checked beforehand. In a child process, a
    crash becomes an error, and what was printed becomes part of the log.
    """
    import pickle  # these two are slow to import, and few links need them
    import subprocess

    if not sys.executable or is_frozen():  # a frozen application would start itself again
        return link_by_nvjitlink(inputs, options, ptx)
    request = [tuple(map(tuple, inputs)), list(options), ptx]
    command = [sys.executable, "-c", _CHILD_PROGRAM, str(Path(__file__).parents[2]), *sys.path]
    try:
        child = subprocess.run(
            command, input=pickle.dumps(request), capture_output=True, check=False, timeout=CHILD_TIMEOUT
        )
    except subprocess.TimeoutExpired:
        raise RefusedError(f"nvJitLink did not finish in {CHILD_TIMEOUT} s", crashed=True) from None
    except OSError:  # no process can be started
        return link_by_nvjitlink(inputs, options, ptx)
    printed = child.stderr.decode(errors="replace").replace("@E@", "").strip()
    if child.returncode == 1:  # a Python exception: the link did not start
        return link_by_nvjitlink(inputs, options, ptx)
    if child.returncode:
        raise RefusedError(f"nvJitLink crashed (exit status {child.returncode})\n{printed}".rstrip(), crashed=True)
    refused, answer = pickle.loads(child.stdout)
    if refused:
        raise RefusedError("\n".join(filter(None, (answer[0], printed))), answer[1])
    output = LinkerOutput(*answer)
    return output._replace(errors="\n".join(filter(None, (output.errors, printed))))
