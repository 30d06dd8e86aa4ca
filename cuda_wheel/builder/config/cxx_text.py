"""Check C++ that a program or a project hands over as a string, before a compiler sees it.

A compiler reads the name of an instance and the value of a macro as lines of its source. One that has a line break, a
directive or the start of a comment would change more than itself: `#include` could show any file in an error message.
"""

from __future__ import annotations

import re

from cuda_wheel.builder.errors import ConfigError

__all__ = ["check_expression", "check_macro_value"]

_TOKEN = re.compile(
    r"""
    (?P<raw> (?:u8|[uUL])? R " )
  | (?P<literal> \.?\d(?:'?[\w.]|(?<=[eEpP])[+-])* | (?:u8|[uUL])? (?: "(?:[^"\\]|\\.)*" | '(?:[^'\\]|\\.)+' ) )
  | (?P<other> [A-Za-z_$][\w$]* | . )
    """,
    re.ASCII | re.DOTALL | re.VERBOSE,
)
"""A raw string's start, which may end on another line; a number, string or character; anything else."""

_BRACKETS = {")": "(", "]": "[", "}": "{"}

_DIRECTIVE_WORDS = re.compile(r"_Pragma|__pragma|__has_(?:include|include_next|embed)")


def check_expression(text: str, where: str) -> None:
    """Raise ConfigError if a C++ name expression, such as "gemm<float, 16>", is not one line of one expression."""
    reason = _reason_against(text)
    if reason is None and not text.isascii():
        reason = "characters other than ASCII, which CUDA compilers refuse in names"
    if reason is None and re.search(r"[;#\\`@]|%:", _without_literals(text)):
        reason = "characters that no C++ expression has"
    if reason is None and (word := next(filter(_DIRECTIVE_WORDS.fullmatch, re.findall(r"\w+", text)), None)):
        reason = f"{word}, which belongs to no name"
    if reason is None and not _is_balanced(_without_literals(text)):
        reason = "brackets that do not belong together"
    if reason is not None:
        raise ConfigError(
            f"{where} must be a C++ name on one line such as 'gemm<float, 16>', and {text!r} has {reason}."
        )


def check_macro_value(text: str, where: str) -> None:
    """Raise ConfigError if the value of a macro is not one printable line that ends with itself."""
    reason = _reason_against(text)
    if reason is not None:
        raise ConfigError(f"{where} must be one line of C++, and {text!r} has {reason}.")


def _reason_against(text: str) -> str | None:
    """Return what a text has that would reach beyond its own line; None if it has nothing."""
    if not text.isprintable():
        return "a line break or another character that is not printable"
    if "??" in text:
        return "??, which begins a trigraph"
    if any(token.lastgroup == "raw" for token in _TOKEN.finditer(text)):
        return "a raw string"
    rest = _without_literals(text)
    if "//" in rest or "/*" in rest:
        return "a comment"
    if '"' in rest or "'" in rest:
        return "a quotation mark without a second one"
    return "a backslash at its end" if rest.rstrip().endswith("\\") else None


def _without_literals(text: str) -> str:
    """Return a text with a 0 for each number, string and character."""
    return "".join(token["other"] or "0" for token in _TOKEN.finditer(text))


def _is_balanced(text: str) -> bool:
    opened: list[str] = []
    for character in text:
        if character in "([{":
            opened.append(character)
        elif character in _BRACKETS and (not opened or opened.pop() != _BRACKETS[character]):
            return False
    return not opened
