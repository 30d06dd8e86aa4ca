"""Write messages about settings in terms of the CMake call, whose arguments the settings are."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from cuda_wheel.builder.errors import CompileError, ConfigError

__all__ = ["FUNCTION", "CMakeCall"]

FUNCTION = "cuda_wheel_add_module"

_KEYS = (
    *("sources", "architectures", "include-dirs", "defines", "options", "std", "instantiate", "instances", "link"),
    *("host-code", "extern", "extern-default", "relocatable", "system-include-dirs", "missing-headers"),
)
_ARGUMENTS = {key: key.upper().replace("-", "_").replace("_DIRS", "_DIRECTORIES") for key in _KEYS}
_PLACES = _ARGUMENTS | {"architectures": "ARCHITECTURES (or CMAKE_CUDA_ARCHITECTURES)"}
_KEY = "(" + "|".join(sorted(_KEYS, key=len, reverse=True)) + r")\b"

_DIAGNOSTIC = re.compile(r"  |.*: (?:error|warning): ")
"""Matches the compiler's lines and those that show code."""


class CMakeCall(NamedTuple):
    """A call of the CMake function: the file that contains it, its target, and the keys that its arguments set."""

    file: str
    target: str
    keys: Collection[str]

    @classmethod
    def of(cls, request: Mapping[str, Any]) -> CMakeCall:
        """Return the call that recorded a module's settings."""
        target = request["module"]["name"].rpartition(".")[2]
        root = Path(request["root"])
        file = Path(request.get("file", root / "CMakeLists.txt"))
        shown = file.relative_to(root) if file.is_relative_to(root) else file
        return cls(shown.as_posix(), target, request["module"].keys())

    def __str__(self) -> str:
        return f"{self.file}: {FUNCTION}(TARGET {self.target})"

    @contextmanager
    def named_in_errors(self) -> Iterator[None]:
        """Raise ConfigError and CompileError in terms of the call."""
        try:
            yield
        except ConfigError as error:
            text = self.in_its_terms(str(error))
            raise ConfigError(text if "tool.cuda-wheel" in text else f"{self}: {text}") from None
        except CompileError as error:
            raise CompileError(self.in_its_terms(str(error))) from None

    def in_its_terms(self, text: str) -> str:
        """Return a message with the call's arguments in place of keys of pyproject.toml, and with no change to code."""
        text = re.sub(r'\[\[tool\.cuda-wheel\.module\]\]\nname = "[^"]*"\n', "", text)
        return "\n".join(line if _DIAGNOSTIC.match(line) else self._line(line) for line in text.split("\n"))

    def _line(self, line: str) -> str:
        rules: tuple[tuple[str, Callable[[re.Match[str]], str]], ...] = (
            (rf"(?:tool\.cuda-wheel\.module\[\d+\]|the module [\w.]+)\.{_KEY}", lambda match: _PLACES[match[1]]),
            (rf"tool\.cuda-wheel\.{_KEY}", lambda match: _ARGUMENTS[match[1]] if match[1] in self.keys else match[0]),
            (r"\[\[tool\.cuda-wheel\.module\]\](?: table)?", lambda match: f"call of {FUNCTION}"),
            (rf'(?<![\w.-]){_KEY} ?= ?("[^"]*"|\[[^\]]*\]|true)', _assigned),
            (rf"(?<=\bthe key ){_KEY}", lambda match: _ARGUMENTS[match[1]]),
            (r"\bfrom std, defines or options\b", lambda match: "from STD, DEFINES or OPTIONS"),
            (
                r"(?<![\w.-])(system-include-dirs|include-dirs|missing-headers|extern-default|host-code|instantiate)\b",
                lambda match: _ARGUMENTS[match[1]],
            ),
        )
        for pattern, new in rules:
            line = re.sub(pattern, new, line)
        return line


def _assigned(match: re.Match[str]) -> str:
    """Return a key and its value in TOML as an argument and its values in CMake."""
    values = re.findall(r'"([^"]*)"', match[2])
    quoted = (f'"{value}"' if re.search(r"[\s;<>()]", value) else value for value in values)
    return " ".join([_ARGUMENTS[match[1]], *quoted])
