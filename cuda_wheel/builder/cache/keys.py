"""Compute the keys of the compile cache: for each kind of result one function, with all that decides the result.

The files that a job reads are not here: `dependencies` adds their content. What identifies a compiler is its exact
build, since two patches of one release compile differently.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import fields, replace
from hashlib import sha256
from typing import Any

from cuda_wheel import __version__
from cuda_wheel.builder.jobs import Job, LinkJob
from cuda_wheel.builder.plan import ModulePlan, Plan
from cuda_wheel.builder.toolchain.device_runtime import device_runtime_build
from cuda_wheel.builder.toolchain.records import Toolchain
from cuda_wheel.runtime.user_cache.cache import Cache

__all__ = ["folders_key", "job_key", "link_key", "module_key"]

FORMAT = "jobs 14"
"""Part of every key: entries of another layout have other keys."""

_LOCATIONS = ("library", "libdevice", "root")
"""The fields of a job that say where something is. The locations do not affect the result."""


_PER_IMAGE: dict[str, Any] = {"arch": "", "cubin": False, "ptx": False, "form": "whole", "describes": False}
"""The fields in which the jobs of one source differ, and a value that makes them alike."""

_WITHOUT_TEXT: dict[str, Any] = {**_PER_IMAGE, "text": b""}

_WITHOUT_CONTENT: dict[str, Any] = {"inputs": (), "include_dirs": (), "system_dirs": ()}
"""The fields of a link that are hashed, or are locations."""


def job_key(job: Job, toolchain: Toolchain, names_arch_list: bool = False) -> str:
    """Return the key of a job, without the files that it reads.

    With `names_arch_list`, it is that of a job that reads `__CUDA_ARCH_LIST__`: others are the same, whichever other
    targets the module has.

    nvJitLink takes part in every job: it proves that a lower PTX version gives the same code. The toolchain's folders
    take no part, only the order of the project's: what is read from them is among the files.
    """
    parts = {item.name: repr(getattr(job, item.name)) for item in fields(job) if item.name not in _LOCATIONS}
    if not names_arch_list:
        del parts["arch_list"]
    parts["system_dirs"] = repr(len(job.system_dirs))
    parts["include_dirs"] = repr([folder for folder in job.include_dirs if not os.path.isabs(folder)])
    return _key(toolchain, *(f"{name}={parts[name]}" for name in sorted(parts)))


def folders_key(job: Job, toolchain: Toolchain) -> str:
    """Return the key of the lists of include folders that the jobs of a source were compiled with."""
    return Cache.key("include folders", job_key(replace(job, **_PER_IMAGE, include_dirs=()), toolchain))


def link_key(job: LinkJob, toolchain: Toolchain) -> str:
    """Return the key of a link. It reads nothing but its inputs."""
    inputs = [(each.source, each.kind, sha256(each.content).hexdigest(), each.declared) for each in job.inputs]
    return _key(toolchain, repr(replace(job, **_WITHOUT_CONTENT)), json.dumps(inputs))


def module_key(plan: Plan, module: ModulePlan, key_of: Callable[[Job], str]) -> str:
    """Return the key of a built module, without the files that its jobs read. `key_of` returns the key of a job.

    The manifest names the releases of headers, which a module need not read from a header.
    """
    # The sources' texts are in `module.module`.
    alike = {job: replace(job, **_WITHOUT_TEXT) for job in module.jobs}
    number = {job: index for index, job in enumerate(dict.fromkeys(alike.values()))}
    jobs = [(number[alike[job]], [getattr(job, name) for name in _PER_IMAGE]) for job in module.jobs]
    links = [(str(link.target), link.lto, link.options, len(link.inputs)) for link in module.links]
    return _key(
        plan.toolchain,
        repr((plan.compression(module), plan.ptx_version)),
        repr([(each.name, each.release) for each in plan.toolchain.headers]),
        repr((module.module, module.targets, module.options, jobs, links, len(module.relocatable))),
        device_runtime_build(plan.toolchain.include_dirs) if links else "",
        *map(key_of, number),
    )


def _key(toolchain: Toolchain, *parts: str) -> str:
    compilers = (toolchain.nvrtc, toolchain.nvjitlink, toolchain.nvfatbin, toolchain.builds)
    return Cache.key(FORMAT, __version__, repr(compilers), *parts)
