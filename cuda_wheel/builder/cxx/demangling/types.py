"""The grammar's rules for types."""

from __future__ import annotations

from collections.abc import Callable

from cuda_wheel.builder.cxx.demangling.names import NameReader
from cuda_wheel.builder.cxx.demangling.nodes import DemanglingError, Node, join, name_node

__all__ = ["TypeReader"]

_BUILTIN_TYPES = {
    "v": "void", "w": "wchar_t", "b": "bool", "c": "char", "a": "signed char", "h": "unsigned char", "s": "short",
    "t": "unsigned short", "i": "int", "j": "unsigned int", "l": "long", "m": "unsigned long", "x": "long long",
    "y": "unsigned long long", "n": "__int128", "o": "unsigned __int128", "f": "float", "d": "double",
    "e": "long double", "g": "__float128", "z": "...", "Dd": "decimal64", "De": "decimal128", "Df": "decimal32",
    "Dh": "half", "Di": "char32_t", "Ds": "char16_t", "Du": "char8_t", "Da": "auto", "Dc": "decltype(auto)",
    "Dn": "std::nullptr_t",
}  # fmt: skip
"""<builtin-type>"""


class TypeReader(NameReader):
    """Reads <type> and its parts."""

    def type(self) -> Node:
        """Read <type>."""
        self.enter()
        node = self._type_at_depth()
        self.leave()
        return node

    def _type_at_depth(self) -> Node:
        first, two = self.peek(), self.peek(2)
        for code in (first, two):
            if code in _BUILTIN_TYPES:
                self.skip(len(code))
                return name_node(_BUILTIN_TYPES[code])
        if first in _RULES:
            return self.remember(_RULES[first](self))
        if first == "S" and two != "St":
            node = self.substitution()
            return self.remember(self.template(node)) if self.peek() == "I" else node
        if first == "T":
            node = self.remember(self.template_param())
            return self.remember(self.template(node)) if self.peek() == "I" else node
        if two in _EXTENDED_RULES:
            return _EXTENDED_RULES[two](self)
        if self.take("u"):  # <vendor extended type>
            return self.remember(name_node(self.identifier()))
        if first.isdigit() or first in ("N", "Z") or two == "St":
            return self.remember(self.name())
        raise DemanglingError

    def _sized_float(self) -> Node:
        """Read a floating-point <builtin-type> with its number of bits: DF <number> _, DF <number> x, DF16b."""
        self.skip(2)
        bits = self.number()
        if self.take("b"):
            return name_node(f"std::bfloat{bits}_t")
        self.match(r"[x_]")
        return name_node(f"_Float{bits}")

    def decltype(self) -> Node:
        """Read <decltype>."""
        self.skip(2)
        expression = self.expression()
        self.expect("E")
        return join("decltype(", expression, ")")

    def _substitutable_decltype(self) -> Node:
        return self.remember(self.decltype())

    def _pack_expansion(self) -> Node:
        self.skip(2)
        return self.remember(Node("expansion", "", (self.type(),)))

    def _vector_type(self) -> Node:
        """Read <vector-type>."""
        self.skip(2)
        size = self.expression() if self.take("_") else name_node(str(self.number()))
        self.expect("_")
        return self.remember(join(self.type(), " __vector(", size, ")"))

    def _noexcept_function(self) -> Node:
        """Read <exception-spec> and the <function-type> that it belongs to."""
        self.skip(2)
        function = self._function_type()
        return self.remember(function._replace(text=function.text + " noexcept"))

    def _qualified_type(self) -> Node:
        """Read <qualified-type> with <CV-qualifiers>."""
        qualifiers = self.cv_qualifiers()
        if self.peek() == "F":
            function = self._function_type()
            return function._replace(text=qualifiers + function.text)
        return Node("qualified", qualifiers, (self.type(),))

    def _vendor_qualified_type(self) -> Node:
        """Read <qualified-type> with an <extended-qualifier>; its template arguments are not written."""
        self.expect("U")
        qualifier = self.identifier()
        if self.peek() == "I":
            self.template_args()
        return Node("qualified", " " + qualifier, (self.type(),))

    def _pointer_or_reference(self) -> Node:
        sign = {"P": "*", "R": "&", "O": "&&"}[self.peek()]
        self.skip(1)
        return Node("pointer", sign, (self.type(),))

    def _function_type(self) -> Node:
        """Read <function-type>: its parts are the result and the parameters, its text is the qualifiers."""
        self.expect("F")
        self.take("Y")  # extern "C"
        result = self.type()
        types = self.types("ERO")
        qualifiers = self.ref_qualifier()
        self.expect("E")
        return Node("function", qualifiers, (result, *types))

    def _array_type(self) -> Node:
        """Read <array-type>."""
        self.expect("A")
        if self.peek().isdigit():
            size = name_node(self.match(r"[0-9]+"))
        else:
            size = name_node("") if self.peek() == "_" else self.expression()
        self.expect("_")
        return Node("array", "", (self.type(), size))

    def _pointer_to_member_type(self) -> Node:
        """Read <pointer-to-member-type>."""
        self.expect("M")
        return Node("member pointer", "", (self.type(), self.type()))


_RULES: dict[str, Callable[[TypeReader], Node]] = {
    **dict.fromkeys("rVK", TypeReader._qualified_type),
    **dict.fromkeys("PRO", TypeReader._pointer_or_reference),
    "U": TypeReader._vendor_qualified_type,
    "F": TypeReader._function_type,
    "A": TypeReader._array_type,
    "M": TypeReader._pointer_to_member_type,
}
"""Rules by the first character of a type."""

_EXTENDED_RULES: dict[str, Callable[[TypeReader], Node]] = {
    "DF": TypeReader._sized_float,
    "DT": TypeReader._substitutable_decltype,
    "Dt": TypeReader._substitutable_decltype,
    "Dp": TypeReader._pack_expansion,
    "Dv": TypeReader._vector_type,
    "Do": TypeReader._noexcept_function,
}
"""Rules by the first two characters of a type."""
