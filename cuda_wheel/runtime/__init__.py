"""Load modules: everything that a user's machine needs.

The core, the files in this folder, finds, checks, chooses, loads and launches a kernel. `loader = "vendor"` copies it
into a wheel as `PACKAGE._cuda_wheel`, and of `parts` what the wheel needs (see `errors.PARTS`), so all modules use
relative imports. They import the standard library and `cuda.bindings` only.

Importing this package imports nothing else; the first use of a public name imports the file that defines it.
"""

TYPE_CHECKING = False  # importing `typing` takes longer than importing this package
if TYPE_CHECKING:
    from .errors import ArgumentError as ArgumentError
    from .errors import CudaWheelError as CudaWheelError
    from .errors import DriverError as DriverError
    from .errors import ImageError as ImageError
    from .errors import LinkError as LinkError
    from .errors import NoImageError as NoImageError
    from .errors import UnknownGlobalError as UnknownGlobalError
    from .errors import UnknownKernelError as UnknownKernelError
    from .errors import UnknownVariantError as UnknownVariantError
    from .jit import Jit as Jit
    from .jit import JitOptions as JitOptions
    from .loading import load as load
    from .manifest import Image as Image
    from .module import Kernel as Kernel
    from .module import Module as Module
    from .parts.attach import attach as attach
    from .parts.linking.inputs import LinkInput as LinkInput
    from .parts.linking.link import link as link
    from .parts.linking.load_code import load_code as load_code
    from .parts.linking.prepared_link import Linked as Linked
    from .parts.numba.kernels import NumbaKernel as NumbaKernel
    from .parts.numba.kernels import NumbaModule as NumbaModule
    from .parts.occupancy import Attributes as Attributes
    from .parts.occupancy import Occupancy as Occupancy
    from .parts.tensor_maps import TensorMap as TensorMap
    from .parts.tensor_maps import tensor_map as tensor_map
    from .parts.tile.kernels import TileKernel as TileKernel
    from .parts.tile.kernels import TileModule as TileModule
    from .parts.triton.descriptors import TensorDescriptor as TensorDescriptor
    from .parts.triton.kernels import TritonKernel as TritonKernel
    from .parts.triton.kernels import TritonModule as TritonModule
    from .parts.tuned_tables import Choice as Choice
    from .parts.tuned_tables import tuned as tuned
    from .parts.variables import Global as Global
    from .streams import launch_stream as launch_stream

_FILES = {
    "ArgumentError": "errors",
    "Attributes": "parts.occupancy",
    "Choice": "parts.tuned_tables",
    "CudaWheelError": "errors",
    "DriverError": "errors",
    "Global": "parts.variables",
    "Image": "manifest",
    "ImageError": "errors",
    "Jit": "jit",
    "JitOptions": "jit",
    "Kernel": "module",
    "LinkError": "errors",
    "LinkInput": "parts.linking.inputs",
    "Linked": "parts.linking.prepared_link",
    "Module": "module",
    "NoImageError": "errors",
    "NumbaKernel": "parts.numba.kernels",
    "NumbaModule": "parts.numba.kernels",
    "Occupancy": "parts.occupancy",
    "TensorDescriptor": "parts.triton.descriptors",
    "TensorMap": "parts.tensor_maps",
    "TileKernel": "parts.tile.kernels",
    "TileModule": "parts.tile.kernels",
    "TritonKernel": "parts.triton.kernels",
    "TritonModule": "parts.triton.kernels",
    "UnknownGlobalError": "errors",
    "UnknownKernelError": "errors",
    "UnknownVariantError": "errors",
    "attach": "parts.attach",
    "launch_stream": "streams",
    "link": "parts.linking.link",
    "load": "loading",
    "load_code": "parts.linking.load_code",
    "tensor_map": "parts.tensor_maps",
    "tuned": "parts.tuned_tables",
}
"""Public name -> module of this package that defines it. Type checkers read the imports under TYPE_CHECKING instead."""

if not TYPE_CHECKING:  # by these, a type checker would take no name from here, or every name
    __all__ = list(_FILES)

    def __getattr__(name):
        if name not in _FILES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        if _FILES[name].startswith("parts."):
            from .errors import need

            need(_FILES[name].split(".")[1].replace("_", "-"))
        file = __import__(f"{__name__}.{_FILES[name]}", fromlist=(name,))  # import_module is a function of Python
        return globals().setdefault(name, getattr(file, name))
