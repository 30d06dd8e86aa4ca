"""The position in a mangled symbol: terminals of the grammar, and the state that its rules share."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod

from cuda_wheel.builder.cxx.demangling.nodes import MAX_DEPTH, VOID, DemanglingError, Node

__all__ = ["Cursor"]

_QUALIFIERS = {"K": "const", "V": "volatile", "r": "__restrict__"}
"""<CV-qualifiers>, in the order in which people write them."""


class Cursor(ABC):
    """A symbol that is read from its beginning to its end. All methods raise DemanglingError.

    Each method reads one rule of the ABI's grammar at the current position and returns its node. The abstract methods
    are the rules that names, types and expressions need from each other.
    """

    def __init__(self, symbol: str) -> None:
        self._symbol = symbol
        self._position = 2  # after "_Z"
        self._depth = 0
        self.substitutions: list[Node] = []
        """What <substitution> refers to."""
        self.template_arguments: tuple[Node, ...] | None = None
        """What <template-param> refers to."""
        self.in_lambda = False
        """Whether <template-param> is an `auto` parameter of a lambda."""

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
        """Return whether the symbol goes on, and not with one of the characters `ends`."""
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
        """Skip and return what a regular expression matches here."""
        match = re.compile(pattern).match(self._symbol, self._position)
        if match is None:
            raise DemanglingError
        self._position = match.end()
        return match[0]

    def number(self) -> int:
        """Read a non-negative <number>."""
        return int(self.match(r"[0-9]{1,6}"))

    def sequence_id(self) -> int:
        """Read [<seq-id>] _: 0 if the number is omitted, else its base-36 value plus 1."""
        digits = self.match(r"[0-9A-Z]{0,4}_")[:-1]
        return int(digits, 36) + 1 if digits else 0

    def index(self) -> int:
        """Read [<number>] _: 0 if the number is omitted, else its value plus 1."""
        digits = self.match(r"[0-9]{0,4}_")[:-1]
        return int(digits) + 1 if digits else 0

    def identifier(self) -> str:
        """Read <source-name>: the length of an identifier, and the identifier."""
        length = self.number()
        identifier = self.peek(length)
        if len(identifier) != length or not length:
            raise DemanglingError
        self.skip(length)
        return identifier

    def cv_qualifiers(self) -> str:
        """Read <CV-qualifiers>, as text with a space before each."""
        letters = self.match(r"r?V?K?")
        return "".join(f" {word}" for letter, word in _QUALIFIERS.items() if letter in letters)

    def ref_qualifier(self) -> str:
        """Read [<ref-qualifier>], as text with a space before it."""
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
        """Read <type>+ up to one of the characters `ends` or the end of the symbol; "(void)" has none."""
        types = [self.type()]
        while self.more(ends):
            types.append(self.type())
        return () if types == [VOID] else tuple(types)
