"""Turn NVRTC's result into a job's result."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING

from cuda_wheel.builder.compile.error_text import error_text, lines_of, read_job_log
from cuda_wheel.builder.compile.nvrtc_request import nvrtc_generates_cubin
from cuda_wheel.builder.errors import CompileError, ConfigError
from cuda_wheel.builder.images.assembly import described, kernel_resources
from cuda_wheel.builder.jobs import EMPTY, Compiled, Job
from cuda_wheel.builder.messages.diagnostics import no_original_lines
from cuda_wheel.builder.rewriting.layout_attributes import (
    LOWERED,
    LayoutError,
    PreprocessedCode,
    may_have_layout_attributes,
)
from cuda_wheel.builder.rewriting.project_texts import operator_headers, some_project_texts
from cuda_wheel.builder.sources.header_dependencies import option_folders, read_at_most
from cuda_wheel.builder.sources.header_search import own_texts
from cuda_wheel.builder.toolchain.nvrtc import INVALID_OPTION, compile_apart, preprocessed, standards
from cuda_wheel.runtime.parts.formats.cubin import read_cubin
from cuda_wheel.runtime.parts.linking.cuda_compiler import may_use_build_time

if TYPE_CHECKING:
    from cuda_wheel.builder.compile.host_code import Answer
    from cuda_wheel.builder.toolchain.nvrtc import NvrtcRequest, NvrtcResult

__all__ = ["may_change_layouts", "read_nvrtc_result", "with_build_time", "with_headers", "with_layouts"]


def with_headers(request: NvrtcRequest, result: NvrtcResult) -> NvrtcResult:
    """Return a result whose headers come from a scan of the source if NVRTC did not list them."""
    if result["error"] or result["headers"] is not None:
        return result
    in_memory = {f"--pre-include={name}" for name in request["headers"]}
    options = [option for option in request["options"] if option not in in_memory]
    headers = read_at_most(request["folder"], request["name"], request["text"], options)
    return {**result, "headers": headers}


def with_build_time(
    job: Job, request: NvrtcRequest, result: NvrtcResult, ask: Callable[[NvrtcRequest], bool]
) -> NvrtcResult:
    """Return a result that says whether the source uses the time of the build.

    `ask` calls `declarations.uses_build_time`, which is slow, so it is called only if the project's texts allow it.
    """
    if result["error"]:
        return result
    texts = [text for _, text in own_texts(job, result["headers"] or ())]
    settings = " ".join([*request["options"], *request["expressions"]])
    is_possible = may_use_build_time([*texts, request["text"], settings.encode(errors="surrogateescape")])
    return {**result, "uses_build_time": is_possible and ask(request)}


_COMPILATION_ERROR = "NVRTC_ERROR_COMPILATION"


def _toolchain_folders(job: Job) -> tuple[str, ...]:
    folders = (each for each in job.include_dirs if os.path.isabs(each) and each not in job.system_dirs)
    return tuple(folder + os.sep for folder in folders)


def may_change_layouts(job: Job, request: NvrtcRequest, result: NvrtcResult) -> bool:
    """Return whether a text that a request reads may have an attribute that changes a layout where NVRTC differs."""
    if result["error"]:  # NVRTC does not list the headers
        searched = (*option_folders(job.options), *job.include_dirs)
        texts, headers = some_project_texts(request["text"], job.source, job.root, searched), []
    else:
        known = operator_headers()
        texts = [request["text"], *(text for name, text in request["headers"].items() if known.get(name) != text)]
        headers = [path for path in result["headers"] or () if not path.startswith(_toolchain_folders(job))]
    return may_have_layout_attributes([*texts, " ".join(request["options"]).encode(errors="replace")], headers)


def with_layouts(job: Job, request: NvrtcRequest, result: NvrtcResult) -> NvrtcResult:
    """Return a result with an error for each attribute that NVRTC ignored and that changes the layout of a type.

    Only if the project's texts, or those of libraries but for the toolchain's own, may have such an attribute, the text
    is preprocessed to find them. Other errors may follow from the layout, such as a static assertion about a size.
    """
    if result["error"] not in ("", _COMPILATION_ERROR):
        return result
    if not may_change_layouts(job, request, result):
        return result
    text = preprocessed(request)
    if text is None and not result["error"]:
        raise CompileError(
            f"{job.source}: this NVRTC does not write the preprocessed text, which tells whether it honours the "
            "attributes that change the layout of types (packed, aligned, __align__): build with another release."
        )
    code = PreprocessedCode(text or b"", _toolchain_folders(job))
    errors = [*code.ignored()] or ([] if result["error"] else [*_lowered_alignments(request, code)])
    if not errors:
        return result
    shown = "".join(f"{file}({line}): error: {reason}\n\n" for file, line, reason in errors)
    return {**result, "error": _COMPILATION_ERROR, "log": shown + result["log"]}


_NOT_PREPROCESSED = ("--pre-include", "--define-macro", "-D", "--include-path", "-I", "--undefine-macro", "-U")

_DIAGNOSED = re.compile(r"^(.+)\((\d+)\): (?:catastrophic )?error(?: #[\w-]+)?: (.*)", re.MULTILINE)

_LESS_ALIGNED = "alignment cannot be set to less than the default alignment"
"""NVRTC's error about `alignas`."""


def _lowered_alignments(request: NvrtcRequest, code: PreprocessedCode) -> Iterator[LayoutError]:
    """Yield an error for each attribute that lowers an alignment: the compiler refuses `alignas` in its place."""
    text, places = code.with_alignas()
    if not places:
        return
    options = [each for each in request["options"] if not each.startswith(_NOT_PREPROCESSED)]
    options += ["-Xcudafe", "--error_limit=100000", "--fdevice-syntax-only"]
    result = compile_apart({**request, "text": text, "options": options, "headers": {}, "expressions": []})
    if result is None:  # the compiler crashed
        yield from (LayoutError(file, line, LOWERED) for file, line in sorted(places))
        return
    for file, line, message in dict.fromkeys(_DIAGNOSED.findall(result["log"])):
        if message == _LESS_ALIGNED or (file, int(line)) in places:
            yield LayoutError(file, int(line), LOWERED)


def read_nvrtc_result(job: Job, answer: Answer) -> Compiled:
    """Return a job's result, with the PTX as NVRTC generated it; raises CompileError, or ConfigError for an option."""
    result, log = answer.result, answer.result["log"]
    if result["error"] == INVALID_OPTION:
        reason = log.strip("\0\n ").removeprefix("nvrtc: error: ")
        if "--std" in reason:
            asked = next(option[6:] for option in job.options if option.startswith("--std="))
            valid = ", ".join(f'"{each}"' for each in standards(job.library))
            raise ConfigError(
                f'{job.source}: this NVRTC does not compile std = "{asked}", only {valid}. Set one of these, or build '
                "with the NVRTC of a later CUDA release (build-system.requires)."
            )
        raise ConfigError(f"{job.source}: NVRTC rejects an option (from std, defines or options): {reason}.")
    if result["error"] or answer.notes:
        text = error_text(job, log, answer.is_reported, answer.notes) or result["error"]
        raise CompileError(text, answer.unnamed_instances)
    read = read_job_log(job, log, partial(lines_of, job=job) if answer.left_out else no_original_lines)
    if any(each.severity == "error" for each in read.diagnostics):  # what NVRTC only warns about
        raise CompileError(error_text(job, log))
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
        left_out=answer.left_out,
        uses_build_time=result["uses_build_time"],
        names_arch_list=_names_arch_list(job, result["headers"] or ()),
    )


_ARCH_LIST = b"__CUDA_ARCH_LIST__"


def _names_arch_list(job: Job, headers: Sequence[str]) -> bool:
    """Return whether a job's source, one of its options or one of these headers names the macro."""
    if _ARCH_LIST in job.text or any(_ARCH_LIST.decode() in option for option in job.options):
        return True
    return any(_version_names_arch_list(path, (found := os.stat(path)).st_mtime_ns, found.st_size) for path in headers)


@lru_cache(maxsize=4096)  # sources have most of their headers in common
def _version_names_arch_list(header: str, changed: int, size: int) -> bool:
    return _ARCH_LIST in Path(header).read_bytes()
