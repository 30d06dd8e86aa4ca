"""Projects whose files mix host and device code build unedited, and no kernel is lost."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from cuda_wheel.builder.editable.on_load import compile_on_load
from cuda_wheel.runtime.manifest import Manifest
from tests.support.mixed_source import FILES, MIXED

Run = Callable[..., subprocess.CompletedProcess[str]]
TABLE = '[tool.cuda-wheel]\narchitectures = ["80", "90-real"]\n'


@pytest.fixture
def project(make_project) -> Path:
    return make_project(TABLE, **FILES)


def built(cuda_wheel: Run, project: Path) -> Manifest:
    result = cuda_wheel("build", project, "-o", project / "out")
    assert result.returncode == 0, result.stdout
    return Manifest.from_json((project / "out/demo/mixed.fatbin.json").read_bytes(), "x")


def bodies(project: Path, manifest: Manifest) -> dict[str, str]:
    """Return the PTX of each kernel, by symbol."""
    (image,) = (image for image in manifest.images if image.kind == "ptx")
    content = (project / "out/demo/mixed.fatbin").read_bytes()[image.offset :][: image.size].decode()
    return dict(re.findall(r"\.entry (\w+)(\(.*?\n\}\n)", content, re.DOTALL))


def test_a_mixed_file_compiles_unedited_and_the_removed_code_is_reported(project: Path, cuda_wheel: Run) -> None:
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


def test_a_changed_header_with_host_code_is_recompiled(project: Path, cuda_wheel: Run) -> None:
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
def test_keep_reject_and_invalid_settings_are_errors(
    setting: str, message: str, make_project, cuda_wheel: Run, tmp_path: Path
) -> None:
    project = make_project(TABLE + f'host-code = "{setting}"\n', **FILES)
    result = cuda_wheel("build", project, "-o", tmp_path / "out")
    assert result.returncode == 1
    assert message in result.stdout
    assert not (tmp_path / "out").exists()


def test_an_error_in_device_code_is_reported_at_its_position(project: Path, cuda_wheel: Run, tmp_path: Path) -> None:
    (project / "demo/mixed.cu").write_text(MIXED.replace("x[threadIdx.x] = LEVEL", "x[threadIdx.y] = LOVEL"))
    result = cuda_wheel("build", project, "-o", tmp_path / "out")
    assert result.returncode == 1
    assert 'demo/mixed.cu:13:63: error: identifier "LOVEL" is undefined' in result.stdout


def test_invalid_device_code_is_not_taken_for_host_code(make_project, cuda_wheel: Run, tmp_path: Path) -> None:
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
def test_a_syntax_error_is_not_taken_for_host_code(
    slip: str, message: str, project: Path, cuda_wheel: Run, tmp_path: Path
) -> None:
    (project / "demo/mixed.cu").write_text(MIXED.replace("static void check", f"{slip}\n\nstatic void check"))
    result = cuda_wheel("build", project, "-o", tmp_path / "out")
    assert result.returncode == 1
    assert message in result.stdout


@pytest.mark.parametrize("macro", ["REGISTER(clear);", "BEGIN_EXPORTS", 'BINDINGS("x", clear) '])
def test_a_macro_of_a_host_header_is_host_code(macro: str, project: Path, cuda_wheel: Run) -> None:
    (project / "demo/mixed.cu").write_text(MIXED.replace("static void check", f"{macro}\n\nstatic void check"))
    assert [kernel.name for kernel in built(cuda_wheel, project).kernels] == ["add<float>", "clear"]


def test_an_error_shows_the_line_and_column_of_the_original_file(
    project: Path, cuda_wheel: Run, tmp_path: Path
) -> None:
    line = "static int on() { return 1; } const float L[] = {1, 2}; __device__ float f(int i) { return L[i] + nope; }"
    (project / "demo/mixed.cu").write_text(MIXED.replace("static void check", f"{line}\n\nstatic void check"))
    result = cuda_wheel("build", project, "-o", tmp_path / "out")
    assert result.returncode == 1
    column = line.index("nope") + 1
    assert f'demo/mixed.cu:15:{column}: error: identifier "nope" is undefined\n  {line}\n' in result.stdout


def test_a_file_without_device_code_is_an_error(make_project, cuda_wheel: Run, tmp_path: Path) -> None:
    project = make_project(TABLE, **{"demo/main.cu": "#include <iostream>\nint main() { std::cout << 1; }\n"})
    result = cuda_wheel("build", project, "-o", tmp_path / "out")
    assert result.returncode == 1
    assert "demo/main.cu contains only host code, and no kernel: exclude it with the key sources." in result.stdout


@pytest.mark.parametrize("name", ["nowhere.cuh", "nowhere.h"])
def test_a_missing_header_of_the_project_is_reported(name: str, make_project, cuda_wheel: Run, tmp_path: Path) -> None:
    text = f'#include "{name}"\n__global__ void k(int* x) {{ *x = 1; }}\n'
    project = make_project(TABLE, **{"demo/k.cu": text})
    result = cuda_wheel("build", project, "-o", tmp_path / "out")
    assert result.returncode == 1
    assert f'demo/k.cu:1:{len(name) + 12}: error: cannot open source file "{name}"' in result.stdout


def test_a_misspelt_marker_in_a_mixed_file_is_not_host_code(project: Path, cuda_wheel: Run, tmp_path: Path) -> None:
    (project / "demo/mixed.cu").write_text(
        MIXED.replace('extern "C" __global__', 'extern "C" __globl__').replace("clear<<<1, 32>>>(device);", "")
    )
    result = cuda_wheel("build", project, "-o", tmp_path / "out")
    assert result.returncode == 1
    assert "__globl__ is not a CUDA marker; did you mean __global__?" in result.stdout


def test_an_unresolved_launch_is_an_error_with_a_hint(project: Path, cuda_wheel: Run, tmp_path: Path) -> None:
    launcher = "template <typename... T> void launch(T... values) { (add<T><<<1, 1>>>(nullptr, values, 1), ...); }\n"
    text = MIXED.replace("int main()", launcher + "int main()").replace(
        "    add<float><<<4, 256>>>(device, 2.0f, 1024);\n", "    launch(1.0, 2);\n"
    )
    (project / "demo/mixed.cu").write_text(text)
    result = cuda_wheel("build", project, "-o", tmp_path / "out")
    assert result.returncode == 1
    assert "the launched instances of the kernel template add cannot be determined" in result.stdout
    assert "Name them with instantiate." in result.stdout


def test_nothing_is_removed_from_device_code_alone(make_project, cuda_wheel: Run) -> None:
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
def test_a_new_header_at_a_searched_path_causes_recompilation(
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


def test_an_instance_with_an_undeclared_argument_is_reported(make_project, cuda_wheel: Run, tmp_path: Path) -> None:
    text = (Path(__file__).parents[2] / "data" / "styles/mixed_torch.cu").read_text()
    project = make_project(TABLE, **{"demo/gelu.cu": text})
    result = cuda_wheel("build", project, "-o", tmp_path / "out")
    assert result.returncode == 1
    assert "the launched instances of the kernel template gelu_forward cannot be determined: " in result.stdout
    assert 'in gelu_forward<scalar_t>, identifier "scalar_t" is undefined. Name them with instantiate.' in result.stdout
