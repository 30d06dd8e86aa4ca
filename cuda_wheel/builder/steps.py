"""Make the records of a build's finished steps, for the reporter."""

from __future__ import annotations

from typing import NamedTuple

from cuda_wheel.builder.jobs import Job
from cuda_wheel.builder.plan import Link, ModulePlan
from cuda_wheel.builder.timing import How, Step, Times, now

__all__ = ["StepSubject", "bundle_subject", "cached_step", "job_subject", "link_subject", "timed_step"]


class StepSubject(NamedTuple):
    """The job, link or bundle of a step: the first fields of `Step`."""

    module: str
    sources: tuple[str, ...]
    target: str


def job_subject(module: ModulePlan, job: Job) -> StepSubject:
    return StepSubject(module.module.full_name, (job.source,), job.target_name)


def link_subject(module: ModulePlan, link: Link) -> StepSubject:
    return StepSubject(module.module.full_name, module.module.paths, str(link.target))


def bundle_subject(module: ModulePlan) -> StepSubject:
    return StepSubject(module.module.full_name, module.module.paths, "")


def cached_step(subject: StepSubject, began: float) -> Step:
    """Return the step of something that was read from the cache since `began` (seconds since 1970)."""
    return Step(*subject, "from the cache", "", began, now())


def timed_step(subject: StepSubject, how: How, times: Times) -> Step:
    """Return the step of a call in a worker."""
    return Step(*subject, how, times.worker, times.began, times.ended, times.phases, times.start)
