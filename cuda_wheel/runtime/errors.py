"""What cuda-wheel raises on purpose when modules are loaded, linked and launched."""

__all__ = [
    "ArgumentError",
    "CudaWheelError",
    "DriverError",
    "ImageError",
    "LinkError",
    "NoImageError",
    "UnknownGlobalError",
    "UnknownKernelError",
]


class CudaWheelError(Exception):
    """Base of everything that cuda-wheel raises on purpose."""


class ImageError(CudaWheelError):
    """A module's manifest or images are missing, damaged or of an unknown format."""


class NoImageError(ImageError):
    """No image of a module suits the GPU and driver; the message lists every image and its reason."""


class LinkError(ImageError):
    """Pieces do not link: one is damaged or for another GPU, a symbol is missing or defined twice, or no linker here
    takes them all."""


class UnknownKernelError(ImageError, KeyError):
    """A module has no kernel of the name asked for."""

    __str__ = Exception.__str__  # KeyError would print the message's repr


class UnknownGlobalError(ImageError, KeyError):
    """A module has no variable of the name asked for."""

    __str__ = Exception.__str__


class ArgumentError(CudaWheelError, TypeError):
    """What a kernel was to be launched with does not fit it; nothing was launched."""


class DriverError(CudaWheelError):
    """The CUDA driver is absent, sees no device, or refused a call."""
