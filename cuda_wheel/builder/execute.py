"""Run a plan: take from the cache the modules that it has, and build the others."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

from cuda_wheel.builder.cache.compile_cache import CompileCache
from cuda_wheel.builder.jobs import BuiltModule, Job
from cuda_wheel.builder.plan import Plan
from cuda_wheel.builder.report.reporter import Reporter
from cuda_wheel.builder.steps import cached_step, job_subject, link_subject
from cuda_wheel.builder.timing import Step, now
from cuda_wheel.builder.workers.executor import Executor

if TYPE_CHECKING:
    from cuda_wheel.builder.describe.name_globs import Names

__all__ = ["execute"]

T = TypeVar("T")


def execute(
    plan: Plan, workers: Executor, reporter: Reporter, cache: CompileCache | None, consume: Callable[[BuiltModule], T]
) -> tuple[T, ...]:
    """Return what `consume` returns for each of the plan's modules, in their order.

    `consume` receives each module as soon as it is built, with the only reference to its images: all modules together
    may be larger than memory. What `cache` has is not built again. Raises CompileError with the errors of all modules
    that cannot be built.
    """
    reporter.build_started(plan)
    kernels: set[Names] = set()
    consumed = _reuse_modules(plan, workers, reporter, cache, consume, kernels) if cache else {}
    rest = replace(plan, modules=tuple(module for module in plan.modules if module.module.full_name not in consumed))
    try:
        if rest.modules:
            from cuda_wheel.builder.plan_runner import run  # the compilers' side, which a cached build does not need

            consumed |= run(rest, workers, reporter, cache, consume, kernels)
    finally:
        if cache:
            cache.save()
    return tuple(consumed[module.module.full_name] for module in plan.modules)


def _reuse_modules(
    plan: Plan,
    workers: Executor,
    reporter: Reporter,
    cache: CompileCache,
    consume: Callable[[BuiltModule], T],
    kernels: set[Names],
) -> dict[str, T]:
    """Return what `consume` returns for the modules that the cache has, by name; add their kernels to `kernels`."""
    consumed: dict[str, T] = {}
    steps: dict[Job, Step] = {}
    for module in plan.modules:
        name, began = module.module.full_name, now()
        cached = cache.load_module(plan, module)
        if cached is None:
            workers.prepare(len(module.jobs), plan.toolchain.libraries[0])
            continue
        built, warnings = cached
        steps |= {job: cached_step(job_subject(module, job), began) for job in module.jobs}
        for link in module.links:
            reporter.step_finished(cached_step(link_subject(module, link), began))
        for text in warnings:
            reporter.warning(text)
        kernels |= {(kernel.name, kernel.symbol) for kernel in built.manifest.kernels}
        consumed[name] = consume(built)
        reporter.module_built(built)
    still_needed = {job for module in plan.modules if module.module.full_name not in consumed for job in module.jobs}
    for job, step in steps.items():
        if job not in still_needed:  # the others are reported when they are done
            reporter.step_finished(step)
    return consumed
