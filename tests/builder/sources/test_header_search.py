"""A header that is missing for certain is found without a compiler; what NVRTC compiles is never refused."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from cuda_wheel.builder.compile.error_text import missing_headers_error
from cuda_wheel.builder.compile.job import compile_job
from cuda_wheel.builder.errors import CompileError
from cuda_wheel.builder.full_build import build_module
from cuda_wheel.builder.jobs import Compiled, Job
from cuda_wheel.builder.manifest_reader import manifest_of
from cuda_wheel.builder.report.reporter import SilentReporter
from cuda_wheel.builder.sources.header_search import missing_headers
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
#include <not_there/host.h>
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
    job = job_of(COMPILES["k.cu"], source="k.cu", options=options, missing_headers=("not_there/*",))
    assert workers.submit(compile_job, job).result().kernels
    assert missing_headers_error(job) == ""
    assert [header.name for header in missing_headers(job)] == ["ATen/ops/zeros.h"]
    job = replace(job, missing_headers=())
    assert 'k.cu:11:28: error: cannot open source file "not_there/host.h"' in missing_headers_error(job)
    assert 'missing-headers = ["not_there/*"]' in missing_headers_error(job)


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


# --- headers that may be missing --------------------------------------------------------------------

USES = "#include <Eigen/Core>\n#include <cstdint>\n" + KERNEL


def absent(compiled: Callable[..., Compiled], text: str, *patterns: str, **changes: Any) -> list[str]:
    return [str(each) for each in compiled(text, missing_headers=patterns, **changes).absent_headers]


@pytest.mark.one_toolchain
@pytest.mark.parametrize(
    ("text", "patterns", "expected"),
    [
        (USES, ["Eigen/*"], ["k.cu:1: missing header Eigen/Core"]),
        ("#define NAME <Eigen/Core>\n#include <cub/block/block_reduce.cuh>\n#include NAME\n" + KERNEL, ["Eigen/*"], ["k.cu:3: missing header Eigen/Core"]),
        ("#if 1\n#include <opencv2/core.hpp>\n#endif\n" + KERNEL, ["opencv2/*.hpp"], ["k.cu:2: missing header opencv2/core.hpp"]),
        ("#if 0\n#include <Eigen/Core>\n#endif\n" + KERNEL, ["Eigen/*"], []),
        ('#include "a.h"\n' + KERNEL, ["gone.h"], ["a.h:2: missing header gone.h"]),
        ("#define H <Eigen/Core>\n#include H\n" + KERNEL, ["*"], ["k.cu:2: missing header Eigen/Core"]),
        ("#include <vector>\n#include <cuda_fp16.h>\n" + KERNEL, ["*"], []),
    ],
)  # fmt: skip
def test_a_header_that_may_be_missing_is_empty_and_recorded(
    text: str, patterns: list[str], expected: list[str], compiled: Callable[..., Compiled], tmp_path: Path
) -> None:
    write_files(tmp_path, **{"a.h": '#pragma once\n#include "gone.h"\n'})
    assert absent(compiled, text, *patterns) == expected


@pytest.mark.one_toolchain
def test_a_header_that_is_found_is_used_though_it_may_be_missing(
    compiled: Callable[..., Compiled], tmp_path: Path
) -> None:
    write_files(tmp_path, **{"Eigen/Core": "__device__ int eigen;\n"})
    result = compiled(USES, missing_headers=("Eigen/*",))
    assert [each.name for each in result.variables] == ["eigen"] and not result.absent_headers


TESTED = "#if __has_include(<Eigen/Core>)\n#include <Eigen/Core>\n__device__ int with_eigen;\n#endif\n"


@pytest.mark.one_toolchain
@pytest.mark.parametrize("test", ["<Eigen/Core>", "EIGEN"])
def test_has_include_stays_false_for_a_header_that_may_be_missing(test: str, compiled: Callable[..., Compiled]) -> None:
    text = "#define EIGEN <Eigen/Core>\n" + TESTED.replace("(<Eigen/Core>)", f"({test})") + KERNEL
    result = compiled(text, missing_headers=("Eigen/*",))
    assert not result.variables and not result.absent_headers


@pytest.mark.one_toolchain
def test_a_header_that_is_tested_for_and_included_without_a_condition_is_an_error(
    compiled: Callable[..., Compiled],
) -> None:
    with pytest.raises(
        CompileError, match=r"(?s)k.cu:5:\d+: error: cannot open source file .Eigen/Core.*__has_include"
    ):
        compiled(TESTED + USES, missing_headers=("Eigen/*",))


@pytest.mark.one_toolchain
def test_a_missing_header_does_not_hide_another_file_of_its_name(
    compiled: Callable[..., Compiled], tmp_path: Path
) -> None:
    write_files(tmp_path, **{"deep/a.h": '#include "config.h"\n', "deep/config.h": "#define VALUE 7\n"})
    text = '#include "deep/a.h"\n#ifndef VALUE\n#error hidden\n#endif\n'
    assert not absent(compiled, text + KERNEL, "config.h")
    with pytest.raises(CompileError, match="another file of this name"):
        compiled(text + "#include <config.h>\n" + KERNEL, missing_headers=("config.h",))


@pytest.mark.one_toolchain
def test_a_pattern_that_matches_nothing_missing_is_told(make_project: Callable[..., Path]) -> None:
    project = make_project(**{"demo/k.cu": USES})
    table = {"name": "demo.k", "sources": ["demo/k.cu"], "architectures": ["80-real"]}
    reporter = Warnings()
    files, _ = build_module(project, {**table, "missing-headers": ["Eigen/*", "boost/*"]}, {}, reporter)
    assert reporter.texts[0].startswith(
        'demo/k.cu:1: warning: Eigen/Core is not found, and empty: missing-headers has "E'
    )
    assert [text for text in reporter.texts if "boost" in text] == [
        'tool.cuda-wheel.missing-headers: "boost/*" matches no header that is missing: leave it out.'
    ]
    assert not any('"Eigen/*" matches' in text for text in reporter.texts)
    manifest = manifest_of(files["demo/k.fatbin.json"], "")
    assert manifest.host_code == ("demo/k.cu:1: missing header Eigen/Core",)
    with pytest.raises(CompileError, match=r"demo/k\.cu:1:22: error: cannot open source file"):
        build_module(project, table, {}, reporter)


class Warnings(SilentReporter):
    def __init__(self) -> None:
        self.texts: list[str] = []

    def warning(self, text: str) -> None:
        self.texts.append(text)
