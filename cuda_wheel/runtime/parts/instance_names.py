"""Compare the C++ names of kernels' instances; imported only for a name that is not spelled as in the manifest.

`gemm<at::Half, (unsigned)16>` and `gemm<__half, 16u>` may name one kernel. Names are compared twice: first by types
that are the same in C++ and CUDA, then by types of the same layout. So a module with instances for both `c10::Half` and
`__half` distinguishes them.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

__all__ = ["canonical", "matching"]


def matching(name: str, infos: Sequence[Any], unscoped: Callable[[str], str]) -> list[Any]:
    """Return those of a module's kernels or variables that `name` refers to in another spelling or without their scope.

    `unscoped` returns a name without its scope.
    """
    for same_layout in (False, True):
        wanted = canonical(name, same_layout)
        shortenings: tuple[Callable[[str], str], ...] = (str, unscoped)
        for shorten in shortenings:
            found = [info for info in infos if shorten(canonical(info.name, same_layout)) == wanted]
            if found:
                return found
    return []


_TOKEN = re.compile(r"\s+|(?:0[xX][0-9a-fA-F']+|\d[\d']*)(?:[uU]?[lL]{0,2}[uU]?)\b|[A-Za-z_$][\w$]*|::|.", re.DOTALL)

_INTEGRAL = frozenset(("unsigned", "signed", "long", "short", "int", "char", "__int64"))

_OMITTED = frozenset(("struct", "class", "enum", "union", "typename"))

_SAME_TYPES = {
    "int8_t": "signed char", "uint8_t": "unsigned char", "int16_t": "short", "uint16_t": "unsigned short",
    "int32_t": "int", "uint32_t": "unsigned int", "int64_t": "long", "uint64_t": "unsigned long",
    "size_t": "unsigned long", "ptrdiff_t": "long", "ssize_t": "long", "intptr_t": "long", "uintptr_t": "unsigned long",
    "uint": "unsigned int", "uchar": "unsigned char", "ushort": "unsigned short", "ulong": "unsigned long",
    "half": "__half", "half2": "__half2", "nv_bfloat16": "__nv_bfloat16", "nv_bfloat162": "__nv_bfloat162",
    "at::Half": "c10::Half", "at::BFloat16": "c10::BFloat16", "__int64": "long long",
}  # fmt: skip
"""Other name of a C++ type -> the name by which the type is compared: "uint32_t" -> "unsigned int". 64-bit types are as
on Linux, where wheels are usually built."""

_SAME_LAYOUT = {
    "c10::Half": "__half", "Half": "__half", "c10::BFloat16": "__nv_bfloat16", "BFloat16": "__nv_bfloat16",
    "c10::Float8_e4m3fn": "__nv_fp8_e4m3", "c10::Float8_e5m2": "__nv_fp8_e5m2",
    "thrust::complex": "c10::complex", "cuda::std::complex": "c10::complex", "std::complex": "c10::complex",
    "long long": "long", "unsigned long long": "unsigned long", "true": "1", "false": "0", "char": "signed char",
    "cuComplex": "c10::complex<float>", "cuFloatComplex": "c10::complex<float>",
    "cuDoubleComplex": "c10::complex<double>",
}  # fmt: skip
"""Name of a type or value -> name by which it is compared if only the memory layout matters: "c10::Half" -> "__half",
"true" -> "1". Both names stand for the same size, alignment and meaning."""

_CAST = re.compile(r"\((?:[\w:]|(?<=\w) (?=\w))+\)(?=-?\d)")
"""Matches a cast before a number: "(unsigned int)" in "(unsigned int)16"."""


def canonical(name: str, same_layout: bool = False) -> str:
    """Return the one spelling of a name: "f<unsigned int>" for "f<uint32_t>"; with `same_layout`, "long" for "long
    long"."""
    words = list(_types(_paths(token for token in _TOKEN.findall(name.strip().lstrip("&")) if not token.isspace())))
    if same_layout:
        words = [_SAME_LAYOUT.get(word, word) for word in words]
    text = ""
    for word in words:
        needs_space = text[-1:].isidentifier() or text[-1:].isdigit()
        text += " " + word if needs_space and (word[0].isidentifier() or word[0].isdigit()) else word
    return _CAST.sub("", text)


def _paths(tokens: Iterator[str]) -> Iterator[str]:
    """Yield the tokens of a name. Each scoped name becomes one token: "::", "at", "::", "Half" -> "at::Half". Each
    integer becomes decimal: "0x10u" -> "16". Words such as `struct` and `typename` are left out."""
    path = ""
    for token in tokens:
        if token == "::":
            path += token if path else ""
        elif token[0].isidentifier() or token[0] == "$":
            if path and not path.endswith("::"):
                yield path
                path = ""
            if token not in _OMITTED:
                path += token
        else:
            if path:
                yield path
                path = ""
            yield _number(token) if token[0].isdigit() else token
    if path:
        yield path


def _number(token: str) -> str:
    """Return an integer literal in decimal, without its suffix: "0x10u" -> "16"."""
    digits = token.rstrip("uUlL").replace("'", "")
    try:
        return str(int(digits, 8 if digits.isdigit() and digits != "0" and digits.startswith("0") else 0))
    except ValueError:
        return digits


def _types(tokens: Iterator[str]) -> Iterator[str]:
    """Yield tokens with one spelling for each type: "unsigned int" for "uint32_t", "const float" for "float const"."""
    run: list[str] = []
    for token in tokens:
        token = token.removeprefix("std::") if token.removeprefix("std::") in _SAME_TYPES else token
        is_word = token[0].isidentifier() or token[0] == "$"
        if is_word:
            run.append(token)
            continue
        yield from _type(run)
        run = []
        yield token
    yield from _type(run)


def _type(words: Sequence[str]) -> Iterator[str]:
    """Yield the words of one type, ordered for comparison: first qualifiers, then the name. "int", "const", "unsigned"
    -> "const", "unsigned int"."""
    yield from (word for word in ("const", "volatile") if word in words)
    names = [word for word in words if word not in ("const", "volatile")]
    integral = [word for word in names if word in _INTEGRAL]
    others = [word for word in names if word not in _INTEGRAL]
    yield from (_SAME_TYPES.get(word, word) for word in others)
    if others:  # "long double" is no integer
        yield from integral
    elif integral:
        yield _integer(integral)


def _integer(words: Sequence[str]) -> str:
    """Return the name of an integer type: "unsigned long" for "long unsigned int"."""
    sign = "unsigned " if "unsigned" in words else ""
    if "char" in words:
        return f"{sign or ('signed ' if 'signed' in words else '')}char"
    if "short" in words:
        return f"{sign}short"
    longs = words.count("long") + 2 * words.count("__int64")
    return sign + (" ".join(["long"] * min(longs, 2)) or "int")
