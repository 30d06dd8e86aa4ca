"""Every command that reads modules, with real builds of projects of every shape; `tests/inspect/test_manifest_shapes.py`
has the shapes of manifests that no small project has."""

from __future__ import annotations

import importlib
import json
import shutil
import sys
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from cuda_wheel.cli.main import main
from tests.support.driver import Driver
from tests.support.editable import install_editable
from tests.support.loaded_modules import forget_package
from tests.support.processes import run
from tests.support.projects import KERNEL, pyproject_head, write_files
from tests.support.shared_folders import Share
from tests.support.variants import ATTACHING, SOURCE_OF_VARIANTS
from tests.tuning.support import StandInTimer

pytestmark = pytest.mark.one_toolchain

HEAD = """\
[tool.hatch.build.targets.wheel]
packages = ["demo"]
[tool.hatch.build.targets.wheel.hooks.cuda]
[tool.cuda-wheel]
architectures = ["80-real", "90"]
"""
MANY = "".join(f"__global__ void k{n}(float* x, int n) {{ x[threadIdx.x % n] = {n}; }}\n" for n in range(120))
APPLY = 'extern "C" __device__ float f(float);\nextern "C" __global__ void apply(float* x) { *x = f(*x); }\n'
PART = 'extern "C" __device__ float f(float x) { return 2 * x; }\n'
ROW = (
    '{"name": "fill", "gpu": "Another", "compute_capability": [9, 0], "problem": {"n": 4}, "variant": {}, '
    '"kernel": "fill", "parameters": {"block": 64}, "microseconds": 3, "first_microseconds": 4}'
)
TABLE = f'{{"format": 1, "module": "demo.fill", "choices": [{ROW}]}}'
LINKED = '[[tool.cuda-wheel.module]]\nname = "demo.apply"\nsources = ["demo/apply.cu", "demo/part.cu"]\nlink = "{}"\n'
VARIANTS = """\
[[tool.cuda-wheel.module]]
name = "demo.update"
instantiate = ["gemm<MATH_TYPE, NUM_MODES>"]
[tool.cuda-wheel.module.variants]
MATH_TYPE = ["float", "double"]
NUM_MODES = [2, 4]
"""
EXTERN = """\
[[tool.cuda-wheel.module]]
name = "demo.apply"
extern = ["f"]
[[tool.cuda-wheel.module]]
name = "demo.part"
relocatable = true
"""


@dataclass(frozen=True)
class Shape:
    """A project, and a kernel of one of its modules that a program may launch."""

    files: dict[str, str]
    table: str = ""
    kernels: tuple[str, ...] = ("demo.fill:fill",)
    """A kernel of each module, as "module:kernel"; none for a module of functions for linking."""
    variant: str = "{}"

    @property
    def modules(self) -> set[str]:
        return {each.partition(":")[0] for each in self.kernels}


SHAPES = {
    "few kernels": Shape({"fill.cu": KERNEL}),
    "many kernels": Shape({"many.cu": MANY}, kernels=("demo.many:k119",)),
    "variants": Shape(
        {"update.cu": SOURCE_OF_VARIANTS.replace("    int unused = 3;\n", ""), "scale.h": "#define SCALE 3\n"},
        VARIANTS,
        ("demo.update:update",),
        '{"MATH_TYPE": "double", "NUM_MODES": 4}',
    ),
    "tuned": Shape({"fill.cu": KERNEL, "fill.tuned.json": TABLE}),
    "linking": Shape({"apply.cu": APPLY, "part.cu": PART}, EXTERN, ("demo.apply:apply", "demo.part:")),
    "lto": Shape({"apply.cu": APPLY, "part.cu": PART}, LINKED.format("lto"), ("demo.apply:apply",)),
    "ptx": Shape({"apply.cu": APPLY, "part.cu": PART}, LINKED.format("ptx"), ("demo.apply:apply",)),
    "several modules": Shape(
        {
            "fill.cu": KERNEL,
            "other.cu": KERNEL.replace("fill", "other"),
            "two.cu": KERNEL + KERNEL.replace("fill", "two"),
        },
        kernels=("demo.fill:fill", "demo.other:other", "demo.two:two"),
    ),
}
LOADABLE = [name for name in SHAPES if name != "linking"]


@pytest.fixture(params=SHAPES)
def shape(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def project(shape: str, tmp_path: Path, extra: str) -> Path:
    """A source tree of the shape, which tests may change."""
    return write_project(SHAPES[shape], tmp_path / "project", extra)


def write_project(shape: Shape, root: Path, extra: str) -> Path:
    files = {f"demo/{name}": text for name, text in {"__init__.py": ATTACHING, **shape.files}.items()}
    return write_files(root, **{"pyproject.toml": pyproject_head("hatchling", extra) + HEAD + shape.table, **files})


@pytest.fixture
def wheel(shape: str, share: Share, extra: str) -> Path:
    """The wheel of the project. Do not write to it."""

    def fill(folder: Path) -> None:
        root = write_project(SHAPES[shape], folder / "project", extra)
        program = f"import hatchling.build as b; b.build_wheel({str(folder)!r})"
        result = run(sys.executable, "-c", program, cwd=root, CUDA_WHEEL_CACHE_DIR=str(folder / "cache"))
        assert result.returncode == 0, result.stdout

    (found,) = share(f"project-with-{shape}", fill).glob("*.whl")
    return found


@pytest.fixture
def installed(wheel: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The wheel's files in a folder on the path."""
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path / "site")
    monkeypatch.syspath_prepend(str(tmp_path / "site"))
    forget_package("demo")
    return tmp_path / "site"


COMMANDS = {
    "inspect": "inspect",
    "inspect --size": "inspect --size",
    "coverage": "coverage",
    "verify": "verify",
    "explain": "explain --device sm_80 --driver 12.6",
    "explain, later GPU": "explain --device sm_120 --driver 13.0",
    "explain, old driver": "explain --device sm_90 --driver 12.0",
}


@pytest.mark.parametrize("command", COMMANDS.values(), ids=list(COMMANDS))
def test_a_wheel_and_its_installation_are_shown(
    command: str, shape: str, wheel: Path, installed: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = command.split()
    shown = []
    for place in (wheel, installed, "demo"):
        status = main([*words, str(place)])
        text = capsys.readouterr()
        assert status == 0, text.out + text.err
        assert all(name in text.out for name in SHAPES[shape].modules)
        assert main([*words, str(place), "--json"]) == 0
        document = json.loads(capsys.readouterr().out)
        listed = document if isinstance(document, list) else document["modules"]
        names = [name for each in listed for name in ([each["name"]] if "name" in each else each["modules"])]
        assert set(names) == SHAPES[shape].modules
        shown.append(listed)
    if words[0] in ("inspect", "coverage", "explain") and "--size" not in words:  # an archive has other sizes
        assert shown[0] == shown[1] == shown[2]


def test_inspect_shows_kernels_options_and_the_toolchain_of_every_module(
    shape: str, wheel: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["inspect", str(wheel), "--json"]) == 0
    modules = {each["name"]: each for each in json.loads(capsys.readouterr().out)["modules"]}
    for name, _, kernel in (each.partition(":") for each in SHAPES[shape].kernels):
        for each in modules[name].get("variants", [modules[name]]):
            assert each["toolchain"]["nvrtc"] and each["images"] and each["sources"]
            assert [kernel] == [found["name"] for found in each["kernels"] if found["name"] == kernel] or not kernel
    assert len(modules["demo.many"]["kernels"]) == 120 if "demo.many" in modules else True


@pytest.mark.parametrize("options", [[], ["--json"]], ids=["text", "json"])
def test_doctor_says_what_this_machine_loads_of_each_installed_module(
    options: list[str], shape: str, installed: Path, use: Callable[..., Driver], capsys: pytest.CaptureFixture[str]
) -> None:
    use((8, 6))
    assert main(["doctor", *options]) == 0
    shown = capsys.readouterr().out
    if options:
        found = {each["name"]: each for each in json.loads(shown)["modules"] if each["distribution"] == "demo"}
        assert found.keys() == SHAPES[shape].modules
        assert all(each["loads"][0]["gpu"] == "8.6" for each in found.values())
    else:
        assert all(f"module     {name} of demo: 8.6: " in shown for name in SHAPES[shape].modules)


def test_stubs_writes_the_stub_that_the_wheel_has(
    project: Path, wheel: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["stubs", str(project)]) == 0
    with zipfile.ZipFile(wheel) as archive:
        expected = archive.read("demo/__init__.pyi")
    assert (project / "demo/__init__.pyi").read_bytes() == expected
    assert main(["stubs", str(project)]) == 0  # again, over its own stub
    assert (project / "demo/__init__.pyi").read_bytes() == expected
    assert "no package attaches" not in capsys.readouterr().err
    assert not list(project.rglob("*.fatbin*"))


def test_coverage_pictures_are_written(shape: str, wheel: Path, tmp_path: Path) -> None:
    picture, page = tmp_path / "coverage.svg", tmp_path / "coverage.html"
    required = ["--require", "sm_80,driver>=12.9"]
    assert main(["coverage", str(wheel), "--svg", str(picture), "--html", str(page), *required]) == 0
    assert all(name in picture.read_text(encoding="utf-8") for name in SHAPES[shape].modules)
    assert picture.read_text(encoding="utf-8") in page.read_text(encoding="utf-8")


TUNING = """\
import numpy as np
from cuda_wheel.tuning import tunable

result = np.zeros(4)

def launch(choice):
    result[:] = 1 if choice.kernel is not None else 0
    return True

@tunable("{module}", problems=[{{"n": 8}}], candidates={{
    "kernel": ["{kernel}"], "variant": [{variant}], "block": [64, 128],
}}, name="tried")
def tried(problem):
    result[:] = 0
    return launch, result
"""


@pytest.fixture
def tuning(monkeypatch: pytest.MonkeyPatch, use: Callable[..., Driver]) -> Iterator[None]:
    """Replace the GPU by a stand-in, and import the program `tuning` and the package anew."""
    use((8, 6))
    monkeypatch.setattr("cuda_wheel.cli.tune_command.GpuTimer", StandInTimer)
    monkeypatch.setattr(sys, "path", sys.path.copy())  # the command adds a folder
    for name in ("tuning", "demo"):
        forget_package(name)
    yield
    for name in ("tuning", "demo"):
        forget_package(name)


@pytest.mark.usefixtures("tuning")
@pytest.mark.parametrize("shape", LOADABLE, indirect=True)
@pytest.mark.parametrize("is_built", [True, False], ids=["built", "editable"])
def test_tune_writes_the_table_into_the_source_tree(
    is_built: bool,
    shape: str,
    project: Path,
    wheel: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    module, _, kernel = SHAPES[shape].kernels[0].partition(":")
    write_files(project, **{"tuning.py": TUNING.format(module=module, kernel=kernel, variant=SHAPES[shape].variant)})
    if is_built:  # images beside the sources, as a build in place leaves them
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(project, [each for each in archive.namelist() if ".fatbin" in each])
    monkeypatch.chdir(project)
    importlib.invalidate_caches()
    assert main(["tune", "tuning:tried"]) == 0, capsys.readouterr().err
    path = project / f"{module.replace('.', '/')}.tuned.json"
    rows = json.loads(path.read_text(encoding="utf-8"))["choices"]
    kept = ["Another"] if shape == "tuned" else []
    assert sorted(row["gpu"] for row in rows) == sorted([*kept, "Stand-in"])
    (row,) = (each for each in rows if each["gpu"] == "Stand-in")
    assert (row["kernel"], row["variant"]) == (kernel, json.loads(SHAPES[shape].variant))


@pytest.mark.slow
def test_a_rebuild_is_identical(shape: str, project: Path, wheel: Path, capfd: pytest.CaptureFixture[str]) -> None:
    command = ["verify", str(wheel), "--rebuild", str(project), "--no-build-isolation"]
    assert main(command) == 0, capfd.readouterr().out
    shown = capfd.readouterr().out
    assert all(f"{name}: the rebuild is identical" in shown for name in SHAPES[shape].modules)
    (project / "demo/__init__.py").write_text(ATTACHING + "# changed\n")
    assert main([*command, "--json"]) == 1
    rebuilt: dict[str, Any] = json.loads(capfd.readouterr().out)["rebuild"]
    assert rebuilt["others"] == ["demo/__init__.py"] and set(rebuilt["modules"]) == SHAPES[shape].modules
    shutil.rmtree(project)


@pytest.mark.slow
def test_an_editable_install_has_no_images_to_show_and_every_command_says_so(tmp_path: Path) -> None:
    kernels, python = install_editable("hatchling", tmp_path)
    root = kernels.parents[1]

    def command(*words: object) -> Any:
        return run(python, "-m", "cuda_wheel", *words, cwd=tmp_path, CUDA_VISIBLE_DEVICES="")

    for words in (["inspect"], ["inspect", "--json"], ["coverage"], ["verify"], ["explain", "--device", "sm_80"]):
        result = command(*words, "demo")
        assert result.returncode == 1 and "(An editable install has none.)" in result.stdout, result.stdout
    result = command("doctor", "--json")
    assert result.returncode == 0 and not any(
        "demo" in each["distribution"] for each in json.loads(result.stdout)["modules"]
    )
    (kernels / "__init__.py").write_text(ATTACHING)
    result = command("stubs", root)
    assert result.returncode == 0 and "k: Kernel[Pointer]" in (kernels / "__init__.pyi").read_text(), result.stdout
    write_files(tmp_path, **{"tuning.py": TUNING.format(module="demo.kernels.k", kernel="k", variant="{}")})
    result = command("tune", "tuning:tried")
    assert result.returncode == 1 and "Traceback" not in result.stdout and "cuda-wheel: " in result.stdout
