"""Find the modules in a wheel, a folder, a fatbin or an installed package; check and describe what they hold."""

from __future__ import annotations

import importlib.util
import os
import zipfile
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from cuda_wheel.build.mangled import signature
from cuda_wheel.errors import ImageError
from cuda_wheel.manifest import MANIFEST_SUFFIX, Image, KernelInfo, Manifest, Parameter
from cuda_wheel.ptx import symbols

__all__ = ["Found", "described", "differences", "find_modules", "offered"]


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
        text = path.read_bytes()
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

    def content(name: str) -> bytes:
        info = member(name)
        try:
            return archive.read(info)
        except UNREADABLE as error:
            raise unreadable(path, error) from error

    def found(name: str) -> Found:
        folder, where = name[: name.rfind("/") + 1], f"{path}: {name}"
        manifest = Manifest.from_json(content(name), where)
        return Found(
            manifest, where, lambda file: content(folder + file), lambda file: member(folder + file).compress_size
        )

    return [found(name) for name in members if name.startswith(below) and name.endswith(MANIFEST_SUFFIX)]


UNREADABLE = (OSError, zipfile.BadZipFile, zlib.error, EOFError, ValueError, NotImplementedError, RuntimeError)
"""What zipfile raises where an archive is damaged, encrypted or of a kind that it does not know."""


def opened(path: Path) -> zipfile.ZipFile:
    try:
        return zipfile.ZipFile(path)
    except UNREADABLE as error:
        raise unreadable(path, error) from error


def unreadable(path: Path, error: Exception) -> ImageError:
    return ImageError(f"{path} cannot be read as a wheel: {error}.")


def differences(found: Found) -> list[str]:
    """Return what of a module is not as its manifest says, one line each; nothing where all is well."""
    manifest = found.manifest
    try:
        fatbin = found.read(manifest.fatbin)
    except OSError as error:
        return [f"{manifest.fatbin} cannot be read: {error}"]
    wrong = []
    if not found.where.endswith(manifest.name.rpartition(".")[2] + MANIFEST_SUFFIX):
        wrong.append(f"the manifest in {found.where} is another module's")
    if len(fatbin) != manifest.fatbin_size:
        wrong.append(f"{manifest.fatbin} has {len(fatbin)} bytes, not {manifest.fatbin_size}")
    wrong += [f"{image} is not what the manifest says" for image in manifest.images if not _matches(image, fatbin)]
    if not wrong and sha256(fatbin).hexdigest() != manifest.fatbin_sha256:
        wrong.append(f"{manifest.fatbin} differs between its images")
    return wrong


def _matches(image: Image, fatbin: bytes) -> bool:
    if image.offset is None:  # compressed: only the whole can be checked
        return True
    return sha256(fatbin[image.offset : image.offset + image.size]).hexdigest() == image.sha256


def described(manifest: Manifest) -> list[str]:
    """Return the kernels and variables of a module, one line each: "k(const float*, int): at most 256 threads"."""
    lines = []
    for kernel in manifest.kernels:
        facts = [_bounds(kernel, manifest)] + ([f"not in {', '.join(kernel.absent)}"] if kernel.absent else [])
        told = "; ".join(filter(None, facts))
        lines.append(f"{kernel.name}({', '.join(map(_type, kernel.parameters))})" + (f": {told}" if told else ""))
    lines += [f"{each.name}: {each.space} variable, {each.size} bytes" for each in manifest.globals]
    lines += [f"{each.name}: for whoever links it to define, {each.declaration}" for each in manifest.extern]
    return lines


def offered(found: Found) -> list[str]:
    """Return the functions and variables that a module defines for those who link it, one line each: "f(float): for
    others to call". Raises OSError where its fatbin cannot be read."""
    texts = [image for image in found.manifest.relocatable if image.kind == "ptx" and image.offset is not None]
    if not texts:
        return []
    fatbin = found.read(found.manifest.fatbin)
    first = [image for image in texts if image.target == texts[0].target]
    shared: dict[str, None] = {}
    for image in first:
        start = image.offset or 0
        content = fatbin[start : start + image.size].decode(errors="replace")
        shared |= dict.fromkeys(sorted(symbols(content).defined))
    known = {kernel.symbol for kernel in found.manifest.kernels} | {each.symbol for each in found.manifest.globals}
    written = (signature(symbol) for symbol in shared if symbol not in known)
    return [
        f"{name}{'' if types is None else '(' + ', '.join(types) + ')'}: for others to link with"
        for name, types in written
    ]


def _type(parameter: Parameter) -> str:
    """Return a parameter's C++ type; where it is not known, its type in PTX."""
    if parameter.cpp:
        return parameter.cpp
    return f".b8[{parameter.size}]" if parameter.type == "b8" else f".{parameter.type}"


_BOUNDS = {
    "max_threads": "at most {} threads in a block",
    "min_blocks": "at least {} blocks on a multiprocessor",
    "cluster_blocks": "at most {} blocks in a cluster",
}


def _bounds(kernel: KernelInfo, manifest: Manifest) -> str:
    """Return a kernel's launch bounds in words, of all images where they are not the same."""
    told = []
    for key, words in _BOUNDS.items():
        figures = {image.resources.get(kernel.symbol, {}).get(key) for image in manifest.images}
        numbers = " or ".join(str(number) for number in sorted(number for number in figures if number is not None))
        told += [words.format(numbers)] if numbers else []
    return ", ".join(told)
