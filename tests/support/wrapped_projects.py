"""Projects of build back ends that have no hook of cuda-wheel, which `cuda_wheel.backend` wraps."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tests.support.projects import write_files

__all__ = ["PROJECTS", "SOURCE", "WrappedProject", "make_wrapped_project"]

SOURCE = '#include "answer.h"\n__global__ void fill(int* x)\n{\n    *x = ANSWER;\n}\n'

MESON = """\
project('demo', version: '1')
py = import('python').find_installation(pure: true)
py.install_sources('src/demo/__init__.py', subdir: 'demo')
py.install_sources('src/demo/kernels/__init__.py', subdir: 'demo/kernels')
"""

CARGO = """\
[package]
name = "demo"
version = "1.0.0"
edition = "2021"
"""


@dataclass(frozen=True)
class WrappedProject:
    """A project named `demo`, with the package `demo` and a CUDA source in `demo.kernels`."""

    module: str
    """The back end, as `build-backend` names it."""
    package: str
    """Folder of the package `demo`."""
    settings: str = ""
    """Further tables of pyproject.toml."""
    files: Mapping[str, str] = field(default_factory=dict)
    """Further files: path -> text."""


PROJECTS = {
    "uv_build": WrappedProject("uv_build", "src/demo"),
    "poetry-core": WrappedProject(
        "poetry.core.masonry.api", "lib/demo", '[tool.poetry]\npackages = [{ include = "demo", from = "lib" }]\n'
    ),
    "meson-python": WrappedProject("mesonpy", "src/demo", files={"meson.build": MESON}),
    "flit_core": WrappedProject("flit_core.buildapi", "demo"),
    "pdm-backend": WrappedProject("pdm.backend", "src/demo"),
    "maturin": WrappedProject(
        "maturin",
        "python/demo",
        '[tool.maturin]\nbindings = "bin"\npython-source = "python"\n',
        {"Cargo.toml": CARGO, "src/main.rs": 'fn main() { println!("demo"); }\n'},
    ),
}
"""Distribution of a back end -> a project of it. In the wheel of meson-python, there are no `.cu` files."""


def make_wrapped_project(back_end: str, root: Path, extra: str = "cu12", table: str = "") -> Path:
    """Write a project of one of PROJECTS to `root`, and return `root`. `table` is text of `[tool.cuda-wheel]`."""
    project = PROJECTS[back_end]
    pyproject = f"""\
[build-system]
requires = ["{back_end}", "cuda-wheel[{extra}]"]
build-backend = "cuda_wheel.backend"

[project]
name = "demo"
version = "1"
description = "A project"
requires-python = ">=3.10"

{project.settings}
[tool.cuda-wheel]
backend = "{project.module}"
architectures = ["80"]
include-dirs = ["include"]
{table}"""
    files = {
        "pyproject.toml": pyproject,
        f"{project.package}/__init__.py": '"""A package."""\n',
        f"{project.package}/kernels/__init__.py": "",
        f"{project.package}/kernels/fill.cu": SOURCE,
        "include/answer.h": "#define ANSWER 41\n",
        "tests/__init__.py": "",
        **project.files,
    }
    return write_files(root, **files)
