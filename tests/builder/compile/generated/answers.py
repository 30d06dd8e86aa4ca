"""Read from PTX what is compared: the kernels, and the numbers that show which definitions they use."""

from __future__ import annotations

import re

__all__ = ["answers"]

_ENTRY = re.compile(r"\.entry\s+([\w$]+)[^{;]*(?=\{)")
_FILE_ID = re.compile(r"_GLOBAL__N__[0-9a-f]{8}_")
"""In names of an anonymous namespace, nvcc writes a number that identifies the file; NVRTC writes zeros."""
_ANSWER = re.compile(r"(?<![\w%$.+])(?:\d{4,6}|0[fd][0-9A-Fa-f]{8,16})\b")
_DOUBLE = re.compile(r"\b(?:add|mul|fma|sub)\S*\.f64")


def answers(ptx: str) -> dict[str, list[str]]:
    """Return the numbers in the code of each kernel, sorted, by symbol; "f64" if it computes in double precision."""
    found = {}
    for match in _ENTRY.finditer(ptx):
        body = _block(ptx, match.end())
        numbers = set(_ANSWER.findall(body)) | ({"f64"} if _DOUBLE.search(body) else set())
        found[_FILE_ID.sub("_GLOBAL__N__00000000_", match[1])] = sorted(numbers)
    return found


def _block(text: str, start: int) -> str:
    """Return the block that the brace at `start` opens."""
    depth = 0
    for brace in re.compile(r"[{}]").finditer(text, start):
        depth += 1 if brace[0] == "{" else -1
        if depth == 0:
            return text[start : brace.end()]
    return text[start:]
