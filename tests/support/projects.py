"""Projects to build: copies of the fixtures, and small projects written from strings."""

from __future__ import annotations

import shutil
import sys
import textwrap
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).parents[2]


FIXTURES = ROOT / "fixtures"


GOOD = ["saxpy", "matmul_templates", "reduce_cub", "half_precision", "stencil", "cooperative"]


LINKED = ["linked", "plugin", "nvvm_ir"]
"""Fixtures that are linked, at build time or when they are loaded, or that are not CUDA C++."""


FLOATING = "floating_point"
"""The fixture with one source in every way, with several floating-point options."""


TORCH_OP = "torch_op"
"""The fixture with PyTorch operators."""


GALLERY = {
    "image_filter": "denoise_demo",
    "numba_plugin": "terrain_demo",
    "cutlass_gemm": "gemm_demo",
    "multi_gpu": "julia_demo",
    "cmake": "reaction_demo",
}
"""The packages of the examples that run from their wheels; each checks its own results."""


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
    """Return the beginning of a pyproject.toml for the project `demo` with one of BACKENDS."""
    return f"""\
[build-system]
requires = ["{backend}", "cuda-wheel[{extra}]"]
build-backend = "{BACKENDS[backend]}"
[project]
name = "demo"
version = "1"
requires-python = ">=3.10"
"""


def copy_fixture(name: str, destination: Path, extra: str, backend: str = "hatchling") -> Path:
    """Copy a fixture to `destination`, adapted to the toolchain `extra` and to one of BACKENDS."""
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
    """Write the CMakeLists.txt of a fixture: a module for each table, and one for each other source."""
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
        arguments = {"SOURCES": table["sources"], "DESTINATION": [package.replace(".", "/")]}
        arguments |= {
            key: table.get(key.lower().replace("_", "-"), []) for key in ("INSTANTIATE", "EXTERN", "EXTERN_DEFAULT")
        }
        arguments["LINK"] = [table["link"]] if "link" in table else []
        text = " ".join(
            " ".join([key, *(f'"{each}"' for each in values)]) for key, values in arguments.items() if values
        )
        calls.append(f"cuda_wheel_add_module(TARGET {target} {text} {'RELOCATABLE' * table.get('relocatable', False)})")
    (project / "CMakeLists.txt").write_text(LISTS.format(call="\n".join(calls)))


def write_files(root: Path, **files: str) -> Path:
    """Write files, given by path and text, below a folder and return the folder."""
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


@pytest.fixture
def make_project(tmp_path: Path, extra: str) -> Callable[..., Path]:
    """Return a function that creates a hatchling project `demo` with the given files and `[tool.cuda-wheel]` table."""

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
