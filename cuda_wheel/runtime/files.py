"""Find and read a module's files: in a folder, a zip archive or another importer, or compiled from a source tree."""

import importlib
import io
import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any

from .cache import warn
from .digest import sha256_of
from .driver import device_and_driver
from .errors import ImageError
from .manifest import LARGEST, MANIFEST_SUFFIX, Image, Manifest

__all__ = [
    "ModuleFiles",
    "asking",
    "error_text",
    "find_files",
    "hashes_count",
    "names_in",
    "package_folders",
]


def files_and_manifest(name: str, device: int | None) -> "tuple[ModuleFiles, Manifest]":
    files = find_files(name, device)
    text = files.manifest(name.rpartition(".")[2] + MANIFEST_SUFFIX)
    manifest = Manifest.from_json(text, files.where, hashes_count())
    if manifest.name != name:
        raise ImageError(f"{files.where} is the manifest of {manifest.name!r}, not of {name!r}")
    return files, manifest


_USUAL = 1 << 16
"""Bytes that most manifests do not have."""


class ModuleFiles:
    """A module's files: in a folder, in a package that its importer keeps elsewhere, or in memory."""

    def __init__(self, where: str, folder: str | None, package: str = "", contents: Mapping[str, bytes] | None = None):
        self.where = where
        self.folder = folder
        self.package = package
        self.contents = contents

    def read(self, file: str, offset: int = 0, size: int | None = None) -> bytes:
        """Return so many bytes of a file from `offset` on, or all of them. No more is held in memory, or read but from
        an archive, which has to be unpacked up to there. Raises ImageError."""
        try:
            with self._open(file) as opened:
                stream = opened if opened.seekable() else io.BytesIO(opened.read())
                stream.seek(offset)
                content: bytes = stream.read(-1 if size is None else size)
                return content
        except Exception as error:  # as in `_asking`
            raise ImageError(f"{file} beside {self.where} cannot be read: {error_text(error)}") from error

    def manifest(self, file: str) -> bytes:
        """Return the text of a manifest, and no more of one that is too large than shows that. Raises ImageError."""
        text = self.read(file, 0, _USUAL)  # to ask for much would have it reserved
        return text if len(text) < _USUAL else self.read(file, 0, LARGEST + 1)

    def _open(self, file: str) -> Any:
        if self.folder is not None:
            return open(os.path.join(self.folder, file), "rb")
        if self.contents is not None:
            return io.BytesIO(self.contents[file])
        return _open_in(self.package, file)


def find_files(name: str, device: int | None) -> ModuleFiles:
    """Return the files of the module `name`: where its package is, else compiled from the source tree that it is in."""
    package, _, stem = name.rpartition(".")
    if not package or not all(part.isidentifier() for part in name.split(".")):
        raise ImageError(f"{name!r} is not a module's dotted name, such as 'saxpy_demo.kernels.saxpy'")
    manifest = stem + MANIFEST_SUFFIX
    folders = package_folders(package)
    for folder in folders:
        path = os.path.join(folder, manifest)
        if os.path.isfile(path):
            return ModuleFiles(path, folder)
    if not _in_folders(folders):
        where = f"{manifest} in {package}, by its importer" if not folders else os.path.join(folders[0], manifest)
        try:
            _open_in(package, manifest).close()
            return ModuleFiles(where, None, package)
        except FileNotFoundError:
            pass
        except Exception as error:  # as in `_asking`
            raise ImageError(f"{where} cannot be read: {error_text(error)}") from error
    compiled = _compile_on_load(name, folders, device)
    if compiled is None:
        raise _not_found(name, stem, folders)
    return ModuleFiles(
        f"{name}, compiled on load", None, contents=dict(zip((manifest, stem + ".fatbin"), compiled, strict=True))
    )


def _in_folders(folders: list[str]) -> bool:
    """Return whether a package of this path is in folders alone, and in no zip, nor with an importer without files."""
    return bool(folders) and all(map(os.path.isdir, folders))


def _open_in(package: str, file: str) -> Any:
    """Return a stream of a file that a package's importer keeps elsewhere than in a folder.

    Asks it for its reader (importlib.resources), and what has none for the bytes of a path (`get_data` of PEP 302).
    Raises FileNotFoundError where there is none, and what importers raise.
    """
    module = importlib.import_module(package)
    reader = _reader(module)
    if hasattr(reader, "files"):
        resource = reader.files().joinpath(file)
        if resource.is_file():
            return resource.open("rb")
    elif reader is not None:
        return reader.open_resource(file)
    from pkgutil import get_importer

    beside = os.path.dirname(getattr(module, "__file__", None) or "")
    # A package in several places has several.
    importers = [(getattr(module.__spec__, "loader", None), beside)]
    importers += [(get_importer(folder), folder) for folder in module.__path__]
    for importer, folder in importers:
        get_data = getattr(importer, "get_data", None)
        if get_data is not None:
            with suppress(OSError):
                return io.BytesIO(get_data(os.path.join(folder, file)))
    raise FileNotFoundError(f"{package} has no file {file}")


def names_in(package: str, folders: list[str]) -> list[str]:
    """Return the names of the files and folders in a package, as far as its importer lists them."""
    if _in_folders(folders):
        return [name for folder in folders for name in os.listdir(folder)]
    reader = _reader(importlib.import_module(package))
    with suppress(OSError):  # of a frozen application's package, whose folder was left out
        if hasattr(reader, "files"):
            return [entry.name for entry in reader.files().iterdir()]
        if reader is not None:
            return list(reader.contents())
    return []


def _reader(module: Any) -> Any:
    """Return what its importer reads a package's files by; None where it does not tell."""
    get_reader = getattr(getattr(module.__spec__, "loader", None), "get_resource_reader", None)
    if get_reader is not None:
        with suppress(OSError):  # until Python 3.13, that of a namespace package knows folders alone
            return get_reader(module.__name__)
    return None


@contextmanager
def asking(package: str) -> Iterator[None]:
    """Raise ImageError where a package's importer fails: of a damaged archive it raises whatever it likes."""
    try:
        yield
    except Exception as error:
        raise ImageError(f"package {package!r} cannot be read: {error_text(error)}") from error


def error_text(error: Exception) -> str:
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__


def _compile_on_load(name: str, folders: list[str], device: int | None) -> tuple[bytes, bytes] | None:
    """Return manifest and fatbin, compiled for the GPU at hand, where the package lies in a source tree; else None."""
    try:
        from cuda_wheel.builder.editable.on_load import compile_on_load
    except ImportError:  # a copy of this file in a wheel, without the build side
        return None
    compiled: tuple[bytes, bytes] | None = compile_on_load(name, folders, lambda: device_and_driver(device)[0])
    return compiled


def package_folders(package: str) -> list[str]:
    module = sys.modules.get(package)  # its __init__ may be running, so that find_spec would refuse
    if module is None:
        from importlib.util import find_spec  # most packages that ask for their modules are imported

        try:
            spec = find_spec(package)
        except ModuleNotFoundError as error:
            raise ImageError(f"package {package!r} is not installed: {error}") from error
        except Exception as error:  # whatever the package that it is in raises, or whoever imports that
            raise ImageError(f"package {package!r} cannot be imported: {error_text(error)}") from error
        locations = None if spec is None else spec.submodule_search_locations
    else:
        locations = getattr(module, "__path__", None)
    if locations is None:
        raise ImageError(f"{package!r} is not an installed package, so that it can hold no images")
    return list(locations)


def _not_found(name: str, stem: str, folders: list[str]) -> ImageError:
    import difflib

    looked = ", ".join(os.path.join(folder, stem + MANIFEST_SUFFIX) for folder in folders) or "it by the importer"
    message = f"{name} has no images here: looked for {looked}."
    files = [file for folder in folders if os.path.isdir(folder) for file in os.listdir(folder)]
    there = {file.removesuffix(end) for file in files for end in (MANIFEST_SUFFIX, ".cu") if file.endswith(end)}
    near = difflib.get_close_matches(stem, there - {stem}, n=3)
    if near:
        message += f" Did you mean {', '.join(near)}?"
    if any(os.path.isfile(os.path.join(folder, stem + ".cu")) for folder in folders):
        message += (
            f" {stem}.cu is there, but was not compiled: install the project's wheel, and check that its build runs "
            "cuda-wheel (a hook of hatchling, the table [tool.cuda-wheel] for setuptools)."
        )
    return ImageError(message)


def hashes_count() -> bool:
    """Return whether manifests and images have to have their SHA-256: CUDA_WHEEL_VERIFY is "on", unless it is "off"."""
    wanted = os.environ.get("CUDA_WHEEL_VERIFY") or "on"
    if wanted not in ("on", "off"):
        warn(f'the environment variable CUDA_WHEEL_VERIFY must be "on" or "off", not {wanted!r}; it counts as "on".')
    return wanted != "off"


def read_image(files: ModuleFiles, manifest: Manifest, image: Image) -> bytes:
    """Return the bytes for the driver: the image's own, or the whole fatbin where it is compressed.

    Raises ImageError where they are not all there, or not what the manifest says. With CUDA_WHEEL_VERIFY off they may
    be anything but machine code that would end the process in the driver.
    """
    if image.offset is None:
        start, size, expected = 0, manifest.fatbin_size, manifest.fatbin_sha256
    else:
        start, size, expected = image.offset, image.size, image.sha256
    content = files.read(manifest.fatbin, start, size)
    wrong = ""
    if len(content) < size:  # the driver is not told of a size, and would read on
        wrong = f"it ends before {image} does"
    elif hashes_count():
        if sha256_of(content) != expected:
            wrong = f"{image} does not have the SHA-256 that the manifest names"
    elif image.offset is None:
        from .formats.fatbin import whole_fatbin

        if not whole_fatbin(content):
            wrong = "it is cut short"
    elif image.kind == "cubin":
        from .formats.elf import check_cubin

        try:
            check_cubin(content)
        except ValueError as error:
            wrong = f"of {image}, {error}"
    if wrong:
        raise ImageError(
            f"{manifest.fatbin} beside {files.where} is damaged: {wrong}. Reinstall the package that holds "
            f"{manifest.name}."
        )
    # The driver reads PTX up to a NUL, which the image itself does not carry.
    return content + b"\0" if image.kind == "ptx" and image.offset is not None else content
