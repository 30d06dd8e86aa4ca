"""The arguments of `RawKernel` have the bytes that CuPy passes, or those of their value, or are refused in words.

Source of what CuPy passes: CuPy, cupy/cuda/function.pyx and cupy/_core/_scalar.pyx.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cuda_wheel.cupy import RawKernel
from cuda_wheel.runtime.errors import ArgumentError
from tests.support.array_libraries import ADDRESS, cupy_array, fake
from tests.support.driver import Driver

pytestmark = pytest.mark.one_toolchain

Takes = Callable[..., RawKernel]
examples = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])

INTEGERS = {
    "int": ("u32", np.int32),
    "unsigned int": ("u32", np.uint32),
    "short": ("u16", np.int16),
    "unsigned char": ("u8", np.uint8),
    "long long": ("u64", np.int64),
    "unsigned long long": ("u64", np.uint64),
}


def sent(driver: Driver, kernel: RawKernel, value: Any) -> bytes:
    kernel((1,), (1,), (value,))
    return driver.launches[-1].arguments or b""


def refusal(kernel: RawKernel, value: Any) -> str:
    with pytest.raises(ArgumentError) as caught:
        kernel((1,), (1,), (value,))
    return str(caught.value)


def in_cupy(value: Any) -> bytes:
    """Return the bytes of a number that CuPy passes."""
    if type(value) is int:
        return int(value).to_bytes(8, "little", signed=value < 0)
    return np.asarray(value).tobytes()


@examples
@given(st.data())
def test_an_integer_has_the_bytes_of_cupy_or_is_refused(takes: Takes, driver: Driver, data: st.DataObject) -> None:
    cpp = data.draw(st.sampled_from(sorted(INTEGERS)))
    type_, dtype = INTEGERS[cpp]
    size = np.dtype(dtype).itemsize
    kinds = [int, *(kind for _, kind in INTEGERS.values())]
    kind = data.draw(st.sampled_from(kinds))
    bounds = (-(1 << 63), (1 << 64) - 1) if kind is int else (np.iinfo(kind).min, np.iinfo(kind).max)
    value = kind(data.draw(st.integers(*map(int, bounds)) | st.integers(0, 100)))
    kernel, given_bytes = takes(cpp, type_, size), in_cupy(value)
    fits = int(np.iinfo(dtype).min) <= int(value) <= int(np.iinfo(dtype).max)
    if len(given_bytes) == size:
        assert sent(driver, kernel, value) == given_bytes
    elif fits:
        assert sent(driver, kernel, value) == dtype(value).tobytes()
    else:
        assert "is out of range" in refusal(kernel, value)


@pytest.mark.parametrize("value", [2.5, np.float32(2.5), np.float64(2.5), np.float16(2.5), np.array([[2.5]])])
@pytest.mark.parametrize(("cpp", "type_", "size", "form"), [("float", "f32", 4, "f"), ("double", "f64", 8, "d")])
def test_a_floating_point_number_keeps_its_value(
    cpp: str, type_: str, size: int, form: str, value: Any, takes: Takes, driver: Driver
) -> None:
    assert sent(driver, takes(cpp, type_, size), value) == struct.pack(form, 2.5)


@pytest.mark.parametrize("check", [True, False])
def test_an_integer_for_a_floating_point_number_is_refused(check: bool, takes: Takes, driver: Driver) -> None:
    """CuPy passes 3 as 4e-45, but 0 as 0."""
    kernel = takes("float", "f32", 4, check=check)
    for value in (3, np.int32(3), True, np.array([3])):
        text = refusal(kernel, value)
        assert text.startswith("k, argument 1 (float): takes a floating-point number, not the integer ")
        assert "of which CuPy would pass the bits: pass " in text
    assert sent(driver, kernel, 0) == sent(driver, kernel, np.int64(0)) == bytes(4)


@pytest.mark.parametrize(
    ("cpp", "value"), [("int", np.float32(1)), ("int", 1.5), ("float", None), ("float", 1j), ("bool", np.int32(2))]
)
def test_what_means_another_number_is_refused(cpp: str, value: Any, takes: Takes) -> None:
    kernel = takes(cpp, {"int": "u32", "float": "f32", "bool": "u8"}[cpp], 1 if cpp == "bool" else 4)
    assert refusal(kernel, value).startswith(f"k, argument 1 ({cpp}): takes ")


def test_pointers_are_arrays_memory_addresses_and_none(takes: Takes, driver: Driver) -> None:
    kernel = takes("float*")
    memory = fake("cupy.cuda.memory", "MemoryPointer")()
    memory.ptr = ADDRESS + 8
    for value, address in (
        (cupy_array(ADDRESS), ADDRESS),
        (memory, ADDRESS + 8),
        (np.uint64(ADDRESS), ADDRESS),
        (np.array([ADDRESS]), ADDRESS),
        (None, 0),
    ):
        assert sent(driver, kernel, value) == struct.pack("<Q", address)
    assert "takes an array of float32, not of float64" in refusal(kernel, cupy_array(ADDRESS, "f8"))
    assert "host memory" in refusal(kernel, np.zeros(3, np.float32))
    assert sent(driver, takes("float*", check=False), cupy_array(ADDRESS, "f8")) == struct.pack("<Q", ADDRESS)


@pytest.mark.parametrize("name", ["TextureObject", "SurfaceObject"])
def test_textures_are_their_handles(name: str, takes: Takes, driver: Driver) -> None:
    texture = fake("cupy.cuda.texture", name)()
    texture.ptr = (1 << 63) + 5
    assert sent(driver, takes("unsigned long long"), texture) == struct.pack("<Q", texture.ptr)


@pytest.mark.parametrize("cpp", ["thrust::complex<float>", "const complex<float>", "float2"])
def test_complex_numbers_are_two_numbers(cpp: str, takes: Takes, driver: Driver) -> None:
    for value in (np.complex64(1 + 2j), 1 + 2j, np.complex128(1 + 2j)):
        assert sent(driver, takes(cpp, "b8", 8), value) == struct.pack("<ff", 1, 2)


def test_structs_are_records_of_their_size_and_scalars_by_their_bytes(takes: Takes, driver: Driver) -> None:
    record = np.array([(3, 2.5)], np.dtype([("n", "i4"), ("x", "f4")]))
    assert sent(driver, takes("Pair", "b8", 8), record) == sent(driver, takes("Pair", "b8", 8), record[0])
    assert sent(driver, takes("Pair", "b8", 8), record) == struct.pack("<if", 3, 2.5)
    assert sent(driver, takes("float16", "b8", 2), np.float16(1.5)) == np.float16(1.5).tobytes()
    for value in (5, -5, 2.5, np.uint64(5), np.complex64(1j)):
        assert sent(driver, takes("", "b8", 8), value) == in_cupy(value)
    assert sent(driver, takes("Pair", "b8", 16), 1 + 2j) == struct.pack("<dd", 1, 2)
    assert "takes a struct of 8 bytes, not the number" in refusal(takes("Pair", "b8", 8), 1 << 64)
    assert "takes a struct of 8 bytes, not the number" in refusal(takes("Pair", "b8", 8), np.float32(1))
    assert "takes a struct of 12 bytes, not 8 bytes" in refusal(takes("Triple", "b8", 12), record)


def array(shape: tuple[int, ...], dtype: str = "f4", strides: tuple[int, ...] = (), *, small: bool = True) -> Any:
    made = cupy_array(ADDRESS, dtype)
    like = np.lib.stride_tricks.as_strided(np.zeros(1, dtype), shape, strides or None)
    made.ndim, made.shape, made.size, made.strides, made.nbytes = len(shape), shape, like.size, like.strides, 1 << 33
    made.flags = SimpleNamespace(c_contiguous=not strides)
    made._index_32_bits = small
    return made


def test_carrays_are_made_of_arrays(takes: Takes, driver: Driver) -> None:
    kernel = takes("CArray<float, 2, true, true>", "b8", 48)
    assert sent(driver, kernel, array((3, 5))) == struct.pack("<6q", ADDRESS, 15, 3, 5, 20, 4)
    assert "takes an array of float32, not of float64" in refusal(kernel, array((3, 5), "f8"))
    assert "takes an array of 2 dimensions, not of 1" in refusal(kernel, array((3,)))
    assert "in C order" in refusal(kernel, array((3, 5), strides=(4, 12)))
    assert "which an index of 32 bits does not reach" in refusal(kernel, array((3, 5), small=False))
    kernel = takes("const CArray<double, 1, false, false>", "b8", 32)
    assert sent(driver, kernel, array((3,), "f8", (16,), small=False)) == struct.pack("<4q", ADDRESS, 3, 3, 16)
    assert sent(driver, kernel, b"x" * 32) == b"x" * 32
    assert "takes a struct of 32 bytes" in refusal(kernel, 3)
    kernel = takes("", "b8", 48)  # of a type that is not known
    assert sent(driver, kernel, array((3, 5), "f8", (8, 24))) == struct.pack("<6q", ADDRESS, 15, 3, 5, 8, 24)
    assert "takes an array of 2 dimensions, not of 1" in refusal(kernel, array((3,)))
    assert sent(driver, takes("", "b8", 16), np.complex128(1 + 2j)) == struct.pack("<dd", 1, 2)
    assert "not an array on the GPU" in refusal(takes("Params", "b8", 48), array((3, 5)))


def test_the_number_of_arguments_and_their_tuple_are_checked(takes: Takes) -> None:
    kernel = takes("int", "u32", 4)
    with pytest.raises(ArgumentError, match=r"k takes 1 argument, \(int\), but got 2"):
        kernel((1,), (1,), (1, 2))
    with pytest.raises(ArgumentError, match=r"k: the third argument is the tuple .* not numpy\.ndarray"):
        kernel((1,), (1,), np.zeros(3))
