"""Compile one source with changes to its text, and choose which of its errors to report."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from cuda_wheel.builder.compile.error_text import read_job_log
from cuda_wheel.builder.compile.nvrtc_result import NvrtcOutcome
from cuda_wheel.builder.jobs import Job, LeftOutCode
from cuda_wheel.builder.messages.diagnostics import Diagnostic
from cuda_wheel.builder.rewriting.blocks import SourceBlocks
from cuda_wheel.builder.rewriting.expressions import PragmaMacros
from cuda_wheel.builder.rewriting.front_end import FIRST_ERROR
from cuda_wheel.builder.rewriting.project_texts import (
    LocatedError,
    Project,
    definition_at,
    holds_toolkit,
    project_files,
    project_texts,
)
from cuda_wheel.builder.sources.header_dependencies import option_folders
from cuda_wheel.builder.sources.paths import is_inside

if TYPE_CHECKING:
    from cuda_wheel.builder.compile.nvrtc_calls import NvrtcCalls
    from cuda_wheel.builder.toolchain.nvrtc import NvrtcRequest, NvrtcResult
__all__ = ["LEFT_OUT_OPTIONS", "SECONDS_FOR_ALL_ERRORS", "EditedSource", "read_project"]


SECONDS_FOR_ALL_ERRORS = 3
"""Time limit in seconds of a compilation that reports all errors and not only the first."""

_EDITED_OPTIONS = (
    "--diag-suppress=177",  # "declared but never referenced": the reference may be in what is left out
    "--diag-suppress=940",  # "missing return statement": it may be in what is left out
    "--diag-suppress=1305",  # "function declared with noreturn does return"
    "--diag-suppress=550",  # "set but never used"
)

LEFT_OUT_OPTIONS = (*_EDITED_OPTIONS, "-Xcudafe", "--diag_error=20037,20039,20040")
"""NVRTC options for a source from which bodies of host functions are left out. They turn the diagnostics 20037,
20039 and 20040 into errors: only some declarations of a function mark it as device code."""

_ALL_ERRORS = ("-Xcudafe", "--error_limit=100000")
"""NVRTC options with which a compilation goes on after an error, and reports all errors."""

_SYNTAX_ONLY = "--fdevice-syntax-only"
"""NVRTC option that ends a compilation after the front end (C++ parser), before code is generated."""


class EditedSource:
    """A source whose text is changed, step by step, until NVRTC compiles it; with the results of all steps."""

    def __init__(
        self,
        job: Job,
        calls: NvrtcCalls,
        request: NvrtcRequest,
        first: NvrtcResult,
        project: Project,
        trial_of: EditedSource | None = None,
    ) -> None:
        """`first` is NVRTC's result for the unchanged text: its first error. `project` gives the job's files, as
        `read_project` returns them. With `trial_of`, bodies of host functions may be left out whatever `host-code` is,
        and no code is generated."""
        from cuda_wheel.builder.rewriting.editing import Edits  # start-up time: 8 ms, and few jobs need it

        self._job = job
        self._calls = calls
        self._project = project
        leaves_out = job.host_code == "leave-out" or trial_of is not None
        self._options: tuple[str, ...] = LEFT_OUT_OPTIONS if leaves_out else _EDITED_OPTIONS
        self.request = request
        """NVRTC call that compiles the source with its text unchanged."""
        self._is_complete = True
        """Whether NVRTC has reported all errors of the unchanged source. If False, `first` contains only the first
        error."""
        if trial_of is not None:
            self._options = (*self._options, _SYNTAX_ONLY)
        else:
            whole = calls.all_errors(request, SECONDS_FOR_ALL_ERRORS)
            if whole is not None and whole["error"] != first["error"]:  # such as NVRTC_ERROR_OUT_OF_MEMORY
                whole = None
            self._is_complete = whole is not None
            first = whole or first
        self.first = first
        """NVRTC's result for the unchanged text. If it is an error, `_is_complete` says whether its log has all errors
        or only the first."""
        self._done: list[tuple[NvrtcResult, NvrtcRequest]] = [(first, request)]
        self._edits = Edits(project, _errors(job, first))

    @property
    def left_out(self) -> tuple[LeftOutCode, ...]:
        return self._edits.left_out()

    @property
    def may_be_hidden(self) -> bool:
        """Whether the remaining errors may come from code that a project file hides from NVRTC by testing its macro
        `__CUDACC_RTC__`."""
        return self._edits.may_be_hidden()

    def rewritten(self) -> NvrtcRequest | None:
        """Return the request with the code of the last errors rewritten in an equivalent way; None if no rewriting
        removes these errors."""
        if not self._edits.rewrite(_errors(self._job, self._done[-1][0])):
            return None
        return self._changed(self._edits.changed_files())

    def without_bodies(self) -> NvrtcRequest | None:
        """Return the request without the bodies of the host functions that contain the remaining errors; None if a
        kernel may depend on such a body."""
        if not self._edits.leave_out(lambda changed: self._calls.preprocessed(self._changed(changed))):
            return None
        return self._changed(self._edits.changed_files())

    def add(self, result: NvrtcResult, request: NvrtcRequest) -> None:
        """Add NVRTC's result for a changed text, of which `request` is the call."""
        if result["error"]:
            seconds = SECONDS_FOR_ALL_ERRORS << len(self._done)  # rather than one compilation for each of many errors
            whole = self._calls.all_errors(request, seconds, *_ALL_ERRORS)
            result = whole if whole is not None and whole["error"] else result
            self._edits.blocking = _errors(self._job, result)
        self._done.append((result, request))

    def _changed(self, changed: Mapping[str, bytes]) -> NvrtcRequest:
        headers = self.request["headers"] | {name: text for name, text in changed.items() if name != self._job.source}
        options = [*self.request["options"], *self._options]
        return {**self.request, "text": changed[self._job.source], "headers": headers, "options": options}

    def failure(self) -> NvrtcOutcome:
        """Return the errors of the unchanged source, restricted to those that no change of the text removes.

        Errors of a changed text are not reported: code that was left out may have caused them.
        """
        if not self._is_complete and len(self._done) > 1:  # the first error was overcome, and is not the one to report
            whole = self._calls.all_errors(self.request, SECONDS_FOR_ALL_ERRORS << 1)
            self._is_complete = whole is not None
            self._done = self._done[-1:] if whole is None else [(whole, self.request), *self._done[1:]]
        result, request = next((each for each in self._done if _lasting(_errors(self._job, each[0]))), self._done[0])
        errors = _errors(self._job, result)
        lasting = {error.key for error in self._edits.blocking} & {error.key for error in errors}
        if lasting:
            errors = [error for error in errors if error.key in lasting]
        if len(errors) > 1:  # one error is no consequence of another: the files need not be read
            errors = list(_without_consequences(errors, project_files(self._project)))
        reported = {error.key for error in errors}
        instance = self._edits.reason.instance
        return NvrtcOutcome(
            result,
            request,
            unnamed_instances=(instance,) if instance else (),
            is_reported=lambda each: each.severity != "error" or _key(each) in reported,
        )

    def errors_in_both(self, failure: NvrtcOutcome, other: NvrtcOutcome) -> NvrtcOutcome | None:
        """Return `failure` restricted to the errors that `other` has too; None if there are none.

        One of the two is the result with NVRTC's macro `__CUDACC_RTC__` defined, and one without. An error in both is a
        mistake in the user's source.
        """
        lasting = {error.key for error in _errors(self._job, other.result)}
        reported = filter(failure.is_reported, read_job_log(self._job, failure.result["log"]).diagnostics)
        if not any(each.severity == "error" and _key(each) in lasting for each in reported):
            return None
        return replace(
            failure,
            is_reported=lambda each: failure.is_reported(each) and (each.severity != "error" or _key(each) in lasting),
        )

    def with_notes(self, failure: NvrtcOutcome) -> NvrtcOutcome:
        """Return a failure with notes: why code cannot be left out, whether there may be more errors, which headers
        were empty, and what would help."""
        reason = self._edits.reason.text
        notes = [f"note: it cannot be left out: {reason}."] if reason else []
        if not self._is_complete:
            notes.append(_ONLY_FIRST)
        empty = sorted({*self.first["absent"]} & {*self._job.absent_headers})
        if empty:
            notes.append(
                f"note: what is undefined may be in a header that missing-headers makes empty: {', '.join(empty)}."
            )
        if self._job.host_code == "whole":
            notes += self._advice()
        return replace(failure, notes=tuple(notes))

    def _advice(self) -> list[str]:
        """Compile the source on trial with `host-code = "leave-out"`. Return a list of one note, which says whether
        this setting is enough.

        Return [] if the trial leaves out no host code. Return [] also if it fails and gives no reason.
        """
        trial = EditedSource(self._job, self._calls, self.request, self.first, self._project, trial_of=self)
        result = self.first
        while result["error"] and not self._calls.is_spent:
            request = trial.rewritten() or trial.without_bodies()
            if request is None:
                break
            result = self._calls.compile(request, *FIRST_ERROR)
            trial.add(result, request)
        left_out = trial.left_out
        if left_out and result["error"] and trial._edits.reason.text:
            reason = trial._edits.reason.text
            return [f'note: {_CURES}. host-code = "leave-out" alone is not enough: {reason}.']
        return [_may_be_left_out(left_out)] if left_out and not result["error"] else []


def _may_be_left_out(code: Sequence[LeftOutCode]) -> str:
    """Return the note for a source that compiles only with `host-code = "leave-out"`. `code` is the host code that
    this setting leaves out."""
    return (
        "note: only host code does not compile, and no kernel, type or template argument depends on it: "
        f'{"; ".join(map(str, code))}. {_CURES}, or set host-code = "leave-out" for this module.'
    )


_CURES = (
    "Give the compiler what it lacks (include-dirs, or outside the project system-include-dirs, or the package with "
    "the headers in build-system.requires)"
)
_ONLY_FIRST = (
    f"note: the compiler has not found the next error within {SECONDS_FOR_ALL_ERRORS} s; there may be more than this."
)


def _lasting(errors: Sequence[LocatedError]) -> list[LocatedError]:
    """Return the errors without those that are in the same line as an error about a macro that expands to a pragma.
    Such macros are rewritten; see `PragmaMacros`."""
    overcome = {error.key[:2] for error in errors if PragmaMacros.is_about(error.message)}
    return [error for error in errors if error.key[:2] not in overcome]


def _without_consequences(errors: Sequence[LocatedError], files: Mapping[str, SourceBlocks]) -> Sequence[LocatedError]:
    """Return the errors without those that an earlier error may have caused.

    Errors that the first syntax error causes are removed (see `_until_syntax_error`). `identifier "x" is undefined` is
    removed if an earlier line has another kind of error and contains the word x. `files` is path -> the definitions in
    the file.
    """
    found: list[LocatedError] = []
    declared: dict[bytes, tuple[object, ...]] = {}  # the words in lines with errors, each with the first such line
    for error in _until_syntax_error(errors, files):
        undefined = _UNDEFINED.match(error.message)
        # The declaration in that line may have failed.
        if undefined and declared.get(undefined[1].encode(), error.key[:2]) != error.key[:2]:
            continue
        found.append(error)
        if error.places and not undefined and error.places[0][0] in files:
            file, line, _ = error.places[0]
            for word in _WORD.findall(files[file].content.split(b"\n")[line - 1 : line][0]):
                declared.setdefault(word, error.key[:2])
    return found


def _until_syntax_error(errors: Sequence[LocatedError], files: Mapping[str, SourceBlocks]) -> Sequence[LocatedError]:
    """Return the errors without those that the first syntax error may cause; all errors if there is no syntax error.

    An error after the syntax error is removed if it is in another line. An error before the syntax error is removed if
    it is in another line of the same definition. `files` is path -> the definitions in the file.
    """
    # After a syntax error, the compiler skips text up to a place of its choice.
    syntax = next((index for index, error in enumerate(errors) if error.message.startswith("expected ")), None)
    if syntax is None or not errors[syntax].places:
        return errors
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
    return [*before, *after]


_UNDEFINED = re.compile(r'identifier "(\w+)" is undefined')
_WORD = re.compile(rb"[A-Za-z_]\w*")


_Key = tuple[object, ...]
"""(File, line, column, message) of an error. Two results of NVRTC that contain the same error have equal keys for
it."""


def _key(diagnostic: Diagnostic) -> _Key:
    return diagnostic.file, diagnostic.line, diagnostic.column, diagnostic.message


_CONTEXT = re.compile(r"\bat line (\d+)(?: of \"?(.+?)\"?)?$")
"""Matches the end of a line that says where a template was instantiated, such as `at line 12 of "k.cu"`. Group 1 is the
line number ("12"), and group 2 the file ("k.cu"). Group 2 is None if the line is in the file of the error."""


def _errors(job: Job, result: NvrtcResult) -> list[LocatedError]:
    """Return the errors in the log of NVRTC's result, in the order of the log. Warnings and other messages are left
    out."""
    errors = []
    for each in read_job_log(job, result["log"]).diagnostics:
        if each.severity == "error":
            places = [(each.file, each.line, each.column)] if each.line is not None else []
            for match in filter(None, map(_CONTEXT.search, each.details)):
                places.append((match[2] or each.file, int(match[1]), None))
            errors.append(LocatedError(tuple(places), each.message, _key(each)))
    return errors


_REWRITTEN_LIMIT = 4 << 20
"""Maximum total size, in bytes, of a job's source and headers for which library headers are rewritten. Above this
limit, they are not. Reading the files takes 0.6 s per megabyte."""


def read_project(job: Job) -> Project:
    """Return access to the files of a job's project. Each file is read when it is first asked for."""
    return _read_project(job, (), {})


def _read_project(job: Job, libraries: tuple[str, ...], known: dict[str, SourceBlocks]) -> Project:
    """Return access to the files of a job's project.

    `libraries`: absolute folders, ending with a separator, whose headers count as the project's.
    `known`: path -> text of each file that was read before. Files that are read are added.
    """
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
        return _read_project(job, (*libraries, folder), known) if is_short else None

    def blocks(path: str) -> SourceBlocks:
        if path not in known:
            known[path] = SourceBlocks(job.text if path == job.source else Path(job.root, path).read_bytes())
        return known[path]

    return Project(job.source, blocks, find, is_own, with_library, job.instantiate)
