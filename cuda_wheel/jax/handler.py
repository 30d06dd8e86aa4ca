"""The handler that XLA calls to run operators, and its registration with JAX, once in a process.

A launch's text is read and checked once for each GPU; later calls compare the arrays with it, and launch.

The handler is a callback of ctypes. It returns XLA's error objects and raises nothing: ctypes would only print an
exception, and the C function that called would get any number. Python raises KeyboardInterrupt at the first instruction
of a function (RESUME), which no `try` in the source covers. In a function that C calls while the main thread waits for
it, that is where Ctrl-C is most likely to be raised. So the handler's `try` is made to cover it.

At exit, Python ends a daemon thread as soon as the thread asks for the GIL. Inside XLA's C++ code, this ends the
process with an error. So a handler makes the thread that calls it wait before that, without the GIL.
"""

import atexit
import ctypes
import os
import struct
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple, NoReturn, TypeVar

from cuda_wheel.jax.call_frames import (
    DATA_TYPES,
    BufferType,
    CallFrame,
    HandlerError,
    XlaApi,
    answered_metadata,
    api_at,
    frame_base,
    header_version,
    read_frame,
)
from cuda_wheel.jax.tracing import ArrayType, Launch, base_name, unique_name
from cuda_wheel.operators.declarations import KernelIdentity, KernelInstances, TritonInstances
from cuda_wheel.runtime.driver import check_result, cuda_driver, device_count, driver_function
from cuda_wheel.runtime.errors import ArgumentError, CudaWheelError
from cuda_wheel.runtime.module import Kernel
from cuda_wheel.runtime.parts.bind import launch_by_address

__all__ = [
    "TARGET",
    "GpuLaunches",
    "ProgramLaunches",
    "close",
    "guarded",
    "handler",
    "imported_jax",
    "launches",
    "register",
]


F = TypeVar("F", bound=Callable[..., Any])


def guarded(function: F) -> F:
    """Change a function whose body is one `try` statement so that this also covers the function's first instruction.

    Returns the function. Source: CPython, "InternalDocs/exception_handling.md": from Python 3.11 on, a table says which
    instructions each `try` covers. In Python 3.10, the instruction that begins a `try` is never interrupted.
    """
    if sys.version_info < (3, 11):
        return function
    code: Any = function.__code__
    entries = list(_entries(code.co_exceptiontable))
    start, length, target, depth = entries[0]
    if depth >> 1:  # not the outermost `try`: a later Python has another format
        return function
    entries[0] = (0, start + length, target, depth)
    function.__code__ = code.replace(co_exceptiontable=b"".join(map(_encoded, entries)))
    return function


def _entries(table: bytes) -> Iterator[tuple[int, int, int, int]]:
    """Yield the entries of a code object's `co_exceptiontable` (CPython 3.11 and later): (start, length, target,
    depth).

    An exception in the `length` instructions from `start` on jumps to the handler at `target`. These three are in code
    units of 2 bytes. `depth` is twice the stack depth at the handler, plus 1 if CPython also pushes the offset of the
    raising instruction.
    """
    position = 0
    while position < len(table):
        numbers = []
        for _ in range(4):
            number = table[position] & 0x3F
            while table[position] & 0x40:
                position += 1
                number = number << 6 | table[position] & 0x3F
            position += 1
            numbers.append(number)
        yield numbers[0], numbers[1], numbers[2], numbers[3]


def _encoded(entry: tuple[int, int, int, int]) -> bytes:
    """Return an entry of `co_exceptiontable`, (start, length, target, depth), as bytes: the reverse of `_entries`."""
    # A number is written as digits of 6 bits, one digit in each byte, the highest digit first. Each byte of a number
    # but the last has the flag 0x40. The first byte of the entry has the flag 0x80.
    encoded = bytearray()
    for number in entry:
        digits = [number & 0x3F]
        while number := number >> 6:
            digits.append(number & 0x3F | 0x40)
        encoded += bytes(reversed(digits))
    encoded[0] |= 0x80  # where an entry begins
    return bytes(encoded)


ALIGNMENT = 16
"""Required alignment of XLA's arrays in bytes. The address of each array is checked, because kernels may read vectors
of 16 bytes."""

MOST_LAUNCHES = 10_000
"""Maximum number of `ReadyLaunch` records that `ProgramLaunches` keeps. When it has that many, all are dropped before
another is made."""


class ReadyLaunch(NamedTuple):
    """A launch whose text was read and checked, with its kernel loaded for one GPU."""

    launch: Launch
    start: Callable[..., None]
    """Function (grid, block, stream, *arguments) that launches the kernel."""
    inputs: list[BufferType]
    """Types that the input arrays of a call must have, in order."""
    outputs: list[BufferType]
    """Types that the output arrays of a call must have, in order."""
    arguments: list[Any]
    """Arguments of the kernel, in order. Each call copies this list, and writes the addresses of its own arrays into
    the copy."""
    input_places: list[tuple[int, int]]
    """For each kernel argument that is an input array: (0-based index in `arguments`, 0-based index of the array among
    the inputs of the call)."""
    output_places: list[tuple[int, int]]
    """For each kernel argument that is an output array: (0-based index in `arguments`, 0-based index of the array among
    the outputs of the call)."""


class ProgramLaunches:
    """Launches the kernels that compiled JAX programs call, and keeps each launch that was read and checked.

    `operators` maps the name of an operator in programs, such as "demo::swish", to its kernels.
    """

    def __init__(self, operators: dict[str, KernelInstances | TritonInstances]) -> None:
        self._operators = operators
        self._ready: dict[tuple[bytes, int], ReadyLaunch] = {}
        """(JSON text of a launch, 0-based index of a GPU) -> the checked launch, with its kernel loaded for this
        GPU."""
        self.are_used = False
        """True from the moment at which the first launch is prepared: kernels may have been launched."""

    def is_ready(self, text: bytes, device: int) -> bool:
        """Return whether the launch with this JSON text has run on this GPU before, so that no module has to be
        loaded."""
        return (text, device) in self._ready

    def run(self, frame: CallFrame, device: int, stream: int) -> None:
        """Launch the kernel that a call frame describes, on the stream at this address of GPU number `device`.

        The GPU's context must be current. Raises ArgumentError if the arrays have other types than the text of the
        launch says, or unexpected addresses, and what loading and launching raise.
        """
        key = frame.attribute, device
        ready = self._ready.get(key)
        if ready is not None:
            _start(ready, frame, stream)
            return
        ready = self._prepare(frame.attribute, device)
        _start(ready, frame, stream)
        self._ready.setdefault(key, ready)

    def _prepare(self, text: bytes, device: int) -> ReadyLaunch:
        """Return a checked launch, with its kernel loaded for a GPU. `text`: JSON text of the launch. `device`: index
        of the GPU. Raises ArgumentError if the program was made for another version of the operator."""
        self.are_used = True
        launch = Launch.read(text)
        kernels = self._kernels(launch)
        info = kernels.chosen(launch.choice)
        if info is not None and info.parameter_list != launch.parameters:
            raise ArgumentError(
                f"the program was made for another version of {launch.operator}, whose kernel for "
                f"({', '.join(launch.dtypes)}) takes ({launch.parameters}): make the program again"
            )
        kernel = kernels.loaded_choice(launch.choice, device)
        if launch.block is None:
            launch = _with_figures(launch, kernel)
        if len(self._ready) >= MOST_LAUNCHES:
            self._ready.clear()
        places: dict[str, list[tuple[int, int]]] = {"input": [], "output": []}
        arguments: list[Any] = []
        types = {"input": launch.inputs, "output": launch.outputs}
        for parameter, (kind, value) in zip(kernel.parameters, launch.arguments, strict=True):
            if kind in places:
                accepted = kernels.element_types(parameter)
                if accepted is not None and types[kind][value].dtype not in accepted:
                    raise ArgumentError(
                        f"{launch.operator}: the program passes {types[kind][value]} for {parameter.cpp_or_ptx_type}"
                    )
                places[kind].append((len(arguments), value))
            # None is a null pointer: 0 as an address.
            arguments.append(bytes.fromhex(value) if kind == "bytes" else 0 if value is None else value)
        inputs, outputs = map(_expected, (launch.inputs, launch.outputs))
        start = _start_function(kernel, launch.settings)
        return ReadyLaunch(launch, start, inputs, outputs, arguments, places["input"], places["output"])

    def _kernels(self, launch: Launch) -> KernelInstances | TritonInstances:
        """Return the kernels of the operator that `launch` was made for. Raises ArgumentError if no operator fits.

        The operator must have the name `launch.operator`; "#2" at the end of a name does not count. The operator's
        kernel for this launch must have the identity `launch.kernel`: (symbol, module, digest of the images).
        """
        # Numbers such as "#2" do not count: the process that exported the program may have made operators of the same
        # name in another order.
        # A copy, because another thread may make an operator meanwhile.
        operators = self._operators.copy()
        named = [kernels for name, kernels in operators.items() if base_name(name) == base_name(launch.operator)]
        if not named:
            raise ArgumentError(f"the program needs the operator {launch.operator}, which this process has not made")
        own = operators.get(launch.operator)
        for kernels in ([own] if own else []) + named:
            if _identity(kernels, launch) == launch.kernel:
                return kernels
        kernel, here = launch.kernel, _identity(own or named[0], launch)
        found = f"{here.symbol} of {here.module}, {here.digest}" if here else "none"
        raise ArgumentError(
            f"the program was made for another version of {launch.operator}, whose kernel for "
            f"({', '.join(launch.dtypes)}) is {kernel.symbol} of {kernel.module}, with images of the digest "
            f"{kernel.digest}; here it is {found}: make the program again, or install the modules that it was made with"
        )


def _start_function(kernel: Kernel, settings: dict[str, Any]) -> Callable[..., None]:
    """Return the function (grid, block, stream, *arguments) that launches a kernel with these settings, all but grid
    and block. The arguments for pointers are addresses."""
    if not settings:
        return launch_by_address(kernel)
    return lambda grid, block, stream, *arguments: kernel.launch(grid, block, *arguments, stream=stream, **settings)


def _start(ready: ReadyLaunch, frame: CallFrame, stream: int) -> None:
    """Launch what a call frame describes, on the stream at this address. Raises ArgumentError for arrays of other types
    than the text of the launch says, or with unexpected addresses, and what launching raises."""
    launch, inputs, outputs = ready.launch, frame.arguments, frame.results
    if frame.argument_types != ready.inputs:
        raise _mismatch(launch, "input", frame.argument_types, launch.inputs)
    if frame.result_types != ready.outputs:
        raise _mismatch(launch, "output", frame.result_types, launch.outputs)
    arguments = ready.arguments.copy()
    for place, index in ready.input_places:
        arguments[place] = inputs[index]
    for place, index in ready.output_places:
        arguments[place] = outputs[index]
    for address in (*inputs, *outputs):
        if address % ALIGNMENT:
            raise ArgumentError(
                f"{launch.operator}: XLA passed an array at {address:#x}, which is not a multiple of {ALIGNMENT}"
            )
    for source, target in launch.aliases:
        if inputs[source] != outputs[target]:
            raise ArgumentError(
                f"{launch.operator}: the kernel changes input {source} in place to make output {target}, but XLA "
                "gave them different memory"
            )
    ready.start(launch.grid, launch.block, stream, *arguments)


def _identity(kernels: KernelInstances | TritonInstances, launch: Launch) -> KernelIdentity | None:
    """Return the identity of the kernel that `launch.choice` selects among `kernels`; None if `kernels` has no such
    kernel."""
    try:
        return kernels.identity(launch.choice)
    except CudaWheelError:  # another version of the operator
        return None


def _with_figures(launch: Launch, kernel: Kernel) -> Launch:
    """Return the launch of a Triton kernel with the numbers of threads and blocks, and the settings, of its image."""
    from cuda_wheel.runtime.parts.triton.kernels import figures_of  # only for Triton kernels

    figures, (x, y, z) = figures_of(kernel), launch.grid
    return launch._replace(
        grid=(x * figures.blocks, y, z), block=(figures.threads, 1, 1), settings=dict(figures.options)
    )


class GpuLaunches:
    """Launches kernels on the stream that XLA names, with the context of that stream current."""

    def __init__(self, launches: ProgramLaunches) -> None:
        self._launches = launches
        self._several = device_count() > 1
        pointer = ctypes.c_void_p
        self._contexts: dict[int, int] = {}
        """Address of a stream -> address of its context, on a machine with one GPU. If XLA makes a stream of another
        context at the same address, its launches fail."""
        self._stream_context = driver_function("cuStreamGetCtx", pointer, pointer)
        self._get_current_context = _holding_gil(driver_function("cuCtxGetCurrent"))
        self._pointers: list[tuple[Any, Any]] = []
        """Memory for a result of cuCtxGetCurrent that no call uses now, each with the ctypes argument that refers to
        it."""
        self._push_context = driver_function("cuCtxPushCurrent", pointer)
        self._pop_context = driver_function("cuCtxPopCurrent", pointer)
        self._context_device = driver_function("cuCtxGetDevice", pointer)
        self._exchange_capture_mode = driver_function("cuThreadExchangeStreamCaptureMode", pointer)

    def run(self, api: XlaApi, frame: CallFrame) -> None:
        """Launch the kernel that a call frame describes; raise what `ProgramLaunches.run` raises, and DriverError."""
        stream = api.stream(frame.context)
        context = self._contexts.get(stream) or self._context_of(stream)
        if context == self._current_context():
            self._run_there(frame, stream)
            return
        pointer = ctypes.c_void_p(context)
        _checked(self._push_context(pointer), "making the context of XLA's stream current")
        try:
            self._run_there(frame, stream)
        finally:
            self._pop_context(ctypes.byref(pointer))

    def _context_of(self, stream: int) -> int | None:
        """Return the address of a stream's context. On a machine with one GPU, note it in `_contexts`."""
        pointer = ctypes.c_void_p()
        _checked(self._stream_context(stream, ctypes.byref(pointer)), "finding the context of XLA's stream")
        if pointer.value and not self._several:
            self._contexts[stream] = pointer.value
        return pointer.value

    def _current_context(self) -> int | None:
        """Return the address of the thread's current context; None if it has none."""
        try:
            slot = self._pointers.pop()
        except IndexError:
            pointer = ctypes.c_void_p()
            slot = pointer, ctypes.byref(pointer)
        memory, reference = slot
        _checked(self._get_current_context(reference), "getting the current context")
        current: int | None = memory.value
        self._pointers.append(slot)
        return current

    def _run_there(self, frame: CallFrame, stream: int) -> None:
        """Launch the kernel of a call frame on the stream with the address `stream`. The context of the stream must be
        current."""
        device = 0
        if self._several:
            number = ctypes.c_int()
            _checked(self._context_device(ctypes.byref(number)), "getting the GPU of XLA's stream")
            device = number.value
        if self._launches.is_ready(frame.attribute, device):
            self._launches.run(frame, device, stream)
            return
        # XLA may be capturing the stream for a CUDA graph, which would forbid this thread to load modules.
        # Source: CUDA Driver API, cuThreadExchangeStreamCaptureMode.
        mode = ctypes.c_int(2)  # CU_STREAM_CAPTURE_MODE_RELAXED
        _checked(self._exchange_capture_mode(ctypes.byref(mode)), "preparing to load a module")
        try:
            self._launches.run(frame, device, stream)
        finally:
            self._exchange_capture_mode(ctypes.byref(mode))


def _holding_gil(function: Any) -> Any:
    """Return a ctypes function of the driver that does not release the GIL while it runs, for one that returns at once.

    XLA's thread that lets the GIL go waits for it again as long as another thread runs Python.
    """
    address: Any = ctypes.cast(function, ctypes.c_void_p).value
    return ctypes.PYFUNCTYPE(function.restype, *function.argtypes)(address)


def _checked(code: int, doing: str) -> None:
    """Raise DriverError if `code`, the result of a function of the CUDA driver, is an error (not 0). `doing` says in
    the error message what was tried: "getting the current context"."""
    if code:
        check_result((cuda_driver().CUresult(code),), doing)


def _expected(types: Sequence[ArrayType]) -> list[BufferType]:
    """Return array types in the form in which XLA passes them to a handler."""
    return [
        (DATA_TYPES[each.dtype], len(each.shape), struct.pack(f"={len(each.shape)}q", *each.shape)) for each in types
    ]


def _mismatch(launch: Launch, what: str, passed: Sequence[BufferType], types: Sequence[ArrayType]) -> ArgumentError:
    """Return the error for arrays whose types differ from those in the program.

    `what`: "input" or "output", for the message. `passed`: types of the arrays that XLA passed. `types`: types that the
    program states.
    """
    names = {number: name for name, number in DATA_TYPES.items()}
    found = [
        str(ArrayType(names.get(data_type, f"type {data_type}"), struct.unpack(f"={rank}q", shape)))
        for data_type, rank, shape in passed
    ]
    return ArgumentError(
        f"{launch.operator}: XLA passed {what}s ({', '.join(found)}), but the program says "
        f"({', '.join(map(str, types))})"
    )


CANCELLED, INVALID_ARGUMENT, FAILED_PRECONDITION, INTERNAL, UNAVAILABLE = 1, 3, 9, 13, 14
"""Codes for XLA's error objects: values of XLA_FFI_Error_Code_CANCELLED, XLA_FFI_Error_Code_INVALID_ARGUMENT, and so
on."""

LONGEST_HOLD = 10.0
"""Maximum time in seconds to hold a thread that calls a handler while the interpreter is ending. If XLA waits for the
thread to finish, the process ends that much later."""

_kept: list[Any] = []
"""The handlers' ctypes callbacks. They are kept until the process ends, because XLA may call them until then."""

_state = {"closed": False}
"""Dictionary with one item. "closed" becomes True when the interpreter is ending; from then on, handlers launch no
kernels."""

_held: list[int] = []
"""Identifiers of the threads that called a handler while the interpreter was ending, and were made to wait."""

_never = threading.Lock()
"""Lock that is taken at once and never released. A thread that waits for it stands still without holding the GIL."""
_never.acquire()


_thread = threading.local()
"""Has the attribute `keeps_state` in each thread that has called a handler."""


def _keep_thread_state() -> None:
    """Let Python keep its state of this thread until the process ends.

    Otherwise it makes a new one each time that a thread of XLA's calls a handler, and frees it after the call. This
    takes about 8 µs, as long as the handler.
    """
    # Python frees the state with the last release of what PyGILState_Ensure acquires. This one is never released.
    ctypes.pythonapi.PyGILState_Ensure()
    _thread.keeps_state = True


def close(seconds: float = 0.25) -> None:
    """Make handlers launch nothing from now on, because the interpreter is ending, and make threads that call them
    wait.

    Daemon threads may still run programs. Returns when as many threads wait as there are daemon threads, or when no
    further one has come for `seconds`.
    """
    _state["closed"] = True
    daemons = len([each for each in threading.enumerate() if each.daemon])
    held, end = 0, time.monotonic() + seconds
    while held < daemons and time.monotonic() < end:
        time.sleep(0.001)
        if len(_held) > held:
            held, end = len(_held), time.monotonic() + seconds


def _refuse_at_exit(api: XlaApi) -> int:
    """Return the address of a new XLA error object which says that the interpreter is ending. In a thread other than
    the main thread, first wait for `LONGEST_HOLD` seconds."""
    if threading.get_ident() != threading.main_thread().ident:
        _held.append(threading.get_ident())
        _never.acquire(timeout=LONGEST_HOLD)  # usually, the process ends before the wait is over
    return api.error("the Python interpreter is ending: cuda-wheel launches no kernels any more", UNAVAILABLE)


def handler(run: Callable[[XlaApi, CallFrame], None], version: tuple[int, int]) -> Any:
    """Return a C function for XLA, as a ctypes pointer, that calls `run` with XLA's functions and the call frame.

    It returns an exception of `run` as an error object of XLA. XLA may call it in any of its threads, and in several at
    a time. It is never freed. `version` is the version (major, minor) of XLA's FFI; the function reports the same as
    its own, because JAX 0.5 accepts no other.
    """
    apis: dict[int, XlaApi] = {}  # by address: XLA's functions do not move

    def callback(frame: int) -> int | None:
        try:
            extension, address = frame_base(frame)
            if extension and answered_metadata(extension, version):
                return None
            api = apis.get(address) or _api(address, apis)
            if _state["closed"]:
                return _refuse_at_exit(api)
            if not hasattr(_thread, "keeps_state"):
                _keep_thread_state()
            run(api, read_frame(frame))
            return None
        except BaseException as error:
            try:
                return _returned(error, frame, apis)
            except BaseException:  # such as a second Ctrl-C
                return _returned(RuntimeError("an error while an error was reported"), frame, apis)

    pointer = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)(guarded(callback))
    # One reference more than Python will ever release: at exit, it would free the function before XLA's threads end.
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(pointer))
    _kept.append(pointer)
    return pointer


def _api(address: int, apis: dict[int, XlaApi]) -> XlaApi:
    """Return XLA's functions from the table XLA_FFI_Api at `address`, and add them to `apis` (address of the table ->
    functions). If this version of the table is unknown, abort the process."""
    api = api_at(address)
    if api is None:
        print("cuda_wheel.jax does not know this version of XLA, and cannot return an error to it", file=sys.stderr)
        os.abort()  # no error object can be made without these functions
    apis[address] = api
    return api


def _returned(error: BaseException, frame: int, apis: dict[int, XlaApi]) -> int:
    """Return the address of an XLA error object that reports `error`, an exception that a handler raised.

    `frame`: address of the call frame that the handler got. `apis`: address of a table XLA_FFI_Api -> XLA's functions.
    The frame's table is added to `apis`.
    """
    if isinstance(error, HandlerError):
        return error.address
    api = _api(frame_base(frame)[1], apis)
    if isinstance(error, ArgumentError):
        return api.error(str(error), INVALID_ARGUMENT)
    if isinstance(error, CudaWheelError):
        return api.error(f"{type(error).__name__}: {error}", FAILED_PRECONDITION)
    if isinstance(error, KeyboardInterrupt):
        return api.error("KeyboardInterrupt", CANCELLED)
    place = "".join(traceback.format_exception(error)[-2:])
    return api.error(f"internal error in cuda-wheel; please report it: {place}", INTERNAL)


TARGET = "cuda_wheel_launch"
"""Name under which the handlers are registered with JAX. Compiled programs call the handlers by this name."""

_operators: dict[str, KernelInstances | TritonInstances] = {}
"""Name of an operator in compiled programs, such as "demo::swish" or "demo::swish#2" -> its kernels."""
_lock = threading.Lock()
launches = ProgramLaunches(_operators)


def imported_jax() -> Any:
    """Return JAX; raise ImportError where it is not installed, or has no `jax.ffi`."""
    try:
        import jax  # optional
    except ImportError as error:
        raise ImportError(f"cuda_wheel.jax makes operators of JAX, which cannot be imported ({error})") from error
    try:
        import jax.ffi
    except ImportError:
        raise ImportError(
            f"cuda_wheel.jax needs JAX 0.5.0 or later, not {jax.__version__}: it has no jax.ffi"
        ) from None
    return jax


def register(jax: Any, name: str, kernels: KernelInstances | TritonInstances) -> str:
    """Make an operator's kernels known to the handlers; return the operator's name in compiled programs.

    The name is unique in the process: if `name` is in use, it gets a number ("demo::swish#2"), so that programs which
    were compiled before still run the earlier operator.
    """
    with _lock:
        if not _operators:
            _register_handlers(jax)
        unique = unique_name(name, _operators)
        _operators[unique] = kernels
    return unique


def _register_handlers(jax: Any) -> None:
    """Register one handler for each platform in `PLATFORMS` with JAX, and `_finish` to run at exit. Raises ImportError
    if the version of XLA's FFI is unknown."""
    version = header_version((Path(jax.ffi.include_dir()) / "xla/ffi/api/c_api.h").read_text())
    if not (0, 1) <= version < (1, 0):
        raise ImportError(
            f"cuda_wheel.jax knows version 0 of XLA's FFI, and JAX {jax.__version__} has {version[0]}.{version[1]}: it "
            "was tested with JAX 0.5.0 to 0.12.0"
        )
    for platform in PLATFORMS:
        found = handler(lambda api, frame, platform=platform: PLATFORMS[platform](api, frame), version)  # type: ignore[misc]
        pointer = ctypes.cast(found, ctypes.c_void_p)
        jax.ffi.register_ffi_target(TARGET, jax.ffi.pycapsule(pointer), platform=platform, api_version=1)
    # JAX's own functions for exit were registered before, so run later.
    atexit.register(_finish, jax)


@cache
def _gpu_launches() -> GpuLaunches:
    return GpuLaunches(launches)


def _refuse_cpu(api: XlaApi, frame: CallFrame) -> NoReturn:
    operator = Launch.read(frame.attribute).operator
    raise ArgumentError(f"{operator} takes arrays on a GPU of CUDA, but this program runs on the CPU")


# Tests replace the function for the CPU.
PLATFORMS: dict[str, Callable[[XlaApi, CallFrame], None]] = {
    "CUDA": lambda api, frame: _gpu_launches().run(api, frame),  # finds the driver in the first call
    "cpu": _refuse_cpu,
}
"""Name of a JAX platform -> function(XLA's functions, call frame) that launches the kernel of a call frame on that
platform. The function for the CPU raises ArgumentError."""


def _finish(jax: Any) -> None:
    """Wait until all running programs have ended, and make handlers launch nothing from now on. Python calls this
    function at exit."""
    try:
        # A GPU runs programs in the order of their calls, so all earlier programs have ended when a small one has.
        for device in jax.local_devices(backend="cuda") if launches.are_used else ():
            with suppress(Exception):  # the programs' own errors, which have been reported
                jax.jit(lambda x: x + 1)(jax.device_put(0, device)).block_until_ready()
    except RuntimeError:  # JAX has no such GPUs any more
        pass
    finally:
        close()
