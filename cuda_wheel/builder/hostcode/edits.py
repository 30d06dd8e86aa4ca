"""Write the changed text of a source and of the project's headers.

A changed header reaches the compiler in memory, under its project-relative path; each file that includes it is changed
to name that path. Line numbers stay the same.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence

from cuda_wheel.builder.cxx.tokens import Directive
from cuda_wheel.builder.hostcode.blocks import SourceBlocks
from cuda_wheel.builder.hostcode.constants import Replacement

__all__ = ["changed_files", "included_name"]

_INCLUDE = re.compile(r'^(?:"([^"]+)"|<([^>]+)>)')


def included_name(directive: Directive) -> tuple[str, bool] | None:
    """Return the name of the header that a directive includes, and whether the name is quoted.

    None if it includes none, or one that a macro names.
    """
    match = _INCLUDE.match(directive.rest) if directive.word == "include" else None
    return None if match is None else (match[1] or match[2], match[1] is not None)


def changed_files(
    files: Mapping[str, SourceBlocks],
    source: str,
    edits: Mapping[str, Iterable[Replacement]],
    find: Callable[[str, bool, str], str | None],
) -> dict[str, bytes]:
    """Return the new text of the source and of each header that changes, by project-relative path.

    `edits` are the replacements, by file. `find` returns the project-relative path of the header of
    `#include "name"` (True) or `<name>` in a file; None if it is no file of the project.
    """
    spans: dict[str, list[Replacement]] = {name: list(each) for name, each in edits.items()}
    spans.setdefault(source, [])
    includes = [
        (name, directive, header)
        for name, blocks in files.items()
        for directive in blocks.directives
        if (header := _header(directive, name, find)) is not None
    ]
    changed = set(spans)
    while new := {name for name, _, header in includes if header in changed} - changed:
        changed |= new
    for name, directive, header in includes:
        if name in changed and header in changed:
            spans.setdefault(name, []).append(
                (directive.start, directive.end, b'#include "' + os.fsencode(header) + b'"')
            )
    return {name: _replaced(files[name].content, edits) for name, edits in spans.items()}


def _header(directive: Directive, name: str, find: Callable[[str, bool, str], str | None]) -> str | None:
    asked = included_name(directive)
    return None if asked is None else find(*asked, name)


def _replaced(content: bytes, edits: Sequence[Replacement]) -> bytes:
    """Return a text with new texts in place of spans. A span without a new one becomes blank; all lines stay."""
    pieces: list[bytes] = []
    position = 0
    for start, end, new in sorted(edits):
        if start < position:  # inside a span that was replaced as a whole
            continue
        old = content[start:end]
        pieces += [content[position:start], new + b"\n" * old.count(b"\n") if new else re.sub(rb"[^\r\n]", b" ", old)]
        position = end
    return b"".join([*pieces, content[position:]])
