"""Remember the toolchain of an environment.

Finding it takes a worker process, and more time than the rest of a build in which nothing is compiled.

The names and versions of packages identify their content, wherever they are installed: an isolated build installs them
in a new folder each time.
"""

from __future__ import annotations

import json
import os
from dataclasses import asdict, fields
from typing import Any

from cuda_wheel.builder.toolchain.packages import (
    TOOLCHAIN_VARIABLE,
    TOOLKIT_VARIABLES,
    cuda_folders,
    how_found,
    is_cuda_package,
)
from cuda_wheel.builder.toolchain.toolchain import Headers, Toolchain
from cuda_wheel.runtime.parts.cuda_libraries import build_id
from cuda_wheel.runtime.parts.user_cache import Cache

__all__ = ["recall_toolchain", "remember_toolchain", "toolchain_environment", "toolchain_identity"]

FORMAT = "toolchain 2"
"""Version of the layout of entries with toolchains. It is part of the key of each such entry."""

_VARIABLES = (*TOOLKIT_VARIABLES, "LD_LIBRARY_PATH", TOOLCHAIN_VARIABLE)
"""Environment variables that decide which toolchain is found. They name places to search for compilers and headers
besides the folders of Python packages, or choose one of several toolchains."""


def toolchain_environment() -> str:
    """Return a string that is different for each set of installed compilers.

    It has the CUDA packages with their versions, and the environment variables that name other places to search.
    """
    packages = [sorted(filter(is_cuda_package, os.listdir(folder))) for folder in cuda_folders()]
    return repr((packages, [os.environ.get(name) for name in _VARIABLES]))


def recall_toolchain(cache: Cache, environment: str) -> Toolchain | None:
    """Return the cached toolchain of an environment, as `toolchain_environment` describes it; None if there is none.

    The toolchain may have been found in another folder with the same packages. It is returned with the paths of this
    environment, if all its files exist there unchanged; else None is returned.
    """
    return cache.read(_key(environment), _parse)


def remember_toolchain(cache: Cache, environment: str, toolchain: Toolchain) -> None:
    """Cache the toolchain of an environment, as `toolchain_environment` describes it."""
    folders = cuda_folders()
    paths = _paths_of(toolchain)
    locations = {name: [_location(path, folders) for path in each] for name, each in paths.items()}
    rest = {name: value for name, value in asdict(toolchain).items() if name not in paths}
    record = {"locations": locations, "looks": _looks(paths, locations), "rest": rest}
    cache.put(_key(environment), json.dumps(record).encode())


def toolchain_identity(toolchain: Toolchain) -> str:
    """Return a string that is different for each toolchain, but does not depend on where its packages are installed."""
    folders, paths = cuda_folders(), _paths_of(toolchain)
    locations = [[_location(path, folders) for path in each] for each in paths.values()]
    releases = [(each.name, each.release) for each in toolchain.headers]
    rest = [value for name, value in vars(toolchain).items() if name not in (*paths, "headers")]
    return repr((locations, releases, rest))


def _parse(entry: bytes) -> Toolchain | None:
    record = json.loads(entry)
    folders = cuda_folders()
    locations = record["locations"]
    paths = {name: tuple(_path(each, folders) for each in locations[name]) for name in locations}
    if _looks(paths, locations) != record["looks"] or not all(map(os.path.isdir, paths["include_dirs"])):
        return None
    headers = zip(record["rest"]["headers"], paths["folders"], paths["sources"], locations["folders"], strict=True)
    known: dict[str, Any] = record["rest"] | {
        "supported": tuple(record["rest"]["supported"]),
        "builds": tuple(record["rest"]["builds"]),
        "libraries": paths["libraries"],
        "include_dirs": paths["include_dirs"],
        "headers": tuple(
            Headers(*each)._replace(folder=folder, source=source, found_via=_way(each[3], location, folders))
            for each, folder, source, location in headers
        ),
    }
    return Toolchain(**known)


def _way(known: str, location: _Location, folders: list[str]) -> str:
    """Return how a toolchain's folder of headers was found, such as "site-packages" or "PYTHONPATH".

    `location`: the `_Location` of the folder of headers. `folders`: the folders of Python packages. `known`: the cached
    answer, which is returned if the folder of headers is in none of `folders`.
    """
    return known if location[0] is None else how_found(folders[location[0]])


def _paths_of(toolchain: Toolchain) -> dict[str, tuple[str, ...]]:
    """Return kind of path -> absolute paths of that kind in a toolchain.

    The kinds are "libraries" (compilers), "include_dirs", "folders" (the folder of each item of `toolchain.headers`)
    and "sources" (the file from which each item's release was read).
    """
    return {
        "libraries": toolchain.libraries,
        "include_dirs": toolchain.include_dirs,
        "folders": tuple(each.folder for each in toolchain.headers),
        "sources": tuple(each.source for each in toolchain.headers),
    }


def _looks(paths: dict[str, tuple[str, ...]], locations: dict[str, list[_Location]]) -> list[list[int] | None]:
    """Return the result of `_state` for each file in `paths["libraries"]`, then for each in `paths["sources"]`.

    `paths`: result of `_paths_of`. `locations`: kind of path -> the `_Location` of each path of that kind.
    """
    pairs = (pair for name in ("libraries", "sources") for pair in zip(paths[name], locations[name], strict=True))
    return [_state(path, location) for path, location in pairs]


def _key(environment: str) -> str:
    return Cache.key(FORMAT, repr([item.name for item in fields(Toolchain)]), environment)


_Location = list[Any]
"""Path as a JSON array: [index in `cuda_folders()`, path relative to that folder] for a path in a folder of Python
packages; [None, absolute path] for any other."""


def _location(path: str, folders: list[str]) -> _Location:
    for number, folder in enumerate(folders):
        if path.startswith(folder + os.sep):
            return [number, os.path.relpath(path, folder)]
    return [None, path]


def _path(location: _Location, folders: list[str]) -> str:
    number, path = location
    if number is None:
        return str(path)
    return os.path.join(folders[number], path) if number < len(folders) else ""


def _state(path: str, location: _Location) -> list[Any] | None:
    """Return [size in bytes, build ID or None] of the file `path`; None if the file cannot be read.

    `location` is the file's `_Location`. If the file is outside the folders of Python packages, the result has a third
    item: the time of the last change in nanoseconds.
    """
    try:
        with open(path, "rb") as file:
            status, build = os.fstat(file.fileno()), build_id(file)
    except OSError:
        return None
    return [status.st_size, build] + ([status.st_mtime_ns] if location[0] is None else [])
