"""Merge the results of a module's jobs and links: one result for each architecture, and the list of its images."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TypeVar

from cuda_wheel.builder.jobs import EMPTY, Compiled, ImageContent, Job
from cuda_wheel.builder.plan import Link, ModulePlan
from cuda_wheel.runtime.manifest import Kind, Target

__all__ = ["all_headers", "image_contents", "merge_results"]

V = TypeVar("V")


def merge_results(
    module: ModulePlan, compiled: Mapping[Job, Compiled], linked: Mapping[Link, Compiled]
) -> dict[str, Compiled]:
    """Return a module's results by architecture, each merged into one record."""
    results = {}
    for arch in dict.fromkeys(target.arch for target in module.all_targets):
        units = {job: compiled[job] for job in module.jobs if job.arch == arch}
        links = [linked[link] for link in module.links if link.target.arch == arch]
        results[arch] = _merge(list(units.values()), links or _unlinked(units))
    return results


def _unlinked(units: Mapping[Job, Compiled]) -> list[Compiled]:
    """Return the results that describe a module that is not linked: complete images, or else relocatable PTX."""
    whole = [unit for job, unit in units.items() if job.form == "whole"]
    return whole or [unit for job, unit in units.items() if job.form == "ptx"]


def _merge(units: list[Compiled], images: list[Compiled]) -> Compiled:
    """Return one result: kernels and variables from the images, and what the compiler reported from all units."""
    with_ptx = next((image for image in images if image.ptx), EMPTY)
    with_version = next((each for each in (with_ptx, *units) if each.ptx), EMPTY)
    return Compiled(
        cubin=next(filter(None, (image.cubin for image in images)), None),
        ptx=with_ptx.ptx,
        ptx_version_compiled=with_version.ptx_version_compiled,
        kernels=_union(image.kernels for image in images),
        bounds=_union(image.bounds for image in images),
        resources=_union(image.resources for image in images),
        variables=_unique(image.variables for image in images),
        names=_union(unit.names for unit in units),
        parameters=_union(unit.parameters for unit in units),
        headers=all_headers(units),
        log="\n\n".join(dict.fromkeys(filter(None, (each.log for each in (*units, *images))))),
        left_out=_unique(unit.left_out for unit in units),
        absent_headers=_unique(unit.absent_headers for unit in units),
        uses_build_time=any(unit.uses_build_time for unit in units),
    )


def _union(tables: Iterable[Mapping[str, V]]) -> dict[str, V]:
    return {name: value for table in tables for name, value in table.items()}


def _unique(lists: Iterable[Iterable[V]]) -> tuple[V, ...]:
    return tuple(dict.fromkeys(each for values in lists for each in values))


def all_headers(results: Iterable[Compiled]) -> tuple[str, ...] | None:
    """Return the headers of all results, sorted; None if one of them could not list its headers."""
    paths: set[str] = set()
    for result in results:
        if result.headers is None:
            return None
        paths.update(result.headers)
    return tuple(sorted(paths))


def image_contents(
    module: ModulePlan, results: Mapping[str, Compiled], compiled: Mapping[Job, Compiled]
) -> list[ImageContent]:
    """Return the images of a module: the loadable ones, then the relocatable ones.

    `results` are the merged ones by architecture. A relocatable module without kernels has no loadable image.
    """
    images: list[ImageContent] = []
    if not module.relocatable or any(result.kernels for result in results.values()):
        images += [_loadable(target, results[target.arch]) for target in module.targets]
    return images + [_relocatable(job, compiled[job]) for job in module.relocatable]


def _loadable(target: Target, result: Compiled) -> ImageContent:
    kind: Kind = "cubin" if target.real else "ptx"
    return target, None, (kind, target.arch, (result.cubin if target.real else result.ptx) or b"")


def _relocatable(job: Job, result: Compiled) -> ImageContent:
    kind: Kind = "ltoir" if job.form == "lto" else "ptx"
    content = result.ltoir if job.form == "lto" else result.ptx
    return Target.parse(f"compute_{job.arch}"), job.source, (kind, job.arch, content or b"")
