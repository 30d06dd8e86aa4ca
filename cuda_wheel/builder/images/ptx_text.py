"""Read and rewrite PTX text for a build: its declarations, its version, and which kernels it contains.

Removing a kernel also removes the functions and variables that only removed kernels use.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import NamedTuple

from cuda_wheel.builder.cxx.demangling import signature
from cuda_wheel.runtime.manifest import Version
from cuda_wheel.runtime.parts.formats.ptx import ENTRY, VERSION, extern_declarations
from cuda_wheel.runtime.parts.instance_names import canonical

__all__ = [
    "Item",
    "chosen_instances",
    "compiler_release",
    "items",
    "launch_bounds",
    "matches_instance",
    "normalise",
    "relocate_files",
    "set_version",
    "stub_definitions",
    "undefined",
    "without_kernels",
]


_UNSIZED = re.compile(r"\[ *\]")

SYSTEM_CALLS = frozenset({"vprintf", "malloc", "free", "__assertfail"})
"""Names of device functions that the driver defines. Source: PTX Writer's Guide to Interoperability, "System Calls"."""

_RELEASE = re.compile(r"^// Cuda compilation tools, release [\d.]+, V([\d.]+)", re.MULTILINE)

# Unclosed strings and comments match too, so that each character is read once.
_STRING_OR_NOISE = re.compile(r'("(?:\\[^\n]|[^"\\\n])*"?)|(?:/\*.*?(?:\*/|\Z)|//[^\n]*|[ \t\r])+', re.DOTALL)
"""Matches a string (group 1), or a run of white space and comments. An unclosed string ends with its line, an unclosed
comment with the text."""

_LINE_COMMENT = re.compile(r"//[^\n]*")

_STRING = re.compile(r'"[^"\n]*"?')

_UNUSUAL = re.compile(r"[^\t\n\r -~]")
"""Matches a character that compilers do not write in PTX: any except tab, newline, carriage return and printable ASCII.
Python counts some of these characters as white space, such as a form feed."""

# All but the backslash would be replaced inside the literal too. After a backslash, a quote may be part of the literal.
_NOISE_IN_STRINGS = ("\t", "\r", "  ", "//", "\\")
"""Substrings that `_quickly_normalised` cannot handle in a string literal."""

_NOISE = ("\t", "\r", "  ", "//", "/*", "\n\n", "\n ", " \n")
"""Substrings of comments and of surplus white space. Normalised PTX contains them only in string literals."""

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
"""PTX directive without its dot -> name in manifests of the launch bound that the directive sets: "maxntid" ->
"max_threads". Source: PTX ISA, "Performance-Tuning Directives" and "Cluster Dimension Directives"."""

_FILE = re.compile(r'^([ \t]*\.file\s+\d+\s+")([^"\n]*)(")', re.MULTILINE)


def undefined(ptx: str) -> dict[str, str]:
    """Return symbol -> declaration of the functions and variables that a PTX text declares and another module must
    define.

    Functions that the driver defines are left out.
    """
    return {
        symbol: declaration for symbol, declaration in extern_declarations(ptx).items() if symbol not in SYSTEM_CALLS
    }


def stub_definitions(ptx: str, declarations: Iterable[str]) -> str:
    """Return a PTX text that defines the declared symbols: functions without effect, and zeroed variables.

    Its `.version`, `.target` and `.address_size` are those of `ptx`.
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
    """Return the exact release ("12.9.86") of the NVRTC or libNVVM that wrote the text, from its first comment; None if
    there is none."""
    match = _RELEASE.search(ptx)
    return match and match[1]


def normalise(ptx: str) -> str:
    """Return the text without comments, blank lines, and white space that separates no tokens.

    nvFatbin removes these anyway. It stores a normalised text unchanged, so that a search for the text finds its offset
    in the fatbin.
    """
    if ptx.startswith("\n") and ptx.endswith("\n") and not any(each in ptx for each in _NOISE):
        return ptx  # several steps of a build want normal text
    ptx = ptx.rstrip("\0")
    return _quickly_normalised(ptx) if _is_plain(ptx) else _normalised(ptx)


def _is_plain(ptx: str) -> bool:
    """Return whether `_quickly_normalised` may be used for a text: the text has no block comments or unusual
    characters, no quotes in comments, and no strings that contain any of `_NOISE_IN_STRINGS`."""
    if "/*" in ptx or _UNUSUAL.search(ptx) or any('"' in comment for comment in _LINE_COMMENT.findall(ptx)):
        return False
    return not any(each in string for string in _STRING.findall(ptx) for each in _NOISE_IN_STRINGS)


def _normalised(ptx: str) -> str:
    text = _STRING_OR_NOISE.sub(lambda match: match[1] or " ", ptx)
    lines = (line.strip() for line in text.split("\n"))
    # nvFatbin 12.9 drops a directive in the first line of the text, which would be `.version`.
    return "\n" + "\n".join(line for line in lines if line) + "\n"


def _quickly_normalised(ptx: str) -> str:
    """Return a PTX text without comments, blank lines and surplus white space, as `_normalised` does. The text must be
    one for which `_is_plain` returns True."""
    # This takes a third of the time of `_normalised`.
    text = f"\n{_LINE_COMMENT.sub('', ptx)}\n".replace("\t", " ").replace("\r", " ")
    for noise, rest in ("  ", " "), ("\n ", "\n"), (" \n", "\n"), ("\n\n", "\n"):
        while noise in text:
            text = text.replace(noise, rest)
    return text if text != "\n" else "\n\n"


def relocate_files(ptx: str, roots: Mapping[str, str]) -> str:
    """Return the text with the start of each `.file` path replaced: `roots` is absolute folder -> replacement for
    "FOLDER/".

    Of several folders that contain a path, the longest counts.
    """

    def relocate(match: re.Match[str]) -> str:
        path = match[2]
        for old in sorted(roots, key=len, reverse=True):
            if path.startswith(old + "/"):
                path = roots[old] + path[len(old) + 1 :]
                break
        return match[1] + path + match[3]

    return _FILE.sub(relocate, ptx)


def launch_bounds(ptx: str) -> dict[str, dict[str, int]]:
    """Return kernel symbol -> name of a launch bound -> value, for the kernels that have any.

    The names are "max_threads" (threads in a block), "min_blocks" (blocks on a multiprocessor) and "cluster_blocks"
    (blocks in a cluster).
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


class Item(NamedTuple):
    """A declaration, definition or directive at the top level of a PTX text, with its range of character offsets;
    `name` is "" unless it is a function or variable."""

    name: str
    start: int
    end: int
    is_kernel: bool


_MARK = re.compile(r'"(?:\\[^\n]|[^"\\\n])*"?|/\*.*?(?:\*/|\Z)|//[^\n]*|[;{}]', re.DOTALL)
"""Matches what may decide where a declaration or definition ends: a semicolon or a brace. Also matches each string and
comment as a whole, because semicolons and braces inside do not count."""

_SPACE = re.compile(r"(?:\s|/\*.*?(?:\*/|\Z)|//[^\n]*)*", re.DOTALL)

_LINE = re.compile(r"\.(?:version|target|address_size|file)\b[^\n]*")
"""Matches a directive that ends at the end of its line, without a semicolon, such as ".version 8.0"."""

_FUNCTION = re.compile(
    r"(?:\.(?:visible|extern|weak)\s+)?\.(?:entry|func)\s*(?:\.noreturn\s*)?(?:\([^()]*\)\s*)?(?:\.noreturn\s*)?([\w$%]+)"
)

_VARIABLE = re.compile(
    r"(?:\.(?:visible|extern|weak|common)\s+)?\.(?:global|const|shared)\b[^=;{]*?([\w$%]+)\s*(?:\[[^=;{]*)?(?=[=;])"
)


def items(ptx: str) -> Iterator[Item]:
    """Yield the declarations, definitions and directives at the top level of a PTX text, in its order."""
    at = _SPACE.match(ptx).end()  # type: ignore[union-attr]  # it matches everywhere
    while at < len(ptx):
        line = _LINE.match(ptx, at)
        function = _FUNCTION.match(ptx, at)
        variable = _VARIABLE.match(ptx, at)
        end = line.end() if line else _end(ptx, at, ends_with_brace=variable is None)
        name = (function or variable)[1] if function or variable else ""  # type: ignore[index]
        yield Item(name, at, end, function is not None and ".entry" in function[0])
        at = _SPACE.match(ptx, end).end()  # type: ignore[union-attr]


def _end(ptx: str, start: int, ends_with_brace: bool) -> int:
    """Return the offset after the end of the item (declaration, definition or directive) that begins at `start`.

    An item ends with the first semicolon outside braces. If `ends_with_brace` is True, a definition ends with the brace
    that closes its body.
    """
    depth = 0
    for mark in _MARK.finditer(ptx, start):
        if mark[0] == "{":
            depth += 1
        elif mark[0] == "}":
            depth -= 1
            if depth <= 0 and ends_with_brace:
                return mark.end()
        elif mark[0] == ";" and not depth:
            return mark.end()
    return len(ptx)


_WORD = re.compile(r"[A-Za-z_$%][\w$]*")


def chosen_instances(symbols: Collection[str], patterns: Sequence[str], named: Collection[str]) -> list[str]:
    """Return the symbols of the kernels to keep: those in `named`, those that are not instances of a template, and the
    instances that `patterns` choose.

    `patterns` are globs; one that begins with "!" excludes. Of several that match an instance, the last decides. An
    instance that none matches is kept only if all patterns exclude.
    """
    start = all(pattern.startswith("!") for pattern in patterns)

    def is_kept(symbol: str) -> bool:
        if symbol in named or "<" not in signature(symbol).name:
            return True
        last = next((each for each in reversed(patterns) if matches_instance(symbol, each.removeprefix("!"))), None)
        return start if last is None else not last.startswith("!")

    return [symbol for symbol in symbols if is_kept(symbol)]


def matches_instance(symbol: str, pattern: str) -> bool:
    """Return whether a glob matches a kernel's symbol, or its C++ name in any spelling: "*<half*" matches
    "k<c10::Half>"."""
    name = signature(symbol).name
    return fnmatchcase(symbol, pattern) or any(
        fnmatchcase(canonical(name, same_layout), canonical(pattern, same_layout)) for same_layout in (False, True)
    )


def without_kernels(ptx: str, removed: Collection[str], kept_variables: Collection[str] = ()) -> str:
    """Return a PTX text without the kernels `removed` (symbols), and without the functions and variables that only they
    use.

    The variables `kept_variables` (symbols) are kept, used or not.
    """
    everything = list(items(ptx))
    named = [item for item in everything if item.name]
    aliases = (item for item in everything if ptx.startswith(".alias", item.start))
    aliased = {word for item in aliases for word in _WORD.findall(ptx, item.start, item.end)}
    uses: dict[str, set[str]] = {}
    names = {item.name for item in named}
    for item in named:
        words = set(_WORD.findall(ptx, item.start, item.end)) & names
        uses.setdefault(item.name, set()).update(words - {item.name})
    lost = _reached(removed, uses)
    needed = _reached({*(names - lost), *(lost & set(kept_variables)), *(aliased & names)}, uses)
    gone = lost - needed
    parts, at = [], 0
    for item in named:
        if item.name in gone:
            parts.append(ptx[at : item.start])
            at = item.end + (ptx[item.end : item.end + 1] == "\n")
    return "".join([*parts, ptx[at:]])


def _reached(starts: Collection[str], uses: dict[str, set[str]]) -> set[str]:
    """Return the names `starts` and all names that they use, directly or indirectly. `uses` is name -> names that it
    uses.

    Names that are not keys of `uses` are left out.
    """
    reached: set[str] = set()
    waiting = list(starts)
    while waiting:
        name = waiting.pop()
        if name in uses and name not in reached:
            reached.add(name)
            waiting += uses[name]
    return reached
