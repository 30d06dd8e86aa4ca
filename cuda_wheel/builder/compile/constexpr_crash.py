"""Avoid a crash of NVRTC 12.9 and 13.0 on host code.

For compute capability 10.0 and later they crash on some constants of a lambda inside another lambda if
`--relaxed_constexpr` is on; macros of many projects make such constants (`BOOL_SWITCH`). NVRTC 13.5 does not crash.
The option permits calls of `constexpr` host functions from device code and changes nothing else, so a source with
lambdas is compiled without it, unless the result lacks such a function.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from cuda_wheel.builder.hostcode.project_texts import some_project_texts
from cuda_wheel.builder.images.ptx_text import undefined
from cuda_wheel.builder.sources.include_graph import option_folders
from cuda_wheel.builder.toolchain.nvrtc import version

if TYPE_CHECKING:
    from cuda_wheel.builder.jobs import Job
    from cuda_wheel.builder.toolchain.nvrtc import NvrtcResult

__all__ = ["lacks_constexpr_functions", "may_crash"]

_FIRST_CAPABILITY, _MENDED = 100, (13, 5)

_MESSAGES = ("constexpr __host__ function", "Broken module found")

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
    folders = (*job.include_dirs, *option_folders(job.options))
    return any(map(_LAMBDA.search, some_project_texts(job.text, job.source, job.root, folders)))


def lacks_constexpr_functions(result: NvrtcResult) -> bool:
    """Return whether a source, compiled without `--relaxed_constexpr`, calls `constexpr` host functions in device code.

    NVRTC 12.9 then declares them in the PTX, without a definition or a message. Later releases report an error, and
    NVRTC 13.0 in some sources, such as those that use GLM, only that its module is broken.
    """
    if any(message in result["log"] for message in _MESSAGES):
        return True
    names = undefined(result["ptx"].decode()) if result["ptx"] else {}
    return any(not name.startswith("__nv_") for name in names)
