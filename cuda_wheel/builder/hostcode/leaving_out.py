"""Leave out host code that does not compile, at the places that the compiler names.

Only these are left out: includes of host libraries, expressions and initializers in host functions, the bodies of host
functions, and whole host functions and variables whose names nothing else has. Never anything that device code may see,
and never a launch of a kernel template, unless `instantiate` names its instances. An error anywhere else ends this: it
is in the user's own code.
"""

from __future__ import annotations

import gc
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple

from cuda_wheel.builder.cxx.tokens import DECORATION, Token
from cuda_wheel.builder.hostcode.blocks import CodeBlock, SourceBlocks
from cuda_wheel.builder.hostcode.constants import Constants, Replacement
from cuda_wheel.builder.hostcode.edits import LeftOut, changed_files, included_name
from cuda_wheel.builder.hostcode.reach import DEVICE_WORDS, ProjectCode, project_code
from cuda_wheel.builder.hostcode.rewriting.pragma_macros import is_pragma_error
from cuda_wheel.builder.hostcode.rewriting.refusals import Refusal
from cuda_wheel.builder.hostcode.rewriting.rewriters import Rewriters, may_be_rewritten
from cuda_wheel.builder.hostcode.statements import removable_part
from cuda_wheel.builder.jobs import LeftOutCode

if TYPE_CHECKING:
    from cuda_wheel.builder.toolchain.nvrtc import NvrtcResult

__all__ = ["LocatedError", "Outcome", "Project", "compile_leaving_out", "unmarked_kernels"]

_ATTEMPTS = 24
"""The maximum number of times that a file is compiled to find out what must be left out."""

DEVICE_HEADERS = (".cuh", ".cu", ".inl", ".inc")
"""Suffixes of headers that probably contain device code: they are never left out."""

_QUOTED_NAME = re.compile(r'"(?:\w+::)*([A-Za-z_]\w*)"')
"""Matches a name in a message."""

_NO_DEFINITION = frozenset(
    ("static_assert", "using", "typedef", "friend", "class", "struct", "union", "enum", "concept", "asm", "export")
)
"""Words of declarations that are neither functions nor variables, or that may declare a type too."""


class LocatedError(NamedTuple):
    """An error of the compiler. `places` are the project's files and lines with columns where it is, the innermost
    first: for an error in a library's template, where the project uses that."""

    places: tuple[tuple[str, int, int | None], ...]
    message: str
    key: tuple[object, ...] = ()
    """Equal for the same error of different results."""

    @property
    def is_missing_header(self) -> bool:
        """Whether the compiler did not find a header."""
        return self.message.startswith("cannot open source file")

    @property
    def is_overcome(self) -> bool:
        """Whether to report the other errors, if there are any, and not this one: the include is left out, or the macro
        is rewritten."""
        return self.is_missing_header or is_pragma_error(self.message)


class Project(NamedTuple):
    """How to read a job's files. Paths are project-relative."""

    source: str
    text: bytes
    read: Callable[[str], bytes]
    """Returns the content of one of the project's files."""
    find: Callable[[str, bool, str], str | None]
    """Returns the path of the header of `#include "name"` (True) or `<name>` in a file; None if it is not its own."""
    is_own: Callable[[str], bool]
    """Returns whether a path is that of a file of the project, and not of a library in its folder."""
    instantiate: tuple[str, ...]


class Outcome(NamedTuple):
    """The result of the last compilation, what was left out for it, and what stops the compilation.

    `blocking` are the errors that cannot be left out, if the result is an error, and `reason` says why.
    """

    result: NvrtcResult
    left_out: tuple[LeftOutCode, ...]
    blocking: tuple[LocatedError, ...]
    reason: str
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
    state = _LeavingOut(project)
    return [
        f"{name}:{blocks.line(token.start)}: error: {function} is launched with <<<...>>> and is not a kernel: mark it "
        "__global__"
        for name, blocks in state.files.items()
        for token, function in state.code.launched_functions(blocks.tokens)
    ]


class _Refusal(Exception):
    """Something cannot be left out. The text says why; it is empty if the code is not host code."""


@_without_garbage_collection()
def compile_leaving_out(
    project: Project,
    first: NvrtcResult,
    compile: Callable[[Mapping[str, bytes]], NvrtcResult],
    errors_of: Callable[[NvrtcResult], Sequence[LocatedError]],
) -> Outcome:
    """Return the outcome of compiling a source without the host code that does not compile.

    `first` is the result for the unchanged files, an error; `compile` compiles with changed files by path.
    """
    errors = errors_of(first)
    if errors and _are_in_device_code(errors, project):
        return Outcome(first, (), tuple(errors), "")
    state = _LeavingOut(project)
    result = first
    for _ in range(_ATTEMPTS):
        errors = errors_of(result)
        blocking, reason = state.leave_out(errors)
        if blocking or not errors:
            return Outcome(result, state.left_out(), tuple(blocking), reason, state.may_be_hidden(blocking))
        result = compile(state.changed_files())
        if not result["error"]:
            return state.checked(result)
    return Outcome(result, state.left_out(), tuple(errors_of(result)), "")


def _are_in_device_code(errors: Sequence[LocatedError], project: Project) -> bool:
    """Return whether all errors are in definitions that are marked as device code, which is never left out.

    Reading these files is enough to tell. A project may have megabytes of others.
    """
    files: dict[str, SourceBlocks] = {}
    for error in errors:
        if not error.places or error.is_missing_header:
            return False
        if may_be_rewritten(error.message):
            return False
        file, line, column = error.places[0]
        if file not in files:
            if file != project.source and not project.is_own(file):
                return False
            files[file] = SourceBlocks(project.text if file == project.source else project.read(file))
        around = files[file].definition_at(files[file].offset(line, column))
        if around is None or not around.words & DEVICE_WORDS:
            return False
    return True


class _LeavingOut:
    """The files of a project that were read, and what is left out of them."""

    def __init__(self, project: Project) -> None:
        self.project = project
        self.pieces: list[LeftOut] = []
        self.files: dict[str, SourceBlocks] = {}
        waiting = [project.source]
        while waiting:
            name = waiting.pop()
            if name in self.files:
                continue
            content = project.text if name == project.source else project.read(name)
            self.files[name] = blocks = SourceBlocks(content)
            for directive in blocks.directives:
                asked = included_name(directive)
                header = None if asked is None else project.find(*asked, name)
                waiting += [] if header is None else [header]
        self.code: ProjectCode = project_code(self.files.values())
        self._constants = Constants(self.files, self.code)
        self._rewriters = Rewriters(self.files)
        self._given = {each.partition("<")[0].rpartition("::")[2].strip() for each in project.instantiate}

    def leave_out(self, errors: Sequence[LocatedError]) -> tuple[list[LocatedError], str]:
        """Choose what to leave out for each error. Return those for which that is not possible, and the reason.

        What NVRTC refuses and nvcc does not is rewritten first, in device code too."""
        errors = self._in_the_unchanged_text(errors)
        if self._rewriters.rewrite(
            [Refusal(*error.places[0], error.message, len(error.places) > 1) for error in errors if error.places]
        ):
            return [], ""
        blocking: list[LocatedError] = []
        reason = ""
        new: dict[tuple[str, tuple[tuple[int, int], ...]], LeftOut] = {}
        for error in errors:
            if error.places and self._constants.rewrite(*error.places[0], error.message):
                continue
            try:
                piece = self._piece(error)
            except _Refusal as refusal:
                if str(refusal) and not blocking:
                    reason = str(refusal)
                blocking.append(error)
                continue
            new[piece.file, piece.spans] = piece
        # An error in device code is never a consequence of one in host code, so it is reported alone.
        real = [each for each in blocking if not self._is_in_host_code(each)]
        if not blocking:
            known = {(piece.file, piece.spans) for piece in self.pieces}
            self.pieces += [piece for key, piece in new.items() if key not in known]
        return real or blocking, "" if real else reason

    def left_out(self) -> tuple[LeftOutCode, ...]:
        """Return all that was left out."""
        return tuple(piece.code for piece in self.pieces)

    def changed_files(self) -> Mapping[str, bytes]:
        """Return the texts of the files that change, by path."""
        return changed_files(self.files, self.project.source, self.pieces, self.replacements(), self.project.find)

    def replacements(self) -> dict[str, list[Replacement]]:
        """Return the code that is written in another way, by file."""
        found = self._constants.replacements()
        for file, edits in self._rewriters.replacements().items():
            found.setdefault(file, []).extend(edits)
        return found

    def _in_the_unchanged_text(self, errors: Sequence[LocatedError]) -> list[LocatedError]:
        """Return errors with the columns that they have in the project's files: rewritten code may be longer."""
        changed = self.replacements()

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
        files = [blocks.content for blocks in self.files.values() if b"__CUDACC_RTC__" in blocks.content]
        named = [[name.encode() for name in _QUOTED_NAME.findall(error.message)] for error in errors]
        return any(not names or any(name in text for name in names for text in files) for names in named if files)

    def _is_in_host_code(self, error: LocatedError) -> bool:
        around = self._around(error)
        return around is not None and self.code.is_host(around)

    def _around(self, error: LocatedError) -> CodeBlock | None:
        """Return the definition around a error's own place; None if that is not in one of the project's files."""
        if not error.places or error.places[0][0] not in self.files:
            return None
        file, line, column = error.places[0]
        blocks = self.files[file]
        return blocks.definition_at(blocks.offset(line, column))

    def _piece(self, error: LocatedError) -> LeftOut:
        """Return what to leave out for a error; raises _Refusal."""
        for file, line, column in error.places:
            blocks = self.files.get(file)
            if blocks is None:
                continue
            if error.is_missing_header:
                return self._include(file, blocks, line, error.message)
            offset = blocks.offset(line, column)
            around = blocks.definition_at(offset)
            if around is None or not self.code.is_host(around):
                raise _Refusal
            return self._part(file, blocks, around, offset, error.message)
        raise _Refusal

    def _include(self, file: str, blocks: SourceBlocks, line: int, message: str) -> LeftOut:
        """Return the include directive at a line, if what it names cannot be a header with kernels."""
        for directive in blocks.directives:
            asked = included_name(directive)
            if asked is not None and blocks.line(directive.start) == line:
                name, quoted = asked
                if quoted or name.endswith(DEVICE_HEADERS):
                    break
                span = (directive.start, directive.end)
                last_line = blocks.line(directive.end - 1)
                return LeftOut(LeftOutCode(file, line, last_line, "include", f"<{name}>", message), (span,))
        raise _Refusal

    def _part(self, file: str, blocks: SourceBlocks, around: CodeBlock, offset: int, message: str) -> LeftOut:
        name = around.name
        if around.body and around.body[0].start <= offset:
            part = removable_part(around.body, offset)
            if part is not None and not self._lost(part):
                return self._checked(LeftOutCode(file, *_lines(blocks, part), "code in", name, message), part)
            if "auto" not in around.words and len(around.body) > 2:
                inner = around.body[1:-1]
                lines = _lines(blocks, around.tokens)
                return self._checked(LeftOutCode(file, *lines, "function", name, message), inner)
        if around.in_class or around.is_template or name in ("", "operator"):
            raise _Refusal(f"{name or 'this'} is a part of a class or a template")
        if around.words & _NO_DEFINITION or any(word.startswith("_") for word in around.words - DECORATION):
            raise _Refusal  # a word that begins with "_" may be a misspelt marker
        if not around.is_function and "const" in around.words:
            raise _Refusal(f"device code may use the constant {name}")
        kind = "function" if around.is_function else "variable"
        lines = _lines(blocks, around.tokens)
        return self._checked(LeftOutCode(file, *lines, kind, name, message), around.tokens)

    def _checked(self, code: LeftOutCode, tokens: Sequence[Token]) -> LeftOut:
        """Return what leaves out tokens; raises _Refusal if a launch would be lost, or if they are left out already."""
        lost = self._lost(tokens)
        if lost:
            raise _Refusal(lost)
        piece = LeftOut(code, tuple((token.start, token.end) for token in tokens))
        if any(each.file == piece.file and each.spans == piece.spans for each in self.pieces):
            raise _Refusal("it does not compile without its body either")
        return piece

    def _lost(self, tokens: Sequence[Token]) -> str:
        """Return why a piece of code cannot be left out because of its launches; empty if it can."""
        launches = self.code.launches(tokens)
        lost = sorted(launches.templates - self._given)
        if lost:
            return (
                f"it launches the kernel template {lost[0]}, so that leaving it out would lose kernels. "
                "Name the instances with instantiate to leave it out"
            )
        return "it launches kernels that cannot be told from its text" if launches.unknown and not self._given else ""

    def checked(self, result: NvrtcResult) -> Outcome:
        """Return the outcome of a compilation that succeeded; an error if a name may mean something else in it."""
        whole = [(piece, name) for piece in self.pieces for name in self._names(piece)]
        counts = Counter(name for _, name in whole)
        for piece, name in whole:
            if counts[name] != self.code.declared.get(name, 0):
                reason = f"{name} has other declarations, which would be used in its place"
                error = LocatedError(((piece.file, piece.code.line, None),), piece.code.reason)
                return Outcome(result, self.left_out(), (error,), reason)
        return Outcome(result, tuple(piece.code for piece in _outermost(self.pieces)), (), "")

    def _names(self, piece: LeftOut) -> frozenset[str]:
        """Return the names that are not declared any more without a piece."""
        if piece.code.kind not in ("function", "variable"):
            return frozenset()
        blocks = self.files[piece.file].definitions
        return next((each.names for each in blocks if each.start == piece.spans[0][0]), frozenset())


def _outermost(pieces: Sequence[LeftOut]) -> Iterator[LeftOut]:
    """Yield the pieces that are not in another one."""
    for piece in pieces:
        start, end = piece.spans[0][0], piece.spans[-1][1]
        others = (each for each in pieces if each.file == piece.file and each is not piece)
        if not any(each.spans[0][0] <= start and end <= each.spans[-1][1] for each in others):
            yield piece


def _lines(blocks: SourceBlocks, tokens: Sequence[Token]) -> tuple[int, int]:
    return blocks.line(tokens[0].start), blocks.line(tokens[-1].end - 1)
