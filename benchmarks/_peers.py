"""The compilers and build tools to compare with: find them, and build the kernels with them."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from _kernels import DEFINES, SOURCES, TARGETS, make_project
from _process import Cost, run
from _results import output_of

__all__ = ["Peers", "cmake_project", "ninja_project"]

NVCC = "import nvidia; print(*(path + '/cu13/bin/nvcc' for path in nvidia.__path__), sep='\\n')"
NAMES = ("ninja", "cmake", "scikit-build-core")
VERSIONS = f"from importlib.metadata import version; print(*map(version, {NAMES}))"
LISTS = """\
cmake_minimum_required(VERSION 3.27)
project(demo LANGUAGES CUDA)
add_library(kernels OBJECT {sources})
target_include_directories(kernels PRIVATE include)
target_compile_definitions(kernels PRIVATE {defines})
set_target_properties(kernels PROPERTIES CUDA_FATBIN_COMPILATION ON CUDA_STANDARD 17)
install(FILES $<TARGET_OBJECTS:kernels> DESTINATION demo)
"""
PYPROJECT = """\
[build-system]
requires = ["scikit-build-core"]
build-backend = "scikit_build_core.build"

[project]
name = "demo"
version = "1"

[tool.scikit-build]
wheel.platlib = false
"""
SCIKIT_BUILD = "import sys; from scikit_build_core.build import build_wheel; build_wheel(sys.argv[1])"


@dataclass(frozen=True)
class Peers:
    """An environment with ninja, cmake and scikit-build-core, and an nvcc from NVIDIA's packages or another one."""

    python: Path
    nvcc: Path

    @classmethod
    def of(cls, python: Path, nvcc: Path | None) -> Peers:
        """Return the peers in the environment of the interpreter `python`; raises FileNotFoundError if there is no
        nvcc."""
        tried = [nvcc] if nvcc else [Path(line) for line in output_of(str(python), "-c", NVCC).splitlines()]
        for path in tried:
            if path.exists():
                return cls(python.absolute(), path.absolute())
        raise FileNotFoundError("no nvcc: install nvidia-cuda-nvcc and nvidia-nvvm with the peers, or pass --nvcc")

    @property
    def environ(self) -> Mapping[str, str]:
        # CMake's compiler check links libraries that NVIDIA's packages do not install where nvcc looks for them.
        libraries = self.nvcc.parent.parent / "lib"
        return {
            "PATH": os.pathsep.join([str(self.python.parent), os.environ["PATH"]]),
            "LIBRARY_PATH": os.pathsep.join(filter(None, [str(libraries), os.environ.get("LIBRARY_PATH")])),
            "CUDACXX": str(self.nvcc),
        }

    def versions(self) -> dict[str, str]:
        found = dict(zip(NAMES, output_of(str(self.python), "-c", VERSIONS).split(), strict=True))
        release = output_of(str(self.nvcc), "--version").partition(", V")[2].split()[0]
        return {"nvcc": release} | found

    def run_ninja(self, folder: Path, jobs: int) -> Cost:
        """Build a `ninja_project` from scratch."""
        run([self.python.parent / "ninja", "-t", "clean"], folder)
        return run([self.python.parent / "ninja", f"-j{jobs}"], folder, **self.environ)

    def run_cmake(self, folder: Path, output: Path) -> Cost:
        """Build the wheel of a `cmake_project` in a new folder."""
        environ = {**self.environ, "CUDAARCHS": TARGETS, "CMAKE_GENERATOR": "Ninja"}
        return run([self.python, "-c", SCIKIT_BUILD, output], folder, **environ)


def ninja_project(folder: Path, nvcc: Path, threads: int, *options: str) -> Path:
    """Create a Ninja project that compiles each file of `make_project` to a fatbin with nvcc, and return its folder."""
    make_project(folder)
    targets = []
    for entry in TARGETS.split(";"):
        number = entry.removesuffix("-real")
        targets.append(f"-gencode arch=compute_{number},code=sm_{number}")
        if number == entry:
            targets.append(f"-gencode arch=compute_{number},code=compute_{number}")
    defines = [f"-D{name}={value}" for name, value in DEFINES.items()]
    flags = " ".join(["-std=c++17", "-Iinclude", *defines, *targets, f"--threads {threads}", *options])
    lines = [f"rule fatbin\n  command = {nvcc} -fatbin {flags} -o $out $in"]
    lines += [f"build {name}.fatbin: fatbin demo/{name}.cu" for name in SOURCES]
    (folder / "build.ninja").write_text("\n".join(lines) + "\n")
    return folder


def cmake_project(folder: Path) -> Path:
    """Create a scikit-build-core project in which CMake compiles each file to a fatbin, and return its folder."""
    make_project(folder)
    sources = " ".join(f"demo/{name}.cu" for name in SOURCES)
    defines = " ".join(f"{name}={value}" for name, value in DEFINES.items())
    (folder / "CMakeLists.txt").write_text(LISTS.format(sources=sources, defines=defines))
    (folder / "pyproject.toml").write_text(PYPROJECT)
    return folder
