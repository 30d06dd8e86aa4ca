"""Carry out a plan: compile its jobs, link their results and bundle each module in workers, have it described."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import replace
from queue import SimpleQueue
from typing import Any, Generic, TypeVar

from cuda_wheel.builder.cache.compile_cache import CLOCK, CompileCache, holds_folder
from cuda_wheel.builder.cache.results import Results
from cuda_wheel.builder.compile.job import compile_job
from cuda_wheel.builder.describe.kernels import unseen
from cuda_wheel.builder.describe.module import contents_of, describe, parts_of
from cuda_wheel.builder.errors import CompileError
from cuda_wheel.builder.images.bundling import bundle
from cuda_wheel.builder.jobs import BuiltModule, Bundle, Bundled, Compiled, ImageContent, Job, LinkInput, LinkJob
from cuda_wheel.builder.link.device_link import link_job
from cuda_wheel.builder.messages.diagnostics import is_warning, merged
from cuda_wheel.builder.messages.link_errors import link_failure
from cuda_wheel.builder.plan import Link, ModulePlan, Plan
from cuda_wheel.builder.report.reporter import Reporter
from cuda_wheel.builder.schedule.durations import BUNDLING, Seconds
from cuda_wheel.builder.schedule.groups import Group
from cuda_wheel.builder.schedule.order import time_needed
from cuda_wheel.builder.schedule.preamble import groups, may_precompile
from cuda_wheel.builder.timing import How, Step, Timed, now, timed, times_of
from cuda_wheel.builder.toolchain.records import INCLUDE, Toolchain
from cuda_wheel.builder.workers.executor import Executor
from cuda_wheel.runtime.errors import CudaWheelError

__all__ = [
    "execute",
    "failure",
    "form_of",
    "linking",
    "refused",
    "users_of",
    "warnings",
]


T = TypeVar("T")


def execute(
    plan: Plan, workers: Executor, reporter: Reporter, cache: CompileCache | None, keep: Callable[[BuiltModule], T]
) -> tuple[T, ...]:
    """Return what `keep` makes of each of the plan's modules, in their order; raises CompileError that tells of every
    module that does not compile or link.

    `keep` gets a module as soon as it is built, and all that is in memory of its images: a build may be larger than
    that. What `cache` has is not done again.
    """
    reporter.begin(plan)
    kept = _recalled(plan, reporter, cache, keep) if cache else {}
    rest = replace(plan, modules=tuple(module for module in plan.modules if module.module.name not in kept))
    with Results() as results:
        work = _Work(rest, workers, reporter, cache, results, keep)
        try:
            work.do()
        finally:
            work.seconds.keep()
    if work.failures:
        raise CompileError("\n\n".join(work.failures[name] for name in sorted(work.failures)))
    kept |= work.kept
    return tuple(kept[module.module.name] for module in plan.modules)


def _recalled(plan: Plan, reporter: Reporter, cache: CompileCache, keep: Callable[[BuiltModule], T]) -> dict[str, T]:
    """Return what `keep` makes of the modules that the cache has as they are to be built, by name."""
    kept: dict[str, T] = {}
    told: dict[Job, Step] = {}
    for module in plan.modules:
        name, began = module.module.name, now()
        found = cache.recall_module(plan, module)
        if found is None:
            continue
        built, texts = found
        for job in module.jobs:
            told[job] = Step(name, (job.source,), form_of(job), "from the cache", "", began, now())
        for link in module.links:
            reporter.done(Step(name, module.module.paths, str(link.target), "from the cache", "", began, now()))
        for text in texts:
            reporter.warning(text)
        kept[name] = keep(built)
        reporter.built(built)
    others = {job for module in plan.modules if module.module.name not in kept for job in module.jobs}
    for job, step in told.items():
        if job not in others:  # of those, it is told when they are done
            reporter.done(step)
    return kept


def users_of(plan: Plan) -> dict[Job, list[ModulePlan]]:
    """Return each job of a plan, once, with the modules that need it."""
    users: dict[Job, list[ModulePlan]] = {}
    for module in plan.modules:
        for job in module.jobs:
            users.setdefault(job, []).append(module)
    return users


TELLING = 0.1
"""Seconds between what the reporter is told of the time left, at least: every job that is not done has a part in it."""


Take = Callable[[Future[Timed[Any]]], None]


class _Work(Generic[T]):
    """Does each job of a plan once, however many modules need it, a module's links as soon as its jobs are done, and
    its bundle as soon as that is."""

    def __init__(
        self,
        plan: Plan,
        workers: Executor,
        reporter: Reporter,
        cache: CompileCache | None,
        compiled: Results,
        keep: Callable[[BuiltModule], T],
    ) -> None:
        self.kept: dict[str, T] = {}
        """What was kept of each module that is built, by name."""
        self.failures: dict[str, str] = {}
        """What to tell of each module that cannot be built, by name."""
        self.seconds = cache.seconds if cache else Seconds(None)
        self._plan = plan
        self._workers = workers
        self._reporter = reporter
        self._cache = cache
        self._keep = keep
        self._users = users_of(plan)
        self._compiled = compiled
        self._linked: dict[str, dict[Link, Compiled]] = {}
        """By the module's name."""
        self._missing = {module.module.name: len(module.jobs) for module in plan.modules}
        """How many jobs of a module are not done, by its name."""
        self._wanted = {job: len(users) for job, users in self._users.items()}
        """How many modules are not done with a job's result."""
        self._ended: set[str] = set()
        """The names of the modules that nothing more is done for."""
        self._under_way: dict[Future[Timed[Any]], tuple[Take, float]] = {}
        """What takes the result, and the seconds that it was expected to take."""
        self._done: SimpleQueue[Future[Timed[Any]]] = SimpleQueue()
        """What is not under way any more. To wait for all futures anew, for each that is done, takes long with many."""
        self._compiling: dict[Job, Future[Timed[Any]]] = {}
        self._groups: dict[Job, Group] = {}
        self._to_link: dict[str, float] = {}
        """The seconds that all links of a module may take which are not done, by its name."""

    def do(self) -> None:
        found = {job: key for job in self._users if (key := self._found(job))}
        for module in self._plan.modules:
            if any(job not in found for job in module.jobs):
                name = module.module.name
                self._to_link[name] = sum(self.seconds.of(name, link)[0] for link in module.links)
        # Idle workers begin with the first that they get to see.
        expected = {job: self._expected(job) for job in self._users if job not in found}
        self._groups = groups(expected) if may_precompile() else {}
        for job, (seconds, following) in sorted(expected.items(), key=lambda item: -sum(item[1])):
            self._compile(job, seconds, following)
        for job, key in found.items():
            self._recall(job, key)
            while not self._done.empty():
                self._take_next()
        for module in self._plan.modules:
            if not module.jobs:
                self._link(module)
        tell = 0.0
        while self._under_way:
            if (began := now()) >= tell:
                left = [*(seconds for _, seconds in self._under_way.values()), *self._to_link.values()]
                self._reporter.left(time_needed(left, self._workers.count))
                tell = now() + max(TELLING, 50 * (now() - began))  # to look at many thousands takes its time
            self._take_next()

    def _take_next(self) -> None:
        future = self._done.get()
        take, _ = self._under_way.pop(future)
        if not future.cancelled():
            take(future)

    def _found(self, job: Job) -> str | None:
        """Return the key of what the cache seems to have of a job."""
        return self._cache.find(job) if self._cache else None

    def _recall(self, job: Job, key: str) -> None:
        """Take what the cache has of a job; compile what is damaged, or gone meanwhile."""
        began = now()
        kept = self._cache.fetch(key, job) if self._cache else None
        if kept is None:
            self._compile(job, *self._expected(job))
        else:
            name = self._users[job][0].module.name
            self._take(job, kept, Step(name, (job.source,), form_of(job), "from the cache", "", began, now()))

    def _submit(
        self,
        function: Callable[[Any], Any],
        argument: object,
        take: Take,
        seconds: float,
        following: float,
        flavour: tuple[str, ...] | None = None,
        group: Group | None = None,
    ) -> Future[Timed[Any]]:
        """Have a worker call a function. It may take `seconds`, and what waits for it so many as `following`."""
        future = self._workers.submit(timed, (function, argument), flavour, seconds + following, group)
        self._under_way[future] = take, seconds
        future.add_done_callback(self._done.put)
        return future

    def _expected(self, job: Job) -> tuple[float, float]:
        """Return the seconds that a job may take, and those of what waits for it."""
        users = self._users[job]
        seconds, _ = self.seconds.of(users[0].module.name, job)
        return seconds, max(
            (self.seconds.of(user.module.name, link)[0] for user in users for link in user.links), default=0.0
        )

    def _compile(self, job: Job, seconds: float, following: float) -> None:
        flavour = _flavour(self._users[job][0])
        self._compiling[job] = self._submit(
            compile_job,
            job,
            lambda future: self._take_compiled(job, future),
            seconds,
            following,
            flavour,
            self._groups.get(job),
        )

    def _take_compiled(self, job: Job, future: Future[Timed[Compiled]]) -> None:
        del self._compiling[job]
        users = self._users[job]
        name = users[0].module.name
        try:
            result = self._result(future, name, (job.source,), form_of(job))
        except CompileError as error:
            for module in users:
                self._fail(module, failure(job, self._plan.toolchain, error))
            for other in dict.fromkeys(job for module in users for job in module.jobs):
                if other in self._compiling and not self._wanted[other]:
                    self._compiling[other].cancel()
            return
        if self._cache:
            self._cache.keep(job, result.value)
        self.seconds.took(name, job, result.seconds)
        self._take(job, result.value, _step(name, (job.source,), form_of(job), "compiled", result))

    def _take(self, job: Job, result: Compiled, step: Step) -> None:
        _report(self._reporter, job, result, step)
        if self._wanted[job]:
            self._compiled.put(job, result)
        for module in self._users[job]:
            self._missing[module.module.name] -= 1
            if not self._missing[module.module.name]:
                self._link(module)

    def _link(self, module: ModulePlan) -> None:
        name = module.module.name
        self._to_link.pop(name, None)
        linked = self._linked[name] = {}
        for link in module.links:
            began = now()
            job = linking(self._plan, module, link, self._compiled)
            kept = self._cache.recall_linked(job) if self._cache else None
            if kept is None:
                seconds, _ = self.seconds.of(name, link)
                self._submit(link_job, job, self._taker(module, link, job), seconds, 0.0, _flavour(module))
            else:
                linked[link] = kept
                step = Step(name, module.module.paths, str(link.target), "from the cache", "", began, now())
                self._reporter.done(step)
        self._bundle_if_ready(module)

    def _taker(self, module: ModulePlan, link: Link, job: LinkJob) -> Take:
        def take(future: Future[Timed[Compiled]]) -> None:
            name = module.module.name
            try:
                result = self._result(future, name, module.module.paths, str(link.target))
            except CompileError as error:
                self._fail(module, link_failure(module.module, link.target, self._plan.toolchain.nvjitlink, error))
                return
            if self._cache and self._cache.has_all(module.jobs):
                self._cache.keep_linked(job, result.value)
            self.seconds.took(name, link, result.seconds)
            self._reporter.done(_step(name, module.module.paths, str(link.target), "linked", result))
            if name not in self._ended:
                self._linked[name][link] = result.value
                self._bundle_if_ready(module)

        return take

    def _bundle_if_ready(self, module: ModulePlan) -> None:
        """Have a module bundled, if all its links are done and no module has failed: then none is needed."""
        name = module.module.name
        if len(self._linked[name]) < len(module.links):
            return
        parts = parts_of(module, self._compiled, self._linked[name])
        texts = warnings(module, parts)
        refusal = refused(module, texts)
        if refusal is not None:
            self._fail(module, refusal)
            return
        for text in texts:
            self._reporter.warning(text)
        contents = [] if self.failures else contents_of(module, parts, self._compiled)
        self._end(module)
        if self.failures:
            return
        compress = self._plan.compression(module)
        request = Bundle(name, tuple((content, source or name) for _, source, content in contents), compress)
        # First of all: nothing waits for it, but people like to see that a module is done.
        self._submit(
            bundle,
            request,
            lambda future: self._take_bundled(module, parts, contents, texts, future),
            BUNDLING[compress],
            math.inf,
        )

    def _take_bundled(
        self,
        module: ModulePlan,
        parts: Mapping[str, Compiled],
        contents: Sequence[ImageContent],
        texts: Sequence[str],
        future: Future[Timed[Bundled]],
    ) -> None:
        try:
            result = self._result(future, module.module.name, module.module.paths, "")
        except CompileError as error:
            nvfatbin = self._plan.toolchain.nvfatbin
            self._fail(module, f"{module.module.label} cannot be bundled with nvFatbin {nvfatbin}:\n{error}")
            return
        self._reporter.done(_step(module.module.name, module.module.paths, "", "bundled", result))
        try:
            built = describe(module, parts, contents, result.value, self._plan.toolchain)
        except CompileError as error:
            self._fail(module, str(error))
            return
        if self._cache:
            self._cache.keep_module(self._plan, module, built, texts)
        self.kept[module.module.name] = self._keep(built)
        self._reporter.built(built)

    def _result(self, future: Future[Timed[Any]], name: str, sources: tuple[str, ...], target: str) -> Timed[Any]:
        """Return what a call gave; what failed is told, with its time, and raised."""
        try:
            return future.result()
        except Exception as error:
            times = times_of(error)
            if times is not None:
                self._reporter.done(_step(name, sources, target, "failed", times))
            if isinstance(error, CudaWheelError):
                raise
            own = f"cuda-wheel itself fails of it, which is a case to report: {error!r}"
            raise CompileError(str(error) if isinstance(error, OSError) else own) from error

    def _fail(self, module: ModulePlan, text: str) -> None:
        self.failures.setdefault(module.module.name, text)
        self._to_link.pop(module.module.name, None)
        self._end(module)

    def _end(self, module: ModulePlan) -> None:
        """Let go of what a module's jobs and links gave, but for what another module needs."""
        name = module.module.name
        if name in self._ended:
            return
        self._ended.add(name)
        self._linked.pop(name, None)
        for job in module.jobs:
            self._wanted[job] -= 1
            if not self._wanted[job]:
                self._compiled.drop(job)


def _step(name: str, sources: tuple[str, ...], target: str, how: How, result: Timed[Any]) -> Step:
    return Step(name, sources, target, how, result.worker, result.began, result.ended, result.phases, result.start)


def linking(plan: Plan, module: ModulePlan, link: Link, compiled: Mapping[Job, Compiled]) -> LinkJob:
    """Return a link of a module with what its inputs became."""
    form = "ltoir" if link.lto else "ptx"
    inputs = []
    for each in link.inputs:
        if isinstance(each, Job):
            inputs.append(LinkInput(each.source, form, getattr(compiled[each], form) or b""))
        else:
            inputs.append(LinkInput(each.path, each.kind, each.content))
    return LinkJob(
        module=module.module.name,
        arch=link.target.arch,
        real=link.target.real,
        lto=any(each.kind == "ltoir" for each in inputs),
        inputs=tuple(inputs),
        options=link.options,
        lineinfo=module.module.settings.lineinfo,
        ptx_version=plan.ptx_version,
        include_dirs=(str(INCLUDE), *plan.toolchain.include_dirs),
    )


def failure(job: Job, toolchain: Toolchain, error: CompileError) -> str:
    """Return what to tell of a job that failed."""
    return f"{job.source} does not compile for {form_of(job)} with {toolchain.name}:\n{error}"


def warnings(module: ModulePlan, parts: Mapping[str, Compiled]) -> list[str]:
    """Return the warnings about a module, the compiler's and ours, from its jobs' results by architecture."""
    real = {target.arch for target in module.targets if target.real}
    logs = {f"{'sm' if arch in real else 'compute'}_{arch}": part.log for arch, part in parts.items()}
    return [*merged(logs), *unseen(module, parts)]


def refused(module: ModulePlan, warnings: Sequence[str]) -> str | None:
    """Return what to tell of a module whose warnings are errors; None if they are not, or there are none."""
    if not module.module.settings.warnings_as_errors or not any(map(is_warning, warnings)):
        return None
    return "\n\n".join([f"{module.module.label} has warnings (warnings-as-errors):", *warnings])


def _flavour(module: ModulePlan) -> tuple[str, ...]:
    """Return what the compilers' options have to be the same in, for one worker to serve several jobs and links."""
    return (*module.options, str(module.module.settings.lineinfo))


def form_of(job: Job) -> str:
    """Return the target of a job in words, such as "sm_80": that of its PTX only where it gives no machine code."""
    return f"{'sm' if job.cubin else 'compute'}_{job.arch}"


def _report(reporter: Reporter, job: Job, result: Compiled, step: Step) -> None:
    reporter.done(step)
    if CLOCK.search(job.text):
        reporter.warning(f"{job.source} asks for the time of the build (__DATE__ or __TIME__): every build differs.")
    if holds_folder(job, result):
        reporter.warning(
            f"{job.source} for {form_of(job)}: the image holds this folder's path ({job.root}), so that builds "
            "elsewhere differ."
        )
