"""Compile CUDA C++ from a text and load it: `cuda_wheel.compile`."""

import os
from collections.abc import Mapping, Sequence
from typing import Any

from ..digest import sha256_of
from ..driver import device_and_driver
from ..errors import CudaWheelError
from ..files import ModuleFiles, must_verify
from ..jit.compiling import JitOptions
from ..loading import load_found
from ..manifest import MANIFEST_SUFFIX, Manifest
from ..module import Module
from ..source_hook import source_hook
from ..variants.macro_values import MacroValue

__all__ = ["compile"]


def compile(
    source: str,
    *,
    name: str = "source",
    instantiate: Sequence[str] = (),
    defines: Mapping[str, MacroValue] = {},
    include_dirs: Sequence[str | os.PathLike[str]] = (),
    options: Sequence[str] = (),
    std: str = "c++17",
    device: int | None = None,
    jit: JitOptions | None = None,
) -> Module:
    """Return the module of a text in CUDA C++, compiled for a GPU of this machine and loaded.

    It is compiled as a module of a package in an editable install is: with NVRTC, for GPU number `device`, else the
    current context's GPU, else GPU 0. The result is kept in the user's cache, for all processes, until the text, an
    argument, a header or the compiler changes. Warnings of the compiler become Python warnings.

    `name` is the module's name, and that of the source in messages: "source.cu". `instantiate` has the C++ name
    expressions of templates to compile, `defines` macros, `include_dirs` folders for `#include`, and `options` those
    of NVRTC or nvcc, as in `[tool.cuda-wheel]`. Kernels are found by their C++ names, so that no `extern "C"` is
    needed. `jit` has the options for compiling PTX, which happens if the compiler is older than the GPU.

    Needs a toolchain: `pip install "cuda-wheel[cu12]"`, or cu13. Raises CudaWheelError if there is none or the text
    does not compile (the message holds the compiler's log), and as `load` does.
    """
    if not isinstance(source, str):
        raise TypeError(f"source must be a string of CUDA C++, not {type(source).__name__}")
    if not name.isidentifier():
        raise ValueError(f"name must be an identifier such as 'source', not {name!r}")
    hook = source_hook()
    if hook is None:
        raise CudaWheelError("a vendored loader compiles nothing: install cuda-wheel, and call cuda_wheel.compile")
    table: dict[str, Any] = {
        "instantiate": list(instantiate),
        "defines": dict(defines),
        "options": list(options),
        "std": std,
    }
    folders = tuple(os.path.abspath(os.fspath(folder)) for folder in include_dirs)
    manifest, fatbin = hook.compile_text(name, source.encode(), table, folders, lambda: device_and_driver(device)[0])
    contents = {name + MANIFEST_SUFFIX: manifest, name + ".fatbin": fatbin}
    files = ModuleFiles(f"{name}, compiled from a text", None, contents=contents)
    files.digest = sha256_of(manifest)
    return load_found(files, Manifest.from_json(manifest, files.where, must_verify()), device, jit)
