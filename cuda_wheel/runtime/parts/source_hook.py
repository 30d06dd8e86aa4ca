"""Reach the build side, which compiles modules of a source tree when they are loaded.

`runtime` imports nothing of the build side by name: `cuda_wheel.SOURCE_HOOK` names its module. A vendored copy lacks
this file. So it never compiles, nor runs an installed build side of another version.
"""

import os
import re
import sys
from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any

from ..driver import device_and_driver
from ..errors import CudaWheelError, DriverError, ImageError, is_frozen
from ..jit import JitOptions, forbidden_by
from ..manifest import MANIFEST_SUFFIX, Version
from .permission import check_permission

__all__ = ["compiled_on_load", "no_compiler", "source_hook", "source_tree_advice", "toolchain_to_install"]


def source_hook() -> Any:
    """Return the build side's module that compiles on load; None if there is no `SOURCE_HOOK`, if the build side is not
    installed, in a frozen application (compilers run in new Python processes, and `sys.executable` would start the
    application again) and in a zip archive (the compiler reads headers from folders).

    It has `ToolchainError`, `compile_on_load(name, folders, capability, variant, instance)`,
    `specialize(sources, variant, instance, capability)`, `compile_text(name, text, table, include_dirs, capability)`,
    `find_source(name, folders)`, `kernels_beside(package, folders)` and `module_that_may_make(kernel, package,
    folders)`. Raises CudaWheelError if it cannot be imported; the build side itself raises it if it is of another
    version.
    """
    parent = sys.modules.get(__package__.removesuffix(".runtime.parts"))
    name: str | None = getattr(parent, "SOURCE_HOOK", None)
    if name is None or _is_in_application():
        return None
    try:
        return import_module(name)
    except CudaWheelError:  # it is of another version
        raise
    except Exception as error:
        if isinstance(error, ModuleNotFoundError) and error.name == name.rpartition(".")[0]:
            return None
        raise CudaWheelError(
            f"cannot import {name}, which compiles modules of a source tree on load: {type(error).__name__}: {error}. "
            "Reinstall cuda-wheel-builder."
        ) from error


def _is_in_application() -> bool:
    return is_frozen() or not os.path.isdir(os.path.dirname(__file__))


def toolchain_to_install(device: int | None) -> str:
    """Return the command that installs the build side and a toolchain for the driver of this machine."""
    try:
        extra = "cu12" if device_and_driver(device)[1][0] < 13 else "cu13"
    except DriverError:
        return 'pip install "cuda-wheel[cu12]" or "cuda-wheel[cu13]"'
    return f'pip install "cuda-wheel[{extra}]"'


def no_compiler(device: int | None) -> str:
    """Return why there is no `source_hook()` on this machine, and what helps."""
    if _is_in_application():
        return (
            "frozen applications and zip archives compile no CUDA C++. Compile what they need when their wheels are "
            "built, with `instantiate` and `variants` in [tool.cuda-wheel]"
        )
    return f"cuda-wheel-builder, which compiles, is not installed. {toolchain_to_install(device)} brings it"


def source_tree_advice(folders: Sequence[str], device: int | None) -> str:
    """Return advice for a package without images where the build side is not installed: "" if it cannot lie in a
    source tree, which only the build side knows."""
    installed = {"site-packages", "dist-packages"}
    if _is_in_application() or all(installed.intersection(re.split(r"[\\/]", folder)) for folder in folders):
        return ""
    return f" In a source tree, modules are compiled when they are loaded; but {no_compiler(device)}."


def compiled_on_load(
    name: str,
    folders: list[str],
    device: int | None,
    variant: Mapping[str, Any],
    needs_gpu: bool = True,
    jit: JitOptions | None = None,
) -> dict[str, bytes] | None:
    """Return file name -> content of a module's manifest and fatbin, compiled for GPU `device`; None if its package, in
    `folders`, is not in a source tree. If there is no GPU, raise DriverError, or unless `needs_gpu` choose a target.
    Raise NoImageError if it is forbidden to compile: a source tree makes no exception. Raise ImageError if the build
    side is not installed, and the package may lie in a source tree."""

    def ask() -> Version | None:
        try:
            return device_and_driver(device)[0]
        except DriverError:
            if needs_gpu:
                raise
            return None

    hook = source_hook()
    if hook is None and (advice := source_tree_advice(folders, device)):
        from .suggestions import module_not_found  # only for an error

        raise ImageError(module_not_found(name, folders, MANIFEST_SUFFIX) + advice)
    if hook is not None and forbidden_by(jit) and (found := hook.find_source(name, folders)) is not None:
        root, _, module = found
        what = f"{name} lies in a source tree ({root}) and has no images: {module.sources[0].path} must be compiled"
        check_permission(jit, what, "Install a wheel of the project, which has machine code for this GPU.", device)
    compiled = hook and hook.compile_on_load(name, folders, ask, variant)
    if compiled is None:
        return None
    manifest, fatbin = compiled
    stem = name.rpartition(".")[2]
    return {stem + MANIFEST_SUFFIX: manifest, stem + ".fatbin": fatbin}
