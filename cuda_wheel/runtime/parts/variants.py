"""Choose a variant of a module: one of the sets of macros that its sources were compiled with.

A module with variants has one manifest, which is an index: what all variants share stands once, and each variant has a
record with the rest. It has one `.fatbin`, in which the variants' fatbins follow each other, since they have kernels
of the same names. A record has the offset of its fatbin in the file, so that loading reads only the chosen image.

cuobjdump lists the images of all variants; their identifiers name the macros. The driver, and with it `cuda.core` and
CuPy, reads a file up to the end of its first fatbin: given the whole file, they load the first variant. They load
another one if they get `manifest.fatbin_size` bytes from `manifest.fatbin_offset` on.

The macros of a variant: their types, their text and how to compare them.

Compose the message for macros that are those of no variant; imported only for an error.
"""

import os
from collections.abc import Iterable, Mapping, Sequence
from difflib import SequenceMatcher, get_close_matches
from typing import TYPE_CHECKING, Any, NamedTuple

from ..digest import sha256_of
from ..errors import ImageError, UnknownVariantError
from ..manifest import Carried, Manifest, carried_of, check_digest, manifest_of, printable, read_checked, read_document

if TYPE_CHECKING:
    from ..files import ModuleFiles
__all__ = [
    "RESERVED",
    "MacroValue",
    "Macros",
    "Variant",
    "all_manifests",
    "files_variant",
    "full_name",
    "macro_text",
    "read_macros",
    "same_macros",
    "specializable",
    "unknown_variant",
    "unknown_variant_message",
]


MacroValue = str | int | float | bool
"""A macro's value as the project writes it. The compiler gets it as text, and a bool as 1 or 0."""

Variant = tuple[tuple[str, MacroValue], ...]
"""The macros of a variant: names and values, sorted by name."""

Macros = tuple[tuple[str, str], ...]
"""Macros as the compiler gets them, sorted by name. Equal macros mean the same variant."""

RESERVED = ("device", "jit", "link", "name")
"""The parameters of `load`, which no macro of a variant can be called."""


def macro_text(value: MacroValue) -> str:
    """Return a macro's value as the compiler gets it: "1" for True, "4" for 4 and for "4"."""
    return str(int(value)) if isinstance(value, bool) else str(value)


def full_name(name: str, variant: Variant) -> str:
    """Return a module's name, and the macros of its variant: "demo.update[MATH_TYPE=double, NUM_MODES=4]"."""
    return f"{name}[{', '.join(f'{macro}={macro_text(value)}' for macro, value in variant)}]" if variant else name


def same_macros(macros: Mapping[str, Any] | Variant) -> Macros:
    """Return macros in the form in which equal ones are equal."""
    pairs = macros.items() if isinstance(macros, Mapping) else macros
    return tuple(sorted((name, macro_text(value)) for name, value in pairs))


def read_macros(macros: dict[str, Any]) -> Variant:
    """Return the variant in a JSON object; raises ValueError or AttributeError for another one."""
    for name, value in macros.items():
        is_value = isinstance(value, int | float) or (isinstance(value, str) and value and value.isprintable())
        if not (name.isidentifier() and name.isascii() and is_value):
            raise ValueError(f"{name!r} with the value {value!r} is not a macro")
    return tuple(sorted(macros.items()))


def unknown_variant(module: str, macros: Mapping[str, Any], variants: Iterable[Variant]) -> UnknownVariantError:
    """Return the error for macros that are those of no variant of a module, which has `variants`."""

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


_SHOWN = 5
"""How many variants, and how many values of a macro, a message names."""

_LONGEST = 60
"""How many characters of a value a message shows."""


def unknown_variant_message(module: str, macros: Mapping[str, Any], variants: Sequence[Variant]) -> str:
    """Return the message for macros that are those of no variant of a module, with the nearest ones first."""
    asked = ", ".join(f"{name}={_value(value)}" for name, value in macros.items())
    if not variants:
        options = get_close_matches(next(iter(macros)), RESERVED, n=1)
        hint = f"; did you mean {options[0]}?" if options else ""
        return f"{module} has no variants, but {asked} asks for one{hint}"
    nearest = sorted(variants, key=lambda variant: _distance(macros, variant))[:_SHOWN]
    listed = "".join(f"\n  {', '.join(f'{name}={_value(value)}' for name, value in each)}" for each in nearest)
    more = f"\n  and {len(variants) - len(nearest)} more" if len(variants) > len(nearest) else ""
    values: dict[str, dict[str, None]] = {}
    for name, value in (pair for variant in variants for pair in variant):
        values.setdefault(name, {})[_value(value)] = None
    tables = "; ".join(f"{name} of {_some(list(found))}" for name, found in values.items())
    what = f"has no variant {asked}" if macros else "has variants, and none is named"
    order = ", the nearest first" if macros else ""
    return f"{module} {what}. Its variants{order}:{listed}{more}\nTheir macros: {tables}"


def _value(value: object) -> str:
    text = macro_text(value) if isinstance(value, str | int | float) else repr(value)
    text = text if text.isprintable() else repr(text)
    return text if len(text) <= _LONGEST else text[:_LONGEST] + "..."


def _some(values: Sequence[str]) -> str:
    return ", ".join(values[:_SHOWN]) + (f", ... ({len(values)} values)" if len(values) > _SHOWN else "")


def _distance(macros: Mapping[str, Any], variant: Variant) -> tuple[float, float]:
    """Return how far a variant is from macros: how many differ, and by how much the values do."""
    own, differing, far = dict(variant), 0, 0.0
    for name in {*own, *macros}:
        if name not in own or name not in macros:
            differing += 1
        elif _value(own[name]) != _value(macros[name]):
            differing += 1
            far += _difference(_value(own[name]), _value(macros[name]))
    return differing, far


def _difference(first: str, second: str) -> float:
    """Return how much two values differ, from 0 to 1."""
    try:
        one, other = float(first), float(second)
    except ValueError:
        return 1 - SequenceMatcher(None, first, second).ratio()
    return abs(one - other) / (abs(one) + abs(other)) if one != other else 0.0
