"""Tell what a build would do: which jobs and links, what of that the cache has, and how long the rest may take."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from cuda_wheel.builder.cache.compile_cache import CompileCache
from cuda_wheel.builder.execute import form_of, linking, users_of
from cuda_wheel.builder.jobs import Compiled, Job
from cuda_wheel.builder.plan import Link, ModulePlan, Plan
from cuda_wheel.builder.schedule.durations import BUNDLING
from cuda_wheel.builder.schedule.order import time_needed

__all__ = [
    "Preview",
    "PreviewedModule",
    "Task",
    "preview",
]


@dataclass(frozen=True)
class Task:
    """One job or link, as a build would do it."""

    what: Literal["compile", "link"]
    sources: tuple[str, ...]
    target: str
    form: str
    """ "whole", or what is made for linking, or linked: "ptx" or "lto"."""
    cached: bool | None
    """None for a link of what has to be compiled first: should it come out as it was, the link is in the cache."""
    seconds: float
    """What it may take if it is not in the cache."""
    known: bool
    """Whether it took that when it was done last; else it is a guess."""


@dataclass(frozen=True)
class PreviewedModule:
    """A module, and what makes it. A job that several modules need is in each."""

    name: str
    tasks: tuple[Task, ...]


@dataclass(frozen=True)
class Preview:
    """What a build would do."""

    toolchain: str
    modules: tuple[PreviewedModule, ...]
    tasks: tuple[Task, ...]
    """Each once."""
    cores: int
    """How many jobs it would do at once."""
    seconds: float
    """What it may take with them, after its toolchain was found."""


def preview(plan: Plan, cache: CompileCache, cores: int) -> Preview:
    """Return what a build would do with what the cache has, on so many cores. Nothing is compiled."""
    recalled = {}
    jobs = {}
    for job, users in users_of(plan).items():
        kept = cache.recall(job)
        if kept is not None:
            recalled[job] = kept
        seconds, known = cache.seconds.of(users[0].module.name, job)
        jobs[job] = Task("compile", (job.source,), form_of(job), job.form, kept is not None, seconds, known)
    modules = []
    tasks = [*jobs.values()]
    needed = [task.seconds for task in tasks if not task.cached]
    for module in plan.modules:
        links = [_link(plan, module, link, recalled, cache) for link in module.links]
        tasks += links
        needed.append(sum(task.seconds for task in links if not task.cached) + BUNDLING[plan.compress])
        modules.append(PreviewedModule(module.module.name, (*(jobs[job] for job in module.jobs), *links)))
    return Preview(plan.toolchain.name, tuple(modules), tuple(tasks), cores, time_needed(needed, cores))


def _link(plan: Plan, module: ModulePlan, link: Link, recalled: dict[Job, Compiled], cache: CompileCache) -> Task:
    ready = all(each in recalled for each in link.inputs if isinstance(each, Job))
    cached = cache.recall_linked(linking(plan, module, link, recalled)) is not None if ready else None
    seconds, known = cache.seconds.of(module.module.name, link)
    form = "lto" if link.lto else "ptx"
    return Task("link", module.module.paths, str(link.target), form, cached, seconds, known)
