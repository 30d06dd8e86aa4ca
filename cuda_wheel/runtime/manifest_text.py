"""Write manifests. Only builds, links and the command line need this; loading reads manifests only."""

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from .digest import sha256_of
from .manifest import BLOCK, dotted, folded

if TYPE_CHECKING:
    from collections.abc import Iterable

    from .manifest import Image, Manifest, Parameter, Struct

__all__ = ["image_to_json", "manifests_to_json"]

LONG = 2 * BLOCK
"""The kernels of a manifest with more characters are put into blocks."""


def manifests_to_json(manifests: "Sequence[Manifest]") -> str:
    """Return the text of a module's file: the manifest of a module, or the index of all its variants.

    In an index, what is the same for all variants stands once, beside the list of the variants, each of which is one
    line with the rest.
    """
    if not manifests[0].variant:
        document = _document(manifests[0])
        text = _signed(document | {"format": 1}, "")
        many = len(text) > LONG and folded(document, [info.short_name for info in manifests[0].kernels], len(text))
        return many or text
    documents = [_document(each) | {"variant": dict(each.variant)} for each in manifests]
    shared = {key: value for key, value in documents[0].items() if _is_shared(key, value, documents)}
    records = [{key: value for key, value in each.items() if key not in shared} for each in documents]
    lines = ",\n".join(f"  {json.dumps(each, sort_keys=True, ensure_ascii=False)}" for each in records)
    return _signed(shared | {"format": 2, "variants": []}, f"[\n{lines}\n ]")


def _is_shared(key: str, value: object, documents: Sequence[Mapping[str, Any]]) -> bool:
    return key not in ("variant", "fatbin") and all(key in each and each[key] == value for each in documents)


def _signed(document: dict[str, Any], variants: str) -> str:
    """Return the text of a document with its SHA-256, and with the text of the list of variants."""
    # One space of indentation: the outermost object's keys.
    text = json.dumps(document | {"sha256": ""}, indent=1, sort_keys=True, ensure_ascii=False) + "\n"
    if variants:
        text = text.replace('\n "variants": []', f'\n "variants": {variants}')
    return text.replace('\n "sha256": ""', f'\n "sha256": "{sha256_of(text.encode())}"')


def _document(manifest: "Manifest") -> dict[str, Any]:
    """Return a manifest as a JSON object, without its format, SHA-256 and variant."""
    structs = _struct_keys(parameter.struct for kernel in manifest.kernels for parameter in kernel.parameters)
    return {
        "name": manifest.name,
        "fatbin": {
            "file": manifest.fatbin,
            "size": manifest.fatbin_size,
            "sha256": manifest.fatbin_sha256,
            "compression": manifest.compression,
            **({"offset": manifest.fatbin_offset} if manifest.variant else {}),
        },
        "toolchain": dict(manifest.toolchain),
        "sources": manifest.sources,
        "options": manifest.options,
        "host_code": manifest.host_code,
        "images": [image_to_json(image) for image in manifest.images],
        "kernels": [
            kernel._asdict() | {"parameters": [_parameter_to_json(each, structs) for each in kernel.parameters]}
            for kernel in manifest.kernels
        ],
        **({"structs": {structs[each]: _struct_to_json(each, structs) for each in structs}} if structs else {}),
        "globals": [variable._asdict() for variable in manifest.globals],
        "extern": [external._asdict() for external in manifest.extern],
        "long_size": manifest.long_size,
        **({"specialize": manifest.specialize._asdict()} if manifest.specialize is not None else {}),
    }


def _struct_keys(structs: "Iterable[Struct | None]") -> "dict[Struct, str]":
    """Return the key of each struct, and of those in its fields: its name, with a number if others have that name."""
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


def _parameter_to_json(parameter: "Parameter", structs: "Mapping[Struct, str]") -> dict[str, Any]:
    document = {name: value for name, value in parameter._asdict().items() if name not in ("name", "struct")}
    document |= {"name": parameter.name} if parameter.name else {}
    return document | ({"struct": structs[parameter.struct]} if parameter.struct else {})


def _struct_to_json(struct: "Struct", structs: "Mapping[Struct, str]") -> dict[str, Any]:
    fields = [
        {"name": field.name, "offset": field.offset}
        | ({"struct": structs[field.struct]} if field.struct else {"type": field.type})
        | ({"shape": field.shape} if field.shape else {})
        for field in struct.fields
    ]
    return {"name": struct.name, "size": struct.size, "fields": fields}


def image_to_json(image: "Image") -> dict[str, Any]:
    """Return an image as the JSON object in manifests and in the output of `cuda-wheel inspect --json`."""
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
    }
