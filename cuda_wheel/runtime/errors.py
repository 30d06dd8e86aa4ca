"""The errors of loading, linking and launching; the parts that this copy of the loader has; its switches."""

import os
import sys

__all__ = [
    "PARTS",
    "ArgumentError",
    "CudaWheelError",
    "DriverError",
    "ImageError",
    "LinkError",
    "NoImageError",
    "UnknownGlobalError",
    "UnknownKernelError",
    "UnknownVariantError",
    "describe_error",
    "has",
    "is_frozen",
    "need",
    "switch",
    "to_add",
]


class CudaWheelError(Exception):
    """Base class of every error that cuda-wheel raises on purpose."""


class ImageError(CudaWheelError):
    """A module's manifest or images are missing, damaged or in an unknown format."""


class NoImageError(ImageError):
    """No image of a module suits the GPU and driver; the message lists every image and its reason."""


class LinkError(ImageError):
    """Pieces cannot be linked: one is damaged or for another GPU, a symbol is undefined or defined twice, or no linker
    on this machine accepts them all."""


class UnknownKernelError(ImageError, KeyError):
    """A module has no kernel of the given name."""

    __str__ = Exception.__str__  # KeyError would print the repr of the message


class UnknownVariantError(ImageError):
    """A module has no variant with the given macros, or has variants and none was chosen."""

    variants: "tuple[tuple[tuple[str, object], ...], ...]" = ()
    """The macros of each variant: ((("N", 4),), (("N", 8),)); () without variants, or without the part `variants`."""


class UnknownGlobalError(ImageError, KeyError):
    """A module has no variable of the given name."""

    __str__ = Exception.__str__


class ArgumentError(CudaWheelError, TypeError):
    """The arguments or the configuration of a launch do not fit the kernel; nothing was launched."""


class DriverError(CudaWheelError):
    """The CUDA driver is missing, finds no GPU, or returned an error."""


def describe_error(error: BaseException) -> str:
    """Return an exception's type and message."""
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__


PARTS = {
    "array-protocols": "arrays of other libraries than PyTorch and CuPy, by DLPack or the CUDA array interface",
    "attach": "attach: kernels as attributes of their package",
    "bind": "Kernel.bind",
    "by-value": "kernel parameters by value that are accessors of tensors, std::array or bfloat16",
    "companions": "machine code in companion packages: split",
    "compile-log": "Jit.registers, Jit.spills",
    "formats": "checks of images without SHA-256: CUDA_WHEEL_VERIFY=off",
    "importers": "packages not in folders: zip archives, frozen applications without data files",
    "instance-names": 'template instances in another spelling: module["gemm<c10::Half, 16u>"] for gemm<__half, 16>',
    "launch-attributes": "launches with cooperative, cluster, programmatic, priority and other attributes",
    "linking": "linking on the user's machine: load(..., link=[...]), link, load_code",
    "many-kernels": "modules with so many kernels that each is read when it is asked for",
    "numba": "Numba kernels",
    "nvjitlink": "nvJitLink for PTX that is too new for the driver",
    "occupancy": "Kernel.attributes, Kernel.occupancy, Kernel.suggest_block",
    "python-kernels": "kernels written in Python",
    "structs": "kernel parameters that are structs, vectors or complex numbers; Parameter.dtype",
    "suggestions": "errors for unknown names and for manifests of other versions that say what may be meant",
    "tensor-maps": "tensor_map",
    "triton": "Triton kernels",
    "tile": "cuTile kernels",
    "tile-hosts": "CUDA Tile kernels",
    "trial": "images that are not known to load: desktop GPUs' machine code on a Jetson, compressed fatbins",
    "tuned-tables": "tuned: choices from a table of cuda-wheel tune",
    "untyped-parameters": "kernel parameters whose C++ type is not known or does not tell the sign",
    "variables": "variables: Module.globals",
    "variants": "variants of a module, and the error that lists them for one that a module lacks",
    "vector-pointers": "pointers to vectors (float4, __half2) and to complex numbers",
}
"""Part of the loader (a file or folder in `parts`) -> its purpose. A vendored loader has those that its wheel needs."""


def has(part: str) -> bool:
    """Return whether this copy of the loader has a part, which is imported."""
    name = f"{__package__}.parts.{part.replace('-', '_')}"
    if name not in sys.modules:
        try:
            __import__(name)
        except ModuleNotFoundError as error:
            if error.name not in (name, name.rpartition(".")[0]):
                raise
            return False
    return True


def need(part: str) -> None:
    """Import a part of the loader; raises CudaWheelError if this copy lacks it."""
    if not has(part):
        what = f"the part {part!r} ({PARTS[part]})"
        advice = (
            f"the loader in {__package__} is a copy without {what}: add it to the settings of the wheel in "
            f'pyproject.toml, [tool.cuda-wheel] loader-parts = ["{part}"], and build the wheel again'
        )
        raise CudaWheelError(to_add(f"{what} of {__package__}", advice))


def is_frozen() -> bool:
    """Return whether this is part of an application of PyInstaller or cx_Freeze, or (the second) of Nuitka."""
    return hasattr(sys, "frozen") or "__compiled__" in globals()


def switch(variable: str, other: str, safe: str) -> bool:
    """Return whether an environment variable is `other` and not "on", the default. Else warn, and take `safe`."""
    setting = os.environ.get(variable) or "on"
    if setting not in ("on", other):
        import warnings  # only for a wrong setting

        wrong = f'the environment variable {variable} must be "on" or "{other}", not {setting!r}; "{safe}" is used.'
        warnings.warn(wrong, RuntimeWarning, stacklevel=3)
        setting = safe
    return setting == other


def to_add(what: str, advice: str) -> str:
    """Return `advice` for whoever lacks something; in a frozen application, advice for its developer."""
    return f"this application was frozen without {what}: add it where it is frozen" if is_frozen() else advice
