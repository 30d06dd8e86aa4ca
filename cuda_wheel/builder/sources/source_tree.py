"""Find the source and the settings of a module in the source tree that its package lies in."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path

from cuda_wheel.builder.config.pyproject import is_concerned, read_config, read_pyproject
from cuda_wheel.builder.config.settings import Config
from cuda_wheel.builder.cxx.kernels import kernels_in, made_by_macros
from cuda_wheel.builder.sources.modules import SourceModule, one_module, source_module

__all__ = [
    "find_source",
    "kernels_beside",
    "module_that_may_make",
]


_RECORD = ".cuda-wheel.json"
"""How the name of what CMake's function recorded of a module ends."""


def find_source(name: str, folders: Sequence[str]) -> tuple[Path, Config, SourceModule] | None:
    """Return the project, its settings and the module.

    The source lies beside the package's files, or where the module's own table or CMake's record says.
    """
    return next(_sources([name], folders))


def _sources(names: Iterable[str], folders: Sequence[str]) -> Iterator[tuple[Path, Config, SourceModule] | None]:
    """Yield what `find_source` says of each module; a project's settings are read once for all."""
    project_of, config_of = cache(_project_of), cache(lambda root: read_config(root, os.environ))
    for name in names:
        yield _source(name, folders, project_of, config_of)


def _source(
    name: str,
    folders: Sequence[str],
    project_of: Callable[[Path], Path | None],
    config_of: Callable[[Path], Config],
) -> tuple[Path, Config, SourceModule] | None:
    package, _, stem = name.rpartition(".")
    record = stem + _RECORD
    for folder in map(Path, folders):
        root = project_of(folder)
        # What CMake's function recorded: beside the package, or in the source tree where that is built in place.
        places = [folder / record] + ([root / "cuda-wheel" / package.replace(".", "/") / record] if root else [])
        recorded = next((place for place in places if place.is_file()), None)
        if recorded is not None:
            request = json.loads(recorded.read_text(encoding="utf-8", errors="surrogateescape"))
            place = Path(request["root"])
            return place, *one_module(place, request["module"], os.environ)
        if root is None:
            continue
        config = config_of(root)
        own = next((module for module in config.module if module.name == name), None)
        beside = folder / f"{stem}.cu"
        settings = own or config.for_module(name)
        if not settings.sources:
            if not beside.is_file():
                continue
            # A link, in setuptools' strict mode.
            settings = replace(settings, sources=(os.path.relpath(os.path.realpath(beside), root),))
        return root, config, source_module(root, settings)
    return None


def kernels_beside(package: str, folders: Sequence[str]) -> dict[str, list[str]]:
    """Return the modules of a package in a source tree, by name, with the kernels that their sources show unread by a
    compiler: those that no template and no macro makes. Raises ConfigError."""
    return {
        name: list(dict.fromkeys(kernel.name for kernel in kernels_in(text) if not kernel.template))
        for name, text in _modules_beside(package, folders)
    }


def module_that_may_make(kernel: str, package: str, folders: Sequence[str]) -> str | None:
    """Return the name of the package's module in whose source a macro may make a kernel of that name. None where there
    is none, or more than one. Raises ConfigError."""
    names = [name for name, text in _modules_beside(package, folders) if kernel in made_by_macros(text)]
    return names[0] if len(names) == 1 else None


def _modules_beside(package: str, folders: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield name and text of the modules of a package in a source tree."""
    stems: set[str] = set()
    for folder in map(Path, folders):
        root = _project_of(folder)
        if root is None:
            continue
        tables = [module.name.rpartition(".") for module in read_config(root, os.environ).module]
        stems |= {stem for owner, _, stem in tables if owner == package}
        stems |= {path.stem for path in folder.glob("*.cu")}
        stems |= {path.name.removesuffix(_RECORD) for path in folder.glob(f"*{_RECORD}")}
    for found in _sources((f"{package}.{stem}" for stem in sorted(stems)), folders):
        if found is not None:
            module = found[2]
            yield module.name, "\n".join(source.text for source in module.sources if source.kind == "cuda")


def _project_of(folder: Path) -> Path | None:
    """Return the project whose source tree `folder` is in, if it is built with cuda-wheel.

    What is installed for good is in nobody's, even where that lies within a project's folder.
    """
    place = Path(os.path.realpath(folder))
    if {"site-packages", "dist-packages"} & set(place.parts):
        return None
    root = next((parent for parent in (place, *place.parents) if (parent / "pyproject.toml").is_file()), None)
    return root if root is not None and is_concerned(read_pyproject(root)) else None
