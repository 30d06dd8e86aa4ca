"""Compile a source whose text is changed until the compiler accepts it.

What NVRTC refuses and nvcc accepts is written in another way that means the same. Where a module asks for it, host
functions lose their bodies. An error anywhere else ends this.

Apply every way of rewriting what nvcc with GCC reads and NVRTC refuses, once the compiler reports it.
"""

from __future__ import annotations

import gc
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple

from cuda_wheel.builder.jobs import LeftOutCode
from cuda_wheel.builder.rewriting.blocks import SourceBlocks
from cuda_wheel.builder.rewriting.constants import (
    DEVICE_WORDS,
    Constants,
    Replacement,
    is_initializer_error,
    project_code,
)
from cuda_wheel.builder.rewriting.declarations import (
    ClassConstants,
    ConstexprFunctions,
    HostMarkers,
    MemberConstants,
    TemplateNames,
    TypeAttributes,
    ZeroArrays,
)
from cuda_wheel.builder.rewriting.expressions import (
    CompoundLiterals,
    HostAssembly,
    NarrowingArguments,
    Powers,
    PragmaMacros,
    VoidPointers,
)
from cuda_wheel.builder.rewriting.leaving_out import LeftOutBodies, Reason, Refusal
from cuda_wheel.builder.rewriting.project_texts import (
    LocatedError,
    Project,
    RefusedCode,
    changed_files,
    definition_at,
    project_files,
)
from cuda_wheel.builder.rewriting.rewriter import Rewriter

if TYPE_CHECKING:
    from cuda_wheel.builder.toolchain.nvrtc import NvrtcResult
__all__ = ["Outcome", "Rewriters", "compile_edited", "may_be_rewritten", "unmarked_kernels"]


_KINDS: tuple[type[Rewriter], ...] = (
    PragmaMacros,
    TemplateNames,
    CompoundLiterals,
    VoidPointers,
    ConstexprFunctions,
    HostMarkers,
    NarrowingArguments,
    MemberConstants,
    ClassConstants,
    Powers,
    ZeroArrays,
    TypeAttributes,
    HostAssembly,
)


def may_be_rewritten(message: str) -> bool:
    """Return whether an error may be about something that one of the rewriters writes in another way."""
    return any(kind.is_about(message) for kind in _KINDS)


class Rewriters:
    """What is rewritten in a project's files."""

    def __init__(self, files: Mapping[str, SourceBlocks]) -> None:
        self._kinds = [kind(files) for kind in _KINDS]

    def rewrite(self, errors: Sequence[RefusedCode]) -> bool:
        """Rewrite what errors are about; return False if nothing more can be."""
        return any(kind.rewrite(errors) for kind in self._kinds)

    def replacements(self) -> dict[str, list[Replacement]]:
        """Return what to replace in each file."""
        found: dict[str, list[Replacement]] = {}
        for kind in self._kinds:
            for file, edits in kind.replacements().items():
                found.setdefault(file, []).extend(edits)
        return found


_ATTEMPTS = 24
"""The maximum number of times that a file is compiled."""

_QUOTED_NAME = re.compile(r'"(?:\w+::)*([A-Za-z_]\w*)"')
"""Matches a name in a message."""


class Outcome(NamedTuple):
    """The result of the last compilation, what was left out for it, and what stops the compilation.

    `blocking` are the errors that no change of the text overcomes, and `reason` says why a body cannot be left out, if
    that is asked for.
    """

    result: NvrtcResult
    left_out: tuple[LeftOutCode, ...]
    blocking: tuple[LocatedError, ...]
    reason: Reason
    may_be_hidden: bool = False
    """Whether what the errors miss may be in a file that mentions NVRTC's macro, `__CUDACC_RTC__`."""


@contextmanager
def _without_garbage_collection() -> Iterator[None]:
    """Collecting takes a third of the time to read a large project's headers: millions of tokens, none is garbage."""
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


@_without_garbage_collection()
def unmarked_kernels(project: Project) -> list[str]:
    """Return an error for each launch of a function that has no `__global__`."""
    files = project_files(project)
    code = project_code(files.values())
    return [
        f"{name}:{blocks.line(token.start)}: error: {function} is launched with <<<...>>> and is not a kernel: mark it "
        "__global__"
        for name, blocks in files.items()
        for token, function in code.launched_functions(blocks.tokens)
    ]


@_without_garbage_collection()
def compile_edited(
    project: Project,
    first: NvrtcResult,
    compile: Callable[[Mapping[str, bytes]], NvrtcResult],
    errors_of: Callable[[NvrtcResult], Sequence[LocatedError]],
    preprocess: Callable[[Mapping[str, bytes]], bytes | None] | None = None,
) -> Outcome:
    """Return the outcome of compiling a source with the changes that its errors ask for.

    `first` is the result for the unchanged files, an error; `compile` compiles with changed files by path. With
    `preprocess`, which returns the preprocessed text, bodies of host functions may be left out.
    """
    errors = errors_of(first)
    if errors and (any(each.is_missing_header for each in errors) or _are_in_device_code(errors, project)):
        return Outcome(first, (), tuple(errors), Reason())
    state = _Edits(project)
    result = first
    for _ in range(_ATTEMPTS):
        errors = errors_of(result)
        wider = _with_library(project, errors)
        if wider is not None:
            project, state, result = wider, _Edits(wider), first
            continue
        blocking, reason = state.change(errors, preprocess)
        if blocking or not errors:
            return Outcome(result, state.bodies.left_out(), tuple(blocking), reason, state.may_be_hidden(blocking))
        result = compile(state.changed_files(state.bodies.replacements()))
        if not result["error"]:
            return Outcome(result, state.bodies.left_out(), (), Reason())
    return Outcome(result, state.bodies.left_out(), tuple(errors_of(result)), Reason())


def _with_library(project: Project, errors: Sequence[LocatedError]) -> Project | None:
    """Return the project extended by a library whose headers have an error that rewriting may overcome; None if none
    has. Headers of libraries are read only then: there may be thousands."""
    for error in errors:
        if error.places and (is_initializer_error(error.message) or may_be_rewritten(error.message)):
            wider = project.with_library(error.places[0][0])
            if wider is not None:
                return wider
    return None


def _are_in_device_code(errors: Sequence[LocatedError], project: Project) -> bool:
    """Return whether all errors are in definitions that are marked as device code, which is never left out.

    Reading these files is enough to tell. A project may have megabytes of others.
    """
    files: dict[str, SourceBlocks] = {}
    for error in errors:
        if not error.places or may_be_rewritten(error.message):
            return False
        file = error.places[0][0]
        if file not in files:
            if file != project.source and not project.is_own(file):
                return False
            files[file] = SourceBlocks(project.content(file))
        around = definition_at(files, *error.places[0])
        if around is None or not around.words & DEVICE_WORDS:
            return False
    return True


class _Edits:
    """What changes in the files of a project. Bodies are left out of its own only."""

    def __init__(self, project: Project) -> None:
        self.project = project
        self.files = project_files(project)
        self._own = {file: each for file, each in self.files.items() if file == project.source or project.is_own(file)}
        self.bodies = LeftOutBodies(self._own, project_code(self._own.values()), project.instantiate)
        self._constants = Constants(self.files, project_code(self.files.values()))
        self._rewriters = Rewriters(self.files)

    def change(
        self, errors: Sequence[LocatedError], preprocess: Callable[[Mapping[str, bytes]], bytes | None] | None
    ) -> tuple[list[LocatedError], Reason]:
        """Choose what to change for each error. Return those for which nothing can be, and the reason.

        What NVRTC refuses and nvcc does not is rewritten first, in device code too."""
        errors = self._in_the_unchanged_text(errors)
        if self._rewriters.rewrite(
            [RefusedCode(*error.places[0], error.message, len(error.places) > 1) for error in errors if error.places]
        ):
            return [], Reason()
        remaining = [each for each in errors if not self._is_constant(each)]
        if preprocess is None or not remaining:
            return remaining, Reason()
        new = []
        blocking: list[LocatedError] = []
        reason = Reason()
        for error in remaining:
            try:
                new.append(self.bodies.body_of(error))
            except Refusal as refusal:
                reason = reason if blocking else refusal.reason
                blocking.append(error)
        if blocking:
            return blocking, reason
        self.bodies.add(new)
        text = preprocess(self.changed_files(self.bodies.marked()))
        if text is None:
            return remaining, Reason("this NVRTC does not write the preprocessed text")
        try:
            self.bodies.check(text)
        except Refusal as refusal:
            return remaining, refusal.reason
        return [], Reason()

    def _is_constant(self, error: LocatedError) -> bool:
        """Return whether an error is about a constant that is rewritten."""
        if not error.places or self.bodies.contains(error):
            return False
        return self._constants.rewrite(*error.places[0], error.message)

    def changed_files(self, bodies: Mapping[str, Sequence[Replacement]]) -> Mapping[str, bytes]:
        """Return the texts of the files that change, by path; `bodies` says what is written in the left-out bodies."""
        edits = {file: list(found) for file, found in bodies.items()}
        for file, found in self._rewritten().items():
            kept = (each for each in found if not self.bodies.covers(file, each[0]))
            edits.setdefault(file, []).extend(kept)
        return changed_files(self.files, self.project.source, edits, self.project.find)

    def _rewritten(self) -> dict[str, list[Replacement]]:
        """Return the code that is written in another way, by file."""
        found = self._constants.replacements()
        for file, edits in self._rewriters.replacements().items():
            found.setdefault(file, []).extend(edits)
        return found

    def _in_the_unchanged_text(self, errors: Sequence[LocatedError]) -> list[LocatedError]:
        """Return errors with the columns that they have in the project's files: rewritten code may be longer."""
        changed = self._rewritten()

        def column_of(file: str, line: int, column: int | None) -> int | None:
            for start, end, new in sorted(changed.get(file, ())):
                before = start - self.files[file].offset(line, 1)
                if column is not None and new and before >= 0 and before + len(new) < column:
                    column -= len(new) - (end - start)
            return column

        return [
            error._replace(
                places=tuple((file, line, column_of(file, line, column)) for file, line, column in error.places)
            )
            for error in errors
        ]

    def may_be_hidden(self, errors: Iterable[LocatedError]) -> bool:
        """Return whether what errors miss may be in a file that has other code for NVRTC than for nvcc."""
        files = [blocks.content for blocks in self._own.values() if b"__CUDACC_RTC__" in blocks.content]
        named = [[name.encode() for name in _QUOTED_NAME.findall(error.message)] for error in errors]
        return any(not names or any(name in text for name in names for text in files) for names in named if files)
