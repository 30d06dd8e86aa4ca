"""C++'s arithmetic for translated host functions: conversions, division, <cmath>, names of types, bytes of tensors."""

from __future__ import annotations

import ctypes
import math
import random
import re
import struct
import sys
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import cuda_wheel.torch
from cuda_wheel.runtime.errors import ArgumentError
from cuda_wheel.torch import arithmetic
from cuda_wheel.torch.arithmetic import (
    address,
    copy_bytes,
    dispatch,
    divide,
    fill_bytes,
    float32,
    int32,
    quotient,
    remainder,
    uint32,
)
from tests.torch.quiet_pytorch import MARKS, Tensor, torch

pytestmark = MARKS

INTEGERS = st.integers() | st.integers(-(1 << 66), 1 << 66) | st.integers(-300, 300)
FLOATS = st.floats()


def bits(number: float) -> bytes:
    """Return the bytes of a float; the same ones for each NaN."""
    assert type(number) is float
    return b"NaN" if math.isnan(number) else struct.pack("d", number)


# --- conversions


@pytest.mark.parametrize("size", [8, 16, 32, 64])
@pytest.mark.parametrize("shift", [-2, -1, 0, 1])
def test_the_bounds_of_integers(size: int, shift: int) -> None:
    signed, unsigned = getattr(arithmetic, f"int{size}"), getattr(arithmetic, f"uint{size}")
    bound = 1 << size - 1
    for number, does_fit in ((bound + shift, shift < 0), (shift - bound, shift >= 0)):
        if does_fit:
            assert signed(number) == number
        else:
            with pytest.raises(OverflowError, match=f"^{number} does not fit into int{size}$"):
                signed(number)
    assert unsigned((1 << size) + shift) == getattr(ctypes, f"c_uint{size}")(shift).value
    assert unsigned(shift) == getattr(ctypes, f"c_uint{size}")(shift).value


@given(INTEGERS, st.sampled_from([8, 16, 32, 64]))
def test_integers_fit_or_wrap(number: int, size: int) -> None:
    assert getattr(arithmetic, f"uint{size}")(number) == getattr(ctypes, f"c_uint{size}")(number).value
    if getattr(ctypes, f"c_int{size}")(number).value == number:
        assert getattr(arithmetic, f"int{size}")(number) == number
    else:
        with pytest.raises(OverflowError):
            getattr(arithmetic, f"int{size}")(number)


@given(FLOATS | st.floats(-300, 300), st.sampled_from([8, 16, 32, 64]), st.booleans())
@example(math.nan, 32, True)
@example(-math.inf, 32, False)
@example(-0.5, 32, False)
@example(-1.0, 32, False)
@example(255.5, 8, False)
@example(256.0, 8, False)
@example(-128.5, 8, True)
def test_floats_are_truncated_or_do_not_fit(number: float, size: int, is_signed: bool) -> None:
    name = f"int{size}" if is_signed else f"uint{size}"
    convert, kind = getattr(arithmetic, name), getattr(ctypes, f"c_{name}")
    if math.isfinite(number) and kind(math.trunc(number)).value == math.trunc(number):
        assert convert(number) == math.trunc(number)
        assert type(convert(number)) is int
    else:
        with pytest.raises(OverflowError, match=f"{re.escape(str(number))} does not fit into {name}"):
            convert(number)


def test_other_numbers() -> None:
    numpy = pytest.importorskip("numpy")
    for convert in (int32, uint32):
        assert convert(True) == 1 and type(convert(True)) is int
        assert convert(numpy.int64(7)) == 7 and type(convert(numpy.int64(7))) is int
        assert convert(numpy.float32(7.5)) == 7
        assert convert(torch.tensor(7)) == 7
        with pytest.raises(TypeError, match="int32 takes a number, not 'seven'"):
            convert("seven")
        with pytest.raises(TypeError, match=r"int32 takes an integer, not tensor\(\[1, 2\]\)"):
            convert(torch.tensor([1, 2]))
    with pytest.raises(OverflowError, match=r"^3000000000 does not fit into int32$"):
        int32(numpy.int64(3_000_000_000))
    assert uint32(numpy.int64(-1)) == 0xFFFFFFFF


@given(FLOATS | st.integers(-(1 << 64), 1 << 64) | st.booleans())
@example(3.4028235677973366e38)  # the least double that becomes infinity
@example(math.nextafter(3.4028235677973366e38, 0))
@example(2.0**-150)
@example(-0.0)
def test_float32_is_numpys(number: float) -> None:
    numpy = pytest.importorskip("numpy")
    if isinstance(number, int):
        with numpy.errstate(all="ignore"):
            expected = nearest_float32(number)
    else:
        with numpy.errstate(all="ignore"):
            expected = float(numpy.float64(number).astype(numpy.float32))
    assert bits(float32(number)) == bits(expected)


def nearest_float32(number: int) -> float:
    """Return the float that is nearest to an integer, of two the even one."""
    numpy = pytest.importorskip("numpy")
    near = numpy.float32(number)
    around = [numpy.nextafter(near, numpy.float32(each)) for each in (-math.inf, math.inf)]
    return float(
        min((near, *around), key=lambda each: (abs(Fraction(float(each)) - number), int(each.view(numpy.int32)) & 1))
    )


def test_float32_rounds_integers_once() -> None:
    for number in (2**60 + 2**36 + 1, 2**63 - 2**38 - 1, 2**64 - 2**39 - 1):
        for sign in (1, -1):
            twice = ctypes.c_float(float(sign * number)).value
            assert float32(sign * number) == nearest_float32(sign * number) != twice
    assert float32(10**400) == math.inf and float32(-(10**400)) == -math.inf
    assert float32(2**128 - 2**103 - 1) < math.inf == float32(2**128 - 2**103)


# --- division


@given(INTEGERS, INTEGERS)
def test_division_truncates(a: int, b: int) -> None:
    if b == 0:
        for divided in (quotient, remainder):
            with pytest.raises(ZeroDivisionError, match=rf"{divided.__name__}\({a}, 0\)"):
                divided(a, b)
        return
    assert quotient(a, b) == math.trunc(Fraction(a, b))
    assert quotient(a, b) * b + remainder(a, b) == a
    assert abs(remainder(a, b)) < abs(b) and remainder(a, b) * a >= 0


def test_division_takes_integers_only() -> None:
    assert quotient(True, 2) == 0 and remainder(True, 2) == 1
    for divided in (quotient, remainder):
        for pair in ((7.0, 2), (7, 2.0), (-7, "2")):
            with pytest.raises(TypeError, match=f"{divided.__name__} takes an integer, not"):
                divided(*pair)


@given(FLOATS, FLOATS)
@example(0.0, 0.0)
@example(-1.0, 0.0)
@example(1.0, -0.0)
@example(-1.0, -0.0)
@example(math.nan, 0.0)
@example(math.inf, -0.0)
@example(1e300, 1e-300)
def test_divide_is_numpys(a: float, b: float) -> None:
    numpy = pytest.importorskip("numpy")
    with numpy.errstate(all="ignore"):
        assert bits(divide(a, b)) == bits(float(numpy.float64(a) / numpy.float64(b)))


def test_divide_rounds_integers_first() -> None:
    for a, b in ((4778948255978403250, 95), (86, 2843343768656095921)):
        assert divide(a, b) == float(a) / float(b) != a / b
    assert divide(1, 0) == math.inf


# --- <cmath>

ONE = [
    "sqrt", "exp", "exp2", "log", "log2", "log10", "sin", "cos", "tan",
    "tanh", "cbrt", "floor", "ceil", "trunc", "round", "rint",
]  # fmt: skip
TWO = ["pow", "fmax", "fmin", "fmod", "atan2"]
SPECIAL = [
    *(sign * each for sign in (1, -1) for each in (0.0, 0.49999999999999994, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 4503599627370495.5)),
    *(sign * each for sign in (1, -1) for each in (4503599627370497.0, 5e-324, 709.8, 710.0, 1e300, 1.7e308, math.inf)),
    math.nan,
]  # fmt: skip


def c_function(name: str, count: int) -> Callable[..., float]:
    """Return a function of the C library."""
    found = getattr(ctypes.CDLL("ucrtbase" if sys.platform == "win32" else None), name)
    found.argtypes, found.restype = [ctypes.c_double] * count, ctypes.c_double
    return found


def is_signalling(x: float) -> bool:
    """Return whether a number is a NaN without the bit that makes it quiet."""
    return math.isnan(x) and not struct.unpack("Q", struct.pack("d", x))[0] >> 51 & 1


def numbers(seed: str) -> Iterator[float]:
    """Return random doubles: of any bits, and of usual sizes."""
    generator = random.Random(seed)
    for _ in range(3000):
        yield struct.unpack("d", generator.randbytes(8))[0]
        yield generator.uniform(-50, 50)
        yield generator.randint(-400, 400) / 4


@pytest.mark.parametrize("name", ONE)
def test_functions_of_one_number_are_the_c_librarys(name: str) -> None:
    function, expected = getattr(arithmetic, name), c_function(name, 1)
    for x in (*SPECIAL, *numbers(name)):
        assert bits(function(x)) == bits(expected(x)), x


@pytest.mark.parametrize("name", TWO)
def test_functions_of_two_numbers_are_the_c_librarys(name: str) -> None:
    function, expected = getattr(arithmetic, name), c_function(name, 2)
    pairs = [(x, y) for x in SPECIAL for y in SPECIAL]
    pairs += zip(numbers(f"{name} 1"), numbers(f"{name} 2"), strict=True)
    for x, y in pairs:
        if name in ("fmax", "fmin") and (x == y == 0 or is_signalling(x) or is_signalling(y)):
            continue  # C leaves open which of two zeros it is, and what becomes of a signalling NaN
        assert bits(function(x, y)) == bits(expected(x, y)), (x, y)


@pytest.mark.parametrize("name", [*ONE, *TWO])
def test_functions_take_integers(name: str) -> None:
    count = 2 if name in TWO else 1
    for x in (0, 3, -3, 2**53 + 1, True):
        given_, exact = [x, 2][:count], [float(x), 2.0][:count]
        assert bits(getattr(arithmetic, name)(*given_)) == bits(c_function(name, count)(*exact))


def test_what_errors_of_python_are_not_hidden() -> None:
    for name in ONE:
        with pytest.raises((TypeError, ValueError)):
            getattr(arithmetic, name)("1.x")


# --- numbers that PyTorch does not know


def test_sizes_that_pytorch_does_not_know() -> None:
    def work(x: Any) -> Any:
        n = int32(x.size(0))
        blocks = quotient(n + 31, 32) + remainder(n, 4) + uint32(n)
        return x.new_zeros(blocks)

    x = torch.zeros(70)
    compiled = torch.compile(work, fullgraph=True, backend="eager", dynamic=True)
    for n in (70, 71, 9):
        assert compiled(x.new_zeros(n)).shape == work(x.new_zeros(n)).shape


def test_symbols_stay_symbols() -> None:
    from torch.fx.experimental.symbolic_shapes import DimDynamic, ShapeEnv, StatelessSymbolicContext

    mode = torch._subclasses.FakeTensorMode(shape_env=ShapeEnv())
    context = StatelessSymbolicContext(dynamic_sizes=[DimDynamic.DYNAMIC])
    n = mode.from_tensor(torch.zeros(70), symbolic_context=context).size(0)
    assert type(n) is torch.SymInt
    assert int32(n) is n and uint32(n) is n
    assert not mode.shape_env.guards  # nothing was asked for
    assert type(int32(n / 4)) is torch.SymInt and int32(n / 4) == 17
    assert type(uint32(n / 4)) is torch.SymInt
    assert type(quotient(n, 4)) is torch.SymInt and quotient(n, 4) == 17 and quotient(-n, 4) == -17
    assert remainder(n, 4) == 2 and remainder(-n, 4) == -2
    assert type(float32(n)) is torch.SymFloat and float32(n) == 70
    assert type(arithmetic.floor(n / 4)) is torch.SymFloat
    assert [getattr(arithmetic, each)(n / 4) for each in ("floor", "ceil", "trunc", "round", "rint")] == [
        17,
        18,
        17,
        18,
        18,
    ]
    assert divide(n, 4) == 17.5 and arithmetic.sqrt(n) == math.sqrt(70)


# --- element types


def test_dispatch() -> None:
    assert dispatch("f", torch.float32, torch.float64, torch.float32) is torch.float32
    with pytest.raises(NotImplementedError) as pytorchs:
        torch.bincount(torch.zeros(3, dtype=torch.float16))
    with pytest.raises(NotImplementedError, match=r"^.bincount_cpu. not implemented for 'Half'$") as ours:
        dispatch("bincount_cpu", torch.float16, torch.int32, torch.int64)
    assert str(ours.value) == str(pytorchs.value)


def test_dispatch_names_every_type_as_c10_does() -> None:
    folder = Path(torch.__file__).parent / "include"
    headers = [folder / "torch/headeronly/core/ScalarType.h", folder / "c10/core/ScalarType.h"]
    text = next((path.read_text() for path in headers if path.exists()), "")
    names = dict(re.findall(r"_\(.+, (\w+)\) /\* (\d+) \*/", text))
    if not names:
        pytest.skip("this PyTorch has no headers")
    types = [each for each in vars(torch).values() if isinstance(each, torch.dtype)]
    made = set()
    for each in types:
        with pytest.raises(NotImplementedError) as error:
            dispatch("f", each)
        made.add(str(error.value).split("'")[1])
    assert made == names.keys() & made
    assert len(made) == len(set(types)) > 20


# --- memory


def contents(x: Any) -> list[int]:
    return list(x.contiguous().view(torch.uint8).flatten().tolist())


def test_address() -> None:
    x = torch.arange(6, dtype=torch.int16)
    assert address(None) is None and address(5) == 5
    assert address(x) == x.data_ptr() and address(x[2:]) == x.data_ptr() + 4


def test_fill_bytes() -> None:
    x = torch.zeros(4, 3, dtype=torch.int16)
    fill_bytes(x[1:, 1:].t(), 1, -1, 4)  # from byte 8 of the memory on, whatever the strides
    assert contents(x) == [0] * 9 + [255] * 4 + [0] * 11
    fill_bytes(x[1:], -6, 0x107, 2)
    assert contents(x)[:3] == [7, 7, 0]
    fill_bytes(x, 0, 0, 24)
    assert not x.any()
    for nothing in (x, x[:0], None, 0):
        fill_bytes(nothing, 100, 1, 0)
    leaf = torch.zeros(2, requires_grad=True)
    result = leaf * leaf
    fill_bytes(leaf, 0, 0, 8)
    result.sum().backward()  # the version has not changed, as in C++


@pytest.mark.parametrize(("offset", "size"), [(1, 24), (0, 25), (24, 1), (-1, 2)])
def test_bytes_outside_of_the_memory_are_refused(offset: int, size: int) -> None:
    x, y = torch.zeros(12, dtype=torch.int16), torch.zeros(20, dtype=torch.int16)
    with pytest.raises(ArgumentError, match=rf"fill_bytes: {size} bytes from byte {offset} on are not in the memory"):
        fill_bytes(x, offset, 1, size)
    with pytest.raises(ArgumentError, match=r"copy_bytes: .* which has 0 bytes before its first element and 24 from"):
        copy_bytes(x, offset, y, 4, size)
    with pytest.raises(ArgumentError, match=r"of the tensor of \(12,\)"):
        copy_bytes(y, 4, x, offset, size)
    with pytest.raises(ArgumentError, match="-1 bytes from byte 1 on"):
        fill_bytes(x, 1, 1, -1)
    assert not x.any() and not y.any() and x.untyped_storage().nbytes() == 24


def test_copy_bytes() -> None:
    x, y = torch.arange(10, dtype=torch.uint8), torch.zeros(4, dtype=torch.int16)
    copy_bytes(y[1:], 1, x[2:], 3, 4)
    assert contents(y) == [0, 0, 0, 5, 6, 7, 8, 0]
    copy_bytes(y, 100, x, 100, 0)
    with pytest.raises(RuntimeError, match="memory"):
        copy_bytes(x, 0, x, 1, 4)


class Driver:
    """Stands for the driver: does in host memory what it is asked for, and notes it."""

    def __init__(self) -> None:
        self.calls: list[tuple[Any, ...]] = []

    def cuMemsetD8Async(self, to: int, byte: int, size: int, stream: int) -> tuple[int]:
        self.calls.append(("set", stream))
        assert byte in range(256)
        ctypes.memset(to, byte, size)
        return (0,)

    def cuMemcpyAsync(self, to: int, source: int, size: int, stream: int) -> tuple[int]:
        self.calls.append(("copy", stream))
        ctypes.memmove(to, source, size)
        return (0,)

    def cuStreamSynchronize(self, stream: int) -> tuple[int]:
        self.calls.append(("wait", stream))
        return (0,)


def test_addresses_go_to_the_driver(monkeypatch: pytest.MonkeyPatch) -> None:
    driver, devices = Driver(), []
    monkeypatch.setattr(arithmetic, "cuda_driver", lambda: driver)
    monkeypatch.setattr(arithmetic, "device_with_context", devices.append)
    monkeypatch.setattr(torch.cuda, "current_device", lambda: 3)
    monkeypatch.setattr(torch.cuda, "current_stream", lambda: SimpleNamespace(cuda_stream=77))
    x, y = torch.zeros(8, dtype=torch.uint8), torch.arange(8, dtype=torch.uint8)
    fill_bytes(x.data_ptr(), 2, 0x109, 3)
    assert x.tolist() == [0, 0, 9, 9, 9, 0, 0, 0]
    copy_bytes(x.data_ptr(), 1, y.data_ptr(), 4, 2)
    assert driver.calls == [("set", 77), ("copy", 77)]
    copy_bytes(x, 0, y.data_ptr(), 7, 1)
    copy_bytes(x.data_ptr(), 7, y, 6, 1)
    assert x.tolist() == [7, 4, 5, 9, 9, 0, 0, 6]
    assert driver.calls[2:] == [("copy", 77), ("wait", 77)] * 2
    assert devices == [3] * 4
    with pytest.raises(ArgumentError, match="copy_bytes: 2 bytes from byte 7 on"):
        copy_bytes(x.data_ptr(), 0, y, 7, 2)


@pytest.mark.parametrize("is_copy", [False, True])
def test_an_operator_names_what_it_writes(name: str, on_cpu: None, is_copy: bool) -> None:
    def write(x: Any) -> None:
        if is_copy:
            copy_bytes(x, 4, torch.full((2,), 1.0), 0, 4)
        else:
            fill_bytes(x, 4, 0, 4)

    @cuda_wheel.torch.operator(name)
    def silent(x: Tensor) -> Tensor:
        write(x)
        return x + 1

    @cuda_wheel.torch.operator(f"{name}_", writes=["x"])
    def declared(x: Tensor) -> None:
        assert address(x) is not None
        write(x)

    what = "copy_bytes" if is_copy else "fill_bytes"
    with pytest.raises(ArgumentError, match=f"{what} writes to its argument 1, which has the memory of the input x"):
        silent(torch.ones(3))
    x = torch.full((3,), 5.0)
    declared(x)
    assert x.tolist() == [5, 1 if is_copy else 0, 5]
    with torch._subclasses.FakeTensorMode():
        fake = torch.ones(3)
        declared(fake)
        with pytest.raises(ArgumentError, match="which has the memory of the input x"):
            silent(fake)


def test_tensors_without_data_have_no_address(name: str, on_cpu: None) -> None:
    found = []

    @cuda_wheel.torch.operator(name)
    def double(x: Tensor) -> Tensor:
        found.append(address(x))
        if type(found[-1]) is int:
            fill_bytes(found[-1], 0, 0, 4)  # does nothing
        return x + x

    double(torch.ones(3))
    with torch._subclasses.FakeTensorMode():
        double(torch.ones(3))
    assert found[0] > 0 and type(found[-1]) is int


def test_addresses_of_another_element_type_are_refused() -> None:
    x = torch.zeros(3)
    assert arithmetic.data_ptr(x, torch.float32) == x.data_ptr()
    with pytest.raises(RuntimeError, match="expected scalar type Half but found Float"):
        arithmetic.data_ptr(x, torch.float16)


def test_checks_of_tensors_are_those_of_aten() -> None:
    x = torch.zeros(2, 3)
    arithmetic.check_same_type("f", x, None, x)
    arithmetic.check_contiguous("f", x, None)
    with pytest.raises(RuntimeError, match=r"found torch.float32 and torch.float64 \(while checking f\)"):
        arithmetic.check_same_type("f", x, x.double())
    with pytest.raises(RuntimeError, match="Expected a contiguous tensor"):
        arithmetic.check_contiguous("f", x, x.t())
    with pytest.raises(RuntimeError, match="on a GPU, but it is on cpu"):
        arithmetic.check_same_gpu("f", x)


def test_integer_parameters_refuse_what_does_not_fit() -> None:
    arithmetic.check_integers("uint32", 0, 2**32 - 1, True)
    arithmetic.check_integers("int64", -(2**63), 2**63 - 1)
    for kind, number in (("uint32", -1), ("uint32", 2**32), ("int8", 128), ("int16", -(2**15) - 1), ("uint64", 2**64)):
        with pytest.raises(TypeError, match=f"{number} does not fit {kind}"):
            arithmetic.check_integers(kind, 0, number)
    for other in (1.0, "1", None):
        with pytest.raises(TypeError, match="is not an integer"):
            arithmetic.check_integers("int32", other)


def test_indices_of_32_bits_reach_the_last_element() -> None:
    one = torch.empty(1)
    assert arithmetic.can_use_32_bit_index_math(one.expand(2**31 - 2))
    assert not arithmetic.can_use_32_bit_index_math(one.expand(2**31 - 1))
    assert arithmetic.can_use_32_bit_index_math(torch.empty(0, 2**40))


# --- memory of the host ------------------------------------------------------------------------------------


def test_elements_are_those_of_the_tensor() -> None:
    x = torch.arange(12, dtype=torch.int32).view(3, 4)[1:]
    numbers = arithmetic.elements(x, torch.int32)
    assert [*numbers] == [*range(4, 12)]
    numbers[1] = 2**32 + 7
    assert x[0, 1] == 7
    longs = arithmetic.elements(x, torch.int64, 8, of=torch.int32)
    assert [*longs] == x.flatten().view(torch.int64)[1:].tolist()
    assert [*arithmetic.elements(numbers, torch.uint8, 16)] == x[1].view(torch.uint8).tolist()
    assert arithmetic.elements(x, torch.int32, -4)[0] == 3
    del numbers, x
    assert longs[0] == 6 + (7 << 32)  # the memory is not freed


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint16", "uint64", "float32", "float64"])
def test_elements_of_each_type(dtype: str) -> None:
    x = torch.tensor([0, 1, 1], dtype=getattr(torch, dtype))
    numbers = arithmetic.elements(x, x.dtype)
    numbers[0] = numbers[1]
    assert x.tolist() == [1, 1, 1] and type(numbers[0]) is type(x.tolist()[0])


def test_elements_that_are_not_there() -> None:
    x = torch.zeros(3)
    for offset in (-1, 13):
        with pytest.raises(ArgumentError, match=f"byte {offset} is not in the memory, which has 12 bytes"):
            arithmetic.elements(x, torch.float32, offset)
    with pytest.raises(IndexError):
        arithmetic.elements(x, torch.float32, 8)[1]
    with pytest.raises(RuntimeError, match="expected scalar type Int but found Float"):
        arithmetic.elements(x, torch.float32, of=torch.int32)
    with pytest.raises(RuntimeError, match="the memory of a tensor on meta cannot be read on the host"):
        arithmetic.elements(x.to("meta"), torch.float32)


def test_an_accessor_is_of_a_known_tensor() -> None:
    x = torch.zeros(2, 3)
    assert arithmetic.accessor(x, torch.float32, 2) is x
    for other, error in (
        (x.double(), "expected scalar type Float but found Double"),
        (x[0], "TensorAccessor expected 2 dims but tensor has 1"),
        (x.to("meta"), "the memory of a tensor on meta cannot be read on the host"),
    ):
        with pytest.raises(RuntimeError, match=error):
            arithmetic.accessor(other, torch.float32, 2)


def test_an_accessor_of_no_memory_has_no_elements(monkeypatch: pytest.MonkeyPatch) -> None:
    empty = torch.empty
    monkeypatch.setattr(torch, "empty", lambda *sizes, device, **more: empty(*sizes, **more) if device == "cuda" else 0)
    x = arithmetic.null_accessor(torch.float16, [0, 3], [0, 2])
    assert (x.dtype, tuple(x.shape), x.stride(), x.data_ptr()) == (torch.float16, (0, 3), (0, 2), 0)
    with pytest.raises(RuntimeError, match=re.escape("has elements: its sizes are [2, 3]")):
        arithmetic.null_accessor(torch.float16, [2, 3], [3, 1])


@pytest.mark.parametrize(
    ("dtype", "numbers"),
    [("int32", [-5, 2**31 - 1]), ("uint64", [0, 2**64 - 1]), ("float32", [0.5, -2.0]), ("uint8", [7, 255])],
)
def test_numbers_are_copied_as_their_bytes(dtype: str, numbers: list[Any]) -> None:
    kind = getattr(torch, dtype)
    memory = torch.zeros(24, dtype=torch.uint8)
    arithmetic.write_numbers(memory, 8, kind, numbers)
    size = 2 * kind.itemsize
    assert bytes(memory.tolist()) == bytes(8) + bytes(torch.tensor(numbers, dtype=kind).view(torch.uint8)) + bytes(
        16 - size
    )
    assert arithmetic.read_numbers(memory, 8, kind, 2) == numbers
    with pytest.raises(ArgumentError, match="are not in the memory"):
        arithmetic.read_numbers(memory, 24, kind, 1)


def test_a_grid_has_three_sizes() -> None:
    assert (arithmetic.dim3(5), arithmetic.dim3((2, 3)), arithmetic.dim3([4, 5, 6])) == (
        (5, 1, 1),
        (2, 3, 1),
        (4, 5, 6),
    )
    assert arithmetic.dim3(-1) == (2**32 - 1, 1, 1)  # as C++ converts it
