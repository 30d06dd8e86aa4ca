"""Which arrays and addresses a pointer to vectors or complex numbers accepts."""

from __future__ import annotations

import pytest

from cuda_wheel.runtime.arrays import element_types, is_vector, number_type
from cuda_wheel.runtime.parts.vector_pointers import alignment

pytestmark = pytest.mark.one_toolchain


@pytest.mark.parametrize(
    ("element", "expected"),
    [
        ("float4", 16), ("float3", 4), ("float2", 8), ("double2", 16), ("double4", 16), ("double4_32a", 32),
        ("double4_16a", 16), ("uchar4", 4), ("char2", 2), ("short3", 2), ("ushort4", 8), ("ulonglong2", 16),
        ("long2", 16), ("int1", 4), ("__half2", 4), ("at::Half", 1), ("float", 1), ("Pair", 1), ("std::complex<float>", 1),
        ("thrust::complex<double>", 16), ("c10::complex<float>", 8), ("cuda::std::__4::complex<double>", 16),
        ("c10::complex<c10::Half>", 4),
    ],
)  # fmt: skip
def test_the_alignment_of_vectors(element: str, expected: int) -> None:
    assert alignment(number_type(element), 8) == expected


@pytest.mark.parametrize(
    ("element", "types"),
    [
        ("float4", {"float32", "complex64"}), ("double2", {"float64", "complex128"}), ("uint2", {"uint32"}),
        ("longlong2", {"int64"}), ("ulong2", {"uint64"}), ("uchar4", {"uint8", "bool"}), ("short3", {"int16"}),
        ("__half2", {"float16"}), ("__nv_bfloat162", {"bfloat16", "int16", "uint16"}),
        ("c10::complex<float>", {"complex64"}), ("thrust::complex<double>", {"complex128"}),
        ("c10::complex<c10::Half>", {"complex32"}), ("ns::complex<Mine>", None), ("pixel3", None),
    ],
)  # fmt: skip
def test_the_element_types_of_vectors(element: str, types: set[str] | None) -> None:
    assert is_vector(element)
    assert element_types(element, 8) == types


@pytest.mark.parametrize(
    "element", ["float", "__half", "Pair", "float*", "float4*", "complex_t", "ns::float4", "Vec<float, 4>"]
)
def test_other_types_are_no_vectors(element: str) -> None:
    assert not is_vector(element) and alignment(element, 8) == 1


def test_the_size_of_a_long_may_be_unknown() -> None:
    assert element_types("long2", None) == set()
    assert element_types("long2", 4) == {"int32"}
