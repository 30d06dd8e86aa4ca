"""Link what the sources of a module became, for one architecture, with nvJitLink. Runs in workers only; see `workers`.

Machine code is linked of LTO-IR, of relocatable PTX, or of whatever nvJitLink takes; PTX of LTO-IR alone.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from cuda_wheel.builder.errors import CompileError
from cuda_wheel.builder.images import lowering, ptx_text
from cuda_wheel.builder.images.assembly import described, kernel_resources, machine_code, nowhere
from cuda_wheel.builder.images.dead_code import is_whole, keeping
from cuda_wheel.builder.images.variables import without_unused
from cuda_wheel.builder.jobs import EMPTY, Compiled, LinkInput, LinkJob
from cuda_wheel.builder.timing import phase
from cuda_wheel.builder.toolchain.options import floating_point, for_assembler, line_roots
from cuda_wheel.runtime import nvjitlink
from cuda_wheel.runtime.errors import ImageError, LinkError
from cuda_wheel.runtime.formats import ptx as ptx_module
from cuda_wheel.runtime.formats.elf import read_cubin
from cuda_wheel.runtime.manifest import Parameter, Target
from cuda_wheel.runtime.rules import unsupported

__all__ = [
    "link_job",
]


_SILENT = re.compile(r"^(?:@E@)?(error\s*: .*)", re.MULTILINE)


def link_job(job: LinkJob) -> Compiled:
    """Return the linked image, and what it holds; raises CompileError with the linker's words."""
    alone = all(input_.kind == "ltoir" for input_ in job.inputs)
    with phase("linking"):
        text = _text(job) if job.lto else ""
    if alone:
        _check_variables(text)
        text = without_unused(ptx_text.normalise(text))
    known = _merged(
        {
            **({"what is optimised as one": described(text.encode())} if text else {}),
            **{input_.source: described(input_.content) for input_ in job.inputs if input_.kind == "ptx"},
        }
    )
    if job.real:
        with phase("linking"):
            cubin, log = _lean_cubin(job, known) if alone and not job.lineinfo else _cubin(job, text)
        return _with_cubin(known, cubin, log)
    with phase("lowering"):
        lowered = lowering.lower(ptx_text.normalise(text), job.ptx_version, job.arch, job.module, machine_code)
    return replace(known, ptx=lowered.encode(), ptx_version_compiled=ptx_module.version(text))


def _check_variables(text: str) -> None:
    """Raise CompileError where the PTX of a whole module leaves a variable to others: nvJitLink would make it the
    module's own."""
    missing = ptx_text.undefined(text)
    if not all(its.startswith(".func") for its in missing.values()):  # functions alone the assembler tells
        raise CompileError("\n".join(f"error   : Undefined reference to '{symbol}'" for symbol in missing))


def _lean_cubin(job: LinkJob, known: Compiled) -> tuple[bytes, str]:
    """Return the cubin of LTO-IR without what nothing uses, and the log of the linker."""
    symbols = [variable.symbol for variable in known.variables]
    cubin, log = _cubin(job, "", keeping(symbols))
    return (cubin, log) if is_whole(cubin, known.kernels, symbols) else _cubin(job, "")


def _cubin(job: LinkJob, text: str, further: Sequence[str] = ()) -> tuple[bytes, str]:
    """Return the cubin and the log of the linker. `text` is the PTX of all that is LTO-IR."""
    options = ["-Xptxas=-v", *for_assembler(job.options), *further]
    if job.lineinfo and text:
        # By way of PTX, whose paths can be told from those of this machine.
        others = tuple(input_ for input_ in job.inputs if input_.kind != "ltoir")
        inputs = (LinkInput(job.module, "ptx", text.encode()), *others)
        try:
            return _link(replace(job, inputs=inputs), ["-lineinfo", *options])
        except CompileError:  # it lacks what others call of it
            if not others:
                raise
    return _link(job, [*_lto_options(job), *(["-lineinfo"] if job.lineinfo else []), *options])


def _text(job: LinkJob) -> str:
    """Return the PTX of all that is LTO-IR; what other inputs define, it leaves to them."""
    inputs = tuple(input_ for input_ in job.inputs if input_.kind == "ltoir")
    if not inputs:
        return ""
    options = [*_lto_options(job), "-ptx", *(["-lineinfo"] if job.lineinfo else [])]
    code, _ = _link(replace(job, inputs=inputs), options, ptx=True)
    text = code.rstrip(b"\0").decode()
    return ptx_text.relocate_files(text, line_roots(job.include_dirs)) if job.lineinfo else text


def _link(job: LinkJob, options: Sequence[str], ptx: bool = False) -> tuple[bytes, str]:
    from cuda_wheel.runtime.linking.checks import refuse_mismatches  # the build's own process has no need of it

    _refuse_others_code(job)
    _refuse_doubles(job.inputs)
    texts = {input_.source: input_.content.decode() for input_ in job.inputs if input_.kind == "ptx"}
    try:
        refuse_mismatches(texts, {})
    except LinkError as error:
        raise CompileError(str(error)) from None
    inputs = [(input_.kind.upper(), input_.source, input_.content) for input_ in job.inputs]
    before = _place()
    with nowhere():
        try:
            code, log, said = nvjitlink.link_code_with_logs(inputs, [f"-arch=sm_{job.arch}", *options], ptx)
        except ImageError as error:
            raise CompileError(str(error)) from error
    # Of two definitions nvJitLink takes one. It calls that success, and tells of it at most here.
    errors = _SILENT.findall(said + "\n" + _printed_since(before))
    if errors:
        raise CompileError("\n".join(errors))
    return code, log


def _refuse_others_code(job: LinkJob) -> None:
    """Raise CompileError where machine code is for other GPUs: nvJitLink says of it no more than "bad input"."""
    own = Target.parse(f"sm_{job.arch}")
    for input_ in job.inputs:
        if input_.kind == "cubin":
            target = Target(*divmod(read_cubin(input_.content).arch, 10), "", True)
            if unsupported(target, own.capability):
                raise CompileError(f"error   : {input_.source} is machine code for {target}")


def _refuse_doubles(inputs: Sequence[LinkInput]) -> None:
    """Raise CompileError, in nvJitLink's words, where two inputs define a symbol: it may crash of that."""
    from cuda_wheel.runtime.linking.checks import doubled, symbols_in

    twice = doubled({input_.source: symbols_in(input_.kind, input_.content) for input_ in inputs})
    errors = [_told_twice(symbol, other, first) for symbol, (first, *others) in twice.items() for other in others]
    if errors:
        raise CompileError("\n".join(errors))


def _told_twice(symbol: str, source: str, first: str) -> str:
    return f"error   : Multiple definition of '{symbol}' in '{source}', first defined in '{first}'"


def _place() -> int | None:
    """Return where standard error ends so far; None where it is no file, as it is in workers."""
    try:
        return os.lseek(2, 0, os.SEEK_CUR)
    except OSError:
        return None


def _printed_since(place: int | None) -> str:
    if place is None:
        return ""
    end = os.lseek(2, 0, os.SEEK_CUR)
    os.lseek(2, place, os.SEEK_SET)
    return os.read(2, end - place).decode(errors="replace")  # which leads back to the end


def _lto_options(job: LinkJob) -> list[str]:
    if not job.lto:
        return []
    return ["-lto", *floating_point(job.options)]


def _merged(parts: Mapping[str, Compiled]) -> Compiled:
    """Return what PTX texts, by source, tell together; raises CompileError where two have a kernel of one symbol.

    nvJitLink takes kernels without linkage side by side, and the driver could not tell them apart.
    """
    first: dict[str, str] = {}
    for source, part in parts.items():
        for symbol in part.kernels:
            if symbol in first:
                raise CompileError(_told_twice(symbol, source, first[symbol]))
            first[symbol] = source
    return replace(
        EMPTY,
        kernels={symbol: its for part in parts.values() for symbol, its in part.kernels.items()},
        bounds={symbol: its for part in parts.values() for symbol, its in part.bounds.items()},
        variables=tuple(dict.fromkeys(variable for part in parts.values() for variable in part.variables)),
    )


def _with_cubin(known: Compiled, cubin: bytes, log: str) -> Compiled:
    """Return what is known of a module with what its machine code tells: all kernels, also those of inputs without PTX,
    and how many registers a thread needs with all that it calls."""
    found = read_cubin(cubin).kernels
    resources = kernel_resources(log, cubin)
    kernels: dict[str, tuple[Parameter, ...]] = {}
    for symbol, entry in found.items():
        kernels[symbol] = known.kernels.get(symbol, entry.parameters)
        resources[symbol] = {**resources.get(symbol, {}), "registers": entry.registers}
    return replace(
        known, cubin=cubin, kernels=kernels, resources={symbol: resources[symbol] for symbol in sorted(kernels)}
    )
