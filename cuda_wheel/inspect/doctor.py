"""Examine this machine: driver, GPUs, compilers, headers, cache, and which images the installed packages load.

Summarize the contents of the cache, for `cuda-wheel cache` and `cuda-wheel doctor`.
"""

from __future__ import annotations

import os
import sys
from datetime import datetime, timezone
from importlib.metadata import distributions
from typing import Any

from cuda_wheel.builder.releases import RELEASES
from cuda_wheel.builder.toolchain.find import find_toolchain, toolchain_parts
from cuda_wheel.builder.workers.pool import Workers
from cuda_wheel.inspect.companions import missing_companions, united
from cuda_wheel.inspect.modules import find_modules, installed_companions
from cuda_wheel.runtime.driver import device_and_driver, device_count
from cuda_wheel.runtime.errors import CudaWheelError, DriverError
from cuda_wheel.runtime.manifest import MANIFEST_SUFFIX, Version, dotted
from cuda_wheel.runtime.parts.cuda_libraries import nvjitlink_version
from cuda_wheel.runtime.parts.tuned_rows import device_name
from cuda_wheel.runtime.parts.user_cache import Cache, cache_limit
from cuda_wheel.runtime.rules import resolve

__all__ = ["cache_contents", "examine_machine"]


def cache_contents(cache: Cache) -> dict[str, Any]:
    """Return a summary of the cache as a JSON object: sizes in bytes, times in ISO 8601, UTC.

    Raises CudaWheelError if CUDA_WHEEL_CACHE_SIZE is not a size.
    """
    set_by = "CUDA_WHEEL_CACHE_DIR" if os.environ.get("CUDA_WHEEL_CACHE_DIR") else "the platform's convention"
    return {
        **_folder_contents(cache),
        "set_by": set_by,
        "limit": cache_limit(),
        "read_only": None if cache.second is None else _read_only_contents(cache.second),
    }


def _read_only_contents(cache: Cache) -> dict[str, Any]:
    try:
        os.scandir(cache.folder).close()
    except OSError as error:
        return {"folder": cache.folder, "error": error.strerror or str(error)}
    return _folder_contents(cache)


def _folder_contents(cache: Cache) -> dict[str, Any]:
    """Summarize a cache folder as a JSON object: "folder" (its path), "entries" (their number), "bytes" (their total
    size), "oldest_use" and "newest_use".

    The last two say, in ISO 8601, when the least and the most recently used entry was used. Without entries, both are
    None.
    """
    entries = cache.entries()
    return {
        "folder": cache.folder,
        "entries": len(entries),
        "bytes": sum(size for _, size, _ in entries),
        "oldest_use": _iso_time(entries[0][0]) if entries else None,
        "newest_use": _iso_time(entries[-1][0]) if entries else None,
    }


def _iso_time(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, timezone.utc).isoformat(timespec="seconds")


def examine_machine() -> dict[str, Any]:
    """Return what this machine has, as a JSON object. A part that is missing has the reason under "error" instead."""
    machine = _driver_and_gpus()
    return {
        "python": {"version": sys.version.split()[0], "prefix": sys.prefix},
        **machine,
        "toolchain": _toolchain(),
        "cache": _cache(),
        "modules": _modules([tuple(gpu["compute_capability"]) for gpu in machine["gpus"]], machine["driver"]),
    }


def _driver_and_gpus() -> dict[str, Any]:
    """Return {"driver": ..., "gpus": [...]}: the driver's CUDA version and branch, and the name and compute capability
    of each GPU. If the driver cannot be used, "driver" has the error message, and "gpus" is empty."""
    try:
        found = [(device_name(number), *device_and_driver(number)) for number in range(device_count())]
    except DriverError as error:
        return {"driver": {"error": str(error)}, "gpus": []}
    cuda = found[0][2]
    branch = next((release.branch for release in RELEASES if release.cuda == cuda), None)
    return {
        "driver": {"cuda": list(cuda), "branch": branch},
        "gpus": [{"name": name, "compute_capability": list(capability)} for name, capability, _ in found],
    }


def _toolchain() -> dict[str, Any]:
    """Return a JSON object about the toolchain (the CUDA compilers): its "parts", the versions of the compilers, and
    the "targets" for which they can compile, such as "sm_90", and the "choice" of it among several installed ones.

    If the toolchain cannot be used, there are only "parts" and "error", the error message.
    """
    # The search runs in a worker process, because NVRTC loads the CUDA driver into the process that uses it.
    with Workers(timeout=60, memory=None, count=1) as workers:
        listed = [part._asdict() for part in workers.submit(toolchain_parts, None).result()]
        try:
            found = workers.submit(find_toolchain, None).result()
        except CudaWheelError as error:
            return {"parts": listed, "error": str(error)}
    targets = [f"sm_{number}" for number in found.supported]
    versions = {"nvrtc": found.nvrtc, "nvjitlink": found.nvjitlink, "nvfatbin": found.nvfatbin}
    return {"parts": listed, **versions, "targets": targets, "choice": found.choice or None}


def _cache() -> dict[str, Any]:
    try:
        return cache_contents(Cache())
    except CudaWheelError as error:
        return {"error": str(error)}


def _modules(gpus: list[Version], driver: dict[str, Any]) -> list[dict[str, Any]]:
    """Return a JSON object for each module of each installed distribution. "loads" says which image each GPU model
    would load, and how. If the manifest cannot be read, "loads" is empty, and "error" says why.

    `gpus`: compute capabilities of the GPUs. `driver`: JSON object with the driver's CUDA version as "cuda".
    """
    found = []
    for distribution in distributions():
        manifests = [file for file in distribution.files or () if file.name.endswith(MANIFEST_SUFFIX)]
        for file in manifests:
            entry: dict[str, Any] = {"distribution": distribution.metadata["Name"], "manifest": str(file), "loads": []}
            found.append(entry)
            try:
                (module,) = find_modules(str(file.locate()))
                modules = [module, *installed_companions([module])]
                variants = united(modules)
            except CudaWheelError as error:
                entry["error"] = str(error)
                continue
            if module.split is not None and module.split.base is not None:  # its base has the entry
                found.remove(entry)
                continue
            entry["name"] = module.name
            for gpu in dict.fromkeys(gpus):
                missing = missing_companions(modules, gpu, tuple(driver["cuda"])).get(module.name)
                for manifest in variants:
                    resolution = resolve(manifest, gpu, tuple(driver["cuda"]), nvjitlink_version())
                    image = resolution.image and str(resolution.image)
                    load = {"gpu": dotted(gpu), "image": image, "how": resolution.how, "doubt": resolution.doubt}
                    load |= {"missing": missing} if missing else {}
                    if load not in entry["loads"]:  # variants seldom differ
                        entry["loads"].append(load)
    return found
