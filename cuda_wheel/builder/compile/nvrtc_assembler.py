"""Assemble the PTX of a whole program with the assembler in NVRTC.

nvJitLink assembles PTX as a part of a program ("ptxas --compile-only"): other parts may call its functions, so calls
follow the full calling convention, and tables in memory are read where the whole program would know their values. Such
code differs from NVRTC's and nvcc's in instructions and registers.

NVRTC accepts no PTX, but it copies inline assembly unchanged into the PTX that it passes to its assembler. So the PTX
text becomes the inline assembly of a function that nothing calls. Its first line closes this function, and its last one
opens another. The assembler drops both functions. If the text is the PTX that NVRTC returned for a source, the machine
code is, byte for byte, what NVRTC generates from the source for a real target.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from cuda_wheel.builder.compile.error_text import error_text, read_job_log
from cuda_wheel.builder.errors import CompileError
from cuda_wheel.builder.images.assembly import kernel_resources
from cuda_wheel.builder.images.ptx_text import undefined
from cuda_wheel.builder.jobs import Compiled, Job
from cuda_wheel.runtime.parts.formats.cubin import read_cubin

if TYPE_CHECKING:
    from cuda_wheel.builder.toolchain.nvrtc import NvrtcRequest, NvrtcResult
__all__ = ["assembly_request", "check_symbols", "with_machine_code"]


_FUNCTION = "__cuda_wheel_assembly"

# A PTX text must not have these lines twice.
_MODULE_DIRECTIVE = re.compile(r"^[ \t]*\.(?:version|target|address_size)\b[^\n]*\n", re.MULTILINE)
"""Matches a line with the directive `.version`, `.target` or `.address_size`. PTX begins with one line of each. These
lines are removed from PTX that becomes inline assembly."""

_ESCAPES = (("\\", "\\\\"), ('"', '\\"'), ("\n", "\\n"), ("?", "\\?"))
"""(Character, its escape in a C++ string literal), in the order in which the characters are replaced."""

_OF_THE_SOURCE = re.compile(r"-D|--?(?:define-macro|undefine-macro|pre-include|include)(?:=|$)|-U")
"""Matches the beginning of an NVRTC option that defines or undefines a macro, or that includes a header before the
source. The call that assembles PTX leaves these options out."""


def assembly_request(job: Job, ptx: str, folder: str) -> NvrtcRequest:
    """Return the NVRTC call that assembles the PTX of a whole program without debug information. `folder` is the
    working directory of the call.

    The call has the job's options, because NVRTC passes some of them on to the assembler.
    """
    text = _MODULE_DIRECTIVE.sub("", ptx, count=3)
    for character, escape in _ESCAPES:
        text = text.replace(character, escape)
    options = [f"--gpu-architecture=sm_{job.arch}", "--ptxas-options=-v", *_without_those_of_the_source(job.options)]
    # With NVRTC's own option for line information, it would number the files of this source too.
    options += ["--ptxas-options=--generate-line-info"] if job.lineinfo else []
    source = (
        f'extern "C" __device__ __attribute__((used)) void {_FUNCTION}()'
        f' {{ asm volatile("}}\\n{text}.func {_FUNCTION}_end()\\n{{"); }}\n'
    )
    return {
        "library": job.library,
        "folder": folder,
        "text": source.encode(),
        "name": "assembly",
        "options": options,
        "expressions": [],
    }


def _without_those_of_the_source(options: Sequence[str]) -> Iterator[str]:
    rest = iter(options)
    for option in rest:
        if not _OF_THE_SOURCE.match(option):
            yield option
        elif "=" not in option and (option in ("-D", "-U") or not option.startswith(("-D", "-U"))):
            next(rest, None)  # its value


def with_machine_code(job: Job, compiled: Compiled, result: NvrtcResult) -> Compiled:
    """Return a job's result with the cubin, the resource use and the warnings in `result`, which is NVRTC's result for
    the job's `assembly_request`. Raises CompileError with the log if it is an error."""
    log = result["log"]
    if result["error"]:
        raise CompileError(error_text(job, log) or result["error"])
    # NVRTC's warnings about options are in both logs.
    diagnostics = dict.fromkeys([*compiled.log.split("\n\n"), *str(read_job_log(job, log)).split("\n\n")])
    return replace(
        compiled,
        cubin=result["cubin"],
        resources=kernel_resources(log, read_cubin(result["cubin"])),
        log="\n\n".join(filter(None, diagnostics)),
    )


def check_symbols(job: Job, ptx: str) -> None:
    """Raise CompileError if the PTX of a whole program uses functions or variables that nothing defines.

    The assembler reports this too, but a job that produces no machine code does not assemble a whole program.
    """
    missing = {symbol: each for symbol, each in undefined(ptx).items() if not symbol.startswith("__nv_")}
    kinds = {symbol: "function" if each.startswith(".func") else "variable" for symbol, each in missing.items()}
    if kinds:  # those that begin with "__nv_" are the assembler's own
        log = [f"ptxas fatal   : Unresolved extern {kind} '{symbol}'" for symbol, kind in kinds.items()]
        raise CompileError(error_text(job, "\n".join(log)))
