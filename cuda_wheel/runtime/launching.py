"""Launch a kernel with the driver's `cuLaunchKernelEx`.

A function from `generated` converts the arguments, writes them into memory prepared for the configuration (grid, block
and so on), and calls the driver through ctypes. Here are the steps that few launches need: prepare a configuration,
repair what the driver refuses, and say which argument is wrong.
"""

import ctypes
import struct
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from math import prod
from typing import TYPE_CHECKING, Any, NamedTuple

from .arguments import (
    UNSIGNED_FORMATS,
    BoolConverter,
    Converter,
    FloatConverter,
    IntegerConverter,
    Kept,
    dimensions,
    is_on_gpu,
    is_sequence,
    value_text,
    whole_number,
)
from .arrays import (
    PointerConverter,
    argument_type,
    device_of_first,
    flattened,
    is_by_value,
    is_untyped,
    long_size,
    number_type,
)
from .driver import (
    check_result,
    cuda_driver,
    current_device,
    device_attribute,
    device_count,
    device_with_context,
    driver_function,
    kernel_attribute,
    set_kernel_attribute,
)
from .errors import ArgumentError, DriverError, ImageError, need
from .generated import LaunchFunctions, Missing, converted
from .manifest import Parameter
from .streams import CurrentStreams, by_arrays, is_address, wrong_address

if TYPE_CHECKING:
    from typing import Protocol

    from .driver import HasHandle
    from .manifest import KernelInfo, Manifest
    from .parts.launch_attributes import AttributeValues

    class LoadedModule(Protocol):
        """What a launch needs of a `Module`."""

        @property
        def manifest(self) -> Manifest: ...
        def check_loaded(self) -> None: ...
        def on_unload(self, callback: Callable[[], object]) -> None: ...

    class LoadedKernel(HasHandle, Protocol):
        """What a launch needs of a `Kernel`."""

        @property
        def info(self) -> KernelInfo: ...
        @property
        def module(self) -> LoadedModule: ...
        @property
        def launch(self) -> Callable[..., None]: ...


__all__ = [
    "Configuration",
    "Launcher",
    "Slot",
    "allow_block",
    "converter_for",
    "launcher_of",
    "wrong_argument_text",
    "wrong_count_text",
]


class Configuration(NamedTuple):
    """The configuration of a launch, in the driver's terms; two that are equal launch equally."""

    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    shared_memory: int
    attributes: "AttributeValues | None" = None

    @classmethod
    def of(cls, grid: Any, block: Any, shared_memory: Any, attributes: Mapping[str, Any]) -> "Configuration":
        """Return the configuration that these arguments of `Kernel.launch` mean.

        Raises TypeError for an attribute that there is not; ArgumentError for a wrong value.
        """
        values = None
        if attributes:
            need("launch-attributes")
            from .parts.launch_attributes import AttributeValues  # rare

            values = AttributeValues.of(attributes)
        shared_memory = whole_number(shared_memory, "shared_memory", 0)
        return cls(dimensions(grid, "grid"), dimensions(block, "block"), shared_memory, values)

    def check(self, kernel: "LoadedKernel") -> None:
        """Raise ArgumentError if the kernel cannot have this configuration; opt in to large blocks and clusters."""
        # Source: CUDA C++ Programming Guide, "Technical Specifications per Compute Capability".
        limits = (("grid", self.grid, ((1 << 31) - 1, 65535, 65535)), ("block", self.block, (1024, 1024, 64)))
        for what, sizes, most in limits:
            if any(size > limit for size, limit in zip(sizes, most, strict=True)):
                raise ArgumentError(f"{kernel.name}: a {what} of {sizes} is too large: the maximum is {most}")
        if any(each.host for each in kernel.module.manifest.images):
            need("tile-hosts")
            from .parts.tile_hosts import check_block  # rare

            check_block(kernel.name, self.block, self.shared_memory)
        allow_block(kernel, prod(self.block), self.shared_memory)
        if self.attributes is not None:
            self.attributes.check(kernel, self.grid)


class Slot:
    """The memory of one launch with one configuration. One launch at a time uses it; concurrent ones use several."""

    __slots__ = ("buffer", "call", "configuration", "kept", "stream", "stream_field")

    def __init__(
        self, buffer: Any, stream_field: memoryview, call: tuple[Any, ...], configuration: Configuration
    ) -> None:
        self.buffer = buffer
        """ctypes buffer: arguments, CUlaunchConfig, launch attributes, and pointers to the arguments."""
        self.stream_field = stream_field
        """View of the stream's address in `buffer`."""
        self.stream = 0
        """Address of the stream in `stream_field`."""
        self.call = call
        """Arguments of cuLaunchKernelEx, as ctypes values."""
        self.configuration = configuration
        """Grid, block, shared memory and attributes that `buffer` holds."""
        self.kept: Kept = []
        """Objects to keep until the launch has ended; empty between launches."""


def allow_block(kernel: "HasHandle", threads: int, shared_memory: int) -> None:
    """Raise ArgumentError if the current GPU cannot run a block of so many threads and bytes of dynamic shared memory.

    Above the driver's default limit, opt in to the largest shared memory that the GPU has.
    """
    max_threads = kernel_attribute("MAX_THREADS_PER_BLOCK", kernel)
    if threads > max_threads:
        raise ArgumentError(
            f"{kernel.name}: a block of {threads} threads is too large: {max_threads} is the most on this GPU, because "
            "of the kernel's registers or __launch_bounds__"
        )
    if shared_memory <= 0:
        return
    static = kernel_attribute("SHARED_SIZE_BYTES", kernel)
    available = device_attribute("MAX_SHARED_MEMORY_PER_BLOCK_OPTIN", current_device() or 0) - static
    if shared_memory > available:
        raise ArgumentError(
            f"{kernel.name}: {shared_memory} bytes of shared memory are too much: this GPU has {available} per "
            "block" + (f" beside the kernel's own {static} bytes" if static else "")
        )
    # Source: CUDA C++ Programming Guide, "Shared Memory": above 48 KiB a kernel needs an explicit opt-in.
    if shared_memory > kernel_attribute("MAX_DYNAMIC_SHARED_SIZE_BYTES", kernel):
        set_kernel_attribute("MAX_DYNAMIC_SHARED_SIZE_BYTES", kernel, available)


def launcher_of(kernel: "LoadedKernel") -> "Launcher":
    """Return the launcher of a kernel, which is made when it is first asked for."""
    launcher: Launcher | None = kernel.__dict__.get("_launcher")
    return launcher or kernel.__dict__.setdefault("_launcher", Launcher(kernel))


class Launcher:
    """The launch function of a kernel, and the rare steps that it calls."""

    POOLS = 1000
    """Maximum number of launch configurations with kept slots. One more drops the slots of all others."""

    def __init__(self, kernel: "LoadedKernel") -> None:
        parameters = kernel.info.parameters
        self._kernel = kernel
        size = long_size(kernel.module.manifest)
        self.checked = [converter_for(parameter, True, size) for parameter in parameters]
        self._unchecked = [converter_for(parameter, False, size) for parameter in parameters]
        layout = struct.Struct(_layout(parameters, self.checked))
        self._size = layout.size
        self._pools: dict[tuple[Any, ...], list[Slot]] = {}
        self._launch_kernel = driver_function("cuLaunchKernelEx")
        self.current_streams = CurrentStreams()
        self._several = device_count() > 1
        steps = {
            "pools": self._pools,
            "prepare": self.prepare,
            "pack_into": layout.pack_into,
            "pack_into_as_is": struct.Struct(_layout(parameters, self._unchecked)).pack_into,
            "argument_error": self._argument_error,
            "launch_kernel": self._launch_kernel,
            "retry": self._retry,
            "find_stream": self.find_stream,
        }
        self.functions = LaunchFunctions(kernel.name, self.checked, self._unchecked, self._several, steps)
        namespace = self.functions.namespace
        kernel.module.on_unload(lambda: namespace.update(loaded=False))
        # After the line above, because this raises if the module is unloaded.
        self._handle = ctypes.c_void_p.from_param(kernel.handle)
        self.launch = self.functions.launch()
        """Generated function that launches; its parameters are those of `Kernel.launch`."""
        self.launch.__doc__ = type(kernel).launch.__doc__

    def find_stream(self, arrays: tuple[Any, ...], device: int) -> int:
        """Return the address of the stream for a launch with these array arguments on GPU `device`. Store in
        `stream_rule` how to find it for arguments of these types."""
        given = flattened(arrays)
        kinds = tuple(map(type, given))
        find = self.current_streams[kinds]
        if find is by_arrays:
            if not any(map(is_on_gpu, given)):
                return 0
            need("array-protocols")
            from .parts.array_protocols import named_stream  # rare

            return named_stream(given)
        if len(given) == len(arrays):  # the type of a sequence does not tell those of its elements
            self.functions.namespace["stream_rule"] = (*kinds, find)
        return find(device) if find else 0

    def prepare(
        self, grid: Any, block: Any, shared_memory: Any, attributes: Mapping[str, Any]
    ) -> tuple[list[Slot], Slot]:
        """Return the pool of a configuration, and a slot that is not in it."""
        try:
            configuration = Configuration.of(grid, block, shared_memory, attributes)
            slots = self._pools.get(configuration)
            if slots is None:
                configuration.check(self._kernel)
        except Exception as error:
            raise error from None  # without the KeyError of the launch function
        if slots is None:
            if len(self._pools) >= self.POOLS:
                self._pools.clear()
            slots = self._pools[configuration] = []
        # The key that the next launch will look up. Lists, which cannot be keys, and tensors and events, whose content
        # may change, come here each time.
        if all(type(value) in (bool, int, str, tuple, type(None)) for value in attributes.values()):
            cluster = configuration.attributes and configuration.attributes.cluster
            values = [
                _lookup_form(value, cluster) if name == "cluster" else value for name, value in attributes.items()
            ]
            grid, block = _lookup_form(grid, configuration.grid), _lookup_form(block, configuration.block)
            self._pools[(grid, block, configuration.shared_memory, *attributes, *values)] = slots
        with suppress(IndexError):
            return slots, slots.pop()
        return slots, self.new_slot(configuration)

    def new_slot(self, configuration: Configuration) -> Slot:
        """Return a slot in which all but the arguments and the stream is filled in.

        The driver gets a pointer to each argument and not one buffer (`extra`): offsets in machine code differ if a
        parameter, such as a CUtensorMap, is aligned to more. Source: CUDA Driver API, CUlaunchConfig.
        """
        attributes = b"" if configuration.attributes is None else configuration.attributes.array
        offsets = [each.offset for each in self._kernel.info.parameters]
        config_at = -(-self._size // 16) * 16
        attributes_at = config_at + 56
        pointers_at = attributes_at + len(attributes)
        buffer = ctypes.create_string_buffer(pointers_at + len(offsets) * 8)
        start = ctypes.addressof(buffer)
        count = len(attributes) // 72
        config = (
            *configuration.grid,
            *configuration.block,
            configuration.shared_memory,
            0,
            start + attributes_at if count else 0,
            count,
        )
        struct.pack_into("<7I4xQQI4x", buffer, config_at, *config)
        struct.pack_into(f"{len(attributes)}s", buffer, attributes_at, attributes)
        struct.pack_into(f"<{len(offsets)}Q", buffer, pointers_at, *(start + offset for offset in offsets))
        stream_field = memoryview(buffer).cast("B")[config_at + 32 : config_at + 40].cast("Q")
        pointers = ctypes.c_void_p.from_param(start + pointers_at) if offsets else None
        call = ctypes.c_void_p.from_param(start + config_at), self._handle, pointers, None
        return Slot(buffer, stream_field, call, configuration)

    def _retry(self, code: int, slot: Slot, args: tuple[Any, ...]) -> None:
        """Repair the cause of the driver's error `code`, and launch with the slot again; raise DriverError if that
        fails."""
        call, configuration = slot.call, slot.configuration
        driver = cuda_driver()
        self._kernel.module.check_loaded()
        if code == int(driver.CUresult.CUDA_ERROR_INVALID_CONTEXT):
            if device_of_first(args) is None:
                device_with_context()
            code = self._launch_kernel(*call)
        # Another GPU may be current than in `prepare`.
        if code == int(driver.CUresult.CUDA_ERROR_INVALID_VALUE) and configuration.shared_memory:
            allow_block(self._kernel, 1, configuration.shared_memory)
            code = self._launch_kernel(*call)
        if code == int(driver.CUresult.CUDA_ERROR_INVALID_CLUSTER_SIZE) and configuration.attributes is not None:
            configuration.attributes.admit_cluster(self._kernel)
            code = self._launch_kernel(*call)
        try:
            result = driver.CUresult(code)
        except ValueError:  # a driver newer than cuda-bindings
            raise DriverError(f"launching {self._kernel.name}: the driver returned error {code}") from None
        check_result((result,), f"launching {self._kernel.name}")

    def _argument_error(self, args: Sequence[Any], error: Exception, check: bool, stream: int | None) -> Exception:
        """Return the error that tells which argument is wrong, and why. If none is wrong, return packing's
        `error`."""
        if stream is not None and not is_address(stream):
            return wrong_address(stream)
        given = [value for value in args if not isinstance(value, Missing)]
        wrong = self.wrong_argument(given, self.checked if check else self._unchecked)
        if wrong is not None:
            return wrong
        return ArgumentError(f"{self._kernel.info.name}: {error}") if isinstance(error, ArgumentError) else error

    def wrong_argument(self, args: Sequence[Any], converters: Sequence[Converter]) -> Exception | None:
        """Return the error that says which argument is wrong, and why; None if these converters accept all."""
        info = self._kernel.info
        if len(args) != len(info.parameters):
            return ArgumentError(wrong_count_text(info, len(args)))
        device = current_device() if self._several else None
        for index, (converter, value) in enumerate(zip(converters, args, strict=True)):
            try:
                converted(converter, value, device)
            except DriverError as reason:
                return reason
            except Exception as reason:
                return ArgumentError(wrong_argument_text(info, index, value, reason))
        return None


def wrong_count_text(info: "KernelInfo", given: int) -> str:
    """Return the message for a launch with `given` arguments, which the kernel does not take."""
    takes = f"{len(info.parameters)} argument{'' if len(info.parameters) == 1 else 's'}"
    return f"{info.name} takes {takes}, ({info.parameter_list}), but got {given}"


def wrong_argument_text(info: "KernelInfo", index: int, value: Any, reason: Exception) -> str:
    """Return the message for argument number `index`, from 0, whose conversion raised `reason`."""
    out_of_range = isinstance(reason, (struct.error, OverflowError))
    text = f"{value_text(value)} is out of range" if out_of_range else str(reason) or repr(reason)
    return f"{info.name}, argument {index + 1} ({info.parameters[index].cpp_or_ptx_type}): {text}"


def converter_for(parameter: Parameter, check: bool, long_size: int | None = None) -> Converter:
    """Return the converter of a parameter's arguments, with or without checks.

    `long_size` is the number of bytes of a `long` in the kernel's code, None if it is not known.
    """
    kind, size, cpp = argument_type(parameter), parameter.size, number_type(parameter.cpp)
    if is_untyped(parameter):
        need("untyped-parameters")
        from .parts.untyped_parameters import untyped_converter  # rare

        return untyped_converter(parameter, check)
    if kind == "Pointer":
        return PointerConverter(cpp, check, long_size)
    if is_by_value(parameter):
        need("by-value")
        from .parts.by_value import by_value_converter  # rare

        return by_value_converter(parameter, check, long_size, converter_for)
    if kind == "Struct":
        need("structs")
        from .parts.structs import StructConverter  # rare

        return StructConverter(size, cpp)
    format = {2: "e", 4: "f", 8: "d"}[size] if kind == "Real" else UNSIGNED_FORMATS[size]
    if not check and cpp != "__half":
        return Converter(format)
    if kind == "Real":
        return FloatConverter(format)
    if kind == "bool":
        return BoolConverter()
    return IntegerConverter(format if cpp.startswith("unsigned ") else format.lower())


def _layout(parameters: Sequence[Parameter], converters: Sequence[Converter]) -> str:
    """Return the `struct` format of a kernel's arguments, with padding: "<0xQ0xi"."""
    layout = "<"
    end = 0
    for parameter, converter in zip(parameters, converters, strict=True):
        if struct.calcsize(f"<{converter.format}") != parameter.size:
            kind = parameter.cpp or f".{parameter.type}"
            raise ImageError(f"the manifest is damaged: it has a parameter of type {kind} with {parameter.size} bytes")
        layout += f"{parameter.offset - end}x{converter.format}"
        end = parameter.offset + parameter.size
    return layout


def _lookup_form(given: Any, size: tuple[int, int, int] | None) -> Any:
    """Return `given`, a grid, block or cluster, as a dictionary key: an integer, or a tuple of integers.

    `size`: `given` as three integers; None for no cluster. np.int64(4) with (4, 1, 1) gives 4.
    """
    if type(given) is int or (type(given) is tuple and all(type(number) is int for number in given)):
        return given  # the next launch often passes the same object, which compares faster
    if size is None or isinstance(given, tuple):
        return size and size[: len(given)]
    return size if is_sequence(given) else size[0]
