"""The grammar's rules for names: encodings, nested and local names, operators, substitutions and templates."""

from __future__ import annotations

from collections.abc import Callable

from cuda_wheel.builder.cxx.demangling.cursor import Cursor
from cuda_wheel.builder.cxx.demangling.nodes import DemanglingError, Node, name_node, scoped, source_name

__all__ = ["BINARY_OPERATORS", "OPERATORS", "UNARY_OPERATORS", "NameReader"]

UNARY_OPERATORS = {"ps": "+", "ng": "-", "ad": "&", "de": "*", "co": "~", "nt": "!"}

BINARY_OPERATORS = {
    "pl": "+", "mi": "-", "ml": "*", "dv": "/", "rm": "%", "an": "&", "or": "|", "eo": "^", "ls": "<<", "rs": ">>",
    "eq": "==", "ne": "!=", "lt": "<", "gt": ">", "le": "<=", "ge": ">=", "ss": "<=>", "aa": "&&", "oo": "||",
    "cm": ",", "aS": "=", "pL": "+=", "mI": "-=", "mL": "*=", "dV": "/=", "rM": "%=", "aN": "&=", "oR": "|=",
    "eO": "^=", "lS": "<<=", "rS": ">>=", "pm": "->*", "ds": ".*",
}  # fmt: skip

OPERATORS = UNARY_OPERATORS | BINARY_OPERATORS | {
    "nw": " new", "na": " new[]", "dl": " delete", "da": " delete[]", "pp": "++", "mm": "--", "cl": "()", "ix": "[]",
    "pt": "->", "qu": "?",
}  # fmt: skip

_STANDARD_ABBREVIATIONS = {
    "t": "std", "a": "std::allocator", "b": "std::basic_string", "s": "std::string", "i": "std::istream",
    "o": "std::ostream", "d": "std::iostream",
}  # fmt: skip
"""Substitutions with fixed meanings: "S" and this letter."""


class NameReader(Cursor):
    """Reads <encoding>, <name> and their parts."""

    def encoding(self) -> tuple[Node, tuple[Node, ...] | None]:
        """Read <encoding>: return a name and the types of its parameters, None for a variable."""
        name = self.name()
        if not self.more("E."):
            return name, None
        last = name.parts[0] if name.kind == "member" else name
        last = last.parts[-1] if last.kind == "scoped" else last
        if last.kind == "template":
            self.template_arguments = last.parts[1:]
            if last.parts[0].kind != "conversion":
                self.type()  # the return type: only the symbols of templates have one
        return name, self.types("E.")

    def name(self) -> Node:
        """Read <name>."""
        self.enter()
        first = self.peek()
        if first == "N":
            name = self.nested_name()
        elif first == "Z":
            name = self.local_name()
        elif first == "S" and self.peek(2) != "St":
            name = self.substitution()
            if self.peek() != "I":
                raise DemanglingError
            name = self.template(name)
        else:
            name = self.unqualified_name()
            if self.peek() == "I":
                name = self.template(self.remember(name))
        self.leave()
        return name

    def nested_name(self) -> Node:
        """Read <nested-name>."""
        self.expect("N")
        qualifiers = self.cv_qualifiers() + self.ref_qualifier()
        name: Node | None = None
        while not self.take("E"):
            if self.take("M"):  # <data-member-prefix>: a lambda in a member's initialiser has the member as its scope
                continue
            if name is None:
                name, is_substitutable = self._first_prefix()
            elif self.peek() == "I":
                name, is_substitutable = self.template(name), True
            else:
                name, is_substitutable = scoped(name, self.unqualified_name(name)), True
            if is_substitutable and self.peek() != "E":
                self.remember(name)
        if name is None:
            raise DemanglingError
        return Node("member", qualifiers, (name,)) if qualifiers else name

    def _first_prefix(self) -> tuple[Node, bool]:
        """Read the first part of a <prefix>; return it, and whether it becomes a candidate for <substitution>."""
        two = self.peek(2)
        if two == "St" and not self.peek(3)[2:].isdigit():
            self.skip(2)
            return name_node("std"), False
        if two[:1] == "S" and two != "St":
            return self.substitution(), False
        rules: dict[str, Callable[[], Node]] = {
            "T": self.template_param,
            "Z": self.local_name,
            "DT": self.decltype,
            "Dt": self.decltype,
        }
        return (rules.get(two[:1]) or rules.get(two) or self.unqualified_name)(), True

    def local_name(self) -> Node:
        """Read <local-name>."""
        self.expect("Z")
        outside = self.template_arguments
        self.enter()
        function, parameters = self.encoding()
        self.leave()
        self.template_arguments = outside
        self.expect("E")
        if parameters is not None:
            function = Node("call", "", (function, *parameters))
        if self.take("s"):
            self._discriminator()
            return scoped(function, name_node("string literal"))
        if self.take("d"):  # in a default argument
            self.index()
        name = self.name()
        self._discriminator()
        return scoped(function, name)

    def _discriminator(self) -> None:
        """Skip [<discriminator>]."""
        self.match(r"(?:__[0-9]+_|_[0-9])?")

    def unqualified_name(self, scope: Node | None = None) -> Node:
        """Read <unqualified-name>, or <unscoped-name> without a scope, which names constructors."""
        in_std = scope is None and self.take("St")
        self.take("L")  # internal linkage
        first = self.peek()
        if first.isdigit():
            name = source_name(self.identifier())
        elif first == "U":
            name = self._unnamed_type()
        elif first in "CD" and self.peek(2)[1:].isdigit() and scope is not None:  # <ctor-dtor-name>
            self.skip(2)
            last = scope.parts[-1] if scope.kind == "scoped" else scope
            class_name = last.parts[0] if last.kind == "template" else last
            name = name_node(("~" if first == "D" else "") + class_name.text)
        else:
            name = self.operator_name()
        while self.take("B"):  # <abi-tags>
            self.identifier()
        return scoped(name_node("std"), name) if in_std else name

    def _unnamed_type(self) -> Node:
        """Read <unnamed-type-name> or <closure-type-name>."""
        if self.take("Ut"):
            return name_node(f"{{unnamed type#{self.index() + 1}}}")
        self.expect("Ul")
        outside, self.in_lambda = self.in_lambda, True
        types = self.types("E")
        self.in_lambda = outside
        self.expect("E")
        return Node("lambda", str(self.index() + 1), types)

    def operator_name(self) -> Node:
        """Read <operator-name>."""
        if self.take("cv"):
            return Node("conversion", "", (self.type(),))
        if self.take("li"):
            return name_node(f'operator""{self.identifier()}')
        code = self.peek(2)
        if code not in OPERATORS:
            raise DemanglingError
        self.skip(2)
        return name_node(f"operator{OPERATORS[code]}")

    def substitution(self) -> Node:
        """Read <substitution>."""
        self.expect("S")
        letter = self.peek()
        if letter and letter in _STANDARD_ABBREVIATIONS:
            self.skip(1)
            return name_node(_STANDARD_ABBREVIATIONS[letter])
        number = self.sequence_id()
        if number >= len(self.substitutions):
            raise DemanglingError
        return self.substitutions[number]

    def template(self, name: Node) -> Node:
        """Read <template-args>; return the specialization of the template `name`, which may include its scope."""
        arguments = self.template_args()
        if name.kind == "scoped":
            return Node("scoped", "", (*name.parts[:-1], Node("template", "", (name.parts[-1], *arguments))))
        return Node("template", "", (name, *arguments))

    def template_args(self) -> tuple[Node, ...]:
        """Read <template-args>."""
        self.expect("I")
        return self._template_arg_list()

    def _template_arg_list(self) -> tuple[Node, ...]:
        arguments = []
        while not self.take("E"):
            arguments.append(self._template_arg())
        return tuple(arguments)

    def _template_arg(self) -> Node:
        """Read <template-arg>."""
        self.enter()
        if self.peek() == "L":
            node = self.expr_primary()
        elif self.take("X"):
            node = self.expression()
            self.expect("E")
        elif self.take("J") or self.take("I"):  # an argument pack
            node = Node("arguments", "", self._template_arg_list())
        else:
            node = self.type()
        self.leave()
        return node

    def template_param(self) -> Node:
        """Read <template-param>; return the argument that it stands for."""
        self.expect("T")
        number = self.index()
        if self.in_lambda:
            return name_node(f"auto:{number + 1}")
        if self.template_arguments is None or number >= len(self.template_arguments):
            raise DemanglingError
        argument = self.template_arguments[number]
        return argument._replace(kind="pack") if argument.kind == "arguments" else argument
