"""C++'s arithmetic for host functions that are translated into Python, and its few calls that write GPU memory.

`cuda-wheel import` writes modules that import these functions where Python's own operators give other results.

    threads = min(int32(x.size(0)), 1024)
    blocks = quotient(n + threads - 1, threads)
    scale = float32(divide(1.0, sqrt(dimensions)))

The port must never go on with a wrong number in silence. Where the C++ wraps a signed integer or is undefined, these
functions raise an error; where it defines a result, they return that one. Source of the rules: the C++ standard,
[conv.integral], [conv.fpint], [conv.double], [expr.mul], and for <cmath> the C standard's annex F.

While PyTorch compiles, a size may be a number that it does not know (a SymInt). The conversions return it as it is,
without a check; most functions of <cmath> ask PyTorch for its value.
"""

import builtins
import ctypes
import functools
import math
import operator
import sys
from collections.abc import Callable
from typing import Any

from cuda_wheel.runtime.driver import check_result, cuda_driver, device_with_context
from cuda_wheel.runtime.errors import ArgumentError
from cuda_wheel.torch.launch_checks import checks_running, current_call, is_symbol

__all__ = [
    "accessor",
    "address",
    "atan2",
    "atan2f",
    "can_use_32_bit_index_math",
    "cbrt",
    "cbrtf",
    "ceil",
    "check_contiguous",
    "check_integers",
    "check_same_gpu",
    "check_same_type",
    "copy_bytes",
    "cos",
    "cosf",
    "data_ptr",
    "dim3",
    "dispatch",
    "divide",
    "elements",
    "exp",
    "exp2",
    "exp2f",
    "expf",
    "fill_bytes",
    "float32",
    "floor",
    "fmax",
    "fmin",
    "fmod",
    "int8",
    "int16",
    "int32",
    "int64",
    "log",
    "log2",
    "log2f",
    "log10",
    "log10f",
    "logf",
    "null_accessor",
    "overloaded",
    "pow",
    "powf",
    "quotient",
    "read_numbers",
    "remainder",
    "rint",
    "round",
    "sin",
    "sinf",
    "sqrt",
    "tan",
    "tanf",
    "tanh",
    "tanhf",
    "trunc",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "write_numbers",
]


# --- conversions -------------------------------------------------------------------------------------------

# The first condition of each conversion is for speed: these run before every launch.


def int8(x: Any) -> int:
    """Return a number as an `int8_t`, a float truncated towards zero; raise OverflowError if it does not fit."""
    return x if type(x) is int and -0x80 <= x <= 0x7F else _signed(x, 8)


def int16(x: Any) -> int:
    """Return a number as an `int16_t`, a float truncated towards zero; raise OverflowError if it does not fit."""
    return x if type(x) is int and -0x8000 <= x <= 0x7FFF else _signed(x, 16)


def int32(x: Any) -> int:
    """Return a number as an `int32_t`, a float truncated towards zero; raise OverflowError if it does not fit."""
    return x if type(x) is int and -0x80000000 <= x <= 0x7FFFFFFF else _signed(x, 32)


def int64(x: Any) -> int:
    """Return a number as an `int64_t`, a float truncated towards zero; raise OverflowError if it does not fit."""
    return x if type(x) is int and -0x8000000000000000 <= x <= 0x7FFFFFFFFFFFFFFF else _signed(x, 64)


def uint8(x: Any) -> int:
    """Return a number as a `uint8_t`: an integer modulo 2**8, a float truncated towards zero.

    Raises OverflowError for a float that does not fit, for which C++ defines no result.
    """
    return x & 0xFF if type(x) is int else _unsigned(x, 8)


def uint16(x: Any) -> int:
    """Return a number as a `uint16_t`: an integer modulo 2**16, a float truncated towards zero.

    Raises OverflowError for a float that does not fit, for which C++ defines no result.
    """
    return x & 0xFFFF if type(x) is int else _unsigned(x, 16)


def uint32(x: Any) -> int:
    """Return a number as a `uint32_t`: an integer modulo 2**32, a float truncated towards zero.

    Raises OverflowError for a float that does not fit, for which C++ defines no result.
    """
    return x & 0xFFFFFFFF if type(x) is int else _unsigned(x, 32)


def uint64(x: Any) -> int:
    """Return a number as a `uint64_t`: an integer modulo 2**64, a float truncated towards zero.

    Raises OverflowError for a float that does not fit, for which C++ defines no result.
    """
    return x & 0xFFFFFFFFFFFFFFFF if type(x) is int else _unsigned(x, 64)


def _signed(x: Any, bits: int) -> int:
    name = f"int{bits}"
    number = _truncated(x, name)
    if is_symbol(number) or -(1 << bits - 1) <= number < 1 << bits - 1:
        return number
    raise OverflowError(f"{x} does not fit into {name}")


def _unsigned(x: Any, bits: int) -> int:
    name = f"uint{bits}"
    number = _truncated(x, name)
    if is_symbol(number):
        return number
    wrapped = number & (1 << bits) - 1
    if wrapped != number and not hasattr(x, "__index__"):
        raise OverflowError(f"{x} does not fit into {name}")
    return wrapped


def _truncated(x: Any, name: str) -> int:
    """Return a number as an integer, a float truncated towards zero. `name` is the type, for error messages."""
    if hasattr(x, "__index__") or is_symbol(x):
        return _integer(x, name)
    if not hasattr(x, "__float__"):
        raise TypeError(f"{name} takes a number, not {x!r}")
    number = float(x)
    if not math.isfinite(number):
        raise OverflowError(f"{number} does not fit into {name}")
    return int(number)


def _integer(x: Any, name: str) -> int:
    """Return an integer or bool as an int, a SymInt as it is, another symbol as a SymInt. `name` is the caller's, for
    error messages."""
    if is_symbol(x):
        if type(x).__name__ == "SymInt":
            return x  # type: ignore[no-any-return]
        import torch

        return torch.sym_int(x)  # type: ignore[no-any-return]
    try:
        return operator.index(x)
    except TypeError as error:
        raise TypeError(f"{name} takes an integer, not {x!r}: {error}") from None


def float32(x: Any) -> float:
    """Return a number rounded to a `float`; infinity if it is too large."""
    if type(x) is float:
        return ctypes.c_float(x).value
    if isinstance(x, int):
        unneeded = x.bit_length() - 40
        if unneeded > 0:
            # Rounded once, as in C++. ctypes would round to a double first. Of the bits behind the first 40, it only
            # matters whether any is set.
            size = abs(x)
            leading = size >> unneeded
            leading |= leading << unneeded != size
            x = math.ldexp(leading if x > 0 else -leading, min(unneeded, 900))
    elif is_symbol(x):
        import torch

        return torch.sym_float(x)  # type: ignore[no-any-return]
    return ctypes.c_float(x).value


# --- division ----------------------------------------------------------------------------------------------


def quotient(a: Any, b: Any) -> int:
    """Return the quotient of two integers, truncated towards zero; raise ZeroDivisionError for division by zero."""
    if type(a) is int and type(b) is int and a >= 0 and b > 0:
        return a // b
    dividend, divisor = _dividend_and_divisor(a, b, "quotient")
    if dividend >= 0 and divisor > 0:
        return dividend // divisor
    result = abs(dividend) // abs(divisor)
    return result if (dividend < 0) == (divisor < 0) else -result


def remainder(a: Any, b: Any) -> int:
    """Return the remainder of `quotient(a, b)`, with the sign of `a`; raise ZeroDivisionError for division by zero."""
    if type(a) is int and type(b) is int and a >= 0 and b > 0:
        return a % b
    dividend, divisor = _dividend_and_divisor(a, b, "remainder")
    if dividend >= 0 and divisor > 0:
        return dividend % divisor
    result = abs(dividend) % abs(divisor)
    return -result if dividend < 0 else result


def _dividend_and_divisor(a: Any, b: Any, name: str) -> tuple[int, int]:
    a, b = _integer(a, name), _integer(b, name)
    if b == 0:
        raise ZeroDivisionError(f"{name}({a}, 0): an integer is divided by zero")
    return a, b


def divide(a: Any, b: Any) -> float:
    """Return the quotient of two numbers in double precision, by IEEE 754: x/0 is infinity, 0/0 NaN."""
    if isinstance(a, int):
        a = float(a)  # because Python divides two integers without rounding them first
    try:
        return a / b  # type: ignore[no-any-return]
    except ZeroDivisionError:
        if a == 0 or math.isnan(a):
            return math.nan
        return math.copysign(math.inf, a) * math.copysign(1, b)


# --- <cmath> in double precision ---------------------------------------------------------------------------

# Python's math module calls the C library, and raises errors where that returns NaN or infinity.


def sqrt(x: Any) -> float:
    """Return the square root; NaN below 0."""
    return _value_or_nan(math.sqrt, x)


def exp(x: Any) -> float:
    """Return e**x; infinity if it is too large."""
    try:
        return math.exp(x)
    except OverflowError:
        return math.inf


def exp2(x: Any) -> float:
    """Return 2**x; infinity if it is too large."""
    try:
        return _exp2(x)
    except OverflowError:
        return math.inf


def log(x: Any) -> float:
    """Return the natural logarithm; minus infinity for 0, NaN below."""
    return -math.inf if x == 0 else _value_or_nan(math.log, x)


def log2(x: Any) -> float:
    """Return the logarithm to base 2; minus infinity for 0, NaN below."""
    return -math.inf if x == 0 else _value_or_nan(math.log2, x)


def log10(x: Any) -> float:
    """Return the logarithm to base 10; minus infinity for 0, NaN below."""
    return -math.inf if x == 0 else _value_or_nan(math.log10, x)


def pow(x: Any, y: Any) -> float:
    """Return x**y; infinity if it is too large and for negative powers of 0, NaN for broken powers below 0."""
    try:
        return math.pow(x, y)
    except (OverflowError, ValueError) as error:
        if isinstance(error, ValueError) and x != 0:
            return math.nan
        is_odd = math.fmod(y, 2) in (-1, 1)
        return math.copysign(math.inf, x) if is_odd else math.inf


def sin(x: Any) -> float:
    """Return the sine; NaN for infinity."""
    return _value_or_nan(math.sin, x)


def cos(x: Any) -> float:
    """Return the cosine; NaN for infinity."""
    return _value_or_nan(math.cos, x)


def tan(x: Any) -> float:
    """Return the tangent; NaN for infinity."""
    return _value_or_nan(math.tan, x)


def tanh(x: Any) -> float:
    """Return the hyperbolic tangent."""
    return math.tanh(x)


def cbrt(x: Any) -> float:
    """Return the cube root."""
    return _cbrt(x)


def atan2(y: Any, x: Any) -> float:
    """Return the angle of the point (x, y), from -pi to pi."""
    return math.atan2(y, x)


def fmax(x: Any, y: Any) -> float:
    """Return the larger number; of a NaN and a number, the number."""
    a, b = float(x), float(y)
    return b if a < b or (math.isnan(a) and not math.isnan(b)) else a


def fmin(x: Any, y: Any) -> float:
    """Return the smaller number; of a NaN and a number, the number."""
    a, b = float(x), float(y)
    return b if b < a or (math.isnan(a) and not math.isnan(b)) else a


def fmod(x: Any, y: Any) -> float:
    """Return the remainder of x/y with the sign of x; NaN for infinite x and for y = 0."""
    return _value_or_nan(math.fmod, x, y)


def floor(x: Any) -> float:
    """Return the greatest whole number that is at most x, as a float."""
    return _whole(math.floor, x)


def ceil(x: Any) -> float:
    """Return the least whole number that is at least x, as a float."""
    return _whole(math.ceil, x)


def trunc(x: Any) -> float:
    """Return x without its fraction, as a float."""
    return _whole(math.trunc, x)


def round(x: Any) -> float:
    """Return the nearest whole number, of two the one that is farther from 0, as a float."""
    return _whole(_half_away_from_zero, x)


def rint(x: Any) -> float:
    """Return the nearest whole number, of two the even one, as a float."""
    return _whole(builtins.round, x)


def _value_or_nan(function: Callable[..., float], *numbers: Any) -> float:
    try:
        return function(*numbers)
    except ValueError:
        return math.nan


def _whole(function: Callable[[Any], float], x: Any) -> float:
    """Return what a function makes of a finite number, with the number's sign also if it is 0; other numbers as they
    are."""
    if type(x) is not float:
        if is_symbol(x):
            import torch

            return torch.sym_float(function(x))  # type: ignore[no-any-return]
        x = float(x)
    return math.copysign(function(x), x) if math.isfinite(x) else x


def _half_away_from_zero(x: float) -> int:
    whole = math.trunc(x)
    if abs(x - whole) < 0.5:  # the difference is exact
        return whole
    return whole + 1 if x > 0 else whole - 1


def _c_function(name: str, number: Any = ctypes.c_double, count: int = 1) -> Callable[..., float]:
    """Return a function of the C library from `count` numbers of a type to one."""
    function = getattr(ctypes.CDLL("ucrtbase" if sys.platform == "win32" else None), name)
    function.argtypes, function.restype = [number] * count, number
    return function  # type: ignore[no-any-return]


if sys.version_info >= (3, 11):
    _cbrt, _exp2 = math.cbrt, math.exp2
else:
    _cbrt, _exp2 = _c_function("cbrt"), _c_function("exp2")


def _float_function(name: str, count: int = 1) -> Callable[..., float]:
    """Return a function of the C library for floats. Computed in double precision and rounded, the result could be
    another float than the library's."""

    @functools.cache
    def function() -> Callable[..., float]:
        return _c_function(name, ctypes.c_float, count)

    def called(*numbers: Any) -> float:
        return function()(*numbers)

    return called


expf, exp2f, logf, log2f, log10f = map(_float_function, ("expf", "exp2f", "logf", "log2f", "log10f"))
sinf, cosf, tanf, tanhf, cbrtf = map(_float_function, ("sinf", "cosf", "tanf", "tanhf", "cbrtf"))
powf, atan2f = _float_function("powf", 2), _float_function("atan2f", 2)


# --- element types and memory ------------------------------------------------------------------------------


def dispatch(name: str, dtype: Any, *dtypes: Any) -> Any:
    """Return `dtype` if it is one of `dtypes`; raise NotImplementedError, as `AT_DISPATCH_SWITCH(dtype, name, ...)`
    does, if it is not."""
    if dtype in dtypes:
        return dtype
    raise NotImplementedError(f"\"{name}\" not implemented for '{_scalar_type(dtype)}'")


def _scalar_type(dtype: Any) -> str:
    """Return the C++ name of an element type of PyTorch, such as "Half"."""
    name = str(dtype).removeprefix("torch.")
    return _C10_NAMES.get(name) or _c10(name)


_C10_NAMES = {
    "uint8": "Byte",
    "int8": "Char",
    "int16": "Short",
    "int32": "Int",
    "int64": "Long",
    "float16": "Half",
    "float32": "Float",
    "float64": "Double",
    "complex32": "ComplexHalf",
    "complex64": "ComplexFloat",
    "complex128": "ComplexDouble",
    "bfloat16": "BFloat16",
}
"""Name of an element type in Python -> in C++. Source: PyTorch, c10/core/ScalarType.h. `_c10` makes the others."""


def _c10(name: str) -> str:
    """Return the C++ name of an element type: UInt16 for "uint16", QInt8, Bool, Float8_e5m2."""
    for start in ("quint", "qint", "uint"):
        if name.startswith(start):
            return start[:-3].upper() + "Int" + name[len(start) :]
    return name[:1].upper() + name[1:]


def check_same_gpu(function: str, *tensors: Any) -> None:
    """Raise RuntimeError unless all tensors are on the same GPU, as `at::checkAllSameGPU` does. None is skipped."""
    given = [each for each in tensors if each is not None]
    for each in given:
        if not each.is_cuda:
            raise RuntimeError(
                f"Expected tensor to be on a GPU, but it is on {each.device} (while checking {function})"
            )
        if each.device != given[0].device:
            raise RuntimeError(
                f"Expected tensors to be on the same GPU, but they are on {given[0].device} and {each.device} "
                f"(while checking {function})"
            )


def check_same_type(function: str, *tensors: Any) -> None:
    """Raise RuntimeError unless all tensors have one element type, as `at::checkAllSameType` does. None is skipped."""
    given = [each for each in tensors if each is not None]
    for each in given:
        if each.dtype != given[0].dtype:
            raise RuntimeError(
                f"Expected tensors of one element type, but found {given[0].dtype} and {each.dtype} "
                f"(while checking {function})"
            )


def check_contiguous(function: str, *tensors: Any) -> None:
    """Raise RuntimeError unless all tensors are contiguous, as `at::checkAllContiguous` does. None is skipped."""
    for each in tensors:
        if each is not None and not each.is_contiguous():
            raise RuntimeError(f"Expected a contiguous tensor, but it is not (while checking {function})")


def dim3(sizes: Any) -> tuple[int, int, int]:
    """Return the three sizes of a grid or a block, from one to three: those that are not given are 1."""
    x, y, z = (*(sizes if isinstance(sizes, (tuple, list)) else (sizes,)), 1, 1)[:3]
    return uint32(x), uint32(y), uint32(z)


def check_integers(kind: str, *numbers: Any) -> None:
    """Raise TypeError for a number that a parameter of the type `kind`, such as "int32", does not take: a float, or one
    out of range. So does pybind11."""
    bits = int(kind.removeprefix("u").removeprefix("int"))
    low, high = (0, (1 << bits) - 1) if kind.startswith("u") else (-(1 << bits - 1), (1 << bits - 1) - 1)
    for each in numbers:
        if is_symbol(each):
            continue
        try:
            number = operator.index(each)
        except TypeError:
            raise TypeError(f"incompatible function arguments: {each!r} is not an integer") from None
        if not low <= number <= high:
            raise TypeError(f"incompatible function arguments: {number} does not fit {kind}")


def overloaded(name: str, arguments: tuple[Any, ...], *candidates: tuple[Any, ...]) -> Any:
    """Call the first candidate that takes the arguments, as pybind11 chooses among functions of one name.

    A candidate is a function and the kinds of its parameters: "Tensor", "int", "float", "bool" or "str". At first the
    types must be the parameters' own; then a number may be converted. Raises TypeError if no candidate takes them.
    """
    for converts in (False, True):
        for function, *kinds in candidates:
            if len(kinds) == len(arguments) and all(
                _takes(kind, each, converts) for kind, each in zip(kinds, arguments, strict=True)
            ):
                return function(*arguments)
    given = ", ".join(type(each).__name__ for each in arguments)
    raise TypeError(f"{name}(): incompatible function arguments: {given}")


def _takes(kind: str, value: Any, converts: bool) -> bool:
    if kind == "Tensor":
        return hasattr(value, "data_ptr")
    if kind == "str":
        return isinstance(value, str)
    if kind == "bool":
        return isinstance(value, bool)
    if kind == "int":
        return hasattr(value, "__index__") and not hasattr(value, "data_ptr")
    is_number = not hasattr(value, "data_ptr") and (hasattr(value, "__float__") or hasattr(value, "__index__"))
    return isinstance(value, float) or (converts and is_number)


def data_ptr(x: Any, dtype: Any) -> int:
    """Return the address of a tensor's first element, as `x.data_ptr<T>()` does.

    Raises RuntimeError if its element type is not `dtype`.
    """
    if x.dtype != dtype:
        raise RuntimeError(f"expected scalar type {_scalar_type(dtype)} but found {_scalar_type(x.dtype)}")
    return int(address(x))


def can_use_32_bit_index_math(x: Any) -> bool:
    """Return whether every element of a tensor is less than 2**31 - 1 elements behind its first one.

    Source: `at::native::canUse32BitIndexMath`.
    """
    limit = 2**31 - 1
    if x.numel() == 0:
        return True
    return bool(x.numel() < limit) and sum((n - 1) * step for n, step in zip(x.shape, x.stride(), strict=True)) < limit


def address(x: Any) -> Any:
    """Return the address of a tensor's first element; None and an address as they are.

    For a tensor without data, while an operator is checked without a GPU, the result is 0.
    """
    if not hasattr(x, "untyped_storage"):
        return x
    call = current_call() if checks_running else None
    return 0 if call is not None and not call.launches else x.data_ptr()


def accessor(x: Any, dtype: Any, dimensions: int) -> Any:
    """Return a tensor whose elements are read and written on the host, as `x.accessor<T, dimensions>()` in C++.

    Raises RuntimeError for a tensor on a GPU, of another element type, or of other dimensions.
    """
    _check_on_host(x)
    data_ptr(x, dtype)
    if x.dim() != dimensions:
        raise RuntimeError(f"TensorAccessor expected {dimensions} dims but tensor has {x.dim()}")
    return x


def null_accessor(dtype: Any, sizes: Any, strides: Any) -> Any:
    """Return what a kernel takes for `PackedTensorAccessor<T, N>(nullptr, sizes, strides)`: a tensor on the current GPU
    that has these sizes and strides, and no memory.

    Raises RuntimeError if it would have elements, because no tensor has elements without memory.
    """
    import torch

    if 0 not in sizes:
        raise RuntimeError(f"an accessor of no memory has elements: its sizes are {list(sizes)}")
    return torch.empty(0, dtype=dtype, device="cuda").as_strided(sizes, strides)


def _check_on_host(x: Any) -> None:
    """Raise RuntimeError for a tensor whose memory is not that of the host."""
    if x.device.type != "cpu":
        raise RuntimeError(f"the memory of a tensor on {x.device} cannot be read on the host")


def elements(x: Any, dtype: Any, offset: int = 0, of: Any = None) -> Any:
    """Return an array that reads and writes the numbers in host memory, as a C++ pointer to it does: `array[3] = 5`.

    `x` is a tensor, or an array that this function returned. The numbers are of the type `dtype`, whatever those of the
    tensor are; the first one is `offset` bytes behind the first element of `x`, and the array ends with the memory. If
    `of` is given, the tensor must have this element type, as `data_ptr<T>()` checks. A number that does not fit is
    written modulo the element's size.

    Raises RuntimeError for a tensor on a GPU or of another element type, and ArgumentError for an offset that is not in
    the memory.
    """
    number = _numbers()[dtype]
    if isinstance(x, ctypes.Array):
        start, before, size = ctypes.addressof(x), 0, ctypes.sizeof(x)
    else:
        _check_on_host(x)
        if of is not None:
            data_ptr(x, of)
        start, before = x.data_ptr(), x.storage_offset() * x.element_size()
        size = x.untyped_storage().nbytes() - before
    if not -before <= offset <= size:
        raise ArgumentError(f"elements: byte {offset} is not in the memory, which has {size} bytes from the first on")
    array: Any = (number * ((size - offset) // ctypes.sizeof(number))).from_address(start + offset)
    array.memory = x  # is not freed before the array
    return array


@functools.cache
def _numbers() -> dict[Any, Any]:
    """Return element type of PyTorch -> ctypes type."""
    import torch

    integers = [f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)]
    found = {getattr(torch, each): getattr(ctypes, f"c_{each}") for each in integers}
    return found | {torch.float32: ctypes.c_float, torch.float64: ctypes.c_double, torch.bool: ctypes.c_bool}


def fill_bytes(tensor: Any, offset: int, byte: int, size: int) -> None:
    """Set `size` bytes to `byte` modulo 256, on PyTorch's current stream, as `cudaMemsetAsync`.

    They start `offset` bytes after the first element of a tensor, whatever its strides are, or after an address.
    Raises ArgumentError if they are not in the tensor's memory, or if they are an operator's input that it does not
    name in `writes`.
    """
    if not _is_to_be_written(tensor, "fill_bytes") or size == 0:
        return
    if hasattr(tensor, "untyped_storage"):
        _bytes(tensor, offset, size, "fill_bytes").fill_(byte & 0xFF)
    else:
        start = (tensor or 0) + offset
        driver, stream = _driver_and_stream()
        check_result(driver.cuMemsetD8Async(start, byte & 0xFF, size, stream), f"filling {size} bytes at {start:#x}")


def copy_bytes(to: Any, offset: int, source: Any, source_offset: int, size: int) -> None:
    """Copy `size` bytes on PyTorch's current stream, as `cudaMemcpyAsync` with `cudaMemcpyDefault`.

    `to` and `source` are tensors, on a GPU or not, or addresses; the offsets are in bytes, as in `fill_bytes`, whose
    errors this has too. A copy from or to a tensor in host memory is complete when this returns.
    """
    if not _is_to_be_written(to, "copy_bytes") or size == 0:
        return
    tensors = [each for each in (to, source) if hasattr(each, "untyped_storage")]
    if len(tensors) == 2:
        _bytes(to, offset, size, "copy_bytes").copy_(_bytes(source, source_offset, size, "copy_bytes"))
        return
    start, source_start = (
        _bytes(each, by, size, "copy_bytes").data_ptr() if hasattr(each, "untyped_storage") else (each or 0) + by
        for each, by in ((to, offset), (source, source_offset))
    )
    driver, stream = _driver_and_stream()
    doing = f"copying {size} bytes from {source_start:#x} to {start:#x}"
    check_result(driver.cuMemcpyAsync(start, source_start, size, stream), doing)
    if any(not each.is_cuda for each in tensors):
        check_result(driver.cuStreamSynchronize(stream), doing)


def read_numbers(source: Any, offset: int, dtype: Any, count: int) -> list[Any]:
    """Return `count` numbers of the type `dtype` from memory, as `cudaMemcpy` to a variable of the host reads them.

    `source` and `offset` are as in `copy_bytes`, whose errors this has. It waits for PyTorch's current stream.
    """
    import torch

    numbers = torch.empty(count, dtype=dtype)
    copy_bytes(numbers, 0, source, offset, numbers.nbytes)
    return numbers.tolist()  # type: ignore[no-any-return]


def write_numbers(to: Any, offset: int, dtype: Any, numbers: Any) -> None:
    """Copy numbers, as the type `dtype`, to memory, as `cudaMemcpy` from a variable of the host does.

    `to` and `offset` are as in `copy_bytes`, whose errors this has.
    """
    import torch

    given = torch.tensor(numbers, dtype=dtype)
    copy_bytes(to, offset, given, 0, given.nbytes)


def _is_to_be_written(tensor: Any, name: str) -> bool:
    """Return whether memory is to be written: not while an operator is checked without a GPU.

    Raises ArgumentError if the tensor is an input that the operator does not name in `writes`. `name` is the caller's.
    """
    call = current_call() if checks_running else None
    if call is None:
        return True
    if hasattr(tensor, "untyped_storage"):
        call.check_written(tensor, f"{name} writes to its argument 1")
    return call.launches


def _bytes(tensor: Any, offset: int, size: int, name: str) -> Any:
    """Return a tensor of `size` bytes that is a part of another one's memory. `name` is the caller's, for errors."""
    import torch

    storage, first = tensor.untyped_storage(), tensor.storage_offset() * tensor.element_size()
    start = first + offset
    if size < 0 or start < 0 or start + size > storage.nbytes():  # PyTorch would allocate larger memory
        raise ArgumentError(
            f"{name}: {size} bytes from byte {offset} on are not in the memory of the tensor of {tuple(tensor.shape)}, "
            f"which has {first} bytes before its first element and {storage.nbytes() - first} from there on"
        )
    # Without autograd's version counter, as in C++.
    return torch.empty(0, dtype=torch.uint8, device=tensor.device).set_(storage, start, (size,))


def _driver_and_stream() -> tuple[Any, int]:
    """Return the driver and the address of PyTorch's current stream, whose context is current afterwards."""
    driver = cuda_driver()
    import torch

    device_with_context(torch.cuda.current_device())
    return driver, torch.cuda.current_stream().cuda_stream
