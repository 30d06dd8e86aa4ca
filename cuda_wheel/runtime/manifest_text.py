"""Write manifests. Only builds, links and the command line need this; loading reads manifests only."""

import json
from typing import TYPE_CHECKING, Any

from .digest import sha256_of
from .versions import FORMAT, dotted

if TYPE_CHECKING:
    from .manifest import Image, Manifest

__all__ = ["image_to_json", "manifest_to_json"]


def manifest_to_json(manifest: "Manifest") -> str:
    """Return the text of a manifest's file; see `Manifest.to_json`."""
    document = {
        "format": FORMAT,
        "name": manifest.name,
        "fatbin": {
            "file": manifest.fatbin,
            "size": manifest.fatbin_size,
            "sha256": manifest.fatbin_sha256,
            "compression": manifest.compression,
        },
        "toolchain": dict(manifest.toolchain),
        "sources": manifest.sources,
        "options": manifest.options,
        "host_code": manifest.host_code,
        "images": [image_to_json(image) for image in manifest.images],
        "kernels": [
            kernel._asdict() | {"parameters": [parameter._asdict() for parameter in kernel.parameters]}
            for kernel in manifest.kernels
        ],
        "globals": [variable._asdict() for variable in manifest.globals],
        "extern": [external._asdict() for external in manifest.extern],
        "long_size": manifest.long_size,
        "sha256": "",
    }
    text = json.dumps(document, indent=1, sort_keys=True, ensure_ascii=False) + "\n"
    # One space of indentation: the outermost object's key.
    return text.replace('\n "sha256": ""', f'\n "sha256": "{sha256_of(text.encode())}"')


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
