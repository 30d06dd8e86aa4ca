"""Find the kernels, and for messages the functions, that a text defines, from its tokens alone.

No macro is expanded and no condition is evaluated. Both searches take linear time.
"""

from __future__ import annotations

import re
from bisect import bisect
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

from cuda_wheel.builder.cxx.tokens import Directive, Token, balanced, scan

__all__ = [
    "FunctionDefinition",
    "ScannedKernel",
    "function_definitions",
    "kernel_macro_arguments",
    "kernels_in",
    "masked",
    "open_namespaces",
]


class ScannedKernel(NamedTuple):
    """The definition of a kernel in a text."""

    name: str
    """Name of the kernel without namespaces: "gemm" for `ns::gemm`."""
    line: int
    """1-based number of the line that contains the kernel's `__global__`."""
    template: bool
    """Whether the kernel is a template. NVRTC compiles a template only where it is instantiated."""
    parameters: tuple[str, ...] | None
    """Tokens between the parentheses of the kernel's parameter list. None if the preprocessor may change them: the list
    contains a macro that the text defines, or a directive is between `__global__` and the body."""


KERNEL_WORDS = ("__global__", "__tile_global__")
"""Words that mark a kernel; the second marks a CUDA Tile kernel."""

_NOT_PARAMETER_LISTS = frozenset(
    {"__launch_bounds__", "__cluster_dims__", "__maxnreg__", "__block_size__", "__attribute__", "__declspec"}
    | {"__align__", "alignas", "decltype", "noexcept", "explicit", "requires"}
)
"""Words that may be followed by parentheses in a kernel's heading without being the kernel's name, such as
`__launch_bounds__`. These parentheses do not contain the kernel's parameters."""

_MAX_HEAD_TOKENS = 400  # keeps the time of a scan linear
"""Maximum number of tokens to search before `__global__` for `template`, and after `__global__` for the kernel's body.
A kernel with more tokens between `__global__` and its body is not found."""


def kernels_in(text: str) -> list[ScannedKernel]:
    """Return the kernels that a text defines, in order; in linear time, for any text.

    Omitted are declarations without a body, explicit instantiations, and what only the preprocessor can resolve:
    definitions within macros, and names that are macros of the text or produced by them.
    """
    return list(_cached_kernels_in(text))


@lru_cache(maxsize=8)  # the kernel table, the warnings and the parameter types of a module each need its kernels
def _cached_kernels_in(text: str) -> tuple[ScannedKernel, ...]:
    if not any(word in text for word in KERNEL_WORDS):
        return ()
    content = text.encode(errors="surrogateescape")
    tokens, directives = scan(content)
    found: list[ScannedKernel] = []
    line, counted = 1, 0
    for offset, kernel in _definitions(tokens, directives):
        line += content.count(b"\n", counted, offset)
        counted = offset
        if not found or found[-1] != kernel._replace(line=line):
            found.append(kernel._replace(line=line))
    return tuple(found)


def _definitions(tokens: Sequence[Token], directives: Sequence[Directive]) -> Iterator[tuple[int, ScannedKernel]]:
    """Yield (byte offset of `__global__`, kernel) for each definition of a kernel. The kernel's `line` is 0; the caller
    must set it."""
    macros = {_macro_name(directive) for directive in directives if directive.word == "define"}
    directive_offsets = [directive.start for directive in directives]
    for index, token in enumerate(tokens):
        if token.text not in KERNEL_WORDS or token.kind != "word":
            continue
        head = _head(tokens, index + 1)
        template = _is_template(tokens, index)
        if head is None or head.name in macros or template is None:
            continue
        has_directive = bisect(directive_offsets, token.start) != bisect(directive_offsets, tokens[head.body].start)
        parameters = tuple(each.text for each in tokens[head.parameters])
        is_certain = not has_directive and macros.isdisjoint(parameters)
        yield token.start, ScannedKernel(head.name, 0, template, parameters if is_certain else None)


def _macro_name(directive: Directive) -> str:
    match = re.match(r"[\w$]+", directive.rest)
    return match[0] if match else ""


class _Head(NamedTuple):
    """The heading of a function definition: its name, the range of the token indices of its parameters, and the index
    of the body's opening brace."""

    name: str
    parameters: slice
    body: int


def _head(tokens: Sequence[Token], index: int) -> _Head | None:
    """Return the heading of the kernel whose `__global__` is the token before `index`. Return None if no body follows,
    or if a macro produces the kernel's name, as in `NAME(x)(int n) {`."""
    end = min(index + _MAX_HEAD_TOKENS, len(tokens))
    name = ""
    while index < end:
        token = tokens[index]
        if token.text == "(":
            if name in _NOT_PARAMETER_LISTS or not name:
                index += balanced(tokens[index:end], 0)
                name = ""
                continue
            break
        if token.text in (";", "{", "}", "=", *KERNEL_WORDS):
            return None
        if token.text == "<" and name:  # template arguments, of a specialization or of a type before the name
            index = _after_angles(tokens, index, end)
            continue
        if token.kind == "word":
            name = token.text
        index += 1
    first = index + 1
    index += balanced(tokens[index:end], 0)
    parameters = slice(first, index - 1)
    while index < end and tokens[index].text not in (";", "{"):
        if tokens[index].text == "(" and tokens[index - 1].text == ")":
            return None  # NAME(x)(parameters): a macro produces the name
        index += 1
    return _Head(name, parameters, index) if index < end and tokens[index].text == "{" else None


def _after_angles(tokens: Sequence[Token], index: int, end: int) -> int:
    """Return the index of the token after the template arguments whose "<" is at `index`. The arguments end with the
    closing ">". They also end with a ";" or "{" that comes earlier. Return `end` if they do not end before the index
    `end`."""
    depth = 0
    while index < end:
        text = tokens[index].text
        depth += (text == "<") - (text == ">")
        index += 1
        if depth == 0 or text in (";", "{"):
            break
    return index


def _is_template(tokens: Sequence[Token], index: int) -> bool | None:
    """Return whether the kernel whose `__global__` is at `index` is a template. Return False for an explicit
    specialization (`template <>`), None for an explicit instantiation (`template` without "<")."""
    first = max(index - _MAX_HEAD_TOKENS, 0)
    start = index
    while start > first and tokens[start - 1].text not in (";", "{", "}"):
        start -= 1
    for position in range(start, index):
        if tokens[position].text == "template" and tokens[position].kind == "word":
            following = [token.text for token in tokens[position + 1 : position + 3]]
            if following[:1] != ["<"]:
                return None
            if following != ["<", ">"]:
                return True
    return False


_CALL = re.compile(r"\b(\w+)\s*\(([^()]*)\)")

_DEFINE = re.compile(r"^[ \t]*#[ \t]*define[ \t]+(\w+)\(((?:[^\n]*\\\r?\n)*[^\n]*)", re.MULTILINE)


def kernel_macro_arguments(text: str) -> set[str]:
    """Return the identifiers that a text passes to its macros that contain `__global__`.

    Names of kernels that such macros define may be among them.
    """
    makers = {match[1] for match in _DEFINE.finditer(text) if "__global__" in match[2]}
    uses = (match[2] for match in _CALL.finditer(text) if match[1] in makers) if makers else ()
    return {word for use in uses for word in re.findall(r"\b[A-Za-z_]\w*\b", use)}


_NOISE = re.compile(
    r"//[^\n]*|/\*.*?(?:\*/|\Z)|\"(?:\\.|[^\"\\\n])*\"|^[ \t]*#(?:[^\n\\]|\\.)*",
    re.DOTALL | re.MULTILINE,
)

_END = re.compile(r"[;{}]")

_NAME = re.compile(r"\b([A-Za-z_]\w*)\s*(?:<[^<>()]*>)?\s*\(")

_OTHERS = frozenset(
    {"if", "for", "while", "switch", "catch", "return", "sizeof", "alignof", "alignas", "decltype", "noexcept"}
    | {"requires", "defined", "do", "else", "throw", "new", "__launch_bounds__", "__cluster_dims__", "__block_size__"}
    | {"__maxnreg__", "__attribute__", "__declspec", "__align__"}
)
"""Words that C++ has before parentheses and that are not function names, such as "if" and "sizeof"."""

_NAMESPACE = re.compile(r"\bnamespace\s*([\w:]*)\s*$")


class FunctionDefinition(NamedTuple):
    """The definition of a function in a text."""

    head: str
    """Text before the function's name, from the end of the previous statement on, such as "static int "."""
    name: str
    line: int
    """1-based number of the line that contains the function's name."""
    body: int
    """Offset of the first character after the body's opening brace, in the text without comments, strings and
    directives (see `masked`)."""


def masked(text: str) -> str:
    """Return a text without comments, strings and directives, with the same lines."""
    return _NOISE.sub(lambda match: "\n" * match[0].count("\n") or " ", text)


def function_definitions(plain: str) -> Iterator[FunctionDefinition]:
    """Yield the functions that a text defines, in order; `plain` is the text as `masked` returns it."""
    start, line = 0, 1
    for end in _END.finditer(plain):
        part = plain[start : end.start()]
        if end[0] == "{" and (found := _declarator(part)):
            head, name, offset = found
            yield FunctionDefinition(head, name, line + part.count("\n", 0, offset), end.end())
        line += part.count("\n")
        start = end.end()


def _declarator(part: str) -> tuple[str, str, int] | None:
    """Return the parts of a function's heading: "static int f(int n)" -> ("static int ", "f", 11). The parts are the
    text before the name, the name, and the offset of the name. Return None if `part` has no heading.

    `part` is the text between the end of a statement and the next "{".
    """
    at = 0
    while match := _NAME.search(part, at):
        if match[1] not in _OTHERS and _closes(part, match.end()):
            return part[: match.start()], match[1], match.start()
        at = _after_parenthesis(part, match.end())
    return None


def _closes(text: str, start: int) -> bool:
    """Return whether a parenthesis is closed in `text`, which is the text before a "{". `start`: offset after the
    opening "(".

    True for `void f(int n)`, the heading of a function. False for `f(Pair`, from the call `f(Pair{1, 2})`.
    """
    return text[start:].count(")") > text[start:].count("(")


def _after_parenthesis(text: str, start: int) -> int:
    depth = 1
    for match in re.finditer(r"[()]", text[start:]):
        depth += 1 if match[0] == "(" else -1
        if not depth:
            return start + match.end()
    return len(text)


def open_namespaces(plain: str, end: int) -> list[str]:
    """Return the names of the namespaces that are open at the offset `end` of a text, the outermost first; `plain` is
    the text as `masked` returns it."""
    scopes: list[str] = []
    start = 0
    for match in _END.finditer(plain, 0, end):
        if match[0] == "{":
            namespace = _NAMESPACE.search(plain[start : match.start()])
            scopes.append(namespace[1] if namespace else "")
        elif match[0] == "}" and scopes:
            scopes.pop()
        start = match.end()
    return [scope for scope in scopes if scope]
