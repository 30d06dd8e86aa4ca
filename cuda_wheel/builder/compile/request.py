"""Decide how NVRTC is called for a job."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cuda_wheel.builder.jobs import Job
from cuda_wheel.builder.toolchain.nvrtc import INVALID_OPTION
from cuda_wheel.builder.toolchain.options import FORM_OPTIONS

if TYPE_CHECKING:
    from cuda_wheel.builder.toolchain.nvrtc import Answer, Request

__all__ = [
    "is_direct",
    "launches",
    "may_hold_host_code",
    "nvrtc_request",
]


def launches(job: Job) -> bool:
    """Return whether a job's text seems to launch kernels, which is host code to be taken out."""
    return job.host_code != "keep" and b"<<<" in job.text


def may_hold_host_code(job: Job, answer: Answer) -> bool:
    """Return whether a plain compilation's answer leaves it open that there is host code to be taken out."""
    return job.host_code != "keep" and answer["error"] not in ("", INVALID_OPTION)


def is_direct(job: Job) -> bool:
    """Return whether NVRTC itself makes the machine code of a job."""
    # A real target gives PTX as well, byte for byte what the virtual one would give. With line information the cubin
    # is made from that PTX instead, because NVRTC would write absolute paths into it.
    return job.cubin and not job.lineinfo and job.kind == "cuda" and job.form == "whole"


_UNROLLING = "_CCCL_META_UNROLL_LIMIT"
"""How far CCCL unrolls what it does with lists of types: 10 times for nvcc, and 16 for compilers that it does not know,
NVRTC among them. The time to read <cuda/std/utility>, which most of CCCL includes, goes up with two to that power:
half of all time to compile what uses CUB. The images are the same. Source: cuda/std/__type_traits/type_list.h."""


def nvrtc_request(job: Job) -> Request:
    """Return the compilation that a job begins with."""
    direct = is_direct(job)
    options = [f"--gpu-architecture={'sm' if direct else 'compute'}_{job.arch}", *job.options]
    options += [f"--include-path={folder}" for folder in job.include_dirs]
    # What has no linkage gets a symbol of its own, which would hold the number of this process.
    options += [f"--frandom-seed={job.source}"]
    options += ["--ptxas-options=-v"] if direct else []
    options += ["-lineinfo"] if job.lineinfo else []
    options += FORM_OPTIONS[job.form]
    if not any(_UNROLLING in option for option in options) and _UNROLLING.encode() not in job.text:
        options.append(f"--define-macro={_UNROLLING}=10")
    return {
        "library": job.library,
        "folder": job.root,
        "text": job.text,
        "name": job.source,
        "options": options,
        "expressions": list(job.instantiate),
    }
