"""List the variables of a PTX text that the project declares, and remove unused ones of library headers.

A program can look up every variable at file scope in a loaded module, `static` or not: NVRTC gives all of them internal
linkage, and the driver finds them nevertheless. `extern` makes no difference either.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable
from functools import cache, lru_cache

from cuda_wheel.builder.cxx.demangling import signature
from cuda_wheel.runtime.manifest import GlobalInfo
from cuda_wheel.runtime.parts.formats.ptx import VariableDeclaration, variable_declarations

__all__ = [
    "LIBRARY_NAMESPACES",
    "foreign_names",
    "identity",
    "is_library_variable",
    "looks_foreign",
    "source_variables",
    "unqualified_name",
    "without_unused",
]

_COMPILERS = re.compile(r"\$|__unnamed_|__nv_|__cuda|__func__|__PRETTY_FUNCTION__|_ZT|_ZG")
"""Matches the start of a symbol that the compiler itself adds: the symbol of a string literal, of a virtual function
table, of the guard of a static variable and so on."""

LIBRARY_NAMESPACES = (
    "cuda|cuda_wheel_detail|cub|thrust|cooperative_groups|nvcuda|nv|std|c10|at|torch|pybind11|nanobind|fmt|spdlog"
)
"""Regular expression that matches the outermost namespace of a name from a library's headers. The libraries are the
CUDA toolkit, CCCL, and those for which cuda-wheel has stand-in headers, such as PyTorch and pybind11."""

_LIBRARIES = re.compile(rf"(?:{LIBRARY_NAMESPACES})::")

_LITERAL = re.compile(r"\$str(?:\$\d+)?")
"""Matches the symbol of a string literal, which no program looks up by name."""

_WORD = re.compile(r"[A-Za-z_$%][\w$]*")


def source_variables(ptx: str, declared: Collection[str] = ()) -> tuple[GlobalInfo, ...]:
    """Return the `__device__`, `__constant__` and `__managed__` variables of a normalised PTX text, in its order.

    Variables whose names look like those of a library or of the compiler are left out, unless `declared` contains the
    C++ name in the form that `identity` returns.
    """
    return tuple(
        GlobalInfo(signature(each.symbol).name, each.symbol, each.space, each.size)
        for each in _defined(ptx)
        if each.size and (not looks_foreign(each.symbol) or identity(signature(each.symbol).name) in declared)
    )


def foreign_names(ptx: str) -> frozenset[str]:
    """Return the C++ names of the variables in a normalised PTX text whose names look like those of a library or of the
    compiler."""
    return frozenset(signature(each.symbol).name for each in _defined(ptx) if each.size and looks_foreign(each.symbol))


@lru_cache(maxsize=1)  # several functions ask about one text, and headers declare hundreds of variables
def _defined(ptx: str) -> tuple[VariableDeclaration, ...]:
    return tuple(each for each in variable_declarations(ptx) if each.linkage != "extern")


@cache
def looks_foreign(symbol: str) -> bool:
    """Return whether the symbol of a variable looks like one of a library or of the compiler.

    A project may declare such names too, so its own files must be searched for them: see `compile.library_variables`.
    """
    return bool(_COMPILERS.match(symbol)) or is_library_variable(symbol)


@cache
def is_library_variable(symbol: str) -> bool:
    """Return whether the symbol of a variable looks like one from the headers of the CUDA toolkit, of CCCL or of
    cuda-wheel."""
    name = signature(symbol).name
    # C++ reserves names that begin with two underscores for the implementation: its headers.
    return bool(_LIBRARIES.match(name)) or (name != symbol and name.startswith("__"))


@lru_cache(maxsize=1 << 15)
def identity(name: str) -> str:
    """Return the first and the last part of a C++ name, without template arguments: "cub::v" for
    "cub::CUB_200802_SM_800::detail::v<int>".

    So the name is the same in releases of a library that differ in inline namespaces. For a variable in a function, the
    result is that of the function's name.
    """
    plain = name.replace("(anonymous namespace)::", "").partition("(")[0]
    while "<" in plain and (shorter := re.sub(r"<[^<>]*>", "", plain)) != plain:
        plain = shorter
    parts = [part for part in plain.split("::") if part] or [name]
    return "::".join(dict.fromkeys([parts[0], parts[-1]]))


def unqualified_name(name: str) -> str:
    """Return a C++ name without namespaces and template arguments: "v" for "ns::v<other::type>"."""
    shorter = re.sub(r"<[^<>]*>", "", name) if "<" in name else name
    return name.rpartition("::")[2] if shorter == name else unqualified_name(shorter)


def without_unused(ptx: str, is_library: Callable[[str], bool] = is_library_variable) -> str:
    """Return a normalised PTX text without the library variables and string literals that nothing in it uses.

    `is_library` returns whether a symbol is a library variable. CCCL adds hundreds of them to every text, and many of
    their names are longer than a kernel.
    """
    candidates = {
        each.symbol: each for each in _defined(ptx) if _LITERAL.fullmatch(each.symbol) or is_library(each.symbol)
    }
    uses = _count_uses(ptx, candidates)
    removed: set[str] = set()
    waiting = [symbol for symbol in candidates if uses[symbol] == 1]
    while waiting:
        symbol = waiting.pop()
        removed.add(symbol)
        # The initialiser may take the address of another variable, which is then used once less.
        for other in _WORD.findall(ptx, candidates[symbol].initialiser, candidates[symbol].end):
            if other in candidates and other != symbol:
                uses[other] -= 1
                if uses[other] == 1:
                    waiting.append(other)
    parts, at = [], 0
    for symbol, variable in candidates.items():
        if symbol in removed:
            parts.append(ptx[at : variable.start])
            at = max(at, variable.end + (ptx[variable.end : variable.end + 1] == "\n"))
    return "".join(parts) + ptx[at:]


def _count_uses(ptx: str, symbols: Iterable[str]) -> Counter[str]:
    """Return symbol -> number of its occurrences in a PTX text, its declaration included."""
    wanted = frozenset(symbols)
    return Counter(word for word in _WORD.findall(ptx) if word in wanted) if wanted else Counter()
