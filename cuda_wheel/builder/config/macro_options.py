"""Read the compiler's options that define and undefine macros. Source: NVRTC, "Supported Compile Options"."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

__all__ = ["MacroOption", "defined_macros", "macro_definitions", "macro_options", "split_undefinitions"]

_MACRO = re.compile(r"(-[DU]|--(?:un)?define-macro)=?\s*(.*)", re.DOTALL)


class MacroOption(NamedTuple):
    """An option that defines a macro, or undefines it."""

    arguments: tuple[str, ...]
    """One or two: the value may be the argument after the option."""
    text: str
    """What is defined or undefined: "NAME", "NAME=VALUE" or "NAME(X)=VALUE"."""
    is_definition: bool

    @property
    def name(self) -> str:
        return re.split("[=(]", self.text, maxsplit=1)[0].strip()

    @property
    def value(self) -> str | None:
        """What the macro stands for; None if the option undefines it."""
        _, equals, value = self.text.partition("=")
        return (value if equals else "1") if self.is_definition else None


def macro_options(arguments: Sequence[str]) -> list[MacroOption]:
    """Return those of NVRTC's arguments that are about macros."""
    return [each for each in _options(arguments) if isinstance(each, MacroOption)]


def macro_definitions(arguments: Sequence[str]) -> list[str]:
    """Return the macros that NVRTC's arguments define: "NAME", "NAME=VALUE" or "NAME(X)=VALUE"."""
    return [option.text for option in macro_options(arguments) if option.is_definition]


def defined_macros(arguments: Sequence[str]) -> frozenset[str]:
    """Return the names of the macros that NVRTC's arguments define."""
    return frozenset(option.name for option in macro_options(arguments) if option.is_definition)


def split_undefinitions(arguments: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return NVRTC's arguments without those that undefine macros, and the names of the macros that these undefine and
    no later one defines."""
    others: list[str] = []
    is_defined: dict[str, bool] = {}
    for option in _options(arguments):
        if isinstance(option, str):
            others.append(option)
            continue
        is_defined[option.name] = option.is_definition
        others += option.arguments if option.is_definition else ()
    return others, [name for name, defined in is_defined.items() if not defined]


def _options(arguments: Sequence[str]) -> Iterator[str | MacroOption]:
    """Yield arguments, of which one or two are an option about a macro."""
    remaining = iter(arguments)
    for first in remaining:
        match = _MACRO.fullmatch(first)
        if match is None:
            yield first
            continue
        following = () if match[2] else (next(remaining, ""),)
        text = "".join((match[2], *following)).strip()
        yield MacroOption((first, *following), text, match[1] in ("-D", "--define-macro"))
