"""Compile a module when it is loaded from a source tree, as in an editable install: for one GPU, and kept in the cache.

The loader calls this where a package has no images. What it returns is what a wheel would hold.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterable, Sequence
from hashlib import sha256
from pathlib import Path

from cuda_wheel.builder.cache import known_toolchain
from cuda_wheel.builder.cache.file_hashes import unchanged_since
from cuda_wheel.builder.sources.source_tree import find_source
from cuda_wheel.builder.toolchain.find import find_toolchain
from cuda_wheel.builder.toolchain.nvrtc import load
from cuda_wheel.runtime.cache import Cache
from cuda_wheel.runtime.manifest import Manifest, Version

__all__ = [
    "compile_on_load",
]


FORMAT = "4"
"""Part of every key: entries of another layout are other entries."""


def compile_on_load(
    name: str, folders: Sequence[str], ask_capability: Callable[[], Version]
) -> tuple[bytes, bytes] | None:
    """Return the manifest and fatbin of the module `name`, compiled for the GPU of the compute capability asked for.

    `folders` are those of the module's package. None, without asking, where no project above them has a source for
    the module.
    Raises ConfigError, ToolchainError or CompileError.
    """
    began = time.time_ns()
    found = find_source(name, folders)
    if found is None:
        return None
    root, config, module = found
    cache = Cache()
    environment = known_toolchain.environment()
    request = _key(str(root), repr((config, module)), environment)
    before = _looks_before(cache, request)
    now = _looks(before or (), root)
    if before is not None and before == now:
        kept = cache.read(_result_key(request, ask_capability(), now), _understood)
        if kept is not None:
            return kept
    # Not before it is clear that something has to be compiled: this takes longer than all of the above.
    from cuda_wheel.builder.workers.worker import Worker

    worker = Worker(config.memory_limit)
    try:
        toolchain = known_toolchain.recall(cache, environment)
        if toolchain is not None:
            worker.prepare(load, toolchain.libraries[0])
        capability = ask_capability()  # it may start the driver, and the compiler starts meanwhile
        from cuda_wheel.builder.editable.single_target import compile_for_gpu

        if toolchain is None:
            toolchain = worker.call(find_toolchain, None, config.timeout)
            known_toolchain.keep(cache, environment, toolchain)
        built, read = compile_for_gpu(root, config, module, toolchain, capability, worker)
    except BaseException:
        worker.kill()
        raise
    finally:
        worker.leave()
    if read is not None and unchanged_since(began, (*(built.headers or ()), *filter(os.path.isfile, read))):
        now = _looks(read, root)
        cache.put(request, json.dumps(now).encode())
        entry = len(built.text).to_bytes(8, "big") + built.text + built.fatbin
        cache.put(_result_key(request, capability, now), entry)
    return built.text, built.fatbin


# --- remembering -----------------------------------------------------------------------------------


def _key(*parts: str) -> str:
    return Cache.key(FORMAT, *parts)


def _result_key(request: str, capability: Version, looks: dict[str, str | None]) -> str:
    return _key(request, repr(capability), json.dumps(looks))


def _looks_before(cache: Cache, request: str) -> dict[str, str | None] | None:
    """Return the files that the latest compilation of the same request read, and how they looked then."""
    return cache.read(request, lambda entry: dict(json.loads(entry)))


def _understood(entry: bytes) -> tuple[bytes, bytes]:
    """Return manifest and fatbin."""
    size = 8 + int.from_bytes(entry[:8], "big")
    manifest, fatbin = entry[8:size], entry[size:]
    Manifest.from_json(manifest, "the cache")
    return manifest, fatbin


def _looks(paths: Iterable[str], root: Path | None) -> dict[str, str | None]:
    """Return what tells each file's content: the hash of a file in `root`, which people edit; of others, size and time.

    None for a file that is not there.
    """
    inside = None if root is None else f"{root}{os.sep}"
    return {
        path: _hash(path) if inside is not None and path.startswith(inside) else _status(path)
        for path in sorted(set(paths))
    }


def _hash(path: str) -> str | None:
    try:
        return sha256(Path(path).read_bytes()).hexdigest()
    except OSError:
        return None


def _status(path: str) -> str | None:
    try:
        status = os.stat(path)
    except OSError:
        return None
    return f"{status.st_size} {status.st_mtime_ns}"
