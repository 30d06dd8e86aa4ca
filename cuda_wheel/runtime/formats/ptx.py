"""Read PTX text: version, target, kernels and their parameters, what it defines and what it asks for."""

import math
import re
from collections import Counter
from typing import NamedTuple

from ..manifest import Parameter, Space, Version

__all__ = [
    "ENTRY",
    "VERSION",
    "Prototype",
    "Symbols",
    "kernels",
    "prototypes",
    "symbols",
    "target",
    "variables",
    "version",
]


VERSION = re.compile(r"^[ \t]*\.version\s+(\d{1,4})\.(\d{1,4})\b", re.MULTILINE)


_TARGET = re.compile(r"^[ \t]*\.target\s+sm_([1-9][0-9]{1,3}[af]?)\b", re.MULTILINE)


ENTRY = re.compile(r"(?:^|\s)\.entry\s+([\w$.%]+)\s*(?:\((?P<params>(?:[^()]|\([^()]*\))*)\))?(?P<directives>[^{;]*)")
"""A kernel up to its body: name, parameters, directives."""


_PARAM = re.compile(
    r"\.param\s+(?:\.align\s+(?P<align>\d{1,9})\s+)?\.(?P<type>[a-z]+\d{0,3})"
    r"(?P<attributes>(?:\s+\.(?!param)\w+(?:\s*\([^()]*\)|\s+\d+)?)*)"
    r"\s+[\w$.%]+\s*(?:\[(?P<count>\d{1,9})\])?"
)


# What is not closed ends with its line or the text: so each character is looked at once.
_NOISE = re.compile(r'"(?:\\[^\n]|[^"\\\n])*"?|/\*.*?(?:\*/|\Z)|//[^\n]*', re.DOTALL)


_LINKED = re.compile(
    r"\.(?P<linking>visible|extern|weak|common)\s+"
    r"(?P<what>\.(?:func|entry|global|const|alias)\b)"
    r"(?P<head>[^;{=]*)"
)


_FUNCTION_NAME = re.compile(r"\s*(?:\.noreturn\s*)?(?:\([^()]*\)\s*)?(?:\.noreturn\s*)?(?P<name>[\w$%]+)")


_FUNCTION = re.compile(
    r"\.(?:visible|extern|weak)\s+\.func\s*(?:\.noreturn\s*)?(?:\((?P<returns>[^()]*)\)\s*)?(?P<name>[\w$%]+)\s*"
    r"(?:\((?P<takes>[^()]*)\))?"
)


_LAST_WORD = re.compile(r"(?:.*[^\w$%])?(?P<name>[\w$%]+)\s*\Z", re.DOTALL)


_VARIABLE = re.compile(
    r"\.(?:visible|weak|common)\s+\.(?P<space>global|const)"
    r"(?:\s+\.(?:align\s+\d+|attribute\s*\((?:[^()]|\([^()]*\))*\)))*"
    r"\s+\.(?P<type>[bsuf]\d{1,3})\s+(?P<name>[\w$%]+)\s*(?P<counts>(?:\[\d{1,18}\]\s*){0,16})[=;]"
)


class Symbols(NamedTuple):
    """What a text defines for others, what it defines unless others do, and what others have to define."""

    defined: frozenset[str]
    weak: frozenset[str]
    wanted: frozenset[str]


def plain(ptx: str) -> str:
    """Return a text without what an assembler does not read: comments; nor texts, which mean nothing here."""
    return _NOISE.sub(" ", ptx)


def version(ptx: str) -> Version:
    """Return the PTX ISA version that the text declares; ValueError where it declares none."""
    match = VERSION.search(ptx)
    if match is None:
        raise ValueError("PTX without a .version directive")
    return int(match[1]), int(match[2])


def target(ptx: str) -> str:
    """Return the architecture that the text is for, such as "90a"; ValueError where it declares none."""
    match = _TARGET.search(ptx)
    if match is None:
        raise ValueError("PTX without a .target directive")
    return match[1]


def kernels(ptx: str) -> dict[str, tuple[Parameter, ...]]:
    """Return each kernel's symbol and parameters, in the text's order.

    Of a parameter's C++ type the text says at most that it is a pointer, and that for some architectures only.
    """
    return {match[1]: _parameters(match["params"] or "") for match in ENTRY.finditer(ptx)}


def symbols(ptx: str) -> Symbols:
    """Return the symbols that the text shares with others.

    Source: PTX ISA, "Linking Directives". What it declares and never mentions again counts as not asked for.
    """
    text = _NOISE.sub(" ", ptx)
    found: dict[str, set[str]] = {"visible": set(), "weak": set(), "common": set(), "extern": set()}
    for match in _LINKED.finditer(text):
        head = match["head"]
        of_function = match["what"] in (".func", ".entry")
        name = _FUNCTION_NAME.match(head) if of_function else _LAST_WORD.match(head.partition("[")[0])
        if name is None:
            continue
        body = text[match.end() : match.end() + 1]
        linking = match["linking"]
        if linking != "extern" and match["what"] == ".func" and body == ";":  # declared ahead of its definition
            continue
        found[linking].add(name["name"])
    defined, weak = found["visible"], found["weak"] | found["common"]
    words = Counter(re.findall(r"[\w$%]+", text) if found["extern"] else ())
    asked = {name for name in found["extern"] if words[name] > 1}
    return Symbols(frozenset(defined), frozenset(weak), frozenset(asked - defined - weak))


class Prototype(NamedTuple):
    """The sizes in bytes of what a function returns and takes."""

    returns: tuple[int, ...]
    takes: tuple[int, ...]

    def __str__(self) -> str:
        return f"({', '.join(map(str, self.takes))}) -> ({', '.join(map(str, self.returns))}) bytes"


def prototypes(ptx: str) -> dict[str, Prototype]:
    """Return the prototypes of the functions that the text shares with others, by symbol: those that it defines, and
    those that it asks for."""
    found = {}
    for match in _FUNCTION.finditer(_NOISE.sub(" ", ptx)):
        returns, takes = (tuple(each.size for each in _parameters(match[part] or "")) for part in ("returns", "takes"))
        found[match["name"]] = Prototype(returns, takes)
    return found


def variables(ptx: str) -> dict[str, tuple[Space, int]]:
    """Return the variables that the text defines for others: in which memory, and their size in bytes."""
    found: dict[str, tuple[Space, int]] = {}
    for match in _VARIABLE.finditer(_NOISE.sub(" ", ptx)):
        space: Space = "constant" if match["space"] == "const" else "global"
        count = math.prod(int(number) for number in re.findall(r"\d+", match["counts"]))
        found[match["name"]] = space, int(re.sub(r"\D", "", match["type"])) // 8 * count
    return found


def _parameters(text: str) -> tuple[Parameter, ...]:
    parameters = []
    offset = 0
    for match in _PARAM.finditer(text):
        width = max(int(re.sub(r"\D", "", match["type"]) or 8) // 8, 1)
        size = width * int(match["count"] or 1)
        align = int(match["align"] or 0) or width
        offset = -(-offset // align) * align
        pointer = ".ptr" in match["attributes"].split()
        parameters.append(Parameter(match["type"], offset, size, "void*" if pointer else ""))
        offset += size
    return tuple(parameters)
