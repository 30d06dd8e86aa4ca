"""Return the qualified name, template arguments and parameter types that a mangled symbol encodes.

Source of the rules: Itanium C++ ABI, chapter "Mangling". Where they leave the spelling open, it follows CUDA's own
headers: "const float*", "float (&)[3]".
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from cuda_wheel.builder.cxx.mangled_names import MAX_DEPTH, DemanglingError, Node, SymbolReader

__all__ = ["Signature", "Writer", "signature"]


_MAX_WORK = 20_000
"""Maximum number of nodes that a `Writer` writes. Also the maximum number of characters in the text of one node.
Without these limits, a short symbol with substitutions could become a huge text."""


class Writer:
    """Writes names, types and expressions; raises DemanglingError if the result grows too large.

    A type is written in two halves, because the name that it declares stands in its middle: "int (*" and ")[4]". In all
    methods, `element` is the index that the innermost pack expansion has reached, None outside of expansions.
    """

    def __init__(self) -> None:
        self._work = 0
        self._depth = 0

    def text(self, node: Node, element: int | None = None) -> str:
        """Return a node as text."""
        left, right = self._halves(node, element)
        return left + right

    def list(self, nodes: tuple[Node, ...], element: int | None = None) -> Iterator[str]:
        """Yield the members of a comma-separated list, with packs and expansions written out."""
        for node in nodes:
            if node.kind == "arguments":
                yield from self.list(node.parts, element)
            elif node.kind == "pack" and element is None:
                yield from self.list(node.parts)
            elif node.kind == "expansion":
                sizes = [len(pack.parts) for pack in self._packs(node.parts[0])]
                for index in range(min(sizes, default=0)):
                    yield self.text(node.parts[0], index)
                if not sizes:
                    yield self.text(node.parts[0], element) + "..."
            else:
                yield self.text(node, element)

    def _packs(self, node: Node) -> Iterator[Node]:
        """Yield each parameter pack in `node`, the pattern of a pack expansion. Packs inside a nested expansion are
        left out."""
        self._count_work()
        if node.kind == "pack":
            yield node
        elif node.kind != "expansion":
            self._depth += 1
            for part in node.parts:
                yield from self._packs(part)
            self._depth -= 1

    def _count_work(self) -> None:
        self._work += 1
        if self._work > _MAX_WORK or self._depth > MAX_DEPTH:
            raise DemanglingError

    def _resolved(self, node: Node, element: int | None) -> Node:
        """Return the node to write for `node`. For a parameter pack, this is its element at the index `element`. For
        any other node, or if `element` is None, it is `node` itself."""
        if node.kind != "pack" or element is None:
            return node
        if element >= len(node.parts):
            raise DemanglingError
        return node.parts[element]

    # --- types and names --------------------------------------------------------------------------------

    def _halves(self, node: Node, element: int | None) -> tuple[str, str]:
        """Return the text of a node in two parts, which stand before and after a declared name. A pointer to an array
        gives ("int (*", ")[4]"). Most nodes give ("int", "").

        Of each parameter pack in the node, only the element at the index `element` is written; all elements if
        `element` is None.
        """
        self._count_work()
        self._depth += 1
        if node.kind == "pointer":
            halves = self._pointer(node.text, node.parts[0], element)
        elif node.kind == "qualified":
            halves = self._qualified(node.text, node.parts[0], element)
        elif node.kind == "function":
            halves = self._function(node, element)
        elif node.kind == "array":
            left, right = self._halves(node.parts[0], element)
            halves = left, f"[{self.text(node.parts[1], element)}]{right}"
        elif node.kind == "member pointer":
            halves = self._member_pointer(node.parts[0], node.parts[1], element)
        else:
            halves = self._undivided(node, element), ""
        self._depth -= 1
        if len(halves[0]) + len(halves[1]) > _MAX_WORK:
            raise DemanglingError
        return halves

    def _pointer(self, sign: str, target: Node, element: int | None) -> tuple[str, str]:
        """Return the text of a pointer or reference type in two parts, before and after the declared name: ("int (*",
        ")[4]").

        `sign` is "*", "&" or "&&". `target` is the type that is pointed or referred to. Of each parameter pack in
        `target`, only the element at the index `element` is written; all elements if `element` is None.
        """
        target = self._resolved(target, element)
        unqualified = self._resolved(target.parts[0], element) if target.kind == "qualified" else target
        if unqualified.kind == "pointer" and "&" in unqualified.text and "&" in sign:  # reference collapsing
            collapsed = "&&" if sign == unqualified.text == "&&" else "&"
            return self._pointer(collapsed, unqualified.parts[0], element)
        left, right = self._halves(target, element)
        base = self._resolved(unqualified, element)
        if base.kind in ("array", "function"):
            space = " " if base.kind == "array" and not left.endswith(("(*", "(&")) else ""
            return f"{left}{space}({sign}", f"){right}"
        return left + sign, right

    def _qualified(self, qualifiers: str, type_: Node, element: int | None) -> tuple[str, str]:
        """Return the text of a qualified type in two parts, before and after the declared name: ("const int", "").

        `qualifiers` are C++ keywords such as " const volatile". `type_` is the type without them. Of each parameter
        pack in `type_`, only the element at the index `element` is written; all elements if `element` is None.
        """
        type_ = self._resolved(type_, element)
        while type_.kind == "qualified":  # const twice, once from a template argument
            qualifiers = "".join(f" {word}" for word in dict.fromkeys((qualifiers + type_.text).split()))
            type_ = self._resolved(type_.parts[0], element)
        if type_.kind == "array":  # qualifiers of an array apply to its elements
            elements = Node("qualified", qualifiers, type_.parts[:1])
            return self._halves(Node("array", "", (elements, type_.parts[1])), element)
        left, right = self._halves(type_, element)
        if type_.kind == "pointer" and "&" in type_.text:
            return left, right  # a reference has no qualifiers
        if type_.kind in ("pointer", "member pointer"):
            return left + qualifiers, right
        before = [word for word in qualifiers.split() if word != "__restrict__"]
        return " ".join([*before, left]), right

    def _function(self, node: Node, element: int | None) -> tuple[str, str]:
        left, right = self._halves(node.parts[0], element)
        space = "" if right else " "  # none after the left half of a result that is a pointer to a function
        return left + space, f"({', '.join(self.list(node.parts[1:], element))}){node.text}{right}"

    def _member_pointer(self, scope: Node, type_: Node, element: int | None) -> tuple[str, str]:
        scope_text = self.text(scope, element)
        left, right = self._halves(type_, element)
        if type_.kind == "function":
            return f"{left}({scope_text}::*", f"){right}"
        return f"{left} {scope_text}::*", right

    # --- names and expressions, which have one half -----------------------------------------------------

    def _undivided(self, node: Node, element: int | None) -> str:
        kind, parts = node.kind, node.parts
        if kind in ("name", "inline", "unwritten"):
            return node.text
        if kind == "scoped":
            written = [part for part in parts[:-1] if part.kind not in ("inline", "unwritten")] + [parts[-1]]
            return "::".join(self.text(part, element) for part in written)
        if kind == "join":
            return "".join(self.text(part, element) for part in parts)
        if kind in ("pack", "expansion", "count"):
            return self._pack(node, element)
        if kind == "lambda":
            return f"{{lambda({', '.join(self.list(parts, element))})#{node.text}}}"
        if kind == "member":
            return self.text(parts[0], element)
        if kind == "conversion":
            return f"operator {self.text(parts[0], element)}"
        if kind in _BRACKETS:
            opening, closing = _BRACKETS[kind]
            return f"{self.text(parts[0], element)}{opening}{', '.join(self.list(parts[1:], element))}{closing}"
        raise DemanglingError

    def _pack(self, node: Node, element: int | None) -> str:
        """Return the text of a parameter pack, a pack expansion, or `sizeof...(pack)`.

        A parameter pack gives its element at the index `element`; all its elements if `element` is None. A pack
        expansion gives all its elements, separated by commas. `sizeof...(pack)` gives the number of elements.
        """
        if node.kind == "expansion":
            return ", ".join(self.list((node,), element))
        if node.kind == "count":
            if node.parts[0].kind == "pack":
                return str(len(list(self.list(node.parts, element))))
            return self.text(node.parts[0], element)
        if element is None:
            return ", ".join(self.list(node.parts))
        return self.text(self._resolved(node, element), element)


_BRACKETS = {"template": ("<", ">"), "call": ("(", ")"), "braces": ("{", "}")}
"""Kind of a node that ends with a list -> brackets around the list: "gemm<float, 16>" is a "template", "f(1)" a "call",
"T{1}" has "braces"."""


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
