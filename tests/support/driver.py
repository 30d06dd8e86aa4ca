"""A stand-in for `cuda.bindings.driver` that injects faults and records launches. `tests/gpu` tests the real driver."""

from __future__ import annotations

import ctypes
import enum
import threading
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, NamedTuple

__all__ = [
    "Driver",
    "Launch",
    "Result",
    "handle_of",
]


class Result(enum.IntEnum):
    CUDA_SUCCESS = 0
    CUDA_ERROR_INVALID_VALUE = 1
    CUDA_ERROR_NOT_INITIALIZED = 3
    CUDA_ERROR_NO_DEVICE = 100
    CUDA_ERROR_INVALID_DEVICE = 101
    CUDA_ERROR_INVALID_IMAGE = 200
    CUDA_ERROR_INVALID_CONTEXT = 201
    CUDA_ERROR_NO_BINARY_FOR_GPU = 209
    CUDA_ERROR_INVALID_PTX = 218
    CUDA_ERROR_JIT_COMPILER_NOT_FOUND = 221
    CUDA_ERROR_UNSUPPORTED_PTX_VERSION = 222
    CUDA_ERROR_INVALID_HANDLE = 400
    CUDA_ERROR_NOT_FOUND = 500
    CUDA_ERROR_NOT_READY = 600
    CUDA_ERROR_ILLEGAL_ADDRESS = 700
    CUDA_ERROR_INVALID_CLUSTER_SIZE = 912
    CUDA_ERROR_OUT_OF_MEMORY = 2


# --- arguments of cuLaunchKernelEx (CUDA Driver API documentation, "Data types used by CUDA driver") ----------


class Cluster(ctypes.Structure):
    _fields_ = [("x", ctypes.c_uint), ("y", ctypes.c_uint), ("z", ctypes.c_uint)]


class CUlaunchAttributeValue(ctypes.Union):
    _fields_ = [("pad", ctypes.c_char * 64), ("cooperative", ctypes.c_int), ("clusterDim", Cluster)]


class CUlaunchAttribute(ctypes.Structure):
    _fields_ = [("id", ctypes.c_int), ("pad", ctypes.c_char * 4), ("value", CUlaunchAttributeValue)]


class CUlaunchConfig(ctypes.Structure):
    _fields_ = [
        *(
            (name, ctypes.c_uint)
            for name in ("gridDimX", "gridDimY", "gridDimZ", "blockDimX", "blockDimY", "blockDimZ")
        ),
        ("sharedMemBytes", ctypes.c_uint),
        ("hStream", ctypes.c_void_p),
        ("attrs", ctypes.POINTER(CUlaunchAttribute)),
        ("numAttrs", ctypes.c_uint),
    ]


CuLaunchKernelEx = ctypes.CFUNCTYPE(
    ctypes.c_int,
    ctypes.POINTER(CUlaunchConfig),
    ctypes.c_void_p,
    ctypes.POINTER(ctypes.c_void_p),
    ctypes.POINTER(ctypes.c_void_p),
)


CuPointerGetAttribute = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_int, ctypes.c_uint64)


CLUSTER_DIMENSION, COMPLETION_EVENT = 4, 12  # CUlaunchAttributeID

NUMBERS = {2: "cooperative", 5: "cluster_scheduling", 6: "programmatic", 8: "priority", 10: "memory_domain"}
"""The launch attributes whose value is one number."""


# --- the driver's linker (CUDA Driver API documentation, "Module Management") -------------------------------

CuLinkCreate = ctypes.CFUNCTYPE(
    ctypes.c_int,
    ctypes.c_uint,
    ctypes.POINTER(ctypes.c_int),
    ctypes.POINTER(ctypes.c_void_p),
    ctypes.POINTER(ctypes.c_void_p),
)


CuLinkAddData = ctypes.CFUNCTYPE(
    ctypes.c_int,
    ctypes.c_void_p,
    ctypes.c_int,
    ctypes.c_void_p,
    ctypes.c_size_t,
    ctypes.c_char_p,
    ctypes.c_uint,
    ctypes.c_void_p,
    ctypes.c_void_p,
)


CuLinkComplete = ctypes.CFUNCTYPE(
    ctypes.c_int, ctypes.c_void_p, ctypes.POINTER(ctypes.c_void_p), ctypes.POINTER(ctypes.c_size_t)
)


CuLinkDestroy = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p)


WALL_TIME, INFO_LOG, ERROR_LOG = 2, 3, 5  # CUjit_option


class Linker:
    """The driver's linker: records its arguments and returns preset results."""

    def __init__(self) -> None:
        self.result = b""
        """The cubin that it returns."""
        self.log = b"linked"
        self.errors = b""
        self.milliseconds = 12.5
        self.codes: dict[str, int] = {}
        """The error codes that its functions return, by name; the others return 0."""
        self.options: dict[int, int] = {}
        self.inputs: list[tuple[int, bytes, bytes]] = []
        """Type, name and content of each input."""
        self.contexts: list[object] = []
        """The current context's GPU number at each cuLinkCreate."""
        self.alive = 0
        self.functions = {
            b"cuLinkCreate": CuLinkCreate(self._create),
            b"cuLinkAddData": CuLinkAddData(self._add),
            b"cuLinkComplete": CuLinkComplete(self._complete),
            b"cuLinkDestroy": CuLinkDestroy(self._destroy),
        }
        self.device: Callable[[], object] = lambda: None

    def _create(self, count: int, keys: Any, values: Any, state: Any) -> int:
        self.contexts.append(self.device())
        self._keys, self._values = keys, values
        self.options = {keys[index]: values[index] or 0 for index in range(count)}
        state[0] = 0x57A7E
        self.alive += not self.codes.get("cuLinkCreate")
        return self.codes.get("cuLinkCreate", 0)

    def _add(self, state: int, kind: int, data: int, size: int, name: bytes, *options: Any) -> int:
        assert state == 0x57A7E and not any(options)
        self.inputs.append((kind, name, ctypes.string_at(data, size)))
        return self._write_logs("cuLinkAddData")

    def _complete(self, state: int, code: Any, size: Any) -> int:
        self._cubin = ctypes.create_string_buffer(self.result, len(self.result))
        code[0], size[0] = ctypes.addressof(self._cubin), len(self.result)
        # The driver writes this result into the slot of the option's value.
        slot = ctypes.addressof(self._values.contents) + 8 * list(self.options).index(WALL_TIME)
        ctypes.c_uint64.from_address(slot).value = 0
        ctypes.c_float.from_address(slot).value = self.milliseconds
        return self._write_logs("cuLinkComplete")

    def _write_logs(self, function: str) -> int:
        for option, log in ((INFO_LOG, self.log), (ERROR_LOG, self.errors)):
            ctypes.memmove(self.options[option], log + b"\0", len(log) + 1)
        return self.codes.get(function, 0)

    def _destroy(self, state: int) -> int:
        self.alive -= 1
        return 0


class Launch(NamedTuple):
    """One call of cuLaunchKernelEx; `arguments` is None for a kernel without parameters."""

    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    shared_memory: int
    stream: int
    attributes: dict[str, Any]
    kernel: int
    arguments: bytes | None
    config: int
    """The address of the CUlaunchConfig."""


_SIGNATURES: dict[int, tuple[Any, ...]] = {}


def handle_of(parameters: tuple[Any, ...]) -> int:
    """Return the handle of a kernel with these parameters, so that the stand-in can read its arguments."""
    # 0xBEEF is also the handle of each kernel that is looked up in a library, whose parameters are not known here.
    handle = 0xBEEF + 16 * (1 + len(_SIGNATURES)) if parameters else 0xBEEF
    _SIGNATURES[handle] = parameters
    return handle


def _read_arguments(kernel: int, pointers: Any) -> bytes | None:
    """Return the arguments that `kernelParams` of cuLaunchKernelEx refers to, each at its offset; None without."""
    parameters = _SIGNATURES.get(kernel, ())
    if not parameters:
        return None
    content = bytearray(max(each.offset + each.size for each in parameters))
    for index, each in enumerate(parameters):
        content[each.offset : each.offset + each.size] = ctypes.string_at(pointers[index], each.size)
    return bytes(content)


def _read_attribute(attribute: CUlaunchAttribute) -> tuple[str, Any]:
    """Return the name and value of a launch attribute; all its other bytes must be zero."""
    value, content = attribute.value, bytes(attribute)
    if attribute.id in NUMBERS:
        assert not any(content[12:]) and not any(content[4:8]), content
        return NUMBERS[attribute.id], value.cooperative
    if attribute.id == COMPLETION_EVENT:
        assert not any(content[16:]) and not any(content[4:8]), content
        return "completion_event", int.from_bytes(content[8:16], "little")
    assert attribute.id == CLUSTER_DIMENSION and not any(content[20:]) and not any(content[4:8]), content
    return "cluster", (value.clusterDim.x, value.clusterDim.y, value.clusterDim.z)


FUNCTION_ATTRIBUTES = {
    "MAX_THREADS_PER_BLOCK": 1024,
    "SHARED_SIZE_BYTES": 0,
    "CONST_SIZE_BYTES": 0,
    "LOCAL_SIZE_BYTES": 0,
    "NUM_REGS": 16,
    "PTX_VERSION": 75,
    "BINARY_VERSION": 86,
    "MAX_DYNAMIC_SHARED_SIZE_BYTES": 48 << 10,
    "NON_PORTABLE_CLUSTER_SIZE_ALLOWED": 0,
    "CACHE_MODE_CA": 0,
    "PREFERRED_SHARED_MEMORY_CARVEOUT": -1,
}


class Event:
    """A CUevent."""

    stream: int | None = None
    """The stream that it was last recorded on."""


class Driver:
    """Behaves like `cuda.bindings.driver` on a machine with GPUs of the given compute capabilities.

    `faults` maps the name of a call to the error that it returns. Launches are recorded. Memory on the GPU is host memory.
    """

    CUresult = Result
    CUdevice_attribute = SimpleNamespace(
        CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR=0,
        CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR=1,
        CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN=2,
        CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR=3,
        CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT=4,
    )
    CUfunction_attribute = SimpleNamespace(**{f"CU_FUNC_ATTRIBUTE_{name}": name for name in FUNCTION_ATTRIBUTES})
    CUoccupancyB2DSize = int
    CUevent_flags = SimpleNamespace(CU_EVENT_DISABLE_TIMING=2)
    CUstreamCaptureMode = SimpleNamespace(CU_STREAM_CAPTURE_MODE_RELAXED="relaxed")
    CUpointer_attribute = SimpleNamespace(
        CU_POINTER_ATTRIBUTE_MEMORY_TYPE=2,
        CU_POINTER_ATTRIBUTE_IS_MANAGED=8,
        CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL=9,
    )
    CUmemorytype = SimpleNamespace(CU_MEMORYTYPE_HOST=1, CU_MEMORYTYPE_DEVICE=2)

    CUjit_option = SimpleNamespace(
        **{
            f"CU_JIT_{name}": name
            for name in (
                "INFO_LOG_BUFFER",
                "INFO_LOG_BUFFER_SIZE_BYTES",
                "ERROR_LOG_BUFFER",
                "ERROR_LOG_BUFFER_SIZE_BYTES",
                "LOG_VERBOSE",
                "GENERATE_LINE_INFO",
                "OPTIMIZATION_LEVEL",
                "MAX_REGISTERS",
            )
        }
    )

    without = ""
    """The name of a call that these bindings do not have."""

    def __init__(self, *capabilities: tuple[int, int], version: int = 13000, **faults: Result) -> None:
        capabilities = capabilities or ((8, 6),)
        answers = {
            "cuInit": (),
            "cuDeviceGetCount": (len(capabilities),),
            "cuDriverGetVersion": (version,),
            "cuDeviceGetName": (b"Stand-in\0",),
            "cuLibraryGetKernel": (0xBEEF,),
            "cuGetErrorString": (b"because",),
            "cuStreamSynchronize": (),
            "cuCtxGetStreamPriorityRange": (0, -5),
            "cuOccupancyMaxActiveBlocksPerMultiprocessor": (3,),
            "cuOccupancyMaxPotentialBlockSize": (84, 256),
        }
        self._answers = {name: (Result.CUDA_SUCCESS, *values) for name, values in answers.items()}
        self._answers |= {name: (result, None) for name, result in faults.items()}
        self.cuDeviceGetAttribute = lambda which, device: (
            Result.CUDA_SUCCESS,
            (*capabilities[device], 99 << 10, 1536, 4)[which],
        )
        self.loaded: list[bytes] = []
        self.unloaded: list[int] = []
        self.options: dict[str, Any] = {}
        self.words = b""
        self.context = threading.local()
        """The attribute `device` is the GPU number of the thread's context; without it, the thread has no context."""
        self.attributes = {device: dict(FUNCTION_ATTRIBUTES) for device in range(len(capabilities))}
        """For each GPU, the attributes that all kernels share."""
        self.launches: list[Launch] = []
        self.codes: list[int] = []
        """The results of the next launches."""
        self.meanwhile: Callable[[], object] = lambda: None
        """Called during each launch."""
        self.memory: dict[bytes, Any] = {}
        """The variables of all libraries by symbol, as ctypes arrays."""
        self.pointers: dict[int, dict[str, int]] = {}
        """The attributes of the addresses that the driver knows."""
        self.lacking: set[bytes] = set()
        """The symbols of kernels that no library has."""
        self.asked: list[bytes | str] = []
        """The symbols of kernels that were looked up, and "count" where the kernels were counted."""
        self.copies: list[int] = []
        """The streams of the copies."""
        self.waits: list[int] = []
        """The streams that were waited for."""
        self.capturing: set[int] = set()
        """The streams on which graphs are captured."""
        self.events: list[Event] = []
        self.joins: list[tuple[int, int, int]] = []
        """A stream, the one whose work it waits for, and how many launches there were before."""
        self.busy: set[int] = set()
        """The streams whose work does not end."""
        self._pending: list[Callable[[], object]] = []
        """The asynchronous copies that have not run yet."""
        self._launch = CuLaunchKernelEx(self._launch_kernel)
        self._pointer_attribute = CuPointerGetAttribute(self._write_pointer_attribute)
        self.linker = Linker()
        self.linker.device = lambda: getattr(self.context, "device", None)
        self.kernels: dict[str, list[tuple[int, int]]] = {}
        """The kernels of every library by symbol, with the offset and size of each parameter."""

    def _launch_kernel(self, config: Any, kernel: int, parameters: Any, extra: Any) -> int:
        def record() -> Launch:
            launch = config.contents
            return Launch(
                (launch.gridDimX, launch.gridDimY, launch.gridDimZ),
                (launch.blockDimX, launch.blockDimY, launch.blockDimZ),
                launch.sharedMemBytes,
                launch.hStream or 0,
                dict(_read_attribute(launch.attrs[index]) for index in range(launch.numAttrs)),
                kernel,
                _read_arguments(kernel, parameters),
                ctypes.addressof(launch),
            )

        try:
            assert not extra
            before = record()
            self.meanwhile()
            assert record() == before  # no other launch changed the buffers
        except (
            BaseException
        ) as error:  # an exception cannot pass through ctypes; the test sees the result and `failure`
            self.failure = error
            return 999
        if not kernel:
            return Result.CUDA_ERROR_INVALID_HANDLE
        self.launches.append(before)
        return self.codes.pop(0) if self.codes else 0

    def cuGetProcAddress(self, name: bytes, version: int, flags: int) -> tuple[Any, ...]:
        assert (version, flags) == (12000, 0)
        functions = {
            b"cuLaunchKernelEx": self._launch,
            b"cuPointerGetAttribute": self._pointer_attribute,
            **self.linker.functions,
        }
        return Result.CUDA_SUCCESS, ctypes.cast(functions[name], ctypes.c_void_p).value, 0

    def __getattribute__(self, name: str) -> Any:
        if name == object.__getattribute__(self, "without"):
            raise AttributeError(name)
        return object.__getattribute__(self, name)

    def cuLibraryGetKernel(self, library: int, symbol: bytes) -> tuple[Any, ...]:
        self.asked.append(symbol)
        missing = Result.CUDA_ERROR_NOT_FOUND, None
        return missing if symbol in self.lacking else self._answers["cuLibraryGetKernel"]

    def _write_pointer_attribute(self, target: int, which: int, address: int) -> int:
        if address not in self.pointers:
            return Result.CUDA_ERROR_INVALID_VALUE
        name = next(name for name, number in vars(self.CUpointer_attribute).items() if number == which)
        ctypes.c_int32.from_address(target).value = self.pointers[address][name.removeprefix("CU_POINTER_ATTRIBUTE_")]
        return Result.CUDA_SUCCESS

    def cuLibraryGetKernelCount(self, library: int) -> tuple[Any, ...]:
        self.asked.append("count")
        return self._answers.get("cuLibraryGetKernelCount", (Result.CUDA_SUCCESS, len(self.kernels)))

    def cuLibraryEnumerateKernels(self, count: int, library: int) -> tuple[Any, ...]:
        return Result.CUDA_SUCCESS, list(self.kernels)[:count]

    def cuKernelGetName(self, kernel: str) -> tuple[Any, ...]:
        return Result.CUDA_SUCCESS, kernel.encode()

    def cuKernelGetParamInfo(self, kernel: str, index: int) -> tuple[Any, ...]:
        parameters = self.kernels[kernel]
        if index >= len(parameters):
            return Result.CUDA_ERROR_INVALID_VALUE, 0, 0
        return Result.CUDA_SUCCESS, *parameters[index]

    def cuKernelGetAttribute(self, which: str, kernel: int, device: int) -> tuple[Any, ...]:
        return self._answers.get("cuKernelGetAttribute", (Result.CUDA_SUCCESS, self.attributes[device][which]))

    def cuKernelSetAttribute(self, which: str, value: int, kernel: int, device: int) -> tuple[Any, ...]:
        self.attributes[device][which] = value
        return (Result.CUDA_SUCCESS,)

    def cuCtxGetDevice(self) -> tuple[Any, ...]:
        device = getattr(self.context, "device", None)
        result = Result.CUDA_ERROR_INVALID_CONTEXT if device is None else Result.CUDA_SUCCESS
        return self._answers.get("cuCtxGetDevice", (result, device))

    def cuDevicePrimaryCtxRetain(self, device: int) -> tuple[Any, ...]:
        return self._answers.get("cuDevicePrimaryCtxRetain", (Result.CUDA_SUCCESS, device))

    def cuCtxSetCurrent(self, context: int) -> tuple[Any, ...]:
        self.context.device = context
        return (Result.CUDA_SUCCESS,)

    def cuCtxPushCurrent(self, context: int) -> tuple[Any, ...]:
        self._contexts = [*getattr(self, "_contexts", []), getattr(self.context, "device", None)]
        return self.cuCtxSetCurrent(context)

    def cuCtxPopCurrent(self) -> tuple[Any, ...]:
        self.context.device = self._contexts.pop()
        return (Result.CUDA_SUCCESS,)

    def cuDevicePrimaryCtxRelease(self, device: int) -> tuple[Any, ...]:
        return (Result.CUDA_SUCCESS,)

    def cuLibraryGetGlobal(self, library: int, symbol: bytes) -> tuple[Any, ...]:
        memory = self.memory[symbol]
        return Result.CUDA_SUCCESS, ctypes.addressof(memory), ctypes.sizeof(memory)

    def cuCtxGetCurrent(self) -> tuple[Any, ...]:
        device = getattr(self.context, "device", None)
        return Result.CUDA_SUCCESS, 0 if device is None else 0xC0 + device

    def cuThreadExchangeStreamCaptureMode(self, mode: str) -> tuple[Any, ...]:
        previous = getattr(self.context, "capture_mode", "global")
        self.context.capture_mode = mode
        return Result.CUDA_SUCCESS, previous

    def cuEventCreate(self, flags: int) -> tuple[Any, ...]:
        assert flags == 2, "an event with a time takes longer"
        self.events.append(Event())
        return Result.CUDA_SUCCESS, self.events[-1]

    def cuEventRecord(self, event: Event, stream: int) -> tuple[Any, ...]:
        assert stream not in self.capturing, "the event would be a part of the graph"
        event.stream = stream
        return (Result.CUDA_SUCCESS,)

    def cuStreamWaitEvent(self, stream: int, event: Event, flags: int) -> tuple[Any, ...]:
        assert event.stream is not None and flags == 0
        assert stream not in self.capturing, "a graph cannot wait for work outside of it"
        self.joins.append((stream, event.stream, len(self.launches)))
        return (Result.CUDA_SUCCESS,)

    def cuEventQuery(self, event: Event) -> tuple[Any, ...]:
        assert self.context.capture_mode == "relaxed", "a capture of another thread would end"
        return (Result.CUDA_ERROR_NOT_READY if event.stream in self.busy else Result.CUDA_SUCCESS,)

    def cuEventSynchronize(self, event: Event) -> tuple[Any, ...]:
        self.waits.append(event.stream or 0)
        return (Result.CUDA_SUCCESS,)

    def cuMemcpyHtoDAsync(self, address: int, source: memoryview, size: int, stream: int) -> tuple[Any, ...]:
        self.copies.append(stream)
        self._pending.append(lambda: ctypes.memmove(address, source.tobytes(), size))
        return (Result.CUDA_SUCCESS,)

    def cuMemcpyDtoDAsync(self, address: int, source: int, size: int, stream: int) -> tuple[Any, ...]:
        self.copies.append(stream)
        self._pending.append(lambda: ctypes.memmove(address, source, size))
        return (Result.CUDA_SUCCESS,)

    def cuStreamSynchronize(self, stream: int) -> tuple[Any, ...]:
        """Run all asynchronous copies: no earlier, as on a busy GPU."""
        self.waits.append(stream)
        while self._pending:
            self._pending.pop(0)()
        return self._answers["cuStreamSynchronize"]

    def cuMemcpyDtoHAsync(self, target: memoryview, address: int, size: int, stream: int) -> tuple[Any, ...]:
        def copy() -> None:
            target.cast("B")[:] = ctypes.string_at(address, size)

        self.copies.append(stream)
        self._pending.append(copy)
        return (Result.CUDA_SUCCESS,)

    def cuStreamIsCapturing(self, stream: int) -> tuple[Any, ...]:
        assert stream > 1, "the driver refuses to tell of the default stream while another one captures"
        return Result.CUDA_SUCCESS, int(stream in self.capturing)

    def cuLibraryLoadData(self, code: bytes, options: list[str], values: list[Any], *_: Any) -> tuple[Any, ...]:
        self.loaded.append(code)
        self.options = dict(zip(options, values, strict=True))
        for buffer in ("INFO_LOG_BUFFER", "ERROR_LOG_BUFFER"):
            if buffer in self.options:
                self.options[buffer][: len(self.words)] = self.words
        return self._answers.get("cuLibraryLoadData", (Result.CUDA_SUCCESS, 0xF00D))

    def cuLibraryUnload(self, library: int) -> tuple[Any, ...]:
        self.unloaded.append(library)
        return self._answers.get("cuLibraryUnload", (Result.CUDA_SUCCESS,))

    def cuDeviceGet(self, device: int) -> tuple[Any, ...]:
        return self._answers.get("cuDeviceGet", (Result.CUDA_SUCCESS, device))

    def __getattr__(self, name: str) -> Callable[..., tuple[Any, ...]]:
        if not name.startswith("cu") or name == self.without:  # Python asks a module for attributes such as __file__
            raise AttributeError(name)
        return lambda *_: self._answers[name]
