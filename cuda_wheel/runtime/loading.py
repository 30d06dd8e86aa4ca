"""Load a module: find its files, choose an image for the GPU and driver, and pass it to the driver."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from .driver import device_and_driver, load_library
from .errors import DriverError, NoImageError, UnknownVariantError, has, need
from .files import ModuleFiles, files_and_manifest, read_image
from .manifest import Image, MacroValue, Manifest, Version, python_language
from .module import Module, once
from .rules import Resolution, resolve

if TYPE_CHECKING:
    from .jit import JitOptions

__all__ = ["load", "load_found", "load_ptx"]


def load(
    name: str,
    *,
    link: Sequence[Any] | None = None,
    device: int | None = None,
    jit: "JitOptions | None" = None,
    **variant: "MacroValue",
) -> Module:
    """Return the module with the dotted name `name`, loaded for a GPU of this machine.

    The GPU is number `device`, else the current context's, else number 0. Each image of a module is loaded once per
    process; no context is made, entered or left. `jit` has the options for compiling PTX on this machine, which happens
    if no machine code suits the GPU, and neither `jit` nor CUDA_WHEEL_JIT=error forbids it.

    `link` lists the pieces to link the module's relocatable images with: CUDA C++ or PTX text; PTX, LTO-IR, a cubin, a
    fatbin, an object or an archive as bytes; the path of a file with one of these; another module's dotted name; a
    `cuda.core.ObjectCode`; the result of `numba.cuda.compile`; or a `LinkInput`.

    `variant` are the macros of one of the module's variants: `load("demo.update", MATH_TYPE="double", NUM_MODES=4)`.
    All its macros are needed. If the module has `specialize = true` and a toolchain is installed, other values are
    compiled now.

    Raises UnknownVariantError if the module has no such variant, or has variants and none is named; ImageError if the
    module is missing or damaged; NoImageError if no image suits the GPU and driver; LinkError if the pieces cannot be
    linked; DriverError if there is no usable driver, or, with the compiler's log, if it cannot compile the PTX.
    """
    if link is not None:
        need("linking")
        from .parts.linking.link import load_linked  # only for links

        return load_linked(name, link, device, _options(jit), variant)
    try:
        files, manifest = files_and_manifest(name, device, variant, jit=jit)
    except UnknownVariantError as unknown:
        if not variant and (language := python_language(unknown.variants)):  # type: ignore[arg-type]
            need(language)
            from .parts.python_kernels.modules import load_kernels  # few modules have Python kernels

            return load_kernels(language, name, unknown.variants, load_found, device, jit)  # type: ignore
        if not has("specialize"):
            raise
        from .parts.specialize import specialized_variant  # rare

        files, manifest = specialized_variant(name, variant, device, unknown, jit)
    try:
        return load_found(files, manifest, device, jit)
    except DriverError as error:
        if has("suggestions"):
            from .parts.suggestions import with_damage  # only for an error

            error = with_damage(error, manifest.images, lambda image: read_image(files, manifest, image))
        raise error.with_traceback(None) from None  # without inner frames


def load_found(files: ModuleFiles, manifest: Manifest, device: int | None, jit: "JitOptions | None") -> Module:
    """Return the module with these files and this manifest, loaded; see `load`."""
    module = _load_found(files, manifest, device, jit)
    if manifest.specialize is not None and module.specialize is None and has("specialize"):
        from .parts.specialize import instances_of_wheel  # rare

        module.specialize = instances_of_wheel(load_found, device, jit)
    return module


def _chosen(manifest: Manifest, capability: Version, driver: Version, jit: Any) -> Resolution:
    """Return the best image for a GPU and driver, or why there is none."""
    # Nothing is better than machine code that runs for certain; from a compressed fatbin, the driver chooses itself.
    near = [each for each in manifest.images if each.target.real and each.target.major == capability[0]]
    resolution = resolve(manifest, capability, driver, images=near)
    if resolution.how != "native" or resolution.doubt or manifest.compression != "none":
        from .jit import forbidden_by  # rare

        resolution = resolve(manifest, capability, driver, forbidden=forbidden_by(jit))
    if (resolution.image is None or resolution.doubt) and has("nvjitlink"):
        from .parts.nvjitlink import nvjitlink_version  # rare

        resolution = resolve(manifest, capability, driver, nvjitlink_version(), resolution.forbidden)
    return resolution


def _load_found(files: ModuleFiles, manifest: Manifest, device: int | None, jit: "JitOptions | None") -> Module:
    capability, driver = device_and_driver(device)
    resolution = _chosen(manifest, capability, driver, jit)
    if files.split and resolution.how != "native":
        need("companions")
        from .parts.companions import best_of  # rare

        files, manifest, resolution = best_of(files, manifest, resolution, capability, driver)
    image, how = resolution.image, resolution.how
    if image is None or how is None:
        from .explanations import no_image_message  # only for an error

        raise NoImageError(no_image_message(manifest, resolution, capability, driver))
    options = None if how == "native" and manifest.specialize is None else _options(jit)
    key: tuple[Any, ...] = (manifest.name, files.digest, image.target)
    if options is not None:
        options.check()
        key = (*key, options, capability if how == "link" else None)

    def load_image() -> Module:
        code = read_image(files, manifest, image)
        if options is None or how == "native":
            return Module(manifest, image, how, load_library(code, lambda: f"loading {manifest.full_name}, {image}"))
        if how == "jit":
            return load_ptx(manifest, image, code, options)
        from .parts.nvjitlink import load_by_nvjitlink  # rare

        handle, compiled = load_by_nvjitlink(manifest, image, code, options, capability, driver)
        return Module(manifest, image, how, handle, compiled)

    if resolution.doubt is None:
        return once(key, load_image)

    need("trial")
    from .parts.trial import load_on_trial  # rare

    key = (*key, capability)  # what one GPU refuses, another may accept
    return once(key, lambda: load_on_trial(load_image, manifest, resolution, capability, driver, device))


def load_ptx(manifest: Manifest, image: Image, code: bytes, options: "JitOptions") -> Module:
    """Return the module that the driver compiles from PTX; raises DriverError with the compiler's log."""
    from .jit import compile_now, load_compiled  # only for PTX

    doing = f"compiling {manifest.full_name}, {image}"
    present = next((kernel.symbol for kernel in manifest.kernels if str(image.target) not in kernel.absent), None)
    handle, _, jit = load_compiled(code, doing, options, lambda handle: compile_now(handle, present, doing))
    return Module(manifest, image, "jit", handle, jit)


def _options(jit: "JitOptions | None") -> "JitOptions":
    from .jit import JitOptions  # only for PTX and links

    return JitOptions() if jit is None else jit
