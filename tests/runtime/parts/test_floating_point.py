"""Linking on the user's machine keeps floating-point options: those of each module, and the caller's for other pieces.

NVRTC and nvJitLink are real. `tests/builder/test_floating_point.py` compares the ways of a build.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

import cuda_wheel as package
from cuda_wheel import ImageError, JitOptions, LinkError, LinkInput
from cuda_wheel.builder.images.bundling import make_fatbin
from cuda_wheel.runtime.parts.floating_point import NO_CONTRACTION, FloatingPoint, floating_point, values_of
from cuda_wheel.runtime.parts.formats.ptx import without_contraction
from cuda_wheel.runtime.parts.linking import prepared_link
from cuda_wheel.runtime.parts.linking.cuda_compiler import nvrtc_version
from cuda_wheel.runtime.parts.linking.linkers import LinkerOutput
from cuda_wheel.runtime.parts.linking.strategy import LinkUnit, strategies
from tests.support.driver import Driver
from tests.support.linkable import compiled

Use = Callable[..., Driver]
Make = Callable[..., None]

# --- reading options ----------------------------------------------------------------------------

EXACT = FloatingPoint(fma=False, assembler_fma=False)
FAST = FloatingPoint(ftz=True, prec_div=False, prec_sqrt=False, fast_math=True)


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ((), FloatingPoint()),
        (("--std=c++17", "-DX=1", "--fmad=true"), FloatingPoint()),
        (("--fmad=false",), EXACT),
        (("-fmad=false",), EXACT),
        (("--fmad", "false"), EXACT),
        (("-fmad", "false", "-lineinfo"), EXACT),
        (("--fmad=false ",), EXACT),
        (("--fmad=true", "--fmad=false"), EXACT),
        (("--fmad=false", "--fmad=true"), FloatingPoint()),
        (("-ftz=true", "-prec-div=false", "-prec-sqrt", "false"), FAST._replace(fast_math=False)),
        (("--use_fast_math",), FAST),
        (("-use_fast_math",), FAST),
        (("--use_fast_math", "--ftz=false"), FAST._replace(ftz=False)),
        (("--prec-div=true", "--use_fast_math"), FAST._replace(prec_div=True)),
        (("--fmad=false", "--use_fast_math"), FAST._replace(fma=False, assembler_fma=False)),
        (("-Xptxas", "--fmad=false"), FloatingPoint(assembler_fma=False)),
        (("--ptxas-options=-v", "--ptxas-options=-fmad=false"), FloatingPoint(assembler_fma=False)),
        (("-Xptxas=-fmad", "-Xptxas=false"), FloatingPoint(assembler_fma=False)),
        (("-Xptxas=--fmad=true", "--fmad=false"), FloatingPoint(fma=False)),
        (("-ftz=1", "--fmad=0"), FloatingPoint(ftz=True, fma=False, assembler_fma=False)),
        (("-Xptxas", "-v,--fmad,false"), FloatingPoint(assembler_fma=False)),
        (("--fmad",), EXACT),
    ],
)
def test_options_mean_what_nvrtc_takes_them_for(options: tuple[str, ...], expected: FloatingPoint) -> None:
    assert floating_point(options) == expected
    assert floating_point(expected.nvrtc_options()) == expected._replace(assembler_fma=expected.fma)


def test_an_option_without_its_value_has_an_empty_one() -> None:
    assert list(values_of(["-v", "--std=c++17", "-Xptxas"])) == [("-v", ""), ("--std", "c++17"), ("-Xptxas", "")]


@pytest.mark.parametrize(
    ("chosen", "text"),
    [
        (FloatingPoint(), "the defaults"),
        (EXACT, "--fmad=false"),
        (FloatingPoint(assembler_fma=False), "--ptxas-options=--fmad=false"),
        (FAST, "--use_fast_math --ftz=true --prec-div=false --prec-sqrt=false"),
        (FloatingPoint(fma=False), "--fmad=false --ptxas-options=--fmad=true"),
    ],
)
def test_messages_name_the_options_that_differ_from_the_defaults(chosen: FloatingPoint, text: str) -> None:
    assert str(chosen) == text
    assert floating_point(text.split() if text != "the defaults" else []) == chosen


def test_rounding_is_written_out_in_products_sums_and_differences_only() -> None:
    text = """
    .file 1 "mul.f32 add.f32 x.cu" // mul.f32
    {mul.f16 %h1,%h2,%h3;
    add.f16x2 %r1,%r2,%r3;} @%p1 sub.bf16 %h1, %h2, %h3;
    mul.ftz.f32 %f1, %f2, %f3; add.sat.f32 %f1, %f1, %f3; mul.ftz.sat.f16x2 %r1, %r2, %r3;
    mul.bf16x2 %r1, %r2, %r3; sub.f64 %d1, %d2, %d3; add.f32x2 %rd1, %rd2, %rd3;
    add.s32 %r1, %r2, %r3; mul.wide.s32 %rd1, %r1, 4; add.rn.f32 %f1, %f2, %f3; mul.rz.f64 %d1, %d2, %d3;
    atom.global.add.f32 %f1, [%rd1], %f2; red.global.add.noftz.f16x2 [%rd1], %r1; fma.rn.f32 %f1, %f2, %f3, %f4;
    call my_add.f32; mad.lo.s32 %r1, %r2, %r3, %r4; /* sub.f32 */
"""
    expected = text
    for word in ("mul.f16 ", "add.f16x2 ", "sub.bf16 ", "mul.ftz.f32 ", "add.sat.f32 ", "mul.ftz.sat.f16x2 ",
                 "mul.bf16x2 ", "sub.f64 ", "add.f32x2 "):  # fmt: skip
        operation, _, rest = word.partition(".")
        expected = expected.replace(f"{word}%", f"{operation}.rn.{rest}%")
    assert without_contraction(text) == expected != text
    assert without_contraction(expected) == expected


# --- links --------------------------------------------------------------------------------------

KERNEL = """
#include <cuda_fp16.h>
extern "C" __device__ float user_transform(float);
extern "C" __global__ void product(__half* x) { *x = x[0] * x[1] + x[2]; }
extern "C" __global__ void single(float* x) { *x = x[0] * x[1] + x[2]; }
extern "C" __global__ void quotient(float* x) { *x = x[0] / x[1]; }
extern "C" __global__ void apply(float* x) { *x = user_transform(*x); }
"""
USER = """
#include <cuda_fp16.h>
extern "C" __device__ float user_transform(float x) { return x * x + 1.5f; }
extern "C" __global__ void user_half(__half* x) { *x = x[0] * x[1] + x[2]; }
extern "C" __global__ void user_quotient(float* x) { *x = x[0] / x[1]; }
extern "C" __global__ void user_sine(float* x) { *x = sinf(*x); }
"""
NAME = "demo.k"
FUSED, SEPARATE = {"HFMA2": 1}, {"HMUL2": 1, "HADD2": 1}


@pytest.fixture
def make(make_project, cuda_wheel: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Yield a function that builds the relocatable module `demo.k` with these options and lets it be imported."""

    def make(*options: str, text: str = KERNEL, architectures: str = "80", module: str = NAME) -> None:
        table = (
            f"[tool.cuda-wheel]\narchitectures = '{architectures}'\n[[tool.cuda-wheel.module]]\nname = '{module}'\n"
            f"sources = ['demo/k.cu']\nrelocatable = true\nlink = 'lto'\noptions = {list(options)}\n"
        )
        if "user_transform(float);" in text:
            table += "extern = ['user_transform']\n"
        result = cuda_wheel("build", make_project(table, **{"demo/k.cu": text}), "-o", tmp_path / "site")
        assert result.returncode == 0, result.stdout
        (tmp_path / "site/demo/__init__.py").touch()

    monkeypatch.syspath_prepend(tmp_path / "site")
    return make


LTO, AS_PTX = JitOptions(), JitOptions(lto=False)


def linked(pieces: Sequence[Any], arithmetic, jit: JitOptions = LTO) -> tuple[str, dict[str, Counter[str]]]:
    result = package.link(pieces, arch="90", jit=jit)
    return result.mode, arithmetic(result.cubin)


@pytest.mark.slow
@pytest.mark.parametrize(
    "options",
    [(), ("--fmad=false",), ("--use_fast_math",), ("--ftz=true", "--prec-div=false", "--fmad=false")],
    ids=" ".join,
)
def test_a_link_gives_the_modules_arithmetic_to_all(options: tuple[str, ...], make: Make, arithmetic) -> None:
    """With LTO and without, for the module and for what it is linked with: results do not depend on the way."""
    make(*options)
    chosen = floating_point(options)
    mode, by_lto = linked([NAME, USER], arithmetic)
    assert mode == "lto"
    mode, by_ptx = linked([NAME, USER], arithmetic, AS_PTX)
    assert mode == "ptx"
    for found in (by_lto, by_ptx):
        assert found["product"] == found["user_half"] == (FUSED if chosen.fma else SEPARATE)
        assert ("FFMA" in " ".join(found["single"])) is chosen.fma
        assert any(".FTZ" in opcode for opcode in found["single"]) is chosen.ftz
        assert found["quotient"] == found["user_quotient"]
        # The slow path of a correctly rounded quotient is a check, and a call of its own.
        assert ("FCHK" in found["quotient"]) is chosen.prec_div
        assert (sum(found["user_sine"].values()) < 4) is chosen.fast_math
    assert {name: by_ptx[name] for name in ("product", "single", "user_half")} == {
        name: by_lto[name] for name in ("product", "single", "user_half")
    }


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["cuda", "ltoir", "ptx"])
@pytest.mark.parametrize("chosen", [None, (), ("--fmad=false",)])
def test_pieces_without_a_manifest_compute_as_the_caller_says(kind: str, chosen: Any, arithmetic) -> None:
    content = USER.encode() if kind == "cuda" else _compiled(USER, kind)
    piece = LinkInput(kind, f"user.{'cu' if kind == 'cuda' else kind}", content)  # type: ignore[arg-type]
    for lto in (None, False) if kind == "cuda" else (None,):
        _, found = linked([piece], arithmetic, JitOptions(floating_point=chosen, lto=lto))
        assert found["user_half"] == (SEPARATE if chosen else FUSED)


def _compiled(text: str, kind: str) -> bytes:
    return compiled(text, kind, "90", "user.cu")


@pytest.mark.slow
def test_where_options_differ_each_piece_keeps_its_own_without_lto(make: Make, arithmetic) -> None:
    make("--fmad=false")
    jit = JitOptions(floating_point=("--ftz=true",))
    result = package.link([NAME, USER], arch="90", jit=jit)
    assert (result.mode, result.why) == (
        "ptx", "PTX: demo.k:k.cu and piece.cu differ in floating-point options (--fmad=false; --ftz=true)"
    )  # fmt: skip
    found = arithmetic(result.cubin)
    assert (found["product"], found["user_half"]) == (SEPARATE, FUSED)
    assert found["single"] == {"FMUL": 1, "FADD": 1}


@pytest.mark.slow
@pytest.mark.parametrize("lto", [None, True])
def test_where_options_differ_ltoir_alone_is_an_error(lto: bool | None, make: Make) -> None:
    make("--fmad=false")
    pieces = [NAME, LinkInput("ltoir", "user.ltoir", _compiled(USER, "ltoir"))]
    with pytest.raises(
        LinkError,
        match=r"LTO: demo\.k:k\.cu and user\.ltoir differ in floating-point options \(--fmad=false; the defaults\)",
    ):
        package.link(pieces, arch="90", jit=JitOptions(floating_point=(), lto=lto))


def test_machine_code_has_its_arithmetic_and_hinders_no_lto() -> None:
    units = [
        LinkUnit("a.ltoir", {"ltoir": b""}, floating_point=EXACT),
        LinkUnit("b.cubin", {"cubin": b""}),
        LinkUnit("c.ltoir", {"ltoir": b""}, floating_point=EXACT._replace(fast_math=True)),
    ]
    assert strategies(units, (12, 9), None, None)[0].mode == "lto"
    with pytest.raises(LinkError, match=r"a\.ltoir and c\.ltoir differ"):
        strategies([*units[:2], units[2]._replace(floating_point=FloatingPoint())], (12, 9), None, None)


def test_a_link_of_ltoir_gets_each_option_and_forbids_contraction_where_the_assembler_may_not_do_it() -> None:
    assert FloatingPoint().lto_options() == []
    assert FAST.lto_options() == ["-ftz=1", "-prec-div=0", "-prec-sqrt=0"]
    assert EXACT.lto_options() == ["-fma=0", NO_CONTRACTION]
    assert FloatingPoint(assembler_fma=False).lto_options() == [NO_CONTRACTION]


def test_every_floating_point_option_is_in_the_key_of_a_link() -> None:
    piece = LinkInput("ltoir", "user.ltoir", _compiled(USER, "ltoir"))
    choices = [
        None,
        ("--fmad=false",),
        ("--ftz=true",),
        ("--prec-div=false",),
        ("--prec-sqrt=false",),
        ("--use_fast_math",),
    ]
    results = [package.link([piece], arch="90", jit=JitOptions(floating_point=chosen)) for chosen in choices]
    assert not any(result.cached for result in results)
    assert package.link([piece], arch="90", jit=JitOptions(floating_point=("--ftz=true",))).cached
    texts = [package.link([USER], arch="90", jit=JitOptions(floating_point=chosen)) for chosen in choices]
    assert not any(result.cached for result in texts)


def test_a_fatbin_is_linked_in_a_child_process_with_the_same_options(
    arithmetic, monkeypatch: pytest.MonkeyPatch
) -> None:
    content = make_fatbin([(("ltoir", "90", _compiled(USER, "ltoir")), "user")], ["-64", "-compress=false"])
    monkeypatch.setattr(prepared_link, "link_by_nvjitlink", lambda *_: pytest.fail("linked in this process"))
    jit = JitOptions(lto=True, floating_point=("--fmad=false",))
    mode, found = linked([LinkInput("fatbin", "user.fatbin", content)], arithmetic, jit)
    assert (mode, found["user_half"]) == ("lto", SEPARATE)


def test_the_drivers_linker_gets_text_that_it_cannot_contract(use: Use, monkeypatch: pytest.MonkeyPatch) -> None:
    use((9, 0), version=1000 * (nvrtc_version() or (99, 0))[0] + 990)
    given: list[Any] = []

    def link(inputs: Any, *_: Any) -> LinkerOutput:
        given[:] = inputs
        return LinkerOutput(package.link([USER], arch="90").cubin, "", "", None)

    monkeypatch.setattr(prepared_link, "link_by_driver", link)
    text = _compiled(USER, "ptx")
    for options, contracts in (((), True), (("--fmad=false",), False)):
        package.link([LinkInput("ptx", "user.ptx", text)], jit=JitOptions(linker="driver", floating_point=options))
        assert (b"mul.f16" in given[0].content) is contracts, options
        assert (b"mul.rn.f16" in given[0].content) is not contracts, options


def test_raw_ptx_reaches_the_driver_as_the_caller_says(use: Use) -> None:
    driver = use((9, 0), version=1000 * (nvrtc_version() or (99, 0))[0] + 990)
    text = _compiled(USER, "ptx")
    package.load_code(text)
    package.load_code(text, jit=JitOptions(floating_point=("--fmad=false",)))
    first, second = driver.loaded
    assert b"mul.f16" in first and b"mul.f16" not in second and b"mul.rn.f16" in second


def test_machine_code_takes_no_floating_point_options(use: Use) -> None:
    use((9, 0))
    cubin = package.link([USER], arch="90").cubin
    with pytest.raises(
        ImageError, match="is a cubin, which keeps the floating-point options that it was compiled with"
    ):
        package.load_code(cubin, jit=JitOptions(floating_point=("--ftz=true",)))


@pytest.mark.parametrize(
    "chosen", ["--fmad=false", ["--fmad=false"], ("--fmad",), ("--fmad=0",), ("-O3",), ("--use_fast_math=true",)]
)
def test_an_unknown_floating_point_option_is_refused(chosen: Any) -> None:
    with pytest.raises(ValueError, match="floating_point"):
        package.link([USER], arch="90", jit=JitOptions(floating_point=chosen))
