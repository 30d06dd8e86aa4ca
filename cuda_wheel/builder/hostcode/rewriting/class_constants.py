"""Make constants of a class `constexpr` where NVRTC asks for it: `static const float half = 0.5f;`.

GCC and nvcc accept the initializer of such a member if its type is no integer; standard C++ asks for `constexpr`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from cuda_wheel.builder.hostcode.blocks import SourceBlocks
from cuda_wheel.builder.hostcode.constants import Replacement
from cuda_wheel.builder.hostcode.own_files import RefusedCode

__all__ = ["ClassConstants", "is_class_constant_error"]

_ERROR = re.compile(r'a member of type "const (?:float|double|long double)" cannot have an in-class initializer')


def is_class_constant_error(message: str) -> bool:
    """Return whether an error is about a constant of a class that is no integer."""
    return _ERROR.fullmatch(message) is not None


class ClassConstants:
    """The constants of classes in a project's files that the compiler refuses."""

    def __init__(self, files: Mapping[str, SourceBlocks]) -> None:
        self._files = files
        self._found: dict[str, dict[int, Replacement]] = {}

    def rewrite(self, errors: Iterable[RefusedCode]) -> bool:
        """Rewrite the constants that errors are about; return False if none is new."""
        is_new = False
        for file, line, column, message, _ in errors:
            if not is_class_constant_error(message) or file not in self._files:
                continue
            around = self._files[file].definition_at(self._files[file].offset(line, column))
            for token in around.tokens if around is not None and around.in_class else ():
                if token.text == "const" and token.start not in self._found.setdefault(file, {}):
                    self._found[file][token.start] = (token.start, token.end, b"constexpr")
                    is_new = True
        return is_new

    def replacements(self) -> dict[str, list[Replacement]]:
        """Return what to replace in each file."""
        return {file: list(found.values()) for file, found in self._found.items()}
