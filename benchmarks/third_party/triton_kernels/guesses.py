"""Guess, by rule, for which arguments a kernel of Triton is compiled: types of pointers and numbers, values of constants.

The rules read the kernel's syntax tree only. A parameter is a pointer if it stands at the start of the address of a load
or store, also through assignments and calls of other functions of the package. What is loaded and becomes part of
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

    def __post_init__(self) -> None:
        arguments = self.node.args
        self.parameters = [each.arg for each in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)]
        for each in ast.walk(self.node):
            if isinstance(each, ast.Assign):
                for target in each.targets:
                    self._assign(target, each.value)
            elif isinstance(each, ast.AnnAssign | ast.AugAssign | ast.NamedExpr) and each.value is not None:
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
    integers: set[str] = set()
    waiting: list[ast.expr] = []
    for address in addresses(function):
        found |= function.bases(address)
        waiting += _offsets(address)
    for each in ast.walk(function.node):
        if isinstance(each, ast.Call) and last_name(each.func) in ("range", "static_range"):
            waiting += each.args
        elif isinstance(each, ast.BinOp) and isinstance(each.op, ast.FloorDiv | ast.Mod | ast.LShift | ast.RShift):
            waiting += [each.left, each.right]
    if depth:
        for call in function.calls():
            other = others.get(last_name(call.func))
            if other is None or other is function:
                continue
            inner, inner_integers = pointers(other, others, depth - 1)
            passed = [*zip(other.parameters, call.args, strict=False), *((k.arg, k.value) for k in call.keywords)]
            for name, value in passed:
                if name in inner:
                    found |= function.bases(value)
                if name in inner_integers:
                    integers |= function.bases(value)
    seen: set[str] = set()
    while waiting:
        each_value = waiting.pop()
        if isinstance(each_value, ast.Name):
            if each_value.id not in seen:
                seen.add(each_value.id)
                waiting += function.assigned.get(each_value.id, ())
        elif isinstance(each_value, ast.Call) and last_name(each_value.func) == "load":
            for address in each_value.args[:1]:
                integers |= function.bases(address)
        elif isinstance(each_value, ast.Compare):
            continue
        else:
            waiting += [child for child in ast.iter_child_nodes(each_value) if isinstance(child, ast.expr)]
    return found, integers & found


def _offsets(address: ast.expr) -> list[ast.expr]:
    """Return the parts of an address after its base."""
    found = []
    while isinstance(address, ast.BinOp) and isinstance(address.op, ast.Add | ast.Sub):
        found.append(address.right)
        address = address.left
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
            value = _constant(function, name) if value is None else value
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


def _constant(function: Function, name: str) -> Any:
    """Return a usual value for a constant by how the kernel uses it, and by its name; None if it is a function."""
    is_flag = in_range = False
    for each in ast.walk(function.node):
        if isinstance(each, ast.Call) and isinstance(each.func, ast.Name) and each.func.id == name:
            return None
        if isinstance(each, ast.Compare) and isinstance(each.left, ast.Name) and each.left.id == name:
            texts = [c.value for c in each.comparators if isinstance(c, ast.Constant) and isinstance(c.value, str)]
            if texts:
                return repr(texts[0])
        if isinstance(each, ast.If | ast.IfExp | ast.While) and _is_name(each.test, name):
            is_flag = True
        if isinstance(each, ast.BoolOp) and any(_is_name(value, name) for value in each.values):
            is_flag = True
        if isinstance(each, ast.UnaryOp) and isinstance(each.op, ast.Not) and _is_name(each.operand, name):
            is_flag = True
        if isinstance(each, ast.Call) and last_name(each.func) in ("arange", "make_block_ptr", "zeros", "full"):
            in_range |= any(_is_name(inner, name) for inner in ast.walk(each))
        if isinstance(each, ast.keyword) and each.arg in ("dtype", "out_dtype") and _is_name(each.value, name):
            return "tl.float32"
        if isinstance(each, ast.Call) and last_name(each.func) in ("to", "cast", "pointer_type"):
            if any(_is_name(value, name) for value in each.args):
                return "tl.float32"
    plain = name.strip("_")
    if re.search(r"d?type$", plain, re.IGNORECASE):
        return "tl.float32"
    if is_flag or re.match(
        r"(?:USE|HAS|IS|DO|ENABLE|STORE|LOAD|RETURN|SAVE|OUTPUT|EVEN|REVERSE)_|.*_FLAG$", plain.upper()
    ):
        return False
    if re.fullmatch(r"BC|.*SUB.*", plain):
        return 16
    if in_range or re.match(r"BLOCK|B[A-Z]\d?$|.*BLOCK", plain, re.IGNORECASE):
        return 64
    if re.match(r"(?:NUM|N)_|GROUP|STAGE|SPLIT|.*_RATIO|H[QKV]?$|HEADS|BITS|.*BITS", plain, re.IGNORECASE):
        return 4
    if _FRACTION.search(plain):
        return 1.0
    return 64


def _is_name(node: ast.AST, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name
