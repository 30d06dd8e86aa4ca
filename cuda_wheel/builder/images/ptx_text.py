"""Rewrite PTX text for a build, and read what only a build asks of it."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping

from cuda_wheel.runtime.formats.ptx import ENTRY, VERSION, extern_declarations
from cuda_wheel.runtime.manifest import Version

__all__ = [
    "compiler_release",
    "launch_bounds",
    "normalise",
    "relocate_files",
    "set_version",
    "stub_definitions",
    "undefined",
]

_UNSIZED = re.compile(r"\[ *\]")

SYSTEM_CALLS = frozenset({"vprintf", "malloc", "free", "__assertfail"})
"""Functions that the driver defines. Source: PTX Writer's Guide to Interoperability, "System Calls"."""

_RELEASE = re.compile(r"^// Cuda compilation tools, release [\d.]+, V([\d.]+)", re.MULTILINE)

_STRING_OR_NOISE = re.compile(r'("(?:\\[^\n]|[^"\\\n])*"?)|(?:/\*.*?(?:\*/|\Z)|//[^\n]*|[ \t\r])+', re.DOTALL)
"""A string, or white space and comments. One that is not closed ends with its line or the text, so that each character
is read once."""

_LINE_COMMENT = re.compile(r"//[^\n]*")

_STRING = re.compile(r'"[^"\n]*"?')

_UNUSUAL = re.compile(r"[^\t\n\r -~]")
"""A character that compilers do not write; some are white space."""

_NOISE_IN_STRINGS = ("\t", "\r", "  ", "//", "\\")
"""What a string may contain that is noise elsewhere, or that does not end it."""

_NOISE = ("\t", "\r", "  ", "//", "/*", "\n\n", "\n ", " \n")
"""What a normal text does not contain, but in strings."""

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


def undefined(ptx: str) -> dict[str, str]:
    """Return the declarations of the functions and variables that another module must define, by symbol.

    Functions that the driver defines are left out.
    """
    return {
        symbol: declaration for symbol, declaration in extern_declarations(ptx).items() if symbol not in SYSTEM_CALLS
    }


def stub_definitions(ptx: str, declarations: Iterable[str]) -> str:
    """Return a PTX text that defines what these declarations declare: functions without effect, zeroed variables.

    Its version and target are those of `ptx`.
    """
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
    """Return the exact release ("12.9.86") of the NVRTC that wrote the text, from its first comment."""
    match = _RELEASE.search(ptx)
    return match and match[1]


def normalise(ptx: str) -> str:
    """Return the text without comments, blank lines, and white space that separates no tokens.

    nvFatbin removes these anyway. It keeps a text without them byte for byte, so that a search finds the text in the
    fatbin.
    """
    if ptx.startswith("\n") and ptx.endswith("\n") and not any(each in ptx for each in _NOISE):
        return ptx  # several steps of a build want normal text
    ptx = ptx.rstrip("\0")
    return _quickly_normalised(ptx) if _is_plain(ptx) else _normalised(ptx)


def _is_plain(ptx: str) -> bool:
    """Return whether only comments contain "//", and strings nothing that is noise elsewhere."""
    if "/*" in ptx or _UNUSUAL.search(ptx) or any('"' in comment for comment in _LINE_COMMENT.findall(ptx)):
        return False
    return not any(each in string for string in _STRING.findall(ptx) for each in _NOISE_IN_STRINGS)


def _normalised(ptx: str) -> str:
    text = _STRING_OR_NOISE.sub(lambda match: match[1] or " ", ptx)
    lines = (line.strip() for line in text.split("\n"))
    # nvFatbin 12.9 drops a directive in the first line of the text, which would be `.version`.
    return "\n" + "\n".join(line for line in lines if line) + "\n"


def _quickly_normalised(ptx: str) -> str:
    """Do the work of `_normalised` in a third of the time, for a text that `_is_plain`."""
    text = f"\n{_LINE_COMMENT.sub('', ptx)}\n".replace("\t", " ").replace("\r", " ")
    for noise, rest in ("  ", " "), ("\n ", "\n"), (" \n", "\n"), ("\n\n", "\n"):
        while noise in text:
            text = text.replace(noise, rest)
    return text if text != "\n" else "\n\n"


def relocate_files(ptx: str, roots: Mapping[str, str]) -> str:
    """Return the text with each `.file` path below a folder of `roots` moved to the folder's replacement there."""

    def relocate(match: re.Match[str]) -> str:
        path = match[2]
        for old in sorted(roots, key=len, reverse=True):
            if path.startswith(old + "/"):
                path = roots[old] + path[len(old) + 1 :]
                break
        return match[1] + path + match[3]

    return _FILE.sub(relocate, ptx)


def launch_bounds(ptx: str) -> dict[str, dict[str, int]]:
    """Return the launch bounds of each kernel that has any, by symbol.

    They are "max_threads" of a block, "min_blocks" of a multiprocessor, and "cluster_blocks".
    """
    found = {}
    for entry in ENTRY.finditer(ptx):
        bounds = {
            _BOUND_NAMES[match[1]]: math.prod(int(number) for number in match[2].split(","))
            for match in _BOUND.finditer(entry["directives"])
        }
        if bounds:
            found[entry[1]] = bounds
    return found
