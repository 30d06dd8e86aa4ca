"""Compile one job: one source for one architecture. Runs in worker processes only; see `workers`.

The input is a job with its source text, and the output is bytes; nothing here reads settings, wheels or manifests.
`compile_cuda`, `compile_nvvm_ir`, `read_ptx_source` and those of kernels in Python are the front ends, one for each
kind of source. All later steps are the same for all kinds.
"""

from __future__ import annotations

import os
import time
from collections.abc import Collection
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from cuda_wheel.builder.compile.device_variables import (
    declared_names,
    with_own_variables,
)
from cuda_wheel.builder.compile.error_text import error_text
from cuda_wheel.builder.compile.host_code import check_launches, compile_with_host_code
from cuda_wheel.builder.compile.nvrtc_assembler import assembly_request, check_symbols, with_machine_code
from cuda_wheel.builder.compile.nvrtc_calls import NvrtcCalls, remember_duration
from cuda_wheel.builder.compile.nvrtc_request import is_whole_program
from cuda_wheel.builder.compile.nvrtc_result import read_nvrtc_result
from cuda_wheel.builder.compile.struct_layouts import with_parameters
from cuda_wheel.builder.cxx.demangling import signature
from cuda_wheel.builder.errors import CompileError, ConfigError
from cuda_wheel.builder.images import lowering, ptx_text
from cuda_wheel.builder.images.assembly import assemble, described, kernel_resources, machine_code, nowhere
from cuda_wheel.builder.images.library_paths import check_library_paths
from cuda_wheel.builder.images.ptx_text import chosen_instances, without_kernels
from cuda_wheel.builder.jobs import AbsentHeader, Compiled, Job
from cuda_wheel.builder.sources.header_search import (
    including_line,
    is_listed,
)
from cuda_wheel.builder.timing import phase
from cuda_wheel.builder.toolchain.nvrtc import (
    compile_text,
    floating_point_options,
    line_info_folders,
    preprocessed,
    ptxas_options,
)
from cuda_wheel.runtime.parts.floating_point import floating_point
from cuda_wheel.runtime.parts.formats import ptx
from cuda_wheel.runtime.parts.formats.cubin import read_cubin
from cuda_wheel.runtime.parts.formats.ptx import without_contraction
from cuda_wheel.runtime.parts.linking.linkers import locate_errors

if TYPE_CHECKING:
    from cuda_wheel.builder.toolchain.nvvm import NvvmRequest
__all__ = ["compile_cuda", "compile_job", "compile_nvvm_ir", "read_ptx_source"]


@phase("compiling")
def read_ptx_source(job: Job) -> Compiled:
    """Return a PTX source as a job's result; raises CompileError if it is not PTX, or if its target cannot be assembled
    for the job's architecture."""
    text = job.text.decode()
    try:
        target = ptx.target(text)
        compiled = described(job.text)
    except ValueError as error:
        raise CompileError(f"{job.source}: error: {error}") from error
    suits = target == job.arch if target[-1] in "af" else int(target) <= int(job.arch.rstrip("af"))
    if not suits:
        raise CompileError(
            f"{job.source}: error: this PTX is for sm_{target} and cannot become an image for {job.arch}: remove "
            f"{job.arch} from architectures"
        )
    return compiled


@phase("compiling")
def compile_nvvm_ir(job: Job) -> Compiled:
    """Return a job's PTX, and LTO-IR if the job asks for it, as libNVVM generates them."""
    # Start-up time: 22 ms, and few projects have NVVM IR.
    from cuda_wheel.builder.messages.nvvm_log import read_nvvm_result
    from cuda_wheel.builder.toolchain.nvvm import compile_ir

    request: NvvmRequest = {
        "library": job.library,
        "libdevice": job.libdevice,
        "text": job.text,
        "name": job.source,
        "arch": job.arch,
        "lto": job.form == "lto",
        "options": floating_point_options(job.options),
    }
    result = compile_ir(request)
    warnings = read_nvvm_result(request, result)
    return replace(described(result["ptx"]), ltoir=result["ltoir"] or None, log=warnings)


def compile_cuda(job: Job) -> Compiled:
    """Compile a CUDA C++ source with NVRTC; return the job's result without unused variables of libraries."""
    began = time.monotonic()
    with phase("compiling"):
        job, outcome = compile_with_host_code(job, NvrtcCalls(job))
        request = outcome.request
        compiled = read_nvrtc_result(job, outcome)
        if job.tileiras:
            from cuda_wheel.builder.compile.tile_kernels import with_tile_kernels  # few projects have such kernels

            compiled = with_tile_kernels(job, compiled, outcome.result)
        check_launches(job, compiled)
        absent = (_absence(job, compiled, name) for name in job.absent_headers if name in outcome.result["absent"])
        compiled = replace(compiled, absent_headers=tuple(absent))
        if job.tileiras:
            return compiled  # it has no PTX, whose debugging information would describe the parameters
        compiled = with_parameters(job, request, compiled)
    seconds = time.monotonic() - began
    remember_duration(job, seconds, asked_for_names=False)

    def names(files: Collection[str]) -> frozenset[str] | None:
        remember_duration(job, seconds, asked_for_names=True)
        return declared_names(request, files)

    return with_own_variables(compiled, job, names, partial(preprocessed, request))


def _absence(job: Job, compiled: Compiled, name: str) -> AbsentHeader:
    """Return a record that the header `name` is missing and that the compiler read an empty file for it. The record
    names the first line that includes the header."""
    file, line = including_line(job, compiled.headers or (), name)
    return AbsentHeader(file, line, name, is_listed(name, job.missing_headers) or "")


def _compile_triton(job: Job) -> Compiled:
    from cuda_wheel.builder.compile.triton_kernels import compile_triton  # few projects have Triton kernels

    return compile_triton(job)


def _compile_cutile(job: Job) -> Compiled:
    from cuda_wheel.builder.compile.cutile_kernels import compile_cutile  # few projects have cuTile kernels

    return compile_cutile(job)


def _compile_numba(job: Job) -> Compiled:
    from cuda_wheel.builder.compile.numba_kernels import compile_numba  # few projects have Numba kernels

    return compile_numba(job)


_FRONT_ENDS = {
    "cuda": compile_cuda,
    "nvvm": compile_nvvm_ir,
    "ptx": read_ptx_source,
    "triton": _compile_triton,
    "tile": _compile_cutile,
    "numba": _compile_numba,
}


def compile_job(job: Job) -> Compiled:
    """Compile a job and return its images. Raises CompileError with the compiler's diagnostics, and ConfigError for an
    option that the compiler rejects."""
    compiled = _finished(job, _FRONT_ENDS[job.kind](job))
    check_library_paths(job.source, job.system_dirs, compiled)
    return compiled


def _finished(job: Job, compiled: Compiled) -> Compiled:
    """Return a job's result with the images that the job asks for. `compiled` is the result of `_FRONT_ENDS[job.kind]`.

    Remove the kernels that the setting `instances` excludes. Assemble a cubin from the PTX if the job needs one. Give
    the PTX the PTX ISA version `Job.ptx_version`, or remove the PTX if the job does not need it.
    """
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
    """Return a job's result without the kernels that the setting `instances` excludes.

    Raise CompileError if the setting excludes all kernels. Raise ConfigError if `compiled` has a cubin, which NVRTC
    makes with -G (code for a debugger): kernels can be removed from PTX only.
    """
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
    """Return a job's result with the cubin assembled from `ptx`, and with each kernel's resource use."""
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
