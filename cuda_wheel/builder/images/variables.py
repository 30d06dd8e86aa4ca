"""Find the variables of a PTX text that a program may want to look up: those of the source, not of libraries. Leave out
those of libraries that nothing uses.

Every variable at file scope can be looked up, whatever its linkage: NVRTC makes them all private to the image, `static`
or not and used or not, and the driver finds them all the same. `extern` makes no difference either.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable
from functools import cache

from cuda_wheel.builder.cxx.demangle import signature
from cuda_wheel.runtime.manifest import GlobalInfo, Space

__all__ = [
    "identifier",
    "is_librarys",
    "variables",
    "without_unused",
]


_VARIABLE = re.compile(
    r"^(?:\.(?:visible|weak|common)\s+)?\.(?P<space>global|const)\s+"
    r"(?P<words>(?:\.(?!global\b|const\b)\w+(?:\s*\((?:[^()]|\([^()]*\))*\))?\s+(?:\d+\s+)?)*)"
    r"(?P<symbol>[A-Za-z_$%][\w$]*)\s*(?P<sizes>(?:\[\s*\d{0,18}\s*\]\s*){0,16})(?P<end>[=;])",
    re.MULTILINE,
)
"""A declaration in normal text, up to its initialiser, which may be megabytes. Source: PTX ISA, "Variables"."""


_TYPE = re.compile(r"\.(?:v(?P<lanes>\d)|[subf](?P<bits>\d{1,3})(?:x(?P<packed>\d))?)\b")


_COMPILERS = re.compile(r"\$|__unnamed_|__nv_|__cuda|__func__|__PRETTY_FUNCTION__|_ZT|_ZG")
"""How symbols of what the compiler adds begin: texts, tables of virtual functions, guards."""


_LIBRARIES = re.compile(r"(?:cuda|cuda_wheel_detail|cub|thrust|cooperative_groups|nvcuda|nv|std)::")
"""How the names of the variables of the toolkit's headers, CCCL's and our own begin."""


_WORD = re.compile(r"[A-Za-z_$%][\w$]*")


def variables(ptx: str) -> tuple[GlobalInfo, ...]:
    """Return the `__device__`, `__constant__` and `__managed__` variables of a normal PTX text, in its order."""
    found = []
    for match in _VARIABLE.finditer(ptx):
        symbol = match["symbol"]
        size = _size(match, ptx)
        if size == 0 or _COMPILERS.match(symbol) or is_librarys(symbol):
            continue
        space: Space = "constant" if match["space"] == "const" else "global"
        managed = re.search(r"\.attribute\s*\(.*\.managed\b", match["words"])
        found.append(GlobalInfo(signature(symbol).name, symbol, "managed" if managed else space, size))
    return tuple(found)


@cache
def is_librarys(symbol: str) -> bool:
    """Return whether a variable is one of the toolkit's headers, of CCCL's, or of ours, by its name."""
    name = signature(symbol).name
    return bool(_LIBRARIES.match(name)) or (name != symbol and name.startswith("__"))  # a header's: nobody else may


def identifier(name: str) -> str:
    """Return the word that declares a variable: "v" of "ns::v<other::type>"."""
    shorter = re.sub(r"<[^<>]*>", "", name)
    return name.rpartition("::")[2] if shorter == name else identifier(shorter)


def without_unused(ptx: str, is_librarys: Callable[[str], bool] = is_librarys) -> str:
    """Return a normal PTX text without those variables of libraries that nothing in it uses: of CCCL's there are
    hundreds in every text, each with a name that is longer than many a kernel.

    `is_librarys` tells them by their symbols.
    """
    found = {match["symbol"]: match for match in _VARIABLE.finditer(ptx)}
    unused = {symbol: match for symbol, match in found.items() if is_librarys(symbol)}
    uses = _uses(ptx, unused)
    ends: dict[str, int] = {}
    waiting = [symbol for symbol in unused if uses[symbol] == 1]
    while waiting:
        symbol = waiting.pop()
        match = unused[symbol]
        end = match.end() if match["end"] == ";" else ptx.find(";", match.end()) + 1
        if not end:  # of a damaged text, which the assembler refuses
            continue
        ends[symbol] = end + (ptx[end : end + 1] == "\n")
        for other in _WORD.findall(ptx, match.end(), end):  # an initialiser may take another one's address
            if other in unused and other != symbol:
                uses[other] -= 1
                if uses[other] == 1:
                    waiting.append(other)
    parts, at = [], 0
    for symbol, match in unused.items():
        if symbol in ends:
            parts.append(ptx[at : match.start()])
            at = max(at, ends[symbol])
    return "".join(parts) + ptx[at:]


def _uses(ptx: str, symbols: Iterable[str]) -> Counter[str]:
    """Return how often each symbol stands in a text."""
    wanted = frozenset(symbols)
    return Counter(word for word in _WORD.findall(ptx) if word in wanted) if wanted else Counter()


def _size(match: re.Match[str], ptx: str) -> int:
    """Return a variable's size in bytes; 0 for what has none, such as a texture reference."""
    size = 0
    lanes = 1
    for word in _TYPE.finditer(match["words"]):
        if word["lanes"]:
            lanes = int(word["lanes"])
        else:
            size = int(word["bits"]) * int(word["packed"] or 1) // 8
    for count in re.findall(r"\[\s*(\d*)\s*\]", match["sizes"]):
        if count:
            size *= int(count)
        elif match["end"] == "=":  # as many as there are values
            size *= ptx.count(",", match.end(), ptx.find(";", match.end())) + 1
        else:
            return 0
    return size * lanes
