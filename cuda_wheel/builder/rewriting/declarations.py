"""Rewrite declarations that nvcc with GCC reads and NVRTC refuses, each once the compiler reports it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from cuda_wheel.builder.cxx.tokens import MARKERS, Token, balanced, before_template_arguments
from cuda_wheel.builder.images.variables import unqualified_name
from cuda_wheel.builder.rewriting.blocks import SourceBlocks
from cuda_wheel.builder.rewriting.constants import Replacement
from cuda_wheel.builder.rewriting.front_end import CONSTEXPR_CALL
from cuda_wheel.builder.rewriting.layout_attributes import BEHIND_BRACKET, type_brackets
from cuda_wheel.builder.rewriting.project_texts import RefusedCode, definition_at
from cuda_wheel.builder.rewriting.rewriter import FileEdit, Rewriter, definitions_of, macro_tokens

__all__ = [
    "ClassConstants",
    "ConstexprFunctions",
    "HostMarkers",
    "MemberConstants",
    "TemplateNames",
    "TypeAttributes",
    "ZeroArrays",
]


_INITIALIZER_REFUSED = re.compile(
    r'a member of type "const (?:float|double|long double)" cannot have an in-class initializer'
)

_MEMBER = re.compile(
    rb"([A-Za-z_]\w*(?:\s*(?:\.|->)\s*[A-Za-z_]\w*)*?)\s*(\.|->)\s*([A-Za-z_]\w*)(?!\w|\s*(?:\.|->|::))"
)
"""Matches a chain of member accesses, such as `a.b->c`. Group 1 is the object (`a.b`), group 2 the last operator
(`->`), group 3 the last member (`c`)."""

_TYPE = b"::cuda_wheel_detail::without_reference<decltype(%s)>::type::%s"
"""C++ text for `CLASS::MEMBER`. The first `%s` is to be an expression for an object of the class, the second the
member's name. The preamble (a header that NVRTC reads before the source) declares `without_reference`."""


class ClassConstants(Rewriter):
    """Write static floating-point constants of classes as `constexpr`: `static const float half = 0.5f;`.

    GCC and nvcc accept the initializer of such a member without `constexpr`; standard C++ and NVRTC do not.
    """

    @staticmethod
    def is_about(message: str) -> bool:
        return _INITIALIZER_REFUSED.fullmatch(message) is not None

    def edits(self, errors: Sequence[RefusedCode]) -> Iterator[FileEdit]:
        for error in errors:
            member = definition_at(self.files, error.file, error.line, error.column)
            for token in member.tokens if member is not None and member.in_class else ():
                if token.text == "const":
                    yield error.file, [(token.start, token.end, b"constexpr")]


class MemberConstants(Rewriter):
    """Write `a.size` as `decltype(a)::size` where the compiler needs a constant.

    GCC, nvcc with GCC, and C++23 accept `constexpr int n = a.size;` if `a` is a reference to a class with the static
    constant `size`. NVRTC does not, because the reference has no constant value.
    """

    @staticmethod
    def is_about(message: str) -> bool:
        return message == "expression must have a constant value"

    def edits(self, errors: Sequence[RefusedCode]) -> Iterator[FileEdit]:
        for error in errors:
            if error.file not in self.files or error.column is None:
                continue
            content = self.files[error.file].content
            offset = self.files[error.file].offset(error.line, error.column)
            # The compiler points to the expression's beginning: each time it refuses it, the next member is rewritten.
            for match in _MEMBER.finditer(content, offset, content.find(b";", offset)):
                if (error.file, match.start()) not in self.found:
                    object_ = b"(%s)" % match[1] if match[2] == b"." else b"*(%s)" % match[1]
                    yield error.file, [(*match.span(), _TYPE % (object_, match[3]))]
                    break


_CONSTEXPR_CALLED = re.compile(rf'{CONSTEXPR_CALL}\("([^"]*)"\)')


class ConstexprFunctions(Rewriter):
    """Mark `constexpr` host functions that device code calls as `__host__ __device__`.

    NVRTC's option `--relaxed_constexpr` does the same for all functions. This is for sources with which that option
    crashes NVRTC.
    """

    @staticmethod
    def is_about(message: str) -> bool:
        return _CONSTEXPR_CALLED.match(message) is not None

    def edits(self, errors: Sequence[RefusedCode]) -> Iterator[FileEdit]:
        names = {_plain_name(match[1]) for error in errors if (match := _CONSTEXPR_CALLED.match(error.message))}
        for file, blocks in self.files.items():
            for token in _unmarked(blocks, names):
                yield file, [(token.start, token.start, b"__host__ __device__ ")]


def _plain_name(function: str) -> str:
    """Return a function's name without scope and template arguments: "ns::S<a::b>::get<int>" -> "get"."""
    return "operator" if re.search(r"\boperator\b", function) else unqualified_name(function).strip()


def _unmarked(blocks: SourceBlocks, names: set[str]) -> Iterator[Token]:
    """Yield the token `constexpr` of each function whose unqualified name is in `names` and that has no marker such as
    `__device__`."""
    for block in blocks.definitions:
        if block.is_function and block.name in names and not block.words & MARKERS:
            yield from (token for token in block.heading if token.text == "constexpr")


_MARKER_REFUSED = re.compile(r'attribute "(__(?:host|shared)__)" does not apply here')


class HostMarkers(Rewriter):
    """Remove markers that have no effect: `__host__` of a variable, `__shared__` of a parameter.

    In `__device__ __host__ constexpr float a = 1;` and `void f(__shared__ int* p)`, nvcc ignores them with a warning;
    NVRTC reports an error.
    """

    @staticmethod
    def is_about(message: str) -> bool:
        return _MARKER_REFUSED.fullmatch(message) is not None

    def edits(self, errors: Sequence[RefusedCode]) -> Iterator[FileEdit]:
        for error in errors:
            match, place = _MARKER_REFUSED.fullmatch(error.message), self.token_at(error)
            if match is None or place is None:
                continue
            token = place[0].tokens[place[1]]
            text = "" if token.text == match[1] else self._without(match[1], token.text, frozenset())
            if text is not None:
                yield error.file, [(token.start, token.end, text.encode())]

    def _without(self, marker: str, name: str, outer: frozenset[str]) -> str | None:
        """Return the text to which the macro `name` expands without `marker`: "inline" for
        `#define API __host__ inline`.

        Macros in the macro's body are expanded too, without `marker`. Names in `outer` are not expanded: they are
        the macros that are being expanded.

        Definitions with parameters are ignored. Return None if no definition contains `marker`, or if the
        definitions expand to different texts.
        """
        texts = set()
        for definition in definitions_of(name, self.files) if name not in outer else ():
            words, has_marker = [], False
            for token in definition.body:
                inner = "" if token.text == marker else self._without(marker, token.text, outer | {name})
                has_marker = has_marker or inner is not None
                words.append(token.text if inner is None else inner)
            if has_marker and not definition.has_parameters:
                texts.add(" ".join(filter(None, words)))
        return texts.pop() if len(texts) == 1 else None


_ARGUMENTS_REFUSED = re.compile(
    r'template parameter ".*::(\w+)(?: \[with .*\])?" may not have a template argument list'
)


class TemplateNames(Rewriter):
    """Insert the keyword that NVRTC requires: `typename Base::Part<N>` becomes `typename Base::template Part<N>`.

    Where `Base` depends on a parameter of a template, GCC takes `Part` for a template, as C++23 does, and nvcc does
    with GCC. NVRTC has no GNU mode.
    """

    @staticmethod
    def is_about(message: str) -> bool:
        return _ARGUMENTS_REFUSED.fullmatch(message) is not None

    def edits(self, errors: Sequence[RefusedCode]) -> Iterator[FileEdit]:
        names = {match[1] for error in errors if (match := _ARGUMENTS_REFUSED.fullmatch(error.message))}
        for file, blocks in self.files.items():
            for tokens in (blocks.tokens, *(macro_tokens(blocks, each) for each in blocks.directives)):
                for token in _names_of_templates(tokens, names):
                    yield file, [(token.start, token.start, b"template ")]


def _names_of_templates(tokens: Sequence[Token], names: set[str]) -> Iterator[Token]:
    """Yield each token whose text is in `names` and that stands at NAME in `typename QUALIFIER::NAME<`."""
    for index in range(2, len(tokens) - 1):
        if tokens[index].text in names and tokens[index + 1].text == "<" and tokens[index - 1].text == "::":
            start = _start_of_name(tokens, index)
            if start and tokens[start - 1].text == "typename":
                yield tokens[index]


def _start_of_name(tokens: Sequence[Token], index: int) -> int:
    """Return the index of the first token of a qualified name: of `a` in `a::b<c>::d`. `index` is the token index of
    the last word, `d`."""
    while index > 1 and tokens[index - 1].text == "::":
        index = max(0, before_template_arguments(tokens, index - 1))
    return index


_ATTRIBUTES = ("__attribute__", "__attribute", "__align__", "__builtin_align__", "__CUDA_ALIGN__")


class TypeAttributes(Rewriter):
    """Move attributes of a type from after its closing brace to after its keyword, where NVRTC honours them.

    `struct A { char a; int b; } __attribute__((packed));` becomes `struct __attribute__((packed)) A { char a; int b;
    };`.
    """

    @staticmethod
    def is_about(message: str) -> bool:
        return message == BEHIND_BRACKET

    def edits(self, errors: Sequence[RefusedCode]) -> Iterator[FileEdit]:
        for file in {error.file for error in errors} & self.files.keys():
            lines = {error.line for error in errors if error.file == file}
            blocks = self.files[file]
            tokens = blocks.tokens
            for keyword, _, last in type_brackets(tokens):
                run = tokens[last + 1 : self._attributes_end(file, last + 1)]
                if not run or blocks.line(run[0].start) not in lines:
                    continue
                if tokens[keyword].text == "enum" and tokens[keyword + 1].text in ("class", "struct"):
                    keyword += 1
                word, written = tokens[keyword], " ".join(token.text for token in run)
                removed = blocks.content[run[0].start : run[-1].end]
                yield (
                    file,
                    [
                        (word.start, word.end, f"{word.text} {written}".encode(errors="surrogateescape")),
                        (run[0].start, run[-1].end, b"\n" * removed.count(b"\n")),
                    ],
                )

    def _attributes_end(self, file: str, index: int) -> int:
        """Return the index of the first token after the attributes that begin at the token `index` of `file`.

        The name of a macro, with its arguments, is taken for an attribute. Return `index` itself if no attribute is
        there.
        """
        tokens = self.files[file].tokens
        while index < len(tokens) and tokens[index].kind == "word":
            definitions = list(definitions_of(tokens[index].text, self.files))
            is_macro = bool(definitions)
            if not is_macro and tokens[index].text not in _ATTRIBUTES:
                break
            takes_arguments = not is_macro or any(each.has_parameters for each in definitions)
            index += 1
            if takes_arguments and index < len(tokens) and tokens[index].text == "(":
                index = balanced(tokens, index)
        return index


_NO_TYPES = frozenset(
    {
        *("alignas", "__align__", "__attribute__", "static", "mutable", "constexpr"),
        *("typedef", "using", "friend", "extern", "="),
    }
)
"""Tokens that a plain array member, `TYPE name[SIZE];`, does not contain: words such as `static`, words that begin an
attribute, and "="."""

_PACKING = re.compile(rb"\b(?:packed|__packed__|pack)\b")


class ZeroArrays(Rewriter):
    """Rewrite array members that have no elements in some instances of a template: `float rest[N - 4];` for N = 4.

    With GCC and nvcc such a member takes no space, and aligns the members after it and the class. In C++20, a
    zero-width bit-field, which aligns what follows, and an empty class with `[[no_unique_address]]` have the same
    layout. In C++17 nothing has it, and the error stays. The error also stays for a member with an alignment of its
    own, and in a file that packs classes.
    """

    @staticmethod
    def is_about(message: str) -> bool:
        return message == "the size of an array must be greater than zero"

    def edits(self, errors: Sequence[RefusedCode]) -> Iterator[FileEdit]:
        for error in errors:
            member = definition_at(self.files, error.file, error.line, error.column)
            if error.in_instance and member is not None and member.in_class:
                edits = _as_member(member.tokens, self.files[error.file].content)
                if edits:
                    yield error.file, edits


def _as_member(tokens: Sequence[Token], content: bytes) -> list[Replacement]:
    """Return the replacements that make the array member `TYPE name[SIZE];` valid for SIZE 0. `ZeroArrays` describes
    the new text.

    `tokens`: tokens of the declaration.
    `content`: text of the whole file.

    Return [] if the declaration has another form. Also return [] if the file packs classes by `packed` or
    `#pragma pack`.
    """
    texts = [token.text for token in tokens]
    bracket = texts.index("[") if "[" in texts else 0
    is_plain = bracket > 1 and balanced(tokens, bracket) == len(tokens) - 1 and texts[-1] == ";"
    if not is_plain or _NO_TYPES & set(texts) or tokens[bracket - 1].kind != "word" or _PACKING.search(content):
        return []
    name, size = tokens[bracket - 1], tokens[bracket:-1]
    type_ = content[tokens[0].start : tokens[bracket - 2].end]
    written = (
        b"typename ::cuda_wheel_detail::integer_aligned<alignof(%s)>::type : 0; "
        b"[[no_unique_address]] typename ::cuda_wheel_detail::member_array<%s, (%s), %d>::type "
    ) % (type_, type_, content[size[0].end : size[-1].start], name.start)
    if b"\n" in written:
        return []
    return [(tokens[0].start, name.start, written), (size[0].start, size[-1].end, b"")]
