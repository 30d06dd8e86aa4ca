"""The two distributions: what each contains and requires, and the loader installed without the build side."""

from __future__ import annotations

import shutil
import sys
import venv
from email.parser import Parser
from pathlib import Path

import pytest
import setuptools

import cuda_wheel
from tests.support.environments import DISTRIBUTIONS
from tests.support.layouts import site_packages
from tests.support.processes import run
from tests.support.projects import KERNEL, ROOT, write_files
from tests.support.shared_folders import Share
from tests.support.wheels import contents

pytestmark = pytest.mark.one_toolchain

VERSION = cuda_wheel.__version__
LOADER, BUILDER = "cuda_wheel", "cuda_wheel_builder"
COMMAND = Path("Scripts" if sys.platform == "win32" else "bin")
ALONE = {"PYTHONPATH": ""}
"""Environment variables with which Python does not find this checkout."""


def installed(folder: Path, *wheels: Path, options: tuple[str, ...] = ()) -> Path:
    """Install wheels, without what they require, in a new environment; return its site-packages."""
    venv.create(folder)
    command = [sys.executable, "-m", "uv", "pip", "install", "-q", "--no-deps", "--python", folder / COMMAND / "python"]
    # Tests change what is installed, and links would lead into uv's cache. Bytecode lies beside its source.
    result = run(*command, "--link-mode", "copy", *options, *wheels, PYTHONPYCACHEPREFIX="")
    assert result.returncode == 0, result.stdout
    return site_packages(folder)


@pytest.fixture(scope="module")
def loader(share: Share, own_wheels: dict[str, Path]) -> Path:
    """Return an environment with the loader alone, as `pip install cuda-wheel` leaves it, with compiled bytecode."""
    return share("loader", lambda folder: installed(folder, own_wheels[LOADER], options=("--compile-bytecode",)))


# --- what they contain and require ---------------------------------------------------------------------


def test_every_file_belongs_to_one_distribution(own_wheels: dict[str, Path]) -> None:
    packages = ("cuda_wheel", "hatch_cuda", "setuptools_cuda")
    in_tree = {
        path.relative_to(ROOT).as_posix()
        for package in packages
        for path in (ROOT / package).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts and path.name != ".gitignore"
    }
    files = {
        name: {each for each in contents(wheel) if ".dist-info/" not in each} for name, wheel in own_wheels.items()
    }
    assert files[LOADER].isdisjoint(files[BUILDER])
    missing = in_tree - files[LOADER] - files[BUILDER]
    assert {Path(each).parent.as_posix() for each in missing} == {"cuda_wheel/builder/headers/tables"}
    assert files[LOADER] | files[BUILDER] <= in_tree
    top = {each.split("/")[1] for each in files[LOADER]}
    assert top == {
        *("__init__.py", "__main__.py", "missing_builder.py", "py.typed"),
        *("cupy", "jax", "operators", "pyinstaller", "runtime", "torch", "tuning"),
    }


def test_each_distribution_requires_exactly_the_version_of_the_other(own_wheels: dict[str, Path]) -> None:
    required = {}
    for name, wheel in own_wheels.items():
        metadata = Parser().parsestr(contents(wheel)[f"{name}-{VERSION}.dist-info/METADATA"].decode())
        assert metadata["Version"] == VERSION and metadata["License-File"] == "LICENSE"
        required[name] = metadata.get_all("Requires-Dist", [])
    extras = ("tools", "cu12", "cu13", "import", "verify", "dask")
    pinned = [each for each in required[LOADER] if each.startswith("cuda-wheel")]
    assert pinned == [f"cuda-wheel-builder=={VERSION}; extra == '{extra}'" for extra in sorted(extras)]
    assert [each for each in required[LOADER] if "extra ==" not in each] == ["cuda-bindings>=12.9"]
    assert [each.partition(";")[0] for each in required[BUILDER]] == [f"cuda-wheel=={VERSION}", "tomli>=2"]
    assert len([each for each in required[LOADER] if "extra == 'tools'" in each]) == 1


def test_who_loads_kernels_installs_at_most_3_megabytes(loader: Path) -> None:
    site = site_packages(loader)
    files = [path for path in site.rglob("*") if path.is_file()]
    compiled = [path for path in files if path.suffix == ".pyc"]
    assert len(compiled) == len([path for path in files if path.suffix == ".py"]) > 100
    assert sum(path.stat().st_size for path in files) <= 3_000_000


def test_both_have_the_licence() -> None:
    assert (DISTRIBUTIONS[BUILDER] / "LICENSE").read_bytes() == (ROOT / "LICENSE").read_bytes()


@pytest.mark.slow
@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_the_wheel_from_the_sdist_is_the_wheel_from_the_repository(
    name: str, own_wheels: dict[str, Path], tmp_path: Path
) -> None:
    result = run(sys.executable, "-m", "build", "--no-isolation", "--outdir", tmp_path, DISTRIBUTIONS[name])
    assert result.returncode == 0, result.stdout
    (wheel,) = tmp_path.glob("*.whl")
    assert wheel.name == own_wheels[name].name and wheel.read_bytes() == own_wheels[name].read_bytes()


@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_an_editable_install_is_a_path_to_the_checkout(name: str, tmp_path: Path) -> None:
    program = "import sys, hatchling.build as back_end; print(back_end.build_editable(sys.argv[1]))"
    result = run(sys.executable, "-c", program, tmp_path, cwd=DISTRIBUTIONS[name])
    assert result.returncode == 0, result.stdout
    files = contents(next(tmp_path.glob("*.whl")))
    (path,) = (each for each in files if ".dist-info/" not in each)
    assert path.endswith(".pth") and Path(files[path].decode()) == ROOT
    metadata = files[f"{name}-{VERSION}.dist-info/entry_points.txt"].decode()
    assert ("[hatch]\ncuda = hatch_cuda.hooks" in metadata) == (name == BUILDER)


# --- the loader without the build side --------------------------------------------------------------------


@pytest.mark.parametrize("heading", ["[tool.cuda-wheel]", "[[tool.cuda-wheel.module]]", "[tool.other]"])
def test_setuptools_builds_no_wheel_without_its_kernels(heading: str, loader: Path, tmp_path: Path) -> None:
    """setuptools itself is that of the tests, which the environment does not have."""
    head = '[build-system]\nrequires = ["setuptools", "cuda-wheel"]\nbuild-backend = "setuptools.build_meta"\n'
    project = f'{head}[project]\nname = "demo"\nversion = "1"\n{heading}\n'
    write_files(tmp_path / "project", **{"pyproject.toml": project, "demo/__init__.py": "", "demo/fill.cu": KERNEL})
    site = Path(setuptools.__file__).parents[1]
    for each in (site / "setuptools", site / "_distutils_hack", *site.glob("setuptools-*.dist-info")):
        shutil.copytree(each, tmp_path / "tools" / each.name)
    program = "import setuptools.build_meta as back_end; print(back_end.build_wheel('../out'))"
    python, environ = loader / COMMAND / "python", {"PYTHONPATH": str(tmp_path / "tools")}
    result = run(python, "-c", program, cwd=tmp_path / "project", **environ)
    if heading == "[tool.other]":
        assert result.returncode == 0, result.stdout
    else:
        assert result.returncode == 1 and 'write "cuda-wheel[cu12]", or cu13' in result.stdout
        assert "Traceback" not in result.stdout and not list(tmp_path.glob("out/*"))


PROGRAM = """\
import sys
import cuda_wheel, cuda_wheel.tuning
from cuda_wheel.operators.kernels import read_manifest

def shown(action):
    try:
        print("returned", action())
    except Exception as error:
        print(f"{type(error).__name__}: {error}", end="\\n---\\n")

shown(lambda: cuda_wheel.compile("__global__ void k() {}"))
shown(lambda: cuda_wheel.load("demo.fill"))
shown(lambda: cuda_wheel.attach("demo"))
shown(lambda: read_manifest("demo.fill", {}))
assert not [name for name in sys.modules if name.startswith(("cuda_wheel.builder", "cuda_wheel.cli"))]
"""


def test_without_the_build_side_whatever_compiles_names_an_extra(loader: Path, tmp_path: Path) -> None:
    write_files(tmp_path, **{"demo/__init__.py": "", "demo/fill.cu": KERNEL})
    result = run(loader / COMMAND / "python", "-c", PROGRAM, cwd=tmp_path, **ALONE)
    assert result.returncode == 0, result.stdout
    messages = result.stdout.split("\n---\n")[:-1]
    assert len(messages) == 4, result.stdout
    needed = (
        'cuda-wheel-builder, which compiles, is not installed. pip install "cuda-wheel[cu12]" or "cuda-wheel[cu13]"'
    )
    assert all(f"{needed} brings it." in each for each in messages), result.stdout
    assert [each.partition(":")[0] for each in messages] == ["CudaWheelError"] + ["ImageError"] * 3
    for each in messages[1:]:
        assert "In a source tree, modules are compiled when they are loaded; but" in each


def test_an_installed_package_without_images_is_not_said_to_be_a_source_tree(loader: Path, tmp_path: Path) -> None:
    write_files(tmp_path / "site-packages", **{"demo/__init__.py": "", "demo/fill.cu": KERNEL})
    program = "import sys; sys.path.append('site-packages')\n" + PROGRAM
    result = run(loader / COMMAND / "python", "-c", program, cwd=tmp_path, **ALONE)
    load, attach = result.stdout.split("\n---\n")[1:3]
    assert load.startswith("ImageError: demo.fill has no images") and attach.startswith(
        "ImageError: demo has no modules"
    )
    assert "source tree" not in load + attach
    assert "add cuda-wheel[cu12] or [cu13] to build-system.requires" in load


@pytest.mark.parametrize("arguments", [["explain", "demo"], ["--version"], []])
def test_without_the_build_side_the_command_names_the_extra(arguments: list[str], loader: Path, tmp_path: Path) -> None:
    for command in [loader / COMMAND / "cuda-wheel"], [loader / COMMAND / "python", "-m", "cuda_wheel"]:
        result = run(*command, *arguments, cwd=tmp_path, **ALONE)
        assert result.returncode == 1 and len(result.stdout.splitlines()) == 1
        assert result.stdout.startswith(f"cuda-wheel: the loader, cuda-wheel {VERSION}, is installed in ")
        assert 'pip install "cuda-wheel[tools]"' in result.stdout and "cuda-wheel[cu12]" in result.stdout


def test_an_error_of_the_command_is_not_hidden(loader: Path, own_wheels: dict[str, Path], tmp_path: Path) -> None:
    """Only a missing build side is said to be missing."""
    site = installed(tmp_path / "both", *own_wheels.values())
    (site / "cuda_wheel/cli/arguments.py").write_text("import not_there\n")
    result = run(tmp_path / "both" / COMMAND / "cuda-wheel", "--version", cwd=tmp_path, **ALONE)
    assert "No module named 'not_there'" in result.stdout and "cuda-wheel[tools]" not in result.stdout


# --- both, in unusual ways ----------------------------------------------------------------------------------


def test_the_build_side_may_lie_in_an_environment_on_top(
    loader: Path, own_wheels: dict[str, Path], tmp_path: Path
) -> None:
    """As with `--system-site-packages`: pip does not install again what the environment below has."""
    below = site_packages(loader)
    site = installed(tmp_path / "top", own_wheels[BUILDER])
    (site / "below.pth").write_text(f"{below}\n")
    python = tmp_path / "top" / COMMAND / "python"
    assert run(python, "-m", "cuda_wheel", "--version", cwd=tmp_path, **ALONE).stdout == f"cuda-wheel {VERSION}\n"
    program = (
        "import cuda_wheel.builder.scratch as one, cuda_wheel.runtime as other; print(one.__file__, other.__file__)"
    )
    assert run(python, "-c", program, cwd=tmp_path, **ALONE).stdout.split() == [
        str(site / "cuda_wheel/builder/scratch.py"),
        str(below / "cuda_wheel/runtime/__init__.py"),
    ]


PROJECT = """\
[build-system]
requires = ["{backend}", "cuda-wheel[cu12]"]
build-backend = "{build}"
[project]
name = "demo"
version = "1"
[tool.hatch.build.targets.wheel.hooks.cuda]
[tool.cuda-wheel]
"""
BUILD = "import sys, {0} as back_end; back_end.build_wheel('dist')"


@pytest.mark.slow
def test_two_versions_are_told_in_words(own_wheels: dict[str, Path], tmp_path: Path) -> None:
    """As after `pip install --no-deps --upgrade cuda-wheel`."""
    folder = tmp_path / "both"
    site = installed(folder, *own_wheels.values())
    init = site / "cuda_wheel/__init__.py"
    init.write_text(init.read_text().replace(f'__version__ = "{VERSION}"', '__version__ = "99.0"'))
    message = f"two versions are mixed: cuda-wheel-builder {VERSION} in {site}, and cuda-wheel 99.0 in {site}. Install"
    write_files(tmp_path, **{"demo/__init__.py": "", "demo/fill.cu": KERNEL})
    command = run(folder / COMMAND / "cuda-wheel", "doctor", cwd=tmp_path, **ALONE)
    assert command.returncode == 1 and command.stdout.startswith(f"cuda-wheel: {message}"), command.stdout
    compiled = run(folder / COMMAND / "python", "-c", PROGRAM, cwd=tmp_path, **ALONE).stdout
    assert compiled.startswith(f"CudaWheelError: {message}")
    # The back ends are those of this environment; sys.path begins with the other one.
    for backend, build in ("hatchling", "hatchling.build"), ("setuptools", "setuptools.build_meta"):
        write_files(tmp_path, **{"pyproject.toml": PROJECT.format(backend=backend, build=build)})
        result = run(sys.executable, "-c", BUILD.format(build), cwd=tmp_path, PYTHONPATH=str(site))
        assert result.returncode == 1 and f"cuda-wheel: {message}" in result.stdout, result.stdout
        assert "Traceback" not in result.stdout
    for module in ("cuda_wheel.backend", "cuda_wheel.cmake"):
        result = run(folder / COMMAND / "python", "-m", module, "build", "x", cwd=tmp_path, **ALONE)
        assert result.returncode == 1 and result.stdout.startswith(f"cuda-wheel: {message}"), result.stdout


def test_the_build_side_without_the_loader_says_what_it_needs(own_wheels: dict[str, Path], tmp_path: Path) -> None:
    installed(tmp_path / "builder", own_wheels[BUILDER])
    program = "import cuda_wheel.builder.project"
    result = run(tmp_path / "builder" / COMMAND / "python", "-c", program, cwd=tmp_path, **ALONE)
    assert result.stdout.splitlines()[-1].endswith("needs cuda-wheel, which is not installed: pip install cuda-wheel")
