"""Find the modules in a wheel, a folder, a fatbin or an installed package; check and describe what they hold."""

from __future__ import annotations

import importlib.util
import os
import re
import zipfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from cuda_wheel import elf, ptx
from cuda_wheel.build.mangled import signature
from cuda_wheel.errors import ImageError
from cuda_wheel.manifest import LARGEST, MANIFEST_SUFFIX, Image, KernelInfo, Manifest, Parameter, Target, dotted
from cuda_wheel.pieces import whole_fatbin

__all__ = ["Found", "described", "differences", "find_modules", "offered", "opened", "unpacked", "unreadable"]


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


def opened(path: Path) -> zipfile.ZipFile:
    """Return a wheel as an archive. Raises ImageError for one that is damaged, or made to do harm when it is
    unpacked."""
    try:
        archive = zipfile.ZipFile(path)
        members = archive.infolist()
    except Exception as error:  # zipfile lets through whatever its parts raise of a damaged archive
        raise unreadable(path, error) from error
    names = [info.filename for info in members]
    for name in names:
        if name.startswith(("/", "\\")) or name[1:2] == ":" or ".." in name.replace("\\", "/").split("/"):
            raise ImageError(f"{path} is no wheel: {name!r} in it would be outside the folder that it is unpacked to.")
    folded = Counter(map(str.casefold, names))  # where case does not count, one would replace the other
    if len(folded) < len(names):
        twice = next(name for name in names if folded[name.casefold()] > 1)
        raise ImageError(f"{path} is no wheel: it has {twice!r} twice.")
    size = sum(info.file_size for info in members)
    if size > max(BOMB_SIZE, BOMB_RATIO * path.stat().st_size):
        raise ImageError(f"{path} would unpack to {size} bytes, which is more than a wheel of its size can hold.")
    return archive


BOMB_SIZE, BOMB_RATIO = 1 << 30, 100
"""A wheel that unpacks to more bytes than this, and to more than so many times its own size, is none. (Machine code
deflates to a tenth.)"""


def unpacked(archive: zipfile.ZipFile, name: str, size: int = -1) -> bytes:
    """Return the content of a file in a wheel, or its first `size` bytes; raises ImageError where it is damaged."""
    try:
        with archive.open(name) as file:
            return file.read(size)
    except Exception as error:  # as in `opened`; also for what is encrypted
        raise unreadable(Path(archive.filename or ""), error) from error


def unreadable(path: Path, error: Exception) -> ImageError:
    """Return the error of a wheel that zipfile fails to read."""
    return ImageError(f"{path} cannot be read as a wheel: {error or type(error).__name__}.")


def differences(found: Found) -> list[str]:
    """Return what of a module is not as its manifest says, one line each; nothing where all is well.

    Hashes show what was changed since the manifest was written; what an image says of its target, kernels and their
    parameters shows what was exchanged, though the manifest has its hash.
    """
    manifest = found.manifest
    try:
        fatbin = found.read(manifest.fatbin)
    except OSError as error:
        return [f"{manifest.fatbin} cannot be read: {error}"]
    wrong = []
    if re.split(r"[/\\]", found.where)[-1] != manifest.name.rpartition(".")[2] + MANIFEST_SUFFIX:
        wrong.append(f"the manifest in {found.where} is another module's")
    if len(fatbin) != manifest.fatbin_size:
        wrong.append(f"{manifest.fatbin} has {len(fatbin)} bytes, not {manifest.fatbin_size}")
    for image in manifest.images:
        if image.offset is None:  # compressed: only the whole can be checked
            wrong += [] if whole_fatbin(fatbin) else [f"{manifest.fatbin} is no whole fatbin"]
            break
        content = fatbin[image.offset : image.offset + image.size]
        if sha256(content).hexdigest() != image.sha256:
            wrong.append(f"{image} is not what the manifest says")
        elif image.kind != "ltoir":
            wrong += _contradictions(image, content, manifest)
    if not wrong and sha256(fatbin).hexdigest() != manifest.fatbin_sha256:
        wrong.append(f"{manifest.fatbin} differs between its images")
    return wrong


def _contradictions(image: Image, content: bytes, manifest: Manifest) -> Iterator[str]:
    """Yield what machine code or PTX says of itself and the manifest says otherwise."""
    kernels: Mapping[str, tuple[Parameter, ...]]
    variables: Mapping[str, tuple[str, int]]
    try:
        if image.kind == "cubin":
            cubin = elf.read_cubin(content)
            target, fits = f"sm_{cubin.arch}", divmod(cubin.arch, 10) == image.target.capability
            kernels = {symbol: entry.parameters for symbol, entry in cubin.kernels.items()}
            variables = cubin.variables
        else:
            text = ptx.plain(content.decode())
            own, version = Target.parse(f"compute_{ptx.target(text)}"), ptx.version(text)
            # Somebody's own PTX may be for less than the image that is made of it.
            fits = own == image.target if own.suffix else own.capability <= image.target.capability
            target, kernels, variables = str(own), ptx.kernels(text), ptx.variables(text)
            if version != image.ptx_version:
                yield f"{image} is PTX {dotted(version)}"
    except ValueError as error:
        yield f"{image} is damaged: {error}"
        return
    if not fits:
        yield f"{image} is for {target}"
    for variable in manifest.globals:
        _, size = variables.get(variable.symbol, ("", variable.size))
        if size != variable.size:
            yield f"{image} has {size} bytes of {variable.symbol}"
    if image.source is not None:  # one source's part of the kernels
        return
    for kernel in manifest.kernels:
        if str(image.target) in kernel.absent:
            continue
        if kernel.symbol not in kernels:
            yield f"{image} has no kernel {kernel.symbol}"
        elif _places(kernels[kernel.symbol]) != _places(kernel.parameters):
            yield f"{image} has other parameters for {kernel.symbol}"


def _places(parameters: Iterable[Parameter]) -> list[tuple[int, int]]:
    return [(parameter.offset, parameter.size) for parameter in parameters]


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
        shared |= dict.fromkeys(sorted(ptx.symbols(content).defined))
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
