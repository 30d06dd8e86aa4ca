"""Find the functions and variables in C++ by its brackets, without a grammar and without headers.

A namespace or class is a container; every other bracket at namespace or class scope belongs to one definition. Code
whose brackets are not clear is not reported as a definition, and callers do not change it.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from cuda_wheel.builder.cxx.tokens import (
    ANGLES,
    DECORATION,
    Directive,
    Token,
    balanced,
    before_template_arguments,
    scan,
    template_arguments_end,
    words,
)

__all__ = ["CodeBlock", "SourceBlocks", "definitions", "parameters"]


@dataclass(frozen=True, eq=False)
class CodeBlock:
    """One C++ definition or declaration at namespace or class scope."""

    tokens: Sequence[Token]
    """Tokens of the definition or declaration, in order. Tokens of preprocessor directives are left out."""
    body: Sequence[Token]
    """Tokens of the function's body, including both braces; () if this is not the definition of a function."""
    in_class: bool
    """Whether the definition is a member of a class and is written inside the class."""

    @property
    def start(self) -> int:
        """Byte offset of the definition's first character in the text."""
        return self.tokens[0].start

    @property
    def end(self) -> int:
        """Byte offset after the definition's last character in the text."""
        return self.tokens[-1].end

    @cached_property
    def heading(self) -> Sequence[Token]:
        """Tokens before the body, or all tokens if there is no body; a leading `template <...>` is left out."""
        return _without_templates(self.tokens[: len(self.tokens) - len(self.body)])

    @cached_property
    def words(self) -> frozenset[str]:
        """Identifiers and keywords in `heading`."""
        return words(self.heading)

    @property
    def is_template(self) -> bool:
        """Whether the definition begins with `template`."""
        return self.tokens[0].text == "template"

    @cached_property
    def name(self) -> str:
        """Unqualified name of the function, variable or type; "operator" for every operator, "" if there is no name.

        For a function, this is the word before the parameters; else the last word before `=`, `{`, `[`, `:`, `,` or
        `;`.
        """
        heading = self.heading
        end = parameters(heading)
        if end is None:
            end = _first_declarator(heading)
        if any(token.text == "operator" for token in heading[:end]):
            return "operator"
        end = before_template_arguments(heading, end) + 1  # those of an explicit specialization
        before = [token for token in heading[:end] if token.kind == "word" and token.text not in DECORATION]
        return before[-1].text if before else ""

    @cached_property
    def names(self) -> frozenset[str]:
        """All names that a declaration of variables declares: {"a", "b"} for `const int a = 1, b = 2;`. Else `name`.

        Words of a value with several template arguments may be among them.
        """
        if self.words & {"using", "typedef", "operator"} or parameters(self.heading) is not None:
            return frozenset({self.name})
        found, last, depth, index = {self.name}, "", 0, 0
        tokens = _without_templates(self.tokens)
        is_value = False
        while index < len(tokens):
            kind, text, _ = tokens[index]
            if text in ("(", "{", "["):
                index, is_value = balanced(tokens, index), True
                continue
            depth += 0 if is_value else ANGLES.get(text, 0)
            if text in (",", ";") and depth <= 0:
                found.add(last)
                is_value = False
            is_value = is_value or text == "="
            last = text if kind == "word" and not is_value and depth <= 0 else last
            index += 1
        return frozenset(found)

    @property
    def is_function(self) -> bool:
        """Whether this looks like a function, and not like a variable with arguments: `Type name(1, "a");`."""
        start = parameters(self.heading)
        if start is None:
            return False
        inside = self.heading[start : balanced(self.heading, start)]
        return bool(self.body) or not any(token.kind in ("number", "text") for token in inside)


class SourceBlocks:
    """A C++ text with its tokens, its preprocessor directives, and its definitions at namespace and class scope."""

    def __init__(self, content: bytes) -> None:
        self.content = content
        self.tokens, self.directives = scan(content)
        self._lines = [0, *(match.end() for match in re.finditer(b"\n", content))]
        self.definitions = list(definitions(_without_unbalanced_branches(self.tokens, self.directives)))

    def line(self, offset: int) -> int:
        """Return the 1-based line of a byte offset."""
        return bisect_right(self._lines, offset)

    def offset(self, line: int, column: int | None) -> int:
        """Return the byte offset of a 1-based line and a 1-based column in characters.

        If `column` is None, return the offset of the line's first character that is not white space. If there is no
        such line, return the length of the text.
        """
        if not 1 <= line <= len(self._lines):
            return len(self.content)
        start = self._lines[line - 1]
        text = self.content[start:].split(b"\n", 1)[0]
        if column is None:
            return start + len(text) - len(text.lstrip())
        return start + len(text.decode(errors="replace")[: column - 1].encode(errors="replace"))

    def token_at(self, offset: int) -> int:
        """Return the index of the first token that begins at or after a byte offset; without one, the token count."""
        return bisect_left(self.tokens, offset, key=lambda token: token.start)

    def definition_at(self, offset: int) -> CodeBlock | None:
        """Return the definition that contains a byte offset; None if there is none."""
        return next((each for each in self.definitions if each.start <= offset < each.end), None)


_ACCESS = ("public", "private", "protected")

_CLASS_WORDS = ("class", "struct", "union")

_ATTRIBUTES = ("alignas", "__align__", "__attribute__", "__declspec", "decltype")
"""Words with arguments in parentheses that are not the parameters of a function, such as `alignas(16)`."""


def definitions(tokens: Sequence[Token], into_classes: bool = True) -> Iterator[CodeBlock]:
    """Yield the definitions and declarations at namespace scope, in order.

    If `into_classes` is true, the members of a class are yielded in place of the class; else the class is one
    declaration, which contains its members.
    """
    containers: list[bool] = []  # for each open namespace or class, whether it is a class
    head = index = 0
    while index < len(tokens):
        text = tokens[index].text
        kind = _container(tokens[head:index]) if text == "{" else None
        if kind is False or (kind and into_classes):
            containers.append(kind)
            head = index = index + 1
            continue
        after = balanced(tokens, index) if text in ("(", "[", "{") else index + 1
        is_body = _is_body(tokens, head, index, after)
        if is_body or (text == ";" and after - head > 1):
            body = tokens[index:after] if is_body else ()
            yield CodeBlock(tokens[head:after], body, containers[-1:] == [True])
        if text == "}":
            del containers[-1:]
        if is_body or text in (";", "}") or _is_access(tokens, head, after):
            head = after
        index = after


def _is_access(tokens: Sequence[Token], head: int, after: int) -> bool:
    """Return whether `tokens[head:after]` is exactly an access specifier and its colon, such as `public:`."""
    return after - head == 2 and tokens[after - 1].text == ":" and tokens[head].text in _ACCESS


def _container(heading: Sequence[Token]) -> bool | None:
    """Return what a brace opens: True for a class, False for a namespace or `extern "C"`, None for anything else.
    `heading` are the tokens before the brace, from the start of the declaration."""
    texts = [token.text for token in heading]
    if texts[:1] == ["namespace"] or texts[:2] == ["inline", "namespace"]:
        return False
    if texts[:1] == ["extern"] and len(texts) == 2 and texts[1].startswith('"'):
        return False
    plain = _without_templates(heading)
    words = [token.text for token in plain]
    is_class = any(word in words for word in _CLASS_WORDS) and "enum" not in words
    return True if is_class and "=" not in words and parameters(plain) is None else None


def _is_body(tokens: Sequence[Token], head: int, index: int, after: int) -> bool:
    """Return whether `tokens[index:after]` is the body of a function, with both braces: True for `{...}` in
    `int f() {...}`, False for `{...}` in `int a{...}`. `head` is the index of the declaration's first token."""
    if tokens[index].text != "{":
        return False
    plain = _without_templates(tokens[head:index])
    texts = [token.text for token in plain]
    start = parameters(plain)
    if start is None or ("=" in texts[:start] and "operator" not in texts[:start]):
        return False
    # Not if it initialises a member before the body of a constructor: `: a{1}, b{2} {`.
    following = tokens[after].text if after < len(tokens) else ""
    return following not in (",", "{") or texts[-1] in (")", "const", "noexcept", "override", "final")


def parameters(heading: Sequence[Token]) -> int | None:
    """Return the token index of the parenthesis that opens a function's parameters; None if there is none."""
    index = 0
    while index < len(heading):
        text = heading[index].text
        if text == "(":
            before = heading[index - 1].text if index else ""
            if before == "operator":
                index = balanced(heading, index)
                continue
            if before not in _ATTRIBUTES and before not in DECORATION:
                return index
            index = balanced(heading, index)
        elif text == "=" and "operator" not in (token.text for token in heading[max(0, index - 3) : index]):
            return None
        elif text in ("[", "{"):
            index = balanced(heading, index)
        else:
            index += 1
    return None


def _first_declarator(heading: Sequence[Token]) -> int:
    """Return the index of the token after the first variable's name in a declaration: the index of "=" for
    `const int a = 1, b;`. If nothing follows the name, return the number of tokens."""
    depth = 0
    for index, token in enumerate(heading):
        depth += ANGLES.get(token.text, 0)
        if token.text in ("=", "{", "[", ":", ";") or (token.text == "," and depth <= 0):
            return index
    return len(heading)


def _without_templates(tokens: Sequence[Token]) -> Sequence[Token]:
    """Return the tokens of a heading, without every `template <...>` at its beginning."""
    start = 0
    while start + 1 < len(tokens) and tokens[start].text == "template" and tokens[start + 1].text == "<":
        start = template_arguments_end(tokens, start + 1) or len(tokens)
    return tokens[start:]


def _without_unbalanced_branches(tokens: Sequence[Token], directives: Sequence[Directive]) -> Sequence[Token]:
    """Return the tokens without the `#else` and `#elif` branches of each `#if` that has a branch with unmatched
    brackets.

    Here, only the first branch is returned: `#if A` / `void f(int) {` / `#else` / `void f(long) {` / `#endif` / `}`.
    """
    stack: list[list[tuple[int, int]]] = []
    dropped: list[tuple[int, int]] = []
    for directive in directives:
        if directive.word.startswith("if"):
            stack.append([(directive.end, directive.end)])
        elif stack and directive.word in ("else", "elif", "endif"):
            stack[-1][-1] = (stack[-1][-1][0], directive.start)
            if directive.word != "endif":
                stack[-1].append((directive.end, directive.end))
                continue
            branches = stack.pop()
            # With all branches, two braces would be opened and one closed.
            if len(branches) > 1 and any(_is_unbalanced(tokens, *branch) for branch in branches):
                dropped += branches[1:]
    if not dropped:
        return tokens
    return [token for token in tokens if not any(start <= token.start < end for start, end in dropped)]


def _is_unbalanced(tokens: Sequence[Token], start: int, end: int) -> bool:
    """Return whether the text between the byte offsets `start` and `end` has a parenthesis or brace whose partner is
    not in the same text."""
    depth = 0
    first, last = (bisect_left(tokens, offset, key=lambda token: token.start) for offset in (start, end))
    for token in tokens[first:last]:
        depth += (token.text in ("{", "(")) - (token.text in ("}", ")"))
        if depth < 0:
            return True
    return depth != 0
