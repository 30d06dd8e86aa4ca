"""The NumPy dtype of a parameter, and the format of a vector, by the C++ type."""

from __future__ import annotations

import numpy as np
import pytest

from cuda_wheel.runtime.manifest import Parameter
from cuda_wheel.runtime.parts.dtypes import Field, Struct, vector_format

pytestmark = pytest.mark.one_toolchain


@pytest.mark.parametrize(
    ("cpp", "size", "expected"),
    [
        ("float*", 8, "<u8"), ("const int&", 8, "<u8"), ("bool", 1, "?"), ("__half", 2, "<f2"), ("double", 8, "<f8"),
        ("unsigned char", 1, "<u1"), ("long", 4, "<i4"), ("long", 8, "<i8"), ("unsigned long long", 8, "<u8"),
        ("float2", 8, [("x", "<f4"), ("y", "<f4")]), ("uchar4", 4, [(axis, "u1") for axis in "xyzw"]),
        ("longlong2", 16, [("x", "<i8"), ("y", "<i8")]), ("__half2", 4, [("x", "<f2"), ("y", "<f2")]),
        ("thrust::complex<float>", 8, "<c8"), ("cuda::std::complex<double>", 16, "<c16"),
    ],
)  # fmt: skip
def test_the_dtype_of_a_number_or_vector(cpp: str, size: int, expected: object) -> None:
    assert Parameter("b8", 0, size, cpp).dtype == np.dtype(expected)  # type: ignore[call-overload]


@pytest.mark.parametrize(("cpp", "size"), [("Pair", 8), ("float2", 12), ("float5", 20), ("my_complex<float>", 8)])
def test_a_type_of_the_project_has_no_dtype(cpp: str, size: int) -> None:
    assert vector_format(size, cpp) == ""
    assert Parameter("b8", 0, size, cpp).dtype is None


def test_the_dtype_of_a_struct_has_its_padding_and_the_structs_inside() -> None:
    pair = Struct("Pair", 8, (Field("a", "i1", 0), Field("b", "f4", 4)))
    outer = Struct("Outer", 32, (Field("pairs", "Pair", 8, (2,), pair), Field("n", "i8", 24)))
    found = Parameter("b8", 0, 32, "Outer", "", outer).dtype
    assert found.itemsize == 32 and found.fields["pairs"][1] == 8
    assert found["pairs"].shape == (2,) and found["pairs"].base.fields["b"] == (np.dtype("<f4"), 4)


@pytest.mark.parametrize(
    ("cpp", "size", "expected"),
    [
        ("ulong2", 16, "<2Q"),
        ("ulong2", 8, "<2I"),
        ("dim3", 12, "<3I"),
        ("short3", 6, "<3h"),
        ("double4_16a", 32, "<4d"),
    ],
)
def test_the_format_of_a_vector(cpp: str, size: int, expected: str) -> None:
    assert vector_format(size, cpp) == expected
