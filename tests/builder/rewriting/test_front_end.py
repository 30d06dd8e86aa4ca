"""With its options for host code, NVRTC reads host code as nvcc does; without them, it refuses it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import pytest

from cuda_wheel.builder.compile.nvrtc_request import nvrtc_request
from cuda_wheel.builder.jobs import Job
from cuda_wheel.builder.rewriting.front_end import (
    FIRST_ERROR,
    HOST_CODE_OPTIONS,
    REPORTING_OPTIONS,
    is_about_host_code,
    looks_like_host_code,
)
from cuda_wheel.builder.toolchain.nvrtc import compile_text
from cuda_wheel.builder.workers.pool import Workers

if TYPE_CHECKING:
    from cuda_wheel.builder.toolchain.nvrtc import NvrtcResult

pytestmark = pytest.mark.every_toolchain

Compile = Callable[[str, Sequence[str]], "NvrtcResult"]

HOST = """
struct Host { int count() const { return 1; } static int total; };
int Host::total = 0;
int variable = 1;
__host__ void marked() {}
template <class T> __global__ void fill(T* p) { *p = 0; }
void run(double* p) { auto grow = [=](int n) { return n + variable; }; fill<<<grow(1), 1>>>(p); }
"""


@pytest.fixture
def by_nvrtc(workers: Workers, job_of: Callable[..., Job]) -> Compile:
    """Return a function that has NVRTC compile a text with these options and without stand-in headers."""

    def compile(text: str, options: Sequence[str]) -> NvrtcResult:
        request = nvrtc_request(job_of(text))
        return workers.submit(compile_text, {**request, "options": ["--gpu-architecture=sm_80", *options]}).result()

    return compile


def test_host_code_is_refused_accepted_or_reported(by_nvrtc: Compile) -> None:
    refused, accepted, reported = (by_nvrtc(HOST, options) for options in ((), HOST_CODE_OPTIONS, REPORTING_OPTIONS))
    assert refused["error"]
    assert (accepted["error"], reported["error"]) == ("", "")
    assert b"fill" in accepted["cubin"] and b"grow" not in accepted["cubin"]
    assert not [line for line in accepted["log"].splitlines() if is_about_host_code(line)]
    lines = {
        line.partition("(")[2].partition(")")[0] for line in reported["log"].splitlines() if is_about_host_code(line)
    }
    assert lines == {"2", "4", "5", "7"}


@pytest.mark.parametrize(
    "text",
    [
        "int host() { return 1; } __global__ void k(int* p) { *p = host(); }",
        "__host__ int host(); __global__ void k(int* p) { *p = host(); }",
        "int host = 1; __global__ void k(int* p) { *p = host; }",
        "int host = 1; __global__ void k(int* p) { host = *p; }",
        "int host = 1; __global__ void k(int** p) { *p = &host; }",
        "struct S { int host(); }; __global__ void k(S* s) { s->host(); }",
    ],
)
def test_device_code_that_uses_host_code_is_an_error_as_with_nvcc(text: str, by_nvrtc: Compile) -> None:
    result = by_nvrtc(text, HOST_CODE_OPTIONS)
    assert result["error"] and "host" in result["log"]


def test_what_nvcc_accepts_by_default_is_accepted(by_nvrtc: Compile) -> None:
    text = """
    #if !defined(__NVCC__) || !defined(__CUDACC_EXTENDED_LAMBDA__) || !defined(__CUDACC_RELAXED_CONSTEXPR__)
    #error a macro of nvcc is missing
    #endif
    constexpr int twice(int n) { return 2 * n; }
    __global__ void k(int* p$) { __int128 n = twice(*p$); *p$ = (int)n; }
    template <class F> __global__ void call(F f) { f(); }
    void run() { call<<<1, 1>>>([] __device__() {}); }
    """
    assert by_nvrtc(text, HOST_CODE_OPTIONS)["error"] == ""
    index = HOST_CODE_OPTIONS.index("--relaxed_constexpr")  # after the "-Xcudafe" that passes it on
    result = by_nvrtc(text, (*HOST_CODE_OPTIONS[: index - 1], *HOST_CODE_OPTIONS[index + 1 :]))
    assert result["error"] and "twice" in result["log"]


def test_the_compiler_stops_at_the_first_error_where_it_is_told_to(by_nvrtc: Compile) -> None:
    text = "__global__ void k(int* p) {\n  *p = one;\n  *p = two;\n}\n"
    assert by_nvrtc(text, ())["log"].count("error: identifier") == 2
    assert by_nvrtc(text, FIRST_ERROR)["log"].count("error: identifier") == 1


@pytest.mark.parametrize(
    ("text", "is_host"),
    [
        ("k<<<1, 1>>>();", True),
        ("cudaMalloc (&p, 4);", True),
        ("__host__ int f();", True),
        ('#  include "torch/extension.h"', True),
        ("#include <cuda_runtime.h>", True),
        ("x = pow (x, 2);", True),  # means something else without the preamble
        ("__global__ void k(float* x) { *x = powf(*x, 2); }", False),
        ("#include <cuda_fp16.h>", False),
        ("cudaStream_t s;", False),
    ],
)  # fmt: skip
def test_signs_of_host_code(text: str, is_host: bool) -> None:
    assert looks_like_host_code(text.encode()) == is_host
