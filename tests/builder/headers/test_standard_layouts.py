"""Types of the standard library and of POSIX have the sizes, alignments and offsets that they have with nvcc and GCC.

A struct that a kernel takes may hold any of them, and the members after it are read from where it ends. The facts are in
tests/data/standard_layouts.json, which `scripts/standard_layouts.py` writes with g++; no test calls a host compiler.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator

import pytest

from cuda_wheel.builder.errors import CompileError
from cuda_wheel.builder.jobs import Compiled
from cuda_wheel.builder.toolchain.toolchain import INCLUDE
from tests.support.projects import ROOT

Compile = Callable[..., Compiled]

FACTS = json.loads((ROOT / "tests/data/standard_layouts.json").read_text())

BEGINNING = "".join(f"#include <{header}>\n" for header in FACTS["headers"]["c++17"]) + FACTS["helpers"]

WITHOUT_DATA = re.compile(
    # Functions of types, whose values and member types count and not their objects.
    r"(is|has|add|remove|make|common|basic_common|tuple|variant|underlying|treat|ratio|invoke|unwrap|compare)_\w+"
    r"|alignment_of|conditional|conjunction|coroutine_traits|decay|disjunction|duration_values|enable_if|extent"
    r"|iterator_traits|negation|numeric_limits|rank|type_identity|formatter|allocator_traits|pointer_traits"
    r"|aligned_(union|storage)|result_of|rebind|index_sequence\w*"
    # Tags, and enumerations without a name.
    r"|\w+_tag|\w+_t|monostate|"
)

COMPARED_AS = {
    "fpos": "streampos", "basic_ios": "ios", "basic_streambuf": "streambuf",
    **{f"basic_{name}": name for name in ("istream", "ostream", "iostream", "string", "string_view", "regex")},
    **{f"basic_{name}": name for name in ("filebuf", "ifstream", "ofstream", "fstream")},
    **{f"basic_{name}": name for name in ("stringbuf", "istringstream", "ostringstream", "stringstream")},
    "mersenne_twister_engine": "mt19937", "linear_congruential_engine": "minstd_rand",
    "subtract_with_carry_engine": "ranlux24_base", "sub_match": "csub_match", "match_results": "cmatch",
    "regex_iterator": "cregex_iterator", "regex_token_iterator": "cregex_token_iterator",
}  # fmt: skip
"""Class templates whose instances the facts name by an alias."""

ELSEWHERE = {
    "strong_ordering", "weak_ordering", "partial_ordering", "common_comparison_category",  # kinds of integers
    "cmsghdr",  # its last member is an array without a length
    "entries",  # the iterators of <filesystem>, which are compared
}  # fmt: skip

OF_LATER_STANDARDS = {
    "basic_format_arg", "basic_format_args", "basic_format_context", "basic_format_parse_context", "basic_format_string",
    "format_error", "format_to_n_result", "basic_stacktrace", "stacktrace_entry", "expected", "unexpected",
    "bad_expected_access", "basic_osyncstream", "basic_syncbuf", "noop_coroutine_promise", "coroutine_handle",
    "suspend_always", "suspend_never", "basic_ispanstream", "basic_ospanstream", "basic_spanstream", "basic_spanbuf",
}  # fmt: skip
"""Types that GCC 12 does not have, or only for coroutines, which device code cannot have."""


def assertions(standard: str) -> Iterator[str]:
    """Yield a static assertion for each type and each offset."""
    for index, (name, values) in enumerate(FACTS["types"][standard].items()):
        yield f"typedef {name} T{index};"
        if name.startswith(("std::optional", "std::variant")):
            values = values[:2]  # as a base class, which nothing is derived from
        for expression, value in zip(("sizeof(T)", "alignof(T)", "sizeof(WithTail<T>::type)"), values, strict=False):
            expression = expression.replace("T)", f"T{index})").replace("T>", f"T{index}>")
            yield f'static_assert({expression} == {value}, "{name}: {expression} is not {value}");'
    for name, offsets in FACTS["members"].items() if standard == "c++17" else ():
        for member, value in offsets.items():
            yield f'static_assert(offsetof({name}, {member}) == {value}, "{name}: {member} is not at {value}");'


@pytest.mark.parametrize("standard", ["c++17", "c++20"])
def test_types_have_the_sizes_and_offsets_of_gcc(standard: str, compiled: Compile) -> None:
    more = "".join(f"#include <{header}>\n" for header in FACTS["headers"][standard])
    text = "\n".join([BEGINNING + more, *assertions(standard), "__global__ void k() {}", "void f() { k<<<1, 1>>>(); }"])
    compiled(text, options=(f"--std={standard}",))


def test_each_class_of_the_stand_ins_is_compared() -> None:
    compared = set(re.findall(r"\w+", " ".join(name for types in FACTS["types"].values() for name in types)))
    compared |= {name for name, alias in COMPARED_AS.items() if alias in compared}
    headers = [
        path for path in INCLUDE.rglob("*") if path.is_file() and "cuda" not in path.relative_to(INCLUDE).as_posix()
    ]
    found = {name: header.name for header in headers for name in classes(header.read_text())}
    assert len(found) > 300
    missing = {name for name in found if not WITHOUT_DATA.fullmatch(name)} - compared - ELSEWHERE - OF_LATER_STANDARDS
    assert {name: found[name] for name in missing} == {}


def classes(text: str) -> Iterator[str]:
    """Yield the names of the classes that a header defines at namespace scope in `std` or outside of all namespaces,
    also by macros."""
    text = re.sub(r"//[^\n]*|/\*.*?\*/", " ", text, flags=re.DOTALL)
    text = re.sub(r'"(?:\\.|[^"\\\n])*"', "", text)
    while (start := text.find("namespace cuda_wheel_detail {")) >= 0:
        end, depth = text.index("{", start) + 1, 1
        while depth:
            depth += {"{": 1, "}": -1}.get(text[end], 0)
            end += 1
        text = text[:start] + text[end:]
    yield from re.findall(
        r"^(?:template <.*> )?(?:class|struct|union) (\w+)(?: final)?(?: : [^;{]*)? \{", text, re.MULTILINE
    )
    for macro in re.findall(r"#define (\w+)\(name\b[^\n]*\\\n[^\n]*\b(?:class|struct) name\b", text):
        yield from re.findall(rf"^\s*{macro}\((\w+)", text, re.MULTILINE)


def test_members_after_a_complex_number_are_where_nvcc_has_them(compiled: Compile) -> None:
    # nvcc 13.0 with GCC 12.2 reads `after` at 12 and the second element of the array at 16.
    text = """\
#include <complex>
struct S { int before; std::complex<float> z; float after; };
__global__ void k(S s, float* out) { out[0] = s.after; }
__global__ void second(S* s, float* out) { out[0] = s[1].after; }
"""
    ptx = (compiled(text).ptx or b"").decode()
    assert "_Z1k1SPf_param_0+12]" in ptx and re.search(r"ld\.global(\.nc)?\.f32\s+%f\d+, \[%rd\d+\+28\]", ptx)


def test_complex_numbers_compute_in_device_code_as_before(compiled: Compile) -> None:
    text = """\
#include <complex>
__global__ void k(std::complex<float>* z, const std::complex<double>* w, float* x) {
  z[0] = std::exp(z[0]) * z[1] / 2.0f + std::conj(z[2]) - std::polar(1.0f, 0.5f);
  z[1] += std::complex<float>(w[0]);
  z[2] = std::pow(z[2], 2.0f);
  x[0] = std::abs(z[0]) + std::norm(z[1]) + std::real(z[2]) + z[2].imag() + std::arg(z[1]);
  x[1] = z[0] == z[1] || z[0] != 3.0f;
}
void f() { std::complex<double> z(1.0, 2.0); z *= z; z = std::sqrt(z) + 1.0; double r = std::arg(2.0) + std::norm(3); static_cast<void>(r); }
"""
    assert compiled(text).kernels


@pytest.mark.parametrize(
    "text",
    [
        "#include <atomic>\n__global__ void k(std::atomic<bool>* b, int* x) { *x = b->load(); }",
        "#include <atomic>\n__global__ void k(std::atomic_flag* b, int* x) { *x = b->test(); }",
        "#include <bitset>\n__global__ void k(std::bitset<0> b) {}",
    ],
)
def test_what_cannot_be_as_with_gcc_is_an_error_in_device_code(text: str, compiled: Compile) -> None:
    with pytest.raises(CompileError, match=r"for host code|__host__|incomplete"):
        compiled(text)
