"""Launch a kernel with the driver's `cuLaunchKernelEx`.

A launch function is generated for each kernel at its first launch. It converts the arguments, writes them into memory
that was prepared for the launch's configuration (grid, block and so on), and calls the driver through ctypes. A
loop over the parameters would take as long as all the rest; benchmarks/launch.py measures that.
"""

import ctypes
import operator
import struct
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from ..driver import check_result, cuda_driver, current_device, device_count, device_with_context
from ..errors import ArgumentError, DriverError, ImageError
from ..manifest import Parameter
from .arguments import Converter, value_text
from .current_streams import CurrentStreams
from .driver_functions import driver_function
from .function_attributes import allow_block, set_function_attribute
from .parameters import converter_for, long_size
from .pointers import PointerConverter
from .streams import block_stream, is_address, stream_address, wrong_address

if TYPE_CHECKING:
    from ..module import Dim, Kernel

__all__ = ["Launcher", "dimensions", "whole_number"]

_LAUNCH = """
def launch(grid, block, *args, stream=None, shared_memory=0, cooperative=False, cluster=None, check=True):
    if stream is not None and type(stream) is not int:
        stream = stream_address(stream)
    try:
        slots = pools[grid, block, shared_memory, cooperative, cluster]
        slot = slots.pop()
    except (KeyError, IndexError, TypeError):
        slots, slot = prepare(grid, block, shared_memory, cooperative, cluster)
    buffer, stream_field, config, extra = slot
    device = {device}
    try:
        [{names}] = args
        if stream is None:
            stream = block_stream()
            if stream is None:
                stream = {current_stream}
        stream_field[0] = stream
        if check:
            pack_into(buffer, 0{checked})
        else:
            pack_into_as_is(buffer, 0{unchecked})
    except Exception as error:
        raise argument_error(args, error, check, stream) from None
    code = launch_kernel(config, handle, None, extra)
    if code:
        retry(code, config, extra, shared_memory, cluster)
    slots.append(slot)
"""
"""The source of a launch function.

1. Take a free slot of the configuration from its pool. `prepare` makes the pool or the slot where there is none; a list
   is no dictionary key, and reaches `prepare` each time.
2. Without a stream, use that of the `launch_stream` block, else the current one of the library of the arrays.
3. Write all arguments into the slot with one call of pack_into, whose values are the converters' expressions. Where one
   raises, `argument_error` finds out which argument is wrong.
4. Launch. Where the driver refuses, `retry` repairs what it can and launches again.
5. Return the slot to the pool. One launch at a time uses a slot; concurrent launches use several.
"""

_Slot = tuple[Any, Any, Any, Any]
"""The memory of one launch: the buffer that the arguments are written to, the stream in it as an array of one number,
and pointers to `config` and `extra`, two arguments of cuLaunchKernelEx that are in the same buffer."""


class Launcher:
    """Generates the launch function of a kernel, and has the steps that few launches need."""

    POOLS = 1000
    """The number of configurations to keep slots for."""

    def __init__(self, kernel: "Kernel") -> None:
        parameters = kernel.info.parameters
        self._kernel = kernel
        size = long_size(kernel.module.manifest)
        self._checked = [converter_for(parameter, True, size) for parameter in parameters]
        self._unchecked = [converter_for(parameter, False, size) for parameter in parameters]
        self._struct = struct.Struct(_layout(parameters, self._checked))
        self._struct_as_is = struct.Struct(_layout(parameters, self._unchecked))
        self._pools: dict[tuple[Any, ...], list[_Slot]] = {}
        self._launch_kernel = driver_function("cuLaunchKernelEx")

    def function(self) -> Callable[..., None]:
        """Return the launch function, which takes what `Kernel.launch` takes."""
        names = [f"a{index}" for index in range(len(self._checked))]
        namespace: dict[str, Any] = {
            "stream_address": stream_address,
            "block_stream": block_stream,
            "pools": self._pools,
            "prepare": self._prepare,
            "current_device": current_device,
            "pack_into": self._struct.pack_into,
            "pack_into_as_is": self._struct_as_is.pack_into,
            "argument_error": self._argument_error,
            "launch_kernel": self._launch_kernel,
            "retry": self._retry,
        }
        several = device_count() > 1
        source = _LAUNCH.format(
            names=", ".join(names),
            # Asking for the current device takes time, and with one GPU there is nothing to compare.
            device="current_device()" if several else "None",
            current_stream=_current_stream(names, self._checked, "device or 0" if several else "0", namespace),
            checked=_expressions(names, "", self._checked, namespace),
            unchecked=_expressions(names, "_as_is", self._unchecked, namespace),
        )
        self._kernel.module.on_unload(lambda: namespace.update(handle=None))
        namespace["handle"] = _ctypes_pointer(self._kernel.handle)  # after the line above, so that unloading removes it
        exec(source, namespace)
        function: Callable[..., None] = namespace["launch"]
        function.__doc__ = type(self._kernel).launch.__doc__
        return function

    def _prepare(
        self, grid: Any, block: Any, shared_memory: Any, cooperative: Any, cluster: Any
    ) -> tuple[list[_Slot], _Slot]:
        """Return the pool of a configuration, and a slot that is not in it."""
        try:
            key = (
                dimensions(grid, "grid"),
                dimensions(block, "block"),
                whole_number(shared_memory, "shared_memory", 0),
                bool(cooperative),
                None if cluster is None else dimensions(cluster, "cluster"),
            )
            slots = self._pools.get(key)
            if slots is None:
                self._check_configuration(key[0], key[1], key[2], key[4])
        except Exception as error:
            raise error from None  # without the KeyError of the launch function
        if slots is None:
            if len(self._pools) >= self.POOLS:
                self._pools.clear()
            slots = self._pools[key] = []
        # The key that the next launch will look up. A list cannot be a key; a tensor's key would be its identity, while
        # its content may change. Both come here each time.
        lookup_key = (
            _lookup_form(grid, key[0]),
            _lookup_form(block, key[1]),
            key[2],
            key[3],
            _lookup_form(cluster, key[4]),
        )
        self._pools[lookup_key] = slots
        with suppress(IndexError):
            return slots, slots.pop()
        return slots, self._new_slot(*key)

    def _check_configuration(
        self,
        grid: tuple[int, int, int],
        block: tuple[int, int, int],
        shared_memory: int,
        cluster: tuple[int, int, int] | None,
    ) -> None:
        """Raise ArgumentError for a configuration that the kernel cannot have; opt in to large blocks and clusters."""
        # Source: CUDA C++ Programming Guide, "Technical Specifications per Compute Capability".
        for what, sizes, limits in (
            ("grid", grid, ((1 << 31) - 1, 65535, 65535)),
            ("block", block, (1024, 1024, 64)),
        ):
            if any(size > limit for size, limit in zip(sizes, limits, strict=True)):
                raise ArgumentError(f"{self._kernel.name}: a {what} of {sizes} is too large: the maximum is {limits}")
        allow_block(self._kernel, block[0] * block[1] * block[2], shared_memory)
        if cluster is not None:
            if any(size % part for size, part in zip(grid, cluster, strict=True)):
                raise ArgumentError(f"{self._kernel.name}: the grid {grid} is not a multiple of the cluster {cluster}")
            self._admit_cluster(cluster)

    def _new_slot(
        self,
        grid: tuple[int, int, int],
        block: tuple[int, int, int],
        shared_memory: int,
        cooperative: bool,
        cluster: tuple[int, int, int] | None,
    ) -> _Slot:
        """Return a slot in which all but the arguments and the stream is filled in.

        Source: CUDA Driver API: CUlaunchConfig, CUlaunchAttribute, and `extra` of cuLaunchKernel.
        """
        attributes = b""
        if cooperative:
            attributes += struct.pack("<I4xi60x", 2, 1)  # CU_LAUNCH_ATTRIBUTE_COOPERATIVE
        if cluster is not None:
            attributes += struct.pack("<I4x3I52x", 4, *cluster)  # CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION
        size = self._struct.size
        config_at = -(-size // 16) * 16
        attributes_at = config_at + 56
        extra_at = attributes_at + len(attributes)
        buffer = ctypes.create_string_buffer(extra_at + 6 * 8)
        start = ctypes.addressof(buffer)
        count = len(attributes) // 72
        config = (*grid, *block, shared_memory, 0, start + attributes_at if count else 0, count)
        struct.pack_into("<7I4xQQI4x", buffer, config_at, *config)
        struct.pack_into(f"{len(attributes)}s", buffer, attributes_at, attributes)
        # CU_LAUNCH_PARAM_BUFFER_POINTER, CU_LAUNCH_PARAM_BUFFER_SIZE, CU_LAUNCH_PARAM_END; then the size.
        struct.pack_into("<6Q", buffer, extra_at, 1, start, 2, start + extra_at + 40, 0, size)
        stream_field = memoryview(buffer).cast("B")[config_at + 32 : config_at + 40].cast("Q")
        return (
            buffer,
            stream_field,
            _ctypes_pointer(start + config_at),
            _ctypes_pointer(start + extra_at) if size else None,
        )

    def _retry(self, code: int, config: Any, extra: Any, shared_memory: int, cluster: "Dim | None") -> None:
        """Repair the cause of the driver's error `code` if possible and launch again; raise DriverError if it fails."""
        driver, handle = cuda_driver(), _ctypes_pointer(self._kernel.handle)
        if code == int(driver.CUresult.CUDA_ERROR_INVALID_CONTEXT):
            device_with_context()
            code = self._launch_kernel(config, handle, None, extra)
        if (
            code == int(driver.CUresult.CUDA_ERROR_INVALID_VALUE) and shared_memory
        ):  # another GPU is current than in _prepare
            allow_block(self._kernel, 1, shared_memory)
            code = self._launch_kernel(config, handle, None, extra)
        if code == int(driver.CUresult.CUDA_ERROR_INVALID_CLUSTER_SIZE) and cluster is not None:  # as above
            self._admit_cluster(dimensions(cluster, "cluster"))
            code = self._launch_kernel(config, handle, None, extra)
        try:
            result = driver.CUresult(code)
        except ValueError:  # a driver newer than cuda-bindings
            raise DriverError(f"launching {self._kernel.name}: the driver returned error {code}") from None
        check_result((result,), f"launching {self._kernel.name}")

    def _admit_cluster(self, cluster: tuple[int, int, int]) -> None:
        # Source: CUDA C++ Programming Guide, "Thread Block Clusters": 8 is the most that every GPU takes.
        if cluster[0] * cluster[1] * cluster[2] > 8:
            set_function_attribute(self._kernel, "NON_PORTABLE_CLUSTER_SIZE_ALLOWED", 1)

    def _argument_error(self, args: Sequence[Any], error: Exception, check: bool, stream: int | None) -> Exception:
        """Return the error that says which argument is wrong, and why."""
        if stream is not None and not is_address(stream):
            return wrong_address(stream)
        info = self._kernel.info
        if len(args) != len(info.parameters):
            takes = f"{len(info.parameters)} argument{'' if len(info.parameters) == 1 else 's'}"
            return ArgumentError(f"{info.name} takes {takes}, ({info.parameter_list}), but got {len(args)}")
        device = current_device() if device_count() > 1 else None
        converters = self._checked if check else self._unchecked
        for index, (parameter, converter, value) in enumerate(zip(info.parameters, converters, args, strict=True)):
            try:
                names = {**converter.namespace(""), "a": value, "device": device}
                converted = eval(converter.expression("a", ""), names)
                if converter.format in ("e", "f", "d"):
                    converted = float(converted)  # says why it is not a float; struct does not
                struct.pack(f"<{converter.format}", converted)
            except DriverError as reason:
                return reason
            except Exception as reason:
                out_of_range = isinstance(reason, (struct.error, OverflowError))
                text = f"{value_text(value)} is out of range" if out_of_range else str(reason) or repr(reason)
                return ArgumentError(f"{info.name}, argument {index + 1} ({parameter.cpp_or_ptx_type}): {text}")
        return ArgumentError(f"{info.name}: {error}") if isinstance(error, ArgumentError) else error


def _layout(parameters: Sequence[Parameter], converters: Sequence[Converter]) -> str:
    """Return the format with which `struct` writes all arguments of a kernel."""
    layout = "<"
    end = 0
    for parameter, converter in zip(parameters, converters, strict=True):
        if struct.calcsize(f"<{converter.format}") != parameter.size:
            kind = parameter.cpp or f".{parameter.type}"
            raise ImageError(f"the manifest is damaged: it has a parameter of type {kind} with {parameter.size} bytes")
        layout += f"{parameter.offset - end}x{converter.format}"
        end = parameter.offset + parameter.size
    return layout


def _current_stream(
    names: Sequence[str], converters: Sequence[Converter], device: str, namespace: dict[str, Any]
) -> str:
    """Return the expression that finds the stream of a launch by the types of the arguments that may be arrays.

    `device` is the expression of the launch's GPU. What the expression uses is added to the namespace.
    """
    types = [
        f"type({name})" for name, each in zip(names, converters, strict=True) if isinstance(each, PointerConverter)
    ]
    if not types:
        return "0"
    namespace["current_streams"] = CurrentStreams()
    return f"current_streams[{', '.join(types)},]({device})"


def _expressions(names: Sequence[str], suffix: str, converters: Sequence[Converter], namespace: dict[str, Any]) -> str:
    """Return the expressions that convert the arguments in the variables `names`, each after a comma.

    What the expressions use is added to the namespace, under names with the suffix.
    """
    expressions = ""
    for name, converter in zip(names, converters, strict=True):
        expressions += f", {converter.expression(name, name + suffix)}"
        namespace |= converter.namespace(name + suffix)
        if isinstance(converter, PointerConverter):
            converter.update_in(namespace, name + suffix)
    return expressions


def dimensions(value: Any, what: str) -> tuple[int, int, int]:
    """Return a size of one to three numbers as three; `what` names it in the ArgumentError for anything else."""
    sizes = list(value) if _is_sequence(value) else [value]
    if not 1 <= len(sizes) <= 3:
        raise ArgumentError(f"{what} must be one to three numbers, not {value!r}")
    x, y, z = [whole_number(size, what, 1) for size in sizes] + [1] * (3 - len(sizes))
    return x, y, z


def _is_sequence(value: Any) -> bool:
    return hasattr(value, "__len__") and getattr(value, "shape", None) != ()  # an array of no dimensions is a number


def _lookup_form(given: Any, size: tuple[int, int, int] | None) -> Any:
    """Return `size` in the form of the value that `dimensions` converted to it: an integer, or a tuple of that length.

    As a key, it equals a given integer or tuple of integers, NumPy's included.
    """
    if type(given) is int or (type(given) is tuple and all(type(number) is int for number in given)):
        return given  # the next launch often passes the same object, which compares faster
    if size is None or isinstance(given, tuple):
        return size and size[: len(given)]
    return size if _is_sequence(given) else size[0]


def whole_number(value: Any, what: str, least: int) -> int:
    """Return an integer of at least `least` and less than 2^31; raise ArgumentError for anything else."""
    try:
        number = operator.index(value)
    except TypeError:
        raise ArgumentError(f"{what} takes integers, not {value!r}") from None
    if number < least:
        raise ArgumentError(f"{what} takes integers of {least} and more, not {value!r}")
    if number >= 1 << 31:
        raise ArgumentError(f"{what}: {value_text(value)} is too large")
    return number


def _ctypes_pointer(address: int) -> Any:
    return ctypes.c_void_p.from_param(address)
