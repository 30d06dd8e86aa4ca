"""A header that is missing for certain is found without a compiler; what NVRTC compiles is never refused."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from cuda_wheel.builder.compile.error_text import missing_headers_error
from cuda_wheel.builder.compile.job import compile_job
from cuda_wheel.builder.errors import CompileError
from cuda_wheel.builder.jobs import Job
from cuda_wheel.builder.sources.missing_headers import missing_headers
from cuda_wheel.builder.workers.pool import Workers
from tests.support.projects import write_files

KERNEL = "__global__ void k(int* x) { *x = 1; }\n"
COMPILES = {
    "k.cu": """\
#ifndef BLOCK  // no include guard: it ends here
#define BLOCK 256
#endif
#define SKIPPED_H
#if BLOCK > 1000
#include "condition.h"
#endif
#include "skipped.h"
#include "config.h"
#include "guarded.h"
#include <ATen/ops/zeros.h>
#include "stdint.h"
#include "cuda_fp16.h"
#define NAME "macro.h"
#include NAME
#include <by_option.h>
// #include "comment.h"
const char* text = R"(
#include "raw_string.h"
)";
#if __has_include("tested.h")
#include "tested.h"
#endif
"""
    + KERNEL,
    "skipped.h": '#ifndef SKIPPED_H\n#define SKIPPED_H\n#include "skipped_missing.h"\n#endif\n',
    "config.h": '#ifndef CONFIG_H\n#define CONFIG_H\n#include "config_missing.h"\n#endif\n',
    "guarded.h": '#ifndef GUARDED_H\n#define GUARDED_H\n#include "one.h"\n#else\n#include "else_missing.h"\n#endif\n',
    "one.h": '#pragma once\n#include "deep/two.h"\n',
    "deep/two.h": '#include "beside.h"\n',
    "deep/beside.h": "",
    "macro.h": "",
    "options/by_option.h": "",
}


@pytest.mark.one_toolchain
def test_what_nvrtc_compiles_has_no_missing_headers(
    job_of: Callable[..., Job], tmp_path: Path, workers: Workers
) -> None:
    write_files(tmp_path, **COMPILES)
    options = ("--std=c++17", "--define-macro=CONFIG_H", "-I", "options")
    job = job_of(COMPILES["k.cu"], source="k.cu", options=options)
    assert workers.submit(compile_job, job).result().kernels
    assert missing_headers_error(job) == ""
    assert [header.name for header in missing_headers(job)] == ["ATen/ops/zeros.h"]


@pytest.mark.one_toolchain
@pytest.mark.parametrize(
    ("files", "place"),
    [
        ({"k.cu": '#include <cuda_fp16.h>\n#include "gone.h"  // needed\n'}, "k.cu:2"),
        ({"k.cu": "#include <gone.cuh>\n"}, "k.cu:1"),
        ({"k.cu": '#include "a.h"\n', "a.h": '#ifndef A_H\n#define A_H\n#if 1\n#endif\n#include "gone.h"\n#endif'}, "a.h:5"),
        ({"k.cu": '#include <deep/a.h>\n', "include/deep/a.h": '\n#include "../gone.h"\n'}, "include/deep/a.h:2"),
    ],
)  # fmt: skip
def test_a_missing_header_is_reported_as_nvrtc_does(
    files: dict[str, str], place: str, job_of: Callable[..., Job], tmp_path: Path, workers: Workers
) -> None:
    write_files(tmp_path, **files)
    job = job_of(files["k.cu"] + KERNEL, source="k.cu")
    job = replace(job, include_dirs=(".", "include", *job.include_dirs[1:]))
    error = missing_headers_error(job)
    assert error.startswith(f"{place}:") and ": error: cannot open source file " in error and "\nhelp: no file" in error
    with pytest.raises(CompileError) as compiled:
        workers.submit(compile_job, job).result()
    assert str(compiled.value) == error
