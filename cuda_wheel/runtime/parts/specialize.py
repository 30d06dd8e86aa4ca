"""Compile CUDA C++ from a text and load it: `cuda_wheel.compile`.

Compile a variant or a template instance that a wheel does not contain, if the module has `specialize = true`.

A wheel carries the module's sources for that, behind the fatbins in the file; a source tree has them. The build side
compiles them as on load from a source tree, for the GPU in use, into the user's cache.
"""

import os
import re
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..digest import sha256_of
from ..driver import device_and_driver, is_forked
from ..errors import CudaWheelError, ImageError, UnknownKernelError, UnknownVariantError
from ..files import ModuleFiles, find_files, must_verify, package_folders
from ..jit import JitOptions
from ..loading import load_found
from ..manifest import MANIFEST_SUFFIX, Carried, MacroValue, Manifest
from ..module import Module
from ..source_hook import source_hook

if TYPE_CHECKING:
    from ..module import Kernel
__all__ = ["Specializer", "compile", "instances_of_wheel", "specialized_variant", "toolchain_to_install"]


def specialized_variant(
    name: str, macros: Mapping[str, Any], device: int | None, unknown: UnknownVariantError
) -> tuple[ModuleFiles, Manifest]:
    """Return the files and the manifest of a variant that an installed module lacks, compiled now.

    Raises `unknown`, the error that the module has no such variant, if it cannot be compiled: the module does not allow
    it, or has no variant with macros of these names, or there is no toolchain.
    """
    files = find_files(name, device, macros)
    found = files.manifest_file(name.rpartition(".")[2] + MANIFEST_SUFFIX, must_verify())
    carried = found.specialize
    # The names of the macros must be those of a variant: another name is a mistake.
    if carried is None or not any(dict(each).keys() == macros.keys() for each in found.variants if each):
        raise unknown
    made, manifest = _compiled(name, files, carried, macros, None, device, unknown)
    return made, manifest._replace(specialize=carried)  # instances of it may be compiled too


class Specializer:
    """Compiles template instances that a module lacks, each once.

    `compiled` returns the loaded module of one instance; it is called with the module, the name of the instance and the
    error that the module has no such kernel.
    """

    def __init__(self, compiled: "Callable[[Module, str, UnknownKernelError], Module]") -> None:
        self._compiled = compiled
        self._kernels: dict[str, Kernel] = {}

    def __call__(self, module: "Module", name: str, unknown: UnknownKernelError) -> "Kernel":
        """Return the kernel of an instance, which belongs to another module: that has variables of its own.

        Raises `unknown`, the error that `module` has no such kernel, without a toolchain.
        """
        found = self._kernels.get(name)
        if found is not None and found.module.is_loaded and not is_forked():
            return found
        found = self._kernels[name] = self._compiled(module, name, unknown)[name]
        return found


def instances_of_wheel(load_found: "Callable[..., Module]", device: int | None) -> Specializer:
    """Return what compiles instances of a module with `specialize = true`.

    `load_found` loads a module with its files and manifest; `device` is the number of the GPU, as for `load`.
    """

    def compiled(module: "Module", name: str, unknown: UnknownKernelError) -> "Module":
        carried = module.manifest.specialize
        assert carried is not None
        files, manifest = _compiled(module.name, None, carried, module.variant, name, device, unknown)
        return load_found(files, manifest, device, None)

    return Specializer(compiled)


def toolchain_to_install(device: int | None) -> str:
    """Return the command that installs a toolchain for the driver of this machine."""
    extra = "cu12" if device_and_driver(device)[1][0] < 13 else "cu13"
    return f'pip install "cuda-wheel[{extra}]"'


def _compiled(
    name: str,
    files: ModuleFiles | None,
    carried: Carried,
    macros: Mapping[str, Any],
    instance: str | None,
    device: int | None,
    unknown: ImageError,
) -> tuple[ModuleFiles, Manifest]:
    hook = source_hook()
    package, _, stem = name.rpartition(".")
    if hook is None:
        raise type(unknown)(f"{unknown}\nA vendored loader compiles nothing: with cuda_wheel.load, it can be compiled.")

    def ask() -> Any:
        return device_and_driver(device)[0]

    try:
        if carried.size:
            sources = _read(files or find_files(name, device, macros), stem + ".fatbin", carried)
            text, fatbin = hook.specialize(sources, macros, instance, ask)
        else:  # a source tree
            text, fatbin = hook.compile_on_load(name, package_folders(package), ask, macros, instance)
    except CudaWheelError as error:
        if not isinstance(error, hook.ToolchainError):
            raise
        raise type(unknown)(
            f"{unknown}\nIt can be compiled on this machine, with a toolchain: {toolchain_to_install(device)}. "
            f"Now: {error}"
        ) from error
    contents = {stem + MANIFEST_SUFFIX: text, stem + ".fatbin": fatbin}
    made = ModuleFiles(f"{name}, compiled on load", None, contents=contents)
    return made, made.manifest_of_variant(stem + MANIFEST_SUFFIX, macros)


def _read(files: ModuleFiles, file: str, carried: Carried) -> bytes:
    """Return the sources that a module's file carries; raises ImageError if they are damaged."""
    sources = files.read(file, carried.offset, carried.size)
    if sha256_of(sources) != carried.sha256:
        raise ImageError(
            f"{file} beside {files.where} is damaged: its sources are not those of the manifest. Reinstall it."
        )
    return sources


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

    It is compiled as a module of a package in an editable install is: with NVRTC, for GPU number `device`, else the
    current context's GPU, else GPU 0. The result is kept in the user's cache, for all processes, until the text, an
    argument, a header or the compiler changes. Warnings of the compiler become Python warnings.

    `name` is the module's name, and that of the source in messages: "source.cu". `instantiate` has the C++ name
    expressions of templates to compile; `module["gemm<float, 64>"]` compiles others when they are asked for, into a
    module of their own. `defines` has macros, `include_dirs` folders for `#include`, and `options` those of NVRTC or
    nvcc, as in `[tool.cuda-wheel]`; relative folders start from the current one. `std` is "c++17" by default. Kernels
    are found by their C++ names, so that no `extern "C"` is needed. `jit` has the options for compiling PTX, which
    happens if the compiler is older than the GPU.

    Needs a toolchain: `pip install "cuda-wheel[cu12]"`, or cu13. Raises CudaWheelError if there is none or the text
    does not compile (the message holds the compiler's log), and as `load` does.
    """
    _check(source, name, instantiate=instantiate, include_dirs=include_dirs, options=options)
    hook = source_hook()
    if hook is None:
        raise CudaWheelError("a vendored loader compiles nothing: install cuda-wheel, and call cuda_wheel.compile")
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
        others: Any = {"name": name, "defines": defines, "options": options, "std": std, "device": device, "jit": jit}
        return compile(source, instantiate=[expression], include_dirs=folders, **others)

    module.specialize = module.specialize or Specializer(instance)
    return module


def _check(source: Any, name: str, **lists: Any) -> None:
    """Raise TypeError or ValueError for arguments of `compile` that are no text, no name, or no lists."""
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
