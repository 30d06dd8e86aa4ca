"""Compile a module when it is loaded from a source tree, as in an editable install: for one GPU, and cached.

The loader calls this if a package has no images. The result is what a wheel would contain.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Sequence
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

from cuda_wheel.builder.cache.dependencies import DependencyCache, Recorded
from cuda_wheel.builder.cache.file_hashes import unchanged_since
from cuda_wheel.builder.cache.known_toolchain import recall_toolchain, remember_toolchain, toolchain_environment
from cuda_wheel.builder.sources.source_tree import find_source
from cuda_wheel.builder.toolchain.find import find_toolchain
from cuda_wheel.builder.toolchain.nvrtc import load
from cuda_wheel.runtime.manifest import Manifest, Version
from cuda_wheel.runtime.user_cache.cache import Cache

if TYPE_CHECKING:
    from cuda_wheel.builder.config.settings import Config
    from cuda_wheel.builder.jobs import BuiltModule
    from cuda_wheel.builder.sources.modules import SourceModule

__all__ = ["compile_on_load"]

FORMAT = "5"
"""Part of every key: entries of another layout have other keys."""

States = dict[str, str | None]
"""What identifies the content of each file, by absolute path; None for a missing file."""


def compile_on_load(
    name: str, folders: Sequence[str], ask_capability: Callable[[], Version]
) -> tuple[bytes, bytes] | None:
    """Return the manifest and fatbin of the module `name`, compiled for the compute capability of the GPU in use.

    `folders` are those of the module's package. None, without calling `ask_capability`, if no project above them has a
    source for the module. Raises ConfigError, ToolchainError or CompileError.
    """
    began = time.time_ns()
    found = find_source(name, folders)
    if found is None:
        return None
    root, config, module = found
    cache, environment = Cache(), toolchain_environment()
    results: DependencyCache[States] = DependencyCache(cache, dict)
    request = Cache.key(FORMAT, str(root), repr((config, module)), environment)
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
    Manifest.from_json(manifest, "the cache")
    return manifest, fatbin


def _states(paths: Iterable[str], root: Path) -> States:
    """Return the state of each file: the hash for a file in the project, which people edit; size and time of change for
    other files."""
    inside = f"{root}{os.sep}"
    return {path: _hash(path) if path.startswith(inside) else _size_and_time(path) for path in sorted(set(paths))}


def _hash(path: str) -> str | None:
    try:
        return sha256(Path(path).read_bytes()).hexdigest()
    except OSError:
        return None


def _size_and_time(path: str) -> str | None:
    try:
        status = os.stat(path)
    except OSError:
        return None
    return f"{status.st_size} {status.st_mtime_ns}"
