"""Tell which sources include headers that fill images with unused variables, and which variables those are."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from cuda_wheel.builder.images.variables import identifier
from cuda_wheel.builder.sources.includes import includes, reachable
from cuda_wheel.runtime.manifest import GlobalInfo

__all__ = [
    "is_worth",
    "others_variables",
]


_LARGE = re.compile(r"(?!\.|crt/|nv/).*/|cooperative_groups|curand")
"""How the names of headers begin that define many variables: CCCL's and those of other libraries. Those of the toolkit,
which are in no folder, define few; those that begin with "../" are the project's."""


_FRONT_END = re.compile(
    r"--?(?:std|define-macro|undefine-macro|include-path|pre-include|diag-\w+|disable-warnings|Werror|fmad|ftz|prec-div"
    r"|prec-sqrt|use_fast_math|maxrregcount|ptxas-options|Xptxas|device-as-default-execution-space|default-device|w"
    r"|builtin-\w+(?:-\w+)*|no-source-include|display-error-number|brief-diagnostics|minimal|device-int128)(?:=|$)"
    r"|-[DUI]"
)
"""Options of NVRTC that say nothing to what optimises, or that nvJitLink knows too."""


def is_worth(root: str, source: str, text: bytes, include_dirs: Iterable[str], options: Sequence[str]) -> bool:
    """Return whether a source includes a header of a large library, by itself or through the project's headers, and is
    compiled with no option that nvJitLink lacks."""
    if not all(_FRONT_END.match(option) for option in options if option.startswith("-")):
        return False
    folders = [folder for folder in include_dirs if not os.path.isabs(folder)]
    own = {header.path for header in reachable(Path(root), source, folders, text).headers}
    names = [header.name or "" for each in (text, *map(_content, own)) for header in includes(each)]
    return any(
        _LARGE.match(name) and not any(path.endswith(os.sep + os.path.normpath(name)) for path in own) for name in names
    )


def _content(path: str) -> bytes:
    try:
        return Path(path).read_bytes()
    except OSError:
        return b""


def others_variables(
    variables: Iterable[GlobalInfo], text: bytes, headers: Iterable[str], include_dirs: Iterable[str]
) -> frozenset[str]:
    """Return the symbols of those variables that a library's header names, and neither the source nor a header of the
    project.

    `include_dirs` are those of libraries where they are absolute. What nobody names, a macro made: that may be the
    project's.
    """
    unknown = {variable.symbol: identifier(variable.name).encode() for variable in variables}
    if not unknown:
        return frozenset()
    libraries = tuple(folder + os.sep for folder in include_dirs if os.path.isabs(folder))
    theirs = [path for path in headers if path.startswith(libraries)]
    own = _words([text, *map(_content, set(headers).difference(theirs))])
    unknown = {symbol: word for symbol, word in unknown.items() if word not in own}
    named = _words(map(_content, theirs if unknown else ()))
    return frozenset(symbol for symbol, word in unknown.items() if word in named)


def _words(texts: Iterable[bytes]) -> set[bytes]:
    return {word for text in texts for word in re.findall(rb"[\w$]+", text)}
