"""Detect whether a job's source may contain host code."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cuda_wheel.builder.toolchain.nvrtc import INVALID_OPTION

if TYPE_CHECKING:
    from cuda_wheel.builder.jobs import Job
    from cuda_wheel.builder.toolchain.nvrtc import NvrtcResult

__all__ = ["has_kernel_launches", "may_contain_host_code"]


def has_kernel_launches(job: Job) -> bool:
    """Return whether a job's source appears to launch kernels and therefore contains host code to remove."""
    return job.host_code != "keep" and b"<<<" in job.text


def may_contain_host_code(job: Job, result: NvrtcResult) -> bool:
    """Return whether a job's source may contain host code to remove, given the result of compiling it unedited."""
    return job.host_code != "keep" and result["error"] not in ("", INVALID_OPTION)
