"""Compile a module when it is loaded from a source tree, as in an editable install: for one GPU, and kept in the cache.

The loader calls this where a package has no images. What it returns is what a wheel would hold.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

from cuda_wheel.build.cache import Cache
from cuda_wheel.build.config import (
    Architectures,
    Config,
    is_concerned,
    read_config,
    read_pyproject,
)
from cuda_wheel.build.execute import BuiltModule, execute
from cuda_wheel.build.modules import SourceModule, one_module, read_source
from cuda_wheel.build.plan import Plan, make_plan
from cuda_wheel.build.toolchain import Toolchain, find_toolchain
from cuda_wheel.build.workers import Workers
from cuda_wheel.loader import Image, Manifest, Target, Version, unsupported

__all__ = ["compile_on_load"]

FORMAT = "1"
"""Part of every key: entries of another layout are other entries."""


def compile_on_load(
    name: str, folders: Sequence[str], ask_capability: Callable[[], Version]
) -> tuple[bytes, bytes] | None:
    """Return the manifest and fatbin of the module `name`, compiled for the GPU of the compute capability asked for.

    `folders` are those of the module's package. None, without asking, where no project above them has a source for
    the module.
    Raises ConfigError, ToolchainError or CompileError.
    """
    found = _find(name, folders)
    if found is None:
        return None
    root, config, module = found
    capability = ask_capability()
    cache = Cache()
    environment = (sys.prefix, *sys.path)  # another one may hold another toolchain
    request = _key(FORMAT, str(root), repr((config, module)), repr(capability), *environment)
    kept = _recall(cache, request)
    if kept is None:
        built, read = _compile(root, config, module, capability)
        kept = built.manifest.to_json().encode(), built.fatbin
        if read is not None:
            _remember(cache, request, read, kept)
    return kept


# --- which source, with which settings -------------------------------------------------------------


def _find(name: str, folders: Sequence[str]) -> tuple[Path, Config, SourceModule] | None:
    """Return the project, its settings and the module.

    The source lies beside the package's files, or where the module's own table or CMake's record says.
    """
    package, _, stem = name.rpartition(".")
    record = f"{stem}.cuda-wheel.json"
    for folder in map(Path, folders):
        root = _project_of(folder)
        # What CMake's function recorded: beside the package, or in the source tree where that is built in place.
        places = [folder / record] + ([root / "cuda-wheel" / package.replace(".", "/") / record] if root else [])
        recorded = next((place for place in places if place.is_file()), None)
        if recorded is not None:
            request = json.loads(recorded.read_text(encoding="utf-8"))
            place = Path(request["root"])
            return place, *one_module(place, request["module"], os.environ)
        if root is None:
            continue
        config = read_config(root, os.environ)
        own = next((module for module in config.module if module.name == name), None)
        beside = folder / f"{stem}.cu"
        if own is not None and own.sources:
            source = own.sources[0]
        elif beside.is_file():
            source = Path(os.path.realpath(beside)).relative_to(root).as_posix()
        else:
            continue
        settings = own or config.for_module(name)
        return root, config, SourceModule(name, source, read_source(root, source), replace(settings, sources=(source,)))
    return None


def _project_of(folder: Path) -> Path | None:
    """Return the project whose source tree `folder` is in, if it is built with cuda-wheel.

    What is installed for good is in nobody's, even where that lies within a project's folder.
    """
    place = Path(os.path.realpath(folder))
    if {"site-packages", "dist-packages"} & set(place.parts):
        return None
    root = next((parent for parent in (place, *place.parents) if (parent / "pyproject.toml").is_file()), None)
    return root if root is not None and is_concerned(read_pyproject(root)) else None


# --- compiling -------------------------------------------------------------------------------------


def _compile(
    root: Path, config: Config, module: SourceModule, capability: Version
) -> tuple[BuiltModule, list[str] | None]:
    """Return the module and the files that it depends on; None for these where the compiler cannot tell."""
    with Workers(config.timeout, config.memory_limit, count=1) as workers:
        toolchain = workers.submit(find_toolchain, None).result()
        plan = _plan(config, module, root, toolchain, capability)
        (built,) = execute(plan, workers, _Silent())
    return built, None if built.headers is None else [*built.headers, *toolchain.libraries]


def _plan(config: Config, module: SourceModule, root: Path, toolchain: Toolchain, capability: Version) -> Plan:
    """Return the plan for one GPU: of the targets that the module names the most specific that suits it, else the GPU's
    own, else, where the compiler is older than the GPU, the newest PTX."""
    written = make_plan(config, [module], root, toolchain, lambda: [capability]).modules[0].targets
    specific = [target for target in written if target.real and target.suffix and _suits(target, capability)]
    own = Target(*capability, "", True)
    if specific:
        chosen = str(max(specific, key=lambda target: (target.capability, target.suffix == "a")))
    elif own.major * 10 + own.minor in toolchain.supported:
        chosen = str(own)
    else:
        number = max(n for n in toolchain.supported if (n // 10, n % 10) <= capability)
        chosen = f"{number}"
    settings = replace(module.settings, architectures=Architectures((chosen,), f"the GPU of this machine ({chosen})"))
    return make_plan(config, [replace(module, settings=settings)], root, toolchain, lambda: [capability])


def _suits(target: Target, capability: Version) -> bool:
    return unsupported(Image("cubin", target, None, None, 0, 0, "", {}), capability) is None


class _Silent:
    """A build's reporter that tells nobody: warnings belong to builds, and errors are raised."""

    def begin(self, plan: Plan) -> None: ...

    def compiled(self, module: str, arch: str) -> None: ...

    def warning(self, text: str) -> None: ...

    def built(self, module: BuiltModule) -> None: ...


# --- remembering -----------------------------------------------------------------------------------


def _key(*parts: str) -> str:
    return sha256("\0".join(parts).encode(errors="surrogateescape")).hexdigest()


def _remember(cache: Cache, request: str, read: Iterable[str], kept: tuple[bytes, bytes]) -> None:
    """Keep a result under its request, together with what was read and how that looked."""
    record = {"read": {path: _look(path) for path in read}, "manifest": len(kept[0])}
    head = json.dumps(record, sort_keys=True).encode()
    cache.put(request, head + b"\n" + kept[0] + kept[1])


def _recall(cache: Cache, request: str) -> tuple[bytes, bytes] | None:
    """Return the result of the same request, where everything that it read still looks the same."""
    entry = cache.get(request)
    if entry is None:
        return None
    head, _, body = entry.partition(b"\n")
    record = json.loads(head)
    if any(_look(path) != look for path, look in record["read"].items()):
        return None
    manifest, fatbin = body[: record["manifest"]], body[record["manifest"] :]
    Manifest.from_json(manifest, "the cache")
    return manifest, fatbin


def _look(path: str) -> str | None:
    """Return what tells a file's content: its hash; for a library, which is large and never edited, size and time."""
    try:
        if path.endswith((".so", ".dll")) or ".so." in path:
            status = os.stat(path)
            return f"{status.st_size} {status.st_mtime_ns}"
        return sha256(Path(path).read_bytes()).hexdigest()
    except OSError:
        return None
