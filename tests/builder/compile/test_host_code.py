"""NVRTC reads host code as nvcc does: files compile unedited, with exactly the kernels that they can launch."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from cuda_wheel.builder.cxx.demangling import signature
from cuda_wheel.builder.errors import CompileError
from cuda_wheel.builder.jobs import Compiled

Compile = Callable[..., Compiled]


def kernels(result: Compiled) -> set[str]:
    return {signature(symbol).name for symbol in result.kernels}


LAUNCHES = """
template <class T, int N> __global__ void scale(T* p, T by) { p[threadIdx.x] = by * N; }
template <class T> __global__ void by_pointer(T* p) { p[0] = 1; }
template <class T> __global__ void by_runtime(T* p) { p[0] = 2; }
template <class... A> __global__ void fill(int* p, A... values) { ((*p++ = values), ...); }
template <class F> __global__ void apply(F f, float* p) { p[threadIdx.x] = f(p[threadIdx.x]); }
template <class T> __global__ void never(T* p) { p[0] = 3; }
static __global__ void unused(int* p) { p[0] = 4; }
template <int N> void go(float* p) {
  scale<float, N><<<1, 32>>>(p, 1);
  if constexpr (N > 1) go<N / 2>(p);
}
namespace a { __global__ void same(int* p) { *p = 5; } }
namespace b { template <class T> __global__ void same(T* p) { *p = 6; } }
template <class T> T* data() { return nullptr; }
void launch(float* p, int n, bool flag) {
  go<4>(p);
  if (flag) scale<double, 1><<<dim3(1, 2), 32, 0, nullptr>>>(data<double>(), n + 1.0f);
  void (*pointer)(short*) = by_pointer<short>;
  auto other = &by_pointer<long>;
  other<<<1, 1>>>(nullptr);
  cudaLaunchKernel((const void*)&by_runtime<char>, dim3(1), dim3(1), nullptr, 0, nullptr);
  cudaFuncSetAttribute(by_runtime<unsigned char>, cudaFuncAttributeMaxDynamicSharedMemorySize, 1000);
  fill<<<1, 1>>>(nullptr, n, 2.0f);
  apply<<<1, 32>>>([=] __device__(float x) { return x * n; }, p);
  using namespace b;
  b::same<<<1, 1>>>(&n);
}
"""


def test_launches_instantiate_what_they_instantiate_with_nvcc(compiled: Compile) -> None:
    # nvcc 13.0 has the same kernels for this text.
    names = kernels(compiled(LAUNCHES))
    assert {name for name in names if not name.startswith("apply<")} == {
        *("scale<float, 1>", "scale<float, 2>", "scale<float, 4>", "scale<double, 1>"),
        *("by_pointer<short>", "by_pointer<long>", "by_runtime<char>", "by_runtime<unsigned char>"),
        *("fill<int, float>", "unused", "a::same", "b::same<int>"),
    }
    assert len([name for name in names if name.startswith("apply<")]) == 1


HOST = """
#include <cuda_runtime.h>
struct Base { virtual ~Base() {} virtual int f() { return 1; } };
struct Derived : Base { int f() override { return 2; } Derived(int x) : x{x} {} int x; };
static Base* global = new Derived(3);
thread_local int local = 4;
int host_counter = 5;
int variadic(const char* format, ...) { return format[0]; }
int catches(Base* base) {
  static int once = variadic("a");
  try { if (!dynamic_cast<Derived*>(base)) throw 3; } catch (int x) { return x; } catch (...) { throw; }
  return once + host_counter++;
}
__host__ __device__ int both(int x) {
#ifdef __CUDA_ARCH__
  return x;
#else
  return catches(global);
#endif
}
__global__ void k(int* p) { *p = both(*p); }
int main(int argc, char** argv) {
  int* p;
  cudaMalloc(&p, sizeof(int));
  k<<<1, 1>>>(p);
  return cudaGetLastError() == cudaSuccess ? 0 : 1;
}
"""


def test_nothing_of_host_code_is_in_the_image(compiled: Compile) -> None:
    whole = compiled(HOST)
    alone = compiled("__device__ int both(int x) { return x; }\n__global__ void k(int* p) { *p = both(*p); }")
    assert whole.ptx == alone.ptx
    assert (whole.variables, whole.left_out) == ((), ())


def test_containers_hold_types_that_no_other_file_can_name(compiled: Compile) -> None:
    result = compiled("""
#include <unordered_map>
#include <vector>
namespace { struct Hidden { int x; }; }
template <class T> __global__ void k(T* p) { p->x = 1; }
void host(int n) {
  struct Local { int x; bool operator==(const Local& other) const { return x == other.x; } };
  struct Hash { size_t operator()(const Local& local) const { return local.x; } };
  static std::unordered_map<Local, bool, Hash> seen;
  std::vector<Local> locals(n);
  std::vector<Hidden> hidden(n);
  seen[locals[0]] = true;
  k<<<1, 1>>>(hidden.data());
}
""")
    assert kernels(result) == {"k<Hidden>"}
    assert result.log == ""


UNDEFINED = {
    "static": (
        "static __device__ int f(int x);\n__global__ void k(int* p) { *p = f(1); }",
        r'k\.cu:1:\d+: warning.*: function "f" was referenced but not defined',
    ),
    "of a hidden type": (
        "namespace { struct H {}; template <class T> __device__ int f(T x); }\n__global__ void k(int* p) { *p = f(H()); }",
        r'k\.cu:1:\d+: warning.*: function "<unnamed>::f\(.*" was referenced but not defined',
    ),
    "of a local type": (
        "template <class T> __device__ int f(T x);\n__global__ void k(int* p) { struct L {}; *p = f(L()); }",
        r"error: ptxas: Unresolved extern function '_Z1fI\w+'",
    ),
}


@pytest.mark.parametrize("cubin", [True, False])
@pytest.mark.parametrize(("text", "message"), UNDEFINED.values(), ids=UNDEFINED)
def test_device_functions_that_only_the_same_file_can_define_must_be_defined(
    text: str, message: str, cubin: bool, compiled: Compile
) -> None:
    with pytest.raises(CompileError, match=message):
        compiled(text, cubin=cubin)


MISUSES = {
    "a host function": ("int f() { return *new int; }\n__global__ void k(int* p) { *p = f(); }", "f"),
    "a host variable": ("int v = 3;\n__global__ void k(int* p) { *p = v; }", "v"),
    "a host lambda": ("auto f = [](int x) { return x + 1; };\n__global__ void k(int* p) { *p = f(*p); }", "f"),
}


@pytest.mark.parametrize("text", [text for text, _ in MISUSES.values()], ids=list(MISUSES))
def test_host_code_in_device_code_is_an_error(text: str, compiled: Compile) -> None:
    with pytest.raises(CompileError):
        compiled(text)


@pytest.mark.every_toolchain
@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('#error "wrong"\nint main() {}\n__global__ void k() {}', "wrong"),
        ('static_assert(sizeof(int) == 8, "sizes");\nint main() {}\n__global__ void k() {}', "sizes"),
        ("template <class T> struct A { static const int n = 1; };\n"
         "template <> struct A<float> { static const int n = undefined_name; };\n"
         "__global__ void k(int* p) { *p = A<float>::n; }\nint main() { k<<<1, 1>>>(nullptr); }", "undefined_name"),
        ("__host__ __device__ int f(int x) { return undefined_name; }\ntemplate <class T> __device__ T f(T x);\n"
         "__global__ void k(int* p) { *p = f(1); }\nint main() { k<<<1, 1>>>(nullptr); }", "undefined_name"),
        ("constexpr int width() { return undefined_name; }\n__global__ void k() {}", "undefined_name"),
        ('#include "kernels.cuh"\n__global__ void k() {}\nint main() {}', "kernels.cuh"),
        ('#include "missing.h"\n__global__ void k() {}\nint main() {}', "missing.h"),
        ("#include <missing/kernels.cuh>\n__global__ void k() {}\nint main() {}", "kernels.cuh"),
        ("__globl__ void bad(int* x) { *x = 1; }\n__global__ void k() {}\nint main() {}", "__globl__"),
        ("this is garbage\n__global__ void k() {}\nint main() {}", "k.cu:1"),
        ("}\n__global__ void k() {}\nint main() {}", "k.cu:1"),
    ],
)  # fmt: skip
def test_what_device_code_may_see_is_never_left_out(text: str, message: str, compiled: Compile) -> None:
    for host_code in ("whole", "leave-out"):
        with pytest.raises(CompileError, match=message):
            compiled(text, host_code=host_code)


def test_reject_makes_host_code_an_error(compiled: Compile) -> None:
    device = "#include <type_traits>\n#include <cmath>\n__device__ int f() { return 1; }\n__global__ void k(int* p) { *p = f(); }\n"
    assert set(compiled(device, host_code="reject").kernels) == {"_Z1kPi"}
    with pytest.raises(CompileError, match=r'k\.cu:5:\d+: error: this is host code \(host-code = "reject"\)'):
        compiled(device + "int host() { return 1; }\n", host_code="reject")
    with pytest.raises(CompileError, match=r"k\.cu:1:"):
        compiled("int main() {}\n__global__ void k() {}", host_code="reject")


def test_errors_in_device_and_host_code_are_reported_at_their_places(compiled: Compile) -> None:
    text = HOST.replace("*p = both(*p);", "*p = bath(*p);") + "void host() { nowhere(1); }\n"
    with pytest.raises(CompileError) as failure:
        compiled(text)
    line = HOST[: HOST.index("__global__")].count("\n") + 1
    assert f'k.cu:{line}:34: error: identifier "bath" is undefined' in str(failure.value)
    assert f'k.cu:{HOST.count(chr(10)) + 1}:15: error: identifier "nowhere" is undefined' in str(failure.value)
    with pytest.raises(CompileError) as failure:
        compiled(text, host_code="leave-out")
    assert "bath" in str(failure.value) and "nowhere" not in str(failure.value)


def test_constants_of_the_host_are_in_the_image_only_if_its_code_uses_them(compiled: Compile) -> None:
    result = compiled("""
    #define TABLE __constant__
    const float host_table[] = {1, 2, 3};
    static const int host_number = 4;
    namespace host { constexpr int host_sizes[] = {5, 6}; }
    const float used_table[] = {7, 8};
    struct Options { static const int limit = 3; };
    __device__ const float own_table[] = {1, 2};
    TABLE int by_macro[4];
    __device__ int plain;
    __global__ void k(float* p, int i) { *p = used_table[i]; }
    int main() { k<<<host::host_sizes[0], host_number>>>(nullptr, (int)host_table[1]); }
    """)
    assert {variable.name for variable in result.variables} == {"own_table", "by_macro", "plain"}
    assert b"used_table" in result.ptx and b"host_table" not in result.ptx and b"host_sizes" not in result.ptx


def test_a_launched_function_without_its_marker_is_an_error(compiled: Compile) -> None:
    text = "void helper(int* p) { *p = 1; }\n__global__ void k(int* p) {}\nint main() {\n  k<<<1, 1>>>(0);\n"
    with pytest.raises(CompileError, match=r"k\.cu:5: error: helper is launched with <<<...>>> and is not a kernel"):
        compiled(text + "  helper<<<1, 1>>>(nullptr);\n}\n")
    pointer = "  auto chosen = k;\n  chosen<<<1, 1>>>(nullptr);\n}\n#define RUN(f) f<<<1, 1>>>(nullptr)\n"
    assert set(compiled(text + pointer + "void run() { RUN(k); }\n").kernels) == {"_Z1kPi"}


def test_macros_are_those_of_nvcc_on_linux(compiled: Compile) -> None:
    names = ["__NVCC__", "__CUDACC__", "__CUDACC_EXTENDED_LAMBDA__", "__CUDACC_RELAXED_CONSTEXPR__", "__linux__"]
    names += ["__x86_64__", "__LP64__", "__EXCEPTIONS", "M_PI", "__CHAR_BIT__", "__INT_MAX__", "__SIZEOF_LONG__"]
    text = "".join(f"#ifdef {name}\n__global__ void has_{name}() {{}}\n#endif\n" for name in names)
    result = compiled(text + "int main() { cudaFree(nullptr); }\n")
    assert kernels(result) == {f"has_{name}" for name in names}


@pytest.mark.slow
def test_symbols_are_the_same_for_all_architectures(compiled: Compile) -> None:
    text = "#include <thrust/complex.h>\ntemplate <class T> __global__ void k(thrust::complex<T>* p) { *p = 1; }\n"
    text += "void f() { k<float><<<1, 1>>>(nullptr); }\n"
    both = [compiled(text, arch=arch, arch_list="800,900") for arch in ("80", "90")]  # as in a module for both
    assert set(both[0].kernels) == set(both[1].kernels) != set()


def test_types_of_the_standard_library_have_the_names_of_gccs(compiled: Compile) -> None:
    result = compiled("""
    #include <filesystem>
    #include <fstream>
    #include <list>
    #include <sstream>
    #include <string>
    template <class T> __global__ void k(T* x) {}
    template <class F> __global__ void call(F f) { f(); }
    std::string run(std::string s, const std::wstring& w) { call<<<1, 1>>>([=] __device__ {}); return s; }
    void use() {
      std::list<int> a{1, 2};
      std::list b(a.begin(), a.end());
      k<std::string><<<1, 1>>>(nullptr); k<decltype(b)><<<1, 1>>>(nullptr); k<std::ostringstream><<<1, 1>>>(nullptr);
      k<std::filesystem::path><<<1, 1>>>(nullptr);
    }
    """)
    assert set(result.kernels) == {  # nvcc's
        "_Z4callIZ3runNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEERKNS1_IwS2_IwESaIwEEEEUlvE_EvT_",
        "_Z1kINSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEEEvPT_",
        "_Z1kINSt7__cxx114listIiSaIiEEEEvPT_",
        "_Z1kINSt7__cxx1119basic_ostringstreamIcSt11char_traitsIcESaIcEEEEvPT_",
        "_Z1kINSt10filesystem7__cxx114pathEEvPT_",
    }
