"""Write a build's warnings and errors about jobs and modules."""

from __future__ import annotations

import re

from cuda_wheel.builder.cache.job_files import contains_project_path
from cuda_wheel.builder.errors import CompileError
from cuda_wheel.builder.jobs import Compiled, Job
from cuda_wheel.builder.messages.merged_failures import Failure
from cuda_wheel.builder.plan import ModulePlan
from cuda_wheel.builder.toolchain.records import Toolchain
from cuda_wheel.runtime.errors import CudaWheelError

__all__ = [
    "as_build_error",
    "bundle_failure",
    "compile_failure",
    "job_warnings",
]


def compile_failure(job: Job, toolchain: Toolchain, error: CompileError, module: ModulePlan | None = None) -> Failure:
    """Return the failure of a job, for one of several modules that have its source, which the heading then names."""
    by = f"for {job.target_name} with {toolchain.name}"
    subject = job.source
    if module is not None:
        macros = [f"{name}={value}" if value else name for name, value in module.module.settings.defines]
        subject = f"{job.source} (module {', '.join([module.module.name, *macros])})"
    heading = f"{subject} does not compile {by}:"
    return Failure(heading, by, _with_suspects(job, str(error)), error.unnamed_instances)


_WORD = re.compile(r"[A-Za-z_]\w*")
_TYPES = frozenset("void bool char short int long float double unsigned signed const true false".split())  # noqa: SIM905
"""Words that every source knows."""


def _with_suspects(job: Job, text: str) -> str:
    """Return the text of an error with the names in `instantiate` that can make the compiler crash."""
    if "the compiler process died" not in text or not job.instantiate:
        return text
    declared = {*_WORD.findall(job.text.decode(errors="replace")), *_TYPES}
    unknown = [name for name in job.instantiate if not declared.issuperset(_WORD.findall(name))]
    suspects = ", ".join(map(repr, unknown or job.instantiate))
    return (
        f"{text.partition(chr(10) + 'help: ')[0]}\nhelp: NVRTC may crash on a name in instantiate that the source does "
        f"not declare: check {suspects}\nhelp: if that is not it, the compiler ran out of memory or stack: make the "
        "source smaller"
    )


def bundle_failure(module: ModulePlan, toolchain: Toolchain, error: CompileError) -> str:
    """Return the error for a module whose images could not be bundled."""
    return f"{module.module.label} cannot be bundled with nvFatbin {toolchain.nvfatbin}:\n{error}"


def as_build_error(error: Exception) -> CudaWheelError:
    """Return a worker's exception as an error that a build reports: an OSError is the machine's, any other is a bug."""
    if isinstance(error, CudaWheelError):
        return error
    if isinstance(error, OSError):
        return CompileError(str(error))
    return CompileError(f"internal error in cuda-wheel; please report it: {error!r}")


def job_warnings(job: Job, result: Compiled) -> list[str]:
    """Return the warnings about a job whose result differs from build to build."""
    warnings = []
    if result.uses_build_time:
        warnings.append(f"{job.source} uses the time of the build (__DATE__ or __TIME__), so every build differs.")
    if contains_project_path(job, result):
        warnings.append(
            f"{job.source} for {job.target_name}: the image contains this folder's path ({job.root}), so builds in "
            "other folders differ."
        )
    return warnings
