"""Compile a source that is NVVM IR, with libNVVM."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from cuda_wheel.builder.images.assembly import described
from cuda_wheel.builder.jobs import Compiled, Job
from cuda_wheel.builder.timing import phase
from cuda_wheel.builder.toolchain.options import floating_point_options

if TYPE_CHECKING:
    from cuda_wheel.builder.toolchain.nvvm import NvvmRequest

__all__ = ["compile_nvvm_ir"]


@phase("compiling")
def compile_nvvm_ir(job: Job) -> Compiled:
    """Return a job's PTX, and LTO-IR if the job asks for it, as libNVVM generates them."""
    # Start-up time: few projects have NVVM IR.
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
