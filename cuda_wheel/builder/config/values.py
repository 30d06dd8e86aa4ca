"""Parse and check the values of `[tool.cuda-wheel]`.

Each parser takes a value and the name of its key, and raises ConfigError that names the key, the value found and the
valid values. C++ that a project hands over as a string is checked before a compiler sees it: the compiler reads the
name of an instance and the value of a macro as lines of its source, and one with a line break, a directive or the start
of a comment would change more than itself. `#include` could show any file in an error message.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from cuda_wheel.builder.config.architectures import HELP, split
from cuda_wheel.builder.config.compiler_options import read_options
from cuda_wheel.builder.config.names import HOOKED, WRAPPED, WRAPPER
from cuda_wheel.builder.errors import ConfigError
from cuda_wheel.runtime.parts.user_cache import parse_size

__all__ = [
    "ARCHITECTURES",
    "BACK_END",
    "COMPILER_OPTIONS",
    "FLAG",
    "MACROS",
    "NAME_EXPRESSIONS",
    "PTX_VERSION",
    "SECONDS",
    "SIZE",
    "STANDARD",
    "STANDARDS",
    "STRING",
    "STRINGS",
    "TABLES",
    "Architectures",
    "Kind",
    "T",
    "check_expression",
    "check_macro_value",
    "one_of",
    "some_of",
]


_TOKEN = re.compile(
    r"""
    (?P<raw> (?:u8|[uUL])? R " )
  | (?P<literal> \.?\d(?:'?[\w.]|(?<=[eEpP])[+-])* | (?:u8|[uUL])? (?: "(?:[^"\\]|\\.)*" | '(?:[^'\\]|\\.)+' ) )
  | (?P<other> [A-Za-z_$][\w$]* | . )
    """,
    re.ASCII | re.DOTALL | re.VERBOSE,
)
"""Matches one C++ token. The name of the group that matched is the token's kind. "raw": the start of a raw string.
"literal": a number, a string or a character literal. "other": a word or any other single character."""

_BRACKETS = {")": "(", "]": "[", "}": "{"}

_DIRECTIVE_WORDS = re.compile(r"_Pragma|__pragma|__has_(?:include|include_next|embed)")


def check_expression(text: str, where: str) -> None:
    """Raise ConfigError if a C++ name expression, such as "gemm<float, 16>", is not a single expression on one line."""
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
    """Raise ConfigError if the value of a macro is not printable, or could affect text after its own line, as the start
    of a comment does."""
    reason = _reason_against(text)
    if reason is not None:
        raise ConfigError(f"{where} must be one line of C++, and {text!r} has {reason}.")


def _reason_against(text: str) -> str | None:
    """Return the reason why a C++ text could change the meaning of later lines: "a comment" if a comment begins in it.
    Return None if there is no reason. The result completes an error message: "TEXT has a comment"."""
    if not text.isprintable():
        return "a line break or another character that is not printable"
    if "??" in text:
        return "??, which begins a trigraph"
    if any(token.lastgroup == "raw" for token in _TOKEN.finditer(text)):
        return "a raw string"  # which may end on another line
    rest = _without_literals(text)
    if "//" in rest or "/*" in rest:
        return "a comment"
    if '"' in rest or "'" in rest:
        return "a quotation mark without a second one"
    return "a backslash at its end" if rest.rstrip().endswith("\\") else None


def _without_literals(text: str) -> str:
    """Return a C++ text with "0" in place of each number, string and character literal: `f("a", 12)` -> `f(0, 0)`."""
    return "".join(token["other"] or "0" for token in _TOKEN.finditer(text))


def _is_balanced(text: str) -> bool:
    opened: list[str] = []
    for character in text:
        if character in "([{":
            opened.append(character)
        elif character in _BRACKETS and (not opened or opened.pop() != _BRACKETS[character]):
            return False
    return not opened


T = TypeVar("T")

Parse = Callable[[Any, str], T]


@dataclass(frozen=True)
class Kind(Generic[T]):
    """The type of a setting: the parser of its values, and their JSON schema, as exact as JSON schema can be."""

    parse: Parse[T]
    schema: dict[str, Any]


def _string(value: Any, where: str) -> str:
    if not isinstance(value, str):
        raise ConfigError(f"{where} must be a string, not {value!r}.")
    if not value.strip():
        raise ConfigError(f"{where} must be a string that is not empty, not {value!r}.")
    if "\0" in value:
        raise ConfigError(f"{where} must not contain a NUL character: {value!r}.")
    return value


STRING = Kind(_string, {"type": "string", "pattern": r"\S"})


def _strings(value: Any, where: str) -> tuple[str, ...]:
    if not isinstance(value, list):
        raise ConfigError(f"{where} must be a list of strings, not {value!r}.")
    return tuple(_string(item, f"{where}[{index}]") for index, item in enumerate(value))


STRINGS = Kind(_strings, {"type": "array", "items": STRING.schema})


_OBJECT = r"[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*)*"

_BACK_END = f"{_OBJECT}(:{_OBJECT})?"
"""Matches the name of a build back end, "module" or "module:object". Source: PEP 517."""


def _back_end(value: Any, where: str) -> str:
    name = _string(value, where)
    if not re.fullmatch(_BACK_END, name):
        module = next((each for each, package in WRAPPED.items() if package == name.lower()), "")
        meant = f'; the back end of that distribution is "{module}"' if module else ""
        raise ConfigError(f'{where} must be a build back end such as "uv_build", not {name!r}{meant}.')
    module = name.partition(":")[0]
    if module == WRAPPER:
        raise ConfigError(f"{where} must name the back end that {WRAPPER} wraps, not {WRAPPER} itself.")
    if module in HOOKED:
        raise ConfigError(
            f"{where}: cuda-wheel has a hook for {module}, which needs no wrapper: set build-system.build-backend to "
            f'"{name}" and remove this key. `cuda-wheel init` then adds what is missing.'
        )
    return name


_REFUSED = "|".join(map(re.escape, (WRAPPER, *HOOKED)))

BACK_END = Kind(_back_end, {"type": "string", "pattern": f"^(?!({_REFUSED})(:|$)){_BACK_END}$"})


def _name_expressions(value: Any, where: str) -> tuple[str, ...]:
    names = _strings(value, where)
    for index, name in enumerate(names):
        check_expression(name, f"{where}[{index}]")
    return names


NAME_EXPRESSIONS = Kind(_name_expressions, STRINGS.schema)


def _flag(value: Any, where: str) -> bool:
    if not isinstance(value, bool):
        raise ConfigError(f"{where} must be true or false, not {value!r}.")
    return value


FLAG = Kind(_flag, {"type": "boolean"})


def one_of(*choices: str) -> Kind[str]:
    """Return the kind of a string that must be one of `choices`."""

    def parse(value: Any, where: str) -> str:
        if value not in choices:
            raise ConfigError(f"{where} must be {_listed(choices)}, not {value!r}.")
        return str(value)

    return Kind(parse, {"enum": list(choices)})


def some_of(*choices: str) -> Kind[tuple[str, ...]]:
    """Return the kind of a list of strings, each of which must be one of `choices`."""
    one = one_of(*choices)

    def parse(value: Any, where: str) -> tuple[str, ...]:
        return tuple(one.parse(each, f"each of {where}") for each in _strings(value, where))

    return Kind(parse, {"type": "array", "items": one.schema})


def _listed(choices: tuple[str, ...]) -> str:
    quoted = [f'"{choice}"' for choice in choices]
    return quoted[0] if len(quoted) == 1 else f"{', '.join(quoted[:-1])} or {quoted[-1]}"


STANDARDS = ("c++03", "c++11", "c++14", "c++17", "c++20", "c++23", "c++26")
"""C++ standards that the setting `std` may name. A release of NVRTC compiles only some of them."""

STANDARD = one_of(*STANDARDS)


def _ptx_version(value: Any, where: str) -> str:
    if value not in ("auto", "as-compiled") and not (
        isinstance(value, str) and re.fullmatch(r"[0-9]{1,2}\.[0-9]", value)
    ):
        raise ConfigError(f'{where} must be "auto", "as-compiled" or a PTX ISA version such as "8.0", not {value!r}.')
    return str(value)


PTX_VERSION = Kind(_ptx_version, {"type": "string", "pattern": r"^(auto|as-compiled|[0-9]{1,2}\.[0-9])$"})


def _seconds(value: Any, where: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < 1e6:
        raise ConfigError(f"{where} must be a number of seconds above 0 and below 1000000, not {value!r}.")
    return float(value)


SECONDS = Kind(_seconds, {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1_000_000})


def _size(value: Any, where: str) -> int:
    if not isinstance(value, str) or not re.fullmatch(r"[0-9]{1,12}\s*[MGT]iB", value):
        raise ConfigError(f'{where} must be an amount of memory such as "8GiB", not {value!r}.')
    amount = parse_size(value)
    if not 1 << 30 <= amount <= 1 << 60:
        raise ConfigError(
            f"{where} must be at least 1GiB, which the compiler itself needs, and at most 1048576TiB, not {value!r}."
        )
    return amount


SIZE = Kind(_size, {"type": "string", "pattern": r"^0*[1-9]\d*\s*(MiB|GiB|TiB)$"})


def _macros(value: Any, where: str) -> tuple[tuple[str, str], ...]:
    if not isinstance(value, dict):
        raise ConfigError(f"{where} must be a table of macros such as {{ BLOCK = 256 }}, not {value!r}.")
    for name, content in value.items():
        if not re.fullmatch(r"[A-Za-z_]\w*", name, re.ASCII):
            raise ConfigError(f"{where}: {name!r} is not a macro name: use letters, digits and underscores.")
        if not isinstance(content, str | int | float):
            raise ConfigError(f"{where}.{name} must be a string, a number, true or false, not {content!r}.")
        check_macro_value(str(content), f"{where}.{name}")
    return tuple((name, str(int(c)) if isinstance(c, bool) else str(c)) for name, c in sorted(value.items()))


MACROS = Kind(
    _macros,
    {
        "type": "object",
        "propertyNames": {"pattern": r"^[A-Za-z_][A-Za-z0-9_]*$"},
        "additionalProperties": {"type": ["string", "number", "boolean"]},
    },
)


def _compiler_options(value: Any, where: str) -> tuple[str, ...]:
    options = _strings(value, where)
    for index, option in enumerate(options):
        if any(ord(character) < 32 for character in option):
            raise ConfigError(f"{where}[{index}] must be one line, not {option!r}.")
    read_options(options, where)
    return options


COMPILER_OPTIONS = Kind(_compiler_options, STRINGS.schema)


@dataclass(frozen=True)
class Architectures:
    """The architectures to compile for, and where they are written: a key of the table, or an environment variable."""

    entries: tuple[str, ...]
    where: str
    note: str = ""
    """Message about the environment variable CUDAARCHS: which architectures it replaces, and which ones it keeps. "" if
    CUDAARCHS is not set or names the same architectures."""


def _architectures(value: Any, where: str) -> Architectures:
    if isinstance(value, str):
        return Architectures(tuple(split(value)), where)
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise ConfigError(f"{where} must be a string or a list of strings, not {value!r}. {HELP}")
    return Architectures(tuple(entry for item in value for entry in split(item)), where)


ARCHITECTURES = Kind(_architectures, {"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]})


def _tables(value: Any, where: str) -> Any:
    if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
        raise ConfigError(f"{where} must be an array of tables, not {value!r}: write [[{where}]].")
    return tuple(value)


TABLES: Kind[Any] = Kind(_tables, {"type": "array", "items": {"type": "object"}})
"""Parser and JSON schema of an array of tables. The parser only checks that the value is an array of tables:
`Config.from_table` reads each table."""
