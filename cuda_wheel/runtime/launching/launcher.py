"""Launch a kernel with the driver's `cuLaunchKernelEx`."""

import ctypes
import operator
import struct
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

from ..driver import check_result, cuda_driver, current_device, device_count, device_with_context
from ..errors import ArgumentError, DriverError, ImageError
from ..manifest import Parameter
from ..module import Dim, Kernel, parameter_type, signature
from .arguments import Argument, value_text
from .parameters import argument_writer
from .pointers import Pointer

__all__ = [
    "Launcher",
    "dimensions",
    "stream_address",
    "whole_number",
]


#
# A launch is one call of cuLaunchKernelEx through ctypes, with memory that was filled in before: a slot for each
# configuration and for each launch of it that is under way. Only the arguments are written anew. The function that does
# so is made for each kernel when it is first launched: a loop over the parameters would cost as much as all the rest;
# benchmarks/launch.py has the figures.

_LAUNCH = """
def launch(grid, block, *args, stream=None, shared_memory=0, cooperative=False, cluster=None, check=True):
    if stream is not None and type(stream) is not int:
        stream = stream_address(stream)
    try:
        slots = pools[grid, block, stream, shared_memory, cooperative, cluster]
        slot = slots.pop()
    except (KeyError, IndexError, TypeError):
        slots, slot = prepare(grid, block, stream, shared_memory, cooperative, cluster)
    buffer, config, extra = slot
    device = {device}
    try:
        [{names}] = args
        if check:
            pack_into(buffer, 0{checked})
        else:
            pack_into_as_is(buffer, 0{unchecked})
    except Exception as error:
        raise explanation(args, error, check) from None
    code = launch_kernel(config, handle, None, extra)
    if code:
        launch_again(code, config, extra, shared_memory, cluster)
    slots.append(slot)
"""


_Slot = tuple[Any, Any, Any]
"""The memory for one launch: what arguments are written to, and as arguments of cuLaunchKernelEx its `config` and
`extra`, which lie in the same memory."""


class Launcher:
    """Makes the function that launches one kernel, and does for it what is seldom to do."""

    POOLS = 1000
    """Configurations to keep slots for."""

    def __init__(self, kernel: Kernel) -> None:
        parameters = kernel.info.parameters
        self._kernel = kernel
        self._checked = [argument_writer(parameter, True) for parameter in parameters]
        self._unchecked = [argument_writer(parameter, False) for parameter in parameters]
        self._struct = struct.Struct(_layout(parameters, self._checked))
        self._struct_as_is = struct.Struct(_layout(parameters, self._unchecked))
        self._pools: dict[tuple[Any, ...], list[_Slot]] = {}
        self._launch_kernel = _entry_point("cuLaunchKernelEx")

    def function(self) -> Callable[..., None]:
        """Return what `Kernel.launch` calls from its second time on."""
        names = [f"a{index}" for index in range(len(self._checked))]
        namespace: dict[str, Any] = {
            "stream_address": stream_address,
            "pools": self._pools,
            "prepare": self._prepare,
            "current_device": current_device,
            "pack_into": self._struct.pack_into,
            "pack_into_as_is": self._struct_as_is.pack_into,
            "explanation": self._explanation,
            "launch_kernel": self._launch_kernel,
            "launch_again": self._launch_again,
        }
        source = _LAUNCH.format(
            names=", ".join(names),
            # Asking for the device takes time; where there is one, all is on it.
            device="current_device()" if device_count() > 1 else "None",
            checked=_values(names, "", self._checked, namespace),
            unchecked=_values(names, "_as_is", self._unchecked, namespace),
        )
        self._kernel.module._library.launching.append(namespace)
        namespace["handle"] = _ctypes_pointer(self._kernel.handle)  # not before an unloading would take it back
        exec(source, namespace)
        function: Callable[..., None] = namespace["launch"]
        function.__doc__ = Kernel.launch.__doc__
        return function

    def _prepare(
        self, grid: Any, block: Any, stream: int | None, shared_memory: Any, cooperative: Any, cluster: Any
    ) -> tuple[list[_Slot], _Slot]:
        """Return the free slots of a configuration, and one that is no longer among them."""
        try:
            if stream is not None and not 0 <= stream < 1 << 64:
                raise ArgumentError(f"stream must be an address, not {value_text(stream)}")
            key = (
                dimensions(grid, "grid"),
                dimensions(block, "block"),
                stream or 0,
                whole_number(shared_memory, "shared_memory", 0),
                bool(cooperative),
                None if cluster is None else dimensions(cluster, "cluster"),
            )
            slots = self._pools.get(key)
            if slots is None:
                self._check_configuration(key[0], key[1], key[3], key[5])
        except Exception as error:
            raise error from None  # the KeyError that led here is nobody's concern
        if slots is None:
            if len(self._pools) >= self.POOLS:
                self._pools.clear()
            slots = self._pools[key] = []
        # As the next launch asks for it. A list is no key, and comes here each time; so does a tensor, whose key would
        # be the object that it is, whatever it holds then.
        as_given = _as_given(grid, key[0]), _as_given(block, key[1]), stream, key[3], key[4], _as_given(cluster, key[5])
        self._pools[as_given] = slots
        with suppress(IndexError):
            return slots, slots.pop()
        return slots, self._slot(*key)

    def _check_configuration(
        self,
        grid: tuple[int, int, int],
        block: tuple[int, int, int],
        shared_memory: int,
        cluster: tuple[int, int, int] | None,
    ) -> None:
        """Raise ArgumentError where no kernel, or not this one, can be launched so; have the driver allow for much."""
        # Source: CUDA C++ Programming Guide, "Technical Specifications per Compute Capability".
        for what, sizes, most in (
            ("grid", grid, ((1 << 31) - 1, 65535, 65535)),
            ("block", block, (1024, 1024, 64)),
        ):
            if any(size > limit for size, limit in zip(sizes, most, strict=True)):
                raise ArgumentError(f"{self._kernel.name}: a {what} of {sizes} is too large: {most} is the most")
        self._kernel._admit(block[0] * block[1] * block[2], shared_memory)
        if cluster is not None:
            if any(size % part for size, part in zip(grid, cluster, strict=True)):
                raise ArgumentError(
                    f"{self._kernel.name}: a grid of {grid} has no whole number of clusters of {cluster}"
                )
            self._admit_cluster(cluster)

    def _slot(
        self,
        grid: tuple[int, int, int],
        block: tuple[int, int, int],
        stream: int,
        shared_memory: int,
        cooperative: bool,
        cluster: tuple[int, int, int] | None,
    ) -> _Slot:
        """Return memory with everything in it but the arguments.

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
        config = (*grid, *block, shared_memory, stream, start + attributes_at if count else 0, count)
        struct.pack_into("<7I4xQQI4x", buffer, config_at, *config)
        struct.pack_into(f"{len(attributes)}s", buffer, attributes_at, attributes)
        # CU_LAUNCH_PARAM_BUFFER_POINTER, CU_LAUNCH_PARAM_BUFFER_SIZE, CU_LAUNCH_PARAM_END; then the size itself.
        struct.pack_into("<6Q", buffer, extra_at, 1, start, 2, start + extra_at + 40, 0, size)
        return buffer, _ctypes_pointer(start + config_at), _ctypes_pointer(start + extra_at) if size else None

    def _launch_again(self, code: int, config: Any, extra: Any, shared_memory: int, cluster: Dim | None) -> None:
        """Launch again, with what made the driver answer `code` mended; raise DriverError where it still refuses."""
        driver, handle = cuda_driver(), _ctypes_pointer(self._kernel.handle)
        if code == int(driver.CUresult.CUDA_ERROR_INVALID_CONTEXT):
            device_with_context()
            code = self._launch_kernel(config, handle, None, extra)
        if code == int(driver.CUresult.CUDA_ERROR_INVALID_VALUE) and shared_memory:  # another GPU than in _prepare
            self._kernel._admit(1, shared_memory)
            code = self._launch_kernel(config, handle, None, extra)
        if code == int(driver.CUresult.CUDA_ERROR_INVALID_CLUSTER_SIZE) and cluster is not None:  # likewise
            self._admit_cluster(dimensions(cluster, "cluster"))
            code = self._launch_kernel(config, handle, None, extra)
        try:
            result = driver.CUresult(code)
        except ValueError:  # a driver newer than cuda-bindings
            raise DriverError(f"launching {self._kernel.name}: the driver answered with the error {code}") from None
        check_result((result,), f"launching {self._kernel.name}")

    def _admit_cluster(self, cluster: tuple[int, int, int]) -> None:
        # Source: CUDA C++ Programming Guide, "Thread Block Clusters": 8 is the most that every GPU takes.
        if cluster[0] * cluster[1] * cluster[2] > 8:
            self._kernel._set_attribute("NON_PORTABLE_CLUSTER_SIZE_ALLOWED", 1)

    def _explanation(self, args: Sequence[Any], error: Exception, check: bool) -> Exception:
        """Return the error that says which of the arguments does not fit, and why."""
        info = self._kernel.info
        if len(args) != len(info.parameters):
            takes = f"{len(info.parameters)} argument{'' if len(info.parameters) == 1 else 's'}"
            return ArgumentError(f"{info.name} takes {takes}, ({signature(info)}), and was given {len(args)}")
        device = current_device() if device_count() > 1 else None
        arguments = self._checked if check else self._unchecked
        for index, (parameter, argument, value) in enumerate(zip(info.parameters, arguments, args, strict=True)):
            try:
                encoded = eval(argument.expression("a", ""), {**argument.names(""), "a": value, "device": device})
                if argument.format in ("e", "f", "d"):
                    encoded = float(encoded)  # struct would not say why it cannot be one
                struct.pack(f"<{argument.format}", encoded)
            except DriverError as reason:
                return reason
            except Exception as reason:
                range_ = isinstance(reason, (struct.error, OverflowError))
                words = f"{value_text(value)} is out of range" if range_ else str(reason) or repr(reason)
                return ArgumentError(f"{info.name}, argument {index + 1} ({parameter_type(parameter)}): {words}")
        return error


def _layout(parameters: Sequence[Parameter], arguments: Sequence["Argument"]) -> str:
    """Return the format in which `struct` writes all of a kernel's arguments."""
    layout = "<"
    end = 0
    for parameter, argument in zip(parameters, arguments, strict=True):
        if struct.calcsize(f"<{argument.format}") != parameter.size:
            kind = parameter.cpp or f".{parameter.type}"
            raise ImageError(f"the manifest is damaged: {kind} is no parameter of {parameter.size} bytes")
        layout += f"{parameter.offset - end}x{argument.format}"
        end = parameter.offset + parameter.size
    return layout


def _values(names: Sequence[str], ending: str, arguments: Sequence["Argument"], namespace: dict[str, Any]) -> str:
    """Return the expressions of arguments that have these names, each after a comma; add what they use to a namespace,
    under names with that ending."""
    values = ""
    for name, argument in zip(names, arguments, strict=True):
        values += f", {argument.expression(name, name + ending)}"
        namespace |= argument.names(name + ending)
        if isinstance(argument, Pointer):
            argument.watch(name + ending, namespace)
    return values


def dimensions(value: Any, what: str) -> tuple[int, int, int]:
    """Return a size of one to three numbers as three; raises ArgumentError, with `what` it is, for anything else."""
    sizes = list(value) if _is_sequence(value) else [value]
    if not 1 <= len(sizes) <= 3:
        raise ArgumentError(f"{what} must be one to three numbers, not {value!r}")
    x, y, z = [whole_number(size, what, 1) for size in sizes] + [1] * (3 - len(sizes))
    return x, y, z


def _is_sequence(value: Any) -> bool:
    return hasattr(value, "__len__") and getattr(value, "shape", None) != ()  # an array without dimensions is a number


def _as_given(given: Any, size: tuple[int, int, int] | None) -> Any:
    """Return `size`, which `dimensions` made of what was given, in that one's form: as a key it is equal to a given
    tuple of integers or integer, of NumPy's perhaps."""
    if type(given) is int or (type(given) is tuple and all(type(number) is int for number in given)):
        return given  # the next launch often has this very object, which is sooner found equal
    if size is None or isinstance(given, tuple):
        return size and size[: len(given)]
    return size if _is_sequence(given) else size[0]


def whole_number(value: Any, what: str, least: int) -> int:
    """Return a number of at least `least` and less than 2^31 as an int; raises ArgumentError for anything else."""
    try:
        number = operator.index(value)
    except TypeError:
        raise ArgumentError(f"{what} must be made of whole numbers, not {value!r}") from None
    if number < least:
        raise ArgumentError(f"{what} must be made of numbers from {least} on, not {value!r}")
    if number >= 1 << 31:
        raise ArgumentError(f"{what}: {value_text(value)} is too large")
    return number


def _entry_point(name: str) -> Any:
    """Return a function of the driver for ctypes, without conversions: it takes addresses as `_ctypes_pointer` makes
    them, which costs least."""
    address = check_result(cuda_driver().cuGetProcAddress(name.encode(), 12000, 0)[:2], f"looking for {name}")
    return ctypes.CFUNCTYPE(ctypes.c_int)(int(address))


def _ctypes_pointer(address: int) -> Any:
    return ctypes.c_void_p.from_param(address)


def stream_address(stream: Any) -> int:
    """Return the address of the CUstream that a library's stream object stands for."""
    try:
        protocol = getattr(stream, "__cuda_stream__", None)
        if protocol is not None:
            return int((protocol() if callable(protocol) else protocol)[1])
        for attribute in ("cuda_stream", "ptr", "handle"):  # PyTorch, CuPy, Numba
            address = getattr(stream, attribute, None)
            if address is not None:
                return int(getattr(address, "value", address) or 0)
        # int() alone would read "5" and 5.5 as addresses too.
        if hasattr(stream, "__index__") or (hasattr(stream, "__int__") and not hasattr(stream, "__float__")):
            return int(stream)
    except (TypeError, ValueError, LookupError):
        pass
    raise ArgumentError(
        f"stream must be an address or have __cuda_stream__, as CuPy's and PyTorch's do, not {value_text(stream)}"
    )
