"""The names of kernels' instances in the spellings that a person may use."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from cuda_wheel.runtime.errors import UnknownKernelError
from cuda_wheel.runtime.manifest import KernelInfo
from cuda_wheel.runtime.module import ByName
from cuda_wheel.runtime.parts.instance_names import canonical

pytestmark = pytest.mark.one_toolchain


def found(names: Sequence[str], wanted: str) -> str:
    infos = [KernelInfo(name, f"_Z{index}", (), ()) for index, name in enumerate(names)]
    return ByName("demo.k", "kernel", infos, lambda info: info, UnknownKernelError)[wanted].name


@pytest.mark.parametrize(
    ("name", "spellings"),
    [
        (
            "gemm<float, 16>",
            ["gemm<float,16u>", "gemm < float , (int)16 >", "&gemm<float, 0x10>", "::gemm<float, 020>"],
        ),
        (
            "ns::gemm<c10::Half, 16>",
            ["gemm<at::Half, 16>", "ns::gemm<__half, 16>", "gemm<half,16ul>", "gemm<Half, 16>"],
        ),
        ("gemm<__half>", ["gemm<c10::Half>", "gemm<at::Half>", "gemm<half>", "gemm<const half>"[:5] + "half>"]),
        ("k<c10::BFloat16>", ["k<__nv_bfloat16>", "k<at::BFloat16>", "k<nv_bfloat16>"]),
        ("k<long>", ["k<int64_t>", "k<std::int64_t>", "k<long int>", "k<long long>", "k<ptrdiff_t>", "k<signed long>"]),
        ("k<long long>", ["k<int64_t>", "k<long long int>", "k<__int64>"]),
        ("k<unsigned int, unsigned long>", ["k<uint32_t, size_t>", "k<unsigned, std::size_t>", "k<uint,uint64_t>"]),
        ("k<unsigned char, short>", ["k<uint8_t, int16_t>", "k<unsigned char, short int>"]),
        ("k<const float*>", ["k<float const*>", "k<const float *>", "k<float const *>"]),
        ("k<(ns::Color)1, true>", ["k<1, true>", "k<(ns::Color)1, 1>"]),
        ("k<c10::complex<float>>", ["k<thrust::complex<float> >", "k<cuda::std::complex<float>>", "k<cuComplex>"]),
        ("k<a::V<float, 4u>, -3>", ["k<a::V<float,4>,-3>", "k<struct a::V<float, (unsigned int)4>, -3l>"]),
        ("k<long double>", ["k<double long>"]),
    ],
)
def test_an_instance_is_found_by_every_name_that_means_it(name: str, spellings: list[str]) -> None:
    for spelling in [name, *spellings]:
        assert found([name, "other<float>", "gemm<double, 16>", "k<double>"], spelling) == name, spelling


def test_instances_of_types_of_one_layout_are_told_apart() -> None:
    names = ["k<__half>", "k<c10::Half>", "k<long>", "k<long long>", "k<true>", "k<1>", "k<char>", "k<signed char>"]
    for wanted, name in (
        ("k<at::Half>", "k<c10::Half>"),
        ("k<half>", "k<__half>"),
        ("k<int64_t>", "k<long>"),
        ("k<long long int>", "k<long long>"),
        ("k<1u>", "k<1>"),
        ("k<int8_t>", "k<signed char>"),
        *zip(names, names, strict=True),
    ):
        assert found(names, wanted) == name


@pytest.mark.parametrize("wanted", ["k<int>", "k<float, 3>", "k<09>", "k<", "k<'", "<", "k<unsigned>", "k<float*>"])
def test_another_instance_is_not_found(wanted: str) -> None:
    with pytest.raises(UnknownKernelError):
        found(["k<float>", "k<double, 3>", "k<float const*>"], wanted)


def test_a_name_that_means_several_instances_names_their_symbols() -> None:
    with pytest.raises(UnknownKernelError, match="use the symbol instead: _Z0, _Z1"):
        found(["k<16>", "k<16u>"], "k<(int)16>")
    assert found(["k<16>", "k<16u>"], "k<16u>") == "k<16u>"


def test_names_of_lambdas_and_function_types_stay_as_they_are() -> None:
    for name in ("each<run(int*)::{lambda(int)#1}>", "k<void (*)(int)>", "k<float (&)[3]>", "k<>"):
        assert canonical(name) == canonical(canonical(name))
        assert found([name, "k<float>"], name) == name
