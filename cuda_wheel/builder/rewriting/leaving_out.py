"""Leave out the bodies of host functions that do not compile, where a module asks for it.

Each declaration stays, so that names, types and overloads do not change. The function gets another body, which is an
error in device code, however that is marked, and in `constexpr` functions. The preprocessed text shows what the
original body may instantiate (`preprocessed`). A body that launches kernel templates is left out only if the module's
`instantiate` names their instances; kernels that are not templates may be launched.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from typing import NamedTuple

from cuda_wheel.builder.cxx.tokens import Token, scan, template_arguments_end, words
from cuda_wheel.builder.jobs import LeftOutCode
from cuda_wheel.builder.rewriting.blocks import CodeBlock, SourceBlocks
from cuda_wheel.builder.rewriting.constants import ProjectCode, Replacement
from cuda_wheel.builder.rewriting.preprocessed import (
    NOT_HOST,
    TranslationUnit,
    marker,
    marks_device_code,
)
from cuda_wheel.builder.rewriting.project_texts import LocatedError, definition_at

__all__ = ["BODY", "LeftOutBodies", "Refusal"]


# NVRTC 12.9 to 13.5 report the error even if all warnings are suppressed. After the error, `LeftOutBodies.body_of`
# raises Refusal, so that no function that device code may call is built without its body.
BODY = " volatile int cuda_wheel_zero = 0; static int cuda_wheel_host = cuda_wheel_zero;"
"""C++ statements that replace the body of a left-out host function.

NVRTC reports an error about the static variable in this text if device code may call the function, or if the function
is `constexpr`. By this error, the build finds bodies that must stay.
"""

_DEVICE_CODE = "device code may call it"


_REDECLARED = re.compile(r'function\("(?:.*::)?(\w+)[^"]*"\) redeclared with')
"""Matches the error about a function that one declaration marks as device code and another does not:
`function("ns::f(int)") redeclared with ...`. Group 1 is the function's unqualified name, `f`."""


class Reason(NamedTuple):
    """Why a body cannot be left out."""

    text: str = ""
    """Why the body of a function is not left out, in words. "" if the compiler's error message is reason enough."""
    instance: str = ""
    """A name expression, such as "scale<float>". The body uses it, but the module's setting `instantiate` lacks it.
    "" if the reason is another one."""


class Refusal(Exception):
    """The error that a function's body cannot be left out; its attribute `reason` says why."""

    def __init__(self, text: str = "", instance: str = "") -> None:
        super().__init__(text)
        self.reason = Reason(text, instance)


class _Body(NamedTuple):
    """A function body to leave out."""

    file: str
    """Project-relative path of the file that contains the function whose body is left out."""
    block: CodeBlock
    """Definition of the function whose body is left out, including this body."""
    error: LocatedError
    """The compiler's error in the body. Because of this error, the body is left out."""
    launches: tuple[str, ...] = ()
    """C++ expressions for the kernels and device variables that the original body names, such as "scale<float>". The
    new body names them too, and so the compiler still puts them into the image."""


class LeftOutBodies:
    """The function bodies that are left out of a project's files."""

    def __init__(self, files: Mapping[str, SourceBlocks], code: ProjectCode, instantiate: Iterable[str]) -> None:
        self._files = files
        self._code = code
        self._instances = frozenset(map(_instance, instantiate))
        self._bodies: list[_Body] = []

    def body_of(self, error: LocatedError) -> _Body:
        """Return the function body to leave out because of an error; raises Refusal if no body can be."""
        if redeclared := _REDECLARED.search(error.message):
            raise Refusal(f"{redeclared[1]}: {_DEVICE_CODE}, as another declaration marks it")
        part_of = ""
        for file, around, is_in_body in self._definitions_at(error):
            if around is None or not self._code.is_host(around):
                raise Refusal
            name = around.name or "this"
            if self._is_left_out(around):
                is_device = "function-scope static" in error.message or "constexpr" in error.message
                raise Refusal(f"{around.name}: {_DEVICE_CODE if is_device else 'it does not compile without its body'}")
            if around.is_template or around.in_class:
                part_of = part_of or f"{name} is a part of a {'class' if around.in_class else 'template'}"
            elif is_in_body:
                return _Body(file, around, error)
            else:
                raise Refusal(f"{name} is declared here, and other code may see a declaration")
        raise Refusal(part_of)

    def _definitions_at(self, error: LocatedError) -> Iterator[tuple[str, CodeBlock | None, bool]]:
        """Yield (file, definition, whether the place is in the definition's body) for each place of an error.

        Places outside the project's files are skipped. The definition is the one that contains the place, or None.
        """
        for file, line, column in error.places:
            blocks = self._files.get(file)
            if blocks is not None:
                offset = blocks.offset(line, column)
                around = blocks.definition_at(offset)
                body = around.body if around is not None else ()
                yield file, around, bool(body) and (column is None or offset >= body[0].start)

    def add(self, new: Iterable[_Body]) -> None:
        """Leave out further bodies."""
        for body in new:
            if not self._is_left_out(body.block):
                self._bodies.append(body)

    def contains(self, error: LocatedError) -> bool:
        """Return whether an error is in a body that is left out."""
        return bool(error.places) and self._is_left_out(definition_at(self._files, *error.places[0]))

    def _is_left_out(self, block: CodeBlock | None) -> bool:
        """Return whether the body of the function that `block` defines is left out; False if `block` is None."""
        return any(each.block is block for each in self._bodies)

    def covers(self, file: str, offset: int) -> bool:
        """Return whether a byte offset in a file is inside a body that is left out."""
        return any(each.file == file and each.block.body[0].start <= offset < each.block.end for each in self._bodies)

    def marked(self) -> dict[str, list[Replacement]]:
        """Return path -> replacements that insert markers at the start and end of each body, and keep the body."""
        found: dict[str, list[Replacement]] = {}
        for number, (file, block, *_) in enumerate(self._bodies):
            opening, closing = block.body[0].end, block.body[-1].start
            found.setdefault(file, []).extend(
                (at, at, f" {marker(kind, number)} ".encode()) for at, kind in ((opening, "begin"), (closing, "end"))
            )
        return found

    def replacements(self) -> dict[str, list[Replacement]]:
        """Return path -> replacements that put `BODY` and the names of launched kernels in place of each body."""
        found: dict[str, list[Replacement]] = {}
        for file, block, _, launches in self._bodies:
            opening = block.body[0].end
            text = BODY + "".join(f" (void)({each});" for each in launches)
            edits = found.setdefault(file, [])
            edits.append((opening, opening, f"{text} ".encode(errors="surrogateescape")))
            edits.extend((token.start, token.end, b"") for token in block.body[1:-1])
        return found

    def check(self, preprocessed: bytes) -> None:
        """Raise Refusal if a body cannot be left out; else note which kernels each body launches.

        `preprocessed` is the preprocessed source with the markers of `marked`.
        """
        unit = TranslationUnit(preprocessed)
        for number, body in enumerate(self._bodies):
            name = body.block.name
            block = unit.body(number)
            if block is None:
                raise Refusal(f"{name} is not one function at namespace scope once its macros are expanded")
            if marks_device_code(block.tokens):
                raise Refusal(f"{name}: {_DEVICE_CODE}, or device code is in it")
            if words(block.tokens[: -len(block.body)]) & NOT_HOST:
                raise Refusal(f"other code may depend on more of {name} than its type")
            if later := unit.later_meaning(block):
                raise Refusal(
                    f"{later} may be declared after {name}, and a template that {name} uses first may depend on it"
                )
            try:
                launches = tuple(dict.fromkeys(_launches(unit, block, self._instances)))
            except Refusal as refusal:
                raise Refusal(f"{name} {refusal}", refusal.reason.instance) from None
            self._bodies[number] = body._replace(launches=launches)

    def left_out(self) -> tuple[LeftOutCode, ...]:
        """Return the place, the function's name and the error of each body that is left out."""
        found = []
        for file, block, error, _ in self._bodies:
            blocks = self._files[file]
            lines = blocks.line(block.start), blocks.line(block.end - 1)
            found.append(LeftOutCode(file, *lines, block.name, error.message))
        return tuple(found)


def _launches(unit: TranslationUnit, block: CodeBlock, instances: Set[str]) -> Iterator[str]:
    """Yield a C++ expression for each kernel and device variable that a function's body names: "scale<float>".

    `unit`: the preprocessed source.
    `block`: the function in `unit`.
    `instances`: name expressions of the module's `instantiate` without scope: "scale<float>" for "ns::scale<float>".

    Kernels and variables that are in the image even if nothing uses them are skipped. Raises Refusal if the body may
    instantiate a kernel or device variable in any other way than by its name.
    """
    # The body begins and ends with the two words of `marker`.
    heading, body = block.tokens[: -len(block.body)], block.body[2:-2]  # without the markers
    through = ["an operator or another implicit call"] if "*" in unit.instantiating else []
    used = [heading[index] for index in unit.instantiating_names(heading) if heading[index + 1].text != "("]
    named = [*unit.instantiating_names(body)]
    used += [body[index] for index in named if body[index].text not in unit.kernels]
    through += [token.text for token in used]
    if through:
        templates = "the template of a kernel or a device variable" if unit.variables else "a kernel template"
        raise Refusal(f"may instantiate {templates} through {through[0]}")
    kernels = [range(_qualified_start(body, index), _name_end(unit, body, index, instances)) for index in named]
    local = _local_names(body, kernels) if kernels else frozenset()
    for each in kernels:
        tokens = body[each.start : each.stop]
        if unclear := words(tokens) & local:
            raise Refusal(f"names {_spelling(tokens)}, and {min(unclear)} may mean something else there")
        if "using" in local:
            raise Refusal(f"names {_spelling(tokens)}, which may mean something else after using")
        yield _spelling(tokens)


def _name_end(unit: TranslationUnit, body: Sequence[Token], index: int, instances: Set[str]) -> int:
    """Return the index of the token after a name and its template arguments in `body`.

    `index`: token of the name, i.e. of a kernel or device variable.
    `instances`: name expressions of the module's `instantiate` without scope: "scale<float>" for "ns::scale<float>".

    Raises Refusal for the name of a template, unless the instance, such as "scale<float>", is in `instances`.
    """
    text = body[index].text
    if not unit.kernels[text]:
        return index + 1
    is_variable = text in unit.variables
    end = template_arguments_end(body, index + 1)
    if end is None:
        uses = "uses the variable template" if is_variable else "launches the kernel template"
        raise Refusal(
            f"{uses} {text}: only template arguments that are written out, and named in the module's instantiate, tell "
            "the instance"
        )
    name = _spelling(body[index:end])
    if name not in instances:
        instance, uses = (f"&{name}", "uses") if is_variable else (name, "launches")
        raise Refusal(f"{uses} {instance}, which the module's instantiate does not name", instance)
    return end


def _instance(expression: str) -> str:
    """Return a name expression without its template's scope: "ns::scale<ns::T>" -> "scale<ns::T>"."""
    tokens = scan(expression.encode(errors="surrogateescape"))[0]
    texts = [token.text for token in tokens]
    return _spelling(tokens[max(0, texts.index("<") - 1) :] if "<" in texts else tokens[-1:])


def _spelling(tokens: Sequence[Token]) -> str:
    """Return the texts of tokens with a space between two tokens, but without spaces around `<`, `>`, `::` and `,`:
    "k<unsigned int,4>"."""
    return re.sub(r" ?(<|>|::|,) ?", r"\1", " ".join(token.text for token in tokens))


def _qualified_start(tokens: Sequence[Token], index: int) -> int:
    """Return the index of the first token of a qualified name: of `ns` in `ns::scale`. `index` is the token index of
    the last word, `scale`."""
    while index and tokens[index - 1].text == "::":
        index -= 2 if index > 1 and tokens[index - 2].kind == "word" else 1
    return index


def _local_names(body: Sequence[Token], kernels: Sequence[range]) -> frozenset[str]:
    """Return the words of a function's body that may be local names, such as `x` in `int x` or `T* x`. The keyword
    `using` is returned too.

    `kernels`: for each mention of a kernel, its token indices in `body`. Words there and in `<<<...>>>` are skipped.
    """
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
