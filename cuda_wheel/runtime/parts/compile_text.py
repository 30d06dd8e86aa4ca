"""Compile CUDA C++ from a text and load it: `cuda_wheel.compile`."""

import os
import re
from collections.abc import Mapping, Sequence
from typing import Any

from ..driver import device_and_driver
from ..errors import CudaWheelError, UnknownKernelError
from ..files import ModuleFiles
from ..jit import JitOptions
from ..loading import load_found
from ..manifest import MANIFEST_SUFFIX, MacroValue
from ..module import Module
from .permission import check_permission
from .source_hook import no_compiler, source_hook, toolchain_to_install
from .specialize import Specializer

__all__ = ["compile"]


def compile(
    source: str,
    *,
    name: str = "source",
    instantiate: Sequence[str] = (),
    defines: Mapping[str, MacroValue] = {},
    include_dirs: Sequence[str | os.PathLike[str]] = (),
    options: Sequence[str] = (),
    std: str | None = None,
    device: int | None = None,
    jit: JitOptions | None = None,
) -> Module:
    """Return the module of a text in CUDA C++, compiled for a GPU of this machine and loaded.

    The text is compiled like a module of an editable install: with NVRTC, for GPU number `device`, else the current
    context's GPU, else GPU 0. The result is kept in the user's cache, for all processes, until the text, an argument, a
    header or the compiler changes. Warnings of the compiler become Python warnings.

    `name` is the module's name; messages call the text "NAME.cu". `instantiate` has the C++ name expressions of
    templates to compile; `module["gemm<float, 64>"]` compiles others when they are asked for, into a module of their
    own. `defines` has macros, `include_dirs` folders for `#include`, and `options` those of NVRTC or nvcc, as in
    `[tool.cuda-wheel]`; relative folders start from the current one. `std` is "c++17" by default. Kernels are found by
    their C++ names, so that no `extern "C"` is needed. `jit` has the options for compiling PTX, which happens if the
    compiler is older than the GPU.

    Needs a toolchain: `pip install "cuda-wheel[cu12]"`, or cu13. Raises CudaWheelError if there is none, in a frozen
    application, or if the text does not compile (the message has the compiler's log); NoImageError if `jit` or
    CUDA_WHEEL_JIT=error forbids to compile; and as `load` does.
    """
    _check(source, name, instantiate=instantiate, include_dirs=include_dirs, options=options)
    help = "Put the text into a .cu file of a project, and compile it when the project's wheel is built."
    check_permission(jit, f"{name}.cu must be compiled", help, device)
    hook = source_hook()
    if hook is None:  # a vendored loader lacks this part
        raise CudaWheelError(f"{name} cannot be compiled: {no_compiler(device)}.")
    table: dict[str, Any] = {
        "instantiate": list(instantiate),
        "defines": dict(defines),
        "options": list(options),
        **({} if std is None else {"std": std}),
    }
    folders = tuple(os.path.abspath(os.fspath(folder)) for folder in include_dirs)
    try:
        manifest, fatbin = hook.compile_text(
            name, source.encode(), table, folders, lambda: device_and_driver(device)[0]
        )
    except hook.ToolchainError as error:
        raise type(error)(
            f"compiling {name} needs a toolchain: {toolchain_to_install(device)}. Now: {error}"
        ) from error
    contents = {name + MANIFEST_SUFFIX: manifest, name + ".fatbin": fatbin}
    files = ModuleFiles(f"{name}, compiled from a text", None, contents=contents)
    module = load_found(files, files.manifest_of_variant(name + MANIFEST_SUFFIX, {}), device, jit)

    def instance(module: Module, expression: str, unknown: UnknownKernelError) -> Module:
        check_permission(jit, f"{unknown}\nIt must be compiled", help, device, UnknownKernelError)
        others: Any = {"name": name, "defines": defines, "options": options, "std": std, "device": device, "jit": jit}
        return compile(source, instantiate=[expression], include_dirs=folders, **others)

    module.specialize = module.specialize or Specializer(instance)
    return module


def _check(source: Any, name: str, **lists: Any) -> None:
    """Raise TypeError or ValueError if an argument of `compile` is not valid.

    `source` must be CUDA C++ text. `name`, the name of the new module, must be an identifier. `lists`: parameter name
    -> argument that must be a list, such as options=["--fmad=false"], and not a string.
    """
    if not isinstance(source, str):
        hint = ": pass its read_text()" if hasattr(source, "read_text") else ""
        raise TypeError(f"source must be a string of CUDA C++, not {type(source).__name__}{hint}")
    unreadable = re.search("[\0\ud800-\udfff]", source)
    if unreadable is not None:
        line = source.count("\n", 0, unreadable.start()) + 1
        raise ValueError(f"line {line} of source contains {unreadable[0]!r}, which a compiler cannot read: remove it")
    if re.search(r"^\s*\.version\s+\d", source, re.MULTILINE) and "__global__" not in source:
        raise ValueError("source is PTX, not CUDA C++: cuda_wheel.load_code(source.encode()) loads it")
    if not name.isidentifier():
        raise ValueError(f"name must be an identifier such as 'source', not {name!r}")
    for key, values in lists.items():
        if isinstance(values, (str, bytes, os.PathLike)):  # a string would be a list of letters
            raise TypeError(f"{key} must be a list, such as [{values!r}], not one {type(values).__name__}")
