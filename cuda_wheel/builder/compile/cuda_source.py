"""Compile a source that is CUDA C++, with NVRTC."""

from __future__ import annotations

import time
from collections.abc import Collection
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from cuda_wheel.builder.compile.declarations import (
    declared_names,
    opens_library,
    remember_references,
    uses_build_time,
)
from cuda_wheel.builder.compile.host_code import Answer, check_launches, compile_with_host_code
from cuda_wheel.builder.compile.library_variables import with_own_variables
from cuda_wheel.builder.compile.nvrtc_result import read_nvrtc_result, with_build_time, with_headers, with_layouts
from cuda_wheel.builder.compile.parameter_layouts import with_parameters
from cuda_wheel.builder.compile.precompiled import compile_text, current_precompilation
from cuda_wheel.builder.hostcode.front_end import USED_PARTS_OPTION
from cuda_wheel.builder.hostcode.project_texts import some_project_texts
from cuda_wheel.builder.jobs import AbsentHeader, Compiled, Job
from cuda_wheel.builder.sources.include_graph import option_folders
from cuda_wheel.builder.sources.missing_headers import (
    MISSING_HEADER,
    including_line,
    is_listed,
    optional_headers,
    unsafe_names,
)
from cuda_wheel.builder.timing import phase
from cuda_wheel.builder.toolchain.nvrtc import compile_with_references, preprocessed

if TYPE_CHECKING:
    from cuda_wheel.builder.toolchain.nvrtc import NvrtcRequest, NvrtcResult

__all__ = ["compile_cuda"]


_names_at_once: dict[tuple[str, int], bool] = {}
"""Whether the last job of a source asked for the names that files declare and took less than `_LONG`, by the source's
name and the hash of its text."""

_LONG = 10.0
"""Seconds of a compilation after which a second call, of `cross_references`, takes less time than to write the names
with the first: the second instantiates no templates. Measured for flash-attention: 1.6 s and 10 s."""


def compile_cuda(job: Job) -> Compiled:
    """Return a job's result from NVRTC, without the variables of libraries that nothing uses."""
    began = time.monotonic()
    compiled, request = _compile_with_nvrtc(job)
    place = job.source, hash(job.text)
    seconds = time.monotonic() - began
    _names_at_once[place] = False

    def names(files: Collection[str]) -> frozenset[str] | None:
        _names_at_once[place] = seconds < _LONG
        return declared_names(request, files)

    return with_own_variables(compiled, job, names, partial(preprocessed, request))


@phase("compiling")
def _compile_with_nvrtc(job: Job) -> tuple[Compiled, NvrtcRequest]:
    """Return NVRTC's result for a job, and the request that compiled it."""
    job, answer = _answer(job)
    compiled = read_nvrtc_result(job, answer)
    check_launches(job, compiled)
    absent = (_absence(job, compiled, name) for name in job.absent_headers if name in answer.result["absent"])
    compiled = replace(compiled, absent_headers=tuple(absent))
    return with_parameters(job, answer.request, compiled), answer.request


def _answer(job: Job) -> tuple[Job, Answer]:
    """Return NVRTC's answer, and the job with the headers that are missing and may be.

    A scan of the project's texts finds most of these headers, and the compiler's errors name the others, such as those
    that macros or headers of libraries include.
    """
    writes_names = _writes_names(job)
    absent, unsafe = optional_headers(job), set[str]()
    while True:
        job = replace(job, absent_headers=tuple(sorted(absent - unsafe)))
        answer = compile_with_host_code(job, partial(_call_nvrtc, job, writes_names))
        headers = answer.result["headers"] or ()
        if answer.result["error"]:
            named = MISSING_HEADER.findall(answer.result["log"]) if job.missing_headers else ()
            new = {name for name in named if is_listed(name, job.missing_headers)} - absent
            new -= unsafe_names(job, headers, new)
            absent |= new
        else:
            new = unsafe_names(job, headers, job.absent_headers)
            unsafe |= new
        if not new:
            return job, answer


def _absence(job: Job, compiled: Compiled, name: str) -> AbsentHeader:
    """Return the record of a missing header that was empty."""
    file, line = including_line(job, compiled.headers or (), name)
    return AbsentHeader(file, line, name, is_listed(name, job.missing_headers) or "")


def _writes_names(job: Job) -> bool:
    """Return whether a job will probably ask for the names that files declare, and the compilation that writes them
    takes less time than a second call. Only time depends on it."""
    place = job.source, hash(job.text)
    if place in _names_at_once:  # for another target
        return _names_at_once[place]
    folders = (*option_folders(job.options), *job.include_dirs)
    return opens_library(some_project_texts(job.text, job.source, job.root, folders))


def _call_nvrtc(job: Job, writes_names: bool, request: NvrtcRequest, *more_options: str) -> NvrtcResult:
    """Return NVRTC's result for a request, with further options.

    With `writes_names`, the compilation also writes what `declared_names` reads, which takes a second one otherwise.
    """
    asked: NvrtcRequest = {**request, "options": [*request["options"], *more_options]}
    # Names in precompiled headers are not written.
    if writes_names and (current_precompilation() is None or USED_PARTS_OPTION in request["options"]):
        result, references = compile_with_references(asked)
        remember_references(request, references)
    else:
        result = compile_text(asked)
    result = with_layouts(job, request, with_headers(request, result))
    return with_build_time(job, request, result, uses_build_time)
