"""Files that mix host and device code, as whole projects: unedited into a wheel, and nothing lost on the way."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from cuda_wheel.builder.editable.on_load import compile_on_load
from cuda_wheel.runtime.manifest import Manifest

Run = Callable[..., subprocess.CompletedProcess[str]]
MIXED = """\
#include <cuda_runtime.h>
#include <cstdio>
#include <vector>
#include "scale.h"

template <typename T> __global__ void add(T* x, T value, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        x[i] = scaled(x[i]) + value;
}

extern "C" __global__ void clear(float* x) { x[threadIdx.x] = LEVEL; }

static void check(cudaError_t error)
{
    if (error != cudaSuccess)
        printf("%s\\n", cudaGetErrorString(error));
}

int main()
{
    std::vector<float> host(1024, 1.0f);
    float* device;
    check(cudaMalloc(&device, host.size() * sizeof(float)));
    clear<<<1, 32>>>(device);
    add<float><<<4, 256>>>(device, 2.0f, 1024);
    check(cudaDeviceSynchronize());
    return 0;
}
"""
HEADER = """\
#pragma once
#include <iostream>
#define LEVEL 3
template <typename T> __device__ T scaled(T x) { return x * FACTOR; }
inline void announce() { std::cout << "scale" << std::endl; }
"""
FILES = {"demo/mixed.cu": MIXED, "demo/scale.h": "#define FACTOR 2\n" + HEADER}
TABLE = '[tool.cuda-wheel]\narchitectures = ["80", "90-real"]\n'


@pytest.fixture
def project(make_project) -> Path:
    return make_project(TABLE, **FILES)


def built(cuda_wheel: Run, project: Path) -> Manifest:
    result = cuda_wheel("build", project, "-o", project / "out")
    assert result.returncode == 0, result.stdout
    return Manifest.from_json((project / "out/demo/mixed.fatbin.json").read_bytes(), "x")


def bodies(project: Path, manifest: Manifest) -> dict[str, str]:
    """Return what the PTX says of each kernel."""
    (image,) = (image for image in manifest.images if image.kind == "ptx")
    content = (project / "out/demo/mixed.fatbin").read_bytes()[image.offset :][: image.size].decode()
    return dict(re.findall(r"\.entry (\w+)(\(.*?\n\}\n)", content, re.DOTALL))


def test_a_mixed_file_compiles_unedited_and_what_was_left_out_is_told(project: Path, cuda_wheel: Run) -> None:
    result = cuda_wheel("build", project, "-o", project / "out")
    assert result.returncode == 0, result.stdout
    manifest = Manifest.from_json((project / "out/demo/mixed.fatbin.json").read_bytes(), "x")
    assert [kernel.name for kernel in manifest.kernels] == ["add<float>", "clear"]
    assert "demo/mixed.cu:21-30: function main" in manifest.host_code
    assert "demo/mixed.cu:15-19: function check" in manifest.host_code
    assert "demo/mixed.cu:3: include <vector>" in manifest.host_code
    assert any("scale.h:6: function announce" in text for text in manifest.host_code)
    assert "left out, as host code: demo/mixed.cu:1: include <cuda_runtime.h>; " in result.stdout


def test_the_kernels_are_those_of_a_file_without_host_code(project: Path, cuda_wheel: Run) -> None:
    mixed = built(cuda_wheel, project)
    instructions = bodies(project, mixed)
    alone = MIXED[MIXED.index('#include "scale.h"') : MIXED.index("static void check")]
    (project / "demo/mixed.cu").write_text(alone)
    (project / "demo/scale.h").write_text(
        FILES["demo/scale.h"].replace("#include <iostream>\n", "").partition("inline")[0]
    )
    with (project / "pyproject.toml").open("a") as stream:
        stream.write('[[tool.cuda-wheel.module]]\nname = "demo.mixed"\ninstantiate = ["add<float>"]\n')
    plain = built(cuda_wheel, project)
    assert (plain.kernels, plain.host_code) == (mixed.kernels, ())
    assert [image.resources for image in plain.images] == [image.resources for image in mixed.images]
    assert bodies(project, plain) == instructions
    assert set(instructions) == {"_Z3addIfEvPT_S0_i", "clear"}


def test_a_header_with_host_code_counts_as_one_that_was_read(project: Path, cuda_wheel: Run) -> None:
    before = built(cuda_wheel, project)
    (project / "demo/scale.h").write_text(FILES["demo/scale.h"].replace("FACTOR 2", "FACTOR 5"))
    assert built(cuda_wheel, project).fatbin_sha256 != before.fatbin_sha256
    result = cuda_wheel("build", project, "-o", project / "out")
    assert "s: 2 from the cache\n" in result.stdout
    assert "left out, as host code" in result.stdout


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("keep", "demo/mixed.cu:3:"),
        ("reject", 'demo/mixed.cu:15: error: function check is host code (host-code = "reject").'),
        ("auto?", 'tool.cuda-wheel.host-code must be "auto", "keep" or "reject", not \'auto?\''),
    ],
)
def test_the_setting_decides(setting: str, message: str, make_project, cuda_wheel: Run, tmp_path: Path) -> None:
    project = make_project(TABLE + f'host-code = "{setting}"\n', **FILES)
    result = cuda_wheel("build", project, "-o", tmp_path / "out")
    assert result.returncode == 1
    assert message in result.stdout
    assert not (tmp_path / "out").exists()


def test_an_error_in_device_code_stays_what_it_is(project: Path, cuda_wheel: Run, tmp_path: Path) -> None:
    (project / "demo/mixed.cu").write_text(MIXED.replace("x[threadIdx.x] = LEVEL", "x[threadIdx.y] = LOVEL"))
    result = cuda_wheel("build", project, "-o", tmp_path / "out")
    assert result.returncode == 1
    assert 'demo/mixed.cu:13:63: error: identifier "LOVEL" is undefined' in result.stdout


def test_device_code_that_is_wrong_is_not_taken_for_host_code(make_project, cuda_wheel: Run, tmp_path: Path) -> None:
    text = "__global__ void good(int* x) { *x = 1; }\n__globl__ void bad(int* x) { *x = 1; }\n"
    project = make_project(TABLE, **{"demo/typo.cu": text})
    result = cuda_wheel("build", project, "-o", tmp_path / "out")
    assert result.returncode == 1
    assert "demo/typo.cu:2:1: error" in result.stdout


@pytest.mark.parametrize(
    ("slip", "message"),
    [
        ("this is garbage", "demo/mixed.cu:15:1: error: expected a declaration\n  this is garbage\n  ^"),
        ("@decorator", "demo/mixed.cu:15:1: error: unrecognized token"),
        ("}", 'demo/mixed.cu:15: error: "{" and "}" do not match in this fragment'),
        ("float f(int x) {", 'demo/mixed.cu:15: error: "{" and "}" do not match in this function f'),
        ("void f(int x { }", 'demo/mixed.cu:15: error: "(" and ")" do not match in this function f'),
    ],
)
def test_what_makes_no_sense_is_no_host_code(
    slip: str, message: str, project: Path, cuda_wheel: Run, tmp_path: Path
) -> None:
    (project / "demo/mixed.cu").write_text(MIXED.replace("static void check", f"{slip}\n\nstatic void check"))
    result = cuda_wheel("build", project, "-o", tmp_path / "out")
    assert result.returncode == 1
    assert message in result.stdout


@pytest.mark.parametrize("macro", ["REGISTER(clear);", "BEGIN_EXPORTS", 'BINDINGS("x", clear) '])
def test_a_macro_of_the_hosts_headers_is_host_code(macro: str, project: Path, cuda_wheel: Run) -> None:
    (project / "demo/mixed.cu").write_text(MIXED.replace("static void check", f"{macro}\n\nstatic void check"))
    assert [kernel.name for kernel in built(cuda_wheel, project).kernels] == ["add<float>", "clear"]


def test_an_error_shows_its_line_and_column_as_they_were_written(
    project: Path, cuda_wheel: Run, tmp_path: Path
) -> None:
    line = "static int on() { return 1; } const float L[] = {1, 2}; __device__ float f(int i) { return L[i] + nope; }"
    (project / "demo/mixed.cu").write_text(MIXED.replace("static void check", f"{line}\n\nstatic void check"))
    result = cuda_wheel("build", project, "-o", tmp_path / "out")
    assert result.returncode == 1
    column = line.index("nope") + 1
    assert f'demo/mixed.cu:15:{column}: error: identifier "nope" is undefined\n  {line}\n' in result.stdout


def test_host_code_alone_is_told_as_that(make_project, cuda_wheel: Run, tmp_path: Path) -> None:
    project = make_project(TABLE, **{"demo/main.cu": "#include <iostream>\nint main() { std::cout << 1; }\n"})
    result = cuda_wheel("build", project, "-o", tmp_path / "out")
    assert result.returncode == 1
    assert "demo/main.cu holds host code alone, and no kernel: leave it out by sources." in result.stdout


@pytest.mark.parametrize("name", ["nowhere.cuh", "nowhere.h"])
def test_a_missing_header_of_the_project_is_told(name: str, make_project, cuda_wheel: Run, tmp_path: Path) -> None:
    text = f'#include "{name}"\n__global__ void k(int* x) {{ *x = 1; }}\n'
    project = make_project(TABLE, **{"demo/k.cu": text})
    result = cuda_wheel("build", project, "-o", tmp_path / "out")
    assert result.returncode == 1
    assert f'demo/k.cu:1:{len(name) + 12}: error: cannot open source file "{name}"' in result.stdout


def test_a_misspelt_marker_in_a_mixed_file_is_no_host_code(project: Path, cuda_wheel: Run, tmp_path: Path) -> None:
    (project / "demo/mixed.cu").write_text(
        MIXED.replace('extern "C" __global__', 'extern "C" __globl__').replace("clear<<<1, 32>>>(device);", "")
    )
    result = cuda_wheel("build", project, "-o", tmp_path / "out")
    assert result.returncode == 1
    assert "did you mean __global__ by __globl__?" in result.stdout


def test_a_launch_that_nobody_can_follow_is_an_error_that_says_what_helps(
    project: Path, cuda_wheel: Run, tmp_path: Path
) -> None:
    launcher = "template <typename... T> void launch(T... values) { (add<T><<<1, 1>>>(nullptr, values, 1), ...); }\n"
    text = MIXED.replace("int main()", launcher + "int main()").replace(
        "    add<float><<<4, 256>>>(device, 2.0f, 1024);\n", "    launch(1.0, 2);\n"
    )
    (project / "demo/mixed.cu").write_text(text)
    result = cuda_wheel("build", project, "-o", tmp_path / "out")
    assert result.returncode == 1
    assert "which instances of the kernel template add are launched cannot be told" in result.stdout
    assert "Name them with instantiate." in result.stdout


def test_device_code_alone_is_left_as_it_is(make_project, cuda_wheel: Run) -> None:
    project = make_project(TABLE)
    assert cuda_wheel("build", project, "-o", project / "out").returncode == 0
    assert json.loads((project / "out/demo/fill.fatbin.json").read_text())["host_code"] == []


def test_a_mixed_file_compiles_on_load(project: Path) -> None:
    results = [compile_on_load("demo.mixed", [str(project / "demo")], lambda: (8, 0)) for _ in range(2)]
    manifest = Manifest.from_json(results[0][0], "x")
    assert [kernel.name for kernel in manifest.kernels] == ["add<float>", "clear"]
    assert results[0] == results[1]
    (project / "demo/scale.h").write_text(FILES["demo/scale.h"].replace("FACTOR 2", "FACTOR 5"))
    assert compile_on_load("demo.mixed", [str(project / "demo")], lambda: (8, 0))[1] != results[0][1]


ABSENT = """\
#include "later.h"
#include <chrono_like>
#ifndef BY
#define BY 1
#endif
__global__ void k(int* x) { *x *= BY; }
int main() { k<<<1, 1>>>(nullptr); }
"""


@pytest.mark.parametrize("place", ["demo/later.h", "include/later.h", "include/chrono_like"])
def test_a_header_that_was_not_there_is_noticed_when_it_comes(
    place: str, make_project, cuda_wheel: Run, tmp_path: Path
) -> None:
    table = TABLE + 'include-dirs = ["include"]\n'
    project = make_project(table, **{"demo/mixed.cu": ABSENT, "include/other.h": ""})
    before = built(cuda_wheel, project)
    assert built(cuda_wheel, project).fatbin_sha256 == before.fatbin_sha256
    loaded = compile_on_load("demo.mixed", [str(project / "demo")], lambda: (8, 0))
    assert compile_on_load("demo.mixed", [str(project / "demo")], lambda: (8, 0)) == loaded
    (project / place).write_text("#define BY 3\n")
    assert built(cuda_wheel, project).fatbin_sha256 != before.fatbin_sha256
    assert compile_on_load("demo.mixed", [str(project / "demo")], lambda: (8, 0)) != loaded


def test_an_instance_of_what_nothing_declares_is_told_as_one_to_name(
    make_project, cuda_wheel: Run, tmp_path: Path
) -> None:
    text = (Path(__file__).parents[2] / "data" / "styles/mixed_torch.cu").read_text()
    project = make_project(TABLE, **{"demo/gelu.cu": text})
    result = cuda_wheel("build", project, "-o", tmp_path / "out")
    assert result.returncode == 1
    assert "which instances of the kernel template gelu_forward are launched cannot be told: " in result.stdout
    assert 'in gelu_forward<scalar_t>, identifier "scalar_t" is undefined. Name them with instantiate.' in result.stdout
