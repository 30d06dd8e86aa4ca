"""A project that is divided, in two versions and two builds, and environments with parts of it."""

from __future__ import annotations

import sys
import venv
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.processes import build_wheel, run, run_cuda_wheel
from tests.support.projects import BACKENDS, KERNEL, LISTS, SCIKIT_BUILD, pyproject_head, write_files
from tests.support.shared_folders import Share

TABLE = """\
[tool.cuda-wheel]
architectures = ["75-real", "80", "86-real", "90-real"]
split = "architecture"
loader = "vendor"
"""

OTHER = "__global__ void other(float* x) { *x = 2; }\n"

HEADS = {
    "hatchling": '[tool.hatch.build.targets.wheel]\npackages = ["demo"]\n[tool.hatch.build.targets.wheel.hooks.cuda]\n',
    "setuptools": '[tool.setuptools]\npackages = ["demo"]\n',
    "scikit-build-core": SCIKIT_BUILD + 'wheel.packages = ["demo"]\n',
}


def write_project(
    root: Path, extra: str, backend: str = "hatchling", table: str = TABLE, version: str = "1", **files: str
) -> Path:
    """Write the project `demo` for one of BACKENDS, with kernels in two modules, and return its folder."""
    head = pyproject_head(backend, extra).replace('version = "1"', f'version = "{version}"') + HEADS[backend]
    calls = [
        f'cuda_wheel_add_module(TARGET {name} SOURCES "demo/{name}.cu" DESTINATION "demo")'
        for name in ("fill", "other")
    ]
    sources = files or {"demo/fill.cu": KERNEL, "demo/other.cu": OTHER}
    if backend == "scikit-build-core":
        sources["CMakeLists.txt"] = LISTS.format(call="\n".join(calls))
    return write_files(root, **{"pyproject.toml": head + table, "demo/__init__.py": "", **sources})


@pytest.fixture(scope="session")
def whole_wheel(share: Share, extra: str) -> Callable[..., Path]:
    """Return a function that returns the whole wheel of the project, built once for each back end and version."""

    def build(backend: str = "hatchling", version: str = "1") -> Path:
        def fill(folder: Path) -> None:
            project = write_project(folder / "project", extra, backend, version=version)
            result = build_wheel(project, folder / "dist", CUDA_WHEEL_CACHE_DIR=str(folder / "cache"))
            assert result.returncode == 0, result.stdout

        assert backend in BACKENDS
        (wheel,) = (share(f"whole-{backend}-{version}", fill) / "dist").glob("*.whl")
        return wheel

    return build


@pytest.fixture(scope="session")
def parts(share: Share, whole_wheel: Callable[..., Path]) -> Callable[..., Path]:
    """Return a function that returns the folder of the base and the companions, made once for each version."""

    def split(backend: str = "hatchling", version: str = "1") -> Path:
        def fill(folder: Path) -> None:
            result = run_cuda_wheel("split", whole_wheel(backend, version), "-o", folder)
            assert result.returncode == 0, result.stdout

        return share(f"parts-{backend}-{version}", fill)

    return split


PROGRAM = """
import importlib, sys, types, warnings
from tests.support.driver import Driver
loader, name, capability, version = sys.argv[1:]
driver = sys.modules["cuda.bindings.driver"] = Driver(tuple(map(int, capability.split("."))), version=int(version))
sys.modules["cuda.bindings"] = types.SimpleNamespace(driver=driver)
sys.modules["cuda"] = types.SimpleNamespace(bindings=sys.modules["cuda.bindings"])
loader = importlib.import_module(loader)
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    for _ in range(2):
        try:
            module = loader.load(name)
            print(module.image.target, module.how, module.image.sha256[:4], len(module))
        except loader.CudaWheelError as error:
            print(type(error).__name__, str(error).replace(chr(10), " "))
for each in caught:
    print("warning", each.filename.rpartition("/")[2], each.message)
"""


class Environment:
    """A fresh virtual environment, into which pip installs."""

    def __init__(self, folder: Path) -> None:
        venv.create(folder, symlinks=sys.platform != "win32")
        self.python = folder / ("Scripts" if sys.platform == "win32" else "bin") / "python"
        (self.site,) = folder.rglob("site-packages")

    def pip(self, *arguments: object) -> str:
        """Run a command of pip that must succeed, and return its output."""
        result = run(sys.executable, "-m", "pip", "--python", self.python, *arguments, PIP_NO_INDEX="1")
        assert result.returncode == 0, result.stdout
        return result.stdout

    def install(self, wheels: Path, *requirements: str) -> None:
        """Install wheels of a folder with uv, which takes a fifth of pip's time, where pip is not what is tested."""
        command = (sys.executable, "-m", "uv", "pip", "install", "-q", "--offline", "--no-cache", "--no-index")
        result = run(*command, "--python", self.python, "-f", wheels, *requirements)
        assert result.returncode == 0, result.stdout

    def load(
        self, name: str = "demo.fill", capability: str = "9.0", loader: str = "demo._cuda_wheel", driver: int = 13000
    ) -> list[str]:
        """Return what a program prints that loads a module twice, on a GPU of this compute capability."""
        from tests.support.projects import ROOT

        program = self.site.parent / "program.py"
        program.write_text(PROGRAM)
        result = run(self.python, program, loader, name, capability, str(driver), PYTHONPATH=str(ROOT))
        assert result.returncode == 0, result.stdout
        return result.stdout.splitlines()


@pytest.fixture
def environment(tmp_path: Path) -> Environment:
    return Environment(tmp_path / "environment")
