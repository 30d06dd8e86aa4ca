"""Numbers, branches and loops of translated host functions: g++ is the judge of what the Python computes."""

from __future__ import annotations

import ctypes
import math
import os
import random
import re
import shutil
import subprocess
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from cuda_wheel.migrate.host_functions.extension import Extension, PythonModule, translate
from cuda_wheel.migrate.host_functions.nodes import SourceTree

HEADER = """
#pragma once
#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <sstream>
#include <string>
#include <tuple>
#include <vector>
struct Module { template <typename F> void def(const char *, F *); };
"""

CODE = """
#include "stubs.h"
constexpr int THREADS = 256;
enum Kind { NEAREST, LINEAR = 3 };

int blocks(int n, int size) { return (n + size - 1) / size; }
int rest(int n, int by) { return n % by - -n / by; }
int64_t product(int a, int64_t b) { return a * b + (b >> 3) - (a & 255); }
unsigned int wraps(unsigned int a, unsigned int b) { return a - b + (a << 3) + ~b; }
uint64_t hash(uint64_t h, int k) { h ^= k; h *= 0x100000001b3ull; return h % 1000003u + (h >> 40); }
int mixed(int a, unsigned int b) { return a < b ? 1 : a == b ? 2 : 3; }
int narrow(int64_t a) { signed char c = a % 100; unsigned char d = a; short e = c * d; return e; }
float half(float x, int n) { float y = x / n; return y * 0.1f + 1e-3f; }
double sums(float x, double y) { return x * x + 0.1f * y - (float)y; }
int truncated(double x) { return (int)x + int(x / 3); }
double functions(double x) { return std::sqrt(x) + std::floor(x) + ceil(x / 3) + std::pow(x, 2.0) + std::fmod(x, 0.7); }
double divided(double a, double b) { return a / b; }
int threads(int n) { const int pow2 = std::log(static_cast<double>(n)) / std::log(2.0); return std::max(std::min(1 << pow2, THREADS), 1); }
int sum(int n) { int total = 0; for (int i = 0; i < n; ++i) { if (i % 3 == 1) continue; total += i; } return total; }
int down(int n, int by) { int total = 0; for (int i = n; i >= 0; i -= 2) total = total * 3 % 1009 + i; return total + by; }
int moves(int n) { int total = 0; for (int i = 0; i < n; i++) { if (i == 5) i += 3; total += i; } return total; }
int grows(int n) { std::vector<int> v; v.push_back(n); for (size_t i = 0; i < v.size() && i < 20; ++i) if (v[i] > 1) v.push_back(v[i] / 2); return v.size() * 100 + v.back(); }
int loop(int n) { int count = 0; while (n != 1 && count < 100) { n = n % 2 ? 3 * n + 1 : n / 2; ++count; } return count; }
int once(int n) { int k = 0; do { k += n; if (k > 50) break; n++; } while (k < 30); return k * 10 + n; }
int chosen(int n) { switch (n % 5) { case 0: return 7; case 1: case 2: n += 10; break; case 3: { n *= 2; break; } default: n = -n; } return n; }
int allocated(int n) { int k = n & 7; int *a = new int[k + 1](); for (int i = 0; i < k; ++i) a[i + 1] = a[i] + n; int last = a[k]; delete[] a; return last; }
int compared(int n) { std::string s = n > 3 ? "big" : "small"; const char *t = "big"; return (s == "big") * 2 + (s != "small") + (s == t) * 10; }
int unrolled(int n) {
#pragma unroll
  for (int i = 0; i < 4; i++) n = n * 3 % 1001;
  return n; }
struct Traits { static constexpr int kSize = 24; static constexpr int kWide = 3; };
int named(int n) { constexpr int kSize = Traits::kSize; return n * kSize; }
int hidden(int n) { int kWide = n; { n += Traits::kWide; } return n * 100 + kWide; }
int pointers(int n) {
  std::vector<int> v(12, 2); int *p = &v[0] + (n & 3); const int *q = &v[5];
  *p = n; p[2] += 7; ++p; p += 1; *p -= 3; *(p + 1) = *q + 1;
  int sum = 0; for (int i = 0; i < 12; i++) { sum = sum * 3 + v[i]; sum %= 10007; } return sum + q[1] + *q - (p - 1)[0]; }
int onward(int n) { switch (n % 6) { case 0: n += 1; case 1: n *= 2; if (n > 30) return n; break; case 2: case 3: n -= 5; case 4: return n; default: n = 3; } return n + 7; }
int known(int n) { switch (n % 3) { case 0: if (!(false)) { return 1; } case 1: if (n > 5) return 2; else return 4; default: n++; } return n; }
inline int plus_both(int a, double b) { return a + (int)b; }
inline int plus_both(int a) { return 2 * a; }
template <typename... Rest> int many(int first, Rest... rest) { return plus_both(rest...) + 3 * first; }
int of_pack(int n) { return many(n, 5) + many(n, n, 2.5); }
int inner(int n) { return [&] { switch (n % 2) { case 0: { return [&] { return n * 3; }(); } default: return [&] { if (n > 4) { return 1; } else { return n; } }(); } }(); }
int flags(int n, bool on) { bool big = n > 10 && !on || n < -3; if (big) return 1; else if (on) { return n ? 2 : 3; } return int(on) + big; }
int shadow(int n) { int x = n; { int x = 3; n += x; } for (int x = 0; x < 2; ++x) n += x; return x * 1000 + n; }
int kinds(int n) { Kind kind = n > 4 ? LINEAR : NEAREST; return kind == LINEAR ? kind : n; }
template <typename T, int N> int sized(int n) { return n * sizeof(T) + N * (int)sizeof(T) - N; }
int templates(int n) { return n > 3 ? sized<double, 4>(n) : sized<float, 4>(n); }
template <bool B> int flagged(int n) { return B ? n + 1 : n - 1; }
int by_flag(int n, bool on) { if (on) return flagged<true>(n); else return flagged<false>(n); }
int tuples(int n) { auto t = std::make_tuple(n, 2 * n); int a, b; std::tie(a, b) = t; std::swap(a, b); return a - 3 * b + std::get<0>(t); }
int limits(int n) { return n > std::numeric_limits<int>::max() / 2 ? std::clamp(n, 5, 9) : std::clamp(n, -2, 3); }
int applied(int n) { auto twice = [&](int x) { return x * 2 + n; }; int k = [&] { if (n > 3) return 1; return 2; }() ; return twice(n) + k; }
int defaulted(int n, int m = 4) { return n + 2 * m; }
int uses(int n) { return defaulted(n) + defaulted(n, 1); }
float rounds(float a, float b) { float c = a + b; c -= a; c *= 3; return c; }
int of_int(int n) { return n + 1; }
double of_float(double x) { return x * 2; }
int of_two(int n, double x) { return n - (int)x; }
int equal(int n) { constexpr int rows = 16, columns = 16; int total = n / columns; return total * rows; }
float floats(float x, float y) { return std::exp(x / 100) + logf(y) * std::sin(x) - std::cos(y) + powf(std::abs(x), 0.3f); }
float larger(float x, float y) { return std::fmax(x, y) * 2 + fminf(x, 0.1f) + fmaxf(y, x / 3); }
int smaller(int a, int b) { return int(fmin(double(1024), double(a))) + fmax(a, b * 0.5); }
float more_floats(float x, float y) { return std::atan2(x, y) + std::log2(y) + cbrtf(x) + std::tanh(x) + std::round(y) + exp2f(y); }
int steps(int n) { int a[4] = {0, 0, 0, 0}, k = n & 1; a[k++] = n; a[++k] = 3; int m = k-- + 1; a[0] += --k; return a[0] + 7 * a[1] + 49 * a[2] + 343 * a[3] + m * 5 + k; }
int cleared(int n) { std::vector<int> v(8, n); std::memset(&v[0], 0, sizeof(int) * (n & 3)); memset(v.data(), 0, 4); return v[0] + 2 * v[1] + 4 * v[2] + 8 * v[7]; }
std::string written(int n, double x, float y, bool on) { std::ostringstream s; s << "n=" << n << ' ' << x << std::endl; if (on) s << y << ", " << on; return s.str(); }
std::string between(int n) { std::stringstream s; auto add = [&](int m) { s << m / 10 << "."; if (m % 2) s << m; }; add(n); add(3); return "v" + s.str(); }
int seen = 3, list[3] = {1, 2};
static std::vector<int> all;
static double scale;
int counted(int n) { static int calls; static int first = n * 2; static const int by = 2; calls += by; if (n > 5) { seen++; all.push_back(n); } list[n & 1] += n % 7; scale = scale * 0.5 + n; return calls + 10 * first + seen * 100 + (int)all.size() + list[0] - list[1] + (int)scale; }
int of_rows(int n) { int rows[2][3]; memset(rows, 0, sizeof(rows)); return rows[1][2] + n; }
int of_thread(int n) { thread_local int calls = 0; calls += n; return calls; }
template <int N> int stays(int n) { static int calls; calls += n; return calls * N; }
int of_template(int n) { return stays<2>(n) + stays<3>(n); }
int of_lambda(int n) { auto add = [&](int m) { seen -= m; return seen; }; return add(n % 3) + seen; }
int comma(int n) { int a = 1, b = 2; for (int i = 0; i < n; i++, b += i) a = (a + b) % 1009; return a; }
"""

FUNCTIONS = re.findall(r"^((?:unsigned |std::)?\w+) (\w+)\(([^)]*)\) \{", CODE, re.MULTILINE)
"""(type of the result, name, parameters) of each function of CODE that is not a template."""

TYPES = {
    "int": ctypes.c_int32, "int64_t": ctypes.c_int64, "unsigned int": ctypes.c_uint32, "uint64_t": ctypes.c_uint64,
    "float": ctypes.c_float, "double": ctypes.c_double, "bool": ctypes.c_bool, "std::string": ctypes.c_char_p,
}  # fmt: skip

OVERLOADS = ' m.def("over", &of_int); m.def("over", &of_float); m.def("over", &of_two);'

REFUSED = {
    "applied": "a return inside a lambda",
    "of_rows": "a copy from or to ",
    "of_thread": "the variable calls, which each thread has for itself",
    "of_template": "the static variable calls of a template",
}
"""Function of CODE -> why it is not translated."""


def parameters(text: str) -> list[tuple[str, str]]:
    """Return type and name of each parameter."""
    return [tuple(each.partition("=")[0].strip().rsplit(" ", 1)) for each in text.split(",")]  # type: ignore[misc]


@pytest.fixture(scope="module")
def module(read_source: Callable[[str, str, str], SourceTree]) -> PythonModule:
    """The functions in Python; those of REFUSED are the unfinished ones."""
    bindings = "".join(f' m.def("{name}", &{name});' for _, name, _ in FUNCTIONS)
    text = f"{CODE}\nvoid pybind11_init_demo(Module &m) {{{bindings}{OVERLOADS} }}\n"
    tree = read_source("a.cpp", text, HEADER)
    module = translate(Extension("demo._C", [tree], {}, {"a.cpp": text.splitlines()}), None)
    unfinished = {each.name: each.failures[0].reason for each in module.functions if each.failures}
    assert {name: reason.startswith(REFUSED.get(name, "-")) for name, reason in unfinished.items()} == dict.fromkeys(
        REFUSED, True
    )
    return module


@pytest.fixture(scope="module")
def translated(module: PythonModule) -> dict[str, Any]:
    """The Python functions, by name."""
    sizes = {"float32": SimpleNamespace(itemsize=4), "float64": SimpleNamespace(itemsize=8)}
    names: dict[str, Any] = {"torch": SimpleNamespace(**sizes)}
    exec(module.text.replace("import torch\n", "\n"), names)  # PyTorch is not needed for numbers
    return names


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    """The same functions, compiled by g++."""
    compiler = shutil.which(os.environ.get("CXX", "g++"))
    if compiler is None:
        pytest.skip("needs a C++ compiler")
    folder = tmp_path_factory.mktemp("compiled")
    (folder / "stubs.h").write_text(HEADER, encoding="utf-8")
    wrapped = ""
    for result, name, text in FUNCTIONS:
        called = f"{name}({', '.join(each for _, each in parameters(text))})"
        if result == "std::string":
            result, called = "const char *", f"(kept = {called}).c_str()"
        wrapped += f'extern "C" {result} c_{name}({text.replace(" = 4", "")}) {{ return {called}; }}\n'
    wrapped = f"static std::string kept;\n{wrapped}"
    (folder / "a.cpp").write_text(CODE + wrapped, encoding="utf-8")
    command = [
        compiler,
        "-std=c++20",
        "-O1",
        "-fwrapv",
        "-ffp-contract=off",
        "-shared",
        "-fPIC",
        "-w",
        "a.cpp",
        "-o",
        "a.so",
    ]
    subprocess.run(command, cwd=folder, check=True)
    return ctypes.CDLL(str(folder / "a.so"))


def numbers(type_: str, source: random.Random) -> Any:
    if type_ == "bool":
        return source.random() < 0.5
    if type_ in ("float", "double"):
        value = source.choice([0.0, 1.0, -1.5, 0.1, 3e7, source.uniform(-100, 100), source.uniform(0, 1e6)])
        return ctypes.c_float(value).value if type_ == "float" else value
    if type_.startswith("u"):
        return source.choice(
            [0, 1, 2, 100, source.randrange(2**32), source.randrange(2**31, 2**32), source.randrange(50)]
        )
    # C++ does not define the overflow of signed numbers.
    return source.choice([0, 1, 2, 7, 100, 1000, source.randrange(-50, 50), source.randrange(-20000, 20000)])


def same(one: Any, other: Any) -> bool:
    if isinstance(other, bytes):
        other = other.decode()
    if isinstance(one, float) and math.isnan(one):
        return math.isnan(other)
    return bool(one == other) and (not isinstance(one, float) or math.copysign(1, one) == math.copysign(1, other))


@pytest.mark.parametrize(("result", "name", "text"), FUNCTIONS, ids=[name for _, name, _ in FUNCTIONS])
def test_python_computes_what_cpp_does(
    result: str, name: str, text: str, translated: dict[str, Any], compiled: ctypes.CDLL
) -> None:
    if name in REFUSED:
        with pytest.raises(NotImplementedError, match=re.escape(REFUSED[name])):
            translated[name](4)
        return
    function, types = getattr(compiled, f"c_{name}"), [type_ for type_, _ in parameters(text)]
    function.argtypes, function.restype = [TYPES[each] for each in types], TYPES[result]
    source, compared = random.Random(name), 0
    for _ in range(400):
        given = [numbers(each, source) for each in types]
        if types[-1] == "int" and name in ("blocks", "rest", "half") and given[-1] == 0:
            continue  # a division by zero ends the process in C++
        try:
            found = translated[name](*given)
        except (OverflowError, ZeroDivisionError):
            continue  # C++ does not define it, or goes on with another number
        expected = function(*given)
        assert same(found, expected), (given, found, expected)
        compared += 1
    assert compared > 100


def test_constants_with_one_value_keep_their_names(module: PythonModule) -> None:
    assert "total = quotient(n, columns)" in module.text and "return total * rows" in module.text


def test_of_functions_with_one_name_the_arguments_choose(translated: dict[str, Any]) -> None:
    over = translated["over"]
    assert (over(3), over(3.0), over(3, 1.5), over(3, 1)) == (4, 6.0, 2, 2)
    with pytest.raises(TypeError, match=r"over\(\): incompatible function arguments: str"):
        over("3")
