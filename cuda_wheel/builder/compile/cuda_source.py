"""Compile a source that is CUDA C++, with NVRTC."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from cuda_wheel.builder.compile.declarations import (
    declared_names,
    may_declare_foreign_names,
    remember_references,
    uses_build_time,
)
from cuda_wheel.builder.compile.host_code import check_launches, compile_with_host_code
from cuda_wheel.builder.compile.library_variables import DeclaredNames, with_own_variables
from cuda_wheel.builder.compile.nvrtc_result import read_nvrtc_result, with_build_time, with_headers
from cuda_wheel.builder.compile.parameter_layouts import with_parameters
from cuda_wheel.builder.compile.precompiled import compile_text, current_precompilation
from cuda_wheel.builder.hostcode.front_end import USED_PARTS_OPTION
from cuda_wheel.builder.hostcode.project_texts import some_project_texts
from cuda_wheel.builder.jobs import Compiled, Job
from cuda_wheel.builder.sources.include_graph import option_folders
from cuda_wheel.builder.timing import phase
from cuda_wheel.builder.toolchain.nvrtc import compile_with_references

if TYPE_CHECKING:
    from cuda_wheel.builder.toolchain.nvrtc import NvrtcRequest, NvrtcResult

__all__ = ["compile_cuda"]


def compile_cuda(job: Job) -> Compiled:
    """Return a job's result from NVRTC, without the variables of libraries that nothing uses."""
    return with_own_variables(*_compile_with_nvrtc(job))


@phase("compiling")
def _compile_with_nvrtc(job: Job) -> tuple[Compiled, Job, DeclaredNames]:
    """Return NVRTC's result for a job, the job, and what asks NVRTC for the names that files of the project declare."""
    texts = some_project_texts(job.text, job.source, job.root, (*job.include_dirs, *option_folders(job.options)))
    answer = compile_with_host_code(job, partial(_call_nvrtc, job, bool(may_declare_foreign_names(texts))))
    compiled = read_nvrtc_result(job, answer)
    check_launches(job, compiled)
    compiled = with_parameters(job, answer.request, compiled)
    return compiled, job, partial(declared_names, answer.request)


def _call_nvrtc(job: Job, asks_for_names: bool, request: NvrtcRequest, *more_options: str) -> NvrtcResult:
    """Return NVRTC's result for a request, with further options.

    With `asks_for_names`, the compilation also writes what `declared_names` reads, which takes a second one otherwise.
    """
    asked: NvrtcRequest = {**request, "options": [*request["options"], *more_options]}
    # Names in precompiled headers are not written.
    if asks_for_names and (current_precompilation() is None or USED_PARTS_OPTION in request["options"]):
        result, references = compile_with_references(asked)
        remember_references(request, references)
    else:
        result = compile_text(asked)
    return with_build_time(job, request, with_headers(request, result), uses_build_time)
