"""Run a plan: take from the cache the modules that it has, and build the others.

Jobs, links and bundles run in workers; this process handles each result as soon as it is there.
"""

from __future__ import annotations

import math
from collections import Counter, deque
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import Future
from functools import partial
from typing import Any, TypeVar

from cuda_wheel.builder.cache.compile_cache import CompileCache, write_and_call
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
    link_failure,
    merged,
    not_compiled,
)
from cuda_wheel.builder.jobs import BuiltModule, Compiled, Fatbin, Job, LinkJob
from cuda_wheel.builder.manifest_writer.kernel_table import LackingKernelsError, Names, lacking_kernels_help
from cuda_wheel.builder.manifest_writer.missing_kernels import early_error
from cuda_wheel.builder.manifest_writer.packing import ModuleBuild, pack_module
from cuda_wheel.builder.plan import Link, ModulePlan, Plan, make_link_job, modules_by_job
from cuda_wheel.builder.plan_state import Handler, JobResults, TaskQueue
from cuda_wheel.builder.report.reporter import Reporter
from cuda_wheel.builder.schedule import BUNDLING_SECONDS, Durations
from cuda_wheel.builder.timing import How, Step, Timed, TimedError, Times, now
from cuda_wheel.builder.workers.executor import Call, Executor, WorkerFunction, shared_options

__all__ = ["PlanRunner"]

R = TypeVar("R")

NewStep = Callable[[How, Times], Step]
"""Function `(how, times)` that returns the `Step` to report for one job, link or bundle. `how` is "compiled", "linked"
and so on; `times` is when the work was done."""


def _job_step(module: ModulePlan, job: Job) -> NewStep:
    return partial(Step, module.module.full_name, (job.source,), job.target_name)


def _link_step(module: ModulePlan, link: Link) -> NewStep:
    return partial(Step, module.module.full_name, module.module.paths, str(link.target))


def _bundle_step(module: ModulePlan) -> NewStep:
    return partial(Step, module.module.full_name, module.module.paths, "")


def _cached(step: NewStep, began: float) -> Step:
    """Return the `Step` for a result that was read from the cache. `step` makes the `Step`; `began` is the time at
    which the reading began, in seconds since 1970."""
    return step("from the cache", Times("", began, now(), (), None))


COMPILE_JOB: WorkerFunction[Compiled] = WorkerFunction("cuda_wheel.builder.compile.job:compile_job")
LINK_JOB: WorkerFunction[Compiled] = WorkerFunction("cuda_wheel.builder.link:link_job")
BUNDLE: WorkerFunction[Fatbin] = WorkerFunction("cuda_wheel.builder.images.bundling:bundle")

# The workers of a small build need not import the code that writes manifests. In a larger build, with a hundred short
# jobs per second, the build's own process would be the bottleneck.
PACKED_IN_WORKERS = 50
"""If at least this number of modules must be built, the worker processes write the manifests. Otherwise, the build's
own process writes them."""

TIME_LEFT_INTERVAL = 0.1
"""Minimum number of seconds between two estimates of the time left. Each estimate examines every pending call."""


class PlanRunner:
    """Runs a plan in five stages: reuse, compile, link, bundle, finish.

    Each job runs once, however many modules need it. A module is linked as soon as its jobs are done, and bundled as
    soon as its links are. After a failure the jobs and links of other modules still run, so that all errors are
    reported, and nothing is bundled.
    """

    def __init__(self, plan: Plan, workers: Executor, reporter: Reporter, cache: CompileCache | None) -> None:
        self._plan = plan
        self._workers = workers
        self._reporter = reporter
        self._cache = cache
        self._durations = cache.durations if cache else Durations(None)
        self._states: dict[str, ModuleBuild] = {}
        """Full module name -> state of the module's build. Modules from the cache are not included."""
        self._modules: dict[Job, list[ModulePlan]] = {}
        """Job -> the modules that need its result. Modules from the cache are not included."""
        self._users_left: dict[Job, int] = {}
        """Job -> number of modules that still need its result."""
        self._shared: Counter[str] = Counter()
        """Project-relative path of a source -> number of modules that contain it. Modules from the cache do not
        count."""
        self._packs_in_workers = False
        self._groups: dict[Job, HeaderGroup] = {}
        self._tasks = TaskQueue()
        self._compiling: dict[Job, Future[Timed[Any]]] = {}
        self._results = JobResults()
        self._built: deque[BuiltModule] = deque()
        """Queue of modules that are built, and that `run` has not yielded yet."""
        self._kernels: set[Names] = set()
        """(C++ name, symbol) of each kernel in the modules that are linked or reused so far."""
        self._failures: dict[str, Failure] = {}
        """Full module name -> the reason why the module cannot be built. Modules without an error are not included."""
        self._common_errors = CommonErrors()
        self._ended_early = ""
        """Error message if the build ended before all modules were compiled; else ""."""
        self._lacking: list[LackingKernelsError] = []
        """One error for each module in which an image lacks kernels that another image has."""
        self._next_report = 0.0
        """Time, in seconds since 1970, before which the time left is not estimated again."""

    def run(self) -> Generator[BuiltModule, None, None]:
        """Yield each module of the plan as soon as it is built or read from the cache.

        This object keeps no reference to the images of a yielded module: all modules together may be larger than
        memory. Raises CompileError with the errors of all modules that cannot be built.
        """
        self._reporter.build_started(self._plan)
        try:
            yield from self._reuse_modules()
            if not self._states:
                return
            with self._results:
                cached = {job: key for job in self._modules if (key := self._cache_key(job))}
                rest = [job for job in self._modules if job not in cached]
                self._check_headers(rest)
                self._raise_failures()
                for job, seconds, following in self._longest_first(rest):
                    self._compile(job, seconds, following)
                for job, key in cached.items():
                    self._reuse_job(job, key)
                    self._tasks.handle_done()
                    yield from self._take_built()
                for state in self._states.values():
                    if not state.plan.jobs:
                        self._link(state.plan)
                while self._tasks and not self._ended_early:
                    self._report_time_left()
                    self._tasks.handle_next()
                    yield from self._take_built()
            self._raise_failures()
        finally:
            if self._cache:
                self._cache.save()

    def _take_built(self) -> Iterator[BuiltModule]:
        while self._built:
            yield self._built.popleft()

    def _report_time_left(self) -> None:
        began = now()
        if began >= self._next_report:
            waiting = (state.link_seconds for state in self._states.values())
            left = self._tasks.seconds_left(waiting, self._workers.count)
            if left is not None:
                self._reporter.time_remaining(left)
            # With many thousands of calls the computation takes long: at most 2 % of the time goes into it.
            self._next_report = now() + max(TIME_LEFT_INTERVAL, 50 * (now() - began))

    def _raise_failures(self) -> None:
        """Raise CompileError with the error messages of all modules that failed. Do nothing if none failed."""
        if not self._failures:
            return
        texts = merged(self._failures)
        texts += [self._ended_early] if self._ended_early else []
        texts += [lacking_kernels_help(self._lacking, self._kernels)] if self._lacking else []
        unnamed = [name for failure in self._failures.values() for name in failure.unnamed_instances]
        raise CompileError("\n\n".join(texts), unnamed)

    # --- stage 1: reuse -----------------------------------------------------------------------------

    def _reuse_modules(self) -> Iterator[BuiltModule]:
        """Yield each module that is in the cache, and report its jobs and links as done. A job that an uncached module
        needs too is not reported. At the end, call `_set_missing` with the uncached modules."""
        steps: dict[Job, Step] = {}
        missing = []
        for module in self._plan.modules:
            began = now()
            cached = self._cache.load_module(self._plan, module) if self._cache else None
            if cached is None:
                missing.append(module)
                if self._cache:
                    self._workers.prepare(len(module.jobs), self._plan.toolchain.libraries[0])
                continue
            built, warnings = cached
            steps |= {job: _cached(_job_step(module, job), began) for job in module.jobs}
            for link in module.links:
                self._reporter.step_finished(_cached(_link_step(module, link), began))
            for text in warnings:
                self._reporter.warning(text)
            self._kernels |= {(kernel.name, kernel.symbol) for kernel in built.manifest.kernels}
            self._reporter.module_built(built)
            del cached
            yield built
            del built
        self._set_missing(missing)
        for job, step in steps.items():
            if job not in self._modules:  # the others are reported when they are done
                self._reporter.step_finished(step)

    def _set_missing(self, missing: Sequence[ModulePlan]) -> None:
        """Initialise this object's fields for `missing`, the modules that are not in the cache and have to be built."""
        plan = self._plan
        self._states = {
            module.module.full_name: ModuleBuild(module, plan.toolchain, plan.compression(module), len(module.jobs))
            for module in missing
        }
        self._modules = modules_by_job(missing)
        self._users_left = {job: len(modules) for job, modules in self._modules.items()}
        self._shared.update(path for module in missing for path in module.module.paths)
        self._packs_in_workers = len(missing) >= PACKED_IN_WORKERS
        if self._cache and self._packs_in_workers:
            self._cache.postpone()

    # --- stage 2: compile ---------------------------------------------------------------------------

    def _cache_key(self, job: Job) -> str | None:
        return self._cache.find_job(job) if self._cache else None

    def _check_headers(self, jobs: Sequence[Job]) -> None:
        """Mark each module that includes a missing header as failed, before anything is compiled. `jobs` are the jobs
        to compile."""
        # A compiler reports a missing header only when it reaches the `#include`, which may take long.
        errors: dict[tuple[object, ...], str] = {}
        for job in jobs:
            same = job.source, job.options, job.include_dirs, job.missing_headers
            if same not in errors:
                errors[same] = missing_headers_error(job)
            if errors[same]:
                self._fail_modules(job, CompileError(errors[same]))
        left = len(self._states) - len(self._failures)
        if self._failures and left:
            self._ended_early = f"{not_compiled(left)}: a header is missing."

    def _longest_first(self, jobs: Sequence[Job]) -> list[tuple[Job, float, float]]:
        """Return (job, expected seconds of the job, expected seconds of the longest link that needs the job) for each
        job. The job with the largest sum of both durations comes first.

        Also set the expected link time of each module, and find the jobs that can share precompiled headers.
        """
        waiting = {module.module.full_name: module for job in jobs for module in self._modules[job]}
        for name, module in waiting.items():
            seconds = (self._durations.expected(module.module.name, link)[0] for link in module.links)
            self._states[name].link_seconds = sum(seconds)
        expected = {job: self._expected(job) for job in jobs}
        self._groups = find_header_groups(expected) if may_precompile() else {}
        # An idle worker takes the first job that was submitted: this must be the longest.
        return [(job, *seconds) for job, seconds in sorted(expected.items(), key=lambda item: -sum(item[1]))]

    def _expected(self, job: Job) -> tuple[float, float]:
        """Return (expected seconds of a job, expected seconds of the longest link that needs the job). The latter is
        0.0 if no link needs the job."""
        modules = self._modules[job]
        seconds, _ = self._durations.expected(modules[0].module.name, job)
        links = (self._durations.expected(module.module.name, link)[0] for module in modules for link in module.links)
        return seconds, max(links, default=0.0)

    def _compile(self, job: Job, seconds: float, following: float) -> None:
        """Submit a job to a worker.

        `seconds` is the job's expected duration; `following` is the expected duration of the longest link that needs
        the job.
        """
        options, group = shared_options(job.options, job.lineinfo), self._groups.get(job)
        future = self._workers.enqueue(Call(COMPILE_JOB, job, options, seconds + following, group, timed=True))
        guessed = self._durations.guessed(self._modules[job][0].module.name, job)
        self._compiling[job] = self._tasks.add(future, partial(self._handle_compiled, job), seconds, guessed)

    def _reuse_job(self, job: Job, key: str) -> None:
        """Use the result that the cache has for a job under `key`. If the cache entry is damaged or has been removed,
        compile the job."""
        began = now()
        result = self._cache.read_job(key, job) if self._cache else None
        if result is None:
            self._compile(job, *self._expected(job))
        else:
            self._finish_job(job, result, _cached(_job_step(self._modules[job][0], job), began))

    def _handle_compiled(self, job: Job, future: Future[Timed[Compiled]]) -> None:
        if self._compiling.pop(job, None) is None:  # it was stopped
            return
        step = _job_step(self._modules[job][0], job)
        try:
            result = self._result(future, step)
        except CompileError as error:
            self._fail_job(job, error)
            return
        self._common_errors.job_compiled()
        if self._cache:
            self._cache.store_job(job, result.value)
        self._durations.record(self._modules[job][0].module.name, job, result.times.seconds)
        self._finish_job(job, result.value, step("compiled", result.times))

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
        """Mark all modules that need `job` as failed with `error`, and decide whether the build ends early. Cancel the
        other jobs of these modules, except jobs that a module without failure needs."""
        modules = self._modules[job]
        self._fail_modules(job, error)
        self._common_errors.job_failed(str(error), job.source)
        self._ended_early = self._common_errors.reason_to_end(len(self._states) - len(self._failures))
        self._cancel_needless_jobs(modules)

    def _fail_modules(self, job: Job, error: CompileError) -> None:
        for module in self._modules[job]:
            named = module if self._shared[job.source] > 1 else None
            self._fail(module, compile_failure(job, self._plan.toolchain, error, named))

    def _cancel_needless_jobs(self, failed: Sequence[ModulePlan]) -> None:
        """Cancel jobs of the failed modules, except jobs that a module without failure needs."""
        for other in dict.fromkeys(other for module in failed for other in module.jobs):
            if other in self._compiling and not self._users_left[other]:
                self._workers.stop(self._compiling.pop(other))

    # --- stage 3: link ------------------------------------------------------------------------------

    def _link(self, module: ModulePlan) -> None:
        state = self._states[module.module.full_name]
        state.link_seconds = 0.0
        for link in module.links:
            began = now()
            job = make_link_job(self._plan, module, link, self._results)
            result = self._cache.load_link(job) if self._cache else None
            if result is None:
                seconds, _ = self._durations.expected(module.module.name, link)
                options = shared_options(job.options, job.lineinfo)
                future = self._workers.enqueue(Call(LINK_JOB, job, options, seconds, timed=True))
                guessed = self._durations.guessed(module.module.name, link)
                self._tasks.add(future, partial(self._handle_linked, module, link, job), seconds, guessed)
            else:
                state.linked[link] = result
                self._reporter.step_finished(_cached(_link_step(module, link), began))
        self._bundle_if_linked(module)

    def _handle_linked(self, module: ModulePlan, link: Link, job: LinkJob, future: Future[Timed[Compiled]]) -> None:
        step = _link_step(module, link)
        try:
            result = self._result(future, step)
        except CompileError as error:
            self._fail(module, link_failure(module.module, link.target, self._plan.toolchain.nvjitlink, error))
            return
        if self._cache and self._cache.has_all(module.jobs):
            self._cache.store_link(job, result.value)
        self._durations.record(module.module.name, link, result.times.seconds)
        self._reporter.step_finished(step("linked", result.times))
        state = self._states[module.module.full_name]
        if not state.is_ended:
            state.linked[link] = result.value
            self._bundle_if_linked(module)

    # --- stage 4: bundle ----------------------------------------------------------------------------

    def _bundle_if_linked(self, module: ModulePlan) -> None:
        """If all links of a module are done, merge the results of its jobs and links. Check the merged result, unless a
        worker will check it. Submit the call that bundles the images, unless a module of the build has failed."""
        build = self._states[module.module.full_name]
        if len(build.linked) < len(module.links):
            return
        build.merge(self._results, with_images=not self._failures)
        if self._packs_in_workers and not self._failures:
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
            if not self._failures:
                handler = partial(self._handle_bundled, build)
                self._submit_bundling(BUNDLE, build.bundle_request, handler, build.compress)

    def _submit_bundling(
        self, function: Callable[[Any], Any], argument: object, handler: Handler, compress: str
    ) -> None:
        # With infinite priority: nothing waits for it, but the user sees early that a module is done.
        future = self._workers.enqueue(Call(function, argument, seconds=math.inf, timed=True))
        self._tasks.add(future, handler, BUNDLING_SECONDS[compress])

    def _accepts(self, build: ModuleBuild, error: CompileError | None) -> bool:
        """Report the warnings of a module. If `error` is not None, mark the module as failed with this error. Return
        whether `error` is None."""
        for text in build.warnings:
            self._reporter.warning(text)
        if isinstance(error, LackingKernelsError):
            self._lacking.append(error)
        if error is not None:
            self._fail(build.plan, str(error))
        return error is None

    # --- stage 5: finish ----------------------------------------------------------------------------

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
        self._reporter.step_finished(_bundle_step(build.plan)("bundled", result.times))
        self._finish(build, built)

    def _handle_bundled(self, build: ModuleBuild, future: Future[Timed[Fatbin]]) -> None:
        result = self._bundling_result(build.plan, future)
        if result is None:
            return
        self._reporter.step_finished(_bundle_step(build.plan)("bundled", result.times))
        try:
            built = build.with_fatbin(result.value)
        except CompileError as error:
            self._fail(build.plan, str(error))
            return
        build.release()
        self._finish(build, built)

    def _bundling_result(self, module: ModulePlan, future: Future[Timed[R]]) -> Timed[R] | None:
        """Return the result of a finished call that bundled a module. If the call failed, mark the module as failed and
        return None."""
        try:
            return self._result(future, _bundle_step(module))
        except CompileError as error:
            self._fail(module, bundle_failure(module, self._plan.toolchain, error))
            return None

    def _finish(self, build: ModuleBuild, built: BuiltModule) -> None:
        if self._cache:
            self._cache.store_module(self._plan, build.plan, built, build.warnings)
        self._reporter.module_built(built)
        self._built.append(built)

    # --- all stages ---------------------------------------------------------------------------------

    def _result(self, future: Future[Timed[Any]], step: NewStep) -> Timed[Any]:
        """Return the result of a finished call. If the call failed, report a failed step, and raise the call's error as
        a CudaWheelError. `step` makes the `Step` to report."""
        try:
            return future.result()
        except TimedError as failed:
            self._reporter.step_finished(step("failed", failed.times))
            error = failed.error
        except Exception as raised:
            error = raised
        build_error = as_build_error(error)
        if build_error is error:
            raise error
        raise build_error from error

    def _fail(self, module: ModulePlan, why: str | Failure) -> None:
        failure = why if isinstance(why, Failure) else Failure("", "", why)
        self._failures.setdefault(module.module.full_name, failure)
        state = self._states[module.module.full_name]
        state.link_seconds = 0.0
        state.release()
        self._release_results(module)

    def _release_results(self, module: ModulePlan) -> None:
        """Mark a module as ended, and discard each result of its jobs that no unfinished module needs.

        Does nothing if the module is already marked.
        """
        state = self._states[module.module.full_name]
        if state.is_ended:
            return
        state.is_ended = True
        for job in module.jobs:
            self._users_left[job] -= 1
            if not self._users_left[job]:
                self._results.drop(job)
