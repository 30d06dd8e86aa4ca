"""Convert Python numbers to kernel arguments, and to the sizes of grids and blocks."""

import operator
from typing import Any

from .errors import ArgumentError

__all__ = [
    "BIG_ENDIAN",
    "FLOAT_FORMATS",
    "ON_GPU",
    "ON_HOST",
    "UNSIGNED_FORMATS",
    "BoolConverter",
    "Converter",
    "FloatConverter",
    "IntegerConverter",
    "Kept",
    "dimensions",
    "exports",
    "is_array",
    "is_of",
    "is_on_gpu",
    "is_sequence",
    "plain_number",
    "refuse_lazy",
    "type_name",
    "value_text",
    "whole_number",
]


BIG_ENDIAN = "holds big-endian numbers, and GPUs are little-endian"


ON_HOST, ON_GPU = 1, 2
"""DLPack device types kDLCPU and kDLCUDA."""


def is_on_gpu(value: Any) -> bool:
    """Return whether a value says that it is an array on the GPU."""
    # The value and not its class: PyTorch's and JAX's arrays in host memory are of the same class.
    return hasattr(value, "__cuda_array_interface__")


def exports(kind: type) -> bool:
    """Return whether arrays of a type export themselves by DLPack."""
    return hasattr(kind, "__dlpack__") and hasattr(kind, "__dlpack_device__")


def is_array(kind: type) -> bool:
    """Return whether the values of a type are arrays or sequences."""
    # hasattr would find the length of an IntEnum class itself, whose values are numbers.
    names = ("__len__", "__cuda_array_interface__", "__dlpack__")
    return any(name in base.__dict__ for base in kind.__mro__ for name in names)


def refuse_lazy(array: Any) -> None:
    """Raise TypeError for a tensor of PyTorch that is lazily conjugated or negated: its memory has other numbers."""
    for is_lazy, done, help in (("is_conj", "conjugated", "resolve_conj"), ("is_neg", "negated", "resolve_neg")):
        if getattr(array, is_lazy, bool)():
            raise TypeError(f"is a lazily {done} tensor: pass tensor.{help}()")


def is_of(kind: type, library: str, name: str) -> bool:
    """Return whether a type is a library's class of this name, or derived from it."""
    return any(base.__name__ == name and base.__module__.partition(".")[0] == library for base in kind.__mro__)


def plain_number(value: Any) -> Any:
    """Return the number in a NumPy array of no dimensions, and NumPy's bool as Python's; other values unchanged.

    A masked number stays the array that it is.
    """
    kind = type(value)
    if kind.__module__ == "builtins":
        return value
    if is_of(kind, "numpy", "ndarray") and value.shape == ():
        value = value[()]
        kind = type(value)
    return bool(value) if is_of(kind, "numpy", "bool") or is_of(kind, "numpy", "bool_") else value


def type_name(kind: type) -> str:
    """Return a type's name for messages: "list", "numpy.ndarray"."""
    return kind.__name__ if kind.__module__ == "builtins" else f"{kind.__module__.partition('.')[0]}.{kind.__name__}"


_SIZES = {"B": 1, "H": 2, "I": 4, "Q": 8}

UNSIGNED_FORMATS = {size: format for format, size in _SIZES.items()}
"""Size of an unsigned integer in bytes -> its `struct` format."""

FLOAT_FORMATS = {"f32": "f", "f64": "d"}
"""PTX type of a float -> its `struct` format."""

Kept = list[tuple[Any, int | None]]
"""(array or owner of its memory, to keep until a launch has ended; address of a stream that must wait, because the
kernel may write to the array, or None)."""

# A kernel has a converter for each parameter. The launch function (see `generated`) writes all arguments with one call
# of struct.pack_into; a converter provides the format and an expression of the value. An exception in the expression
# becomes the reason in an ArgumentError.


class Converter:
    """Converts a number without checks: an integer is cut to the declared width."""

    def __init__(self, format: str) -> None:
        self.format = format
        """`struct` format of the argument: "i"."""
        self._namespaces: list[tuple[str, dict[str, Any]]] = []

    def expression(self, value: str, name: str) -> str:
        """Return the Python expression that converts the argument in the variable `value`.

        `name` is part of the names in `namespace`, so that each parameter has its own.
        """
        return value if self.format in "fd" else f"int({value}) & {(1 << 8 * _SIZES[self.format]) - 1}"

    def namespace(self, name: str) -> dict[str, Any]:
        """Return the values of the names that the expression uses."""
        return {}

    def update_in(self, namespace: dict[str, Any], name: str) -> None:
        """Keep the names that the expression uses up to date in this namespace of a launch function."""
        self._namespaces.append((name, namespace))


class NumberConverter(Converter):
    """Converts a number of a known type.

    Values of types in `quick_types` are written as they are, and struct checks the range. A type is added after a value
    of it passed the checks, if struct converts it without loss; the last one is compared first, which is faster.
    """

    struct_converts = True
    """True if `struct` refuses each number that it would convert wrongly."""

    def __init__(self, format: str, takes: str, *quick_types: type) -> None:
        super().__init__(format)
        self._takes = takes
        self._quick_types = set(quick_types)

    def expression(self, value: str, name: str) -> str:
        kind = f"type({value})"
        return f"{value} if {kind} is last_{name} or {kind} in quick_{name} else convert_{name}({value})"

    def namespace(self, name: str) -> dict[str, Any]:
        return {f"last_{name}": None, f"quick_{name}": self._quick_types, f"convert_{name}": self.convert}

    def convert(self, value: Any) -> Any:
        """Return what struct writes for a value; raise TypeError or OverflowError if the parameter cannot hold it."""
        number = plain_number(value)
        kind = type(number)
        if not self._accepts(kind):
            raise TypeError(f"takes {self._takes}, not {type_name(kind)}")
        converted = self._converted(number)
        if converted is value:
            self._quick_types.add(kind)
            for name, namespace in self._namespaces:
                namespace[f"last_{name}"] = kind
        return converted

    def _accepts(self, kind: type) -> bool:
        return kind is bool or (hasattr(kind, "__index__") and not is_array(kind))

    def _converted(self, number: Any) -> Any:
        """Return the value that `struct` writes for a number: the number itself if `struct` converts it correctly."""
        return number


class IntegerConverter(NumberConverter):
    def __init__(self, format: str) -> None:
        super().__init__(format, "an integer", int)


class FloatConverter(NumberConverter):
    def __init__(self, format: str) -> None:
        super().__init__(format, "a number", float, int)

    def _accepts(self, kind: type) -> bool:
        from numbers import Complex, Real  # imported when a number is neither float nor int

        if issubclass(kind, Complex):
            return issubclass(kind, Real)
        return hasattr(kind, "__float__") and not is_array(kind)

    def _converted(self, number: Any) -> Any:
        if isinstance(number, (float, int)):
            return number
        converted = float(number)
        # float() makes an infinity of a large longdouble or Decimal. Those of infinite value are equal to it.
        if converted - converted != 0 and converted == converted and number != converted:
            raise OverflowError
        is_small = is_of(type(number), "numpy", "generic") and number.dtype.itemsize <= 8
        return number if is_small else converted


class BoolConverter(NumberConverter):
    def __init__(self) -> None:
        super().__init__("?", "True or False", bool)

    def convert(self, value: Any) -> bool:
        number = plain_number(value)
        if type(number) not in (bool, int) or number not in (0, 1):
            raise TypeError(f"takes {self._takes}, not {value_text(value)}")
        return bool(number)


def value_text(value: Any) -> str:
    """Return a value for an error message: on one line, cut after 100 characters."""
    try:
        text = " ".join(repr(value).split())
    except Exception:  # Python refuses to print an integer of thousands of digits
        return f"this {type_name(type(value))}"
    return text if len(text) <= 100 else f"{text[:100]}…"


# --- the sizes of a launch ---


def dimensions(value: Any, what: str) -> tuple[int, int, int]:
    """Return a size of one to three numbers as three; `what` names it in the ArgumentError for anything else."""
    sizes = list(value) if is_sequence(value) else [value]
    if not 1 <= len(sizes) <= 3:
        raise ArgumentError(f"{what} must be one to three numbers, not {value!r}")
    x, y, z = [whole_number(size, what, 1) for size in sizes] + [1] * (3 - len(sizes))
    return x, y, z


def is_sequence(value: Any) -> bool:
    """Return whether a size is given as several numbers; an array of no dimensions is one number."""
    return hasattr(value, "__len__") and getattr(value, "shape", None) != ()


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
