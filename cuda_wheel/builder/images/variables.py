"""List the variables of a PTX text that its source declares, and remove the unused ones that its libraries declare.

A program can look up every variable at file scope, whatever its linkage: NVRTC gives them all internal linkage, with
`static` or without, used or not, and the driver finds them nevertheless. `extern` makes no difference either.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable
from functools import cache

from cuda_wheel.builder.cxx.demangling.signatures import signature
from cuda_wheel.runtime.formats.ptx import VariableDeclaration, variable_declarations
from cuda_wheel.runtime.manifest import GlobalInfo

__all__ = ["is_library_variable", "source_variables", "unqualified_name", "without_unused"]

_COMPILERS = re.compile(r"\$|__unnamed_|__nv_|__cuda|__func__|__PRETTY_FUNCTION__|_ZT|_ZG")
"""How the symbols begin that the compiler adds: string literals, virtual function tables, guards."""

_LIBRARIES = re.compile(r"(?:cuda|cuda_wheel_detail|cub|thrust|cooperative_groups|nvcuda|nv|std)::")
"""How the C++ names begin of variables in the headers of the toolkit, of CCCL and of this package."""

_WORD = re.compile(r"[A-Za-z_$%][\w$]*")


def source_variables(ptx: str) -> tuple[GlobalInfo, ...]:
    """Return the `__device__`, `__constant__` and `__managed__` variables of a normalised PTX text, in its order.

    Those of libraries and those that the compiler adds are left out.
    """
    return tuple(
        GlobalInfo(signature(each.symbol).name, each.symbol, each.space, each.size)
        for each in _defined(ptx)
        if each.size and not _COMPILERS.match(each.symbol) and not is_library_variable(each.symbol)
    )


def _defined(ptx: str) -> Iterable[VariableDeclaration]:
    return (each for each in variable_declarations(ptx) if each.linkage != "extern")


@cache
def is_library_variable(symbol: str) -> bool:
    """Return whether a variable's name is one of the headers of the toolkit, of CCCL or of this package."""
    name = signature(symbol).name
    # C++ reserves names that begin with two underscores for the implementation: its headers.
    return bool(_LIBRARIES.match(name)) or (name != symbol and name.startswith("__"))


def unqualified_name(name: str) -> str:
    """Return a C++ name without namespaces and template arguments: "v" for "ns::v<other::type>"."""
    shorter = re.sub(r"<[^<>]*>", "", name)
    return name.rpartition("::")[2] if shorter == name else unqualified_name(shorter)


def without_unused(ptx: str, is_library: Callable[[str], bool] = is_library_variable) -> str:
    """Return a normalised PTX text without the library variables that nothing in it uses.

    CCCL adds hundreds of them to every text, and many a name is longer than a kernel. `is_library` decides by symbol.
    """
    candidates = {each.symbol: each for each in _defined(ptx) if is_library(each.symbol)}
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
    """Return how often each of these symbols occurs in a text, its declaration included."""
    wanted = frozenset(symbols)
    return Counter(word for word in _WORD.findall(ptx) if word in wanted) if wanted else Counter()
