"""Fuzz `targets` with hypothesis; `fuzz.py` does so guided by coverage. And replay what was found."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.soak import amount
from tests.soak.fuzz import finds
from tests.soak.targets import TARGETS, FuzzTarget


@pytest.mark.parametrize(("target", "name"), [(target, name) for target in TARGETS for name in finds(target)])
def test_what_was_found_is_mended(target: str, name: str) -> None:
    TARGETS[target].check(finds(target)[name])


def edited(target: FuzzTarget) -> st.SearchStrategy[bytes]:
    """Return what comes of a seed, or of nothing, by putting a few words, bytes and parts of other seeds into it."""
    parts = st.sampled_from([word.encode() for word in target.words]) | st.binary(max_size=6)
    parts |= st.sampled_from(target.seeds).flatmap(
        lambda seed: st.slices(len(seed)).map(lambda part: seed[part.start : part.stop])
    )
    edits = st.tuples(st.floats(0, 1), st.integers(0, 40), st.lists(parts, max_size=4).map(b"".join))

    def edit(seed: bytes, places: list[tuple[float, int, bytes]]) -> bytes:
        for place, lost, new in places:
            at = round(place * len(seed))
            seed = seed[:at] + new + seed[at + lost :]
        return seed

    return st.builds(edit, st.sampled_from([b"", *target.seeds]), st.lists(edits, max_size=6))


@pytest.mark.parametrize("target", TARGETS)
def test_nothing_but_its_own_errors_comes_out(target: str, count: Callable[[str, int], None]) -> None:
    examples = amount(25, 2000)
    settings(max_examples=examples)(given(edited(TARGETS[target]))(TARGETS[target].check))()
    count("executions of hypothesis", examples)


@pytest.mark.parametrize("target", TARGETS)
def test_seeds_hold(target: str) -> None:
    for seed in TARGETS[target].seeds:
        TARGETS[target].check(seed)


LARGE = 1 << 18
"""What is read more than once takes minutes at this size, in bytes."""

EXTERN = "\0.version 8.0\n.target sm_80\n.extern .func f\n(\n);\n"
"""PTX of a kernel that leaves a function to others."""


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
        ("record", "nvidia/c.h,sha256=47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU,", "9", "\n"),
    ],
)  # fmt: skip
def test_what_is_large_is_read_once(target: str, before: str, unit: str, after: str) -> None:
    began = time.process_time()
    TARGETS[target].check((before + unit * (LARGE // len(unit)) + after).encode())
    assert time.process_time() - began < 30  # the longest takes two


def test_macros_that_lead_to_macros_have_an_end() -> None:
    names = [f"#define A{number} A{number + 1}\n" for number in range(2000)]
    calls = [f"#define F{number}(x) F{number + 1}(x x)\n" for number in range(2000)]
    TARGETS["include"].check("".join([*names, *calls, "#include A0\n#include F0(a.h)\n"]).encode())
