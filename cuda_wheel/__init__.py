"""CUDA kernels in ordinary Python wheels: load what a wheel carries.

Importing this package imports nothing else; the first use of a name imports `cuda_wheel.runtime`.
"""

TYPE_CHECKING = False  # importing `typing` takes longer than importing this package
if TYPE_CHECKING:
    from typing import Any

    from cuda_wheel.runtime import (
        ArgumentError,
        Attributes,
        CudaWheelError,
        DriverError,
        Global,
        Image,
        ImageError,
        Jit,
        JitOptions,
        Kernel,
        Linked,
        LinkError,
        Module,
        NoImageError,
        Occupancy,
        Piece,
        UnknownGlobalError,
        UnknownKernelError,
        attach,
        link,
        load,
        load_code,
    )

__version__ = "0.1.0"

__all__ = [
    "ArgumentError",
    "Attributes",
    "CudaWheelError",
    "DriverError",
    "Global",
    "Image",
    "ImageError",
    "Jit",
    "JitOptions",
    "Kernel",
    "LinkError",
    "Linked",
    "Module",
    "NoImageError",
    "Occupancy",
    "Piece",
    "UnknownGlobalError",
    "UnknownKernelError",
    "__version__",
    "attach",
    "link",
    "load",
    "load_code",
]


def __getattr__(name: str) -> "Any":
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from . import runtime

    return globals().setdefault(name, getattr(runtime, name))
