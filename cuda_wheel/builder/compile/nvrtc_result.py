"""Turn NVRTC's result into a job's result."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING

from cuda_wheel.builder.compile.error_text import error_text, lines_of, read_job_log
from cuda_wheel.builder.compile.nvrtc_request import nvrtc_generates_cubin
from cuda_wheel.builder.errors import CompileError, ConfigError
from cuda_wheel.builder.images.assembly import described, kernel_resources
from cuda_wheel.builder.jobs import EMPTY, Compiled, Job, LeftOutCode
from cuda_wheel.builder.messages.diagnostics import no_original_lines
from cuda_wheel.builder.toolchain.nvrtc import INVALID_OPTION, standards
from cuda_wheel.runtime.parts.formats.cubin import read_cubin

if TYPE_CHECKING:
    from cuda_wheel.builder.messages.diagnostics import Diagnostic
    from cuda_wheel.builder.toolchain.nvrtc import NvrtcRequest, NvrtcResult

__all__ = ["NvrtcOutcome", "read_nvrtc_result"]


@dataclass(frozen=True)
class NvrtcOutcome:
    """NVRTC's last result for a job, the request for it, and what to report."""

    result: NvrtcResult
    request: NvrtcRequest
    left_out: tuple[LeftOutCode, ...] = ()
    """Host functions whose bodies are left out of the request's text. A warning reports each of them."""
    notes: tuple[str, ...] = ()
    """Lines to append to the error message; () if `result` is not an error."""
    unnamed_instances: tuple[str, ...] = ()
    """Template instances that only host code names, as C++ name expressions ("k<int>"). The setting `instantiate` must
    list them before this host code can be left out."""
    is_reported: Callable[[Diagnostic], bool] = lambda diagnostic: True
    """Function that takes a diagnostic from the log of an error, and returns whether the error message contains it.
    Errors in host code are reported only if no other error stops the compilation."""


def read_nvrtc_result(job: Job, outcome: NvrtcOutcome) -> Compiled:
    """Return a job's result, with the PTX as NVRTC generated it. Raises CompileError for an error in the source, and
    ConfigError for an option that NVRTC rejects."""
    result, log = outcome.result, outcome.result["log"]
    if result["error"] == INVALID_OPTION:
        raise _invalid_option(job, log)
    if result["error"] or outcome.notes:
        text = error_text(job, log, outcome.is_reported, outcome.notes) or result["error"]
        raise CompileError(text, outcome.unnamed_instances)
    read = read_job_log(job, log, partial(lines_of, job=job) if outcome.left_out else no_original_lines)
    if any(each.severity == "error" for each in read.diagnostics):  # what NVRTC only warns about
        raise CompileError(error_text(job, log))
    if not job.tileiras and _IGNORES_TILE in log:
        raise CompileError(
            f"{job.source}: error: a header has CUDA Tile code (__tile_global__, __tile__), which was ignored: include "
            "<cuda_tile.h> in this file if it has CUDA Tile kernels; else put the header's Tile code between #ifdef "
            "__CUDACC_TILE__ and #endif"
        )
    compiled = EMPTY if job.form == "lto" else described(result["ptx"])
    cubin = nvrtc_generates_cubin(job)
    return replace(
        compiled,
        cubin=result["cubin"] if cubin else None,
        resources=kernel_resources(log, read_cubin(result["cubin"]) if result["cubin"] else None) if cubin else {},
        ltoir=result["ltoir"] or None,
        names=dict(zip(job.instantiate, result["symbols"], strict=True)),
        headers=None if result["headers"] is None else tuple(result["headers"]),
        log=str(read),
        left_out=outcome.left_out,
        uses_build_time=result["uses_build_time"],
        names_arch_list=_names_arch_list(job, result["headers"] or ()),
    )


_IGNORES_TILE = "#20360-D"
"""Number of NVRTC's warning that it ignores `__tile_global__` and the like without ENABLE_TILE."""


def _invalid_option(job: Job, log: str) -> ConfigError:
    """Return the error to raise if NVRTC rejects an option. `log` is NVRTC's log, which names the option."""
    reason = log.strip("\0\n ").removeprefix("nvrtc: error: ")
    if "--std" not in reason:
        return ConfigError(f"{job.source}: NVRTC rejects an option (from std, defines or options): {reason}.")
    asked = next(option[6:] for option in job.options if option.startswith("--std="))
    valid = ", ".join(f'"{each}"' for each in standards(job.library))
    return ConfigError(
        f'{job.source}: this NVRTC does not compile std = "{asked}", only {valid}. Set one of these, or build with the '
        "NVRTC of a later CUDA release (build-system.requires)."
    )


_ARCH_LIST = b"__CUDA_ARCH_LIST__"


def _names_arch_list(job: Job, headers: Sequence[str]) -> bool:
    """Return whether a job's source, one of its options or one of the `headers` (absolute paths) contains the word
    `__CUDA_ARCH_LIST__`."""
    if _ARCH_LIST in job.text or any(_ARCH_LIST.decode() in option for option in job.options):
        return True
    return any(_version_names_arch_list(path, (found := os.stat(path)).st_mtime_ns, found.st_size) for path in headers)


@lru_cache(maxsize=4096)  # sources have most of their headers in common
def _version_names_arch_list(header: str, changed: int, size: int) -> bool:
    return _ARCH_LIST in Path(header).read_bytes()
