"""Turn the symbols of kernels and variables into what people wrote: names, template arguments, parameter types.

Symbols are mangled by the rules of the Itanium C++ ABI, chapter "Mangling"; the names in the docstrings below are those
of its grammar. What these rules leave open is spelled as in CUDA's own headers: "const float*", "float (&)[3]".
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import NamedTuple

__all__ = [
    "Signature",
    "signature",
]


class Signature(NamedTuple):
    """A symbol as C++: its qualified name, with template arguments, and its parameters' types.

    `parameters` is None for a variable, and for a symbol that is not mangled or not understood, which is its own name.
    """

    name: str
    parameters: tuple[str, ...] | None


@lru_cache(maxsize=4096)
def signature(symbol: str) -> Signature:
    """Return what a symbol says: ("ns::gemm<float, 16>", ("const float*", "int")) for "_ZN2ns4gemmIfLi16EEEvPKT_i".

    What nobody wrote is left out: the names that compilers give to unnamed namespaces and add to private symbols,
    inline namespaces of the standard library and CUDA's, and ABI tags. Never raises; work and depth are bounded.
    """
    if not symbol.startswith("_Z"):
        return Signature(symbol, None)
    try:
        reader = _Reader(symbol)
        name, parameters = reader.encoding()
        if reader.more("."):  # ".suffix": the compiler's own copy of a function
            return Signature(symbol, None)
        writer = _Writer()
        text = writer.text(name)
        types = None if parameters is None else tuple(writer.list(parameters))
    except (_UnknownError, RecursionError):
        return Signature(symbol, None)
    return Signature(text, types) if text else Signature(symbol, None)


class _UnknownError(Exception):
    """The symbol is malformed, or says what this reader does not know."""


class _Node(NamedTuple):
    """A part of a name, type or expression. `kind` says how `text` and `parts` are to be written; see `_Writer`."""

    kind: str
    text: str = ""
    parts: tuple[_Node, ...] = ()


_VOID = _Node("name", "void")


_DEPTH = 80
"""How deep types and expressions may nest: real ones stay below 30, and this is well below Python's own limit."""


_WORK = 20_000
"""How many parts may be written: substitutions let a short symbol stand for a text of any length."""


_BUILTIN = {
    "v": "void", "w": "wchar_t", "b": "bool", "c": "char", "a": "signed char", "h": "unsigned char", "s": "short",
    "t": "unsigned short", "i": "int", "j": "unsigned int", "l": "long", "m": "unsigned long", "x": "long long",
    "y": "unsigned long long", "n": "__int128", "o": "unsigned __int128", "f": "float", "d": "double",
    "e": "long double", "g": "__float128", "z": "...", "Dd": "decimal64", "De": "decimal128", "Df": "decimal32",
    "Dh": "half", "Di": "char32_t", "Ds": "char16_t", "Du": "char8_t", "Da": "auto", "Dc": "decltype(auto)",
    "Dn": "std::nullptr_t",
}  # fmt: skip


_SUFFIX = {"int": "", "unsigned int": "u", "long": "l", "unsigned long": "ul", "long long": "ll"}


_SUFFIX["unsigned long long"] = "ull"


_STANDARD = {
    "t": "std", "a": "std::allocator", "b": "std::basic_string", "s": "std::string", "i": "std::istream",
    "o": "std::ostream", "d": "std::iostream",
}  # fmt: skip


_UNARY = {"ps": "+", "ng": "-", "ad": "&", "de": "*", "co": "~", "nt": "!"}


_BINARY = {
    "pl": "+", "mi": "-", "ml": "*", "dv": "/", "rm": "%", "an": "&", "or": "|", "eo": "^", "ls": "<<", "rs": ">>",
    "eq": "==", "ne": "!=", "lt": "<", "gt": ">", "le": "<=", "ge": ">=", "ss": "<=>", "aa": "&&", "oo": "||",
    "cm": ",", "aS": "=", "pL": "+=", "mI": "-=", "mL": "*=", "dV": "/=", "rM": "%=", "aN": "&=", "oR": "|=",
    "eO": "^=", "lS": "<<=", "rS": ">>=", "pm": "->*", "ds": ".*",
}  # fmt: skip


_OPERATORS = _UNARY | _BINARY | {
    "nw": " new", "na": " new[]", "dl": " delete", "da": " delete[]", "pp": "++", "mm": "--", "cl": "()", "ix": "[]",
    "pt": "->", "qu": "?",
}  # fmt: skip


_WORDS = {"sz": "sizeof", "st": "sizeof", "az": "alignof", "at": "alignof", "nx": "noexcept"}


_CASTS = {"sc": "static_cast", "dc": "dynamic_cast", "rc": "reinterpret_cast", "cc": "const_cast"}


_UNWRITTEN = re.compile(r"_GLOBAL_[._$]N|_INTERNAL_[0-9a-f]{8}_")
"""How a compiler's names for an unnamed namespace, and for all that is private to one file, begin."""


_INLINE = re.compile(r"__v?\d+|__cxx11|(?:CUB|THRUST)_\d+_\w+|_V_\d+_\w+|__(?:\d+_)?ABI\w*")
"""Inline namespaces: of libcu++, CUB, Thrust, cooperative groups and the C++ standard libraries."""


class _Reader:
    """Reads one symbol from its beginning to its end, by recursive descent. All methods raise _UnknownError."""

    def __init__(self, symbol: str) -> None:
        self._symbol = symbol
        self._at = 2  # behind "_Z"
        self._depth = 0
        self._known: list[_Node] = []  # <substitution>
        self._arguments: tuple[_Node, ...] | None = None  # what <template-param> refers to
        self._in_lambda = False

    def more(self, ends: str = "") -> bool:
        """Return whether the symbol goes on, and not by one of `ends`."""
        return self._at < len(self._symbol) and self._peek() not in ends

    def encoding(self) -> tuple[_Node, tuple[_Node, ...] | None]:
        """<encoding>: return a name and its parameters, None for a variable."""
        name = self._name()
        if not self.more("E."):
            return name, None
        last = name.parts[0] if name.kind == "member" else name
        last = last.parts[-1] if last.kind == "scoped" else last
        if last.kind == "template":
            self._arguments = last.parts[1:]
            if last.parts[0].kind != "conversion":
                self._type()  # the return type, which templates have
        return name, self._types("E.")

    def _types(self, ends: str) -> tuple[_Node, ...]:
        """<type>+ up to one of `ends` or the symbol's end; what is written "(void)" has none."""
        types = [self._type()]
        while self.more(ends):
            types.append(self._type())
        return () if types == [_VOID] else tuple(types)

    # the smallest parts

    def _peek(self, count: int = 1) -> str:
        return self._symbol[self._at : self._at + count]

    def _take(self, text: str) -> bool:
        if not self._symbol.startswith(text, self._at):
            return False
        self._at += len(text)
        return True

    def _need(self, text: str) -> None:
        if not self._take(text):
            raise _UnknownError

    def _match(self, pattern: str) -> str:
        match = re.compile(pattern).match(self._symbol, self._at)
        if match is None:
            raise _UnknownError
        self._at = match.end()
        return match[0]

    def _number(self) -> int:
        return int(self._match(r"[0-9]{1,6}"))

    def _sequence(self) -> int:
        """<seq-id> _: 0 for none, then counted in base 36."""
        digits = self._match(r"[0-9A-Z]{0,4}_")[:-1]
        return int(digits, 36) + 1 if digits else 0

    def _index(self) -> int:
        """[<number>] _"""
        digits = self._match(r"[0-9]{0,4}_")[:-1]
        return int(digits) + 1 if digits else 0

    def _word(self) -> str:
        """<source-name>"""
        length = self._number()
        word = self._peek(length)
        if len(word) != length or not length:
            raise _UnknownError
        self._at += length
        return word

    def _keep(self, node: _Node) -> _Node:
        self._known.append(node)
        return node

    def _enter(self) -> None:
        self._depth += 1
        if self._depth > _DEPTH:
            raise _UnknownError

    # names

    def _name(self) -> _Node:
        """<name>"""
        self._enter()
        first = self._peek()
        if first == "N":
            name = self._nested()
        elif first == "Z":
            name = self._local()
        elif first == "S" and self._peek(2) != "St":
            name = self._substitution()
            if self._peek() != "I":
                raise _UnknownError
            name = self._template(name)
        else:
            name = self._unqualified()
            if self._peek() == "I":
                name = self._template(self._keep(name))
        self._depth -= 1
        return name

    def _nested(self) -> _Node:
        """<nested-name>"""
        self._need("N")
        qualifiers = self._qualifiers()
        qualifiers += " &" if self._take("R") else " &&" if self._take("O") else ""
        name: _Node | None = None
        while not self._take("E"):
            first = self._peek()
            if first == "S" and self._peek(2) != "St" and name is None:
                name = self._substitution()
                continue
            if first == "I" and name is not None:
                name = self._template(name)
            elif first == "T" and name is None:
                name = self._parameter()
            elif first == "D" and self._peek(2) in ("DT", "Dt") and name is None:
                name = self._decltype()
            elif first == "M":  # the initialiser of a member: its scope is the member's
                self._at += 1
                continue
            elif self._peek(2) == "St" and name is None and not self._peek(3)[2:].isdigit():
                self._at += 2
                name = _Node("name", "std")
                continue
            elif first == "Z" and name is None:
                name = self._local()
            else:
                name = _scoped(name, self._unqualified(name))
            if self._peek() != "E":
                self._keep(name)
        if name is None:
            raise _UnknownError
        return _Node("member", qualifiers, (name,)) if qualifiers else name

    def _local(self) -> _Node:
        """<local-name>"""
        self._need("Z")
        outside = self._arguments
        self._enter()
        function, parameters = self.encoding()
        self._depth -= 1
        self._arguments = outside
        self._need("E")
        if parameters is not None:
            function = _Node("call", "", (function, *parameters))
        if self._take("s"):
            self._discriminator()
            return _scoped(function, _Node("name", "string literal"))
        if self._take("d"):  # in a default argument
            self._index()
        name = self._name()
        self._discriminator()
        return _scoped(function, name)

    def _discriminator(self) -> None:
        match = re.compile(r"__[0-9]+_|_[0-9]").match(self._symbol, self._at)
        if match:
            self._at = match.end()

    def _unqualified(self, scope: _Node | None = None) -> _Node:
        """<unqualified-name>, and <unscoped-name>"""
        standard = scope is None and self._take("St")
        self._take("L")  # internal linkage
        first = self._peek()
        if first.isdigit():
            word = self._word()
            name = _named(word)
        elif first == "U":
            name = self._unnamed()
        elif first in "CD" and self._peek(2)[1:].isdigit() and scope is not None:
            self._at += 2
            last = scope.parts[-1] if scope.kind == "scoped" else scope
            plain = last.parts[0] if last.kind == "template" else last
            name = _Node("name", ("~" if first == "D" else "") + plain.text)
        else:
            name = self._operator()
        while self._take("B"):  # ABI tags
            self._word()
        return _scoped(_Node("name", "std"), name) if standard else name

    def _unnamed(self) -> _Node:
        """<unnamed-type-name>, <closure-type-name>"""
        if self._take("Ut"):
            return _Node("name", f"{{unnamed type#{self._index() + 1}}}")
        self._need("Ul")
        inside, self._in_lambda = self._in_lambda, True
        types = self._types("E")
        self._in_lambda = inside
        self._need("E")
        return _Node("lambda", str(self._index() + 1), types)

    def _operator(self) -> _Node:
        """<operator-name>"""
        if self._take("cv"):
            return _Node("conversion", "", (self._type(),))
        if self._take("li"):
            return _Node("name", f'operator""{self._word()}')
        code = self._peek(2)
        if code not in _OPERATORS:
            raise _UnknownError
        self._at += 2
        return _Node("name", f"operator{_OPERATORS[code]}")

    def _substitution(self) -> _Node:
        """<substitution>, and the names in std:: that have short forms"""
        self._need("S")
        short = self._peek()
        if short in _STANDARD and short:
            self._at += 1
            return _Node("name", _STANDARD[short])
        number = self._sequence()
        if number >= len(self._known):
            raise _UnknownError
        return self._known[number]

    # templates

    def _template(self, name: _Node) -> _Node:
        """<template-args>, of the template of that name; the name of a nested one includes its scope."""
        arguments = self._template_arguments()
        if name.kind == "scoped":
            return _Node("scoped", "", (*name.parts[:-1], _Node("template", "", (name.parts[-1], *arguments))))
        return _Node("template", "", (name, *arguments))

    def _template_arguments(self) -> tuple[_Node, ...]:
        self._need("I")
        arguments = []
        while not self._take("E"):
            arguments.append(self._template_argument())
        return tuple(arguments)

    def _template_argument(self) -> _Node:
        """<template-arg>"""
        self._enter()
        first = self._peek()
        if first == "L":
            node = self._literal()
        elif first == "X":
            self._at += 1
            node = self._expression()
            self._need("E")
        elif first in ("J", "I"):
            self._at += 1
            parts = []
            while not self._take("E"):
                parts.append(self._template_argument())
            node = _Node("arguments", "", tuple(parts))
        else:
            node = self._type()
        self._depth -= 1
        return node

    def _parameter(self) -> _Node:
        """<template-param>: what stands for it"""
        self._need("T")
        number = self._index()
        if self._in_lambda:
            return _Node("name", f"auto:{number + 1}")
        if self._arguments is None or number >= len(self._arguments):
            raise _UnknownError
        argument = self._arguments[number]
        return argument._replace(kind="pack") if argument.kind == "arguments" else argument

    # types

    def _qualifiers(self) -> str:
        """<CV-qualifiers>, in the order in which people write them"""
        found = self._match(r"r?V?K?")
        return "".join(f" {word}" for letter, word in _QUALIFIERS.items() if letter in found)

    def _type(self) -> _Node:
        """<type>"""
        self._enter()
        node = self._type_within()
        self._depth -= 1
        return node

    def _type_within(self) -> _Node:
        first, two = self._peek(), self._peek(2)
        for code in (first, two):
            if code in _BUILTIN:
                self._at += len(code)
                return _Node("name", _BUILTIN[code])
        if first in _READ_TYPE:
            return self._keep(_READ_TYPE[first](self))
        if first == "S" and two != "St":
            node = self._substitution()
            return self._keep(self._template(node)) if self._peek() == "I" else node
        if first == "T":
            node = self._keep(self._parameter())
            return self._keep(self._template(node)) if self._peek() == "I" else node
        if first == "D":
            return self._special_type(two)
        if first == "u":
            self._at += 1
            return self._keep(_Node("name", self._word()))
        if first.isdigit() or first in ("N", "Z") or two == "St":
            return self._keep(self._name())
        raise _UnknownError

    def _special_type(self, two: str) -> _Node:
        if two == "DF":  # <builtin-type> of a number of bits
            self._at += 2
            bits = self._number()
            brain = self._take("b")
            if not brain:
                self._match(r"[x_]")
            return _Node("name", f"std::bfloat{bits}_t" if brain else f"_Float{bits}")
        if two in ("DT", "Dt"):
            return self._keep(self._decltype())
        if two == "Dp":
            self._at += 2
            return self._keep(_Node("expansion", "", (self._type(),)))
        if two == "Dv":
            self._at += 2
            size = self._expression() if self._take("_") else _Node("name", str(self._number()))
            self._need("_")
            return self._keep(_Node("join", "", (self._type(), _Node("name", " __vector("), size, _Node("name", ")"))))
        if two == "Do":  # noexcept, of the function type that follows
            self._at += 2
            function = self._function()
            return self._keep(function._replace(text=function.text + " noexcept"))
        raise _UnknownError

    def _decltype(self) -> _Node:
        self._at += 2
        expression = self._expression()
        self._need("E")
        return _Node("join", "", (_Node("name", "decltype("), expression, _Node("name", ")")))

    def _qualified(self) -> _Node:
        qualifiers = self._qualifiers()
        if self._peek() == "F":
            function = self._function()
            return function._replace(text=qualifiers + function.text)
        return _Node("qualified", qualifiers, (self._type(),))

    def _vendor_qualified(self) -> _Node:
        self._need("U")
        word = self._word()
        if self._peek() == "I":
            self._template_arguments()
        return _Node("qualified", " " + word, (self._type(),))

    def _indirect(self) -> _Node:
        sign = {"P": "*", "R": "&", "O": "&&"}[self._peek()]
        self._at += 1
        return _Node("pointer", sign, (self._type(),))

    def _function(self) -> _Node:
        """<function-type>: its result and its parameters; `text` are its qualifiers"""
        self._need("F")
        self._take("Y")  # extern "C"
        result = self._type()
        types = self._types("ERO")
        qualifiers = " &" if self._take("R") else " &&" if self._take("O") else ""
        self._need("E")
        return _Node("function", qualifiers, (result, *types))

    def _array(self) -> _Node:
        self._need("A")
        if self._peek().isdigit():
            size = _Node("name", self._match(r"[0-9]+"))
        else:
            size = _Node("name", "") if self._peek() == "_" else self._expression()
        self._need("_")
        return _Node("array", "", (self._type(), size))

    def _member_pointer(self) -> _Node:
        self._need("M")
        return _Node("member pointer", "", (self._type(), self._type()))

    # expressions

    def _literal(self) -> _Node:
        """<expr-primary>"""
        self._need("L")
        if self._take("_Z") or self._take("Z"):
            outside = self._arguments
            name, _ = self.encoding()
            self._arguments = outside
            self._need("E")
            return name
        type_ = self._type()
        if self._take("E"):
            return _Node("name", "nullptr")
        digits = self._match(r"n?[0-9a-f]+")
        self._need("E")
        if type_.kind == "name" and type_.text in ("float", "double"):
            return _Node("name", _floating(digits, type_.text))
        if not digits.removeprefix("n").isdigit():
            raise _UnknownError
        number = digits.replace("n", "-")
        if type_ == _Node("name", "bool") and number in ("0", "1"):
            return _Node("name", ("false", "true")[int(number)])
        if type_ == _Node("name", "std::nullptr_t"):
            return _Node("name", "nullptr")
        if type_.kind == "name" and type_.text in _SUFFIX:
            return _Node("name", number + _SUFFIX[type_.text])
        return _Node("join", "", (_Node("name", "("), type_, _Node("name", f"){number}")))

    def _expression(self) -> _Node:
        """<expression>"""
        self._enter()
        node = self._expression_within()
        self._depth -= 1
        return node

    def _expression_within(self) -> _Node:
        first, code = self._peek(), self._peek(2)
        if first == "L":
            return self._literal()
        if first == "T":
            return self._parameter()
        if code == "fp" or (code == "fL" and self._peek(3)[2:].isdigit()):
            self._match(r"f(?:L[0-9]+)?p[rVK]*")
            return _Node("name", f"{{parm#{self._index() + 1}}}")
        if code in ("fl", "fr"):
            self._at += 2
            sign = self._operator().text.removeprefix("operator")
            ends = (f"(... {sign} ", ")") if code == "fl" else ("(", f" {sign} ...)")
            return _Node("join", "", (_Node("name", ends[0]), self._expression(), _Node("name", ends[1])))
        if code in ("fL", "fR"):
            self._at += 2
            sign = self._operator().text.removeprefix("operator")
            left = self._expression()
            middle = _Node("name", f" {sign} ... {sign} ")
            return _Node("join", "", (_OPEN, left, middle, self._expression(), _CLOSE))
        if first.isdigit() or code in ("on", "sr", "gs") or first == "N":
            return self._unresolved()
        self._at += 2
        if code in ("pp", "mm"):
            prefix = self._take("_")
            operand = self._expression()
            step = _Node("name", _OPERATORS[code])
            return _Node("join", "", (step, operand) if prefix else (operand, step))
        if code in _UNARY:
            return _Node("join", "", (_Node("name", _UNARY[code]), self._expression()))
        if code in _BINARY:
            left = self._expression()
            return _Node("join", "", (_OPEN, left, _Node("name", f" {_BINARY[code]} "), self._expression(), _CLOSE))
        if code in _WORDS:
            operand = self._type() if code in ("st", "at") else self._expression()
            return _Node("join", "", (_Node("name", f"{_WORDS[code]}("), operand, _CLOSE))
        if code in _CASTS:
            type_ = self._type()
            return _Node(
                "join", "", (_Node("name", f"{_CASTS[code]}<"), type_, _Node("name", ">("), self._expression(), _CLOSE)
            )
        if code == "sZ":
            return _Node("count", "", (self._parameter() if self._peek() == "T" else self._expression(),))
        if code == "sp":
            return _Node("expansion", "", (self._expression(),))
        if code == "qu":
            parts = [self._expression() for _ in range(3)]
            question, colon = _Node("name", " ? "), _Node("name", " : ")
            return _Node("join", "", (_OPEN, parts[0], question, parts[1], colon, parts[2], _CLOSE))
        if code in ("dt", "pt"):
            left = self._expression()
            return _Node("join", "", (left, _Node("name", "." if code == "dt" else "->"), self._unresolved()))
        if code == "ix":
            left = self._expression()
            return _Node("join", "", (left, _Node("name", "["), self._expression(), _Node("name", "]")))
        if code == "cl":
            return _Node("call", "", (self._expression(), *self._expressions()))
        if code == "cv":
            type_ = self._type()
            operands = self._expressions() if self._take("_") else (self._expression(),)
            return _Node("call", "", (type_, *operands))
        if code in ("tl", "il"):
            types = (self._type(),) if code == "tl" else (_Node("name", ""),)
            return _Node("braces", "", (*types, *self._expressions()))
        raise _UnknownError

    def _expressions(self) -> tuple[_Node, ...]:
        parts = []
        while not self._take("E"):
            parts.append(self._expression())
        return tuple(parts)

    def _unresolved(self) -> _Node:
        """<unresolved-name>"""
        self._take("gs")
        if self._take("srN"):
            scope = self._unresolved_type()
            while not self._take("E"):
                scope = _scoped(scope, self._simple())
            return _scoped(scope, self._simple())
        if self._take("sr"):
            if self._peek().isdigit():
                scope = self._simple()
                while not self._take("E"):
                    scope = _scoped(scope, self._simple())
            else:
                scope = self._unresolved_type()
            return _scoped(scope, self._simple())
        return self._simple()

    def _unresolved_type(self) -> _Node:
        # EDG, and so NVRTC, writes whole types here, where the grammar has few kinds.
        return self._type()

    def _simple(self) -> _Node:
        """<base-unresolved-name>, <simple-id>"""
        name = self._operator() if self._take("on") else _named(self._word())
        return self._template(name) if self._peek() == "I" else name


_OPEN, _CLOSE = _Node("name", "("), _Node("name", ")")


_QUALIFIERS = {"K": "const", "V": "volatile", "r": "__restrict__"}


_READ_TYPE: dict[str, Callable[[_Reader], _Node]] = {
    **dict.fromkeys("rVK", _Reader._qualified),
    **dict.fromkeys("PRO", _Reader._indirect),
    "U": _Reader._vendor_qualified,
    "F": _Reader._function,
    "A": _Reader._array,
    "M": _Reader._member_pointer,
}


def _named(word: str) -> _Node:
    return _Node("unwritten" if _UNWRITTEN.match(word) else "inline" if _INLINE.fullmatch(word) else "name", word)


def _scoped(scope: _Node | None, name: _Node) -> _Node:
    if scope is None:
        return name
    inner = name.parts if name.kind == "scoped" else (name,)
    parts = (*(scope.parts if scope.kind == "scoped" else (scope,)), *inner)
    if len(parts) > _DEPTH:
        raise _UnknownError
    return _Node("scoped", "", parts)


def _floating(digits: str, type_: str) -> str:
    try:
        (value,) = struct.unpack({"float": ">f", "double": ">d"}[type_], bytes.fromhex(digits))
    except (ValueError, struct.error):
        raise _UnknownError from None
    return f"({type_}){value!r}"


class _Writer:
    """Writes parts as C++. A type is written in two halves, as what it declares stands in its middle."""

    def __init__(self) -> None:
        self._work = 0
        self._depth = 0

    def text(self, node: _Node, element: int | None = None) -> str:
        """Return a part as text. `element` is the one of each pack that an expansion is at."""
        left, right = self._halves(node, element)
        return left + right

    def list(self, nodes: tuple[_Node, ...], element: int | None = None) -> Iterator[str]:
        """Return parts that commas separate, packs and expansions taken apart."""
        for node in nodes:
            if node.kind == "arguments":
                yield from self.list(node.parts, element)
            elif node.kind == "pack" and element is None:
                yield from self.list(node.parts)
            elif node.kind == "expansion":
                sizes = [len(pack.parts) for pack in self._packs(node.parts[0])]
                for index in range(min(sizes, default=0)):
                    yield self.text(node.parts[0], index)
                if not sizes:
                    yield self.text(node.parts[0], element) + "..."
            else:
                yield self.text(node, element)

    def _packs(self, node: _Node) -> Iterator[_Node]:
        self._count()
        if node.kind == "pack":
            yield node
        elif node.kind != "expansion":
            self._depth += 1
            for part in node.parts:
                yield from self._packs(part)
            self._depth -= 1

    def _count(self) -> None:
        self._work += 1
        if self._work > _WORK or self._depth > _DEPTH:
            raise _UnknownError

    def _halves(self, node: _Node, element: int | None) -> tuple[str, str]:
        self._count()
        self._depth += 1
        halves = self._halves_of(node, element)
        self._depth -= 1
        if len(halves[0]) + len(halves[1]) > _WORK:
            raise _UnknownError
        return halves

    def _halves_of(self, node: _Node, element: int | None) -> tuple[str, str]:
        kind, parts = node.kind, node.parts
        if kind in ("name", "inline", "unwritten"):
            return node.text, ""
        if kind == "scoped":
            written = [part for part in parts[:-1] if part.kind not in ("inline", "unwritten")] + [parts[-1]]
            return "::".join(self.text(part, element) for part in written), ""
        if kind == "template":
            return f"{self.text(parts[0], element)}<{', '.join(self.list(parts[1:], element))}>", ""
        if kind == "member":
            return self.text(parts[0], element), ""
        if kind == "pointer":
            return self._pointer(node.text, parts[0], element)
        if kind == "qualified":
            return self._qualified(node.text, parts[0], element)
        if kind == "function":
            left, right = self._halves(parts[0], element)
            space = "" if right else " "  # what returns a pointer to a function, or not
            return left + space, f"({', '.join(self.list(parts[1:], element))}){node.text}{right}"
        if kind == "array":
            left, right = self._halves(parts[0], element)
            return left, f"[{self.text(parts[1], element)}]{right}"
        if kind == "member pointer":
            scope = self.text(parts[0], element)
            left, right = self._halves(parts[1], element)
            return (f"{left}({scope}::*", f"){right}") if parts[1].kind == "function" else (f"{left} {scope}::*", right)
        return self._expression(node, element), ""

    def _resolved(self, node: _Node, element: int | None) -> _Node:
        """Return the element of a pack that an expansion is at; any other part as it is."""
        if node.kind != "pack" or element is None:
            return node
        if element >= len(node.parts):
            raise _UnknownError
        return node.parts[element]

    def _pointer(self, sign: str, to: _Node, element: int | None) -> tuple[str, str]:
        to = self._resolved(to, element)
        inner = self._resolved(to.parts[0], element) if to.kind == "qualified" else to
        if inner.kind == "pointer" and "&" in inner.text and "&" in sign:  # references collapse
            return self._pointer("&&" if sign == inner.text == "&&" else "&", inner.parts[0], element)
        left, right = self._halves(to, element)
        base = to.parts[0] if to.kind == "qualified" else to
        base = self._resolved(base, element)
        if base.kind in ("array", "function"):
            space = " " if base.kind == "array" and not left.endswith(("(*", "(&")) else ""
            return f"{left}{space}({sign}", f"){right}"
        return left + sign, right

    def _qualified(self, qualifiers: str, of: _Node, element: int | None) -> tuple[str, str]:
        of = self._resolved(of, element)
        while of.kind == "qualified":  # const of what is const already, as a template's argument
            qualifiers = "".join(f" {word}" for word in dict.fromkeys((qualifiers + of.text).split()))
            of = self._resolved(of.parts[0], element)
        if of.kind == "array":  # an array's qualifiers are its elements'
            return self._halves(
                _Node("array", "", (_Node("qualified", qualifiers, of.parts[:1]), of.parts[1])), element
            )
        left, right = self._halves(of, element)
        if of.kind == "pointer" and "&" in of.text:
            return left, right  # a reference has none
        if of.kind in ("pointer", "member pointer"):
            return left + qualifiers, right
        before = [word for word in qualifiers.split() if word != "__restrict__"]
        return " ".join([*before, left]), right

    def _expression(self, node: _Node, element: int | None) -> str:
        kind, parts = node.kind, node.parts
        if kind == "pack":
            return ", ".join(self.list(parts)) if element is None else self.text(self._resolved(node, element), element)
        if kind == "expansion":
            return ", ".join(self.list((node,), element))
        if kind == "join":
            return "".join(self.text(part, element) for part in parts)
        if kind == "count":
            return (
                str(len(list(self.list(parts, element)))) if parts[0].kind == "pack" else self.text(parts[0], element)
            )
        if kind == "lambda":
            return f"{{lambda({', '.join(self.list(parts, element))})#{node.text}}}"
        if kind == "conversion":
            return f"operator {self.text(parts[0], element)}"
        if kind == "call":
            return f"{self.text(parts[0], element)}({', '.join(self.list(parts[1:], element))})"
        if kind == "braces":
            return f"{self.text(parts[0], element)}{{{', '.join(self.list(parts[1:], element))}}}"
        raise _UnknownError
