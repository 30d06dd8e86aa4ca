"""Compile one module for one GPU, as it is needed when a module is loaded from a source tree."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from cuda_wheel.builder.cache.compile_cache import looked_for
from cuda_wheel.builder.compile.answer import read_answer
from cuda_wheel.builder.compile.request import is_direct, launches, may_hold_host_code, nvrtc_request
from cuda_wheel.builder.config.parsers import Architectures
from cuda_wheel.builder.config.settings import Config
from cuda_wheel.builder.describe.module import describe
from cuda_wheel.builder.errors import CompileError, ConfigError
from cuda_wheel.builder.execute import execute, failure, refused, warnings
from cuda_wheel.builder.jobs import BuiltModule, Bundled, ImageContent, Job
from cuda_wheel.builder.plan import ModulePlan, Plan, make_plan
from cuda_wheel.builder.report.reporter import Silent
from cuda_wheel.builder.sources.modules import SourceModule, needs_nvvm
from cuda_wheel.builder.toolchain.find import find_nvvm
from cuda_wheel.builder.toolchain.nvrtc import compile_text
from cuda_wheel.builder.toolchain.records import Nvvm, Toolchain
from cuda_wheel.builder.workers.pool import Workers
from cuda_wheel.builder.workers.worker import Worker
from cuda_wheel.runtime.manifest import Target, Version, dotted
from cuda_wheel.runtime.rules import unsupported

__all__ = [
    "compile_for_gpu",
]


def compile_for_gpu(
    root: Path, config: Config, module: SourceModule, toolchain: Toolchain, capability: Version, worker: Worker
) -> tuple[BuiltModule, list[str] | None]:
    """Return the module, compiled for a compute capability, and the absolute paths that decide how it comes out.

    None for these where the compiler cannot tell. Raises ConfigError or CompileError.
    """
    nvvm = worker.call(find_nvvm, toolchain, config.timeout) if needs_nvvm([module]) else None
    plan = _plan(config, module, root, toolchain, capability, nvvm)
    jobs = plan.modules[0].jobs
    built = None
    if len(jobs) == 1 and is_direct(jobs[0]) and not jobs[0].ptx:
        built = _compile_cubin(plan.modules[0], jobs[0], toolchain, worker, config.timeout)
    if built is None:
        with Workers(config.timeout, config.memory_limit, count=1) as workers:
            (built,) = execute(plan, workers, _Warnings(), None, lambda module: module)
    if built.headers is None:
        return built, None
    looked = [path for job in jobs for path in looked_for(built.headers, job)]
    compilers = (*toolchain.libraries, *((nvvm.library, nvvm.libdevice) if nvvm else ()))
    return built, [*built.headers, *looked, *built.absent, *compilers]


def _compile_cubin(
    module: ModulePlan, job: Job, toolchain: Toolchain, worker: Worker, timeout: float
) -> BuiltModule | None:
    """Return the module of one cubin. It needs no fatbin around it, and of the compilers no other than NVRTC.

    None where there is more to do, such as taking out host code.
    """
    if launches(job):
        return None
    try:
        answer = worker.call(compile_text, nvrtc_request(job), timeout)
        if may_hold_host_code(job, answer):
            return None
        part = read_answer(job, answer)
    except CompileError as error:
        raise CompileError(failure(job, toolchain, error)) from None
    texts = warnings(module, {job.arch: part})
    refusal = refused(module, texts)
    if refusal is not None:
        raise CompileError(refusal)
    cubin = part.cubin or b""
    contents: list[ImageContent] = [(module.targets[0], None, ("cubin", job.arch, cubin))]
    built = describe(module, {job.arch: part}, contents, Bundled(cubin, (0,)), toolchain)
    for text in texts:
        _Warnings().warning(text)
    return built


class _Warnings(Silent):
    """The reporter of what is compiled on load: the compiler's warnings are Python's."""

    def warning(self, text: str) -> None:
        from warnings import warn

        warn(text, RuntimeWarning, stacklevel=2)


def _plan(
    config: Config, module: SourceModule, root: Path, toolchain: Toolchain, capability: Version, nvvm: Nvvm | None
) -> Plan:
    """Return the plan for one GPU: of the targets that the module names the most specific that suits it, else the GPU's
    own, else, where the compiler is older than the GPU, the newest PTX."""
    written = make_plan(config, [module], root, toolchain, lambda: [capability], nvvm).modules[0].targets
    specific = [
        target for target in written if target.real and target.suffix and unsupported(target, capability) is None
    ]
    own = Target(*capability, "", True)
    if specific:
        chosen = str(max(specific, key=lambda target: (target.capability, target.suffix == "a")))
    elif own.major * 10 + own.minor in toolchain.supported:
        chosen = str(own)
    else:
        older = [number for number in toolchain.supported if (number // 10, number % 10) <= capability]
        if not older:
            raise ConfigError(
                f"{toolchain.name} cannot compile for this machine's GPU, of compute capability {dotted(capability)}: "
                "install the older toolchain, cuda-wheel[cu12]."
            )
        chosen = str(max(older))
    settings = replace(module.settings, architectures=Architectures((chosen,), f"the GPU of this machine ({chosen})"))
    return make_plan(config, [replace(module, settings=settings)], root, toolchain, lambda: [capability], nvvm)
