"""Read the kernels of a large manifest when they are needed: reading all could take longer than the load."""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, overload

from ..manifest import (
    KernelInfo,
    Macros,
    Manifest,
    ManifestFile,
    checked,
    kernel_of,
    manifest_of_record,
    resources_of,
    sha256_of,
    structs_of,
)

if TYPE_CHECKING:
    from .dtypes import Struct

__all__ = ["Kernels", "block_number", "manifest_with_many"]


def manifest_with_many(file: ManifestFile, macros: Macros) -> Manifest:
    """Return the manifest of the variant with these macros; its kernels and resources are read when they are needed."""
    record = file.variants[macros]
    kernels = Kernels(file, record)
    resources = [_Resources(kernels, at) for at in range(len(record["images"]))]
    return checked(file.where, lambda: manifest_of_record(record, kernels, resources))


def block_number(short_name: str, blocks: int) -> int:
    """Return the index, among a variant's blocks of kernels, of the block with the kernels that have a short name."""
    if blocks == 1:
        return 0
    return int(sha256_of(short_name.encode(errors="surrogatepass"))[:12], 16) % blocks


class Kernels(Sequence[KernelInfo]):
    """The kernels of a variant, of which a block is read when it is needed; every use may raise ImageError.

    `record` is the variant's JSON object in the manifest.
    """

    def __init__(self, file: ManifestFile, record: Mapping[str, Any]) -> None:
        self.file = file
        self._record = record
        self._blocks: list[int] = record["kernels"]["blocks"]
        self._structs: Mapping[str, Struct] | None = None
        self._near: dict[int, list[KernelInfo]] = {}
        self._rows: list[dict[str, Any]] | None = None
        self._made: dict[int, KernelInfo] = {}

    def near(self, short_name: str) -> list[KernelInfo]:
        """Return all kernels with a short name, or a full name with that short name, and others of the same block."""
        number = block_number(short_name, len(self._blocks))
        if number not in self._near:
            self._near[number] = checked(
                self.file.where, lambda: list(map(self._kernel, self.file.rows(self._blocks[number : number + 1])))
            )
        return self._near[number]

    def resources(self, at: int) -> Mapping[str, Mapping[str, int]]:
        """Return kernel symbol -> resources, for the image at index `at`."""
        return checked(self.file.where, lambda: resources_of(self._record, at, self._all_rows()))

    def _all_rows(self) -> list[dict[str, Any]]:
        if self._rows is None:
            self._rows = self.file.all_rows(self._record)
        return self._rows

    def _kernel(self, row: Mapping[str, Any]) -> KernelInfo:
        index = row["index"]
        if index not in self._made:
            if self._structs is None:
                self._structs = structs_of(self._record)
            self._made[index] = kernel_of(row, self._structs)
        return self._made[index]

    def __len__(self) -> int:
        return int(self._record["kernels"]["count"])

    def __iter__(self) -> Iterator[KernelInfo]:
        return iter(checked(self.file.where, lambda: list(map(self._kernel, self._all_rows()))))

    @overload
    def __getitem__(self, index: int) -> KernelInfo: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[KernelInfo, ...]: ...
    def __getitem__(self, index: int | slice) -> KernelInfo | tuple[KernelInfo, ...]:
        return tuple(self)[index]


class _Resources(Mapping[str, Mapping[str, int]]):
    """Kernel symbol -> resources, for one image; all are read at the first use."""

    def __init__(self, kernels: Kernels, at: int) -> None:
        self._kernels = kernels
        self._at = at

    def __getitem__(self, symbol: str) -> Mapping[str, int]:
        return self._kernels.resources(self._at)[symbol]

    def __iter__(self) -> Iterator[str]:
        return iter(self._kernels.resources(self._at))

    def __len__(self) -> int:
        return len(self._kernels.resources(self._at))
