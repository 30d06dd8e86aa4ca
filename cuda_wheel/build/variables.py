"""Find the variables of a PTX text that a program may want to look up: those of the source, not of libraries.

Every variable at file scope can be looked up, whatever its linkage: NVRTC makes them all private to the image, `static`
or not and used or not, and the driver finds them all the same. `extern` makes no difference either.
"""

from __future__ import annotations

import re

from cuda_wheel.build.mangled import signature
from cuda_wheel.manifest import GlobalInfo, Space

__all__ = ["variables"]

_VARIABLE = re.compile(
    r"^(?:\.(?:visible|weak|common)\s+)?\.(?P<space>global|const)\s+"
    r"(?P<words>(?:\.\w+(?:\s*\((?:[^()]|\([^()]*\))*\))?\s+(?:\d+\s+)?)*)"
    r"(?P<symbol>[A-Za-z_$%][\w$]*)\s*(?P<sizes>(?:\[\s*\d*\s*\]\s*)*)(?P<end>[=;])",
    re.MULTILINE,
)
"""A declaration in normal text, up to its initialiser, which may be megabytes. Source: PTX ISA, "Variables"."""
_TYPE = re.compile(r"\.(?:v(?P<lanes>\d)|[subf](?P<bits>\d+)(?:x(?P<packed>\d))?)\b")
_COMPILERS = re.compile(r"\$|__unnamed_|__nv_|__cuda|__func__|__PRETTY_FUNCTION__|_ZT|_ZG")
"""How symbols of what the compiler adds begin: texts, tables of virtual functions, guards."""
_LIBRARIES = re.compile(r"(?:cuda|cuda_wheel_detail|cub|thrust|cooperative_groups|nvcuda|nv|std)::")
"""How the names of the variables of the toolkit's headers, CCCL's and our own begin."""


def variables(ptx: str) -> tuple[GlobalInfo, ...]:
    """Return the `__device__`, `__constant__` and `__managed__` variables of a normal PTX text, in its order."""
    found = []
    for match in _VARIABLE.finditer(ptx):
        symbol = match["symbol"]
        size = _size(match, ptx)
        if size == 0 or _COMPILERS.match(symbol):
            continue
        name = signature(symbol).name
        if _LIBRARIES.match(name) or (name != symbol and name.startswith("__")):  # a header's: nobody else may
            continue
        space: Space = "constant" if match["space"] == "const" else "global"
        managed = re.search(r"\.attribute\s*\(.*\.managed\b", match["words"])
        found.append(GlobalInfo(name, symbol, "managed" if managed else space, size))
    return tuple(found)


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
