"""Pack a module's images into a fatbin with nvFatbin. Runs in workers only."""

from __future__ import annotations

from cuda_wheel.builder.errors import ToolchainError
from cuda_wheel.builder.jobs import Bundle, Bundled
from cuda_wheel.builder.timing import phase

__all__ = ["bundle"]


@phase("bundling")
def bundle(request: Bundle) -> Bundled:
    """Return the fatbin of a module's images, with the offset of each image in it."""
    from cuda.bindings import nvfatbin

    options = ["-compress-mode=size"] if request.compress == "size" else ["-compress=false"]
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
    if request.compress != "none":
        return Bundled(bytes(fatbin), (None,) * len(request.images))
    offsets = []
    for (kind, arch, content), _ in request.images:
        offset = fatbin.find(content)
        if offset < 0:
            raise ToolchainError(
                f"nvFatbin changed the {kind} of {request.name} for {arch}: internal error in cuda-wheel; "
                "please report it"
            )
        offsets.append(offset)
    return Bundled(bytes(fatbin), tuple(offsets))
