"""Find the modules in a wheel, a folder, a fatbin or an installed package."""

from __future__ import annotations

import importlib.util
import os
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from cuda_wheel.inspect.archive import open_wheel, read_member
from cuda_wheel.runtime.errors import ImageError
from cuda_wheel.runtime.manifest import LARGEST, MANIFEST_SUFFIX, Manifest
from cuda_wheel.runtime.variants.index import all_manifests

__all__ = ["FoundModule", "find_modules"]


@dataclass(frozen=True)
class FoundModule:
    """A module's manifests, their location, and functions that read the files beside it."""

    manifests: tuple[Manifest, ...]
    """One for each variant; one for a module without variants."""
    location: str
    read: Callable[[str], bytes]
    """Returns the content of a file by its name; raises OSError if there is no such file."""
    compressed_size: Callable[[str], int | None] = lambda file: None
    """Returns the size of a file in the archive that holds it, in bytes; None outside an archive."""

    @property
    def name(self) -> str:
        return self.manifests[0].name

    @property
    def fatbin(self) -> str:
        """The name of the file with the fatbin, or with those of all variants."""
        return self.manifests[0].fatbin


def find_modules(path: str) -> list[FoundModule]:
    """Return the modules in a wheel, a folder, a fatbin or an installed package, sorted by name.

    Raises ImageError if `path` does not exist, or contains no module.
    """
    found = sorted(_modules_at(path), key=lambda module: module.name)
    if not found:
        raise ImageError(
            f"{path} contains no module: no file in it ends in {MANIFEST_SUFFIX}. (An editable install has none.)"
        )
    return found


def _modules_at(path: str) -> list[FoundModule]:
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
        raise ImageError(f"{path} does not exist.")
    return [module for folder in _package_folders(path) for module in _in_package(folder)]


def _package_folders(name: str) -> list[Path]:
    try:
        spec = importlib.util.find_spec(name)
    except Exception as error:  # finding a package imports its parents, which may raise anything
        raise ImageError(f"there is no file or folder {name}, and no such package can be imported: {error}.") from error
    if spec is None or spec.submodule_search_locations is None:
        raise ImageError(f"there is no file or folder {name}, and no package of that name is installed.")
    return [Path(folder) for folder in spec.submodule_search_locations]


def _in_package(folder: Path) -> list[FoundModule]:
    archive = next((parent for parent in folder.parents if parent.is_file()), None)
    if archive is None:
        return _in_folder(folder)
    return _in_archive(archive, f"{folder.relative_to(archive).as_posix()}/")


def _in_folder(folder: Path) -> list[FoundModule]:
    return [_read(path) for path in folder.rglob("*" + MANIFEST_SUFFIX)]


def _read(path: Path) -> FoundModule:
    try:
        with path.open("rb") as file:
            text = file.read(min(os.fstat(file.fileno()).st_size, LARGEST) + 1)
    except OSError as error:
        raise ImageError(f"{path} cannot be read: {error.strerror or error}.") from error
    return FoundModule(all_manifests(text, str(path)), str(path), lambda file: path.with_name(file).read_bytes())


def _in_archive(path: Path, below: str = "") -> list[FoundModule]:
    archive = open_wheel(path)
    members = {info.filename: info for info in archive.infolist()}

    def member(name: str) -> zipfile.ZipInfo:
        if name not in members:
            raise FileNotFoundError(f"{name} is not in {path}")
        return members[name]

    def module(name: str) -> FoundModule:
        folder = name[: name.rfind("/") + 1]
        location = f"{path}: {name if name.isprintable() else ascii(name)}"
        return FoundModule(
            all_manifests(read_member(archive, name, LARGEST + 1), location),
            location,
            lambda file: read_member(archive, member(folder + file).filename),
            lambda file: member(folder + file).compress_size,
        )

    return [module(name) for name in members if name.startswith(below) and name.endswith(MANIFEST_SUFFIX)]
