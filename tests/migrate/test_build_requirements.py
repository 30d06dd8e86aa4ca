"""What `import --write` leaves in build-system.requires: no compiler of C++ where none is needed, and the extra that fits."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from cuda_wheel.migrate.import_sources import propose_import
from cuda_wheel.migrate.init_project import ProjectChanges, init_project
from cuda_wheel.migrate.module_tables import ModuleTrial
from cuda_wheel.migrate.project_detection import toolchain_extra
from cuda_wheel.migrate.pyproject_edit import ImportedBuild, chosen_extra
from tests.support.projects import KERNEL, write_files

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

PYPROJECT = """\
[build-system]
requires = [
    "setuptools>=61",  # the back end
    "torch>=2.4", 'ninja',
    "pybind11",
]
build-backend = "setuptools.build_meta"
[project]
name = "demo"
version = "1"
dependencies = ["torch"]
"""
SETUP = """\
import torch
from setuptools import setup
from torch.utils.cpp_extension import BuildExtension, CppExtension, CUDAExtension

setup(
    packages=["demo"],
    ext_modules=[
        CUDAExtension("demo._C", ["csrc/bind.cpp", "csrc/k.cu"], extra_compile_args={"nvcc": ["-gencode", "arch=compute_70,code=sm_70"]}),
        # another
    ],
    cmdclass={"build_ext": BuildExtension},
)
"""


def imported(
    tmp_path: Path, setup: str = SETUP, error: str = "", pytorch: bool = False, pyproject: str | None = None
) -> tuple[ProjectChanges, list[str]]:
    """Return what `import setup.py --write` does, as if its modules gave this, and build-system.requires."""
    files = {
        "setup.py": setup,
        "pyproject.toml": PYPROJECT if pyproject is None else pyproject,
        "demo/__init__.py": "",
        "csrc/k.cu": KERNEL,
    }
    root = write_files(tmp_path, **files)
    found = propose_import(root, [root / "setup.py"])
    trials = [ModuleTrial(module, error=error, needs_pytorch=pytorch) for module in found.modules]
    done = init_project(root, "demo", [module.table for module in found.modules], {}, found.imported(trials))
    (change,) = (change for change in done.changes if change.path.name == "pyproject.toml")
    return done, change.after.partition("build-backend")[0].splitlines()


def test_nothing_of_cpp_is_required_after_an_import(tmp_path: Path) -> None:
    done, requires = imported(tmp_path)
    text = "\n".join(requires)
    assert "torch" not in text and "ninja" not in text and "pybind11" not in text
    assert "# the back end" in text and '"cuda-wheel[cu12]"' in text
    assert "without torch>=2.4 in build-system.requires: nothing compiles C++ any more" in done.reasons
    assert (
        "cuda-wheel[cu12]: sm_70 is asked for, and CUDA 13 compiles for sm_75 and later" in done.reasons
    )  # whichever is installed
    assert "setup.py:1: remove: import torch" in done.advice
    assert any(line.startswith("setup.py:3: remove: from torch.utils.cpp_extension") for line in done.advice)


@pytest.mark.parametrize(
    ("setup", "error", "reason"),
    [
        (SETUP, "it does not compile", "1 of the modules do not compile, so that their extension stays"),
        (
            SETUP.replace("# another", 'CppExtension("demo._cpu", ["csrc/cpu.cpp"]),'),
            "",
            "setup.py:9 still compiles an extension (CppExtension)",
        ),
    ],
)
def test_what_cpp_needs_stays_while_something_is_compiled(setup: str, error: str, reason: str, tmp_path: Path) -> None:
    done, requires = imported(tmp_path, setup, error)
    assert "torch>=2.4" in "\n".join(requires) and "ninja" in "\n".join(requires)
    assert f"build-system.requires: torch>=2.4, ninja, pybind11: {reason}" in done.kept
    assert not any("remove: import torch" in line for line in done.advice)


@pytest.mark.parametrize("pytorch", [False, True])
def test_a_setup_script_without_requirements_no_longer_imports_pytorch(pytorch: bool, tmp_path: Path) -> None:
    done, requires = imported(tmp_path, pyproject="", pytorch=pytorch)
    listed = [line for line in done.advice if ": remove: " in line]
    assert bool(listed) == ('"torch"' not in "\n".join(requires)) == (not pytorch)
    assert pytorch or (listed[0] == "setup.py:1: remove: import torch" and "torch.utils.cpp_extension" in listed[1])
    done, _ = imported(tmp_path / "failing", error="it does not compile", pyproject="")
    assert not any(": remove: " in line for line in done.advice)


def test_pytorch_stays_where_its_device_headers_are_read(tmp_path: Path) -> None:
    done, requires = imported(tmp_path, pytorch=True)
    text = "\n".join(requires)
    assert "torch>=2.4" in text and "ninja" not in text and "pybind11" not in text
    assert any(line.startswith("build-system.requires: torch>=2.4: headers with device code") for line in done.kept)


def test_pytorch_is_required_where_its_device_headers_are_read(tmp_path: Path) -> None:
    root = write_files(
        tmp_path, **{"demo/__init__.py": "", "demo/k.cu": KERNEL, "setup.py": "from setuptools import setup\n"}
    )
    done = init_project(root, "demo", [], {}, ImportedBuild(pytorch=("demo.k",)))
    assert '"torch"' in done.changes[0].after
    assert "torch in build-system.requires, for its device headers: demo.k" in done.reasons


@pytest.mark.parametrize(
    ("requires", "added"),
    [
        ('["cuda-wheel[cu12]"]', ["cuda-wheel[cu12]", "cupy-cuda12x"]),
        ('["cuda-wheel[cu13]>=1"]', ["cuda-wheel[cu13]>=1", "cupy-cuda13x"]),
        ('["cuda-wheel", "cupy-cuda12x<15"]', ["cuda-wheel", "cupy-cuda12x<15"]),
        ('["cuda-wheel"]', ["cuda-wheel", f"cupy-cuda{toolchain_extra()[2:]}x"]),
    ],
)
def test_cupy_is_required_where_its_device_headers_are_read(requires: str, added: list[str], tmp_path: Path) -> None:
    pyproject = (
        f'[build-system]\nrequires = {requires}\nbuild-backend = "setuptools.build_meta"\n[project]\nname = "demo"\n'
    )
    root = write_files(tmp_path, **{"demo/__init__.py": "", "demo/k.cu": KERNEL, "pyproject.toml": pyproject})
    done = init_project(root, "demo", [], {}, ImportedBuild(cupy=("demo.k",)))
    (written,) = (change.after for change in done.changes if change.path.name == "pyproject.toml")
    assert tomllib.loads(written)["build-system"]["requires"] == added
    told = any("for its device headers" in reason for reason in done.reasons)
    assert told == (added[-1] not in requires)


@pytest.mark.parametrize(
    ("requirement", "is_told"),
    [("cuda-wheel", True), ("cuda-wheel>=0.1", True), ("cuda-wheel[tools]", False), ("cuda_wheel[cu12]>=0.1", False)],
)
def test_a_requirement_of_the_loader_alone_is_told(requirement: str, is_told: bool, tmp_path: Path) -> None:
    pyproject = (
        f'[build-system]\nrequires = ["hatchling", "{requirement}"]\nbuild-backend = "hatchling.build"\n'
        '[project]\nname = "demo"\nversion = "1"\n'
    )
    root = write_files(tmp_path, **{"demo/__init__.py": "", "demo/k.cu": KERNEL, "pyproject.toml": pyproject})
    done = init_project(root)
    assert f"build-system.requires: {requirement}" in done.kept
    told = f'name an extra in build-system.requires, such as "cuda-wheel[{toolchain_extra()}]": "{requirement}" brings'
    assert any(each.startswith(told) for each in done.advice) == is_told


CLASSIFIER = "Environment :: GPU :: NVIDIA CUDA :: {}"


@pytest.mark.parametrize(
    ("content", "given", "extra", "reason"),
    [
        ({}, ImportedBuild(architectures=("70-real", "80")), "cu12", "sm_70"),
        ({"tool": {"cuda-wheel": {"architectures": ["6.1+PTX"]}}}, ImportedBuild(), "cu12", "sm_61"),
        ({"tool": {"cuda-wheel": {"module": [{"architectures": "sm_110"}]}}}, ImportedBuild(), "cu13", "sm_110"),
        ({}, ImportedBuild(standards=("c++20", "c++23")), "cu13", 'std = "c++23"'),
        ({"project": {"classifiers": [CLASSIFIER.format("12 :: 12.4"), CLASSIFIER.format(13)]}}, ImportedBuild(), "cu12", "drivers"),
        ({}, ImportedBuild(architectures=("75", "90a-real", "120")), toolchain_extra(), "compiled these modules here"),
        ({}, ImportedBuild(architectures=("70",), standards=("c++23",)), toolchain_extra(), "no extra fits all"),
    ],
)  # fmt: skip
def test_the_extra_fits_what_the_project_asks_for(
    content: dict[str, Any], given: ImportedBuild, extra: str, reason: str
) -> None:
    found = chosen_extra(content, given)
    assert found.name == extra and reason in found.reason
