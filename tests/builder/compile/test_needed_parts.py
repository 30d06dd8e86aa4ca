"""A source that fails with some parts of the stand-ins is compiled with those that its errors may need, and no others."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

from cuda_wheel.builder.compile import nvrtc_calls
from cuda_wheel.builder.compile.job import compile_job
from cuda_wheel.builder.compile.needed_parts import needed_parts
from cuda_wheel.builder.compile.nvrtc_calls import NvrtcCalls
from cuda_wheel.builder.errors import CompileError
from cuda_wheel.builder.jobs import Job
from cuda_wheel.builder.workers.pool import Workers

if TYPE_CHECKING:
    from cuda_wheel.builder.toolchain.nvrtc import NvrtcRequest, NvrtcResult

SMALL, LARGE = "--define-macro=CUDA_WHEEL_WITHOUT_STREAMS", "--define-macro=CUDA_WHEEL_WITHOUT_COMPLEX"

UNKNOWN = 'k.cu(1): error: identifier "unheard" is undefined\n  unheard x;\n  ^\n\n'
OTHER = 'k.cu(2): error: expression must have class type but it has type "int"\n  x.f();\n  ^\n\n'
SCOPE = 'error: name followed by "::" must be a class or namespace name\n'


@pytest.mark.one_toolchain
@pytest.mark.parametrize(
    ("log", "needed"),
    [
        (UNKNOWN, set()),
        ('k.cu(1): error: namespace "std" has no member "unheard"\n  std::unheard x;\n       ^\n', set()),
        (f"k.cu(1): {SCOPE}  unheard::f();\n  ^\n", set()),
        ('k.cu(1): catastrophic error: cannot open source file "unheard.h"\n  #include <unheard.h>\n', set()),
        (UNKNOWN + OTHER.replace("(2)", "(1)"), set()),  # may follow from the first error of the line
        (UNKNOWN + OTHER, {SMALL}),
        ("", {SMALL, LARGE}),  # the compiler ended in another way
        (OTHER, {SMALL}),
        ('k.cu(1): error: identifier "vector" is undefined\n  vector x;\n  ^\n', {SMALL}),
        ('k.cu(1): error: identifier "cudaMemcpy3D" is undefined\n  cudaMemcpy3D();\n  ^\n', {SMALL}),
        ('k.cu(1): error: identifier "PyExc_KeyError" is undefined\n  PyExc_KeyError;\n  ^\n', {SMALL}),
        (UNKNOWN.replace("k.cu", "/library/a.h"), {SMALL}),
        (f"k.cu(2): {SCOPE}  MACRO(x);\n  ^\n", {SMALL}),  # what the macro names is not in the line
        (UNKNOWN.replace("unheard x", "unheard<c10::complex<float>> x"), {SMALL, LARGE}),
        ('k.cu(1): error: namespace "std" has no member "norm"\n  std::norm(x);\n       ^\n', {SMALL, LARGE}),
        ("k.cu(1): error: unknown\n  cuda::std::min(x);\n       ^\n", {SMALL, LARGE}),
        (UNKNOWN.replace("unheard x", "unheard x = at::cuda::f()"), set()),
        ("k.cu(1): warning: atomic\n\n" + OTHER, {SMALL, LARGE}),
    ],
)
def test_a_part_is_needed_unless_no_error_can_have_to_do_with_it(
    log: str, needed: set[str], job_of: Callable[..., Job]
) -> None:
    job = job_of("unheard::f();\nMACRO(x);\n")
    assert needed_parts(job, ["--std=c++17", SMALL, LARGE], log) == needed


@pytest.mark.one_toolchain
def test_nothing_is_needed_where_no_part_is_left_out(job_of: Callable[..., Job]) -> None:
    assert needed_parts(job_of(""), ["--std=c++17"], OTHER) == set()
    assert needed_parts(job_of(""), ["--std=c++17"], "") == set()
    assert needed_parts(job_of(""), [LARGE], OTHER) == set()


KERNEL = "#include <torch/extension.h>\n__global__ void k(float* x) { *x = 1; }\nvoid g(float* x) { k<<<1, 1>>>(x); }\n"


def attempts(job: Job) -> tuple[str, list[list[str]]]:
    """Compile a job. Return the text of its error, and the left-out parts of each compilation. Runs in a worker."""
    options: list[list[str]] = []
    compile_, all_errors = NvrtcCalls.compile, NvrtcCalls.all_errors

    def compiled(self: NvrtcCalls, request: NvrtcRequest, *more: str) -> NvrtcResult:
        options.append(request["options"])
        return compile_(self, request, *more)

    def with_all_errors(self: NvrtcCalls, request: NvrtcRequest, seconds: int, *more: str) -> NvrtcResult | None:
        made = self.made
        result = all_errors(self, request, seconds, *more)
        options.extend([request["options"]] * (self.made - made))
        return result

    error = ""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(nvrtc_calls.NvrtcCalls, "compile", compiled)
        patch.setattr(nvrtc_calls.NvrtcCalls, "all_errors", with_all_errors)
        try:
            compile_job(job)
        except CompileError as raised:
            error = str(raised)
    return error, [[each.rpartition("WITHOUT_")[2] for each in made if "WITHOUT_" in each] for made in options]


@pytest.mark.parametrize(
    ("mistake", "left_out"),
    [
        ("__global__ void last(float* x) { *x = unheard; }\n", ["some", "some"]),
        ("unheard f(unheard x) { return x; }\n", ["some", "some"]),
        ("__global__ void last(float* x) { x->f(); }\n", ["some", "some", "large"]),
        ("int f(std::complex<float> x) { return x.unheard(); }\n", ["some", "some", "none"]),
    ],
)
def test_a_mistake_is_found_without_parts_that_cannot_help(
    mistake: str, left_out: list[str], workers: Workers, job_of: Callable[..., Job]
) -> None:
    error, found = workers.submit(attempts, job_of(KERNEL + mistake)).result()
    assert error.count("error:") >= 1 and f"k.cu:{KERNEL.count(chr(10)) + 1}:" in error
    kinds = {"some": lambda each: len(each) > 2, "large": lambda each: set(each) == {"ATOMIC", "COMPLEX"}}
    assert [next((kind for kind, holds in kinds.items() if holds(each)), "none") for each in found] == left_out


@pytest.mark.slow
@pytest.mark.parametrize(
    "use",
    ["double f(double x) { return std::norm(x); }\n", "int f() { return cuda::std::numeric_limits<int>::max(); }\n"],
)
def test_what_a_large_part_declares_is_found_although_nothing_names_the_part(
    use: str, workers: Workers, job_of: Callable[..., Job]
) -> None:
    error, found = workers.submit(attempts, job_of(KERNEL + use)).result()
    assert error == "" and "COMPLEX" in found[0] and found[-1] == []
