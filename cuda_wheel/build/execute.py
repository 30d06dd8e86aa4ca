"""Carry out a plan: compile its jobs in workers, bundle each module, describe it in a manifest."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import Future, as_completed
from dataclasses import dataclass
from hashlib import sha256
from typing import Protocol

from cuda_wheel.build import ptx
from cuda_wheel.build.bundling import Bundle, Bundled, Content, bundle
from cuda_wheel.build.compile_cache import CLOCK, CompileCache, holds_folder
from cuda_wheel.build.compiler import Compiled, Job, compile_job
from cuda_wheel.build.diagnostics import is_warning, merged
from cuda_wheel.build.errors import CompileError
from cuda_wheel.build.kernel_table import kernel_table, unseen, variable_table
from cuda_wheel.build.plan import ModulePlan, Plan
from cuda_wheel.build.toolchain import Toolchain
from cuda_wheel.build.workers import Workers
from cuda_wheel.loader import Image, Manifest, Target, Version, parse_version
from cuda_wheel.releases import first_reading

__all__ = ["BuiltModule", "Reporter", "Silent", "describe", "execute", "failure", "refused", "warnings"]


class Reporter(Protocol):
    """Who is told how a build goes: the front end."""

    def begin(self, plan: Plan) -> None: ...

    def compiled(self, module: str, arch: str) -> None: ...

    def recalled(self, jobs: int) -> None: ...

    def warning(self, text: str) -> None: ...

    def built(self, module: BuiltModule) -> None: ...


class Silent:
    """The reporter that tells nobody; errors are raised all the same."""

    def begin(self, plan: Plan) -> None: ...

    def compiled(self, module: str, arch: str) -> None: ...

    def recalled(self, jobs: int) -> None: ...

    def warning(self, text: str) -> None: ...

    def built(self, module: BuiltModule) -> None: ...


@dataclass(frozen=True)
class BuiltModule:
    """A module's manifest, the content of its fatbin, and the files that its source includes.

    These are absolute paths, of this machine alone; None where the compiler cannot tell them.
    """

    manifest: Manifest
    fatbin: bytes
    headers: tuple[str, ...] | None
    absent: tuple[str, ...]
    """Absolute paths where a header that was left out, for there was none, would be."""


def execute(plan: Plan, workers: Workers, reporter: Reporter, cache: CompileCache | None) -> tuple[BuiltModule, ...]:
    """Return the plan's modules, built; raises CompileError that tells of every module that does not compile.

    What `cache` has is not compiled again.
    """
    reporter.begin(plan)
    compiled: dict[tuple[str, str], Compiled] = {}
    failures: dict[str, str] = {}
    futures: dict[Future[Compiled], tuple[ModulePlan, Job]] = {}
    # Neighbours in the queue share their options, so that workers seldom have to be replaced.
    for module in sorted(plan.modules, key=lambda module: _flavour(module.jobs[0])):
        for job in module.jobs:
            kept = cache.recall(job) if cache else None
            if kept is None:
                futures[workers.submit(compile_job, job, _flavour(job))] = module, job
            else:
                compiled[module.module.name, job.arch] = kept
                _report(reporter, job, module.module.name, kept)
    if compiled:
        reporter.recalled(len(compiled))
    for future in as_completed(futures):
        module, job = futures[future]
        name = module.module.name
        if future.cancelled() or name in failures:
            continue
        try:
            result = compiled[name, job.arch] = future.result()
        except CompileError as error:
            failures[name] = failure(job, plan.toolchain, error)
            for other, (its, _) in futures.items():
                if its is module:
                    other.cancel()
            continue
        if cache:
            cache.keep(job, result)
        _report(reporter, job, name, result)
    for module in plan.modules:
        name = module.module.name
        if name not in failures:
            texts = warnings(module, {job.arch: compiled[name, job.arch] for job in module.jobs})
            refusal = refused(module, texts)
            if refusal is None:
                for text in texts:
                    reporter.warning(text)
            else:
                failures[name] = refusal
    if failures:
        raise CompileError("\n\n".join(failures[name] for name in sorted(failures)))
    return _bundle_all(plan, compiled, workers, reporter)


def failure(job: Job, toolchain: Toolchain, error: CompileError) -> str:
    """Return what to tell of a job that failed."""
    return f"{job.source} does not compile for {_form(job)} with {toolchain.name}:\n{error}"


def warnings(module: ModulePlan, parts: Mapping[str, Compiled]) -> list[str]:
    """Return the warnings about a module, the compiler's and ours, from its jobs' results by architecture."""
    logs = {_form(job): parts[job.arch].log for job in module.jobs}
    return [*merged(logs), *unseen(module, parts)]


def refused(module: ModulePlan, warnings: Sequence[str]) -> str | None:
    """Return what to tell of a module whose warnings are errors; None if they are not, or there are none."""
    if not module.module.settings.warnings_as_errors or not any(map(is_warning, warnings)):
        return None
    return "\n\n".join([f"{module.module.source} has warnings (warnings-as-errors):", *warnings])


def _flavour(job: Job) -> tuple[str, ...]:
    return (*job.options, str(job.lineinfo))


def _form(job: Job) -> str:
    return f"{'sm' if job.cubin else 'compute'}_{job.arch}"


def _report(reporter: Reporter, job: Job, name: str, result: Compiled) -> None:
    reporter.compiled(name, job.arch)
    if CLOCK.search(job.text):
        reporter.warning(f"{job.source} asks for the time of the build (__DATE__ or __TIME__): every build differs.")
    if holds_folder(job, result):
        reporter.warning(
            f"{job.source} for {_form(job)}: the image holds this folder's path ({job.root}), so that builds elsewhere "
            "differ."
        )


def _bundle_all(
    plan: Plan, compiled: dict[tuple[str, str], Compiled], workers: Workers, reporter: Reporter
) -> tuple[BuiltModule, ...]:
    requests = []
    for module in plan.modules:
        parts = {job.arch: compiled[module.module.name, job.arch] for job in module.jobs}
        contents = tuple(
            (
                "cubin" if target.real else "ptx",
                target.arch,
                parts[target.arch].cubin if target.real else parts[target.arch].ptx,
            )
            for target in module.targets
        )
        request = Bundle(module.module.name, contents, plan.compress)  # type: ignore[arg-type]
        requests.append((module, parts, request, workers.submit(bundle, request)))
    built = []
    for module, parts, request, future in requests:
        done = describe(module, parts, request.images, future.result(), plan.toolchain)
        reporter.built(done)
        built.append(done)
    return tuple(built)


def describe(
    module: ModulePlan,
    parts: Mapping[str, Compiled],
    contents: Sequence[Content],
    bundled: Bundled,
    toolchain: Toolchain,
) -> BuiltModule:
    """Return a module of its jobs' results by architecture, its images' contents and the fatbin that holds them.

    Raises CompileError where there is no kernel in it, or a kernel is missing in some images or not the same in all;
    ConfigError where a kernel has two names.
    """
    kernels = kernel_table(module, parts)
    cuda = parse_version(toolchain.nvrtc)
    images = tuple(
        Image(
            kind="cubin" if target.real else "ptx",
            target=target,
            ptx_version=None if target.real else ptx.version(content.decode()),
            ptx_version_compiled=None if target.real else parts[target.arch].ptx_version_compiled,
            driver=_first_driver(target, content, cuda),
            offset=offset,
            size=len(content),
            sha256=sha256(content).hexdigest(),
            resources=_resources(parts[target.arch], target),
        )
        for target, (_, _, content), offset in zip(module.targets, contents, bundled.offsets, strict=True)
    )
    source = module.module
    manifest = Manifest(
        name=source.name,
        fatbin=source.name.rpartition(".")[2] + ".fatbin",
        fatbin_size=len(bundled.fatbin),
        fatbin_sha256=sha256(bundled.fatbin).hexdigest(),
        toolchain={"nvrtc": toolchain.nvrtc, "nvjitlink": toolchain.nvjitlink, "nvfatbin": toolchain.nvfatbin},
        sources=(source.source,),
        options=module.options,
        images=images,
        kernels=kernels,
        globals=variable_table(parts),
        host_code=tuple(sorted({text for part in parts.values() for text in part.blanked}, key=_place)),
    )
    headers = [part.headers for part in parts.values()]
    Manifest.from_json(manifest.to_json(), f"the manifest of {source.name}")  # what is shipped must be readable
    known = None if None in headers else tuple(sorted({path for paths in headers for path in paths or ()}))
    absent = tuple(sorted({path for part in parts.values() for path in part.absent}))
    return BuiltModule(manifest, bundled.fatbin, known, absent)


def _place(text: str) -> tuple[str, int, str]:
    """Return what to sort "k.cu:12-40: function main" by."""
    file, lines, _ = text.split(":", 2)
    return file, int(lines.partition("-")[0]), text


def _first_driver(target: Target, content: bytes, cuda: Version) -> Version:
    """Return the first CUDA release whose driver reads an image that a compiler of release `cuda` made.

    Source for machine code: CUDA Compatibility, "Minor Version Compatibility": that of any release of a major version
    runs on any driver of that major version or a later one.
    """
    return (cuda[0], 0) if target.real else first_reading(ptx.version(content.decode()), cuda)


def _resources(part: Compiled, target: Target) -> dict[str, dict[str, int]]:
    reported = part.resources if target.real else {}
    return {
        symbol: {**part.bounds.get(symbol, {}), **reported.get(symbol, {})}
        for symbol in sorted({*part.bounds, *reported})
    }
