"""Find the definitions in CUDA C++, without a compiler and without headers.

The parser is tree-sitter's. It needs no header, expands no macro, and continues after what it does not understand.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from typing import TYPE_CHECKING

from cuda_wheel.builder.cxx.declarators import CLASS_NODES, TYPE_NODES, declared_names, is_function, node_text
from cuda_wheel.builder.cxx.definitions import Item, SourceText
from cuda_wheel.builder.cxx.macros import Macro
from cuda_wheel.builder.cxx.masking import blank, macro_calls, masked
from cuda_wheel.builder.errors import ToolchainError

if TYPE_CHECKING:  # an optional dependency, which only mixed sources need
    from tree_sitter import Node, Parser

__all__ = ["parse"]


@cache
def _parser() -> Parser:
    try:
        # Optional, and loads a shared library: most builds never parse.
        import tree_sitter
        import tree_sitter_cuda
    except ImportError as error:
        raise ToolchainError(
            f"separating device code from host code in one file needs tree-sitter and tree-sitter-cuda ({error}). "
            'Add "cuda-wheel[cu12]" or "cuda-wheel[cu13]" to build-system.requires, or pip install it.'
        ) from error

    return tree_sitter.Parser(tree_sitter.Language(tree_sitter_cuda.language()))


def parse(source: SourceText, macros: Mapping[str, Sequence[Macro]], known: Mapping[str, frozenset[str]]) -> None:
    """Fill in the items of a source; `macros` and the decorations `known` are those of all files together."""
    plain, markers = masked(source, macros, known)
    text = bytearray(plain)
    calls = list(macro_calls(source, macros, known))
    for start, end in calls:
        blank(text, start, end)
    reader = _ItemReader(source, markers)
    source.items.extend(reader.container(_parser().parse(bytes(text)).root_node, (), 0))
    for start, end in calls:
        source.items.append(Item(source, "macro call", (), start, end, end, reader.markers_in(start, end), ()))
    source.items.sort(key=lambda item: item.start)


_CONTAINERS = ("translation_unit", "declaration_list", "preproc_if", "preproc_ifdef", "preproc_else", "preproc_elif")

_KINDS = {
    **dict.fromkeys(TYPE_NODES, "type"),
    "type_definition": "type",
    "alias_declaration": "type",
    "concept_definition": "type",
    "namespace_alias_definition": "type",
    "using_declaration": "using",
    "static_assert_declaration": "assertion",
    "template_instantiation": "instantiation",
    "friend_declaration": "fragment",
}
"""Kinds of items by types of nodes; functions and variables have the same nodes."""

_WHOLE_NODES = (
    *TYPE_NODES,
    "function_definition",
    "template_declaration",
    "type_definition",
    "alias_declaration",
    "namespace_definition",
    "linkage_specification",
    "using_declaration",
)
"""Nodes within an error that may be complete definitions."""


@dataclass(frozen=True)
class _ItemReader:
    """Turns the nodes of a syntax tree into items.

    In its methods, `previous` is where the node before ends, `scope` are the namespaces around, and `owner` is the
    class around.
    """

    source: SourceText
    markers: list[tuple[int, frozenset[str]]]
    """Markers with their offsets in the source; the parsed text has blanks there."""

    @cached_property
    def _marker_offsets(self) -> list[int]:
        return [offset for offset, _ in self.markers]

    def markers_in(self, start: int, end: int) -> frozenset[str]:
        chosen = self.markers[bisect_left(self._marker_offsets, start) : bisect_left(self._marker_offsets, end)]
        return frozenset[str]().union(*(markers for _, markers in chosen))

    def container(self, node: Node, scope: tuple[str, ...], previous: int, owner: str = "") -> Iterator[Item]:
        """Yield the items in a container."""
        for child in node.children:
            yield from self._items(child, scope, previous, owner)
            previous = child.end_byte

    def _items(self, node: Node, scope: tuple[str, ...], previous: int, owner: str) -> Iterator[Item]:
        body = node.child_by_field_name("body")
        if node.type in _CONTAINERS:
            yield from self.container(node, scope, previous, owner)
        elif node.type == "namespace_definition" and body is not None:
            name = node.child_by_field_name("name")
            parts = tuple(node_text(name).replace(" ", "").split("::")) if name is not None else ("",)
            yield from self.container(body, scope + parts, body.start_byte, owner)
        elif node.type == "linkage_specification" and body is not None:
            if body.type == "declaration_list":
                yield from self.container(body, scope, body.start_byte, owner)
            else:
                yield self._item(body, node, scope, previous, owner, ())
        elif node.type == "ERROR":
            yield from self._fragments(node, scope, previous, owner)
        elif node.is_named and node.type not in ("comment", "access_specifier", "expression_statement"):
            yield self._item(node, node, scope, previous, owner, ())
        elif node.type == "expression_statement" and node.end_byte - node.start_byte > 1:
            yield self._make("fragment", node, node, scope, previous, owner, ())

    def _fragments(self, node: Node, scope: tuple[str, ...], previous: int, owner: str) -> Iterator[Item]:
        """Yield the items in an error: definitions that are complete, and the rest as fragments."""
        rest: list[Node] = []
        for child in node.children:
            has_body = child.child_by_field_name("body") is not None
            complete = child.type in _WHOLE_NODES and (has_body or child.type not in TYPE_NODES)
            if complete and (not rest or node_text(rest[-1])[-1:] in (";", "}")):
                if rest:
                    yield self._fragment(rest, scope, previous, owner)
                    rest = []
                yield from self._items(child, scope, previous, owner)
                previous = child.end_byte
            elif complete:  # it belongs to what stands before it
                names = [name for item in self._items(child, scope, previous, owner) for name in item.names]
                yield replace(self._fragment([*rest, child], scope, previous, owner), names=tuple(names))
                previous, rest = child.end_byte, []
            else:
                rest.append(child)
        if rest:
            yield self._fragment(rest, scope, previous, owner)

    def _fragment(self, nodes: Sequence[Node], scope: tuple[str, ...], previous: int, owner: str) -> Item:
        start, end = self._start(nodes[0], previous), nodes[-1].end_byte
        return Item(self.source, "fragment", (), start, end, end, self.markers_in(start, end), scope, owner)

    def _start(self, node: Node, previous: int) -> int:
        """Return where an item begins: at the first marker before its node, if there is one."""
        index = bisect_left(self._marker_offsets, previous)
        if index < len(self._marker_offsets) and self._marker_offsets[index] < node.start_byte:
            return self._marker_offsets[index]
        return node.start_byte

    def _item(
        self, node: Node, outer: Node, scope: tuple[str, ...], previous: int, owner: str, template: tuple[Node, ...]
    ) -> Item:
        """Return the item of a node; `outer` is the node with what belongs to it, such as template headings."""
        if node.type == "template_declaration":
            heading = node.child_by_field_name("parameters")
            inner = [child for child in node.named_children if child != heading and child.type != "requires_clause"]
            if heading is not None and inner:
                return self._item(inner[-1], outer, scope, previous, owner, (*template, heading))
        return self._make(_kind(node), node, outer, scope, previous, owner, template)

    def _make(
        self,
        kind: str,
        node: Node,
        outer: Node,
        scope: tuple[str, ...],
        previous: int,
        owner: str,
        template: tuple[Node, ...],
    ) -> Item:
        start, end = self._start(outer, previous), outer.end_byte
        names, qualifier = declared_names(node)
        owner = qualifier or owner
        if kind == "function" and not names:  # the parser finds such ones when it recovers from an error
            kind = "fragment"
        body = _body_start(node, end)
        members: tuple[Item, ...] = ()
        class_body = _class_body(node)
        if class_body is not None:
            body = class_body.start_byte
            members = tuple(self.container(class_body, scope, body, names[0] if names else ""))
        is_plain_variable = kind == "variable" and not members
        markers = self.markers_in(start, end if is_plain_variable else body)
        return Item(self.source, kind, names, start, end, body, markers, scope, owner, template, node, members)


def _kind(node: Node) -> str:
    if node.type == "function_definition":
        return "function"
    if node.type in ("declaration", "field_declaration"):
        declares_function = any(is_function(each) for each in node.children_by_field_name("declarator"))
        return "function" if declares_function and not _has_type_body(node) else "variable"
    return _KINDS.get(node.type, "fragment")


def _has_type_body(node: Node) -> bool:
    type_ = node.child_by_field_name("type")
    return type_ is not None and type_.type in TYPE_NODES and type_.child_by_field_name("body") is not None


def _body_start(node: Node, end: int) -> int:
    """Return where the body of a definition begins, with a constructor's initializers; `end` if it has none."""
    if node.type == "function_definition":
        bodies = ("field_initializer_list", "compound_statement", "try_statement")
        return next((child.start_byte for child in node.children if child.type in bodies), end)
    body = node.child_by_field_name("body")
    return end if body is None else body.start_byte


def _class_body(node: Node) -> Node | None:
    """Return the body of the class that a node defines, if it defines one."""
    class_node = node if node.type in TYPE_NODES else node.child_by_field_name("type")
    if class_node is None or class_node.type not in CLASS_NODES:
        return None
    return class_node.child_by_field_name("body")
