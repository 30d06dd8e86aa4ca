"""Ask NVRTC's front end which names the project's own files declare.

A variable belongs to a library if a file of the library declares it. Neither its name nor the words of the files decide
that: a project may open the namespaces `cuda` and `cub`, and a macro may paste a name together.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection
from typing import TYPE_CHECKING

from cuda_wheel.builder.images.variables import identity
from cuda_wheel.builder.timing import phase
from cuda_wheel.builder.toolchain.nvrtc import cross_references

if TYPE_CHECKING:
    from cuda_wheel.builder.toolchain.nvrtc import NvrtcRequest

__all__ = ["declared_names", "may_declare_foreign_names"]

_DECLARATION = re.compile(rb"^[^\t]*\t([^\t\n]+)\t[Dd]\t([^\t\n]+)\t", re.MULTILINE)
"""Matches a line of `cross_references` that declares or defines a name; its groups are the name and the file."""

_FOREIGN = re.compile(
    # A namespace of a library, or one whose name is reserved for the implementation.
    rb"\bnamespace\s[\w:\s]{0,99}?(?<!\w)(?:cuda|cuda_wheel_detail|cub|thrust|cooperative_groups|nvcuda|nv|std|__\w+)\b"
    rb"[\w:\s]{0,99}\{"
    # A macro that may open one.
    rb"|^[ \t]*\#\s*define\b(?:[^\n\\]|\\\r?\n|\\){0,2000}?\bnamespace\b|NAMESPACE"
    # A variable whose name looks like the compiler's, as written or pasted together.
    rb"|__(?:device|constant|managed)__[^;(){}]{0,300}?(?<!\w)(?:__|_Z)\w*\s*[\[=;,{]"
    rb"|(?<!\w)(?:__|_Z)\w*\s*\#\#",
    re.MULTILINE,
)
"""Matches what a declaration of a name that `looks_foreign` needs. The repeats are bounded: texts may be megabytes."""


def may_declare_foreign_names(text: bytes) -> bool:
    """Return whether a project's text may declare variables that look like those of a library or of the compiler.

    Without such a declaration, what the names look like is enough, and the front end need not be asked.
    """
    return _FOREIGN.search(text) is not None


@phase("compiling")
def declared_names(request: NvrtcRequest, files: Collection[str]) -> frozenset[str] | None:
    """Return all names that these files declare, by `identity`; None if NVRTC's front end does not list them.

    `request` compiles the source; the headers that it contains are the project's too. A name that a macro declares
    counts where the macro is used.
    """
    # NVRTC reports an error because there is no code.
    _, mentions = cross_references({**request, "expressions": []}, ["-Xcudafe", "--no_code_gen"])
    if mentions is None:
        return None
    own = {os.path.abspath(os.path.join(request["folder"], file)) for file in (*files, *request.get("headers", ()))}
    by_file: dict[bytes, bool] = {}
    names = set()
    for name, file in _DECLARATION.findall(mentions):
        if file not in by_file:
            by_file[file] = os.path.abspath(os.path.join(request["folder"], os.fsdecode(file))) in own
        if by_file[file]:
            names.add(name)
    return frozenset(identity(name.decode(errors="replace")) for name in names) or None
