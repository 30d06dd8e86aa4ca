"""Find the variables that large libraries define and nobody uses, and remove them from PTX."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from cuda_wheel.builder.images import ptx_text
from cuda_wheel.builder.images.variables import is_library_variable, unqualified_name, without_unused
from cuda_wheel.builder.jobs import Compiled, Job
from cuda_wheel.builder.sources.include_graph import reachable
from cuda_wheel.builder.sources.includes import includes
from cuda_wheel.runtime.manifest import GlobalInfo

__all__ = ["includes_large_library", "library_symbols", "without_unused_library_variables"]

_LARGE = re.compile(r"(?!\.|crt/|nv/).*/|cooperative_groups|curand")
"""Matches the names of headers that define many variables: those of CCCL and of other libraries. The toolkit's own
headers, which are in no folder, define few; names that begin with "../" are the project's headers."""

_COMPATIBLE_OPTION = re.compile(
    r"--?(?:std|define-macro|undefine-macro|include-path|pre-include|diag-\w+|disable-warnings|Werror|fmad|ftz|prec-div"
    r"|prec-sqrt|use_fast_math|maxrregcount|ptxas-options|Xptxas|device-as-default-execution-space|default-device|w"
    r"|builtin-\w+(?:-\w+)*|no-source-include|display-error-number|brief-diagnostics|minimal|device-int128|Xcudafe)(?:=|$)"
    r"|-[DUI]"
)
"""Matches NVRTC's options that do not affect the optimiser, or that nvJitLink has too."""


def includes_large_library(
    root: str, source: str, text: bytes, include_dirs: Iterable[str], options: Sequence[str]
) -> bool:
    """Return whether a source includes a header of a large library, directly or through the project's headers.

    False if an option is one that nvJitLink lacks.
    """
    if not all(_COMPATIBLE_OPTION.match(option) for option in options if option.startswith("-")):
        return False
    folders = [folder for folder in include_dirs if not os.path.isabs(folder)]
    own = {header.path for header in reachable(Path(root), source, folders, text).headers}
    names = [include.name or "" for content in (text, *map(_content, own)) for include in includes(content)]
    return any(
        _LARGE.match(name) and not any(path.endswith(os.sep + os.path.normpath(name)) for path in own) for name in names
    )


def without_unused_library_variables(compiled: Compiled, job: Job) -> Compiled:
    """Return a job's result without the variables of libraries; the PTX keeps those that its code uses."""
    if compiled.ptx is None or job.form != "whole":
        return compiled
    symbols = library_symbols(compiled.variables, job.text, compiled.headers or (), job.include_dirs)
    text = without_unused(
        ptx_text.normalise(compiled.ptx.decode()), lambda symbol: symbol in symbols or is_library_variable(symbol)
    )
    own = tuple(variable for variable in compiled.variables if variable.symbol not in symbols)
    return replace(compiled, ptx=text.encode(), variables=own)


def library_symbols(
    variables: Iterable[GlobalInfo], text: bytes, headers: Iterable[str], include_dirs: Iterable[str]
) -> frozenset[str]:
    """Return the symbols of the variables whose names a library's header contains, but no file of the project.

    Absolute `include_dirs` are those of libraries. A variable that no file names was declared by a macro, and may
    belong to the project.
    """
    unknown = {variable.symbol: unqualified_name(variable.name).encode() for variable in variables}
    if not unknown:
        return frozenset()
    libraries = tuple(folder + os.sep for folder in include_dirs if os.path.isabs(folder))
    of_libraries = [path for path in headers if path.startswith(libraries)]
    own_words = _words([text, *map(_content, set(headers).difference(of_libraries))])
    unknown = {symbol: word for symbol, word in unknown.items() if word not in own_words}
    library_words = _words(map(_content, of_libraries if unknown else ()))
    return frozenset(symbol for symbol, word in unknown.items() if word in library_words)


def _content(path: str) -> bytes:
    try:
        return Path(path).read_bytes()
    except OSError:
        return b""


def _words(texts: Iterable[bytes]) -> set[bytes]:
    return {word for text in texts for word in re.findall(rb"[\w$]+", text)}
