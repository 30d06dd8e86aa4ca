"""Make the kernels of a package's modules attributes of the package."""

import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any

from .errors import ImageError
from .files import asking, find_files, names_in, package_folders
from .loading import load
from .manifest import MANIFEST_SUFFIX, kernel_names
from .module import Kernel, Module, unscoped

__all__ = [
    "attach",
    "attached",
]


def attach(package: str) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """Return `__getattr__`, `__dir__` and `__all__` for a package, by which its modules' kernels are its attributes.

    In the package's `__init__.py`: `__getattr__, __dir__, __all__ = cuda_wheel.attach(__name__)`. Then
    `from saxpy_demo.kernels import saxpy` is the kernel of that name in any of the package's modules, or else the
    module of that name. Neither needs a GPU until it is used: only then is the module loaded, for the GPU at hand, and
    may what `load` raises be raised. `attached` has the rule. In a source tree the kernels' names are those that the
    sources show without a compiler; one that a macro makes is found too, but not in `__all__`.

    Raises ImageError where the package has no modules.
    """
    folders = package_folders(package)
    with asking(package):
        names = names_in(package, folders)
    modules: dict[str, Sequence[str]] = {}
    for file in names:
        if file.endswith(MANIFEST_SUFFIX):
            name = f"{package}.{file.removesuffix(MANIFEST_SUFFIX)}"
            files = find_files(name, None)
            modules[name] = kernel_names(files.manifest(file), files.where)
    source_tree: Any = None
    if not modules:
        with suppress(ImportError):  # a copy of this file in a wheel, without the build side
            from cuda_wheel.builder.sources import source_tree

            modules |= source_tree.kernels_beside(package, folders)
    if not names:
        raise ImageError(
            f"{package} cannot attach its kernels: its importer lists no files in it. Of a frozen application, "
            "collect the package's data, too; otherwise, load its modules by name."
        )
    if not modules:
        raise ImageError(f"{package} holds no modules: looked in {', '.join(folders) or 'what its importer lists'}")
    attributes = attached(modules, names)

    def __getattr__(name: str) -> Any:
        module, kernel = attributes.get(name, (None, name))
        if module is None and source_tree is not None and name not in _submodules(names):
            module = source_tree.module_that_may_make(name, package, folders)
        if module is None:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = _LazyModule(module) if kernel is None else _LazyKernel(module, kernel)
        return sys.modules[package].__dict__.setdefault(name, value)

    def __dir__() -> list[str]:
        return sorted({*sys.modules[package].__dict__, *attributes})

    return __getattr__, __dir__, sorted(attributes)


def attached(modules: Mapping[str, Sequence[str]], files: Sequence[str]) -> dict[str, tuple[str, str | None]]:
    """Return the attributes of a package with these modules' kernels and these files: module and kernel by name.

    A kernel's name without its scope, if that is a Python name and nothing else in the package has it; the last part of
    a module's name, where no kernel has that, then without a kernel. Python's own submodules keep their names.
    """
    taken = _submodules(files)
    owners: dict[str, list[tuple[str, str]]] = {}
    for module, kernels in modules.items():
        for kernel in kernels:
            owners.setdefault(unscoped(kernel), []).append((module, kernel))
    attributes: dict[str, tuple[str, str | None]] = {
        name: its[0] for name, its in owners.items() if len(its) == 1 and name.isidentifier()
    }
    for module in modules:
        attributes.setdefault(module.rpartition(".")[2], (module, None))
    return {name: value for name, value in attributes.items() if name not in taken and not name.startswith("__")}


def _submodules(files: Sequence[str]) -> set[str]:
    """Return the names of a package's Python submodules, of the names of the files and folders in it."""
    return {file.partition(".")[0] for file in files if file.endswith((".py", ".so", ".pyd")) or "." not in file}


class _LazyKernel(Kernel):
    """A kernel whose module is loaded when it is first used."""

    def __init__(self, module: str, name: str) -> None:
        self._where = module, name

    def __getattr__(self, attribute: str) -> Any:  # for what is not there yet
        if attribute not in ("module", "info", "_handle"):
            raise AttributeError(f"'Kernel' object has no attribute {attribute!r}")
        kernel = load(self._where[0])[self._where[1]]
        self.__dict__.update(module=kernel.module, info=kernel.info, _handle=kernel._handle)
        return self.__dict__[attribute]

    def __repr__(self) -> str:
        if "module" in self.__dict__:
            return super().__repr__()
        return f"<Kernel {self._where[1]!r} of {self._where[0]}: not loaded yet>"


class _LazyModule(Module):
    """A module that is loaded when it is first used."""

    def __init__(self, name: str) -> None:
        self._where = name

    def __getattr__(self, attribute: str) -> Any:
        if attribute not in ("manifest", "image", "how", "jit", "link", "globals", "_by_name", "_library"):
            raise AttributeError(f"'Module' object has no attribute {attribute!r}")
        self.__dict__.update(load(self._where).__dict__)
        return self.__dict__[attribute]

    def __repr__(self) -> str:
        return super().__repr__() if "manifest" in self.__dict__ else f"<Module {self._where}: not loaded yet>"
