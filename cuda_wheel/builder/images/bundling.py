"""Pack a module's images into a fatbin with nvFatbin. Runs in workers only."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence

from cuda_wheel.builder.errors import ToolchainError
from cuda_wheel.builder.jobs import BundleRequest, Content, Fatbin
from cuda_wheel.builder.timing import phase
from cuda_wheel.runtime.manifest import Compression
from cuda_wheel.runtime.parts.cuda_libraries import open_library
from cuda_wheel.runtime.parts.formats.fatbin import compression_of

__all__ = ["bundle", "make_fatbin"]

# Without -compress-all, the modes "speed" and "balance" compress only PTX. nvFatbin's mode "default" is not used: it
# means "speed" in nvFatbin 12.9, and "balance" in 13.5.
_OPTIONS = {
    "none": ["-compress=false"],
    "speed": ["-compress-mode=speed", "-compress-all"],
    "balance": ["-compress-mode=balance", "-compress-all"],
    "size": ["-compress-mode=size"],
}
"""Value of the setting `compress` -> options of nvFatbin for this compression."""

_HOST = "-host=linux"
"""nvFatbin would mark each entry with the system that it runs on itself (flag 0x10 for Linux, 0x40 for Windows). With
one mark, the same sources give the same bytes everywhere. The driver sees it in compressed fatbins only; of others, the
loader passes the image alone."""


@phase("bundling")
def bundle(request: BundleRequest) -> Fatbin:
    """Return the fatbin of a module's images, with the byte offset of each image in it; None where compression hides
    the image.

    Raises ToolchainError if nvFatbin is not installed, fails, or changes an image.
    """
    name, images, compress = request
    try:
        fatbin = make_fatbin(images, _OPTIONS[compress])
    except ToolchainError as error:
        raise ToolchainError(f"{name} cannot be bundled: {error}") from error
    # It decides which drivers can read the fatbin.
    compression = _compression(request, fatbin)
    if compress != "none":
        return Fatbin(fatbin, (None,) * len(images), compression)
    offsets = []
    for (kind, arch, content), _ in images:
        offset = fatbin.find(content)
        if offset < 0:
            raise ToolchainError(
                f"nvFatbin changed the {kind} of {name} for {arch}: internal error in cuda-wheel; please report it"
            )
        offsets.append(offset)
    return Fatbin(fatbin, tuple(offsets), compression)


def make_fatbin(images: Sequence[tuple[Content, str]], options: Sequence[str]) -> bytes:
    """Return the fatbin that nvFatbin makes of images with `options`; each image is its content and its name in the
    fatbin.

    Raises ToolchainError if nvFatbin is not installed or fails.
    """
    library = open_library("nvfatbin")
    if library is None:
        raise ToolchainError("nvFatbin is not installed")
    library.nvFatbinGetErrorString.restype = ctypes.c_char_p

    def check(status: int) -> None:
        if status:
            raise ToolchainError(f"nvFatbin: {library.nvFatbinGetErrorString(status).decode(errors='replace')}")

    options = [_HOST, *options]
    arguments = (ctypes.c_char_p * len(options))(*(option.encode() for option in options))
    handle, size = ctypes.c_void_p(), ctypes.c_size_t()
    check(library.nvFatbinCreate(ctypes.byref(handle), arguments, ctypes.c_size_t(len(options))))
    try:
        for (kind, arch, content), name in images:
            code = content + b"\0" if kind == "ptx" else content
            image = (code, ctypes.c_size_t(len(code)), arch.encode(), name.encode())
            if kind == "cubin":
                check(library.nvFatbinAddCubin(handle, *image))
            else:
                add = library.nvFatbinAddLTOIR if kind == "ltoir" else library.nvFatbinAddPTX
                check(add(handle, *image, b""))
        check(library.nvFatbinSize(handle, ctypes.byref(size)))
        fatbin = ctypes.create_string_buffer(size.value)
        check(library.nvFatbinGet(handle, fatbin))
        return fatbin.raw
    finally:
        library.nvFatbinDestroy(ctypes.byref(handle))


def _compression(request: BundleRequest, fatbin: bytes) -> Compression:
    """Return the compression that nvFatbin used in `fatbin`.

    Raises ToolchainError if the fatbin cannot be read, if images are compressed although `request` asks for "none", or
    if images are not compressed although it asks for compression.
    """
    name, images, compress = request
    try:
        compression = compression_of(fatbin)
    except ValueError as error:
        raise ToolchainError(f"nvFatbin's fatbin of {name} cannot be read: {error}") from error
    if images and (compression == "none") != (compress == "none"):
        raise ToolchainError(
            f'compress = "{compress}" made a fatbin of {name} with the compression "{compression}": '
            "internal error in cuda-wheel; please report it"
        )
    return compression
