"""Find which parts of the preamble and of PyTorch's stand-in headers a source may use, so that NVRTC reads no others.

NVRTC reads what a source includes once for each target. All that nvcc and PyTorch's headers declare takes longer than
many kernels; a source names little of it. A part is read if one of its names occurs in the source's text, in the
headers of the project, or in an option. What fails to compile without a part is compiled with all of them, but for
large parts with which no error has to do. The table `stand_in_parts` has the names of each part.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterable
from functools import lru_cache
from typing import NamedTuple

from cuda_wheel.builder.rewriting.project_texts import holds_toolkit, operator_headers, operator_names_header
from cuda_wheel.builder.tables import read_table
from cuda_wheel.builder.toolchain.toolchain import INCLUDE, STAND_INS

__all__ = [
    "COMMON_RUNTIME_API",
    "PARTS",
    "Names",
    "large_parts",
    "left_out_parts",
    "may_be_declared",
    "may_need_large_parts",
    "names_in",
    "part_macros",
    "part_options",
    "used_headers",
]


_TABLE = read_table(
    "stand_in_parts",
    {
        "c functions": [str],
        "parts": {str: {"in std?": bool, "names": [str]}},
        "large parts": {"names": [str], "in errors": [str]},
        "unwritten names": [str],
        "common runtime api": [str],
    },
)

_C_FUNCTIONS = "|".join(_TABLE["c functions"])

# If an expression matches a name too many, only time is lost. If a name is missing, a source that uses the name is
# compiled twice, or calls the wrong overload if NVRTC or the project has a function of that name. Therefore the
# expressions also match names that a project may define itself, and functions that it may overload, such as <math.h>'s.
PARTS = {name: "|".join(row["names"]) for name, row in _TABLE["parts"].items()}
PARTS["MATH"] = f"{_C_FUNCTIONS}|{PARTS['MATH']}"
"""Name of a part -> regular expression for the names that the part declares. A part belongs to the preamble (text put
before every source) or to PyTorch's stand-in headers. The macro `CUDA_WHEEL_WITHOUT_` + name leaves the part out."""

_PYTORCH_NAMES = {b"torch", b"ATen", b"c10", b"at", b"THC"}

_IN_STD = frozenset(name for name, row in _TABLE["parts"].items() if row.get("in std"))
"""Parts (keys of `PARTS`) that only declare names in namespace std. Example: "ATOMIC", which declares `std::atomic`."""

_NAMED = {part: re.compile(rf"^(?:{names})$".encode(), re.MULTILINE) for part, names in PARTS.items()}

_IN_STD_NAMED = re.compile(rb"\bstd\s*::\s*(\w+)")

_STD = re.compile(rb"\bstd\b(?!\s*::)")
"""Matches `std` without a `::` after it, as in `using namespace std`. In a text with a match, any name may be a name in
namespace std."""

_REAL = re.compile(rf"^(?:{_C_FUNCTIONS})[fl]$".encode(), re.MULTILINE)
"""Matches a line that is a function of <math.h> for float or long double, such as "sinf" or "sinl". The part MATH
declares these in namespace std; NVRTC itself declares only `::sinf`."""

_RUNTIME_CALL = re.compile(rb"\b((?:make_)?cuda[A-Z]\w*)\s*[(<]")
"""Matches what may be a call of the CUDA runtime API: a name such as "cudaMalloc", and a "(" or "<" after it. Group 1
is the name. It may also be the name of a function of the project."""

COMMON_RUNTIME_API = frozenset(map(str.encode, _TABLE["common runtime api"]))
"""Names of the CUDA runtime API that a source may use although the part RUNTIME_API is left out. They are in
<cuda_wheel_detail/common_runtime_api.h>, or are types that NVRTC has built in."""

_WITHOUT = "--define-macro=CUDA_WHEEL_WITHOUT_"
"""Beginning of the NVRTC option that leaves out a part; the name of the part follows."""

_LARGE_PARTS = frozenset(_WITHOUT + name for name in _TABLE["large parts"]["names"])
"""Options that leave out the parts that take most of the time of all parts."""

_NEEDS_LARGE_PARTS = "|".join(_TABLE["large parts"]["in errors"])
"""Regular expression for what NVRTC's log says about an error that a large part may overcome."""

_UNWRITTEN = "|".join(_TABLE["unwritten names"])
"""Regular expression for the names that parts declare and that their text does not contain."""

_OWN_FOLDERS = (str(INCLUDE), *STAND_INS)

_INCLUDED = re.compile(rb'^[ \t]*#[ \t]*include[ \t]*[<"]([^>"\n]+)[>"]', re.MULTILINE)

_COMMENT = re.compile(rb"//[^\n]*|/\*.*?\*/", re.DOTALL)

_NAME = re.compile(rb"[A-Za-z_]\w*")

# No part has a name that continues after `_t_`.
_PASTED = re.compile(rb"(?<!#)(?<!\w_t_)##(?!#|\s*__VA_ARGS__)")
"""Matches a `##` by which a macro joins words to a name, so that no text contains the whole name. Not matched: a `##`
after `_t_`, as in `scalar_t_##LEVEL`, and `##__VA_ARGS__`."""

_STRING_OR_COMMENT = re.compile(
    rb"""("(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*')|//(?:\\\r?\n|[^\n])*|/\*.*?(?:\*/|\Z)""", re.DOTALL
)


class Names(NamedTuple):
    """The identifiers that texts contain."""

    all: frozenset[bytes]
    """All identifiers and keywords in the texts."""
    in_std: frozenset[bytes]
    """Names after `std::`; all names if the texts also contain `std` by itself, as in `using namespace std`."""
    calls: frozenset[bytes]
    """Names such as "cudaMalloc" before a "(" or "<". Each names a function of the CUDA runtime API, or of the
    project."""


def names_in(texts: Iterable[bytes]) -> Names | None:
    """Return the names in texts, those in comments excluded; None if macros form further names by `##`."""
    code = [_without_comments(text) for text in texts]
    if any(map(_PASTED.search, code)):
        return None
    every = frozenset(name for text in code for name in _NAME.findall(text))
    in_std = frozenset(name for text in code for name in _IN_STD_NAMED.findall(text))
    calls = frozenset(call for text in code for call in _RUNTIME_CALL.findall(text))
    return Names(every, every if any(map(_STD.search, code)) else in_std, calls)


def _without_comments(text: bytes) -> bytes:
    if b'R"' in text:  # a raw string, in which quotes and comments are neither
        return text
    return _STRING_OR_COMMENT.sub(lambda match: match[1] or b" ", text)


def part_macros(names: Names, is_relocatable: bool) -> list[str]:
    """Return the macros that leave out each part of the preamble that declares none of the names.

    The CUDA runtime API is never left out of relocatable code. A macro's name ends with the name of its part.
    """
    every, in_std = b"\n".join(names.all), b"\n".join(names.in_std)
    used = {part for part, pattern in _NAMED.items() if pattern.search(in_std if part in _IN_STD else every)}
    if _REAL.search(in_std):
        used.add("MATH")
    if is_relocatable or names.calls - COMMON_RUNTIME_API:  # NVRTC has the device's runtime API built in
        used.add("RUNTIME_API")
    return [f"CUDA_WHEEL_WITHOUT_{part}" for part in PARTS if part not in used]


def part_options(names: Names, is_relocatable: bool) -> list[str]:
    """Return the NVRTC options that define the macros of `part_macros`, without macros that change nothing."""
    # Only PyTorch's stand-ins have large parts.
    omitted = frozenset() if names.all & _PYTORCH_NAMES else _LARGE_PARTS
    options = (f"--define-macro={macro}" for macro in part_macros(names, is_relocatable))
    return [option for option in options if option not in omitted]


def left_out_parts(options: Iterable[str]) -> set[str]:
    """Return those NVRTC options that leave out a part."""
    return {option for option in options if option.startswith(_WITHOUT)}


def large_parts(options: Iterable[str]) -> set[str]:
    """Return those NVRTC options that leave out a large part: one that includes libcu++."""
    return {option for option in options if option in _LARGE_PARTS}


def may_need_large_parts(log: str) -> bool:
    """Return whether an error in NVRTC's log may have to do with a large part.

    Such a part declares types of complex and atomic numbers, and what libcu++ declares. The message or the source line
    of an error about them, which are in the log, names such a type or one of its functions.
    """
    return re.search(_NEEDS_LARGE_PARTS, log) is not None


def may_be_declared(names: Collection[str], include_dirs: tuple[str, ...]) -> bool:
    """Return whether a part may declare one of `names`. `include_dirs` are the folders in which headers are found."""
    return any(re.fullmatch(_UNWRITTEN, name) for name in names) or not _words(include_dirs).isdisjoint(names)


@lru_cache(maxsize=8)
def _words(include_dirs: tuple[str, ...]) -> frozenset[str]:
    """Return all identifiers in the headers of the preamble and of PyTorch's stand-ins, in which the parts are, and in
    all that these include of `include_dirs`, but for the toolkit's headers."""
    libraries = (folder for folder in include_dirs if os.path.isabs(folder) and not holds_toolkit(folder))
    folders = [*_OWN_FOLDERS, *libraries]
    own = (os.path.join(folder, "cuda_wheel_detail") for folder in _OWN_FOLDERS)
    waiting = [os.path.join(place, name) for root in own for place, _, names in os.walk(root) for name in names]
    words: set[bytes] = set()
    known: set[bytes] = set()
    while waiting:
        with open(waiting.pop(), "rb") as file:
            text = _COMMENT.sub(b"", file.read())
        words.update(_NAME.findall(_INCLUDED.sub(b"", text)))
        new = set(_INCLUDED.findall(text)) - known
        known |= new
        places = (os.path.join(folder, os.fsdecode(name)) for name in new for folder in folders)
        waiting += filter(os.path.isfile, places)
    return frozenset(word.decode() for word in words)


def used_headers(names: Names) -> dict[str, bytes]:
    """Return path -> text of the generated headers of PyTorch's operators; empty if the names are none of PyTorch's."""
    return {**operator_headers(), **operator_names_header(names.all)} if names.all & _PYTORCH_NAMES else {}
