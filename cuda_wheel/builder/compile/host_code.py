"""Compile a job's source with its host code.

Avoid a crash of NVRTC 12.9 and 13.0 on host code.

For compute capability 10.0 and later they crash on some constants of a lambda inside another lambda if
`--relaxed_constexpr` is on; macros of many projects make such constants (`BOOL_SWITCH`). NVRTC 13.5 does not crash.
The option permits calls of `constexpr` host functions from device code and changes nothing else, so a source with
lambdas is compiled without it. If it has such calls, those of the project's functions are marked `__host__ __device__`;
if others are called, it is compiled with the option.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from cuda_wheel.builder.compile.error_text import read_job_log
from cuda_wheel.builder.compile.nvrtc_request import in_memory, nvrtc_request
from cuda_wheel.builder.compile.nvrtc_result import with_layouts
from cuda_wheel.builder.compile.precompiled_headers import precompiles
from cuda_wheel.builder.config.compiler_options import macro_options
from cuda_wheel.builder.cxx.demangling import signature
from cuda_wheel.builder.errors import CompileError
from cuda_wheel.builder.images.ptx_text import undefined
from cuda_wheel.builder.jobs import Compiled, Job, LeftOutCode
from cuda_wheel.builder.messages.diagnostics import Diagnostic
from cuda_wheel.builder.rewriting.expressions import PragmaMacros
from cuda_wheel.builder.rewriting.front_end import (
    COMPLEX_FUNCTIONS,
    CONSTEXPR_CALL,
    FIRST_ERROR,
    NOT_NVRTC_OPTIONS,
    PREAMBLE_OPTION,
    USED_PARTS_OPTION,
    is_about_host_code,
    looks_like_host_code,
)
from cuda_wheel.builder.rewriting.project_texts import (
    holds_toolkit,
    operator_headers,
    project_texts,
    some_project_texts,
)
from cuda_wheel.builder.rewriting.used_parts import names_in, part_macros, used_headers
from cuda_wheel.builder.sources.header_dependencies import option_folders, pre_includes
from cuda_wheel.builder.sources.paths import is_inside
from cuda_wheel.builder.toolchain.nvrtc import INVALID_OPTION, compile_apart, preprocessed, version

if TYPE_CHECKING:
    from cuda_wheel.builder.rewriting.blocks import SourceBlocks
    from cuda_wheel.builder.rewriting.editing import Outcome
    from cuda_wheel.builder.rewriting.project_texts import LocatedError, Project
    from cuda_wheel.builder.toolchain.nvrtc import NvrtcRequest, NvrtcResult
__all__ = [
    "LEFT_OUT_OPTIONS",
    "Answer",
    "check_launches",
    "compile_with_host_code",
    "is_broken",
    "may_crash",
    "needs_permission",
    "with_missing_functions",
]


_FIRST_CAPABILITY, _MENDED = 100, (13, 5)

_BROKEN = "Broken module found"
"""What NVRTC 13.0 reports of such calls in some sources, such as those that use GLM."""

_LAMBDA = re.compile(rb"\[\s*[&=]")
"""Matches the beginning of a lambda that captures variables."""


def may_crash(job: Job) -> bool:
    """Return whether NVRTC may crash on a job's host code."""
    architecture = re.match(r"\d+", job.arch)
    if job.kind != "cuda" or job.form != "whole" or job.host_code == "reject" or architecture is None:
        return False
    if int(architecture[0]) < _FIRST_CAPABILITY or version(job.library) >= _MENDED:
        return False
    if _LAMBDA.search(job.text):  # before the headers, which would be read
        return True
    folders = (*option_folders(job.options), *job.include_dirs)
    return any(map(_LAMBDA.search, some_project_texts(job.text, job.source, job.root, folders)))


def with_missing_functions(result: NvrtcResult, source: str) -> NvrtcResult:
    """Return a result, which becomes an error if device code calls `constexpr` host functions.

    Without `--relaxed_constexpr`, NVRTC 12.9 and 13.0 mostly declare them in the PTX, with neither a definition nor a
    message.
    """
    if result["error"] or not result["ptx"]:
        return result
    symbols = [each for each in undefined(result["ptx"].decode()) if not each.startswith("__nv_")]
    if not symbols:
        return result
    lines = [f'{source}(1): error: {CONSTEXPR_CALL}("{signature(symbol).name}")\n\n' for symbol in symbols]
    return {**result, "error": "NVRTC_ERROR_COMPILATION", "log": "".join(lines) + result["log"]}


def needs_permission(result: NvrtcResult) -> bool:
    """Return whether a source may compile only with `--relaxed_constexpr`, given its result without."""
    return result["error"] != "" and (CONSTEXPR_CALL in result["log"] or is_broken(result))


def is_broken(result: NvrtcResult) -> bool:
    """Return whether NVRTC reports only that its module is broken. Leaving out host code is no use then; a compilation
    with `--relaxed_constexpr` reports what is wrong with the source, if anything is."""
    return result["error"] != "" and _BROKEN in result["log"]


CallNvrtc = Callable[..., "NvrtcResult"]
"""Returns NVRTC's result for a request, with further options."""

_SECONDS_FOR_ALL_ERRORS = 3
"""How long the compiler may look for the errors after the first."""


@dataclass(frozen=True)
class Answer:
    """NVRTC's result for a job, and the request that it answers.

    If the result is an error, `is_reported` says which diagnostics to report: an error that host code causes is
    reported only if nothing else stops the compilation.
    """

    result: NvrtcResult
    request: NvrtcRequest
    left_out: tuple[LeftOutCode, ...] = ()
    notes: tuple[str, ...] = ()
    unnamed_instances: tuple[str, ...] = ()
    """See CompileError."""
    is_reported: Callable[[Diagnostic], bool] = lambda diagnostic: True


def compile_with_host_code(job: Job, call: CallNvrtc) -> Answer:
    """Return NVRTC's answer for a job's source, with its host code."""
    if may_crash(job):

        def strict(request: NvrtcRequest, *options: str) -> NvrtcResult:
            return with_missing_functions(call(request, *options), job.source)

        answer = _compile(job, strict, relaxed_constexpr=False)
        if not needs_permission(answer.result):
            return answer
    return _compile(job, call, relaxed_constexpr=True)


def _compile(job: Job, call: CallNvrtc, relaxed_constexpr: bool) -> Answer:
    """Return NVRTC's answer for a job's source, compiled with or without `--relaxed_constexpr`."""
    request = nvrtc_request(job, relaxed_constexpr)
    if job.host_code == "reject":
        result = call(request)
        _reject_host_code(job, result)
        return Answer(result, request)
    used = _used_parts_request(job, request)
    result, request = _first_answer(request if used is None else used, call)
    if result["error"] in ("", INVALID_OPTION) or (not relaxed_constexpr and is_broken(result)):
        return Answer(result, request)
    if used is not None or not looks_like_host_code(job.text):
        request = nvrtc_request(job, relaxed_constexpr)
        if PREAMBLE_OPTION not in request["options"]:
            options = [*request["options"], PREAMBLE_OPTION]
            request = {**request, "options": options, "headers": in_memory(job, operator_headers())}
        result, request = _first_answer(request, call)
    if not result["error"]:
        return Answer(result, request)
    answer, may_be_hidden = _without_what_fails(job, request, result, call)
    return _without_nvrtcs_macro(job, answer, call) if answer.result["error"] and may_be_hidden else answer


def _without_nvrtcs_macro(job: Job, answer: Answer, call: CallNvrtc) -> Answer:
    """Return the answer without the macro `__CUDACC_RTC__`, given the one with it, an error."""
    request: NvrtcRequest = {**answer.request, "options": [*NOT_NVRTC_OPTIONS, *answer.request["options"]]}
    result = call(request, *FIRST_ERROR)
    if not result["error"]:
        return Answer(result, request)
    other = _without_what_fails(job, request, result, call)[0]
    if not other.result["error"]:
        return other
    # What fails with the macro and without it is the user's mistake.
    lasting = {error.key for error in _errors(job, other.result)}
    reported = filter(answer.is_reported, read_job_log(job, answer.result["log"]).diagnostics)
    if not any(each.severity == "error" and _key(each) in lasting for each in reported):
        return other
    return replace(
        answer,
        is_reported=lambda each: answer.is_reported(each) and (each.severity != "error" or _key(each) in lasting),
    )


def _all_errors(job: Job, request: NvrtcRequest, seconds: int) -> NvrtcResult | None:
    """Return the result for a request with all its errors; None if that takes longer."""
    whole = compile_apart(request, seconds)
    return None if whole is None else with_layouts(job, request, whole)


def _without_what_fails(job: Job, request: NvrtcRequest, result: NvrtcResult, call: CallNvrtc) -> tuple[Answer, bool]:
    """Return the answer to a request whose first error is in `result`, with what NVRTC refuses written in another way;
    and whether the project's headers may hide what is missing, because they ask for NVRTC's macro."""
    whole = _all_errors(job, request, _SECONDS_FOR_ALL_ERRORS)
    if whole is not None and whole["error"] != result["error"]:  # such as NVRTC_ERROR_OUT_OF_MEMORY
        whole = None
    if whole is not None and _lacks_complex_functions(whole):  # an error after the first one names them
        request = _with_complex_functions(request)
        whole = result = call(request)
    if not result["error"]:
        return Answer(result, request), False
    return _edited(job, request, whole or result, call, is_complete=whole is not None)


def _first_answer(request: NvrtcRequest, call: CallNvrtc) -> tuple[NvrtcResult, NvrtcRequest]:
    """Return NVRTC's result, which has at most one error, and its request.

    If the error is that the functions of complex numbers are missing, the request and the result are those with them.
    """
    result = call(request, *FIRST_ERROR)
    if _lacks_complex_functions(result):
        request = _with_complex_functions(request)
        result = call(request, *FIRST_ERROR)
    return result, request


def _lacks_complex_functions(result: NvrtcResult) -> bool:
    return result["error"] != "" and COMPLEX_FUNCTIONS in result["log"]


def _with_complex_functions(request: NvrtcRequest) -> NvrtcRequest:
    return {**request, "options": [*request["options"], f"--define-macro={COMPLEX_FUNCTIONS}"]}


def _used_parts_request(job: Job, request: NvrtcRequest) -> NvrtcRequest | None:
    """Return the request without the parts of the preamble and of PyTorch's stand-ins that the project cannot name.

    None if there is no preamble, if all parts may be named, or if precompiled headers save more.
    """
    options = request["options"]
    if PREAMBLE_OPTION not in options or precompiles(request):
        return None
    texts = project_texts(job.text, job.source, job.root, (*option_folders(job.options), *job.include_dirs))
    if texts is None or pre_includes(job.options):
        return None
    # What an option defines is a name of the project; its value may be a name of a part.
    values = [option.value for option in macro_options(job.options) if option.value is not None]
    names = names_in([*texts, *map(str.encode, (*values, *job.instantiate))])
    if names is None:
        return None
    macros = part_macros(names, is_relocatable=job.form != "whole" or any("rdc" in each for each in job.options))
    options = [*options, USED_PARTS_OPTION, *(f"--define-macro={macro}" for macro in macros)]
    return {**request, "options": options, "headers": in_memory(job, used_headers(names))}


def _reject_host_code(job: Job, result: NvrtcResult) -> None:
    """Raise CompileError for host code in the project's files, which the compiler warns about."""
    found = [each for each in read_job_log(job, result["log"]).diagnostics if is_about_host_code(each.message)]
    if found:
        reason = 'this is host code (host-code = "reject")'
        raise CompileError(
            "\n\n".join(str(each._replace(severity="error", message=reason, number="")) for each in found)
        )


_LAUNCHED = re.compile(rb"\b([A-Za-z_]\w*)\s*(?:<[^;{}]*>\s*)?<<<")
"""Matches the name before a launch, in most cases."""


def check_launches(job: Job, compiled: Compiled) -> None:
    """Raise CompileError if a job's source launches a function that is no kernel: NVRTC says nothing, nvcc does."""
    names = set(_LAUNCHED.findall(job.text)) if job.host_code != "reject" and job.form == "whole" else set()
    symbols = b" ".join(symbol.encode() for symbol in compiled.kernels)
    if any(name not in symbols for name in names):
        from cuda_wheel.builder.rewriting.editing import unmarked_kernels  # start-up time: few jobs need it

        errors = unmarked_kernels(_project(job))
        if errors:
            raise CompileError("\n".join(errors))


_EDITED_OPTIONS = (
    "--diag-suppress=177",  # "declared but never referenced": the reference may be in what is left out
    "--diag-suppress=940",  # "missing return statement": it may be in what is left out
    "--diag-suppress=1305",  # "function declared with noreturn does return"
    "--diag-suppress=550",  # "set but never used"
)

LEFT_OUT_OPTIONS = (*_EDITED_OPTIONS, "-Xcudafe", "--diag_error=20037,20039,20040")
"""The options for a source without bodies. The errors are those about a function that another declaration marks as
device code."""

_ALL_ERRORS = ("-Xcudafe", "--error_limit=100000")
"""The options with which one compilation finds all that is to be changed."""

_SYNTAX_ONLY = "--fdevice-syntax-only"
"""The option that ends a compilation before code is generated."""


class _Compilations:
    """The compilations of one source, whose text changes."""

    def __init__(self, job: Job, request: NvrtcRequest, first: NvrtcResult, call: CallNvrtc) -> None:
        self._job = job
        self._request = request
        self._call = call
        self._project = _project(job)
        self.done: list[tuple[NvrtcResult, NvrtcRequest]] = [(first, request)]

    def outcome(self, leaves_out: bool, *options: str) -> Outcome:
        """Return the outcome of compiling the source with changes; with `leaves_out`, without bodies that fail."""
        from cuda_wheel.builder.rewriting.editing import compile_edited  # start-up time: few jobs need it

        options = (*(LEFT_OUT_OPTIONS if leaves_out else _EDITED_OPTIONS), *options)
        return compile_edited(
            self._project,
            self.done[0][0],
            lambda changed: self._compile(self._changed(changed, options)),
            lambda result: _errors(self._job, result),
            (lambda changed: preprocessed(self._changed(changed, options))) if leaves_out else None,
        )

    def _changed(self, changed: Mapping[str, bytes], options: Sequence[str]) -> NvrtcRequest:
        headers = self._request["headers"] | {name: text for name, text in changed.items() if name != self._job.source}
        asked = [*self._request["options"], *options]
        return {**self._request, "text": changed[self._job.source], "headers": headers, "options": asked}

    def _compile(self, request: NvrtcRequest) -> NvrtcResult:
        result = self._call(request, *FIRST_ERROR)
        if result["error"]:
            seconds = _SECONDS_FOR_ALL_ERRORS << len(self.done)  # rather than one compilation for each of many errors
            asked: NvrtcRequest = {**request, "options": [*request["options"], *_ALL_ERRORS]}
            whole = _all_errors(self._job, asked, seconds)
            result = whole if whole is not None and whole["error"] else result
        self.done.append((result, request))
        return result


def _edited(
    job: Job, request: NvrtcRequest, first: NvrtcResult, call: CallNvrtc, is_complete: bool
) -> tuple[Answer, bool]:
    """Return what `_without_what_fails` returns. `first` has all errors, or only the first one."""
    compilations = _Compilations(job, request, first, call)
    outcome = compilations.outcome(job.host_code == "leave-out")
    requests = compilations.done
    if not outcome.result["error"] and not outcome.blocking:
        return Answer(*requests[-1], outcome.left_out), False
    notes = []
    if not is_complete and len(requests) > 1:  # the first error was overcome, and is not the one to report
        whole = _all_errors(job, request, _SECONDS_FOR_ALL_ERRORS << 1)
        is_complete = whole is not None
        requests = requests[-1:] if whole is None else [(whole, request), *requests[1:]]
    if not is_complete:
        notes.append(_ONLY_FIRST)
    empty = sorted({*first["absent"]} & {*job.absent_headers})
    if empty:
        notes.append(
            f"note: what is undefined may be in a header that missing-headers makes empty: {', '.join(empty)}."
        )
    if job.host_code == "whole":
        trial = _Compilations(job, request, first, call).outcome(True, _SYNTAX_ONLY)
        if trial.left_out and trial.reason.text:
            notes.append(f'note: {_CURES}. host-code = "leave-out" alone is not enough: {trial.reason.text}.')
        elif trial.left_out and not trial.result["error"]:
            notes.append(_may_be_left_out(trial.left_out))
    return _failure(job, outcome, requests, notes), outcome.may_be_hidden


def _may_be_left_out(code: Sequence[LeftOutCode]) -> str:
    """Return a note about an error in host code that no device code can see."""
    return (
        "note: only host code does not compile, and no kernel, type or template argument depends on it: "
        f'{"; ".join(map(str, code))}. {_CURES}, or set host-code = "leave-out" for this module.'
    )


_CURES = (
    "Give the compiler what it lacks (include-dirs, or outside the project system-include-dirs, or the package with "
    "the headers in build-system.requires)"
)
_ONLY_FIRST = (
    f"note: the compiler has not found the next error within {_SECONDS_FOR_ALL_ERRORS} s; there may be more than this."
)


def _failure(
    job: Job, outcome: Outcome, requests: Sequence[tuple[NvrtcResult, NvrtcRequest]], more_notes: Sequence[str]
) -> Answer:
    """Return the answer that reports the errors of the source as it is, of which only those that stop the compilation.

    The errors after something was left out may be consequences of that.
    """
    whole, request = next(
        (each for each in requests if _lasting(_errors(job, each[0]))),
        requests[0],
    )
    errors = _errors(job, whole)
    lasting = {error.key for error in outcome.blocking} & {error.key for error in errors}
    if lasting:
        errors = [error for error in errors if error.key in lasting]
    from cuda_wheel.builder.rewriting.project_texts import project_files  # start-up time: few jobs need it

    reported = {error.key for error in _without_consequences(errors, project_files(_project(job)))}
    reason, instance = outcome.reason
    return Answer(
        whole,
        request,
        notes=(*([f"note: it cannot be left out: {reason}."] if reason else []), *more_notes),
        unnamed_instances=(instance,) if instance else (),
        is_reported=lambda each: each.severity != "error" or _key(each) in reported,
    )


def _lasting(errors: Sequence[LocatedError]) -> list[LocatedError]:
    """Return the errors that are neither overcome nor in the same line as one that is."""
    overcome = {error.key[:2] for error in errors if PragmaMacros.is_about(error.message)}
    return [error for error in errors if error.key[:2] not in overcome]


def _without_consequences(errors: Sequence[LocatedError], files: Mapping[str, SourceBlocks]) -> Sequence[LocatedError]:
    """Return errors without those at lines that are right: after a syntax error, and where a name is used whose
    declaration is an error.

    After a syntax error the compiler reads on at a place of its choice. Before it, it may misread the same declaration.
    """
    from cuda_wheel.builder.rewriting.project_texts import definition_at

    syntax = next((index for index, error in enumerate(errors) if error.message.startswith("expected ")), None)
    if syntax is not None and errors[syntax].places:
        place = errors[syntax].places[0]
        around = definition_at(files, *place)
        after = [error for error in errors[syntax:] if error.key[:2] == errors[syntax].key[:2]]
        before = [
            error
            for error in errors[:syntax]
            if around is None
            or not error.places
            or error.places[0][1] == place[1]
            or definition_at(files, *error.places[0]) is not around
        ]
        errors = [*before, *after]
    found: list[LocatedError] = []
    declared: dict[bytes, tuple[object, ...]] = {}  # the words in lines with errors, each with the first such line
    for error in errors:
        undefined = _UNDEFINED.match(error.message)
        if undefined and declared.get(undefined[1].encode(), error.key[:2]) != error.key[:2]:
            continue
        found.append(error)
        if error.places and not undefined and error.places[0][0] in files:
            file, line, _ = error.places[0]
            for word in _WORD.findall(files[file].content.split(b"\n")[line - 1 : line][0]):
                declared.setdefault(word, error.key[:2])
    return found


_UNDEFINED = re.compile(r'identifier "(\w+)" is undefined')
_WORD = re.compile(rb"[A-Za-z_]\w*")


_Key = tuple[object, ...]
"""The file, the line, the column and the message of an error."""


def _key(diagnostic: Diagnostic) -> _Key:
    return diagnostic.file, diagnostic.line, diagnostic.column, diagnostic.message


_CONTEXT = re.compile(r"\bat line (\d+)(?: of \"?(.+?)\"?)?$")
"""Matches the end of a line that says where a template is instantiated."""


def _errors(job: Job, result: NvrtcResult) -> list[LocatedError]:
    """Return the errors in a result's log."""
    from cuda_wheel.builder.rewriting.project_texts import LocatedError

    errors = []
    for each in read_job_log(job, result["log"]).diagnostics:
        if each.severity == "error":
            places = [(each.file, each.line, each.column)] if each.line is not None else []
            for match in filter(None, map(_CONTEXT.search, each.details)):
                places.append((match[2] or each.file, int(match[1]), None))
            errors.append(LocatedError(tuple(places), each.message, _key(each)))
    return errors


_REWRITTEN_LIMIT = 4 << 20
"""The size in bytes of a job's headers, the project's and its libraries' together, above which headers of libraries are
not rewritten: reading them takes 0.6 s per megabyte."""


def _project(job: Job, libraries: tuple[str, ...] = ()) -> Project:
    """Return how to read the files of a job's project. The headers of `libraries` are read too: absolute folders."""
    from cuda_wheel.builder.rewriting.project_texts import Project

    root = Path(job.root)
    absolute = tuple(folder + os.sep for folder in job.include_dirs if os.path.isabs(folder))

    def is_own(path: str) -> bool:
        place = os.path.normpath(os.path.join(job.root, path))
        # A diagnostic may name a file that does not exist: `#line` sets any name.
        return os.path.isfile(place) and is_inside(place, root) and not place.startswith(absolute)

    def find(name: str, quoted: bool, includer: str) -> str | None:
        for folder in [os.path.dirname(includer), *job.include_dirs] if quoted else job.include_dirs:
            place = os.path.normpath(os.path.join(job.root, folder, name))
            if (libraries or not os.path.isabs(folder)) and os.path.isfile(place):
                if not is_own(place) and not place.startswith(libraries):
                    return None
                return os.path.relpath(place, job.root).replace(os.sep, "/") if is_inside(place, root) else place
        return None

    def with_library(path: str) -> Project | None:
        place = os.path.normpath(os.path.join(job.root, path))
        folder = next((each for each in absolute if place.startswith(each)), None)
        if folder is None or folder in libraries or holds_toolkit(folder.rstrip(os.sep)):
            return None
        folders = (*option_folders(job.options), *job.include_dirs)
        is_short = project_texts(job.text, job.source, job.root, folders, _REWRITTEN_LIMIT) is not None
        return _project(job, (*libraries, folder)) if is_short else None

    def read(path: str) -> bytes:
        return Path(job.root, path).read_bytes()

    return Project(job.source, job.text, read, find, is_own, with_library, job.instantiate)
