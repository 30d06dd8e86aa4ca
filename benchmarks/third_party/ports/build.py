"""Build a wheel of the unedited kernels of each ported package: `python benchmarks/third_party/ports/build.py FOLDER`.

FOLDER/corpus must have the sources of `packages.toml`, from `../fetch.py`; the wheels go to FOLDER/wheels. The build
needs no GPU. Where PyTorch is installed (without CUDA will do), its headers serve kernels that include its device code.
A wheel's Python package is called `ported_` and the package's name, and has one module for each file.

Options: --architectures LIST (default: 90-real), --only NAME ....
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
from importlib import util
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
sys.path.insert(0, str(Path(__file__).parents[2]))
sys.path.insert(0, str(Path(__file__).parents[3]))  # run from a checkout, without installing it

from _process import build_wheel
from corpus import Package, packages

__all__ = ["LISTED", "python_package"]

HERE = Path(__file__).parent

LISTED = packages(HERE / "packages.toml")

PROJECT = """\
[build-system]
requires = ["hatchling", "cuda-wheel[tools]"]
build-backend = "hatchling.build"

[project]
name = "{name}"
version = "1"

[tool.hatch.build.targets.wheel]
packages = ["{name}"]

[tool.hatch.build.targets.wheel.hooks.cuda]

[tool.cuda-wheel]
architectures = {architectures}
include-dirs = {include}
options = {options}
system-include-dirs = {headers}
"""
MODULE = """
[[tool.cuda-wheel.module]]
name = "{name}.{module}"
sources = ["{source}"]
"""


def python_package(package: Package) -> str:
    """Return the name of the wheel's Python package."""
    return f"ported_{package.name}"


def make_project(package: Package, corpus: Path, folder: Path, architectures: list[str]) -> None:
    """Write a project with the package's files, as they are, below `folder`."""
    shutil.copytree(package.home(corpus), folder, dirs_exist_ok=True)
    name, torch = python_package(package), util.find_spec("torch")
    text = PROJECT.format(
        name=name,
        architectures=json.dumps(architectures),
        include=json.dumps(package.include),
        options=json.dumps(package.nvcc_options),
        headers=json.dumps([str(Path(root, "include")) for root in torch.submodule_search_locations] if torch else []),
    )
    for path in package.files:
        text += MODULE.format(name=name, module=Path(path).stem, source=path)
    (folder / name).mkdir()
    (folder / name / "__init__.py").touch()
    (folder / "pyproject.toml").write_text(text, encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--architectures", nargs="+", default=["90-real"])
    parser.add_argument("--only", nargs="+", default=[package.name for package in LISTED])
    options = parser.parse_args()
    wheels = options.folder.resolve() / "wheels"
    for package in LISTED:
        if package.name in options.only:
            with tempfile.TemporaryDirectory() as scratch:
                make_project(package, options.folder / "corpus", Path(scratch), options.architectures)
                try:
                    cost = build_wheel(Path(scratch), wheels)
                except subprocess.CalledProcessError as error:
                    raise SystemExit(f"{package.name}:\n{error.stdout.decode()}") from None
            print(f"{package.name}: {cost.seconds:.1f} s", flush=True)


if __name__ == "__main__":
    main()
