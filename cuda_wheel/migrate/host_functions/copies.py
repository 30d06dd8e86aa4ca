"""Translate copies between memory of the GPU and variables of the host, and what sets memory to a value."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass

from cuda_wheel.migrate.host_functions.calls import Calls, is_default
from cuda_wheel.migrate.host_functions.cxx_types import (
    integer_bounds,
    is_number,
    item_size,
    plain,
    pointee,
    template_arguments,
    template_name,
)
from cuda_wheel.migrate.host_functions.expressions import callee_of, operands, peeled
from cuda_wheel.migrate.host_functions.nodes import Node
from cuda_wheel.migrate.host_functions.python_code import attribute, call, constant, name, parse, repeated
from cuda_wheel.migrate.host_functions.values import LIST, Pointer, Untranslated, Value, rounded, zero_of

__all__ = ["Copies"]


@dataclass(frozen=True)
class _Variable:
    """A number of the host, or a list of numbers, whose address a copy gets."""

    tree: ast.expr
    element: str
    """C++ type of a number."""
    is_list: bool


@dataclass(frozen=True)
class _Memory:
    """Memory of the GPU, or a tensor in host memory: an address or a tensor, and an offset in bytes."""

    tree: ast.expr
    offset: ast.expr


class Copies(Calls):
    """Translates `cudaMemcpy`, `cudaMemset` and their like."""

    def kernels_name(self, node: Node) -> str:
        """Return the name of the kernels of the module that has a variable of the GPU."""
        raise NotImplementedError

    # --- copies -----------------------------------------------------------------------------------------

    def function_cudaMemcpy(self, node: Node) -> Value:
        to, source, size = node.arguments[:3]
        self._check_stream(node, 4)
        return self._copy(self._place(to), self._place(source), size, "cudaMemcpy")

    function_cudaMemcpyAsync = function_cudaMemcpy

    def function_cudaMemcpyFromSymbol(self, node: Node) -> Value:
        to, symbol, size, offset = node.arguments[:4]
        self._check_stream(node, 5)
        return self._copy(self._place(to), self._symbol(symbol, offset), size, "cudaMemcpyFromSymbol")

    function_cudaMemcpyFromSymbolAsync = function_cudaMemcpyFromSymbol

    def function_cudaMemcpyToSymbol(self, node: Node) -> Value:
        symbol, source, size, offset = node.arguments[:4]
        self._check_stream(node, 5)
        return self._copy(self._symbol(symbol, offset), self._place(source), size, "cudaMemcpyToSymbol")

    function_cudaMemcpyToSymbolAsync = function_cudaMemcpyToSymbol

    def function_memcpy(self, node: Node) -> Value:
        to, source, size = node.arguments[:3]
        return self._copy(self._place(to), self._place(source), size, "memcpy")

    function_std_memcpy = function_memcpy

    def _check_stream(self, node: Node, place: int) -> None:
        given = [each for each in node.arguments[place:] if not is_default(each)]
        value = self.value(given[0]) if given else None
        is_null = value is None or (isinstance(value.tree, ast.Constant) and not value.tree.value)
        if value is not None and not is_null and value.data != "current stream":
            raise Untranslated("another stream than the current one")

    def _copy(self, to: _Variable | _Memory, source: _Variable | _Memory, size: Node, what: str) -> Value:
        data = "error" if what.startswith("cuda") else None
        kind = "cudaError" if data else "void *"
        if isinstance(to, _Memory) and isinstance(source, _Memory):
            length = rounded(self.value(size)).tree
            return Value(call("copy_bytes", to.tree, to.offset, source.tree, source.offset, length), kind, data=data)
        if isinstance(to, _Memory) and isinstance(source, _Variable):
            count = self._count(source, size)
            numbers = ast.Subscript(source.tree, ast.Slice(None, count), ast.Load()) if source.is_list else None
            given = numbers or ast.List([source.tree], ast.Load())
            tree = call("write_numbers", to.tree, to.offset, self.dtype_choice(source.element), given)
            return Value(tree, kind, data=data)
        if isinstance(to, _Variable) and isinstance(source, _Memory):
            count = self._count(to, size)
            read = call("read_numbers", source.tree, source.offset, self.dtype_choice(to.element), count)
            target = ast.Subscript(to.tree, ast.Slice(None, count), ast.Store()) if to.is_list else to.tree
            first = read if to.is_list else ast.Subscript(read, constant(0), ast.Load())
            return Value(ast.NamedExpr(target, first), kind, data=data)  # type: ignore[arg-type]
        raise Untranslated(f"{what} between variables of the host")

    def _place(self, node: Node) -> _Variable | _Memory:
        """Return what the pointer of a copy points to."""
        inner = without_casts(node)
        vector = start_of_vector(inner)
        if vector is not None:
            return self._variable(self.value(vector).tree, template_arguments(vector.type)[0], True)
        if inner.kind == "UNARY_OPERATOR" and inner.operator == "&":
            target = peeled(operands(inner)[-1])
            if target.kind == "DECL_REF_EXPR" and is_number(target.type):
                return self._variable(self.value(target).tree, plain(target.type), False)
        if inner.kind == "DECL_REF_EXPR" and inner.type.endswith("]") and inner.type.count("[") == 1:
            return self._variable(self.value(inner).tree, inner.type.partition("[")[0], True)
        first = first_element(inner) or inner
        value = self.value(first)
        if value.data == LIST:
            return self._variable(value.tree, pointee(value.type) or "", True)
        value = self.value(node)
        if not isinstance(value.data, Pointer):
            raise Untranslated(f"a copy from or to {value.type} that is no tensor, number or list of numbers")
        return _Memory(value.data.tensor, value.data.offset or constant(0))

    def _variable(self, tree: ast.expr, element: str, is_list: bool) -> _Variable:
        if not is_number(element) or item_size(element) is None or plain(element) == "bool":
            raise Untranslated(f"a copy from or to a variable of type {element}")
        if not isinstance(tree, ast.Name):
            raise Untranslated("a copy from or to a part of a variable")
        return _Variable(tree, plain(element), is_list)

    def _symbol(self, node: Node, offset: Node) -> _Memory:
        inner = peeled(node)
        declared = self.declaration(inner)
        if inner.kind != "DECL_REF_EXPR" or declared is None or not declared.is_on_gpu:
            raise Untranslated("a copy from or to a variable of the GPU that is not known")
        place = ast.Subscript(
            attribute(name(self.kernels_name(inner)), "globals"), constant(declared.qualified), ast.Load()
        )
        distance = constant(0) if is_default(offset) else rounded(self.value(offset)).tree
        return _Memory(attribute(place, "address"), distance)

    def _count(self, variable: _Variable, size: Node) -> ast.expr:
        """Return how many numbers a size in bytes is."""
        width = item_size(variable.element)
        assert width is not None
        length = self.value(size)
        if length.low is not None and length.low == length.high:
            if length.low % width or (length.low != width and not variable.is_list):
                raise Untranslated(f"a copy of {length.low} bytes from or to a variable of type {variable.element}")
            return constant(length.low // width)
        if not variable.is_list:
            raise Untranslated("a copy of an unknown size from or to one number")
        inner = peeled(size)
        factors = operands(inner)[-2:] if inner.kind == "BINARY_OPERATOR" and inner.operator == "*" else ()
        others = [each for number, each in enumerate(factors) if factors[1 - number].value == width]
        return self.unconverted(others[0]) if others else ast.BinOp(length.tree, ast.FloorDiv(), constant(width))

    # --- memory that is allocated -----------------------------------------------------------------------

    def function_cudaMalloc(self, node: Node) -> Value:
        """Return the allocation as a tensor of bytes, which is freed when nothing refers to it."""
        inner = without_casts(node.arguments[0])
        target = peeled(operands(inner)[-1]) if inner.kind == "UNARY_OPERATOR" and inner.operator == "&" else inner
        if target.kind != "DECL_REF_EXPR" or not plain(target.type).endswith("*"):
            raise Untranslated("memory whose address is not in a variable")
        size = ast.List([rounded(self.value(node.arguments[1])).tree], ast.Load())
        made = call("torch.empty", size, dtype=parse("torch.uint8"), device=constant("cuda"))
        return Value(ast.NamedExpr(self.new_pointer(target), made), "cudaError", data="error")

    function_cudaMallocAsync = function_cudaMalloc

    def function_cudaFree(self, node: Node) -> Value:
        return Value(constant(None), "cudaError", data="error")

    function_cudaFreeAsync = function_cudaFree

    def new_pointer(self, node: Node) -> ast.Name:
        """Return the variable of a pointer, which points to memory of a tensor from now on."""
        raise NotImplementedError

    def _cxx_new_expr(self, node: Node) -> Value:
        """Return an array of numbers on the host as a list."""
        element = pointee(node.type) or ""
        sizes = [each for each in operands(node) if integer_bounds(each.type)]
        if not is_number(element) or len(sizes) != 1 or any(each.kind == "INIT_LIST_EXPR" for each in operands(node)):
            raise Untranslated(f"an object of {element} that is allocated")
        tree = repeated(zero_of(element), self.unconverted(sizes[0]))
        return Value(tree, plain(node.type), data=LIST)

    def _cxx_delete_expr(self, node: Node) -> Value:
        if self.value(operands(node)[-1]).data != LIST:
            raise Untranslated("what is deleted is no array of numbers")
        return Value(constant(None), "void", data="nothing")

    # --- memory that is set -----------------------------------------------------------------------------

    def function_cudaMemset(self, node: Node) -> Value:
        self._check_stream(node, 3)
        return self._set(node, "cudaMemset", "cudaError", "error")

    function_cudaMemsetAsync = function_cudaMemset

    def function_memset(self, node: Node) -> Value:
        return self._set(node, "memset", "void *", None)

    def _set(self, node: Node, what: str, kind: str, data: str | None) -> Value:
        place, byte, size = self._place(node.arguments[0]), self.value(node.arguments[1]), node.arguments[2]
        if isinstance(place, _Memory):
            length = rounded(self.value(size)).tree
            return Value(call("fill_bytes", place.tree, place.offset, byte.tree, length), kind, data=data)
        if not byte.low == byte.high == 0:
            raise Untranslated(f"{what} of numbers to another value than 0")
        count, zero = self._count(place, size), zero_of(place.element)
        target = ast.Subscript(place.tree, ast.Slice(None, count), ast.Store()) if place.is_list else place.tree
        given = repeated(zero, count) if place.is_list else zero
        return Value(ast.NamedExpr(target, given), kind, data=data)  # type: ignore[arg-type]


def without_casts(node: Node) -> Node:
    """Return an expression without the casts around it."""
    inner = peeled(node)
    while inner.kind in ("CSTYLE_CAST_EXPR", "CXX_REINTERPRET_CAST_EXPR", "CXX_STATIC_CAST_EXPR") and operands(inner):
        inner = peeled(operands(inner)[-1])
    return inner


def first_element(inner: Node) -> Node | None:
    """Return the pointer of `&pointer[0]`; None for other expressions."""
    if inner.kind != "UNARY_OPERATOR" or inner.operator != "&":
        return None
    element = peeled(operands(inner)[-1])
    if element.kind != "ARRAY_SUBSCRIPT_EXPR" or peeled(operands(element)[-1]).value != 0:
        return None
    return operands(element)[-2]


def start_of_vector(inner: Node) -> Node | None:
    """Return the vector whose first element an expression points to: `&v[0]` and `v.data()`; None for others."""
    given: Sequence[Node] = ()
    if inner.kind == "UNARY_OPERATOR" and inner.operator == "&":
        element = peeled(operands(inner)[-1])
        is_first = (
            element.kind == "CALL_EXPR" and element.name == "operator[]" and peeled(element.arguments[1]).value == 0
        )
        given = element.arguments[:1] if is_first else ()
    elif inner.kind == "CALL_EXPR" and inner.name == "data":
        callee = callee_of(inner)
        given = operands(callee)[:1] if callee is not None else ()
    return given[0] if given and template_name(given[0].type) == "std::vector" else None
