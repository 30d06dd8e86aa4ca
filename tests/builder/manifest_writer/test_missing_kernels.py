"""Modules without kernels, and launches of what is no kernel."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from cuda_wheel.builder.errors import CompileError
from cuda_wheel.builder.failures import compile_failure
from cuda_wheel.builder.jobs import Job
from cuda_wheel.builder.manifest_writer.missing_kernels import suggested_instances
from cuda_wheel.builder.toolchain.toolchain import Toolchain
from tests.support.processes import run_cuda_wheel

TEMPLATES = """\
template <typename T, int N> __global__ void gemm(T* x) { x[0] = N; }
namespace a { namespace b {
template <class T, bool Last, unsigned int Width = 4>
__launch_bounds__(128) static __global__ void axpy(T a, T* x) { x[0] = Last ? a : Width; }
} namespace { template <int... N> __global__ void pack(int* x) {} } }
template <typename T> __device__ void helper(T* x) {}  // template <class T> __global__ void commented() {}
"""


@pytest.mark.one_toolchain
def test_the_suggested_instances_fit_the_parameters_of_the_templates() -> None:
    assert suggested_instances(TEMPLATES, ()) == ["gemm<float, 16>", "a::b::axpy<float, true>", "a::pack<>"]


EXCLUDED = """\
#define FAST 1
#if 0
template <class T> __global__ void never(T* x) {}
#elif defined(USE_ROCM) || (defined(FAST) && !defined(FAST))
template <class T> __global__ void rocm(T* x) {}
#else
template <class T> __global__ void other(T* x) {}
#endif
#ifdef SLOW
template <class T> __global__ void slow(T* x) {}
#ifdef FAST
template <class T> __global__ void inside(T* x) {}
#endif
#endif
#if __CUDA_ARCH__ >= 900 || CUDART_VERSION > 12000 || LEVEL == 3
template <class T> __global__ void recent(T* x) {}
#endif
#ifdef __CUDACC__
template <class T> __global__ void compiled(T* x) {}
#endif
"""


@pytest.mark.one_toolchain
def test_templates_that_the_preprocessor_excludes_are_not_suggested() -> None:
    assert suggested_instances(EXCLUDED, ()) == ["other<float>", "recent<float>", "compiled<float>"]
    assert suggested_instances(EXCLUDED, {"SLOW"})[1:3] == ["slow<float>", "inside<float>"]


MANY = '["75-real", "80-real", "86-real", "87-real", "89-real", "90-real", "100-real", "120-real"]'


@pytest.fixture
def built(make_project: Callable[..., Path], tmp_path: Path) -> Callable[..., tuple[int, str]]:
    """Return a function that builds a text for many targets and returns the exit status and the output."""

    def build(text: str, table: str = "", targets: str = '["80-real"]') -> tuple[int, str]:
        project = make_project(f"[tool.cuda-wheel]\narchitectures = {targets}\n{table}", **{"demo/k.cu": text})
        result = run_cuda_wheel("build", project, "-o", tmp_path / "out", cwd=tmp_path)
        return result.returncode, result.stdout

    return build


def test_a_file_of_templates_gets_a_table_to_paste_before_all_targets_are_compiled(built) -> None:
    status, output = built(TEMPLATES, targets=MANY)
    assert status == 1
    assert " not done" in output
    table = output[output.index("[[tool.cuda-wheel.module]]") :].strip()
    assert table.startswith('[[tool.cuda-wheel.module]]\nname = "demo.k"\ninstantiate = ["gemm<float, 16>"')
    status, output = built(TEMPLATES, table)
    assert status == 0, output
    assert "demo.k: 3 kernels" in output


def test_an_excluded_template_is_named_with_its_condition_and_not_proposed(built) -> None:
    text = "#ifdef FAST\n" + TEMPLATES + "#endif\ntemplate <class T> __global__ void other(T* x) {}\n"
    status, output = built(text)
    assert status == 1
    assert 'instantiate = ["other<float>"]' in output
    assert "It has templates: other (line 9)." in output
    assert "It seems to define gemm (line 2)," in output
    defines = '[tool.cuda-wheel.defines]\nFAST = "1"\n'
    assert 'instantiate = ["gemm<float, 16>"' in built(text, defines)[1]


def test_a_kernel_for_one_target_is_waited_for(built) -> None:
    text = TEMPLATES + "#if __CUDA_ARCH__ >= 1200\n__global__ void late() {}\n#endif\n"
    status, output = built(text, 'optional-kernels = ["late"]', MANY)
    assert status == 0, output
    assert "demo.k: 1 kernel" in output


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("void f(int* x) { x[0] = 1; }\nvoid run(int* x) { f<<<1, 1>>>(x); }\n", "error: f is launched"),
        (
            "__global__ void k() {}\ntemplate <class T> inline void f(T* x) { x[0] = 1; }\n"
            "void run(int* x) { k<<<1, 1>>>(); f<int> <<<1, 1>>>(x); }\n",
            "error: f is launched with <<<...>>>",
        ),
    ],
)
def test_a_launched_function_without_a_mark_is_an_error(text: str, expected: str, built) -> None:
    status, output = built(text)
    assert status == 1
    assert expected in output


@pytest.mark.slow
@pytest.mark.parametrize(
    "text",
    [
        "#define KERNEL __global__ void\nKERNEL f(int* x) { x[0] = 1; }\nvoid run(int* x) { f<<<1, 1>>>(x); }\n",
        "__global__ void k(int* x) { x[0] = 1; }\nstruct S { void f(int* x) { auto f = &k; f<<<1, 1>>>(x); } };\n",
        "__global__ void k() {}\nvoid run() { k<<<1, 1>>>(); }\n// void f() {}\nvoid g() { /* f<<<1, 1>>>() */ }\n",
        "#define DEVICE_GLOBAL __global__\n__global__ void k() {}\n"
        "template <class T> DEVICE_GLOBAL void f(T* x) {}\ntemplate <class T> void run(T* x) { f<<<1, 1>>>(x); }\n",
        "__global__ void f(int* x) { x[0] = 1; }\nstruct S { void f(int* x) { ::f<<<1, 1>>>(x); } };\n",
    ],
)
def test_what_is_or_may_be_a_kernel_is_no_error(text: str, built) -> None:
    status, output = built(text)
    assert status == 0, output


@pytest.mark.one_toolchain
def test_a_crash_names_the_expressions_that_the_source_does_not_declare(toolchain: Toolchain, compiled) -> None:
    died = CompileError("the compiler process died (killed by SIGSEGV)\nhelp: the compiler ran out of memory")
    job = Job.__new__(Job)
    for name, value in (
        ("source", "demo/k.cu"),
        ("text", TEMPLATES.encode()),
        ("instantiate", ("gemm<float, 3>", "gem<float, 3>")),
        ("kind", "cuda"),
        ("arch", "80"),
        ("cubin", True),
        ("form", "whole"),
    ):
        object.__setattr__(job, name, value)
    text = str(compile_failure(job, toolchain, died))
    assert "NVRTC may crash on a name in instantiate that the source does not declare: check 'gem<float, 3>'" in text
    object.__setattr__(job, "instantiate", ())
    assert str(compile_failure(job, toolchain, died)).endswith("the compiler ran out of memory")


MISSPELT = """\
#include <vector>
template <class T> __global__ void k(T* x) { *x = 1; }
template <class T> void launch(T* x) { k<<<1, 1>>>(x); }
void run(float* x) { %s(x); }
"""


def test_a_misspelt_call_of_a_launcher_is_never_lost_in_silence(built) -> None:
    """The call may instantiate kernels, so whoever loses them must be told."""
    text = MISSPELT + "void other(double* x) { lunch(x); }\n"
    status, output = built(text % "launch")
    assert status == 1 and 'k.cu:5:25: error: identifier "lunch" is undefined' in output
    leave_out = 'host-code = "leave-out"\n'
    reason = 'k.cu:5: {}body of other{}: identifier "lunch" is undefined'
    status, output = built(text % "launch", leave_out)
    assert status == 0 and "demo.k: 1 kernel" in output
    assert "left out: demo/k.cu:5: body of other" in output
    assert reason.format("warning: ", " is left out, as host code") in output
    status, output = built(text % "launch", f"{leave_out}warnings-as-errors = true")
    assert status == 1 and reason.format("warning: ", " is left out, as host code") in output
    status, output = built(text % "lunch", leave_out)
    assert status == 1 and "has no kernel" in output and "Nothing else launches them" in output
    assert 'k.cu:4: body of run: identifier "lunch" is undefined\ndemo/' + reason.format("", "") in output
