"""What the hooks add: the files of modules, and the Python modules that the loader imports by computed names."""

from __future__ import annotations

import os
from collections.abc import Iterator
from importlib.metadata import Distribution, distributions
from pathlib import PurePosixPath
from typing import Any

from cuda_wheel import VENDORED_PACKAGE
from cuda_wheel.runtime.manifest import MANIFEST_SUFFIX, TABLE_SUFFIX

__all__ = ["FRAMEWORKS", "add_bindings", "add_modules"]

FRAMEWORKS = {"torch": "cuda_wheel.torch", "jax": "cuda_wheel.jax", "cupy": "cuda_wheel.cupy"}
"""Framework -> the package for it, which programs reach as an attribute of `cuda_wheel`."""


def add_modules(hook_api: Any) -> None:
    """Add the files of the modules of every installed distribution that has a part in the application.

    A module belongs to the application if its package does, or a package around it that is not only a namespace: a
    program may name its kernels in a text, and never import the package that holds them. Their packages become hidden
    imports, and so does all of a vendored loader, which imports its parts by computed names. `hook_api` is
    PyInstaller's PostGraphAPI.
    """
    graph = hook_api.module_graph
    for distribution in distributions():
        packages = sorted(package for package in _packages(distribution) if _is_included(graph, package))
        hook_api.add_imports(*packages)
        folders = {package.replace(".", "/") for package in packages}
        loaders = {(package.partition(".")[0], VENDORED_PACKAGE) for package in packages}
        for file in distribution.files or ():
            folder = file.parent.as_posix()
            if folder in folders and file.name.endswith((".fatbin", MANIFEST_SUFFIX, TABLE_SUFFIX)):
                hook_api.add_datas([(os.fspath(file.locate()), folder)])
            elif file.suffix == ".py" and file.parts[:2] in loaders:
                hook_api.add_imports(_dotted(file))


def add_bindings(hook_api: Any) -> None:
    """Add what `cuda.bindings.driver` imports, which PyInstaller cannot read in machine code."""
    from PyInstaller.utils.hooks import can_import_module, get_pyextension_imports

    if can_import_module("cuda.bindings.driver"):  # else the application says what it lacks
        found = get_pyextension_imports("cuda.bindings.driver")
        hook_api.add_imports(*(name for name in found if name.startswith("cuda.")))


def _packages(distribution: Distribution) -> set[str]:
    """Return the dotted names of the packages of a distribution that hold modules."""
    return {".".join(file.parent.parts) for file in distribution.files or () if file.name.endswith(MANIFEST_SUFFIX)}


def _is_included(graph: Any, package: str) -> bool:
    """Return whether a package of a module, such as "demo.kernels", belongs to the application."""
    return any(
        kind == "Package" or (kind == "NamespacePackage" and name == package)
        for name in _with_parents(package)
        for kind in [type(graph.find_node(name, create_nspkg=False)).__name__]
    )


def _with_parents(package: str) -> Iterator[str]:
    """Yield a package and those around it: "demo.kernels" -> "demo.kernels", "demo"."""
    while package:
        yield package
        package = package.rpartition(".")[0]


def _dotted(file: PurePosixPath) -> str:
    """Return the dotted name of the module in a Python file: "demo.parts" for demo/parts/__init__.py."""
    return ".".join(file.with_suffix("").parts).removesuffix(".__init__")
