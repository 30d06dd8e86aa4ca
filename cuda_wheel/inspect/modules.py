"""Find the modules in a wheel, a folder, a fatbin or an installed package, and list what they have as text.

The lists are kernels, variables and linkable functions, and the tuned choices beside a module.
"""

from __future__ import annotations

import importlib.util
import os
import zipfile
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from cuda_wheel.builder.cxx.demangling import signature
from cuda_wheel.builder.manifest_reader import all_manifests, split_of
from cuda_wheel.builder.report.quantities import count_text
from cuda_wheel.builder.wheel.tuned_tables import check_rows
from cuda_wheel.inspect.archive import open_wheel, read_member
from cuda_wheel.runtime.errors import CudaWheelError, ImageError
from cuda_wheel.runtime.manifest import LARGEST, MANIFEST_SUFFIX, TABLE_SUFFIX, KernelInfo, Manifest, Parameter
from cuda_wheel.runtime.parts.companions import Split
from cuda_wheel.runtime.parts.formats import ptx
from cuda_wheel.runtime.parts.suggestions import not_compiled
from cuda_wheel.runtime.parts.tuned_rows import Row, parse_table

__all__ = [
    "FoundModule",
    "exported_lines",
    "find_modules",
    "installed_companions",
    "symbol_lines",
    "tuned_differences",
    "tuned_lines",
]


@dataclass(frozen=True)
class FoundModule:
    """A module's manifests, their location, and functions that read the files in the manifest's folder."""

    manifests: tuple[Manifest, ...]
    """Manifests of the module, one for each variant. A module without variants has one manifest."""
    location: str
    """Path of the manifest's file, for messages. A manifest in an archive has the path of the archive in front:
    "demo.whl: demo/scale.fatbin.json"."""
    read: Callable[[str], bytes]
    """Takes the name of a file in the manifest's folder and returns the file's content. Raises OSError if there is no
    such file."""
    text: bytes
    """Content of the manifest's file."""
    compressed_size: Callable[[str], int | None] = lambda file: None
    """Takes the name of a file in the manifest's folder and returns the file's deflated size in the archive, in bytes.
    Returns None if the module is not in an archive."""

    @property
    def name(self) -> str:
        return self.manifests[0].name

    @cached_property
    def split(self) -> Split | None:
        """What the manifest says about companions; None for a wheel that is not split."""
        return split_of(self.text, self.location)

    @property
    def label(self) -> str:
        """Name of the module. For one in a companion, with the companion's name and version."""
        own = self.split
        return self.name if own is None or own.base is None else f"{self.name} in {own.distribution} {own.version}"

    @property
    def fatbin(self) -> str:
        """Name of the file that contains the fatbin, or the fatbins of all variants."""
        return self.manifests[0].fatbin


def find_modules(*paths: str) -> list[FoundModule]:
    """Return the modules in wheels, folders, fatbins or installed packages, sorted by name, each base before its
    companions.

    The installed companions of an installed package are found with it. Raises ImageError if a path does not exist, or
    contains no module.
    """
    found = []
    for path in paths:
        modules = _modules_at(path)
        if not modules:
            message = f"{path} contains no module: no file in it ends in {MANIFEST_SUFFIX}."
            source = _source_in(Path(path))
            raise ImageError(message + (not_compiled(source) if source else " (An editable install has none.)"))
        found += modules
    return sorted(found, key=_place)


def _source_in(wheel: Path) -> str:
    """Return the path of the first `.cu` file in a wheel; "" if there is none, or if `wheel` is no archive."""
    if not wheel.is_file() or not zipfile.is_zipfile(wheel):
        return ""
    return next((name for name in sorted(open_wheel(wheel).namelist()) if name.endswith(".cu")), "")


def _place(module: FoundModule) -> tuple[object, ...]:
    """Return the key by which modules are sorted: by name, each base before its companions, and these by target."""
    is_companion = module.split is not None and module.split.base is not None
    return module.name, is_companion, [image.target for image in module.manifests[0].images[:1]] * is_companion


def _modules_at(path: str) -> list[FoundModule]:
    """Return the modules of the wheel, folder, fatbin or manifest at `path`. If nothing exists there, `path` is taken
    as the dotted name of an importable package."""
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
    found = [module for folder in _package_folders(path) for module in _in_package(folder)]
    return found + installed_companions(found)


def installed_companions(modules: Sequence[FoundModule]) -> list[FoundModule]:
    """Return what the installed companions of installed modules contain of these modules."""
    wanted: dict[str, set[str]] = {}
    for module in modules:
        for companion in module.split.companions if module.split else ():
            wanted.setdefault(companion.package, set()).add(module.name)
    found = []
    for package, names in wanted.items():
        if importlib.util.find_spec(package) is not None:
            inside = [module for folder in _package_folders(package) for module in _in_package(folder)]
            found += [module for module in inside if module.name in names]
    return found


def _package_folders(name: str) -> list[Path]:
    """Return the folders of the importable package with the dotted name `name`. A namespace package can have several
    folders, in the order of its search path. Raises ImageError if there is no such package."""
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
    return FoundModule(all_manifests(text, str(path)), str(path), lambda file: path.with_name(file).read_bytes(), text)


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
        text = read_member(archive, name, LARGEST + 1)
        return FoundModule(
            all_manifests(text, location),
            location,
            lambda file: read_member(archive, member(folder + file).filename),
            text,
            lambda file: member(folder + file).compress_size,
        )

    return [module(name) for name in members if name.startswith(below) and name.endswith(MANIFEST_SUFFIX)]


def symbol_lines(manifests: Sequence[Manifest]) -> list[str]:
    """Return a line for each kernel, variable, function that the linking code must define, and host function whose body
    was left out: "k(int): at most 256 threads in a block".

    A line that is not true of all variants ends in "(in 2 of 3 variants)".
    """
    counts = Counter(line for manifest in manifests for line in dict.fromkeys(_symbol_lines(manifest)))
    total = len(manifests)
    return [line if count == total else f"{line} (in {count} of {total} variants)" for line, count in counts.items()]


def _symbol_lines(manifest: Manifest) -> list[str]:
    return [
        *(_kernel_line(kernel, manifest) for kernel in manifest.kernels),
        *(f"{variable.name}: {variable.space} variable, {variable.size} bytes" for variable in manifest.globals),
        *(
            f"{function.name}: to be defined by the linking code, {function.declaration}"
            for function in manifest.extern
        ),
        *(f"left out, as host code: {each}" for each in manifest.host_code),
    ]


def _kernel_line(kernel: KernelInfo, manifest: Manifest) -> str:
    types = ", ".join(map(_type, kernel.parameters))
    absent = f"not in {', '.join(kernel.absent)}" if kernel.absent else ""
    notes = filter(None, [_launch_bounds(kernel, manifest), absent])
    return ": ".join(filter(None, [f"{kernel.name}({types})", "; ".join(notes)]))


def exported_lines(found: FoundModule) -> list[str]:
    """Return the functions and variables that other modules can link with, one line each: "f(float): for linking".

    Raises OSError if the fatbin cannot be read.
    """
    known = {kernel.symbol for manifest in found.manifests for kernel in manifest.kernels}
    known |= {variable.symbol for manifest in found.manifests for variable in manifest.globals}
    signatures = (signature(symbol) for symbol in _defined_symbols(found) if symbol not in known)
    return [
        f"{name}{'' if types is None else '(' + ', '.join(types) + ')'}: for linking with other modules"
        for name, types in signatures
    ]


def _defined_symbols(found: FoundModule) -> dict[str, None]:
    """Return the symbols that a module's relocatable PTX (PTX to be linked with other code) defines, as an ordered set:
    symbol -> None.

    Only images for one target are read: the target of the module's first relocatable PTX. The result is empty if there
    is no such PTX, or if it is in a compressed fatbin.
    """
    images = [
        (manifest.fatbin_offset + (image.offset or 0), image)
        for manifest in found.manifests
        for image in manifest.relocatable
        if image.kind == "ptx" and image.offset is not None
    ]
    if not images:
        return {}
    fatbin = found.read(found.fatbin)
    symbols: dict[str, None] = {}
    for start, image in images:
        if image.target == images[0][1].target:
            text = fatbin[start : start + image.size].decode(errors="replace")
            symbols |= dict.fromkeys(sorted(ptx.symbols(text).defined))
    return symbols


def _type(parameter: Parameter) -> str:
    """Return a parameter's C++ type, or its PTX type if the C++ type is not known."""
    if parameter.cpp:
        return parameter.cpp
    return f".b8[{parameter.size}]" if parameter.type == "b8" else f".{parameter.type}"


_LAUNCH_BOUNDS = {
    "max_threads": "at most {} threads in a block",
    "min_blocks": "at least {} blocks on a multiprocessor",
    "cluster_blocks": "at most {} blocks in a cluster",
}
"""Key of a launch bound in `Image.resources[symbol of a kernel]` -> phrase for the bound, in which "{}" stands for the
value."""


def _launch_bounds(kernel: KernelInfo, manifest: Manifest) -> str:
    """Return a kernel's launch bounds as text: "at most 256 threads in a block". Return "" if there are none.

    If images have different values of one bound, all values are named: "at most 256 or 512 threads in a block".
    """
    bounds = []
    for key, text in _LAUNCH_BOUNDS.items():
        values = {image.resources.get(kernel.symbol, {}).get(key) for image in manifest.images}
        numbers = sorted(value for value in values if value is not None)
        if numbers:
            bounds.append(text.format(" or ".join(map(str, numbers))))
    return ", ".join(bounds)


def tuned_lines(found: FoundModule) -> list[str]:
    """Return a line for each function and GPU that a module is tuned for: "tuned: scale on NVIDIA H200 (2 problems)".

    Raises ImageError if the table is not valid.
    """
    counts = Counter((row.name, row.gpu) for row in _rows(found))
    return [f"tuned: {name} on {gpu} ({count_text(count, 'problem')})" for (name, gpu), count in counts.items()]


def tuned_differences(found: FoundModule) -> list[str]:
    """Return what is wrong with the table of tuned choices of a module; an empty list if nothing is, or without a
    table."""
    try:
        check_rows(found.name, _rows(found), found.manifests)
    except CudaWheelError as error:
        return [str(error).partition("\n")[0]]
    return []


def _rows(found: FoundModule) -> tuple[Row, ...]:
    """Return the rows of the module's tuned table; an empty tuple if the module has no table. Raises ImageError if the
    table is not valid."""
    file = found.name.rpartition(".")[2] + TABLE_SUFFIX
    try:
        content = found.read(file)
    except OSError:
        return ()
    return parse_table(content, found.name, file)
