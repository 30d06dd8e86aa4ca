"""What nvcc with GCC accepts, at most with a warning, and standard C++ does not. nvcc 13.0 accepts each of these texts."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from cuda_wheel.builder.cxx.demangling import signature
from cuda_wheel.builder.errors import CompileError
from cuda_wheel.builder.jobs import Compiled

pytestmark = pytest.mark.every_toolchain

Compile = Callable[..., Compiled]


def kernels(result: Compiled) -> set[str]:
    """Return the kernels, of a text of which nothing is left out."""
    assert result.left_out == ()
    return {signature(symbol).name for symbol in result.kernels}


def test_void_t_is_no_other_type_than_void(compiled: Compile) -> None:
    # As CuTe asks whether an iterator is one of shared memory: the second specialization is more special than the third.
    result = compiled("""
    #include <type_traits>
    template <class T, class = void> struct is_shared { static constexpr bool value = false; };
    template <class I> struct pointer { using iterator = I; };
    template <class I> struct is_shared<pointer<I>> { static constexpr bool value = true; };
    template <class T> struct is_shared<T, std::void_t<typename T::iterator>> {
      static constexpr bool value = is_shared<typename T::iterator>::value;
    };
    struct Tensor { using iterator = pointer<int*>; };
    template <bool, bool, bool> __global__ void k() {}
    void host() { k<is_shared<pointer<int*>>::value, is_shared<Tensor>::value, is_shared<int>::value><<<1, 1>>>(); }
    """)
    assert kernels(result) == {"k<true, true, false>"}


def test_markers_of_the_host_are_ignored_where_they_say_nothing(compiled: Compile) -> None:
    result = compiled("""
    #define BOTH __host__ __device__
    #define BOTH_INLINE BOTH static
    __device__ __host__ constexpr float a = 1.5f;
    __host__ __device__ constexpr int b[3] = {1, 2, 3};
    static __device__ __host__ const int c = 4;
    BOTH constexpr int d = 5;
    namespace n { BOTH_INLINE const int e = 6; }
    template <class T> __host__ __device__ constexpr T f = T(7.5);
    __host__ const int g = 8;
    __device__ int h(__host__ int x, __shared__ int* p) { return x + *p; }
    __global__ void k(float* p, int i) { *p = a + b[i] + c + d + n::e + f<float> + g + h(i, (int*)p); }
    float host() { k<<<1, 1>>>(nullptr, 1); return a + b[0] + c + d; }
    """)
    assert kernels(result) == {"k"}


def test_a_marker_in_a_macro_that_has_more_than_one_meaning_is_an_error(compiled: Compile) -> None:
    with pytest.raises(CompileError, match='attribute "__host__" does not apply here'):
        compiled("""
        #ifdef X
        #define BOTH __host__ __device__
        #else
        #define BOTH __host__ static __device__
        #endif
        BOTH const int a = 5;
        __global__ void k(int* p) { *p = a; }
        void host() { k<<<1, 1>>>(nullptr); }
        """)


def test_a_constant_member_of_a_reference_is_a_constant(compiled: Compile) -> None:
    result = compiled("""
    struct Shape { static constexpr int n = 4; enum { m = 5 }; static constexpr int size() { return 6; } };
    struct Holder { Shape shape; };
    template <int> __global__ void q() {}
    template <class A> __device__ int f(const A& a, const A* b, Holder& c) {
      constexpr int n = a.n * 10 + b->n;
      static_assert(n == 44 && a.m == 5);
      int x[c.shape.n] = {};
      if constexpr (a.n > 3) x[0] = n;
      return x[0];
    }
    __global__ void k(Shape s, Holder h, int* p) { *p = f(s, &s, h); }
    template <class A> void host(A& a) { q<a.n><<<1, 1>>>(); constexpr int n = a.size() + a.m; q<n><<<1, 1>>>(); }
    void start(Shape& s) { k<<<1, 1>>>(s, {}, nullptr); host(s); }
    """)
    assert kernels(result) == {"k", "q<4>", "q<11>"}
    assert b"44" in result.ptx


def test_a_class_may_have_constants_of_floating_types(compiled: Compile) -> None:
    result = compiled("""
    struct S { static const float half = 0.5f; static const double third; const static double tenth = 0.1; };
    const double S::third = 1.0 / 3;
    __global__ void k(float* p) { *p = S::half + float(S::tenth); }
    double host() { k<<<1, 1>>>(nullptr); return S::third; }
    """)
    assert kernels(result) == {"k"}
    assert b"1058642330" in result.ptx  # the bits of 0.6f


def test_host_code_may_ask_openmp_and_the_locale(compiled: Compile) -> None:
    result = compiled("""
    #include <clocale>
    #include <locale.h>
    #include <omp.h>
    __global__ void k() {}
    char host() {
      omp_lock_t lock;
      omp_init_lock(&lock);
      int n = omp_test_lock(&lock) + omp_get_level() + omp_get_num_devices() + omp_get_max_active_levels();
      omp_nest_lock_t nested;
      omp_init_nest_lock(&nested);
      n += omp_test_nest_lock(&nested);
      omp_set_schedule(omp_sched_dynamic, n);
      std::setlocale(LC_NUMERIC, "C");
      std::lconv* c = std::localeconv();
      locale_t old = uselocale(newlocale(LC_ALL_MASK, "C", (locale_t)0));
      freelocale(old);
      k<<<1, omp_get_wtick() + 1>>>();
      return *c->decimal_point + *localeconv()->thousands_sep + static_cast<lconv*>(c)->frac_digits;
    }
    """)
    assert kernels(result) == {"k"}


@pytest.mark.parametrize(
    "header",
    [
        "device_vector.h",
        *(
            pytest.param(f"{name}.h", marks=pytest.mark.slow)
            for name in ("host_vector", "universal_vector", "execution_policy")
        ),
    ],
)
def test_thrusts_vectors_declare_its_algorithms_and_function_objects(
    header: str, compiled: Compile, extra: str
) -> None:
    names = "identity plus" if extra == "cu12" else "plus"  # CCCL 3 has no thrust::identity
    uses = " ".join(f"k<<<1, 1>>>(thrust::{name}<int>());" for name in names.split())
    result = compiled(f"""
    #include <thrust/{header}>
    template <class F> __global__ void k(F f) {{}}
    void host(int* p) {{
      {uses}
      thrust::fill(p, p + 3, 1);
      thrust::copy(p, p + 3, thrust::make_permutation_iterator(p, thrust::make_counting_iterator(0)));
    }}
    """)
    assert len(kernels(result)) == len(names.split())


@pytest.mark.parametrize("name", ["counting", "constant"])
def test_a_transformed_counting_iterator_has_its_system(name: str, compiled: Compile) -> None:
    result = compiled(f"""
        #include <thrust/iterator/{name}_iterator.h>
        #include <thrust/iterator/transform_iterator.h>
        #include <type_traits>
        struct Twice {{ __host__ __device__ int operator()(int x) const {{ return 2 * x; }} }};
        using Source = thrust::{name}_iterator<int>;
        using Doubled = thrust::transform_iterator<Twice, Source>;
        static_assert(std::is_same_v<thrust::iterator_system<Doubled>::type, thrust::iterator_system<Source>::type>);
        static_assert(std::is_same_v<thrust::iterator_system<Source>::type, thrust::any_system_tag>);
        __global__ void k(int* out) {{ *out = Doubled(Source(21), Twice())[0]; }}
    """)
    assert kernels(result) == {"k"}
    assert b"42;" in result.ptx


def test_a_member_array_may_have_no_elements_in_an_instance(compiled: Compile) -> None:
    text = """
    template <class T, int N> struct Rest { int n; T rest[N - 4]; char last; };
    template <class T, int N> struct First { T rest[N]; float x[N]; short y; };
    template <class T, int N> struct End { int n; T rest[N]; };
    static_assert(sizeof(Rest<float, 4>) == 8 && sizeof(Rest<double, 4>) == 16 && sizeof(Rest<float, 6>) == 16);
    static_assert(sizeof(First<double, 0>) == 8 && alignof(First<double, 0>) == 8 && sizeof(First<double, 1>) == 16);
    static_assert(sizeof(End<double, 0>) == 8 && sizeof(End<float, 0>) == 4 && sizeof(End<short, 1>) == 8);
    template <int N> __global__ void k(Rest<double, N>* r, First<double, N - 4>* f) {
      for (int i = 0; i < N - 4; i++) r->n += r->rest[i] + f->rest[i] + f->x[i];
      r->last = 1;
      f->y = 2;
    }
    void host() { k<4><<<1, 1>>>(nullptr, nullptr); k<6><<<1, 1>>>(nullptr, nullptr); }
    """
    result = compiled(text, options=("--std=c++20",))
    assert kernels(result) == {"k<4>", "k<6>"}
    (body,) = re.findall(r"\.entry _Z1kILi4E\w*\((.*?)\n}", result.ptx.decode(), re.DOTALL)
    assert re.findall(r"st\.global\.[ub](?:8|16)\s+\[%rd\d+\+?(\d*)\]", body) == ["8", ""]  # as with g++
    with pytest.raises(CompileError):  # never with another layout
        compiled(text)
    with pytest.raises(CompileError):
        compiled(text.replace("struct Rest", "struct __attribute__((packed)) Rest"), options=("--std=c++20",))


def test_assembly_of_the_host_is_left_to_the_host_and_its_operands_stay(compiled: Compile) -> None:
    result = compiled(r"""
    #define CPUID(abcd, function) __asm__ __volatile__ ("xchg{q}\t{%%}rbx, %q1; cpuid": "=a" (abcd[0]) : "0" (function))
    template <class T> __global__ void k(T* x) { asm volatile ("mov.u32 %0, %%laneid;" : "=r"(*x)); }
    template <class T> int launch() { k<T><<<1, 1>>>((T*)nullptr); return 1; }
    inline void cpuid(int abcd[4], int id) {
      __asm__ __volatile__ ("cpuid": "=a" (abcd[0]), [second] "=&r" (abcd[1]) : "0" (launch<int>()), "2" (id) : "memory");
      asm volatile ("" ::: "memory");
      CPUID(abcd, launch<unsigned>());
    }
    """)
    assert {signature(symbol).name for symbol in result.kernels} == {"k<int>", "k<unsigned int>"}
    assert (result.left_out, result.log) == ((), "")
