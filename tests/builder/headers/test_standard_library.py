"""The standard library's headers: host code type-checks, deduces the real types and instantiates what it calls; device
code uses the parts that nvcc lets it use. g++ 12 accepts each file of tests/data/standard_library without its kernels and
launches, and without <format>, which GCC has since version 13."""

from __future__ import annotations

import re
import string
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from cuda_wheel.builder.errors import CompileError
from cuda_wheel.builder.jobs import Compiled
from cuda_wheel.builder.toolchain.toolchain import INCLUDE, STAND_INS, Toolchain

FILES = Path(__file__).parents[2] / "data" / "standard_library"

KERNELS = {
    "traits": {"_Z1kv"},
    "tuples": {"_Z1kPiSt5tupleIJicEESt4pairIiiE"},
    "vectors": {"_Z1kv", "_Z2kkIfEvPT_m", "_Z2kkIdEvPT_m"},
    "strings": {"_Z1kv"},
    "pointers_and_functions": {"_Z1kPi", *(f"_Z2kkI{each}EvPT_" for each in "idcls")},
    "optionals": {"_Z1kPi"},
    "containers": {"_Z1kPiSt5arrayIfLm4EE"},
    "streams_and_threads": {"_Z1kPi", "_Z2kkIiEvPT_", "_Z2kkIsEvPT_", "_Z2kkIfEvPT_"},
    "algorithms_and_c_library": {"_Z1kPi", "_Z2kkIfEvPT_"},
    "variants": {
        "_Z1kPi",
        "_Z2kkIiEvPT_",
        "_Z2kkIfEvPT_",
        "_Z2kkINSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEEEvPT_",
    },
    "further_headers": {"_Z1kPi", "_Z2kkIiEvPT_"},
    "beside_libcudacxx": {"_Z1kPi"},
    "rarer_headers": {"_Z1kPi", *(f"_Z2kkI{each}EvPT_" for each in "fsd")},
    "cpp20_headers": {"_Z1kPi7VersionS0_f", *(f"_Z2kkI{each}EvPT_" for each in "fsl")},
}
"""The kernels of each file: those that its launches, called functions and virtual functions instantiate."""

HEADERS = """
algorithm any array atomic barrier bit bitset charconv chrono codecvt compare complex concepts condition_variable coroutine
deque exception execution expected filesystem format forward_list fstream functional future initializer_list iomanip ios
iosfwd iostream istream iterator latch limits list locale map mdspan memory memory_resource mutex new numbers numeric
optional ostream print queue random ranges ratio regex scoped_allocator semaphore set shared_mutex source_location span
spanstream sstream stack stacktrace stdexcept stop_token streambuf string string_view strstream syncstream system_error
thread tuple type_traits typeindex typeinfo unordered_map unordered_set utility valarray variant vector version
cassert ccomplex cctype cerrno cfenv cfloat cinttypes ciso646 climits clocale cmath csetjmp csignal cstdalign cstdarg
cstdbool cstddef cstdint cstdio cstdlib cstring ctgmath ctime cuchar cwchar cwctype
assert.h complex.h ctype.h errno.h fenv.h float.h inttypes.h iso646.h limits.h locale.h math.h setjmp.h signal.h stdalign.h
stdarg.h stdatomic.h stdbool.h stddef.h stdint.h stdio.h stdlib.h stdnoreturn.h string.h tgmath.h threads.h time.h uchar.h
wchar.h wctype.h
"""
"""The headers of C++11 to C++23 and of C11, but for flat_map, flat_set, generator and stdfloat of C++23."""

SPECIALISED = """
#include <functional>
#include <iterator>
#include <limits>
#include <memory>
#include <tuple>
#include <type_traits>
struct Half { unsigned short bits; };
struct Walk { int i; };
namespace std {
template <> struct is_floating_point<Half> : true_type {};
template <> struct numeric_limits<Half> { static constexpr bool is_specialized = true; __host__ __device__ static constexpr int max() { return 65504; } };
template <> struct common_type<Half, int> { typedef Half type; };
template <> struct hash<Half> { __host__ __device__ size_t operator()(Half h) const { return h.bits + 7000; } };
template <> struct less<Half> { __host__ __device__ bool operator()(Half a, Half b) const { return a.bits < b.bits; } };
template <> struct tuple_size<Half> : integral_constant<size_t, 2> {};
template <size_t i> struct tuple_element<i, Half> { typedef unsigned short type; };
template <size_t i> __host__ __device__ unsigned short get(const Half& h) { return h.bits + i; }
template <> struct iterator_traits<Walk> { typedef forward_iterator_tag iterator_category; typedef float value_type; typedef int difference_type; typedef float* pointer; typedef float& reference; };
template <> struct default_delete<Half> { void operator()(Half*) const; };
}
static_assert(std::is_floating_point_v<Half> && std::is_arithmetic_v<Half> && std::is_scalar<Half>::value);
static_assert(std::is_same_v<std::common_type_t<Half, int>, Half>);
static_assert(std::is_same_v<std::iterator_traits<Walk>::value_type, float> && std::tuple_size_v<const Half> == 2);
template <class T> __global__ void k(int* o, Half h) {
    o[0] = std::numeric_limits<T>::max();
    o[1] = static_cast<int>(std::hash<T>()(h));
    auto [a, b] = h;
    o[2] = a + b;
    if constexpr (std::is_floating_point<T>::value) o[3] = 4711;
}
void launch(std::unique_ptr<Half> p) { k<Half><<<1, 1>>>(nullptr, *p); }
"""

FOLDED = """
#include <algorithm>
#include <array>
#include <cmath>
#include <complex>
#include <numeric>
#include <optional>
#include <string_view>
#include <tuple>
#include <variant>
__global__ void k(int* o) {
    std::array<int, 4> a{5, 2, 8, 1};
    std::variant<float, int> v = 5;
    o[0] = std::accumulate(a.begin(), a.end(), 100) + *std::max_element(a.begin(), a.end());
    o[1] = std::get<1>(std::tuple_cat(std::make_tuple(1), std::make_pair(222, 'c')));
    o[2] = std::optional<int>(333).value_or(1);
    o[3] = static_cast<int>(std::string_view("hello").find("l")) + 442;
    o[4] = std::visit([](auto x) { return static_cast<int>(x) * 111; }, v);
    o[5] = std::apply([](auto... x) { return (x + ...); }, std::make_tuple(600, 60, 6));
}
"""

PLACES = """
#include <experimental/source_location>
using place = std::experimental::source_location;
constexpr place here = place::current();
static_assert(sizeof(place) == 24 && here.line() == 4);
constexpr unsigned line(place at = place::current()) { return at.line(); }
template <unsigned n> __global__ void k(unsigned* o) { *o = n; }
void launch(unsigned* o) { k<here.line()><<<1, 1>>>(o); k<line()><<<1, 1>>>(o); }
"""

CPP23 = """
#include <expected>
#include <iostream>
#include <mdspan>
#include <print>
#include <spanstream>
#include <stacktrace>
template <class T> __global__ void kk(T* p) {}
template <class T> void launch(T) { kk<T><<<1, 1>>>(nullptr); }
std::expected<int, std::string> parse(const char* text) {
  if (text == nullptr) return std::unexpected("nothing");
  return 3;
}
void f() {
  auto number = parse("3");
  if (number && *number == 3) launch(number.value_or(4));
  launch(*number.transform([](int x) { return float(x); }));
  std::expected<void, int> done;
  if (!done) std::println("{} {}", done.error(), number.error());
  std::print(stderr, "{}", 1);
  char buffer[8];
  std::spanstream(buffer) << 1;
  std::cout << std::stacktrace::current();
}
__global__ void k(std::mdspan<float, std::extents<int, 4, 4>> m) { m(1, 2) = 3; }
"""

OVERLOADS = """
#include <cstdint>
#include <cuda/std/cstdint>
#include <cinttypes>
#include <ctime>
#include <type_traits>
template <class T> __global__ void k(T* p) {}
template __global__ void k<int64_t>(int64_t*);
template __global__ void k<std::uint64_t>(std::uint64_t*);
static_assert(std::is_same_v<cuda::std::int64_t, long> && std::is_same_v<cuda::std::uint64_t, unsigned long>);
template __global__ void k<long long>(long long*);
static_assert(sizeof(std::int_fast16_t) == 8 && sizeof(std::time_t) == 8);
"""

MISUSE = """
#include <string>
#include <vector>
__global__ void k(int* p) { %s; }
"""


CPP20 = ["cpp20_headers"]
"""The files that are C++20."""


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in KERNELS if name not in CPP20])
def test_host_code_type_checks_and_instantiates_its_kernels(name: str, compiled: Callable[..., Compiled]) -> None:
    result = compiled((FILES / f"{name}.cu").read_text())
    assert set(result.kernels) == KERNELS[name]
    assert result.left_out == ()


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    ["traits", "tuples", "vectors", "containers", "algorithms_and_c_library", "variants", "rarer_headers", *CPP20],
)
def test_it_also_does_as_cpp20(name: str, compiled: Callable[..., Compiled]) -> None:
    result = compiled((FILES / f"{name}.cu").read_text(), options=("--std=c++20",))
    assert (set(result.kernels), result.left_out) == (KERNELS[name], ())


def test_headers_of_cpp23(compiled: Callable[..., Compiled], toolchain: Toolchain) -> None:
    if toolchain.nvrtc.startswith(("12.", "13.0.")):
        pytest.skip(f"NVRTC {toolchain.nvrtc} has no C++23")
    result = compiled(CPP23, options=("--std=c++23",))
    assert {"_Z2kkIiEvPT_", "_Z2kkIfEvPT_"} < set(result.kernels)
    assert (len(result.kernels), result.left_out, result.log) == (3, (), "")


def test_places_of_cpp17_are_those_of_the_call(compiled: Callable[..., Compiled]) -> None:
    assert set(compiled(PLACES).kernels) == {"_Z1kILj4EEvPj", "_Z1kILj8EEvPj"}


def test_complex_brings_streams_as_that_of_gcc(compiled: Callable[..., Compiled]) -> None:
    text = "#include <complex>\ninline std::ostream& operator<<(std::ostream& os, float2 a) { return os << a.x; }\n"
    compiled(f"{text}__global__ void k() {{}}")


def test_every_file_of_host_code_is_tested() -> None:
    assert {path.stem for path in FILES.iterdir()} == set(KERNELS)


def test_device_code_sees_what_users_specialise_in_namespace_std(compiled: Callable[..., Compiled]) -> None:
    result = compiled(SPECIALISED)
    assert set(result.kernels) == {"_Z1kI4HalfEvPiS0_"}
    ptx = result.ptx.decode()
    assert {"65504", "7000", "4711"} <= set(re.findall(r"\b\d+\b", ptx))


def test_constexpr_functions_of_the_library_fold_in_device_code(compiled: Callable[..., Compiled]) -> None:
    ptx = compiled(FOLDED).ptx.decode()
    stored = set(re.findall(r"\b\d+\b", ptx))
    assert {"124", "222", "333", "444", "555", "666"} <= stored
    assert "call" not in ptx


@pytest.mark.skipif(sys.platform == "win32", reason="there int64_t is long long")
def test_integers_of_64_bits_are_long_as_under_nvcc(compiled: Callable[..., Compiled]) -> None:
    assert set(compiled(OVERLOADS).kernels) == {"_Z1kIlEvPT_", "_Z1kImEvPT_", "_Z1kIxEvPT_"}


POWERS = """
#include <cmath>
template <typename T> __global__ void k(T* p) {}
template <int CALL, typename T> void go(T) { k<<<1, 1>>>((T*)nullptr); }
static_assert(sizeof(std::pow(1.f, 2.f)) == 4 && sizeof(pow(1.f, 2.f)) == 4 && sizeof(std::pow(1.f, 2)) == 8);
static_assert(sizeof(std::pow(2, 2)) == 8 && sizeof(pow(2, 2)) == 8 && sizeof(pow(1.f, 2.0)) == 8);
using namespace std;
void f(float x) { go<1>(std::pow(x, 2)); }
__global__ void device(float* x, double* d, int n) { x[0] = pow(x[1], x[2]); d[0] = pow(d[1], d[2]); d[1] = std::pow(x[1], n); }
"""


def test_powers_have_the_standards_types(compiled: Callable[..., Compiled]) -> None:
    # NVRTC's own pow(float, int) is of type float, and would launch another instance than nvcc's.
    assert set(compiled(POWERS).kernels) == {"_Z1kIdEvPT_", "_Z6devicePfPdi"}


@pytest.mark.parametrize("use", ["std::vector<int> v; v.push_back(*p)", 'std::string s("a"); *p = s.size()'])
def test_device_code_cannot_use_what_is_for_the_host(use: str, compiled: Callable[..., Compiled]) -> None:
    with pytest.raises(CompileError):
        compiled(MISUSE % use)


def test_every_header_of_the_standards_exists() -> None:
    assert {name for name in HEADERS.split() if not (INCLUDE / name).is_file()} == set()


@pytest.fixture(scope="module")
def all_headers() -> str:
    """Return the lines that include all headers for host code."""
    folders = [INCLUDE, *(INCLUDE / name for name in ("arpa", "netinet", "sys", "tr1"))]
    files = [
        path for folder in folders for path in folder.iterdir() if path.is_file() and not path.name.startswith("cuda")
    ]
    return "".join(f"#include <{path}>\n" for path in sorted(path.relative_to(INCLUDE).as_posix() for path in files))


@pytest.mark.slow
def test_the_headers_put_no_variable_into_an_image(all_headers: str, compiled: Callable[..., Compiled]) -> None:
    result = compiled(all_headers + "__global__ void k(int* p) { *p = 1; }\n")
    assert (result.kernels.keys(), result.variables, result.log) == ({"_Z1kPi"}, (), "")
    assert not re.search(r"^\.global", result.ptx.decode(), re.MULTILINE)


@pytest.mark.slow
def test_a_projects_macros_do_not_change_the_headers(all_headers: str, compiled: Callable[..., Compiled]) -> None:
    """Projects define N, K or F. (<complex.h> defines I itself; headers of CUDA use T as a name.)"""
    macros = "".join(f"#define {letter} 7 +\n" for letter in sorted({*string.ascii_uppercase} - {"I", "T"}))
    launch = "#include <cuda_runtime.h>\n__global__ void k() {}\nvoid launch() { k<<<1, 1>>>(); }\n"
    assert compiled(macros + all_headers + launch).kernels.keys() == {"_Z1kv"}


def test_the_headers_name_nothing_with_one_capital_letter() -> None:
    names = {}
    for path in (path for folder in (INCLUDE, Path(STAND_INS[0])) for path in folder.rglob("*") if path.is_file()):
        code = re.sub(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|##[UL]\b', " ", path.read_text(), flags=re.DOTALL)
        names[path] = set(re.findall(r"(?<![\w'])[A-Z](?![\w'])", code))
    assert len(names) > 300
    assert {path.name: found for path, found in names.items() if found} == {}
