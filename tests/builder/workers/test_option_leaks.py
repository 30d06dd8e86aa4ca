"""What one program does to later ones of the same process: builds keep such programs apart."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from types import ModuleType
from typing import Any

import pytest

from cuda_wheel.builder.compile.job import compile_job
from cuda_wheel.builder.errors import CompileError
from cuda_wheel.builder.jobs import Job
from cuda_wheel.builder.toolchain import nvrtc
from cuda_wheel.builder.toolchain.toolchain import Toolchain
from cuda_wheel.builder.workers.executor import Call, shared_options
from cuda_wheel.builder.workers.pool import Workers
from tests.support.projects import ROOT

BY_VALUE = """
struct Large { long long values[40]; };
__global__ void k(Large large, long long* x, unsigned long long n) {
    long long own[32];
    for (int i = 0; i < 32; i++) own[i] = large.values[i] * x[i] % n;
    x[threadIdx.x] = own[n % 32];
}
"""
"""A kernel whose code NVRTC 12.9 and 13.5 change after a program with debugging information; the fields of its struct
are read from such information."""


@pytest.fixture
def option_leaks(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(ROOT / "scripts")
    import option_leaks

    return option_leaks


def test_asking_for_the_fields_of_structs_does_not_change_the_code_of_the_next_job(
    job_of: Callable[..., Job], toolchain: Toolchain
) -> None:
    first, second = job_of(BY_VALUE, "80"), job_of(BY_VALUE, "90", describes=False)
    with Workers(timeout=300, memory=None, count=1) as workers:
        alone = workers.submit(compile_job, second).result()
    with Workers(timeout=300, memory=None, count=1) as workers:
        described = workers.submit(compile_job, replace(first, describes=True)).result()
        after = workers.submit(compile_job, second).result()
    (declared,) = described.parameters.values()
    assert declared[0].struct is not None  # debugging information was asked for
    assert (after.ptx, after.cubin) == (alone.ptx, alone.cubin)


@pytest.mark.parametrize(
    ("text", "changes"),
    [
        (BY_VALUE, {"describes": True}),
        ("__global__ void k(int* x) { *x = undeclared; }\n", {}),
        ("#include <vector>\ntemplate <class T> __global__ void k(T* x) { *x = 1; }\n"
         "void f(std::vector<int>& v) { k<<<1, 1>>>(v.data()); }\n", {}),
        ("void f(NoSuchType& v) {}\n__global__ void k(int* x) { *x = 1; }\n", {}),
        ("namespace cub { __device__ int table[3]; }\n__global__ void k(int* x) { *x = 1; }\n", {}),
        ("constexpr int three() { return 3; }\n__global__ void k(int* x) { *x = three(); }\n", {}),
        ("__global__ void k(char* x) { *x = __TIME__[0]; }\n", {}),
        ("template <class T> __global__ void k(T* x) { *x = 1; }\n", {"instantiate": ("k<float>",)}),
        ("__global__ void k(int* x) { *x = 1; }\n", {"form": "lto", "cubin": False}),
        ("__global__ void k(int* x) { *x = 1; }\n", {"form": "ptx"}),
        ("__global__ void k(int* x) { *x = 1; }\n", {"host_code": "reject"}),
        ("__global__ void k(int* x) { *x = 1; }\n", {"lineinfo": True}),
    ],
)  # fmt: skip
def test_calls_of_a_job_differ_in_options_that_change_no_later_program(
    text: str, changes: dict[str, Any], job_of: Callable[..., Job], workers: Workers, option_leaks: ModuleType
) -> None:
    job = job_of(text, **changes)
    call = Call(_recorded_options, job, shared_options(job.options, job.lineinfo))
    known = {option for more, fewer in option_leaks.DIFFERENCES.values() for option in (*more, *fewer)}
    known |= {*option_leaks.BASE, *nvrtc.LIST_HEADERS}
    known |= {
        "-lineinfo",
        "--ptxas-options=--generate-line-info",
    }  # all jobs of a worker have line information, or none
    for options in workers.enqueue(call).result():
        own = set(options) - set(job.options) - known
        assert not {option for option in own if not option.startswith(HARMLESS)}, options


HARMLESS = (
    "--gpu-architecture=", "--include-path=", "--define-macro=", "--undefine-macro=", "--frandom-seed=", "--xref=",
    "--ptxas-options=-v", "--pre-include=cuda_wheel_detail/", "--diag_suppress=", "--diag_warning=", "--diag_error=",
)  # fmt: skip
"""The beginnings of options of which `DIFFERENCES` tries others: with another value they do the same."""


def _recorded_options(job: Job) -> list[list[str]]:
    """Compile a job, and return the options of each call of NVRTC in this process."""
    recorded: list[list[str]] = []
    original = nvrtc._compile_program

    def compile_program(library: Any, program: Any, options: list[str]) -> str:
        recorded.append(options)
        return original(library, program, options)

    nvrtc._compile_program = compile_program
    try:
        compile_job(job)
    except CompileError:
        pass
    finally:
        nvrtc._compile_program = original
    assert recorded
    return recorded
