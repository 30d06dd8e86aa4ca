"""CUDA C++ is split into tokens and directives; the text alone decides which lines a false `#if` skips."""

from __future__ import annotations

import time
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cuda_wheel.builder.cxx.tokens import (
    FalseBranches,
    balanced,
    before_template_arguments,
    end_of_argument,
    macro_of,
    scan,
    template_arguments_end,
    words,
)

pytestmark = pytest.mark.one_toolchain


def texts(text: str) -> list[str]:
    return [token.text for token in scan(text.encode())[0]]


# --- tokens and directives ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("k<<<1, 2>>>(x);", ["k", "<<<", "1", ",", "2", ">>>", "(", "x", ")", ";"]),
        ("a::b->c >> d", ["a", "::", "b", "->", "c", ">", ">", "d"]),
        ("1'000.5e-3f + .5 - 0x1p+3", ["1'000.5e-3f", "+", ".5", "-", "0x1p+3"]),
        ("a // b\nc /* d\n e */ f", ["a", "c", "f"]),
        ("a // b \\\n still a comment\nc", ["a", "c"]),
        ('"// no comment" \'"\' u8"\\"" x', ['"// no comment"', "'\"'", 'u8"\\""', "x"]),
        ('R"mark(a)" // b\n)mark" c', ['R"mark(a)" // b\n)mark"', "c"]),
        ('"unclosed\nnext', ['"unclosed', "next"]),
        ("/* unclosed int x;", []),
        ("größe $x", ["größe", "$x"]),
    ],
)
def test_a_text_is_split_as_a_compiler_splits_it(text: str, expected: list[str]) -> None:
    assert texts(text) == expected


def test_a_token_has_its_kind_and_its_place_in_bytes() -> None:
    tokens, _ = scan('ü = f("é", 1);'.encode())
    assert [(token.kind, token.start, token.end) for token in tokens[:5]] == [
        ("word", 0, 2),
        ("sign", 3, 4),
        ("word", 5, 6),
        ("sign", 6, 7),
        ("text", 7, 11),
    ]
    assert words(tokens) == {"ü", "f"}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("#include <a.h> // why", ("include", "<a.h>")),
        ("  #  if X /* a */ && Y", ("if", "X   && Y")),
        ("#define A 1 + \\\n 2", ("define", "A 1 +   2")),
        ("#if /* one\ntwo */ X", ("if", "X")),
        ("#", ("", "")),
        ("#endif//", ("endif", "")),
    ],
)
def test_a_directive_is_read_with_its_continuation_lines(text: str, expected: tuple[str, str]) -> None:
    before, after = "int a;\n", "\nint b;"
    tokens, (directive,) = scan((before + text + after).encode())
    assert (directive.word, directive.rest) == expected
    assert (directive.start, directive.end) == (len(before), len(before + text))
    assert [token.text for token in tokens] == ["int", "a", ";", "int", "b", ";"]


def test_a_hash_within_a_line_begins_no_directive() -> None:
    tokens, directives = scan(b"a #b ## c")
    assert [token.text for token in tokens] == ["a", "#", "b", "##", "c"]
    assert directives == []


@given(st.binary(max_size=60))
def test_every_token_is_where_it_says(content: bytes) -> None:
    tokens, directives = scan(content)
    for token in tokens:
        assert content[token.start : token.end] == token.text.encode(errors="surrogateescape")
    places = sorted([(token.start, token.end) for token in tokens] + [(each.start, each.end) for each in directives])
    assert all(end <= start for (_, end), (start, _) in pairwise(places))


@pytest.mark.parametrize("piece", ['"', "/*", "//\\\n", 'R"(', "#\\\n", "1'", "<<<"])
def test_time_is_linear(piece: str) -> None:
    """Quadratic time would be minutes."""
    started = time.perf_counter()
    scan((piece * 100_000).encode())
    assert time.perf_counter() - started < 10


# --- brackets -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [("f(a, {b}[1]) + c", "+"), ("f(a)", None), ("f((a)", None), ('f(")") + c', "+")],
)
def test_a_bracket_is_followed_by_what_comes_after_the_one_that_closes_it(text: str, expected: str | None) -> None:
    tokens, _ = scan(text.encode())
    end = balanced(tokens, 1)
    assert (tokens[end].text if end < len(tokens) else None) == expected


@pytest.mark.parametrize(
    ("text", "end"), [("a + f(b, c), d", 8), ("a<b, c>", 3), ("a; b", 1), ("a)", 1), ("{a; b} + c", 7), ("a", 1)]
)
def test_an_argument_ends_at_a_comma_that_no_bracket_encloses(text: str, end: int) -> None:
    tokens, _ = scan(text.encode())
    assert end_of_argument(tokens, 0) == end


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("f<int, 4>(x)", "("),
        ("f<g<h<int>>>(x)", "("),
        ("f<(1 > 2)>(x)", "("),
        ("f<{1, 2}>::y", "::"),
        ("f<decltype(a < b)> c", "c"),
        ("f(x)", None),  # no template arguments
        ("f<a;", None),
        ("f<a>>>(x)", None),  # closes more than it opened
    ],
)
def test_template_arguments_end_at_the_angle_that_closes_them(text: str, expected: str | None) -> None:
    tokens, _ = scan(text.encode())
    end = template_arguments_end(tokens, 1)
    assert (None if end is None else tokens[end].text) == expected
    assert template_arguments_end(tokens, len(tokens)) is None


@pytest.mark.parametrize(
    ("text", "expected"),
    [("a f<int, 4> |", "f"), ("a f<g<h<int>>> |", "f"), ("a f |", "f"), ("<int> |", None), ("|", None), ("f< |", "<")],
)
def test_the_token_before_template_arguments_is_found_from_their_end(text: str, expected: str | None) -> None:
    tokens, _ = scan(text.encode())
    index = before_template_arguments(tokens, len(tokens) - 1)
    assert (tokens[index].text if index >= 0 else None) == expected


# --- macros and conditions --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("#define A", ("A", None, [])),
        ("#define A (1)", ("A", None, ["(", "1", ")"])),
        ("#define A(x, y) x ## y", ("A", ("x", "y"), ["x", "##", "y"])),
        ("#define A() 1", ("A", (), ["1"])),
        ("#define UNROLL #pragma unroll", ("UNROLL", None, ["pragma", "unroll"])),
        ("#define", None),
        ("#undef A", None),
        ("#if A", None),
    ],
)
def test_a_macro_is_read_from_its_directive(text: str, expected: object) -> None:
    _, (directive,) = scan(text.encode())
    macro = macro_of(directive)
    assert (macro and (macro.name, macro.parameters, [token.text for token in macro.body])) == expected


@pytest.mark.parametrize(
    "text",
    [
        "#if 0\nskipped\n#else\nread\n#endif\nread",
        "#if 1\nread\n#elif 1\nskipped\n#else\nskipped\n#endif",
        "#if 1\nread\n#elif 0\nskipped\n#else\nskipped\n#endif",
        "#ifdef MISSING\nskipped\n#endif\n#ifndef MISSING\nread\n#endif",
        "#define OWN\n#ifdef OWN\nread\n#else\nskipped\n#endif",
        "#ifdef OPTION\nread\n#else\nskipped\n#endif",
        "#if defined(OPTION) && !defined MISSING\nread\n#else\nskipped\n#endif",
        "#if defined(MISSING) || 0\nskipped\n#endif",
        "#if 0\nskipped\n#if 1\nskipped\n#endif\nskipped\n#endif\nread",
        "#ifdef __CUDA_ARCH__\nread\n#else\nread\n#endif",  # the compiler's
        "#ifdef CUDART_VERSION\nread\n#else\nread\n#endif",
        "#ifdef __HIP_PLATFORM_AMD__\nskipped\n#else\nread\n#endif",  # another compiler's
        "#if OPTION > 1\nread\n#else\nread\n#endif",  # depends on a value
        "#if defined(MISSING) && __CUDA_ARCH__ > 1\nread\n#endif",
        "#if OPTION(1)\nread\n#elif 0\nskipped\n#endif",
        "#ifdef\nread\n#endif\n#if\nread\n#endif\n#if 0 0\nread\n#endif",  # no condition
        "#endif\nread\n#else\nread",
        "#if 0\nread",  # never closed
    ],
)
def test_lines_in_a_false_condition_are_skipped(text: str) -> None:
    branches = FalseBranches(text, {"OPTION"})
    for number, line in enumerate(text.split("\n"), 1):
        if line in ("read", "skipped"):
            assert (number in branches) == (line == "skipped"), number
