"""The handler of XLA's calls, given frames that are laid out as XLA's; no JAX is needed."""

from __future__ import annotations

import ctypes
import signal
import sys
from collections.abc import Callable
from types import FunctionType, SimpleNamespace
from typing import Any

import pytest

from cuda_wheel.jax import handler as ffi_handler
from cuda_wheel.jax import handler as program_launches
from cuda_wheel.jax.handler import ProgramLaunches, guarded
from cuda_wheel.jax.tracing import ArrayType
from cuda_wheel.operators.declarations import KernelInstances
from cuda_wheel.runtime.errors import ArgumentError, DriverError
from cuda_wheel.runtime.manifest import Parameter
from tests.jax.frames import LAUNCH, Xla, aligned
from tests.jax.host_kernels import HostKernel
from tests.support.launches import kernel_of
from tests.support.processes import run
from tests.support.projects import ROOT

pytestmark = pytest.mark.one_toolchain


@pytest.fixture
def kernel() -> HostKernel:
    return HostKernel("axpy", "float, const float*, float*, int")


@pytest.fixture
def call(kernel: HostKernel) -> Callable[[Xla], int | None]:
    """Return a handler that launches the kernel on whatever stream XLA names."""
    launches = ProgramLaunches({"demo::axpy": KernelInstances("demo::axpy", kernel, None)})
    pointer = ffi_handler.handler(lambda api, frame: launches.run(frame, 0, api.stream(frame.context)), (0, 3))
    return lambda xla: pointer(xla.address)


def frame(text: bytes | None = None, **more: Any) -> Xla:
    x, y = aligned(2, 3), aligned(2, 3)
    return Xla(LAUNCH.text().encode() if text is None else text, **{"inputs": [x, y], "outputs": [y], **more})


def test_a_frame_is_read_and_launched(call: Any, kernel: HostKernel) -> None:
    for _ in range(2):
        xla = frame()
        assert call(xla) is None
        (x, _), (y,) = xla.buffers
        launched = kernel.launched.pop()
        assert launched.arguments == (0.1, x.data, y.data, 6)
        assert (launched.grid, launched.block) == ((2, 1, 1), (32, 1, 1))
        assert launched.more == {"shared_memory": 64, "stream": 0x5EA}


def change(path: str, value: Any) -> Callable[[Xla], None]:
    def apply(xla: Xla) -> None:
        *names, last = path.split(".")
        place: Any = xla
        for name in names:
            place = place[int(name)] if name.isdigit() else getattr(place, name)
        if last.isdigit():
            place[int(last)] = value
        else:
            setattr(place, last, value)

    return apply


def other_rank(xla: Xla) -> None:
    xla.buffers[0][0].rank, xla.buffers[0][0].dims = 1, (ctypes.c_int64 * 1)(6)


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (
            change("frame.struct_size", 160),
            "XLA's call frame has 160 bytes, and 168 were expected: this version of JAX",
        ),
        (change("frame.args.struct_size", 32), "XLA's list of arguments has 32 bytes"),
        (change("frame.attrs.struct_size", 40), "XLA's list of attributes has 40 bytes"),
        (change("buffers.0.0.struct_size", 40), "XLA's buffer has 40 bytes, and 48 were expected"),
        (change("frame.stage", 2), "XLA called the handler in stage 2, not to execute it"),
        (change("frame.attrs.count", 2), "XLA passed 2 attributes, not the text of a launch alone"),
        (change("attribute_types.0", 3), "XLA passed 1 attributes, not the text"),
        (change("buffers.0.0.dtype", 12), r"demo::axpy: XLA passed inputs \(float64\[2,3\], float32\[2,3\]\), but the"),
        (change("buffers.1.0.dtype", 99), r"demo::axpy: XLA passed outputs \(type 99\[2,3\]\), but the program says"),
        (other_rank, r"XLA passed inputs \(float32\[6\], float32\[2,3\]\), but the program says \(float32\[2,3\], fl"),
        (change("frame.args.count", 1), r"XLA passed inputs \(float32\[2,3\]\), but"),
        (
            change("buffers.0.0.data", 0x1008),
            "demo::axpy: XLA passed an array at 0x1008, which is not a multiple of 16",
        ),
        (change("buffers.0.1.data", 0x1000), "the kernel changes input 1 in place to make output 0, but XLA gave them"),
    ],
)
def test_a_frame_that_is_not_as_expected(call: Any, kernel: HostKernel, damage: Any, message: str) -> None:
    xla = frame()
    damage(xla)
    assert call(xla) == 1
    with pytest.raises(ArgumentError, match=message):  # the match is easier to read than one of re
        raise ArgumentError(xla.errors[0][1])
    assert xla.errors[0][0] == 3 and not kernel.launched


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"{", "the program's text of a launch is not cuda-wheel's: JSONDecodeError"),
        (b'{"operator": 5}', "the program's text of a launch is not cuda-wheel's: KeyError"),
        (
            LAUNCH._replace(operator="demo::other").text().encode(),
            "the program needs the operator demo::other, which this process has not made",
        ),
        (
            LAUNCH._replace(parameters="float").text().encode(),
            "the program was made for another version of demo::axpy, whose kernel for () takes (float): make the",
        ),
        (
            LAUNCH._replace(inputs=[ArrayType("int32", (6,))] * 2).text().encode(),
            "demo::axpy: the program passes int32[6] for const float*",
        ),
        (LAUNCH._replace(dtypes=("int32",)).text().encode(), "the program was made for another version of demo::axpy"),
    ],
)
def test_a_text_that_is_not_of_this_process(call: Any, kernel: HostKernel, text: bytes, message: str) -> None:
    xla = frame(text)
    assert call(xla) == 1 and xla.errors[0][1].startswith(message)


def test_an_operator_is_made_while_a_launch_looks_for_its_own(
    call: Any, kernel: HostKernel, monkeypatch: pytest.MonkeyPatch
) -> None:
    operators = {"demo::axpy": KernelInstances("demo::axpy", kernel, None)}
    base_name = ffi_handler.base_name

    def meanwhile(name: str) -> str:
        operators[f"demo::other#{len(operators)}"] = operators["demo::axpy"]
        return base_name(name)

    monkeypatch.setattr(ffi_handler, "base_name", meanwhile)
    assert ProgramLaunches(operators)._kernels(LAUNCH) is operators["demo::axpy"] and len(operators) > 1


def test_an_error_of_xla_is_returned_as_it_is(call: Any, kernel: HostKernel) -> None:
    xla = frame()
    xla.stream = 0
    assert call(xla) == 0xBAD and not xla.errors and not kernel.launched


class Driver:
    """The functions of the driver that XLA's streams need; each records its call. `contexts` are GPU numbers."""

    def __init__(self, current: int | None) -> None:
        self.calls: list[str] = []
        self.contexts = [] if current is None else [0xC0 + current]
        self.failing = ""

    def function(self, name: str, *types: Any) -> Callable[..., int]:
        def call(*arguments: Any) -> int:
            self.calls.append(name)
            if name == self.failing:
                return 201  # CUDA_ERROR_INVALID_CONTEXT
            result = getattr(arguments[-1], "_obj", None)
            if name == "cuStreamGetCtx":
                result.value = 0xC1 if arguments[0] == 0x5EA else 0xC0
            elif name == "cuCtxGetCurrent":
                result.value = self.contexts[-1] if self.contexts else None
            elif name == "cuCtxPushCurrent":
                self.contexts.append(arguments[0].value)
            elif name == "cuCtxPopCurrent":
                self.contexts.pop()
            elif name == "cuCtxGetDevice":
                result.value = self.contexts[-1] - 0xC0
            elif name == "cuThreadExchangeStreamCaptureMode":
                self.calls[-1] += f" {result.value}"
                result.value = 1
            return 0

        return call


@pytest.mark.parametrize("current", [None, 0, 1])
def test_the_gpu_and_the_context_are_the_streams(
    kernel: HostKernel, current: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    driver = Driver(current)
    monkeypatch.setattr(program_launches, "driver_function", driver.function)
    monkeypatch.setattr(program_launches, "_holding_gil", lambda function: function)
    monkeypatch.setattr(program_launches, "device_count", lambda: 2)
    monkeypatch.setattr(program_launches, "cuda_driver", lambda: SimpleNamespace(CUresult=lambda code: code))
    monkeypatch.setattr(program_launches, "check_result", failed)
    kernels = KernelInstances("demo::axpy", kernel, None)
    loaded = []
    monkeypatch.setattr(kernels, "loaded_choice", lambda choice, device: loaded.append(device) or kernel)
    kernel.launch = lambda *arguments, **more: driver.calls.append(f"launch {driver.contexts} {more['stream']:#x}")
    launches = program_launches.GpuLaunches(ProgramLaunches({"demo::axpy": kernels}))
    pointer = ffi_handler.handler(launches.run, (0, 3))
    there = [] if current is None else [0xC0 + current]
    for stream, device in ((0x5EA, 1), (0x5EB, 0)):
        for first in (True, False):
            driver.calls.clear()
            xla = frame()
            xla.stream = stream
            assert pointer(xla.address) is None and not xla.errors
            assert driver.contexts == there
            inside = there if current == device else [*there, 0xC0 + device]
            relaxed = "cuThreadExchangeStreamCaptureMode 2", "cuThreadExchangeStreamCaptureMode 1"
            expected = [relaxed[0]] * first + [f"launch {inside} {stream:#x}"] + [relaxed[1]] * first
            pushed = ["cuCtxPushCurrent", "cuCtxGetDevice", *expected, "cuCtxPopCurrent"]
            assert driver.calls[2:] == (pushed if current != device else pushed[1:-1])
    assert loaded == [1, 0]
    for driver.failing in ("cuStreamGetCtx", "cuCtxGetDevice"):
        xla = frame()
        assert pointer(xla.address) == 1 and driver.contexts == there
        assert xla.errors[0][1].startswith("DriverError: (201,)")


def test_on_one_gpu_the_context_of_a_stream_is_asked_for_once(
    kernel: HostKernel, monkeypatch: pytest.MonkeyPatch
) -> None:
    driver = Driver(1)
    monkeypatch.setattr(program_launches, "driver_function", driver.function)
    monkeypatch.setattr(program_launches, "_holding_gil", lambda function: function)
    monkeypatch.setattr(program_launches, "device_count", lambda: 1)
    launches = program_launches.GpuLaunches(
        ProgramLaunches({"demo::axpy": KernelInstances("demo::axpy", kernel, None)})
    )
    pointer = ffi_handler.handler(launches.run, (0, 3))

    def calls(stream: int) -> list[str]:
        driver.calls.clear()
        xla = frame()
        xla.stream = stream
        assert pointer(xla.address) is None and not xla.errors
        assert kernel.launched.pop().more["stream"] == stream
        return [each for each in driver.calls if not each.startswith("cuThread")]

    first = ["cuStreamGetCtx", "cuCtxGetCurrent"]
    assert [calls(0x5EA) for _ in range(3)] == [first, first[1:], first[1:]]
    moved = [*first, "cuCtxPushCurrent", "cuCtxPopCurrent"]
    assert [calls(0x5EB) for _ in range(2)] == [moved, moved[1:]]  # its context is not current
    driver.contexts.clear()
    assert calls(0x5EA) == moved[1:]


def test_functions_that_keep_the_gil_return_what_they_did() -> None:
    function = ctypes.CFUNCTYPE(ctypes.c_int)(("Py_IsInitialized", ctypes.pythonapi))
    function.argtypes = ()
    holding = program_launches._holding_gil(function)
    assert holding() == 1 and holding._flags_ & 0x4  # FUNCFLAG_PYTHONAPI


@pytest.mark.parametrize("settings", [{}, {"shared_memory": 64}])
def test_the_driver_gets_arguments_of_all_kinds(use: Any, settings: dict[str, Any]) -> None:
    driver = use((9, 0))
    driver.context.device = 0
    kernel = kernel_of(
        Parameter("u64", 0, 8, "const float*"),
        Parameter("u64", 8, 8, "float*"),
        Parameter("u64", 16, 8, "const float*"),
        Parameter("f32", 24, 4, "float"),
        Parameter("u32", 28, 4, "int"),
        Parameter("u8", 32, 1, "bool"),
        Parameter("b8", 48, 16, "float4"),
        Parameter("b8", 64, 12, "Box"),
    )
    kernels = KernelInstances("demo::all", kernel, None)
    given = [("input", 0), ("output", 0), ("value", None), ("value", 0.1), ("value", -6), ("value", True)]
    launch = LAUNCH._replace(
        operator="demo::all",
        inputs=LAUNCH.outputs,
        aliases=[],
        kernel=kernels.identity(LAUNCH.choice),
        parameters=kernel.info.parameter_list,
        arguments=[*given, ("value", [1.0, 2.0, 3.0, 4.0]), ("bytes", "0a" * 12)],
        settings=settings,
    )
    launches = ProgramLaunches({"demo::all": kernels})
    pointer = ffi_handler.handler(lambda api, frame: launches.run(frame, 0, api.stream(frame.context)), (0, 3))
    x, y = aligned(2, 3), aligned(2, 3)
    xla = Xla(launch.text().encode(), [x], [y])
    for _ in range(2):
        assert pointer(xla.address) is None and not xla.errors
    numbers = None, 0.1, -6, True, (1.0, 2.0, 3.0, 4.0), b"\n" * 12
    kernel.launch((2, 1, 1), (32, 1, 1), x.ctypes.data, y.ctypes.data, *numbers, stream=0x5EA, **settings)
    first, second, expected = driver.launches
    assert first[:7] == second[:7] == expected[:7] and expected.stream == 0x5EA


def failed(result: Any, doing: str) -> None:
    raise DriverError(f"{result} {doing}")


def test_the_version_and_the_traits_are_told(call: Any) -> None:
    xla = frame()
    metadata = xla.add_metadata()
    assert call(xla) is None
    assert (metadata.version.major, metadata.version.minor, metadata.traits) == (0, 3, 1)
    metadata = xla.add_metadata()
    metadata.struct_size = 32
    assert call(xla) is None and metadata.version.major == -1, "what is too small is not written to"


def test_a_version_of_xla_that_is_not_known_ends_the_process() -> None:
    program = """
import sys
from cuda_wheel.jax.handler import handler
from tests.jax.frames import Xla
xla = Xla()
if sys.argv[1] == "size":
    xla.api.struct_size = 80
else:
    xla.api.version.major = 1
handler(lambda api, frame: None, (0, 3))(xla.address)
print("returned")
"""
    for what in ("size", "version"):
        result = run(sys.executable, "-c", program, what, cwd=ROOT)
        assert result.returncode and "cuda_wheel.jax does not know this version of XLA" in result.stdout, result.stdout
        assert "returned" not in result.stdout


def test_no_kernel_is_launched_when_the_interpreter_ends(
    call: Any, kernel: HostKernel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(ffi_handler._state, "closed", False)  # restored at the end
    ffi_handler.close()
    xla = frame()
    assert call(xla) == 1 and not kernel.launched
    assert xla.errors == [(14, "the Python interpreter is ending: cuda-wheel launches no kernels any more")]


@pytest.mark.parametrize("guard", [True, False])
@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="there are no such signals")
def test_an_exception_at_the_first_instruction_is_caught(guard: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Signals arrive while C calls a callback many times; each raises in the callback, where Python first looks."""

    class Interrupted(BaseException):
        pass

    def interrupt(number: int, frame: Any) -> None:
        raise Interrupted

    caught, lost = [], []

    def callback(address: int) -> int:
        try:
            return work()
        except BaseException as error:
            caught.append(type(error))
            return 1

    def work() -> int:
        return 0

    copy = FunctionType(callback.__code__, callback.__globals__, "copy", None, callback.__closure__)
    pointer = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)(guarded(copy) if guard else copy)
    numbers = (ctypes.c_int * 3000)()
    monkeypatch.setattr(sys, "unraisablehook", lambda unraisable: lost.append(str(unraisable.err_msg)))
    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        for _ in range(1000):
            if len(caught) + len(lost) > 20:
                break
            try:
                signal.setitimer(signal.ITIMER_REAL, 1e-4)  # once: another one may interrupt `except`
                ctypes.CDLL(None).qsort(numbers, len(numbers), 4, pointer)
                signal.setitimer(signal.ITIMER_REAL, 0)
            except Interrupted:
                signal.setitimer(signal.ITIMER_REAL, 0)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert len(caught) + len(lost) > 20
    lost = [
        each for each in lost if "ctypes callback" in each
    ]  # a function that the garbage collector calls may be too
    if guard:
        assert not lost
    elif sys.version_info >= (3, 11):
        assert lost, "Python covers the first instruction itself: guarded_code is no longer needed"


def test_without_jax_the_error_says_so() -> None:
    program = """
import sys, types
import cuda_wheel, cuda_wheel.jax
assert "jax" not in sys.modules
for module in (None, types.ModuleType("jax")):
    sys.modules["jax"] = module
    if module:
        module.__version__ = "0.4.38"
    try:
        cuda_wheel.jax.operator("a::b", kernel=None, arguments="", grid=1, block=1)
    except ImportError as error:
        print(error)
"""
    result = run(sys.executable, "-c", program)
    assert result.stdout.startswith("cuda_wheel.jax makes operators of JAX, which cannot be imported"), result.stdout
    assert "cuda_wheel.jax needs JAX 0.5.0 or later, not 0.4.38: it has no jax.ffi" in result.stdout
