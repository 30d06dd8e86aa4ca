"""Compile one module for one target only, as compile on load needs it: this machine's GPU, if it has one."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from cuda_wheel.builder.compile.device_variables import declared_names, uses_build_time, with_own_variables
from cuda_wheel.builder.compile.host_code import check_launches
from cuda_wheel.builder.compile.nvrtc_assembler import assembly_request, with_machine_code
from cuda_wheel.builder.compile.nvrtc_calls import may_change_layouts, with_build_time, with_headers
from cuda_wheel.builder.compile.nvrtc_request import is_whole_program, nvrtc_generates_cubin, nvrtc_request
from cuda_wheel.builder.compile.nvrtc_result import NvrtcOutcome, read_nvrtc_result
from cuda_wheel.builder.compile.struct_layouts import with_parameters
from cuda_wheel.builder.config.architectures import DEFAULT
from cuda_wheel.builder.config.settings import VARIABLE, Config, override_module, override_project
from cuda_wheel.builder.config.values import Architectures
from cuda_wheel.builder.errors import CompileError, ConfigError
from cuda_wheel.builder.execute import PlanRunner
from cuda_wheel.builder.failures import compile_failure
from cuda_wheel.builder.jobs import BuiltModule, Fatbin, ImageContent, Job
from cuda_wheel.builder.manifest_writer.packing import ModuleBuild
from cuda_wheel.builder.plan import ModulePlan, Plan, make_plan
from cuda_wheel.builder.report.reporter import SilentReporter
from cuda_wheel.builder.rewriting.front_end import FIRST_ERROR
from cuda_wheel.builder.sources.header_search import searched_paths
from cuda_wheel.builder.sources.modules import SourceModule, needs_nvvm
from cuda_wheel.builder.toolchain.find import find_nvvm
from cuda_wheel.builder.toolchain.nvrtc import INVALID_OPTION, compile_apart, compile_text, preprocessed
from cuda_wheel.builder.toolchain.python_compilers import find_python_compiler
from cuda_wheel.builder.toolchain.tileiras import find_tileiras
from cuda_wheel.builder.toolchain.toolchain import Toolchain
from cuda_wheel.builder.workers.pool import Workers
from cuda_wheel.builder.workers.worker import Worker
from cuda_wheel.runtime.manifest import Target, Version, dotted
from cuda_wheel.runtime.rules import unsupported

__all__ = ["compile_for_gpu"]


def compile_for_gpu(
    root: Path, config: Config, module: SourceModule, toolchain: Toolchain, capability: Version | None, worker: Worker
) -> tuple[BuiltModule, list[str] | None]:
    """Return the module, compiled for a compute capability, and the absolute paths of the files that it depends on.

    With None for `capability`, on a machine without a GPU, the module is compiled for the newest target that a build of
    the project has. The paths are None if the compiler cannot list them, or if the result depends on the time of the
    build. Raises ConfigError or CompileError.
    """
    nvvm = worker.call(find_nvvm, toolchain, config.timeout) if needs_nvvm([module]) else None
    language = module.language
    compilers = {language: worker.call(find_python_compiler, language, config.timeout)} if language else {}
    tileiras = worker.call(find_tileiras, toolchain, config.timeout) if module.is_tile else None
    make = partial(make_plan, nvvm=nvvm, python_compilers=compilers, tileiras=tileiras)
    plan = _plan(config, module, root, toolchain, capability, make)
    jobs = plan.modules[0].jobs
    built = None
    if (
        len(jobs) == 1
        and is_whole_program(jobs[0])
        and not (jobs[0].ptx or jobs[0].lineinfo or jobs[0].instances or jobs[0].tileiras)
    ):
        built = _compile_cubin(plan.modules[0], jobs[0], toolchain, worker, config.timeout)
    if built is None:
        with Workers(config.timeout, config.memory_limit, count=1) as workers:
            (built,) = PlanRunner(plan, workers, _PythonWarnings(), None).run()
    compilers_paths = ((nvvm.library, nvvm.libdevice) if nvvm else ()) + ((tileiras.program,) if tileiras else ())
    return built, _deciding_paths(jobs, built, (*toolchain.libraries, *compilers_paths))


def _deciding_paths(jobs: Sequence[Job], built: BuiltModule, compilers: Sequence[str]) -> list[str] | None:
    """Return the absolute paths of the files that a built module depends on. Return None if these paths are unknown, or
    if the module depends on the time of the build.

    These are the headers, `compilers`, and paths where a new or removed file would change what the compiler reads.
    """
    if built.headers is None or built.uses_build_time:
        return None
    paths = [*built.headers, *compilers]
    for job in jobs:
        searched = searched_paths(job, built.headers)
        if searched is None:
            return None
        paths += searched
    return paths


def _compile_cubin(
    module: ModulePlan, job: Job, toolchain: Toolchain, worker: Worker, timeout: float
) -> BuiltModule | None:
    """Compile a module that has only one job, and return the built module with a cubin in place of a fatbin.

    NVRTC compiles the unchanged source in `worker`, with at most `timeout` seconds for each call. Return None if host
    code, missing headers, or attributes that NVRTC ignores may require changes or checks.
    """
    if job.host_code == "reject" or job.missing_headers:
        return None
    try:
        request = nvrtc_request(job)
        first = {**request, "options": [*request["options"], *FIRST_ERROR]}
        answer = with_headers(request, worker.call(compile_text, first, timeout))
        answer = with_build_time(job, request, answer, lambda asked: worker.call(uses_build_time, asked, timeout))
        if answer["error"] not in ("", INVALID_OPTION) or may_change_layouts(job, request, answer):
            return None
        compiled = read_nvrtc_result(job, NvrtcOutcome(answer, request))
        compiled = with_parameters(job, request, compiled, lambda asked: worker.call(compile_apart, asked, timeout))
        result = with_own_variables(
            compiled,
            job,
            lambda files: worker.call(partial(declared_names, request), files, timeout),
            lambda: worker.call(preprocessed, request, timeout),
        )
        check_launches(job, result)
        if not nvrtc_generates_cubin(job):
            assembly = assembly_request(job, (result.ptx or b"").decode(), job.root)
            result = with_machine_code(job, result, worker.call(compile_text, assembly, timeout))
    except CompileError as error:
        raise CompileError(str(compile_failure(job, toolchain, error))) from None
    cubin = result.cubin or b""
    images: list[ImageContent] = [ImageContent(module.targets[0], None, ("cubin", job.arch, cubin))]
    build = ModuleBuild(module, toolchain, "none", results={job.arch: result}, images=images)
    build.examine()
    built = build.with_fatbin(Fatbin(cubin, (0,)))
    for text in build.warnings:
        _PythonWarnings().warning(text)
    return built


class _PythonWarnings(SilentReporter):
    """The reporter of compile on load: the compiler's warnings become Python warnings."""

    def warning(self, text: str) -> None:
        from warnings import warn  # most loads have no warning

        warn(text, RuntimeWarning, stacklevel=2)


def _plan(
    config: Config,
    module: SourceModule,
    root: Path,
    toolchain: Toolchain,
    capability: Version | None,
    make: Callable[..., Plan],
) -> Plan:
    """Return the plan that compiles one module for one target. The target is the GPU of compute capability
    `capability`. With None, it is the newest target that a build of the project has. `make` is `make_plan` with the
    compilers."""
    gpus = [] if capability is None else [capability]

    def plan(architectures: Architectures) -> Plan:
        settings = replace(module.settings, architectures=architectures)
        return make(config, [replace(module, settings=settings)], root, toolchain, lambda: gpus)

    if capability is None:
        targets = plan(_without_gpu(config, module)).modules[0].targets
        target = str(max(targets, key=lambda target: (target.real, target.capability, target.suffix == "a")))
        return plan(Architectures((target,), f"the newest target of the project ({target})"))
    target = _target(plan(module.settings.architectures).modules[0].targets, toolchain, capability)
    return plan(Architectures((target,), f"the GPU of this machine ({target})"))


def _without_gpu(config: Config, module: SourceModule) -> Architectures:
    """Return the architectures for which a build without a GPU would compile the module: those in the settings,
    overridden by the environment variable CUDAARCHS. The entry "native" is removed. If no other entry is left, the
    result has the entry "default"."""
    own, override = module.settings.architectures, os.environ.get(VARIABLE, "").strip()
    if override:
        own = override_project(own, override) if own == config.architectures else override_module(own, override)
    entries = tuple(entry for entry in own.entries if entry.lower() != "native")
    return replace(own, entries=entries or (DEFAULT,))


def _target(named: tuple[Target, ...], toolchain: Toolchain, capability: Version) -> str:
    """Return the target to compile for, spelled as in `architectures`. `named` are the targets in the project's
    settings, and `capability` is the GPU's.

    The result is the newest "a" or "f" target in `named` that the GPU supports. If there is none, it is the newest
    architecture that the compiler supports and that is not newer than the GPU's own. Raises ConfigError if there is
    none.
    """
    specific = [target for target in named if target.real and target.suffix and unsupported(target, capability) is None]
    if specific:
        return str(max(specific, key=lambda target: (target.capability, target.suffix == "a")))
    own = Target(*capability, "", True)
    if own.major * 10 + own.minor in toolchain.supported:
        return str(own)
    older = [number for number in toolchain.supported if (number // 10, number % 10) <= capability]
    if not older:
        raise ConfigError(
            f"{toolchain.name} cannot compile for this machine's GPU, of compute capability {dotted(capability)}. "
            "Install an older toolchain, cuda-wheel[cu12]."
        )
    return str(max(older))
