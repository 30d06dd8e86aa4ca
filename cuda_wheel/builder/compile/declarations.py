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
from cuda_wheel.builder.scratch import new_folder
from cuda_wheel.builder.timing import phase
from cuda_wheel.builder.toolchain.nvrtc import compile_text

if TYPE_CHECKING:
    from cuda_wheel.builder.toolchain.nvrtc import NvrtcRequest

__all__ = ["declared_names", "may_declare_foreign_names"]

_CROSS_REFERENCES = ("-Xcudafe", "--xref=")
"""An undocumented option of NVRTC's front end. It writes a line for each mention of a name: an address, the qualified
name, "D" where the mention defines it and "d" where it declares it, the file, the line and the column."""

_NO_CODE = ("-Xcudafe", "--no_code_gen")
"""End after the front end, which is enough for the cross-references."""

_DECLARATION = re.compile(rb"^[^\t]*\t([^\t\n]+)\t[Dd]\t([^\t\n]+)\t", re.MULTILINE)

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
    with new_folder() as folder:
        path = os.path.join(folder, "names")
        options = [*request["options"], _CROSS_REFERENCES[0], _CROSS_REFERENCES[1] + path, *_NO_CODE]
        compile_text({**request, "options": options, "expressions": []})
        try:
            with open(path, "rb") as stream:
                mentions = stream.read()
        except OSError:
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
