"""Choose the part of a host function to leave out for an error: a statement if that is enough, else the body."""

from __future__ import annotations

from collections.abc import Sequence

from cuda_wheel.builder.cxx.tokens import Token, balanced

__all__ = ["removable_part"]

_JOINTS = ("::", ".", "->")


def removable_part(body: Sequence[Token], offset: int) -> Sequence[Token] | None:
    """Return the tokens to leave out around an offset in a function's body, so that all names keep their types.

    That is a call or another expression, or the initializer of a variable with a written type. None if the statement
    may declare, return or control something.
    """
    statement = _statement_at(body, offset)
    if statement is None:
        return None
    texts = [token.text for token in statement]
    if texts[0] == "throw" or _is_expression(statement):
        return statement
    return _initializer(statement)


def _statement_at(body: Sequence[Token], offset: int) -> Sequence[Token] | None:
    """Return the statement around an offset in the innermost pair of braces; None if it does not end in ";"."""
    opened: list[int] = []
    for index, token in enumerate(body):
        if token.start > offset:
            break
        if token.text == "{":
            opened.append(index)
        elif token.text == "}" and opened and token.end <= offset:
            opened.pop()
    if not opened:
        return None
    index = head = opened[-1] + 1
    while index < len(body) and body[index].text != "}":
        text = body[index].text
        after = balanced(body, index) if text in ("(", "[", "{") else index + 1
        ends = text == ";" or (text == "{" and body[after : after + 1] and body[after].text not in (";", ",", ")", "."))
        if ends:
            if body[head].start <= offset < body[after - 1].end:
                return body[head:after] if text == ";" else None
            head = after
        index = after
    return None


_WORDS = (
    "if for while do switch return case default goto using typedef auto const static struct class constexpr else try "
    "catch break continue template enum union namespace static_assert co_return co_yield asm public private"
)

_KEYWORDS = frozenset(_WORDS.split())
"""Words that begin a statement which is no expression."""


def _is_expression(statement: Sequence[Token]) -> bool:
    """Return whether a statement is a call, an assignment or a chain of `<<`, which declares nothing."""
    index, expects_name = 0, True
    while index < len(statement):
        token = statement[index]
        if expects_name:
            if token.text == "::" and index == 0:
                index += 1
                continue
            if token.kind != "word" or token.text in _KEYWORDS:
                return False
            expects_name = False
            index += 1
        elif token.text in _JOINTS:
            expects_name = True
            index += 1
        elif token.text == "[":
            index = balanced(statement, index)
        else:
            following = statement[index + 1].text if index + 1 < len(statement) else ""
            return token.text in ("(", "=") or (token.text == "<" and following == "<")
    return False


def _initializer(statement: Sequence[Token]) -> Sequence[Token] | None:
    """Return `= value` of the declaration of one variable whose type is written out and needs no value."""
    texts = [token.text for token in statement]
    if "=" not in texts:
        return None
    before = texts[: texts.index("=")]
    if any(text in ("(", "[", "{", "&", ",", "auto", "const", "constexpr", "static", "decltype") for text in before):
        return None
    words = [token for token in statement[: len(before)] if token.kind == "word"]
    if len(words) < 2 or words[0].text in _KEYWORDS or statement[len(before) - 1].kind != "word":
        return None
    return statement[len(before) : -1]
