"""Run a plan: take from the cache the modules that it has, and build the others.

Jobs, links and bundles run in workers; this process handles each result as soon as it is there.
"""

from __future__ import annotations

import math
from collections import Counter, deque
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple, TypeVar

from cuda_wheel.builder.cache.compile_cache import CompileCache, write_and_call
from cuda_wheel.builder.cache.job_results import JobResults
from cuda_wheel.builder.compile.error_text import missing_headers_error
from cuda_wheel.builder.compile.precompiled_headers import HeaderGroup, find_header_groups, may_precompile
from cuda_wheel.builder.errors import CompileError
from cuda_wheel.builder.failures import (
    CommonErrors,
    Failure,
    as_build_error,
    bundle_failure,
    compile_failure,
    job_warnings,
    merged,
    not_compiled,
)
from cuda_wheel.builder.jobs import BuiltModule, Compiled, Fatbin, Job, LinkJob
from cuda_wheel.builder.manifest_writer.kernel_table import LackingKernelsError, Names, lacking_kernels_help
from cuda_wheel.builder.manifest_writer.missing_kernels import early_error
from cuda_wheel.builder.manifest_writer.packing import ModuleBuild, pack_module
from cuda_wheel.builder.messages.logs import link_failure
from cuda_wheel.builder.plan import Link, ModulePlan, Plan, make_link_job, modules_by_job
from cuda_wheel.builder.report.reporter import Reporter
from cuda_wheel.builder.schedule import BUNDLING_SECONDS, Durations
from cuda_wheel.builder.task_queue import Handler, TaskQueue
from cuda_wheel.builder.timing import How, Step, Timed, TimedError, Times, now
from cuda_wheel.builder.workers.executor import Executor, WorkerFunction, shared_options

__all__ = ["StepSubject", "bundle_subject", "cached_step", "execute", "job_subject", "link_subject", "timed_step"]

R = TypeVar("R")


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


COMPILE_JOB: WorkerFunction[Compiled] = WorkerFunction("cuda_wheel.builder.compile.job:compile_job")
LINK_JOB: WorkerFunction[Compiled] = WorkerFunction("cuda_wheel.builder.link:link_job")
BUNDLE: WorkerFunction[Fatbin] = WorkerFunction("cuda_wheel.builder.images.bundling:bundle")

PACKED_IN_WORKERS = 50
"""From so many modules on, workers describe them too: else this process does, while they compile, and no worker imports
what is needed for it. With a hundred short jobs a second this process would be the bound."""

TIME_LEFT_INTERVAL = 0.1
"""The least seconds between two reports of the time left. Computing it examines every pending call."""


class _PlanRunner:
    """Runs a plan in four stages: compile, link, bundle, finish.

    Each job runs once, however many modules need it. A module is linked as soon as its jobs are done, and bundled as
    soon as its links are. After a failure the jobs and links of other modules still run, so that all errors are
    reported, and nothing is bundled.
    """

    def __init__(
        self,
        plan: Plan,
        workers: Executor,
        reporter: Reporter,
        cache: CompileCache | None,
        results: JobResults,
        kernels: set[Names],
    ) -> None:
        self.failures: dict[str, Failure] = {}
        """Why each module cannot be built that has failed, by name."""
        self.ended_early = ""
        """Why the other modules were not compiled, if they were not."""
        self.lacking: list[LackingKernelsError] = []
        """Of the modules whose images do not all have the same kernels."""
        self._kernels = kernels
        """The names of the kernels of all other modules so far."""
        self.durations = cache.durations if cache else Durations(None)
        self._plan = plan
        self._tasks = TaskQueue(workers)
        self._reporter = reporter
        self._cache = cache
        self._results = results
        self._built: deque[BuiltModule] = deque()
        """Modules that are built and not yet yielded."""
        self._packs_in_workers = len(plan.modules) >= PACKED_IN_WORKERS
        if cache and self._packs_in_workers:
            cache.postpone()
        self._modules = modules_by_job(plan)
        self._states = {
            module.module.full_name: ModuleBuild(module, plan.toolchain, plan.compression(module), len(module.jobs))
            for module in plan.modules
        }
        self._users_left = {job: len(modules) for job, modules in self._modules.items()}
        """How many modules still need a job's result."""
        self._compiling: dict[Job, Future[Timed[Any]]] = {}
        self._groups: dict[Job, HeaderGroup] = {}
        self._shared = Counter(path for module in plan.modules for path in module.module.paths)
        """How many modules have a source."""
        self._common_errors = CommonErrors()

    def run(self) -> Iterator[BuiltModule]:
        """Yield each module as soon as it is built."""
        cached = {job: key for job in self._modules if (key := self._cache_key(job))}
        rest = [job for job in self._modules if job not in cached]
        self._check_headers(rest)
        if self.failures:
            return
        self._expect_links(cached)
        expected = {job: self._expected(job) for job in rest}
        self._groups = find_header_groups(expected) if may_precompile() else {}
        # Idle workers start with the first job that they see, so submit the longest first.
        for job, (seconds, following) in sorted(expected.items(), key=lambda item: -sum(item[1])):
            self._compile(job, seconds, following)
        for job, key in cached.items():
            self._reuse_job(job, key)
            self._tasks.handle_done()
            yield from self._take_built()
        for module in self._plan.modules:
            if not module.jobs:
                self._link(module)
        next_report = 0.0
        while self._tasks and not self.ended_early:
            if (began := now()) >= next_report:
                left = self._tasks.seconds_left(state.link_seconds for state in self._states.values())
                if left is not None:
                    self._reporter.time_remaining(left)
                # With many thousands of calls the computation takes long: at most 2 % of the time goes into it.
                next_report = now() + max(TIME_LEFT_INTERVAL, 50 * (now() - began))
            self._tasks.handle_next()
            yield from self._take_built()

    def _take_built(self) -> Iterator[BuiltModule]:
        while self._built:
            yield self._built.popleft()

    # --- stage 1: compile ---------------------------------------------------------------------------

    def _cache_key(self, job: Job) -> str | None:
        return self._cache.find_job(job) if self._cache else None

    def _check_headers(self, jobs: Sequence[Job]) -> None:
        """Fail the modules that need a header which does not exist: compiling what comes before it may take long."""
        errors: dict[tuple[object, ...], str] = {}
        for job in jobs:
            same = job.source, job.options, job.include_dirs, job.missing_headers
            if same not in errors:
                errors[same] = missing_headers_error(job)
            if errors[same]:
                self._fail_modules(job, CompileError(errors[same]))
        left = len(self._states) - len(self.failures)
        if self.failures and left:
            self.ended_early = f"{not_compiled(left)}: a header is missing."

    def _expected(self, job: Job) -> tuple[float, float]:
        """Return the expected seconds of a job, and of the longest link that waits for it."""
        modules = self._modules[job]
        seconds, _ = self.durations.expected(modules[0].module.name, job)
        links = (self.durations.expected(module.module.name, link)[0] for module in modules for link in module.links)
        return seconds, max(links, default=0.0)

    def _compile(self, job: Job, seconds: float, following: float) -> None:
        self._compiling[job] = self._tasks.submit(
            COMPILE_JOB,
            job,
            partial(self._handle_compiled, job),
            seconds,
            following,
            shared_options(job.options, job.lineinfo),
            self._groups.get(job),
            self.durations.guessed(self._modules[job][0].module.name, job),
        )

    def _reuse_job(self, job: Job, key: str) -> None:
        """Use a job's cached result; compile what is damaged or was removed meanwhile."""
        began = now()
        result = self._cache.read_job(key, job) if self._cache else None
        if result is None:
            self._compile(job, *self._expected(job))
        else:
            self._finish_job(job, result, cached_step(job_subject(self._modules[job][0], job), began))

    def _handle_compiled(self, job: Job, future: Future[Timed[Compiled]]) -> None:
        if self._compiling.pop(job, None) is None:  # it was stopped
            return
        subject = job_subject(self._modules[job][0], job)
        try:
            result = self._result(future, subject)
        except CompileError as error:
            self._fail_job(job, error)
            return
        self._common_errors.job_compiled()
        if self._cache:
            self._cache.store_job(job, result.value)
        self.durations.record(self._modules[job][0].module.name, job, result.seconds)
        self._finish_job(job, result.value, timed_step(subject, "compiled", result))

    def _finish_job(self, job: Job, result: Compiled, step: Step) -> None:
        self._reporter.step_finished(step)
        for text in job_warnings(job, result):
            self._reporter.warning(text)
        if self._users_left[job]:
            self._results.put(job, result)
        for module in self._modules[job]:
            if error := early_error(module, job, result):
                self._fail(module, error)
                self._cancel_needless_jobs([module])
                continue
            state = self._states[module.module.full_name]
            state.missing_jobs -= 1
            if not state.missing_jobs:
                self._link(module)

    def _fail_job(self, job: Job, error: CompileError) -> None:
        """Fail the modules that need a job, and cancel their other jobs that no other module needs."""
        modules = self._modules[job]
        self._fail_modules(job, error)
        self._common_errors.job_failed(str(error), job.source)
        self.ended_early = self._common_errors.reason_to_end(len(self._states) - len(self.failures))
        self._cancel_needless_jobs(modules)

    def _fail_modules(self, job: Job, error: CompileError) -> None:
        for module in self._modules[job]:
            named = module if self._shared[job.source] > 1 else None
            self._fail(module, compile_failure(job, self._plan.toolchain, error, named))

    def _cancel_needless_jobs(self, failed: Sequence[ModulePlan]) -> None:
        """Stop the jobs of modules that have failed if no other module needs them."""
        for other in dict.fromkeys(other for module in failed for other in module.jobs):
            if other in self._compiling and not self._users_left[other]:
                self._tasks.stop(self._compiling.pop(other))

    # --- stage 2: link ------------------------------------------------------------------------------

    def _expect_links(self, cached: Mapping[Job, str]) -> None:
        """Set the expected duration of the links of the modules that have something to compile."""
        for module in self._plan.modules:
            if any(job not in cached for job in module.jobs):
                name = module.module.name
                seconds = sum(self.durations.expected(name, link)[0] for link in module.links)
                self._states[module.module.full_name].link_seconds = seconds

    def _link(self, module: ModulePlan) -> None:
        state = self._states[module.module.full_name]
        state.link_seconds = 0.0
        for link in module.links:
            began = now()
            job = make_link_job(self._plan, module, link, self._results)
            result = self._cache.load_link(job) if self._cache else None
            if result is None:
                seconds, _ = self.durations.expected(module.module.name, link)
                handler = partial(self._handle_linked, module, link, job)
                guessed = self.durations.guessed(module.module.name, link)
                options = shared_options(job.options, job.lineinfo)
                self._tasks.submit(LINK_JOB, job, handler, seconds, options=options, guessed=guessed)
            else:
                state.linked[link] = result
                self._reporter.step_finished(cached_step(link_subject(module, link), began))
        self._bundle_if_linked(module)

    def _handle_linked(self, module: ModulePlan, link: Link, job: LinkJob, future: Future[Timed[Compiled]]) -> None:
        subject = link_subject(module, link)
        try:
            result = self._result(future, subject)
        except CompileError as error:
            self._fail(module, link_failure(module.module, link.target, self._plan.toolchain.nvjitlink, error))
            return
        if self._cache and self._cache.has_all(module.jobs):
            self._cache.store_link(job, result.value)
        self.durations.record(module.module.name, link, result.seconds)
        self._reporter.step_finished(timed_step(subject, "linked", result))
        state = self._states[module.module.full_name]
        if not state.is_ended:
            state.linked[link] = result.value
            self._bundle_if_linked(module)

    # --- stage 3: bundle ----------------------------------------------------------------------------

    def _bundle_if_linked(self, module: ModulePlan) -> None:
        """Bundle a module if all its links are done, unless a module has failed."""
        build = self._states[module.module.full_name]
        if len(build.linked) < len(module.links):
            return
        build.merge(self._results, with_images=not self.failures)
        if self._packs_in_workers and not self.failures:
            self._release_results(module)
            function: Callable[[Any], Any] = pack_module
            argument: object = build
            if self._cache is not None:  # the worker writes the cache's postponed entries too
                function, argument = write_and_call, (self._cache.postponed(), function, argument)
            self._submit_bundling(function, argument, partial(self._handle_packed, build), build.compress)
            return
        # Before bundling, which ends at the first failure: all modules that lack kernels are reported together.
        error = None
        try:
            build.examine()
        except CompileError as raised:
            error = raised
        if self._accepts(build, error):
            self._kernels |= {(kernel.name, kernel.symbol) for kernel in build.kernels}
            self._release_results(module)
            if not self.failures:
                handler = partial(self._handle_bundled, build)
                self._submit_bundling(BUNDLE, build.bundle_request, handler, build.compress)

    def _submit_bundling(
        self, function: Callable[[Any], Any], argument: object, handler: Handler, compress: str
    ) -> None:
        # With infinite priority: nothing waits for it, but the user sees early that a module is done.
        self._tasks.submit(function, argument, handler, BUNDLING_SECONDS[compress], math.inf)

    def _accepts(self, build: ModuleBuild, error: CompileError | None) -> bool:
        """Report the warnings of a module; return whether it has no error, with which it would fail."""
        for text in build.warnings:
            self._reporter.warning(text)
        if isinstance(error, LackingKernelsError):
            self.lacking.append(error)
        if error is not None:
            self._fail(build.plan, str(error))
        return error is None

    # --- stage 4: finish ----------------------------------------------------------------------------

    def _handle_packed(
        self, build: ModuleBuild, future: Future[Timed[tuple[Sequence[str], BuiltModule | CompileError]]]
    ) -> None:
        build.release()  # a worker got a copy
        result = self._bundling_result(build.plan, future)
        if result is None:
            return
        build.warnings, built = result.value
        if not self._accepts(build, built if isinstance(built, CompileError) else None):
            return
        assert isinstance(built, BuiltModule)
        self._kernels |= {(kernel.name, kernel.symbol) for kernel in built.manifest.kernels}
        self._reporter.step_finished(timed_step(bundle_subject(build.plan), "bundled", result))
        self._finish(build, built)

    def _handle_bundled(self, build: ModuleBuild, future: Future[Timed[Fatbin]]) -> None:
        result = self._bundling_result(build.plan, future)
        if result is None:
            return
        self._reporter.step_finished(timed_step(bundle_subject(build.plan), "bundled", result))
        try:
            built = build.with_fatbin(result.value)
        except CompileError as error:
            self._fail(build.plan, str(error))
            return
        build.release()
        self._finish(build, built)

    def _bundling_result(self, module: ModulePlan, future: Future[Timed[R]]) -> Timed[R] | None:
        """Return the result of bundling a module; None if it failed, and the module with it."""
        try:
            return self._result(future, bundle_subject(module))
        except CompileError as error:
            self._fail(module, bundle_failure(module, self._plan.toolchain, error))
            return None

    def _finish(self, build: ModuleBuild, built: BuiltModule) -> None:
        if self._cache:
            self._cache.store_module(self._plan, build.plan, built, build.warnings)
        self._reporter.module_built(built)
        self._built.append(built)

    # --- all stages ---------------------------------------------------------------------------------

    def _result(self, future: Future[Timed[Any]], subject: StepSubject) -> Timed[Any]:
        """Return a call's result. Report the time of a failed call, and raise its error as a CudaWheelError."""
        try:
            return future.result()
        except TimedError as failed:
            self._reporter.step_finished(timed_step(subject, "failed", failed.times))
            error = failed.error
        except Exception as raised:
            error = raised
        build_error = as_build_error(error)
        if build_error is error:
            raise error
        raise build_error from error

    def _fail(self, module: ModulePlan, why: str | Failure) -> None:
        failure = why if isinstance(why, Failure) else Failure("", "", why)
        self.failures.setdefault(module.module.full_name, failure)
        state = self._states[module.module.full_name]
        state.link_seconds = 0.0
        state.release()
        self._release_results(module)

    def _release_results(self, module: ModulePlan) -> None:
        """Discard the results of a module's jobs and links, except those that another module needs."""
        state = self._states[module.module.full_name]
        if state.is_ended:
            return
        state.is_ended = True
        for job in module.jobs:
            self._users_left[job] -= 1
            if not self._users_left[job]:
                self._results.drop(job)


def execute(
    plan: Plan, workers: Executor, reporter: Reporter, cache: CompileCache | None
) -> Generator[BuiltModule, None, None]:
    """Yield each of the plan's modules as soon as it is built, with the only reference to its images.

    All modules together may be larger than memory. What `cache` has is not built again. Raises CompileError with the
    errors of all modules that cannot be built.
    """
    reporter.build_started(plan)
    kernels: set[Names] = set()
    try:
        rest = plan
        if cache:
            reused: set[str] = set()
            yield from _reused_modules(plan, workers, reporter, cache, kernels, reused)
            rest = replace(plan, modules=tuple(each for each in plan.modules if each.module.full_name not in reused))
        if not rest.modules:
            return
        with JobResults() as results:
            runner = _PlanRunner(rest, workers, reporter, cache, results, kernels)
            yield from runner.run()
        if runner.failures:
            texts = merged(runner.failures)
            texts += [runner.ended_early] if runner.ended_early else []
            texts += [lacking_kernels_help(runner.lacking, kernels)] if runner.lacking else []
            unnamed = [name for failure in runner.failures.values() for name in failure.unnamed_instances]
            raise CompileError("\n\n".join(texts), unnamed)
    finally:
        if cache:
            cache.save()


def _reused_modules(
    plan: Plan, workers: Executor, reporter: Reporter, cache: CompileCache, kernels: set[Names], reused: set[str]
) -> Iterator[BuiltModule]:
    """Yield the modules that the cache has; add their kernels to `kernels`, and their names to `reused`."""
    steps: dict[Job, Step] = {}
    for module in plan.modules:
        began = now()
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
        reused.add(module.module.full_name)
        reporter.module_built(built)
        del cached
        yield built
        del built
    still_needed = {job for module in plan.modules if module.module.full_name not in reused for job in module.jobs}
    for job, step in steps.items():
        if job not in still_needed:  # the others are reported when they are done
            reporter.step_finished(step)
