"""A build runs no code of the project, opens no network connection, and reads and writes only its own files."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.processes import run
from tests.support.projects import KERNEL, SCIKIT_BUILD, pyproject_head

pytestmark = pytest.mark.one_toolchain

TRAP = "import os\nopen(os.path.join({folder!r}, __name__), 'w').close()\nraise SystemExit('a build ran a file of the project')\n"
"""The content of a file of the project that must not be run."""

NAMES = ["json", "pickle", "queue", "site", "ctypes", "hashlib", "rich", "cuda_wheel", "hatchling", "conftest"]
NAMES += ["sitecustomize", "usercustomize", "cuda/__init__", "nvidia/__init__", "importlib/__init__", "setup", "numpy"]

WATCH = """
import os, sys
def _watch(event, arguments, log=os.open({log!r}, os.O_WRONLY | os.O_APPEND | os.O_CREAT)):
    entry = None
    if event.startswith("socket.") and event != "socket.gethostname":
        entry = f"network: {{event}} {{arguments!r}}"
    elif event in ("os.system", "os.exec", "os.fork", "os.forkpty", "os.startfile"):
        entry = f"process: {{event}} {{arguments!r}}"
    elif event in ("subprocess.Popen", "os.posix_spawn"):  # Popen calls the latter since Python 3.13
        worker = arguments[0] == sys.executable and arguments[1][1:3] == ["-S", "-c"] and "worker_process" in arguments[1][3]
        searches = "ldconfig" in arguments[0] or "cuda.pathfinder" in str(arguments[1])
        entry = "worker" if worker else "a search for the toolchain" if searches else f"process: {{arguments!r}}"
    elif event in ("exec", "ctypes.dlopen", "import"):
        names = [getattr(arguments[0], "co_filename", None), *(each for each in arguments if isinstance(each, str))]
        entry = next((f"code: {{name}}" for name in names if name and name.startswith({project!r})), None)
    if entry:
        os.write(log, (entry.replace("\\n", " ")[:500] + "\\n").encode())
sys.addaudithook(_watch)
"""
"""An audit hook that records what a build must not do, and each worker that it starts."""

BUILD = """
{watch}
from cuda_wheel.builder.workers import worker
worker._CHILD = "exec(" + repr({watch!r}).replace("{{", "{{{{").replace("}}", "}}}}") + "); " + worker._CHILD
from cuda_wheel.cli.main import main
raise SystemExit(main(sys.argv[1:]))
"""


@pytest.fixture(scope="session")
def known_toolchain() -> None:
    """Let the cache of each test be empty: the search for the toolchain is a part of a build."""


@pytest.fixture
def trapped(make_project, tmp_path: Path) -> Path:
    """Return a project whose folders contain files of many names that record if they are run.

    Its source includes a header by its absolute path.
    """
    project = make_project('[tool.cuda-wheel]\narchitectures = "80"')
    (project / "demo/fill.cu").write_text(f'#include "{project}/demo/one.h"\n{KERNEL.replace("1;", "ONE;")}')
    (project / "demo/one.h").write_text("#define ONE 1\n")
    (tmp_path / "ran").mkdir()
    for folder in (project, project / "demo"):
        for name in NAMES:
            path = folder / f"{name}.py"
            path.parent.mkdir(exist_ok=True)
            path.write_text(TRAP.format(folder=str(tmp_path / "ran")))
    (project / "demo/__init__.py").write_text(TRAP.format(folder=str(tmp_path / "ran")))
    for name in ("cuda_nvrtc/lib/libnvrtc.so.12", "cu13/lib/libnvrtc.so.13", "nvjitlink/lib/libnvJitLink.so.12"):
        (project / "nvidia" / name).parent.mkdir(parents=True)
        (project / "nvidia" / name).write_bytes(b"no library")
    return project


def test_a_build_runs_only_its_own_code_and_opens_no_network_connection(trapped: Path, tmp_path: Path) -> None:
    log = tmp_path / "log"
    watch = WATCH.format(log=str(log), project=str(trapped))
    program = BUILD.format(watch=watch)
    unshare = ["unshare", "-rn"]  # if permitted, so that the compilers have no network either
    isolated = unshare if shutil.which("unshare") and run(*unshare, "true").returncode == 0 else []
    result = run(*isolated, sys.executable, "-c", program, "build", trapped, "-o", tmp_path / "out", cwd=tmp_path)
    assert result.returncode == 0, result.stdout
    lines = set(log.read_text().splitlines())
    assert "worker" in lines and lines <= {"worker", "a search for the toolchain"}, lines
    assert not list((tmp_path / "ran").iterdir())
    files = list((tmp_path / "out").rglob("*.*"))
    assert {path.suffix for path in files} >= {".fatbin", ".json"}
    for path in files:
        assert str(tmp_path).encode() not in path.read_bytes()


def test_the_audit_hook_detects_what_it_is_for(tmp_path: Path) -> None:
    (tmp_path / "own.py").write_text("")
    log = tmp_path / "log"
    program = WATCH.format(log=str(log), project=str(tmp_path)) + (
        "import socket, subprocess\n"
        "try: socket.create_connection(('127.0.0.1', 9), 1)\nexcept OSError: pass\n"
        f"sys.path.insert(0, {str(tmp_path)!r})\nimport own\nsubprocess.run(['true'])\nos.system('true')\n"
    )
    assert run(sys.executable, "-c", program).returncode == 0
    kinds = {line.partition(":")[0] for line in log.read_text().splitlines()}
    assert kinds == {"network", "process", "code"}


def test_the_command_runs_no_code_of_the_project_in_its_folder(trapped: Path, tmp_path: Path) -> None:
    for path in ("cuda_wheel.py", "importlib/__init__.py"):  # Python itself looks for these there with -m
        (trapped / path).unlink()
    (trapped / "importlib").rmdir()
    result = run(sys.executable, "-m", "cuda_wheel", "build", ".", "-o", tmp_path / "out", cwd=trapped)
    assert result.returncode == 0, result.stdout
    assert not list((tmp_path / "ran").iterdir())


@pytest.mark.slow
def test_setuptools_removes_only_files_that_it_wrote(tmp_path: Path, extra: str) -> None:
    """An sdist may contain a build folder whose record names any file."""
    project = tmp_path / "project"
    (project / "demo").mkdir(parents=True)
    (project / "build").mkdir()
    head = pyproject_head("setuptools", extra) + '[tool.setuptools]\npackages = ["demo"]\n'
    (project / "pyproject.toml").write_text(head + '[tool.cuda-wheel]\narchitectures = "80-real"\n')
    (project / "demo/__init__.py").write_text("")
    (project / "demo/fill.cu").write_text(KERNEL)
    (tmp_path / "precious").write_text("")
    (tmp_path / "far").mkdir()
    (tmp_path / "far/precious").write_text("")
    (project / "build/link").symlink_to(tmp_path / "far")
    named = [tmp_path / "precious", "build/../../precious", "build/link/precious", project / "demo/__init__.py"]
    (project / "build/cuda-wheel-outputs.txt").write_text("\n".join(map(str, named)))
    program = "from setuptools.build_meta import build_wheel; build_wheel('dist')"
    result = run(sys.executable, "-c", program, cwd=project)
    assert result.returncode == 0, result.stdout
    assert (tmp_path / "precious").is_file() and (tmp_path / "far/precious").is_file()
    assert (project / "demo/__init__.py").is_file()
    assert (project / "build/lib/demo/fill.fatbin").is_file()


def test_an_sdist_has_no_files_outside_the_project_that_links_point_to(tmp_path: Path) -> None:
    from cuda_wheel.builder.config.settings import Config
    from cuda_wheel.builder.sources.layout import WheelFile
    from cuda_wheel.builder.wheel.sdist import sdist_files

    project = tmp_path / "project"
    for name in ("demo/__init__.py", "demo/fill.cu", "include/own.h"):
        (project / name).parent.mkdir(parents=True, exist_ok=True)
        (project / name).write_text(KERNEL if name.endswith(".cu") else "")
    (tmp_path / "secret").write_text("")
    (project / "include/secret.h").symlink_to(tmp_path / "secret")
    (project / "include/linked.h").symlink_to(project / "include/own.h")
    (project / "include/loop").symlink_to(project / "include")
    files = [WheelFile(project / name, name) for name in ("demo/__init__.py", "demo/fill.cu")]
    config = Config.from_table({"include-dirs": ["include"]})
    expected = ["demo/fill.cu", "include/linked.h", "include/own.h"]
    assert sdist_files(config, project, files, pytest.fail) == expected


@pytest.mark.parametrize("kind", ["absolute", "link"])
def test_a_header_outside_the_project_is_an_error_that_names_it(
    kind: str, make_project, cuda_wheel: Callable[..., subprocess.CompletedProcess[str]], tmp_path: Path
) -> None:
    (tmp_path / "far.h").write_text("#define ONE 1\n")
    include = {"absolute": f"{tmp_path}/far.h", "link": "near.h"}[kind]
    source = f'#include "{include}"\n__global__ void k(int* x) {{ *x = ONE; }}\n'
    project = make_project('[tool.cuda-wheel]\narchitectures = "80-real"', **{"demo/k.cu": source})
    (project / "demo/near.h").symlink_to(tmp_path / "far.h")
    result = cuda_wheel("build", project, "-o", tmp_path / "out")
    assert result.returncode == 1
    assert "demo/k.cu includes " in result.stdout and "lies outside the project" in result.stdout
    assert "copy it into the project" in result.stdout
    assert not (tmp_path / "out").exists()


@pytest.mark.skipif(shutil.which("cmake") is None, reason="needs CMake")
def test_cmake_in_the_source_folder_runs_no_code_of_it(tmp_path: Path, extra: str) -> None:
    for name in ("json", "ctypes", "rich"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit('a build ran a file of the project')\n")
    (tmp_path / "demo").mkdir()
    (tmp_path / "demo/k.cu").write_text(KERNEL)
    (tmp_path / "demo/__init__.py").write_text(
        "import cuda_wheel\n__getattr__, __dir__, __all__ = cuda_wheel.attach(__name__)\n"
    )
    (tmp_path / "pyproject.toml").write_text(pyproject_head("scikit-build-core", extra) + SCIKIT_BUILD)
    (tmp_path / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.20)\nproject(demo LANGUAGES NONE)\nfind_package(CudaWheel REQUIRED)\n"
        "cuda_wheel_add_module(TARGET k SOURCES demo/k.cu DESTINATION demo ARCHITECTURES 80-real)\n"
    )
    modules = Path(__file__).parents[2] / "cuda_wheel/cmake"
    configure = ["cmake", f"-DCMAKE_MODULE_PATH={modules}", f"-DPython_EXECUTABLE={sys.executable}", "."]
    for command in (configure, ["cmake", "--build", "."], ["cmake", "--install", ".", "--prefix", tmp_path / "out"]):
        result = run(*command, cwd=tmp_path)
        assert result.returncode == 0, result.stdout
    assert (tmp_path / "out/demo/k.fatbin").is_file() and (tmp_path / "out/demo/__init__.pyi").is_file()
