"""Change the text of a source until the compiler accepts it.

Code that nvcc with GCC accepts and NVRTC refuses is replaced by code of the same meaning, once the compiler reports it.
Where a module asks for it, the bodies of host functions are left out.
"""

from __future__ import annotations

import gc
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager

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

__all__ = ["Edits", "Rewriters", "may_be_rewritten", "unmarked_kernels"]


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
    """Return whether an error message may be about code that one of the rewriters can change."""
    return any(kind.is_about(message) for kind in _KINDS)


class Rewriters:
    """All rewriters of declarations, expressions and pragmas, for one project's files."""

    def __init__(self, files: Mapping[str, SourceBlocks]) -> None:
        self._kinds = [kind(files) for kind in _KINDS]

    def rewrite(self, errors: Sequence[RefusedCode]) -> bool:
        """Let the first rewriter that can change something for these errors do so; return False if none can."""
        return any(kind.rewrite(errors) for kind in self._kinds)

    def replacements(self) -> dict[str, list[Replacement]]:
        """Return path -> replacements of all rewriters."""
        found: dict[str, list[Replacement]] = {}
        for kind in self._kinds:
            for file, edits in kind.replacements().items():
                found.setdefault(file, []).extend(edits)
        return found


_QUOTED_NAME = re.compile(r'"(?:\w+::)*([A-Za-z_]\w*)"')
"""Matches a C++ name in double quotes in an error message, "ns::scale"; group 1 is the unqualified name, `scale`."""


@contextmanager
def _without_garbage_collection() -> Iterator[None]:
    """Turn off Python's garbage collection in the `with` block."""
    # The collector would take a third of the time in which a large project's headers are read. It would free nothing:
    # all of their millions of tokens are in use.
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


@_without_garbage_collection()
def unmarked_kernels(project: Project) -> list[str]:
    """Return an error message, "FILE:LINE: error: ...", for each launch of a function that has no `__global__`."""
    files = project_files(project)
    code = project_code(files.values())
    return [
        f"{name}:{blocks.line(token.start)}: error: {function} is launched with <<<...>>> and is not a kernel: mark it "
        "__global__"
        for name, blocks in files.items()
        for token, function in code.launched_functions(blocks.tokens)
    ]


def _with_library(project: Project, errors: Sequence[LocatedError]) -> Project | None:
    """Return `project` extended by all headers of one library. None if there is no such library.

    It is the library that contains the first error about code that can be rewritten. Errors outside of libraries, and
    in libraries that the project already has, are skipped.
    """
    # The headers of other libraries are not read, because there may be thousands.
    for error in errors:
        if error.places and (is_initializer_error(error.message) or may_be_rewritten(error.message)):
            wider = project.with_library(error.places[0][0])
            if wider is not None:
                return wider
    return None


def _are_in_device_code(errors: Sequence[LocatedError], project: Project) -> bool:
    """Return True if a change of the text can remove none of the errors: each is in device code of the project's own
    files, and no rewriter handles its message."""
    # Device code is never left out. Only the files with the errors are read: a project may have megabytes of other
    # files.
    files: dict[str, SourceBlocks] = {}
    for error in errors:
        if not error.places or may_be_rewritten(error.message):
            return False
        file = error.places[0][0]
        if file not in files:
            if file != project.source and not project.is_own(file):
                return False
            files[file] = project.blocks(file)
        around = definition_at(files, *error.places[0])
        if around is None or not around.words & DEVICE_WORDS:
            return False
    return True


class Edits:
    """The changes to the texts of a project's files and, except for left-out bodies, of its libraries' headers."""

    def __init__(self, project: Project, errors: Sequence[LocatedError]) -> None:
        """`errors` are the compiler's errors in the unchanged files."""
        with _without_garbage_collection():
            self._first = errors
            self.blocking: Sequence[LocatedError] = ()
            """The compiler's errors that `rewrite` could not remove. `leave_out` may remove them, by leaving out
            function bodies."""
            self.reason = Reason()
            """Why `leave_out` refused to leave out a function's body. An empty `Reason` if it did not refuse, or if the
            compiler's error message is reason enough."""
            self._project = project
            self._is_fixed = bool(errors) and (
                any(each.is_missing_header for each in errors) or _are_in_device_code(errors, self._project)
            )
            if self._is_fixed:  # reading the files would take long
                self.blocking = errors
            else:
                self._read(self._project)

    def _read(self, project: Project) -> None:
        """Read the files of `project`, and forget all changes made so far."""
        self._project = project
        self.files = project_files(project)
        self._own = {file: each for file, each in self.files.items() if file == project.source or project.is_own(file)}
        self.bodies = LeftOutBodies(self._own, project_code(self._own.values()), project.instantiate)
        self._constants = Constants(self.files)
        self._rewriters = Rewriters(self.files)

    def rewrite(self, errors: Sequence[LocatedError]) -> bool:
        """Rewrite the code that errors are about; return whether compiling the changed text may succeed.

        The rewriters come first, in device code too. If they change nothing, constants with dynamic initializers are
        rewritten, and the result is False if an error remains that is not about such a constant.
        """
        if self._is_fixed:
            return False
        with _without_garbage_collection():
            while (wider := _with_library(self._project, errors)) is not None:
                self._read(wider)
                errors = self._first
            errors = self._in_the_unchanged_text(errors)
            self.reason = Reason()
            if self._rewriters.rewrite(
                [
                    RefusedCode(*error.places[0], error.message, len(error.places) > 1)
                    for error in errors
                    if error.places
                ]
            ):
                self.blocking = ()
                return True
            self.blocking = [each for each in errors if not self._rewrite_constant(each)]
            return bool(errors) and not self.blocking

    @_without_garbage_collection()
    def leave_out(self, preprocess: Callable[[Mapping[str, bytes]], bytes | None]) -> bool:
        """Leave out the function bodies that contain the errors in `blocking`; return False if a body must stay.

        `preprocess` gets path -> new text of each changed file, and returns the preprocessed source; None if this NVRTC
        cannot preprocess.
        """
        remaining = self.blocking
        if self._is_fixed or not remaining:
            return False
        new = []
        blocking: list[LocatedError] = []
        for error in remaining:
            try:
                new.append(self.bodies.body_of(error))
            except Refusal as refusal:
                self.reason = self.reason if blocking else refusal.reason
                blocking.append(error)
        if blocking:
            self.blocking = blocking
            return False
        self.bodies.add(new)
        text = preprocess(self._changed_files(self.bodies.marked()))
        if text is None:
            self.reason = Reason("this NVRTC does not write the preprocessed text")
            return False
        try:
            self.bodies.check(text)
        except Refusal as refusal:
            self.reason = refusal.reason
            return False
        self.blocking = ()
        return True

    def left_out(self) -> tuple[LeftOutCode, ...]:
        """Return the function bodies that were left out."""
        return () if self._is_fixed else self.bodies.left_out()

    def changed_files(self) -> Mapping[str, bytes]:
        """Return path -> new text of each file that changes."""
        return self._changed_files(self.bodies.replacements())

    def _rewrite_constant(self, error: LocatedError) -> bool:
        """Rewrite the constant that an error is about. Return False if the error is not about a constant, or the
        constant cannot be rewritten."""
        if not error.places or self.bodies.contains(error):
            return False
        return self._constants.rewrite(*error.places[0], error.message)

    def _changed_files(self, bodies: Mapping[str, Sequence[Replacement]]) -> Mapping[str, bytes]:
        """Return path -> new text, for each file with rewritten code or with replacements in `bodies`.

        `bodies`: path -> replacements that leave out function bodies. Rewritten code inside left-out bodies is
        ignored.
        """
        edits = {file: list(found) for file, found in bodies.items()}
        for file, found in self._rewritten().items():
            kept = (each for each in found if not self.bodies.covers(file, each[0]))
            edits.setdefault(file, []).extend(kept)
        return changed_files(self.files, self._project.source, edits, self._project.find)

    def _rewritten(self) -> dict[str, list[Replacement]]:
        """Return path -> replacements of constants and of other code that NVRTC refuses. Replacements that leave out
        function bodies are not included: `self.bodies` has them."""
        found = self._constants.replacements()
        for file, edits in self._rewriters.replacements().items():
            found.setdefault(file, []).extend(edits)
        return found

    def _in_the_unchanged_text(self, errors: Sequence[LocatedError]) -> list[LocatedError]:
        """Return the errors with their columns in the original text. The compiler counted the columns in the rewritten
        text, in which lines may be longer."""
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

    def may_be_hidden(self) -> bool:
        """Return whether a missing name of an error in `blocking` may be in code that a file hides from NVRTC.

        Such a file tests for `__CUDACC_RTC__`. For an error that quotes no name, the result is true if there is such a
        file.
        """
        if self._is_fixed:
            return False
        files = [blocks.content for blocks in self._own.values() if b"__CUDACC_RTC__" in blocks.content]
        named = [[name.encode() for name in _QUOTED_NAME.findall(error.message)] for error in self.blocking]
        return any(not names or any(name in text for name in names for text in files) for names in named if files)
