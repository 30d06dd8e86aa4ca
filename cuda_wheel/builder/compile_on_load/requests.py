"""Compile for the GPU in use what the loader asks for and no wheel has; the results are cached.

That is a module of a source tree, as in an editable install; a variant or instance, from the sources that a wheel
carries; or a text, as a module of one source.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from hashlib import sha256
from pathlib import Path
from typing import Any

from cuda_wheel.builder.compile_on_load.kept_modules import Opened, Work, kept_module
from cuda_wheel.builder.config.settings import TABLE, Config
from cuda_wheel.builder.errors import CompileError, ConfigError
from cuda_wheel.builder.scratch import scratch
from cuda_wheel.builder.sources.header_dependencies import option_folders
from cuda_wheel.builder.sources.modules import SourceModule, one_module, specialized, variants_of
from cuda_wheel.builder.sources.paths import system_folders
from cuda_wheel.builder.sources.pytorch_options import with_pytorch_options
from cuda_wheel.builder.sources.source_files import Source
from cuda_wheel.builder.sources.source_tree import find_source
from cuda_wheel.builder.wheel.outputs import unpack_sources
from cuda_wheel.runtime.manifest import Version, same_macros
from cuda_wheel.runtime.parts.variants import unknown_variant

__all__ = ["compile_on_load", "compile_text", "specialize"]


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
    """Return the variant of a module with exactly these macros; for a module without variants, the module itself."""
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


def compile_text(
    name: str,
    text: bytes,
    table: Mapping[str, Any],
    include_dirs: tuple[str, ...],
    ask_capability: Callable[[], Version],
) -> tuple[bytes, bytes]:
    """Return the manifest and fatbin of a text in CUDA C++, compiled for the compute capability of the GPU in use.

    `table` has keys of a module's table; `include_dirs` are absolute paths. Raises ConfigError, ToolchainError or
    CompileError.
    """
    options = table.get("options", ())
    # There is no project for relative folders among the options to start from.
    include_dirs = (*(os.path.abspath(folder) for folder in option_folders(options)), *include_dirs)
    options = [*options, *(f"--include-path={folder}" for folder in include_dirs)]
    try:
        return _compiled(name, text, {**table, "name": name, "options": options}, include_dirs, ask_capability)
    except (ConfigError, CompileError) as error:
        message = str(error).replace(f"{TABLE}.module[0].", "")
        searched = ", ".join(include_dirs) or "none; name some in include_dirs"
        raise type(error)(
            re.sub("no file of the project .* are: .*", lambda _: f"the folders searched are: {searched}", message)
        ) from error


def _compiled(
    name: str,
    text: bytes,
    table: Mapping[str, Any],
    include_dirs: tuple[str, ...],
    ask_capability: Callable[[], Version],
) -> tuple[bytes, bytes]:
    config = Config.from_table({"module": [table]})
    source = Source(f"{name}.cu", "cuda", text)
    settings = with_pytorch_options(config.module[0], [source], Path(), lambda path: None)
    module = SourceModule(name, (source,), (), settings, on_demand=True)

    @contextmanager
    def opened() -> Iterator[Opened]:
        with scratch() as folder:
            yield folder, config, module

    work = Work(f"text {(config, module)!r}", include_dirs, opened, is_temporary=True)
    return kept_module(work, ask_capability)


def specialize(
    carried: bytes, macros: Mapping[str, Any], instance: str | None, ask_capability: Callable[[], Version]
) -> tuple[bytes, bytes]:
    """Return the manifest and fatbin of a module, compiled for the compute capability of the GPU in use.

    `carried` are its sources, `macros` those of the variant, and `instance` is the name expression of the template
    instance to compile; None for those that the build compiles. Raises ConfigError, ToolchainError or CompileError.
    """

    @contextmanager
    def opened() -> Iterator[Opened]:
        with scratch() as folder:
            config, module = one_module(folder, unpack_sources(carried, folder), {})
            yield folder, config, specialized(module, macros, instance)

    identity = f"carried {sha256(carried).hexdigest()} {same_macros(macros)!r} {instance!r}"
    return kept_module(Work(identity, (), opened, is_temporary=True), ask_capability)
