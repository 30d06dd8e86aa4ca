"""The nodes that a symbol is read into and written from, and the limits on them."""

from __future__ import annotations

import re
from typing import NamedTuple

__all__ = ["MAX_DEPTH", "VOID", "DemanglingError", "Node", "join", "name_node", "scoped", "source_name"]

MAX_DEPTH = 80
"""Maximum nesting of types and expressions. Real symbols stay below 30; Python's own recursion limit is far above."""


class DemanglingError(Exception):
    """The symbol is malformed, or uses a part of the grammar that is not implemented."""


class Node(NamedTuple):
    """A part of a name, type or expression. `kind` determines how `Writer` writes `text` and `parts`."""

    kind: str
    text: str = ""
    parts: tuple[Node, ...] = ()


def name_node(text: str) -> Node:
    """Return a node that is written as `text`."""
    return Node("name", text)


def join(*parts: Node | str) -> Node:
    """Return a node that is written as its parts one after the other."""
    return Node("join", "", tuple(name_node(part) if isinstance(part, str) else part for part in parts))


VOID = name_node("void")


def scoped(scope: Node | None, name: Node) -> Node:
    """Return a name in a scope (a namespace, class or function), as one flat node; the name itself without a scope."""
    if scope is None:
        return name
    inner = name.parts if name.kind == "scoped" else (name,)
    parts = (*(scope.parts if scope.kind == "scoped" else (scope,)), *inner)
    if len(parts) > MAX_DEPTH:
        raise DemanglingError
    return Node("scoped", "", parts)


_COMPILER_NAME = re.compile(r"_GLOBAL_[._$]N|_INTERNAL_[0-9a-f]{8}_")
"""Prefixes of the names that compilers give to an unnamed namespace, and to all that is private to one file."""

_INLINE_NAMESPACE = re.compile(r"__v?\d+|__cxx11|(?:CUB|THRUST)_\d+_\w+|_V_\d+_\w+|__(?:\d+_)?ABI\w*")
"""Inline namespaces of libcu++, CUB, Thrust, cooperative groups and the C++ standard libraries."""


def source_name(identifier: str) -> Node:
    """Return the node of an identifier; its kind says whether the writer omits it as a scope."""
    if _COMPILER_NAME.match(identifier):
        return Node("unwritten", identifier)
    return Node("inline" if _INLINE_NAMESPACE.fullmatch(identifier) else "name", identifier)
