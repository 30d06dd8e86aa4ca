"""Write the text of a manifest's file; `cuda_wheel.runtime.manifest` reads it.

A manifest is one JSON object of UTF-8, in lines:

    {"format": 4, "cuda_wheel": "0.1.0", "size": 812, "sha256": "...", "module":
    {...}
    , "kernels": [
    [...],
    [...]
    ]}

- The first line has the format number, the version of cuda-wheel that wrote the file, the size of the second line in
  bytes, and the SHA-256 of the first three lines, computed with an empty string as its value.
- The second line, the head, describes the module without its kernels: "blocks" has the size and SHA-256 of each block
  (see below), and "variants" has what differs between the variants. What is the same for all stands once, beside
  "variants". A module without variants is written as one variant that has no macros.
- Each other line, a block, is a list of kernels. A kernel has its place among the variant's kernels ("index") and its
  resources in each image. A variant with few kernels has one block. A variant with many has several; the hash of a
  kernel's short name decides its block, so that a program reads only the blocks of the kernels that it asks for.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from cuda_wheel import __version__
from cuda_wheel.runtime.manifest import FORMAT, Image, KernelInfo, Manifest, Parameter, dotted, sha256_of
from cuda_wheel.runtime.parts.companions import Split
from cuda_wheel.runtime.parts.dtypes import Struct
from cuda_wheel.runtime.parts.many_kernels import block_number

__all__ = ["image_to_json", "manifest_text", "manifest_to_json", "split_to_json"]

BLOCK = 1 << 13
"""Approximate size in bytes of a block (a line of a manifest file that lists kernels), if a variant of a module has
several blocks."""

FEW = 2 * BLOCK
"""Limit for the total size in bytes of a variant's kernels, as JSON. Up to this limit, they are written as one block
(one line). Above it, they are divided into several blocks, unless `_share_names` returns True."""

_NEVER_SHARED = ("macros", "fatbin", "kernels")
"""Keys of a variant's JSON object that are written for each variant, even if all variants have the same value."""


def manifest_text(*manifests: Manifest, split: Split | None = None) -> str:
    """Return the text of a module's manifest file, from the manifests of its variants, or from that of a module without
    variants.

    `split` says which companions have the module's machine code, or, in a companion, which base it belongs to; None for
    a wheel that is not split. Equal manifests give equal text on every machine.
    """
    numbers: dict[str, int] = {}  # equal blocks of two variants stand once
    records = []
    for manifest in manifests:
        document = manifest_to_json(manifest)
        blocks = [numbers.setdefault(block, len(numbers)) for block in _blocks(document, manifest)]
        record = {key: value for key, value in document.items() if key != "images"}
        record["images"] = _without_kernels(document["images"], manifest)
        record["kernels"] = {"count": len(manifest.kernels), "blocks": blocks}
        records.append(record)
    shared = {
        key: value
        for key, value in records[0].items()
        if key not in _NEVER_SHARED and all(each[key] == value for each in records)
    }
    own = [{key: value for key, value in each.items() if key not in shared} for each in records]
    sizes = [[len(block.encode()), sha256_of(block.encode())] for block in numbers]
    companions = {} if split is None else {"split": split_to_json(split)}
    head = _line({**shared, **companions, "variants": own, "blocks": sizes})
    return _signed(head) + ",\n".join(numbers) + "\n]}\n"


def _signed(head: str) -> str:
    """Return the beginning of a manifest file, up to its first block (line with kernels).

    `head` is the text of the file's second line. The first line contains the SHA-256 of the returned text, computed
    with "" in the place of the hash.
    """
    first = {"format": FORMAT, "cuda_wheel": __version__, "size": len(head.encode()), "sha256": ""}
    before, after = json.dumps(first)[:-2], f'", "module":\n{head}\n, "kernels": [\n'
    return before + sha256_of((before + after).encode()) + after


def _blocks(document: Mapping[str, Any], manifest: Manifest) -> list[str]:
    """Return the blocks of a variant. Each block is a line of the manifest file: a JSON list of kernels. `document` is
    the JSON object that `manifest_to_json` makes of `manifest`."""
    resources = [image["resources"] for image in document["images"]]
    rows = [
        kernel | {"index": index, "resources": [each.get(kernel["symbol"]) for each in resources]}
        for index, kernel in enumerate(document["kernels"])
    ]
    names = [info.short_name for info in manifest.kernels]
    size = sum(len(_line(row)) for row in rows)
    count = 1 if size <= FEW or _share_names(manifest, names) else -(-size // BLOCK)
    blocks: list[list[dict[str, Any]]] = [[] for _ in range(count)]
    for row, name in zip(rows, names, strict=True):
        blocks[block_number(name, count)].append(row)
    return list(map(_line, blocks))


def _share_names(manifest: Manifest, names: list[str]) -> bool:
    """Return whether the symbol of a kernel equals the short name of another kernel. If so, all kernels of the variant
    must be written as one block (line of the manifest file).

    `names` are the short names of the manifest's kernels, in order.
    """
    # A look-up of a name reads only the block to which the name belongs as a short name, and would miss a kernel with
    # this symbol in another block.
    known = set(names)
    return any(info.symbol != name and info.symbol in known for info, name in zip(manifest.kernels, names, strict=True))


def _without_kernels(images: Iterable[Mapping[str, Any]], manifest: Manifest) -> list[dict[str, Any]]:
    """Return the JSON objects of images without the resources of the manifest's kernels. The blocks (lines with
    kernels) of the manifest file contain those resources."""
    symbols = {kernel.symbol for kernel in manifest.kernels}
    return [
        {**image, "resources": {key: value for key, value in image["resources"].items() if key not in symbols}}
        for image in images
    ]


def _line(value: object) -> str:
    return json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"))


def manifest_to_json(manifest: Manifest) -> dict[str, Any]:
    """Return a manifest as one JSON object, in which "kernels" lists all kernels, and each image has the resources of
    its kernels."""
    structs = _struct_keys(parameter.struct for kernel in manifest.kernels for parameter in kernel.parameters)
    return {
        "name": manifest.name,
        "macros": dict(manifest.variant),
        "fatbin": {
            "file": manifest.fatbin,
            "offset": manifest.fatbin_offset,
            "size": manifest.fatbin_size,
            "sha256": manifest.fatbin_sha256,
            "compression": manifest.compression,
        },
        "toolchain": dict(manifest.toolchain),
        "sources": list(manifest.sources),
        "options": list(manifest.options),
        "host_code": list(manifest.host_code),
        "images": [image_to_json(image) for image in manifest.images],
        "kernels": [_kernel_to_json(kernel, structs) for kernel in manifest.kernels],
        "structs": {structs[each]: _struct_to_json(each, structs) for each in structs},
        "globals": [variable._asdict() for variable in manifest.globals],
        "extern": [external._asdict() for external in manifest.extern],
        "long_size": manifest.long_size,
        "specialize": manifest.specialize and manifest.specialize._asdict(),
    }


def _kernel_to_json(kernel: KernelInfo, structs: Mapping[Struct, str]) -> dict[str, Any]:
    document = {key: value for key, value in kernel._asdict().items() if key != "python" or value}
    parameters = [_parameter_to_json(each, structs) for each in kernel.parameters]
    return document | {"parameters": parameters, "absent": list(kernel.absent)}


def split_to_json(split: Split) -> dict[str, Any]:
    """Return what a manifest says about companions, as a JSON object."""
    companions = [
        {**each._asdict(), "targets": list(map(str, each.targets)), "driver": dotted(each.driver)}
        for each in split.companions
    ]
    return {**split._asdict(), "companions": companions}


def _struct_keys(structs: Iterable[Struct | None]) -> dict[Struct, str]:
    """Return struct -> its key in the manifest, for `structs` and for the structs in their fields at any depth.

    The key is the struct's name. If different structs have the same name, a number is added: "Pair", "Pair #2". None
    among `structs` is ignored.
    """
    found: dict[Struct, str] = {}
    keys = set()
    stack = [struct for struct in structs if struct]
    while stack:
        struct = stack.pop()
        if struct in found:
            continue
        key, number = struct.name, 1
        while key in keys:
            number += 1
            key = f"{struct.name} #{number}"
        keys.add(key)
        found[struct] = key
        stack += [field.struct for field in struct.fields if field.struct]
    return found


def _parameter_to_json(parameter: Parameter, structs: Mapping[Struct, str]) -> dict[str, Any]:
    document = {name: value for name, value in parameter._asdict().items() if name not in ("name", "struct")}
    document |= {"name": parameter.name} if parameter.name else {}
    return document | ({"struct": structs[parameter.struct]} if parameter.struct else {})


def _struct_to_json(struct: Struct, structs: Mapping[Struct, str]) -> dict[str, Any]:
    fields = [
        {"name": field.name, "offset": field.offset}
        | ({"struct": structs[field.struct]} if field.struct else {"type": field.type})
        | ({"shape": list(field.shape)} if field.shape else {})
        for field in struct.fields
    ]
    return {"name": struct.name, "size": struct.size, "fields": fields}


def image_to_json(image: Image) -> dict[str, Any]:
    """Return an image as a JSON object, as in manifests and in the output of `cuda-wheel inspect --json`."""
    return {
        "kind": image.kind,
        "target": str(image.target),
        "ptx_version": image.ptx_version and dotted(image.ptx_version),
        "ptx_version_compiled": image.ptx_version_compiled and dotted(image.ptx_version_compiled),
        "driver": dotted(image.driver),
        "offset": image.offset,
        "size": image.size,
        "sha256": image.sha256,
        "resources": {symbol: dict(figures) for symbol, figures in image.resources.items()},
        "source": image.source,
        **({"host": image.host} if image.host else {}),
    }
