"""CUDA kernels in ordinary Python wheels: load the kernels of an installed wheel.

The public names are those of `cuda_wheel.runtime`, and `compile`; `cuda_wheel.torch` and `cuda_wheel.jax` make
operators of kernels for PyTorch and JAX, and `cuda_wheel.cupy` has what takes the place of CuPy's `RawModule`.
Importing this package imports nothing else; the first use of a name imports the file that defines it.

The build side (`builder`, `cli` and others) is a distribution of its own, cuda-wheel-builder, with files of this
package.
"""

import os
import sys

TYPE_CHECKING = False  # importing `typing` takes longer than importing this package
if TYPE_CHECKING:
    from cuda_wheel import cupy as cupy
    from cuda_wheel import jax as jax
    from cuda_wheel import torch as torch
    from cuda_wheel.runtime import *  # noqa: F403
    from cuda_wheel.runtime.parts.compile_text import compile as compile

__version__ = "0.1.0"

SOURCE_HOOK = "cuda_wheel.builder.compile_on_load"
"""Import name of the package that compiles a module's kernels when the module is loaded from a source tree instead of
an installed wheel. The loader imports the package by this name; see `runtime/parts/source_hook.py`."""

VENDORED_PACKAGE = "_cuda_wheel"
"""Name of the package with the copy of the loader (`loader = "vendor"`). Each top-level package with modules has one:
`demo/_cuda_wheel/`."""

# The build side may lie in another folder of sys.path: of an environment that sees the packages of the one below it, or
# of a checkout that is installed in editable form beside an installed loader.
if not os.path.isfile(os.path.join(__path__[0], "builder", "__init__.py")):  # noqa: F405
    __path__ += filter(  # noqa: F405
        lambda folder: os.path.isfile(os.path.join(folder, "builder", "__init__.py")),
        [os.path.join(folder, __name__) for folder in sys.path if isinstance(folder, str)],
    )

if not TYPE_CHECKING:  # a type checker would take every name, also a misspelt one

    def __getattr__(name):
        if name in ("torch", "jax", "cupy"):  # submodules, which do not import the frameworks yet
            from importlib import import_module

            return import_module(f"{__name__}.{name}")
        import cuda_wheel.runtime as runtime  # `from . import runtime` would call this function

        if name == "__all__":
            return sorted([*runtime.__all__, "__version__", "compile"])
        if name == "compile":  # a vendored loader, which is a copy of the folder `runtime`, has no compiler
            from cuda_wheel.runtime.parts.compile_text import compile

            return globals().setdefault(name, compile)
        if name not in runtime.__all__:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return globals().setdefault(name, getattr(runtime, name))
