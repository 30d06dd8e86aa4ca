"""Read a whole manifest and check every value, for builds and for commands that inspect a wheel without running it.

`cuda_wheel.runtime.manifest` checks less: a load trusts content that has the right SHA-256.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import Any

from cuda_wheel.runtime.errors import UnknownVariantError
from cuda_wheel.runtime.manifest import (
    BETWEEN,
    END,
    PARAMETERS,
    Image,
    KernelInfo,
    Macros,
    MacroValue,
    Manifest,
    ManifestFile,
    check_size,
    checked,
    count,
    damaged,
    parse_version,
    printable,
)
from cuda_wheel.runtime.parts.companions import Split, read_split
from cuda_wheel.runtime.parts.python_kernels.signatures import KINDS
from cuda_wheel.runtime.parts.variants import read_macros

__all__ = ["all_manifests", "digest_of", "manifest_of", "split_of"]

MOST_FIELDS = PARAMETERS
"""Maximum number of fields of a struct, including the fields of nested structs. It is the maximum size of a kernel's
parameters in bytes: a field takes at least one byte."""


def manifest_of(text: str | bytes, where: str, check: bool = True) -> Manifest:
    """Return the manifest of a module without variants from the content of its file, `text`.

    `where` names the file in messages. Raises ImageError if the text is not a manifest in this format, if a value is
    impossible or, unless `check` is False, if a part of the text does not have the SHA-256 that the text gives for it.
    Values are checked even if the SHA-256s are right, because an edit of a manifest can update these too. Raises
    UnknownVariantError for a module with variants.
    """
    file = _file_of_text(text, where, check)
    if () not in file.variants:
        raise UnknownVariantError(f"{where} has variants: name the macros of one")
    return _checked_manifest(file, ())


def all_manifests(text: str | bytes, where: str) -> tuple[Manifest, ...]:
    """Return the manifest of each variant from the content of a module's file; a single one without variants.

    `where` names the file in messages. Raises the ImageErrors of `manifest_of`, and ImageError if a variant appears
    twice or if the fatbins of two variants overlap.
    """
    file = _file_of_text(text, where, True)
    manifests = tuple(_checked_manifest(file, macros) for macros in file.variants)
    checked(where, lambda: _check_variants(manifests))
    return manifests


def split_of(text: str | bytes, where: str) -> Split | None:
    """Return what a manifest's file says about companions; None for a wheel that is not split. Raises ImageError."""
    file = _file_of_text(text, where, True)
    split = read_split(file.head.get("split"), where)
    checked(where, lambda: None if split is None else _check_split(split))
    return split


def digest_of(text: bytes, where: str) -> str:
    """Return the SHA-256 by which the manifest of a base names this manifest of a companion. Raises ImageError."""
    return _file_of_text(text, where, True).digest


def _check_split(split: Split) -> None:
    """Raise ValueError if what a manifest says about companions is impossible."""
    for text in (split.distribution, split.version, *(() if split.base is None else (split.base,))):
        _name(text)
    for each in split.companions:
        for text in (each.extra, each.distribution, each.package):
            _name(text)
        _check_sha256(each.sha256)
        if not each.targets:
            raise ValueError(f"{each.distribution} has machine code for nothing")
    _check_unique("companion", [each.package for each in split.companions])


def _file_of_text(text: str | bytes, where: str, check: bool) -> ManifestFile:
    content = text.encode(errors="surrogatepass") if isinstance(text, str) else text
    checked(where, lambda: check_size(len(content)))
    file = ManifestFile(lambda offset, size: content[offset : offset + size], where, check)
    checked(where, lambda: _check_file(file, content))
    return file


def _check_file(file: ManifestFile, content: bytes) -> None:
    """Raise ValueError or ImageError if a manifest file is malformed. `content` is the content of the whole file. After
    its head, it must contain exactly the blocks (parts of the kernel table) that the head lists."""
    _name(file.name)
    if not file.variants or len(file.variants) < len(file.head["variants"]):
        raise ValueError("a variant appears twice, or there is none")
    for _, _, digest in file.blocks:
        _check_sha256(digest)
    ends = [place + size for place, size, _ in file.blocks]
    if ends and len(content) < ends[-1] + len(END):
        raise ValueError(f"it ends after {len(content)} bytes")
    between = all(content[end : end + len(BETWEEN)] == BETWEEN for end in ends[:-1])
    if not (ends and between and content[ends[-1] :] == END):
        raise damaged(file.where)


def _checked_manifest(file: ManifestFile, macros: Macros) -> Manifest:
    checked(file.where, lambda: _check_structs(file.variants[macros]["structs"]))  # before they are compared
    manifest = file.manifest(macros)
    checked(file.where, lambda: _check(manifest))
    return manifest


def _check(manifest: Manifest) -> None:
    """Raise ValueError, TypeError or AttributeError if a value in a manifest is impossible."""
    texts = [*manifest.toolchain.items(), manifest.sources, manifest.options, manifest.host_code]
    for text in [each for some in texts for each in some]:
        _name(text)
    parse_version(manifest.toolchain["nvrtc"])
    _check_sha256(manifest.fatbin_sha256)
    if manifest.long_size is not None:
        count(manifest.long_size)
    read_macros(dict(manifest.variant))
    if manifest.specialize is not None:
        count(manifest.specialize.offset)
        count(manifest.specialize.size)
        _check_sha256(manifest.specialize.sha256)
    for image in manifest.images:
        _check_image(image)
    for external in manifest.extern:
        _check_symbol(external.symbol)
        for text in (external.name, external.declaration):
            _name(text)
    for kernel in manifest.kernels:
        _check_kernel(kernel, {str(image.target) for image in manifest.images})
    for variable in manifest.globals:
        if variable.space not in ("global", "constant", "managed"):
            raise ValueError(f"a variable has the memory space {variable.space!r}")
        _name(variable.name)
        _check_symbol(variable.symbol)
    _check_images(manifest)
    _check_unique("symbol", [info.symbol for info in manifest.kernels])
    _check_unique("symbol", [info.symbol for info in manifest.globals])


def _check_variants(manifests: Sequence[Manifest]) -> None:
    """Raise ValueError if the manifests cannot be those of all variants of one module, whose fatbins follow each other
    in one file."""
    end = 0
    for manifest in manifests:
        if not manifest.variant and len(manifests) > 1:
            raise ValueError("one of several variants has no macros")
        if manifest.fatbin_offset < end or manifest.fatbin != manifests[0].fatbin:
            raise ValueError(f"the fatbin of {manifest.full_name} does not follow the one before it")
        end = manifest.fatbin_offset + manifest.fatbin_size


def _check_image(image: Image) -> None:
    _check_sha256(image.sha256)
    if image.source is not None:
        _name(image.source)
    if image.host and (image.kind != "cubin" or image.source is not None):
        raise ValueError(f"{image} cannot have code for a host")
    if (image.ptx_version is None) != (image.kind != "ptx"):
        raise ValueError(f"{image} has the PTX version {image.ptx_version}")
    if image.kind == "ltoir" and image.source is None:
        raise ValueError(f"{image} has no source, but LTO-IR must be linked")
    for symbol, figures in image.resources.items():
        _name(symbol)
        if not "".join(figures).isprintable():
            raise ValueError(f"{figures!r} has names that are not printable")
        for figure in figures.values():
            count(figure)


def _check_kernel(kernel: KernelInfo, targets: set[str]) -> None:
    _name(kernel.name)
    _check_symbol(kernel.symbol)
    for each in kernel.parameters:
        _name(each.type)
        if each.struct is not None and each.struct.size != each.size:
            raise ValueError(f"a parameter of {each.size} bytes is a struct of {each.struct.size}")
    for name, kind, default in kernel.python:
        if not _name(name).isidentifier() or kind not in KINDS or not isinstance(default, MacroValue | None):
            raise ValueError(
                f"{kernel.name} has a parameter {name!r} of the kind {kind!r} with the default {default!r}"
            )
    if not targets.issuperset(map(_name, kernel.absent)):
        raise ValueError(f"{kernel.name} is absent from {', '.join(kernel.absent)}, but not all are images here")


def _check_structs(structs: Mapping[str, Any]) -> None:
    """Raise ValueError, LookupError or TypeError if a struct is impossible, such as one that contains itself. `structs`
    is key -> JSON object of a struct. A field that is a struct contains its struct's key."""
    waiting, sizes, totals = dict(structs), dict[str, int](), dict[str, int]()

    def check(key: str) -> int:
        """Check a struct and the structs among its fields, and return its size in bytes.

        Raises KeyError if the struct contains itself.
        """
        if key not in sizes:
            item = waiting.pop(key)
            _name(item["name"])
            size = count(item["size"], 1)
            for field in item["fields"]:
                _check_field(field, check(field["struct"]) if "struct" in field else None, size)
            totals[key] = sum(totals[each["struct"]] if "struct" in each else 1 for each in item["fields"])
            if totals[key] > MOST_FIELDS:  # whoever expands them would need too long
                raise ValueError(f"the struct {item['name']} has {totals[key]} fields with those of its structs")
            sizes[key] = size
        return sizes[key]

    while waiting:
        check(next(iter(waiting)))


def _check_field(field: Mapping[str, Any], struct: int | None, size: int) -> None:
    """Raise ValueError if a field cannot be in a struct of `size` bytes. `field` is the field's JSON object.

    `struct` is None for a number or an array of numbers. For a struct or an array of structs, it is the size of one of
    these structs in bytes.
    """
    if struct is None:
        if field["type"] not in ("?", "f2", "f4", "f8", *(f"{sign}{size}" for sign in "iu" for size in "1248")):
            raise ValueError(f"{field['type']!r} is not the type of a field")
        struct = int(field["type"][1:] or 1)
    shape = [count(length, 1) for length in field.get("shape", [])]
    if len(shape) > 32:  # NumPy's limit
        raise ValueError(f"a field has {len(shape)} dimensions")
    end = count(field["offset"]) + struct * prod(shape)
    if end > size:
        raise ValueError(f"the field {_name(field['name'])} ends at {end} in a struct of {size} bytes")
    _name(field["name"])


def _name(value: object) -> str:
    """Return `value` if it is a printable string that is not empty; raise ValueError otherwise."""
    if not value:
        raise ValueError(f"{value!r} is not a printable string")
    return printable(value)


_SYMBOL_CHARACTERS = str.maketrans("$%.", "___")


def _check_symbol(value: object) -> None:
    """Raise ValueError if a value cannot be the symbol of a kernel or variable. Dots are allowed, because compilers
    other than NVRTC write them. Source: PTX ISA, "Identifiers"."""
    text = _name(value)
    if not text.isascii() or not text.translate(_SYMBOL_CHARACTERS).isidentifier():
        raise ValueError(f"{value!r} is not a symbol")


def _check_sha256(value: object) -> None:
    if not isinstance(value, str) or len(value) != 64 or value.strip("0123456789abcdef"):
        raise ValueError(f"{value!r} is not a SHA-256")


def _check_images(manifest: Manifest) -> None:
    """Raise ValueError if the images of a manifest cannot be in one fatbin: two images have the same kind, target and
    source; images overlap; or the compression contradicts the images' offsets."""
    images = manifest.images
    _check_unique("image", [(image.kind, image.target, image.source, image.host) for image in images])
    places = {(image.offset, image.size, image.sha256) for image in images if image.offset is not None}
    if places and any(image.offset is None for image in images):
        raise ValueError("some images have an offset in the fatbin, others have none")
    if manifest.compression not in (("none",) if places or not images else ("lz4", "zstd")):
        raise ValueError(f"the compression of {len(places)} images with an offset is {manifest.compression!r}")
    end = 0
    for start, size, _ in sorted(places):  # images with the same bytes have the same place
        if start < end or start + size > manifest.fatbin_size:
            raise ValueError(
                f"an image of {size} bytes starts at {start}, where the one before ends at {end} and the fatbin at "
                f"{manifest.fatbin_size}"
            )
        end = start + size


def _check_unique(what: str, values: Sequence[object]) -> None:
    if len(set(values)) < len(values):
        repeated = next(each for each in values if values.count(each) > 1)
        raise ValueError(f"the {what} {repeated!r} appears twice")
