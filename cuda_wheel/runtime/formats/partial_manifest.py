"""Read a manifest whose kernels are in blocks, without the kernels that nobody asks for."""

import json
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from ..digest import sha256_of
from ..errors import ImageError
from ..manifest import (
    LARGEST,
    KernelInfo,
    Manifest,
    kernel_of,
    manifest_of,
    printable,
    read_checked,
    structs_in,
)
from ..messages.damaged_files import damaged_manifest
from .manifest_blocks import Blocks, head_of

if TYPE_CHECKING:
    from ..files import ModuleFiles

__all__ = ["partial_manifest"]


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
