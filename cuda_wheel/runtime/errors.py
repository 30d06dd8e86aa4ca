"""The errors that loading, linking and launching raise on purpose."""

__all__ = [
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


class UnknownGlobalError(ImageError, KeyError):
    """A module has no variable of the given name."""

    __str__ = Exception.__str__


class ArgumentError(CudaWheelError, TypeError):
    """The arguments or the configuration of a launch do not fit the kernel; nothing was launched."""


class DriverError(CudaWheelError):
    """The CUDA driver is missing, finds no GPU, or returned an error."""


def describe_error(error: Exception) -> str:
    """Return an exception's type and message."""
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
