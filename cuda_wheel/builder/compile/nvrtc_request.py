"""Translate a job into a call of NVRTC."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING

from cuda_wheel.builder.config.compiler_options import split_undefinitions
from cuda_wheel.builder.jobs import Job
from cuda_wheel.builder.rewriting.front_end import (
    HOST_CODE_OPTIONS,
    PREAMBLE_OPTION,
    REPORTING_OPTIONS,
    TILE_OPTIONS,
    TILE_REPORTING_OPTIONS,
    looks_like_host_code,
)
from cuda_wheel.builder.rewriting.project_texts import operator_headers
from cuda_wheel.builder.toolchain.nvrtc import FORM_OPTIONS
from cuda_wheel.builder.toolchain.toolchain import INCLUDE

if TYPE_CHECKING:
    from cuda_wheel.builder.toolchain.nvrtc import NvrtcRequest

__all__ = ["in_memory", "is_whole_program", "nvrtc_generates_cubin", "nvrtc_request"]

# The time to compile <cuda/std/utility>, which most of CCCL includes, grows with 2 to the power of this limit. With
# 16, this header takes half of the time to compile a source that uses CUB.
_UNROLL_LIMIT = "_CCCL_META_UNROLL_LIMIT"
"""Macro that limits how far CCCL unrolls operations on type lists. For NVRTC, CCCL sets it to 16. cuda-wheel sets it to
10, as CCCL does for nvcc. The images do not depend on the limit. Source: cuda/std/__type_traits/type_list.h."""

_RELAXED = "--relaxed_constexpr"
"""Option of NVRTC's front end (C++ parser) that lets device code call `constexpr` host functions. It is passed as
the value of NVRTC's `-Xcudafe`: in the argument after `-Xcudafe`, or as `-Xcudafe=--relaxed_constexpr`."""


# NVRTC's options cannot undefine all macros: NVRTC's own headers come after the options, and define some macros again.
_COMMAND_LINE = "cuda_wheel_detail/command_line.h"
"""Name of a header that exists only in memory and is included before each source. It defines and undefines the macros
that nvcc's command line defines and undefines."""


def _command_line(job: Job, undefined: Iterable[str]) -> bytes:
    """Return the content of the header `_COMMAND_LINE` for a job: definitions of GCC's predefined macros, a definition
    of `__CUDA_ARCH_LIST__` with the module's architectures, and an `#undef` for each macro in `undefined`."""
    lines = (
        "#undef __CUDA_ARCH_LIST__",
        f"#define __CUDA_ARCH_LIST__ {job.arch_list or job.arch.rstrip('af') + '0'}",
        *(f"#undef {name}" for name in undefined),
    )
    return _predefined_macros() + "".join(f"{line}\n" for line in lines).encode()


@cache
def _predefined_macros() -> bytes:
    return (INCLUDE / "cuda_wheel_detail/predefined_macros.h").read_bytes()


def is_whole_program(job: Job) -> bool:
    """Return whether a job produces the machine code of a whole CUDA C++ program, which NVRTC assembles. nvJitLink
    assembles all other machine code."""
    return job.cubin and job.kind == "cuda" and job.form == "whole" and not (_is_debug(job) and job.lineinfo)


def nvrtc_generates_cubin(job: Job) -> bool:
    """Return whether NVRTC generates a job's machine code in the call that compiles its source.

    Otherwise that call generates PTX, which is assembled without unused variables (see `nvrtc_assembler`). NVRTC also
    returns PTX for a real target, and it equals that of the virtual target byte for byte.
    """
    # The assembler keeps functions that nothing calls, if it writes debug information.
    return is_whole_program(job) and _is_debug(job)


def _is_debug(job: Job) -> bool:
    return any(option in ("-G", "--device-debug") for option in job.options)


def nvrtc_request(job: Job, relaxed_constexpr: bool = True) -> NvrtcRequest:
    """Return the NVRTC call that compiles a job's source with its text unchanged.

    Without `relaxed_constexpr`, device code cannot call `constexpr` host functions; see `host_code`.
    """
    cubin = nvrtc_generates_cubin(job)
    options = [f"--gpu-architecture={'sm' if cubin else 'compute'}_{job.arch}", f"--pre-include={_COMMAND_LINE}"]
    options += split_undefinitions(job.options)[0]
    options += [f"--include-path={folder}" for folder in job.include_dirs]
    # NVRTC gives functions and variables without linkage a unique symbol. Without a seed it contains the process
    # number.
    options += [f"--frandom-seed={job.source}"]
    options += ["--ptxas-options=-v"] if cubin else []
    options += ["-lineinfo"] if job.lineinfo else []
    options += FORM_OPTIONS[job.form]
    is_host_code = job.host_code != "reject" and looks_like_host_code(job.text)
    options += REPORTING_OPTIONS if job.host_code == "reject" else HOST_CODE_OPTIONS
    if job.tileiras:
        options += TILE_REPORTING_OPTIONS if job.host_code == "reject" else TILE_OPTIONS
    options += [PREAMBLE_OPTION] if is_host_code else []
    if not any(_UNROLL_LIMIT in option for option in options) and _UNROLL_LIMIT.encode() not in job.text:
        options.append(f"--define-macro={_UNROLL_LIMIT}=10")
    return {
        "library": job.library,
        "folder": job.root,
        "text": job.text,
        "name": job.source,
        "options": options if relaxed_constexpr else _without_relaxed_constexpr(options),
        "expressions": list(job.instantiate),
        "headers": in_memory(job, operator_headers() if is_host_code else {}),
    }


def in_memory(job: Job, headers: Mapping[str, bytes]) -> dict[str, bytes]:
    """Return name -> content of the headers that a job's compilation finds in memory: `headers`, the header with
    macros (`_COMMAND_LINE`), and an empty one for each of the job's `absent_headers`."""
    _, undefined = split_undefinitions(job.options)
    return {_COMMAND_LINE: _command_line(job, undefined), **headers, **dict.fromkeys(job.absent_headers, b"")}


def _without_relaxed_constexpr(options: Sequence[str]) -> list[str]:
    kept: list[str] = []
    for option in options:
        if option == _RELAXED:
            kept.pop()  # -Xcudafe
        elif option != f"-Xcudafe={_RELAXED}":
            kept.append(option)
    return kept
