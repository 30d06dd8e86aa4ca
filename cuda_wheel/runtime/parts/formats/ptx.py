"""Read PTX text: version, target, kernels and their parameters, variables, and the symbols shared with other files."""

import re
from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

from ...manifest import Parameter, Space, Version
from .cubin import Symbols

__all__ = [
    "ENTRY",
    "VERSION",
    "Prototype",
    "VariableDeclaration",
    "extern_declarations",
    "kernels",
    "plain",
    "prototypes",
    "symbols",
    "target",
    "variable_declarations",
    "variables",
    "version",
    "without_contraction",
]


VERSION = re.compile(r"^[ \t]*\.version\s+(\d{1,4})\.(\d{1,4})\b", re.MULTILINE)

_TARGET = re.compile(r"^[ \t]*\.target\s+sm_([1-9][0-9]{1,3}[af]?)\b", re.MULTILINE)

# Begins with a fixed word, so that searches are fast.
ENTRY = re.compile(
    r"\.entry(?<!\S\.entry)\s+([\w$.%]+)\s*(?:\((?P<params>(?:[^()]|\([^()]*\))*)\))?(?P<directives>[^{;]*)"
)
"""Matches a kernel up to its body, such as ".entry k(.param .u64 p) .maxntid 256". Groups: 1 is the symbol, `params`
the text between the parentheses, `directives` the text after them."""

_PARAM = re.compile(
    r"\.param\s+(?:\.align\s+(?P<align>\d{1,9})\s+)?\.(?P<type>[a-z]+\d{0,3})"
    r"(?P<attributes>(?:\s+\.(?!param)\w+(?:\s*\([^()]*\)|\s+\d+)?)*)"
    r"\s+[\w$.%]+\s*(?:\[(?P<count>\d{1,9})\])?"
)

# The ends of unclosed strings and comments match too, so that a search reads each character once.
_NOISE = re.compile(r'"(?:\\[^\n]|[^"\\\n])*"?|/\*.*?(?:\*/|\Z)|//[^\n]*', re.DOTALL)
"""Matches one string or comment. An unclosed string ends with its line, an unclosed comment with the text."""

_SHARED = re.compile(
    r"\.(?P<linkage>visible|extern|weak|common)\s+"
    r"(?P<directive>\.(?:func|entry|global|const|alias)\b)"
    r"(?P<rest>[^;{=]*)"
)
"""Matches the declaration or definition of a symbol that other files can see, up to its body or value, such as
".visible .func f(.param .b32 x)". Groups: `linkage` ("visible"), `directive` (".func"), `rest` (what follows)."""

_FUNCTION_NAME = re.compile(r"\s*(?:\.noreturn\s*)?(?:\([^()]*\)\s*)?(?:\.noreturn\s*)?(?P<name>[\w$%]+)")

_FUNCTION = re.compile(
    r"\.(?:visible|extern|weak)\s+\.func\s*(?:\.noreturn\s*)?(?:\((?P<returns>[^()]*)\)\s*)?(?P<name>[\w$%]+)\s*"
    r"(?:\((?P<takes>[^()]*)\))?"
)

_LAST_WORD = re.compile(r"(?:.*[^\w$%])?(?P<name>[\w$%]+)\s*\Z", re.DOTALL)

# Stops before the initialiser, which may be megabytes. The lookbehind rejects instructions such as `ld.global`.
_VARIABLE = re.compile(
    r"\.(?<![\w$%]\.)(?:(?P<linkage>visible|weak|common|extern)\s+\.)?(?P<space>global|const)\s+"
    r"(?P<attributes>(?:\.(?!global\b|const\b)\w+(?:\s*\((?:[^()]|\([^()]*\))*\))?\s+(?:\d+\s+)?)*)"
    r"(?P<symbol>[A-Za-z_$%][\w$]*)\s*(?P<counts>(?:\[\s*(?:\d{1,18}\s*)?\]\s*){0,16})(?P<end>[=;])"
)
"""Matches a variable's declaration up to its "=" or ";", such as ".visible .global .align 4 .f32 table[4] =".

Groups: `linkage` ("visible"), `space` ("global"), `attributes` (".align 4 .f32 "), `symbol`, `counts` ("[4]") and `end`
("=" or ";"). Source: PTX ISA, "Variables".
"""

_VARIABLE_TYPE = re.compile(r"\.(?:v(?P<lanes>\d)|[subf](?P<bits>\d{1,3})(?:x(?P<packed>\d))?)\b")

_CONTRACTIBLE = re.compile(
    _NOISE.pattern
    + r"|(?<![\w.$%])(?P<operation>add|sub|mul)(?P<rest>(?:\.ftz|\.sat)*\.(?:f16x2|f16|bf16x2|bf16|f32x2|f32|f64)\b)",
    re.DOTALL,
)
"""Matches a string, a comment, or the name of a floating-point add, sub or mul instruction without a rounding modifier.
Groups in "add.ftz.f32": `operation` ("add") and `rest` (".ftz.f32"). Both are None for a string or comment."""

_MANAGED = re.compile(r"\.attribute\s*\(.*\.managed\b")


def plain(ptx: str) -> str:
    """Return PTX with its comments and strings replaced by spaces."""
    return _NOISE.sub(" ", ptx)


def without_contraction(ptx: str) -> str:
    """Return PTX with `.rn`, the default rounding, in each floating-point add, sub and mul without a rounding modifier.

    Their results are the same, but no assembler may contract a product and a sum to one instruction, which would round
    once. Source: PTX ISA, "add", "sub" and "mul": instructions with a rounding modifier are not contracted.
    """
    return _CONTRACTIBLE.sub(
        lambda match: f"{match['operation']}.rn{match['rest']}" if match["operation"] else match[0], ptx
    )


def version(ptx: str) -> Version:
    """Return the PTX ISA version in the text's `.version` directive; raise ValueError without one."""
    match = VERSION.search(ptx)
    if match is None:
        raise ValueError("PTX without a .version directive")
    return int(match[1]), int(match[2])


def target(ptx: str) -> str:
    """Return the architecture in the text's `.target` directive, such as "90a"; raise ValueError without one."""
    match = _TARGET.search(ptx)
    if match is None:
        raise ValueError("PTX without a .target directive")
    return match[1]


def kernels(ptx: str) -> dict[str, tuple[Parameter, ...]]:
    """Return kernel symbol -> parameters, in the text's order.

    Of a parameter's C++ type, PTX states only that it is a pointer, and that only for some architectures.
    """
    return {match[1]: _parameters(match["params"] or "") for match in ENTRY.finditer(ptx)}


def symbols(ptx: str) -> Symbols:
    """Return the symbols that the text shares with other files. Source: PTX ISA, "Linking Directives".

    A symbol that is declared as `.extern`, but not used, is not in `undefined`.
    """
    text = plain(ptx)
    found: dict[str, set[str]] = {"visible": set(), "weak": set(), "common": set(), "extern": set()}
    for name, match in _shared(text):
        forward = match["directive"] == ".func" and text[match.end() : match.end() + 1] == ";"
        if match["linkage"] == "extern" or not forward:
            found[match["linkage"]].add(name)
    defined, weak = found["visible"], found["weak"] | found["common"]
    words = Counter(re.findall(r"[\w$%]+", text) if found["extern"] else ())
    used = {name for name in found["extern"] if words[name] > 1}
    return Symbols(frozenset(defined), frozenset(weak), frozenset(used - defined - weak))


def extern_declarations(ptx: str) -> dict[str, str]:
    """Return symbol -> declaration, without `.extern`, of each function and variable that another file defines.

    Extern shared memory is left out: its size is set at launch.
    """
    if ".extern" not in ptx:
        return {}
    return {
        name: " ".join(f"{match['directive']}{match['rest']}".split())
        for name, match in _shared(plain(ptx))
        if match["linkage"] == "extern" and match["directive"] in (".func", ".global", ".const")
    }


def _shared(text: str) -> Iterator[tuple[str, re.Match[str]]]:
    """Yield (symbol, match of `_SHARED`) for each declaration or definition that other files can see. `text` is PTX
    without comments."""
    for match in _SHARED.finditer(text):
        rest = match["rest"]
        if match["directive"] in (".func", ".entry"):
            name = _FUNCTION_NAME.match(rest)
        else:
            name = _LAST_WORD.match(rest.partition("[")[0])
        if name is not None:
            yield name["name"], match


class Prototype(NamedTuple):
    """Sizes in bytes of a function's return values and parameters."""

    returns: tuple[int, ...]
    takes: tuple[int, ...]

    def __str__(self) -> str:
        return f"({', '.join(map(str, self.takes))}) -> ({', '.join(map(str, self.returns))}) bytes"


def prototypes(ptx: str) -> dict[str, Prototype]:
    """Return symbol -> prototype of each function that is visible to other files or external."""
    found = {}
    for match in _FUNCTION.finditer(plain(ptx)):
        returns, takes = (tuple(each.size for each in _parameters(match[part] or "")) for part in ("returns", "takes"))
        found[match["name"]] = Prototype(returns, takes)
    return found


class VariableDeclaration(NamedTuple):
    """A variable in global, managed or constant memory, as declared; offsets are in characters of the text."""

    symbol: str
    linkage: str
    """Linkage of the variable: "visible", "weak", "common" or "extern"; "" if only this file can see the variable."""
    space: Space
    size: int
    """Size in bytes; 0 for a variable without a size, such as a texture reference."""
    start: int
    initialiser: int
    """Offset of the character after the declaration's "="; without an initialiser, the same as `end`."""
    end: int
    """Offset of the character after the declaration's semicolon."""


def variable_declarations(ptx: str) -> Iterator[VariableDeclaration]:
    """Yield the variables at file scope of PTX without comments, in the text's order."""
    at = 0
    # Each search starts behind the initialiser before it, so that no character is read twice.
    while match := _VARIABLE.search(ptx, at):
        at = match.end() if match["end"] == ";" else ptx.find(";", match.end()) + 1
        if not at:  # the text is damaged: this declaration has no end
            return
        space: Space = "constant" if match["space"] == "const" else "global"
        yield VariableDeclaration(
            symbol=match["symbol"],
            linkage=match["linkage"] or "",
            space="managed" if _MANAGED.search(match["attributes"]) else space,
            size=_variable_size(match, ptx, at),
            start=match.start(),
            initialiser=match.end(),
            end=at,
        )


def _variable_size(match: re.Match[str], ptx: str, end: int) -> int:
    """Return the size in bytes of the variable that `_VARIABLE` matched in `ptx`; 0 if its type or length is not
    stated. `end` is the offset after the declaration's semicolon."""
    size, lanes = 0, 1
    for word in _VARIABLE_TYPE.finditer(match["attributes"]):
        if word["lanes"]:
            lanes = int(word["lanes"])
        else:
            size = int(word["bits"]) * int(word["packed"] or 1) // 8
    for count in re.findall(r"\[\s*(\d*)\s*\]", match["counts"]):
        if count:
            size *= int(count)
        elif match["end"] == "=":  # the array has as many elements as its initialiser has values
            size *= ptx.count(",", match.end(), end) + 1
        else:
            return 0
    return size * lanes


def variables(ptx: str) -> dict[str, tuple[Space, int]]:
    """Return symbol -> (memory, size in bytes) of each variable that the text defines and other files can see."""
    return {
        each.symbol: (each.space, each.size)
        for each in variable_declarations(plain(ptx))
        if each.linkage not in ("", "extern") and each.size
    }


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
