"""Ask NVRTC for the fields of the structs that kernels take, and for types that no symbol contains.

The compiler writes them into debugging information, so this is a second compilation of the source. Only sources whose
kernels need it pay for that, and only for the module's first architecture if no text depends on the architecture. A job
and the files that it reads decide whether it is asked, so that neither caches nor the schedule change a manifest.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING

from cuda_wheel.builder.config.macro_options import defined_macros
from cuda_wheel.builder.cxx.demangling.signatures import signature
from cuda_wheel.builder.cxx.kernel_scan import kernels_in
from cuda_wheel.builder.cxx.known_types import ARRAY_SIZES, NUMBER_SIZES
from cuda_wheel.builder.cxx.parameter_types import agree, parameter_types
from cuda_wheel.builder.images.struct_layouts import declared_parameters
from cuda_wheel.builder.jobs import Compiled, Job
from cuda_wheel.builder.sources.job_searches import own_texts
from cuda_wheel.builder.toolchain.limited_time import compile_apart
from cuda_wheel.runtime.manifest import Parameter

if TYPE_CHECKING:
    from cuda_wheel.builder.toolchain.nvrtc import NvrtcRequest, NvrtcResult

__all__ = ["with_parameters"]

_LARGEST = 1 << 18
"""The size in bytes of PTX above which the compiler is not asked: writing and reading the debugging information of
hundreds of instances takes many seconds."""

_NAMES_TARGET = re.compile(rb"(?<![A-Z])ARCH|(?<!\w)_?NV_|nv::target|nv/target|arch_id|arch_traits|_CG_HAS_")
"""Matches all macros and functions by which a text may depend on the architecture, such as `__CUDA_ARCH_FEAT_SM90_ALL`,
`CUB_PTX_ARCH` and `NV_IF_TARGET`. The headers of libraries are not searched: their structs are the same for every
architecture, because nvcc's host compiler, which defines none of these macros, fills them."""

_OTHER_OUTPUT = re.compile(
    r"-lineinfo$|--generate-line-info$|-dlto$|--dlink-time-opt|--relocatable-device-code|-rdc=|--gpu-architecture=|"
    r"-arch=|--ptxas-options|-Xptxas|-G$|--device-debug$"
)
"""Matches the options of a request that decide what the compiler writes."""


def with_parameters(
    job: Job,
    request: NvrtcRequest,
    compiled: Compiled,
    compile_: Callable[[NvrtcRequest], NvrtcResult | None] = compile_apart,
) -> Compiled:
    """Return a job's result with the declared parameters of its kernels, if these have structs or unknown types.

    `request` is the call that compiled the source; `compile_` calls NVRTC in a process that compiles nothing
    afterwards. A kernel without an answer has ().
    """
    if not (job.describes or _may_depend_on_target(job, compiled)) or not _needs_fields(job, compiled):
        return compiled
    if len(compiled.ptx or b"") > _LARGEST:
        return replace(compiled, parameters=dict.fromkeys(compiled.kernels, ()))
    options = [option for option in request["options"] if not _OTHER_OUTPUT.match(option)]
    options += [f"--gpu-architecture=compute_{job.arch}", "--device-debug"]
    result = compile_({**request, "options": options})
    declared = {} if result is None or result["error"] else declared_parameters(result["ptx"].decode(errors="replace"))
    kernels = compiled.kernels if job.form != "lto" else declared
    return replace(compiled, parameters={symbol: declared.get(symbol, ()) for symbol in kernels})


def _may_depend_on_target(job: Job, compiled: Compiled) -> bool:
    """Return whether the project's texts may declare other structs for other architectures."""
    if compiled.headers is None:
        return True
    texts = [*(text for _, text in own_texts(job, compiled.headers)), *map(os.fsencode, job.options)]
    return any(map(_NAMES_TARGET.search, texts))


def _needs_fields(job: Job, compiled: Compiled) -> bool:
    """Return whether a kernel has a parameter that neither its symbol nor the text describes."""
    text = job.text.decode(errors="surrogateescape")
    declared = cache(lambda: parameter_types(text, defined_macros(job.options)))  # few symbols need it
    if job.form == "lto":  # no symbols: the text alone decides
        return any("" in declared().get(kernel.name, ("",)) for kernel in kernels_in(text))
    return any(_is_undescribed(symbol, parameters, declared) for symbol, parameters in compiled.kernels.items())


def _is_undescribed(
    symbol: str, parameters: Sequence[Parameter], declared: Callable[[], Mapping[str, Sequence[str]]]
) -> bool:
    types: Sequence[str] | None = signature(symbol).parameters
    if types is None:
        written = declared().get(symbol)
        types = written if written is not None and agree(written, parameters) else None
    if types is None or len(types) != len(parameters):
        return bool(parameters)
    return any(
        not type_ or (each.type == "b8" and not type_.endswith(("*", "&")) and not _is_known(type_, each.size))
        for type_, each in zip(types, parameters, strict=True)
    )


def _is_known(type_: str, size: int) -> bool:
    return size in (ARRAY_SIZES.get(type_), NUMBER_SIZES.get(type_))
