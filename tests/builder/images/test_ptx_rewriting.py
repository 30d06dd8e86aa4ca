"""PTX text is rewritten for a build: stubs for what other modules define, normal text, and lower versions."""

from __future__ import annotations

import re

import pytest

from cuda_wheel.builder.errors import CompileError, ConfigError
from cuda_wheel.builder.images import ptx_text
from cuda_wheel.builder.images.lowering import lower
from cuda_wheel.runtime.manifest import Version
from cuda_wheel.runtime.parts.formats import ptx

HEAD = ".version 9.5\n.target sm_89\n.address_size 64\n"


# --- what other modules define ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", {}),
        (".visible .func f() { ret; }\n", {}),
        (".extern .func f\n(\n)\n;\n", {"f": ".func f ( )"}),
        (".extern .global .align 4 .b8 x[];\n", {"x": ".global .align 4 .b8 x[]"}),
        (".extern .const .align 4 .f32 c;\n", {"c": ".const .align 4 .f32 c"}),
        (".extern .shared .align 4 .b8 s[];\n", {}),
        (".extern .func (.param .b32 r) vprintf(.param .b64 a, .param .b64 b);\n", {}),
        (".extern .func (.param .b64 r) malloc(.param .b64 a);\n.extern .func free(.param .b64 a);\n", {}),
        (
            ".extern .func __assertfail(.param .b64 a);\n.extern .func mine(.param .b64 a);\n",
            {"mine": ".func mine(.param .b64 a)"},
        ),
    ],
)
def test_undefined_symbols_are_those_that_neither_the_text_nor_the_driver_defines(
    text: str, expected: dict[str, str]
) -> None:
    assert ptx_text.undefined(HEAD + text) == expected


@pytest.mark.parametrize(
    "head",
    [
        ".version 8.8\n.target sm_80, debug\n.address_size 64\n",
        "\t.version 8.8\n  .target sm_80\n .address_size 64\n",
    ],
)
@pytest.mark.parametrize(
    ("declarations", "definitions"),
    [
        ((), ""),
        (
            (".func (.param .b32 r) f (.param .b64 a)", ".func g ( )"),
            ".visible .func (.param .b32 r) f (.param .b64 a) { ret; }\n.visible .func g ( ) { ret; }\n",
        ),
        ((".global .align 4 .b8 x[]",), ".visible .global .align 4 .b8 x[1];\n"),
        ((".global .align 4 .b8 x[ ]",), ".visible .global .align 4 .b8 x[1];\n"),
        (
            (".const .align 4 .b8 c[12]", ".global .u32 n"),
            ".visible .const .align 4 .b8 c[12];\n.visible .global .u32 n;\n",
        ),
    ],
)
def test_stubs_define_what_is_declared_with_the_head_of_the_text(
    head: str, declarations: tuple[str, ...], definitions: str
) -> None:
    # The later lines look like a head, but are none.
    text = f"// a comment\n\n{head}.extern .func g();\n/*\n.version 1.0\n.target sm_10\n*/\n.address_size 32\n"
    assert ptx_text.stub_definitions(text, declarations) == head + definitions


def test_stubs_define_all_that_is_undefined() -> None:
    text = HEAD + ".extern .func f();\n.extern .global .align 8 .b8 table[];\n.visible .entry k() { ret; }\n"
    stubs = ptx_text.stub_definitions(text, ptx_text.undefined(text).values())
    assert ptx_text.undefined(stubs) == {}
    assert ptx.symbols(stubs).defined == {"f", "table"}


# --- normal text -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("ret;\n\0", "\nret;\n"),
        ("ret;\0\0\0", "\nret;\n"),
        ("\0ret;", "\n\0ret;\n"),  # only the end of a C string is cut
        ("bra X", "\nbra X\n"),
        ("", "\n\n"),
    ],
)
def test_the_end_of_a_c_string_is_no_part_of_a_normal_text(text: str, expected: str) -> None:
    assert ptx_text.normalise(text) == expected


def test_only_the_first_version_directive_is_set() -> None:
    later = "/*\n.version 6.4\n.version 6.5\n*/\n"
    assert ptx_text.set_version(HEAD + later, (7, 8)) == HEAD.replace("9.5", "7.8") + later


# --- lower versions --------------------------------------------------------------------------------

# A target that got these instructions later than others: its first PTX ISA version is 7.8. Source: PTX ISA, "cvt".
FP8 = f"""\
{HEAD}.visible .entry k()
{{
.reg .b16 %h<2>;
.reg .f32 %f<3>;
cvt.rn.satfinite.e4m3x2.f32 %h1, %f1, %f2;
ret;
}}
"""


class Assembler:
    """An assembler that accepts all, or refuses versions below one, and notes what it was asked."""

    def __init__(self, lowest: Version = (0, 0), log: str = "", same: bool = True) -> None:
        self.asked: list[tuple[Version, str]] = []
        self._lowest, self._log, self._same = lowest, log, same

    def __call__(self, text: str, arch: str) -> bytes:
        version = ptx.version(text)
        self.asked.append((version, arch))
        if version < self._lowest:
            raise CompileError(self._log)
        return b"machine code" if self._same else str(version).encode()


def test_as_compiled_asks_no_assembler() -> None:
    assemble = Assembler()
    assert lower(FP8, "as-compiled", "89", "k.cu", assemble) == FP8
    assert assemble.asked == []


@pytest.mark.parametrize("wanted", ["auto", "8.1"])
def test_the_proof_is_made_for_the_target(wanted: str) -> None:
    assemble = Assembler()
    assert ptx.version(lower(FP8, wanted, "89", "k.cu", assemble)) == (8, 1)
    assert assemble.asked == [((9, 5), "89"), ((8, 1), "89")]


def test_a_version_that_is_too_low_for_an_instruction_on_this_target_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"compute_89: `cvt\.rn\.satfinite\.e4m3x2\.f32` needs 8\.1"):
        lower(FP8, "8.0", "89", "k.cu", Assembler())
    assert ptx.version(lower(FP8, "8.0", "90", "k.cu", Assembler())) == (8, 0)


@pytest.mark.parametrize(
    ("log", "asked"),
    [
        ("syntax error", [(9, 5), (7, 0), (7, 1), (7, 2), (7, 3)]),
        ("Feature 'x' requires PTX ISA .version 7.3 or later", [(9, 5), (7, 0), (7, 3)]),
        ("'x' requires PTX ISA .version 7.1\n'y' requires PTX ISA .version 7.3\n", [(9, 5), (7, 0), (7, 3)]),
        ("'x' requires PTX ISA .version 6.3", [(9, 5), (7, 0), (7, 1), (7, 2), (7, 3)]),
    ],
)
def test_versions_are_tried_in_order_from_the_highest_that_the_log_names(log: str, asked: list[Version]) -> None:
    assemble = Assembler((7, 3), log)
    assert ptx.version(lower(".version 9.5\n.target sm_80\n", "auto", "80", "k.cu", assemble)) == (7, 3)
    assert [version for version, _ in assemble.asked] == asked


def test_the_compilers_version_is_no_candidate() -> None:
    assemble = Assembler(same=False)
    text = ".version 7.2\n.target sm_80\n"
    assert lower(text, "auto", "80", "k.cu", assemble) == text
    assert [version for version, _ in assemble.asked] == [(7, 2), (7, 0), (7, 1)]


def test_the_refusal_of_an_unknown_word_says_what_would_help() -> None:
    message = (
        "cuda-wheel does not know which version `frobnicate.u32` needs, and assemblers of some releases accept "
        'more than their version allows; "as-compiled" keeps the compiler\'s.'
    )
    with pytest.raises(ConfigError, match=re.escape(message) + "$"):
        lower(FP8.replace("cvt.rn.satfinite.e4m3x2.f32", "frobnicate.u32"), "8.8", "89", "k.cu", Assembler())
