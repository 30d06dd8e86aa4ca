"""Decide which files of the loader `loader = "vendor"` copies into a wheel: the core, and parts.

The core is what lies in the folder `runtime` itself. A part is the file or folder of its name in `runtime/parts`. It
comes if a module of the wheel needs it or `loader-parts` names it, with what it imports from there.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

import cuda_wheel
from cuda_wheel.runtime.arrays import argument_type
from cuda_wheel.runtime.manifest import Manifest

__all__ = ["copied_files", "parts_for"]

RUNTIME = Path(cuda_wheel.__file__).parent / "runtime"


def parts_for(manifests: Iterable[Manifest]) -> set[str]:
    """Return the parts of the loader that a module needs, which is given by the manifests of its variants."""
    parts = set()
    for manifest in manifests:
        if manifest.variant:
            parts.add("variants")
        if manifest.globals:
            parts.add("variables")
        if manifest.relocatable:
            parts.add("linking")
        if any("<" in info.name for info in manifest.kernels) or any("<" in info.name for info in manifest.globals):
            parts.add("instance-names")
        for kernel in manifest.kernels:
            for parameter in kernel.parameters:
                if argument_type(parameter) == "Struct":
                    parts.add("structs")
                if parameter.cpp in ("CUtensorMap", "CUtensorMap_st"):
                    parts.add("tensor-maps")
    return parts


def copied_files(parts: Iterable[str]) -> dict[str, bytes]:
    """Return the content of the loader's copy with these parts, by path in there: the same bytes, with the version
    added to its `__init__.py`."""
    names = {path.name for path in RUNTIME.glob("*.py")}
    waiting = [path for part in parts for path in _files_of(part.replace("-", "_"))]
    while waiting:
        name = waiting.pop()
        if name not in names:
            names.add(name)
            waiting += _imported(name)
    files = {name: (RUNTIME / name).read_bytes() for name in sorted(names)}
    files["__init__.py"] += f'__version__ = "{cuda_wheel.__version__}"\n'.encode()
    files["__init__.py"] += f'VENDORED_FROM = "cuda-wheel {cuda_wheel.__version__}"\n'.encode()
    return files


def _files_of(part: str) -> list[str]:
    """Return the paths in `runtime` of the files of a part, or of another module of `parts`, by its name there."""
    folder = RUNTIME / "parts" / part
    found = sorted(folder.glob("*.py")) if folder.is_dir() else [folder.with_suffix(".py")]
    return ["parts/__init__.py", *(path.relative_to(RUNTIME).as_posix() for path in found)]


@cache
def _imported(name: str) -> list[str]:
    """Return the paths of the files in `parts` that a file there imports when it is imported, with their packages."""
    path = RUNTIME / name
    found = []
    for node in ast.parse(path.read_bytes()).body:
        if isinstance(node, ast.ImportFrom) and node.level:
            folder = path.parents[node.level - 1]
            module = folder.joinpath(*(node.module or "").split("."))
            for candidate in (module, *(module / alias.name for alias in node.names)):
                file = candidate.with_suffix(".py")
                if file.is_file() and file.is_relative_to(RUNTIME / "parts"):
                    found += [file, *_packages(file)]
    return [each.relative_to(RUNTIME).as_posix() for each in found]


def _packages(file: Path) -> Iterator[Path]:
    """Yield the `__init__.py` of each package in `parts` that a file lies in."""
    for folder in file.parents:
        if folder == RUNTIME:
            return
        yield folder / "__init__.py"
