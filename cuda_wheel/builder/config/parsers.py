"""Parse the values of `[tool.cuda-wheel]`, each with the key's name for messages."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from cuda_wheel.builder.config.architectures import HELP, split
from cuda_wheel.builder.errors import ConfigError

__all__ = [
    "Architectures",
    "architectures",
    "choice",
    "flag",
    "macros",
    "options",
    "seconds",
    "size",
    "standard",
    "text",
    "texts",
    "version",
]


T = TypeVar("T")


Parse = Callable[[Any, str], T]


Schema = dict[str, Any]


def text(value: Any, where: str) -> str:
    if not isinstance(value, str) or not value.strip():
        raise ConfigError(f"{where} must be a text, not {value!r}.")
    if "\0" in value:
        raise ConfigError(f"{where} must not hold a NUL: {value!r}.")
    return value


def flag(value: Any, where: str) -> bool:
    if not isinstance(value, bool):
        raise ConfigError(f"{where} must be true or false, not {value!r}.")
    return value


def texts(value: Any, where: str) -> tuple[str, ...]:
    if not isinstance(value, list):
        raise ConfigError(f"{where} must be a list of texts, not {value!r}.")
    return tuple(text(item, f"{where}[{index}]") for index, item in enumerate(value))


def choice(*choices: str) -> Parse[str]:
    def parse(value: Any, where: str) -> str:
        if value not in choices:
            raise ConfigError(f"{where} must be {_listed(choices)}, not {value!r}.")
        return str(value)

    return parse


def _listed(choices: tuple[str, ...]) -> str:
    quoted = [f'"{choice}"' for choice in choices]
    return quoted[0] if len(quoted) == 1 else f"{', '.join(quoted[:-1])} or {quoted[-1]}"


def standard(value: Any, where: str) -> str:
    if not isinstance(value, str) or not re.fullmatch(r"c\+\+[0-9]{2}", value):
        raise ConfigError(f'{where} must be a C++ standard such as "c++17", not {value!r}.')
    return value


def version(value: Any, where: str) -> str:
    if value not in ("auto", "as-compiled") and not (
        isinstance(value, str) and re.fullmatch(r"[0-9]{1,2}\.[0-9]", value)
    ):
        raise ConfigError(f'{where} must be "auto", "as-compiled" or a PTX ISA version such as "8.0", not {value!r}.')
    return str(value)


def seconds(value: Any, where: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < 1e6:
        raise ConfigError(f"{where} must be a number of seconds above 0, not {value!r}.")
    return float(value)


def size(value: Any, where: str) -> int:
    match = re.fullmatch(r"([0-9]{1,12})\s*(MiB|GiB|TiB)", value) if isinstance(value, str) else None
    if match is None:
        raise ConfigError(f'{where} must be an amount of memory such as "8GiB", not {value!r}.')
    amount = int(match[1]) << {"MiB": 20, "GiB": 30, "TiB": 40}[match[2]]
    if not 1 << 30 <= amount <= 1 << 60:
        raise ConfigError(f"{where} must be at least 1GiB, which the compiler itself needs, not {value!r}.")
    return amount


def macros(value: Any, where: str) -> tuple[tuple[str, str], ...]:
    if not isinstance(value, dict):
        raise ConfigError(f"{where} must be a table of macros such as {{ BLOCK = 256 }}, not {value!r}.")
    for name, content in value.items():
        if not re.fullmatch(r"[A-Za-z_]\w*", name, re.ASCII):
            raise ConfigError(f"{where}: {name!r} is not a macro's name.")
        if not isinstance(content, str | int | float) or "\0" in str(content):
            raise ConfigError(f"{where}.{name} must be a text, a number, true or false, not {content!r}.")
    return tuple((name, str(int(c)) if isinstance(c, bool) else str(c)) for name, c in sorted(value.items()))


_WRITING = (
    "--pch",
    "-pch",
    "--create-pch",
    "-create-pch",
    "--time",
    "-time",
    "--fdevice-time-trace",
    "-fdevice-time-trace",
)
"""Options that make the compiler write files, which would land among the sources."""


_OWN_OPTIONS = {
    "architectures": ("-arch", "--gpu-architecture"),
    "std": ("-std", "--std"),
    "lineinfo": ("-lineinfo", "--generate-line-info"),
    "link": ("-rdc", "--relocatable-device-code", "-dc", "--device-c", "-dlto", "--dlink-time-opt"),
}


def options(value: Any, where: str) -> tuple[str, ...]:
    options = texts(value, where)
    for option in options:
        flag = option.partition("=")[0]
        if flag in _WRITING:
            raise ConfigError(f"{where}: {option!r} makes the compiler write a file into the project; leave it out.")
        for key, names in _OWN_OPTIONS.items():
            if flag in names:
                raise ConfigError(f"{where}: {option!r} is set by the key {key}; use that.")
    return options


@dataclass(frozen=True)
class Architectures:
    """The architectures as written, and where they were: a key of the table, or an environment variable."""

    entries: tuple[str, ...]
    where: str


def architectures(value: Any, where: str) -> Architectures:
    if isinstance(value, str):
        return Architectures(tuple(split(value)), where)
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise ConfigError(f"{where} must be a text or a list of texts, not {value!r}. {HELP}")
    return Architectures(tuple(entry for item in value for entry in split(item)), where)


TEXT: Schema = {"type": "string", "pattern": r"\S"}


TEXTS: Schema = {"type": "array", "items": TEXT}


FLAG: Schema = {"type": "boolean"}
