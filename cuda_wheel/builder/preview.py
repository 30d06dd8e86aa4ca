"""Predict what a build would do: its jobs and links, which of them the cache has, and how long the others take."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from cuda_wheel.builder.cache.compile_cache import CompileCache
from cuda_wheel.builder.jobs import Compiled, Job
from cuda_wheel.builder.plan import Link, ModulePlan, Plan, make_link_job, modules_by_job
from cuda_wheel.builder.schedule.durations import BUNDLING_SECONDS
from cuda_wheel.builder.schedule.order import time_needed

__all__ = ["Preview", "PreviewedModule", "Task", "preview"]


@dataclass(frozen=True)
class Task:
    """One job or link of a build."""

    what: Literal["compile", "link"]
    sources: tuple[str, ...]
    target: str
    form: str
    """ "whole", or the relocatable form that is compiled or linked: "ptx" or "lto"."""
    cached: bool | None
    """None for a link of sources that must be compiled first: it is cached if they compile to the same code as before.
    """
    seconds: float
    """The expected duration if it is not in the cache."""
    known: bool
    """Whether `seconds` is the duration of the last run; else it is an estimate."""


@dataclass(frozen=True)
class PreviewedModule:
    """A module and its tasks. A job that several modules need is in each of them."""

    name: str
    tasks: tuple[Task, ...]


@dataclass(frozen=True)
class Preview:
    """What a build would do."""

    toolchain: str
    modules: tuple[PreviewedModule, ...]
    tasks: tuple[Task, ...]
    """Each task once."""
    cores: int
    """How many tasks would run at once."""
    seconds: float
    """The expected duration of the build on these cores, after the toolchain is found."""


def preview(plan: Plan, cache: CompileCache, cores: int) -> Preview:
    """Return what a build would do with this cache on so many cores. Nothing is compiled."""
    results: dict[Job, Compiled] = {}
    jobs: dict[Job, Task] = {}
    for job, modules in modules_by_job(plan).items():
        result = cache.load_job(job)
        if result is not None:
            results[job] = result
        seconds, known = cache.durations.expected(modules[0].module.name, job)
        jobs[job] = Task("compile", (job.source,), job.target_name, job.form, result is not None, seconds, known)
    previewed = []
    tasks = [*jobs.values()]
    durations = [task.seconds for task in tasks if not task.cached]
    for module in plan.modules:
        links = [_link_task(plan, module, link, results, cache) for link in module.links]
        tasks += links
        durations.append(sum(task.seconds for task in links if not task.cached) + BUNDLING_SECONDS[plan.compress])
        previewed.append(PreviewedModule(module.module.full_name, (*(jobs[job] for job in module.jobs), *links)))
    return Preview(plan.toolchain.name, tuple(previewed), tuple(tasks), cores, time_needed(durations, cores))


def _link_task(plan: Plan, module: ModulePlan, link: Link, results: dict[Job, Compiled], cache: CompileCache) -> Task:
    cached = None
    if all(each in results for each in link.inputs if isinstance(each, Job)):
        cached = cache.load_link(make_link_job(plan, module, link, results)) is not None
    seconds, known = cache.durations.expected(module.module.name, link)
    form = "lto" if link.lto else "ptx"
    return Task("link", module.module.paths, str(link.target), form, cached, seconds, known)
