"""Tell the project's variables from those of libraries, and remove from PTX those of libraries that nobody uses."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path

from cuda_wheel.builder.compile.declarations import may_declare_foreign_names
from cuda_wheel.builder.hostcode.front_end import looks_like_host_code
from cuda_wheel.builder.hostcode.preprocessed import segments
from cuda_wheel.builder.images import ptx_text
from cuda_wheel.builder.images.variables import (
    LIBRARY_NAMESPACES,
    foreign_names,
    identity,
    is_library_variable,
    source_variables,
    unqualified_name,
    without_unused,
)
from cuda_wheel.builder.jobs import Compiled, Job
from cuda_wheel.builder.sources.job_searches import own_texts
from cuda_wheel.runtime.manifest import GlobalInfo

__all__ = ["DeclaredNames", "with_own_variables"]

DeclaredNames = Callable[[Collection[str]], "frozenset[str] | None"]
"""Returns the names that these files declare, as `declarations.declared_names` does."""


def with_own_variables(
    compiled: Compiled, job: Job, declared_names: DeclaredNames, preprocessed: Callable[[], bytes | None]
) -> Compiled:
    """Return a job's result with the variables that the project declares; the PTX of a complete image keeps of the
    others those that its code uses.

    `preprocessed` returns the source with all macros expanded, as `nvrtc.preprocessed` does.
    """
    own = dict(own_texts(job, compiled.headers or ()))
    of_libraries = [path for path in compiled.headers or () if path not in own]
    names: Callable[[], frozenset[str] | None] = cache(lambda: declared_names(list(own)))
    is_complete = compiled.ptx is not None and job.form == "whole"
    text = ptx_text.normalise((compiled.ptx or b"").decode()) if is_complete else ""
    constants: Callable[[], Collection[str]] = cache(lambda: _host_constants(job, own, preprocessed))
    foreign = compiled.declared
    if not foreign:
        asked = may_declare_foreign_names(own.values(), foreign_names(text) if is_complete else None)
        if any(unqualified_name(name) not in constants() for name in asked):
            foreign = tuple(sorted(name for name in names() or () if _FOREIGN_NAME.match(name)))
    compiled = replace(compiled, declared=foreign)
    if not is_complete:
        return compiled
    variables = source_variables(text, foreign)
    symbols = _library_symbols(variables, own.values(), of_libraries, names)
    symbols |= {each.symbol for each in variables if unqualified_name(each.name) in constants()}
    own_symbols = {variable.symbol for variable in variables} - symbols
    text = without_unused(
        text, lambda symbol: symbol in symbols or (is_library_variable(symbol) and symbol not in own_symbols)
    )
    own_variables = tuple(variable for variable in variables if variable.symbol in own_symbols)
    return replace(compiled, ptx=text.encode(), variables=own_variables)


_FOREIGN_NAME = re.compile(rf"__|_Z|(?:{LIBRARY_NAMESPACES})::")
"""Matches, by `identity`, all names that may look foreign."""


def _library_symbols(
    variables: Sequence[GlobalInfo],
    texts: Iterable[bytes],
    of_libraries: Iterable[str],
    declared: Callable[[], frozenset[str] | None],
) -> frozenset[str]:
    """Return the symbols of the variables that a library declares.

    `texts` are the project's, and `of_libraries` the paths of the libraries' headers. A variable that the project's
    texts name is the project's. The front end is asked about the others, if a library's header contains the name: a
    macro may have pasted it together. Without an answer, they are kept.
    """
    unknown = {variable.symbol: unqualified_name(variable.name).encode() for variable in variables}
    own_words = _words(texts) if unknown else set()
    unknown = {symbol: word for symbol, word in unknown.items() if word not in own_words}
    library_words = _words(map(_content, of_libraries if unknown else ()))
    unknown = {symbol: word for symbol, word in unknown.items() if word in library_words}
    names = declared() if unknown else None
    if names is None:
        return frozenset()
    by_symbol = {variable.symbol: identity(variable.name) for variable in variables}
    return frozenset(symbol for symbol in unknown if by_symbol[symbol] not in names)


def _host_constants(job: Job, own: Mapping[str, bytes], preprocessed: Callable[[], bytes | None]) -> Collection[str]:
    """Return the names of constants of host code. As with nvcc, an image has them only if its code uses them.

    The project's texts tell, unless a word may be a macro that marks device code; then the preprocessor does. Without
    an answer, such constants count as device code. `own` are the texts by absolute path.
    """
    if not looks_like_host_code(job.text):
        return ()
    from cuda_wheel.builder.hostcode.host_constants import host_constants  # start-up time: few jobs have variables

    found = host_constants(own.values())
    if not found.doubtful:
        return found.names
    text = preprocessed()
    exact = host_constants([_lines_of(own, text, job.root)]).names if text is not None else frozenset()
    return (found.names - found.doubtful) | (found.doubtful & exact)


def _lines_of(files: Collection[str], text: bytes, folder: str) -> bytes:
    """Return those lines of a preprocessed text that come from some files, given by their absolute paths."""
    own = (part for part in segments(text) if os.path.normpath(os.path.join(folder, part.file)) in files)
    return b"".join(text[part.start : part.end] for part in own)


def _content(path: str) -> bytes:
    try:
        return Path(path).read_bytes()
    except OSError:
        return b""


def _words(texts: Iterable[bytes]) -> set[bytes]:
    return {word for text in texts for word in re.findall(rb"[\w$]+", text)}
