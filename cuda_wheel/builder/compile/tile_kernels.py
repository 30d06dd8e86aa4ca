"""Make the machine code of a source with CUDA Tile kernels from the Tile IR that NVRTC generates. Runs in workers only.

One image has one kind of code: a source has CUDA Tile kernels or others. nvcc puts the two kinds into two fatbins.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from cuda_wheel.builder.cxx.demangling import signature
from cuda_wheel.builder.errors import CompileError
from cuda_wheel.builder.jobs import EMPTY, Compiled, Job
from cuda_wheel.builder.timing import phase
from cuda_wheel.builder.toolchain.tileiras import HOSTS, assemble_tile_ir
from cuda_wheel.runtime.manifest import parse_version
from cuda_wheel.runtime.parts.formats.cubin import read_cubin

if TYPE_CHECKING:
    from cuda_wheel.builder.toolchain.nvrtc import NvrtcResult

__all__ = ["assembled", "with_tile_kernels"]

_DUMMY = "__$dummy_kernel"
"""Symbol of the kernel that NVRTC generates if a source has variables for CUDA Tile kernels, but no kernel."""


def with_tile_kernels(job: Job, compiled: Compiled, result: NvrtcResult) -> Compiled:
    """Return the result of a job for CUDA Tile kernels; `compiled` is what NVRTC's PTX and log say.

    `Compiled.cubin` has a cubin for each of `tileiras.HOSTS`. Raises CompileError if the source has no CUDA Tile
    kernels, or others too, and for what tileiras refuses.
    """
    found = assembled(job, result.get("tile_ir", b""))
    if not found.kernels:
        raise CompileError(
            f"{job.source}: error: this file mentions __tile_global__ or includes <cuda_tile.h>, and has no CUDA Tile "
            "kernel: is the kernel inside an #if whose condition is false, or a template without instances (the "
            "module's instantiate names them)? If it has none, remove the mention and the include"
        )
    if compiled.kernels:
        names = ", ".join(signature(symbol).name for symbol in list(compiled.kernels)[:3])
        raise CompileError(
            f"{job.source}: error: this file has CUDA Tile kernels (__tile_global__) and other kernels (__global__: "
            f"{names}): an image has one kind. Move one kind into a file, and hence a module, of its own"
        )
    return replace(
        found,
        names=compiled.names,
        headers=compiled.headers,
        log=compiled.log,
        left_out=compiled.left_out,
        uses_build_time=compiled.uses_build_time,
        names_arch_list=compiled.names_arch_list,
    )


def assembled(job: Job, tile_ir: bytes, opt_level: int = 3) -> Compiled:
    """Return a job's cubins, one for each of `tileiras.HOSTS`, with their kernels; EMPTY if there is no Tile IR. Raises
    CompileError for what tileiras refuses."""
    if not tile_ir:
        return EMPTY
    with phase("assembling"):
        cubins = {host: _cubin(job, tile_ir, host, opt_level) for host in HOSTS}
    read = read_cubin(cubins[HOSTS[0]])
    kernels = {symbol: each for symbol, each in read.kernels.items() if symbol != _DUMMY}
    return replace(
        EMPTY,
        cubin=b"".join(cubins.values()),
        assembler=parse_version(job.tileiras.partition(" ")[0]),
        hosts=tuple((host, len(cubin)) for host, cubin in cubins.items()),
        kernels={symbol: entry.parameters for symbol, entry in kernels.items()},
        resources={symbol: {"registers": entry.registers} for symbol, entry in kernels.items()},
    )


def _cubin(job: Job, tile_ir: bytes, host: str, opt_level: int) -> bytes:
    number = int(job.arch.rstrip("a"))
    try:
        return assemble_tile_ir(job.tileiras_program, tile_ir, number, host, opt_level)
    except CompileError as error:
        raise CompileError(f"{job.source}: error: tileiras {job.tileiras.partition(' ')[0]}: {error}") from None
