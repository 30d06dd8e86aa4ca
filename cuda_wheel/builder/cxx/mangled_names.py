"""Read a mangled symbol by the grammar of the Itanium C++ ABI, chapter "Mangling", into nodes.

This file has, in order: nodes and their limits; `Cursor`, a position in a symbol, with the terminals of the grammar;
the rules for names (encodings, nested and local names, operators, substitutions, templates), for types, and for
expressions, which template arguments, array bounds and `decltype` contain. `demangling` writes the nodes as C++.
"""

from __future__ import annotations

import re
import struct
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import NamedTuple

from cuda_wheel.builder.tables import read_table

__all__ = [
    "BINARY_OPERATORS",
    "MAX_DEPTH",
    "OPERATORS",
    "UNARY_OPERATORS",
    "VOID",
    "Cursor",
    "DemanglingError",
    "NameReader",
    "Node",
    "SymbolReader",
    "TypeReader",
    "join",
    "name_node",
    "scoped",
    "source_name",
]


MAX_DEPTH = 80
"""Maximum nesting depth of types and expressions. Real symbols stay below a depth of 30. Python's recursion limit is
reached only far above 80."""


class DemanglingError(Exception):
    """The symbol is malformed, or uses a part of the grammar that is not implemented."""


class Node(NamedTuple):
    """A part of a name, type or expression. `kind` determines how `demangling.Writer` writes `text` and `parts`."""

    kind: str
    text: str = ""
    parts: tuple[Node, ...] = ()


def name_node(text: str) -> Node:
    """Return a node that is written as `text`."""
    return Node("name", text)


def join(*parts: Node | str) -> Node:
    """Return a node that is written as its parts one after the other."""
    return Node("join", "", tuple(name_node(part) if isinstance(part, str) else part for part in parts))


VOID = name_node("void")


def scoped(scope: Node | None, name: Node) -> Node:
    """Return a name in a scope (a namespace, class or function), as one flat node; the name itself without a scope."""
    if scope is None:
        return name
    inner = name.parts if name.kind == "scoped" else (name,)
    parts = (*(scope.parts if scope.kind == "scoped" else (scope,)), *inner)
    if len(parts) > MAX_DEPTH:
        raise DemanglingError
    return Node("scoped", "", parts)


_COMPILER_NAME = re.compile(r"_GLOBAL_[._$]N|_INTERNAL_[0-9a-f]{8}_")
"""Matches the start of a name that a compiler makes up: for an unnamed namespace ("_GLOBAL__N_1"), or for everything
that is private to a file ("_INTERNAL_0a1b2c3d_")."""

_INLINE_NAMESPACE = re.compile(r"__v?\d+|__cxx11|(?:CUB|THRUST)_\d+_\w+|_V_\d+_\w+|__(?:\d+_)?ABI\w*")
"""Matches the name of an inline namespace of libcu++, CUB, Thrust, cooperative groups or a C++ standard library, such
as "CUB_200802_SM_800"."""


def source_name(identifier: str) -> Node:
    """Return the node of an identifier. The writer omits scopes of the kinds "unwritten" (names that compilers invent)
    and "inline" (inline namespaces); other identifiers have the kind "name"."""
    if _COMPILER_NAME.match(identifier):
        return Node("unwritten", identifier)
    return Node("inline" if _INLINE_NAMESPACE.fullmatch(identifier) else "name", identifier)


_QUALIFIERS = {"K": "const", "V": "volatile", "r": "__restrict__"}
"""Letter of the ABI's <CV-qualifiers> -> C++ keyword. The items are in the order in which C++ text has the keywords:
"const volatile __restrict__"."""


class Cursor(ABC):
    """A symbol and the current position in it.

    A method whose docstring is "Read <rule>" reads this rule of the ABI's grammar at the current position, moves the
    position to its end, and returns its node. Methods raise DemanglingError for a malformed symbol. The abstract
    methods are the rules that names, types and expressions need from each other.
    """

    def __init__(self, symbol: str) -> None:
        self._symbol = symbol
        self._position = 2  # after "_Z"
        self._depth = 0
        self.substitutions: list[Node] = []
        """Nodes that were read so far. A later <substitution> may refer to a node by its index in this list."""
        self.template_arguments: tuple[Node, ...] | None = None
        """Arguments of the function template whose symbol is read. A <template-param> refers to an argument by its
        index. None before the arguments are read, and for a symbol without template arguments."""
        self.in_lambda = False
        """True while the parameter types of a lambda are read. There, <template-param> stands for an `auto`
        parameter."""

    @abstractmethod
    def type(self) -> Node:
        """Read <type>."""

    @abstractmethod
    def decltype(self) -> Node:
        """Read <decltype>."""

    @abstractmethod
    def expression(self) -> Node:
        """Read <expression>."""

    @abstractmethod
    def expr_primary(self) -> Node:
        """Read <expr-primary>."""

    # --- terminals ------------------------------------------------------------------------------------

    def more(self, ends: str = "") -> bool:
        """Return whether a character follows that is not one of `ends`."""
        return self._position < len(self._symbol) and self.peek() not in ends

    def peek(self, count: int = 1) -> str:
        """Return the next characters, fewer at the end of the symbol."""
        return self._symbol[self._position : self._position + count]

    def skip(self, count: int) -> None:
        self._position += count

    def take(self, text: str) -> bool:
        """Skip `text` if it comes next, and return whether it did."""
        if not self._symbol.startswith(text, self._position):
            return False
        self._position += len(text)
        return True

    def expect(self, text: str) -> None:
        """Skip `text`, which must come next."""
        if not self.take(text):
            raise DemanglingError

    def match(self, pattern: str) -> str:
        """Skip and return the text at the current position that a regular expression matches."""
        match = re.compile(pattern).match(self._symbol, self._position)
        if match is None:
            raise DemanglingError
        self._position = match.end()
        return match[0]

    def number(self) -> int:
        """Read a non-negative <number>."""
        return int(self.match(r"[0-9]{1,6}"))

    def sequence_id(self) -> int:
        """Read [<seq-id>] _; return 0 if the number is omitted, else its base-36 value plus 1."""
        digits = self.match(r"[0-9A-Z]{0,4}_")[:-1]
        return int(digits, 36) + 1 if digits else 0

    def index(self) -> int:
        """Read [<number>] _; return 0 if the number is omitted, else its value plus 1."""
        digits = self.match(r"[0-9]{0,4}_")[:-1]
        return int(digits) + 1 if digits else 0

    def identifier(self) -> str:
        """Read <source-name>, the length of an identifier and the identifier; return the identifier."""
        length = self.number()
        identifier = self.peek(length)
        if len(identifier) != length or not length:
            raise DemanglingError
        self.skip(length)
        return identifier

    def cv_qualifiers(self) -> str:
        """Read <CV-qualifiers>; return C++ keywords with a space before each, such as " const volatile"."""
        letters = self.match(r"r?V?K?")
        return "".join(f" {word}" for letter, word in _QUALIFIERS.items() if letter in letters)

    def ref_qualifier(self) -> str:
        """Read [<ref-qualifier>]; return " &", " &&", or "" if it is omitted."""
        return " &" if self.take("R") else " &&" if self.take("O") else ""

    # --- state ----------------------------------------------------------------------------------------

    def remember(self, node: Node) -> Node:
        """Make a node the next that <substitution> can refer to, and return it."""
        self.substitutions.append(node)
        return node

    def enter(self) -> None:
        """Begin a nested rule; raise DemanglingError if rules nest too deeply."""
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise DemanglingError

    def leave(self) -> None:
        self._depth -= 1

    # --- lists ----------------------------------------------------------------------------------------

    def types(self, ends: str) -> tuple[Node, ...]:
        """Read <type>+ up to one of the characters `ends` or the end of the symbol; a single `void` gives ()."""
        types = [self.type()]
        while self.more(ends):
            types.append(self.type())
        return () if types == [VOID] else tuple(types)


_TEXTS = {str: str}

_TABLE = read_table(
    "mangled_names",
    {
        "unary operators": _TEXTS,
        "binary operators": _TEXTS,
        "other operators": _TEXTS,
        "keyword operators": _TEXTS,
        "casts": _TEXTS,
        "literal suffixes": _TEXTS,
        "standard abbreviations": _TEXTS,
        "builtin types": _TEXTS,
    },
)

UNARY_OPERATORS: dict[str, str] = _TABLE["unary operators"]
BINARY_OPERATORS: dict[str, str] = _TABLE["binary operators"]
OPERATORS: dict[str, str] = UNARY_OPERATORS | BINARY_OPERATORS | _TABLE["other operators"]
_KEYWORD_OPERATORS: dict[str, str] = _TABLE["keyword operators"]
_CASTS: dict[str, str] = _TABLE["casts"]
_LITERAL_SUFFIXES: dict[str, str] = _TABLE["literal suffixes"]

_STANDARD_ABBREVIATIONS: dict[str, str] = _TABLE["standard abbreviations"]
"""Letter after "S" in a symbol -> C++ name that "S" and the letter stand for: "a" -> "std::allocator"."""

_BUILTIN_TYPES: dict[str, str] = _TABLE["builtin types"]
"""Code of a <builtin-type> -> C++ type: "i" -> "int"."""


class NameReader(Cursor):
    """Reads <encoding>, <name> and their parts."""

    def encoding(self) -> tuple[Node, tuple[Node, ...] | None]:
        """Read <encoding>; return the name, and the parameter types of a function or None for a variable."""
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
        """Read the first part of a <prefix>. Return its node, and whether a later <substitution> may refer to this
        node."""
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
        """If a <discriminator> comes next, skip it. This number distinguishes local names that have the same text."""
        self.match(r"(?:__[0-9]+_|_[0-9])?")

    def unqualified_name(self, scope: Node | None = None) -> Node:
        """Read <unqualified-name>; without a scope, <unscoped-name>. Constructors are named after the last part of
        `scope`."""
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
        """Read <unnamed-type-name> (an unnamed struct, union or enum) or <closure-type-name> (a lambda)."""
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
        """Read <template-arg> from the symbol: a type, a value, or a pack of arguments. Return its node."""
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
        """Read <vector-type> from the symbol, such as `float __vector(4)`. Return its node."""
        self.skip(2)
        size = self.expression() if self.take("_") else name_node(str(self.number()))
        self.expect("_")
        return self.remember(join(self.type(), " __vector(", size, ")"))

    def _noexcept_function(self) -> Node:
        """Read the type of a `noexcept` function from the symbol: <exception-spec> and <function-type>. Return its
        node."""
        self.skip(2)
        function = self._function_type()
        return self.remember(function._replace(text=function.text + " noexcept"))

    def _qualified_type(self) -> Node:
        """Read <qualified-type> with <CV-qualifiers> from the symbol, such as `const int`. Return its node."""
        qualifiers = self.cv_qualifiers()
        if self.peek() == "F":
            function = self._function_type()
            return function._replace(text=qualifiers + function.text)
        return Node("qualified", qualifiers, (self.type(),))

    def _vendor_qualified_type(self) -> Node:
        """Read <qualified-type> with an <extended-qualifier>, a compiler's own qualifier. The qualifier's template
        arguments are left out of the node."""
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
        """Read <function-type>. The `parts` of the node are the result type and then the parameter types. Its `text` is
        what follows the parameter list, such as " &"."""
        self.expect("F")
        self.take("Y")  # extern "C"
        result = self.type()
        types = self.types("ERO")
        qualifiers = self.ref_qualifier()
        self.expect("E")
        return Node("function", qualifiers, (result, *types))

    def _array_type(self) -> Node:
        """Read <array-type> from the symbol, such as `float [3]`. Return its node."""
        self.expect("A")
        if self.peek().isdigit():
            size = name_node(self.match(r"[0-9]+"))
        else:
            size = name_node("") if self.peek() == "_" else self.expression()
        self.expect("_")
        return Node("array", "", (self.type(), size))

    def _pointer_to_member_type(self) -> Node:
        """Read <pointer-to-member-type> from the symbol, such as `int Class::*`. Return its node."""
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
"""First character of a type in a symbol -> method that reads the type, this character included."""

_EXTENDED_RULES: dict[str, Callable[[TypeReader], Node]] = {
    "DF": TypeReader._sized_float,
    "DT": TypeReader._substitutable_decltype,
    "Dt": TypeReader._substitutable_decltype,
    "Dp": TypeReader._pack_expansion,
    "Dv": TypeReader._vector_type,
    "Do": TypeReader._noexcept_function,
}
"""First two characters of a type in a symbol -> method that reads the type, these characters included."""


class SymbolReader(TypeReader):
    """Reads <expression>, and by inherited methods all other rules."""

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
        """Read expressions up to and including the "E" that ends their list, and return their nodes."""
        expressions = []
        while not self.take("E"):
            expressions.append(self.expression())
        return tuple(expressions)

    # --- rules by code: each is called with its code, after that was read -------------------------------

    def _function_param(self, code: str) -> Node:
        """Read <function-param> (a function's parameter in an expression) after its first two characters, `code`, which
        the caller has read."""
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
        """Read <unresolved-name>: a name in an expression, such as `T::value`. The name depends on template parameters.
        Where the grammar allows only <unresolved-type>, read any <type>, because EDG, the C++ parser in NVRTC, writes
        any <type> there."""
        self.take("gs")
        if self.take("srN"):
            return scoped(self._qualifier_levels(self.type()), self._simple_id())
        if self.take("sr"):
            scope = self._qualifier_levels(self._simple_id()) if self.peek().isdigit() else self.type()
            return scoped(scope, self._simple_id())
        return self._simple_id()

    def _qualifier_levels(self, scope: Node) -> Node:
        """Read <unresolved-qualifier-level>* E, the inner scopes of a name. Return `scope` extended by these scopes."""
        while not self.take("E"):
            scope = scoped(scope, self._simple_id())
        return scope

    def _simple_id(self) -> Node:
        """Read one name without scopes: an identifier or an operator, and its template arguments if it has any. In the
        grammar, this is <simple-id> or <base-unresolved-name>."""
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
    """Return the node of a literal of type `type_`. `digits` is the value as the symbol has it: "n12" for -12, and the
    hexadecimal bytes of a floating-point number."""
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
    """Return a floating-point literal: "3fc00000" and "float" -> "(float)1.5". `digits` are the hexadecimal bytes of
    the IEEE number; `type_` is "float" or "double"."""
    try:
        (value,) = struct.unpack({"float": ">f", "double": ">d"}[type_], bytes.fromhex(digits))
    except (ValueError, struct.error):
        raise DemanglingError from None
    return f"({type_}){value!r}"
