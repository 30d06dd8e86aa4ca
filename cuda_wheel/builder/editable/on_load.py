"""Compile a module when it is loaded from a source tree, as in an editable install: for one GPU, and cached.

The loader calls this if a package has no images. The result is what a wheel would contain.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

from cuda_wheel.builder.editable.kept_modules import Work, kept_module
from cuda_wheel.builder.sources.modules import specialized, variants_of
from cuda_wheel.builder.sources.source_tree import find_source
from cuda_wheel.builder.sources.system_folders import system_folders
from cuda_wheel.runtime.manifest import Version
from cuda_wheel.runtime.variants.index import unknown_variant
from cuda_wheel.runtime.variants.macro_values import same_macros

if TYPE_CHECKING:
    from cuda_wheel.builder.sources.modules import SourceModule

__all__ = ["compile_on_load"]


def compile_on_load(
    name: str,
    folders: Sequence[str],
    ask_capability: Callable[[], Version | None],
    macros: Mapping[str, Any] = {},
    instance: str | None = None,
) -> tuple[bytes, bytes] | None:
    """Return the manifest and fatbin of the module `name`, compiled for the compute capability of the GPU in use.

    `ask_capability` returns that; None where there is no GPU. `folders` are those of the module's package; `macros`
    those of the variant to compile, of a module with variants; `instance` is the name expression of a template instance
    that the module lacks and allows with `specialize`. None, without calling `ask_capability`, if no project above them
    has a source for the module. Raises ConfigError, ToolchainError or CompileError; UnknownVariantError for other
    macros than those of a variant, unless the module allows them with `specialize`.
    """
    found = find_source(name, folders)
    if found is None:
        return None
    root, config, module = found
    module = _variant(module, macros)
    if instance is not None:
        module = specialized(module, macros, instance)
    # The variables that system-include-dirs names may have other values next time.
    libraries = system_folders(root, module.settings.system_include_dirs)
    identity = f"{root} {(config, module)!r} {libraries}"
    return kept_module(Work(identity, (str(root),), lambda: nullcontext((root, config, module))), ask_capability)


def _variant(module: SourceModule, macros: Mapping[str, Any]) -> SourceModule:
    """Return the variant of a module that has these macros; a module without variants itself."""
    if not module.settings.variants and not macros:
        return module
    wanted = same_macros(macros)
    variants = variants_of(module) if module.settings.variants else ()
    found = next((each for each in variants if same_macros(each.variant) == wanted), None)
    names = [dict(each.variant).keys() for each in variants]
    if found is None and module.settings.specialize and macros.keys() in names:
        return specialized(module, macros, None)
    if found is None:
        raise unknown_variant(module.name, macros, module.settings.variants)
    return found
