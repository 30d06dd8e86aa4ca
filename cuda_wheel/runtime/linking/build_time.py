"""Say whether CUDA C++ may use the time of its compilation: `__DATE__`, `__TIME__` or `__TIMESTAMP__`. Pure."""

import re
from collections.abc import Iterable

__all__ = ["may_use_build_time"]

_MACROS = (b"__DATE__", b"__TIME__", b"__TIMESTAMP__")

_SPLICE = re.compile(rb"\\\r?\n")
"""Joins two lines."""

_TRIGRAPH_SPLICE = re.compile(rb"\?\?/\r?\n")
"""Joins two lines up to C++14, and not later."""

_PIECE = re.compile(rb"(?<!\w)[ADEIMPST_]{1,13}(?!\w)")
"""An identifier that may be one of the macros, or a part of one: it has no other characters than these."""

_PREFIXING_MACRO = re.compile(rb"__location__|CCCL_")
"""Macros of NVRTC and of CCCL that paste underscores to their arguments. No other header of the toolkit does."""


def may_use_build_time(texts: Iterable[bytes]) -> bool:
    """Return whether a program may use the time of its compilation; `texts` are its sources, headers and options.

    It may if one of the macros can be joined of the identifiers in the texts, in which comments and strings count too:
    the preprocessor can paste `__TI` and `ME__`. The toolkit's headers use none of the macros, so they need not be
    among the texts.
    """
    pieces: set[bytes] = set()
    for text in texts:
        joined = _SPLICE.sub(b"", text)
        pieces.update(_PIECE.findall(joined))
        if b"??/" in joined:
            pieces.update(_PIECE.findall(_TRIGRAPH_SPLICE.sub(b"", joined)))
        if _PREFIXING_MACRO.search(joined):
            pieces |= {b"_", b"__"}
    return any(_can_be_joined(macro, pieces) for macro in _MACROS)


def _can_be_joined(word: bytes, pieces: set[bytes]) -> bool:
    """Return whether a word is a sequence of pieces, each used any number of times."""
    ends = [0]
    for end in range(1, len(word) + 1):
        if any(word[start:end] in pieces for start in ends):
            ends.append(end)
    return ends[-1] == len(word)
