"""Kernels that a project does not want are removed from PTX, with what only they use."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from cuda_wheel.builder.config.settings import Config
from cuda_wheel.builder.images.ptx_text import chosen_instances, without_kernels
from tests.support.manifests import plain
from tests.support.processes import run_cuda_wheel

FLOAT, HALF, DOUBLE, PLAIN = "_Z1kIfEvPT_", "_Z1kIN3c104HalfEEvPT_", "_Z1kIdEvPT_", "_Z5plainPf"

PTX = """\
.version 8.8
.target sm_80
.address_size 64
.file 1 "a;b{.cu"
.extern .func  (.param .b32 func_retval0) vprintf (.param .b64 p0, .param .b64 p1);
.func  (.param .b32 func_retval0) shared_help (.param .b32 p0);
.global .align 1 .b8 $str[4] = {37, 100, 10, 0};
.global .align 4 .b8 own[16];
.const .align 8 .b64 table[2] = {only_a, 0};
.global .align 4 .u32 unused = 3;
.func only_a () { call.uni shared_help; ret; }
.func only_b () { { call.uni only_c; } ret; }
.func only_c () { call.uni only_b; ret; }
.func  (.param .b32 func_retval0) shared_help (.param .b32 p0) { ret; }
.visible .entry a( .param .u64 a_param_0 ) .maxntid 128, 1, 1 { ld.const table; st.global own; call vprintf, $str; "}" ret; }
.visible .entry b() { call.uni only_b; call.uni shared_help; ret; }
.visible .entry c() { ret; } // b
"""


@pytest.mark.one_toolchain
def test_what_only_removed_kernels_use_goes_with_them() -> None:
    gone = {"own", "table", "only_a", "$str", "vprintf", ".entry a"}
    text = without_kernels(PTX, ["a"])
    assert not [each for each in gone if each in text]
    for kept in ("shared_help (.param .b32 p0) {", "only_b", "only_c", "unused", ".entry b", ".entry c", "a;b{.cu"):
        assert kept in text
    assert ".b8 own[16];" in without_kernels(PTX, ["a"], ["own"])
    assert "only_b" not in without_kernels(PTX, ["b"])
    assert "shared_help" in without_kernels(PTX, ["b"])
    assert "shared_help" not in without_kernels(PTX, ["a", "b"])
    aliased = without_kernels(PTX + ".alias other, shared_help;\n", ["a", "b"])
    assert "shared_help (.param .b32 p0) { ret; }" in aliased
    assert without_kernels(PTX, []) == PTX


@pytest.mark.one_toolchain
@pytest.mark.parametrize(
    ("patterns", "kept"),
    [
        (["*<float*"], [FLOAT, PLAIN]),
        (["*<__half*", "k<double>"], [HALF, DOUBLE, PLAIN]),
        (["k<at::Half>"], [HALF, PLAIN]),
        (["!*<double*"], [FLOAT, HALF, PLAIN]),
        (["k<*", "!*<double*", "!k<c10::Half>"], [FLOAT, PLAIN]),
        ([FLOAT], [FLOAT, PLAIN]),
        (["nothing"], [PLAIN]),
    ],
)
def test_globs_choose_among_the_instances(patterns: list[str], kept: list[str]) -> None:
    assert chosen_instances([FLOAT, HALF, DOUBLE, PLAIN], patterns, []) == kept
    assert chosen_instances([FLOAT, DOUBLE], ["nothing"], [DOUBLE]) == [DOUBLE]


SOURCE = """\
__device__ int counter;
__device__ __noinline__ float helper(float x) { return x * 2; }
template <class T> __global__ void k(T* x) { x[0] = T(helper(float(x[1]))); counter = 1; }
template <class T> __global__ void only_int(T* x) { x[0] = 1; }
__global__ void plain(float* x) { x[0] = 1; }
template <class T> void run(T* x) { k<<<1, 1>>>(x); }
void all(float* f, double* d, int* i, char* c) { run(f); run(d); run(i); run(c); only_int<<<1, 1>>>(i); }
"""


@pytest.fixture
def built(make_project: Callable[..., Path], tmp_path: Path) -> Callable[..., tuple[str, list[str]]]:
    """Return a function that builds SOURCE with keys of a module and returns the output and the kernels' names."""

    def build(keys: str, source: str = SOURCE) -> tuple[str, list[str]]:
        table = f'[tool.cuda-wheel]\narchitectures = ["80"]\n[[tool.cuda-wheel.module]]\nname = "demo.k"\n{keys}'
        project = make_project(table, **{"demo/k.cu": source})
        output = tmp_path / "out"
        result = run_cuda_wheel("build", project, "-o", output, cwd=tmp_path)
        if result.returncode:
            return result.stdout, []
        verified = run_cuda_wheel("verify", output, cwd=tmp_path)
        assert verified.returncode == 0, verified.stdout
        manifest = plain((output / "demo/k.fatbin.json").read_text())
        return result.stdout, sorted(kernel["name"] for kernel in manifest["kernels"])

    return build


@pytest.mark.slow
def test_a_module_keeps_the_instances_that_its_table_names(built) -> None:
    output, names = built('instances = ["k<float*", "k<double>"]')
    assert names == ["k<double>", "k<float>", "plain"]
    assert "warning" not in output
    assert built('instances = ["!k<*"]')[1] == ["only_int<int>", "plain"]
    assert built('instances = ["*<float>"]\ninstantiate = ["k<long>"]')[1] == ["k<float>", "k<long>", "plain"]
    assert len(built("")[1]) == 6


@pytest.mark.slow
@pytest.mark.one_toolchain
def test_globs_that_match_nothing_are_errors(built) -> None:
    assert "'k<flaot>' in instances matches no kernel; kept are" in built('instances = ["k<flaot>", "k<int>"]')[0]
    only = SOURCE.replace("__global__ void plain", "__device__ void plain")
    output, _ = built('instances = ["k<flaot>"]', only)
    assert "instances keeps none of the 5 kernels of demo/k.cu: only_int<int>, k<" in output
    assert "leave out -G" in built('instances = ["k<float>"]\noptions = ["-G"]')[0]
    assert "LTO-IR keeps them" in built('instances = ["k<float>"]\nrelocatable = true')[0]


def test_the_build_says_how_to_keep_fewer_of_many_kernels(built) -> None:
    many = "template <int N> __global__ void n(int* x) { x[0] = N; }\nvoid run(int* x) {\n"
    many += "".join(f"n<{number}><<<1, 1>>>(x);\n" for number in range(51)) + "}\n"
    output, names = built("", many)
    assert len(names) == 51
    assert "51 kernels: instances in the module's table keeps only some of them" in output


@pytest.mark.one_toolchain
def test_the_key_belongs_to_modules() -> None:
    config = Config.from_table({"module": [{"name": "a.b", "instances": ["k<float*"]}]})
    assert config.module[0].instances == ("k<float*",)
