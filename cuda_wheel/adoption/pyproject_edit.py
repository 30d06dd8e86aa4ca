"""Edit a pyproject.toml and keep its form: comments, order, quotes and line ends.

Items are added to existing arrays with tomlkit. New tables go to the end, as text. What the result means is compared
with what it should mean before anything is written, because TOML can spell a table in ways to which none can be added.
"""

from __future__ import annotations

import copy
import re
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from cuda_wheel.builder.errors import ConfigError

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

__all__ = ["PyprojectEdit", "table_lines"]

Path = tuple[str, ...]
"""The keys that lead to a table or value."""


class PyprojectEdit:
    """A pyproject.toml that is being edited. The text must be valid TOML."""

    def __init__(self, text: str) -> None:
        self._newline = "\r\n" if "\r\n" in text else "\n"
        self._text = text.replace("\r\n", "\n")
        self.content: dict[str, Any] = tomllib.loads(self._text)

    def get(self, path: Path) -> Any:
        """Return the value at a path; None if there is none."""
        value: Any = self.content
        for key in path:
            value = value.get(key) if isinstance(value, dict) else None
        return value

    def text(self) -> str:
        """Return the text as edited, with its own line ends."""
        return self._text.replace("\n", self._newline)

    def add_item(self, path: Path, item: str) -> None:
        """Add a string to the array at a path, which is created in its table if missing. Raises ConfigError."""
        tomlkit = _tomlkit()
        document = tomlkit.parse(self._text)
        table: Any = document
        for key in path[:-1]:
            table = table[key]
        if path[-1] in table:
            array = table[path[-1]]
            literal = "'" in array.as_string() and '"' not in array.as_string()
            array.append(tomlkit.string(item, literal=literal))
        else:
            table[path[-1]] = [item]
        expected = copy.deepcopy(self.content)
        owner = _table_at(expected, path[:-1])
        owner[path[-1]] = [*owner.get(path[-1], []), item]
        self._accept(tomlkit.dumps(document), expected, path, f'"{item}"')

    def remove_item(self, path: Path, item: str) -> None:
        """Remove a string from the array at a path. Raises ConfigError."""
        tomlkit = _tomlkit()
        document = tomlkit.parse(self._text)
        table: Any = document
        for key in path[:-1]:
            table = table[key]
        table[path[-1]].remove(item)
        expected = copy.deepcopy(self.content)
        _table_at(expected, path[:-1])[path[-1]].remove(item)
        self._accept(tomlkit.dumps(document), expected, path, f'without "{item}"')

    def add_table(self, path: Path, values: Mapping[str, Any]) -> None:
        """Add a table at the end. Raises ConfigError."""
        self._add(path, f"[{_dotted(path)}]", values, lambda owner: owner.setdefault(path[-1], {}).update(values))

    def add_entry(self, path: Path, values: Mapping[str, Any]) -> None:
        """Add an entry to an array of tables, at the end. Raises ConfigError."""
        self._add(
            path, f"[[{_dotted(path)}]]", values, lambda owner: owner.setdefault(path[-1], []).append(dict(values))
        )

    def _add(self, path: Path, heading: str, values: Mapping[str, Any], change: Any) -> None:
        lines = "\n".join([heading, *table_lines(values)]) + "\n"
        expected = copy.deepcopy(self.content)
        change(_table_at(expected, path[:-1]))
        body = self._text.rstrip("\n")
        self._accept(f"{body}\n\n{lines}" if body else lines, expected, path, lines)

    def _accept(self, text: str, expected: Mapping[str, Any], path: Path, added: str) -> None:
        """Take the edited text if it means what it should."""
        try:
            found = tomllib.loads(text)
        except ValueError:
            found = {}
        if found != expected:
            raise ConfigError(
                f"pyproject.toml writes {_dotted(path[:-1])} in a form that cannot be extended. Nothing was written. "
                f"Add this to {_dotted(path)} yourself:\n{added}"
            )
        self._text, self.content = text, found


def _table_at(content: dict[str, Any], path: Path) -> dict[str, Any]:
    for key in path:
        content = content.setdefault(key, {})
    return content


def _tomlkit() -> Any:
    try:
        import tomlkit  # part of a toolchain's extra; users of a wheel do not have it
    except ImportError:
        raise ConfigError(
            'editing pyproject.toml needs tomlkit, which the extras install: pip install "cuda-wheel[cu12]", or '
            "pip install tomlkit."
        ) from None
    return tomlkit


# --- writing TOML -------------------------------------------------------------------------------------


def table_lines(values: Mapping[str, Any]) -> list[str]:
    """Return the lines of a table: a line for each key, or several for a long list."""
    return [_assignment(key, value) for key, value in values.items()]


def _assignment(key: str, value: Any) -> str:
    line = f"{_key(key)} = {_value(value)}"
    if isinstance(value, Sequence) and not isinstance(value, str) and len(line) > 100:
        return "\n".join([f"{_key(key)} = [", *(f"    {_value(each)}," for each in value), "]"])
    return line


def _dotted(path: Path) -> str:
    return ".".join(map(_key, path))


def _key(key: str) -> str:
    return key if re.fullmatch(r"[A-Za-z0-9_-]+", key) else _value(key)


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return '"' + re.sub(r'[\\"\x00-\x1f\x7f]', _escaped, value) + '"'
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{_key(key)} = {_value(each)}" for key, each in value.items()) + " }"
    if isinstance(value, Sequence):
        return f"[{', '.join(map(_value, value))}]"
    return str(value)


def _escaped(match: re.Match[str]) -> str:
    return f"\\{match[0]}" if match[0] in '\\"' else f"\\u{ord(match[0]):04x}"
