"""Remember the toolchain that an environment has: finding it takes a worker process, and longer than all else that a
build does where nothing has to be compiled.

Packages tell by their names and versions what is in them, wherever they are installed: an isolated build has them in a
new place each time.
"""

from __future__ import annotations

import json
import os
from dataclasses import asdict, fields
from typing import Any

from cuda_wheel.builder.toolchain.packages import cuda_folders, is_cuda_package
from cuda_wheel.builder.toolchain.records import Toolchain
from cuda_wheel.runtime.cache import Cache

__all__ = [
    "environment",
    "keep",
    "recall",
]


FORMAT = "toolchain 1"
"""Part of every key: entries of another layout are other entries."""


_VARIABLES = ("CUDA_HOME", "CUDA_PATH", "CONDA_PREFIX", "LD_LIBRARY_PATH")
"""What cuda.pathfinder asks where no package has a library."""


def environment() -> str:
    """Return what tells one set of installed compilers from another: the CUDA packages with their versions, and where
    to look for what is no package."""
    packages = [sorted(filter(is_cuda_package, os.listdir(folder))) for folder in cuda_folders()]
    return repr((packages, [os.environ.get(name) for name in _VARIABLES]))


def recall(cache: Cache, environment: str) -> Toolchain | None:
    """Return the toolchain that was found in the same environment, there or elsewhere, if all of it is here."""
    return cache.read(_key(environment), _understood)


def _understood(entry: bytes) -> Toolchain | None:
    record = json.loads(entry)
    folders = cuda_folders()
    places = {name: tuple(_path(place, folders) for place in record[name]) for name in ("libraries", "include_dirs")}
    looks = [_look(path, place) for path, place in zip(places["libraries"], record["libraries"], strict=True)]
    if looks != record["looks"] or not all(map(os.path.isdir, places["include_dirs"])):
        return None
    known: dict[str, Any] = {**record["rest"], **places, "supported": tuple(record["rest"]["supported"])}
    return Toolchain(**known)


def keep(cache: Cache, environment: str, toolchain: Toolchain) -> None:
    """Remember the toolchain of this environment."""
    folders = cuda_folders()
    libraries, include_dirs = (
        [_place(path, folders) for path in paths] for paths in (toolchain.libraries, toolchain.include_dirs)
    )
    rest = {name: value for name, value in asdict(toolchain).items() if name not in ("libraries", "include_dirs")}
    looks = [_look(path, place) for path, place in zip(toolchain.libraries, libraries, strict=True)]
    record = {"libraries": libraries, "include_dirs": include_dirs, "looks": looks, "rest": rest}
    cache.put(_key(environment), json.dumps(record).encode())


def _key(environment: str) -> str:
    return Cache.key(FORMAT, repr([item.name for item in fields(Toolchain)]), environment)


Place = list[Any]
"""A path: the number of the folder that it is in and its path there, or None and the whole path."""


def _place(path: str, folders: list[str]) -> Place:
    for number, folder in enumerate(folders):
        if path.startswith(folder + os.sep):
            return [number, os.path.relpath(path, folder)]
    return [None, path]


def _path(place: Place, folders: list[str]) -> str:
    number, path = place
    if number is None:
        return str(path)
    return os.path.join(folders[number], path) if number < len(folders) else ""


def _look(path: str, place: Place) -> list[int] | None:
    """Return what tells a library from another in its place: of a package its size, else also when it was changed."""
    try:
        status = os.stat(path)
    except OSError:
        return None
    return [status.st_size] + ([status.st_mtime_ns] if place[0] is None else [])
