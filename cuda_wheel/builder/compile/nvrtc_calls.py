"""Call NVRTC for one job, and count the calls.

NVRTC's results are completed: with the headers that the source includes, if NVRTC cannot list them; with whether the
source uses `__DATE__`, `__TIME__` or `__TIMESTAMP__`; and with an error for each attribute that NVRTC ignored although
it changes the layout of a type.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from cuda_wheel.builder.compile.device_variables import opens_library, remember_references, uses_build_time
from cuda_wheel.builder.compile.precompiled_headers import current_precompilation, precompiled_headers
from cuda_wheel.builder.errors import CompileError
from cuda_wheel.builder.jobs import Job
from cuda_wheel.builder.rewriting.front_end import USED_PARTS_OPTION
from cuda_wheel.builder.rewriting.layout_attributes import (
    LOWERED,
    LayoutError,
    PreprocessedCode,
    may_have_layout_attributes,
)
from cuda_wheel.builder.rewriting.project_texts import operator_headers, some_project_texts
from cuda_wheel.builder.sources.header_dependencies import option_folders, read_at_most
from cuda_wheel.builder.sources.header_search import own_texts
from cuda_wheel.builder.toolchain.nvrtc import compile_apart, compile_text, compile_with_references, preprocessed
from cuda_wheel.runtime.parts.linking.cuda_compiler import may_use_build_time

if TYPE_CHECKING:
    from cuda_wheel.builder.toolchain.nvrtc import NvrtcRequest, NvrtcResult

__all__ = ["BUDGET", "NvrtcCalls", "may_change_layouts", "remember_duration", "with_build_time", "with_headers"]


BUDGET = 48
"""Limit of NVRTC calls for one job. If a job's source does not compile after this number of calls or more, no further
way to compile it is tried."""

_COMPILATION_ERROR = "NVRTC_ERROR_COMPILATION"


class NvrtcCalls:
    """The NVRTC calls for one job."""

    def __init__(self, job: Job) -> None:
        self._job = job
        self._writes_names = _writes_names(job)
        self.made = 0
        """Number of NVRTC calls so far for the job, each to compile or to preprocess one text."""
        self._searched: tuple[NvrtcRequest, bool, Sequence[LayoutError]] | None = None
        """The last request whose preprocessed text was searched for attributes that change layouts, whether NVRTC
        reported an error for it, and what was found. None at first."""
        self._all_errors: tuple[NvrtcRequest, int, NvrtcResult | None] | None = None
        """The last request whose errors were all asked for, the limit of seconds, and the result. None at first."""

    @property
    def is_spent(self) -> bool:
        """Whether the budget allows no further attempt."""
        return self.made >= BUDGET

    def compile(self, request: NvrtcRequest, *more_options: str) -> NvrtcResult:
        """Return the result for a request with `more_options` added.

        The compilation also writes the cross-references that `declared_names` reads, if the job will probably need
        them; otherwise they take a second compilation.
        """
        self.made += 1
        asked: NvrtcRequest = {**request, "options": [*request["options"], *more_options]}
        precompilation = current_precompilation()
        # Names in precompiled headers are not written.
        if self._writes_names and (precompilation is None or USED_PARTS_OPTION in request["options"]):
            result, references = compile_with_references(asked)
            remember_references(request, references)
        elif precompilation is None:
            result = compile_text(asked)
        else:
            result = precompiled_headers().compile(asked, precompilation)
        result = self._with_layouts(request, with_headers(request, result))
        return with_build_time(self._job, request, result, self._uses_build_time)

    def all_errors(self, request: NvrtcRequest, seconds: int, *more_options: str) -> NvrtcResult | None:
        """Return the result for a request with all its errors, not only the first; None if NVRTC crashes or takes
        longer than `seconds`. `more_options`, which must not change the preprocessed text, are added to the
        request."""
        asked: NvrtcRequest = {**request, "options": [*request["options"], *more_options]}
        if self._all_errors is None or self._all_errors[:2] != (asked, seconds):
            self.made += 1
            whole = compile_apart(asked, seconds)
            self._all_errors = asked, seconds, None if whole is None else self._with_layouts(request, whole)
        return self._all_errors[2]

    def preprocessed(self, request: NvrtcRequest) -> bytes | None:
        """Return the preprocessed text of a request's source; None if NVRTC does not write it."""
        self.made += 1
        return preprocessed(request)

    def _uses_build_time(self, request: NvrtcRequest) -> bool:
        self.made += 1
        return uses_build_time(request)

    def _with_layouts(self, request: NvrtcRequest, result: NvrtcResult) -> NvrtcResult:
        """Return the result with an error added for each attribute that NVRTC ignored and that changes the layout of a
        type, such as `packed`. Return the result unchanged if there is no such attribute.

        Headers of the toolchain are not searched. The added errors come before NVRTC's own errors. Raises CompileError
        if NVRTC does not write the preprocessed source.
        """
        if result["error"] not in ("", _COMPILATION_ERROR) or not may_change_layouts(self._job, request, result):
            return result
        errors = self._layout_errors(request, result["error"] != "")
        if not errors:
            return result
        # NVRTC's own errors may be consequences, such as a failed static assertion about a size.
        shown = "".join(f"{file}({line}): error: {reason}\n\n" for file, line, reason in errors)
        return {**result, "error": _COMPILATION_ERROR, "log": shown + result["log"]}

    def _layout_errors(self, request: NvrtcRequest, has_failed: bool) -> Sequence[LayoutError]:
        """Return an error for each attribute in a request's source that NVRTC ignored and that changes the layout of a
        type. `has_failed` is whether NVRTC reported an error for the source.

        Raises CompileError if NVRTC neither reported an error nor writes the preprocessed source.
        """
        # A source with errors is compiled twice, for its first error and for all: its text is searched once.
        if self._searched is None or self._searched[:2] != (request, has_failed):
            text = self.preprocessed(request)
            if text is None and not has_failed:
                raise CompileError(
                    f"{self._job.source}: this NVRTC does not write the preprocessed text, which tells whether it "
                    "honours the attributes that change the layout of types (packed, aligned, __align__): build with "
                    "another release."
                )
            code = PreprocessedCode(text or b"", _toolchain_folders(self._job))
            errors = [*code.ignored()] or ([] if has_failed else [*self._lowered_alignments(request, code)])
            self._searched = request, has_failed, errors
        return self._searched[2]

    def _lowered_alignments(self, request: NvrtcRequest, code: PreprocessedCode) -> Iterator[LayoutError]:
        """Yield an error for each attribute in `code` that asks for a lower alignment than the type's own.

        `request` is the call that compiles the source. Another NVRTC call tests the attributes. If it crashes,
        yield an error for each tested attribute.
        """
        # NVRTC ignores such an attribute, but reports an error for an `alignas` in its place.
        text, places = code.with_alignas()
        if not places:
            return
        options = [each for each in request["options"] if not each.startswith(_NOT_PREPROCESSED)]
        options += ["-Xcudafe", "--error_limit=100000", "--fdevice-syntax-only"]
        self.made += 1
        result = compile_apart({**request, "text": text, "options": options, "headers": {}, "expressions": []})
        if result is None:  # the compiler crashed
            yield from (LayoutError(file, line, LOWERED) for file, line in sorted(places))
            return
        for file, line, message in dict.fromkeys(_DIAGNOSED.findall(result["log"])):
            if message == _LESS_ALIGNED or (file, int(line)) in places:
                yield LayoutError(file, int(line), LOWERED)


_NOT_PREPROCESSED = ("--pre-include", "--define-macro", "-D", "--include-path", "-I", "--undefine-macro", "-U")
"""Beginnings of NVRTC options that are left out when a preprocessed text is compiled, because they only affect
preprocessing."""

_DIAGNOSED = re.compile(r"^(.+)\((\d+)\): (?:catastrophic )?error(?: #[\w-]+)?: (.*)", re.MULTILINE)

_LESS_ALIGNED = "alignment cannot be set to less than the default alignment"
"""NVRTC's error message for an `alignas` that asks for a lower alignment than the type's own."""


_names_at_once: dict[tuple[str, int], bool] = {}
"""(Source path, hash of the source text) -> whether the next compilation of the source also lists the names that its
files declare. True if its last compilation took less than `_LONG` seconds, and the names were needed."""

# The second call instantiates no templates. Measured for flash-attention: 1.6 s for it, and 10 s for the compilation.
_LONG = 10.0
"""Duration in seconds. If a source took less and its declared names were needed, its next compilation also lists the
names. If it took this time or more, a second NVRTC call (`cross_references`) lists them when they are needed."""


def remember_duration(job: Job, seconds: float, asked_for_names: bool) -> None:
    """Remember how many seconds a job's source took, and whether the names that its files declare were needed."""
    _names_at_once[job.source, hash(job.text)] = asked_for_names and seconds < _LONG


def _writes_names(job: Job) -> bool:
    """Return whether a job's compilation should also write cross-references (NVRTC's list of the names that files
    declare). Otherwise a second NVRTC call writes them if they are needed.

    For a source in `_names_at_once`, return the value there. For any other source, return whether a text of the project
    may reopen a namespace of a library, as in `namespace cub {`.
    """
    # The choice affects only the time of the build. A text that reopens such a namespace probably needs the names.
    known = _names_at_once.get((job.source, hash(job.text)))  # for another target
    if known is not None:
        return known
    folders = (*option_folders(job.options), *job.include_dirs)
    return opens_library(some_project_texts(job.text, job.source, job.root, folders))


def with_headers(request: NvrtcRequest, result: NvrtcResult) -> NvrtcResult:
    """Return a result with the list of the headers that NVRTC read. If NVRTC cannot list them, a scan of the source
    finds them; the list is None if the scan is uncertain. An error is returned unchanged."""
    if result["error"] or result["headers"] is not None:
        return result
    in_memory = {f"--pre-include={name}" for name in request["headers"]}
    options = [option for option in request["options"] if option not in in_memory]
    headers = read_at_most(request["folder"], request["name"], request["text"], options)
    return {**result, "headers": headers}


def with_build_time(
    job: Job, request: NvrtcRequest, result: NvrtcResult, ask: Callable[[NvrtcRequest], bool]
) -> NvrtcResult:
    """Return a result with `uses_build_time` set: whether the source uses `__DATE__`, `__TIME__` or `__TIMESTAMP__`. An
    error is returned unchanged.

    `ask` calls `device_variables.uses_build_time`. That is slow, so it is called only if the project's texts or options
    may use such a macro.
    """
    if result["error"]:
        return result
    texts = [text for _, text in own_texts(job, result["headers"] or ())]
    settings = " ".join([*request["options"], *request["expressions"]])
    is_possible = may_use_build_time([*texts, request["text"], settings.encode(errors="surrogateescape")])
    return {**result, "uses_build_time": is_possible and ask(request)}


def may_change_layouts(job: Job, request: NvrtcRequest, result: NvrtcResult) -> bool:
    """Return whether a text that a compilation reads may have an attribute that changes the layout of a type and that
    NVRTC ignores. Headers of the toolchain are not searched."""
    if result["error"]:  # NVRTC does not list the headers
        searched = (*option_folders(job.options), *job.include_dirs)
        texts, headers = some_project_texts(request["text"], job.source, job.root, searched), []
    else:
        known = operator_headers()
        texts = [request["text"], *(text for name, text in request["headers"].items() if known.get(name) != text)]
        headers = [path for path in result["headers"] or () if not path.startswith(_toolchain_folders(job))]
    return may_have_layout_attributes([*texts, " ".join(request["options"]).encode(errors="replace")], headers)


def _toolchain_folders(job: Job) -> tuple[str, ...]:
    folders = (each for each in job.include_dirs if os.path.isabs(each) and each not in job.system_dirs)
    return tuple(folder + os.sep for folder in folders)
