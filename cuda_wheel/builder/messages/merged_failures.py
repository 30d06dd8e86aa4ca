"""Put the errors of several modules together, so that each distinct diagnostic is printed once. Pure functions."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

__all__ = ["CommonErrors", "Failure", "merged", "not_compiled"]

_ENOUGH = 3
"""How many sources have to fail alike in a header before the build ends, if none has compiled."""

_SHOWN = 4
"""How many modules are named of those that share a diagnostic."""

_ERROR = re.compile(r"(\S.*?)(?::\d+)?(?::\d+)?: error: ")


class Failure(NamedTuple):
    """Why a module cannot be built.

    `heading` says what does not compile, and `by` for which target and with which compiler; both are empty if `text`
    says so itself. `unnamed_instances` are those of the CompileError.
    """

    heading: str
    by: str
    text: str
    unnamed_instances: tuple[str, ...] = ()

    def __str__(self) -> str:
        return "\n".join(filter(None, [self.heading, self.text]))


def merged(failures: Mapping[str, Failure]) -> list[str]:
    """Return the texts of the failures of modules, by name, with each diagnostic and each hint once.

    What is in one module only stands below the module's heading, what several share below a list of them.
    """
    modules: dict[str, dict[str, None]] = {}
    for name, failure in sorted(failures.items()):
        for part in _parts(failure.text) if failure.heading else [failure.text]:
            modules.setdefault(part, {})[name] = None
    groups: dict[tuple[str, ...], list[str]] = {}
    for part, names in modules.items():
        groups.setdefault(tuple(names), []).append(part)
    return [_group({name: failures[name] for name in names}, parts) for names, parts in groups.items()]


def _parts(text: str) -> list[str]:
    """Return the diagnostics in the text of a failure, and the notes and hints that follow them."""
    parts: list[str] = []
    for block in filter(None, text.split("\n\n")):
        lines = block.split("\n")
        ends = [index for index, line in enumerate(lines) if line.startswith(("help: ", "note: "))]
        first = ends[0] if ends else len(lines)
        parts += filter(None, ["\n".join(lines[:first]), *lines[first:]])
    return parts


def _group(sharing: Mapping[str, Failure], parts: Sequence[str]) -> str:
    hints = [part for part in parts if part.startswith(("note: ", "help: "))]
    diagnostics = "\n\n".join(part for part in parts if part not in hints)
    headings = list(dict.fromkeys(failure.heading for failure in sharing.values()))
    heading = headings[0]
    if len(headings) > 1:
        by = ", ".join(dict.fromkeys(failure.by for failure in sharing.values()))
        heading = f"{_modules(list(sharing))} (compiled {by}):"
    return "\n".join(filter(None, [heading, diagnostics, *hints]))


def _modules(names: Sequence[str]) -> str:
    more = ", ..." if len(names) > _SHOWN else ""
    return f"in {len(names)} modules: {', '.join(names[:_SHOWN])}{more}"


class CommonErrors:
    """Counts the errors in headers, to end a build early that fails in a header which all modules include."""

    def __init__(self) -> None:
        self._sources: dict[str, set[str]] = {}
        """The sources that fail with an error."""
        self._has_compiled = False

    def job_compiled(self) -> None:
        self._has_compiled = True

    def job_failed(self, text: str, source: str) -> None:
        errors = ((_ERROR.match(part), part) for part in _parts(text))
        for part in (part for match, part in errors if match and match[1] != source):
            self._sources.setdefault(part, set()).add(source)

    def reason_to_end(self, left: int) -> str:
        """Return why a build ends before `left` more modules are compiled; "" if it goes on."""
        common = max(map(len, self._sources.values()), default=0)
        if self._has_compiled or common < _ENOUGH or not left:
            return ""
        return f"{not_compiled(left)}: {common} sources fail alike in a header, and none has compiled."


def not_compiled(left: int) -> str:
    """Return the beginning of the reason why a build ends before `left` more modules are compiled."""
    return "1 more module was not compiled" if left == 1 else f"{left} more modules were not compiled"
