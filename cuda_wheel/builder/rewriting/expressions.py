"""Rewrite expressions and pragmas that nvcc with GCC reads and NVRTC refuses, each once the compiler reports it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from cuda_wheel.builder.cxx.tokens import Token, balanced, end_of_argument
from cuda_wheel.builder.rewriting.blocks import SourceBlocks
from cuda_wheel.builder.rewriting.constants import Replacement
from cuda_wheel.builder.rewriting.project_texts import RefusedCode
from cuda_wheel.builder.rewriting.rewriter import FileEdit, Rewriter, around, definitions_of, macro_tokens

__all__ = ["CompoundLiterals", "HostAssembly", "NarrowingArguments", "Powers", "PragmaMacros", "VoidPointers"]


_LITERAL_REFUSED = ("expected an expression", "type name is not allowed")
"""Messages of NVRTC's errors about a compound literal, `(T){1, 2}`. The second is printed if T depends on a parameter
of a template."""

_ARRAY = (b"typename ::cuda_wheel_detail::without_reference<", b">::type")
"""Texts that replace "(" and ")" around an array type: `(T[2])` becomes `typename
::cuda_wheel_detail::without_reference<T[2]>::type`. The preamble (a header that NVRTC reads before the source) declares
the template."""

_NO_NAMES = frozenset(("class", "struct", "union", "enum", "const", "volatile", "unsigned", "signed", "long", "short"))
"""Keywords with which the T of an expression `T{...}` cannot begin."""


class CompoundLiterals(Rewriter):
    """Rewrite compound literals of GNU C++, `(T){1, 2}`, as `T{1, 2}`, which every C++ compiler reads.

    An array type, as in `(T[2]){1, 2}`, is replaced by a name for it. nvcc accepts compound literals as GCC does; NVRTC
    has no GNU mode. In standard C++, a type in parentheses before a brace is always an error, so code with another
    meaning is not changed.
    """

    @staticmethod
    def is_about(message: str) -> bool:
        # For an array there are two errors.
        return message in _LITERAL_REFUSED or re.match(r'cast to type ".*\]" is not allowed', message) is not None

    def edits(self, errors: Sequence[RefusedCode]) -> Iterator[FileEdit]:
        types = frozenset().union(*map(self._types_at, errors))
        for file, blocks in self.files.items() if types else ():
            for tokens in (blocks.tokens, *(macro_tokens(blocks, each) for each in blocks.directives)):
                for start, end in _literals(tokens):
                    if _spelled(tokens[start + 1 : end]) in types:
                        # Both parentheses become spaces, or make a name of an array's type.
                        written = _ARRAY if tokens[end - 1].text == "]" else (b"", b"")
                        opening, closing = tokens[start], tokens[end]
                        yield (
                            file,
                            [
                                (opening.start, opening.end, written[0]),
                                (closing.start, closing.end, written[1]),
                            ],
                        )

    def _types_at(self, error: RefusedCode) -> set[str]:
        """Return the types of the compound literals, `(T){...}`, that an error is about, each as text: {"float2"}.

        If a literal is at the error, its type is returned. If the name of a macro is there, the types of all literals
        in the macro are returned. Otherwise the set is empty.
        """
        place = self.token_at(error)
        if place is None:
            return set()
        tokens, index = place[0].tokens, place[1]
        here = {_spelled(tokens[start + 1 : end]) for start, end in _literals(tokens) if index in (start + 1, end + 1)}
        if here or tokens[index].text == "{":
            return here
        name = tokens[index].text
        return {
            _spelled(body[start + 1 : end])
            for each in self.files.values()
            for directive in each.directives
            if len(body := macro_tokens(each, directive)) > 1 and body[1].text == name
            for start, end in _literals(body)
        }


def _literals(tokens: Sequence[Token]) -> Iterator[tuple[int, int]]:
    """Yield (index of "(", index of ")") of each `(T) {` in the tokens that may begin a compound literal."""
    for index, token in enumerate(tokens):
        if token.text == "{" and index and tokens[index - 1].text == ")":
            start = _before_type(tokens, index - 1)
            if start is not None and (not _may_be_called(tokens, start) or _begins_a_macro(tokens, start)):
                yield start, index - 1


def _before_type(tokens: Sequence[Token], closing: int) -> int | None:
    """Return the token index of the "(" in `(TYPE)`; `closing` is the index of its ")". None if what is in the
    parentheses is not a type."""
    start = closing - 1
    while start > 2 and tokens[start].text == "]" and tokens[start - 2].text == "[":
        start -= 3
    while start >= 0 and (tokens[start].kind == "word" or tokens[start].text == "::"):
        start -= 1
    begin = start + 2 if tokens[start + 1].text == "typename" else start + 1
    first = tokens[begin]
    is_type = first.kind == "word" and first.text not in _NO_NAMES and tokens[begin + 1].text in ("::", "[", ")")
    return start if is_type and start >= 0 and tokens[start].text == "(" else None


def _may_be_called(tokens: Sequence[Token], index: int) -> bool:
    """Return whether the "(" at `index` may begin the arguments of a call, judged by the token before the "(".

    True after a word, ")", "]" or ">", as in `f(`. False after `return`, after a token such as "=", and at the start.
    """
    before = tokens[index - 1] if index else None
    return before is not None and before.text != "return" and (before.kind == "word" or before.text in (")", "]", ">"))


def _begins_a_macro(tokens: Sequence[Token], index: int) -> bool:
    """Return whether the token `index` is the first one of a macro's body: `x` in `define NAME x` or
    `define NAME(a) x`.

    `tokens` are the tokens of a directive, without the "#". False if the directive is not a `define`.
    """
    if tokens[0].text != "define":
        return False
    has_parameters = tokens[2].text == "(" and tokens[1].end == tokens[2].start
    return index == (balanced(tokens, 2) if has_parameters else 2)


def _spelled(tokens: Iterable[Token]) -> str:
    """Return the texts of `tokens`, joined by spaces: "unsigned int"."""
    return " ".join(token.text for token in tokens)


_ASM = frozenset({"asm", "__asm", "__asm__"})
_VOLATILE = frozenset({"volatile", "__volatile", "__volatile__", "inline", "__inline__", "goto"})


class HostAssembly(Rewriter):
    """Replace inline assembly in host functions, `asm volatile ("cpuid" : "=a"(x))`, by its operands: `(void)(x)`.

    NVRTC accepts assembly in device functions only; nvcc leaves that of host functions to GCC. No code of a host
    function is in an image, but the operands may name templates that instantiate kernels, so they stay. A call of a
    macro with assembly is replaced by its arguments in the same way.
    """

    @staticmethod
    def is_about(message: str) -> bool:
        return message in ('expected a "("', 'expected a ")"')

    def edits(self, errors: Sequence[RefusedCode]) -> Iterator[FileEdit]:
        for error in errors:
            place = self.token_at(error)
            replacement = None if place is None else self._replacement(*place)
            if replacement is not None:
                yield error.file, [replacement]

    def _replacement(self, blocks: SourceBlocks, index: int) -> Replacement | None:
        """Return the replacement of an `asm` statement, or of a call of a macro whose body contains `asm`.

        `index` is the index of the first or second token of the statement or call: the compiler reports the error at
        either. Return None if no such statement or call is there.
        """
        tokens = blocks.tokens
        first = next((i for i in (index, index - 1) if i >= 0 and self._is_assembly(tokens[i])), None)
        if first is None:
            return None
        opening = first + 1
        while opening < len(tokens) and tokens[opening].text in _VOLATILE:
            opening += 1
        end = balanced(tokens, opening)
        if opening == len(tokens) or tokens[opening].text != "(" or tokens[end - 1].text != ")":
            return None
        inside = tokens[opening + 1 : end - 1]
        parts = _operands(inside) if tokens[first].text in _ASM else _arguments(inside)
        texts = [blocks.content[each[0].start : each[-1].end] for each in parts if each]
        kept = b", ".join(b"(void)(" + text + b")" for text in texts) or b"(void)0"
        return tokens[first].start, tokens[end - 1].end, kept

    def _is_assembly(self, token: Token) -> bool:
        """Return whether a token is `asm`, or a macro whose body contains `asm`."""
        if token.text in _ASM:
            return True
        bodies = (each.body for each in definitions_of(token.text, self.files)) if token.kind == "word" else ()
        return any(word.text in _ASM for body in bodies for word in body)


def _arguments(tokens: Sequence[Token]) -> Iterator[Sequence[Token]]:
    """Yield the tokens of each argument of a macro call. `tokens` are those between the call's parentheses."""
    start = 0
    while start < len(tokens):
        end = end_of_argument(tokens, start)
        yield tokens[start:end]
        start = end + 1


def _operands(tokens: Sequence[Token]) -> Iterator[Sequence[Token]]:
    """Yield the tokens of each operand of an `asm` statement: those of `x` in `"=a"(x)`. `tokens` are those between the
    parentheses of the statement."""
    for index in range(1, len(tokens)):
        if tokens[index].text == "(" and tokens[index - 1].kind == "text":
            yield tokens[index + 1 : balanced(tokens, index) - 1]


_NARROWING = re.compile(
    r'invalid narrowing conversion from "[^"]*"(?: \(aka "[^"]*"\))? to "([^"]*)"(?: \(aka "([^"]*)"\))?'
)

_BUILT_IN = re.compile(r"(?:bool|char|short|int|long|float|double|unsigned|signed| )+")


class NarrowingArguments(Rewriter):
    """Write a narrowing conversion in braces as a cast: `k<<<{static_cast<unsigned int>(n), 1}, 32>>>`.

    nvcc with GCC only warns about narrowing in the arguments of a constructor. An option of NVRTC's front end would
    make the error a warning too, but narrowing would then no longer exclude a template from overload resolution, as it
    does with nvcc.
    """

    @staticmethod
    def is_about(message: str) -> bool:
        return _NARROWING.match(message) is not None

    def edits(self, errors: Sequence[RefusedCode]) -> Iterator[FileEdit]:
        for error in errors:
            match, place = _NARROWING.match(error.message), self.token_at(error)
            if match is None or place is None:
                continue
            span = _argument(place[0].tokens, place[1], of_dimensions=error.in_instance)
            type_ = match[2] or match[1]
            if span is not None and _BUILT_IN.fullmatch(type_):
                yield error.file, around(*span, f"static_cast<{type_}>(".encode())


def _argument(tokens: Sequence[Token], index: int, of_dimensions: bool) -> tuple[int, int] | None:
    """Return (start, end), the byte offsets of an argument in a list in braces, such as `n` in `{n, 1}`.

    `index`: token at which the argument begins. Return None if no argument begins there.
    `of_dimensions`: whether to accept only lists of dimensions, as in `dim3 grid{n, 1}` and `<<<{n, 1}, 32>>>`. For
    other lists, None is then returned.
    """
    if not index or tokens[index - 1].text not in ("{", ","):
        return None
    end = end_of_argument(tokens, index)
    if end == len(tokens) or tokens[end].text not in (",", "}"):
        return None
    if of_dimensions and not _is_of_dimensions(tokens, index):
        return None
    return tokens[index].start, tokens[end - 1].end


def _is_of_dimensions(tokens: Sequence[Token], index: int) -> bool:
    """Return whether the innermost braces around the token `index` give dimensions: True for braces after `dim3`,
    `dim3 name` or `dim3 name =`, and for braces inside a launch configuration, `<<<{...}, 32>>>`. False for
    `int a[]{...}`."""
    depth = 0
    while index > 2:
        index -= 1
        text = tokens[index].text
        depth += (text in (")", "}", "]")) - (text in ("(", "{", "["))
        if depth < 0:
            break
        if text == ";":
            return False
    words = [token.text for token in tokens[max(0, index - 3) : index]]
    if words[-1:] == ["="]:
        words.pop()
    return words[-1:] == ["<<<"] or words[-1:] == ["dim3"] or words[-2:-1] == ["dim3"] or _ends_launch(tokens, index)


def _ends_launch(tokens: Sequence[Token], index: int) -> bool:
    """Return whether the token at `index` is inside a launch configuration, i.e. whether the last `<<<`, `>>>` or ";"
    before the token is a `<<<`."""
    while index > 1 and tokens[index].text not in (";", "<<<", ">>>"):
        index -= 1
    return tokens[index].text == "<<<"


_AMBIGUOUS_POW = re.compile(r'more than one instance of overloaded function "(?:\w+::)*pow" matches the argument list')

_EXPONENT = b"::cuda_wheel_detail::exponent<decltype(%s)>("
"""Text to put before the exponent in `pow(BASE, EXPONENT)`; `%s` is BASE. The function `exponent` is declared in
cuda-wheel's <math.h>."""


class Powers(Rewriter):
    """Make `pow(x, 2)` call `pow(double, double)`, as nvcc does, by a function around the exponent.

    NVRTC has overloads of `pow` for an exponent of type int. They are not templates, so no other function is a better
    match. The stand-in header <math.h> makes such calls ambiguous, so that the compiler reports them, and declares
    `exponent`, which converts an int to a type that depends on the type of the base.
    """

    @staticmethod
    def is_about(message: str) -> bool:
        return _AMBIGUOUS_POW.match(message) is not None

    def edits(self, errors: Sequence[RefusedCode]) -> Iterator[FileEdit]:
        for error in errors:
            place = self.token_at(error)
            if place is None:
                continue
            tokens, index = place[0].tokens, place[1]
            index += tokens[index].text == "::" and index + 1 < len(tokens)
            call = _call(tokens, index)
            if call is not None:
                yield error.file, call
            else:
                yield from self._in_macro(tokens[index].text, set())

    def _in_macro(self, name: str, seen: set[str]) -> Iterator[FileEdit]:
        """Yield the replacements of calls of `pow` in the macro `name`, and in the macros that its body uses.

        `seen` are the names of the macros that are not searched again. Each searched macro is added to `seen`.
        """
        seen.add(name)
        for definition in definitions_of(name, self.files):
            for index, token in enumerate(definition.body):
                if token.text == "pow":
                    call = _call(definition.body, index)
                    if call is not None:
                        yield definition.file, call
                elif token.kind == "word" and token.text not in seen:
                    yield from self._in_macro(token.text, seen)


def _call(tokens: Sequence[Token], index: int) -> list[Replacement] | None:
    """Return the replacements around the exponent of the call `pow(BASE, EXPONENT)` that begins at the token `index`;
    None if no such call begins there."""
    if index + 1 >= len(tokens) or tokens[index].text != "pow" or tokens[index + 1].text != "(":
        return None
    end = balanced(tokens, index + 1) - 1
    comma = end_of_argument(tokens, index + 2)
    if comma + 1 >= end:
        return None
    base = b" ".join(token.text.encode(errors="surrogateescape") for token in tokens[index + 2 : comma])
    return around(tokens[comma + 1].start, tokens[end - 1].end, _EXPONENT % (b"(%s)" % base))


# In the body of a macro with parameters, "#" would make a string.
_DEFINITION = re.compile(r"([A-Za-z_]\w*)\s+#\s*pragma\s+(.+)", re.DOTALL)
"""Matches what follows `#define` if a macro is a pragma: `UNROLL #pragma unroll 4`. Group 1 is the macro's name, group
2 the text after `#pragma`. A macro with parameters does not match."""


class PragmaMacros(Rewriter):
    """Rewrite macros that expand to a pragma, `#define UNROLL #pragma unroll`, with the operator `_Pragma`.

    nvcc compiles the preprocessed text, and accepts a pragma in the middle of a line there. NVRTC preprocesses and
    compiles in one step, and refuses it.
    """

    @staticmethod
    def is_about(message: str) -> bool:
        return message == '"#" not expected here'

    def edits(self, errors: Sequence[RefusedCode]) -> Iterator[FileEdit]:
        for file, blocks in self.files.items():
            for directive in blocks.directives:
                match = _DEFINITION.fullmatch(directive.rest.strip()) if directive.word == "define" else None
                if match:
                    pragma = " ".join(match[2].split()).replace("\\", "\\\\").replace('"', '\\"')
                    text = f'#define {match[1]} _Pragma("{pragma}")'.encode()
                    yield file, [(directive.start, directive.end, text)]


_CAST = b"(::cuda_wheel_detail::void_pointer)"
"""Cast to put before a `void*` operand of `+` or `-`. The preamble (a header that NVRTC reads before the source)
declares the cast's type."""

_VARIABLE_CAST = b"(::cuda_wheel_detail::void_variable)"
"""Cast to put before a variable of type `void*` that `+=` or `-=` changes. The preamble (a header that NVRTC reads
before the source) declares the cast's type."""

_IN_MACRO = (b"::cuda_wheel_detail::bytes(", b")")
"""Texts to put before and after an operand that is in the body of a macro and may be a `void*`. The preamble (a header
that NVRTC reads before the source) declares the function `bytes`."""

_OPERAND = re.compile(rb"[A-Za-z_(*]")
_ASSIGNMENT = re.compile(rb"[\w.>\[\]-]*?\s*[+-]=")
"""Matches the left operand and the operator of `+=` or `-=`: "ptr->next +=". The match may also begin inside the
operand: "next +="."""


class VoidPointers(Rewriter):
    """Rewrite arithmetic on `void*`, `p + 4`, as arithmetic on `char*`: with GCC and nvcc, `void` has the size 1.

    The cast put before the pointer accepts only a `void*`. The result is a `char*`, which converts to `void*`; where it
    does not, the compiler reports an error. The compiler does not report the place inside a macro, so all operands
    in the macro that may be pointers are passed to a function that returns anything but a `void*` unchanged.
    """

    @staticmethod
    def is_about(message: str) -> bool:
        return message == "expression must be a pointer to a complete object type"

    def edits(self, errors: Sequence[RefusedCode]) -> Iterator[FileEdit]:
        macros: list[str] = []
        for error in errors:
            if error.file not in self.files or error.column is None:
                continue
            blocks = self.files[error.file]
            offset = blocks.offset(error.line, error.column)
            index = blocks.token_at(offset)
            name = blocks.tokens[index].text if index < len(blocks.tokens) else ""
            if any(True for _ in definitions_of(name, self.files)):
                macros.append(name)
            elif _OPERAND.match(blocks.content, offset):
                cast = _VARIABLE_CAST if _ASSIGNMENT.match(blocks.content, offset) else _CAST
                yield error.file, [(offset, offset, cast)]
        yield from self._in_macros(macros)

    def _in_macros(self, names: list[str]) -> Iterator[FileEdit]:
        """Yield the replacements in macros of each left operand of `+`, `-`, `+=` or `-=` that may be a `void*`.

        The macros are those in `names`, and those that their bodies use at any depth.
        """
        waiting, seen = list(names), set()
        while waiting:
            name = waiting.pop()
            for definition in definitions_of(name, self.files) if name not in seen else ():
                waiting += [token.text for token in definition.body if token.kind == "word"]
                for start, end in _pointer_operands(definition.body):
                    yield definition.file, around(start, end, _IN_MACRO[0], _IN_MACRO[1])
            seen.add(name)


def _pointer_operands(tokens: Sequence[Token]) -> Iterator[tuple[int, int]]:
    """Yield (start, end), the byte offsets of each left operand of `+`, `-`, `+=` or `-=` that is a name or an
    expression in parentheses."""
    for index in range(1, len(tokens)):
        before = tokens[index - 1]
        if tokens[index].text not in ("+", "-") or (tokens[index].start == before.end and before.text in ("+", "-")):
            continue
        if before.text == ")":
            opening = index - 1
            depth = 1
            while opening > 0 and depth:
                opening -= 1
                depth += (tokens[opening].text == ")") - (tokens[opening].text == "(")
            is_call = opening > 0 and (tokens[opening - 1].kind == "word" or tokens[opening - 1].text in (">", "]"))
            if not is_call:
                yield tokens[opening].start, before.end
        elif before.kind == "word" and (index < 2 or tokens[index - 2].text not in ("#", "##", ".", "->", "::")):
            yield before.start, before.end
