"""Launch a kernel: write its arguments, and read the arrays among them.

`loader` imports this file when it is first needed: a kernel is launched, say, or a variable written. It is copied into
wheels beside `loader`, which is why it imports that by a relative name. Reading order: launching, arguments, arrays.
"""

import ctypes
import operator
import re
import struct
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

from .errors import ArgumentError, DriverError, ImageError
from .loader import (
    Dim,
    Global,
    Kernel,
    check_result,
    cuda_driver,
    current_device,
    device_count,
    device_with_context,
    parameter_type,
    signature,
)
from .manifest import Parameter

__all__ = [
    "Launcher",
    "argument_type",
    "device_bytes",
    "dimensions",
    "host_bytes",
    "is_on_gpu",
    "stream_address",
    "whole_number",
]

# --- launching ------------------------------------------------------------------------------------
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
        self._checked = [_argument(parameter, True) for parameter in parameters]
        self._unchecked = [_argument(parameter, False) for parameter in parameters]
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
                raise ArgumentError(f"stream must be an address, not {_shown(stream)}")
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
                words = f"{_shown(value)} is out of range" if range_ else str(reason) or repr(reason)
                return ArgumentError(f"{info.name}, argument {index + 1} ({parameter_type(parameter)}): {words}")
        return error


def _layout(parameters: Sequence[Parameter], arguments: Sequence["_Argument"]) -> str:
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


def _values(names: Sequence[str], ending: str, arguments: Sequence["_Argument"], namespace: dict[str, Any]) -> str:
    """Return the expressions of arguments that have these names, each after a comma; add what they use to a namespace,
    under names with that ending."""
    values = ""
    for name, argument in zip(names, arguments, strict=True):
        values += f", {argument.expression(name, name + ending)}"
        namespace |= argument.names(name + ending)
        if isinstance(argument, _Pointer):
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
        raise ArgumentError(f"{what}: {_shown(value)} is too large")
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
        f"stream must be an address or have __cuda_stream__, as CuPy's and PyTorch's do, not {_shown(stream)}"
    )


# --- arguments ------------------------------------------------------------------------------------
#
# One object for each parameter: the `format` in which `struct` writes it, the `expression` that stands for a value in
# the launching function, and the `names` that this uses. What goes wrong in an expression becomes the reason in an
# ArgumentError.


class _Argument:
    """A number without checks: cut to the width that is declared."""

    hint = "Any"
    """What type checkers know an argument by."""

    def __init__(self, format: str) -> None:
        self.format = format

    def expression(self, value: str, name: str) -> str:
        return value if self.format in "fd" else f"int({value}) & {(1 << 8 * _WIDTHS[self.format]) - 1}"

    def names(self, name: str) -> dict[str, Any]:
        return {}


_NUMBERS = [*"bhHiIlLqQfd"]
"""Formats of a buffer's elements that are numbers; of format B it is bytes."""
_WIDTHS = {"B": 1, "H": 2, "I": 4, "Q": 8}
_UNSIGNED = {size: format for format, size in _WIDTHS.items()}
_FLOATS = {"f32": "f", "f64": "d"}


class _Number(_Argument):
    """A number of a known type. What is of a type in `quick` is written as it is, and struct sees to its range."""

    def __init__(self, format: str, takes: str, *quick: type) -> None:
        super().__init__(format)
        self._takes = takes
        self._quick = set(quick)

    def expression(self, value: str, name: str) -> str:
        return f"{value} if type({value}) in quick_{name} else convert_{name}({value})"

    def names(self, name: str) -> dict[str, Any]:
        return {f"quick_{name}": self._quick, f"convert_{name}": self._convert}

    def _convert(self, value: Any) -> Any:
        kind = type(value)
        if not self._suits(kind):
            raise TypeError(f"takes {self._takes}, not {_named(kind)}")
        self._quick.add(kind)
        return value

    def _suits(self, kind: type) -> bool:
        return hasattr(kind, "__index__") and not _is_array(kind)


class _Integer(_Number):
    hint = "Integer"

    def __init__(self, format: str) -> None:
        super().__init__(format, "an integer", int)


class _EitherInteger(_Integer):
    """An integer of unknown sign: of either sign's range."""

    def __init__(self, size: int) -> None:
        super().__init__(_UNSIGNED[size])
        self._low, self._high = -(1 << 8 * size - 1), (1 << 8 * size) - 1

    def expression(self, value: str, name: str) -> str:
        # Such numbers are frequent, and a call would take longer than this.
        fits = f"type({value}) is int and {self._low} <= {value} <= {self._high}"
        return f"{value} & {self._high} if {fits} else convert_{name}({value})"

    def _convert(self, value: Any) -> int:
        number: int = super()._convert(value).__index__()
        if not self._low <= number <= self._high:
            raise OverflowError
        return number & self._high


class _Unknown(_EitherInteger):
    """Bytes of machine code of which nothing more is known: an integer, of four bytes a float too, or a scalar of NumPy
    or ctypes that has just so many."""

    hint = "Struct"

    def __init__(self, size: int) -> None:
        super().__init__(size)
        self._size = size

    def _convert(self, value: Any) -> int:
        if type(value) is float and self._size == 4:
            return int.from_bytes(struct.pack("<f", value), "little")
        content = _scalar_bytes(value)
        if content is None:
            return super()._convert(value)
        if len(content) != self._size:
            raise TypeError(f"takes {self._size} bytes, not the {len(content)} of {_named(type(value))}")
        return int.from_bytes(content, "little")


class _Real(_Number):
    hint = "Real"

    def __init__(self, format: str) -> None:
        super().__init__(format, "a number", float, int)

    def _suits(self, kind: type) -> bool:
        from numbers import Complex, Real

        if issubclass(kind, Complex):
            return issubclass(kind, Real)
        return hasattr(kind, "__float__") and not _is_array(kind)


class _BFloat16(_Real):
    def __init__(self) -> None:
        super().__init__("H")

    def expression(self, value: str, name: str) -> str:
        return f"convert_{name}({value})"

    def _convert(self, value: Any) -> int:
        """Return the upper half of the number's 32 bits, rounded to the nearest, to even in the middle."""
        number = float(super()._convert(value))
        single = struct.pack("<f", number)
        bits: int = struct.unpack("<I", single)[0]
        if number != number:  # rounding could make it infinite
            return bits >> 16 | 0x40
        rounded = struct.unpack("<f", single)[0]
        if rounded != number:  # rounded twice, it could seem to be in the middle: its last bit says that it is not
            bits = bits - (abs(rounded) > abs(number)) | 1
        bits = bits + 0x7FFF + (bits >> 16 & 1) >> 16
        if bits & 0x7FFF == 0x7F80 and number - number == 0:
            raise OverflowError
        return bits


class _Bool(_Number):
    hint = "bool"

    def __init__(self) -> None:
        super().__init__("?", "True or False", bool)

    def _convert(self, value: Any) -> bool:
        if type(value).__name__ not in ("bool_", "bool") and not (type(value) is int and value in (0, 1)):
            raise TypeError(f"takes {self._takes}, not {_shown(value)}")
        return bool(value)


class _Struct(_Argument):
    """Anything of so many bytes, or a struct of cuda.bindings; of a vector or complex type also its numbers."""

    hint = "Struct"

    def __init__(self, size: int, cpp: str) -> None:
        super().__init__(f"{size}s")
        self._size = size
        vector = re.fullmatch(r"(u?)(char|short|int|long|longlong|float|double)([1-4])(_(16|32)a)?", cpp)
        complex_ = re.search(r"\bcomplex<(float|double)>$", cpp)
        self._complex = complex_ is not None
        self._vector = ""
        if vector:
            words = {"char": "b", "short": "h", "int": "i", "longlong": "q", "float": "f", "double": "d"}
            words["long"] = "q" if size == 8 * int(vector[3]) else "i"  # 4 bytes on Windows
            word = words[vector[2]]
            self._vector = f"<{vector[3]}{word.upper() if vector[1] else word}"
        elif complex_:
            self._vector = f"<2{complex_[1][0]}"
        else:
            self._vector = {"dim3": "<3I", "__half2": "<2e"}.get(cpp, "")
        if self._vector and struct.calcsize(self._vector) != size:  # somebody's own type of such a name
            self._vector = ""

    def expression(self, value: str, name: str) -> str:
        return f"convert_{name}({value})"

    def names(self, name: str) -> dict[str, Any]:
        return {f"convert_{name}": self._convert}

    def _convert(self, value: Any) -> bytes:
        numbers = self._numbers(value) if self._vector else None
        if numbers is not None:
            try:
                return struct.pack(self._vector, *numbers)
            except struct.error as error:
                raise TypeError(f"{_shown(value)} does not fit: {error}") from None
        if type(value).__module__.startswith("cuda.bindings.") and hasattr(value, "getPtr"):  # CUtensorMap, say
            return ctypes.string_at(value.getPtr(), self._size)
        if is_on_gpu(value):
            raise TypeError(f"takes a struct of {self._size} bytes by value, not an array on the GPU")
        try:
            content = bytes(host_bytes(value))
        except ArgumentError:
            raise TypeError(f"takes a struct of {self._size} bytes, not {_named(type(value))}") from None
        if len(content) != self._size:
            raise TypeError(f"takes a struct of {self._size} bytes, not of {len(content)}")
        return content

    def _numbers(self, value: Any) -> Sequence[Any] | None:
        """Return the numbers that stand for a vector; None for what is bytes."""
        if isinstance(value, (tuple, list)):
            return value
        from numbers import Complex, Real

        if isinstance(value, Complex):  # before the bytes that NumPy's numbers have too: of eight, not all are a float2
            return (value.real, value.imag) if self._complex or not isinstance(value, Real) else (value,)
        with suppress(TypeError, ValueError, BufferError):
            view = memoryview(value)
            format: Any = view.format.lstrip("@=<")  # of ctypes it is "<f"
            if format in _NUMBERS:
                return memoryview(view.tobytes()).cast(format).tolist()
        return None


def argument_type(parameter: Parameter) -> str:
    """Return what a parameter takes, in the words of the stubs: "Pointer", "Integer", "Real", "bool" or "Struct"."""
    return _argument(parameter, True).hint


def _argument(parameter: Parameter, check: bool) -> _Argument:
    """Return what writes the arguments for a parameter."""
    kind, size, cpp = parameter.type, parameter.size, parameter.cpp
    if cpp.endswith(("*", "&")):
        return _Pointer(cpp, check)
    if cpp == "__half":
        return _Real("e")
    if cpp == "__nv_bfloat16":
        return _BFloat16()
    if kind == f"b{8 * size}" and size in (1, 2, 4) and not cpp:
        return _Unknown(size)
    if kind == "b8" or size not in _UNSIGNED:
        return _Struct(size, cpp)
    if kind in _FLOATS:
        return _Real(_FLOATS[kind]) if check else _Argument(_FLOATS[kind])
    if size == 8 and not cpp:
        return _Word(check, kind == "b64")
    if not check:
        return _Argument(_UNSIGNED[size])
    if cpp == "bool":
        return _Bool()
    if cpp.startswith("unsigned "):
        return _Integer(_UNSIGNED[size])
    if cpp in ("signed char", "short", "int", "long", "long long"):
        return _Integer(_UNSIGNED[size].lower())
    return _EitherInteger(size)


# --- arrays ---------------------------------------------------------------------------------------

_DTYPES = {
    "bool": {"bool", "uint8"},
    "char": {"int8", "uint8"},
    "signed char": {"int8", "uint8"},
    "unsigned char": {"int8", "uint8", "bool"},
    "short": {"int16"},
    "unsigned short": {"uint16"},
    "int": {"int32"},
    "unsigned int": {"uint32"},
    "long": {"int32", "int64"},  # 4 bytes on Windows
    "unsigned long": {"uint32", "uint64"},
    "long long": {"int64"},
    "unsigned long long": {"uint64"},
    "float": {"float32"},
    "double": {"float64"},
    "__half": {"float16"},
    "__half2": {"float16"},
    "__nv_bfloat16": {"bfloat16", "int16", "uint16"},  # NumPy and CuPy have no such type of their own
    "__nv_bfloat162": {"bfloat16", "int16", "uint16"},
    "__nv_fp8_e4m3": {"float8_e4m3fn", "int8", "uint8"},
    "__nv_fp8_e5m2": {"float8_e5m2", "int8", "uint8"},
}
"""Element types that a pointer to a C++ type may be given, as NumPy and PyTorch call them; anything for other types."""

_VECTORS = {"longlong": "long long", "uchar": "unsigned char", "ushort": "unsigned short", "uint": "unsigned int"}
_VECTORS |= {"ulong": "unsigned long", "ulonglong": "unsigned long long"}


def _dtypes(pointer: str) -> set[str] | None:
    """Return the element types that suit a pointer's C++ type; None for any."""
    words = re.sub(r"\b(const|volatile)\b", "", pointer[:-1])
    element = " ".join(words.replace("__restrict__", "").split())
    if element.endswith("*"):
        return {"uint64", "int64"}
    vector = re.fullmatch(r"([a-z]+)[1-4](_(16|32)a)?", element)
    if vector and vector[1] in ("float", "double"):
        return {*_DTYPES[vector[1]], "complex64" if vector[1] == "float" else "complex128"}
    if vector:
        return _DTYPES.get(_VECTORS.get(vector[1], vector[1]))
    if scalar := re.search(r"\bcomplex<(float|double)>$", element):
        return {"complex64" if scalar[1] == "float" else "complex128"}
    return _DTYPES.get(element)


Reader = Callable[[Any, int | None], int]
"""What gives the address of an argument, and raises TypeError where it does not suit the parameter or the GPU."""


class _Pointer(dict[type, Reader], _Argument):
    """An address: from each type of argument what reads it, found when that type is first met."""

    hint = "Pointer"

    def __init__(self, cpp: str, check: bool) -> None:
        dict.__init__(self)
        _Argument.__init__(self, "Q")
        self._check = check
        self._dtypes = _dtypes(cpp) if check else None
        self._watched: list[tuple[str, dict[str, Any]]] = []
        self._const = not check or "const" in cpp.replace("*", " ").split() or cpp == "void*"

    def expression(self, value: str, name: str) -> str:
        cupy = f"{value}.data.ptr if kind is cupy_{name} and {value}.dtype is dtype_{name}"
        torch = f"{value}.data_ptr() if kind is torch_{name} and {value}.dtype is dtype_{name} and {value}.is_cuda"
        known = f"{value} if (kind := type({value})) is int else {cupy} else {torch}"
        return f"{known} else read_{name}[kind]({value}, device)"

    def names(self, name: str) -> dict[str, Any]:
        return {f"read_{name}": self, f"cupy_{name}": None, f"torch_{name}": None, f"dtype_{name}": None}

    def watch(self, name: str, names: dict[str, Any]) -> None:
        """Keep up these names of the launching function: the most frequent arrays, CuPy's and PyTorch's, it reads by
        itself once their element type is known to suit."""
        self._watched.append((name, names))

    def _note(self, library: str, array: Any, device: int | None) -> None:
        for name, names in self._watched if device is None else ():
            names[f"dtype_{name}"], names[f"{library}_{name}"] = array.dtype, type(array)

    def __missing__(self, kind: type) -> Reader:
        reader = self._reader(kind)
        self[kind] = reader
        return reader

    def _reader(self, kind: type) -> Reader:
        if kind is type(None):
            return lambda value, device: 0
        names = {(base.__module__.partition(".")[0], base.__name__) for base in kind.__mro__}
        if ("cupy", "ndarray") in names:
            return self._cupy()
        if ("torch", "Tensor") in names:
            return self._torch()
        if ("cuda", "Buffer") in names:
            return self._cuda_core
        if issubclass(kind, Global):  # which shows itself as bytes, whatever it is made of
            return lambda variable, device: int(variable.address)
        if hasattr(kind, "__cuda_array_interface__"):
            return self._array_interface
        if hasattr(kind, "__dlpack__"):
            return self._dlpack
        if hasattr(kind, "__index__") and not _is_array(kind) and kind is not bool:
            return lambda value, device: int(value.__index__())
        if "cuda" in {module for module, _ in names} and hasattr(kind, "__int__"):  # CUdeviceptr
            return lambda value, device: int(value)
        return self._of_its_own

    def _of_its_own(self, value: Any, device: int | None) -> int:
        """Read what may have the interface as an attribute of its own, which its class does not know of."""
        if not is_on_gpu(value):
            raise TypeError(f"takes an array on the GPU, an address or None, not {_named(type(value))}")
        return self._array_interface(value, device)

    def _cupy(self) -> Reader:
        # This reader and PyTorch's keep the last element type that suited: looking at its name takes long.
        suited: Any = None

        def read(array: Any, device: int | None) -> int:
            nonlocal suited
            dtype = array.dtype
            if dtype is not suited:
                self._suit(dtype.name)
                suited = dtype
                self._note("cupy", array, device)
            memory = array.data
            if device is not None and memory.device_id != device:
                self._elsewhere(memory.device_id, device)
            address: int = memory.ptr
            return address

        return read

    def _torch(self) -> Reader:
        suited: Any = None

        def read(tensor: Any, device: int | None) -> int:
            nonlocal suited
            dtype = tensor.dtype
            if dtype is not suited:
                self._suit(str(dtype).removeprefix("torch."))
                if dtype.is_complex:  # looked at each time
                    if tensor.is_conj():
                        raise TypeError("is a tensor whose conjugation is still to be done: .resolve_conj() does it")
                else:
                    suited = dtype
                    self._note("torch", tensor, device)
            if not tensor.is_cuda:
                if self._check and not tensor.is_pinned():
                    raise TypeError("is a tensor in the memory of the host: .cuda() copies it")
            elif device is not None and tensor.get_device() != device:
                self._elsewhere(tensor.get_device(), device)
            address: int = tensor.data_ptr()
            return address

        return read

    def _cuda_core(self, buffer: Any, device: int | None) -> int:
        """Read memory without element type, which DLPack would call int8."""
        if device is not None and not buffer.is_host_accessible and buffer.device_id != device:
            self._elsewhere(buffer.device_id, device)
        if not buffer.is_device_accessible:
            raise TypeError("is a buffer that the GPU cannot reach")
        return int(buffer.handle)

    def _array_interface(self, array: Any, device: int | None) -> int:
        """Source: Numba, "CUDA Array Interface (Version 3)"."""
        interface = array.__cuda_array_interface__
        address, read_only = interface["data"]
        self._suit(_dtype_name(interface["typestr"]))
        if read_only and not self._const:
            raise TypeError("is a read-only array, and the kernel may write to it")
        return int(address or 0)

    def _dlpack(self, array: Any, device: int | None) -> int:
        """Source: DLPack, "Python Specification" and "C API"."""
        kind, number = array.__dlpack_device__()
        if kind not in (2, 3, 13):  # CUDA, CUDA's pinned host memory, CUDA's managed memory
            raise TypeError("is an array in the memory of the host: copy it to the GPU")
        if kind == 2 and device is not None and number != device:
            self._elsewhere(number, device)
        capsule = array.__dlpack__(stream=-1) if kind == 2 else array.__dlpack__()  # without waiting for anything
        # A function object of our own: the one in ctypes.pythonapi is everybody's, with whatever types they set.
        prototype = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)
        get_pointer = prototype(("PyCapsule_GetPointer", ctypes.pythonapi))
        tensor = ctypes.string_at(get_pointer(capsule, b"dltensor"), 48)
        address, _, _, _, code, bits, _, _, _, offset = struct.unpack("<QiiiBBHQQQ", tensor)
        numbers = {0: "int", 1: "uint", 2: "float", 4: "bfloat", 5: "complex"}
        others = {6: "bool", 10: "float8_e4m3fn", 12: "float8_e5m2"}
        self._suit(f"{numbers[code]}{bits}" if code in numbers else others.get(code, f"DLPack's type {code}"))
        return int(address + offset)

    def _suit(self, dtype: str) -> None:
        """Raise TypeError where arrays of the element type `dtype` do not suit."""
        if self._dtypes is not None and dtype not in self._dtypes:
            wanted = " or ".join(sorted(self._dtypes))
            raise TypeError(f"takes an array of {wanted}, not of {dtype}")

    def _elsewhere(self, there: int, here: int) -> None:
        if self._check:
            raise TypeError(f"is an array on GPU {there}, and the launch is on GPU {here}")


class _Word(_Pointer):
    """8 bytes of which nothing more is known: an address, or an integer of either sign; where they are `bare`, as those
    of machine code, a float too."""

    def __init__(self, check: bool, bare: bool) -> None:
        super().__init__("void*", check)
        self._bare = bare

    def _reader(self, kind: type) -> Reader:
        if self._bare and issubclass(kind, float):  # NumPy's is one
            return _bits_of_double
        if hasattr(kind, "__index__") and not _is_array(kind):
            return _of_either_sign
        return super()._reader(kind)

    def expression(self, value: str, name: str) -> str:
        return f"read_{name}[type({value})]({value}, device)"


def _bits_of_double(value: Any, device: int | None) -> int:
    return int.from_bytes(struct.pack("<d", value), "little")


def _of_either_sign(value: Any, device: int | None) -> int:
    number: int = value.__index__()
    if number < -1 << 63:
        raise OverflowError
    return number if number >= 0 else number + (1 << 64)


def _dtype_name(typestr: str) -> str:
    """Return what NumPy calls the type of an array interface's "<f4"."""
    kinds = {"f": "float", "i": "int", "u": "uint", "c": "complex", "V": "void", "M": "datetime", "m": "timedelta"}
    if typestr[1] == "b":
        return "bool"
    return f"{kinds.get(typestr[1], typestr[1])}{_item_size(typestr) * 8}"


def _item_size(typestr: str) -> int:
    return int(typestr[2:].partition("[")[0])  # "<M8[ns]"


def is_on_gpu(value: Any) -> bool:
    """Return whether a value is an array on the GPU, by its own word."""
    # The value itself: PyTorch's and JAX's classes are the same for arrays in the memory of the host.
    return hasattr(value, "__cuda_array_interface__")


def device_bytes(array: Any) -> tuple[int, int]:
    """Return address and size in bytes of a contiguous array on the GPU; raises ArgumentError for another."""
    interface = array.__cuda_array_interface__
    shape = interface["shape"]
    strides = interface.get("strides") or [None] * len(shape)
    size = _item_size(interface["typestr"])
    for length, stride in zip(reversed(shape), reversed(strides), strict=True):
        if stride not in (None, size) and length > 1 and 0 not in shape:
            raise ArgumentError(f"the {_named(type(array))} is not contiguous")
        size *= length
    return int(interface["data"][0] or 0), size


def _is_array(kind: type) -> bool:
    # In the class itself: an enumeration's own class has a length, and an IntEnum is a number.
    names = ("__len__", "__cuda_array_interface__", "__dlpack__")
    return any(name in base.__dict__ for base in kind.__mro__ for name in names)


def _scalar_bytes(value: Any) -> bytes | None:
    """Return the bytes of a scalar of NumPy or ctypes, or of bytes; None for what is a number alone, or no scalar."""
    kind = type(value)
    if kind in (bytes, bytearray) or not _is_array(kind):
        with suppress(TypeError, BufferError):
            return memoryview(value).tobytes()
    return None


def _shown(value: Any) -> str:
    """Return a value as an error tells it: on one line, and not all of what is long."""
    try:
        text = " ".join(repr(value).split())
    except Exception:  # an integer of thousands of digits has no decimal form
        return f"this {_named(type(value))}"
    return text if len(text) <= 100 else f"{text[:100]}…"


def _named(kind: type) -> str:
    return kind.__name__ if kind.__module__ == "builtins" else f"{kind.__module__.partition('.')[0]}.{kind.__name__}"


def host_bytes(data: Any) -> memoryview:
    """Return a view of a contiguous buffer; raises ArgumentError for anything else."""
    try:
        view = memoryview(data)
    except (TypeError, ValueError, BufferError) as error:
        raise ArgumentError(f"{_named(type(data))} is no buffer in the memory of the host ({error})") from None
    if view.format == "O":
        raise ArgumentError(f"the {_named(type(data))} holds Python's objects, and not their content")
    if not view.c_contiguous:
        raise ArgumentError(f"the {_named(type(data))} is not contiguous: numpy.ascontiguousarray makes it so")
    return view
