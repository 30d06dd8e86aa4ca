"""Link the compiled sources of a module for one architecture with nvJitLink. Runs in workers only; see `workers`.

A cubin is linked from LTO-IR, relocatable PTX and the other kinds that nvJitLink takes; PTX from LTO-IR alone.
nvJitLink removes unused code, and a check follows that it removed nothing that is needed. A link whose kernels launch
kernels gets CUDA's device runtime library; one whose kernels use NVSHMEM gets its device library.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from cuda_wheel.builder.cxx.demangling import signature
from cuda_wheel.builder.errors import CompileError
from cuda_wheel.builder.images import lowering, ptx_text
from cuda_wheel.builder.images.assembly import described, kernel_resources, machine_code, nowhere
from cuda_wheel.builder.images.library_paths import check_library_paths
from cuda_wheel.builder.images.variables import identity, is_library_variable, without_unused
from cuda_wheel.builder.jobs import EMPTY, Compiled, LinkInput, LinkJob
from cuda_wheel.builder.timing import phase
from cuda_wheel.builder.toolchain.headers import device_library
from cuda_wheel.builder.toolchain.nvrtc import floating_point_options, line_info_folders, ptxas_options
from cuda_wheel.runtime.errors import ImageError, LinkError
from cuda_wheel.runtime.manifest import Parameter, Target
from cuda_wheel.runtime.parts import cuda_libraries as nvjitlink
from cuda_wheel.runtime.parts.floating_point import floating_point
from cuda_wheel.runtime.parts.formats import ptx as ptx_format
from cuda_wheel.runtime.parts.formats.cubin import Cubin, Symbols, read_cubin
from cuda_wheel.runtime.parts.linking.linkers import duplicate_message, undefined_message, unreported_errors
from cuda_wheel.runtime.parts.linking.strategy import check_prototypes, duplicate_definitions
from cuda_wheel.runtime.rules import doubt, unsupported

__all__ = ["is_of_device_runtime", "is_whole", "keeping", "link_job", "with_device_runtime", "with_nvshmem"]


def keeping(symbols: Collection[str]) -> list[str]:
    """Return the nvJitLink options that remove unused code and variables of LTO-IR, but keep the variables
    `symbols`."""
    return ["-optimize-unused-variables", *([f"-variables-used={','.join(symbols)}"] if symbols else [])]


def is_whole(cubin: Cubin, kernels: Collection[str], variables: Collection[str]) -> bool:
    """Return whether a cubin contains all these kernels and variables, which are given by symbol."""
    return cubin.kernels.keys() >= set(kernels) and cubin.variables.keys() | cubin.private >= set(variables)


_FUNCTIONS = "__cudaCDP2"
"""Prefix of the functions that device code calls to launch kernels. Source: cuda_device_runtime_api.h."""

_OWN_KERNELS = "_cuda_device_runtime_cu_"
"""Text in the symbol of every kernel that CUDA's device runtime library itself contains. Host code must not launch
these kernels."""


def with_device_runtime(job: LinkJob, text: str) -> LinkJob:
    """Return `job`, with CUDA's device runtime library as a further input if kernels of the job launch kernels.

    `text` is the PTX of the job's LTO-IR inputs; "" if there are none. Raises CompileError if the library is needed but
    not installed, or if the job makes PTX, into which the library's machine code cannot be linked.
    """
    used = _FUNCTIONS in text or any(_FUNCTIONS.encode() in each.content for each in job.inputs)
    if not used or any("cudadevrt" in each.source for each in job.inputs):
        return job
    return _with_library(
        job,
        "cudadevrt",
        "kernels that launch kernels need machine code",
        "kernels that launch kernels need the device runtime library, libcudadevrt.a, which is not installed: "
        "install nvidia-cuda-runtime (for CUDA 12 nvidia-cuda-runtime-cu12), or in a toolkit cuda-cudart-dev",
    )


def _with_library(job: LinkJob, library: str, needs_machine_code: str, not_installed: str) -> LinkJob:
    """Return `job` with a library of device code as a further input. Raises CompileError, with one of the two texts, if
    the job makes PTX, or if the library is not installed."""
    if not job.real:
        raise CompileError(
            f"{needs_machine_code}, with which PTX for compute_{job.arch} cannot be linked: "
            f'name real targets only, such as architectures = ["{job.arch}-real"]'
        )
    path = device_library(library, job.include_dirs)
    if path is None:
        raise CompileError(not_installed)
    return replace(job, inputs=(*job.inputs, LinkInput(Path(path).name, "library", Path(path).read_bytes())))


_NVSHMEM = re.compile(r"nvshmemi?_")
"""Matches in the symbol of a function or variable of NVSHMEM's device library."""


def with_nvshmem(job: LinkJob, text: str) -> LinkJob:
    """Return `job`, with NVSHMEM's device library as a further input if an input needs what is defined there.

    `text` is the PTX of the job's LTO-IR inputs; "" if there are none. Raises CompileError if the library is needed but
    not installed, or if the job makes PTX, into which the library's machine code cannot be linked.
    """
    texts = [text, *(input_.content.decode() for input_ in job.inputs if input_.kind == "ptx")]
    used = next((symbol for each in texts for symbol in ptx_text.undefined(each) if _NVSHMEM.search(symbol)), None)
    if used is None or any(input_.kind not in ("ltoir", "ptx") for input_ in job.inputs):  # others may define it
        return job
    name = signature(used).name
    return _with_library(
        job,
        "nvshmem_device",
        f"{name} is in NVSHMEM's device library, which is machine code",
        f"{name} is in NVSHMEM's device library, libnvshmem_device.a, which is not installed: add "
        "nvidia-nvshmem-cu12 or, with CUDA 13, nvidia-nvshmem-cu13 to build-system.requires",
    )


def is_of_device_runtime(symbol: str) -> bool:
    """Return whether a kernel's symbol is that of one of the device runtime library's own kernels."""
    return _OWN_KERNELS in symbol


def link_job(job: LinkJob) -> Compiled:
    """Return the linked image and what it contains; raise CompileError with the linker's log."""
    linked = _linked(job)
    check_library_paths(job.module, job.system_dirs, linked, job.lineinfo)
    return linked


def _linked(job: LinkJob) -> Compiled:
    declared = frozenset(name for input_ in job.inputs for name in input_.declared)
    lto_only = all(input_.kind == "ltoir" for input_ in job.inputs)
    _check_inputs(job)
    with phase("linking"):
        text = _lto_text(job) if job.lto else ""
    job = with_device_runtime(job, text)
    whole = with_nvshmem(job, text)
    if whole is not job:  # what is undefined is in the library
        job, lto_only = whole, False
    if lto_only:
        _check_variables(text)
        text = without_unused(
            ptx_text.normalise(text),
            lambda symbol: is_library_variable(symbol) and identity(signature(symbol).name) not in declared,
        )
    known = _merged(
        {
            **({"the optimised LTO-IR": described(text.encode(), declared)} if text else {}),
            **{
                input_.source: described(input_.content, input_.declared)
                for input_ in job.inputs
                if input_.kind == "ptx"
            },
        }
    )
    _check_kernels(job, known)
    known = _without_ambiguous(job, known)
    if job.real:
        with phase("linking"):
            if lto_only and not job.lineinfo:
                return _without_dead_code(job, known)
            return _with_cubin(known, *_cubin(job, text))
    with phase("lowering"):
        text = ptx_text.normalise(text)
        if not floating_point(job.options).assembler_fma:  # who assembles it later does not know the options
            text = ptx_format.without_contraction(text)
        lowered = lowering.lower(text, job.ptx_version, job.arch, job.module, machine_code)
    return replace(known, ptx=lowered.encode(), ptx_version_compiled=ptx_format.version(text))


def _check_inputs(job: LinkJob) -> None:
    """Raise CompileError for errors in a link's inputs that nvJitLink does not report clearly. They are: machine code
    of another GPU, a symbol that two inputs define, and a call that does not fit the parameters of the called function.
    The message is worded like those of nvJitLink."""
    capability = Target.parse(f"sm_{job.arch}").capability
    texts: dict[str, str] = {}
    shared: dict[str, Symbols] = {}
    for input_ in job.inputs:
        if input_.kind == "cubin":
            cubin = read_cubin(input_.content)
            # nvJitLink says only "bad input".
            if unsupported(cubin.target, capability) or doubt(cubin.target, capability):
                raise CompileError(f"error   : {input_.source} is machine code for {cubin.target}")
            shared[input_.source] = cubin.symbols
        elif input_.kind == "ptx":
            texts[input_.source] = input_.content.decode()
            shared[input_.source] = ptx_format.symbols(texts[input_.source])
    duplicates = [
        duplicate_message(symbol, other, first)
        for symbol, (first, *others) in duplicate_definitions(shared).items()
        for other in others
    ]
    if duplicates:  # with which nvJitLink may crash
        raise CompileError("\n".join(duplicates))
    try:
        check_prototypes(texts, {})  # nvJitLink says nothing
    except LinkError as error:
        raise CompileError(str(error)) from None


def _check_variables(text: str) -> None:
    """Raise CompileError if a PTX text declares variables that it does not define. nvJitLink would define these
    variables itself, without an error. `text` is the PTX of a whole module."""
    missing = ptx_text.undefined(text)
    if not all(declaration.startswith(".func") for declaration in missing.values()):  # the assembler reports functions
        raise CompileError("\n".join(map(undefined_message, missing)))


_RENAMED = re.compile(r"(.+)\$\d+")
"""Matches the name of a `static` symbol that nvJitLink renamed, because another source has a `static` symbol with the
same name: "table$1". Group 1 is the name in the source, "table"."""


def _shared_name(symbol: str) -> str | None:
    """Return the name in the source of a `static` symbol that nvJitLink renamed: "table$1" -> "table". Return None for
    any other symbol."""
    match = _RENAMED.fullmatch(symbol)
    return None if match is None else match[1]


def _check_kernels(job: LinkJob, known: Compiled) -> None:
    """Raise CompileError if two sources have `static` kernels with the same name: a program could not choose between
    them by name. `known` contains the kernels of the inputs in LTO-IR and PTX."""
    for name in filter(None, map(_shared_name, known.kernels)):
        if name in known.kernels:
            sources = [input_.source for input_ in job.inputs if input_.kind == "ltoir"]
            if len(sources) == 2:
                raise CompileError(duplicate_message(name, sources[1], sources[0]))
            raise CompileError(f"error   : Multiple definition of '{name}' in two of {', '.join(sources)}")


def _without_ambiguous(job: LinkJob, known: Compiled) -> Compiled:
    """Return `known` without those `static` variables that have the same name in several sources. If there are any,
    `log` of the result is a note with the names. `known` contains the kernels and variables of the inputs in LTO-IR and
    PTX."""
    # A program looks variables up by name, and such a name would stand for several variables.
    ambiguous = set(filter(None, (_shared_name(variable.symbol) for variable in known.variables)))
    texts = [input_.content.decode() for input_ in job.inputs if input_.kind == "ptx"]
    shared = (ptx_format.symbols(text) for text in texts)
    local = Counter(
        variable.symbol
        for text, symbols in zip(texts, shared, strict=True)
        for variable in described(text.encode()).variables
        if variable.symbol not in symbols.defined | symbols.weak
    )
    ambiguous |= {symbol for symbol, count in local.items() if count > 1}
    if not ambiguous:
        return known
    kept = (each for each in known.variables if not {each.symbol, _shared_name(each.symbol)} & ambiguous)
    names = ", ".join(sorted(signature(symbol).name for symbol in ambiguous))
    reason = "several sources have a static variable of that name"
    note = f"{job.module}: note: programs cannot use {names} by name: {reason}"
    return replace(known, variables=tuple(kept), log=note)


def _without_dead_code(job: LinkJob, known: Compiled) -> Compiled:
    """Link the job's inputs, which are all LTO-IR, and return `known` with the cubin. Unused code is removed, unless
    this would also remove a kernel or variable that `known` contains."""
    symbols = [variable.symbol for variable in known.variables]
    content, log = _cubin(job, "", keeping(symbols))
    cubin = read_cubin(content)
    if is_whole(cubin, known.kernels, symbols):
        return _with_cubin(known, content, log, cubin)
    return _with_cubin(known, *_cubin(job, ""))


def _cubin(job: LinkJob, text: str, extra_options: Sequence[str] = ()) -> tuple[bytes, str]:
    """Link a job with nvJitLink and return (cubin, nvJitLink's log). `extra_options` are added to nvJitLink's options.

    `text` is the PTX that was made of the job's LTO-IR inputs, or "". If the job has line information and this PTX can
    be linked, it takes the place of the LTO-IR.
    """
    options = ["-Xptxas=-v", *ptxas_options(job.options), *extra_options]
    if job.lineinfo and text:
        # In PTX, the paths of line information can be made independent of this machine.
        others = tuple(input_ for input_ in job.inputs if input_.kind != "ltoir")
        inputs = (LinkInput(job.module, "ptx", text.encode()), *others)
        try:
            with_paths = replace(job, inputs=inputs)
            _check_inputs(with_paths)
            return _link(with_paths, ["-lineinfo", *options])
        except CompileError:  # the PTX lacks functions that only other inputs call
            if not others:
                raise
    return _link(job, [*_lto_options(job), *(["-lineinfo"] if job.lineinfo else []), *options])


def _lto_text(job: LinkJob) -> str:
    """Link only the LTO-IR inputs of a job, and return the result as PTX. Return "" if the job has no LTO-IR inputs.
    Symbols that only other inputs define stay undefined in the PTX."""
    inputs = tuple(input_ for input_ in job.inputs if input_.kind == "ltoir")
    if not inputs:
        return ""
    options = [*_lto_options(job), "-ptx", *(["-lineinfo"] if job.lineinfo else [])]
    code, _ = _link(replace(job, inputs=inputs), options, ptx=True)
    text = code.rstrip(b"\0").decode()
    return ptx_text.relocate_files(text, line_info_folders(job.include_dirs, job.system_dirs)) if job.lineinfo else text


def _link(job: LinkJob, options: Sequence[str], ptx: bool = False) -> tuple[bytes, str]:
    """Return (output, log) of nvJitLink. The output is PTX if `ptx` is True, else a cubin.

    `options` are nvJitLink's. Raises CompileError if nvJitLink fails, and if it prints an error although its call
    succeeds.
    """
    inputs = [(input_.kind.upper(), input_.source, input_.content) for input_ in job.inputs]
    before = _stderr_position()
    with nowhere():
        try:
            code, log, error_log = nvjitlink.link_code_with_logs(inputs, [f"-arch=sm_{job.arch}", *options], ptx)
        except ImageError as error:
            raise CompileError(str(error)) from error
    errors = unreported_errors(error_log + "\n" + _printed_since(before))
    if errors:
        raise CompileError("\n".join(errors))
    return code, log


def _stderr_position() -> int | None:
    """Return the current position in standard error, in bytes; None if standard error is not a file. The standard error
    of a worker process is a file."""
    try:
        return os.lseek(2, 0, os.SEEK_CUR)
    except OSError:
        return None


def _printed_since(position: int | None) -> str:
    if position is None:
        return ""
    end = os.lseek(2, 0, os.SEEK_CUR)
    os.lseek(2, position, os.SEEK_SET)
    return os.read(2, end - position).decode(errors="replace")  # reading moves the position back to the end


def _lto_options(job: LinkJob) -> list[str]:
    return ["-lto", *floating_point_options(job.options)] if job.lto else []


def _merged(parts: Mapping[str, Compiled]) -> Compiled:
    """Return a result with the kernels, launch bounds and variables of several PTX texts. `parts` is source -> what its
    PTX text contains. Raises CompileError if two texts have a kernel with the same symbol."""
    first: dict[str, str] = {}
    for source, part in parts.items():
        for symbol in part.kernels:
            if symbol in first:
                # nvJitLink accepts two such kernels if neither is visible outside its text.
                # The driver could not distinguish them.
                raise CompileError(duplicate_message(symbol, source, first[symbol]))
            first[symbol] = source
    return replace(
        EMPTY,
        kernels={symbol: parameters for part in parts.values() for symbol, parameters in part.kernels.items()},
        bounds={symbol: bounds for part in parts.values() for symbol, bounds in part.bounds.items()},
        variables=tuple(dict.fromkeys(variable for part in parts.values() for variable in part.variables)),
    )


def _with_cubin(known: Compiled, content: bytes, log: str, cubin: Cubin | None = None) -> Compiled:
    """Return `known` with the linked cubin, the kernels that it contains, and the resources of these kernels. Kernels
    of CUDA's device runtime library are left out.

    `content` is the linked cubin. `cubin` is the same cubin parsed, or None to parse it here. `log` is nvJitLink's log,
    which lists resources.
    """
    cubin = cubin or read_cubin(content)
    reported = kernel_resources(log, cubin)
    kernels: dict[str, tuple[Parameter, ...]] = {}
    resources = {}
    own = {symbol: entry for symbol, entry in cubin.kernels.items() if not is_of_device_runtime(symbol)}
    for symbol, entry in sorted(own.items()):
        # These registers include those of all functions that the kernel calls.
        resources[symbol] = {**reported.get(symbol, {}), "registers": entry.registers}
    for symbol, entry in own.items():
        kernels[symbol] = known.kernels.get(symbol, entry.parameters)
    return replace(known, cubin=content, kernels=kernels, resources=resources)
