"""Load a module: find its files, choose an image for the GPU and driver, and give it to the driver."""

from collections.abc import Sequence
from typing import Any

from .driver import device_and_driver, load_library
from .errors import NoImageError
from .files import files_and_manifest, read_image
from .jit import JitOptions, load_linked_ptx, load_ptx
from .module import Module
from .nvjitlink import nvjitlink_version
from .registry import once
from .rules import no_image_message, resolve

__all__ = [
    "load",
]


def load(
    name: str,
    *,
    link: Sequence[Any] | None = None,
    device: int | None = None,
    jit: JitOptions = JitOptions(),  # noqa: B008 - immutable
) -> Module:
    """Return the module of the dotted name `name`, loaded for a GPU of this machine.

    The GPU is number `device`, else the current context's, else number 0. A module loads once per process and
    image, however often this is called; no context is made, entered or left. `jit` matters where no machine code
    suits the GPU, so that PTX is compiled here.

    `link` are the pieces that the module's relocatable images are linked with: CUDA C++ or PTX text; PTX, LTO-IR, a
    cubin, a fatbin, an object or an archive as bytes; the path of any of these; the dotted name of another package's
    module; a `cuda.core.ObjectCode`; what `numba.cuda.compile` returns; or a `Piece`. `Module.link` says how it went.

    Raises ImageError where the module is not installed or damaged, NoImageError where no image suits the GPU
    and driver, LinkError where the pieces do not link, DriverError where there is no usable driver or it cannot compile
    the PTX; its message holds the compiler's log.
    """
    if link is not None:
        from .linking.link import load_linked

        return load_linked(name, link, device, jit)
    files, manifest = files_and_manifest(name, device)
    capability, driver_version = device_and_driver(device)
    resolution = resolve(manifest, capability, driver_version)
    if resolution.image is None:
        # Only now look for nvJitLink: nearly nobody needs it, and finding it is not free.
        resolution = resolve(manifest, capability, driver_version, nvjitlink_version())
    image, how = resolution.image, resolution.how
    if image is None or how is None:
        raise NoImageError(no_image_message(manifest, resolution, capability, driver_version))
    if how != "native":
        jit.check()
    key = name, image.sha256, None if how == "native" else jit, capability if how == "link" else None

    def make() -> Module:
        code = read_image(files, manifest, image)
        if how == "native":
            return Module(manifest, image, how, load_library(code, f"loading {name}, {image}"))
        if how == "jit":
            return load_ptx(manifest, image, code, jit)
        return load_linked_ptx(manifest, image, code, jit, capability, driver_version)

    return once(key, make)
