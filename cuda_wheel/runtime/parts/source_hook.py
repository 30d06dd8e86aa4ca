"""Reach the build side, which compiles modules of a source tree when they are loaded.

This package imports nothing of the build side by name. The package around it registers one: `SOURCE_HOOK` in
`cuda_wheel` names a module of the build side. No vendored copy has this file, so none compiles, nor runs the build side
of another version that is installed.
"""

import sys
from collections.abc import Mapping
from importlib import import_module
from typing import Any

from ..driver import device_and_driver
from ..errors import CudaWheelError, DriverError
from ..manifest import MANIFEST_SUFFIX, Version

__all__ = ["compiled_on_load", "source_hook"]


def source_hook() -> Any:
    """Return the module that compiles on load, or None if none is registered.

    It has `VERSION`, `ToolchainError`, `compile_on_load(name, folders, capability, variant, instance)`,
    `specialize(sources, variant, instance, capability)`,
    `compile_text(name, text, table, include_dirs, capability)`, `kernels_beside(package, folders)` and
    `module_that_may_make(kernel, package, folders)`. Raises CudaWheelError if it cannot be imported or belongs to
    another version.
    """
    parent = sys.modules.get(__package__.removesuffix(".runtime.parts"))
    name: str | None = getattr(parent, "SOURCE_HOOK", None)
    if name is None:
        return None
    version: str = parent.__version__  # type: ignore[union-attr]
    try:
        hook = import_module(name)
    except Exception as error:
        raise CudaWheelError(
            f"cuda-wheel {version} cannot import {name}, which compiles modules of a source tree on load: "
            f"{type(error).__name__}: {error}. Reinstall cuda-wheel."
        ) from error
    if version != hook.VERSION:
        raise CudaWheelError(
            f"{name} ({hook.__file__}) belongs to cuda-wheel {hook.VERSION}, but the loader ({__file__}) to "
            f"{version}: two versions are mixed. Reinstall cuda-wheel."
        )
    return hook


def compiled_on_load(
    name: str, folders: list[str], device: int | None, variant: Mapping[str, Any], needs_gpu: bool = True
) -> dict[str, bytes] | None:
    """Return a module's manifest and fatbin by file name, compiled for GPU `device`; None if its package, in these
    folders, is not in a source tree. Unless it `needs_gpu`, it is compiled for another target where there is none."""

    def ask() -> Version | None:
        try:
            return device_and_driver(device)[0]
        except DriverError:
            if needs_gpu:
                raise
            return None

    hook = source_hook()
    compiled = hook and hook.compile_on_load(name, folders, ask, variant)
    if compiled is None:
        return None
    manifest, fatbin = compiled
    stem = name.rpartition(".")[2]
    return {stem + MANIFEST_SUFFIX: manifest, stem + ".fatbin": fatbin}
