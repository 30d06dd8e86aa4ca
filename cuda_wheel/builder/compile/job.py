"""Compile one source for one architecture, with NVRTC and nvJitLink. Runs in workers only; see `workers`.

Text goes in, bytes come out; nothing here knows of projects, wheels or manifests.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING

from cuda_wheel.builder.compile import library_variables
from cuda_wheel.builder.compile.answer import _lines_of, _read, explained, read_answer, readable
from cuda_wheel.builder.compile.precompiled import compile_text
from cuda_wheel.builder.compile.request import is_direct, launches, may_hold_host_code, nvrtc_request
from cuda_wheel.builder.errors import CompileError
from cuda_wheel.builder.images import dead_code, lowering, ptx_text
from cuda_wheel.builder.images.assembly import assemble, described, kernel_resources, machine_code, nowhere
from cuda_wheel.builder.images.variables import is_librarys, without_unused
from cuda_wheel.builder.jobs import Compiled, Job
from cuda_wheel.builder.timing import phase
from cuda_wheel.builder.toolchain.options import floating_point, for_assembler, line_roots
from cuda_wheel.runtime import nvjitlink
from cuda_wheel.runtime.errors import ImageError
from cuda_wheel.runtime.formats import ptx as ptx_module

if TYPE_CHECKING:
    from cuda_wheel.builder.hostcode.device_code import Extraction
    from cuda_wheel.builder.hostcode.mixed_source import Result
    from cuda_wheel.builder.toolchain.nvrtc import Answer
    from cuda_wheel.builder.toolchain.nvvm import Request as IrRequest

__all__ = [
    "compile_job",
]


def compile_job(job: Job) -> Compiled:
    """Return the images of one job; raises CompileError with what the compiler says, or ConfigError for its options."""
    compiled = {"cuda": _of_cuda, "nvvm": _of_ir, "ptx": _of_ptx}[job.kind](job)
    if job.form == "lto":
        return compiled
    text = (compiled.ptx or b"").decode()
    if job.lineinfo:
        text = ptx_text.relocate_files(text, line_roots(job.include_dirs) | {os.getcwd(): ""})
    if job.cubin and compiled.cubin is None:
        with phase("assembling"):
            cubin, resources = _assembled(text, job)
        compiled = replace(compiled, cubin=cubin, resources=resources)
    text = ptx_text.normalise(text)
    if not job.ptx:
        return replace(compiled, ptx=None)
    with phase("lowering"):
        lowered = lowering.lower(text, job.ptx_version, job.arch, job.source, machine_code)
    return replace(compiled, ptx=lowered.encode())


def _of_cuda(job: Job) -> Compiled:
    optimised = None
    if is_direct(job) and library_variables.is_worth(job.root, job.source, job.text, job.include_dirs, job.options):
        optimised = _optimised(job)
    return _without_unused(_translated(job), job) if optimised is None else optimised


def _without_unused(compiled: Compiled, job: Job) -> Compiled:
    """Return what a job gave without the variables of libraries, of which the PTX keeps those that something uses."""
    if compiled.ptx is None or job.form != "whole":
        return compiled
    others = library_variables.others_variables(compiled.variables, job.text, compiled.headers or (), job.include_dirs)
    text = without_unused(
        ptx_text.normalise(compiled.ptx.decode()), lambda symbol: symbol in others or is_librarys(symbol)
    )
    own = tuple(variable for variable in compiled.variables if variable.symbol not in others)
    return replace(compiled, ptx=text.encode(), variables=own)


def _optimised(job: Job) -> Compiled | None:
    """Return the images of a job by way of LTO-IR, without what nothing uses; None where that gives less than all.

    The linker's errors are not the user's: NVRTC has its own words for what is missing.
    """
    parts = _translated(replace(job, form="lto"))
    inputs = [("LTOIR", job.source, parts.ltoir or b"")]
    options = [f"-arch=sm_{job.arch}", "-lto", *floating_point(job.options)]
    with phase("linking"), suppress(ImageError), nowhere():
        text, _ = nvjitlink.link_code(inputs, [*options, "-ptx"], ptx=True)
        known = _without_unused(replace(described(text.rstrip(b"\0")), headers=parts.headers), job)
        symbols = [variable.symbol for variable in known.variables]
        options += [*dead_code.keeping(symbols), "-Xptxas=-v", *for_assembler(job.options)]
        cubin, log = nvjitlink.link_code(inputs, options)
        if not ptx_text.undefined(text.decode()) and dead_code.is_whole(cubin, known.kernels, symbols):
            return replace(
                parts,
                ltoir=None,
                cubin=cubin,
                ptx=known.ptx,
                ptx_version_compiled=known.ptx_version_compiled,
                kernels=known.kernels,
                bounds=known.bounds,
                variables=known.variables,
                resources=kernel_resources(log, cubin),
                log="\n\n".join(filter(None, [parts.log, str(_read(job, log, lambda file: None))])),
            )
    return None


@phase("compiling")
def _translated(job: Job) -> Compiled:
    """Return what NVRTC makes of a job."""
    whole = cache(lambda: compile_text(nvrtc_request(job)))
    suspect = launches(job) or may_hold_host_code(job, whole())
    result = _without_host_code(job, whole) if suspect else None
    if result is None:
        return read_answer(job, whole())
    compiled = read_answer(job, result.answer, result.expressions, lambda file: _lines_of(file, job), result.lost)
    headers = None if compiled.headers is None else tuple(sorted({*compiled.headers, *result.headers}))
    return replace(compiled, headers=headers, absent=result.absent, blanked=result.blanked)


@phase("compiling")
def _of_ir(job: Job) -> Compiled:
    from cuda_wheel.builder.messages.nvvm_log import read_answer
    from cuda_wheel.builder.toolchain.nvvm import compile_ir  # few projects have any

    request: IrRequest = {
        "library": job.library,
        "libdevice": job.libdevice,
        "text": job.text,
        "name": job.source,
        "arch": job.arch,
        "lto": job.form == "lto",
        "options": floating_point(job.options),
    }
    answer = compile_ir(request)
    warnings = read_answer(request, answer)
    return replace(described(answer["ptx"]), ltoir=answer["ltoir"] or None, log=warnings)


@phase("compiling")
def _of_ptx(job: Job) -> Compiled:
    text = job.text.decode()
    try:
        target = ptx_module.target(text)
        compiled = described(job.text)
    except ValueError as error:
        raise CompileError(f"{job.source}: error: {error}") from error
    fits = target == job.arch if target[-1] in "af" else int(target) <= int(job.arch.rstrip("af"))
    if not fits:
        raise CompileError(
            f"{job.source}: error: is PTX for sm_{target}, which cannot become an image for {job.arch}: leave that out "
            "of architectures"
        )
    return compiled


def _assembled(text: str, job: Job) -> tuple[bytes, dict[str, dict[str, int]]]:
    """Return the cubin of PTX, and what each kernel needs."""
    options = [*(["-lineinfo"] if job.lineinfo else []), "-Xptxas=-v", *for_assembler(job.options)]
    try:
        with nowhere():
            cubin, figures = assemble([text], job.arch, options)
    except CompileError as error:
        said = ptx_text.place_errors(str(error), job.source) if job.kind == "ptx" else str(error)
        raise CompileError(explained(job, said) if job.kind == "cuda" else said) from None
    return cubin, kernel_resources(figures, cubin)


def _without_host_code(job: Job, whole: Callable[[], Answer]) -> Result | None:
    """Return what becomes of the job without its host code; None where nobody can tell what is host code."""
    try:
        from cuda_wheel.builder.hostcode.mixed_source import compile_mixed
    except ImportError:  # the parser is not installed: whoever put the toolchain together left it out
        return None

    def compile(extraction: Extraction) -> Answer:
        if extraction.text is job.text:
            return readable(job, whole())
        request = nvrtc_request(job)
        answer = compile_text(
            {
                **request,
                "text": extraction.text,
                "options": [*request["options"], *extraction.options],
                "expressions": list(extraction.expressions),
                "headers": dict(extraction.headers),
            }
        )
        return readable(job, answer)

    return compile_mixed(job, compile)
