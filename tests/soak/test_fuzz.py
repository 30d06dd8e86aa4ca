"""Fuzz `targets` with hypothesis and replay earlier findings; `fuzz.py` fuzzes guided by coverage."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.soak import amount
from tests.soak.fuzz import finds
from tests.soak.targets import TARGETS, FuzzTarget

pytestmark = pytest.mark.one_toolchain


@pytest.mark.parametrize(("target", "name"), [(target, name) for target in TARGETS for name in finds(target)])
def test_earlier_findings_stay_fixed(target: str, name: str) -> None:
    TARGETS[target].check(finds(target)[name])


def edited(target: FuzzTarget) -> st.SearchStrategy[bytes]:
    """Return seeds, or empty inputs, with a few words, bytes and parts of other seeds inserted."""
    parts = st.sampled_from([word.encode() for word in target.words]) | st.binary(max_size=6)
    parts |= st.sampled_from(target.seeds).flatmap(
        lambda seed: st.slices(len(seed)).map(lambda part: seed[part.start : part.stop])
    )
    edits = st.tuples(st.floats(0, 1), st.integers(0, 40), st.lists(parts, max_size=4).map(b"".join))

    def edit(seed: bytes, edits: list[tuple[float, int, bytes]]) -> bytes:
        for fraction, removed, new in edits:
            at = round(fraction * len(seed))
            seed = seed[:at] + new + seed[at + removed :]
        return seed

    return st.builds(edit, st.sampled_from([b"", *target.seeds]), st.lists(edits, max_size=6))


@pytest.mark.parametrize("target", TARGETS)
def test_inputs_cause_only_the_documented_errors(target: str, count: Callable[[str, int], None]) -> None:
    examples = amount(25, 2000)
    settings(max_examples=examples)(given(edited(TARGETS[target]))(TARGETS[target].check))()
    count("executions of hypothesis", examples)


@pytest.mark.parametrize("target", TARGETS)
def test_seeds_pass(target: str) -> None:
    for seed in TARGETS[target].seeds:
        TARGETS[target].check(seed)


LARGE = 1 << 18
"""In bytes. Code that reads an input of this size repeatedly takes minutes."""

EXTERN = "\0.version 8.0\n.target sm_80\n.extern .func f\n(\n);\n"
"""PTX of a module that declares a function and does not define it."""


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("target", "before", "unit", "after"),
    [
        *((target, "", unit, "") for target in ("source", "ptx_reader", "ptx_writer") for unit in ('\\"', "#/*")),
        *(("source", "", unit, "") for unit in ('R"x(', "#define M(x) __global__\nM(a)\n")),
        *(("ptx_reader", "", unit, "") for unit in (".extern .func a", ".extern .func ", ".visible .global a[")),
        ("ptx_reader", ".visible .global ", "a", "!;"),
        ("ptx_reader", ".entry k(.param .b8 x[", "9", "])"),
        ("ptx_reader", ".entry k(.param .align ", "9", " .b8 x[1])"),
        ("ptx_reader", ".target sm_", "9", "\n"),
        ("ptx_writer", "", ".global .a\n", ""),
        ("ptx_writer", ".global .b8 a[", "9", "];"),
        ("symbol", "_Z1k", "i", ""),
        ("symbol", "_ZN", "1a", ""),
        ("symbol", "_Z", "9", ""),
        *(("signatures", "", unit, EXTERN) for unit in ("f(", "f ", "__global__ void k(", "<")),
        *(("mixed_source", "", unit, "") for unit in ("k<<<", "(", "template<class T> ", "/*")),
        *(("include", "", unit, "") for unit in ("#include A(", '#include "a"\n', "__has_include(", "#if 1\n")),
        *(("architecture_list", "", unit, "") for unit in ("90,", "9", "[")),
        ("binary", "", "/*", ""),
        ("settings", "x = ", "[", ""),
        ("settings", "[tool.cuda-wheel]\ntimeout = ", "9", ""),
        ("settings", "[tool.cuda-wheel]\ntimeout = 0x", "F", ""),
        ("settings", "[tool.cuda-wheel]\ndefines = { A = 0x", "F", " }"),
        ("log", "k.cu(", "9", "): error: x"),
        ("log", "k.cu", "./", "(1): error: x"),
        ("log", "k.ll (", "9", ", 1): parse x"),
    ],
)  # fmt: skip
def test_large_inputs_take_linear_time(target: str, before: str, unit: str, after: str) -> None:
    began = time.process_time()
    TARGETS[target].check((before + unit * (LARGE // len(unit)) + after).encode())
    assert time.process_time() - began < 30  # the slowest takes two seconds


def test_long_chains_of_macros_end() -> None:
    names = [f"#define A{number} A{number + 1}\n" for number in range(2000)]
    calls = [f"#define F{number}(x) F{number + 1}(x x)\n" for number in range(2000)]
    TARGETS["include"].check("".join([*names, *calls, "#include A0\n#include F0(a.h)\n"]).encode())
