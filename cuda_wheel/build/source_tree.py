"""Find the source and the settings of a module in the source tree that its package lies in."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from cuda_wheel.build.config import Config, is_concerned, read_config, read_pyproject
from cuda_wheel.build.modules import SourceModule, one_module, source_module

__all__ = ["find_source"]


def find_source(name: str, folders: Sequence[str]) -> tuple[Path, Config, SourceModule] | None:
    """Return the project, its settings and the module.

    The source lies beside the package's files, or where the module's own table or CMake's record says.
    """
    package, _, stem = name.rpartition(".")
    record = f"{stem}.cuda-wheel.json"
    for folder in map(Path, folders):
        root = _project_of(folder)
        # What CMake's function recorded: beside the package, or in the source tree where that is built in place.
        places = [folder / record] + ([root / "cuda-wheel" / package.replace(".", "/") / record] if root else [])
        recorded = next((place for place in places if place.is_file()), None)
        if recorded is not None:
            request = json.loads(recorded.read_text(encoding="utf-8"))
            place = Path(request["root"])
            return place, *one_module(place, request["module"], os.environ)
        if root is None:
            continue
        config = read_config(root, os.environ)
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


def _project_of(folder: Path) -> Path | None:
    """Return the project whose source tree `folder` is in, if it is built with cuda-wheel.

    What is installed for good is in nobody's, even where that lies within a project's folder.
    """
    place = Path(os.path.realpath(folder))
    if {"site-packages", "dist-packages"} & set(place.parts):
        return None
    root = next((parent for parent in (place, *place.parents) if (parent / "pyproject.toml").is_file()), None)
    return root if root is not None and is_concerned(read_pyproject(root)) else None
