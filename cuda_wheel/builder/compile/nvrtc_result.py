"""Turn NVRTC's result into a job's result."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from cuda_wheel.builder.compile.error_text import error_text, read_job_log
from cuda_wheel.builder.compile.nvrtc_request import nvrtc_generates_cubin
from cuda_wheel.builder.errors import CompileError, ConfigError
from cuda_wheel.builder.images.assembly import described, kernel_resources
from cuda_wheel.builder.jobs import EMPTY, Compiled, Job
from cuda_wheel.builder.messages.diagnostics import OriginalLines, no_original_lines
from cuda_wheel.builder.sources.include_graph import read_at_most
from cuda_wheel.builder.sources.job_searches import own_texts
from cuda_wheel.builder.toolchain.nvrtc import INVALID_OPTION, standards
from cuda_wheel.builder.toolchain.options import floating_point_options
from cuda_wheel.runtime.errors import ImageError
from cuda_wheel.runtime.formats.cubin import read_cubin
from cuda_wheel.runtime.jit.nvjitlink import link_code
from cuda_wheel.runtime.linking.build_time import may_use_build_time

if TYPE_CHECKING:
    from cuda_wheel.builder.toolchain.nvrtc import NvrtcRequest, NvrtcResult

__all__ = ["read_nvrtc_result", "with_build_time", "with_headers", "with_ptx"]


def with_headers(request: NvrtcRequest, result: NvrtcResult) -> NvrtcResult:
    """Return a result whose headers come from a scan of the source if NVRTC did not list them."""
    if result["error"] or result["headers"] is not None:
        return result
    headers = read_at_most(request["folder"], request["name"], request["text"], request["options"])
    return {**result, "headers": headers}


def with_build_time(
    job: Job, request: NvrtcRequest, result: NvrtcResult, ask: Callable[[NvrtcRequest], bool]
) -> NvrtcResult:
    """Return a result that says whether the source uses the time of the build.

    `ask` calls `nvrtc.uses_build_time`, which is slow, so it is called only if the texts of the project allow it.
    """
    if result["error"]:
        return result
    texts = [text for _, text in own_texts(job, result["headers"] or ())]
    settings = " ".join([*request["options"], *request["expressions"]])
    is_possible = may_use_build_time([*texts, request["text"], settings.encode(errors="surrogateescape")])
    return {**result, "uses_build_time": is_possible and ask(request)}


def with_ptx(job: Job, result: NvrtcResult) -> NvrtcResult:
    """Return a result with PTX, generated from its LTO-IR if it has no other code: LTO-IR does not list its kernels."""
    if job.form != "lto" or result["error"]:
        return result
    try:
        text, _ = link_code(
            [("LTOIR", job.source, result["ltoir"])],
            [f"-arch=sm_{job.arch}", "-lto", "-ptx", *floating_point_options(job.options)],
            ptx=True,
        )
    except ImageError as error:
        raise CompileError(str(error)) from error
    return {**result, "ptx": text.rstrip(b"\0")}


def read_nvrtc_result(
    job: Job,
    result: NvrtcResult,
    expressions: Sequence[str] | None = None,
    original_lines: OriginalLines = no_original_lines,
    missing_headers: Sequence[str] = (),
) -> Compiled:
    """Return a job's result, with the PTX as NVRTC generated it; raises CompileError, or ConfigError for an option.

    `expressions` are the name expressions of the request, if they are not the job's. `original_lines` returns the lines
    of a file that was changed for the compiler. `missing_headers` are headers that were not found and that were taken
    for host headers.
    """
    expressions = job.instantiate if expressions is None else expressions
    log = result["log"]
    if result["error"] == INVALID_OPTION:
        reason = log.strip("\0\n ").removeprefix("nvrtc: error: ")
        if "--std" in reason:
            valid = ", ".join(f'"{each}"' for each in standards(job.library))
            raise ConfigError(f"{job.source}: this NVRTC does not know the C++ standard of std; it knows {valid}.")
        raise ConfigError(f"{job.source}: NVRTC rejects an option (from std, defines or options): {reason}.")
    if result["error"]:
        raise CompileError(error_text(job, log, original_lines, missing_headers) or result["error"])
    compiled = EMPTY if job.form == "lto" else described(result["ptx"])
    cubin = nvrtc_generates_cubin(job)
    return replace(
        compiled,
        cubin=result["cubin"] if cubin else None,
        resources=kernel_resources(log, read_cubin(result["cubin"]) if result["cubin"] else None) if cubin else {},
        ltoir=result["ltoir"] or None,
        names=dict(zip(expressions, result["symbols"], strict=True)),
        headers=None if result["headers"] is None else tuple(result["headers"]),
        log=str(read_job_log(job, log, original_lines)),
        uses_build_time=result["uses_build_time"],
    )
