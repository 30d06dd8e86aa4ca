"""Find out which device variables are the project's, and remove unused variables of libraries from PTX.

A variable is a library's if a header of the library declares it. Its name does not decide that: a project may declare
variables in the namespaces `cuda` and `cub`, and a macro may paste a name together. Where the text of the project's
files leaves a doubt, NVRTC's front end lists the names that these files declare. The same list shows whether the source
uses `__DATE__`, `__TIME__` or `__TIMESTAMP__`. Constants of host code, which NVRTC compiles to device variables, are
found by their names.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property, lru_cache
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from cuda_wheel.builder.cxx.tokens import macro_of, words
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
from cuda_wheel.builder.rewriting.blocks import CodeBlock, SourceBlocks
from cuda_wheel.builder.rewriting.front_end import looks_like_host_code
from cuda_wheel.builder.rewriting.preprocessed import segments
from cuda_wheel.builder.sources.header_search import own_texts
from cuda_wheel.builder.timing import phase
from cuda_wheel.builder.toolchain.nvrtc import cross_references
from cuda_wheel.runtime.manifest import GlobalInfo
from cuda_wheel.runtime.parts.linking.cuda_compiler import can_be_joined, pasted_tokens, spliced

if TYPE_CHECKING:
    from cuda_wheel.builder.toolchain.nvrtc import NvrtcRequest
__all__ = [
    "DeclaredNames",
    "HostConstants",
    "declarations_in",
    "declared_names",
    "host_constants",
    "may_declare_foreign_names",
    "opens_library",
    "remember_references",
    "uses_build_time",
    "with_own_variables",
]


_BUILD_TIME = re.compile(rb"\t__(?:DATE|TIME|TIMESTAMP)__\tR\t")
"""Matches the part of a line in NVRTC's cross-references that records a use of `__DATE__`, `__TIME__` or
`__TIMESTAMP__`: the macro's name and the letter R, with tabs between and around them."""

_OPENED_LIBRARY = re.compile(
    # Repeats are bounded, because texts may have megabytes.
    # A namespace of a library, or one whose name is reserved for the implementation.
    rb"\bnamespace\s[\w:\s]{0,99}?(?<!\w)(" + LIBRARY_NAMESPACES.encode() + rb"|__\w+)\b[\w:\s]{0,99}\{"
    # It may declare variables: not if it declares classes only, such as Tensor.
    rb"(?!\s*(?:(?:class|struct)\s+\w+\s*;\s*){1,99}\})"
    # A macro that may open any: the project's, or one of the toolkit's headers.
    rb"|^[ \t]*\#\s*define\b(?:[^\n\\]|\\\r?\n|\\){0,2000}?\bnamespace\b|BEGIN_\w*NAMESPACE|NAMESPACE_BEGIN",
    re.MULTILINE,
)
"""Matches code that may open a namespace of a library. In `namespace cub {`, group 1 is "cub". Group 1 is empty for a
macro that may open a namespace, such as `BEGIN_CUB_NAMESPACE`."""

_RESERVED = re.compile(
    # A variable whose name looks like the compiler's, as written or pasted together.
    rb"__(?:device|constant|managed)__[^;(){}]{0,300}?(?<!\w)(?:__|_Z)\w*\s*[\[=;,{]|(?<!\w)(?:__|_Z)\w*\s*\#\#"
)
"""Matches a device variable whose name begins with "__" or "_Z", as in `__device__ int __x;`. Also matches `__x ## y`,
with which a macro pastes such a name together."""


def may_declare_foreign_names(texts: Collection[bytes], names: Collection[str] | None = None) -> frozenset[str]:
    """Return which of some variables that look like a library's ("cub::v") or the compiler's ("__v") a project's texts
    may declare.

    `names` are the C++ names of the variables; with None, the result is {"*"} if the texts may declare any such name.
    If the result is empty, none of the variables is the project's, and NVRTC's front end need not be called.
    """
    if names is not None and not names:
        return frozenset()
    opened = {name.decode() for text in texts for name in _OPENED_LIBRARY.findall(text)}
    reserves = any(map(_RESERVED.search, texts))
    if names is None:
        return frozenset("*" if opened or reserves else ())
    candidates = [name for name in names if _may_be_declared(name, opened, reserves)]
    return _named_in(texts, candidates) if candidates else frozenset()


def _may_be_declared(name: str, opened: Collection[str], reserves: bool) -> bool:
    """Return whether a set of texts may declare a variable with the C++ name `name`.

    `opened`: the library namespaces that the texts open, and "" if a macro may open any namespace. `reserves`: whether
    the texts declare or paste together names that begin with "__" or "_Z". "cub::v" needs "cub" or "" in `opened`.
    "__v" needs `reserves`.
    """
    scope, colons, _ = name.partition("::")
    if colons and (scope in opened or "" in opened):
        return True
    return reserves and name.rpartition("::")[2].startswith(("__", "_Z"))


def _named_in(texts: Collection[bytes], names: Sequence[str]) -> frozenset[str]:
    """Return those of the C++ `names` that the texts may declare. For "cub::v", the texts must contain the word "v", or
    a macro that may form it with `##`."""
    joined = [each for text in texts for each in spliced(text)]
    words = {word for text in joined for word in re.findall(rb"[\w$]+", text)}
    pasted = pasted_tokens(joined)
    last = {name: unqualified_name(name).encode() for name in names}
    return frozenset(name for name in names if last[name] in words or can_be_joined(last[name], pasted))


def opens_library(texts: Iterable[bytes]) -> bool:
    """Return whether any of the texts may reopen a namespace of a library, as `namespace cub {` does."""
    return any(map(_OPENED_LIBRARY.search, texts))


def uses_build_time(request: NvrtcRequest) -> bool:
    """Return whether a source that compiles uses `__DATE__`, `__TIME__` or `__TIMESTAMP__`; True if NVRTC cannot tell.

    As slow as an ordinary compilation, so only sources that may use these macros are worth this call.
    """
    return _mentions_of(request).uses_build_time


@phase("compiling")
def declared_names(request: NvrtcRequest, files: Collection[str]) -> frozenset[str] | None:
    """Return all names that these files declare, as `images.variables.identity` shortens them ("cub::v"); None if
    NVRTC's front end lists none.

    `request` is the call that compiles the source. `files` are paths of the source and of headers, absolute or relative
    to the request's folder. A declaration that a macro makes is in the file that uses the macro.
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
    """The contents of NVRTC's cross-references for one request; each property parses them when it is first used."""

    def __init__(self, request: NvrtcRequest, references: bytes | None) -> None:
        self.request = request
        self._references = references

    @cached_property
    def uses_build_time(self) -> bool:
        return self._references is None or _BUILD_TIME.search(self._references) is not None

    @cached_property
    def declared(self) -> dict[bytes, set[bytes]] | None:
        """File path -> the qualified names that the file declares; None if NVRTC wrote no cross-references."""
        if self._references is None:
            return None
        declared: dict[bytes, set[bytes]] = {}
        for name, file in declarations_in(self._references):
            declared.setdefault(file, set()).add(name)
        return declared


def declarations_in(references: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Yield (qualified name, file path) for each declaration and definition in NVRTC's cross-references."""
    for kind in (b"\tD\t", b"\td\t"):
        for before, after in pairwise(references.split(kind)):
            yield before[before.rfind(b"\t") + 1 :], after[: after.find(b"\t")]


_last: list[_Mentions] = []
"""Cross-references of the latest request: one `_Mentions`, or none before the first request. `uses_build_time` and
`declared_names` are called one after the other for one source. Both use this item, so NVRTC is called only once."""


def remember_references(request: NvrtcRequest, references: bytes | None) -> None:
    """Keep the cross-references that a compilation wrote, so that `uses_build_time` and `declared_names` need no second
    compilation for this request. None changes nothing."""
    if references is not None:
        _last[:] = [_Mentions(request, references)]


def _mentions_of(request: NvrtcRequest) -> _Mentions:
    if not _last or _last[0].request != request:
        _last[:] = [_Mentions(request, cross_references(request))]
    return _last[0]


_ATTRIBUTES = frozenset({"device", "constant", "managed", "shared"})
"""Arguments of `__attribute__` that mark a device variable. Macros such as `__device__` expand to these attributes."""

_PLAIN_WORDS = (
    "static extern inline thread_local const constexpr constinit volatile mutable typename auto void bool char short "
    "int long float double signed unsigned wchar_t char8_t char16_t char32_t std size_t ptrdiff_t int8_t int16_t "
    "int32_t int64_t uint8_t uint16_t uint32_t uint64_t intptr_t uintptr_t string alignas"
)
_PLAIN = frozenset(_PLAIN_WORDS.split())
"""Words that may come before a variable's name in its declaration, as in `static const int n`. Any other word may be a
macro."""


class HostConstants(NamedTuple):
    """Names of constants of host code, as far as a source text shows them."""

    names: frozenset[str]
    """Names of constants. No definition with such a name has a memory space specifier, such as `__device__`."""
    doubtful: frozenset[str]
    """Those of `names` with a definition that has an unknown word before the constant's name. The word may be a macro
    for `__device__` or for another memory space specifier; then the constant is device code."""


_MARKERS = frozenset({"__device__", "__constant__", "__managed__", "__shared__"})
"""CUDA's memory space specifiers, each of which makes a variable a device variable."""


def host_constants(texts: Iterable[bytes]) -> HostConstants:
    """Return the names of constants that are host code: no definition of the name has a memory space specifier.

    NVRTC compiles every constant to a device variable. `texts` are the source and the project's headers, as written or
    preprocessed. In texts as written, macros that libraries or options define are unknown words.
    """
    named = [each for text in texts for each in _named_words(text)]
    markers = set(_MARKERS)
    while new := {name for each in named if each.is_macro and each.words & markers for name in each.names} - markers:
        markers |= new
    host: set[str] = set()
    device: set[str] = set()
    doubtful: set[str] = set()
    for each in named:
        if each.words & markers or ("__attribute__" in each.words and each.words & _ATTRIBUTES):
            device |= each.words
        elif each.is_constant:
            host.update(each.names)
            doubtful.update(each.names if each.first_words - _PLAIN else ())
    return HostConstants(frozenset(host - device), frozenset(doubtful - device))


class _Named(NamedTuple):
    """The words of one macro or one C++ definition."""

    names: frozenset[str]
    """The macro's name; for a C++ definition with `const` or `constexpr`, the names that it declares. Empty for any
    other C++ definition."""
    words: frozenset[str]
    """All identifiers and keywords in the macro's body or in the C++ definition."""
    first_words: frozenset[str]
    """Words before the declared name in a C++ definition with `const` or `constexpr`: {"static", "const", "int"} for
    `static const int n = 1;`. Empty for macros and other definitions."""
    is_macro: bool

    @property
    def is_constant(self) -> bool:
        return not self.words.isdisjoint(("const", "constexpr"))


@lru_cache(maxsize=1024)  # the jobs of a module have their texts in common, and reading them takes long
def _named_words(text: bytes) -> tuple[_Named, ...]:
    blocks = SourceBlocks(text)
    macros = filter(None, map(macro_of, blocks.directives))
    found = [_Named(frozenset({macro.name}), words(macro.body), frozenset(), True) for macro in macros]
    for definition in blocks.definitions:
        each = _Named(frozenset(), words(definition.tokens), frozenset(), False)
        if each.is_constant:
            first = frozenset(_words_before(definition, definition.name))
            each = each._replace(names=definition.names, first_words=first)
        found.append(each)
    return tuple(found)


def _words_before(definition: CodeBlock, name: str) -> Iterator[str]:
    """Yield the words before `name` in a definition: "const" and "int" for the name "n" in `const int n = 1;`."""
    for token in definition.heading:
        if token.text == name or token.text in ("=", "{"):
            return
        if token.kind == "word":
            yield token.text


DeclaredNames = Callable[[Collection[str]], "frozenset[str] | None"]
"""Function that takes absolute paths of files, and returns the names that these files declare, or None if they are
unknown. See the function `declared_names`."""


def with_own_variables(
    compiled: Compiled, job: Job, declared_names: DeclaredNames, preprocessed: Callable[[], bytes | None]
) -> Compiled:
    """Return a job's result with the project's device variables in `variables`, and without unused variables of
    libraries and of host code in its PTX.

    Both need the PTX of a complete image. Other results, which a linker completes, only get `declared`. `preprocessed`
    returns the source with all macros expanded, as `nvrtc.preprocessed` does.
    """
    own = _OwnCode(compiled, job, declared_names, preprocessed)
    is_complete = compiled.ptx is not None and job.form == "whole"
    text = ptx_text.normalise((compiled.ptx or b"").decode()) if is_complete else ""
    foreign = compiled.declared or own.foreign(foreign_names(text) if is_complete else None)
    compiled = replace(compiled, declared=foreign)
    if not is_complete:
        return compiled
    variables = source_variables(text, foreign)
    symbols = own.library_symbols(variables)
    symbols |= {each.symbol for each in variables if unqualified_name(each.name) in own.constants}
    own_symbols = {variable.symbol for variable in variables} - symbols
    text = without_unused(
        text, lambda symbol: symbol in symbols or (is_library_variable(symbol) and symbol not in own_symbols)
    )
    own_variables = tuple(variable for variable in variables if variable.symbol in own_symbols)
    return replace(compiled, ptx=text.encode(), variables=own_variables)


_FOREIGN_NAME = re.compile(rf"__|_Z|(?:{LIBRARY_NAMESPACES})::")
"""Matches the beginning of a name that looks like a library's ("cub::v") or like the compiler's ("__v"). The name must
be as `identity` returns it: without inner namespaces and template arguments."""


class _OwnCode:
    """The project's files that a job read, and the variables that they declare. The compiler is called only where the
    text leaves a doubt, and once for each property."""

    def __init__(
        self, compiled: Compiled, job: Job, declared_names: DeclaredNames, preprocessed: Callable[[], bytes | None]
    ) -> None:
        self._job = job
        self._texts = dict(own_texts(job, compiled.headers or ()))
        """Absolute path -> content, for the source and each header that belongs to the project."""
        self._library_headers = [path for path in compiled.headers or () if path not in self._texts]
        self._declared_names = declared_names
        self._preprocessed = preprocessed

    @cached_property
    def names(self) -> frozenset[str] | None:
        """The names that the project's files declare, as `declared_names` returns them."""
        return self._declared_names(list(self._texts))

    @cached_property
    def constants(self) -> Collection[str]:
        """The names of constants of host code. As with nvcc, an image contains such a constant only if its code uses
        it.

        If the definition of a constant contains a word that may be a macro for `__device__`, the preprocessed text
        decides. If there is no preprocessed text, the constant counts as device code.
        """
        if not looks_like_host_code(self._job.text):
            return ()
        found = host_constants(self._texts.values())
        if not found.doubtful:
            return found.names
        text = self._preprocessed()
        lines = [] if text is None else [_lines_of(self._texts, text, self._job.root)]
        return (found.names - found.doubtful) | (found.doubtful & host_constants(lines).names)

    def foreign(self, asked: Collection[str] | None) -> tuple[str, ...]:
        """Return the names that the project declares and that look like a library's or the compiler's, sorted.

        Empty if the project's texts can declare none of the names `asked` except constants of host code; with None, if
        they can declare no such name at all.
        """
        possible = may_declare_foreign_names(self._texts.values(), asked)
        if all(unqualified_name(name) in self.constants for name in possible):
            return ()
        return tuple(sorted(name for name in self.names or () if _FOREIGN_NAME.match(name)))

    def library_symbols(self, variables: Sequence[GlobalInfo]) -> frozenset[str]:
        """Return the symbols of the variables that a library declares; all others are the project's.

        A variable is a library's only if its name is a word of a library header and of no text of the project. Even
        then a macro of the project may have pasted the name together, so it must also be missing from the names that
        NVRTC's front end lists for the project's files. Without such a list, the result is empty.
        """
        unknown = {variable.symbol: unqualified_name(variable.name).encode() for variable in variables}
        own_words = _words(self._texts.values()) if unknown else set()
        unknown = {symbol: word for symbol, word in unknown.items() if word not in own_words}
        library_words = _words(map(_content, self._library_headers if unknown else ()))
        unknown = {symbol: word for symbol, word in unknown.items() if word in library_words}
        names = self.names if unknown else None
        if names is None:
            return frozenset()
        by_symbol = {variable.symbol: identity(variable.name) for variable in variables}
        return frozenset(symbol for symbol in unknown if by_symbol[symbol] not in names)


def _lines_of(files: Collection[str], text: bytes, folder: str) -> bytes:
    """Return the parts of a preprocessed text that come from `files`, which are absolute paths. The text's `#line`
    directives say which file each part comes from; their relative paths start from `folder`."""
    own = (part for part in segments(text) if os.path.normpath(os.path.join(folder, part.file)) in files)
    return b"".join(text[part.start : part.end] for part in own)


def _content(path: str) -> bytes:
    try:
        return Path(path).read_bytes()
    except OSError:
        return b""


def _words(texts: Iterable[bytes]) -> set[bytes]:
    return {word for text in texts for word in re.findall(rb"[\w$]+", text)}
