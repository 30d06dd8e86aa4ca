"""Run a launch that a compiled program's text describes, with the arrays that XLA passes.

A text is read and checked once for each GPU; later calls compare the arrays with it, and launch.
"""

import ctypes
import struct
from collections.abc import Sequence
from typing import Any, NamedTuple

from ..declarations.kernel_instances import KernelInstances
from ..runtime.driver import check_result, cuda_driver, device_count
from ..runtime.errors import ArgumentError
from ..runtime.launching.driver_functions import driver_function
from ..runtime.module import Kernel
from .call_frames import DATA_TYPES, Api, BufferType, CallFrame
from .launch_text import ArrayType, Launch, base_name

__all__ = ["GpuLaunches", "ProgramLaunches"]

ALIGNMENT = 16
"""Bytes. XLA aligns arrays at least so, and kernels may read vectors of 16 bytes."""

MOST_LAUNCHES = 10_000
"""The number of texts to keep ready."""


class ReadyLaunch(NamedTuple):
    """A launch that was read and checked, on one GPU."""

    launch: Launch
    kernel: Kernel
    inputs: list[BufferType]
    outputs: list[BufferType]
    arguments: list[Any]
    """The kernel's arguments, but for the addresses."""
    input_places: list[tuple[int, int]]
    """The index of an argument of the kernel, and of the input whose address it is."""
    output_places: list[tuple[int, int]]


class ProgramLaunches:
    """The launches of a process. `operators` has the kernels of each operator, by its name in programs."""

    def __init__(self, operators: dict[str, KernelInstances]) -> None:
        self._operators = operators
        self._ready: dict[tuple[bytes, int], ReadyLaunch] = {}
        self.are_used = False
        """Whether anything was launched, or is about to be."""

    def is_ready(self, text: bytes, device: int) -> bool:
        """Return whether this launch needs no preparation on the GPU."""
        return (text, device) in self._ready

    def run(self, frame: CallFrame, device: int, stream: int) -> None:
        """Launch what the frame says on this stream of this GPU, whose context is current.

        Raises ArgumentError for arrays that are not those of the text, and what loading and launching raise.
        """
        key = frame.attribute, device
        ready = self._ready.get(key) or self._prepare(frame.attribute, device)
        launch = ready.launch
        if frame.argument_types != ready.inputs:
            raise _mismatch(launch, "input", frame.argument_types, launch.inputs)
        if frame.result_types != ready.outputs:
            raise _mismatch(launch, "output", frame.result_types, launch.outputs)
        arguments = ready.arguments.copy()
        for place, index in ready.input_places:
            arguments[place] = frame.arguments[index]
        for place, index in ready.output_places:
            arguments[place] = frame.results[index]
        for address in (*frame.arguments, *frame.results):
            if address % ALIGNMENT:
                raise ArgumentError(
                    f"{launch.operator}: XLA passed an array at {address:#x}, which is not a multiple of {ALIGNMENT}"
                )
        for source, target in launch.aliases:
            if frame.arguments[source] != frame.results[target]:
                raise ArgumentError(
                    f"{launch.operator}: the kernel changes input {source} in place to make output {target}, but XLA "
                    "gave them different memory"
                )
        ready.kernel.launch(launch.grid, launch.block, *arguments, stream=stream, **launch.settings)
        self._ready.setdefault(key, ready)

    def _prepare(self, text: bytes, device: int) -> ReadyLaunch:
        self.are_used = True
        launch = Launch.read(text)
        kernels = self._kernels(launch)
        info = kernels.infos.get(launch.dtypes)
        if info is None or info.parameter_list != launch.parameters:
            raise ArgumentError(
                f"the program was made for another version of {launch.operator}, whose kernel for "
                f"({', '.join(launch.dtypes)}) takes ({launch.parameters}): make the program again"
            )
        if len(self._ready) >= MOST_LAUNCHES:
            self._ready.clear()
        places: dict[str, list[tuple[int, int]]] = {"input": [], "output": []}
        arguments: list[Any] = []
        types = {"input": launch.inputs, "output": launch.outputs}
        for parameter, (kind, value) in zip(info.parameters, launch.arguments, strict=True):
            if kind in places:
                accepted = kernels.element_types(parameter)
                if accepted is not None and types[kind][value].dtype not in accepted:
                    raise ArgumentError(
                        f"{launch.operator}: the program passes {types[kind][value]} for {parameter.cpp_or_ptx_type}"
                    )
                places[kind].append((len(arguments), value))
            arguments.append(bytes.fromhex(value) if kind == "bytes" else value)
        kernel = kernels.loaded(launch.dtypes, device)
        inputs, outputs = map(_expected, (launch.inputs, launch.outputs))
        return ReadyLaunch(launch, kernel, inputs, outputs, arguments, places["input"], places["output"])

    def _kernels(self, launch: Launch) -> KernelInstances:
        """Return the kernels of the operator that a program was made with.

        In this process, operators of one name may have been made in another order than where the program comes from.
        """
        named = [kernels for name, kernels in self._operators.items() if base_name(name) == base_name(launch.operator)]
        if not named:
            raise ArgumentError(f"the program needs the operator {launch.operator}, which this process has not made")
        own = self._operators.get(launch.operator)
        for kernels in ([own] if own else []) + named:
            if kernels.identities.get(launch.dtypes) == launch.kernel:
                return kernels
        kernel, here = launch.kernel, (own or named[0]).identities.get(launch.dtypes)
        found = f"{here.symbol} of {here.module}, {here.digest}" if here else "none"
        raise ArgumentError(
            f"the program was made for another version of {launch.operator}, whose kernel for "
            f"({', '.join(launch.dtypes)}) is {kernel.symbol} of {kernel.module}, with images of the digest "
            f"{kernel.digest}; here it is {found}: make the program again, or install the modules that it was made with"
        )


class GpuLaunches:
    """Launch on the stream that XLA names, on whichever GPU that is."""

    def __init__(self, launches: ProgramLaunches) -> None:
        self._launches = launches
        self._several = device_count() > 1
        pointer = ctypes.c_void_p
        self._stream_context = driver_function("cuStreamGetCtx", pointer, pointer)
        self._current_context = driver_function("cuCtxGetCurrent", pointer)
        self._push_context = driver_function("cuCtxPushCurrent", pointer)
        self._pop_context = driver_function("cuCtxPopCurrent", pointer)
        self._context_device = driver_function("cuCtxGetDevice", pointer)
        self._exchange_capture_mode = driver_function("cuThreadExchangeStreamCaptureMode", pointer)

    def run(self, api: Api, frame: CallFrame) -> None:
        """Launch what a call frame says; raise what `ProgramLaunches.run` raises, and DriverError."""
        stream = api.stream(frame.context)
        context, current = ctypes.c_void_p(), ctypes.c_void_p()
        _checked(self._stream_context(stream, ctypes.byref(context)), "finding the context of XLA's stream")
        _checked(self._current_context(ctypes.byref(current)), "getting the current context")
        if context.value == current.value:
            self._run_there(frame, stream)
            return
        _checked(self._push_context(context), "making the context of XLA's stream current")
        try:
            self._run_there(frame, stream)
        finally:
            self._pop_context(ctypes.byref(current))

    def _run_there(self, frame: CallFrame, stream: int) -> None:
        """Launch on a stream whose context is current."""
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


def _checked(code: int, doing: str) -> None:
    if code:
        check_result((cuda_driver().CUresult(code),), doing)


def _expected(types: Sequence[ArrayType]) -> list[BufferType]:
    """Return types as XLA has them."""
    return [
        (DATA_TYPES[each.dtype], len(each.shape), struct.pack(f"={len(each.shape)}q", *each.shape)) for each in types
    ]


def _mismatch(launch: Launch, what: str, passed: Sequence[BufferType], types: Sequence[ArrayType]) -> ArgumentError:
    names = {number: name for name, number in DATA_TYPES.items()}
    found = [
        str(ArrayType(names.get(data_type, f"type {data_type}"), struct.unpack(f"={rank}q", shape)))
        for data_type, rank, shape in passed
    ]
    return ArgumentError(
        f"{launch.operator}: XLA passed {what}s ({', '.join(found)}), but the program says "
        f"({', '.join(map(str, types))})"
    )
