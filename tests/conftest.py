"""Fixtures that the tests share: the toolchain in use, projects, wheels of the fixtures, independent readers."""

from __future__ import annotations

import os
import re
import secrets
import shutil
import subprocess
import sys
import textwrap
import venv
import zipfile
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from importlib.metadata import distributions
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

from cuda_wheel import loader
from cuda_wheel.build.compiler import Compiled, Job, compile_job
from cuda_wheel.build.toolchain import INCLUDE, Toolchain, find_toolchain
from cuda_wheel.build.workers import Workers
from tests.driver import Driver, Result
from tests.soak import SOAK, amount

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

# Machines are shared and slow at times; the tests should fail for what changed, and not for the luck of a draw. Luck is
# for `nox -s soak`.
settings.register_profile("tests", deadline=None, derandomize=not SOAK, max_examples=amount(100, 20_000))
settings.load_profile("tests")

ROOT = Path(__file__).parent.parent
FIXTURES = ROOT / "fixtures"
GOOD = ["saxpy", "matmul_templates", "reduce_cub", "half_precision", "stencil", "cooperative"]
LINKED = ["linked", "plugin", "nvvm_ir"]
"""Those that are linked, at build time or when they are loaded, or not of CUDA C++."""
BACKENDS = {
    "hatchling": "hatchling.build",
    "setuptools": "setuptools.build_meta",
    "scikit-build-core": "scikit_build_core.build",
}
SCIKIT_BUILD = """\
[tool.scikit-build]
wheel.platlib = false
wheel.exclude = ["**.cu", "**.cuh"]
"""
LISTS = """\
cmake_minimum_required(VERSION 3.20)
project(demo LANGUAGES NONE)
find_package(CudaWheel REQUIRED)
{call}
"""
KERNEL = "__global__ void fill(int* x, int n)\n{\n    if (threadIdx.x < n)\n        x[threadIdx.x] = 1;\n}\n"


def pyproject_head(backend: str, extra: str = "cu12") -> str:
    """Return the beginning of a pyproject.toml: the project `demo` with one of BACKENDS."""
    return f"""\
[build-system]
requires = ["{backend}", "cuda-wheel[{extra}]"]
build-backend = "{BACKENDS[backend]}"
[project]
name = "demo"
version = "1"
requires-python = ">=3.10"
"""


def installed_extra() -> str | None:
    """Return the extra whose toolchain this environment has: "cu12", "cu13" or None."""
    names = {distribution.metadata["Name"].lower() for distribution in distributions()}
    if "nvidia-cuda-nvrtc-cu12" in names:
        return "cu12"
    return "cu13" if "nvidia-cuda-nvrtc" in names else None


@pytest.fixture(autouse=True)
def cache_of_its_own(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep what a test compiles from the next one, which is to compile it itself."""
    monkeypatch.setenv("CUDA_WHEEL_CACHE_DIR", str(tmp_path_factory.mktemp("cache")))


@pytest.fixture
def count(request: pytest.FixtureRequest) -> Callable[[str, int], None]:
    """Return a function that counts what a test did, such as "kills", for the summary at the end."""
    return lambda what, number: request.node.user_properties.append((f"count of {what}", number))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    counts: Counter[str] = Counter()
    for report in terminalreporter.getreports("passed"):
        for what, number in report.user_properties:
            if what.startswith("count of "):
                counts[what] += number
    for what, number in sorted(counts.items()):
        terminalreporter.write_line(f"{what.removeprefix('count of ')}: {number:,}")


@pytest.fixture(scope="session")
def extra() -> str:
    extra = installed_extra()
    if extra is None:
        pytest.fail("no toolchain is installed: run the tests through nox, or install cuda-wheel[cu12]")
    return extra


@pytest.fixture(scope="session")
def workers():
    with Workers(timeout=300, memory=8 << 30) as workers:
        yield workers


@pytest.fixture(scope="session")
def toolchain(workers: Workers, extra: str) -> Toolchain:
    return workers.submit(find_toolchain, None).result()


@pytest.fixture
def compiled(workers: Workers, toolchain: Toolchain, tmp_path: Path) -> Callable[..., Compiled]:
    """Return a function that compiles a text for one architecture; `changes` are to its job."""

    def compile(text: str, arch: str = "80", root: Path = tmp_path, **changes: object) -> Compiled:
        job = Job(
            library=toolchain.libraries[0],
            root=str(root),
            source="k.cu",
            text=text.encode(),
            arch=arch,
            cubin=True,
            ptx=True,
            options=("--std=c++17",),
            include_dirs=(str(INCLUDE), *toolchain.include_dirs),
            instantiate=(),
            lineinfo=False,
            ptx_version="auto",
        )
        return workers.submit(compile_job, replace(job, **changes)).result()

    return compile


def copy_fixture(name: str, destination: Path, extra: str, backend: str = "hatchling") -> Path:
    """Copy a fixture to `destination`, for the toolchain `extra`, with the same settings for one of BACKENDS."""
    shutil.copytree(FIXTURES / name, destination, ignore=shutil.ignore_patterns("__pycache__", "dist"))
    pyproject = destination / "pyproject.toml"
    text = pyproject.read_text().replace("cuda-wheel[cu12]", f"cuda-wheel[{extra}]")
    if backend != "hatchling":
        text = text.replace('"hatchling"', f'"{backend}"').replace(BACKENDS["hatchling"], BACKENDS[backend])
        head, _, settings = text.partition("[tool.hatch.build.targets.wheel]")
        settings = "[tool.cuda-wheel]\n" + settings.partition("hooks.cuda]")[2].replace("[tool.cuda-wheel]\n", "")
        if backend == "scikit-build-core":
            _write_lists(destination, tomllib.loads(text)["tool"].get("cuda-wheel", {}).get("module", ()))
            settings, _, _ = settings.partition("[[tool.cuda-wheel.module]]")
            head += SCIKIT_BUILD
        text = head + settings
    pyproject.write_text(text)
    return destination


def _write_lists(project: Path, tables: Iterable[Mapping[str, Any]]) -> None:
    """Write the CMakeLists.txt of a fixture with these module tables, and with each further source a module."""
    sources = {
        ".".join(path.relative_to(project / "src").with_suffix("").parts): path.relative_to(project).as_posix()
        for path in project.glob("src/**/*.cu")
    }
    modules: dict[str, Mapping[str, Any]] = {
        table["name"]: {"sources": [sources.get(table["name"])], **table} for table in tables
    }
    taken = {path for table in modules.values() for path in (*table["sources"], *table.get("extern-default", ()))}
    modules |= {name: {"sources": [path]} for name, path in sources.items() if path not in taken}
    calls = []
    for name, table in sorted(modules.items()):
        package, _, target = name.rpartition(".")
        words = {"SOURCES": table["sources"], "DESTINATION": [package.replace(".", "/")]}
        words |= {
            key: table.get(key.lower().replace("_", "-"), []) for key in ("INSTANTIATE", "EXTERN", "EXTERN_DEFAULT")
        }
        words["LINK"] = [table["link"]] if "link" in table else []
        told = " ".join(" ".join([key, *(f'"{value}"' for value in its)]) for key, its in words.items() if its)
        calls.append(f"cuda_wheel_add_module(TARGET {target} {told} {'RELOCATABLE' * table.get('relocatable', False)})")
    (project / "CMakeLists.txt").write_text(LISTS.format(call="\n".join(calls)))


def contents(wheel: Path) -> dict[str, bytes]:
    """Return the files of a wheel, by name."""
    with zipfile.ZipFile(wheel) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def images(wheel: Path) -> dict[str, bytes]:
    """Return the fatbins and manifests of a wheel, by name."""
    return {name: content for name, content in contents(wheel).items() if name.endswith((".fatbin", ".fatbin.json"))}


def run(*command: object, cwd: Path | None = None, **environ: str) -> subprocess.CompletedProcess[str]:
    """Run a command and return its status and both outputs together; never raises for a status."""
    return subprocess.run(
        [str(part) for part in command],
        cwd=cwd,
        env=os.environ | environ,
        text=True,
        errors="backslashreplace",  # the names of some folders are no text
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        check=False,
        timeout=600,
    )


def pip_wheel(project: Path, output: Path, *options: str, **environ: str) -> subprocess.CompletedProcess[str]:
    """Build a project's wheel with pip, in this environment unless `options` say otherwise."""
    options = options or ("--no-build-isolation",)
    return run(
        sys.executable,
        "-m",
        "pip",
        "wheel",
        "-v",
        "--no-deps",
        "--no-index",
        "-w",
        output,
        *options,
        project,
        **environ,
    )


@pytest.fixture(scope="session")
def fixture_wheel(tmp_path_factory: pytest.TempPathFactory, extra: str) -> Callable[[str], Path]:
    """Return a function that gives the wheel of a fixture, built once."""
    wheels: dict[str, Path] = {}

    def build(name: str) -> Path:
        if name not in wheels:
            folder = tmp_path_factory.mktemp(name)
            project = copy_fixture(name, folder / "project", extra)
            result = pip_wheel(project, folder / "dist", CUDA_WHEEL_CACHE_DIR=str(folder / "cache"))
            assert result.returncode == 0, result.stdout
            (wheels[name],) = (folder / "dist").glob("*.whl")
        return wheels[name]

    return build


@pytest.fixture
def unpacked(fixture_wheel: Callable[[str], Path], tmp_path: Path) -> Callable[[str], Path]:
    """Return a function that gives a fixture's wheel, unpacked into a fresh folder."""

    def unpack(name: str) -> Path:
        folder = tmp_path / f"unpacked-{name}"
        with zipfile.ZipFile(fixture_wheel(name)) as archive:
            archive.extractall(folder)
        return folder

    return unpack


@pytest.fixture
def make_project(tmp_path: Path, extra: str) -> Callable[..., Path]:
    """Return a function that makes a hatchling project `demo` of files and a `[tool.cuda-wheel]` table."""

    def make(table: str = "", hook: str = "[tool.hatch.build.targets.wheel.hooks.cuda]", **files: str | bytes) -> Path:
        root = tmp_path / "project"
        head = pyproject_head("hatchling", extra) + '[tool.hatch.build.targets.wheel]\npackages = ["demo"]\n'
        for name, content in {"demo/__init__.py": "", **(files or {"demo/fill.cu": KERNEL})}.items():
            path = root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content if isinstance(content, bytes) else content.encode())
        (root / "pyproject.toml").write_text("\n".join(map(textwrap.dedent, (head, hook, table))))
        return root

    return make


@pytest.fixture
def cuda_wheel(tmp_path: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Return a function that runs the `cuda-wheel` command in a neutral folder."""
    return lambda *arguments, **environ: run(sys.executable, "-m", "cuda_wheel", *arguments, cwd=tmp_path, **environ)


# --- a stand-in driver ------------------------------------------------------------------------------


@pytest.fixture
def use(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Driver]:
    """Return a function that makes a stand-in driver the one in use, with nothing loaded."""

    def use(*capabilities: tuple[int, int], version: int = 13000, **faults: Result) -> Driver:
        import cuda.bindings

        driver = Driver(*capabilities, version=version, **faults)
        monkeypatch.setitem(sys.modules, "cuda.bindings.driver", driver)  # type: ignore[arg-type]
        monkeypatch.setattr(cuda.bindings, "driver", driver, raising=False)
        monkeypatch.setattr(loader, "_bindings", None)
        monkeypatch.setattr(loader, "_modules", {})
        return driver

    return use


# --- independent readers: NVIDIA's own tools, of other releases, from their wheels -------------------


def _tool(name: str) -> Path:
    folder = os.environ.get("CUDA_WHEEL_TEST_TOOLS")
    if folder is None:
        pytest.skip("NVIDIA's tools are fetched by `nox -s tests` (CUDA_WHEEL_TEST_TOOLS names their folder)")
    return next(Path(folder).glob(name))


@pytest.fixture(scope="session")
def cuobjdump() -> Callable[..., str]:
    """Return a function that runs cuobjdump and gives what it prints."""
    tool = _tool("cuobjdump/nvidia/*/bin/cuobjdump")

    def dump(*arguments: object) -> str:
        result = run(tool, *arguments)
        assert result.returncode == 0, result.stdout
        return result.stdout

    return dump


@pytest.fixture(scope="session")
def nvdisasm() -> Callable[[Path], str]:
    """Return a function that gives the machine code of a cubin as text."""
    tool = _tool("nvdisasm/nvidia/*/bin/nvdisasm")

    def disassemble(path: Path) -> str:
        result = run(tool, "-c", path)
        assert result.returncode == 0, result.stdout
        return result.stdout

    return disassemble


@pytest.fixture(scope="session")
def ptxas() -> Callable[..., str]:
    """Return a function that assembles a PTX file with the ptxas of a CUDA release, and gives its complaints."""

    def assemble(release: str, path: Path, arch: str, *options: str) -> str:
        tool = _tool(f"ptxas-{release}/nvidia/cuda_nvcc/bin/ptxas")
        result = run(tool, f"-arch=sm_{arch}", *options, path, "-o", os.devnull)
        return result.stdout if result.returncode else ""

    return assemble


def listed_cubins(text: str) -> list[str]:
    """Return the targets of the cubins that `cuobjdump -lelf` lists: "sm_80"."""
    return re.findall(r"\.(sm_\d+[af]?)\.cubin", text)


# --- environments of their own ---------------------------------------------------------------------


@pytest.fixture(scope="session")
def own_wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return cuda-wheel's own wheel, built from this checkout."""
    # uv remembers wheels by their path, and the next run may use this folder again.
    folder = tmp_path_factory.mktemp("own") / secrets.token_hex(8)
    result = pip_wheel(ROOT, folder)
    assert result.returncode == 0, result.stdout
    return next(folder.glob("cuda_wheel-*.whl"))


@pytest.fixture(scope="session")
def find_links(own_wheel: Path) -> dict[str, str]:
    """Return environment variables that let isolated builds of pip and uv find cuda-wheel's own wheel."""
    folder = str(own_wheel.parent)
    return {
        "PIP_FIND_LINKS": f"{folder} {os.environ.get('PIP_FIND_LINKS', '')}".strip(),
        "UV_FIND_LINKS": folder,
    }


@pytest.fixture(scope="session")
def bare_python(tmp_path_factory: pytest.TempPathFactory, own_wheel: Path) -> Path:
    """Return the interpreter of a fresh environment with cuda-wheel, hatchling and the front ends, and no CUDA compiler."""
    folder = tmp_path_factory.mktemp("bare")
    venv.create(folder, with_pip=True)
    python = folder / ("Scripts" if sys.platform == "win32" else "bin") / "python"
    result = run(python, "-m", "pip", "install", "-q", own_wheel, "hatchling", "editables", "build", "uv")
    assert result.returncode == 0, result.stdout
    return python
