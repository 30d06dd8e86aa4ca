"""Compile a module for the GPU in use, unless the user's cache has it: once for all processes, until a file changes.

Where there is no GPU, and only the manifest is wanted, it is compiled for one of the project's targets.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

from cuda_wheel import __version__
from cuda_wheel.builder.cache.files import DependencyCache, Recorded, unchanged_since
from cuda_wheel.builder.cache.known_toolchain import recall_toolchain, remember_toolchain, toolchain_environment
from cuda_wheel.builder.cache.process_lock import found_or_made
from cuda_wheel.builder.config.architectures import named_targets
from cuda_wheel.builder.config.settings import VARIABLE
from cuda_wheel.builder.manifest_reader import all_manifests
from cuda_wheel.builder.sources.autotune import with_configurations
from cuda_wheel.builder.toolchain.find import find_toolchain
from cuda_wheel.builder.toolchain.nvrtc import load
from cuda_wheel.runtime.errors import DriverError
from cuda_wheel.runtime.manifest import Version
from cuda_wheel.runtime.parts.user_cache import Cache

if TYPE_CHECKING:
    from cuda_wheel.builder.config.settings import Config
    from cuda_wheel.builder.jobs import BuiltModule
    from cuda_wheel.builder.sources.modules import SourceModule
__all__ = ["Opened", "Work", "kept_configurations", "kept_module"]


FORMAT = "6"
"""Version of the layout of the cache entries that this file writes. The key of each of these entries contains it."""

States = dict[str, str | None]
"""Absolute path of a file -> string that identifies the file's content; None for a file that does not exist."""

Opened = tuple[Path, "Config", "SourceModule"]
"""(Folder with the module's files, settings of the project, the module): what is needed to compile the module."""


@dataclass(frozen=True)
class Work:
    """A module to compile, with what its cache entry depends on besides the toolchain, the GPU and the files read."""

    identity: str
    """String that identifies the module: it contains the settings, and the project's folder or the sources. It is part
    of the cache key."""
    edited: tuple[str, ...]
    """Absolute paths of folders with files that people edit. The cache identifies these files by their content, and all
    other files by their size and times of change."""
    opened: Callable[[], AbstractContextManager[Opened]]
    """Function that returns a context manager. Its `with` block gets the module's `Opened`. The module's files exist
    until the end of the block."""
    is_temporary: bool = False
    """Whether `opened` writes the module's files into a temporary folder. The cache entry does not depend on files in
    that folder, so `identity` must include their content."""


def kept_module(work: Work, ask_capability: Callable[[], Version | None]) -> tuple[bytes, bytes]:
    """Return the manifest and fatbin of a module, from the user's cache or compiled for the GPU in use.

    `ask_capability` returns the GPU's compute capability; None without a GPU. Raises ConfigError, ToolchainError or
    CompileError.
    """
    cache, environment = Cache(), toolchain_environment()
    results: DependencyCache[States] = DependencyCache(cache, dict)
    request = Cache.key(FORMAT, __version__, work.identity, environment)

    def find() -> tuple[bytes, bytes] | None:
        recorded = next(results.recorded(request, lambda states: _states(states, work.edited)), None)
        # Ask for the GPU only if the result may be cached: otherwise the driver starts while the compiler does.
        if recorded is None or recorded.files != recorded.state:
            return None
        return results.read(recorded, _parse, _machine(ask_capability()))

    def make() -> tuple[bytes, bytes]:
        began = time.time_ns()
        with work.opened() as (root, config, module):
            built, paths, capability = _compile(root, config, module, cache, environment, ask_capability)
        if paths is not None:
            temporary = f"{root}{os.sep}" if work.is_temporary else "\0"
            headers, paths = (
                [path for path in each if not path.startswith(temporary)] for each in (built.headers or (), paths)
            )
            if unchanged_since(began, (*headers, *filter(os.path.isfile, paths))):
                states = _states(paths, work.edited)
                entry = len(built.text).to_bytes(8, "big") + built.text + built.fatbin
                results.put(Recorded(request, states, states), entry, _machine(capability))
        return built.text, built.fatbin

    return found_or_made(cache, request, find, make)


def kept_configurations(
    root: Path, config: Config, module: SourceModule, ask_capability: Callable[[], Version | None]
) -> SourceModule:
    """Return a module of Triton kernels with the configurations of `triton.autotune` for the GPU in use, from the
    user's cache or from the source. Without a GPU, they are those for the newest architecture that the settings name.

    `ask_capability` and the errors are those of `kept_module`.
    """
    cache, environment = Cache(), toolchain_environment()
    results: DependencyCache[States] = DependencyCache(cache, dict)
    request = Cache.key(FORMAT, __version__, f"configurations {root} {module!r}", environment)
    edited, capability = (str(root),), None
    with suppress(DriverError):  # `load` needs a GPU only when a kernel is launched
        capability = ask_capability()
    if capability is None:
        architectures = module.settings.architectures
        targets = named_targets(architectures.entries, architectures.where)
        capability = max((target.capability for target in targets), default=(12, 0))

    def find() -> SourceModule | None:
        recorded = next(results.recorded(request, lambda states: _states(states, edited)), None)
        if recorded is None or recorded.files != recorded.state:
            return None
        return results.read(recorded, parse, repr(capability))

    def parse(entry: bytes) -> SourceModule:
        variants = tuple(tuple((name, value) for name, value in each) for each in json.loads(entry))
        return replace(module, settings=replace(module.settings, variants=variants))

    def make() -> SourceModule:
        from cuda_wheel.builder.compile.triton_kernels import read_configurations  # as in `_compile`
        from cuda_wheel.builder.workers.worker import Worker

        began = time.time_ns()
        worker = Worker(config.memory_limit)
        try:
            made, files = with_configurations(
                module,
                root,
                ["{}{}".format(*capability)],
                lambda job: worker.call(read_configurations, job, config.timeout),
            )
        except BaseException:
            worker.kill()
            raise
        finally:
            worker.leave()
        if unchanged_since(began, files):
            states = _states(files, edited)
            entry = json.dumps(made.settings.variants).encode()
            results.put(Recorded(request, states, states), entry, repr(capability))
        return made

    return found_or_made(cache, request, find, make)


def _compile(
    root: Path,
    config: Config,
    module: SourceModule,
    cache: Cache,
    environment: str,
    ask_capability: Callable[[], Version | None],
) -> tuple[BuiltModule, list[str] | None, Version | None]:
    """Compile a module in a worker process. Return (built module, absolute paths of the files that it depends on,
    compute capability of the GPU).

    The paths are None if they are unknown. The capability is the result of `ask_capability`: None without a GPU.
    `environment`: the result of `toolchain_environment`. `cache`: keeps the toolchain of this environment.
    """
    # Imported only when something must be compiled: this takes longer than loading a cached module.
    from cuda_wheel.builder.workers.worker import Worker

    worker = Worker(config.memory_limit)
    try:
        toolchain = recall_toolchain(cache, environment)
        if toolchain is not None:
            worker.prepare(load, toolchain.libraries[0])
        capability = ask_capability()  # may start the driver, while the worker loads the compiler
        from cuda_wheel.builder.compile_on_load.local_gpu import compile_for_gpu  # takes long, while the worker starts

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


def _machine(capability: Version | None) -> str:
    """Return the part of a cache key that identifies the target: the GPU's compute capability.

    Without a GPU (`capability` is None), it is the value of the environment variable CUDAARCHS, which overrides the
    architectures in the settings.
    """
    return f"no GPU, {os.environ.get(VARIABLE)!r}" if capability is None else repr(capability)


def _parse(entry: bytes) -> tuple[bytes, bytes]:
    """Return (manifest, fatbin) from the bytes of a cache entry. Raises ImageError if the manifest is not valid."""
    size = 8 + int.from_bytes(entry[:8], "big")
    manifest, fatbin = entry[8:size], entry[size:]
    all_manifests(manifest, "the cache")
    return manifest, fatbin


def _states(paths: Iterable[str], edited: tuple[str, ...]) -> States:
    """Return path -> string that identifies the file's content.

    The string is the SHA-256 for a file below one of the folders `edited`. For any other file, it has the size and the
    times of change. It is None for a file that does not exist.
    """
    inside = tuple(f"{folder}{os.sep}" for folder in edited)
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
