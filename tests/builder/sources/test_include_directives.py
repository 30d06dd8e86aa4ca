"""The include scanner: what it finds in a text, compared with what the compiler reads."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cuda_wheel.builder.sources.include_directives import includes

pytestmark = pytest.mark.one_toolchain


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('#include "a.h"', [("a.h", True, 1, False)]),
        ("\n  #  include\t<a/b.h> // why", [("a/b.h", False, 2, False)]),
        ("/* x */ #include <a//b.h>", [("a//b.h", False, 1, False)]),
        ('#include "a//b.h"', [("a//b.h", True, 1, False)]),
        ('#include /* x */ "a.h"', [("a.h", True, 1, False)]),
        ('%:include "a.h"', [("a.h", True, 1, False)]),
        ('#include_next "a.h"', [("a.h", True, 1, False)]),
        ('#include \\\n  "a.h"\n#include "b.h"', [("a.h", True, 1, False), ("b.h", True, 3, False)]),
        ("#include NAME(x)", [(None, False, 1, False)]),
        ('// #include "a.h"\n/* \n#include "b.h"\n*/', []),
        ('auto text = "\\\n#include <a.h>";', []),
        ('auto text = R"x(\n#include "a.h"\n)" )x";\n#include "b.h"', [("b.h", True, 4, False)]),
        ("int x = 1'000; char c = '\"'; // it's\n#include <a.h>", [("a.h", False, 2, False)]),
        ("auto c = \"/*\"; auto d = '\\'';\n#include <a.h>", [("a.h", False, 2, False)]),
        ('#ifdef X\n#include "a.h"\n#endif\n#include "b.h"', [("a.h", True, 2, True), ("b.h", True, 4, False)]),
        ('#ifndef A_H\n#define A_H\n#include "b.h"\n#endif', [("b.h", True, 3, False)]),
        ('#ifndef A_H\n#define OTHER\n#include "b.h"\n#endif', [("b.h", True, 3, True)]),
        ('#pragma once\r\n#include "a.h"\r\n', [("a.h", True, 2, False)]),
        ('#inc\\\nlude "a\\\n.h"\n#include "b.h"', [("a.h", True, 1, False), ("b.h", True, 4, False)]),
        ('// not continued \\ \n#include "a.h"', [("a.h", True, 2, False)]),
        ('\v\f#include "a.h"', [("a.h", True, 1, False)]),
        ('case\'"\': f("/*");\n#include "a.h"', [("a.h", True, 2, False)]),
        ('u8\'"\'; "/*";\n#include <a.h>', [("a.h", False, 2, False)]),
        ('#if 0\nit\'s /* "\n#endif\n#include "a.h"', [("a.h", True, 4, False)]),
        ('FOR"x(\n#include "a.h"', [("a.h", True, 2, False)]),
        ('uR"x(\n#include "a.h"\n', []),
        ('")"R"(\n#include "a.h"', [("a.h", True, 2, False)]),
        (
            '#if X\n#elif __has_include("a.h")\n#endif\n#include "b.h"',
            [("a.h", True, 2, True), ("b.h", True, 4, False)],
        ),
        ("#define HAS(x) __has_include(x)\n#if HAS(<a.h>)", [("a.h", False, 2, True)]),
        ("#if __has_include(NAME)", [(None, False, 1, True)]),
        ("", []),
    ],
)
def test_a_text_has_these_includes(text: str, expected: list) -> None:
    assert [tuple(include)[:4] for include in includes(text.encode())] == expected


@given(
    st.text(alphabet="#include<>\"'/*\\\n (R)x0", max_size=60).filter(lambda text: not re.search(r'/\*|\\|R"', text)),
    st.text(alphabet="abc/.", min_size=1, max_size=8),
)
def test_an_include_on_a_line_of_its_own_is_found_after_any_whole_line(before: str, name: str) -> None:
    """Where no comment, raw string or continued line is open."""
    found = list(includes(f'{before}\n#include "{name}"\n'.encode()))
    assert name in [include.name for include in found]


@pytest.mark.slow
@pytest.mark.parametrize("unit", [
    "/*", "/* ", "*/", "//", '"', "'", '\\"', "\\'", '"\\', 'R"(', 'R"a(', ')a"', "#", "# ", "\\\n", "\\", "\\ ", "<", "#include <",
    "#include \"", "#if <", "1'", "1.", "u8R", " ", "\t", "\n", "\r", "#define a(", "#include a(\\\n", "#if __has_include(a(",
])  # fmt: skip
def test_a_megabyte_of_anything_is_read_once(unit: str) -> None:
    """The result is that of a shorter text. A scanner that reads characters repeatedly would take minutes for each."""

    def last(count: int) -> list[str | None]:
        text = unit * count + '\n*/ )a"\n#include "a.h"\n'
        return [include.name for include in includes(text.encode())][-1:]

    many = (1 << 20) // len(unit)
    assert last(many) == last(10 + many % 2)
