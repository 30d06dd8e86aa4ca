"""Compile a source that is CUDA C++, with NVRTC."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from cuda_wheel.builder.compile.declarations import declared_names
from cuda_wheel.builder.compile.error_text import read_job_log
from cuda_wheel.builder.compile.host_code import compile_with_host_code
from cuda_wheel.builder.compile.library_variables import DeclaredNames, includes_large_library, with_own_variables
from cuda_wheel.builder.compile.nvrtc_request import nvrtc_generates_cubin
from cuda_wheel.builder.compile.nvrtc_result import read_nvrtc_result, with_build_time, with_headers
from cuda_wheel.builder.compile.precompiled import compile_text
from cuda_wheel.builder.images import dead_code, ptx_text
from cuda_wheel.builder.images.assembly import described, kernel_resources, nowhere
from cuda_wheel.builder.jobs import Compiled, Job
from cuda_wheel.builder.timing import phase
from cuda_wheel.builder.toolchain.nvrtc import uses_build_time
from cuda_wheel.builder.toolchain.options import RELOCATABLE_MACRO, floating_point_options, ptxas_options
from cuda_wheel.runtime.errors import ImageError
from cuda_wheel.runtime.formats.cubin import read_cubin
from cuda_wheel.runtime.jit.nvjitlink import link_code

if TYPE_CHECKING:
    from cuda_wheel.builder.toolchain.nvrtc import NvrtcRequest, NvrtcResult

__all__ = ["compile_cuda", "ltoir_job"]


def compile_cuda(job: Job) -> Compiled:
    """Return a job's result from NVRTC, without the variables of libraries that nothing uses."""
    if nvrtc_generates_cubin(job) and includes_large_library(
        job.root, job.source, job.text, job.include_dirs, job.options
    ):
        optimised = _compile_through_lto(job)
        if optimised is not None:
            return optimised
    return with_own_variables(*_compile_with_nvrtc(job))


@phase("compiling")
def _compile_with_nvrtc(job: Job) -> tuple[Compiled, Job, DeclaredNames]:
    """Return NVRTC's result for a job, the job, and what asks NVRTC for the names that files of the project declare."""
    answer = compile_with_host_code(job, partial(_call_nvrtc, job))
    return read_nvrtc_result(job, answer), job, partial(declared_names, answer.request)


def _call_nvrtc(job: Job, request: NvrtcRequest) -> NvrtcResult:
    return with_build_time(job, request, with_headers(request, compile_text(request)), uses_build_time)


def ltoir_job(job: Job) -> Job:
    """Return the job that compiles a whole source to LTO-IR.

    The source must not see that it is relocatable on the way: one file means the same whatever the way.
    """
    return replace(job, form="lto", options=(*job.options, f"--undefine-macro={RELOCATABLE_MACRO}"))


def _compile_through_lto(job: Job) -> Compiled | None:
    """Return a job's images by way of LTO-IR, so that nvJitLink removes unused variables; None if that loses something.

    nvJitLink's errors are not reported: NVRTC has its own message for an undefined symbol.
    """
    lto, lto_job, declared = _compile_with_nvrtc(ltoir_job(job))
    compiled = with_own_variables(lto, lto_job, declared)
    inputs = [("LTOIR", job.source, compiled.ltoir or b"")]
    options = [f"-arch=sm_{job.arch}", "-lto", *floating_point_options(job.options)]
    with phase("linking"), suppress(ImageError), nowhere():
        ptx, _ = link_code(inputs, [*options, "-ptx"], ptx=True)
        known = replace(described(ptx.rstrip(b"\0")), headers=compiled.headers, declared=compiled.declared)
        known = with_own_variables(known, job, declared)
        symbols = [variable.symbol for variable in known.variables]
        options += [*dead_code.keeping(symbols), "-Xptxas=-v", *ptxas_options(job.options)]
        cubin, log = link_code(inputs, options)
        parsed = read_cubin(cubin)
        if not ptx_text.undefined(ptx.decode()) and dead_code.is_whole(parsed, known.kernels, symbols):
            return replace(
                compiled,
                ltoir=None,
                cubin=cubin,
                ptx=known.ptx,
                ptx_version_compiled=known.ptx_version_compiled,
                kernels=known.kernels,
                bounds=known.bounds,
                variables=known.variables,
                resources=kernel_resources(log, parsed),
                log="\n\n".join(filter(None, [compiled.log, str(read_job_log(job, log))])),
            )
    return None
