"""Carry out a plan: compile its jobs and link their results in workers, bundle each module, have it described."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from typing import Literal, Protocol

from cuda_wheel.build.bundling import Bundle, bundle
from cuda_wheel.build.compile_cache import CLOCK, CompileCache, holds_folder
from cuda_wheel.build.compiler import Compiled, Job, compile_job
from cuda_wheel.build.describe import BuiltModule, contents_of, describe, parts_of
from cuda_wheel.build.device_link import Input, LinkJob, link_job
from cuda_wheel.build.diagnostics import is_warning, merged
from cuda_wheel.build.errors import CompileError
from cuda_wheel.build.executor import Executor
from cuda_wheel.build.kernel_table import unseen
from cuda_wheel.build.link_errors import link_failure
from cuda_wheel.build.plan import Link, ModulePlan, Plan
from cuda_wheel.build.toolchain import INCLUDE, Toolchain

__all__ = ["How", "Reporter", "Silent", "execute", "failure", "refused", "warnings"]


How = Literal["from the cache", "compiled", "linked"]
"""How a job, or a link, came to be done."""


class Reporter(Protocol):
    """Who is told how a build goes: the front end."""

    def begin(self, plan: Plan) -> None: ...

    def done(self, module: str, arch: str, how: How) -> None: ...

    def warning(self, text: str) -> None: ...

    def built(self, module: BuiltModule) -> None: ...


class Silent:
    """The reporter that tells nobody; errors are raised all the same."""

    def begin(self, plan: Plan) -> None: ...

    def done(self, module: str, arch: str, how: How) -> None: ...

    def warning(self, text: str) -> None: ...

    def built(self, module: BuiltModule) -> None: ...


def execute(plan: Plan, workers: Executor, reporter: Reporter, cache: CompileCache | None) -> tuple[BuiltModule, ...]:
    """Return the plan's modules, built; raises CompileError that tells of every module that does not compile or link.

    What `cache` has is not done again.
    """
    reporter.begin(plan)
    work = _Work(plan, workers, reporter, cache)
    work.do()
    failures = dict(work.failures)
    parts = {}
    for module in plan.modules:
        name = module.module.name
        if name not in failures:
            parts[name] = parts_of(module, work.compiled, work.linked_of(module))
            texts = warnings(module, parts[name])
            refusal = refused(module, texts)
            if refusal is None:
                for text in texts:
                    reporter.warning(text)
            else:
                failures[name] = refusal
    if failures:
        raise CompileError("\n\n".join(failures[name] for name in sorted(failures)))
    return _bundle_all(plan, parts, work.compiled, workers, reporter)


class _Work:
    """Does each job of a plan once, however many modules need it, and a module's links as soon as its jobs are done."""

    def __init__(self, plan: Plan, workers: Executor, reporter: Reporter, cache: CompileCache | None) -> None:
        self.compiled: dict[Job, Compiled] = {}
        self.linked: dict[tuple[str, Link], Compiled] = {}
        """By the module's name, and the link."""
        self.failures: dict[str, str] = {}
        """What to tell of each module that cannot be built, by name."""
        self._plan = plan
        self._workers = workers
        self._reporter = reporter
        self._cache = cache
        self._users: dict[Job, list[ModulePlan]] = {}
        self._compiling: dict[Future[Compiled], Job] = {}
        self._linking: dict[Future[Compiled], tuple[ModulePlan, Link]] = {}

    def do(self) -> None:
        # Neighbours in the queue share their options, so that workers seldom have to be replaced.
        modules = sorted(self._plan.modules, key=_flavour)
        for module in modules:
            for job in module.jobs:
                self._users.setdefault(job, []).append(module)
        recalled = {job: kept for job in self._users if self._cache and (kept := self._cache.recall(job)) is not None}
        for job, users in self._users.items():
            if job not in recalled:
                self._compiling[self._workers.submit(compile_job, job, _flavour(users[0]))] = job
        for job, kept in recalled.items():
            self._take(job, kept, "from the cache")
        for module in modules:
            if not module.jobs:
                self._link(module)
        while self._compiling or self._linking:
            for future in wait([*self._compiling, *self._linking], return_when=FIRST_COMPLETED).done:
                if future in self._linking:
                    self._take_linked(*self._linking.pop(future), future)
                else:
                    self._take_compiled(self._compiling.pop(future), future)

    def _take_compiled(self, job: Job, future: Future[Compiled]) -> None:
        if future.cancelled():
            return
        try:
            result = future.result()
        except CompileError as error:
            for module in self._users[job]:
                self.failures.setdefault(module.module.name, failure(job, self._plan.toolchain, error))
            for other, its in self._compiling.items():
                if all(module.module.name in self.failures for module in self._users[its]):
                    other.cancel()
            return
        if self._cache:
            self._cache.keep(job, result)
        self._take(job, result, "compiled")

    def _take(self, job: Job, result: Compiled, how: How) -> None:
        self.compiled[job] = result
        _report(self._reporter, job, self._users[job][0].module.name, result, how)
        for module in self._users[job]:
            if module.module.name not in self.failures and all(each in self.compiled for each in module.jobs):
                self._link(module)

    def _link(self, module: ModulePlan) -> None:
        for link in module.links:
            job = self._link_job(module, link)
            kept = self._cache.recall_linked(job) if self._cache else None
            if kept is None:
                self._linking[self._workers.submit(link_job, job)] = module, link
            else:
                self._linked(module, link, kept, "from the cache")

    def _take_linked(self, module: ModulePlan, link: Link, future: Future[Compiled]) -> None:
        try:
            result = future.result()
        except CompileError as error:
            text = link_failure(module.module, link.target, self._plan.toolchain.nvjitlink, error)
            self.failures.setdefault(module.module.name, text)
            return
        if self._cache:
            self._cache.keep_linked(self._link_job(module, link), result)
        self._linked(module, link, result, "linked")

    def _linked(self, module: ModulePlan, link: Link, result: Compiled, how: How) -> None:
        self.linked[module.module.name, link] = result
        self._reporter.done(module.module.name, link.target.arch, how)

    def linked_of(self, module: ModulePlan) -> dict[Link, Compiled]:
        """Return what a module's links gave."""
        return {link: self.linked[module.module.name, link] for link in module.links}

    def _link_job(self, module: ModulePlan, link: Link) -> LinkJob:
        """Return a link with what its inputs became."""
        form = "ltoir" if link.lto else "ptx"
        inputs = []
        for each in link.inputs:
            if isinstance(each, Job):
                inputs.append(Input(each.source, form, getattr(self.compiled[each], form) or b""))
            else:
                inputs.append(Input(each.path, each.kind, each.content))
        return LinkJob(
            module=module.module.name,
            arch=link.target.arch,
            real=link.target.real,
            lto=any(each.kind == "ltoir" for each in inputs),
            inputs=tuple(inputs),
            options=link.options,
            lineinfo=module.module.settings.lineinfo,
            ptx_version=self._plan.ptx_version,
            include_dirs=(str(INCLUDE), *self._plan.toolchain.include_dirs),
        )


def failure(job: Job, toolchain: Toolchain, error: CompileError) -> str:
    """Return what to tell of a job that failed."""
    return f"{job.source} does not compile for {_form(job)} with {toolchain.name}:\n{error}"


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
    """Return what the options of the compiler have to be the same in, for one worker to serve several jobs."""
    return (*module.options, str(module.module.settings.lineinfo))


def _form(job: Job) -> str:
    return f"{'sm' if job.cubin else 'compute'}_{job.arch}"


def _report(reporter: Reporter, job: Job, name: str, result: Compiled, how: How) -> None:
    reporter.done(name, job.arch, how)
    if CLOCK.search(job.text):
        reporter.warning(f"{job.source} asks for the time of the build (__DATE__ or __TIME__): every build differs.")
    if holds_folder(job, result):
        reporter.warning(
            f"{job.source} for {_form(job)}: the image holds this folder's path ({job.root}), so that builds elsewhere "
            "differ."
        )


def _bundle_all(
    plan: Plan,
    parts: Mapping[str, Mapping[str, Compiled]],
    compiled: Mapping[Job, Compiled],
    workers: Executor,
    reporter: Reporter,
) -> tuple[BuiltModule, ...]:
    requests = []
    for module in plan.modules:
        name = module.module.name
        contents = contents_of(module, parts[name], compiled)
        # What is for linking has to be cut out of the fatbin.
        compress = "none" if module.relocatable else plan.compress
        request = Bundle(name, tuple((content, source or name) for _, source, content in contents), compress)
        requests.append((module, contents, workers.submit(bundle, request)))
    built = []
    for module, contents, future in requests:
        done = describe(module, parts[module.module.name], contents, future.result(), plan.toolchain)
        reporter.built(done)
        built.append(done)
    return tuple(built)
