"""Which arrays of which libraries a parameter accepts, and the addresses that it gets. The libraries are stand-ins."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, settings

from cuda_wheel.runtime.errors import ArgumentError
from tests.support.array_libraries import cupy_array, fake, torch_tensor
from tests.support.driver import Driver
from tests.support.launches import (
    ByDLPack,
    array_interface,
    core_buffer,
    sent,
    takes,
)

pytestmark = pytest.mark.one_toolchain

# All examples of a test share one stand-in driver; only its record of launches grows.
examples = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])


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
