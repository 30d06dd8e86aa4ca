"""Read the types of a kernel's parameters from its source text, where the tokens alone determine them.

`extern "C"` kernels need this, because their symbols encode no types. No macro is expanded, no condition is evaluated
and no header is read. A type that depends on one of them is uncertain, which "" stands for. Types are spelled as
`demangling` spells them. The tables list the types that are known without a header: C++'s fundamental types, CUDA's,
and the standard library's.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Collection, Sequence
from typing import NamedTuple

from cuda_wheel.builder.cxx.kernel_scan import kernels_in
from cuda_wheel.builder.cxx.tokens import Token, scan
from cuda_wheel.runtime.manifest import Parameter

__all__ = [
    "ARRAY_SIZES",
    "FUNDAMENTAL_WORDS",
    "KNOWN_TYPES",
    "LONG_SIZE",
    "NUMBER_SIZES",
    "SPELLINGS",
    "STANDARD_TYPES",
    "agree",
    "parameter_names",
    "parameter_type",
    "parameter_types",
    "redeclared",
]


LONG_SIZE = struct.calcsize("l")
"""Size in bytes of `long` on this machine: 4 on Windows, else 8. In device code, `long` has the same size as on the
machine where NVRTC runs."""

_INTEGER_SIZES = {"char": 1, "short": 2, "int": 4, "long": LONG_SIZE, "long long": 8}

NUMBER_SIZES = {
    **{"bool": 1, "signed char": 1, "float": 4, "double": 8},
    **{sign + name: size for name, size in _INTEGER_SIZES.items() for sign in ("", "unsigned ")},
}
"""C++ type that PTX declares as a number -> size of the type in bytes: "float" -> 4."""

_VECTOR_SIZES = {
    f"{name}{count}": NUMBER_SIZES[element] * count
    for name, element in {
        **{name: name for name in ("char", "short", "int", "long", "float", "double")},
        **{f"u{name}": f"unsigned {name}" for name in ("char", "short", "int", "long")},
        **{"longlong": "long long", "ulonglong": "unsigned long long"},
    }.items()
    for count in (1, 2, 3, 4)
}

ARRAY_SIZES = {
    **{"__half": 2, "__half2": 4, "__nv_bfloat16": 2, "__nv_bfloat162": 4},
    **_VECTOR_SIZES,
    "dim3": 12,
    **{f"{scope}::complex<float>": 8 for scope in ("std", "cuda::std")},
    **{f"{scope}::complex<double>": 16 for scope in ("std", "cuda::std")},
}
"""C++ type that PTX declares as an array of bytes -> size of the type in bytes: "float4" -> 16."""

SPELLINGS = {
    **{
        " ".join(sorted([*sign.split(), *width.split(), *word.split()])): (
            ("unsigned " if sign == "unsigned" else "") + (width or "int")
        )
        for sign in ("", "signed", "unsigned")
        for width in ("", "short", "long", "long long")
        for word in ("", "int")
        if sign or width or word
    },
    **{name: name for name in ("bool", "char", "float", "double", "void")},
    **{"char signed": "signed char", "char unsigned": "unsigned char"},
}
"""Words of a fundamental type, in alphabetical order -> usual name of the type: "int long" -> "long"."""

FUNDAMENTAL_WORDS = frozenset(word for spelling in SPELLINGS for word in spelling.split())
"""All words in names of fundamental types, such as "unsigned" and "int"."""

_LONG_64 = "long" if LONG_SIZE == 8 else "long long"

STANDARD_TYPES = {
    **{"int8_t": "signed char", "int16_t": "short", "int32_t": "int"},
    **dict.fromkeys(("int64_t", "intptr_t", "ptrdiff_t"), _LONG_64),
    **{"uint8_t": "unsigned char", "uint16_t": "unsigned short", "uint32_t": "unsigned int"},
    **dict.fromkeys(("uint64_t", "uintptr_t", "size_t"), f"unsigned {_LONG_64}"),
}
"""Integer type of the standard library -> fundamental type that it is another name for: "uint8_t" -> "unsigned char".
cuda-wheel's stand-in headers define these types for NVRTC as nvcc's headers do."""

KNOWN_TYPES = {
    **{name: name for name in (*SPELLINGS.values(), *ARRAY_SIZES)},
    **{"half": "__half", "half2": "__half2", "nv_bfloat16": "__nv_bfloat16", "nv_bfloat162": "__nv_bfloat162"},
    **{"cuComplex": "float2", "cuFloatComplex": "float2", "cuDoubleComplex": "double2"},
    **STANDARD_TYPES,
    **{f"{scope}::{name}": type_ for scope in ("std", "cuda::std") for name, type_ in STANDARD_TYPES.items()},
}
"""Name or alias of a known type -> name of the type: "half" -> "__half", "float" -> "float"."""


_HALF_HEADER = re.compile(r"""[<"](?:cuda_fp16|cuda_bf16|mma)\.h[>"]""")
"""Matches "<cuda_fp16.h>" and the like: the name, in brackets or quotes, of a header with CUDA's `half` and `half2`."""

_RESTRICT = ("__restrict__", "__restrict", "restrict")

_QUALIFIERS = ("const", "volatile", "__restrict__")

_IGNORED = frozenset({*_QUALIFIERS, *_RESTRICT, "__grid_constant__"})

_CLASS_KEYS = ("struct", "class", "union", "enum")


def parameter_types(text: str, macros: Collection[str] = ()) -> dict[str, tuple[str, ...]]:
    """Return kernel name without scope -> parameter types, for kernels that a text defines; "" for an uncertain type.

    Takes linear time, for any text. Omitted are kernels whose parameters a directive or a macro may change, whether the
    macro is one of the text's or one of `macros`, and kernels with several definitions that disagree.
    """
    tokens, directives = scan(text.encode(errors="surrogateescape"))
    ambiguous = redeclared(tokens)
    # Without such a header, `half` may be a type from the project's headers, which are not read.
    if not any(each.word == "include" and _HALF_HEADER.match(each.rest) for each in directives):
        ambiguous |= {"half", "half2"}
    found: dict[str, set[tuple[str, ...] | None]] = {}
    for kernel in kernels_in(text):
        types = None
        if kernel.parameters is not None and not any(word in macros for word in kernel.parameters):
            types = _types(kernel.parameters, ambiguous)
        found.setdefault(kernel.name, set()).add(types)
    return {name: types for name, same in found.items() if len(same) == 1 and (types := next(iter(same))) is not None}


def parameter_names(text: str, macros: Collection[str] = ()) -> dict[str, tuple[str, ...]]:
    """Return kernel name without scope -> parameter names, for kernels that a text defines; "" for a parameter without
    a name. Kernels are omitted as in `parameter_types`."""
    found: dict[str, set[tuple[str, ...] | None]] = {}
    for kernel in kernels_in(text):
        names = None
        if kernel.parameters is not None and not any(word in macros for word in kernel.parameters):
            parameters = _split(kernel.parameters)
            names = None if parameters is None else tuple(map(_parameter_name, parameters))
        found.setdefault(kernel.name, set()).add(names)
    return {name: names for name, same in found.items() if len(same) == 1 and (names := next(iter(same))) is not None}


def _parameter_name(words: Sequence[str]) -> str:
    """Return the name of a parameter from `words`, the tokens of its declaration: "float", "*", "x" -> "x". Return ""
    if the parameter has no name, or if the declaration is not simple, such as that of a pointer to a function."""
    words = words[: words.index("=")] if "=" in words else words
    while list(words[:2]) == ["[", "["] and "]" in words:  # an attribute
        words = words[words.index("]") + 2 :]
    words = [word for word in words[: words.index("[")] if word] if "[" in words else words
    rest = [word for word in words if word not in _IGNORED]
    if len(rest) < 2 or "(" in rest or words[-1] in _IGNORED or not _is_name(rest[-1]):
        return ""
    return "" if rest[-2] in (*_CLASS_KEYS, "::", "typename") else rest[-1]


def agree(types: Sequence[str], parameters: Sequence[Parameter]) -> bool:
    """Return whether types from a text are compatible with the parameters that PTX or machine code declares."""
    return len(types) == len(parameters) and all(map(_agrees, types, parameters))


def _agrees(type_: str, parameter: Parameter) -> bool:
    kind, size = parameter.type, parameter.size
    if type_.endswith("*"):
        return kind in ("u64", "b8", "b64") and size == 8
    if not type_:
        return True
    if parameter.cpp:  # PTX says that it is a pointer
        return False
    # With __grid_constant__, a number is an array of bytes. Of machine code, only the size is known.
    if kind in ("b8", f"b{8 * size}") and size == NUMBER_SIZES.get(type_):
        return True
    if type_ in ("float", "double"):
        return kind == f"f{8 * NUMBER_SIZES[type_]}" and size == NUMBER_SIZES[type_]
    if type_ in NUMBER_SIZES:
        return kind in (f"u{8 * size}", f"s{8 * size}") and size == NUMBER_SIZES[type_]
    return kind == "b8" and size == ARRAY_SIZES.get(type_)


# --- one parameter ----------------------------------------------------------------------------------


def _types(words: Sequence[str], ambiguous: Collection[str]) -> tuple[str, ...] | None:
    """Return the type of each parameter from `words`, the tokens between the parentheses of a parameter list. The type
    is "" if it is uncertain. Return None if the number of parameters is uncertain.

    `ambiguous` are names of known types that the text may redefine.
    """
    parameters = _split(words)
    return None if parameters is None else tuple(parameter_type(parameter, ambiguous) for parameter in parameters)


def _split(words: Sequence[str]) -> list[list[str]] | None:
    """Return the tokens of each parameter in a parameter list. Return None if the number of parameters is uncertain.
    `words` are the tokens between the parentheses."""
    if list(words) in ([], ["void"]):
        return []
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
    return None if depth else parameters


def parameter_type(words: Sequence[str], ambiguous: Collection[str] = ()) -> str:
    """Return the type of a parameter from the tokens of its declaration, or "" if that is uncertain.

    `ambiguous` are known names that may have another meaning in this text. Only a pointer to one has a certain type,
    "void*".
    """
    words = words[: words.index("=")] if "=" in words else words
    declaration = _declaration(words)
    if declaration is None:
        return ""
    name, qualifiers, pointers = declaration
    known = "" if name in ambiguous else KNOWN_TYPES.get(name, "")
    if not pointers:
        return "" if known == "void" else known
    if name in ambiguous:
        return "void*"
    # The last "*" is written without the qualifiers of the parameter itself.
    return "".join([" ".join([*qualifiers, known or name]), *pointers[:-1], "*"])


class _Declaration(NamedTuple):
    """The parts of a parameter's type: a type name, its qualifiers, and each "*" with its qualifiers."""

    name: str
    qualifiers: list[str]
    pointers: list[str]


def _declaration(words: Sequence[str]) -> _Declaration | None:
    """Return the parts of a parameter's type from `words`, the tokens of its declaration without default argument. An
    array becomes a pointer, as in C++. Return None if the declaration is not simple, such as that of a pointer to a
    function."""
    is_array = "[" in words
    if is_array:
        if words.count("[") > 1 or words[-1] != "]":
            return None
        words = words[: words.index("[")]
    star = words.index("*") if "*" in words else len(words)
    qualifiers = [word for word in _QUALIFIERS[:2] if word in words[:star]]
    name, rest = _type_name([word for word in words[:star] if word not in _IGNORED])
    pointers, after = _pointers(words[star:])
    declarator = [*rest, *after]
    if not name or len(declarator) > 1 or (rest and pointers) or not all(map(_is_name, declarator)):
        return None
    return _Declaration(name, qualifiers, pointers + ["*"] * is_array)


def _type_name(words: list[str]) -> tuple[str, list[str]]:
    """Return (name of the type at the start of `words`, tokens after the type). The name is "" if `words` do not start
    with a type that is understood.

    The words of a fundamental type may be in any order: "long", "unsigned", "n" -> ("unsigned long", ["n"]).
    """
    if words and words[0] in FUNDAMENTAL_WORDS:
        count = next((index for index, word in enumerate(words) if word not in FUNDAMENTAL_WORDS), len(words))
        return SPELLINGS.get(" ".join(sorted(words[:count])), ""), words[count:]
    has_class_key = words[:1] in [[key] for key in _CLASS_KEYS]
    index = 1 if has_class_key or words[:1] == ["::"] else 0
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


def _pointers(words: Sequence[str]) -> tuple[list[str], list[str]]:
    """Split `words` after the "*" tokens at their start: ["*", "const", "*", "p"] -> (["* const", "*"], ["p"]). Each
    qualifier is joined to the "*" before it."""
    pointers: list[str] = []
    index = 0
    while index < len(words) and words[index] == "*":
        end = index + 1
        while end < len(words) and words[end] in _IGNORED:
            end += 1
        written = {"__restrict__" if word in _RESTRICT else word for word in words[index + 1 : end]}
        pointers.append("".join(["*", *(f" {word}" for word in _QUALIFIERS if word in written)]))
        index = end
    return pointers, list(words[index:])


def _is_name(word: str) -> bool:
    return word.isascii() and word.isidentifier() and word not in FUNDAMENTAL_WORDS and word not in _CLASS_KEYS


# --- known names with another meaning ---------------------------------------------------------------

_MAX_ALIAS_TOKENS = 8
"""Maximum distance in tokens from `typedef` or `using` to the name that it defines: 3 in `typedef unsigned int
uint32_t;`. A definition with a greater distance is assumed to give the name an unusual meaning."""


def redeclared(tokens: Sequence[Token]) -> frozenset[str]:
    """Return the names of known types that a text may declare with another meaning, in any of its scopes."""
    aliases: list[int | None] = [None]  # for each open scope, where an unfinished typedef or using began
    found: set[str] = set()
    texts = ["", *(token.text for token in tokens), ""]
    for index in range(1, len(texts) - 1):
        text = texts[index]
        if text in ("typedef", "using"):
            aliases[-1] = index
        elif text == "{":
            aliases.append(None)
        elif text == "}" and len(aliases) > 1:
            aliases.pop()
        elif text in (";", "="):  # after the "=" of a using, no new name follows
            aliases[-1] = None
        elif text in KNOWN_TYPES and text not in FUNDAMENTAL_WORDS and _is_redeclared(texts, index, aliases[-1]):
            found.add(text)
    return frozenset(found)


def _is_redeclared(texts: Sequence[str], index: int, alias: int | None) -> bool:
    """Return whether the tokens `texts` may give another meaning to the known type name at `index`. True in
    `struct half {` and `typedef float half;`. False in `half x;` and `typedef __half half;` (the usual meaning).

    `alias` is the index of the `typedef` or `using` whose new name may be at `index`; None if there is none.
    """
    before, after = texts[index - 1], texts[index + 1]
    if before in _CLASS_KEYS or (before in (")", "]") and after in ("{", ":", ";")):  # struct __align__(4) half {
        return True
    if alias is None or after not in (";", ",", "[", ")", "="):
        return False
    return index - alias > _MAX_ALIAS_TOKENS or not _is_same_alias(texts[alias : index + 2])


def _is_same_alias(words: Sequence[str]) -> bool:
    """Return whether a `typedef` or `using` gives a known type name its usual meaning, as `typedef unsigned int
    uint32_t;` does. `words` are the tokens from `typedef` or `using` to the token after the name."""
    name = words[-2]
    if words[0] == "using":
        return words[-4:-2] == ["std", "::"] and words[-1] == ";" and name in STANDARD_TYPES
    return words[-1] == ";" and parameter_type(words[1:-1]) == KNOWN_TYPES[name]
