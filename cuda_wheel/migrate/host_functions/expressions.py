"""Translate expressions of C++."""

from __future__ import annotations

import ast
import struct
from collections.abc import Callable
from dataclasses import replace

from cuda_wheel.migrate.host_functions.cxx_types import (
    element_type,
    float_bits,
    integer_bounds,
    is_number,
    item_size,
    plain,
    pointee,
)
from cuda_wheel.migrate.host_functions.nodes import Declaration, Node, SourceTree
from cuda_wheel.migrate.host_functions.python_code import Choice, attribute, call, constant, name, parse, text
from cuda_wheel.migrate.host_functions.values import (
    LIST,
    ListPointer,
    Options,
    Pointer,
    Untranslated,
    Value,
    bounded,
    converted,
    none,
    rounded,
    sum_of,
    to_integer,
    truth,
)

__all__ = [
    "COMPARISONS",
    "TENSOR_OPERATORS",
    "Expressions",
    "callee_of",
    "element_is_exact",
    "is_assignment",
    "is_tensor",
    "negated",
    "operands",
    "options_tree",
    "peeled",
    "unquoted",
]

TENSORS = ("at::Tensor", "at::TensorBase")
_NULLS = ("CXX_NULL_PTR_LITERAL_EXPR", "GNU_NULL_EXPR")
_CASTS = (
    "CSTYLE_CAST_EXPR",
    "CXX_STATIC_CAST_EXPR",
    "CXX_FUNCTIONAL_CAST_EXPR",
    "CXX_REINTERPRET_CAST_EXPR",
    "CXX_CONST_CAST_EXPR",
)
_REFERENCES = ("NAMESPACE_REF", "TYPE_REF", "TEMPLATE_REF", "OVERLOADED_DECL_REF")

_ARITHMETIC: dict[str, ast.operator] = {
    "+": ast.Add(), "-": ast.Sub(), "*": ast.Mult(), "&": ast.BitAnd(), "|": ast.BitOr(), "^": ast.BitXor(),
    "<<": ast.LShift(), ">>": ast.RShift(),
}  # fmt: skip
COMPARISONS: dict[str, ast.cmpop] = {
    "==": ast.Eq(), "!=": ast.NotEq(), "<": ast.Lt(), "<=": ast.LtE(), ">": ast.Gt(), ">=": ast.GtE(),
}  # fmt: skip
TENSOR_OPERATORS: dict[str, ast.operator] = {**_ARITHMETIC, "/": ast.Div()}


def is_tensor(type_: str) -> bool:
    return plain(type_) in TENSORS


def peeled(node: Node) -> Node:
    """Return an expression without parentheses and without what the compiler adds around it."""
    while True:
        if node.kind in ("UNEXPOSED_EXPR", "PAREN_EXPR"):
            inner = [each for each in node.children if each.kind not in _REFERENCES]
            if len(inner) == 1:
                node = inner[0]
                continue
        return node


def callee_of(node: Node) -> Node | None:
    """Return what a call calls: a reference to a function or a member."""
    for child in node.children:
        found = peeled(child)
        if found.kind in ("MEMBER_REF_EXPR", "DECL_REF_EXPR"):
            return found
    return None


def operands(node: Node) -> list[Node]:
    """Return the children of an expression that are expressions."""
    return [each for each in node.children if each.kind not in _REFERENCES]


def is_assignment(node: Node) -> bool:
    """Return whether an expression is an assignment of numbers or pointers, also one such as `n += 2`."""
    return (
        node.kind in ("BINARY_OPERATOR", "COMPOUND_ASSIGNMENT_OPERATOR")
        and node.operator.endswith("=")
        and node.operator not in COMPARISONS
    )


class Expressions:
    """Translates the expressions of one function."""

    def __init__(self, tree: SourceTree) -> None:
        self.source = tree
        self.symbols: list[tuple[str, str, int | None]] = []
        """Names that stand for a type or a number in this instance: (Python name, C++ type, None), or
        (Python name, type of the number, number). The innermost comes last."""

    def declaration(self, node: Node) -> Declaration | None:
        return self.source.declarations.get(node.target)

    # --- types and numbers that may be the template's --------------------------------------------------

    def type_choice(self, type_: str) -> ast.expr:
        """Return a C++ type as template argument: a parameter of the template, an element type, or C++ in a string."""
        type_ = plain(type_)
        options = [each for each, other, number in reversed(self.symbols) if number is None and other == type_]
        element = element_type(type_)
        options.append(element if element is not None and element_is_exact(type_) else repr(type_))
        return Choice(list(dict.fromkeys(options))) if len(set(options)) > 1 else parse(options[0])

    def dtype_choice(self, type_: str) -> ast.expr:
        """Return a C++ type as element type of PyTorch."""
        element = element_type(type_)
        if element is None:
            raise Untranslated(f"{type_} is not an element type of PyTorch")
        return self.type_choice(type_) if element_is_exact(type_) else parse(element)

    def number_choice(self, value: int | bool, type_: str) -> ast.expr:
        """Return a whole number that may be a parameter of the template."""
        options = [each for each, _, number in reversed(self.symbols) if number is not None and number == int(value)]
        options = [each for each in options if self._symbol_fits(each, type_)]
        options.append(repr(bool(value)) if type_ == "bool" else repr(int(value)))
        return (
            Choice(list(dict.fromkeys(options)))
            if len(set(options)) > 1
            else constant(bool(value) if type_ == "bool" else int(value))
        )

    def _symbol_fits(self, symbol: str, type_: str) -> bool:
        of = next(other for each, other, number in reversed(self.symbols) if each == symbol)
        return (plain(of) == "bool") == (plain(type_) == "bool")

    # --- expressions ------------------------------------------------------------------------------------

    def value(self, node: Node) -> Value:
        """Return the value of an expression. Raises Untranslated."""
        handler: Callable[[Node], Value] | None = getattr(self, f"_{node.kind.lower()}", None)
        if handler is None:
            if node.kind in _NULLS:
                return none()
            if node.kind in _CASTS:
                return self._cast(node)
            raise Untranslated(f"{node.kind.lower().replace('_', ' ')} is not translated", node.line)
        try:
            return handler(node)
        except Untranslated as error:
            error.line = error.line or node.line
            raise

    def _paren_expr(self, node: Node) -> Value:
        return self.value(operands(node)[-1])

    def _unexposed_expr(self, node: Node) -> Value:
        inner = operands(node)
        if not inner:
            return self.default_argument(node)
        if len(inner) > 1:
            raise Untranslated("an expression whose parts are not known")
        (child,) = inner
        is_literal = child.kind in ("INTEGER_LITERAL", "CXX_BOOL_LITERAL_EXPR") and plain(node.type) == plain(
            child.type
        )
        if is_literal and isinstance(child.value, int) and child.value in [number for _, _, number in self.symbols]:
            type_ = plain(node.type)
            return bounded(self.number_choice(child.value, type_), type_, int(child.value), int(child.value))
        value = self.value(child)
        if node.type.startswith("<") or "(" in node.type or not node.type:
            return value
        return self.conversion(value, node)

    def conversion(self, value: Value, node: Node) -> Value:
        """Return a value after the conversion that the compiler inserted."""
        to = plain(node.type)
        if value.data is not None or value.type == to:
            return value if value.data is not None and not is_number(to) else converted(value, to)
        if is_number(to) and is_number(value.type):
            return converted(value, to)
        if to == "bool":
            return truth(value)
        return value.as_type(to) if not is_tensor(value.type) or is_tensor(to) or to.startswith("std::") else value

    def default_argument(self, node: Node) -> Value:
        """Return the value of an argument that the call does not give."""
        raise Untranslated(f"a default argument of type {node.type} is not translated", node.line)

    def _integer_literal(self, node: Node) -> Value:
        if node.value is None:
            raise Untranslated("a number whose value is not known")
        value = int(node.value)
        return bounded(constant(value), node.type, value, value)

    def _character_literal(self, node: Node) -> Value:
        return self._integer_literal(node)

    def _cxx_bool_literal_expr(self, node: Node) -> Value:
        return Value(constant(bool(node.value)), "bool", int(bool(node.value)), int(bool(node.value)))

    def _floating_literal(self, node: Node) -> Value:
        if node.value is None:
            raise Untranslated("a number whose value is not known")
        value = float(node.value)
        if plain(node.type) == "float":
            shortest = _shortest_float(value)
            return Value(constant(shortest), "float", is_unrounded=shortest != value)
        return Value(constant(value), plain(node.type))

    def _string_literal(self, node: Node) -> Value:
        return Value(constant(unquoted(node.name)), "std::string")

    def _cxx_unary_expr(self, node: Node) -> Value:  # sizeof
        if not isinstance(node.value, int):
            raise Untranslated("sizeof of what is not known")
        size = node.value
        types = [each.type for each in node.children if each.kind == "TYPE_REF"] or [
            each.type for each in operands(node) if each.type
        ]
        options = [
            f"{symbol}.itemsize"
            for symbol, type_, number in reversed(self.symbols)
            if number is None and item_size(type_) == size and element_type(type_) and (not types or type_ in types)
        ]
        # In an instance, the operand of sizeof(T) is not told: any parameter of this size may be it.
        tree = Choice([*dict.fromkeys(options), str(size)]) if options else constant(size)
        return bounded(tree, "unsigned long", size, size)

    def _unary_operator(self, node: Node) -> Value:
        operand = operands(node)[-1]
        if node.operator == "&":
            return self.address(operand)
        value = self.value(operand)
        if node.operator == "!":
            return Value(negated(truth(value).tree), "bool", 0, 1)
        if node.operator == "*":
            return self.dereferenced(value, node)
        if node.operator in ("-", "+", "~") and is_number(value.type):
            type_ = plain(node.type)
            if node.operator == "+":
                return converted(value, type_)
            if float_bits(type_):
                if isinstance(value.tree, ast.Constant):
                    return replace(value, tree=ast.UnaryOp(ast.USub(), value.tree))
                return Value(ast.UnaryOp(ast.USub(), rounded(value).tree), type_)
            value = to_integer(value, type_)
            if node.operator == "-":
                tree: ast.expr = ast.UnaryOp(ast.USub(), value.tree)
                low, high = -(value.high or 0), -(value.low or 0)
            else:
                tree = ast.UnaryOp(ast.Invert(), value.tree)
                low, high = ~(value.high or 0), ~(value.low or 0)
            return self._in_type(tree, type_, low, high)
        raise Untranslated(f"the operator {node.operator} of {value.type} is not translated here")

    def _in_type(self, tree: ast.expr, type_: str, low: int | None, high: int | None) -> Value:
        """Return an integer result: wrapped for an unsigned type where it may not fit. C++ does not define the overflow
        of a signed type."""
        value = Value(tree, plain(type_), low, high)
        bounds = integer_bounds(type_)
        if bounds and bounds[0] == 0 and plain(type_) != "bool":
            return to_integer(value, type_)
        return bounded(tree, type_, low, high)

    def _binary_operator(self, node: Node) -> Value:
        left, right = operands(node)[-2:]
        operator = node.operator
        if operator in ("&&", "||"):
            one, other = truth(self.value(left)), truth(self.value(right))
            if isinstance(one.data, bool):  # known while translating, as that no error happened
                return other if one.data == (operator == "&&") else one
            if isinstance(other.data, bool):
                return one if other.data == (operator == "&&") else other
            joined: ast.boolop = ast.And() if operator == "&&" else ast.Or()
            values = [*_joined(one.tree, joined), *_joined(other.tree, joined)]
            return Value(ast.BoolOp(joined, values), "bool", 0, 1)
        if operator == "," and left.kind.endswith("CAST_EXPR") and plain(left.type) == "void":  # a comment for assert()
            return self.value(right)
        if operator == "=" or operator == ",":
            raise Untranslated(f"the operator {operator} inside an expression is not translated")
        return self.operation(operator, self.value(left), self.value(right), plain(node.type))

    def operation(self, operator: str, one: Value, other: Value, type_: str) -> Value:
        """Return the value of a binary operator of numbers or pointers."""
        if isinstance(one.data, ListPointer) and operator in ("+", "-") and integer_bounds(other.type):
            return replace(one, tree=sum_of(one.tree, _step(operator, other)))
        is_pointer = "nullptr" in one.type + other.type or one.type.endswith("*") or other.type.endswith("*")
        if is_pointer and (operator in ("==", "!=") or "host memory" not in (one.data, other.data)):
            return self._pointer_operation(operator, one, other)
        if one.data == "host memory" and operator in ("+", "-") and integer_bounds(other.type):
            element = pointee(one.type) or ""
            offset = ast.BinOp(self.size_of(element), ast.Mult(), _step(operator, other))
            return replace(one, tree=call("elements", one.tree, self.dtype_choice(element), offset))
        if one.data == "error" or other.data == "error":
            if operator in ("==", "!="):
                return Value(constant(operator == "=="), "bool", data=operator == "==")
            raise Untranslated("an error code is computed with")
        if operator in COMPARISONS:
            return Value(ast.Compare(rounded(one).tree, [COMPARISONS[operator]], [rounded(other).tree]), "bool", 0, 1)
        if not (is_number(one.type) and is_number(other.type)):
            raise Untranslated(f"the operator {operator} of {one.type} and {other.type} is not translated")
        if float_bits(type_):
            return self._float_operation(operator, converted(one, type_), converted(other, type_), type_)
        return self._integer_operation(operator, one, other, type_)

    def _float_operation(self, operator: str, one: Value, other: Value, type_: str) -> Value:
        left, right = rounded(one).tree, rounded(other).tree
        if operator == "/":
            is_safe = isinstance(right, ast.Constant) and right.value != 0
            tree: ast.expr = ast.BinOp(left, ast.Div(), right) if is_safe else call(name("divide"), left, right)
        elif operator in ("+", "-", "*"):
            tree = ast.BinOp(left, _ARITHMETIC[operator], right)
        else:
            raise Untranslated(f"the operator {operator} of floating-point numbers is not translated")
        return Value(tree, type_, is_unrounded=float_bits(type_) == 32)

    def _integer_operation(self, operator: str, one: Value, other: Value, type_: str) -> Value:
        if operator not in ("<<", ">>"):
            one, other = to_integer(one, type_), to_integer(other, type_)
        low1, high1, low2, high2 = one.low or 0, one.high or 0, other.low or 0, other.high or 0
        if one.low is None or other.low is None or one.high is None or other.high is None:
            raise Untranslated(f"the operator {operator} of {one.type} and {other.type} is not translated")
        left, right = one.tree, other.tree
        if operator in ("/", "%"):
            is_floor = low1 >= 0 and low2 >= 0
            word = {"/": "quotient", "%": "remainder"}[operator]
            kind: ast.operator = ast.FloorDiv() if operator == "/" else ast.Mod()
            tree: ast.expr = ast.BinOp(left, kind, right) if is_floor else call(name(word), left, right)
            if operator == "/":
                bounds = (
                    (low1 // max(high2, 1), high1 // max(low2, 1))
                    if is_floor
                    else (-max(-low1, high1), max(-low1, high1))
                )
            else:
                bounds = (0, min(high1, max(high2 - 1, 0))) if is_floor else (-max(-low2, high2), max(-low2, high2))
            return bounded(tree, type_, *bounds)
        tree = ast.BinOp(left, _ARITHMETIC[operator], right)
        if operator == "+":
            bounds = low1 + low2, high1 + high2
        elif operator == "-":
            bounds = low1 - high2, high1 - low2
        elif operator == "*":
            products = [a * b for a in (low1, high1) for b in (low2, high2)]
            bounds = min(products), max(products)
        elif operator == "<<" and low2 >= 0 and high2 <= 64:
            bounds = min(low1 << low2, low1 << high2), high1 << high2
        elif operator == ">>" and low1 >= 0 and low2 >= 0:
            bounds = 0, high1 >> min(low2, 64)
        elif operator == "&" and low1 >= 0 and low2 >= 0:
            bounds = 0, min(high1, high2)
        elif operator in ("|", "^") and low1 >= 0 and low2 >= 0:
            bounds = 0, (1 << max(high1, high2).bit_length()) - 1
        else:
            bounds = integer_bounds(type_) or (0, 0)
            if operator == "<<":
                bounds = (bounds[0] * 2**64, bounds[1] * 2**64)
        return self._in_type(tree, type_, *bounds)

    def _pointer_operation(self, operator: str, one: Value, other: Value) -> Value:
        is_null = [each.data is None and isinstance(each.tree, ast.Constant) for each in (one, other)]
        if operator in ("==", "!=") and any(is_null):
            value = other if is_null[0] else one
            tree = value.data.tensor if isinstance(value.data, Pointer) else value.tree
            kind: ast.cmpop = ast.Is() if operator == "==" else ast.IsNot()
            return Value(ast.Compare(tree, [kind], [constant(None)]), "bool", 0, 1)
        if operator == "+" and isinstance(other.data, Pointer):
            one, other = other, one
        if operator in ("+", "-") and isinstance(one.data, Pointer) and other.low is not None:
            return self.moved(one, replace(other, tree=_step(operator, other)))
        raise Untranslated(f"the operator {operator} of pointers is not translated")

    def moved(self, pointer: Value, distance: Value) -> Value:
        """Return a pointer that is moved by a number of elements."""
        data = pointer.data
        size = self.size_of(data.element)
        if isinstance(distance.tree, ast.Constant) and distance.tree.value == 0:
            return pointer
        step = distance.tree
        if not (isinstance(size, ast.Constant) and size.value == 1):
            step = ast.BinOp(size, ast.Mult(), distance.tree)
        offset = step if data.offset is None else ast.BinOp(data.offset, ast.Add(), step)
        return self.pointer(replace(data, offset=offset), pointer.type)

    def size_of(self, element: str) -> ast.expr:
        """Return the size of an element in bytes."""
        size = item_size(element)
        if size is None:
            record = self.source.records.get(plain(element))
            if record is None or record.size <= 0:
                raise Untranslated(f"the size of {element} is not known")
            return constant(record.size)
        options = [
            f"{symbol}.itemsize"
            for symbol, type_, number in reversed(self.symbols)
            if number is None and plain(type_) == plain(element) and element_is_exact(type_)
        ]
        return Choice([*dict.fromkeys(options), str(size)]) if options else constant(size)

    def pointer(self, data: Pointer, type_: str = "") -> Value:
        """Return a pointer as value: as a tensor where it points to the first element, else as an address."""
        if data.offset is None:
            tree = data.tensor
        else:
            start = self.address_tree(replace(data, offset=None))
            tree = ast.BinOp(start, ast.Add(), data.offset)
        return Value(tree, plain(type_) or f"{data.element} *", data=data)

    def _conditional_operator(self, node: Node) -> Value:
        condition, one, other = operands(node)
        test = truth(self.value(condition))
        if isinstance(test.data, bool):
            return self.value(one if test.data else other)
        left, right = self.value(one), self.value(other)
        type_ = plain(node.type)
        if isinstance(left.data, Pointer) or isinstance(right.data, Pointer):
            return self._conditional_pointer(test, left, right, type_)
        if isinstance(left.data, Options) and isinstance(right.data, Options):
            whole = ast.IfExp(test.tree, options_tree(left.data), options_tree(right.data))
            return Value(constant(None), type_, data=Options(((None, whole),)))
        if is_number(type_):
            left, right = converted(left, type_), converted(right, type_)
        is_unrounded = left.is_unrounded or right.is_unrounded
        tree = ast.IfExp(test.tree, left.tree, right.tree)
        if left.low is not None and right.low is not None and left.high is not None and right.high is not None:
            return Value(tree, type_, min(left.low, right.low), max(left.high, right.high))
        return Value(tree, type_, is_unrounded=is_unrounded)

    def _conditional_pointer(self, test: Value, left: Value, right: Value, type_: str) -> Value:
        def is_null(value: Value) -> bool:
            return value.data is None and isinstance(value.tree, ast.Constant) and value.tree.value is None

        if is_null(right) and isinstance(left.data, Pointer):
            chosen, there = left, test.tree
        elif is_null(left) and isinstance(right.data, Pointer):
            chosen, there = right, negated(test.tree)
        elif isinstance(left.data, Pointer) and isinstance(right.data, Pointer):
            if left.data.offset is None and right.data.offset is None and left.data.element == right.data.element:
                tree = ast.IfExp(test.tree, left.data.tensor, right.data.tensor)
                typed = left.data.is_typed and right.data.is_typed
                unknown = left.data.is_unknown or right.data.is_unknown
                return self.pointer(Pointer(tree, left.data.element, typed, is_unknown=unknown), type_)
            return Value(ast.IfExp(test.tree, self.address_tree(left), self.address_tree(right)), type_)
        else:
            raise Untranslated("a pointer that depends on a condition")
        if chosen.data.offset is None:
            tensor = text(chosen.data.tensor)
            if text(there) == f"{tensor} is not None":  # None stays None
                return replace(chosen, data=replace(chosen.data, is_unknown=True))
            tree = ast.IfExp(there, chosen.data.tensor, constant(None))
            return self.pointer(replace(chosen.data, tensor=tree, is_unknown=True), type_)
        return Value(ast.IfExp(there, chosen.tree, constant(None)), type_)

    def address_tree(self, value: Value | Pointer) -> ast.expr:
        """Return a pointer as address, or as None for a null pointer."""
        data = value.data if isinstance(value, Value) else value
        if isinstance(data, Pointer) and data.offset is None:
            tensor = self.kept(data.tensor)
            may_be_null = data.is_unknown or may_be_none(data.tensor)
            if data.checked is None:
                return call(name("address"), tensor) if may_be_null else call(attribute(tensor, "data_ptr"))
            if not may_be_null:
                return call(name("data_ptr"), tensor, data.checked)
            again = tensor.target if isinstance(tensor, ast.NamedExpr) else tensor
            is_there = ast.Compare(tensor, [ast.IsNot()], [constant(None)])
            return ast.IfExp(is_there, call(name("data_ptr"), again, data.checked), constant(None))
        assert isinstance(value, Value)
        return value.tree

    def new_name(self, given: str) -> str:
        """Return a new name for a variable of the function."""
        raise NotImplementedError

    def kept(self, tensor: ast.expr) -> ast.expr:
        """Return a tensor whose memory stays when only its address goes on: a new tensor becomes a variable.

        C++ keeps a temporary object to the end of the statement; Python frees it as soon as its address is taken.
        """
        if not makes_tensor(tensor):
            return tensor
        return ast.NamedExpr(name(self.new_name("kept")), tensor)

    def _init_list_expr(self, node: Node) -> Value:
        values = [self.value(each) for each in operands(node)]
        return Value(ast.List([rounded(each).tree for each in values], ast.Load()), plain(node.type))

    def _cast(self, node: Node) -> Value:
        inner = operands(node)[-1]
        to = plain(node.type)
        value = self.value(inner)
        if to == "void":
            return value
        if to.endswith("*"):
            element = pointee(to) or ""
            if isinstance(value.data, Pointer):
                data = value.data
                same = plain(element) == plain(data.element)
                return self.pointer(replace(data, element=element, is_typed=data.is_typed and same), to)
            if value.data == "host memory" and plain(element) != pointee(value.type):
                return replace(value, tree=call("elements", value.tree, self._number_dtype(element)), type=plain(to))
            is_list = value.data == LIST or isinstance(value.data, ListPointer)
            if is_list and plain(element) != pointee(value.type):
                raise Untranslated(f"an array of {pointee(value.type)} as one of {element}")
            return value.as_type(to)
        if is_number(to) and is_number(value.type):
            return converted(value, to)
        if to == "bool":
            return truth(value)
        if element_type(to) is not None and is_number(value.type):  # a number of half precision
            return Value(value.tree, to, is_unrounded=value.is_unrounded, data="number")
        if is_number(to) and value.data == "number":
            raise Untranslated(f"arithmetic of {value.type} is not translated")
        return value.as_type(to) if value.type != to and not is_tensor(value.type) else value

    def address(self, node: Node) -> Value:
        """Return the address of something."""
        raise Untranslated("the address of a variable is not translated", node.line)

    def dereferenced(self, value: Value, node: Node) -> Value:
        """Return what a pointer or an optional points to."""
        if isinstance(value.data, ListPointer):
            return self.typed_number(value.data.at(value.tree, constant(0)), node)
        return self.element(self.host_memory(value), bounded(constant(0), "int", 0, 0), node)

    def host_memory(self, value: Value) -> Value:
        """Return a pointer to a tensor's memory as an array of Python, for a tensor in host memory."""
        data = value.data
        if data == "host memory":
            return value
        if not isinstance(data, Pointer) or data.is_unknown:
            raise Untranslated("memory of a tensor is read on the host, by a pointer that may be null")
        tree = call("elements", data.tensor, self._number_dtype(data.element))
        tree.args += [data.offset] if data.offset is not None else []
        tree.keywords += [ast.keyword("of", data.checked)] if data.checked is not None else []
        return Value(tree, value.type, data="host memory")

    def _number_dtype(self, element: str) -> ast.expr:
        """Return the element type of PyTorch for a C++ type of numbers."""
        if not is_number(element) or element_type(element) is None:
            raise Untranslated(f"memory of type {element} on the host")
        return self.dtype_choice(element)

    def _array_subscript_expr(self, node: Node) -> Value:
        owner, index = operands(node)[-2:]
        value = self.value(owner)
        if isinstance(value.data, ListPointer):
            return self.typed_number(value.data.at(value.tree, self.value(index).tree), node)
        if isinstance(value.data, Pointer):
            value = self.host_memory(value)
        return self.element(value, self.value(index), node)

    def typed_number(self, tree: ast.expr, node: Node) -> Value:
        type_ = plain(node.type)
        return bounded(tree, type_) if integer_bounds(type_) else Value(tree, type_)

    def element(self, owner: Value, index: Value, node: Node) -> Value:
        """Return an element of an array or a container."""
        return self.typed_number(ast.Subscript(owner.tree, index.tree, ast.Load()), node)


_VIEWS = {"detach", "expand", "narrow", "permute", "select", "squeeze", "t", "transpose", "unsqueeze", "view"}


def may_be_none(tree: ast.expr) -> bool:
    """Return whether an expression is None, or is None in one case of a condition: an undefined tensor."""
    if isinstance(tree, ast.IfExp):
        return may_be_none(tree.body) or may_be_none(tree.orelse)
    return isinstance(tree, ast.Constant)


def makes_tensor(tree: ast.expr) -> bool:
    """Return whether an expression may be a tensor that nothing else holds."""
    if isinstance(tree, (ast.Attribute, ast.Subscript)):
        return makes_tensor(tree.value)
    if isinstance(tree, ast.IfExp):
        return makes_tensor(tree.body) or makes_tensor(tree.orelse)
    if isinstance(tree, ast.Call) and isinstance(tree.func, ast.Attribute) and tree.func.attr in _VIEWS:
        return makes_tensor(tree.func.value)
    return not isinstance(tree, (ast.Name, ast.Constant, ast.NamedExpr))


def options_tree(options: Options) -> ast.expr:
    """Return options as a dict of keywords."""
    keywords = dict(options.keywords)
    whole = keywords.pop(None, None)
    if whole is not None and not keywords:
        return whole
    given = [ast.keyword(key, value) for key, value in keywords.items()]
    return ast.Call(name("dict"), [] if whole is None else [whole], given)


def element_is_exact(type_: str) -> bool:
    """Return whether a template argument of this C++ type is what the element type of PyTorch stands for."""
    return element_type(type_) is not None and plain(type_) not in (
        "__half", "__nv_bfloat16", "char", "long long", "unsigned long long",
    )  # fmt: skip


def negated(tree: ast.expr) -> ast.expr:
    """Return the opposite of a condition, without `not` where Python has another operator."""
    if isinstance(tree, ast.Constant) and isinstance(tree.value, bool):
        return constant(not tree.value)
    if isinstance(tree, ast.UnaryOp) and isinstance(tree.op, ast.Not):
        return tree.operand
    if isinstance(tree, ast.Compare) and len(tree.ops) == 1:
        opposite = {
            ast.Is: ast.IsNot,
            ast.IsNot: ast.Is,
            ast.Eq: ast.NotEq,
            ast.NotEq: ast.Eq,
            ast.In: ast.NotIn,
            ast.NotIn: ast.In,
        }
        found = opposite.get(type(tree.ops[0]))
        if found is not None:
            return ast.Compare(tree.left, [found()], tree.comparators)
    return ast.UnaryOp(ast.Not(), tree)


def _step(operator: str, distance: Value) -> ast.expr:
    """Return by how many elements `pointer + distance` or `pointer - distance` moves a pointer."""
    return distance.tree if operator == "+" else ast.UnaryOp(ast.USub(), distance.tree)


def _joined(tree: ast.expr, operator: ast.boolop) -> list[ast.expr]:
    return tree.values if isinstance(tree, ast.BoolOp) and type(tree.op) is type(operator) else [tree]


def _shortest_float(value: float) -> float:
    """Return the number with the fewest digits that rounds to the same float."""
    for digits in range(1, 10):
        short = float(f"{value:.{digits}g}")
        if short == value or _as_float(short) == value:
            return short
    return value


def _as_float(value: float) -> float:
    try:
        return float(struct.unpack("f", struct.pack("f", value))[0])
    except OverflowError:
        return float("inf")


def unquoted(spelling: str) -> str:
    """Return the text of a C++ string literal."""
    body = spelling[spelling.find('"') + 1 : spelling.rfind('"')]
    quotes = "'" if body.endswith('"') else '"""'
    try:
        return str(ast.literal_eval(f"{quotes}{body}{quotes}"))
    except (SyntaxError, ValueError):
        raise Untranslated(f"the string {spelling[:40]} is not translated") from None
