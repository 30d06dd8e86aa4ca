"""Read the types of parameters, variables and simple expressions from C++ tokens, without a syntax tree."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from typing import NamedTuple

from cuda_wheel.builder.cxx.known_types import FUNDAMENTAL_WORDS
from cuda_wheel.builder.cxx.tokens import DECORATION

__all__ = [
    "BUILTIN",
    "SIMPLE",
    "Locals",
    "Words",
    "angles",
    "call_of",
    "closing",
    "displayed",
    "is_value",
    "literal",
    "locals_at",
    "locals_of",
    "plain",
    "pointee",
    "split",
    "type_at",
    "unify",
    "without_name",
]

Words = tuple[str, ...]
"""C++ text, as its tokens."""

SIMPLE = FUNDAMENTAL_WORDS | {"wchar_t", "auto"}

BUILTIN = SIMPLE | {
    *("const", "volatile", "char8_t", "char16_t", "char32_t", "true", "false", "nullptr", "sizeof", "typename"),
    *("struct", "class", "enum", "template", "decltype", "static_cast", "operator"),
}

_STORAGE = frozenset(
    {
        "static",
        "extern",
        "inline",
        "constexpr",
        "register",
        "mutable",
        "thread_local",
        "typename",
        "struct",
        "class",
        "enum",
    }
)

_NO_TYPE = frozenset(
    {
        "return",
        "new",
        "delete",
        "else",
        "case",
        "goto",
        "throw",
        "using",
        "namespace",
        "template",
        "sizeof",
        "if",
        "while",
        "for",
        "switch",
        "do",
        "typedef",
        "operator",
        "public",
        "private",
        "protected",
        "friend",
        "default",
        "break",
        "continue",
    }
)


def type_at(words: Sequence[str], index: int) -> tuple[Words, int] | None:
    """Return the type that begins at an index, without storage classes, and the index after it; None if none does."""
    found: list[str] = []
    named = False
    while index < len(words):
        word = words[index]
        if word in _STORAGE or word in DECORATION:
            index += 1
        elif word in ("const", "volatile", "*", "&"):
            if word in "*&" and not named:
                return None
            found.append(word)
            index += 1
        elif word in SIMPLE and (not named or found[-1] in SIMPLE or found[-1] == "const"):
            found.append(word)
            named = True
            index += 1
        elif not named and word not in _NO_TYPE and re.fullmatch(r"[A-Za-z_]\w*|::", word):
            while index < len(words) and re.fullmatch(r"[A-Za-z_]\w*|::", words[index]):
                found.append(words[index])
                index += 1
                if index < len(words) and words[index] == "<":
                    after = angles(words, index)[1]
                    if after == index:
                        return None
                    found += [part for word in words[index:after] for part in (word if word == ">>>" else (word,))]
                    index = after
                if index < len(words) and words[index] != "::" and found[-1] != "::":
                    break
            named = True
        else:
            break
    return (tuple(found), index) if named else None


class Locals(NamedTuple):
    """The declarations in a function, by name: types of variables, values of constants, and type aliases."""

    types: dict[str, Words]
    values: dict[str, Words]
    aliases: dict[str, Words]


def locals_of(words: Sequence[str]) -> Locals:
    """Return all declarations in a function, from every block; for several variables of one name, the first."""
    found = Locals({}, {}, {})
    index = 0
    while index < len(words):
        before = words[index - 1] if index else ";"
        index = _read(words, index, before in (";", "{", "}", "(", ",", ")", ":"), found) + 1
    return found


def locals_at(words: Sequence[str], places: Collection[int]) -> dict[int, Locals]:
    """Return the declarations that are visible at each place in a function; enclosing blocks take precedence."""
    whole = locals_of(words)
    blocks = [Locals({}, {}, {})]
    found: dict[int, Locals] = {}
    for index, word in enumerate(words):
        if index in places:
            found[index] = _merged([whole, *blocks])
        if word == "{":
            blocks.append(Locals({}, {}, {}))
        elif word == "}" and len(blocks) > 1:
            blocks.pop()
        elif index and words[index - 1] in (";", "{", "}"):  # elsewhere, `a * b` may be a product
            _read(words, index, True, blocks[-1])
    return found


def _merged(blocks: Sequence[Locals]) -> Locals:
    """Return the declarations that are visible in the last block; each block is inside the one before."""
    types: dict[str, Words] = {}
    values: dict[str, Words] = {}
    aliases: dict[str, Words] = {}
    for block in blocks:
        types.update(block.types)
        values = {name: value for name, value in values.items() if name not in block.types} | block.values
        aliases.update(block.aliases)
    return Locals(types, values, aliases)


def _read(words: Sequence[str], index: int, may_declare: bool, into: Locals) -> int:
    """Record the declaration at an index, if any. Return the end of an alias declaration, else the same index."""
    if words[index] == "using" and index + 2 < len(words) and words[index + 2] == "=":
        end = _until(words, index, ";")
        into.aliases[words[index + 1]] = tuple(words[index + 3 : end])
        return end
    if words[index] == "typedef":
        end = _until(words, index, ";")
        into.aliases[words[end - 1]] = tuple(words[index + 1 : end - 1])
        return end
    if may_declare and (declared := type_at(words, index)):
        kind, after = declared
        _declare(words, index, kind, after, into.types, into.values)
    return index


def _declare(
    words: Sequence[str], index: int, kind: Words, after: int, types: dict[str, Words], values: dict[str, Words]
) -> None:
    base = tuple(word for word in kind if word not in "*&")
    while after + 1 < len(words) and re.fullmatch(r"[A-Za-z_]\w*", words[after]) and words[after] not in _NO_TYPE:
        name, following = words[after], words[after + 1]
        if following not in ("=", ";", ",", ")", "[", "{", "(", ":"):
            return
        types.setdefault(name, (*kind, "*") if following == "[" else kind)
        end = _until(words, after, ";", ",")
        if following in "={" and ("const" in kind or "constexpr" in words[max(0, index - 2) : after]):
            value = tuple(words[after + 2 : end])
            values.setdefault(name, value[:-1] if following == "{" and value[-1:] == ("}",) else value)
        elif following == "=" and kind[:1] == ("auto",):
            types[name] = ("auto", "=", *words[after + 2 : end])
        if end >= len(words) or words[end] != "," or following == ")":
            return
        after = end + 1
        kind = base
        while after < len(words) and words[after] in "*&":
            kind = (*kind, words[after])
            after += 1


def _until(words: Sequence[str], index: int, *ends: str) -> int:
    depth = 0
    for position in range(index, len(words)):
        word = words[position]
        if depth == 0 and word in ends:
            return position
        depth += (word in "([{") - (word in ")]}")
        if depth < 0:
            return position
    return len(words)


def plain(kind: Words) -> Words:
    """Return a type as it is passed by value: without reference and without top-level const."""
    words = [word for word in kind if word not in ("&", "volatile") and word not in DECORATION]
    while words[-1:] == ["const"]:
        words.pop()
    if "*" not in words:
        words = [word for word in words if word != "const"]
    return tuple(words)


def unify(pattern: Words, actual: Words, names: frozenset[str], bound: dict[str, Words]) -> None:
    """Bind the template parameters in a function parameter's type to the corresponding parts of an argument's type."""
    pattern, actual = plain(pattern), plain(actual)
    while pattern[-1:] == ("*",) == actual[-1:]:
        pattern, actual = pattern[:-1], actual[:-1]
        while pattern[-1:] == ("const",):
            pattern = pattern[:-1]
            while actual[-1:] == ("const",):
                actual = actual[:-1]
    if pattern[:1] == ("const",):
        pattern = pattern[1:]
        actual = tuple(word for word in actual if word != "const") if "*" not in actual else actual
    if len(pattern) == 1 and pattern[0] in names:
        if actual:
            bound.setdefault(pattern[0], actual)
    elif "<" in pattern and "<" in actual:
        left, right = pattern.index("<"), actual.index("<")
        if pattern[left - 1] == actual[right - 1]:
            inner, other = split(angles(pattern, left)[0]), split(angles(actual, right)[0])
            for one, two in zip(inner, other, strict=False):
                unify(one, two, names, bound)


def split(words: Sequence[str]) -> list[Words]:
    """Split at the commas that are not inside brackets."""
    parts: list[list[str]] = [[]]
    depth = 0
    for index, word in enumerate(words):
        if word in "([{" or (word == "<" and index and re.match(r"[A-Za-z_]", words[index - 1])):
            depth += 1
        elif word in ")]}" or (word == ">" and depth):
            depth -= 1
        if word == "," and depth == 0:
            parts.append([])
        else:
            parts[-1].append(word)
    return [tuple(part) for part in parts if part]


def call_of(words: Sequence[str], name: str) -> int | None:
    for index, word in enumerate(words):
        if word == name and index + 1 < len(words):
            after = angles(words, index + 1)[1] if words[index + 1] == "<" else index + 1
            if after < len(words) and words[after] == "(":
                return after
    return None


def closing(words: Sequence[str], opening: int) -> int:
    depth = 0
    for index in range(opening, len(words)):
        depth += (words[index] in "([{") - (words[index] in ")]}")
        if depth == 0:
            return index
    return len(words)


def without_name(parameter: Words) -> Words:
    words = parameter[: parameter.index("=")] if "=" in parameter else parameter
    star = False
    while words and words[-1] == "]":
        words, star = words[: len(words) - 1 - words[::-1].index("[")], True
    if len(words) > 1 and re.fullmatch(r"[A-Za-z_]\w*", words[-1]) and words[-1] not in BUILTIN and words[-2] != "::":
        words = words[:-1]
    while len(words) > 1 and words[-2] in "*&" and words[-1] not in ("const", "*", "&"):
        words = words[:-1]  # a macro for __restrict__
    return words + ("*",) * star


def angles(words: Sequence[str], index: int) -> tuple[Words, int]:
    """Return the tokens between the `<` at `index` and its `>`, and the index after it; ((), index) if it has none."""
    depth, round_ = 0, 0
    inside: list[str] = []
    for position in range(index, len(words)):
        word = words[position]
        if word in ("(", "[", "{"):
            round_ += 1
        elif word in (")", "]", "}"):
            round_ -= 1
            if round_ < 0:
                break
        elif word == ";":
            break
        if round_ == 0 and word in ("<", ">", ">>>"):
            for sign in word:
                depth += 1 if sign == "<" else -1
                if depth == 0:
                    return tuple(inside[1:]), position + 1
                inside.append(sign)
            continue
        inside.append(word)
    return (), index


def displayed(words: Sequence[str]) -> str:
    """Return tokens as C++ text."""
    text = " ".join(words)
    text = re.sub(r"\s*(::|[<>()*&\[\]])\s*", r"\1", text)
    text = re.sub(r"\s*,\s*", ", ", text)
    return re.sub(r"(\w) *([-+/%|^]) *(\w)", r"\1 \2 \3", text).replace(">>", "> >").replace(" -", "-")


def pointee(kind: Words | None) -> Words | None:
    """Return the type that a pointer type points to; None for any other type."""
    value = () if kind is None else plain(kind)
    return value[:-1] if value[-1:] == ("*",) else None


def is_value(words: Words) -> bool:
    """Return whether tokens are a number or an expression, and not a type."""
    return any(re.match(r"\d", word) or word in "+-/%|^~!?" for word in words) and "<" not in words


def literal(word: str) -> Words:
    """Return the type of a numeric literal."""
    lower = word.lower()
    if not lower.startswith("0x") and ("." in lower or "e" in lower or lower.endswith("f")):
        return ("float",) if lower.endswith("f") else ("double",)
    suffix = re.sub(r"^(0x[0-9a-f']+|[\d']+)", "", lower)
    return (*(["unsigned"] * ("u" in suffix)), *(["long"] * suffix.count("l") or ["int"]))
