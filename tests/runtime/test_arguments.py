"""What the converters of arguments accept, return, refuse and remember, by table."""

from __future__ import annotations

import struct
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from cuda_wheel.runtime.arguments import (
    BoolConverter,
    Converter,
    FloatConverter,
    IntegerConverter,
    NumberConverter,
    type_name,
    value_text,
)
from cuda_wheel.runtime.arrays import PointerConverter, long_size
from cuda_wheel.runtime.launching import converter_for
from cuda_wheel.runtime.manifest import KernelInfo, Manifest, Parameter
from cuda_wheel.runtime.parts.array_protocols import _dtype_name
from cuda_wheel.runtime.parts.by_value import BFloat16Converter
from cuda_wheel.runtime.parts.structs import StructConverter
from cuda_wheel.runtime.parts.untyped_parameters import (
    RawScalarConverter,
    RawWordConverter,
    UnknownSignConverter,
    any_integer,
    integer_of_unknown_sign,
)
from tests.support.array_libraries import fake
from tests.support.driver import Driver
from tests.support.launches import MEMORY_OF_GPU_1, ON_GPU_1, array_interface, read, refused

pytestmark = pytest.mark.one_toolchain


# --- numbers -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("converter", "first", "learned", "not_learned"),
    [
        (IntegerConverter("i"), {int}, [np.int32(1), np.int64(1), np.uint8(1)], []),
        (
            FloatConverter("f"),
            {float, int},
            [np.float16(1), np.float32(1), np.float64(1), np.int64(1)],
            [np.longdouble(1), Fraction(1, 2), Decimal(1), fake("other", "generic", __float__=lambda self: 1.0)()],
        ),
        (BoolConverter(), {bool}, [], [np.True_, 1]),
    ],
)
def test_only_types_that_struct_converts_right_are_written_as_they_are(
    converter: NumberConverter, first: set[type], learned: list[Any], not_learned: list[Any]
) -> None:
    quick = converter.namespace("x")["quick_x"]
    assert quick == first
    for value in learned + not_learned:
        converter.convert(value)
    assert quick == first | {type(value) for value in learned}


@pytest.mark.parametrize("value", ["1", object(), np.zeros(1, "f4"), fake("a.b", "Size", __len__=None)()])
def test_what_is_no_number(value: Any) -> None:
    name = type_name(type(value))
    assert refused(FloatConverter("f").convert, value) == f"takes a number, not {name}"
    assert refused(IntegerConverter("i").convert, value) == f"takes an integer, not {name}"


def test_a_bool_takes_zero_and_one() -> None:
    convert = BoolConverter().convert
    for value in (0, 1, False, True, np.False_, np.True_):
        assert convert(value) is bool(value)
    for value, text in ((2, "2"), (1.0, "1.0"), (0.0, "0.0"), ("", "''")):
        assert refused(convert, value) == f"takes True or False, not {text}"


@pytest.mark.parametrize("size", [1, 2, 4, 8])
def test_the_limits_of_integers(size: int) -> None:
    half, whole = 1 << 8 * size - 1, 1 << 8 * size
    for value in (-half, -1, 0, half - 1, half, whole - 1):
        assert any_integer(value, size) == value % whole
    for convert in (any_integer, integer_of_unknown_sign):
        for value in (-half - 1, whole, -whole, 2 * whole):
            with pytest.raises(OverflowError):
                convert(value, size)
    for value in (0, half // 2, half - 1):
        assert integer_of_unknown_sign(value, size) == value
    for value, sign, type_ in ((-1, "a signed", "int"), (-half, "a signed", "int"), (half, "an unsigned", "uint")):
        assert refused(integer_of_unknown_sign, value, size) == (
            f"{value} fits {sign} parameter only, and whether this one is signed is not known: pass "
            f"numpy.{type_}{8 * size}({value})"
        )


@pytest.mark.parametrize("size", [1, 2, 4, 8])
def test_a_number_that_fits_is_written_without_a_call(size: int) -> None:
    converter = RawWordConverter(True, False) if size == 8 else UnknownSignConverter(size)
    expression = converter.expression("value", "x")
    called: list[Any] = []

    def convert(value: Any, *_: Any) -> str:
        called.append(value)
        return "called"

    calls = {int: convert, bool: convert}
    names = {"words_x": calls, "read_x": calls, "device": None, "stream": 0, "kept": []}
    half = 1 << 8 * size - 1
    for value in (0, 1, half // 2, half - 1):
        assert eval(expression, {**names, "value": value, "type_value": int}) == value and not called
    for value in (-1, half, True):
        assert eval(expression, {**names, "value": value, "type_value": type(value)}) == "called"


def test_a_bfloat16_that_is_no_number_keeps_its_sign() -> None:
    for bits in (0x7FC00000, 0xFFC00000):
        value = struct.unpack("<f", bits.to_bytes(4, "little"))[0]
        assert BFloat16Converter().convert(value) == bits >> 16


@pytest.mark.parametrize(
    ("repr_", "expected"),
    [
        ("a\n  b\tc", "a b c"),
        ("x" * 99, "x" * 99),
        ("x" * 100, "x" * 100),
        ("x" * 101, "x" * 100 + "…"),
        ("x" * 102, "x" * 100 + "…"),
    ],
)
def test_a_value_in_a_message_is_one_line_of_100_characters(repr_: str, expected: str) -> None:
    assert value_text(fake("a", "B", __repr__=lambda self: repr_)()) == expected


@pytest.mark.parametrize(
    ("parameter", "checked", "unchecked"),
    [
        (Parameter("f32", 0, 4, ""), FloatConverter, Converter),
        (Parameter("f64", 0, 8, "Real"), FloatConverter, Converter),
        (Parameter("f32", 0, 4, "float"), FloatConverter, Converter),
        (Parameter("u32", 0, 4, "int"), IntegerConverter, Converter),
        (Parameter("u8", 0, 1, "bool"), BoolConverter, Converter),
        (Parameter("u8", 0, 1, "char"), UnknownSignConverter, Converter),
        (Parameter("u32", 0, 4, "Colour"), UnknownSignConverter, Converter),
        (Parameter("b32", 0, 4, ""), RawScalarConverter, RawScalarConverter),
        (Parameter("b16", 0, 2, "__half"), FloatConverter, FloatConverter),
        (Parameter("b8", 0, 12, "float3"), StructConverter, StructConverter),
    ],
)
def test_the_converter_of_a_parameter(parameter: Parameter, checked: type, unchecked: type) -> None:
    assert type(converter_for(parameter, True)) is checked
    assert type(converter_for(parameter, False)) is unchecked


@pytest.mark.parametrize("size", [4, 8])
@pytest.mark.parametrize(("cpp", "is_known"), [("long", True), ("unsigned long", True), ("long long", False)])
def test_a_parameter_tells_the_size_of_a_long(cpp: str, size: int, is_known: bool) -> None:
    kernels = (KernelInfo("a", "_Z1ai", (Parameter("u32", 0, 4, "int"), Parameter("u64", 8, size, cpp))),)
    manifest = Manifest("a.b", "b.fatbin", 0, "", {}, (), (), (), kernels)
    assert long_size(manifest) == (size if is_known else None)


# --- pointers ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("cpp", "accepted", "wanted"),
    [
        ("float2*", ["<f4", "<c8"], "complex64 or float32"),
        ("double2*", ["<f8", "<c16"], "complex128 or float64"),
        ("const double4_16a*", ["<f8", "<c16"], "complex128 or float64"),
        ("uint4*", ["<u4"], "uint32"),
        ("cuda::std::complex<float>*", ["<c8"], "complex64"),
        ("cuda::std::complex<double>*", ["<c16"], "complex128"),
        ("float**", ["<i8", "<u8"], "int64 or uint64"),
        ("bool*", ["|b1", "|u1"], "bool or uint8"),
    ],
)
def test_a_pointer_takes_its_elements(cpp: str, accepted: list[str], wanted: str) -> None:
    for typestr in ("<f4", "<f8", "<c8", "<c16", "<i8", "<u4", "<u8", "|b1", "|u1", "|V8"):
        array = array_interface(typestr=typestr)
        assert read(PointerConverter(cpp, False), array) == 8
        if typestr in accepted:
            assert read(PointerConverter(cpp, True), array) == 8
        else:
            assert (
                refused(read, PointerConverter(cpp, True), array)
                == f"takes an array of {wanted}, not of {_dtype_name(typestr)}"
            )


@pytest.mark.parametrize("cpp", ["long*", "unsigned long*", "ulong2*"])
def test_an_array_of_longs_of_unknown_size(cpp: str) -> None:
    assert refused(read, PointerConverter(cpp, True), array_interface(typestr="<i8")) == (
        "is an array, but how many bytes a long has in this code is not known: 4 if it was built on Windows, else 8. "
        "Pass the array's address"
    )
    assert read(PointerConverter(cpp, False), array_interface(typestr="<i8")) == 8


class Dtype:
    """The element type of an array; it counts how often its name is read."""

    isnative, is_complex = True, False

    def __init__(self, name: str) -> None:
        self._name, self.reads = name, 0

    @property
    def name(self) -> str:
        self.reads += 1
        return self._name

    def __str__(self) -> str:
        return f"torch.{self.name}"


def cupy_array(dtype: Any, address: int = 8) -> Any:
    members = {"__cuda_array_interface__": None, "dtype": dtype, "data": SimpleNamespace(ptr=address, device_id=0)}
    return fake("cupy", "ndarray", **members)()


def tensor(dtype: Any, address: int = 8, **more: Any) -> Any:
    members = {
        "__cuda_array_interface__": None, "dtype": dtype, "is_cuda": True, "get_device": lambda self: 0,
        "data_ptr": lambda self: address, "numel": lambda self: 1, "is_neg": lambda self: False,
    }  # fmt: skip
    return fake("torch", "Tensor", **{name: value for name, value in (members | more).items() if value is not ...})()


LIBRARIES = [("cupy", cupy_array), ("torch", tensor)]


@pytest.mark.parametrize(("library", "make"), LIBRARIES)
def test_the_launch_function_learns_the_type_of_an_accepted_array(library: str, make: Callable[..., Any]) -> None:
    converter = PointerConverter("float*", True)
    names = converter.namespace("x")
    assert names == {"read_x": converter, "cupy_x": None, "torch_x": None, "dtype_x": None}
    other = converter.namespace("y")
    converter.update_in(names, "x")
    converter.update_in(other, "y")
    array = make(Dtype("float32"))
    assert read(converter, array) == 8
    for name, namespace in (("x", names), ("y", other)):
        assert namespace[f"{library}_{name}"] is type(array)
        assert namespace[f"dtype_{name}"] is array.dtype
        assert namespace["torch_" + name if library == "cupy" else "cupy_" + name] is None
    expression = converter.expression("value", "x")
    without_reader = {**names, "read_x": {}, "device": None, "stream": 0, "kept": [], "type_value": type(array)}
    assert eval(expression, {**without_reader, "value": array}) == 8
    array.dtype = Dtype("float32")
    with pytest.raises(KeyError):
        eval(expression, {**without_reader, "value": array})


@pytest.mark.parametrize(("library", "make"), LIBRARIES)
def test_with_several_gpus_the_launch_function_compares_each_arrays(library: str, make: Callable[..., Any]) -> None:
    converter, array = PointerConverter("float*", True), make(Dtype("float32"))
    names = converter.namespace("x")
    converter.update_in(names, "x")
    assert read(converter, array, 0) == 8
    names |= {"read_x": {}, "stream": 0, "kept": [], "value": array, "type_value": type(array)}
    expression = converter.expression("value", "x")
    assert eval(expression, {**names, "device": 0}) == 8
    with pytest.raises(KeyError):  # the reader's turn
        eval(expression, {**names, "device": 1})


def test_the_launch_function_learns_nothing_where_each_tensor_needs_a_check() -> None:
    complex_ = Dtype("float32")
    complex_.is_complex = True
    for array in (tensor(complex_), tensor(Dtype("float32"), is_neg=...)):
        converter = PointerConverter("float*", True)
        names = converter.namespace("x")
        converter.update_in(names, "x")
        assert read(converter, array) == 8
        assert names == converter.namespace("x")


@pytest.mark.parametrize(("library", "make"), LIBRARIES)
def test_the_name_of_an_element_type_is_read_once(library: str, make: Callable[..., Any]) -> None:
    dtype, converter = Dtype("float32"), PointerConverter("float*", True)
    array = make(dtype)
    assert [read(converter, array, 0) for _ in range(3)] == [8] * 3
    assert dtype.reads == 1


@pytest.mark.parametrize("name", ["qint8", "qint32", "quint8", "quint4x2"])
def test_a_quantized_tensor_is_refused(name: str) -> None:
    message = "is a quantized tensor: tensor.int_repr() has its integers"
    assert refused(read, PointerConverter("void*", True), tensor(Dtype(name))) == message
    assert read(PointerConverter("void*", False), tensor(Dtype(name))) == 8


def test_an_address_of_cuda_bindings() -> None:
    pointer = fake("cuda.bindings.driver", "CUdeviceptr", __int__=lambda self: 0x1234)()
    derived = fake("project", "Pointer", type(pointer))()
    for converter in (PointerConverter("float*", True), RawWordConverter(True, False)):
        assert read(converter, pointer) == read(converter, derived) == 0x1234
    for library, members in (("cuda.bindings.driver", {}), ("barracuda.cuda", {"__int__": lambda self: 1})):
        value = fake(library, "Thing", **members)()
        expected = f"takes an array on the GPU, an address or None, not {library.partition('.')[0]}.Thing"
        assert refused(read, PointerConverter("float*", True), value) == expected


def test_an_instance_may_have_the_array_interface(two: Driver) -> None:
    two.pointers[0x5000] = MEMORY_OF_GPU_1
    value = fake("library", "Lazy")()
    value.__cuda_array_interface__ = array_interface(address=0x5000).__cuda_array_interface__
    assert read(PointerConverter("float*", True), value) == 0x5000
    assert read(PointerConverter("float*", True), value, 1) == 0x5000
    assert refused(read, PointerConverter("float*", True), value, 0) == ON_GPU_1


# --- buffers -----------------------------------------------------------------------------------------


def test_the_name_of_a_type_has_the_library_and_the_class() -> None:
    assert type_name(list) == "list"
    assert type_name(fake("library", "Array")) == "library.Array"
    assert type_name(fake("library.inner.module", "Array")) == "library.Array"
