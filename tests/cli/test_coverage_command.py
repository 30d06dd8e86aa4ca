"""`cuda-wheel coverage`: its tables, its JSON, its pictures, and the gate."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from cuda_wheel.builder.releases import AS_OF
from cuda_wheel.cli.main import main
from tests.cli.shapes import SHAPES
from tests.support.projects import KERNEL

pytestmark = pytest.mark.one_toolchain

Command = Callable[..., subprocess.CompletedProcess[str]]


@pytest.mark.slow
def test_the_command_is_a_gate(fixture_wheel, cuda_wheel) -> None:
    wheel = fixture_wheel("half_precision")  # PTX 6.3 for compute_75 among others
    assert cuda_wheel("coverage", wheel).returncode == 0
    assert cuda_wheel("coverage", wheel, "--require", "sm_75..sm_121,driver>=12.2").returncode == 0
    result = cuda_wheel("coverage", wheel, "--require", "sm_70..sm_75,driver<=12.4")
    assert result.returncode == 1
    assert "no image for Volta (7.0) with drivers for CUDA 12.0 to 12.4" in " ".join(result.stdout.split())
    assert max(map(len, result.stdout.splitlines())) <= 80
    assert 'architectures: add "70-real"' in result.stdout
    assert cuda_wheel("coverage", wheel, "--require", "nonsense").returncode == 2


@pytest.mark.slow
def test_the_gate_closes_for_drivers_before_the_table_and_for_compression(
    make_project, cuda_wheel, tmp_path: Path
) -> None:
    project = make_project('[tool.cuda-wheel]\ncompress = "size"\narchitectures = ["90-real", "75-virtual"]')
    assert cuda_wheel("build", project, "-o", tmp_path / "out").returncode == 0
    for requirement, message in {
        "sm_80,driver>=11.8": "(8.0) with drivers for CUDA 11.8 to 12.3",
        "sm_80,driver>=12.2": "(8.0) with drivers for CUDA 12.2 to 12.3",
        "sm_80,driver==11.8": "drivers before CUDA 12.0 load no module at all",
    }.items():
        result = cuda_wheel("coverage", tmp_path / "out", "--require", requirement)
        assert result.returncode == 1
        assert message in " ".join(result.stdout.split())
    assert cuda_wheel("coverage", tmp_path / "out", "--require", "sm_75,driver>=12.4").returncode == 0
    result = cuda_wheel("coverage", tmp_path / "out", "--require", "sm_80,sm_120,driver>=12.6")
    assert result.returncode == 0
    assert (
        "not required, because the drivers do not support the GPUs: Blackwell (12.0) with drivers for CUDA 12.6 to 12.7"
        in " ".join(result.stdout.split())
    )
    assert cuda_wheel("coverage", tmp_path / "out", "--require", "sm_120,driver==12.4").returncode == 2


def test_the_command_prints_json(fixture_wheel, cuda_wheel) -> None:
    result = cuda_wheel("coverage", fixture_wheel("half_precision"), "--json", "--require", "sm_70,driver==12.0")
    assert result.returncode == 1
    (document,) = json.loads(result.stdout)
    assert document["modules"] == ["half_demo.kernels.scale"]
    assert {"gpu": "sm_75", "driver": "12.0", "how": "jit"} in [
        cell | {"how": "jit"} for cell in document["cells"] if cell["how"] in ("jit", "native")
    ]
    assert document["missing"] == [{"gpu": "sm_70", "driver": "12.0"}]


def test_many_modules_that_are_alike_take_one_line_and_80_columns(
    make_project, cuda_wheel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    sources = {f"demo/module_of_a_long_name_{number}.cu": KERNEL for number in range(7)}
    project = make_project('[tool.cuda-wheel]\ncompress = "size"\narchitectures = ["90"]\n', **sources)
    assert cuda_wheel("build", project, "-o", tmp_path / "out").returncode == 0
    result = cuda_wheel("coverage", tmp_path / "out", "--svg", tmp_path / "picture.svg")
    assert result.stdout.startswith(f"out: GPUs and drivers as of {AS_OF}\n")
    assert result.stdout.count("module_of_a_long_name_0") == 3  # above the table, in what is compiled and is missing
    assert "module_of_a_long_name_3 and 3 more" in " ".join(result.stdout.split())
    assert "module_of_a_long_name_4" not in result.stdout + (tmp_path / "picture.svg").read_text()
    assert max(map(len, result.stdout.splitlines())) <= 80
    assert len(re.findall(r"^Hopper 9\.0 ", result.stdout, re.MULTILINE)) == 2  # seven groups of drivers


def test_what_is_compiled_on_the_users_machine_is_listed_and_can_be_refused(
    make_project, cuda_wheel: Command, tmp_path: Path
) -> None:
    template = "template <typename T> __global__ void one(T* x) { *x = 1; }\ntemplate __global__ void one<int>(int*);\n"
    table = '[tool.cuda-wheel]\narchitectures = ["90-real", "80-virtual"]\n'
    table += '[[tool.cuda-wheel.module]]\nname = "demo.late"\nspecialize = true\n'
    project = make_project(table, **{"demo/fill.cu": KERNEL, "demo/late.cu": template})
    assert cuda_wheel("build", project, "-o", tmp_path / "out").returncode == 0
    required = "sm_80,sm_90,driver==13.0,native"
    result = cuda_wheel("coverage", tmp_path / "out", "--require", required)
    shown = " ".join(result.stdout.split())
    assert result.returncode == 1
    line = r"the driver compiles ptx compute_80 \(PTX [\d.]+\) of demo\.fill, demo\.late: Ampere \(8\.0\) with drivers for CUDA 13\.0 "
    assert re.search(line, shown), shown
    assert (
        "demo.late: variants and template instances that the wheel lacks are compiled where a program asks for one"
        in shown
    )
    assert "no machine code that loads without a compiler for Ampere (8.0)" in shown
    (document,) = json.loads(cuda_wheel("coverage", tmp_path / "out", "--require", required, "--json").stdout)
    (item,) = document["compiled"]
    assert (item["modules"], item["by"], item["cells"]) == (
        ["demo.fill", "demo.late"],
        "driver",
        [{"gpu": "sm_80", "driver": "13.0"}],
    )
    assert item["what"].startswith("ptx compute_80 (PTX ") and document["specialize"] is True
    required = "sm_90,driver==13.0,native"
    result = cuda_wheel("coverage", tmp_path / "out", "--require", required)
    assert result.returncode == 0 and "the driver compiles" not in result.stdout
    (document,) = json.loads(cuda_wheel("coverage", tmp_path / "out", "--require", required, "--json").stdout)
    assert (document["compiled"], document["missing"]) == ([], [])


def test_coverage_pictures_are_written(shape: str, wheel: Path, tmp_path: Path) -> None:
    picture, page = tmp_path / "coverage.svg", tmp_path / "coverage.html"
    required = ["--require", "sm_80,driver>=12.9"]
    assert main(["coverage", str(wheel), "--svg", str(picture), "--html", str(page), *required]) == 0
    assert all(name in picture.read_text(encoding="utf-8") for name in SHAPES[shape].modules)
    assert picture.read_text(encoding="utf-8") in page.read_text(encoding="utf-8")


def test_kernels_that_some_images_lack_are_named(make_project, cuda_wheel: Command, tmp_path: Path) -> None:
    source = "#if __CUDA_ARCH__ >= 900\n__global__ void fast(int* x) { *x = 1; }\n#endif\n"
    table = '[tool.cuda-wheel]\narchitectures = ["80-real", "90-real"]\noptional-kernels = ["fast"]'
    project = make_project(table, **{"demo/k.cu": f"{source}__global__ void slow(int* x) {{ *x = 2; }}\n"})
    assert cuda_wheel("build", project, "-o", tmp_path / "out").returncode == 0
    shown = " ".join(cuda_wheel("coverage", tmp_path / "out").stdout.split())
    assert re.search(r"demo\.k loads without the kernel fast: Ampere \(8\.0\), Ampere \(8\.6\)", shown), shown
    (document,) = json.loads(cuda_wheel("coverage", tmp_path / "out", "--json").stdout)
    (absent,) = document["absent_kernels"]
    assert (absent["module"], absent["kernels"]) == ("demo.k", ["fast"])
    assert {cell["gpu"] for cell in absent["cells"]} == {"sm_80", "sm_86", "sm_87", "sm_89"}
