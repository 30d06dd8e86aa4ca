"""Compile a module when it is loaded from a source tree, as in an editable install: for one GPU, and cached.

The loader calls this if a package has no images. The result is what a wheel would contain.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cuda_wheel import __version__
from cuda_wheel.builder.cache.dependencies import DependencyCache, Recorded
from cuda_wheel.builder.cache.file_hashes import unchanged_since
from cuda_wheel.builder.cache.known_toolchain import recall_toolchain, remember_toolchain, toolchain_environment
from cuda_wheel.builder.sources.modules import variants_of
from cuda_wheel.builder.sources.source_tree import find_source
from cuda_wheel.builder.toolchain.find import find_toolchain
from cuda_wheel.builder.toolchain.nvrtc import load
from cuda_wheel.runtime.manifest import Version
from cuda_wheel.runtime.user_cache.cache import Cache
from cuda_wheel.runtime.variants.index import all_manifests, unknown_variant
from cuda_wheel.runtime.variants.macro_values import same_macros

if TYPE_CHECKING:
    from cuda_wheel.builder.config.settings import Config
    from cuda_wheel.builder.jobs import BuiltModule
    from cuda_wheel.builder.sources.modules import SourceModule

__all__ = ["compile_on_load"]

FORMAT = "6"
"""Part of every key: entries of another layout have other keys."""

States = dict[str, str | None]
"""What identifies the content of each file, by absolute path; None for a missing file."""


def compile_on_load(
    name: str, folders: Sequence[str], ask_capability: Callable[[], Version], macros: Mapping[str, Any] = {}
) -> tuple[bytes, bytes] | None:
    """Return the manifest and fatbin of the module `name`, compiled for the compute capability of the GPU in use.

    `folders` are those of the module's package; `macros` those of the variant to compile, of a module with variants.
    None, without calling `ask_capability`, if no project above them has a source for the module. Raises ConfigError,
    ToolchainError or CompileError; UnknownVariantError for other macros than those of a variant.
    """
    began = time.time_ns()
    found = find_source(name, folders)
    if found is None:
        return None
    root, config, module = found
    module = _variant(module, macros)
    cache, environment = Cache(), toolchain_environment()
    results: DependencyCache[States] = DependencyCache(cache, dict)
    request = Cache.key(FORMAT, __version__, str(root), repr((config, module)), environment)
    recorded = next(results.recorded(request, lambda states: _states(states, root)), None)
    # Ask for the GPU only if the result may be cached: otherwise the driver starts while the compiler does.
    if recorded is not None and recorded.files == recorded.state:
        cached = results.read(recorded, _parse, repr(ask_capability()))
        if cached is not None:
            return cached
    built, paths, capability = _compile(root, config, module, cache, environment, ask_capability)
    if paths is not None and unchanged_since(began, (*(built.headers or ()), *filter(os.path.isfile, paths))):
        states = _states(paths, root)
        entry = len(built.text).to_bytes(8, "big") + built.text + built.fatbin
        results.put(Recorded(request, states, states), entry, repr(capability))
    return built.text, built.fatbin


def _variant(module: SourceModule, macros: Mapping[str, Any]) -> SourceModule:
    """Return the variant of a module that has these macros; a module without variants itself."""
    if not module.settings.variants and not macros:
        return module
    wanted = same_macros(macros)
    variants = variants_of(module) if module.settings.variants else ()
    found = next((each for each in variants if same_macros(each.variant) == wanted), None)
    if found is None:
        raise unknown_variant(module.name, macros, module.settings.variants)
    return found


def _compile(
    root: Path,
    config: Config,
    module: SourceModule,
    cache: Cache,
    environment: str,
    ask_capability: Callable[[], Version],
) -> tuple[BuiltModule, list[str] | None, Version]:
    """Return the compiled module, the paths that decide the result (None if unknown), and the compute capability."""
    # Imported only when something must be compiled: this takes longer than loading a cached module.
    from cuda_wheel.builder.workers.worker import Worker

    worker = Worker(config.memory_limit)
    try:
        toolchain = recall_toolchain(cache, environment)
        if toolchain is not None:
            worker.prepare(load, toolchain.libraries[0])
        capability = ask_capability()  # may start the driver, while the worker loads the compiler
        from cuda_wheel.builder.editable.local_gpu import compile_for_gpu  # takes long, while the worker starts

        if toolchain is None:
            toolchain = worker.call(find_toolchain, None, config.timeout)
            remember_toolchain(cache, environment, toolchain)
        built, paths = compile_for_gpu(root, config, module, toolchain, capability, worker)
    except BaseException:
        worker.kill()
        raise
    finally:
        worker.leave()
    return built, paths, capability


def _parse(entry: bytes) -> tuple[bytes, bytes]:
    """Return the manifest and the fatbin of a cache entry."""
    size = 8 + int.from_bytes(entry[:8], "big")
    manifest, fatbin = entry[8:size], entry[size:]
    all_manifests(manifest, "the cache")
    return manifest, fatbin


def _states(paths: Iterable[str], root: Path) -> States:
    """Return the state of each file: the hash for a file in the project, which people edit; size and times of change
    for other files."""
    inside = f"{root}{os.sep}"
    return {path: _hash(path) if path.startswith(inside) else _size_and_times(path) for path in sorted(set(paths))}


def _hash(path: str) -> str | None:
    try:
        return sha256(Path(path).read_bytes()).hexdigest()
    except OSError:
        return None


def _size_and_times(path: str) -> str | None:
    try:
        status = os.stat(path)
    except OSError:
        return None
    # A new hard link to the file, as uv makes for each environment, changes the inode's time too.
    inode = f" {status.st_ctime_ns}" if status.st_nlink == 1 else ""
    return f"{status.st_size} {status.st_mtime_ns}{inode}"
