"""Ask NVRTC's front end which names the project's own files declare, and whether they use the time of the build.

A variable belongs to a library if a file of the library declares it. Neither its name nor the words of the files decide
that: a project may open the namespaces `cuda` and `cub`, and a macro may paste a name together.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection
from typing import TYPE_CHECKING, NamedTuple

from cuda_wheel.builder.images.variables import LIBRARY_NAMESPACES, identity, unqualified_name
from cuda_wheel.builder.timing import phase
from cuda_wheel.builder.toolchain.nvrtc import cross_references
from cuda_wheel.runtime.linking.pasting import can_be_joined, pasted_tokens, spliced

if TYPE_CHECKING:
    from cuda_wheel.builder.toolchain.nvrtc import NvrtcRequest

__all__ = ["declared_names", "may_declare_foreign_names", "uses_build_time"]

_DECLARATION = re.compile(rb"^[^\t]*\t([^\t\n]+)\t[Dd]\t([^\t\n]+)\t", re.MULTILINE)
"""Matches a line of `cross_references` that declares or defines a name; its groups are the name and the file."""

_BUILD_TIME = re.compile(rb"\t__(?:DATE|TIME|TIMESTAMP)__\tR\t")
"""Matches a line of `cross_references` that uses a macro with the time of the build."""

_OPENED_LIBRARY = re.compile(
    # A namespace of a library, or one whose name is reserved for the implementation.
    rb"\bnamespace\s[\w:\s]{0,99}?(?<!\w)(" + LIBRARY_NAMESPACES.encode() + rb"|__\w+)\b[\w:\s]{0,99}\{"
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


def uses_build_time(request: NvrtcRequest) -> bool:
    """Return whether a source that compiles uses `__DATE__`, `__TIME__` or `__TIMESTAMP__`; True if NVRTC cannot tell.

    As slow as an ordinary compilation, so only sources that may use these macros are worth this call.
    """
    mentions = _mentions_of(request)
    return mentions is None or mentions.uses_build_time


@phase("compiling")
def declared_names(request: NvrtcRequest, files: Collection[str]) -> frozenset[str] | None:
    """Return all names that these files declare, by `identity`; None if NVRTC's front end does not list them.

    `request` compiles the source; the headers that it contains are the project's too. A name that a macro declares
    counts where the macro is used.
    """
    mentions = _mentions_of(request)
    if mentions is None:
        return None
    folder = request["folder"]
    own = {os.path.abspath(os.path.join(folder, file)) for file in (*files, *request.get("headers", ()))}
    names: set[bytes] = set()
    for file, declared in mentions.declared.items():
        if os.path.abspath(os.path.join(folder, os.fsdecode(file))) in own:
            names |= declared
    return frozenset(identity(name.decode(errors="replace")) for name in names) or None


class _Mentions(NamedTuple):
    uses_build_time: bool
    declared: dict[bytes, set[bytes]]
    """The names that each file declares."""


_last: list[tuple[NvrtcRequest, _Mentions | None]] = []
"""The last request and its answer: both functions above ask for the same source, one after the other."""


def _mentions_of(request: NvrtcRequest) -> _Mentions | None:
    if not _last or _last[0][0] != request:
        _last[:] = [(request, _read(cross_references(request)))]
    return _last[0][1]


def _read(references: bytes | None) -> _Mentions | None:
    if references is None:
        return None
    declared: dict[bytes, set[bytes]] = {}
    for name, file in _DECLARATION.findall(references):
        declared.setdefault(file, set()).add(name)
    return _Mentions(_BUILD_TIME.search(references) is not None, declared)
