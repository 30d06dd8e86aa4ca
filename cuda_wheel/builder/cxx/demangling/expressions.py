"""The grammar's rules for expressions, which template arguments, array bounds and `decltype` contain."""

from __future__ import annotations

import struct
from collections.abc import Callable

from cuda_wheel.builder.cxx.demangling.names import BINARY_OPERATORS, OPERATORS, UNARY_OPERATORS
from cuda_wheel.builder.cxx.demangling.nodes import DemanglingError, Node, join, name_node, scoped, source_name
from cuda_wheel.builder.cxx.demangling.types import TypeReader

__all__ = ["SymbolReader"]

_LITERAL_SUFFIXES = {
    "int": "", "unsigned int": "u", "long": "l", "unsigned long": "ul", "long long": "ll", "unsigned long long": "ull",
}  # fmt: skip

_KEYWORD_OPERATORS = {"sz": "sizeof", "st": "sizeof", "az": "alignof", "at": "alignof", "nx": "noexcept"}

_CASTS = {"sc": "static_cast", "dc": "dynamic_cast", "rc": "reinterpret_cast", "cc": "const_cast"}


class SymbolReader(TypeReader):
    """Reads <expression>; with what it inherits, the whole grammar."""

    def expr_primary(self) -> Node:
        """Read <expr-primary>: a literal, or the name of a function or variable."""
        self.expect("L")
        if self.take("_Z") or self.take("Z"):
            outside = self.template_arguments
            name, _ = self.encoding()
            self.template_arguments = outside
            self.expect("E")
            return name
        type_ = self.type()
        if self.take("E"):
            return name_node("nullptr")
        digits = self.match(r"n?[0-9a-f]+")
        self.expect("E")
        return _literal(type_, digits)

    def expression(self) -> Node:
        """Read <expression>."""
        self.enter()
        code = self.peek(2)
        if code[:1] in _RULES_BY_CHARACTER:
            node = _RULES_BY_CHARACTER[code[:1]](self)
        elif code in ("on", "sr", "gs"):
            node = self._unresolved_name()
        elif code in _RULES_BY_CODE:
            self.skip(2)
            node = _RULES_BY_CODE[code](self, code)
        else:
            raise DemanglingError
        self.leave()
        return node

    def _expressions(self) -> tuple[Node, ...]:
        """Read <expression>* E."""
        expressions = []
        while not self.take("E"):
            expressions.append(self.expression())
        return tuple(expressions)

    # --- rules by code: each is called with its code, after that was read -------------------------------

    def _function_param(self, code: str) -> Node:
        """Read the rest of <function-param>."""
        self.match(r"[rVK]*" if code == "fp" else r"[0-9]+p[rVK]*")
        return name_node(f"{{parm#{self.index() + 1}}}")

    def _unary_fold(self, code: str) -> Node:
        sign = self.operator_name().text.removeprefix("operator")
        if code == "fl":
            return join(f"(... {sign} ", self.expression(), ")")
        return join("(", self.expression(), f" {sign} ...)")

    def _binary_fold(self, code: str) -> Node:
        sign = self.operator_name().text.removeprefix("operator")
        return join("(", self.expression(), f" {sign} ... {sign} ", self.expression(), ")")

    def _binary_fold_or_function_param(self, code: str) -> Node:
        return self._function_param(code) if self.peek().isdigit() else self._binary_fold(code)

    def _increment(self, code: str) -> Node:
        if self.take("_"):
            return join(OPERATORS[code], self.expression())
        return join(self.expression(), OPERATORS[code])

    def _unary(self, code: str) -> Node:
        return join(UNARY_OPERATORS[code], self.expression())

    def _binary(self, code: str) -> Node:
        return join("(", self.expression(), f" {BINARY_OPERATORS[code]} ", self.expression(), ")")

    def _keyword_operator(self, code: str) -> Node:
        operand = self.type() if code in ("st", "at") else self.expression()
        return join(f"{_KEYWORD_OPERATORS[code]}(", operand, ")")

    def _cast(self, code: str) -> Node:
        return join(f"{_CASTS[code]}<", self.type(), ">(", self.expression(), ")")

    def _pack_size(self, code: str) -> Node:
        return Node("count", "", (self.template_param() if self.peek() == "T" else self.expression(),))

    def _expression_expansion(self, code: str) -> Node:
        return Node("expansion", "", (self.expression(),))

    def _conditional(self, code: str) -> Node:
        return join("(", self.expression(), " ? ", self.expression(), " : ", self.expression(), ")")

    def _member_access(self, code: str) -> Node:
        return join(self.expression(), "." if code == "dt" else "->", self._unresolved_name())

    def _subscript(self, code: str) -> Node:
        return join(self.expression(), "[", self.expression(), "]")

    def _call(self, code: str) -> Node:
        return Node("call", "", (self.expression(), *self._expressions()))

    def _conversion(self, code: str) -> Node:
        type_ = self.type()
        operands = self._expressions() if self.take("_") else (self.expression(),)
        return Node("call", "", (type_, *operands))

    def _braced_init(self, code: str) -> Node:
        type_ = self.type() if code == "tl" else name_node("")
        return Node("braces", "", (type_, *self._expressions()))

    # --- names whose meaning depends on template parameters ---------------------------------------------

    def _unresolved_name(self) -> Node:
        """Read <unresolved-name>. EDG, and so NVRTC, writes any <type> where the grammar has <unresolved-type>."""
        self.take("gs")
        if self.take("srN"):
            return scoped(self._qualifier_levels(self.type()), self._simple_id())
        if self.take("sr"):
            scope = self._qualifier_levels(self._simple_id()) if self.peek().isdigit() else self.type()
            return scoped(scope, self._simple_id())
        return self._simple_id()

    def _qualifier_levels(self, scope: Node) -> Node:
        """Read <unresolved-qualifier-level>* E, within `scope`."""
        while not self.take("E"):
            scope = scoped(scope, self._simple_id())
        return scope

    def _simple_id(self) -> Node:
        """Read <simple-id> or <base-unresolved-name>."""
        name = self.operator_name() if self.take("on") else source_name(self.identifier())
        return self.template(name) if self.peek() == "I" else name


_RULES_BY_CHARACTER: dict[str, Callable[[SymbolReader], Node]] = {
    "L": SymbolReader.expr_primary,
    "T": SymbolReader.template_param,
    **dict.fromkeys("N0123456789", SymbolReader._unresolved_name),
}

_RULES_BY_CODE: dict[str, Callable[[SymbolReader, str], Node]] = {
    "fp": SymbolReader._function_param,
    **dict.fromkeys(("fl", "fr"), SymbolReader._unary_fold),
    "fL": SymbolReader._binary_fold_or_function_param,
    "fR": SymbolReader._binary_fold,
    **dict.fromkeys(("pp", "mm"), SymbolReader._increment),
    **dict.fromkeys(UNARY_OPERATORS, SymbolReader._unary),
    **dict.fromkeys(BINARY_OPERATORS, SymbolReader._binary),
    **dict.fromkeys(_KEYWORD_OPERATORS, SymbolReader._keyword_operator),
    **dict.fromkeys(_CASTS, SymbolReader._cast),
    "sZ": SymbolReader._pack_size,
    "sp": SymbolReader._expression_expansion,
    "qu": SymbolReader._conditional,
    **dict.fromkeys(("dt", "pt"), SymbolReader._member_access),
    "ix": SymbolReader._subscript,
    "cl": SymbolReader._call,
    "cv": SymbolReader._conversion,
    **dict.fromkeys(("tl", "il"), SymbolReader._braced_init),
}


def _literal(type_: Node, digits: str) -> Node:
    """Return a literal of a type; `digits` are those of the symbol, with "n" as the minus sign."""
    type_name = type_.text if type_.kind == "name" else ""
    if type_name in ("float", "double"):
        return name_node(_floating(digits, type_name))
    if not digits.removeprefix("n").isdigit():
        raise DemanglingError
    number = digits.replace("n", "-")
    if type_name == "bool" and number in ("0", "1"):
        return name_node(("false", "true")[int(number)])
    if type_name == "std::nullptr_t":
        return name_node("nullptr")
    if type_name in _LITERAL_SUFFIXES:
        return name_node(number + _LITERAL_SUFFIXES[type_name])
    return join("(", type_, f"){number}")


def _floating(digits: str, type_: str) -> str:
    """Return a literal from the bytes of an IEEE number in hexadecimal."""
    try:
        (value,) = struct.unpack({"float": ">f", "double": ">d"}[type_], bytes.fromhex(digits))
    except (ValueError, struct.error):
        raise DemanglingError from None
    return f"({type_}){value!r}"
