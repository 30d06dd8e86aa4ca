"""The globs that an error proposes: they match what they must and nothing else, and are few."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cuda_wheel.builder.manifest_writer.kernel_table import Names, matches, shortest_globs

pytestmark = pytest.mark.one_toolchain

WORDS = st.sampled_from(["gemm", "conv", "f8", "e4m3", "e5m2", "f16", "k<float, 4>", "k<int*>", "x[3]", "a?", "*", "9"])
PLAIN = st.lists(WORDS, min_size=1, max_size=4).map("_".join)
KERNELS = st.lists(st.tuples(PLAIN, st.integers(0, 40)), unique_by=lambda each: each[1], min_size=1, max_size=25).map(
    lambda pairs: [(name, f"_Z{number}{'x' * (number % 3)}") for name, number in pairs]
)


def is_matched(kernel: Names, globs: list[str]) -> bool:
    return any(matches(name, glob) for name in kernel for glob in globs)


@given(KERNELS, st.data())
def test_globs_match_every_wanted_name_and_no_other(kernels: list[Names], data: st.DataObject) -> None:
    """Kernels may have equal C++ names; their symbols differ."""
    count = data.draw(st.integers(1, len(kernels)))
    wanted, others = kernels[:count], kernels[count:]
    globs = shortest_globs(wanted, others)
    assert all(is_matched(kernel, globs) for kernel in wanted), globs
    assert not any(is_matched(kernel, globs) for kernel in others), globs
    assert len(globs) <= len(wanted)
    assert globs == sorted(globs) and len(set(globs)) == len(globs)
    for glob in globs:
        assert (
            not all(is_matched(kernel, [each for each in globs if each != glob]) for kernel in wanted) or len(globs) < 3
        )


@given(st.lists(PLAIN, min_size=2, max_size=30, unique=True), st.lists(PLAIN, max_size=10))
def test_names_with_a_common_end_are_one_glob(stems: list[str], others: list[str]) -> None:
    wanted = [(f"{stem}_f8_e4m3",) for stem in stems]
    unwanted = [(f"{name}_bf16",) for name in others]
    assert len(shortest_globs(wanted, unwanted)) == 1


@pytest.mark.parametrize(
    ("wanted", "others", "expected"),
    [
        ([f"copy_{i}_f8_e4m3" for i in range(20)], ["copy_1_f8_e5m2", "copy_2_f16"], ["*_f8_e4m3"]),
        ([f"gemm_{i}" for i in range(9)], ["conv_1"], ["gemm_*"]),
        ([f"{a}_{b}_x" for a in "ab" for b in "cd"], ["e_c_x"], ["a_*", "b_*"]),
        ([f"copy_{i}_f8" for i in range(4)], ["copy_1_f16", "gemm_1_f8"], ["copy_*_f8"]),
        ([f"{a}_f8_{b}" for a in ("gemm", "conv") for b in "xyz"], ["gemm_f4_x", "conv_f16_y"], ["*_f8_*"]),
        (["later<float>"], ["later<double>"], ["later<float>"]),
        (["k<float, 16>", "k<float, 32>"], ["k<int, 16>"], ["k<float,*"]),
        (["k<float*>", "k[4]"], ["k<float>"], ["k<float[*]>", "k[[]4]"]),
    ],
)
def test_examples(wanted: list[str], others: list[str], expected: list[str]) -> None:
    assert shortest_globs([(name,) for name in wanted], [(name,) for name in others]) == expected


def test_an_overload_is_named_by_its_symbol() -> None:
    assert shortest_globs([("k", "_Z1kPf")], [("k", "_Z1kPi")]) == ["_Z1kPf"]


def test_many_names_do_not_take_long() -> None:
    wanted = [(f"k{i % 7}_{i}_{'f8' if i % 2 else 'f4'}", f"_Z{i}") for i in range(1000)]
    others = [(f"k{i % 7}_{i}_f16", f"_Y{i}") for i in range(1000)]
    assert shortest_globs(wanted, others) == ["*_f4", "*_f8"]
