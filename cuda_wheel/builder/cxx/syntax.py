"""Find the definitions in CUDA C++, without a compiler and without headers.

The grammar is tree-sitter's: it needs no header, knows no macro and goes on after what it does not understand. What it
is given is a plain form of the text, of the same length: directives, CUDA's markers and macros that stand for such are
blank, so that neither an `#if` between two parameters nor a macro before a function leads it astray.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from typing import TYPE_CHECKING

from cuda_wheel.builder.cxx.definitions import Item, SourceText
from cuda_wheel.builder.cxx.tokens import DECORATION, MARKERS, Macro, Token, balanced
from cuda_wheel.builder.errors import ToolchainError

if TYPE_CHECKING:
    from tree_sitter import Node, Parser

__all__ = [
    "decorations",
    "parse",
]


_SPECIFIERS = DECORATION | {"inline", "static", "extern", "constexpr", "const", "volatile", "__extension__"}
"""What a macro may consist of to be a mere decoration."""


def decorations(macros: Iterable[Macro]) -> dict[str, frozenset[str]]:
    """Return the macros that merely decorate definitions, each with the markers that it stands for."""
    found: dict[str, frozenset[str]] = {}
    bodies: dict[str, list[Macro]] = {}
    for macro in macros:
        bodies.setdefault(macro.name, []).append(macro)
    changed = True
    while changed:
        changed = False
        for name, definitions in bodies.items():
            if name in found or not all(_decorates(macro, found) for macro in definitions):
                continue
            said = {token.text for macro in definitions for token in macro.body}
            found[name] = frozenset(said & MARKERS).union(*(found[word] for word in said if word in found))
            changed = True
    return found


def _decorates(macro: Macro, known: Mapping[str, frozenset[str]]) -> bool:
    index, body = 0, macro.body
    while index < len(body):
        text = body[index].text
        if text in _SPECIFIERS or text in known or text == '"C"':
            index += 1
            if index < len(body) and body[index].text == "(":
                index = balanced(body, index)
        else:
            return False
    return True


def _plain(
    source: SourceText, macros: Mapping[str, Sequence[Macro]], known: Mapping[str, frozenset[str]]
) -> tuple[bytes, list[tuple[int, frozenset[str]]]]:
    """Return the text that the grammar is given, and where which markers stood."""
    text = bytearray(source.content)
    markers: list[tuple[int, frozenset[str]]] = []
    functions = {name for name in known if any(macro.parameters is not None for macro in macros[name])}
    for directive in source.directives:
        _blank(text, directive.start, directive.end)
    tokens = source.tokens
    for start, end in _unbalanced_branches(source):
        _blank(text, start, end)
        tokens = [token for token in tokens if not start <= token.start < end]
    for start, end in _bodies(tokens, known):
        _blank(text, start, end)
    index = 0
    while index < len(tokens):
        token = tokens[index]
        index += 1
        if token.kind != "word" or not (token.text in DECORATION or token.text in known):
            continue
        end = token.end
        if token.text in MARKERS or token.text in known:
            markers.append((token.start, known.get(token.text, frozenset({token.text}) & MARKERS)))
        takes = token.text not in MARKERS and token.text not in known
        if index < len(tokens) and tokens[index].text == "(" and (takes or token.text in functions):
            index = balanced(tokens, index)
            end = tokens[index - 1].end
        _blank(text, token.start, end)
    return bytes(text), markers


def _bodies(tokens: Sequence[Token], known: Mapping[str, frozenset[str]]) -> Iterator[tuple[int, int]]:
    """Return what stands in the bodies of functions: nothing that the grammar has to see, and much that misleads it."""
    heading: list[str] = []
    index = 0
    while index < len(tokens):
        text = tokens[index].text
        after = index + 1
        if text in DECORATION or text in known or text == "alignas":
            if after < len(tokens) and tokens[after].text == "(":
                after = balanced(tokens, after)
        elif text == "(":
            after = balanced(tokens, index)
            heading.append("()")
        elif text == "{":
            if "()" in heading and ("=" not in heading or "operator" in heading):
                after = balanced(tokens, index)
                if tokens[after - 1].text != "}":
                    return
                yield tokens[index].end, tokens[after - 1].start
            heading = []
        elif text in ("}", ";"):
            heading = []
        else:
            heading.append(text)
        index = after


def _blank(text: bytearray, start: int, end: int) -> None:
    text[start:end] = re.sub(rb"[^\r\n]", b" ", bytes(text[start:end]))


def _unbalanced_branches(source: SourceText) -> Iterator[tuple[int, int]]:
    """Return the later branches of each `#if` whose branches open or close brackets: only the first can be parsed."""
    stack: list[list[tuple[int, int]]] = []
    for directive in source.directives:
        if directive.word.startswith("if"):
            stack.append([(directive.end, directive.end)])
        elif not stack:
            continue
        elif directive.word in ("else", "elif", "endif"):
            stack[-1][-1] = (stack[-1][-1][0], directive.start)
            if directive.word != "endif":
                stack[-1].append((directive.end, directive.end))
                continue
            branches = stack.pop()
            if len(branches) > 1 and any(_balance(source, start, end) for start, end in branches):
                yield from branches[1:]


def _balance(source: SourceText, start: int, end: int) -> int:
    depth = 0
    for token in source.tokens_in(start, end):
        depth += (token.text in ("{", "(")) - (token.text in ("}", ")"))
        if depth < 0:
            return depth
    return depth


@cache
def _parser() -> Parser:
    try:
        import tree_sitter
        import tree_sitter_cuda
    except ImportError as error:
        raise ToolchainError(
            f"taking device code out of a file with host code needs tree-sitter and tree-sitter-cuda ({error}). "
            'Add "cuda-wheel[cu12]" or "cuda-wheel[cu13]" to build-system.requires, or pip install it.'
        ) from error

    return tree_sitter.Parser(tree_sitter.Language(tree_sitter_cuda.language()))


def tree(text: bytes) -> Node:
    """Return the syntax tree of a text."""
    return _parser().parse(text).root_node


def parse(source: SourceText, macros: Mapping[str, Sequence[Macro]], known: Mapping[str, frozenset[str]]) -> None:
    """Fill in the items of a source; `macros` and `known` decorations are those of all files together."""
    plain, markers = _plain(source, macros, known)
    text = bytearray(plain)
    calls = list(_macro_calls(source, macros, known))
    for start, end in calls:
        _blank(text, start, end)
    reader = _Reader(source, bytes(text), markers)
    source.items.extend(reader.container(tree(bytes(text)), (), 0))
    for start, end in calls:
        source.items.append(Item(source, "macro call", (), start, end, end, reader.markers_in(start, end), ()))
    source.items.sort(key=lambda item: item.start)


def _macro_calls(
    source: SourceText, macros: Mapping[str, Sequence[Macro]], known: Mapping[str, frozenset[str]]
) -> Iterator[tuple[int, int]]:
    """Return where, at namespace scope, a macro with arguments stands for definitions."""
    tokens = source.tokens
    stack: list[bool] = []
    begin = index = 0
    while index < len(tokens):
        token = tokens[index]
        if (
            index == begin
            and all(stack)
            and token.text in macros
            and token.text not in known
            and any(macro.parameters is not None for macro in macros[token.text])
            and index + 1 < len(tokens)
            and tokens[index + 1].text == "("
        ):
            after = balanced(tokens, index + 1)
            if after >= len(tokens) or tokens[after].text not in ("{", "::", "=", "["):
                if after < len(tokens) and tokens[after].text == ";":
                    after += 1
                yield token.start, tokens[after - 1].end
                begin = index = after
                continue
        index += 1
        if token.text == "{":
            heading = [token.text for token in tokens[begin : index - 1]]
            stack.append(
                bool(heading)
                and (
                    heading[0] in ("namespace",)
                    or heading[:2] == ["inline", "namespace"]
                    or heading == ["extern", '"C"']
                    or heading == ["extern", '"C++"']
                )
            )
            begin = index
        elif token.text == "}":
            if stack:
                stack.pop()
            begin = index
        elif token.text == ";":
            begin = index


_CONTAINERS = ("translation_unit", "declaration_list", "preproc_if", "preproc_ifdef", "preproc_else", "preproc_elif")


_TYPES = ("struct_specifier", "class_specifier", "union_specifier", "enum_specifier")


_KINDS = {
    **dict.fromkeys(_TYPES, "type"),
    "type_definition": "type",
    "alias_declaration": "type",
    "concept_definition": "type",
    "namespace_alias_definition": "type",
    "using_declaration": "using",
    "static_assert_declaration": "assertion",
    "template_instantiation": "instantiation",
    "friend_declaration": "fragment",
}


@dataclass(frozen=True)
class _Reader:
    source: SourceText
    text: bytes
    markers: list[tuple[int, frozenset[str]]]

    @cached_property
    def _positions(self) -> list[int]:
        return [position for position, _ in self.markers]

    def markers_in(self, start: int, end: int) -> frozenset[str]:
        chosen = self.markers[bisect_left(self._positions, start) : bisect_left(self._positions, end)]
        return frozenset[str]().union(*(said for _, said in chosen))

    def container(self, node: Node, scope: tuple[str, ...], previous: int, owner: str = "") -> Iterator[Item]:
        """Return the items in a container; `previous` is where what stands before it ends."""
        for child in node.children:
            yield from self._items(child, scope, previous, owner)
            previous = child.end_byte

    def _items(self, node: Node, scope: tuple[str, ...], previous: int, owner: str) -> Iterator[Item]:
        body = node.child_by_field_name("body")
        if node.type in _CONTAINERS:
            yield from self.container(node, scope, previous, owner)
        elif node.type == "namespace_definition" and body is not None:
            name = node.child_by_field_name("name")
            parts = tuple(_text(name).replace(" ", "").split("::")) if name is not None else ("",)
            yield from self.container(body, scope + parts, body.start_byte, owner)
        elif node.type == "linkage_specification" and body is not None:
            if body.type == "declaration_list":
                yield from self.container(body, scope, body.start_byte, owner)
            else:
                yield from self._item(body, node, scope, previous, owner, ())
        elif node.type == "ERROR":
            yield from self._fragments(node, scope, previous, owner)
        elif node.is_named and node.type not in ("comment", "access_specifier", "expression_statement"):
            yield from self._item(node, node, scope, previous, owner, ())
        elif node.type == "expression_statement" and node.end_byte - node.start_byte > 1:
            yield self._make("fragment", node, node, scope, previous, owner, ())

    def _fragments(self, node: Node, scope: tuple[str, ...], previous: int, owner: str) -> Iterator[Item]:
        """Return what an error holds: definitions that are whole, and the rest as fragments."""
        rest: list[Node] = []
        whole = (
            *_TYPES,
            "function_definition",
            "template_declaration",
            "type_definition",
            "alias_declaration",
            "namespace_definition",
            "linkage_specification",
            "using_declaration",
        )
        for child in node.children:
            complete = child.type in whole and (child.child_by_field_name("body") or child.type not in _TYPES)
            if complete and (not rest or _text(rest[-1])[-1:] in (";", "}")):
                if rest:
                    yield self._span("fragment", rest, scope, previous, owner)
                    rest = []
                yield from self._items(child, scope, previous, owner)
                previous = child.end_byte
            elif complete:  # and part of what stands before it
                inner = [name for item in self._items(child, scope, previous, owner) for name in item.names]
                yield replace(self._span("fragment", [*rest, child], scope, previous, owner), names=tuple(inner))
                previous, rest = child.end_byte, []
            else:
                rest.append(child)
        if rest:
            yield self._span("fragment", rest, scope, previous, owner)

    def _span(self, kind: str, nodes: Sequence[Node], scope: tuple[str, ...], previous: int, owner: str) -> Item:
        start, end = self._start(nodes[0], previous), nodes[-1].end_byte
        return Item(self.source, kind, (), start, end, end, self.markers_in(start, end), scope, owner)

    def _start(self, node: Node, previous: int) -> int:
        """Return where an item begins: at the first marker before it, which the plain form has blank."""
        index = bisect_left(self._positions, previous)
        if index < len(self._positions) and self._positions[index] < node.start_byte:
            return self._positions[index]
        return node.start_byte

    def _item(
        self, node: Node, outer: Node, scope: tuple[str, ...], previous: int, owner: str, template: tuple[Node, ...]
    ) -> Iterator[Item]:
        if node.type == "template_declaration":
            heading = node.child_by_field_name("parameters")
            inner = [child for child in node.named_children if child != heading and child.type != "requires_clause"]
            if heading is not None and inner:
                yield from self._item(inner[-1], outer, scope, previous, owner, (*template, heading))
                return
        kind = _KINDS.get(node.type, "fragment")
        if node.type in ("function_definition", "declaration", "field_declaration"):
            function = any(_is_function(declarator) for declarator in node.children_by_field_name("declarator"))
            kind = "function" if node.type == "function_definition" or function else "variable"
            if kind == "function" and node.type != "function_definition" and _has_type_body(node):
                kind = "variable"
        yield self._make(kind, node, outer, scope, previous, owner, template)

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
        body = node.child_by_field_name("body")
        opening = body.start_byte if body is not None else end
        if kind == "function" and node.type == "function_definition":
            inner = [
                child
                for child in node.children
                if child.type in ("field_initializer_list", "compound_statement", "try_statement")
            ]
            opening = inner[0].start_byte if inner else end
        names, owner_names = _names(node)
        owner = owner_names or owner
        if kind == "function" and not names:  # a parser that goes on after an error finds such ones
            kind = "fragment"
        members: tuple[Item, ...] = ()
        holder = node if node.type in _TYPES else node.child_by_field_name("type")
        if holder is not None and holder.type in _TYPES[:3]:
            inside = holder.child_by_field_name("body")
            if inside is not None:
                opening = inside.start_byte
                members = tuple(self.container(inside, scope, inside.start_byte, names[0] if names else ""))
        markers = self.markers_in(start, opening)
        if kind == "variable" and not members:
            markers = self.markers_in(start, end)
        return Item(self.source, kind, names, start, end, opening, markers, scope, owner, template, node, members)


def _text(node: Node) -> str:
    return (node.text or b"").decode(errors="surrogateescape")


def _has_type_body(node: Node) -> bool:
    kind = node.child_by_field_name("type")
    return kind is not None and kind.type in _TYPES and kind.child_by_field_name("body") is not None


def _is_function(declarator: Node | None) -> bool:
    """Return whether a declarator is a function's, and not that of a variable which points to one."""
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


def _names(node: Node) -> tuple[tuple[str, ...], str]:
    """Return what a node declares, and the class that a qualified name says it belongs to."""
    found: list[str] = []
    owner = ""
    if node.type in ("type_definition", "declaration", "field_declaration"):
        holder = node.child_by_field_name("type")
        if holder is not None and holder.type in _TYPES:
            found += _names(holder)[0] if holder.child_by_field_name("body") or node.type == "type_definition" else ()
    if node.type == "enum_specifier":
        found += [
            _text(name)
            for inner in node.named_children
            if inner.type == "enumerator_list"
            for child in inner.named_children
            if (name := child.child_by_field_name("name")) is not None
        ]
    name = node.child_by_field_name("name")
    if name is not None:
        plain = name.child_by_field_name("name") if name.type == "template_type" else name
        found.insert(0, _text(plain or name))
    if node.type == "using_declaration":
        found.append(re.split(r"::|\s", _text(node).rstrip("; \n"))[-1].strip())
    for declarator in node.children_by_field_name("declarator"):
        word, qualifier = declared(declarator)
        found.append(word)
        owner = qualifier or owner
    return tuple(name for name in found if name), owner


def declared(declarator: Node) -> tuple[str, str]:
    """Return the name that a declarator declares, and what qualifies it: ("run", "Model") for `Model<T>::run`."""
    node: Node | None = declarator
    while node is not None:
        if node.type in ("identifier", "type_identifier", "field_identifier", "operator_name", "destructor_name"):
            return re.sub(r"\s+", "", _text(node)), ""
        if node.type == "operator_cast":
            return "operator", ""
        if node.type == "template_function":
            node = node.child_by_field_name("name")
            continue
        if node.type == "qualified_identifier":
            scope = node.child_by_field_name("scope")
            inner = node.child_by_field_name("name")
            word, deeper = declared(inner) if inner is not None else ("", "")
            own = scope.child_by_field_name("name") if scope is not None and scope.type == "template_type" else scope
            return word, deeper or (_text(own) if own is not None else "")
        node = (
            node.child_by_field_name("declarator")
            or _inner_declarator(node)
            or (node.named_children[0] if node.type == "reference_declarator" and node.named_children else None)
        )
    return "", ""
