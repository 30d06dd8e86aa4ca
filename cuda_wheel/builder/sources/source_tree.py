"""Find the source and the settings of a module in the source tree that contains its package."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from cuda_wheel.builder.config.pyproject import CMakeCall, is_concerned, read_config, read_pyproject
from cuda_wheel.builder.config.settings import Config
from cuda_wheel.builder.cxx.kernel_scan import kernel_macro_arguments, kernels_in
from cuda_wheel.builder.sources.layout import WheelFile
from cuda_wheel.builder.sources.modules import SourceModule, is_excluded, one_module, python_modules, source_module
from cuda_wheel.runtime.parts.python_kernels.signatures import module_and_function

__all__ = ["find_source", "kernels_beside", "module_that_may_make"]

_CMAKE_MODULE = ".cuda-wheel.json"
"""Suffix of the JSON file in which cuda-wheel's CMake function records the settings of one module:
"saxpy.cuda-wheel.json"."""

# If pyproject.toml has a target with "a" or "f" that fits the GPU, compiling on load uses it; otherwise, it compiles
# for the GPU's own architecture.
_NO_VARIABLES: dict[str, str] = {}
"""An empty environment. A project's settings are read with it for compiling on load: CUDAARCHS must not replace the
architectures in pyproject.toml."""


def find_source(name: str, folders: Sequence[str]) -> tuple[Path, Config, SourceModule] | None:
    """Return the project's folder, the project's settings and the module, for a dotted module name; None if there is no
    source.

    `folders` are those of the module's package. The source is in one of them, or where the module's own table or the
    CMake function's record says.
    """
    return next(_sources([name], folders))


def _sources(names: Sequence[str], folders: Sequence[str]) -> Iterator[tuple[Path, Config, SourceModule] | None]:
    """Yield (project's folder, project's settings, module) for each dotted module name in `names`, in order. None for a
    name without a source. `folders` are the folders of the package that contains all these modules."""
    folders = _existing(folders, names[0].rpartition(".")[0]) if names else folders
    # The settings of each project are read only once.
    project_of, config_of = cache(_project_of), cache(lambda root: read_config(root, _NO_VARIABLES))
    for name in names:
        yield _source(name, folders, project_of, config_of)


def _source(
    name: str,
    folders: Sequence[str],
    project_of: Callable[[Path], Path | None],
    config_of: Callable[[Path], Config],
) -> tuple[Path, Config, SourceModule] | None:
    """Return (project's folder, project's settings, module) for the module with the dotted name `name`. None if it has
    no source.

    `folders`: folders of the module's package.
    `project_of`: function of a package's folder that returns the folder of its project, or None.
    `config_of`: function of a project's folder that returns the project's settings.
    """
    package, _, stem = name.rpartition(".")
    record = stem + _CMAKE_MODULE
    for folder in map(Path, folders):
        root = project_of(folder)
        # The CMake function writes its record beside the package, or into the source tree for builds in place.
        places = [folder / record] + ([root / "cuda-wheel" / package.replace(".", "/") / record] if root else [])
        recorded = next((place for place in places if place.is_file()), None)
        if recorded is not None:
            request = json.loads(recorded.read_text(encoding="utf-8", errors="surrogateescape"))
            place = Path(request["root"])
            with CMakeCall.of(request).named_in_errors():
                return place, *one_module(place, request["module"], _NO_VARIABLES)
        if root is None:
            continue
        config = config_of(root)
        tables = [(where, table) for where, table in config.python_kernels if table.module == name]
        if tables:
            files = _python_files([table.kernel for _, table in tables], package, folder)
            (found,) = python_modules(tables, config.architectures, root, files)
            return root, config, found
        own = next((module for module in config.module if module.name == name), None)
        beside = folder / f"{stem}.cu"
        settings = own or config.for_module(name)
        if not settings.sources:
            if not beside.is_file():
                continue
            # In setuptools' strict editable mode, the file beside the package is a link.
            source = os.path.relpath(os.path.realpath(beside), root).replace(os.sep, "/")
            if own is None and is_excluded(config, root, source):
                continue
            settings = replace(settings, sources=(source,))
        return root, config, source_module(root, settings)
    return None


def _python_files(kernels: Sequence[str], package: str, folder: Path) -> list[WheelFile]:
    """Return the Python modules of kernels in Python, at their paths in the wheel. `kernels`: "MODULE:FUNCTION".
    `folder` is that of the package with the dotted name `package`, from which the folder of all packages follows."""
    top = folder.parents[package.count(".")]
    stems = {module_and_function(kernel)[0].replace(".", "/") for kernel in kernels}
    paths = [f"{stem}{end}" for stem in sorted(stems) for end in (".py", "/__init__.py")]
    return [WheelFile(Path(os.path.realpath(top / path)), path) for path in paths if (top / path).is_file()]


def kernels_beside(package: str, folders: Sequence[str]) -> dict[str, list[str] | None]:
    """Return module name -> unqualified names of the kernels that a scan of its sources finds, for each module of a
    package in a source tree; None in place of the names for a module with variants.

    Kernels that are templates or that macros define are not found. `folders` are those of the package. Raises
    ConfigError.
    """
    return {
        module.name: None
        if module.settings.variants
        else list(dict.fromkeys(kernel.name for kernel in kernels_in(_text(module)) if not kernel.template))
        for module in _modules_beside(package, folders)
    }


def module_that_may_make(kernel: str, package: str, folders: Sequence[str]) -> str | None:
    """Return the name of the module, of those in a package, in whose source a macro may define the kernel.

    None if there is none, or more than one. Raises ConfigError.
    """
    modules = (module for module in _modules_beside(package, folders) if not module.settings.variants)
    names = [module.name for module in modules if kernel in kernel_macro_arguments(_text(module))]
    return names[0] if len(names) == 1 else None


def _text(module: SourceModule) -> str:
    """Return the texts of a module's CUDA C++ sources, joined by line breaks."""
    return "\n".join(source.text for source in module.sources if source.kind == "cuda")


def _modules_beside(package: str, folders: Sequence[str]) -> Iterator[SourceModule]:
    """Yield the modules of the package with the dotted name `package`, sorted by name. Modules without a source in the
    source tree of a project are left out. `folders` are the package's folders."""
    stems: set[str] = set()
    folders = _existing(folders, package)
    for folder in map(Path, folders):
        root = _project_of(folder)
        if root is None:
            continue
        tables = [module.name.rpartition(".") for module in read_config(root, _NO_VARIABLES).module]
        stems |= {stem for owner, _, stem in tables if owner == package}
        stems |= {path.stem for path in folder.glob("*.cu")}
        stems |= {path.name.removesuffix(_CMAKE_MODULE) for path in folder.glob(f"*{_CMAKE_MODULE}")}
    for found in _sources([f"{package}.{stem}" for stem in sorted(stems)], folders):
        if found is not None:
            yield found[2]


def _existing(folders: Sequence[str], package: str) -> Sequence[str]:
    """Return the folders of a package that exist; if none does, the folder of its `__init__.py`.

    An editable install of meson-python has an importer of its own, and places that are no folders in `__path__`.
    """
    existing = [folder for folder in folders if os.path.isdir(folder)]
    if existing or not folders:
        return existing
    module = sys.modules.get(package)
    origin = getattr(module, "__file__", None)
    if module is None:
        try:
            spec = find_spec(package)
        except (ImportError, ValueError):
            return []
        origin = spec.origin if spec is not None and spec.has_location else None
    folder = os.path.dirname(origin or "")
    return [folder] if os.path.isdir(folder) else []


def _project_of(folder: Path) -> Path | None:
    """Return the folder of the project whose source tree contains `folder`. None if there is no project, or if the
    project is not built with cuda-wheel. None also for a folder in site-packages, even inside a project's folder."""
    place = Path(os.path.realpath(folder))
    if {"site-packages", "dist-packages"} & set(place.parts):
        return None
    root = next((parent for parent in (place, *place.parents) if (parent / "pyproject.toml").is_file()), None)
    return root if root is not None and is_concerned(read_pyproject(root)) else None
