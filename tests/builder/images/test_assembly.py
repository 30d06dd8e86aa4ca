"""What PTX and the assembler say of kernels, and machine code that shows whether two texts are the same."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from cuda_wheel.builder.errors import CompileError
from cuda_wheel.builder.images.assembly import assemble, described, kernel_resources, machine_code, nowhere
from cuda_wheel.builder.images.ptx_text import set_version
from cuda_wheel.builder.workers.pool import Workers
from cuda_wheel.runtime.manifest import GlobalInfo
from cuda_wheel.runtime.parts.formats.cubin import read_cubin

TEXT = """\
// Cuda compilation tools, release 12.9, V12.9.86
.version 8.1
.target sm_80
.address_size 64
.global .align 4 .b8 table[16];
.const .align 4 .b8 weights[32];
.global .align 4 .u32 _ZN3cub5levelE;
.visible .entry k(
	.param .u64 k_param_0
)
.maxntid 128, 1, 1
.minnctapersm 2
{
	.reg .b32 %r<4>;
	.reg .b64 %rd<4>;
	ld.param.u64 %rd1, [k_param_0];
	ld.global.u32 %r1, [table];
	ld.const.u32 %r2, [weights+8];
	add.s32 %r3, %r1, %r2;
	st.global.u32 [%rd1], %r3;
	ret;
}
.visible .entry small()
{
	ret;
}
"""

CALLS = """\
.version 8.0
.target sm_80
.address_size 64
.extern .func (.param .b32 result) other(.param .b32 number);
.extern .global .align 4 .u32 counter;
.visible .entry k(.param .u64 k_param_0)
{
	.reg .b32 %r<4>;
	.reg .b64 %rd<2>;
	ld.param.u64 %rd1, [k_param_0];
	ld.global.u32 %r1, [counter];
	{
	.param .b32 in;
	.param .b32 out;
	st.param.b32 [in], %r1;
	call.uni (out), other, (in);
	ld.param.b32 %r2, [out];
	}
	st.global.u32 [%rd1], %r2;
	ret;
}
"""
"""PTX that uses what other modules define."""


def assembled(given: tuple[list[str], tuple[str, ...]]) -> tuple[bytes, str]:
    """Assemble texts for sm_80. Runs in worker processes."""
    return assemble(given[0], "80", given[1])


def code_of(text: str) -> bytes:
    return machine_code(text, "80")


@pytest.mark.one_toolchain
def test_a_text_is_described_by_its_kernels_bounds_and_variables() -> None:
    found = described(TEXT.encode())
    assert found.ptx == TEXT.encode() and found.cubin is None
    assert found.ptx_version_compiled == (8, 1)
    assert list(found.kernels) == ["k", "small"] and [each.type for each in found.kernels["k"]] == ["u64"]
    assert found.bounds == {"k": {"max_threads": 128, "min_blocks": 2}}
    assert found.variables == (
        GlobalInfo("table", "table", "global", 16),
        GlobalInfo("weights", "weights", "constant", 32),
    )


@pytest.mark.one_toolchain
def test_a_variable_of_a_librarys_name_is_described_if_the_project_declares_it() -> None:
    assert "cub::level" in {each.name for each in described(TEXT.encode(), {"cub::level"}).variables}


@pytest.mark.one_toolchain
def test_a_text_without_a_version_is_not_described() -> None:
    with pytest.raises(ValueError, match="version"):
        described(TEXT.replace(".version 8.1\n", "").encode())


@pytest.mark.one_toolchain
def test_nowhere_is_an_empty_folder_that_is_left_and_removed() -> None:
    before = Path.cwd()
    with pytest.raises(ValueError, match="stop"), nowhere():
        inside = Path.cwd()
        assert inside != before and os.listdir() == []
        Path("file").touch()
        raise ValueError("stop")
    assert Path.cwd() == before and not inside.exists()


def test_every_kernel_has_its_resources_and_the_constant_memory_of_the_module(workers: Workers) -> None:
    cubin, log = workers.submit(assembled, ([TEXT], ("-Xptxas=-v",))).result()
    found = kernel_resources(log, read_cubin(cubin))
    assert found.keys() == {"k", "small"}
    assert {each["constant"] for each in found.values()} == {32}
    assert found["k"]["registers"] > 0 and found["k"]["spill_stores"] == 0
    assert kernel_resources(log, None) == {
        symbol: {name: value for name, value in each.items() if name != "constant"} for symbol, each in found.items()
    }


def test_several_texts_are_linked_into_one_cubin(workers: Workers) -> None:
    definition = CALLS.partition(".extern")[0] + (
        ".visible .global .align 4 .u32 counter;\n"
        ".visible .func (.param .b32 result) other(.param .b32 number) { ret; }\n"
    )
    cubin, _ = workers.submit(assembled, ([CALLS, definition], ())).result()
    assert read_cubin(cubin).kernels.keys() == {"k"}


def test_what_the_assembler_refuses_is_an_error_with_its_log(workers: Workers) -> None:
    with pytest.raises(CompileError, match=r"(?s)wrong.*module1\.ptx"):  # the second text
        workers.submit(assembled, ([TEXT, CALLS.replace("ld.global.u32", "wrong.u32")], ())).result()
    with pytest.raises(CompileError, match="other"):
        workers.submit(assembled, ([CALLS], ())).result()


def test_machine_code_depends_on_the_instructions_and_not_on_the_version(
    workers: Workers,
) -> None:
    code = workers.submit(code_of, TEXT).result()
    assert workers.submit(code_of, set_version(TEXT, (7, 0))).result() == code
    assert workers.submit(code_of, TEXT.replace("add.s32", "sub.s32")).result() != code
    # Without optimisation, an instruction that changes nothing stays, so that its form is compared too.
    more = TEXT.replace("\tst.global", "\tadd.s32 %r3, %r3, 0;\n\tst.global", 1)
    assert workers.submit(code_of, more).result() != code


def test_machine_code_has_no_debug_information_which_would_contain_the_version(nvrtc_alone, workers: Workers) -> None:
    text = (
        nvrtc_alone("__global__ void k(int* x) { *x = 1; }", options=("--std=c++17", "-G"))["ptx"].decode().rstrip("\0")
    )
    assert ".debug_info" in text
    assert workers.submit(code_of, set_version(text, (8, 0))).result() == workers.submit(code_of, text).result()


def test_a_text_whose_symbols_other_modules_define_has_machine_code(workers: Workers) -> None:
    code = workers.submit(code_of, CALLS).result()
    assert read_cubin(code).kernels.keys() == {"k"}
    assert workers.submit(code_of, CALLS.replace("%r2, [out]", "%r3, [out]")).result() != code
