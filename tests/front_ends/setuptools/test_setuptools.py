"""setuptools: the same images as with hatchling, in every layout; nothing for projects without the table."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tarfile
import textwrap
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from cuda_wheel.builder.wheel.loader_copy import copied_files
from tests.support.processes import pip_wheel, run
from tests.support.projects import KERNEL, copy_fixture, pyproject_head
from tests.support.wheels import images

pytestmark = pytest.mark.one_toolchain

HEAD = pyproject_head("setuptools")
TABLE = '[tool.cuda-wheel]\narchitectures = "80"\n'


@pytest.fixture
def make(tmp_path: Path, kept_cache: str, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Path]:
    """Return a function that creates a setuptools project from the end of its pyproject.toml and files."""
    monkeypatch.setenv("CUDA_WHEEL_CACHE_DIR", kept_cache)

    def make(tail: str = TABLE, **files: str) -> Path:
        root = tmp_path / "project"
        for name, content in ({"demo/__init__.py": "", "demo/fill.cu": KERNEL} | files).items():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(textwrap.dedent(content))
        (root / "pyproject.toml").write_text(HEAD + tail)
        return root

    return make


def backend(project: Path, call: str) -> subprocess.CompletedProcess[str]:
    """Call a PEP 517 hook of setuptools in the project's folder, as front ends do."""
    return run(sys.executable, "-c", f"import setuptools.build_meta as backend; backend.{call}", cwd=project)


def built(project: Path) -> dict[str, bytes]:
    """Return the files of the project's wheel, built in place."""
    result = backend(project, "build_wheel('dist')")
    assert result.returncode == 0, result.stdout
    (wheel,) = (project / "dist").glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def modules(files: dict[str, bytes]) -> list[str]:
    return sorted(name.removesuffix(".fatbin") for name in files if name.endswith(".fatbin"))


def test_the_command_builds_the_images_of_the_wheel(fixture_wheel, cuda_wheel, tmp_path: Path, extra: str) -> None:
    project = copy_fixture("matmul_templates", tmp_path / "project", extra, "setuptools")
    result = cuda_wheel("build", project, "-o", tmp_path / "out")
    assert result.returncode == 0, result.stdout
    expected = images(fixture_wheel("matmul_templates"))
    assert {name: (tmp_path / "out" / name).read_bytes() for name in expected} == expected


@pytest.mark.parametrize(
    ("tail", "files", "expected"),
    [
        ("", {}, ["demo/fill"]),  # flat, discovered
        (
            "",
            {"demo/kernels/deep/more.cu": KERNEL},
            ["demo/fill", "demo/kernels/deep/more"],
        ),  # a folder without __init__.py
        ('[tool.setuptools]\npackages = ["demo"]\n', {"other/x.cu": KERNEL, "other/__init__.py": ""}, ["demo/fill"]),
        (
            '[tool.setuptools]\npackages = ["renamed"]\npackage-dir = {renamed = "demo"}\n',
            {},
            ["renamed/fill"],
        ),
        (
            '[tool.setuptools.packages.find]\nwhere = ["lib"]\nnamespaces = true\n',
            {"lib/space/gpu/k.cu": KERNEL, "lib/space/gpu/__init__.py": ""},
            ["space/gpu/k"],
        ),
    ],
)
def test_every_layout_finds_its_kernels(tail: str, files: dict[str, str], expected: list[str], make) -> None:
    assert modules(built(make(TABLE + tail, **files))) == expected


def test_the_command_asks_setup_py_for_the_packages(make, cuda_wheel, tmp_path: Path) -> None:
    script = "from setuptools import setup\nimport helper\nsetup(name='demo', version='1', packages=helper.PACKAGES)\n"
    files = {
        "helper.py": "PACKAGES = ['demo.nn', 'demo']\nprint('noise')\n",
        "other/__init__.py": "",
        "other/x.cu": KERNEL,
    }
    project = make(**{"setup.py": script, "demo/nn/__init__.py": "", "demo/nn/fill.cu": KERNEL, **files})
    text = (project / "pyproject.toml").read_text()
    build, _, _ = text.partition("[project]")
    tail = '[tool.cuda-wheel]\narchitectures = "75-virtual"\n'
    # Only the back end that a project without one gets lets setup.py import from its folder.
    (project / "pyproject.toml").write_text(build + tail)
    result = cuda_wheel("build", project, "-o", tmp_path / "out")
    assert result.returncode == 1, result.stdout
    assert (
        "setup.py says what goes into the wheel, and it cannot be run here: ModuleNotFoundError: No module"
        in result.stdout
    )
    assert "Traceback" not in result.stdout
    (project / "pyproject.toml").write_text(build.replace('build-backend = "setuptools.build_meta"\n', "") + tail)
    result = cuda_wheel("build", project, "-o", tmp_path / "out")
    assert result.returncode == 0, result.stdout
    found = sorted(path.relative_to(tmp_path / "out").as_posix() for path in (tmp_path / "out").rglob("*.fatbin"))
    assert found == ["demo/fill.fatbin", "demo/nn/fill.fatbin"]


def test_the_src_layout_finds_its_kernels(make) -> None:
    project = make()
    (project / "src").mkdir()
    shutil.move(project / "demo", project / "src/demo")
    assert modules(built(project)) == ["demo/fill"]


@pytest.mark.slow
def test_outputs_of_an_earlier_build_are_not_in_the_wheel(make) -> None:
    project = make(**{"demo/gone.cu": KERNEL})
    assert modules(built(project)) == ["demo/fill", "demo/gone"]
    (project / "demo/gone.cu").unlink()
    assert (project / "build").is_dir()
    assert modules(built(project)) == ["demo/fill"]


@pytest.mark.slow
def test_a_vendored_loader_is_added_and_removed_with_its_setting(make) -> None:
    copy = {f"demo/_cuda_wheel/{name}" for name in copied_files(())}
    project = make(TABLE + 'loader = "vendor"\n')
    assert copy < set(built(project))
    (project / "pyproject.toml").write_text(HEAD + TABLE)
    assert not copy & set(built(project))


def test_a_vendored_loader_has_the_parts_that_python_files_use(make) -> None:
    table = TABLE + 'loader = "vendor"\n[tool.setuptools]\npackages = ["demo", "demo.sub"]\npy-modules = ["top"]\n'
    files = {
        "demo/sub/__init__.py": "",
        "demo/sub/ops.py": "from .. import _cuda_wheel as loader\nblock = lambda kernel: kernel.suggest_block()\n",
        "demo/other/ops.py": "def step(kernel): return kernel.bind(1, 256)\n",  # in no package of the wheel
        "top.py": "def launch(kernel): kernel.launch(1, 256, cooperative=True)\n",
    }
    names = set(built(make(table, **files)))
    parts = {name.rpartition("/")[2].removesuffix(".py") for name in names if "/_cuda_wheel/parts/" in name}
    assert parts & {"occupancy", "launch_attributes", "bind"} == {"occupancy", "launch_attributes"}


@pytest.mark.slow
def test_the_projects_own_images_are_not_touched(make) -> None:
    project = make(TABLE + '[tool.setuptools.package-data]\ndemo = ["*.fatbin*"]\n', **{"demo/brought.fatbin": "x"})
    assert modules(built(project)) == ["demo/brought", "demo/fill"]


def test_the_sdist_has_the_sources_and_headers_but_the_wheel_does_not(make) -> None:
    table = (
        TABLE
        + 'include-dirs = ["include"]\n[[tool.cuda-wheel.module]]\nname = "demo.extra"\nsources = ["csrc/extra.cu"]\n'
    )
    files = {"include/deep/x.h": "", "demo/y.cuh": "", "csrc/extra.cu": KERNEL}
    project = make(table + '[tool.setuptools]\npackages = ["demo"]\n', **files)
    assert backend(project, "build_sdist('dist')").returncode == 0
    with tarfile.open(project / "dist/demo-1.tar.gz") as archive:
        names = archive.getnames()
    assert {f"demo-1/{name}" for name in (*files, "demo/fill.cu")} < set(names)
    wheel = built(project)
    assert modules(wheel) == ["demo/extra", "demo/fill"]
    assert not [name for name in wheel if name.endswith((".cu", ".cuh", ".h"))]


@pytest.mark.slow
def test_sources_stay_in_the_wheel_if_configured(make) -> None:
    assert "demo/fill.cu" in built(make(TABLE + "exclude-sources = false\n"))


@pytest.mark.parametrize(
    "content",
    [
        HEAD,
        HEAD + "[tool.other]\nwants = 'cuda-wheel'\n",
        '[project]\nname = "plain"\nversion = "1"\n',
    ],
)
def test_a_project_without_the_table_is_not_affected(content: str, make) -> None:
    project = make()
    (project / "pyproject.toml").write_text(content)
    program = "build_wheel('dist'); import sys; print(*[m for m in sys.modules if m.startswith(('setuptools_cuda', 'cuda_wheel'))])"
    result = backend(project, program)
    assert result.returncode == 0, result.stdout
    loaded = {*result.stdout.splitlines()[-1].split()}
    # Two distributions have an entry point. A checkout on PYTHONPATH has those that are installed beside it.
    assert loaded - {"cuda_wheel", "cuda_wheel.missing_builder"} == {"setuptools_cuda"}
    assert "build_cuda" not in result.stdout


def test_build_cuda_can_run_by_itself(make) -> None:
    project = make(**{"setup.py": "from setuptools import setup\nsetup()\n"})
    result = run(sys.executable, "setup.py", "build_cuda", "--build-lib", "out", cwd=project)
    assert result.returncode == 0, result.stdout
    assert sorted(path.name for path in (project / "out/demo").iterdir()) == ["fill.fatbin", "fill.fatbin.json"]


def test_an_editable_install_generates_nothing(make) -> None:
    project = make()
    result = backend(project, "build_editable('dist')")
    assert result.returncode == 0, result.stdout
    assert not list(project.rglob("*.fatbin*"))
    (wheel,) = (project / "dist").glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        assert not [name for name in archive.namelist() if "fatbin" in name]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("table", "source", "message"),
    [
        (TABLE, "wrong", "demo/fill.cu does not compile for sm_80"),
        ("[tool.cuda-wheel]\ncolor = 1\n", KERNEL, 'tool.cuda-wheel has no key "color"'),
        ("[tool.cuda_wheel]\n", KERNEL, "pyproject.toml has a table [tool.cuda_wheel], which cuda-wheel does not read"),
        ("[tool]\ncuda-wheel = 3\n", KERNEL, "tool.cuda-wheel must be a table"),
    ],
)
def test_a_defect_ends_the_build_with_a_clean_message(
    table: str, source: str, message: str, make, tmp_path: Path
) -> None:
    project = make(table, **{"demo/fill.cu": source})
    result = pip_wheel(project, tmp_path / "dist")
    assert result.returncode != 0
    assert f"error: cuda-wheel: {message}" in result.stdout
    assert "Traceback" not in result.stdout
    assert not list(tmp_path.rglob("*.whl"))
    assert not list(tmp_path.rglob("*.fatbin*"))
