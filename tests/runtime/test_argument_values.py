"""The bytes that values of numbers, pointers, structs and vectors become, and the values that parameters reject.

The driver is a stand-in that reads its arguments as the CUDA Driver API documents them; `tests/gpu/test_launch.py` runs
real kernels.
"""

from __future__ import annotations

import ctypes
import re
import struct
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cuda_wheel.runtime import arrays as parameters_module
from cuda_wheel.runtime.errors import ArgumentError
from cuda_wheel.runtime.manifest import Parameter
from tests.support.driver import Driver
from tests.support.launches import (
    Box,
    Colour,
    array_interface,
    kernel_of,
    sent,
    takes,
)

pytestmark = pytest.mark.one_toolchain

# All examples of a test share one stand-in driver; only its record of launches grows.
examples = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])


# --- machine code, which has sizes only ------------------------------------------------------------


@pytest.mark.parametrize(
    ("size", "value", "expected"),
    [
        (4, 7, b"\7\0\0\0"),
        (4, -1, b"\xff" * 4),
        (4, (1 << 32) - 1, b"\xff" * 4),
        (4, 1.5, struct.pack("<f", 1.5)),
        (4, np.float32(1.5), struct.pack("<f", 1.5)),
        (4, np.int32(-2), struct.pack("<i", -2)),
        (4, ctypes.c_float(2.5), struct.pack("<f", 2.5)),
        (2, -3, struct.pack("<h", -3)),
        (2, np.float16(1.5), np.float16(1.5).tobytes()),
        (1, True, b"\1"),
        (1, 255, b"\xff"),
        (1, b"x", b"x"),
        (1, np.int8(-1), b"\xff"),
        (8, 7, struct.pack("<q", 7)),
        (8, 1.5, struct.pack("<d", 1.5)),
        (8, np.float64(1.5), struct.pack("<d", 1.5)),
    ],
)
@pytest.mark.parametrize("check", [True, False])
def test_a_parameter_of_known_size_accepts_values_of_that_size(
    size: int, value: Any, expected: bytes, check: bool, driver: Driver
) -> None:
    assert sent(driver, takes("", f"b{8 * size}", size), value, check=check) == expected


@pytest.mark.parametrize(
    ("size", "value", "message"),
    [
        (4, np.float64(1), "takes 4 bytes, not the 8 of numpy.float64"),
        (4, np.int64(1), "takes 4 bytes, not the 8 of numpy.int64"),
        (4, 1 << 32, "4294967296"),
        (2, 1.5, "takes an integer, not float"),
        (1, 256, "256"),
        (4, np.zeros(1, "f4"), "takes an integer, not numpy.ndarray"),
        (4, "x", "takes an integer, not str"),
    ],
)
def test_a_parameter_of_known_size_rejects_other_values(size: int, value: Any, message: str, driver: Driver) -> None:
    with pytest.raises(ArgumentError, match=message):
        takes("", f"b{8 * size}", size).launch(1, 1, value)


def test_a_float_is_rejected_where_ptx_says_integer(driver: Driver) -> None:
    with pytest.raises(
        ArgumentError, match=r"^k, argument 1 \(\.u64\): takes an array on the GPU, an address or None, not float$"
    ):
        takes("", "u64", 8).launch(1, 1, 1.5)


class Kind(NamedTuple):
    """A kind of parameter: its types, the values that it accepts, each with the value that a field of `ctype` then has, and
    the values that it rejects."""

    type: str
    cpp: str
    ctype: Any
    good: st.SearchStrategy[tuple[Any, Any]]
    bad: st.SearchStrategy[Any]

    def __repr__(self) -> str:
        return f"{self.cpp or self.type} as {self.ctype.__name__}"


def twice(values: st.SearchStrategy[Any]) -> st.SearchStrategy[tuple[Any, Any]]:
    return values.map(lambda value: (value, value))


NOT_NUMBERS = st.sampled_from([None, "1", b"1", [1], (1,), {}, 1j, np.zeros(1), object(), int])
NOT_INTEGERS = st.one_of(NOT_NUMBERS, st.floats(), st.sampled_from([np.float32(1), Decimal(1), Fraction(1)]))


def outside(low: int, high: int) -> st.SearchStrategy[int]:
    return st.one_of(
        st.integers(max_value=low - 1), st.integers(min_value=high + 1), st.just(1 << 64), st.just(-1 << 64)
    )


def integer(cpp: str, ctype: Any, *, type_: str | None = None) -> Kind:
    size = ctypes.sizeof(ctype)
    signed = ctype(-1).value == -1
    high = (1 << 8 * size - signed) - 1
    low = -(1 << 8 * size - 1) if signed else 0
    values = st.one_of(st.integers(low, high), st.sampled_from([low, high]))
    dtype = np.dtype(ctype).type
    of_numpy = st.integers(0 if not signed else low, high).map(lambda value: (dtype(value), value))
    odd = st.sampled_from(
        [(True, 1), (np.True_, 1), (Colour.BLUE, 100), (np.int8(7), 7), (np.uint64(9), 9), (np.array(5, ">i4"), 5)]
    )
    return Kind(
        type_ or f"u{8 * size}",
        cpp,
        ctype,
        st.one_of(twice(values), of_numpy, odd),
        st.one_of(outside(low, high), NOT_INTEGERS),
    )


def of_unknown_sign(cpp: str, ctype: Any) -> Kind:
    """Return a kind of integer whose declaration does not say whether it is signed; `ctype` is unsigned."""
    size = ctypes.sizeof(ctype)
    half, full = 1 << 8 * size - 1, 1 << 8 * size
    signed = np.dtype(f"i{size}").type
    values = st.one_of(st.integers(0, half - 1), st.sampled_from([0, half - 1]))
    of_numpy = st.one_of(
        st.integers(-half, half - 1).map(lambda value: (signed(value), value % full)),
        st.integers(0, full - 1).map(lambda value: (np.dtype(ctype).type(value), value)),
    )
    odd = st.sampled_from([(True, 1), (np.True_, 1), (Colour.BLUE, 100), (np.int8(7), 7), (np.array(9, "u8"), 9)])
    uncertain = st.one_of(st.integers(-half, -1), st.integers(half, full - 1))
    of_another_size = st.sampled_from([np.int64(-3) if size < 8 else np.int32(-3)])
    bad = st.one_of(uncertain, of_another_size, outside(-half, full - 1), NOT_INTEGERS)
    return Kind(f"u{8 * size}", cpp, ctype, st.one_of(twice(values), of_numpy, odd), bad)


def real(cpp: str, ctype: Any, float_: Any, type_: str) -> Kind:
    """Return a kind whose bytes are those of NumPy's `float_`, read as `ctype`."""
    limit = float(np.finfo(float_).max)
    plain = st.one_of(st.floats(-limit, limit), st.sampled_from([float("inf"), float("-inf"), -0.0, 5e-324]))
    others = st.sampled_from(
        [
            *(1, -3, True, np.True_, np.float32(0.1), np.float16(0.1), np.int64(5), Decimal("0.1"), Fraction(1, 3)),
            *(np.longdouble("0.1"), Decimal("Infinity"), np.longdouble("-inf"), np.array(0.5), np.array(3, ">i2")),
        ]
    )

    def expected(value: Any) -> tuple[Any, Any]:
        return value, ctype.from_buffer_copy(float_(float(value)).tobytes()).value

    too_large = [10**400, Decimal("1e400"), Decimal("-1e400"), np.longdouble("1e4000")]
    too_large += [1e39, -1e39, np.float64(1e39), np.longdouble(1e39)] if float_ is not np.float64 else []
    bad = st.one_of(NOT_NUMBERS, st.sampled_from([*too_large, np.complex64(1)]))
    return Kind(type_, cpp, ctype, st.one_of(plain, others).map(expected), bad)


def struct_of(ctype: Any) -> Kind:
    size = ctypes.sizeof(ctype)
    content = st.binary(min_size=size, max_size=size)
    forms: list[Callable[[bytes], Any]] = [
        bytes,
        bytearray,
        memoryview,
        ctype.from_buffer_copy,
        lambda data: np.frombuffer(data, np.uint8),
        lambda data: np.frombuffer(data, np.dtype(("V", size)))[0],
    ]
    good = st.builds(lambda data, form: (form(data), ctype.from_buffer_copy(data)), content, st.sampled_from(forms))
    wrong_size = st.binary(max_size=40).filter(lambda data: len(data) != size)
    not_bytes = st.sampled_from([None, 5, 1.5, "text", [1], (1, 2), 1j, object(), np.zeros(size + 8, np.uint8)])
    return Kind("b8", "Some", ctype, good, st.one_of(wrong_size, not_bytes))


INTEGERS = [
    integer("signed char", ctypes.c_int8),
    integer("unsigned char", ctypes.c_uint8),
    integer("short", ctypes.c_int16),
    integer("unsigned short", ctypes.c_uint16),
    integer("int", ctypes.c_int32),
    integer("unsigned int", ctypes.c_uint32),
    integer("long", ctypes.c_int64),
    integer("long", ctypes.c_int32),  # on Windows
    integer("unsigned long", ctypes.c_uint64),
    integer("unsigned long", ctypes.c_uint32),
    integer("long long", ctypes.c_int64),
    integer("unsigned long long", ctypes.c_uint64),
    of_unknown_sign("char", ctypes.c_uint8),
    of_unknown_sign("Colour", ctypes.c_uint32),
    of_unknown_sign("Wide", ctypes.c_uint64),
    of_unknown_sign("", ctypes.c_uint16),
    of_unknown_sign("", ctypes.c_uint32),
]
REALS = [
    real("float", ctypes.c_float, np.float32, "f32"),
    real("", ctypes.c_float, np.float32, "f32"),
    real("double", ctypes.c_double, np.float64, "f64"),
    real("__half", ctypes.c_uint16, np.float16, "b8"),
]
BOOL = Kind(
    "u8",
    "bool",
    ctypes.c_bool,
    st.sampled_from(
        [
            (True, True),
            (False, False),
            (0, False),
            (1, True),
            (np.True_, True),
            (np.False_, False),
            (np.array(True), True),
        ]
    ),
    st.one_of(NOT_INTEGERS, st.sampled_from([2, -1, np.int32(1), 1.0])),
)
ADDRESS = st.integers(0, (1 << 64) - 1)
POINTER = Kind(
    "u64",
    "float*",
    ctypes.c_uint64,
    st.one_of(twice(ADDRESS), ADDRESS.map(lambda value: (np.uint64(value), value)), st.just((None, 0))),
    st.one_of(
        outside(0, (1 << 64) - 1), st.sampled_from([True, 1.5, "x", b"12345678", [1], (1,), 1j, np.zeros(1), object()])
    ),
)
STRUCTS = st.builds(
    lambda unit, count: struct_of(unit * count),
    st.sampled_from([ctypes.c_uint8, ctypes.c_uint16, ctypes.c_uint32, ctypes.c_uint64]),
    st.integers(1, 9),
)
KINDS = st.one_of(st.sampled_from([*INTEGERS, *REALS, BOOL, POINTER]), STRUCTS)


def declared(kinds: list[Kind]) -> tuple[Any, tuple[Parameter, ...]]:
    """Return these parameters as a ctypes struct, and as a manifest has them, with the offsets of the struct."""
    fields = [(f"f{index}", kind.ctype) for index, kind in enumerate(kinds)]
    structure = type("Arguments", (ctypes.Structure,), {"_fields_": fields})
    members = [getattr(structure, name) for name, _ in fields]
    return structure, tuple(
        Parameter(kind.type, member.offset, member.size, kind.cpp) for kind, member in zip(kinds, members, strict=True)
    )


@pytest.mark.slow
@examples
@given(st.data(), st.lists(KINDS, max_size=12))
def test_arguments_have_the_layout_of_a_c_struct(driver: Driver, data: st.DataObject, kinds: list[Kind]) -> None:
    structure, parameters = declared(kinds)
    kernel = kernel_of(*parameters)
    for _ in range(3):
        drawn = [data.draw(kind.good) for kind in kinds]
        expected = structure()
        for index, (_, field) in enumerate(drawn):
            setattr(expected, f"f{index}", field)
        found = sent(driver, kernel, *(argument for argument, _ in drawn))
        if not kinds:
            assert found is None
        else:
            assert found == bytes(expected)[: parameters[-1].offset + parameters[-1].size]


@examples
@given(st.data(), st.lists(KINDS, min_size=1, max_size=6))
def test_a_wrong_argument_is_rejected_and_nothing_is_launched(
    driver: Driver, data: st.DataObject, kinds: list[Kind]
) -> None:
    kernel = kernel_of(*declared(kinds)[1])
    good = [data.draw(kind.good)[0] for kind in kinds]
    place = data.draw(st.integers(0, len(kinds) - 1))
    bad = [*good]
    bad[place] = data.draw(kinds[place].bad)
    driver.launches.clear()
    for arguments, message in (
        (bad, rf"^k, argument {place + 1} \("),
        (good[1:], rf"^k takes {len(kinds)} arguments?, \(.*\), but got {len(kinds) - 1}$"),
        ([*good, 1], rf"^k takes {len(kinds)} arguments?, \(.*\), but got {len(kinds) + 1}$"),
    ):
        for _ in range(2):
            with pytest.raises(ArgumentError, match=message):
                kernel.launch(1, 1, *arguments)
        assert not driver.launches
    kernel.launch(1, 1, *good)
    assert len(driver.launches) == 1


@pytest.mark.parametrize("kind", [*INTEGERS, *REALS], ids=repr)
def test_every_type_accepts_its_extremes_without_checks(driver: Driver, kind: Kind) -> None:
    size = ctypes.sizeof(kind.ctype)
    kernel = takes(kind.cpp, kind.type, size)
    for value in (0, 1, 100):
        assert sent(driver, kernel, value, check=False) == sent(driver, kernel, value)
    if kind in INTEGERS:
        for value in (-1, -1 << 8 * size - 1, (1 << 8 * size) - 1):
            expected = (value % (1 << 8 * size)).to_bytes(size, "little")
            assert sent(driver, kernel, value, check=False) == expected


def test_without_checks_numbers_are_cut_to_their_width(driver: Driver) -> None:
    assert sent(driver, takes("int", "u32", 4), (1 << 40) + 5, check=False) == struct.pack("<i", 5)
    assert sent(driver, takes("unsigned char", "u8", 1), -1, check=False) == b"\xff"
    assert sent(driver, takes("int", "u32", 4), 2.75, check=False) == struct.pack("<i", 2)
    with pytest.raises(ArgumentError, match=r"argument 1 \(int\)"):
        sent(driver, takes("int", "u32", 4), None, check=False)


@pytest.mark.parametrize(("cpp", "size"), [("char", 1), ("", 2), ("Colour", 4), ("Wide", 8)])
@pytest.mark.parametrize("machine_code", [False, True])
def test_where_the_sign_is_unknown_a_numpy_integer_of_the_size_says_it(
    driver: Driver, cpp: str, size: int, machine_code: bool
) -> None:
    if machine_code and cpp:
        return
    kernel = takes(cpp, f"{'b' if machine_code else 'u'}{8 * size}", size)
    bits, half = 8 * size, 1 << 8 * size - 1
    signed, unsigned = np.dtype(f"i{size}").type, np.dtype(f"u{size}").type
    assert sent(driver, kernel, signed(-3)) == (-3).to_bytes(size, "little", signed=True)
    assert sent(driver, kernel, unsigned(half + 1)) == (half + 1).to_bytes(size, "little")
    other = np.int32(-3) if size != 4 else np.int64(-3)
    for value, word, wanted in (
        (-3, "a signed", f"int{bits}(-3)"),
        (other, "a signed", f"int{bits}(-3)"),
        (Box(-3), "a signed", f"int{bits}(-3)"),
        (half + 1, "an unsigned", f"uint{bits}({half + 1})"),
    ):
        if machine_code and value is not other:  # documented: machine code has sizes only
            assert sent(driver, kernel, value) is not None
            continue
        message = rf"{word} parameter only, and whether .* pass numpy\.{re.escape(wanted)}$|takes {size} bytes"
        with pytest.raises(ArgumentError, match=message):
            kernel.launch(1, 1, value)
        if not machine_code:
            assert sent(driver, kernel, value, check=False) == (int(value.__index__()) % (1 << bits)).to_bytes(
                size, "little"
            )


def test_a_bool_is_not_an_address(driver: Driver) -> None:
    with pytest.raises(ArgumentError, match="takes an array on the GPU, an address or None, not bool"):
        takes("float*").launch(1, 1, True)


@examples
@given(st.integers(-(1 << 63), (1 << 64) - 1))
def test_a_parameter_of_8_bytes_of_unknown_type(driver: Driver, value: int) -> None:
    """It accepts an address, or an integer whose sign is certain."""
    kernel = takes("", "u64", 8)
    expected = (value % (1 << 64)).to_bytes(8, "little")
    assert sent(driver, kernel, (np.int64 if value < 0 else np.uint64)(value)) == expected
    assert sent(driver, kernel, None) == bytes(8)
    for each in (value, Box(value)):
        assert sent(driver, kernel, each, check=False) == expected
        if 0 <= value < 1 << 63:
            assert sent(driver, kernel, each) == sent(driver, kernel, np.int64(value)) == expected
        else:
            with pytest.raises(ArgumentError, match=r"\(\.u64\): .* and whether this one is signed is not known"):
                kernel.launch(1, 1, each)
    for bad in (1 << 64, -(1 << 63) - 1, Box(1 << 64), Box(-(1 << 63) - 1)):
        with pytest.raises(ArgumentError, match=r"\(\.u64\): .* is out of range"):
            kernel.launch(1, 1, bad)


def test_the_error_says_why_a_value_is_not_a_number(driver: Driver) -> None:
    class Broken:
        def __float__(self) -> float:
            raise LookupError("no number yet")

    for value, message in (
        (Broken(), "no number yet"),
        (Decimal("sNaN"), "cannot convert signaling NaN to float"),
        (10**400, r"10+… is out of range"),
        (np.datetime64("2020"), "float.. argument must be"),
    ):
        for cpp, type_, size in (("float", "f32", 4), ("double", "f64", 8), ("__half", "b8", 2), BFLOAT16):
            with pytest.raises(ArgumentError, match=rf"^k, argument 1 \({cpp}\): {message}"):
                takes(cpp, type_, size).launch(1, 1, value)


def test_a_long_value_is_cut_in_the_error(driver: Driver) -> None:
    with pytest.raises(ArgumentError, match=r"argument 1 \(int\): this int is out of range$"):
        takes("int", "u32", 4).launch(1, 1, 10**5000)
    with pytest.raises(ArgumentError, match=r"argument 1 \(int\): 10{99}… is out of range$"):
        takes("int", "u32", 4).launch(1, 1, 10**1000)
    with pytest.raises(ArgumentError, match=r"\(bool\): takes True or False, not array\(\[.{,100}…$"):
        takes("bool", "u8", 1).launch(1, 1, np.zeros((50, 50)))


def bfloat16(value: float) -> int:
    """Return the bits of the nearest bfloat16, ties to even."""
    if value != value:
        return 0x7FC0
    magnitude, sign = Fraction(abs(value)), 0x8000 if np.signbit(value) else 0

    def of(bits: int) -> Fraction:
        exponent, fraction = bits >> 7, bits & 0x7F
        return Fraction(fraction + (128 if exponent else 0)) * Fraction(2) ** (max(exponent, 1) - 127 - 7)

    low, high = 0, 0x7F80
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if of(middle) <= magnitude else (low, middle)
    below, above = magnitude - of(low), of(high) - magnitude
    return sign | (low if below < above or (below == above and low % 2 == 0) else high)


BFLOAT16 = ("__nv_bfloat16", "b8", 2)


@examples
@given(
    st.one_of(
        st.floats(-3.389e38, 3.389e38),
        st.floats(-(2.0**127), 2.0**127, width=32),
        st.floats(-1e-37, 1e-37),
        # Near a tie of two bfloat16.
        st.builds(lambda odd, more: (256 + odd) / 256 + more, st.integers(0, 255), st.sampled_from([0, 1e-12, -1e-12])),
    )
)
def test_a_number_is_rounded_to_the_nearest_bfloat16(driver: Driver, value: float) -> None:
    assert sent(driver, takes(*BFLOAT16), value) == bfloat16(value).to_bytes(2, "little")


@pytest.mark.parametrize(
    ("value", "bits"),
    [(1, 0x3F80), (float("inf"), 0x7F80), (-float("inf"), 0xFF80), (1.00390625, 0x3F80), (1.01171875, 0x3F82)],
)
def test_bfloat16_of_special_numbers(driver: Driver, value: float, bits: int) -> None:
    assert sent(driver, takes(*BFLOAT16), value) == bits.to_bytes(2, "little")


@pytest.mark.parametrize("value", [3.4e38, -3.4e38, 3.4028235677973362e38, 1e39, 10**400, Fraction(10**39)])
def test_bfloat16_does_not_become_infinite(driver: Driver, value: Any) -> None:
    with pytest.raises(ArgumentError, match=r"\(__nv_bfloat16\): .* is out of range"):
        takes(*BFLOAT16).launch(1, 1, value)


@pytest.mark.parametrize(("cpp", "dtype"), [("float", "f4"), ("double", "f8"), ("__half", "f2"), ("__nv_bfloat16", "")])
def test_nan_stays_nan(driver: Driver, cpp: str, dtype: str) -> None:
    type_ = {"float": "f32", "double": "f64"}.get(cpp, "b8")
    for nan in (float("nan"), -float("nan"), np.float32("nan"), np.uint32(0x7F800001).view("f4"), Decimal("nan")):
        found = sent(driver, takes(cpp, type_, np.dtype(dtype).itemsize if dtype else 2), nan)
        assert found is not None
        assert np.isnan(np.frombuffer(found if dtype else b"\0\0" + found, dtype or "f4"))


# --- vectors and complex numbers ---------------------------------------------------------------------

VECTORS = {"char": "i1", "uchar": "u1", "short": "i2", "ushort": "u2", "int": "i4", "uint": "u4"}
VECTORS |= {"long": "i8", "ulong": "u8", "longlong": "i8", "ulonglong": "u8", "float": "f4", "double": "f8"}


@pytest.mark.parametrize("count", [1, 2, 3, 4])
@pytest.mark.parametrize("word", VECTORS)
def test_vectors_accept_their_numbers(driver: Driver, word: str, count: int) -> None:
    dtype = np.dtype(VECTORS[word])
    numbers = [-3 if dtype.kind != "u" else 3, 7, 120, 0][:count]
    expected = np.array(numbers, dtype)
    kernel = takes(f"{word}{count}", "b8", expected.nbytes)
    for form in (
        tuple(numbers),
        list(numbers),
        [dtype.type(number) for number in numbers],
        expected,
        expected.tobytes(),
    ):
        assert sent(driver, kernel, form) == expected.tobytes()
    wrong: list[Any] = [(*numbers, 1), numbers[1:], ("1",) * count, expected.tobytes() + b"1", None]
    if dtype.kind != "f":
        wrong += [(1.5,) * count, (1 << 64,) * count]
    if word == "float":
        wrong += [(1e39,) * count]
    for value in wrong:
        with pytest.raises(ArgumentError, match=rf"argument 1 \({word}{count}\)"):
            kernel.launch(1, 1, value)


@pytest.mark.parametrize("cpp", ["cuda::std::complex<float>", "thrust::complex<double>", "float2", "double2"])
def test_complex_numbers(driver: Driver, cpp: str) -> None:
    dtype = np.dtype(np.complex64 if "float" in cpp else np.complex128)
    kernel = takes(cpp, "b8", dtype.itemsize)
    expected = dtype.type(1.5 - 2.5j).tobytes()
    numbers = [1.5 - 2.5j, (1.5, -2.5), np.complex64(1.5 - 2.5j), np.complex128(1.5 - 2.5j)]
    for form in (*numbers, expected, np.array(1.5 - 2.5j, dtype), np.array([1.5 - 2.5j], dtype)):
        assert sent(driver, kernel, form) == expected
    for number in (3, 0.5, True, np.float64(0.1), np.float32(0.1), np.int64(7), np.uint8(1), Fraction(1, 2)):
        if "complex" in cpp:
            assert sent(driver, kernel, number) == dtype.type(float(number)).tobytes()
        else:
            with pytest.raises(ArgumentError, match="does not fit: pack expected 2 items"):
                kernel.launch(1, 1, number)


@pytest.mark.parametrize("form", [np.array, list, tuple, lambda numbers: memoryview(np.array(numbers))])
@pytest.mark.parametrize("dtype", ["f8", "f4", "i8", "i4", "u2", "i1"])
def test_numbers_are_converted_to_the_vectors_element_type(
    driver: Driver, form: Callable[[Any], Any], dtype: str
) -> None:
    numbers = np.array([1, 2, 3], dtype)
    assert sent(driver, takes("float3", "b8", 12), form(numbers)) == numbers.astype("f4").tobytes()
    assert sent(driver, takes("float3", "b8", 12), numbers.reshape(3, 1)) == numbers.astype("f4").tobytes()
    of_ctypes = (np.ctypeslib.as_ctypes_type(dtype) * 3)(1, 2, 3)
    assert sent(driver, takes("float3", "b8", 12), of_ctypes) == numbers.astype("f4").tobytes()
    assert sent(driver, takes("float2", "b8", 8), numbers[::2]) == numbers.astype("f4")[::2].tobytes()
    if dtype[0] != "f":
        assert sent(driver, takes("short3", "b8", 6), form(numbers)) == numbers.astype("i2").tobytes()
        assert sent(driver, takes("dim3", "b8", 12), form(numbers)) == numbers.astype("u4").tobytes()
    else:
        with pytest.raises(ArgumentError, match=r"\(int3\): .* does not fit: required argument is not an integer"):
            takes("int3", "b8", 12).launch(1, 1, form(numbers))


@pytest.mark.parametrize(
    ("cpp", "dtype", "numbers"),
    [
        ("long2", "i4", (-1, 2)),  # on Windows
        ("double4_32a", "f8", (1, 2, 3, 4)),  # of CUDA 13
        ("ulonglong4_16a", "u8", (1, 2, 3, 4)),
        ("dim3", "u4", (1, 2, 3)),
        ("__half2", "f2", (0.1, -2)),
    ],
)
def test_other_vectors(driver: Driver, cpp: str, dtype: str, numbers: tuple[float, ...]) -> None:
    expected = np.array(numbers, dtype)
    for form in (numbers, expected, expected.tobytes()):
        assert sent(driver, takes(cpp, "b8", expected.nbytes), form) == expected.tobytes()


def test_a_value_of_the_size_of_a_vector_may_be_wrong(driver: Driver) -> None:
    """Eight bytes are a float2, but not those of a double, or of an array with one double."""
    for value in (
        np.float64(1),
        np.array([1.0]),
        np.array(1.0),
        np.int64(1),
        np.ones((1, 1)),
        (ctypes.c_double * 1)(1),
    ):
        with pytest.raises(ArgumentError, match=r"argument 1 \(float2\)"):
            takes("float2", "b8", 8).launch(1, 1, value)


def test_a_project_type_may_have_the_name_of_a_vector(driver: Driver) -> None:
    kernel = takes("float3", "b8", 16)
    assert sent(driver, kernel, bytes(range(16))) == bytes(range(16))
    with pytest.raises(ArgumentError, match="takes a struct of 16 bytes, not tuple"):
        kernel.launch(1, 1, (1, 2, 3))


def test_python_objects_are_rejected(driver: Driver) -> None:
    with pytest.raises(ArgumentError, match=r"takes a struct of 8 bytes, not numpy\.ndarray"):
        takes("Some", "b8", 8).launch(1, 1, np.array([None]))


def test_an_array_in_host_memory_may_have_the_class_of_gpu_arrays(driver: Driver) -> None:
    """JAX and PyTorch have one class for both."""

    class Array(bytearray):
        @property
        def __cuda_array_interface__(self) -> Any:
            raise AttributeError("not on a GPU")

    assert sent(driver, takes("Some", "b8", 4), Array(b"1234")) == b"1234"
    with pytest.raises(ArgumentError, match=r"\(float\*\): not on a GPU$"):
        takes("float*").launch(1, 1, Array(b"1234"))


def test_a_gpu_array_is_rejected_as_a_struct(driver: Driver) -> None:
    with pytest.raises(ArgumentError, match=r"takes a struct of 16 bytes by value, not an array on the GPU"):
        takes("Pair", "b8", 16).launch(1, 1, array_interface(8))


def test_the_types_that_stubs_give_parameters() -> None:
    words = {
        "Integer": ("int", "u32", 4),
        "Real": ("__half", "b8", 2),
        "bool": ("bool", "u8", 1),
        "Struct": ("P", "b8", 3),
    }
    words |= {"Pointer": ("float*", "u64", 8)}
    for word, (cpp, type_, size) in words.items():
        assert parameters_module.argument_type(Parameter(type_, 0, size, cpp)) == word
