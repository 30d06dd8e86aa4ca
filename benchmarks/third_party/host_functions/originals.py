"""Build the original of a listed extension with nvcc, g++ and PyTorch's headers: `python originals.py FOLDER NAME`.

The sources are those of FOLDER/ported/NAME/project, unedited; the extension goes to FOLDER/extensions/NAME. It is built
for sm_90 alone, as its own build does otherwise: same sources, include folders and options. Only a C++ standard of
before C++17 is raised, which PyTorch's headers need. It needs PyTorch for CUDA, nvcc, Ninja and a host compiler.
"""

from __future__ import annotations

import os
import re
import shlex
import sys
from importlib import util
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parents[1]))
sys.path.insert(0, str(Path(__file__).parents[2]))
sys.path.insert(0, str(Path(__file__).parents[3]))  # run from a checkout, without installing it

from population import LISTED, SECOND, Package, cxx_options, project_of, python_name
from ports.extensions import find_toolkit

__all__ = ["built", "load"]


def built(package: Package, folder: Path) -> Path:
    """Return the path of the file that exists once an extension is built."""
    return folder / "extensions" / python_name(package) / "built"


def load(package: Package, folder: Path) -> Any:
    """Return the extension module, or None if it only registers operators; the first call builds it.

    What is built may come from another machine, with the same PyTorch.
    """
    mark = built(package, folder)
    project = project_of(package, folder)
    sources = [project / path for path in (*package.cpp, *package.files)]
    texts = [path.read_text("utf-8", errors="replace") for path in sources]
    named = [each for text in texts for each in re.findall(r"^\s*PYBIND11_MODULE\s*\(\s*(\w+)", text, re.MULTILINE)]
    is_python_module = bool(named)
    name = named[0] if named and named[0] != "TORCH_EXTENSION_NAME" else python_name(package)
    if mark.exists():
        return _loaded(name, mark.with_name(f"{name}.so"), is_python_module)
    os.environ["TORCH_CUDA_ARCH_LIST"] = "9.0"
    find_toolkit()
    from torch.utils import cpp_extension  # looks for the toolkit when it is imported

    mark.parent.mkdir(parents=True, exist_ok=True)
    mark.with_name("lock").unlink(missing_ok=True)  # of a build that was stopped: PyTorch would wait for it
    module = cpp_extension.load(
        name,
        [str(path) for path in sources],
        extra_include_paths=[str(project / include) for include in package.include],
        extra_cflags=[*map(shlex.quote, cxx_options(package))],  # PyTorch passes them to a shell
        extra_cuda_cflags=[*map(shlex.quote, package.nvcc_options)],
        build_directory=str(mark.parent),
        is_python_module=is_python_module,
        verbose=True,
    )
    mark.touch()
    return module if is_python_module else None


def _loaded(name: str, library: Path, is_python_module: bool) -> Any:
    import torch

    if not is_python_module:
        torch.ops.load_library(library)
        return None
    found = util.spec_from_file_location(name, library)
    assert found is not None and found.loader is not None
    module = util.module_from_spec(found)
    found.loader.exec_module(module)
    return module


if __name__ == "__main__":
    (named,) = [package for package in (*LISTED, *SECOND) if sys.argv[2] in (package.name, python_name(package))]
    load(named, Path(sys.argv[1]).resolve())
