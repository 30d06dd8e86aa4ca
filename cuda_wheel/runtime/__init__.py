"""Load modules: everything that a user's machine needs, and nothing else.

`loader = "vendor"` copies this folder into a wheel as `PACKAGE._cuda_wheel`; hence the relative imports. Its modules
import the standard library and `cuda.bindings` only.

Importing this package imports nothing else; the first use of a name imports the file that defines it.
"""

TYPE_CHECKING = False  # importing `typing` takes longer than importing this package
if TYPE_CHECKING:
    from typing import Any

    from .attaching import attach
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
    from .jit import Jit, JitOptions
    from .linking.inputs import Piece
    from .linking.link import Linked, link
    from .loading import load
    from .manifest import Image
    from .module import Attributes, Global, Kernel, Module, Occupancy
    from .raw_code import load_code

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
    "attach",
    "link",
    "load",
    "load_code",
]

_FILES = {
    "attaching": ("attach",),
    "jit": ("Jit", "JitOptions"),
    "linking.inputs": ("Piece",),
    "linking.link": ("Linked", "link"),
    "loading": ("load",),
    "raw_code": ("load_code",),
    "manifest": ("Image",),
    "module": ("Attributes", "Global", "Kernel", "Module", "Occupancy"),
}
"""The files that define the public names; `errors` defines the others."""


def __getattr__(name: str) -> "Any":
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    file = next((file for file, names in _FILES.items() if name in names), "errors")
    return globals().setdefault(name, getattr(import_module(f".{file}", __name__), name))
