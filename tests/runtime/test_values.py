"""Each argument reaches the kernel with its exact value, or is refused in words. NumPy's casting rules are the judge."""

from __future__ import annotations

import ctypes
import struct
from decimal import Decimal
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cuda_wheel.runtime.errors import ArgumentError
from cuda_wheel.runtime.manifest import GlobalInfo, Image, KernelInfo, Manifest, Parameter, Target
from cuda_wheel.runtime.module import Kernel, Module
from tests.support.array_libraries import fake
from tests.support.driver import Driver, handle_of
from tests.support.launches import array_interface

pytestmark = pytest.mark.one_toolchain

examples = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=300, deadline=None)


def kernel_of(*parameters: Parameter, long_size: int | None = None, others: tuple[KernelInfo, ...] = ()) -> Kernel:
    info = KernelInfo("k", "_Z1k", parameters)
    manifest = Manifest("a.b", "b.fatbin", 0, "", {}, (), (), (), (info, *others), long_size=long_size)
    image = Image("cubin", Target.parse("sm_80"), None, None, (12, 0), 0, 0, "", {})
    return Kernel(Module(manifest, image, "native", 0xF00D), info, handle_of(info.parameters))


def takes(cpp: str, type_: str = "u64", size: int = 8, **more: Any) -> Kernel:
    """Return a kernel with one parameter."""
    return kernel_of(Parameter(type_, 0, size, cpp), **more)


def sent(driver: Driver, kernel: Kernel, *args: Any, **more: Any) -> bytes:
    """Launch a kernel, and return the bytes of the arguments that the driver gets."""
    kernel.launch(1, 1, *args, **more)
    arguments = driver.launches[-1].arguments
    assert arguments is not None
    return arguments


# --- numbers, against NumPy --------------------------------------------------------------------------

TYPES = {
    "signed char": "i1", "unsigned char": "u1", "short": "i2", "unsigned short": "u2", "int": "i4", "unsigned int": "u4",
    "long": "i8", "unsigned long": "u8", "long long": "i8", "unsigned long long": "u8",
    "bool": "?", "float": "f4", "double": "f8", "__half": "f2",
}  # fmt: skip
DTYPES = [
    "?",
    "i1",
    "u1",
    "i2",
    "u2",
    "i4",
    "u4",
    "i8",
    "u8",
    "f2",
    "f4",
    "f8",
    "g",
    "c8",
    "c16",
    "M8[s]",
    "m8[s]",
    "S3",
]


def expected_bytes(value: Any, dtype: np.dtype[Any]) -> bytes | None:
    """Return the bytes of a number as NumPy converts it; None where the conversion loses its kind or its range."""
    if isinstance(value, np.ndarray):
        if value.ndim:
            return None
        value = value[()]
    if isinstance(value, np.generic):
        source = value.dtype
    elif isinstance(value, (bool, int, float)):
        source = np.dtype(type(value))
    elif isinstance(value, (Decimal, Fraction)):
        source = np.dtype(float)
    else:
        return None
    if dtype.kind == "b":
        fits = source.kind == "b" or (type(value) is int and value in (0, 1))
        return bytes([bool(value)]) if fits else None
    if dtype.kind in "iu":
        limits = np.iinfo(dtype)
        fits = source.kind in "biu" and limits.min <= int(value) <= limits.max
        return dtype.type(int(value)).tobytes() if fits else None
    if source.kind not in "biuf":
        return None
    try:
        with np.errstate(over="ignore", under="ignore"):
            result = dtype.type(float(value))
    except OverflowError:
        return None
    is_infinite = (
        value.is_infinite() if isinstance(value, Decimal) else source.kind == "f" and value in (np.inf, -np.inf)
    )
    return None if np.isinf(result) and not is_infinite else result.tobytes()


def scalars(name: str) -> st.SearchStrategy[Any]:
    """Return scalars of a NumPy type, its extremes more often."""
    dtype = np.dtype(name)
    if dtype.kind in "iu":
        limits = np.iinfo(dtype)
        return st.one_of(st.integers(limits.min, limits.max), st.sampled_from([limits.min, limits.max])).map(dtype.type)
    if dtype.kind == "f":
        special = [0.0, -0.0, 1.5, 65504.0, 65536.0, 3.4e38, 3.5e38, 1e308, np.inf, -np.inf]
        large = [np.longdouble("1e4000"), np.longdouble("-1e4000"), np.longdouble("0.1")] if name == "g" else []
        with np.errstate(over="ignore"):
            return st.sampled_from([dtype.type(value) for value in special] + large)
    made = {"?": [np.True_, np.False_], "c8": [np.complex64(1)], "c16": [np.complex128(2)], "S3": [np.bytes_(b"abc")]}
    return st.sampled_from(made.get(name) or [np.array(5, "i8").view(dtype)[()]])


def in_array(value: Any, form: str) -> Any:
    """Return a scalar in an array of NumPy."""
    array = np.array(value)
    if form == "big-endian":
        return array.astype(array.dtype.newbyteorder(">"))
    return array.reshape(1) if form == "one element" else array


NUMPY = st.sampled_from(DTYPES).flatmap(scalars)
VALUES = st.one_of(
    st.integers(-(1 << 65), 1 << 65),
    st.integers(-300, 300),
    st.booleans(),
    st.floats(allow_nan=False),
    st.sampled_from([1 << 1100, -(1 << 1100), None, "1", b"1", b"1234", 1j, (1,), [1], object()]),
    st.sampled_from(
        [*map(Decimal, ("0.1", "1e39", "1e400", "-1e400", "Infinity", "7")), Fraction(1, 3), Fraction(10**400)]
    ),
    st.sampled_from([ctypes.c_int(5), ctypes.c_float(5), ctypes.c_double(5), ctypes.c_uint8(200), ctypes.c_int64(-1)]),
    NUMPY,
    st.builds(in_array, NUMPY, st.sampled_from(["no dimensions", "big-endian", "one element"])),
)


@pytest.mark.slow
@examples
@given(st.sampled_from(sorted(TYPES)), st.booleans(), st.lists(VALUES, min_size=1, max_size=12))
def test_a_number_is_passed_exactly_or_refused(
    driver: Driver, cpp: str, grid_constant: bool, values: list[Any]
) -> None:
    """One kernel gets all values in turn: what it learns from one must be right for the next."""
    dtype = np.dtype(TYPES[cpp])
    ptx_type = "b8" if grid_constant or cpp == "__half" else f"{'f' if dtype.kind == 'f' else 'u'}{8 * dtype.itemsize}"
    kernel = takes(cpp, ptx_type, dtype.itemsize)
    for value in values:
        expected = expected_bytes(value, dtype)
        if expected is None:
            with pytest.raises(ArgumentError, match=rf"^k, argument 1 \({cpp}\): \S.*"):
                kernel.launch(1, 1, value)
        else:
            assert sent(driver, kernel, value) == expected


@pytest.mark.parametrize(
    ("cpp", "type_", "size"), [("int", "u32", 4), ("double", "f64", 8), ("bool", "u8", 1), ("", "u64", 8)]
)
def test_a_masked_number_is_refused(driver: Driver, cpp: str, type_: str, size: int) -> None:
    kernel = takes(cpp, type_, size)
    number = True if cpp == "bool" else 1
    assert sent(driver, kernel, np.ma.array(number)) == sent(driver, kernel, number)
    for masked in (np.ma.masked, np.ma.array(number, mask=True)):
        with pytest.raises(ArgumentError, match=r"^k, argument 1 "):
            kernel.launch(1, 1, masked)


@pytest.mark.parametrize(
    ("cpp", "size", "value", "expected"),
    [
        ("int", 4, 5, struct.pack("<i", 5)),
        ("int", 4, np.int8(-3), struct.pack("<i", -3)),
        ("float", 4, 1, struct.pack("<f", 1)),
        ("float", 4, np.float64(0.5), struct.pack("<f", 0.5)),
        ("double", 8, np.float32(0.5), struct.pack("<d", 0.5)),
        ("bool", 1, np.True_, b"\1"),
        ("unsigned long", 4, 7, struct.pack("<I", 7)),
    ],
)
@pytest.mark.parametrize("check", [True, False])
def test_a_grid_constant_number_is_a_number(
    driver: Driver, cpp: str, size: int, value: Any, expected: bytes, check: bool
) -> None:
    """In PTX it is an array of bytes."""
    assert sent(driver, takes(cpp, "b8", size), value, check=check) == expected


@pytest.mark.parametrize("cpp", ["float", "int", ""])
@pytest.mark.parametrize("type_", ["b32", "f32", "u32"])
def test_the_cpp_type_comes_before_the_ptx_type(driver: Driver, cpp: str, type_: str) -> None:
    """Some compilers write .b32 for every type of 4 bytes."""
    if cpp == "int" or (not cpp and type_ == "u32"):
        expected = struct.pack("<i", 7)
        with pytest.raises(ArgumentError, match="takes an integer, not"):
            takes(cpp, type_, 4).launch(1, 1, np.float64(7))
    else:
        expected = struct.pack("<f", 7)
    value = 7 if expected == struct.pack("<i", 7) else 7.0
    assert sent(driver, takes(cpp, type_, 4), value) == expected


@pytest.mark.parametrize(
    "number",
    [5, 1.5, True, np.float32(1), np.int32(1), np.array(1, "i4"), ctypes.c_float(1), Decimal(1), np.datetime64(1, "s")],
)
@pytest.mark.parametrize(("cpp", "size"), [("Pair", 4), ("", 4), ("Pair", 8), ("", 3)])
def test_the_bytes_of_a_number_are_not_those_of_a_struct(driver: Driver, number: Any, cpp: str, size: int) -> None:
    with pytest.raises(ArgumentError, match=rf"takes a struct of {size} bytes, not the number .*tobytes\(\)$"):
        takes(cpp, "b8", size).launch(1, 1, number)
    assert sent(driver, takes(cpp, "b8", size), b"abcdefgh"[:size]) == b"abcdefgh"[:size]


@pytest.mark.parametrize(
    ("cpp", "size", "value"),
    [
        ("float2", 8, np.array([1, 2], ">f4")),
        ("Pair", 8, np.array([1, 2], ">f4")),
        ("Pair", 8, np.array([(1, 2)], [("a>b", "<f4"), ("c", ">i4")])),
        ("Pair", 8, np.array([(1, 2)], [("a", "<f4"), ("c", ">i4")])[0]),
        ("Pair", 8, np.ma.array([1, 2], "i4", mask=[0, 1])),
        ("float2", 8, np.ma.array([1, 2], "f4", mask=[0, 1])),
        ("float4", 16, np.array([1], "g")),
        ("float1", 4, np.array([1, 2], "f2")),
        ("double2", 16, np.array([1, 2], "c8")),
        ("float4", 16, np.array([1], "c16")),
        ("float2", 8, np.array([(1, 2)], [("x", "i4"), ("y", "i4")])),
        ("float2", 8, (Decimal("1e400"), 1)),
        ("double2", 16, (np.longdouble("1e4000"), 1)),
        ("cuda::std::complex<double>", 16, np.clongdouble(np.longdouble("1e4000"))),
        ("float2", 8, ("1", "2")),
        ("float2", 8, (1j, 2)),
    ],
)
def test_a_struct_is_never_filled_with_other_numbers(driver: Driver, cpp: str, size: int, value: Any) -> None:
    with pytest.raises(ArgumentError, match=r"^k, argument 1 \("):
        takes(cpp, "b8", size).launch(1, 1, value)


@pytest.mark.parametrize(
    ("cpp", "value", "expected"),
    [
        ("float2", np.array([(1, 2)], [("x", "f4"), ("y", "f4")]), struct.pack("<2f", 1, 2)),
        ("float2", np.array([1, 2], "f2"), struct.pack("<2f", 1, 2)),
        ("float2", np.array([1 + 2j], "c16"), struct.pack("<2f", 1, 2)),
        ("int2", (np.True_, np.array(5)), struct.pack("<2i", 1, 5)),
        ("int2", np.array([True, False]), struct.pack("<2i", 1, 0)),
        ("Pair", np.array([(1, 2)], [("a>b", "f4"), ("!", "i4")]), struct.pack("<fi", 1, 2)),
    ],
)
def test_a_struct_takes_its_own_elements(driver: Driver, cpp: str, value: Any, expected: bytes) -> None:
    assert sent(driver, takes(cpp, "b8", 8), value) == expected


# --- pointers ----------------------------------------------------------------------------------------


class Tensor:
    """Imitates PyTorch's tensors; `tests/gpu/test_values.py` has real ones."""

    __dlpack__ = None
    __cuda_array_interface__ = property(lambda self: array_interface().__cuda_array_interface__)

    def __init__(self, address: int = 8, dtype: Any = None, **more: Any) -> None:
        self.dtype = dtype or FLOAT32
        self.is_cuda, self.device = True, "cuda:0"
        self.address, self.is_pinned_, self.negative, self.conjugated, self.elements = address, False, False, False, 1
        self.__dict__ |= more

    def is_pinned(self) -> bool:
        return self.is_pinned_

    def is_neg(self) -> bool:
        return self.negative

    def is_conj(self) -> bool:
        return self.conjugated

    def numel(self) -> int:
        return self.elements

    def get_device(self) -> int:
        return int(self.device.partition(":")[2] or -1)

    def data_ptr(self) -> int:
        return self.address


Tensor.__module__ = "torch"
Dtype = fake("torch", "dtype", __str__=lambda self: f"torch.{self.name}")
FLOAT32, COMPLEX64, QUINT8 = Dtype(), Dtype(), Dtype()
for each, name in ((FLOAT32, "float32"), (COMPLEX64, "complex64"), (QUINT8, "quint8")):
    each.name, each.is_complex = name, name.startswith("c")
EIGHT = (8).to_bytes(8, "little")
SIXTEEN = (16).to_bytes(8, "little")


@pytest.mark.parametrize("check", [True, False])
@pytest.mark.parametrize(
    ("bad", "message"),
    [
        (Tensor(negative=True), r"is a lazily negated tensor: pass tensor\.resolve_neg\(\)$"),
        (Tensor(0), r"is a tensor without memory, such as PyTorch's fake tensors and zero tensors$"),
        (Tensor(dtype=COMPLEX64, conjugated=True), r"resolve_conj\(\)$"),
        (Tensor(dtype=COMPLEX64, negative=True), r"resolve_neg\(\)$"),
    ],
)
def test_a_tensor_whose_memory_says_something_else_is_refused_each_time(
    driver: Driver, bad: Tensor, message: str, check: bool
) -> None:
    """After a good tensor of the same type, the launch function reads tensors without a call of the converter."""
    kernel = takes("void*")
    for _ in range(2):
        assert sent(driver, kernel, Tensor(dtype=bad.dtype), check=check) == EIGHT
        with pytest.raises(ArgumentError, match=message):
            kernel.launch(1, 1, bad, check=check)


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        (Tensor(is_cuda=False, device="cpu"), r"is a tensor in host memory: \.cuda\(\) copies it$"),
        (Tensor(is_cuda=False, device="meta"), "is a tensor on the device 'meta', not on a GPU of CUDA$"),
        (Tensor(dtype=QUINT8), r"is a quantized tensor: tensor\.int_repr\(\) has its integers$"),
    ],
)
def test_a_tensor_that_is_not_on_the_gpu_is_refused_each_time(driver: Driver, bad: Tensor, message: str) -> None:
    kernel = takes("void*")
    for _ in range(2):
        assert sent(driver, kernel, Tensor()) == EIGHT
        with pytest.raises(ArgumentError, match=message):
            kernel.launch(1, 1, bad)


def test_an_empty_tensor_has_no_address(driver: Driver) -> None:
    kernel = takes("float*")
    for tensor in (Tensor(), Tensor(0, elements=0), Tensor(), Tensor(0, elements=0)):
        assert sent(driver, kernel, tensor) == tensor.address.to_bytes(8, "little")


def test_with_several_gpus_the_device_of_each_tensor_is_checked(two: Driver) -> None:
    """No launch may read a tensor without the check of its GPU, also after many on the right one."""
    kernel = takes("float*")
    for _ in range(3):
        assert sent(two, kernel, Tensor()) == EIGHT
        with pytest.raises(ArgumentError, match="is an array on GPU 1, but the launch is on GPU 0"):
            kernel.launch(1, 1, Tensor(device="cuda:1"))


def test_with_one_gpu_a_launch_asks_the_driver_for_no_device(driver: Driver, monkeypatch: pytest.MonkeyPatch) -> None:
    kernel = takes("float*")
    sent(driver, kernel, Tensor())
    driver.context.device = 0
    for name in ("cuCtxGetDevice", "_pointer_attribute"):
        monkeypatch.setattr(driver, name, None)
    for array in (Tensor(), array_interface(), Tensor()):
        assert sent(driver, kernel, array) == EIGHT


MEMORY = {"DEVICE_ORDINAL": 1, "MEMORY_TYPE": 2, "IS_MANAGED": 0}


@pytest.mark.parametrize(
    ("attributes", "is_refused"),
    [
        (MEMORY, True),
        (MEMORY | {"DEVICE_ORDINAL": 0}, False),
        (MEMORY | {"MEMORY_TYPE": 1}, False),
        (MEMORY | {"IS_MANAGED": 1}, False),
        (None, False),
    ],
)
def test_the_gpu_of_an_array_interface_is_that_of_its_memory(
    two: Driver, attributes: dict[str, int] | None, is_refused: bool
) -> None:
    """Pinned host memory and managed memory serve every GPU."""
    kernel = takes("float*")
    if attributes is not None:
        two.pointers[0x5000] = attributes
    array = array_interface(address=0x5000)
    for _ in range(2):
        if is_refused:
            with pytest.raises(ArgumentError, match=r"\(float\*\): is an array on GPU 1, but the launch is on GPU 0"):
                kernel.launch(1, 1, array)
        else:
            sent(two, kernel, array)
    assert sent(two, kernel, array, check=False) == (0x5000).to_bytes(8, "little")
    assert sent(two, kernel, array_interface(address=0, shape=(0,))) == bytes(8)


READ_ONLY = array_interface(read_only=True)


@pytest.mark.parametrize(
    ("cpp", "array", "accepted"),
    [
        ("const float*", READ_ONLY, True),
        ("const void*", READ_ONLY, True),
        ("const volatile float*", READ_ONLY, True),
        ("const Box<int>*", READ_ONLY, True),
        ("const float&", READ_ONLY, True),
        ("float* const*", array_interface(typestr="<u8", read_only=True), True),
        ("void*", READ_ONLY, False),
        ("", READ_ONLY, False),
        ("const float**", array_interface(typestr="<u8", read_only=True), False),
        ("Box<int, const float>*", READ_ONLY, False),
        ("Box<const float>*", READ_ONLY, False),
        ("constants*", READ_ONLY, False),
    ],
)
def test_a_read_only_array_needs_a_pointer_to_const(driver: Driver, cpp: str, array: Any, accepted: bool) -> None:
    kernel = takes(cpp)
    if accepted:
        assert sent(driver, kernel, array) == EIGHT
    else:
        with pytest.raises(ArgumentError, match=r"is a read-only array, but the kernel may write to it$"):
            kernel.launch(1, 1, array)
        assert sent(driver, kernel, array, check=False) == EIGHT


@pytest.mark.parametrize("cpp", ["float*", "void*", "Pair*", "", "const float*"])
def test_arrays_that_mean_something_else_than_their_memory(driver: Driver, cpp: str) -> None:
    kernel = takes(cpp)
    big_endian = fake("cupy", "ndarray", __cuda_array_interface__=None)()
    big_endian.dtype, big_endian.data = np.dtype(">f4"), SimpleNamespace(ptr=8, device_id=0)
    for array, message in (
        (array_interface(typestr=">f4"), "holds big-endian numbers, and GPUs are little-endian$"),
        (big_endian, "holds big-endian numbers, and GPUs are little-endian$"),
        (array_interface(mask=array_interface(typestr="|b1")), "has masked elements"),
    ):
        for _ in range(2):
            with pytest.raises(ArgumentError, match=message):
                kernel.launch(1, 1, array)
        assert sent(driver, kernel, array, check=False) == EIGHT
    assert sent(driver, kernel, array_interface(mask=None)) == EIGHT


@pytest.mark.parametrize("long_size", [4, 8, None])
@pytest.mark.parametrize("by_value", [False, True])
@pytest.mark.parametrize("cpp", ["long*", "unsigned long*", "const long2*", "ulong4*"])
def test_a_pointer_to_long_takes_arrays_of_the_size_that_the_code_has(
    driver: Driver, long_size: int | None, by_value: bool, cpp: str
) -> None:
    """The manifest says it, or a parameter of any kernel that is a long."""
    others = (KernelInfo("o", "_Z1ol", (Parameter("u64", 0, long_size, "long"),)),) if by_value and long_size else ()
    kernel = takes(cpp, long_size=None if by_value else long_size, others=others)
    sign = "u" if "u" in cpp.removeprefix("const ")[:1] else "i"
    for size in (4, 8):
        array = array_interface(typestr=f"<{sign}{size}", address=16)
        if size == long_size:
            assert sent(driver, kernel, array) == SIXTEEN
            continue
        message = (
            r"takes an array of u?int\d\d, not of"
            if long_size
            else "how many bytes a long has in this code is not known"
        )
        with pytest.raises(ArgumentError, match=message):
            kernel.launch(1, 1, array)
    assert sent(driver, kernel, 16) == SIXTEEN


@pytest.mark.parametrize(("cpp", "dtype"), [("signed char*", "|u1"), ("unsigned char*", "|i1"), ("uchar4*", "|i1")])
def test_arrays_keep_their_sign(driver: Driver, cpp: str, dtype: str) -> None:
    with pytest.raises(ArgumentError, match="takes an array of"):
        takes(cpp).launch(1, 1, array_interface(typestr=dtype))


class Versioned:
    """An array with DLPack 1.0 only. Source: DLPack, "C API": DLManagedTensorVersioned."""

    def __init__(self, flags: int) -> None:
        content = struct.pack("<IIQQQ", 1, 0, 0, 0, flags)
        content += struct.pack("<QiiiBBHQQQ", 0x1000, 2, 0, 0, 2, 32, 1, 0, 0, 0x20)
        self._memory = ctypes.create_string_buffer(content)

    def __dlpack_device__(self) -> tuple[int, int]:
        return 2, 0

    def __dlpack__(self, *, stream: int, max_version: tuple[int, int]) -> Any:
        assert stream in (1, -1) and max_version >= (1, 0)
        new = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
        return new(("PyCapsule_New", ctypes.pythonapi))(ctypes.addressof(self._memory), b"dltensor_versioned", None)


def test_dlpack_says_whether_an_array_is_read_only(driver: Driver) -> None:
    address = (0x1020).to_bytes(8, "little")
    assert sent(driver, takes("float*"), Versioned(0)) == address
    assert sent(driver, takes("const float*"), Versioned(1)) == address
    with pytest.raises(ArgumentError, match=r"is a read-only array, but the kernel may write to it$"):
        takes("float*").launch(1, 1, Versioned(1))


# --- variables ---------------------------------------------------------------------------------------


@pytest.fixture
def table(driver: Driver) -> Any:
    """Return a variable of 16 bytes."""
    driver.memory[b"table"] = (ctypes.c_uint8 * 16)()
    manifest = Manifest("a.b", "b.fatbin", 0, "", {}, (), (), (), (), (GlobalInfo("table", "table", "global", 16),))
    image = Image("cubin", Target.parse("sm_80"), None, None, (12, 0), 0, 0, "", {})
    return Module(manifest, image, "native", 0xF00D).globals["table"]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (np.zeros(2, ">f4"), r"^the numpy\.ndarray holds big-endian numbers"),
        (np.ma.array([1, 2], mask=[0, 1]), r"^the numpy\.MaskedArray may have masked elements"),
        (array_interface(typestr=">f4"), r"^the numba\.DeviceArray holds big-endian numbers"),
        (array_interface(mask=1), r"^the numba\.DeviceArray has masked elements"),
        (Tensor(negative=True), r"^the torch\.Tensor is a lazily negated tensor: pass tensor\.resolve_neg\(\)$"),
        (Tensor(conjugated=True), r"^the torch\.Tensor is a lazily conjugated tensor: pass tensor\.resolve_conj\(\)$"),
    ],
)
def test_a_variable_takes_no_memory_that_means_something_else(table: Any, data: Any, message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        table.write(data)
