"""Pack a module's images into a fatbin with nvFatbin. Runs in workers only."""

from __future__ import annotations

from cuda_wheel.builder.errors import ToolchainError
from cuda_wheel.builder.jobs import Bundle, Bundled
from cuda_wheel.builder.timing import phase
from cuda_wheel.runtime.formats.fatbin import compression_of
from cuda_wheel.runtime.manifest import Compression

__all__ = ["bundle"]

_OPTIONS = {
    "none": ["-compress=false"],
    "speed": ["-compress-mode=speed", "-compress-all"],
    "balance": ["-compress-mode=balance", "-compress-all"],
    "size": ["-compress-mode=size"],
}
"""nvFatbin's options for each value of `compress`. Without -compress-all, "speed" and "balance" compress only PTX. The
mode "default" is left out: it is "speed" for nvFatbin 12.9, and "balance" for 13.5."""


@phase("bundling")
def bundle(request: Bundle) -> Bundled:
    """Return the fatbin of a module's images, with the offset of each image in it."""
    from cuda.bindings import nvfatbin

    options = _OPTIONS[request.compress]
    handle = nvfatbin.create(options, len(options))
    try:
        for (kind, arch, content), name in request.images:
            if kind == "cubin":
                nvfatbin.add_cubin(handle, content, len(content), arch, name)
            elif kind == "ltoir":
                nvfatbin.add_ltoir(handle, content, len(content), arch, name, "")
            else:
                nvfatbin.add_ptx(handle, content + b"\0", len(content) + 1, arch, name, "")
        fatbin = bytearray(nvfatbin.size(handle))
        nvfatbin.get(handle, fatbin)
    except nvfatbin.nvFatbinError as error:
        raise ToolchainError(f"nvFatbin cannot bundle {request.name}: {error}") from error
    finally:
        nvfatbin.destroy(handle)
    compression = _compression(request, bytes(fatbin))
    if request.compress != "none":
        return Bundled(bytes(fatbin), (None,) * len(request.images), compression)
    offsets = []
    for (kind, arch, content), _ in request.images:
        offset = fatbin.find(content)
        if offset < 0:
            raise ToolchainError(
                f"nvFatbin changed the {kind} of {request.name} for {arch}: internal error in cuda-wheel; "
                "please report it"
            )
        offsets.append(offset)
    return Bundled(bytes(fatbin), tuple(offsets), compression)


def _compression(request: Bundle, fatbin: bytes) -> Compression:
    """Return how nvFatbin compressed a fatbin, which decides the drivers that read it. Raises ToolchainError."""
    try:
        compression = compression_of(fatbin)
    except ValueError as error:
        raise ToolchainError(f"nvFatbin's fatbin of {request.name} cannot be read: {error}") from error
    if request.images and (compression == "none") != (request.compress == "none"):
        raise ToolchainError(
            f'compress = "{request.compress}" made a fatbin of {request.name} with the compression "{compression}": '
            "internal error in cuda-wheel; please report it"
        )
    return compression
