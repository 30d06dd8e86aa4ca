"""Read names and kinds of declarations from the nodes of a syntax tree."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # an optional dependency, which only mixed sources need
    from tree_sitter import Node

__all__ = ["CLASS_NODES", "TYPE_NODES", "declared_names", "is_function", "node_text"]

CLASS_NODES = ("struct_specifier", "class_specifier", "union_specifier")

TYPE_NODES = (*CLASS_NODES, "enum_specifier")

_NAME_NODES = ("identifier", "type_identifier", "field_identifier", "operator_name", "destructor_name")


def node_text(node: Node) -> str:
    return (node.text or b"").decode(errors="surrogateescape")


def is_function(declarator: Node | None) -> bool:
    """Return whether a declarator is that of a function, and not that of a variable which points to one."""
    while declarator is not None:
        if declarator.type in ("function_declarator", "operator_cast"):
            inner = declarator.child_by_field_name("declarator")
            return inner is None or inner.type != "parenthesized_declarator"
        if declarator.type in ("init_declarator", "array_declarator"):
            return False
        declarator = declarator.child_by_field_name("declarator") or _inner_declarator(declarator)
    return False


def _inner_declarator(node: Node) -> Node | None:
    return next((child for child in node.named_children if child.type.endswith("declarator")), None)


def declared_names(node: Node) -> tuple[tuple[str, ...], str]:
    """Return the names that a node declares, and the class that qualifies them ("" if none does)."""
    names = [*_own_name(node), *_names_of_type(node)]
    if node.type == "enum_specifier":
        names += _enumerators(node)
    if node.type == "using_declaration":
        names.append(re.split(r"::|\s", node_text(node).rstrip("; \n"))[-1].strip())
    owner = ""
    for declarator in node.children_by_field_name("declarator"):
        name, qualifier = _declarator_name(declarator)
        names.append(name)
        owner = qualifier or owner
    return tuple(name for name in names if name), owner


def _own_name(node: Node) -> list[str]:
    name = node.child_by_field_name("name")
    if name is not None and name.type == "template_type":
        name = name.child_by_field_name("name") or name
    return [] if name is None else [node_text(name)]


def _names_of_type(node: Node) -> tuple[str, ...]:
    """Return the names that the type of a declaration declares: `struct A {} a;` declares A too."""
    if node.type not in ("type_definition", "declaration", "field_declaration"):
        return ()
    type_ = node.child_by_field_name("type")
    if type_ is None or type_.type not in TYPE_NODES:
        return ()
    return declared_names(type_)[0] if type_.child_by_field_name("body") or node.type == "type_definition" else ()


def _enumerators(node: Node) -> list[str]:
    return [
        node_text(name)
        for body in node.named_children
        if body.type == "enumerator_list"
        for enumerator in body.named_children
        if (name := enumerator.child_by_field_name("name")) is not None
    ]


def _declarator_name(declarator: Node) -> tuple[str, str]:
    """Return the name that a declarator declares, and its qualifier: ("run", "Model") for `Model<T>::run`."""
    node: Node | None = declarator
    while node is not None:
        if node.type in _NAME_NODES:
            return re.sub(r"\s+", "", node_text(node)), ""
        if node.type == "operator_cast":
            return "operator", ""
        if node.type == "template_function":
            node = node.child_by_field_name("name")
            continue
        if node.type == "qualified_identifier":
            scope = node.child_by_field_name("scope")
            inner = node.child_by_field_name("name")
            name, inner_qualifier = _declarator_name(inner) if inner is not None else ("", "")
            if scope is not None and scope.type == "template_type":
                scope = scope.child_by_field_name("name")
            return name, inner_qualifier or (node_text(scope) if scope is not None else "")
        node = (
            node.child_by_field_name("declarator")
            or _inner_declarator(node)
            or (node.named_children[0] if node.type == "reference_declarator" and node.named_children else None)
        )
    return "", ""
