"""Make kernels attributes of the package that holds their modules."""

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any

from ..errors import ImageError, describe_error, has, is_frozen, need, to_add
from ..files import ModuleFiles, find_files, lie_in_folders, package_folders
from ..loading import load
from ..manifest import MANIFEST_SUFFIX, ManifestFile, checked, unscoped
from ..module import Kernel, Module

__all__ = ["attach", "attached", "not_attached"]


def attach(package: str) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """Return `__getattr__`, `__dir__` and `__all__` for a package, which make the kernels of its modules its
    attributes.

    In the package's `__init__.py`: `__getattr__, __dir__, __all__ = cuda_wheel.attach(__name__)`. Then `from
    saxpy_demo.kernels import saxpy` gives the kernel of that name in any of the package's modules, or else the module
    of that name; see `attached`. Neither needs a GPU until it is used. On first use the module is loaded for the GPU of
    this machine, and every error of `load` can be raised. A module with variants becomes a function of its name, which
    takes the macros of a variant and returns the loaded module. In a source tree, the names of the kernels come from
    the sources without a compiler; a kernel that a macro defines is found too, but is not in `__all__`.

    Raises ImageError if the package has no modules.
    """
    folders = package_folders(package)
    names = _names_in(package, folders)
    modules: dict[str, Sequence[str] | None] = {}
    manifests = [file for file in names if file.endswith(MANIFEST_SUFFIX)]
    for file in manifests:
        name = f"{package}.{file.removesuffix(MANIFEST_SUFFIX)}"
        files = find_files(name, None)
        modules[name] = _names_of(files, file, keep=len(manifests) <= KEPT)
    hook: Any = None
    advice = ""
    if not modules:
        if has("source_hook"):  # a vendored loader compiles nothing
            from .source_hook import source_hook, source_tree_advice  # only for a package that is not installed

            hook = source_hook()
            advice = "" if hook is not None else source_tree_advice(folders, None)
        modules |= {} if hook is None else hook.kernels_beside(package, folders)
    if not names:
        raise ImageError(
            f"{package} cannot attach its kernels: "
            + to_add(f"the .fatbin and .fatbin.json files of {package}", "its importer lists no files")
            + "; or load its modules by name."
        )
    if not modules:
        places = ", ".join(folders) or "the files that its importer lists"
        message = f"{package} has no modules: looked in {places}."
        if is_frozen():
            message = f"{message[:-1]}, but {to_add('its .fatbin and .fatbin.json files', '')}."
        elif sources := sorted(name for name in names if name.endswith(".cu")):
            message += _not_compiled(sources[0])
        raise ImageError(message + advice)
    attributes = attached(modules, names)

    def __getattr__(name: str) -> Any:
        module, kernel = attributes.get(name, (None, name))
        if module is None and hook is not None and name not in _submodules(names):
            module = hook.module_that_may_make(name, package, folders)
        if module is None:
            reason = not_attached(modules, names).get(name)
            raise AttributeError(f"module {package!r} has no attribute {name!r}" + (f": {reason}" if reason else ""))
        if kernel is not None:
            value: Any = _LazyKernel(module, kernel)
        else:
            has_variants = module in modules and modules[module] is None
            value = _variant_loader(module) if has_variants else _LazyModule(module)
        return sys.modules[package].__dict__.setdefault(name, value)

    def __dir__() -> list[str]:
        return sorted({*sys.modules[package].__dict__, *attributes})

    return __getattr__, __dir__, sorted(attributes)


KEPT = 16
"""Up to this number of modules in a package, `attach` reads their manifests as `load` does, which then has them."""


def _names_of(files: ModuleFiles, file: str, keep: bool) -> list[str] | None:
    """Return the names of a module's kernels, from its manifest `file`; None if it has variants.

    With `keep`, a manifest is read as by `load`, which then has it. One of which only the SHA-256 is wrong is an error
    when its module is loaded.
    """
    if keep:
        with suppress(ImageError):
            kept = files.kept_file(file)
            record = kept.variants.get(())
            if record is None:
                return None
            if len(kept.blocks) == 1 and not record.get("structs"):  # reading those imports more files
                return [info.name for info in kept.manifest(()).kernels]
    return kernel_names(files.manifest_file(file, check=False))


def kernel_names(file: ManifestFile) -> list[str] | None:
    """Return the names of the kernels in a manifest; None if it has variants."""
    record = file.variants.get(())
    if record is None:
        return None
    return checked(file.where, lambda: [row["name"] for row in file.all_rows(record)])


def attached(modules: Mapping[str, Sequence[str] | None], files: Sequence[str]) -> dict[str, tuple[str, str | None]]:
    """Return attribute name -> (module, kernel) for a package; the kernel is None if the attribute is the module.

    `modules` is dotted module name -> names of its kernels, None if it has variants; `files` are the names of the
    package's files and folders. A kernel becomes an attribute under its name without scope, if that is a valid Python
    name and no other kernel of the package has it. A module becomes one under the last part of its name, if no kernel
    has that name. The kernels of a module with variants become none. Names of Python submodules are left out.
    """
    submodules = _submodules(files)
    owners = _owners(modules)
    attributes: dict[str, tuple[str, str | None]] = {
        module.rpartition(".")[2]: (module, None) for module in modules if module.rpartition(".")[2] not in owners
    }
    attributes |= {name: found[0] for name, found in owners.items() if len(found) == 1}
    return {name: value for name, value in attributes.items() if name not in submodules and not name.startswith("__")}


def not_attached(modules: Mapping[str, Sequence[str] | None], files: Sequence[str]) -> dict[str, str]:
    """Return unscoped kernel name -> why it is not an attribute: several kernels have it, or a Python submodule.

    The arguments are those of `attached`.
    """
    submodules = _submodules(files)
    reasons = {}
    for name, found in _owners(modules).items():
        loads = " or ".join(f'load("{module}")["{kernel}"]' for module, kernel in found)
        if name in submodules and not name.startswith("__"):
            owners = " and ".join(dict.fromkeys(module for module, _ in found))
            reasons[name] = f"it is a Python submodule, and also a kernel of {owners}; the kernel is {loads}"
        elif len(found) > 1:
            kernels = " and ".join(f"{kernel} of {module}" for module, kernel in found)
            reasons[name] = f"several kernels have that name, {kernels}; use {loads}"
    return reasons


def _owners(modules: Mapping[str, Sequence[str] | None]) -> dict[str, list[tuple[str, str]]]:
    """Return unscoped kernel name -> (module, kernel) of each kernel with that name: "saxpy" -> [("demo.a",
    "ns::saxpy")].

    `modules`: dotted module name -> kernel names, or None for a module with variants. A name that is not valid in
    Python, such as "gemm<float>", is left out.
    """
    owners: dict[str, list[tuple[str, str]]] = {}
    for module, kernels in sorted(modules.items()):  # folders list files in any order
        for kernel in kernels or ():
            if unscoped(kernel).isidentifier():
                owners.setdefault(unscoped(kernel), []).append((module, kernel))
    return owners


def _names_in(package: str, folders: list[str]) -> list[str]:
    """Return the names of the files and folders in a package; [] if the package's importer cannot list them.

    Raises ImageError if the package cannot be read. `folders` are the package's own folders.
    """
    try:
        if lie_in_folders(folders):
            return [name for folder in folders for name in os.listdir(folder)]
        need("importers")
        from .importers import list_files  # only for a package that is not in a folder

        return list_files(package)
    except Exception as error:  # importers raise anything for a damaged archive
        raise ImageError(f"package {package!r} cannot be read: {describe_error(error)}") from error


def _not_compiled(source: str) -> str:
    """Return the end of an error message: `source`, such as "scale.cu", is there, but was not compiled. If the loader
    has the part `suggestions`, the message also says why."""
    if not has("suggestions"):
        return f" {source} is there, but was not compiled."
    from .suggestions import not_compiled  # only for an error

    return not_compiled(source)


def _submodules(files: Sequence[str]) -> set[str]:
    """Return the names of a package's Python submodules, from the names of its files and folders."""
    return {file.partition(".")[0] for file in files if file.endswith((".py", ".so", ".pyd")) or "." not in file}


def _variant_loader(module: str) -> Callable[..., Module]:
    """Return a function that takes the macros of a variant of the module, and returns the loaded variant. For a module
    with variants, this function is the attribute of the package."""

    def load_variant(**arguments: Any) -> Module:
        return load(module, **arguments)

    load_variant.__name__ = load_variant.__qualname__ = module.rpartition(".")[2]
    load_variant.__module__ = module.rpartition(".")[0]
    load_variant.__doc__ = f"Return the variant of {module} with these macros, loaded; see `cuda_wheel.load`."
    return load_variant


class _LazyKernel(Kernel):
    """A kernel whose module is loaded on first use."""

    def __init__(self, module: str, name: str) -> None:
        self._module_and_name = module, name

    def __getattr__(self, attribute: str) -> Any:  # called for attributes that are not set yet
        if attribute not in ("module", "info", "_handle"):
            raise AttributeError(f"'Kernel' object has no attribute {attribute!r}")
        module, name = self._module_and_name
        kernel = load(module)[name]
        self.__dict__.update(module=kernel.module, info=kernel.info, _handle=kernel._handle)
        return self.__dict__[attribute]

    def __repr__(self) -> str:
        if "module" in self.__dict__:
            return super().__repr__()
        module, name = self._module_and_name
        return f"<Kernel {name!r} of {module}: not loaded yet>"


class _LazyModule(Module):
    """A module that is loaded on first use."""

    def __init__(self, name: str) -> None:
        self._dotted_name = name

    def __getattr__(self, attribute: str) -> Any:
        if attribute not in ("manifest", "image", "how", "jit", "link", "globals", "_by_name", "_library"):
            raise AttributeError(f"'Module' object has no attribute {attribute!r}")
        self.__dict__.update(load(self._dotted_name).__dict__)
        return self.__dict__[attribute]

    def __repr__(self) -> str:
        return super().__repr__() if "manifest" in self.__dict__ else f"<Module {self._dotted_name}: not loaded yet>"
