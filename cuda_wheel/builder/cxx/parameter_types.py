"""Read the types of a kernel's parameters from its text, where its words alone leave no doubt of them.

`extern "C"` kernels need this: their symbols say no types. No macro is expanded, no condition evaluated and no header
read; what depends on one is not certain, and told as "". Types are written as `mangled.signature` writes them.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Collection, Iterator, Sequence

from cuda_wheel.builder.cxx.kernels import kernels_in
from cuda_wheel.builder.cxx.tokens import Token, scan
from cuda_wheel.runtime.manifest import Parameter

__all__ = [
    "agree",
    "parameter_type",
    "parameter_types",
    "redeclared",
]


_LONG = struct.calcsize("l")
"""Bytes of a `long`, which NVRTC has as the machine has that it runs on: 8, but 4 on Windows."""


_INTEGERS = {"char": 1, "short": 2, "int": 4, "long": _LONG, "long long": 8}


_SIZES = {
    **{"bool": 1, "signed char": 1, "float": 4, "double": 8},
    **{sign + name: size for name, size in _INTEGERS.items() for sign in ("", "unsigned ")},
}
"""Bytes of what is a number in PTX as well."""


_VECTORS = {
    f"{name}{count}": _SIZES[element] * count
    for name, element in {
        **{name: name for name in ("char", "short", "int", "long", "float", "double")},
        **{f"u{name}": f"unsigned {name}" for name in ("char", "short", "int", "long")},
        **{"longlong": "long long", "ulonglong": "unsigned long long"},
    }.items()
    for count in (1, 2, 3, 4)
}


_BYTES = {"__half": 2, "__half2": 4, "__nv_bfloat16": 2, "__nv_bfloat162": 4, **_VECTORS}


_BYTES |= {"cuda::std::complex<float>": 8, "cuda::std::complex<double>": 16}
"""Bytes of what is an array of bytes in PTX."""


_SPELLINGS = {
    " ".join(sorted([*sign.split(), *width.split(), *word.split()])): (
        ("unsigned " if sign == "unsigned" else "") + (width or "int")
    )
    for sign in ("", "signed", "unsigned")
    for width in ("", "short", "long", "long long")
    for word in ("", "int")
    if sign or width or word
}


_SPELLINGS |= {name: name for name in ("bool", "char", "float", "double", "void")}


_SPELLINGS |= {"char signed": "signed char", "char unsigned": "unsigned char"}
"""What the language's own words say together, by those words in the alphabet's order."""


_OWN_WORDS = frozenset(word for spelling in _SPELLINGS for word in spelling.split())


_STANDARD = {
    "int8_t": "signed char", "int16_t": "short", "int32_t": "int", "int64_t": "long long", "intptr_t": "long long",
    "uint8_t": "unsigned char", "uint16_t": "unsigned short", "uint32_t": "unsigned int",
    "uint64_t": "unsigned long long", "uintptr_t": "unsigned long long",
    "size_t": "unsigned long" if _LONG == 8 else "unsigned long long",
    "ptrdiff_t": "long" if _LONG == 8 else "long long",
}  # fmt: skip
"""Names of the standard library, as libcu++ and the headers of cuda-wheel define them for NVRTC."""


_NAMES = {
    **{name: name for name in (*_SPELLINGS.values(), *_BYTES) if "::" not in name},
    **{"half": "__half", "half2": "__half2", "nv_bfloat16": "__nv_bfloat16", "nv_bfloat162": "__nv_bfloat162"},
    **{"cuComplex": "float2", "cuFloatComplex": "float2", "cuDoubleComplex": "double2"},
    **_STANDARD,
    **{f"{scope}::{name}": type_ for scope in ("std", "cuda::std") for name, type_ in _STANDARD.items()},
    **{
        f"{scope}::complex<{real}>": f"cuda::std::complex<{real}>"
        for scope in ("std", "cuda::std")
        for real in ("float", "double")
    },
}
"""Well-known types, by their own names and those that the headers give them."""


_HALF_HEADER = re.compile(r"""[<"](?:cuda_fp16|cuda_bf16|mma)\.h[>"]""")
"""What makes `half` CUDA's own: projects have types of this name too, in headers that nobody reads here."""


_RESTRICT = ("__restrict__", "__restrict", "restrict")


_QUALIFIERS = ("const", "volatile", "__restrict__")


_IGNORED = frozenset({*_QUALIFIERS, *_RESTRICT, "__grid_constant__"})


_KEYS = ("struct", "class", "union", "enum")


def parameter_types(text: str, macros: Collection[str] = ()) -> dict[str, tuple[str, ...]]:
    """Return the parameters' types of the kernels that a text defines, by name without scope; "" for what is not
    certain. In linear time, and of any text.

    Left out are kernels whose parameters a directive or a macro may change, be it the text's or one of `macros`, and
    those that are defined more than once, unless all definitions say the same.
    """
    tokens, directives = scan(text.encode(errors="surrogateescape"))
    other = redeclared(tokens)
    if not any(each.word == "include" and _HALF_HEADER.match(each.rest) for each in directives):
        other |= {"half", "half2"}
    found: dict[str, set[tuple[str, ...] | None]] = {}
    for kernel in kernels_in(text):
        types = None
        if kernel.parameters is not None and not any(word in macros for word in kernel.parameters):
            types = _types(kernel.parameters, other)
        found.setdefault(kernel.name, set()).add(types)
    return {name: types for name, same in found.items() if len(same) == 1 and (types := next(iter(same))) is not None}


def agree(types: Sequence[str], parameters: Sequence[Parameter]) -> bool:
    """Return whether a text's types can be those of the parameters that PTX declares."""
    return len(types) == len(parameters) and all(map(_agrees, types, parameters))


def _agrees(type_: str, parameter: Parameter) -> bool:
    kind, size = parameter.type, parameter.size
    if type_.endswith("*"):
        return (kind, size) == ("u64", 8)
    if not type_:
        return True
    if parameter.cpp:  # a pointer, as PTX says
        return False
    if type_ in ("float", "double"):
        return kind == f"f{8 * _SIZES[type_]}" and size == _SIZES[type_]
    if type_ in _SIZES:
        return kind in (f"u{8 * size}", f"s{8 * size}") and size == _SIZES[type_]
    return kind == "b8" and size == _BYTES.get(type_)


# --- one parameter ----------------------------------------------------------------------------------


def _types(words: Sequence[str], other: Collection[str]) -> tuple[str, ...] | None:
    """Return the types of a parameter list; None where nobody can tell how many parameters it has."""
    if list(words) in ([], ["void"]):
        return ()
    parameters: list[list[str]] = [[]]
    depth = 0
    for word in words:
        if word == "," and depth == 0:
            parameters.append([])
            continue
        depth += (word in ("(", "[", "{", "<")) - (word in (")", "]", "}", ">"))
        if depth < 0 or word in ("<<<", ">>>"):  # a comparison, a shift, or nested templates
            return None
        parameters[-1].append(word)
    return None if depth else tuple(parameter_type(parameter, other) for parameter in parameters)


def parameter_type(words: Sequence[str], other: Collection[str] = ()) -> str:
    """Return the type that a parameter's declaration gives it, or "" where that is not certain.

    `other` are well-known names that may mean something else in this text: of a pointer to one of them, and to nothing
    else, it is known that it is a pointer ("void*").
    """
    words = list(words[: words.index("=")] if "=" in words else words)
    array = "[" in words
    if array:
        if words.count("[") > 1 or words[-1] != "]":
            return ""
        del words[words.index("[") :]
    star = words.index("*") if "*" in words else len(words)
    qualifiers = [word for word in _QUALIFIERS[:2] if word in words[:star]]
    name, rest = _named([word for word in words[:star] if word not in _IGNORED])
    levels, after = _levels(words[star:])
    declarator = [*rest, *after]
    if not name or len(declarator) > 1 or (rest and levels) or not all(map(_is_name, declarator)):
        return ""
    levels += ["*"] if array else []
    known = "" if name in other else _NAMES.get(name, "")
    if "__grid_constant__" in words and (levels or known in _SIZES):  # PTX has it as bytes
        return ""
    if not levels:
        return "" if known == "void" else known
    if name in other:
        return "void*"
    # The last level is without the qualifiers of the parameter itself.
    return "".join([" ".join([*qualifiers, known or name]), *levels[:-1], "*"])


def _named(words: list[str]) -> tuple[str, list[str]]:
    """Return the type that words begin with, in one form for all orders of the language's words, and those behind it;
    "" where they begin with none."""
    if words and words[0] in _OWN_WORDS:
        count = next((index for index, word in enumerate(words) if word not in _OWN_WORDS), len(words))
        spelling = _SPELLINGS.get(" ".join(sorted(words[:count])), "")
        return spelling, words[count:]
    elaborate = words[:1] in [[key] for key in _KEYS]
    index = 1 if elaborate or words[:1] == ["::"] else 0
    name = ""
    while index < len(words) and _is_name(words[index]):
        name += words[index]
        index += 1
        if words[index : index + 1] != ["::"]:
            break
        name += "::"
        index += 1
    if name and words[index : index + 1] == ["<"]:
        if words[index + 1 : index + 3] not in (["float", ">"], ["double", ">"]):
            return "", []
        name += f"<{words[index + 1]}>"
        index += 3
    return ("" if name.endswith("::") else name), words[index:]


def _levels(words: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return the `*` that words begin with, each with its qualifiers, and the words behind them."""
    levels: list[str] = []
    index = 0
    while index < len(words) and words[index] == "*":
        end = index + 1
        while end < len(words) and words[end] in _IGNORED:
            end += 1
        written = {"__restrict__" if word in _RESTRICT else word for word in words[index + 1 : end]}
        levels.append("".join(["*", *(f" {word}" for word in _QUALIFIERS if word in written)]))
        index = end
    return levels, list(words[index:])


def _is_name(word: str) -> bool:
    return word.isascii() and word.isidentifier() and word not in _OWN_WORDS and word not in _KEYS


# --- well-known names -------------------------------------------------------------------------------


_LONGEST = 8
"""How many words there may be from a typedef to its name, where it is one of a plain type."""


def redeclared(tokens: Sequence[Token]) -> frozenset[str]:
    """Return the well-known names that a text may declare to be something else, in any of its scopes."""
    return frozenset(_redeclared(tokens))


def _redeclared(tokens: Sequence[Token]) -> Iterator[str]:
    opened: list[int | None] = [None]  # in each scope, where a typedef or using began that goes on
    texts = ["", *(token.text for token in tokens), ""]
    for index in range(1, len(texts) - 1):
        before, text, after = texts[index - 1 : index + 2]
        start = opened[-1]
        if text in ("typedef", "using"):
            opened[-1] = index
        elif text == "{":
            opened.append(None)
        elif text == "}" and len(opened) > 1:
            opened.pop()
        elif text in (";", "="):  # behind the "=" of a using is what is no new name
            opened[-1] = None
        elif text not in _NAMES or text in _OWN_WORDS:
            continue
        elif before in _KEYS or (before in (")", "]") and after in ("{", ":", ";")):  # struct __align__(4) half {
            yield text
        elif start is None or after not in (";", ",", "[", ")", "="):
            continue
        elif index - start > _LONGEST or not _says_the_same(texts[start : index + 2]):
            yield text


def _says_the_same(words: Sequence[str]) -> bool:
    """Return whether a typedef or using up to the sign behind its name gives that name its well-known meaning."""
    name = words[-2]
    if words[0] == "using":
        return words[-4:-2] == ["std", "::"] and words[-1] == ";" and name in _STANDARD
    return words[-1] == ";" and parameter_type(words[1:-1]) == _NAMES[name]
