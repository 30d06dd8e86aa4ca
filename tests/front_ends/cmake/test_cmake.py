"""CMake: wheels of scikit-build-core and plain projects, and rebuilds only after changes."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from cuda_wheel.builder.errors import ConfigError
from cuda_wheel.builder.sources.source_tree import find_source
from cuda_wheel.builder.wheel.loader_copy import copied_files
from tests.support.editable import SOURCE, make_tree
from tests.support.manifests import plain
from tests.support.processes import build_wheel, run
from tests.support.projects import LISTS, SCIKIT_BUILD, pyproject_head

pytestmark = pytest.mark.one_toolchain

CALL = "cuda_wheel_add_module(TARGET k SOURCES demo/kernels/k.cu DESTINATION demo/kernels INCLUDE_DIRECTORIES include {more})"
PYPROJECT = (
    pyproject_head("scikit-build-core")
    + SCIKIT_BUILD
    + """\
[tool.cuda-wheel]
architectures = "80"
"""
)


@pytest.fixture
def make(tmp_path: Path) -> Callable[..., Path]:
    """Return a function that creates a CMake project with one module; `more` is added to the call."""

    def make(more: str = "", call: str = CALL, pyproject: str = PYPROJECT) -> Path:
        root = make_tree(tmp_path / "a project", pyproject)
        (root / "CMakeLists.txt").write_text(LISTS.format(call=call.format(more=more)))
        return root

    return make


@cache
def module_folder() -> str:
    return run(sys.executable, "-m", "cuda_wheel", "cmake-dir").stdout.strip()


def configure(root: Path, *options: str, **environ: str) -> subprocess.CompletedProcess[str]:
    return run(
        "cmake", "-S", root, "-B", root / "build", f"-DCMAKE_MODULE_PATH={module_folder()}", f"-DPython_EXECUTABLE={sys.executable}",
        *options, **environ,
    )  # fmt: skip


def build(root: Path, **environ: str) -> subprocess.CompletedProcess[str]:
    return run("cmake", "--build", root / "build", **environ)


def built(root: Path) -> dict:
    return plain((root / "build/cuda-wheel/demo/kernels/k.fatbin.json").read_text())


def targets(root: Path) -> list[str]:
    return [image["target"] for image in built(root)["images"]]


@pytest.mark.usefixtures("own_cache")
def test_each_module_prints_what_came_from_the_cache(make) -> None:
    root = make()
    for how in ("compiled", "from the cache"):
        assert configure(root).returncode == 0
        result = build(root)
        assert result.returncode == 0, result.stdout
        assert re.search(rf"^cuda-wheel: 1 job in \d+\.\d s: 1 {how}(;.*)?$", result.stdout, re.MULTILINE), (
            result.stdout
        )
        shutil.rmtree(root / "build")


@pytest.mark.parametrize("generator", ["Ninja", "Unix Makefiles"])
def test_only_changed_modules_are_recompiled(generator: str, make) -> None:
    if shutil.which({"Ninja": "ninja"}.get(generator, "make")) is None:
        pytest.skip(f"{generator} is not installed")
    root = make()
    result = configure(root, "-G", generator)
    assert result.returncode == 0, result.stdout

    def compiles() -> bool:
        result = build(root)
        assert result.returncode == 0, result.stdout
        return "Compiling CUDA module demo.kernels.k" in result.stdout

    assert compiles()
    first = built(root)
    assert not compiles()
    assert configure(root, "-G", generator).returncode == 0
    assert not compiles()
    (root / "include/other.h").write_text("// edited\n")
    assert not compiles()
    (root / "include/answer.h").write_text("#define ANSWER 42\n")
    assert compiles()
    assert built(root)["fatbin"]["sha256"] != first["fatbin"]["sha256"]
    (root / "demo/kernels/k.cu").write_text(SOURCE + "// edited\n")
    assert compiles()
    assert not compiles()


def test_a_plain_cmake_project_installs_its_modules(make, tmp_path: Path) -> None:
    root = make()
    (root / "pyproject.toml").unlink()
    assert configure(root).returncode == 0
    assert build(root).returncode == 0
    result = run("cmake", "--install", root / "build", "--prefix", tmp_path / "out")
    assert result.returncode == 0, result.stdout
    assert sorted(path.name for path in (tmp_path / "out/demo/kernels").iterdir()) == ["k.fatbin", "k.fatbin.json"]
    assert built(root)["name"] == "demo.kernels.k"
    assert targets(root) == ["sm_75", "sm_80", "sm_90", "sm_100", "sm_120", "compute_75", "compute_100"]  # "default"


def tuned(kernel: str) -> str:
    """Return a table of tuned choices that names a kernel."""
    row = {"name": "a", "gpu": "NVIDIA H200", "compute_capability": [9, 0], "problem": {"n": 1}, "variant": {}}
    row |= {"kernel": kernel, "parameters": {}, "microseconds": 2.5, "first_microseconds": 3.5}
    return json.dumps({"format": 1, "module": "demo.kernels.k", "choices": [row]})


@pytest.mark.slow
def test_a_table_of_tuned_choices_is_checked_and_installed(make, cuda_wheel, tmp_path: Path) -> None:
    root = make()
    table = root / "demo/kernels/k.tuned.json"
    assert configure(root).returncode == 0
    assert build(root).returncode == 0
    for content, message in (
        (tuned("other"), "k.tuned.json, choice 'a' for NVIDIA H200 and n=1: demo.kernels.k has no kernel 'other'"),
        ("{}", "k.tuned.json is not a valid table of tuned choices"),
    ):
        table.write_text(content)
        result = build(root)
        assert result.returncode != 0 and message in result.stdout and "Traceback" not in result.stdout, result.stdout
        result = cuda_wheel("build", root, "-o", tmp_path / "refused")
        assert result.returncode == 1 and message in result.stdout
    (kernel,) = (each["name"] for each in built(root)["kernels"])
    table.write_text(tuned(kernel))
    assert build(root).returncode == 0
    for folder, there in (("with", True), ("without", False)):
        result = run("cmake", "--install", root / "build", "--prefix", tmp_path / folder)
        assert result.returncode == 0, result.stdout
        installed = tmp_path / folder / "demo/kernels/k.tuned.json"
        assert installed.is_file() == there and (not there or installed.read_text() == tuned(kernel))
        if there:
            assert cuda_wheel("build", root, "-o", tmp_path / "out").returncode == 0
            assert (tmp_path / "out/demo/kernels/k.tuned.json").is_file()
            table.unlink()
            assert build(root).returncode == 0


@pytest.mark.slow
def test_a_wheel_has_its_table_of_tuned_choices_once(make, tmp_path: Path) -> None:
    root = make()
    (root / "demo/kernels/k.tuned.json").write_text(tuned("other"))
    result = build_wheel(root, tmp_path / "dist")
    assert result.returncode != 0 and "has no kernel 'other'" in result.stdout, result.stdout
    name = re.findall(r"__global__ void (\w+)", SOURCE)[0]
    (root / "demo/kernels/k.tuned.json").write_text(tuned(name))
    result = build_wheel(root, tmp_path / "dist")
    assert result.returncode == 0, result.stdout
    (wheel,) = (tmp_path / "dist").glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        assert archive.namelist().count("demo/kernels/k.tuned.json") == 1
        assert archive.read("demo/kernels/k.tuned.json").decode() == tuned(name)


def test_every_argument_reaches_the_compiler(make) -> None:
    root = make(
        'DEFINES ONE TWO=2 "TEXT=\\"a b\\"" OPTIONS --use_fast_math STD c++20 LINK none INSTANTIATE "t<int, 3>"'
    )
    source = "#if ONE != 1 || TWO != 2 || __cplusplus < 202002L\n#error no\n#endif\nstatic_assert(sizeof(TEXT) == 4);\n"
    (root / "demo/kernels/k.cu").write_text(source + "template <class T, int N> __global__ void t(T* x) { *x = N; }\n")
    assert configure(root).returncode == 0
    result = build(root)
    assert result.returncode == 0, result.stdout
    assert [kernel["name"] for kernel in built(root)["kernels"]] == ["t<int, 3>"]
    assert "--use_fast_math" in built(root)["options"]


def test_headers_outside_the_project_and_missing_ones_reach_the_compiler(make, tmp_path: Path) -> None:
    tiles, other = tmp_path / "tiles/include", tmp_path / "other"
    for folder, name in ((tiles, "tile"), (other, "extra")):
        folder.mkdir(parents=True)
        (folder / f"{name}.h").write_text(f"#define {name.upper()} 1\n")
    root = make('SYSTEM_INCLUDE_DIRECTORIES "$TILES/include" ../other MISSING_HEADERS Eigen/* "a b/*.h"')
    source = "#include <tile.h>\n#include <extra.h>\n#include <Eigen/Core>\n__global__ void k(int* x) { *x = TILE + EXTRA; }\n"
    (root / "demo/kernels/k.cu").write_text(source)
    assert configure(root).returncode == 0
    result = build(root, TILES=str(tmp_path / "tiles"))
    assert result.returncode == 0, result.stdout
    assert built(root)["host_code"] == ["demo/kernels/k.cu:3: missing header Eigen/Core"]
    assert 'MISSING_HEADERS: "a b/*.h" matches no header that is missing' in result.stdout
    (root / "demo/kernels/k.cu").write_text("//\n" + source)
    result = build(root)
    assert result.returncode != 0
    assert "SYSTEM_INCLUDE_DIRECTORIES: $TILES/include: the environment variable TILES is not set" in result.stdout


def test_the_table_supplies_what_the_call_omits(make) -> None:
    own = '[[tool.cuda-wheel.module]]\nname = "demo.kernels.k"\ninstantiate = ["t<3>"]\ndefines = { A = 1, B = 2 }\n'
    root = make("DEFINES B=3", pyproject=PYPROJECT + "std = 'c++20'\n" + own)
    source = "#if __cplusplus < 202002L || !defined(B) || B != 3\n#error no\n#endif\n"
    (root / "demo/kernels/k.cu").write_text(source + "template <int N> __global__ void t(int* x) { *x = N; }\n")
    assert configure(root).returncode == 0
    result = build(root)
    assert result.returncode == 0, result.stdout
    assert [kernel["name"] for kernel in built(root)["kernels"]] == ["t<3>"]


def test_the_command_builds_the_modules_of_the_cmake_project(make, cuda_wheel, tmp_path: Path) -> None:
    result = cuda_wheel("build", make('DEFINES "TEXT=\\"a b\\""'), "-o", tmp_path / "out")
    assert result.returncode == 0, result.stdout
    assert "demo.kernels.k: 1 kernel, cubin sm_80, ptx compute_80" in result.stdout
    assert sorted(path.name for path in (tmp_path / "out/demo/kernels").iterdir()) == ["k.fatbin", "k.fatbin.json"]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ("", "a project has no CUDA module: its CMakeLists.txt does not call cuda_wheel_add_module"),
        ("wrong()", "CMake cannot configure a project"),
        (CALL.replace("{more}", "STD c++99"), "CMakeLists.txt: cuda_wheel_add_module(TARGET k): STD must be"),
    ],
)
def test_the_command_reports_why_it_finds_no_modules(call: str, message: str, make, cuda_wheel, tmp_path: Path) -> None:
    result = cuda_wheel("build", make(call=call), "-o", tmp_path / "out")
    assert result.returncode == 1
    assert message in result.stdout
    assert not (tmp_path / "out").exists()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("more", "option", "environ", "expected"),
    [
        ("", (), {}, ["sm_80", "compute_80"]),  # from the table
        ("", ("-DCMAKE_CUDA_ARCHITECTURES=86-real",), {}, ["sm_86"]),
        ("", ("-DCMAKE_CUDA_ARCHITECTURES=86-real;90-real",), {}, ["sm_86", "sm_90"]),
        ("ARCHITECTURES 90-real", ("-DCMAKE_CUDA_ARCHITECTURES=86-real",), {}, ["sm_90"]),
        ("ARCHITECTURES 90-real", (), {"CUDAARCHS": "75-real"}, ["sm_75"]),
        ("ARCHITECTURES 90a-real", (), {"CUDAARCHS": "75-real"}, ["sm_90a"]),
        ("ARCHITECTURES 90-real 90a-real", (), {"CUDAARCHS": "75-real"}, ["sm_75", "sm_90a"]),
        ("", ("-DCMAKE_CUDA_ARCHITECTURES=86-real",), {"CUDAARCHS": "75-real"}, ["sm_75"]),
    ],
)
def test_the_sources_of_the_architectures_have_an_order(more: str, option, environ, expected: list[str], make) -> None:
    root = make(more)
    assert configure(root, *option).returncode == 0
    result = build(root, **environ)
    assert result.returncode == 0, result.stdout
    assert targets(root) == expected


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            CALL.replace("(TARGET", "(COLOUR red TARGET"),
            "cuda_wheel_add_module does not know: COLOUR;red. It knows TARGET;",
        ),
        (CALL.replace("{more}", "COLOUR"), "a project/COLOUR does not exist."),
        (CALL.replace("k.cu", "none.cu"), "none.cu does not exist."),
        ("cuda_wheel_add_module(TARGET k SOURCES demo/kernels/k.cu)", "cuda_wheel_add_module needs DESTINATION."),
        ("cuda_wheel_add_module(SOURCES demo/kernels/k.cu DESTINATION demo)", "cuda_wheel_add_module needs TARGET."),
    ],
)
def test_a_wrong_call_ends_the_configuration(call: str, message: str, make) -> None:
    result = configure(make(call=call))
    assert result.returncode != 0
    assert message in " ".join(result.stdout.split())


@pytest.mark.parametrize(
    ("source", "more", "message"),
    [
        ("wrong\n", "", "demo/kernels/k.cu:1:1: error"),
        (
            SOURCE,
            "ARCHITECTURES ampere",
            "ARCHITECTURES (or CMAKE_CUDA_ARCHITECTURES): 'ampere' is not an architecture",
        ),
        (SOURCE, "LINK no", 'CMakeLists.txt: cuda_wheel_add_module(TARGET k): LINK must be "none", "ptx" or "lto"'),
        (
            SOURCE.replace("answer.h", "nowhere.h"),
            "",
            "the folders searched (INCLUDE_DIRECTORIES) are: demo/kernels, include",
        ),
    ],
)
def test_a_failure_is_reported_and_leaves_no_files(source: str, more: str, message: str, make) -> None:
    root = make(more)
    (root / "demo/kernels/k.cu").write_text(source)
    assert configure(root).returncode == 0
    result = build(root)
    assert result.returncode != 0
    assert message in result.stdout
    assert "Traceback" not in result.stdout
    assert not list((root / "build").rglob("*.fatbin*"))


def test_a_load_from_the_source_tree_names_the_call_too(make) -> None:
    root = make("STD c++99")
    assert configure(root, "-DSKBUILD_STATE=editable").returncode == 0
    package = root / "demo/kernels"
    shutil.copy(root / "build/cuda-wheel/demo/kernels/k.cuda-wheel.json", package)
    with pytest.raises(ConfigError, match=r"^CMakeLists\.txt: cuda_wheel_add_module\(TARGET k\): STD must be "):
        find_source("demo.kernels.k", [str(package)])


@pytest.mark.slow
def test_a_vendored_loader_is_installed_too(make, tmp_path: Path) -> None:
    root = make(pyproject=PYPROJECT + 'loader = "vendor"\n')
    assert build_wheel(root, tmp_path / "dist").returncode == 0
    (wheel,) = (tmp_path / "dist").glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    assert {f"demo/_cuda_wheel/{name}" for name in copied_files(())} | {"demo/kernels/k.fatbin"} < names
    assert not [name for name in names if name.endswith("_cuda_wheel.py")]
