"""Values of C++ expressions, as Python expressions, and the conversions of C++ between number types."""

from __future__ import annotations

import ast
from dataclasses import dataclass, replace
from typing import Any

from cuda_wheel.migrate.host_functions.cxx_types import float_bits, integer_bounds, plain
from cuda_wheel.migrate.host_functions.python_code import call, constant, name

__all__ = ["ListPointer", "Options", "Pointer", "Untranslated", "Value", "Variable", "converted", "none", "rounded"]


class Untranslated(Exception):
    """C++ that is not translated."""

    def __init__(self, reason: str, line: int = 0) -> None:
        super().__init__(reason)
        self.reason = reason
        self.line = line
        """1-based line in the source; 0 if the statement's line says enough."""


LIST = "host list"
"""`Value.data` of a pointer to an array of numbers that the host allocates: in Python, a list."""


@dataclass(frozen=True, slots=True)
class Pointer:
    """A pointer to memory of a tensor."""

    tensor: ast.expr
    element: str
    """C++ type of what it points to."""
    is_typed: bool
    """Whether the tensor's element type is checked to be `element` (`data_ptr<T>()`)."""
    offset: ast.expr | None = None
    """Distance from the tensor's first element, in bytes; None for 0."""
    checked: ast.expr | None = None
    """Element type of PyTorch that `data_ptr<T>()` checks; None if it checks none."""
    is_unknown: bool = False
    """Whether `tensor` may be an address or None as well: a parameter, or a variable that is assigned."""


@dataclass(frozen=True, slots=True)
class ListPointer:
    """A pointer into a vector of numbers of the host. The tree of the value is the index there."""

    numbers: ast.expr
    """The list."""

    def at(self, start: ast.expr, index: ast.expr) -> ast.expr:
        """Return the number that is `index` numbers behind the one at `start`."""
        return ast.Subscript(self.numbers, sum_of(start, index), ast.Load())


def sum_of(one: ast.expr, other: ast.expr) -> ast.expr:
    """Return the sum of two whole numbers, without a 0."""
    if isinstance(one, ast.Constant) and one.value == 0:
        return other
    return one if isinstance(other, ast.Constant) and other.value == 0 else ast.BinOp(one, ast.Add(), other)


@dataclass(frozen=True, slots=True)
class Options:
    """Options of a tensor that is made: keyword of PyTorch's functions -> value."""

    keywords: tuple[tuple[str | None, ast.expr], ...] = ()
    """The keyword None stands for a dict of further keywords."""

    def with_(self, **more: ast.expr) -> Options:
        keywords = dict(self.keywords)
        whole = keywords.pop(None, None)
        if whole is not None:  # what is in the dict is replaced
            return Options(((None, call("dict", whole, **more)),))
        return Options(tuple((keywords | more).items()))


@dataclass(frozen=True, slots=True)
class Value:
    """The value of an expression."""

    tree: ast.expr
    type: str
    """C++ type, with aliases resolved, without reference and `const`."""
    low: int | None = None
    """What is known of the range of a whole number: at least `low`, at most `high`."""
    high: int | None = None
    is_unrounded: bool = False
    """Whether `tree` computes a float in double precision, and is still to be rounded.

    One operation of double precision on floats, rounded, gives the float that C++ computes.
    """
    data: Any = None
    """A `Pointer`, `Options`, or what else the translation knows of the value."""

    def as_type(self, type_: str) -> Value:
        return replace(self, type=plain(type_))


@dataclass
class Variable:
    """A variable or parameter of the function."""

    name: str
    type: str
    low: int | None = None
    high: int | None = None
    is_unrounded: bool = False
    data: Any = None
    tree: ast.expr | None = None
    """What stands for the variable in Python, if not its name."""


def none(type_: str = "std::nullptr_t") -> Value:
    return Value(constant(None), type_)


def zero_of(type_: str) -> ast.expr:
    """Return the 0 of a number type."""
    return constant(0.0 if float_bits(type_) else 0)


def bounded(tree: ast.expr, type_: str, low: int | None = None, high: int | None = None) -> Value:
    """Return a whole number, whose range is that of its type where it is not known."""
    least, greatest = integer_bounds(type_) or (None, None)
    if least is not None and greatest is not None:
        low = least if low is None else max(low, least)
        high = greatest if high is None else min(high, greatest)
    return Value(tree, plain(type_), low, high)


_CONVERSIONS = {
    (8, True): "int8", (16, True): "int16", (32, True): "int32", (64, True): "int64",
    (8, False): "uint8", (16, False): "uint16", (32, False): "uint32", (64, False): "uint64",
}  # fmt: skip
"""(bits, whether signed) -> function of `cuda_wheel.torch.arithmetic` that converts to this integer."""


def fits(value: Value, type_: str) -> bool:
    bounds = integer_bounds(type_)
    return (
        bounds is not None
        and value.low is not None
        and value.high is not None
        and bounds[0] <= value.low
        and value.high <= bounds[1]
    )


def to_integer(value: Value, type_: str) -> Value:
    """Return a number as the integer type: as it is where its range is known to fit."""
    if fits(value, type_):
        return Value(value.tree, plain(type_), value.low, value.high)
    low, high = integer_bounds(type_) or (0, 0)
    function = _CONVERSIONS[(high - low).bit_length(), low < 0]
    if low < 0 and value.low is not None and value.low >= 0:
        low = 0  # int32() and its like raise an error for what does not fit
    return Value(call(name(function), rounded(value).tree), plain(type_), low, high)


def rounded(value: Value) -> Value:
    """Return a value whose tree computes exactly this value."""
    if not value.is_unrounded:
        return value
    return replace(value, tree=call(name("float32"), value.tree), is_unrounded=False)


def truth(value: Value) -> Value:
    """Return a value as a condition."""
    if value.type == "bool":
        return value
    if (
        isinstance(value.data, Pointer)
        or value.type.endswith("*")
        or value.type.startswith(("std::optional", "std::nullptr"))
    ):
        return Value(ast.Compare(value.tree, [ast.IsNot()], [constant(None)]), "bool", 0, 1)
    if integer_bounds(value.type) or float_bits(value.type):
        return Value(ast.Compare(rounded(value).tree, [ast.NotEq()], [constant(0)]), "bool", 0, 1)
    raise Untranslated(f"a condition of type {value.type}")


def converted(value: Value, type_: str) -> Value:
    """Return a value after C++'s conversion to another type.

    A whole number that does not fit a signed type is an error when the Python runs; unsigned types wrap, as in C++.
    """
    to = plain(type_)
    if value.type == to:
        return value
    if value.data == "error":
        return value.as_type(to)
    if to == "bool":
        return truth(value)
    if integer_bounds(to) is not None:
        if integer_bounds(value.type) is not None or float_bits(value.type):
            return to_integer(value, to)
        raise Untranslated(f"a conversion of {value.type} to {to}")
    if float_bits(to) == 32 and (value.low is not None or float_bits(value.type)):
        is_exact = value.low is not None and value.high is not None and max(-value.low, value.high) <= 1 << 24
        return Value(value.tree, to, is_unrounded=not is_exact)
    if float_bits(to) == 64 and (value.low is not None or float_bits(value.type)):
        exact = rounded(value)
        if value.low is not None and not isinstance(value.tree, ast.Constant):
            return Value(call(name("float"), exact.tree), to)
        return Value(exact.tree, to)
    return value.as_type(to)
