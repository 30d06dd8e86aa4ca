"""Compile modules for the GPU in use that the loader needs and no wheel contains; the results are cached.

Such a module comes from a source tree, as in an editable install; or it is a variant or template instance of a module
whose sources a wheel contains; or it is compiled from one CUDA C++ text.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from hashlib import sha256
from pathlib import Path
from typing import Any

from cuda_wheel.builder.compile_on_load.kept_modules import Opened, Work, kept_configurations, kept_module
from cuda_wheel.builder.config.names import TABLE
from cuda_wheel.builder.config.settings import Config
from cuda_wheel.builder.errors import CompileError, ConfigError
from cuda_wheel.builder.scratch import scratch
from cuda_wheel.builder.sources.autotune import has_configurations
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
    """Return the manifest and fatbin of the module `name` of a source tree, compiled for the GPU in use.

    `folders` are those of the module's package. None, without a call of `ask_capability`, if no project in or above
    them has a source for the module. `ask_capability` returns the GPU's compute capability; None without a GPU.

    `macros` are macro -> value of the variant to compile, for a module with variants. `instance` is the name expression
    of a further template instance to compile, which the module must allow with `specialize`.

    Raises ConfigError, ToolchainError or CompileError. Raises UnknownVariantError if no variant has these macros,
    unless the module allows other values with `specialize`.
    """
    found = find_source(name, folders)
    if found is None:
        return None
    root, config, module = found
    if has_configurations(module):
        module = kept_configurations(root, config, module, ask_capability)
    module = _variant(module, macros)
    if instance is not None:
        module = specialized(module, macros, instance)
    # The variables that system-include-dirs names may have other values next time.
    libraries = system_folders(root, module.settings.system_include_dirs)
    identity = f"{root} {(config, module)!r} {libraries}"
    return kept_module(Work(identity, (str(root),), lambda: nullcontext((root, config, module))), ask_capability)


def _variant(module: SourceModule, macros: Mapping[str, Any]) -> SourceModule:
    """Return the variant of a module that has exactly these macros (macro -> value). Return the module itself if it has
    no variants and `macros` is empty.

    If there is no such variant, but one has the same macros with other values, and the setting `specialize` is on,
    return a new variant. Otherwise, raise UnknownVariantError.
    """
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
    """Return the manifest and fatbin of a CUDA C++ text, compiled for the GPU in use as a module called `name`.

    `table` has keys and values as in a module's table of pyproject.toml; `include_dirs` are absolute paths;
    `ask_capability` returns the GPU's compute capability. Raises ConfigError, ToolchainError or CompileError.
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
    """Return the manifest and fatbin of a variant or template instance that a wheel lacks, compiled for the GPU in use.

    `carried` is the content of the wheel's file with the module's sources, as `wheel.outputs.unpack_sources` reads it.
    `macros` are those of the variant. `instance` is the name expression of the template instance to compile, None for
    the instances that the build compiles. `ask_capability` returns the GPU's compute capability. Raises ConfigError,
    ToolchainError or CompileError.
    """

    @contextmanager
    def opened() -> Iterator[Opened]:
        with scratch() as folder:
            config, module = one_module(folder, unpack_sources(carried, folder), {})
            yield folder, config, specialized(module, macros, instance)

    identity = f"carried {sha256(carried).hexdigest()} {same_macros(macros)!r} {instance!r}"
    return kept_module(Work(identity, (), opened, is_temporary=True), ask_capability)
