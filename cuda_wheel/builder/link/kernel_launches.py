"""Add CUDA's device runtime library to a link whose kernels launch kernels."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from cuda_wheel.builder.errors import CompileError
from cuda_wheel.builder.jobs import LinkInput, LinkJob
from cuda_wheel.builder.toolchain.device_runtime import device_runtime_library

__all__ = ["is_of_device_runtime", "with_device_runtime"]

_FUNCTIONS = "__cudaCDP2"
"""How the functions begin that device code calls to launch kernels. Source: cuda_device_runtime_api.h."""

_OWN_KERNELS = "_cuda_device_runtime_cu_"
"""What the symbols of the library's own kernels contain, which no host code may launch."""


def with_device_runtime(job: LinkJob, text: str) -> LinkJob:
    """Return a link with the device runtime library, if its code needs that; `text` is the PTX of its LTO-IR.

    Raises CompileError if the library is not installed, and for PTX, with which machine code cannot be linked.
    """
    used = _FUNCTIONS in text or any(_FUNCTIONS.encode() in each.content for each in job.inputs)
    if not used or any("cudadevrt" in each.source for each in job.inputs):
        return job
    if not job.real:
        raise CompileError(
            f"kernels that launch kernels need machine code, with which PTX for compute_{job.arch} cannot be linked: "
            f'name real targets only, such as architectures = ["{job.arch}-real"]'
        )
    path = device_runtime_library(job.include_dirs)
    if path is None:
        raise CompileError(
            "kernels that launch kernels need the device runtime library, libcudadevrt.a, which is not installed: "
            "install nvidia-cuda-runtime (for CUDA 12 nvidia-cuda-runtime-cu12), or in a toolkit cuda-cudart-dev"
        )
    library = LinkInput(Path(path).name, "library", Path(path).read_bytes())
    return replace(job, inputs=(*job.inputs, library))


def is_of_device_runtime(symbol: str) -> bool:
    """Return whether a kernel is one of the device runtime library's own."""
    return _OWN_KERNELS in symbol
