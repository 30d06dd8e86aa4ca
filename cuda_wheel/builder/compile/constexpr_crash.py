"""Avoid a crash of NVRTC 12.9 and 13.0 on host code.

For compute capability 10.0 and later they crash on some constants of a lambda inside another lambda if
`--relaxed_constexpr` is on; macros of many projects make such constants (`BOOL_SWITCH`). NVRTC 13.5 does not crash.
The option permits calls of `constexpr` host functions from device code and changes nothing else, so a source with
lambdas is compiled without it. If it has such calls, those of the project's functions are marked `__host__ __device__`;
if others are called, it is compiled with the option.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from cuda_wheel.builder.cxx.demangling.signatures import signature
from cuda_wheel.builder.hostcode.front_end import CONSTEXPR_CALL
from cuda_wheel.builder.hostcode.project_texts import some_project_texts
from cuda_wheel.builder.images.ptx_text import undefined
from cuda_wheel.builder.sources.include_graph import option_folders
from cuda_wheel.builder.toolchain.nvrtc import version

if TYPE_CHECKING:
    from cuda_wheel.builder.jobs import Job
    from cuda_wheel.builder.toolchain.nvrtc import NvrtcResult

__all__ = ["is_broken", "may_crash", "needs_permission", "with_missing_functions"]

_FIRST_CAPABILITY, _MENDED = 100, (13, 5)

_BROKEN = "Broken module found"
"""What NVRTC 13.0 reports of such calls in some sources, such as those that use GLM."""

_LAMBDA = re.compile(rb"\[\s*[&=]")
"""Matches the beginning of a lambda that captures variables."""


def may_crash(job: Job) -> bool:
    """Return whether NVRTC may crash on a job's host code."""
    architecture = re.match(r"\d+", job.arch)
    if job.kind != "cuda" or job.form != "whole" or job.host_code == "reject" or architecture is None:
        return False
    if int(architecture[0]) < _FIRST_CAPABILITY or version(job.library) >= _MENDED:
        return False
    if _LAMBDA.search(job.text):  # before the headers, which would be read
        return True
    folders = (*option_folders(job.options), *job.include_dirs)
    return any(map(_LAMBDA.search, some_project_texts(job.text, job.source, job.root, folders)))


def with_missing_functions(result: NvrtcResult, source: str) -> NvrtcResult:
    """Return a result, which becomes an error if device code calls `constexpr` host functions.

    Without `--relaxed_constexpr`, NVRTC 12.9 and 13.0 mostly declare them in the PTX, with neither a definition nor a
    message.
    """
    if result["error"] or not result["ptx"]:
        return result
    symbols = [each for each in undefined(result["ptx"].decode()) if not each.startswith("__nv_")]
    if not symbols:
        return result
    lines = [f'{source}(1): error: {CONSTEXPR_CALL}("{signature(symbol).name}")\n\n' for symbol in symbols]
    return {**result, "error": "NVRTC_ERROR_COMPILATION", "log": "".join(lines) + result["log"]}


def needs_permission(result: NvrtcResult) -> bool:
    """Return whether a source may compile only with `--relaxed_constexpr`, given its result without."""
    return result["error"] != "" and (CONSTEXPR_CALL in result["log"] or is_broken(result))


def is_broken(result: NvrtcResult) -> bool:
    """Return whether NVRTC reports only that its module is broken. Leaving out host code is no use then; a compilation
    with `--relaxed_constexpr` reports what is wrong with the source, if anything is."""
    return result["error"] != "" and _BROKEN in result["log"]
