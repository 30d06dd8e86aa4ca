"""Compile one job: one source for one architecture. Runs in worker processes only; see `workers`.

The input is a job's text, and the output is bytes; nothing here knows projects, wheels or manifests. `cuda_source`,
`nvvm_source` and `ptx_source` are the front ends, one for each kind of source. What follows is the same for all.
"""

from __future__ import annotations

import os
import re
from contextlib import nullcontext
from dataclasses import replace

from cuda_wheel.builder.compile.assembled import assembly_request, check_symbols, with_machine_code
from cuda_wheel.builder.compile.cuda_source import compile_cuda
from cuda_wheel.builder.compile.error_text import error_text
from cuda_wheel.builder.compile.nvrtc_request import is_whole_program
from cuda_wheel.builder.compile.nvvm_source import compile_nvvm_ir
from cuda_wheel.builder.compile.ptx_source import read_ptx_source
from cuda_wheel.builder.cxx.demangling.signatures import signature
from cuda_wheel.builder.errors import CompileError, ConfigError
from cuda_wheel.builder.images import lowering, ptx_text
from cuda_wheel.builder.images.assembly import assemble, kernel_resources, machine_code, nowhere
from cuda_wheel.builder.images.kernel_removal import chosen_instances, without_kernels
from cuda_wheel.builder.jobs import Compiled, Job
from cuda_wheel.builder.timing import phase
from cuda_wheel.builder.toolchain.nvrtc import compile_text
from cuda_wheel.builder.toolchain.options import line_info_folders, ptxas_options
from cuda_wheel.runtime.formats.cubin import read_cubin
from cuda_wheel.runtime.formats.ptx import without_contraction
from cuda_wheel.runtime.jit.floating_point import floating_point
from cuda_wheel.runtime.linking.nvjitlink_messages import locate_errors

__all__ = ["compile_job"]

_FRONT_ENDS = {"cuda": compile_cuda, "nvvm": compile_nvvm_ir, "ptx": read_ptx_source}


def compile_job(job: Job) -> Compiled:
    """Return the images of a job; raises CompileError with the compiler's diagnostics, or ConfigError for an option."""
    compiled = _compiled(job)
    _check_paths(job, compiled)
    return compiled


def _check_paths(job: Job, compiled: Compiled) -> None:
    """Raise CompileError if an image contains where a library outside the project is: builds elsewhere would differ."""
    for folder in job.system_dirs:
        path = os.fsencode(folder + os.sep)
        # In PTX a string is a list of numbers. What follows the folder in it is the header's name.
        numbers = re.search(rb",\s*".join(b"%d" % byte for byte in path) + rb"((?:,\s*\d+)*)", compiled.ptx or b"")
        if numbers or any(path in content for content in (compiled.cubin, compiled.ltoir) if content):
            text = bytes(map(int, filter(None, numbers[1].split(b",")))) if numbers else b""
            header = text.partition(b"\0")[0].decode(errors="replace") or f"a header in {folder}"
            raise CompileError(
                f"{job.source}: the image would contain the path of {header}, which __FILE__ gives, as in assert. It "
                f"lies outside the project ({folder}), so that builds on other machines would differ: set defines = "
                "{ NDEBUG = 1 } if it is an assert, or copy the header into the project."
            )


def _compiled(job: Job) -> Compiled:
    """Return what `compile_job` returns."""
    compiled = _FRONT_ENDS[job.kind](job)
    if job.instances and compiled.ptx is not None:
        compiled = _narrowed(compiled, job)
    if job.form == "lto":
        return compiled
    ptx = (compiled.ptx or b"").decode()
    if job.lineinfo:
        ptx = ptx_text.relocate_files(ptx, line_info_folders(job.include_dirs, job.system_dirs) | {os.getcwd(): ""})
    if job.cubin and compiled.cubin is None:
        with phase("assembling"):
            compiled = _with_machine_code(job, compiled, ptx)
    elif job.kind == "cuda" and job.form == "whole":
        check_symbols(job, ptx)
    ptx = ptx_text.normalise(ptx)
    if not job.ptx:
        return replace(compiled, ptx=None)
    if not floating_point(job.options).assembler_fma:  # who assembles it later does not know the options
        ptx = without_contraction(ptx)
    with phase("lowering"):
        if compiled.cubin is None and job.ptx_version != "as-compiled":
            machine_code(ptx, job.arch)  # what the assembler refuses, each user's driver would refuse
        lowered = lowering.lower(ptx, job.ptx_version, job.arch, job.source, machine_code)
    return replace(compiled, ptx=lowered.encode())


def _narrowed(compiled: Compiled, job: Job) -> Compiled:
    """Return a result without the kernels that `instances` leaves out."""
    if compiled.cubin is not None:
        raise ConfigError(f"{job.source}: instances cannot leave out kernels of code for a debugger: leave out -G.")
    named = [symbol for symbol in compiled.names.values() if symbol]
    kept = chosen_instances(compiled.kernels, job.instances, named)
    removed = [symbol for symbol in compiled.kernels if symbol not in kept]
    if removed and not kept:
        names = ", ".join(signature(symbol).name for symbol in removed[:8])
        more = ", ..." if len(removed) > 8 else ""
        raise CompileError(f"instances keeps none of the {len(removed)} kernels of {job.source}: {names}{more}")
    text = ptx_text.normalise((compiled.ptx or b"").decode())
    text = without_kernels(text, removed, [variable.symbol for variable in compiled.variables])
    return replace(
        compiled,
        ptx=text.encode(),
        kernels={symbol: compiled.kernels[symbol] for symbol in kept},
        bounds={symbol: bounds for symbol, bounds in compiled.bounds.items() if symbol in kept},
    )


def _with_machine_code(job: Job, compiled: Compiled, ptx: str) -> Compiled:
    """Return a job's result with the cubin of its PTX, and the resources of each kernel."""
    if is_whole_program(job):
        with nowhere() if job.lineinfo else nullcontext():
            return with_machine_code(job, compiled, compile_text(assembly_request(job, ptx, os.getcwd())))
    options = [*(["-lineinfo"] if job.lineinfo else []), "-Xptxas=-v", *ptxas_options(job.options)]
    try:
        with nowhere():
            cubin, log = assemble([ptx], job.arch, options)
    except CompileError as error:
        text = locate_errors(str(error), job.source) if job.kind == "ptx" else str(error)
        raise CompileError(error_text(job, text) if job.kind == "cuda" else text) from None
    return replace(compiled, cubin=cubin, resources=kernel_resources(log, read_cubin(cubin)))
