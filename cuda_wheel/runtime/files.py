"""Find a module's manifest and images, in its package's folders or elsewhere, and check their content."""

import io
import os
import sys
from collections.abc import Mapping
from functools import partial
from stat import S_ISREG
from typing import Any

from .errors import ImageError, UnknownVariantError, describe_error, has, need, switch, to_add
from .manifest import (
    MANIFEST_SUFFIX,
    Image,
    Manifest,
    ManifestFile,
    checked,
    python_language,
    same_macros,
    sha256_of,
)

__all__ = [
    "ModuleFiles",
    "files_and_manifest",
    "files_in",
    "find_files",
    "lie_in_folders",
    "must_verify",
    "package_folders",
    "read_image",
]


class ModuleFiles:
    """A module's files: in `folder`, behind the importer of `package`, or in memory (`contents`).

    `where` is the place of the manifest in messages.
    """

    def __init__(self, where: str, folder: str | None, package: str = "", contents: Mapping[str, bytes] | None = None):
        self.where = where
        self.folder = folder
        self.package = package
        self.contents = contents

    digest = ""
    """SHA-256 of the manifest; for a variant, a space and the macros follow. "" until the manifest is read."""
    split: Any = None
    """Companions of the module, as in the manifest."""
    state: tuple[Any, ...] = ()
    """Time of the last change, size and inode of a manifest in a folder."""

    def read(self, file: str, offset: int = 0, size: int | None = None) -> bytes:
        """Return `size` bytes of a file from `offset` on, by default all; no others are held in memory.

        Raises ImageError.
        """
        try:
            with self._open(file) as opened:
                stream = opened if opened.seekable() else io.BytesIO(opened.read())
                stream.seek(offset)
                content: bytes = stream.read(-1 if size is None else size)
                return content
        except Exception as error:  # importers raise anything for a damaged archive
            raise ImageError(f"{file} beside {self.where} cannot be read: {describe_error(error)}") from error

    def manifest_file(self, file: str, check: bool) -> ManifestFile:
        """Return a manifest's file, whose kernels may be read later. Raises ImageError."""
        return ManifestFile(partial(self.read, file), self.where, check)

    def kept_file(self, file: str) -> ManifestFile:
        """Return a manifest's file, checked; in a folder, it is read again only after a change. Raises ImageError."""
        # For `load` after `attach`, and for loads of hundreds of variants.
        state = (*self.state, must_verify())
        known, found = _kept.get(self.where, ((), None))
        if found is None or known != state:
            found = ManifestFile(partial(self.read, file), self.where, state[-1])
            if self.state:
                _kept[self.where] = state, found
        return found

    def manifest_of_variant(self, file: str, macros: Mapping[str, Any]) -> Manifest:
        """Return the manifest, in a file, of the variant with these macros, and set `digest`.

        Raises ImageError, and UnknownVariantError if there is no such variant.
        """
        wanted, found = same_macros(macros), self.kept_file(file)
        record = found.variants.get(wanted)
        if record is None:
            raise _unknown_variant(found, macros)
        self.digest = f"{found.digest} {wanted!r}" if wanted else found.digest
        self.split = found.head.get("split")
        if len(found.blocks) == 1 or checked(self.where, lambda: len(record["kernels"]["blocks"]) == 1):
            return found.manifest(wanted)
        need("many-kernels")
        from .parts.many_kernels import manifest_with_many  # rare

        return manifest_with_many(found, wanted)

    def _open(self, file: str) -> Any:
        if self.folder is not None:
            return open(os.path.join(self.folder, file), "rb")
        if self.contents is not None:
            return io.BytesIO(self.contents[file])
        from .parts.importers import open_file  # rare

        return open_file(self.package, file)


_kept: dict[str, tuple[tuple[Any, ...], ManifestFile]] = {}
"""Path of a manifest -> (*state, whether it was checked), content."""


def _unknown_variant(file: ManifestFile, macros: Mapping[str, Any]) -> UnknownVariantError:
    variants = tuple(tuple(sorted(each["macros"].items())) for each in file.variants.values() if each["macros"])
    # `load` loads Python kernels without macros, and needs no message.
    if not has("variants") or (not macros and python_language(variants)):
        error = UnknownVariantError(f"{file.name} has no variant with the macros {dict(macros)}")
        error.variants = variants
        return error
    from .parts.variants import unknown_variant  # only for an error

    return unknown_variant(file.name, macros, variants)


def files_and_manifest(
    name: str, device: int | None, variant: Mapping[str, Any] | None = None, needs_gpu: bool = True, jit: Any = None
) -> tuple[ModuleFiles, Manifest]:
    """Return the files of the module `name` and its checked manifest, or that of the variant with these macros.

    With `needs_gpu=False`, for readers of the manifest only, they may be for other GPUs than this machine's. Raises
    what `find_files` raises, and ImageError.
    """
    files = find_files(name, device, variant, needs_gpu, jit)
    manifest = files.manifest_of_variant(name.rpartition(".")[2] + MANIFEST_SUFFIX, variant or {})
    if manifest.name != name:
        raise ImageError(f"{files.where} is the manifest of {manifest.name!r}, not of {name!r}")
    return files, manifest


def find_files(
    name: str, device: int | None, variant: Mapping[str, Any] | None = None, needs_gpu: bool = True, jit: Any = None
) -> ModuleFiles:
    """Return the files of the module `name`; if they are compiled now, those of the variant alone.

    Looks into its package (`files_in`). Compiles the module for GPU `device` if the package lies in a source tree;
    raises DriverError if it `needs_gpu` and has none. Raises ImageError, and the build side's errors.
    """
    package, _, stem = name.rpartition(".")
    if not package or not all(map(str.isidentifier, name.split("."))):
        raise ImageError(f"{name!r} is not a module's dotted name, such as 'saxpy_demo.kernels.saxpy'")
    manifest = stem + MANIFEST_SUFFIX
    folders = package_folders(package)
    files = files_in(package, folders, manifest)
    if files is not None:
        return files
    contents = None
    if has("source_hook"):  # a vendored loader compiles nothing
        from .parts.source_hook import compiled_on_load  # only in a source tree

        contents = compiled_on_load(name, folders, device, variant or {}, needs_gpu, jit)
    if contents is None:
        if not has("suggestions"):
            looked = f"looked for {manifest} in {', '.join(folders) or package}"
            raise ImageError(f"{name} has no images: {to_add(f'{manifest} of {package}', looked)}")
        from .parts.suggestions import module_not_found  # only for an error

        raise ImageError(module_not_found(name, folders, MANIFEST_SUFFIX))
    return ModuleFiles(f"{name}, compiled on load", None, contents=contents)


def files_in(package: str, folders: list[str], manifest: str) -> ModuleFiles | None:
    """Return the files beside a package's `manifest`, or None. Raises ImageError."""
    for folder in folders:
        path = os.path.join(folder, manifest)
        try:
            status = os.stat(path)
        except (OSError, ValueError):
            continue
        if S_ISREG(status.st_mode):
            files = ModuleFiles(path, folder)
            files.state = status.st_mtime_ns, status.st_size, status.st_ino
            return files
    if lie_in_folders(folders):
        return None
    need("importers")
    from .parts.importers import find_file  # rare

    where = find_file(package, folders, manifest)
    return None if where is None else ModuleFiles(where, None, package)


def package_folders(package: str) -> list[str]:
    """Return the places where Python looks for a package's files, which need not be folders. Raises ImageError."""
    module = sys.modules.get(package)  # find_spec refuses a package whose __init__ is still running
    if module is not None:
        locations = getattr(module, "__path__", None)
    else:
        from importlib.util import find_spec  # the package is usually imported already

        try:
            spec = find_spec(package)
        except ModuleNotFoundError as error:
            raise ImageError(
                to_add(f"package {package!r}", f"package {package!r} is not installed: {error}")
            ) from error
        except Exception as error:  # whatever a parent package or an importer raises
            raise ImageError(f"package {package!r} cannot be imported: {describe_error(error)}") from error
        locations = None if spec is None else spec.submodule_search_locations
    if locations is None:
        raise ImageError(f"{package!r} is not an installed package, so it has no images")
    return list(locations)


def lie_in_folders(locations: list[str]) -> bool:
    """Return whether a package lies in folders only: not in a zip archive, nor with an importer without files."""
    return bool(locations) and all(map(os.path.isdir, locations))


def must_verify() -> bool:
    """Return whether to check the SHA-256 of manifests and images: unless CUDA_WHEEL_VERIFY is "off"."""
    return not switch("CUDA_WHEEL_VERIFY", "off", "on")


def read_image(files: ModuleFiles, manifest: Manifest, image: Image) -> bytes:
    """Return the bytes for the driver: those of the image, or the whole fatbin if it is compressed.

    Raises ImageError if they are incomplete or not what the manifest says. With CUDA_WHEEL_VERIFY=off, it finds only
    damage that would crash the driver; a copy without the part for that compares the SHA-256.
    """
    if image.offset is None:
        start, size, sha256 = 0, manifest.fatbin_size, manifest.fatbin_sha256
    else:
        start, size, sha256 = image.offset, image.size, image.sha256
    content = files.read(manifest.fatbin, manifest.fatbin_offset + start, size)
    damage: str | None = None
    if len(content) < size:  # the driver gets no size, and would read past the end
        damage = f"it ends before the end of {image}"
    elif not must_verify() and has("formats"):
        from .parts.formats.cubin import structural_damage  # rare

        damage = structural_damage(image, content)
    elif sha256_of(content) != sha256:
        damage = f"the SHA-256 of {image} is not the one in the manifest"
    if damage:
        from .explanations import damaged_image  # only for an error

        raise damaged_image(manifest, files.where, damage)
    # The driver reads PTX up to a NUL, which the image does not contain.
    return content + b"\0" if image.kind == "ptx" and image.offset is not None else content
