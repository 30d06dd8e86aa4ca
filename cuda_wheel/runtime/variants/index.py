"""Read the index of a module with variants."""

import os
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from ..digest import sha256_of
from ..errors import ImageError, UnknownVariantError
from ..manifest import Carried, Manifest, carried_of, check_digest, manifest_of, printable, read_checked, read_document
from .macro_values import Macros, Variant, read_macros, same_macros

if TYPE_CHECKING:
    from ..files import ModuleFiles

__all__ = ["all_manifests", "files_variant", "specializable", "unknown_variant"]


def unknown_variant(module: str, macros: Mapping[str, Any], variants: Iterable[Variant]) -> UnknownVariantError:
    """Return the error for macros that are those of no variant of a module, which has `variants`."""
    from .variant_messages import unknown_variant_message  # only for an error

    return UnknownVariantError(unknown_variant_message(module, macros, list(variants)))


class _Index(NamedTuple):
    """A parsed index."""

    name: str
    """The module's name."""
    document: dict[str, Any]
    digest: str
    """The SHA-256 of its text."""
    records: dict[Macros, dict[str, Any]]
    """The records of its variants."""


_indexes: dict[tuple[Any, ...], _Index] = {}
"""The indexes that this process has read, by all that tells that a file has not changed: hundreds of variants take one
read. Only files in folders are kept."""


def files_variant(files: "ModuleFiles", file: str, macros: Mapping[str, Any], verify: bool) -> tuple[Manifest, str]:
    """Return the manifest of the variant with these macros, and what identifies it.

    `file` is the manifest's name; `verify` says whether to check its SHA-256. Raises ImageError, and
    UnknownVariantError if there is no such variant.
    """
    index, wanted = _index(files, file, verify), same_macros(macros)
    if wanted not in index.records:
        found = (tuple(sorted(record["variant"].items())) for record in index.records.values())
        raise unknown_variant(index.name, macros, found)
    manifest = read_checked(files.where, lambda: _manifest_of(index.document, index.records[wanted]))
    return manifest, f"{index.digest} {wanted!r}"


def specializable(files: "ModuleFiles", file: str, macros: Mapping[str, Any], verify: bool) -> Carried | None:
    """Return where a module's sources are, if an unknown variant with these macros may be compiled from them.

    The names of the macros must be those of a variant: another name is a mistake. None if it may not.
    """
    index = _index(files, file, verify)
    if "specialize" not in index.document or not any(dict(each).keys() == macros.keys() for each in index.records):
        return None
    return read_checked(files.where, lambda: carried_of(index.document["specialize"]))


def _index(files: "ModuleFiles", file: str, verify: bool) -> _Index:
    key = None
    if files.folder is not None:
        path = os.path.join(files.folder, file)
        try:
            status = os.stat(path)
        except OSError as error:
            raise ImageError(f"{path} cannot be read: {error.strerror or error}") from error
        key = (path, status.st_mtime_ns, status.st_size, status.st_ino, verify)
        if key in _indexes:
            return _indexes[key]
    text = files.manifest(file)

    def read(document: dict[str, Any]) -> _Index:
        check_digest(document, text, files.where, verify)
        records = {same_macros(record["variant"]): record for record in document.get("variants", [])}
        return _Index(printable(document["name"]), document, sha256_of(text), records)

    index = read_document(text, files.where, read)
    if key is not None:
        for other in [other for other in _indexes if other[0] == key[0]]:  # an earlier state of the file
            _indexes.pop(other, None)
        _indexes[key] = index
    return index


def all_manifests(text: str | bytes, where: str) -> tuple[Manifest, ...]:
    """Return the manifests of all variants in a module's file, or the one of a module without variants.

    `where` names the file in messages. Raises ImageError as `Manifest.from_json` does, also if a variant appears twice
    or if the fatbins of two variants overlap.
    """
    content = text.encode(errors="surrogatepass") if isinstance(text, str) else text

    def read(document: dict[str, Any]) -> tuple[Manifest, ...]:
        if "variants" in document:
            manifests = tuple(_manifest_of(document, record) for record in document["variants"])
            _check_variants(manifests)
        else:
            manifests = (manifest_of(document),)
        check_digest(document, content, where, True)
        return manifests

    return read_document(content, where, read)


def _manifest_of(document: dict[str, Any], record: dict[str, Any]) -> Manifest:
    """Return the manifest of a variant, from an index and the variant's record in it."""
    manifest = manifest_of({**document, **record})
    offset = record["fatbin"]["offset"]
    if type(offset) is not int or not 0 <= offset < 1 << 48:
        raise ValueError(f"{offset!r} is no offset in a file")
    return manifest._replace(variant=read_macros(record["variant"]), fatbin_offset=offset)


def _check_variants(manifests: Iterable[Manifest]) -> None:
    """Raise ValueError for manifests that are not those of the variants of one module."""
    found: dict[Any, Manifest] = {}
    end, file = 0, None
    for manifest in manifests:
        if not manifest.variant or found.setdefault(same_macros(manifest.variant), manifest) is not manifest:
            raise ValueError(f"the variant {manifest.full_name} appears twice, or has no macros")
        if manifest.fatbin_offset < end or manifest.fatbin != (file or manifest.fatbin):
            raise ValueError(f"the fatbin of {manifest.full_name} does not follow the one before it")
        end, file = manifest.fatbin_offset + manifest.fatbin_size, manifest.fatbin
    if file is None:
        raise ValueError("it has no variants")
