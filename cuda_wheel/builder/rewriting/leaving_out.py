"""Leave out the bodies of host functions that do not compile, where a module asks for it.

Only bodies: each declaration stays, so that every name, type and overload is what it was. In place of its body a
function gets one that the compiler refuses in device code, however that is marked, and in `constexpr` functions. What
the body would have instantiated is looked for in the preprocessed text (`preprocessed`): it may launch kernels that are
no templates, and instances that the module's `instantiate` names; else it is not left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from cuda_wheel.builder.cxx.tokens import Token, scan, words
from cuda_wheel.builder.jobs import LeftOutCode
from cuda_wheel.builder.rewriting.blocks import CodeBlock, SourceBlocks
from cuda_wheel.builder.rewriting.constants import ProjectCode, Replacement
from cuda_wheel.builder.rewriting.preprocessed import (
    NOT_HOST,
    TranslationUnit,
    marker,
    marks_device_code,
    template_arguments_end,
)
from cuda_wheel.builder.rewriting.project_texts import LocatedError, definition_at

__all__ = ["BODY", "LeftOutBodies", "Refusal"]


BODY = " volatile int cuda_wheel_zero = 0; static int cuda_wheel_host = cuda_wheel_zero;"
"""What a function has in place of its body. In device code and in `constexpr` functions such a variable is an error, in
NVRTC 12.9 to 13.5, whatever warnings are suppressed: marked by a macro, an attribute or another declaration alike."""

_DEVICE_CODE = "device code may call it"


_REDECLARED = re.compile(r'function\("(?:.*::)?(\w+)[^"]*"\) redeclared with')
"""Matches the errors about a function that a declaration marks as device code and another does not."""


class Reason(NamedTuple):
    """Why a body cannot be left out."""

    text: str = ""
    """Empty if that is plain."""
    instance: str = ""
    """The name expression that would have to be in the module's `instantiate`; empty if that is not the reason."""


class Refusal(Exception):
    """A body cannot be left out."""

    def __init__(self, text: str = "", instance: str = "") -> None:
        super().__init__(text)
        self.reason = Reason(text, instance)


class _Body(NamedTuple):
    file: str
    block: CodeBlock
    error: LocatedError
    launches: tuple[str, ...] = ()
    """The kernels that it names, as C++ expressions: they stay in the function."""


class LeftOutBodies:
    """The bodies that are left out of a project's files."""

    def __init__(self, files: Mapping[str, SourceBlocks], code: ProjectCode, instantiate: Iterable[str]) -> None:
        self._files = files
        self._code = code
        self._instances = frozenset(map(_instance, instantiate))
        self._bodies: list[_Body] = []

    def body_of(self, error: LocatedError) -> _Body:
        """Return the body to leave out for an error; raises Refusal."""
        if redeclared := _REDECLARED.search(error.message):
            raise Refusal(f"{redeclared[1]}: {_DEVICE_CODE}, as another declaration marks it")
        reason = ""
        for file, line, column in error.places:
            blocks = self._files.get(file)
            if blocks is None:
                continue
            offset = blocks.offset(line, column)
            around = blocks.definition_at(offset)
            if around is None or not self._code.is_host(around):
                raise Refusal
            if any(each.block is around for each in self._bodies):
                is_device = "function-scope static" in error.message or "constexpr" in error.message
                raise Refusal(f"{around.name}: {_DEVICE_CODE if is_device else 'it does not compile without its body'}")
            if around.is_template or around.in_class:
                reason = (
                    reason or f"{around.name or 'this'} is a part of a {'class' if around.in_class else 'template'}"
                )
                continue
            if not around.body or (offset < around.body[0].start and column is not None):
                raise Refusal(f"{around.name or 'this'} is declared here, and other code may see a declaration")
            return _Body(file, around, error)
        raise Refusal(reason)

    def add(self, new: Iterable[_Body]) -> None:
        """Leave out further bodies."""
        known = [each.block for each in self._bodies]
        for body in new:
            if body.block not in known:
                known.append(body.block)
                self._bodies.append(body)

    def contains(self, error: LocatedError) -> bool:
        """Return whether an error is in a body that is left out."""
        if not self._bodies or not error.places:
            return False
        around = definition_at(self._files, *error.places[0])
        return any(each.block is around for each in self._bodies)

    def covers(self, file: str, offset: int) -> bool:
        """Return whether an offset in a file is inside a body that is left out."""
        return any(each.file == file and each.block.body[0].start <= offset < each.block.end for each in self._bodies)

    def marked(self) -> dict[str, list[Replacement]]:
        """Return the markers to insert in each file around the bodies, which stay."""
        found: dict[str, list[Replacement]] = {}
        for number, (file, block, *_) in enumerate(self._bodies):
            opening, closing = block.body[0].end, block.body[-1].start
            found.setdefault(file, []).extend(
                (at, at, f" {marker(kind, number)} ".encode()) for at, kind in ((opening, "begin"), (closing, "end"))
            )
        return found

    def replacements(self) -> dict[str, list[Replacement]]:
        """Return what to replace in each file."""
        found: dict[str, list[Replacement]] = {}
        for file, block, _, launches in self._bodies:
            opening = block.body[0].end
            text = BODY + "".join(f" (void)({each});" for each in launches)
            edits = found.setdefault(file, [])
            edits.append((opening, opening, f"{text} ".encode(errors="surrogateescape")))
            edits.extend((token.start, token.end, b"") for token in block.body[1:-1])
        return found

    def check(self, preprocessed: bytes) -> None:
        """Raise Refusal if a body cannot be left out, given the preprocessed text with `marked`."""
        unit = TranslationUnit(preprocessed)
        for number, body in enumerate(self._bodies):
            name = body.block.name
            block, tokens = unit.body(number)
            if block is None:
                raise Refusal(f"{name} is not one function at namespace scope once its macros are expanded")
            heading = block.tokens[: len(block.tokens) - len(block.body)]
            if marks_device_code(block.tokens):
                raise Refusal(f"{name}: {_DEVICE_CODE}, or device code is in it")
            if words(heading) & NOT_HOST:
                raise Refusal(f"other code may depend on more of {name} than its type")
            if later := unit.later_meaning(block, tokens):
                raise Refusal(
                    f"{later} may be declared after {name}, and a template that {name} uses first may depend on it"
                )
            try:
                launches = tuple(dict.fromkeys(self._launches(unit, heading, tokens)))
            except Refusal as refusal:
                raise Refusal(f"{name} {refusal}", refusal.reason.instance) from None
            self._bodies[number] = body._replace(launches=launches)

    def left_out(self) -> tuple[LeftOutCode, ...]:
        """Return what was left out."""
        found = []
        for file, block, error, _ in self._bodies:
            blocks = self._files[file]
            lines = blocks.line(block.start), blocks.line(block.end - 1)
            found.append(LeftOutCode(file, *lines, block.name, error.message))
        return tuple(found)

    def _launches(self, unit: TranslationUnit, heading: Sequence[Token], body: Sequence[Token]) -> Iterator[str]:
        """Yield the kernels and device variables that a body names and that only a use brings into the image, as C++
        expressions; raises Refusal for what may instantiate others."""
        templates = "the template of a kernel or a device variable" if unit.variables else "a kernel template"
        if "*" in unit.instantiating:
            raise Refusal(f"may instantiate {templates} through an operator or another implicit call")
        for index in unit.instantiating_names(heading):  # such as the type of a parameter
            if heading[index + 1].text != "(":
                raise Refusal(f"may instantiate {templates} through {heading[index].text}")
        kernels: list[range] = []
        for index in unit.instantiating_names(body):
            token = body[index]
            if token.text not in unit.kernels:
                raise Refusal(f"may instantiate {templates} through {token.text}")
            end = index + 1
            is_variable = token.text in unit.variables
            if unit.kernels[token.text]:
                end = template_arguments_end(body, index + 1) or index
                name = _spelling(body[index:end])
                if end <= index + 1:
                    uses = "uses the variable template" if is_variable else "launches the kernel template"
                    raise Refusal(
                        f"{uses} {token.text}: only template arguments that are written out, and named in the module's "
                        "instantiate, tell the instance"
                    )
                if name not in self._instances:
                    instance, uses = (f"&{name}", "uses") if is_variable else (name, "launches")
                    raise Refusal(f"{uses} {instance}, which the module's instantiate does not name", instance)
            kernels.append(range(_qualified_start(body, index), end))
        local = _local_names(body, kernels) if kernels else frozenset()
        for each in kernels:
            tokens = body[each.start : each.stop]
            unclear = words(tokens) & local
            if unclear:
                raise Refusal(f"names {_spelling(tokens)}, and {min(unclear)} may mean something else there")
            if "using" in local:
                raise Refusal(f"names {_spelling(tokens)}, which may mean something else after using")
            yield _spelling(tokens)


def _instance(expression: str) -> str:
    """Return a name expression without the scope of its template."""
    tokens = scan(expression.encode(errors="surrogateescape"))[0]
    texts = [token.text for token in tokens]
    return _spelling(tokens[max(0, texts.index("<") - 1) :] if "<" in texts else tokens[-1:])


def _spelling(tokens: Sequence[Token]) -> str:
    return re.sub(r" ?(<|>|::|,) ?", r"\1", " ".join(token.text for token in tokens))


def _qualified_start(tokens: Sequence[Token], index: int) -> int:
    """Return the index of the first token of the qualified name that ends at an index."""
    while index and tokens[index - 1].text == "::":
        index -= 2 if index > 1 and tokens[index - 2].kind == "word" else 1
    return index


def _local_names(body: Sequence[Token], kernels: Sequence[range]) -> frozenset[str]:
    """Return the words that a body may declare, but for those in kernels' names and in launch configurations."""
    covered = {index for each in kernels for index in each}
    found: set[str] = set()
    depth = 0
    for index, token in enumerate(body):
        depth += (token.text == "<<<") - (token.text == ">>>")
        if token.kind != "word" or index in covered or depth > 0:
            continue
        before = body[index - 1] if index else token
        if token.text == "using" or before.text in ("*", "&", ">", ",", "[") or (before.kind == "word" and index):
            found.add(token.text)
    return frozenset(found)
