"""Run a plan: take from the cache the modules that it has, and build the others.

Make the records of a build's finished steps, for the reporter.

Run calls in workers and handle each result in this thread as soon as it is there.

Build the modules that no cache has: compile their jobs, link and bundle each module in workers, and describe it.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from functools import partial
from queue import SimpleQueue
from typing import Any, Generic, NamedTuple, TypeVar

from cuda_wheel.builder.cache.compile_cache import CompileCache, write_and_call
from cuda_wheel.builder.cache.job_results import JobResults
from cuda_wheel.builder.compile.error_text import missing_headers_error
from cuda_wheel.builder.compile.job import compile_job
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
from cuda_wheel.builder.images.bundling import bundle
from cuda_wheel.builder.jobs import BuiltModule, Bundled, Compiled, Job, LinkJob
from cuda_wheel.builder.link import link_job
from cuda_wheel.builder.manifest_writer.kernel_table import LackingKernelsError, Names, lacking_kernels_help
from cuda_wheel.builder.manifest_writer.manifest import image_contents, merge_results
from cuda_wheel.builder.manifest_writer.missing_kernels import early_error
from cuda_wheel.builder.manifest_writer.packing import CompleteModule, Examined, PackedModule, examine, pack_module
from cuda_wheel.builder.messages.logs import link_failure
from cuda_wheel.builder.plan import Link, ModulePlan, Plan, make_link_job, modules_by_job
from cuda_wheel.builder.report.reporter import Reporter
from cuda_wheel.builder.schedule import BUNDLING_SECONDS, Durations, Pace, time_needed
from cuda_wheel.builder.timing import How, Step, Timed, TimedError, Times, now
from cuda_wheel.builder.workers.executor import Call, Executor, shared_options

__all__ = [
    "Handler",
    "StepSubject",
    "TaskQueue",
    "bundle_subject",
    "cached_step",
    "execute",
    "job_subject",
    "link_subject",
    "run",
    "timed_step",
]


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


Handler = Callable[["Future[Timed[Any]]"], None]
"""Handles the result, or the exception, of a call that is done."""


class _Pending(NamedTuple):
    """A call whose result is not handled."""

    handler: Handler
    seconds: float
    """How long it is expected to take."""
    guessed: str
    """The sources, if `seconds` is a guess from their size; else empty."""


class TaskQueue:
    """The calls that workers run or that wait for a worker."""

    def __init__(self, workers: Executor) -> None:
        self._workers = workers
        self._pending: dict[Future[Timed[Any]], _Pending] = {}
        self._pace = Pace()
        # Futures put themselves here when done. `concurrent.futures.wait` would examine all of them at each call.
        self._done: SimpleQueue[Future[Timed[Any]]] = SimpleQueue()

    def __len__(self) -> int:
        return len(self._pending)

    def submit(
        self,
        function: Callable[[Any], Any],
        argument: object,
        handler: Handler,
        seconds: float,
        following: float = 0.0,
        options: tuple[str, ...] | None = None,
        group: HeaderGroup | None = None,
        guessed: str = "",
    ) -> Future[Timed[Any]]:
        """Run `function(argument)` in a worker, and then `handler` in this thread.

        The call is expected to take `seconds`, and what waits for it takes `following` seconds more: the longest goes
        first. One worker runs calls of the same `options` only, and prefers those of one `group`. `guessed` names the
        sources if `seconds` is a guess from their size.
        """
        call = Call(function, argument, options, seconds + following, group, timed=True)
        future: Future[Timed[Any]] = self._workers.enqueue(call)
        self._pending[future] = _Pending(handler, seconds, guessed)
        future.add_done_callback(self._done.put)
        return future

    def stop(self, call: Future[Timed[Any]]) -> None:
        """Cancel or end a call whose result nobody needs. Its handler may still get an error."""
        self._workers.stop(call)

    def handle_done(self) -> None:
        """Handle the results that are there, without waiting."""
        while not self._done.empty():
            self.handle_next()

    def handle_next(self) -> None:
        """Wait for a result and handle it. A call that was cancelled is ignored."""
        future = self._done.get()
        call = self._pending.pop(future)
        if future.cancelled():
            return
        if call.guessed and future.exception() is None:
            times = future.result()  # with the time for precompiling headers: other calls take some too
            self._pace.call_done(call.guessed, call.seconds, times.ended - times.began)
        call.handler(future)

    def seconds_left(self, further: Iterable[float]) -> float | None:
        """Return the seconds that all pending calls, and further ones of these durations, need with all workers.

        Guesses are corrected by how long other calls took; None while nothing is known that could correct them.
        """
        guessed = {call.guessed for call in self._pending.values() if call.guessed}
        factors = {"": 1.0, **{source: self._pace.factor(source) for source in guessed}}
        seconds = list(further)
        for call in self._pending.values():
            factor = factors[call.guessed]
            if factor is None:
                return None
            seconds.append(call.seconds * factor)
        return time_needed(seconds, self._workers.count)


R = TypeVar("R")
T = TypeVar("T")


def run(
    plan: Plan,
    workers: Executor,
    reporter: Reporter,
    cache: CompileCache | None,
    consume: Callable[[BuiltModule], T],
    kernels: set[Names],
) -> dict[str, T]:
    """Return what `consume` returns for each module of a plan, by name; `kernels` has the names of all other kernels.

    Raises CompileError with the errors of all modules that cannot be built.
    """
    with JobResults() as results:
        runner = _PlanRunner(plan, workers, reporter, cache, results, consume, kernels)
        runner.run()
    if runner.failures:
        texts = merged(runner.failures)
        texts += [runner.ended_early] if runner.ended_early else []
        texts += [lacking_kernels_help(runner.lacking, kernels)] if runner.lacking else []
        unnamed = [name for failure in runner.failures.values() for name in failure.unnamed_instances]
        raise CompileError("\n\n".join(texts), unnamed)
    return runner.consumed


@dataclass
class _ModuleState:
    """The progress of one module."""

    missing_jobs: int
    """How many of its jobs have no result yet."""
    link_seconds: float = 0.0
    """The expected duration of its links, until they are submitted."""
    linked: dict[Link, Compiled] = field(default_factory=dict)
    is_ended: bool = False
    """Whether its results are complete or it failed: it needs no more results."""


PACKED_IN_WORKERS = 50
"""From so many modules on, workers describe them too: else this process does, while they compile, and no worker imports
what is needed for it. With a hundred short jobs a second this process would be the bound."""

TIME_LEFT_INTERVAL = 0.1
"""The least seconds between two reports of the time left. Computing it examines every pending call."""


class _PlanRunner(Generic[T]):
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
        consume: Callable[[BuiltModule], T],
        kernels: set[Names],
    ) -> None:
        self.consumed: dict[str, T] = {}
        """What `consume` returned for each module, by name."""
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
        self._consume = consume
        self._packs_in_workers = len(plan.modules) >= PACKED_IN_WORKERS
        if cache and self._packs_in_workers:
            cache.postpone()
        self._modules = modules_by_job(plan)
        self._states = {module.module.full_name: _ModuleState(len(module.jobs)) for module in plan.modules}
        self._users_left = {job: len(modules) for job, modules in self._modules.items()}
        """How many modules still need a job's result."""
        self._compiling: dict[Job, Future[Timed[Any]]] = {}
        self._groups: dict[Job, HeaderGroup] = {}
        self._shared = Counter(path for module in plan.modules for path in module.module.paths)
        """How many modules have a source."""
        self._common_errors = CommonErrors()

    def run(self) -> None:
        cached = {job: key for job in self._modules if (key := self._cache_key(job))}
        rest = [job for job in self._modules if job not in cached]
        self._check_headers(rest)
        if self.failures:
            return
        self._expect_links(cached)
        self._start_compiling(rest)
        for job, key in cached.items():
            self._reuse_job(job, key)
            self._tasks.handle_done()
        for module in self._plan.modules:
            if not module.jobs:
                self._link(module)
        self._wait()

    def _wait(self) -> None:
        """Handle results until no call is pending, and report the time left."""
        next_report = 0.0
        while self._tasks and not self.ended_early:
            if (began := now()) >= next_report:
                seconds = self._tasks.seconds_left(state.link_seconds for state in self._states.values())
                if seconds is not None:
                    self._reporter.time_remaining(seconds)
                # With many thousands of calls the computation takes long: at most 2 % of the time goes into it.
                next_report = now() + max(TIME_LEFT_INTERVAL, 50 * (now() - began))
            self._tasks.handle_next()

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

    def _start_compiling(self, jobs: Sequence[Job]) -> None:
        expected = {job: self._expected(job) for job in jobs}
        self._groups = find_header_groups(expected) if may_precompile() else {}
        # Idle workers start with the first job that they see, so submit the longest first.
        for job, (seconds, following) in sorted(expected.items(), key=lambda item: -sum(item[1])):
            self._compile(job, seconds, following)

    def _expected(self, job: Job) -> tuple[float, float]:
        """Return the expected seconds of a job, and of the longest link that waits for it."""
        modules = self._modules[job]
        seconds, _ = self.durations.expected(modules[0].module.name, job)
        links = (self.durations.expected(module.module.name, link)[0] for module in modules for link in module.links)
        return seconds, max(links, default=0.0)

    def _compile(self, job: Job, seconds: float, following: float) -> None:
        self._compiling[job] = self._tasks.submit(
            compile_job,
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
                self._tasks.submit(link_job, job, handler, seconds, options=options, guessed=guessed)
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
        linked = self._states[module.module.full_name].linked
        if len(linked) < len(module.links):
            return
        results = merge_results(module, self._results, linked)
        contents = [] if self.failures else image_contents(module, results, self._results)
        compress = self._plan.compression(module)
        complete = CompleteModule(module, results, contents, compress, self._plan.toolchain)
        if self._packs_in_workers and not self.failures:
            self._release_results(module)
            self._submit_bundling(
                *self._with_postponed(pack_module, complete.without_images_twice()),
                partial(self._handle_packed, module),
                compress,
            )
        # Before bundling, which ends at the first failure: all modules that lack kernels are reported together.
        elif self._accepts(module, examined := examine(module, results)):
            self._release_results(module)
            if not self.failures:
                handler = partial(self._handle_bundled, complete.without_images_twice(), examined)
                self._submit_bundling(bundle, complete.bundle, handler, compress)

    def _submit_bundling(
        self, function: Callable[[Any], Any], argument: object, handler: Handler, compress: str
    ) -> None:
        # With infinite priority: nothing waits for it, but the user sees early that a module is done.
        self._tasks.submit(function, argument, handler, BUNDLING_SECONDS[compress], math.inf)

    def _with_postponed(self, function: Callable[[Any], Any], argument: object) -> tuple[Callable[[Any], Any], object]:
        """Return a call that writes the cache's postponed entries too."""
        if self._cache is None:
            return function, argument
        return write_and_call, (self._cache.postponed(), function, argument)

    def _accepts(self, module: ModulePlan, examined: Examined) -> bool:
        """Report the warnings of a module; return whether it has no error, with which it would fail."""
        for text in examined.warnings:
            self._reporter.warning(text)
        if examined.error is not None:
            if isinstance(examined.error, LackingKernelsError):
                self.lacking.append(examined.error)
            self._fail(module, str(examined.error))
            return False
        self._kernels |= {(kernel.name, kernel.symbol) for kernel in examined.kernels}
        return True

    # --- stage 4: finish ----------------------------------------------------------------------------

    def _handle_packed(self, module: ModulePlan, future: Future[Timed[PackedModule]]) -> None:
        result = self._bundling_result(module, future)
        if result is None or not self._accepts(module, result.value.examined):
            return
        assert result.value.built is not None
        self._reporter.step_finished(timed_step(bundle_subject(module), "bundled", result))
        self._finish(module, result.value.built, result.value.examined.warnings)

    def _handle_bundled(self, complete: CompleteModule, examined: Examined, future: Future[Timed[Bundled]]) -> None:
        result = self._bundling_result(complete.module, future)
        if result is None:
            return
        self._reporter.step_finished(timed_step(bundle_subject(complete.module), "bundled", result))
        try:
            built = complete.built(result.value, examined.kernels)
        except CompileError as error:
            self._fail(complete.module, str(error))
            return
        self._finish(complete.module, built, examined.warnings)

    def _bundling_result(self, module: ModulePlan, future: Future[Timed[R]]) -> Timed[R] | None:
        """Return the result of bundling a module; None if it failed, and the module with it."""
        try:
            return self._result(future, bundle_subject(module))
        except CompileError as error:
            self._fail(module, bundle_failure(module, self._plan.toolchain, error))
            return None

    def _finish(self, module: ModulePlan, built: BuiltModule, warnings: Sequence[str]) -> None:
        if self._cache:
            self._cache.store_module(self._plan, module, built, warnings)
        self.consumed[module.module.full_name] = self._consume(built)
        self._reporter.module_built(built)

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
        self._states[module.module.full_name].link_seconds = 0.0
        self._release_results(module)

    def _release_results(self, module: ModulePlan) -> None:
        """Discard the results of a module's jobs and links, except those that another module needs."""
        state = self._states[module.module.full_name]
        if state.is_ended:
            return
        state.is_ended = True
        state.linked = {}
        for job in module.jobs:
            self._users_left[job] -= 1
            if not self._users_left[job]:
                self._results.drop(job)


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
