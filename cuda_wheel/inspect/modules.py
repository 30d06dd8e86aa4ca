"""Find the modules in a wheel, a folder, a fatbin or an installed package."""

from __future__ import annotations

import importlib.util
import os
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from cuda_wheel.inspect.archive import opened, unpacked
from cuda_wheel.runtime.errors import ImageError
from cuda_wheel.runtime.manifest import LARGEST, MANIFEST_SUFFIX, Manifest

__all__ = [
    "Found",
    "find_modules",
]


@dataclass(frozen=True)
class Found:
    """A module's manifest, the place it was found in, and a way to read a file beside it."""

    manifest: Manifest
    where: str
    read: Callable[[str], bytes]
    """Returns a file's content by its name; raises OSError where there is none."""
    packed: Callable[[str], int | None] = lambda file: None
    """Returns the bytes that it takes in the archive that it is in, if it is in one."""


def find_modules(path: str) -> list[Found]:
    """Return the modules at `path`, by name: a wheel's, a folder's, a fatbin's or an installed package's.

    Raises ImageError where there is nothing of that name, or nothing in it.
    """
    found = sorted(_found(path), key=lambda module: module.manifest.name)
    if not found:
        raise ImageError(
            f"{path} holds no module: no file in it ends in {MANIFEST_SUFFIX}. (An editable install has none.)"
        )
    return found


def _found(path: str) -> list[Found]:
    place = Path(path)
    if place.is_dir():
        return _in_folder(place)
    if place.is_file():
        if zipfile.is_zipfile(place):
            return _in_archive(place)
        manifest = place if place.name.endswith(MANIFEST_SUFFIX) else place.with_name(place.name + ".json")
        if manifest.name.endswith(MANIFEST_SUFFIX) and manifest.is_file():
            return [_read(manifest)]
        raise ImageError(f"{path} is neither a wheel nor a fatbin with its manifest ({manifest.name}) beside it.")
    if os.sep in path or not all(part.isidentifier() for part in path.split(".")):
        raise ImageError(f"there is no file or folder {path}.")
    return [module for folder in _package_folders(path) for module in _in_package(folder)]


def _package_folders(name: str) -> list[Path]:
    try:
        spec = importlib.util.find_spec(name)
    except Exception as error:  # whatever the package's parents raise when they are imported
        raise ImageError(f"there is no file or folder {name}, and no such package can be imported: {error}.") from error
    if spec is None or spec.submodule_search_locations is None:
        raise ImageError(f"there is no file or folder {name}, and no package of that name is installed.")
    return [Path(folder) for folder in spec.submodule_search_locations]


def _in_package(folder: Path) -> list[Found]:
    archive = next((parent for parent in folder.parents if parent.is_file()), None)
    if archive is None:
        return _in_folder(folder)
    return _in_archive(archive, f"{folder.relative_to(archive).as_posix()}/")


def _in_folder(folder: Path) -> list[Found]:
    return [_read(path) for path in folder.rglob("*" + MANIFEST_SUFFIX)]


def _read(path: Path) -> Found:
    try:
        with path.open("rb") as file:
            text = file.read(min(os.fstat(file.fileno()).st_size, LARGEST) + 1)
    except OSError as error:
        raise ImageError(f"{path} cannot be read: {error.strerror or error}.") from error
    return Found(Manifest.from_json(text, str(path)), str(path), lambda file: path.with_name(file).read_bytes())


def _in_archive(path: Path, below: str = "") -> list[Found]:
    archive = opened(path)
    members = {info.filename: info for info in archive.infolist()}

    def member(name: str) -> zipfile.ZipInfo:
        if name not in members:
            raise FileNotFoundError(f"{name} is not in {path}")
        return members[name]

    def found(name: str) -> Found:
        folder, where = name[: name.rfind("/") + 1], f"{path}: {name if name.isprintable() else ascii(name)}"
        manifest = Manifest.from_json(unpacked(archive, name, LARGEST + 1), where)
        return Found(
            manifest,
            where,
            lambda file: unpacked(archive, member(folder + file).filename),
            lambda file: member(folder + file).compress_size,
        )

    return [found(name) for name in members if name.startswith(below) and name.endswith(MANIFEST_SUFFIX)]
