"""NVRTC's result becomes the result of a job, or an error with those diagnostics that the user can act on."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from cuda_wheel.builder.compile.nvrtc_request import nvrtc_request
from cuda_wheel.builder.compile.nvrtc_result import NvrtcOutcome, read_nvrtc_result
from cuda_wheel.builder.errors import CompileError, ConfigError
from cuda_wheel.builder.jobs import Compiled, Job, LeftOutCode
from tests.support.ptx_texts import TEXT

pytestmark = pytest.mark.one_toolchain

JOB = Job(
    library="/n", root="/nowhere", source="k.cu", text=b"int a;\nint b;\n", arch="80", cubin=True, ptx=True,
    options=(), include_dirs=("",), instantiate=(), lineinfo=False, ptx_version="auto",
)  # fmt: skip

TWO_ERRORS = """\
k.cu(1): error: identifier "a" is undefined
  int a;
      ^

k.cu(2): error: identifier "b" is undefined
  int b;
      ^

2 errors detected in the compilation of "k.cu".
"""

WARNING = """\
k.cu(2): warning #177-D: variable "b" was declared but never referenced
  int b;
      ^

"""


def read(
    job: Job = JOB,
    left_out: tuple[LeftOutCode, ...] = (),
    notes: tuple[str, ...] = (),
    unnamed_instances: tuple[str, ...] = (),
    is_reported: Any = lambda diagnostic: True,
    **changes: Any,
) -> Compiled:
    """Read a result of NVRTC, by default that of a source without messages."""
    result: Any = {
        "error": "", "log": "", "headers": [], "absent": [], "ptx": TEXT.encode(), "cubin": b"", "ltoir": b"",
        "symbols": [], "uses_build_time": False, **changes,
    }  # fmt: skip
    return read_nvrtc_result(
        job, NvrtcOutcome(result, nvrtc_request(job), left_out, notes, unnamed_instances, is_reported)
    )


def test_the_ptx_is_as_nvrtc_generated_it() -> None:
    compiled = read()
    assert compiled.ptx == TEXT.encode()
    assert compiled.kernels.keys() == {"k", "empty", "bare"}
    assert compiled.ptx_version_compiled == (8, 8)
    assert (compiled.cubin, compiled.ltoir, compiled.resources) == (None, None, {})


def test_lto_ir_needs_no_ptx() -> None:
    compiled = read(replace(JOB, form="lto"), ptx=b"", ltoir=b"ir")
    assert (compiled.ltoir, compiled.ptx, compiled.kernels) == (b"ir", None, {})


def test_each_name_expression_has_its_symbol() -> None:
    job = replace(JOB, instantiate=("t<int>", "t<float>"))
    assert read(job, symbols=["_Z1tIiE", "_Z1tIfE"]).names == {"t<int>": "_Z1tIiE", "t<float>": "_Z1tIfE"}


def test_what_the_compiler_says_and_read_is_in_the_result() -> None:
    code = LeftOutCode("k.cu", 1, 2, "f", "no")
    compiled = read(left_out=(code,), uses_build_time=True, headers=None, log=WARNING)
    assert (compiled.left_out, compiled.uses_build_time, compiled.headers) == ((code,), True, None)
    assert compiled.log.startswith("k.cu:2:5: warning: variable")
    assert read(headers=[]).headers == ()


# --- errors -------------------------------------------------------------------------------------------


def test_all_errors_are_reported_by_default() -> None:
    with pytest.raises(CompileError, match=r'(?s)^k\.cu:1:5: error: .*"a".*\nk\.cu:2:5: error: .*"b"'):
        read(error="NVRTC_ERROR_COMPILATION", log=TWO_ERRORS)


def test_an_error_that_is_not_to_be_reported_is_left_out_and_notes_follow_the_others() -> None:
    with pytest.raises(CompileError) as failure:
        read(
            error="NVRTC_ERROR_COMPILATION",
            log=TWO_ERRORS,
            is_reported=lambda each: each.line == 2,
            notes=("note: one", "note: two"),
            unnamed_instances=("t<int>",),
        )
    text = str(failure.value)
    assert text.startswith("k.cu:2:5: error: ") and '"a"' not in text
    assert text.index('"b"') < text.index("note: one\nnote: two")
    assert failure.value.unnamed_instances == ("t<int>",)


def test_an_error_without_diagnostics_is_named() -> None:
    with pytest.raises(CompileError, match=r"^NVRTC_ERROR_OUT_OF_MEMORY$"):
        read(error="NVRTC_ERROR_OUT_OF_MEMORY", log="")


def test_a_warning_about_a_changed_layout_is_an_error() -> None:
    """NVRTC returns PTX for such a source: of a type with another layout than the host's."""
    with pytest.raises(
        CompileError, match=r'k\.cu:2:5: error: unknown attribute "vector_size", which changes the layout'
    ):
        read(log='k.cu(2): warning #1097-D: unknown attribute "vector_size"\n  int b;\n      ^\n\n')


def test_an_invalid_option_is_an_error_of_the_settings() -> None:
    with pytest.raises(ConfigError, match=r"^k\.cu: NVRTC rejects an option \(from std, .*\): unrecognized --no\.$"):
        read(error="NVRTC_ERROR_INVALID_OPTION", log="nvrtc: error: unrecognized --no\n\0")


# --- what else decides the result ------------------------------------------------------------------------


def test_the_list_of_architectures_may_be_named_in_the_source_the_options_or_a_header(tmp_path: Path) -> None:
    header = tmp_path / "a.h"
    header.write_text("int a;\n")
    assert not read(headers=[str(header)]).names_arch_list
    assert read(replace(JOB, text=b"// __CUDA_ARCH_LIST__")).names_arch_list
    assert read(replace(JOB, options=("-DX=__CUDA_ARCH_LIST__",))).names_arch_list
    header.write_text("int a[] = {__CUDA_ARCH_LIST__};\n")
    os.utime(header, ns=(1, 1))
    assert read(headers=[str(header)]).names_arch_list
