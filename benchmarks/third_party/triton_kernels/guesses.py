"""Guess, by rule, for which arguments a Triton kernel is compiled: types of parameters, and values of constants.

The rules read the kernel's syntax tree only. A parameter is a pointer if it stands at the start of the address of a
load or store, also through assignments and calls of other functions of the package. What is loaded and becomes part of
another address, a bound of a loop, or an operand of `//`, `%`, `<<` or `>>` is an integer. Nothing is said by hand for
a kernel.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

__all__ = ["Function", "Guess", "guess"]

_ACCESS = re.compile(r"load|store|atomic_\w+|make_block_ptr|(?:_experimental_)?make_tensor_descriptor")
_SAME_POINTER = ("advance", "multiple_of", "max_contiguous", "max_constancy", "cast")
_FRACTION = re.compile(
    r"eps|scale|alpha|beta\d?|gamma|dropout|^p$|lr$|momentum|weight_decay|softcap|cap$|temp|factor|limit|threshold|slope|"
    r"smoothing|clip|norm$|coef|_inv|inv_|min_val|max_val|value",
    re.IGNORECASE,
)
"""Matches names of numbers that are no integers."""


@dataclass
class Function:
    """A function with `triton.jit`, and what its text says of its names."""

    node: ast.FunctionDef
    name: str
    """The name under which the module has it."""
    parameters: list[str] = field(init=False)
    assigned: dict[str, list[ast.expr]] = field(init=False, default_factory=dict)
    """Local variable -> the expressions that are assigned to it."""
    added: dict[str, list[ast.expr]] = field(init=False, default_factory=dict)
    """Variable -> what `+=` adds to it, and the like."""

    def __post_init__(self) -> None:
        arguments = self.node.args
        self.parameters = [each.arg for each in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)]
        for each in ast.walk(self.node):
            if isinstance(each, ast.Assign):
                for target in each.targets:
                    self._assign(target, each.value)
            elif isinstance(each, ast.AugAssign) and isinstance(each.target, ast.Name):
                self.added.setdefault(each.target.id, []).append(each.value)
            elif isinstance(each, ast.AnnAssign | ast.NamedExpr) and each.value is not None:
                self._assign(each.target, each.value)

    def _assign(self, target: ast.expr, value: ast.expr) -> None:
        if isinstance(target, ast.Name):
            self.assigned.setdefault(target.id, []).append(value)
        elif isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple) and len(target.elts) == len(value.elts):
            for one, other in zip(target.elts, value.elts, strict=True):
                self._assign(one, other)

    def calls(self) -> Iterator[ast.Call]:
        for each in ast.walk(self.node):
            if isinstance(each, ast.Call):
                yield each

    def bases(self, address: ast.expr, seen: set[str] | None = None) -> set[str]:
        """Return the parameters at the start of an address: {"x"} for `x + row * stride`."""
        seen = set() if seen is None else seen
        if isinstance(address, ast.BinOp) and isinstance(address.op, ast.Add | ast.Sub):
            return self.bases(address.left, seen)
        if isinstance(address, ast.IfExp):
            return self.bases(address.body, seen) | self.bases(address.orelse, seen)
        if isinstance(address, ast.Call):
            if isinstance(address.func, ast.Attribute) and address.func.attr == "to":
                return self.bases(address.func.value, seen)
            if last_name(address.func) in _SAME_POINTER and address.args:
                return self.bases(address.args[0], seen)
        if not isinstance(address, ast.Name) or address.id in seen:
            return set()
        seen.add(address.id)
        found = {address.id} & {*self.parameters}
        for value in self.assigned.get(address.id, ()):
            found |= self.bases(value, seen)
        return found


@dataclass(frozen=True)
class Guess:
    """What a variant of a kernel has, apart from the types of what the pointers point to."""

    values: Mapping[str, Any]
    """Parameter -> the value in the variant; "*" for a pointer to a type that is tried."""
    unknown: tuple[str, ...]
    """Parameters for which no value of a variant fits: functions and tensor descriptors."""


def last_name(node: ast.AST) -> str:
    """Return "load" for `tl.load` and `load`; "" for other expressions."""
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def addresses(function: Function) -> Iterator[ast.expr]:
    """Yield the address of each load, store and so on."""
    for call in function.calls():
        if _ACCESS.fullmatch(last_name(call.func)):
            named = [each.value for each in call.keywords if each.arg in ("pointer", "base", "ptr")]
            yield from named or call.args[:1]


def pointers(function: Function, others: Mapping[str, Function], depth: int = 4) -> tuple[set[str], set[str]]:
    """Return the parameters that are pointers, and those of them that point to integers."""
    found: set[str] = set()
    for address in addresses(function):
        found |= function.bases(address)
    integers = _integers(function)
    for call in function.calls() if depth else ():
        other = others.get(last_name(call.func))
        if other is None or other is function:
            continue
        inner, inner_integers = pointers(other, others, depth - 1)
        for name, value in [
            *zip(other.parameters, call.args, strict=False),
            *((k.arg, k.value) for k in call.keywords),
        ]:
            found |= function.bases(value) if name in inner else set()
            integers |= function.bases(value) if name in inner_integers else set()
    return found, integers & found


def _integers(function: Function) -> set[str]:
    """Return the parameters through which integers are loaded."""
    waiting = [offset for address in addresses(function) for offset in _offsets(function, address, set())]
    for each in ast.walk(function.node):
        if isinstance(each, ast.Call) and last_name(each.func) in ("range", "static_range"):
            waiting += each.args
        elif isinstance(each, ast.BinOp) and isinstance(each.op, ast.FloorDiv | ast.Mod | ast.LShift | ast.RShift):
            waiting += [each.left, each.right]
    integers: set[str] = set()
    seen: set[str] = set()
    while waiting:
        value = waiting.pop()
        if isinstance(value, ast.Name):
            if value.id not in seen:
                seen.add(value.id)
                waiting += [*function.assigned.get(value.id, ()), *function.added.get(value.id, ())]
        elif isinstance(value, ast.Call) and last_name(value.func) == "load":
            for address in value.args[:1]:
                integers |= function.bases(address)
        elif not isinstance(value, ast.Compare):
            waiting += [child for child in ast.iter_child_nodes(value) if isinstance(child, ast.expr)]
    return integers


def _offsets(function: Function, address: ast.expr, seen: set[str]) -> list[ast.expr]:
    """Return the parts of an address after its base, also those of the variables at its start."""
    found = []
    while isinstance(address, ast.BinOp) and isinstance(address.op, ast.Add | ast.Sub):
        found.append(address.right)
        address = address.left
    if isinstance(address, ast.Name) and address.id not in seen:
        seen.add(address.id)
        found += function.added.get(address.id, ())
        for value in function.assigned.get(address.id, ()):
            found += _offsets(function, value, seen)
    return found


def guess(
    function: Function,
    others: Mapping[str, Function],
    parameters: list[tuple[str, str, Any]],
    chosen: Mapping[str, Any],
) -> Guess:
    """Return the arguments for a kernel. `parameters` are those of the manifest; `chosen` is what the first
    configuration of `triton.autotune` has."""
    found, integers = pointers(function, others)
    values: dict[str, Any] = {}
    unknown: list[str] = []
    for name, kind, default in parameters:
        if kind != "argument":
            value = chosen.get(name, default)
            value = _constant(function, others, name) if value is None else value
            if value is None:
                unknown.append(name)
            else:
                values[name] = value
        elif name in found or re.search(r"(?:_ptrs?|_pointer|^p_\w+)$", name):
            values[name] = "*i32" if name in integers else "*"
        elif _is_descriptor(function, name):
            unknown.append(name)
        elif isinstance(default, float) or (_FRACTION.search(name) and not isinstance(default, int)):
            values[name] = "fp32"
        else:
            values[name] = "i32"
    return Guess(values, tuple(unknown))


def _is_descriptor(function: Function, name: str) -> bool:
    return any(
        isinstance(each.func, ast.Attribute) and each.func.attr in ("load", "store", "gather", "scatter")
        and isinstance(each.func.value, ast.Name) and each.func.value.id == name
        for each in function.calls()
    )  # fmt: skip


def _uses(function: Function, others: Mapping[str, Function], name: str, depth: int = 4) -> set[str]:
    """Return how a kernel, and functions that it calls, use a constant."""
    uses = {use for each in ast.walk(function.node) if (use := _use(each, name))}
    for call in function.calls() if depth else ():
        other = others.get(last_name(call.func))
        if other is not None and other is not function:
            for parameter, value in passed(call, other):
                uses |= _uses(other, others, parameter, depth - 1) if _is_name(value, name) else set()
    return uses


def passed(call: ast.Call, other: Function) -> list[tuple[str, ast.expr]]:
    """Return (parameter, expression) for each argument of a call."""
    named = [(each.arg, each.value) for each in call.keywords if each.arg]
    return [*zip(other.parameters, call.args, strict=False), *named]


def _constant(function: Function, others: Mapping[str, Function], name: str) -> Any:
    """Return a usual value for a constant by how the kernel uses it, and by its name; None if it is a function."""
    uses = _uses(function, others, name)
    plain = name.strip("_")
    if "call" in uses:
        return None
    texts = sorted(use for use in uses if use.startswith("'"))
    if texts:
        return texts[0]
    if "type" in uses or re.search(r"d?type$", plain, re.IGNORECASE):
        return "tl.float32"
    return next(value for use, pattern, value in _USUAL if use in uses or re.search(pattern, plain, re.IGNORECASE))


_USUAL: tuple[tuple[str, str, Any], ...] = (
    ("flag", r"^(?:USE|HAS|IS|DO|ENABLE|STORE|LOAD|RETURN|SAVE|OUTPUT|EVEN|REVERSE)_|_FLAG$", False),
    ("", r"^BC$|SUB", 16),
    ("size", r"^B[A-Z]\d?$|BLOCK", 64),
    ("", r"^(?:NUM|N)_|^GROUP|STAGE|SPLIT|_RATIO|^H[QKV]?$|HEADS|BITS", 4),
    ("", _FRACTION.pattern, 1.0),
    ("", "", 64),
)
"""Use of a constant, or pattern of its name, and the usual value; the first that fits counts."""


def _use(node: ast.AST, name: str) -> str:
    """Return how a node uses a constant: "call", "flag", "size", "type", or the string that it is compared with."""
    if isinstance(node, ast.Call):
        function = last_name(node.func)
        if function == name:
            return "call"
        if function in ("to", "cast", "pointer_type") and any(_is_name(each, name) for each in node.args):
            return "type"
        if function in ("arange", "make_block_ptr", "zeros", "full"):
            return "size" if any(_is_name(each, name) for each in ast.walk(node)) else ""
    if isinstance(node, ast.keyword) and node.arg in ("dtype", "out_dtype"):
        return "type" if _is_name(node.value, name) else ""
    if isinstance(node, ast.Compare) and _is_name(node.left, name):
        texts = [each.value for each in node.comparators if isinstance(each, ast.Constant)]
        return next((repr(text) for text in texts if isinstance(text, str)), "")
    tested = node.values if isinstance(node, ast.BoolOp) else []
    if isinstance(node, ast.If | ast.IfExp | ast.While):
        tested = [node.test]
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        tested = [node.operand]
    return "flag" if any(_is_name(each, name) for each in tested) else ""


def _is_name(node: ast.AST, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name
