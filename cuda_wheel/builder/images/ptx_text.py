"""Read and rewrite PTX text for a build: bounds, what it leaves to others, the form that nvFatbin keeps verbatim."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping

from cuda_wheel.runtime.formats.ptx import ENTRY, VERSION
from cuda_wheel.runtime.manifest import Version

__all__ = [
    "bounds",
    "compiler_release",
    "definitions",
    "normalise",
    "place_errors",
    "relocate_files",
    "set_version",
    "undefined",
]


_EXTERN = re.compile(
    r"\.extern\s+(?P<declaration>\.(?P<space>func|global|const)\b\s*(?:\([^()]*\)\s*)?(?:\.(?!extern\b)\w+\s+(?:\d+\s+)?)*"
    r"(?P<symbol>[A-Za-z_$%][\w$]*).*)",
    re.DOTALL,
)


_UNSIZED = re.compile(r"\[ *\]")


SYSTEM_CALLS = frozenset({"vprintf", "malloc", "free", "__assertfail"})
"""Functions that the driver defines. Source: PTX Writer's Guide to Interoperability, "System Calls"."""


_PLACE = re.compile(r"ptxas [^\n]*?, line (\d+); (?:error|fatal)\s*: ")


_RELEASE = re.compile(r"^// Cuda compilation tools, release [\d.]+, V([\d.]+)", re.MULTILINE)


_STRING_OR_NOISE = re.compile(r'("(?:\\[^\n]|[^"\\\n])*"?)|(?:/\*.*?(?:\*/|\Z)|//[^\n]*|[ \t\r])+', re.DOTALL)
"""What is not closed ends with its line or the text: so each character is looked at once."""


_BOUND = re.compile(
    r"\.(maxntid|reqntid|minnctapersm|maxclusterrank|reqnctapercluster)\s+(\d{1,9}(?:\s*,\s*\d{1,9}){0,2})",
    re.ASCII,
)


_BOUND_NAMES = {
    "maxntid": "max_threads",
    "reqntid": "max_threads",
    "minnctapersm": "min_blocks",
    "maxclusterrank": "cluster_blocks",
    "reqnctapercluster": "cluster_blocks",
}
"""Source: PTX ISA, "Performance-Tuning Directives" and "Cluster Dimension Directives"."""


_FILE = re.compile(r'^([ \t]*\.file\s+\d+\s+")([^"\n]*)(")', re.MULTILINE)


def place_errors(log: str, source: str) -> str:
    """Return what the assembler says of a text with the place of each error: "k.ptx:9: error: ..."."""
    return _PLACE.sub(lambda match: f"{source}:{match[1]}: error: ", log)


def undefined(ptx: str) -> dict[str, str]:
    """Return what a text leaves to other modules, functions and variables: the declaration of each, without `.extern`,
    by symbol. Dynamic shared memory is not of that kind, nor are the functions that the driver defines."""
    statements = ptx.split(";")[:-1]
    return {
        match["symbol"]: " ".join(match["declaration"].split())
        for match in map(_EXTERN.search, statements)
        if match and match["symbol"] not in SYSTEM_CALLS
    }


def definitions(ptx: str, declarations: Iterable[str]) -> str:
    """Return a text for the same version and target as `ptx` that defines what these declare, to no purpose."""
    lines = [line for line in ptx.split("\n") if line.lstrip().startswith((".version", ".target", ".address_size"))][:3]
    for declaration in declarations:
        if declaration.startswith(".func"):
            lines.append(f".visible {declaration} {{ ret; }}")
        else:
            lines.append(f".visible {_UNSIZED.sub('[1]', declaration)};")
    return "\n".join(lines) + "\n"


def set_version(ptx: str, new: Version) -> str:
    """Return the text with its `.version` directive set to `new`."""
    return VERSION.sub(f".version {new[0]}.{new[1]}", ptx, count=1)


def compiler_release(ptx: str) -> str | None:
    """Return the exact release ("12.9.86") of the NVRTC that wrote the text, from its heading comment."""
    match = _RELEASE.search(ptx)
    return match and match[1]


def normalise(ptx: str) -> str:
    """Return the text without comments, blank lines, or more white space than tokens need.

    nvFatbin drops these anyhow; a text that lacks them is kept byte for byte, so that its place in the fatbin
    can be found.
    """
    text = _STRING_OR_NOISE.sub(lambda match: match[1] or " ", ptx.rstrip("\0"))
    lines = (line.strip() for line in text.split("\n"))
    # nvFatbin 12.9 drops the directive in the text's very first line, which would be `.version`.
    return "\n" + "\n".join(line for line in lines if line) + "\n"


def relocate_files(ptx: str, roots: Mapping[str, str]) -> str:
    """Return the text with every `.file` path that lies under a key of `roots` put under its value instead."""

    def relocate(match: re.Match[str]) -> str:
        path = match[2]
        for old in sorted(roots, key=len, reverse=True):
            if path.startswith(old + "/"):
                path = roots[old] + path[len(old) + 1 :]
                break
        return match[1] + path + match[3]

    return _FILE.sub(relocate, ptx)


def bounds(ptx: str) -> dict[str, dict[str, int]]:
    """Return the bounds that the source sets to kernels' launches, by symbol: "max_threads" in a block, "min_blocks" on
    a multiprocessor, "cluster_blocks"; nothing of a kernel without."""
    found = {}
    for entry in ENTRY.finditer(ptx):
        figures = {
            _BOUND_NAMES[match[1]]: math.prod(int(number) for number in match[2].split(","))
            for match in _BOUND.finditer(entry["directives"])
        }
        if figures:
            found[entry[1]] = figures
    return found
