"""Find a module's manifest and images, in its package's folders or elsewhere, and check their content.

A manifest whose kernels are in blocks is read without the kernels that nobody asks for.
"""

import io
import json
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from .digest import sha256_of
from .errors import ImageError, UnknownVariantError, describe_error, has, need
from .manifest import (
    LARGEST,
    MANIFEST_SUFFIX,
    Blocks,
    Image,
    KernelInfo,
    Manifest,
    head_of,
    kernel_of,
    manifest_of,
    printable,
    read_checked,
    read_manifest,
    structs_in,
)

__all__ = [
    "ModuleFiles",
    "files_and_manifest",
    "find_files",
    "lie_in_folders",
    "must_verify",
    "package_folders",
    "partial_manifest",
    "read_image",
]


def partial_manifest(files: "ModuleFiles", file: str, start: bytes, check: bool) -> tuple[Manifest, str]:
    """Return the manifest in a module's `file`, which begins with the bytes `start`, and what identifies it.

    With `check`, the SHA-256 of all that is read is checked, now and later. Raises ImageError, also if the file has no
    blocks; so does the sequence of its kernels where a block is damaged, or was changed since.
    """

    def read() -> tuple[Manifest, str]:
        found = head_of(start, check) or head_of(files.read(file, 0, LARGEST), check)
        if found is None:
            raise ValueError("it ends before its kernels")
        head, place, is_intact = found
        if not is_intact:
            from .explanations import damaged_manifest  # only for an error

            raise damaged_manifest(files.where, printable(head["name"]))
        kernels = Blocks(head, place, _block_reader(files, file, check), _kernel_maker(files.where, head))
        images = head["images"]
        manifest = manifest_of({**head, "kernels": []})
        read_later = (_Resources(kernels, image, at) for at, image in enumerate(images))
        with_resources = (
            image._replace(resources=later) for image, later in zip(manifest.images, read_later, strict=True)
        )
        return manifest._replace(kernels=kernels, images=tuple(with_resources)), sha256_of(start[:place])

    return read_checked(files.where, read)


def _block_reader(files: "ModuleFiles", file: str, check: bool) -> Callable[[int, int, str], list[Any]]:
    def read_block(offset: int, size: int, digest: str) -> list[Any]:
        text = files.read(file, offset, size)
        if check and sha256_of(text) != digest:
            raise ImageError(
                f"{files.where} is damaged, or was changed after it was loaded: {size} bytes from {offset} on do not "
                "have the SHA-256 that it says. Start the program again; if that does not help, reinstall the package."
            )
        rows: list[Any] = read_checked(files.where, lambda: json.loads(text))
        return rows

    return read_block


def _kernel_maker(where: str, head: dict[str, Any]) -> Callable[[dict[str, Any]], KernelInfo]:
    structs: Any = None
    targets = {image["target"] for image in head["images"]}

    def make(row: dict[str, Any]) -> KernelInfo:
        nonlocal structs
        if structs is None:
            structs = structs_in(head)
        kernel = kernel_of(row, structs)
        if not targets.issuperset(kernel.absent):
            raise ValueError(f"{kernel.name} is absent from {', '.join(kernel.absent)}, but not all are images here")
        return kernel

    return lambda row: read_checked(where, lambda: make(row))


class _Resources(Mapping[str, Mapping[str, int]]):
    """The resources of an image's kernels, all read when one is asked for."""

    def __init__(self, kernels: Blocks, image: dict[str, Any], at: int) -> None:
        self._kernels = kernels
        self._image = image
        self._at = at

    def _all(self) -> dict[str, Any]:
        return self._kernels.resources(self._image, self._at)

    def __getitem__(self, symbol: str) -> Mapping[str, int]:
        found: Mapping[str, int] = self._all()[symbol]
        return found

    def __iter__(self) -> Iterator[str]:
        return iter(self._all())

    def __len__(self) -> int:
        return len(self._all())


USUAL_MANIFEST = 1 << 16
"""Most manifests have fewer bytes than this."""


class ModuleFiles:
    """A module's files: in `folder`, in `package`, whose importer keeps them elsewhere, or in memory (`contents`).

    `where` is the place of the manifest in messages.
    """

    def __init__(self, where: str, folder: str | None, package: str = "", contents: Mapping[str, bytes] | None = None):
        self.where = where
        self.folder = folder
        self.package = package
        self.contents = contents
        self.digest = ""
        """The SHA-256 of the manifest's text, once it is read, and the macros of the variant, if it is one: whatever
        decides a module is in them."""

    def read(self, file: str, offset: int = 0, size: int | None = None) -> bytes:
        """Return `size` bytes of a file from `offset` on, by default all. Raises ImageError.

        No more than these bytes is held in memory. No more is read either, except from an archive, which is unpacked
        up to the end of them.
        """
        try:
            with self._open(file) as opened:
                stream = opened if opened.seekable() else io.BytesIO(opened.read())
                stream.seek(offset)
                content: bytes = stream.read(-1 if size is None else size)
                return content
        except Exception as error:  # importers raise anything for a damaged archive
            raise ImageError(f"{file} beside {self.where} cannot be read: {describe_error(error)}") from error

    def manifest(self, file: str) -> bytes:
        """Return the text of a manifest; of one that is too large, only enough to show that. Raises ImageError."""
        text = self.read(file, 0, USUAL_MANIFEST)  # asking for LARGEST bytes would reserve them
        return text if len(text) < USUAL_MANIFEST else self.read(file, 0, LARGEST + 1)

    def _open(self, file: str) -> Any:
        if self.folder is not None:
            return open(os.path.join(self.folder, file), "rb")
        if self.contents is not None:
            return io.BytesIO(self.contents[file])
        from .parts.importers import open_file  # only for a package that is not in a folder

        return open_file(self.package, file)


def files_and_manifest(
    name: str, device: int | None, variant: Mapping[str, Any] | None = None, needs_gpu: bool = True
) -> tuple[ModuleFiles, Manifest]:
    """Return the files of the module `name` and its checked manifest, or that of the variant with these macros.

    With `needs_gpu=False`, they may be for other GPUs than this machine's: for those who read the manifest only.
    Raises ImageError, and see `find_files`.
    """
    files, file = find_files(name, device, variant, needs_gpu), name.rpartition(".")[2] + MANIFEST_SUFFIX
    if variant:
        need("variants")
        from .parts.variants import files_variant  # only for a module with variants

        manifest, files.digest = files_variant(files, file, variant, must_verify())
    else:
        text = files.read(file, 0, USUAL_MANIFEST)
        if text.startswith(b'{"format": 3,'):
            manifest, files.digest = partial_manifest(files, file, text, must_verify())
        else:
            text = text if len(text) < USUAL_MANIFEST else files.manifest(file)
            try:
                manifest, files.digest = read_manifest(text, files.where, must_verify())
            except UnknownVariantError:
                need("variants")
                from .parts.variants import files_variant  # only for an error

                files_variant(files, file, {}, must_verify())  # raises the error that lists them
                raise
    if manifest.name != name:
        raise ImageError(f"{files.where} is the manifest of {manifest.name!r}, not of {name!r}")
    return files, manifest


def find_files(
    name: str, device: int | None, variant: Mapping[str, Any] | None = None, needs_gpu: bool = True
) -> ModuleFiles:
    """Return the files of the module `name`; those of the variant alone, if they are compiled now.

    Searches 1. the folders of its package, 2. through the package's importer if it is not in folders, such as a zip
    archive, and 3. compiles the module for GPU `device` if the package lies in a source tree; without a usable GPU,
    raises DriverError if it `needs_gpu`. Raises ImageError, and in 3. the build side's errors.
    """
    package, _, stem = name.rpartition(".")
    if not package or not all(part.isidentifier() for part in name.split(".")):
        raise ImageError(f"{name!r} is not a module's dotted name, such as 'saxpy_demo.kernels.saxpy'")
    manifest = stem + MANIFEST_SUFFIX
    folders = package_folders(package)
    for folder in folders:
        path = os.path.join(folder, manifest)
        if os.path.isfile(path):
            return ModuleFiles(path, folder)
    if not lie_in_folders(folders):
        need("importers")
        from .parts.importers import has_file  # only for a package that is not in a folder

        where = os.path.join(folders[0], manifest) if folders else f"{manifest} in {package}, through its importer"
        if has_file(package, manifest, where):
            return ModuleFiles(where, None, package)
    contents = None
    if has("source_hook"):  # a vendored loader compiles nothing
        from .parts.source_hook import compiled_on_load  # only for a module that is not installed

        contents = compiled_on_load(name, folders, device, variant or {}, needs_gpu)
    if contents is None:
        from .explanations import module_not_found  # only for an error

        raise module_not_found(name, folders)
    return ModuleFiles(f"{name}, compiled on load", None, contents=contents)


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
            raise ImageError(f"package {package!r} is not installed: {error}") from error
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
    setting = os.environ.get("CUDA_WHEEL_VERIFY") or "on"
    if setting not in ("on", "off"):
        import warnings  # only for a wrong setting

        wrong = f'the environment variable CUDA_WHEEL_VERIFY must be "on" or "off", not {setting!r}; "on" is used.'
        warnings.warn(wrong, RuntimeWarning, stacklevel=2)
    return setting != "off"


def read_image(files: ModuleFiles, manifest: Manifest, image: Image) -> bytes:
    """Return the bytes for the driver: those of the image, or the whole fatbin if it is compressed.

    Raises ImageError if they are incomplete or not what the manifest says. With CUDA_WHEEL_VERIFY=off, only damage is
    found that would crash the process inside the driver; a vendored loader without the part for that checks the hash.
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
        from .parts.formats.damage import structural_damage  # only for programs that check no hashes

        damage = structural_damage(image, content)
    elif sha256_of(content) != sha256:
        damage = f"the SHA-256 of {image} is not the one in the manifest"
    if damage:
        from .explanations import damaged_image  # only for an error

        raise damaged_image(manifest, files.where, damage)
    # The driver reads PTX up to a NUL, which the image does not contain.
    return content + b"\0" if image.kind == "ptx" and image.offset is not None else content
