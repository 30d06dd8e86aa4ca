"""Floating-point options decide the same arithmetic, whatever the way from a source to machine code.

The reference is the cubin that NVRTC itself makes, which nvcc's equals in arithmetic (see docs/explanation/machine-code.md).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from cuda_wheel.builder.images.assembly import assemble
from cuda_wheel.builder.jobs import Compiled, LinkInput, LinkJob
from cuda_wheel.builder.link import link_job
from cuda_wheel.builder.rewriting.front_end import HOST_CODE_OPTIONS
from cuda_wheel.builder.toolchain.nvrtc import compile_text
from cuda_wheel.builder.toolchain.toolchain import INCLUDE, Toolchain
from cuda_wheel.builder.workers.pool import Workers
from tests.support.arithmetic import (
    HALF,
    OPTIONS,
    SINGLE,
    SOURCE,
    SPELLINGS,
    Arithmetic,
    assembled_by_older_ptxas,
    differences,
)

LARGE = "#include <cuda/std/utility>\n"
"""A header whose unused variables cuda-wheel removes."""

LIBRARY_SYMBOL = b"_ZN4cuda3std"
"""What the symbols of these variables begin with."""


@pytest.fixture
def direct(workers: Workers, toolchain: Toolchain, tmp_path: Path) -> Callable[..., bytes]:
    """Return a function that has NVRTC alone compile a source to a cubin."""

    def compile(text: str, arch: str, options: Sequence[str]) -> bytes:
        folders = [f"--include-path={folder}" for folder in (INCLUDE, *toolchain.include_dirs)]
        request = {
            "library": toolchain.libraries[0],
            "folder": str(tmp_path),
            "text": text.encode(),
            "name": "k.cu",
            "options": [f"--gpu-architecture=sm_{arch}", "--std=c++17", *HOST_CODE_OPTIONS, *folders, *options],
            "expressions": [],
        }
        answer = workers.submit(compile_text, request).result()
        assert not answer["error"], answer["log"]
        return answer["cubin"]

    return compile


@pytest.fixture
def ways(workers: Workers, compiled: Callable[..., Compiled]) -> Callable[..., dict[str, bytes]]:
    """Return a function that makes the machine code of a source in every way, from source or from the wheel's PTX.

    The assembler of PTX in the wheel gets no options, like the driver's.
    """

    def assembled(text: bytes | None, arch: str) -> bytes:
        return workers.submit(_assembled, ((text or b"").decode(), arch)).result()

    def make(text: str, arch: str, options: Sequence[str]) -> dict[str, bytes]:
        def compile(text: str, **changes: object) -> Compiled:
            return compiled(text, arch, options=("--std=c++17", *options), ptx_version="as-compiled", **changes)

        def link(kind: str, code: bytes | None, real: bool = True) -> Compiled:
            inputs = (LinkInput("k.cu", kind, code or b""),)
            job = LinkJob("m", arch, real, kind == "ltoir", inputs, tuple(options), False, "as-compiled", ())
            return workers.submit(link_job, job).result()

        plain, lean = compile(text), compile(LARGE + text)
        ptx, lto = (compile(text, form=form, cubin=False, ptx=form == "ptx") for form in ("ptx", "lto"))
        found = {
            "plain": plain.cubin,
            "line information": compile(text, lineinfo=True, ptx=False).cubin,
            "large library": lean.cubin,
            "link ptx": link("ptx", ptx.ptx).cubin,
            "link lto": link("ltoir", lto.ltoir).cubin,
            "PTX": assembled(plain.ptx, arch),
            "PTX of large library": assembled(lean.ptx, arch),
            "PTX of link lto": assembled(link("ltoir", lto.ltoir, real=False).ptx, arch),
            "relocatable PTX": assembled(ptx.ptx, arch),
        }
        assert all(found.values())
        return {name: code for name, code in found.items() if code}

    return make


def _assembled(given: tuple[str, str]) -> bytes:
    text, arch = given
    return assemble([text], arch)[0]


@pytest.mark.parametrize(
    "options",
    [*(pytest.param(each, marks=pytest.mark.every_toolchain) for each in OPTIONS), *SPELLINGS],
    ids=" ".join,
)
def test_every_way_computes_as_nvrtcs_own_machine_code(options: tuple[str, ...], direct, ways, arithmetic) -> None:
    expected = arithmetic(direct(SOURCE, "90", options))
    found = ways(SOURCE, "90", options)
    assert {name: each for name, code in found.items() if (each := differences(arithmetic(code), expected))} == {}
    # Else the table would show the plain way twice.
    assert LIBRARY_SYMBOL not in found["large library"]


@pytest.mark.parametrize("arch", ["80", "100"])
def test_other_architectures_contract_nothing_either(arch: str, direct, ways, arithmetic) -> None:
    expected = arithmetic(direct(SOURCE, arch, ["--fmad=false"]))
    found = ways(SOURCE, arch, ["--fmad=false"])
    assert {name: each for name, code in found.items() if (each := differences(arithmetic(code), expected))} == {}


def test_the_kernels_show_each_option(direct, arithmetic) -> None:
    """The reference differs with each option, or equal arithmetic would prove nothing."""
    by_option: dict[str, Arithmetic] = {
        option: arithmetic(direct(SOURCE, "90", [option] if option else []))
        for option in ("", "--fmad=false", "--ftz=true", "--prec-div=false", "--prec-sqrt=false", "--use_fast_math")
    }
    changed = {option: set(differences(by_option[option], by_option[""])) for option in by_option}
    contracted = {f"{operation}_{kind}" for operation in ("fma", "fms", "fnma") for kind in (*HALF, *SINGLE)}
    contracted |= {f"named_{kind}" for kind in HALF} | {"asm_float", "asm_double", "widened_float"}
    assert changed["--fmad=false"] == contracted
    assert {"add_float", "fma_float", "exp_float"} <= changed["--ftz=true"]
    assert {"div_float", "reciprocal_float"} <= changed["--prec-div=false"]
    assert {"sqrt_float"} <= changed["--prec-sqrt=false"]
    assert {"sin_float", "div_float", "sqrt_float", "add_float"} <= changed["--use_fast_math"]
    assert by_option[""]["fma_half"] == {"HFMA2": 1}
    assert by_option["--fmad=false"]["fma_half"] == {"HMUL2": 1, "HADD2": 1}
    assert by_option["--fmad=false"]["fused_half"] == {"HFMA2": 1}
    assert LIBRARY_SYMBOL in direct(LARGE + SOURCE, "90", [])


@pytest.mark.parametrize("release", ["12.0", "12.8"])
@pytest.mark.parametrize("options", [(), ("--fmad=false",)], ids=" ".join)
def test_the_assemblers_of_older_drivers_contract_what_the_options_allow(
    options: tuple[str, ...], release: str, compiled: Callable[..., Compiled], arithmetic, tmp_path: Path
) -> None:
    text = compiled(SOURCE, "90", options=("--std=c++17", *options)).ptx
    code = assembled_by_older_ptxas(release, text or b"", "90", tmp_path)
    assert code is not None
    found = arithmetic(code)
    for kind in HALF:
        for operation in ("fma", "named", "fused"):
            count = sum(found[f"{operation}_{kind}"].values())
            assert count == (1 if operation == "fused" or not options else 2), (operation, kind)
    assert sum(found["asm_float"].values()) == (2 if options else 1)


def test_options_count_for_hand_written_ptx_too(workers: Workers, compiled, arithmetic) -> None:
    """What the assembler may contract in a PTX source, it may not with --fmad=false, in its cubin and in its PTX."""
    text = (
        ".version 7.0\n.target sm_80\n.address_size 64\n"
        ".visible .entry k(.param .u64 p) {\n.reg .f32 %f<4>;\n.reg .b64 %rd<2>;\nld.param.u64 %rd1, [p];\n"
        "ld.global.f32 %f1, [%rd1];\nmul.ftz.f32 %f2, %f1, %f1;\nadd.ftz.f32 %f3, %f2, %f1;\n"
        "st.global.f32 [%rd1], %f3;\nret;\n}\n"
    )
    for options, expected in (((), {"FFMA.FTZ": 1}), (("--fmad=false",), {"FMUL.FTZ": 1, "FADD.FTZ": 1})):
        made = compiled(text, "80", kind="ptx", source="k.ptx", options=options)
        assembled = workers.submit(_assembled, (made.ptx.decode(), "80")).result()
        assert arithmetic(made.cubin)["k"] == arithmetic(assembled)["k"] == expected, options
