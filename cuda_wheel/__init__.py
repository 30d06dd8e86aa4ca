"""CUDA kernels in ordinary Python wheels: load what a wheel carries.

Importing this package imports nothing else; the first use of a name brings in the loader.
"""

# A wheel that carries the loader has this file too, as `PACKAGE._cuda_wheel`: hence the relative imports.

TYPE_CHECKING = False  # as `typing` has it, whose import takes longer than this package's
if TYPE_CHECKING:
    from typing import Any

    from .code_loading import load_code
    from .errors import (
        ArgumentError,
        CudaWheelError,
        DriverError,
        ImageError,
        LinkError,
        NoImageError,
        UnknownGlobalError,
        UnknownKernelError,
    )
    from .linking import Linked, link
    from .loader import (
        Attributes,
        Global,
        Jit,
        JitOptions,
        Kernel,
        Module,
        Occupancy,
        attach,
        load,
    )
    from .manifest import Image
    from .pieces import Piece

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

_FILES = {
    "code_loading": ("load_code",),
    "linking": ("Linked", "link"),
    "errors": (
        "ArgumentError",
        "CudaWheelError",
        "DriverError",
        "ImageError",
        "LinkError",
        "NoImageError",
        "UnknownGlobalError",
        "UnknownKernelError",
    ),
    "manifest": ("Image",),
    "pieces": ("Piece",),
}
"""The names that are not the loader's, by the file that has them."""


def __getattr__(name: str) -> "Any":
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    file = next((file for file, names in _FILES.items() if name in names), "loader")
    module = import_module(f".{file}", __name__)
    return globals().setdefault(name, getattr(module, name))
