"""Find what a function's body may instantiate, in the preprocessed text of its translation unit.

The preprocessor has included all headers and expanded all macros, so that each marker of device code is
`__attribute__((device))` or similar. The text is read by its brackets and words, so more is found than the compiler
instantiates: a declaration counts as using everything that it names.
"""

from __future__ import annotations

import os
import re
import sys
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from cuda_wheel.builder.cxx.tokens import (
    Token,
    balanced,
    before_template_arguments,
    scan,
    template_arguments_end,
    words,
)
from cuda_wheel.builder.rewriting.blocks import CodeBlock, definitions, parameters

__all__ = [
    "NOT_HOST",
    "Segment",
    "TranslationUnit",
    "marker",
    "marks_device_code",
    "segments",
]


_DEVICE = frozenset({"device", "global", "constant", "managed", "shared"})
"""Each word X for which `__attribute__((X))` marks device code or a device variable in preprocessed text."""

NOT_HOST = frozenset({"template", "auto", "constexpr", "consteval", "try"})
"""Words in a function's heading (the text before its body) that forbid leaving out the body. With `auto`, for example,
other code may depend on the body."""

_EVERYTHING = "*"
"""Stands, in a set of names, for a declaration that code can use without writing its name, such as an operator."""

_IMPLICIT = frozenset({"begin", "end", "get", "tuple_size", "tuple_element", "await_transform"})
"""Names that code uses without writing them. Example: a range-based `for` calls `begin`."""

_KEYWORDS = (
    "__attribute__ alignas asm __asm__ decltype noexcept throw explicit requires sizeof static_assert if void bool "
    "char short int long float double signed unsigned auto const volatile constexpr static inline extern virtual "
    "typename class struct union enum public protected private default delete final override using typedef friend"
)
_NO_NAMES = frozenset(_KEYWORDS.split())
"""Keywords, which are never the name that a declaration declares: in `decltype(x) f();`, the name is `f`, not
`decltype`."""

_AFTER_NAMES = ("(", "[", "{", "=", ";", ",", ":", "final", "")


_MARKER = "cuda_wheel_body_"


def marker(kind: str, number: int) -> str:
    """Return the identifier that marks the start (`kind` is "begin") or the end ("end") of the body `number`."""
    return f"{_MARKER}{number}_{kind}"


@dataclass(frozen=True, eq=False)
class _ScopeDeclaration:
    """A declaration at namespace scope; a class with all its members is one declaration."""

    block: CodeBlock
    """Tokens of the whole declaration, with the body of a function or the members of a class."""
    is_own: bool
    """Whether the declaration is in a file of the project, and not in a header of the compiler or of another
    library."""

    @cached_property
    def attributes(self) -> frozenset[str]:
        """Arguments of `__attribute__` in the declaration, such as "device"."""
        return _attributes(self.block.tokens)

    @cached_property
    def is_instantiated(self) -> bool:
        """Whether the declaration contains `template` or `inline`, so that it is compiled only if something uses it.

        Then a use may decide which kernels there are. Other functions are always compiled.
        """
        return not {"template", "inline"}.isdisjoint(self.words)

    @cached_property
    def words(self) -> frozenset[str]:
        """Identifiers and keywords of the whole declaration, its body included."""
        return words(self.block.tokens)

    @property
    def is_class(self) -> bool:
        """Whether the declaration declares a class, and is not a function."""
        return bool(self.block.words & {"class", "struct", "union"}) and not self.block.body

    @cached_property
    def is_device_code(self) -> bool:
        """Whether this is a kernel, or a device variable of the project, that is in the image only if something uses
        it."""
        if not self.is_instantiated or self.attributes.isdisjoint(_DEVICE):
            return False
        return "global" in self.attributes or (self.is_own and not self.is_class and not self.block.is_function)

    @cached_property
    def reachable(self) -> Sequence[Token]:
        """Tokens that name all that a use of the declaration may instantiate: without the body of a plain function."""
        heading = self.block.tokens[: len(self.block.tokens) - len(self.block.body)]
        if self.block.body and not {"template", "auto"} & words(heading):
            return heading  # the body of a function that is no template is compiled anyway
        return self.block.tokens

    @cached_property
    def _mentions(self) -> frozenset[tuple[str, bool]]:
        tokens = self.reachable
        return frozenset((tokens[index].text, is_call) for index, is_call in _mentions(tokens))

    def mentions(self, name: str) -> list[bool]:
        """Return, for each way in which `reachable` mentions a name, whether it may be an unqualified call such as
        `f(x)`."""
        return [is_call for is_call in (False, True) if (name, is_call) in self._mentions]

    @cached_property
    def is_fixed(self) -> bool:
        """Whether this is a template whose instances are complete at their first use: a class, a variable, or a
        function that is `constexpr` or has a deduced type.

        What is declared later does not change such an instance.
        """
        return "template" in self.words and (
            not self.block.is_function or not {"constexpr", "consteval", "auto"}.isdisjoint(self.words)
        )

    @cached_property
    def calls(self) -> frozenset[str]:
        """Names in unqualified calls in the declaration: "f" for `f(x)`, but not for `ns::f(x)`."""
        tokens = self.block.tokens
        return frozenset(tokens[index].text for index, is_call in _mentions(tokens) if is_call)

    @cached_property
    def friends(self) -> frozenset[str]:
        """Names of the functions that instances of this template declare as friends."""
        if not {"template", "friend"} <= self.words:
            return frozenset()
        tokens = self.block.tokens
        found = set()
        for index, token in enumerate(tokens):
            if token.text == "friend":
                ends = (i for i in range(index, len(tokens)) if tokens[i].text in ("(", ";", "{"))
                found.add(tokens[next(ends, index) - 1].text)
        return frozenset(found)

    @property
    def is_forward(self) -> bool:
        """Whether the declaration contains no brace, so that another declaration may define the same entity."""
        return not self.block.body and all(token.text != "{" for token in self.block.tokens)

    @cached_property
    def names(self) -> frozenset[str]:
        """All names that this may declare; "*" is among them if it may be used without a name, such as an operator."""
        return frozenset(self._names())

    def _names(self) -> Iterator[str]:
        tokens = self._declarators()
        if not tokens:
            yield _EVERYTHING
        is_value = False
        for index, before, token, after in _outside_brackets(tokens):
            if token.text == "operator":
                yield _qualifier(tokens, index) or _EVERYTHING
                return
            if token.text in ("(", "[", "{"):
                is_declarator = before == "auto" or (token.text == "(" and after in ("*", "&", "::"))
                if is_declarator or "enum" in self.block.words:
                    yield from words(tokens[index : balanced(tokens, index)])
            is_value = is_value or token.text == "="
            if not is_value or before in (",", "*", "&"):
                yield from _declared(tokens, index, after)

    def _declarators(self) -> Sequence[Token]:
        """Return the tokens of the heading that contain the declared names. For a single function, they end with its
        parameters: a trailing return type is left out. For a class, its bases and members are left out."""
        heading = self.block.heading
        start = parameters(heading)
        if start is not None:
            end = balanced(heading, start)
            return heading if heading[end : end + 1] and heading[end].text == "," else heading[:end]
        texts = [token.text for token in heading]
        if not self.is_class or "{" not in texts:
            return heading
        brace = texts.index("{")
        name_end = texts.index(":") if ":" in texts[:brace] else brace
        return [*heading[: name_end + 1], *heading[balanced(heading, brace) :]]


class Segment(NamedTuple):
    """A part of a preprocessed text that comes from one file."""

    start: int
    """Byte offset in the preprocessed text at which the segment begins."""
    end: int
    """Byte offset in the preprocessed text after the segment's last byte."""
    file: str
    """Path of the file that the segment comes from, as the compiler writes it: project-relative for a file of the
    project."""
    line: int
    """1-based line, in `file`, of the segment's first line."""


_LINE = re.compile(rb'^#line (\d{1,9}) "((?:[^"\\\n]|\\.)*)"\n', re.MULTILINE)


def segments(text: bytes) -> list[Segment]:
    """Return the parts of a preprocessed text, in order; each begins after a line `#line NUMBER "FILE"`."""
    marks = list(_LINE.finditer(text))
    ends = [*(mark.start() for mark in marks[1:]), len(text)]
    files = [os.fsdecode(mark[2]).replace("\\\\", "\\") for mark in marks]
    return [Segment(mark.end(), end, file, int(mark[1])) for mark, end, file in zip(marks, ends, files, strict=False)]


def _with_places(blocks: Iterable[CodeBlock], text: bytes) -> Iterator[_ScopeDeclaration]:
    """Yield a `_ScopeDeclaration` for each of `blocks`, in order. `blocks` are declarations and definitions in the
    preprocessed `text`. `#line` directives in `text` tell the file of each block."""
    parts = segments(text)
    starts = [part.start for part in parts]
    for block in blocks:
        at = bisect_right(starts, block.start)
        file = parts[at - 1].file if at else ""
        yield _ScopeDeclaration(block, not file.startswith(("/", "__nv_")) and file[1:2] != ":")


class TranslationUnit:
    """The declarations of a preprocessed text, and the bodies between `marker`s in it."""

    def __init__(self, text: bytes) -> None:
        tokens, _ = scan(text)
        self._declarations = list(_with_places(definitions(tokens, into_classes=False), text))
        self._markers = Counter(token.text for token in tokens if token.text.startswith(_MARKER))
        self.kernels: dict[str, bool] = {}
        """Name -> whether it is a template, for each kernel and device variable that is in the compiled image only if
        something uses it."""
        self.variables: set[str] = set()
        """Names in `kernels` that are device variables; the other names there are kernels."""
        self._containing: dict[str, list[_ScopeDeclaration]] = {}
        """Identifier or keyword -> the declarations that contain the word, in order. A text has thousands of
        declarations, and a body can reach few of them: what these mention and declare is read when it is needed."""
        self._known: dict[str, int] = {}
        """Name -> result of `_first_known`."""
        for each in self._declarations:
            for word in each.words:
                self._containing.setdefault(word, []).append(each)
            for name in each.names if each.is_device_code else ():
                self.kernels[name] = self.kernels.get(name, False) or "template" in each.words
                self.variables |= set() if "global" in each.attributes else {name}

    def _first_known(self, name: str) -> int:
        """Return the byte offset of the first declaration of a name that is not a function definition; `sys.maxsize` if
        there is none.

        Code after this offset can use the name, even if the definition or a specialisation follows only later.
        """
        if name not in self._known:
            declarations = self._declarations if name == _EVERYTHING else self._containing.get(name, ())
            known = (each for each in declarations if each.is_forward or not each.block.is_function)
            self._known[name] = next((each.block.start for each in known if name in each.names), sys.maxsize)
        return self._known[name]

    def _calls_of_fixed(self, name: str) -> int:
        """Return the number of templates that call a name without a qualifier, as in `f(x)`. Only templates with
        `is_fixed` are counted, i.e. those whose instances are complete at their first use."""
        return sum(each.is_fixed and name in each.calls for each in self._containing.get(name, ()))

    def body(self, number: int) -> CodeBlock | None:
        """Return the function at namespace scope whose body begins and ends with the markers of body `number`.

        None if there is none, or if a marker occurs twice, for example because a macro repeats its argument.
        """
        ends = [marker("begin", number), marker("end", number)]
        if any(self._markers[each] != 1 for each in ends):
            return None
        blocks = (each.block for each in self._declarations if len(each.block.body) > 3)
        return next((each for each in blocks if [each.body[1].text, each.body[-2].text] == ends), None)

    @cached_property
    def instantiating(self) -> dict[str, int]:
        """Name -> byte offset of its first declaration, for each name whose use may instantiate a kernel or a device
        variable; those in `kernels` are among them."""
        return dict(self._names_that_reach(each for each in self._declarations if each.is_device_code))

    def instantiating_names(self, tokens: Sequence[Token]) -> Iterator[int]:
        """Yield the index of each token that is a name in `instantiating`, declared before the token or called."""
        return self._uses_of(self.instantiating, tokens)

    def later_meaning(self, block: CodeBlock) -> str | None:
        """Return a name because of which the body of the function `block` must stay; None if there is none.

        A class template is instantiated once, at its first use, and an instance may depend on which functions are
        declared and which classes are complete there. If the function is the first to use a template that depends on a
        name with a later declaration, then without the body, the first use is a later one, and device code may get
        another instance. The result is such a name.
        """
        first = bisect_right(self._declarations, block.start, key=lambda each: each.block.start)
        later = self._declarations[first:]
        classes = self._named_before(block, (each for each in later if each.is_class and not each.is_forward))
        functions = self._named_before(block, (each for each in later if not each.is_class))
        if own := classes & words(block.tokens):
            return min(own)
        dependent = self._dependent(block, classes, functions)
        if not self._may_use(block, [each for named in dependent.values() for each in named]):
            return None
        # Names of the project come before those of a library, which begin with an underscore.
        names = sorted(dependent, key=lambda name: (name.startswith("_"), name))
        return next(name for name in names if self._may_use(block, dependent[name]))

    def _dependent(
        self, block: CodeBlock, classes: Set[str], functions: Set[str]
    ) -> dict[str, list[_ScopeDeclaration]]:
        """Return name -> declarations that may depend on the name and are before the function `block`. A declaration
        depends on a name if its instances may differ once the name is declared, or once the named class is defined.

        `classes`: names of classes that are defined after `block`.
        `functions`: names of functions, and of everything else but classes, that are declared after `block`.
        The keys of the result are names from these two sets, and names of friend functions.
        """
        found: dict[str, list[_ScopeDeclaration]] = {}
        with_word = (each for word in (*classes, *functions, "friend") for each in self._containing.get(word, ()))
        for each in dict.fromkeys(with_word):
            if each.block.start < block.start:
                called = functions & each.calls if each.is_fixed else frozenset()
                friends = {name for name in each.friends if self._calls_of_fixed(name) > (name in each.calls)}
                named = classes & each.words and classes & words(each.reachable)
                for name in named | called | friends:
                    found.setdefault(name, []).append(each)
        return found

    def _may_use(self, block: CodeBlock, declarations: Sequence[_ScopeDeclaration]) -> bool:
        """Return whether the function `block` may instantiate one of `declarations`, directly or through other
        declarations before `block`. Also True if one of all these declarations can be used without its name: an
        operator, for example."""
        used: dict[str, list[tuple[int, bool]]] = {}
        for index, is_call in _mentions(block.tokens):
            used.setdefault(block.tokens[index].text, []).append((block.tokens[index].start, is_call))
        return any(
            name == _EVERYTHING
            or any(self._may_mean(name, at, start, is_call) for start, is_call in used.get(name, ()))
            for name, at in self._names_that_reach(declarations, block.start)
        )

    def _named_before(self, block: CodeBlock, declarations: Iterable[_ScopeDeclaration]) -> frozenset[str]:
        """Return the names that `declarations` declare. Names that occur in no declaration before `block` are left
        out."""
        names = (name for each in declarations for name in each.names)
        return frozenset(
            name for name in names if name in self._containing and self._containing[name][0].block.start < block.start
        )

    def _names_that_reach(
        self, declarations: Iterable[_ScopeDeclaration], end: int = sys.maxsize
    ) -> Iterator[tuple[str, int]]:
        """Yield the names whose use may instantiate one of `declarations`, as (name, byte offset). Code after the
        offset can use the name. A name is yielded again whenever a lower offset is found.

        For a kernel template `k`, the names are `k` and each template that uses `k`, directly or not. Templates that
        begin at or after the byte offset `end` are ignored.
        """
        found: dict[str, int] = {}
        waiting = list(declarations)
        while waiting:
            user = waiting.pop()
            for name in user.names:
                at = user.block.start
                if not user.is_device_code:  # each declaration of a kernel is marked
                    at = min(at, self._first_known(name))
                if at < found.get(name, at + 1):
                    found[name] = at
                    yield name, at
                    for each in self._containing.get(name, ()):
                        start = each.block.start
                        if start < end and any(self._may_mean(name, at, start, call) for call in each.mentions(name)):
                            waiting.append(each)

    def _uses_of(self, names: Mapping[str, int], tokens: Sequence[Token]) -> Iterator[int]:
        """Yield the index in `tokens` of each token that may refer to a declaration in `names`. `names` is name -> byte
        offset of its declaration."""
        for index, is_call in _mentions(tokens):
            declared = names.get(tokens[index].text)
            if declared is not None and self._may_mean(tokens[index].text, declared, tokens[index].start, is_call):
                yield index

    def _may_mean(self, name: str, declared: int, used: int, is_call: bool) -> bool:
        """Return whether a use of `name` may refer to its declaration. True if the declaration comes before the use. If
        not, True only for an unqualified call of a name that is not in `kernels`.

        `declared`: byte offset of the declaration.
        `used`: byte offset of the use.
        `is_call`: whether the use may be an unqualified call such as `f(x)`.
        """
        # In a template, C++ finds a later function by the types of the call's arguments.
        return used > declared or (is_call and name not in self.kernels)


def _outside_brackets(tokens: Sequence[Token]) -> Iterator[tuple[int, str, Token, str]]:
    """Yield (index, text of the token before, token, text of the token after) for each token outside brackets and
    template arguments. An opening bracket is yielded too, its closing one is not. A text is "" at the first or last
    token."""
    index = 0
    while index < len(tokens):
        token = tokens[index]
        end = template_arguments_end(tokens, index)
        if end is None:
            before = tokens[index - 1].text if index else ""
            after = tokens[index + 1].text if index + 1 < len(tokens) else ""
            yield index, before, token, after
            end = balanced(tokens, index) if token.text in ("(", "[", "{") else index + 1
        index = end


def _mentions(tokens: Sequence[Token]) -> Iterator[tuple[int, bool]]:
    """Yield (index, is call) for each word that does not follow `.` or `->`. Is call: whether the word may be the name
    in an unqualified call. True for `f` in `f(x)`, False in `ns::f(x)`."""
    before = ""
    for index, token in enumerate(tokens):
        if token.kind == "word" and before not in (".", "->"):
            is_call = before != "::" and index + 1 < len(tokens) and tokens[index + 1].text == "("
            yield index, is_call
        before = token.text


def marks_device_code(tokens: Sequence[Token]) -> bool:
    """Return whether tokens of preprocessed text contain a marker of device code, such as `__attribute__((device))`."""
    return not _attributes(tokens).isdisjoint(_DEVICE)


def _attributes(tokens: Sequence[Token]) -> frozenset[str]:
    """Return the arguments of all `__attribute__((...))` and `__declspec(...)`, without underscores around them:
    "device" for `__attribute__((__device__))`."""
    found: set[str] = set()
    for index, token in enumerate(tokens):
        if token.text in ("__attribute__", "__declspec"):
            found |= {each.strip("_") for each in words(tokens[index + 1 : balanced(tokens, index + 1)])}
    return frozenset(found)


def _qualifier(tokens: Sequence[Token], index: int) -> str:
    """Return the class or namespace directly before the name at `index`: "b" for the name `f` in `a::b::f` or
    `b<int>::f`. "" if the name has no qualifier."""
    index -= 1
    if index >= 0 and tokens[index].text == "~":
        index -= 1
    if index < 1 or tokens[index].text != "::":
        return ""
    index = before_template_arguments(tokens, index)
    return tokens[index].text if index >= 0 and tokens[index].kind == "word" else ""


def _declared(tokens: Sequence[Token], index: int, after: str) -> Iterator[str]:
    """Yield two names that the token at `index` declares; nothing if the token declares no name.

    The first name is the token's text, or "*" if code uses the name without writing it, such as `begin`. The second is
    the class or namespace before the token ("S" for `f` in `S::f`), or the token's text if there is none. `after` is
    the text of the next token.
    """
    kind, text, _ = tokens[index]
    if kind == "word" and text not in _NO_NAMES and (after in _AFTER_NAMES or _is_specialised(tokens, index + 1)):
        yield _EVERYTHING if text in _IMPLICIT else text
        yield _qualifier(tokens, index) or text


def _is_specialised(tokens: Sequence[Token], index: int) -> bool:
    """Return whether the token at `index` is a `<` that opens template arguments after a declared name. True in
    `f<int>(...)` and `struct S<int> {`. False in `S<int> x`, which only uses a type. True also if no `>` closes it."""
    if index >= len(tokens) or tokens[index].text != "<":
        return False
    end = template_arguments_end(tokens, index)
    return end is None or end == len(tokens) or tokens[end].text in ("(", "{", ":", ";", "=", "[", "final")
