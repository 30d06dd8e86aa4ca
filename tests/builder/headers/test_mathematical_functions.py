"""The types of calls of mathematical functions are nvcc's, for all types of arguments, with `std::` and without.

`mathematical_functions.json` has what nvcc 13.0 with GCC 12 says: for each function, its number of parameters ("*": the
last is a pointer) and the type of each call, as a digit (`TYPES`), for all combinations of argument types in order.
"""

from __future__ import annotations

import itertools
import json
import re
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

from cuda_wheel.builder.cxx.demangling import signature
from cuda_wheel.builder.jobs import Compiled

Compile = Callable[..., Compiled]

RECORDED: dict[str, str] = json.loads((Path(__file__).parents[2] / "data" / "mathematical_functions.json").read_text())

TYPES = ("no such call", "float", "double", "int", "unsigned", "long", "long long", "bool")

KNOWN = {"isfinite", "isinf", "isnan", "signbit"}
"""NVRTC's own functions, of type int where nvcc's are of type bool."""


def arguments(name: str, key: str) -> list[tuple[str, ...]]:
    """Return the combinations of argument types, in the order of the record."""
    numbers = ("float", "double", "int", "unsigned", "long", "char", "bool")
    if key == "3":
        return list(itertools.product(numbers[:3], repeat=3))
    if name == "modf":
        return list(itertools.product(numbers, ("float*", "double*")))
    if name == "remquo":
        return list(itertools.product(numbers[:3], numbers[:3], ("int*",)))
    return (
        list(itertools.product(numbers, ("int*",))) if "*" in key else list(itertools.product(numbers, repeat=int(key)))
    )


def calls() -> Iterator[tuple[str, tuple[str, ...], int]]:
    """Yield each function, the types of its arguments, and the recorded type."""
    for name, (function, key) in {each: each.split("/") for each in RECORDED}.items():
        for types, digit in zip(arguments(function, key), RECORDED[name], strict=True):
            for scope in ("", "std::"):
                yield scope + function, types, int(digit)


def test_calls_have_the_types_that_they_have_with_nvcc(compiled: Compile) -> None:
    listed = [each for each in calls() if each[0].removeprefix("std::") not in (*KNOWN, "pow")]
    text = [
        "#include <cmath>",
        "template <class T> T of();",
        "template <class T> struct number { enum { value = 9 }; };",
    ]
    text += [f"template <> struct number<{type_}> {{ enum {{ value = {i} }}; }};" for i, type_ in enumerate(TYPES) if i]
    text += [
        "template <> struct number<void> { enum { value = 0 }; };",
        "__global__ void k() {} void host() { k<<<1, 1>>>(); }",
    ]
    for i, (function, types, digit) in enumerate(listed):
        parameters = ", ".join(f"class T{j}" for j in range(len(types)))
        call = f"{function}({', '.join(f'of<T{j}>()' for j in range(len(types)))})"
        text.append(
            f"template <{parameters}> auto f{i}(int) -> decltype({call}); template <{parameters}> void f{i}(...);"
        )
        text.append(
            f'static_assert(number<decltype(f{i}<{", ".join(types)}>(0))>::value == {digit}, "{function} {types}");'
        )
    assert len(listed) > 1900
    compiled("\n".join(text))


def test_powers_have_the_types_that_they_have_with_nvcc(compiled: Compile) -> None:
    listed = [each for each in calls() if each[0].removeprefix("std::") == "pow"]
    text = ["template <int, class T> __global__ void k(T* p) {}", "template <class T> T of();", "void host() {"]
    for i, (function, types, _) in enumerate(listed):
        call = f"{function}({', '.join(f'of<{each}>()' for each in types)})"
        text.append(f"k<{i}><<<1, 1>>>(static_cast<decltype({call})*>(nullptr));")
    names = {signature(symbol).name for symbol in compiled("\n".join([*text, "}"])).kernels}
    assert names == {f"k<{i}, {TYPES[digit]}>" for i, (*_, digit) in enumerate(listed)}


def opcodes(result: Compiled) -> Counter[str]:
    """Return how often a kernel has each instruction."""
    assert result.left_out == ()
    found = Counter(re.findall(r"^\s*(?:@!?%p\d+ )?([a-z][\w.]+) ", result.ptx.decode(), re.MULTILINE))
    assert any(opcode.startswith("st.global") for opcode in found)
    return found


def test_a_power_with_an_exponent_of_type_int_is_computed_in_double(compiled: Compile) -> None:
    text = """
    #include <cuda_fp16.h>
    #define SQUARE(x) pow(x, 2)
    namespace own { struct V {}; __device__ inline double pow(V, int n) { return n; } }
    using own::pow;
    template <class T> __device__ double cube(T x) { return pow(x, (1 + 2)); }
    __global__ void k(float x, double y, int n, __half h, double* o) { %s }
    """
    pairs = (
        ("*o = pow(x, n);", "*o = std::pow((double)x, (double)n);"),
        ("*o = pow(y, n);", "*o = std::pow(y, (double)n);"),
        ("*o = ::pow(x, n + 1);", "*o = std::pow((double)x, (double)(n + 1));"),
        ("*o = SQUARE(x) + SQUARE(y);", "*o = std::pow((double)x, 2.0) + std::pow(y, 2.0);"),
        ("*o = cube(x) + cube(own::V());", "*o = std::pow((double)x, 3.0) + 3;"),
        (
            "enum E { two = 2 }; *o = pow(x, two) + pow(y, E(n));",
            "enum E { two = 2 }; *o = powf(x, 2.0f) + std::pow(y, (double)E(n));",
        ),
        ("*o = pow(h, n);", "*o = powf(__half2float(h), (float)n);"),
        ("*o = pow(x, 2.0f) + pow(n, n);", "*o = powf(x, 2.0f) + std::pow((double)n, (double)n);"),
    )
    for written, meant in pairs:
        assert opcodes(compiled(text % written, cubin=False)) == opcodes(compiled(text % meant, cubin=False)), written
