"""PTX text is read: version, target, kernels and their parameters."""

from __future__ import annotations

import pytest

from cuda_wheel.builder.images import ptx_text
from cuda_wheel.runtime.manifest import Parameter
from cuda_wheel.runtime.parts.formats import ptx
from cuda_wheel.runtime.parts.formats.cubin import read_cubin
from tests.support.linkable import BOTH, compiled
from tests.support.ptx_texts import TEXT


def test_the_version_is_read_and_set() -> None:
    assert ptx.version(TEXT) == (8, 8)
    assert ptx_text.set_version(TEXT, (6, 3)) == TEXT.replace("8.8", "6.3")
    with pytest.raises(ValueError, match=r"without a \.version"):
        ptx.version("ret;")


def test_kernels_are_read_with_their_parameters() -> None:
    expected = {
        "k": (
            Parameter("f32", 0, 4),
            Parameter("u64", 8, 8, "void*"),
            Parameter("b8", 16, 24),
            Parameter("u16", 40, 2),
        ),
        "empty": (),
        "bare": (),
    }
    assert ptx.kernels(TEXT) == ptx.kernels(ptx_text.normalise(TEXT)) == expected


def test_parameters_are_read_whatever_their_attributes() -> None:
    text = ".entry k(.param .u64 .ptr .const .align 16 a,.param .u64 .ptr b, .param .align 4 .b8 c[4], .param .u8 d)\n{"
    assert ptx.kernels(text)["k"] == (
        Parameter("u64", 0, 8, "void*"),
        Parameter("u64", 8, 8, "void*"),
        Parameter("b8", 16, 4),
        Parameter("u8", 20, 1),
    )


def test_ptx_and_cubin_have_the_same_symbols() -> None:
    text = ptx.symbols(compiled(BOTH, "ptx", "90").decode())
    cubin = read_cubin(compiled(BOTH, "cubin", "90"))
    assert text == cubin.symbols
    assert text.defined == {"counter", "table", "_Z6helperf", "_Z4workPf"}
    assert text.weak == {"_Z5twiceIfET_S0_"}
    assert text.undefined == {"user_transform", "vprintf"}
    assert cubin.kernels.keys() == {"_Z4workPf"}
    assert cubin.variables == ptx.variables(compiled(BOTH, "ptx").decode())
    assert cubin.variables == {"counter": ("global", 4), "table": ("constant", 16)}


def test_declarations_may_span_lines_and_comments_do_not_count() -> None:
    text = """
    .version 8.0
    // .visible .func commented
    .extern .func
      (.param .b32 r) wanted
      (.param .b32 p);
    .extern .func never (.param .b32 p);
    .visible .func (.param .b32 r)
      made (.param .b32 p)
    { call (r), wanted, (p); }
    .visible .func declared (.param .b32 p);
    .visible .global .align 4 .b8 grid[2][3] = {1};
    .weak .const .align 8 .u64 limit = 5; .visible .global .align 16 .v4 .f32 vector;
    .visible .global .attribute(.managed) .align 4 .b8 shared_by_both[] = {1, 2, 3};
    .global .align 4 .u32 own; .extern .global .align 4 .u32 elsewhere;
    """
    assert ptx.symbols(text) == ({"made", "grid", "vector", "shared_by_both"}, {"limit"}, {"wanted"})
    assert ptx.variables(text) == {
        "grid": ("global", 6), "limit": ("constant", 8), "vector": ("global", 16), "shared_by_both": ("managed", 3),
    }  # fmt: skip
    assert ptx.extern_declarations(text) == {
        "wanted": ".func (.param .b32 r) wanted (.param .b32 p)",
        "never": ".func never (.param .b32 p)",
        "elsewhere": ".global .align 4 .u32 elsewhere",
    }
