"""The linkers and the compiler that make machine code on the user's machine: nvJitLink, the driver's own, NVRTC.

Plain values in, plain values out; what is to be linked, and by which of them, is decided in `linking`.
"""

import ctypes
import os
import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

from ..driver import check_result, cuda_driver, current_device
from ..errors import CudaWheelError, DriverError, ImageError, LinkError
from ..jit import JitOptions, nvjitlink_options
from ..manifest import Target, Version, dotted
from ..nvjitlink import link_code_with_logs

__all__ = [
    "Input",
    "Output",
    "RefusedError",
    "compile_cuda",
    "link_by_driver",
    "link_by_nvjitlink",
    "link_by_nvjitlink_apart",
    "nvrtc_version",
]


class Input(NamedTuple):
    """One thing that a linker is given: kind, name for its messages, bytes."""

    kind: str
    name: str
    content: bytes


class Output(NamedTuple):
    """What a linker made and said; `seconds` is what it says that it took, None where it does not say."""

    code: bytes
    log: str
    errors: str
    seconds: float | None


class RefusedError(CudaWheelError):
    """A linker's failure, in its words. `outdated`: it is too old for an input; another linker, or another form of that
    input, may help. `crashed`: it did not come to an end."""

    def __init__(self, words: str, outdated: bool = False, crashed: bool = False) -> None:
        super().__init__(words)
        self.outdated = outdated
        self.crashed = crashed


# --- nvJitLink ------------------------------------------------------------------------------------

_OUTDATED = (
    r"may need newer version of nvJitLink|Unsupported \.version|NVVM_ERROR_IR_VERSION_MISMATCH|incompatible IR detected"
)
"""What nvJitLink 12.9 and 13.5 say of PTX and LTO-IR that is newer than they are."""


def link_by_nvjitlink(inputs: Sequence[Input], target: Target, lto: bool, options: JitOptions, ptx: bool) -> Output:
    """Return the cubin that nvJitLink makes of the inputs, or, of LTO-IR alone, the PTX on the way to it.

    Raises RefusedError with its words.
    """
    arguments = [f"-arch={target}", *["-lto"] * lto, *["-ptx"] * ptx, *nvjitlink_options(options)]
    given = [(kind.upper(), name, content) for kind, name, content in inputs]
    try:
        code, log, errors = link_code_with_logs(given, arguments, ptx)
    except ImageError as error:
        words = str(error)
        outdated = "OUTDATED_LIBRARY" in str(error.__cause__) or re.search(_OUTDATED, words) is not None
        raise RefusedError(words, outdated) from None
    return Output(code.rstrip(b"\0") if ptx else code, log, errors, None)


def link_by_nvjitlink_apart(
    inputs: Sequence[Input], target: Target, lto: bool, options: JitOptions, ptx: bool
) -> Output:
    """Do the same in a process of its own.

    A linker that meets a damaged container, or one that defines what others define too, may crash, or say so on
    standard error and succeed. What is in a container cannot be looked at beforehand; here a crash is an error, and
    what is printed is part of the log. Where no Python can be started, it is done in this process.
    """
    import pickle
    import subprocess

    if not sys.executable or getattr(sys, "frozen", False):  # a frozen application would be started again
        return link_by_nvjitlink(inputs, target, lto, options, ptx)
    request = [tuple(map(tuple, inputs)), tuple(target), lto, tuple(options), ptx]
    command = [sys.executable, "-c", _APART, os.path.dirname(os.path.dirname(__file__)), *sys.path]
    try:
        done = subprocess.run(
            command, input=pickle.dumps(request), capture_output=True, check=False, timeout=APART_SECONDS
        )
    except subprocess.TimeoutExpired:
        raise RefusedError(f"nvJitLink did not end in {APART_SECONDS} s", crashed=True) from None
    except OSError:  # no process can be started
        return link_by_nvjitlink(inputs, target, lto, options, ptx)
    printed = done.stderr.decode(errors="replace").replace("@E@", "").strip()
    if done.returncode == 1:  # Python's own way to fail: it never came to linking
        return link_by_nvjitlink(inputs, target, lto, options, ptx)
    if done.returncode:
        raise RefusedError(f"nvJitLink crashed (exit status {done.returncode})\n{printed}".rstrip(), crashed=True)
    refused, answer = pickle.loads(done.stdout)
    if refused:
        raise RefusedError("\n".join(filter(None, (answer[0], printed))), answer[1])
    output = Output(*answer)
    return output._replace(errors="\n".join(filter(None, (output.errors, printed))))


APART_SECONDS = 600
"""As long as a build lets a compiler work by default."""


_APART = """
import os, pickle, sys, types
answers = os.fdopen(os.dup(1), "wb")
os.dup2(2, 1)  # what anybody prints must not get into the answer
package = types.ModuleType("linkers_apart")
package.__path__ = [sys.argv[1]]
sys.modules["linkers_apart"] = package
sys.path[:] = sys.argv[2:]
from linkers_apart.linking.linkers import Input, RefusedError, link_by_nvjitlink
from linkers_apart.jit import JitOptions
from linkers_apart.manifest import Target
inputs, target, lto, options, ptx = pickle.load(sys.stdin.buffer)
try:
    output = link_by_nvjitlink([Input(*each) for each in inputs], Target(*target), lto, JitOptions(*options), ptx)
    answer = False, tuple(output)
except RefusedError as error:
    answer = True, (str(error), error.outdated)
answers.write(pickle.dumps(answer))
answers.close()
"""
"""The other process's program. It imports these files alone, and not the package that they are in."""


# --- the driver's linker ----------------------------------------------------------------------------

_MAX_REGISTERS, _WALL_TIME = 0, 2


_INFO_LOG, _INFO_LOG_SIZE, _ERROR_LOG, _ERROR_LOG_SIZE = 3, 4, 5, 6


_OPTIMIZATION_LEVEL, _TARGET, _LOG_VERBOSE, _LINEINFO = 7, 9, 12, 13
"""Source: CUDA Driver API, CUjit_option."""


_INPUTS = {"cubin": 0, "ptx": 1, "fatbin": 2, "object": 3, "library": 4}
"""Source: CUDA Driver API, CUjitInputType."""


_SUFFIXES = {"": 0, "a": 0x10000, "f": 0x20000}
"""Source: CUDA Driver API, CUjit_target."""


_LOG_BYTES = 1 << 16


def link_by_driver(inputs: Sequence[Input], target: Target, options: JitOptions, device: int | None) -> Output:
    """Return the cubin that the driver's linker makes of PTX and machine code.

    It needs a context: without a current one on the GPU, the GPU's primary one is current meanwhile. By ctypes, since
    the seconds come back in the array of options, which cuda.bindings keeps to itself.
    Raises RefusedError with its words, and DriverError where it cannot even start.
    """
    create, add, complete, destroy = map(
        _function, ("cuLinkCreate", "cuLinkAddData", "cuLinkComplete", "cuLinkDestroy")
    )
    log, errors = (ctypes.create_string_buffer(_LOG_BYTES) for _ in range(2))
    milliseconds = ctypes.c_float()
    values = {
        _WALL_TIME: ctypes.addressof(milliseconds),
        _INFO_LOG: ctypes.addressof(log),
        _INFO_LOG_SIZE: _LOG_BYTES,
        _ERROR_LOG: ctypes.addressof(errors),
        _ERROR_LOG_SIZE: _LOG_BYTES,
        _LOG_VERBOSE: int(options.verbose),
        _LINEINFO: int(options.lineinfo),
        _TARGET: _SUFFIXES[target.suffix] + 10 * target.major + target.minor,
    }
    if options.optimization_level is not None:
        values[_OPTIMIZATION_LEVEL] = options.optimization_level
    if options.max_registers is not None:
        values[_MAX_REGISTERS] = options.max_registers
    keys = (ctypes.c_int * len(values))(*values)
    slots = (ctypes.c_void_p * len(values))(*values.values())
    state, code, size = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_size_t()

    def check(result: int, doing: str) -> None:
        if result == 0:
            return
        answer = cuda_driver().CUresult(result)
        words = errors.value.decode(errors="replace").rstrip()
        try:
            check_result((answer,), doing)
        except DriverError as error:
            raise RefusedError(f"{error}\n{words}".rstrip()) from None

    with _context(device):
        try:
            check(create(len(values), keys, slots, ctypes.byref(state)), "starting the driver's linker")
        except RefusedError as error:  # nothing was given to it yet
            raise DriverError(str(error)) from None
        try:
            for kind, name, content in inputs:
                data = content + b"\0" if kind == "ptx" else content
                result = add(state, _INPUTS[kind], data, len(data), name.encode(errors="replace"), 0, None, None)
                check(result, f"giving {name} to the driver's linker")
            check(complete(state, ctypes.byref(code), ctypes.byref(size)), "linking")
            cubin = ctypes.string_at(code.value or 0, size.value)
        finally:
            destroy(state)
    # The documentation has the float overwrite the option's own slot; its sample reads it where the slot points.
    slot = list(values).index(_WALL_TIME)
    if slots[slot] != ctypes.addressof(milliseconds):
        milliseconds = ctypes.c_float.from_buffer(slots, slot * ctypes.sizeof(ctypes.c_void_p))
    info, complaints = (buffer.value.decode(errors="replace").rstrip() for buffer in (log, errors))
    return Output(cubin, info, complaints, milliseconds.value / 1000)


_POINTER, _INT, _SIZE = ctypes.c_void_p, ctypes.c_int, ctypes.c_size_t


_ARGUMENTS = {
    "cuLinkCreate": (ctypes.c_uint, _POINTER, _POINTER, _POINTER),
    "cuLinkAddData": (_POINTER, _INT, _POINTER, _SIZE, ctypes.c_char_p, ctypes.c_uint, _POINTER, _POINTER),
    "cuLinkComplete": (_POINTER, _POINTER, _POINTER),
    "cuLinkDestroy": (_POINTER,),
}


def _function(name: str) -> Any:
    address = check_result(cuda_driver().cuGetProcAddress(name.encode(), 12000, 0)[:2], f"looking for {name}")
    return ctypes.CFUNCTYPE(ctypes.c_int, *_ARGUMENTS[name])(int(address))


@contextmanager
def _context(device: int | None) -> Iterator[None]:
    """Have a context of the GPU, number `device` or the current context's or number 0, be current."""
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


# --- NVRTC ------------------------------------------------------------------------------------------


def nvrtc_version() -> Version | None:
    """Return the CUDA release of the NVRTC that is installed here, or None."""
    try:
        from cuda.bindings import nvrtc

        result, major, minor = nvrtc.nvrtcVersion()
    except (ImportError, RuntimeError):  # no binding, or no library behind it
        return None
    return None if int(result) else (major, minor)


def nvrtc_options(lto: bool, options: JitOptions) -> list[str]:
    """Return the options for NVRTC that are the same for every GPU."""
    return ["-rdc=true", "-std=c++17", *["-dlto"] * lto, *["-lineinfo"] * options.lineinfo]


def compile_cuda(
    text: bytes, name: str, folder: str | None, target: Target, lto: bool, options: JitOptions
) -> tuple[bytes, str]:
    """Return the LTO-IR, or the relocatable PTX, that NVRTC makes of CUDA C++, and what it said.

    Headers are looked for in `folder`, then among the toolkit's and CCCL's where these are installed. Raises LinkError
    with the compiler's words.
    """
    from cuda.bindings import nvrtc

    folders = [folder] if folder else []
    if b"include" in text:
        folders += _header_folders()
    arguments = [f"-arch=compute_{_arch(target)}", *nvrtc_options(lto, options), *(f"-I{path}" for path in folders)]
    program = _value(nvrtc.nvrtcCreateProgram(text, name.encode(errors="replace"), 0, [], []))
    try:
        result = nvrtc.nvrtcCompileProgram(program, len(arguments), [os.fsencode(argument) for argument in arguments])
        log = _output(nvrtc.nvrtcGetProgramLogSize, nvrtc.nvrtcGetProgramLog, program).rstrip(b"\0\n ")
        words = re.sub(r"^(\S[^(\n]*)\((\d+)\): ", r"\1:\2: ", log.decode(errors="replace"), flags=re.MULTILINE)
        if int(result[0]):
            raise LinkError(f"{name} does not compile for compute_{_arch(target)}:\n{words or result[0].name}")
        get = (nvrtc.nvrtcGetLTOIRSize, nvrtc.nvrtcGetLTOIR) if lto else (nvrtc.nvrtcGetPTXSize, nvrtc.nvrtcGetPTX)
        code = _output(*get, program)
    finally:
        nvrtc.nvrtcDestroyProgram(program)
    return (code if lto else code.rstrip(b"\0")), words


def _arch(target: Target) -> str:
    """Return the newest architecture that NVRTC knows and the GPU runs."""
    from cuda.bindings import nvrtc

    supported = _value(nvrtc.nvrtcGetSupportedArchs())
    number = 10 * target.major + target.minor
    if number in supported:
        return target.arch
    older = [arch for arch in supported if arch < number]
    if not older:
        known = f"{min(supported)} and later"
        raise LinkError(f"NVRTC {dotted(nvrtc_version() or (0, 0))} compiles for {known} only, and not for {target}")
    return str(max(older))


def _header_folders() -> list[str]:
    """Return the folders of the toolkit's and CCCL's headers, as far as they are installed."""
    try:
        from cuda.pathfinder import find_nvidia_header_directory
    except ImportError:
        return []
    found = []
    for name in ("cccl", "cudart", "nvcc"):
        try:
            found.append(find_nvidia_header_directory(name))
        except RuntimeError:  # this release of cuda.pathfinder does not know it
            continue
    return list(dict.fromkeys(path for path in found if path))


def _output(size: Any, get: Any, program: Any) -> bytes:
    length = _value(size(program))
    if length < 2:  # a NUL alone; and Python has one object for all texts of one byte, which must not be written into
        return b""
    buffer: bytes = b" " * length
    _value(get(program, buffer))
    return buffer


def _value(result: tuple[Any, ...]) -> Any:
    if int(result[0]):
        raise LinkError(f"NVRTC answered {result[0].name}")
    return result[1] if len(result) > 1 else None
