"""What launches pass to the driver, byte by byte, and what they reject.

The driver is a stand-in that reads its arguments as the CUDA Driver API documents them; `tests/gpu/test_launch.py` runs
real kernels.
"""

from __future__ import annotations

import ctypes
import enum
import importlib
import itertools
import random
import re
import struct
import threading
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import cuda_wheel
from cuda_wheel.builder.wheel.outputs import vendored_files, write
from cuda_wheel.runtime import arrays as parameters_module
from cuda_wheel.runtime import driver as driver_module
from cuda_wheel.runtime import launching as launcher
from cuda_wheel.runtime import manifest as manifest_module
from cuda_wheel.runtime import module
from cuda_wheel.runtime.errors import ArgumentError, DriverError
from cuda_wheel.runtime.manifest import KernelInfo, Parameter, Target
from cuda_wheel.runtime.module import Kernel
from tests.support.array_libraries import cupy_array, fake, torch_tensor
from tests.support.driver import Driver, Launch, Result, handle_of

pytestmark = pytest.mark.one_toolchain

# All examples of a test share one stand-in driver; only its record of launches grows.
examples = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])


def module_of(*infos: KernelInfo, variables: tuple[manifest_module.GlobalInfo, ...] = ()) -> module.Module:
    manifest = manifest_module.Manifest("a.b", "b.fatbin", 0, "", {}, (), (), (), infos, variables)
    image = manifest_module.Image("cubin", Target.parse("sm_80"), None, None, (12, 0), 0, 0, "", {})
    return module.Module(manifest, image, "native", 0xF00D)


def kernel_of(*parameters: Parameter) -> Kernel:
    info = KernelInfo("k", "_Z1k", parameters)
    return Kernel(module_of(info), info, handle_of(parameters))


def takes(cpp: str, type_: str = "u64", size: int = 8) -> Kernel:
    """Return a kernel with one parameter."""
    return kernel_of(Parameter(type_, 0, size, cpp))


@pytest.fixture
def driver(use: Callable[..., Driver]) -> Driver:
    return use((8, 6))


@pytest.fixture
def two(use: Callable[..., Driver]) -> Driver:
    """Return a driver with two GPUs; the first is current."""
    driver = use((8, 6), (9, 0))
    driver.context.device = 0
    return driver


def sent(driver: Driver, kernel: Kernel, *args: Any, **more: Any) -> bytes | None:
    """Launch a kernel, and return the bytes of the arguments that the driver gets."""
    kernel.launch(1, 1, *args, **more)
    return driver.launches[-1].arguments


def configured(driver: Driver, grid: Any, block: Any, **more: Any) -> Launch:
    """Launch a kernel without parameters, and return the launch that the driver gets."""
    kernel_of().launch(grid, block, **more)
    return driver.launches[-1]


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


# --- numbers, pointers and structs, against ctypes ---------------------------------------------------


class Colour(enum.IntEnum):
    RED = 1
    BLUE = 100


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


# --- configuration -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (5, (5, 1, 1)),
        ((5,), (5, 1, 1)),
        ([2, 3], (2, 3, 1)),
        ((2, 3, 4), (2, 3, 4)),
        (np.int64(7), (7, 1, 1)),
        ((np.int32(2), np.uint8(3)), (2, 3, 1)),
        (np.array([2, 3, 4]), (2, 3, 4)),
        (True, (1, 1, 1)),
        (Colour.BLUE, (100, 1, 1)),
        (range(1, 4), (1, 2, 3)),
        (np.array(6), (6, 1, 1)),
        ((np.array(6), 2), (6, 2, 1)),
    ],
)
def test_sizes_in_every_form(driver: Driver, given: Any, expected: tuple[int, int, int]) -> None:
    for _ in range(2):
        assert configured(driver, given, 1)[:2] == (expected, (1, 1, 1))
        assert configured(driver, 1, given)[:2] == ((1, 1, 1), expected)


def test_sizes_of_one_kernel_in_turn(driver: Driver) -> None:
    kernel = kernel_of()
    sizes: list[Any] = [[2, 3], 2, (2,), (2, 3), [2], np.array([2, 3, 4]), (2, 3, 4), range(2, 4), (2, 1), np.array(2)]
    for grid in sizes * 2:
        kernel.launch(grid, 1)
        given = list(grid) if np.ndim(grid) else [int(grid)]
        assert driver.launches[-1].grid == (*given, 1, 1)[:3]


def test_the_largest_grid(driver: Driver) -> None:
    largest = ((1 << 31) - 1, 65535, 65535)
    assert configured(driver, largest, (1, 16, 64))[:2] == (largest, (1, 16, 64))


@pytest.mark.parametrize(
    ("more", "attributes"),
    [
        ({}, {}),
        ({"cooperative": True}, {"cooperative": 1}),
        ({"cluster": 2}, {"cluster": (2, 1, 1)}),
        ({"cluster": (2, 2, 1)}, {"cluster": (2, 2, 1)}),
        ({"cluster": [1, 2], "cooperative": 1}, {"cooperative": 1, "cluster": (1, 2, 1)}),
    ],
)
def test_attributes(driver: Driver, more: dict[str, Any], attributes: dict[str, Any]) -> None:
    for parameters in ((), (Parameter("u8", 0, 1, "char"),), (Parameter("b8", 0, 4001, "Large"),)):
        arguments = [b"x" * parameter.size if parameter.size > 1 else 5 for parameter in parameters]
        kernel = kernel_of(*parameters)
        kernel.launch((8, 2), 1, *arguments, **more)
        launch = driver.launches[-1]
        assert (launch.attributes, launch.kernel) == (attributes, kernel.handle)
        assert launch.arguments == (None if not parameters else b"\5" if arguments == [5] else arguments[0])


STREAM = 'stream must be an address, "default", or have __cuda_stream__'


@pytest.mark.parametrize(
    ("grid", "block", "more", "message"),
    [
        (0, 1, {}, "grid takes integers of 1 and more, not 0"),
        (-1, 1, {}, "grid takes integers of 1 and more, not -1"),
        ((), 1, {}, r"grid must be one to three numbers, not \(\)"),
        ((1, 2, 3, 4), 1, {}, "grid must be one to three numbers"),
        (None, 1, {}, "grid takes integers, not None"),
        (1, 1.5, {}, "block takes integers, not 1.5"),
        (1, "32", {}, "block takes integers"),
        (1, 2048, {}, r"a block of \(2048, 1, 1\) is too large: the maximum is \(1024, 1024, 64\)"),
        (1, (32, 33), {}, "a block of 1056 threads is too large: 1024 is the most"),
        ((1, 65536), 1, {}, r"a grid of \(1, 65536, 1\) is too large"),
        (1, 1, {"shared_memory": -1}, "shared_memory takes integers of 0 and more, not -1"),
        (1, 1, {"shared_memory": 1.0}, "shared_memory takes integers"),
        (1, 1, {"shared_memory": 100 << 10}, r"k: 102400 bytes of shared memory are too much: this GPU has 101376"),
        (5, 1, {"cluster": 2}, r"the grid \(5, 1, 1\) is not a multiple of the cluster \(2, 1, 1\)"),
        (5, 1, {"cluster": 0}, "cluster takes integers of 1 and more, not 0"),
        (5, 1, {"stream": "Default"}, STREAM),
        (5, 1, {"stream": object()}, STREAM),
        (5, 1, {"stream": "5"}, STREAM),
        (5, 1, {"stream": 5.0}, STREAM),
        (5, 1, {"stream": np.float32(5)}, STREAM),
        (
            5,
            1,
            {"stream": SimpleNamespace(__cuda_stream__=lambda: 5)},
            STREAM,
        ),
        (5, 1, {"stream": -1}, "stream must be an address, not -1"),
        (5, 1, {"stream": 1 << 64}, "stream must be an address, not 18446744073709551616"),
        (1 << 31, 1, {}, "grid: 2147483648 is too large"),
        ((10**5000,), 1, {}, "grid: this int is too large"),
        (1, 1, {"shared_memory": 1 << 32}, "shared_memory: 4294967296 is too large"),
    ],
)
def test_a_wrong_configuration(driver: Driver, grid: Any, block: Any, more: dict[str, Any], message: str) -> None:
    kernel = kernel_of()
    for _ in range(2):
        with pytest.raises(ArgumentError, match=message) as caught:
            kernel.launch(grid, block, **more)
        assert caught.value.__suppress_context__ or caught.value.__context__ is None
    assert not driver.launches


def test_streams_of_every_library(driver: Driver) -> None:
    class CUstream:
        def __int__(self) -> int:
            return 0x1000

    streams: list[Any] = [
        0x1000,
        np.uint64(0x1000),
        CUstream(),
        SimpleNamespace(ptr=0x1000),  # CuPy
        SimpleNamespace(cuda_stream=0x1000),  # PyTorch
        SimpleNamespace(handle=ctypes.c_void_p(0x1000)),  # Numba
        SimpleNamespace(__cuda_stream__=lambda: (0, 0x1000), ptr=7),  # cuda.core
        SimpleNamespace(__cuda_stream__=(0, 0x1000)),  # the older form of the protocol
        SimpleNamespace(__cuda_stream__=lambda: (0, CUstream())),
    ]
    kernel = kernel_of()
    for stream in streams * 2:
        kernel.launch(1, 1, stream=stream)
        assert driver.launches[-1].stream == 0x1000
    for default in (None, 0, "default", SimpleNamespace(ptr=0), SimpleNamespace(handle=ctypes.c_void_p(None))):
        kernel.launch(1, 1, stream=default)
        assert driver.launches[-1].stream == 0
    kernel.launch(1, 1, stream=(1 << 64) - 1)
    assert driver.launches[-1].stream == (1 << 64) - 1


class Box:
    """A mutable number that is equal to itself only, like a PyTorch tensor."""

    def __init__(self, number: int) -> None:
        self.number = number

    def __index__(self) -> int:
        return self.number


def test_a_mutable_number_is_read_at_each_launch(driver: Driver) -> None:
    kernel, box = kernel_of(), Box(3)
    for number in (3, 4, 5):
        box.number = number
        kernel.launch(box, (box, box), shared_memory=box, cluster=(box, 1))  # type: ignore[arg-type]
        kernel.launch((1, box), box, shared_memory=box)  # type: ignore[arg-type]
        first, second = driver.launches[-2:]
        assert (first.grid, first.block, first.shared_memory) == ((number, 1, 1), (number, number, 1), number)
        assert (second.grid, second.block, second.shared_memory) == ((1, number, 1), (number, 1, 1), number)
    count = len(kernel.launch.__globals__["pools"])
    for _ in range(50):
        kernel.launch(Box(3), 1)  # type: ignore[arg-type]
    assert len(kernel.launch.__globals__["pools"]) <= count + 2


# --- slots -------------------------------------------------------------------------------------------


def test_a_launch_reuses_the_slot_of_the_last(driver: Driver) -> None:
    kernel = takes("int", "u32", 4)
    for number in range(10):
        for grid in (3, (3,), (3, 1), (3, 1, 1), [3], np.int32(3)):
            for stream in (None, 0):
                kernel.launch(grid, 64, number, stream=stream)
                assert driver.launches[-1].arguments == number.to_bytes(4, "little")
    assert len({launch.config for launch in driver.launches}) == 1
    assert {launch[:4] for launch in driver.launches} == {((3, 1, 1), (64, 1, 1), 0, 0)}


def test_each_launch_has_its_own_configuration(use: Callable[..., Driver]) -> None:
    driver, kernel = use((9, 0)), takes("int", "u32", 4)
    launches: list[tuple[Any, Any, dict[str, Any]]] = [
        (grid, block, more)
        for grid in (4, (4,), (4, 2))
        for block in (32, (32, 2), 33)
        for more in (
            {},
            {"shared_memory": 64},
            {"cooperative": True},
            {"priority": -1},
            {"programmatic": True, "shared_memory": 64},
            {"cluster": 2},
            {"cluster": (2, 2)},
        )
        if more.get("cluster") != (2, 2) or grid == (4, 2)
    ]
    found = {}
    for (grid, block, more), again in itertools.product(launches, range(2)):
        kernel.launch(grid, block, again, **more)
        sizes = [(*size, 1, 1)[:3] if isinstance(size, tuple) else (size, 1, 1) for size in (grid, block)]
        expected = {name: int(value) for name, value in more.items() if name not in ("shared_memory", "cluster")}
        if "cluster" in more:
            expected["cluster"] = (2, 1, 1) if more["cluster"] == 2 else (2, 2, 1)
        assert driver.launches[-1][:5] == (*sizes, more.get("shared_memory", 0), 0, expected)
        found[(str(grid), str(block), str(more))] = driver.launches[-1].config
    prepared = kernel.launch.__globals__["prepare"]
    kernel.launch.__globals__["prepare"] = None  # no further configuration is prepared
    for grid, block, more in random.Random(0).choices(launches, k=500):
        kernel.launch(grid, block, 1, **more)
        assert driver.launches[-1].config == found[(str(grid), str(block), str(more))]
    kernel.launch.__globals__["prepare"] = prepared


def test_concurrent_launches_have_separate_slots(driver: Driver) -> None:
    count, rounds = 8, 20
    kernel = takes("int", "u32", 4)
    kernel.launch(1, 1, 0)
    barrier = threading.Barrier(count)
    driver.meanwhile = barrier.wait
    driver.launches.clear()

    def work(number: int) -> None:
        for round_ in range(rounds):
            kernel.launch(1, 1, number * 1000 + round_)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(driver.launches) == count * rounds
    numbers = sorted(int.from_bytes(launch.arguments or b"", "little") for launch in driver.launches)
    assert numbers == sorted(number * 1000 + round_ for number in range(count) for round_ in range(rounds))
    assert len({launch.config for launch in driver.launches}) == count


def test_several_threads_may_launch_a_kernel_first(driver: Driver) -> None:
    kernel = takes("int", "u32", 4)
    barrier = threading.Barrier(8)

    def work(number: int) -> None:
        barrier.wait()
        kernel.launch(1 + number % 2, 1, number)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(int.from_bytes(launch.arguments or b"", "little") for launch in driver.launches) == [*range(8)]


def test_an_argument_may_launch_the_same_kernel(driver: Driver) -> None:
    kernel = takes("double", "f64", 8)

    class Nested:
        def __float__(self) -> float:
            kernel.launch(1, 1, 1.0)
            return 2.0

    kernel.launch(1, 1, Nested())
    assert [launch.arguments for launch in driver.launches] == [struct.pack("<d", 1.0), struct.pack("<d", 2.0)]


def test_the_number_of_remembered_configurations_is_bounded(driver: Driver, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(launcher.Launcher, "POOLS", 10)
    kernel = kernel_of()
    for grid in range(1, 200):
        kernel.launch(grid, 1)
        kernel.launch((grid, 1), np.int32(1))
        assert len(kernel.launch.__globals__["pools"]) < 50
    assert [launch.grid[0] for launch in driver.launches] == [grid for grid in range(1, 200) for _ in "12"]


def test_a_copy_of_the_loader_launches_by_itself(
    driver: Driver, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write({f"copy_of_cuda_wheel/{name}": content for name, content in vendored_files().items()}, tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    copy = importlib.import_module("copy_of_cuda_wheel")
    records = importlib.import_module("copy_of_cuda_wheel.manifest")
    info = records.KernelInfo("k", "_Z1k", (records.Parameter("u32", 0, 4, "int"),))
    kernel = copy.Kernel(module_of(), info, handle_of(info.parameters))
    kernel.launch(1, 1, 5)
    assert driver.launches[-1].arguments == struct.pack("<i", 5)
    with pytest.raises(copy.ArgumentError, match="takes an integer, not str"):
        kernel.launch(1, 1, "5")


def test_a_wrong_argument_leaks_no_slot(driver: Driver) -> None:
    kernel = takes("int", "u32", 4)
    kernel.launch(1, 1, 5)
    for _ in range(100):
        with pytest.raises(ArgumentError):
            kernel.launch(1, 1, "5")
    kernel.launch(1, 1, 6)
    assert max(map(len, kernel.launch.__globals__["pools"].values())) == 1


# --- errors of the driver -------------------------------------------------------------------------


def test_without_a_context_that_of_the_only_gpu_becomes_current(driver: Driver) -> None:
    driver.codes = [Result.CUDA_ERROR_INVALID_CONTEXT]
    assert sent(driver, takes("int", "u32", 4), 5) == b"\5\0\0\0"
    assert driver.context.device == 0 and len(driver.launches) == 2
    assert driver.launches[0] == driver.launches[1]


def test_without_a_context_and_several_gpus_one_must_be_chosen(two: Driver) -> None:
    two.context.device = None
    two.codes = [Result.CUDA_ERROR_INVALID_CONTEXT]
    with pytest.raises(DriverError, match="no CUDA context is current in this thread, and there are several GPUs"):
        kernel_of().launch(1, 1)
    assert len(two.launches) == 1


def test_large_shared_memory_is_opted_in_on_each_gpu(two: Driver) -> None:
    kernel = kernel_of()
    kernel.launch(1, 1, shared_memory=40 << 10)
    assert two.attributes[0]["MAX_DYNAMIC_SHARED_SIZE_BYTES"] == 48 << 10
    kernel.launch(1, 1, shared_memory=64 << 10)
    assert [two.attributes[gpu]["MAX_DYNAMIC_SHARED_SIZE_BYTES"] >> 10 for gpu in (0, 1)] == [99, 48]
    two.context.device = 1
    two.codes = [Result.CUDA_ERROR_INVALID_VALUE]
    kernel.launch(1, 1, shared_memory=64 << 10)
    assert [two.attributes[gpu]["MAX_DYNAMIC_SHARED_SIZE_BYTES"] >> 10 for gpu in (0, 1)] == [99, 99]
    assert [launch.shared_memory >> 10 for launch in two.launches] == [40, 64, 64, 64]


def test_shared_memory_in_addition_to_what_the_kernel_declares(driver: Driver) -> None:
    driver.attributes[0]["SHARED_SIZE_BYTES"] = 1 << 10
    kernel_of().launch(1, 1, shared_memory=98 << 10)
    with pytest.raises(ArgumentError, match="this GPU has 100352 per block beside the kernel's own 1024 bytes"):
        kernel_of().launch(1, 1, shared_memory=99 << 10)


def test_clusters_of_more_than_eight_blocks_are_opted_in(driver: Driver) -> None:
    configured(driver, 16, 1, cluster=8)
    assert driver.attributes[0]["NON_PORTABLE_CLUSTER_SIZE_ALLOWED"] == 0
    configured(driver, 16, 1, cluster=16)
    assert driver.attributes[0]["NON_PORTABLE_CLUSTER_SIZE_ALLOWED"] == 1


def test_clusters_of_more_than_eight_blocks_are_opted_in_on_each_gpu(two: Driver) -> None:
    kernel = kernel_of()
    kernel.launch(16, 1, cluster=16)
    two.context.device = 1
    two.codes = [Result.CUDA_ERROR_INVALID_CLUSTER_SIZE]
    kernel.launch(16, 1, cluster=16)
    assert [two.attributes[gpu]["NON_PORTABLE_CLUSTER_SIZE_ALLOWED"] for gpu in (0, 1)] == [1, 1]
    assert len(two.launches) == 3


@pytest.mark.parametrize(
    ("codes", "message"),
    [
        ([12345], "^launching k: the driver returned error 12345$"),
        ([Result.CUDA_ERROR_INVALID_CLUSTER_SIZE], "CUDA_ERROR_INVALID_CLUSTER_SIZE"),
        (
            [Result.CUDA_ERROR_ILLEGAL_ADDRESS],
            r"^launching k: the driver returned CUDA_ERROR_ILLEGAL_ADDRESS \(700\): because\. A kernel that was launched "
            "earlier, by any library, failed with this error",
        ),
        ([Result.CUDA_ERROR_INVALID_VALUE], r"CUDA_ERROR_INVALID_VALUE \(1\)"),
        ([Result.CUDA_ERROR_INVALID_CONTEXT, Result.CUDA_ERROR_OUT_OF_MEMORY], r"CUDA_ERROR_OUT_OF_MEMORY \(2\)"),
    ],
)
def test_a_launch_error_of_the_driver_is_reported(driver: Driver, codes: list[int], message: str) -> None:
    kernel = kernel_of()
    driver.codes = [*codes]
    with pytest.raises(DriverError, match=message):
        kernel.launch(1, 1)
    assert len(driver.launches) == len(codes)
    kernel.launch(1, 1)


def test_launches_with_and_without_checks_alternate(driver: Driver) -> None:
    kernel = takes("unsigned char", "u8", 1)
    for _ in range(3):
        assert sent(driver, kernel, 256 + 5, check=False) == b"\5"
        with pytest.raises(ArgumentError, match=r"\(unsigned char\): 261 is out of range"):
            kernel.launch(1, 1, 256 + 5)
        assert sent(driver, kernel, 6) == b"\6"


def test_attributes_and_occupancy_come_from_the_driver(driver: Driver) -> None:
    kernel = kernel_of()
    assert kernel.attributes == cuda_wheel.Attributes(16, 0, 48 << 10, 0, 0, 1024, (8, 6), (7, 5))
    assert kernel.occupancy((16, 16), 1000) == cuda_wheel.Occupancy(3, 0.5)
    assert kernel.occupancy(250).share == 0.5  # a block of 250 threads takes whole warps
    assert kernel.suggest_block() == 256
    with pytest.raises(ArgumentError, match="a block of 1025 threads is too large: 1024 is the most"):
        kernel.occupancy(1025)
    for bad in (lambda: kernel.occupancy(1, -1), lambda: kernel.suggest_block(-1)):
        with pytest.raises(ArgumentError, match="shared_memory takes integers"):
            bad()


# --- arrays, of classes that imitate those of libraries -----------------------------------------------------


def core_buffer(address: int, device: int = 0, *, host: bool = False, on_gpu: bool = True) -> Any:
    buffer = fake("cuda.core._memory", "Buffer", __dlpack__=None)()
    buffer.handle, buffer.device_id = fake("cuda.bindings", "CUdeviceptr", __int__=lambda self: address)(), device
    buffer.is_host_accessible, buffer.is_device_accessible = host, on_gpu
    return buffer


def array_interface(address: int | None, typestr: str = "<f4", *, read_only: bool = False, **more: Any) -> Any:
    interface = {"shape": (1,), "typestr": typestr, "data": (address, read_only), "version": 3, **more}
    return fake("numba", "DeviceArray", __cuda_array_interface__=interface)()


class DLTensor(ctypes.Structure):
    """Source: DLPack, "C API": DLTensor, with its DLDevice and DLDataType."""

    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]


class ByDLPack:
    """An array that has DLPack only."""

    def __init__(self, address: int, code: int = 2, bits: int = 32, *, kind: int = 2, device: int = 0, offset: int = 0):
        lengths = (ctypes.c_int64 * 1)(1 if address else 0)
        self._tensor = DLTensor(address, kind, device, 1, code, bits, 1, lengths, None, offset)
        self.streams: list[int | None] = []

    def __dlpack_device__(self) -> tuple[int, int]:
        return self._tensor.device_type, self._tensor.device_id

    def __dlpack__(self, *, stream: int | None = None) -> Any:
        self.streams.append(stream)
        new = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
        return new(("PyCapsule_New", ctypes.pythonapi))(ctypes.addressof(self._tensor), b"dltensor", None)


FLOATS = [cupy_array, torch_tensor, array_interface, ByDLPack]


@pytest.mark.parametrize("make", [*FLOATS, core_buffer], ids=lambda make: make.__name__)
def test_arrays_of_every_library(driver: Driver, make: Callable[..., Any]) -> None:
    for cpp in ("float*", "const float*", "void*", "Some*", "float2*", ""):
        kernel = takes(cpp)
        for address in (0x7F0000001000, 0x7F0000002000, 0):
            assert sent(driver, kernel, make(address)) == address.to_bytes(8, "little")
            assert sent(driver, kernel, make(address), check=False) == address.to_bytes(8, "little")


@pytest.mark.parametrize(
    ("cpp", "array", "message"),
    [
        ("double*", cupy_array(8), "takes an array of float64, not of float32"),
        ("double*", torch_tensor(8), "takes an array of float64, not of float32"),
        ("double*", array_interface(8), "takes an array of float64, not of float32"),
        ("double*", ByDLPack(8), "takes an array of float64, not of float32"),
        ("const int*", torch_tensor(8, "int64"), "takes an array of int32, not of int64"),
        ("int4*", ByDLPack(8, 1), "takes an array of int32, not of uint32"),
        ("char*", ByDLPack(8, 6, 8), "takes an array of int8 or uint8, not of bool"),
        ("float**", cupy_array(8), "takes an array of int64 or uint64, not of float32"),
        ("cuda::std::complex<float>*", ByDLPack(8, 5, 128), "takes an array of complex64, not of complex128"),
        ("float*", array_interface(8, "<c8"), "takes an array of float32, not of complex64"),
        ("int*", ByDLPack(8, 17, 4), "takes an array of int32, not of DLPack's type 17"),
        ("unsigned char*", ByDLPack(8, 10, 8), "takes an array of bool or uint8, not of float8_e4m3fn"),
        ("long long*", array_interface(8, "<M8[ns]"), "takes an array of int64, not of datetime64"),
        ("c10::Half*", cupy_array(8), "takes an array of float16, not of float32"),
        ("const at::Half*", torch_tensor(8, "bfloat16"), "takes an array of float16, not of bfloat16"),
        ("c10::BFloat16*", torch_tensor(8, "float16"), "takes an array of bfloat16 or int16 or uint16, not of float16"),
        ("cutlass::half_t*", array_interface(8), "takes an array of float16, not of float32"),
        ("c10::complex<double>*", cupy_array(8, "c8"), "takes an array of complex128, not of complex64"),
        ("c10::complex<c10::Half>*", ByDLPack(8, 5, 64), "takes an array of complex32, not of complex64"),
        (
            "c10::Float8_e4m3fn*",
            ByDLPack(8, 12, 8),
            "takes an array of float8_e4m3fn or int8 or uint8, not of float8_e5m2",
        ),
        ("constants*", array_interface(8, read_only=True), "is a read-only array, but the kernel may write to it"),
        ("float*", array_interface(8, read_only=True), "is a read-only array, but the kernel may write to it"),
        ("float*", torch_tensor(8, device=None), r"is a tensor in host memory: \.cuda\(\) copies it"),
        ("float*", ByDLPack(8, kind=1), "is an array in host memory: copy it to the GPU"),
        ("float*", np.zeros(1, np.float32), "is an array in host memory: copy it to the GPU"),
        ("float*", core_buffer(8, on_gpu=False), "is a buffer that the GPU cannot access"),
    ],
)
def test_arrays_that_a_parameter_rejects(driver: Driver, cpp: str, array: Any, message: str) -> None:
    kernel = takes(cpp)
    for _ in range(2):
        with pytest.raises(ArgumentError, match=rf"^k, argument 1 \({cpp.replace('*', '[*]')}\): {message}$"):
            kernel.launch(1, 1, array)
    assert not driver.launches


@pytest.mark.parametrize(
    ("cpp", "array"),
    [
        ("const float*", array_interface(16, read_only=True)),
        ("float2*", array_interface(16, "<c8")),
        ("const double4_16a*", cupy_array(16, "f8")),
        ("bool*", array_interface(16, "|b1")),
        ("__nv_bfloat16*", torch_tensor(16, "bfloat16")),
        ("__nv_bfloat16*", ByDLPack(16, 4, 16)),
        ("__half*", cupy_array(16, "f2")),
        ("float* const*", cupy_array(16, "u8")),
        ("const thrust::complex<double>*", cupy_array(16, "c16")),
        ("const float* __restrict__", cupy_array(16)),
        ("float*", torch_tensor(16, device=None, pinned=True)),
        ("float*", ByDLPack(16, kind=3)),
        ("float*", ByDLPack(16, kind=13)),
        ("Some*", array_interface(16, "|V48")),
        ("Some*", array_interface(16, "<M8[ns]")),
        ("__nv_fp8_e4m3*", ByDLPack(16, 10, 8)),
        ("__nv_fp8_e5m2*", ByDLPack(16, 12, 8)),
        ("const c10::Half*", torch_tensor(16, "float16")),
        ("at::Half*", cupy_array(16, "f2")),
        ("c10::BFloat16*", torch_tensor(16, "bfloat16")),
        ("c10::BFloat16*", cupy_array(16, "u2")),
        ("c10::complex<float>*", torch_tensor(16, "complex64")),
        ("c10::complex<c10::Half>*", ByDLPack(16, 5, 32)),
        ("c10::Float8_e5m2*", ByDLPack(16, 12, 8)),
        ("c10::Float8_e4m3fnuz*", torch_tensor(16, "float8_e4m3fnuz")),
        ("cutlass::bfloat16_t*", ByDLPack(16, 4, 16)),
        ("float*", SimpleNamespace(__cuda_array_interface__=array_interface(16).__cuda_array_interface__)),
    ],
)
def test_arrays_that_a_parameter_accepts(driver: Driver, cpp: str, array: Any) -> None:
    assert sent(driver, takes(cpp.removesuffix(" __restrict__")), array) == b"\20" + bytes(7)


def test_a_changed_element_type_is_checked_again(driver: Driver) -> None:
    kernel = takes("float*")
    array = torch_tensor(8)
    for _ in range(2):
        sent(driver, kernel, array)
    array.dtype = fake("torch", "dtype", __str__=lambda self: "torch.float64")()
    for _ in range(2):
        with pytest.raises(ArgumentError, match="not of float64"):
            kernel.launch(1, 1, array)


def test_dlpack_has_an_offset_and_gets_the_default_stream(driver: Driver) -> None:
    array = ByDLPack(0x1000, offset=0x20)
    assert sent(driver, takes("float*"), array) == (0x1020).to_bytes(8, "little")
    assert array.streams == [1]


def test_an_empty_array_has_no_address(driver: Driver) -> None:
    assert sent(driver, takes("float*"), array_interface(None)) == bytes(8)


def test_subclasses_of_arrays_are_arrays(driver: Driver) -> None:
    tensor = torch_tensor(8)
    parameter = fake("torch.nn.parameter", "Parameter", type(tensor))()
    parameter.__dict__.update(tensor.__dict__)
    assert sent(driver, takes("float*"), parameter) == b"\10" + bytes(7)


@pytest.mark.parametrize("make", [cupy_array, torch_tensor, ByDLPack, core_buffer], ids=lambda make: make.__name__)
def test_an_array_on_another_gpu_is_rejected(two: Driver, make: Callable[..., Any]) -> None:
    kernel = takes("float*")
    here, there = make(8), make(16, device=1)
    kernel.launch(1, 1, here)
    with pytest.raises(ArgumentError, match=r"\(float\*\): is an array on GPU 1, but the launch is on GPU 0"):
        kernel.launch(1, 1, there)
    kernel.launch(1, 1, there, check=False)
    two.context.device = 1
    kernel.launch(1, 1, there)
    with pytest.raises(ArgumentError, match=r"is an array on GPU 0, but the launch is on GPU 1"):
        kernel.launch(1, 1, here)
    two.context.device = None  # the GPU of the launch is not known without a context
    if make is not core_buffer:  # which is kept
        kernel.launch(1, 1, here)
        assert len(two.launches) == 4


# --- names and variables -----------------------------------------------------------------------------

NAMES = {
    "scale": "_Z5scale",
    "ns::blur": "_ZN2ns4blur",
    "a::twin": "_ZN1a4twin",
    "b::twin": "_ZN1b4twin",
    "copy<float, 16>": "_Z4copyIf",
    "ns::scale<ns::Pair, 2>": "_ZN2ns5scaleI",
    "(anonymous namespace)::hidden": "_ZN12_GLOBAL__N_16hidden",
    "plain": "plain",
    "same": "_Z4samei",
}


@pytest.fixture
def named(driver: Driver) -> module.Module:
    return module_of(*(KernelInfo(*each, ()) for each in NAMES.items()), KernelInfo("same", "_Z4samef", ()))


@pytest.mark.parametrize(
    ("name", "symbol"),
    [
        *NAMES.items(),
        ("blur", "_ZN2ns4blur"),
        ("ns :: blur", "_ZN2ns4blur"),
        ("copy<float,16>", "_Z4copyIf"),
        (" copy < float , 16 > ", "_Z4copyIf"),
        ("scale<ns::Pair,2>", "_ZN2ns5scaleI"),
        ("hidden", "_ZN12_GLOBAL__N_16hidden"),
    ],
)
def test_names_in_every_spelling(named: module.Module, name: str, symbol: str) -> None:
    if name == "same":
        name = symbol
    assert named[name].symbol == symbol and named[symbol].symbol == symbol
    assert named[name] is named[symbol]
    assert name in named


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("same", "^a.b has several kernels 'same'; use the symbol instead: _Z4samei, _Z4samef$"),
        ("twin", "^a.b has several kernels 'twin'; use the symbol instead: _ZN1a4twin, _ZN1b4twin$"),
        ("scales", "^a.b has no kernel 'scales'; did you mean scale"),
        ("copy<float, 32>", "did you mean copy<float, 16>"),
        ("", "^a.b has no kernel ''"),
        (5, "^a.b: the name of a kernel must be a string, not 5$"),
        (None, "^a.b: the name of a kernel must be a string, not None$"),
    ],
)
def test_unknown_names_are_reported(named: module.Module, name: Any, message: str) -> None:
    with pytest.raises(cuda_wheel.UnknownKernelError, match=message):
        named[name]
    assert name not in named
    assert named.get(name) is None


def test_a_module_lists_its_kernels_and_variables(named: module.Module) -> None:
    assert len(named) == 10 and named.kernels == tuple(named)
    assert [*named][-2:] == ["_Z4samei", "_Z4samef"]
    assert repr(named) == "<Module a.b: 10 kernels, cubin sm_80, native>"
    assert repr(named["blur"]) == "<Kernel 'ns::blur' of a.b: ()>"
    assert repr(module_of(variables=(VARIABLE,)).globals) == "<1 variables of a.b: ns::table>"
    with pytest.raises(cuda_wheel.UnknownGlobalError, match=r"^a\.b has no variable 'x'; it has no variables$"):
        named.globals["x"]


VARIABLE = manifest_module.GlobalInfo("ns::table", "_ZN2ns5tableE", "global", 16)


@pytest.fixture
def table(driver: Driver) -> cuda_wheel.Global:
    """Return a variable of 16 bytes, 0 to 15, with 8 bytes of other memory after it."""
    driver.memory[b"_ZN2ns5tableE"] = (ctypes.c_uint8 * 24)(*range(24))
    return module_of(variables=(VARIABLE,)).globals["table"]


@examples
@given(st.binary(max_size=24), st.integers(-2, 20))
def test_a_variable_is_written_and_read_within_its_bounds(
    driver: Driver, table: cuda_wheel.Global, data: bytes, offset: int
) -> None:
    memory = driver.memory[b"_ZN2ns5tableE"]
    memory[:] = range(24)
    expected = bytearray(range(24))
    fits = 0 <= offset <= 16 and len(data) + offset <= 16
    into = bytearray(len(data))
    if fits:
        table.write(data, offset=offset)
        expected[offset : offset + len(data)] = data
        table.read(into, offset=offset)
        assert into == data
        assert table.read(offset=offset) == expected[offset:16]
    else:
        for bad in (lambda: table.write(data, offset=offset), lambda: table.read(into, offset=offset)):
            with pytest.raises(ArgumentError, match=r"^ns::table has 16 bytes: \d+( from byte -?\d+ on)? do not fit$"):
                bad()
        assert not any(into)
    assert bytes(memory) == expected


def test_variables_accept_arrays_of_host_and_gpu(driver: Driver, table: cuda_wheel.Global) -> None:
    source = (ctypes.c_float * 2)(1.5, 2.5)
    table.write(array_interface(ctypes.addressof(source), shape=(2, 1)), offset=8, stream=SimpleNamespace(ptr=5))
    table.write(np.array([7, 8], np.int32))
    assert table.read() == np.array([7, 8], np.int32).tobytes() + bytes(source)
    assert table.__cuda_array_interface__["data"] == (table.address, False)
    here = ctypes.addressof(source)
    for shape, strides in (((2,), (4,)), ((1, 2), (99, 4)), ((2, 1), (4, 99)), ((0, 5), (1, 1)), ((), ())):
        table.write(array_interface(here, shape=shape, strides=strides))
    for bad, message in (
        (lambda: table.write(np.zeros((2, 2), np.int16)[:, 0]), "the numpy.ndarray is not contiguous: numpy.ascontig"),
        (lambda: table.write(array_interface(8, shape=(2,), strides=(8,))), "the numba.DeviceArray is not contiguous"),
        (lambda: table.write(np.array([None])), "the numpy.ndarray holds Python objects"),
        (lambda: table.write("text"), "str is not a buffer in host memory"),
        (lambda: table.write(array_interface(8, shape=(5,))), "ns::table has 16 bytes: 20 do not fit"),
        (lambda: table.read(bytes(4)), "ns::table cannot be read into a bytes: it is read-only"),
        (lambda: table.read(np.zeros(4)[::2]), "is not contiguous"),
    ):
        with pytest.raises(ArgumentError, match=message):
            bad()


def test_a_variable_is_an_argument(driver: Driver, table: cuda_wheel.Global) -> None:
    for cpp in ("float*", "const double*", "void*", ""):
        assert sent(driver, takes(cpp), table) == table.address.to_bytes(8, "little")


def test_without_a_context_an_array_says_on_which_gpu_to_launch(two: Driver) -> None:
    kernel = kernel_of(Parameter("u64", 0, 8, "float*"), Parameter("u64", 8, 8, "float*"))
    there = ByDLPack(8, device=1)
    for args in ((0, there), (there, there), (there, None)):
        two.context.device = None
        kernel.launch(1, 1, *args)
        assert two.context.device == 1 and two.launches[-1].kernel == kernel.handle
    two.context.device = None
    with pytest.raises(ArgumentError, match="is an array on GPU 0, but the launch is on GPU 1"):
        kernel.launch(1, 1, there, ByDLPack(8, device=0))


def test_only_arrays_need_the_number_of_the_current_gpu(two: Driver, monkeypatch: pytest.MonkeyPatch) -> None:
    kernel = kernel_of(Parameter("u64", 0, 8, "float*"), Parameter("u64", 8, 8, ""), Parameter("u32", 16, 4, "int"))
    bound = kernel.bind(1, 1, 8, 16, 1)
    there = cupy_array(8, device=1)
    kernel.launch(1, 1, 8, 16, 1)
    monkeypatch.setitem(two._answers, "cuCtxGetDevice", (Result.CUDA_ERROR_ILLEGAL_ADDRESS, None))
    kernel.launch(1, 1, 8, 16, 1)
    kernel.launch(1, 1, 8, 16, 1, stream=5)
    bound()
    bound(16, 8)
    assert len(two.launches) == 5
    for launch in (bound, lambda *args: kernel.launch(1, 1, *args)):
        for args in ((there, 8, 1), (8, there, 1)):
            with pytest.raises(DriverError, match="getting the current GPU"):
                launch(*args)


def test_a_driver_error_is_not_a_wrong_argument(two: Driver, table: cuda_wheel.Global) -> None:
    # The fixture `table` replaced the driver of `two` by one with one GPU: make it one with two.
    kernel = takes("float*")
    kernel.launch(1, 1, 0)
    driver_module.cuda_driver().context.device = None
    count = driver_module.cuda_driver()._answers["cuDeviceGetCount"]
    driver_module.cuda_driver()._answers["cuDeviceGetCount"] = (*count[:1], 2)
    with pytest.raises(DriverError, match="no CUDA context is current in this thread"):
        kernel.launch(1, 1, table)


def test_a_variables_address_needs_a_context(two: Driver) -> None:
    two.context.device = None
    with pytest.raises(DriverError, match="no CUDA context is current"):
        module_of(variables=(VARIABLE,)).globals["table"].address  # noqa: B018


def test_generated_source_is_printed_if_asked_for(
    driver: Driver, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    takes("float*").launch(1, 1, 8)
    assert not capsys.readouterr().err
    monkeypatch.setenv("CUDA_WHEEL_PRINT_GENERATED", "1")
    kernel = takes("float*")
    kernel.launch(1, 1, 8)
    kernel.bind(1, 1, 8)()
    printed = capsys.readouterr().err
    for function in ("launch", "bound_maker"):
        assert f"# cuda-wheel generated {function} for k:\ndef {function}(" in printed
