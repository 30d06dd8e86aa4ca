"""A wheel of PTX alone: every way to build it, every command, and compile on load."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from cuda_wheel.builder.compile_on_load.requests import compile_on_load
from cuda_wheel.builder.manifest_reader import manifest_of
from cuda_wheel.inspect import doctor
from tests.support.processes import build_wheel, run
from tests.support.wheels import contents

FILL = "__global__ void fill(int* x, int n) { if (threadIdx.x < n) x[threadIdx.x] = 1; }\n"

FILES = {
    "demo/__init__.py": "",
    "demo/fill.cu": FILL,
    "demo/piece.cu": FILL,
    "demo/scale.cu": "template <class T> __global__ void scale(T* x, T by) { *x *= by; }\n",
    "demo/cub.cu": "#include <cub/block/block_reduce.cuh>\n"
    "__global__ void sum(int* x) { *x = cub::BlockReduce<int, 32>().Sum(*x); }\n",
    "demo/main.cu": "__device__ int twice(int x);\n__global__ void apply(int* x) { *x = twice(*x); }\n",
    "demo/twice.cu": "__device__ int twice(int x) { return 2 * x; }\n",
    "demo/plugin.cu": 'extern "C" __device__ int user(int x);\n__global__ void call(int* x) { *x = user(*x); }\n',
    "demo/user.cu": 'extern "C" __device__ int user(int x) { return x; }\n',
}

TABLE = """
[tool.cuda-wheel]
architectures = ["75-virtual"]

[[tool.cuda-wheel.module]]
name = "demo.scale"
instantiate = ["scale<float>", "scale<double>"]

[[tool.cuda-wheel.module]]
name = "demo.by_lto"
sources = ["demo/main.cu", "demo/twice.cu"]
link = "lto"

[[tool.cuda-wheel.module]]
name = "demo.by_ptx"
sources = ["demo/main.cu", "demo/twice.cu"]
link = "ptx"

[[tool.cuda-wheel.module]]
name = "demo.plugin"
extern = ["user"]
extern-default = ["demo/user.cu"]
link = "lto"

[[tool.cuda-wheel.module]]
name = "demo.piece"
sources = ["demo/piece.cu"]
relocatable = true
"""

KERNELS = {
    "demo.fill": ["fill"],
    "demo.scale": ["scale<double>", "scale<float>"],
    "demo.cub": ["sum"],
    "demo.by_lto": ["apply"],
    "demo.by_ptx": ["apply"],
    "demo.plugin": ["call"],
    "demo.piece": ["fill"],
}

NOTE = "PTX alone, so the first load on each machine compiles it"


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory, extra: str) -> tuple[str, Path]:
    """Build a project of PTX alone once; return the build's output and the wheel."""
    from tests.support.projects import pyproject_head, write_files

    folder = tmp_path_factory.mktemp("ptx-alone")
    head = pyproject_head("hatchling", extra) + '[tool.hatch.build.targets.wheel]\npackages = ["demo"]\n'
    pyproject = f"{head}[tool.hatch.build.targets.wheel.hooks.cuda]\n{TABLE}"
    project = write_files(folder / "project", **FILES, **{"pyproject.toml": pyproject})
    result = build_wheel(project, folder / "dist")
    assert result.returncode == 0, result.stdout
    (wheel,) = (folder / "dist").glob("*.whl")
    return result.stdout, wheel


@pytest.mark.slow
def test_each_module_has_its_kernels_in_ptx_and_no_machine_code(built: tuple[str, Path]) -> None:
    manifests = {
        manifest.name: manifest
        for name, text in contents(built[1]).items()
        if name.endswith(".fatbin.json")
        for manifest in [manifest_of(text, name)]
    }
    assert {name: sorted(kernel.name for kernel in each.kernels) for name, each in manifests.items()} == KERNELS
    for manifest in manifests.values():
        loadable = [str(image) for image in manifest.images if image.source is None]
        assert loadable == ["ptx compute_75 (PTX 6.3)"], manifest.name
        assert all(kernel.parameters and not kernel.absent for kernel in manifest.kernels)
    assert len(manifests["demo.piece"].relocatable) == 2


def test_one_line_of_the_build_says_that_the_first_load_compiles(built: tuple[str, Path]) -> None:
    (line,) = [line for line in built[0].splitlines() if "PTX alone" in line]
    assert NOTE in line and " and 6 more: " in line
    assert "no image for" not in built[0]


@pytest.mark.parametrize(
    ("architectures", "said"), [('["75-virtual"]', True), ('["75"]', False), ('["75-virtual", "90a-real"]', False)]
)
def test_only_builds_without_machine_code_say_so(
    architectures: str, said: bool, make_project, cuda_wheel, tmp_path: Path
) -> None:
    result = cuda_wheel(
        "build", make_project(f"[tool.cuda-wheel]\narchitectures = {architectures}"), "-o", tmp_path / "out"
    )
    assert result.returncode == 0, result.stdout
    assert (f"cuda-wheel: demo.fill: {NOTE}" in result.stdout) == said


def test_a_compressed_fatbin_of_ptx_alone_matches_its_manifest(make_project, cuda_wheel, tmp_path: Path) -> None:
    project = make_project('[tool.cuda-wheel]\narchitectures = "75-virtual"\ncompress = "size"')
    assert cuda_wheel("build", project, "-o", tmp_path / "out").returncode == 0
    result = cuda_wheel("verify", tmp_path / "out")
    assert result.returncode == 0, result.stdout
    assert "demo.fill: matches its manifest" in result.stdout


def test_every_command_reads_the_wheel(built: tuple[str, Path], cuda_wheel: Callable[..., object]) -> None:
    wheel = built[1]

    def answer(*arguments: object) -> str:
        result = cuda_wheel(*arguments)
        assert result.returncode == 0, result.stdout
        return result.stdout

    assert {f"{name}: matches its manifest" for name in KERNELS} <= set(answer("verify", wheel).splitlines())
    assert "compute_75" in answer("inspect", wheel)
    assert "without compute_75: no image for future GPUs" in answer("inspect", "--size", wheel)
    answer("coverage", wheel, "--require", "sm_75..sm_121,driver>=12.0")
    assert cuda_wheel("coverage", wheel, "--require", "sm_80,driver>=13.0,native").returncode == 1
    for device, driver in [("sm_75", "12.0"), ("sm_86", "12.2"), ("sm_110", "13.0"), ("sm_121", "13.5")]:
        lines = answer("explain", wheel, "--device", device, "--driver", driver).splitlines()
        loaded = [line.partition(": ptx compute_75 (PTX 6.3), jit") for line in lines if not line.startswith(" ")]
        assert {name for names, chosen, _ in loaded if chosen for name in names.split(", ")} == set(KERNELS)
    refused = cuda_wheel("explain", wheel, "--device", "sm_70", "--driver", "12.2")
    assert refused.returncode == 1
    assert "not ptx compute_75 (PTX 6.3): needs compute capability 7.5 or later" in refused.stdout


def test_doctor_names_the_ptx_that_an_installed_wheel_loads(
    built: tuple[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import sys

    installed = run(sys.executable, "-m", "pip", "install", "--no-deps", "--no-index", "--target", tmp_path, built[1])
    assert installed.returncode == 0, installed.stdout
    monkeypatch.syspath_prepend(tmp_path)
    machine = {"driver": {"cuda": [13, 0], "branch": 580}, "gpus": [{"name": "GPU", "compute_capability": [9, 0]}]}
    monkeypatch.setattr(doctor, "_driver_and_gpus", lambda: machine)
    found = {
        each["name"]: each["loads"] for each in doctor.examine_machine()["modules"] if each["distribution"] == "demo"
    }
    loads = {"gpu": "9.0", "image": "ptx compute_75 (PTX 6.3)", "how": "jit", "doubt": None}
    assert found == {name: [loads] for name in KERNELS}


def test_an_editable_install_compiles_for_the_gpu_in_use(
    make_project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CUDA_WHEEL_CACHE_DIR", str(tmp_path / "cache"))
    project = make_project('[tool.cuda-wheel]\narchitectures = ["75-virtual"]')
    found = compile_on_load("demo.fill", [str(project / "demo")], lambda: (9, 0))
    assert found is not None
    assert [str(image.target) for image in manifest_of(found[0], "demo.fill").images] == ["sm_90"]
