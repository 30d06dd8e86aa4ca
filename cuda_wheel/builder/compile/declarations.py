"""Ask NVRTC's front end which names the project's own files declare, and whether they use the time of the build.

A variable belongs to a library if a file of the library declares it. Neither its name nor the words of the files decide
that: a project may open the namespaces `cuda` and `cub`, and a macro may paste a name together.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterable, Iterator
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING

from cuda_wheel.builder.images.variables import LIBRARY_NAMESPACES, identity, unqualified_name
from cuda_wheel.builder.timing import phase
from cuda_wheel.builder.toolchain.nvrtc import cross_references
from cuda_wheel.runtime.linking.pasting import can_be_joined, pasted_tokens, spliced

if TYPE_CHECKING:
    from cuda_wheel.builder.toolchain.nvrtc import NvrtcRequest

__all__ = [
    "declarations_in",
    "declared_names",
    "may_declare_foreign_names",
    "opens_library",
    "remember_references",
    "uses_build_time",
]

_BUILD_TIME = re.compile(rb"\t__(?:DATE|TIME|TIMESTAMP)__\tR\t")
"""Matches a line of `cross_references` that uses a macro with the time of the build."""

_OPENED_LIBRARY = re.compile(
    # A namespace of a library, or one whose name is reserved for the implementation.
    rb"\bnamespace\s[\w:\s]{0,99}?(?<!\w)(" + LIBRARY_NAMESPACES.encode() + rb"|__\w+)\b[\w:\s]{0,99}\{"
    # It may declare variables: not if it declares classes only, such as Tensor.
    rb"(?!\s*(?:(?:class|struct)\s+\w+\s*;\s*){1,99}\})"
    # A macro that may open any: the project's, or one of the toolkit's headers.
    rb"|^[ \t]*\#\s*define\b(?:[^\n\\]|\\\r?\n|\\){0,2000}?\bnamespace\b|BEGIN_\w*NAMESPACE|NAMESPACE_BEGIN",
    re.MULTILINE,
)
"""Matches what opens a library's namespace; the group is its name. The repeats are bounded: texts may be megabytes."""

_RESERVED = re.compile(
    # A variable whose name looks like the compiler's, as written or pasted together.
    rb"__(?:device|constant|managed)__[^;(){}]{0,300}?(?<!\w)(?:__|_Z)\w*\s*[\[=;,{]|(?<!\w)(?:__|_Z)\w*\s*\#\#"
)
"""Matches what a declaration of a name that looks like the compiler's needs."""


def may_declare_foreign_names(texts: Collection[bytes], names: Collection[str] | None = None) -> frozenset[str]:
    """Return which of these names a project's texts may declare, though they look like a library's or the compiler's.

    Without an answer, what the names look like is enough, and the front end need not be asked. `names` are C++ names of
    variables; with None, the answer is {"*"} if the texts may declare any such name.
    """
    if names is not None and not names:
        return frozenset()
    opened = {name.decode() for text in texts for name in _OPENED_LIBRARY.findall(text)}
    reserves = any(map(_RESERVED.search, texts))
    if names is None:
        return frozenset("*" if opened or reserves else ())
    candidates = [
        name
        for name in names
        if ("::" in name and not opened.isdisjoint(("", name.partition("::")[0])))
        or (reserves and name.rpartition("::")[2].startswith(("__", "_Z")))
    ]
    if not candidates:
        return frozenset()
    joined = [each for text in texts for each in spliced(text)]
    words = {word for text in joined for word in re.findall(rb"[\w$]+", text)}
    pasted = pasted_tokens(joined)
    last = {name: unqualified_name(name).encode() for name in candidates}
    return frozenset(name for name in candidates if last[name] in words or can_be_joined(last[name], pasted))


def opens_library(texts: Iterable[bytes]) -> bool:
    """Return whether texts may open the namespace of a library."""
    return any(map(_OPENED_LIBRARY.search, texts))


def uses_build_time(request: NvrtcRequest) -> bool:
    """Return whether a source that compiles uses `__DATE__`, `__TIME__` or `__TIMESTAMP__`; True if NVRTC cannot tell.

    As slow as an ordinary compilation, so only sources that may use these macros are worth this call.
    """
    return _mentions_of(request).uses_build_time


@phase("compiling")
def declared_names(request: NvrtcRequest, files: Collection[str]) -> frozenset[str] | None:
    """Return all names that these files declare, by `identity`; None if NVRTC's front end does not list them.

    `request` compiles the source. A name that a macro declares counts where the macro is used.
    """
    declared = _mentions_of(request).declared
    if declared is None:
        return None
    folder = request["folder"]
    own = {os.path.abspath(os.path.join(folder, file)) for file in files}
    names: set[bytes] = set()
    for file, found in declared.items():
        if os.path.abspath(os.path.join(folder, os.fsdecode(file))) in own:
            names |= found
    return frozenset(identity(name.decode(errors="replace")) for name in names) or None


class _Mentions:
    """The cross-references of a request's source, which are read when they are asked for."""

    def __init__(self, request: NvrtcRequest, references: bytes | None) -> None:
        self.request = request
        self._references = references

    @cached_property
    def uses_build_time(self) -> bool:
        return self._references is None or _BUILD_TIME.search(self._references) is not None

    @cached_property
    def declared(self) -> dict[bytes, set[bytes]] | None:
        """The names that each file declares."""
        if self._references is None:
            return None
        declared: dict[bytes, set[bytes]] = {}
        for name, file in declarations_in(self._references):
            declared.setdefault(file, set()).add(name)
        return declared


def declarations_in(references: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Yield the name and the file of each line of `cross_references` that declares or defines a name."""
    for kind in (b"\tD\t", b"\td\t"):
        for before, after in pairwise(references.split(kind)):
            yield before[before.rfind(b"\t") + 1 :], after[: after.find(b"\t")]


_last: list[_Mentions] = []
"""The last request and its answer: several functions above ask for the same source, one after the other."""


def remember_references(request: NvrtcRequest, references: bytes | None) -> None:
    """Answer the next questions about a request from the cross-references that its compilation wrote."""
    if references is not None:
        _last[:] = [_Mentions(request, references)]


def _mentions_of(request: NvrtcRequest) -> _Mentions:
    if not _last or _last[0].request != request:
        _last[:] = [_Mentions(request, cross_references(request))]
    return _last[0]
