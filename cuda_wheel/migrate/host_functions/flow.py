"""What C++ statements do, without their translation: what they change, where they end, what they launch."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from cuda_wheel.migrate.host_functions.cxx_types import plain
from cuda_wheel.migrate.host_functions.expressions import (
    COMPARISONS,
    callee_of,
    is_assignment,
    is_tensor,
    operands,
    peeled,
)
from cuda_wheel.migrate.host_functions.nodes import Node, SourceTree

__all__ = ["assigned_in", "ends", "for_parts", "has_break", "has_continue", "launches_in", "mutated_in", "only_value"]


def assigned_in(node: Node, source: SourceTree) -> set[int]:
    """Return the keys of the variables that code assigns, or may assign through a reference."""
    found: set[int] = set()
    for each in node.walk_all():
        if is_assignment(each):
            found |= _target(operands(each)[0])
        elif each.kind == "UNARY_OPERATOR" and each.operator in ("++", "--", "p++", "p--", "&"):
            if plain(operands(each)[-1].type) not in source.records:
                found |= _target(operands(each)[-1])
        elif each.kind == "CALL_EXPR" and each.arguments:
            if each.name in ("operator=", "operator++", "operator--", "operator<<"):
                found |= _target(each.arguments[0])
            elif each.name in ("tie", "swap"):
                for argument in each.arguments:
                    found |= _target(argument)
            else:
                declared = source.declarations.get(each.target)
                if declared is not None and declared.is_own:
                    for (_, type_), argument in zip(declared.parameters, each.arguments, strict=False):
                        if (
                            type_.endswith("&")
                            and not type_.startswith("const ")
                            and not type_.endswith("&&")
                            and not is_tensor(type_)
                            and plain(type_) not in source.records
                        ):
                            found |= _target(argument)
    return found


def mutated_in(node: Node, source: SourceTree) -> set[int]:
    """Return the keys of the containers that code changes."""
    found = set()
    for each in node.walk_all():
        if each.kind == "CALL_EXPR" and each.name in (
            "push_back",
            "emplace_back",
            "clear",
            "resize",
            "insert",
            "erase",
            "pop_back",
        ):
            callee = callee_of(each)
            if callee is not None and operands(callee):
                found |= _target(operands(callee)[0])
        elif each.kind == "CALL_EXPR" and each.name == "operator=" and each.arguments:
            inner = peeled(each.arguments[0])
            if inner.kind == "CALL_EXPR" and inner.name == "operator[]":
                found |= _target(inner.arguments[0])
        elif is_assignment(each):
            inner = peeled(operands(each)[0])
            if inner.kind == "CALL_EXPR" and inner.name == "operator[]" and inner.arguments:
                found |= _target(inner.arguments[0])
    return found


def _target(node: Node) -> set[int]:
    inner = peeled(node)
    return {inner.target} if inner.kind == "DECL_REF_EXPR" and inner.target else set()


def launches_in(node: Node) -> Iterator[Node]:
    """Yield the launches in a piece of code."""
    for each in node.walk_all():
        if each.kind == "CALL_EXPR" and any(child.name == "__cudaPushCallConfiguration" for child in each.children):
            yield each


def only_value(node: Node) -> Node:
    """Return an expression without conversions and copies of its value."""
    while True:
        inner = peeled(node)
        if (
            inner.kind == "CALL_EXPR"
            and not inner.children
            and len(inner.arguments) == 1
            and plain(inner.arguments[0].type) == plain(inner.type)
            and not inner.name.startswith("operator")
        ):
            node = inner.arguments[0]
            continue
        return inner


def ends(statements: Sequence[Node]) -> bool:
    """Return whether nothing behind these statements runs."""
    last = next((each for each in reversed(statements) if each.kind != "NULL_STMT"), None)
    if last is None:
        return False
    if last.kind == "COMPOUND_STMT":
        return ends(last.children)
    if last.kind == "IF_STMT":
        condition, *branches = operands(last)
        is_complete = len(branches) == 2 or _is_always(condition, True)
        return is_complete and all(ends([each]) for each in branches)
    inner = peeled(last)
    return (
        last.kind in ("BREAK_STMT", "RETURN_STMT", "CONTINUE_STMT")
        or inner.kind == "CXX_THROW_EXPR"
        or (inner.kind == "CALL_EXPR" and inner.name in ("torchCheckFail", "exit", "abort", "torchInternalAssertFail"))
        or (last.kind == "DO_STMT" and ends(last.children[:1]))
    )


def _is_always(node: Node, outcome: bool) -> bool:
    """Return whether a condition is a literal of this value, as that of `TORCH_CHECK(false, ...)`."""
    inner = peeled(node)
    if inner.kind == "UNARY_OPERATOR" and inner.operator == "!":
        return _is_always(operands(inner)[-1], not outcome)
    if inner.kind == "CALL_EXPR" and inner.name == "__builtin_expect":
        return _is_always(inner.arguments[0], outcome)
    if inner.kind in ("CXX_STATIC_CAST_EXPR", "CSTYLE_CAST_EXPR"):
        return _is_always(operands(inner)[-1], outcome)
    return inner.kind == "CXX_BOOL_LITERAL_EXPR" and inner.value == outcome


def has_break(node: Node) -> bool:
    """Return whether code leaves the loop or switch around it."""
    if node.kind == "BREAK_STMT":
        return True
    if node.kind in ("FOR_STMT", "WHILE_STMT", "DO_STMT", "SWITCH_STMT", "CXX_FOR_RANGE_STMT", "LAMBDA_EXPR"):
        return False
    return any(map(has_break, node.children))


def has_continue(node: Node) -> bool:
    """Return whether code goes on with the next turn of the loop around it."""
    if node.kind == "CONTINUE_STMT":
        return True
    if node.kind in ("FOR_STMT", "WHILE_STMT", "DO_STMT", "CXX_FOR_RANGE_STMT", "LAMBDA_EXPR"):
        return False
    return any(map(has_continue, node.children))


def for_parts(node: Node) -> tuple[Node | None, Node | None, Node | None, Node]:
    """Return the parts of a loop: start, condition, step and body. libclang leaves out those that are empty."""
    *parts, body = node.children
    first = condition = step = None
    for each in parts:
        inner = peeled(each)
        is_test = plain(each.type) == "bool" or (inner.kind == "BINARY_OPERATOR" and inner.operator in COMPARISONS)
        if each.kind == "DECL_STMT" and first is None:
            first = each
        elif is_test and condition is None:
            condition = each
        elif condition is None and first is None and each is parts[0] and len(parts) == 3:
            first = each
        else:
            step = each
    return first, condition, step, body
