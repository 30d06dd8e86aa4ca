"""Let the `try` of a function cover its first instruction too, so that a callback of C never raises.

What a callback raises, ctypes only prints; the C function that called it then gets any number. Python runs signal
handlers, so raises KeyboardInterrupt, at the first instruction of a function (RESUME), which no `try` in the source
covers. In a function that C calls while the main thread waits for it, that is where Ctrl-C is most likely to be raised.
"""

import sys
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

__all__ = ["guarded"]

F = TypeVar("F", bound=Callable[..., Any])


def guarded(function: F) -> F:
    """Return a function whose body is one `try`, changed so that this covers the function from its start.

    Source: CPython, "InternalDocs/exception_handling.md": from Python 3.11 on, a table says which instructions each
    `try` covers. In Python 3.10, the instruction that begins a `try` is never interrupted.
    """
    if sys.version_info < (3, 11):
        return function
    code: Any = function.__code__
    entries = list(_entries(code.co_exceptiontable))
    start, length, target, depth = entries[0]
    if depth >> 1:  # not the outermost `try`: a later Python has another format
        return function
    entries[0] = (0, start + length, target, depth)
    function.__code__ = code.replace(co_exceptiontable=b"".join(map(_encoded, entries)))
    return function


def _entries(table: bytes) -> Iterator[tuple[int, int, int, int]]:
    """Yield the entries of a table: start, length and handler in code units; and the stack's depth, with a flag."""
    position = 0
    while position < len(table):
        numbers = []
        for _ in range(4):
            number = table[position] & 0x3F
            while table[position] & 0x40:
                position += 1
                number = number << 6 | table[position] & 0x3F
            position += 1
            numbers.append(number)
        yield numbers[0], numbers[1], numbers[2], numbers[3]


def _encoded(entry: tuple[int, int, int, int]) -> bytes:
    """Return an entry as bytes: numbers of 6 bits a byte, high ones first, of which all but the last have 0x40."""
    encoded = bytearray()
    for number in entry:
        digits = [number & 0x3F]
        while number := number >> 6:
            digits.append(number & 0x3F | 0x40)
        encoded += bytes(reversed(digits))
    encoded[0] |= 0x80  # where an entry begins
    return bytes(encoded)
