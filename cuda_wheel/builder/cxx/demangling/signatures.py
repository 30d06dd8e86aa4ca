"""Return the qualified name, template arguments and parameter types that a mangled symbol encodes.

Source of the rules: Itanium C++ ABI, chapter "Mangling". Where they leave the spelling open, it follows CUDA's own
headers: "const float*", "float (&)[3]".
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from cuda_wheel.builder.cxx.demangling.expressions import SymbolReader
from cuda_wheel.builder.cxx.demangling.nodes import DemanglingError
from cuda_wheel.builder.cxx.demangling.writer import Writer

__all__ = ["Signature", "signature"]


class Signature(NamedTuple):
    """A demangled symbol: its qualified name with template arguments, and the types of its parameters.

    `parameters` is None for a variable, and for a symbol that is not mangled or not understood; in the latter case
    `name` is the symbol itself.
    """

    name: str
    parameters: tuple[str, ...] | None


@lru_cache(maxsize=1 << 15)
def signature(symbol: str) -> Signature:
    """Return the signature of a symbol.

    "_ZN2ns4gemmIfLi16EEEvPKT_i" gives the name "ns::gemm<float, 16>" and the parameters ("const float*", "int").
    Names that no programmer wrote are omitted: those that compilers give to unnamed namespaces and add to private
    symbols, inline namespaces of the standard library and of CUDA's libraries, and ABI tags. Never raises; work and
    recursion depth are bounded.
    """
    if not symbol.startswith("_Z"):
        return Signature(symbol, None)
    try:
        reader = SymbolReader(symbol)
        name, parameters = reader.encoding()
        if reader.more("."):  # ".suffix": the compiler's own clone of a function
            return Signature(symbol, None)
        writer = Writer()
        text = writer.text(name)
        types = None if parameters is None else tuple(writer.list(parameters))
    except (DemanglingError, RecursionError):
        return Signature(symbol, None)
    return Signature(text, types) if text else Signature(symbol, None)
