"""Specialisations and overloads that device code needs, made in every way, in the file or in a header."""

from __future__ import annotations

from collections.abc import Iterator

from tests.builder.compile.generated.case import Case

__all__ = ["specialisations"]

PRIMARY = """\
namespace ns {
template <class T, class Enable = void> struct acc { using type = T; static constexpr int id = 2001; };
template <class T> __host__ __device__ int kind(T) { return 2011; }
template <class T> struct reader { __device__ static int get(const T*) { return 2021; } static const int width; template <class U> struct nested { static constexpr int id = 2031; }; };
template <class T> const int reader<T>::width = 2041;
template <class T> constexpr int rank = 2051;
template <class T> constexpr int level(T) { return 2061; }
struct wide { float x; };
}
"""

KERNEL = """\
template <class T> __global__ void reduce(const T* in, T* out) {
  using A = typename ns::acc<T>::type;
  A sum = 0;
  for (int i = 0; i < 5; ++i) sum += in[i];
  *out = T(sum);
  int* answers = (int*)(out + 1);
  answers[0] = ns::acc<T>::id;
  answers[1] = ns::kind(*in);
  answers[2] = ns::reader<T>::get(in);
  answers[3] = ns::rank<T>;
  answers[4] = ns::level(T());
  answers[5] = ns::reader<T>::template nested<int>::id;
}
void host(float* p, int* q) { reduce<<<1, 1>>>(p, p); reduce<<<1, 1>>>(q, q); }
"""

WAYS: dict[str, str] = {
    "plain": "namespace ns { template <> struct acc<float> { using type = double; static constexpr int id = 2002; }; }",
    "macro": "#define ACC(T, A, I) template <> struct acc<T> { using type = A; static constexpr int id = I; };\nnamespace ns { ACC(float, double, 2002) ACC(int, long long, 2003) }",
    "macro_with_namespace": "#define ACC(T, A, I) namespace ns { template <> struct acc<T> { using type = A; static constexpr int id = I; }; }\nACC(float, double, 2002)",
    "macro_list": "#define TYPES(X) X(float, double, 2002) X(int, long long, 2003)\nnamespace ns {\n#define ACC(T, A, I) template <> struct acc<T> { using type = A; static constexpr int id = I; };\nTYPES(ACC)\n#undef ACC\n}",
    "scoped": "template <> struct ns::acc<float> { using type = double; static constexpr int id = 2002; };",
    "partial": "namespace ns { template <class E> struct acc<float, E> { using type = double; static constexpr int id = 2002; }; }",
    "partial_enabled": "namespace ns { template <bool B> struct on {}; template <> struct on<true> { using type = void; };\ntemplate <class T> struct acc<T, typename on<(sizeof(T) == 4 && T(0.5f) != 0)>::type> { using type = double; static constexpr int id = 2002; }; }",
    "inherited": "namespace ns { struct wide_acc { using type = double; static constexpr int id = 2002; }; template <> struct acc<float> : wide_acc {}; }",
    "alias": "namespace ns { using real = float; template <> struct acc<real> { using type = double; static constexpr int id = 2002; }; }",
    "host_device_function": "namespace ns { template <> __host__ __device__ int kind(float) { return 2012; } }",
    "host_device_function_scoped": "template <> __host__ __device__ int ns::kind<float>(float) { return 2012; }",
    "host_device_overload": "namespace ns { __host__ __device__ int kind(float) { return 2012; } }",
    "device_overload": "namespace ns { __device__ int kind(float) { return 2012; } }",
    "host_overload": "namespace ns { __host__ int kind(float) { return 2012; } }",
    "host_overload_of_double": "namespace ns { __host__ int kind(double) { return 2012; } }",
    "host_and_device_overloads": "namespace ns { __host__ int kind(float) { return 2013; } __device__ int kind(float, int = 0) { return 2012; } }",
    "unmarked_overload": "namespace ns { int kind(float); inline int kind(float) { return 2012; } }",
    "constexpr_overload": "namespace ns { constexpr int kind(float) { return 2012; } }",
    "conditional_overload": "namespace ns {\n#ifdef __CUDA_ARCH__\n__device__ int kind(float) { return 2012; }\n#else\ninline int kind(float) { return 2013; }\n#endif\n}",
    "member_function": "namespace ns { template <> __device__ int reader<float>::get(const float*) { return 2022; } }",
    "member_function_scoped": "template <> __device__ int ns::reader<float>::get(const float*) { return 2022; }",
    "member_class_template": "template <> template <class U> struct ns::reader<float>::nested { static constexpr int id = 2032; };",
    "member_class": "template <> template <> struct ns::reader<float>::nested<int> { static constexpr int id = 2032; };",
    "whole_class": "template <> struct ns::reader<float> { __device__ static int get(const float*) { return 2022; } template <class U> struct nested { static constexpr int id = 2033; }; };",
    "variable_template": "namespace ns { template <> constexpr int rank<float> = 2052; }",
    "variable_template_scoped": "template <> constexpr int ns::rank<float> = 2052;",
    "variable_template_partial": "namespace ns { template <class T> constexpr int rank<T*> = 2053; template <> constexpr int rank<float> = 2052; }",
    "constexpr_function": "namespace ns { template <> constexpr int level(float) { return 2062; } }",
    "constexpr_function_scoped": "template <> constexpr int ns::level<float>(float) { return 2062; }",
    "constexpr_function_overload": "namespace ns { constexpr int level(float) { return 2062; } }",
    "under_condition": "namespace ns {\n#if defined(__CUDACC__)\ntemplate <> struct acc<float> { using type = double; static constexpr int id = 2002; };\n#endif\n#if __CUDA_ARCH__ < 300\ntemplate <> struct acc<int> { using type = long long; static constexpr int id = 2003; };\n#endif\n}",
    "under_macro_version": "#if CUDART_VERSION >= 11000\nnamespace ns { template <> struct acc<float> { using type = double; static constexpr int id = 2002; }; }\n#endif",
    "several": "namespace ns { template <> struct acc<float> { using type = double; static constexpr int id = 2002; }; template <> struct acc<int> { using type = long long; static constexpr int id = 2003; };\ntemplate <> constexpr int rank<float> = 2052; template <> constexpr int rank<int> = 2054; }",
    "marked_by_macro": "#define HD __host__ __device__\n#define INLINE_HD HD inline\nnamespace ns { INLINE_HD int kind(float) { return 2012; } template <> HD int kind<int>(int) { return 2014; } }",
    "friend": "namespace ns { struct owner { friend __host__ __device__ int kind(owner, float) { return 2012; } }; template <> __host__ __device__ int kind(float f) { return kind(owner(), f) + 100; } }",
    "explicit_instantiation_after": "namespace ns { template <> struct acc<float> { using type = double; static constexpr int id = 2002; }; template struct acc<int>; extern template struct acc<short>; }",
}


def specialisations() -> Iterator[Case]:
    """Yield each way, by turns in the file and in a header."""
    for number, (way, code) in enumerate(WAYS.items()):
        header = f"#pragma once\n#include <cstdint>\n{PRIMARY}{code}\n"
        if number % 2:
            yield Case(
                f"specialisations/{way}/header",
                '#include "detail/traits.cuh"\n' + KERNEL,
                {"detail/traits.cuh": header},
            )
        else:
            yield Case(f"specialisations/{way}/file", PRIMARY + code + "\n" + KERNEL)
    yield Case("specialisations/after_the_kernel/file", PRIMARY + KERNEL + WAYS["plain"] + "\n")
    yield from _of_libraries()


OF_LIBRARIES: dict[str, tuple[str, str, str]] = {
    # name: (includes, specialisation, constant expression)
    "std_numeric_limits": (
        "#include <limits>",
        "namespace std { template <> struct numeric_limits<Mine> { static constexpr bool is_specialized = true; static constexpr int digits = 3002; }; }",
        "std::numeric_limits<Mine>::digits",
    ),
    "std_numeric_limits_scoped": (
        "#include <limits>",
        "template <> struct std::numeric_limits<Mine> { static constexpr int digits = 3002; };",
        "std::numeric_limits<Mine>::digits",
    ),
    "std_numeric_limits_by_macro": (
        "#include <limits>",
        "#define LIMITS(T, N) namespace std { template <> struct numeric_limits<T> { static constexpr int digits = N; }; }\nLIMITS(Mine, 3002)",
        "std::numeric_limits<Mine>::digits",
    ),
    "std_tuple_size": (
        "#include <tuple>",
        "namespace std { template <> struct tuple_size<Mine> : integral_constant<size_t, 3002> {}; }",
        "(int)std::tuple_size<Mine>::value",
    ),
    "std_is_floating_point_like": (
        "#include <type_traits>",
        "template <class T> struct is_real : std::is_floating_point<T> {}; template <> struct is_real<Mine> : std::true_type {};",
        "(is_real<Mine>::value ? 3002 : 3001)",
    ),
    "std_common_type": (
        "#include <type_traits>",
        "namespace std { template <> struct common_type<Mine, int> { using type = char[3002]; }; }",
        "(int)sizeof(std::common_type<Mine, int>::type)",
    ),
    "cuda_std_numeric_limits": (
        "#include <cuda/std/limits>",
        "namespace cuda { namespace std { template <> class numeric_limits<Mine> { public: static constexpr int digits = 3002; }; } }",
        "cuda::std::numeric_limits<Mine>::digits",
    ),
    "cuda_std_trait_scoped": (
        "#include <cuda/std/tuple>",
        "template <> struct cuda::std::tuple_size<Mine> { static constexpr int value = 3002; };",
        "cuda::std::tuple_size<Mine>::value",
    ),
}


def _of_libraries() -> Iterator[Case]:
    for name, (includes, code, use) in OF_LIBRARIES.items():
        text = f"{includes}\nstruct Mine {{ float x; }};\n{code}\ntemplate <int N> __global__ void show(int* out) {{ *out = N; }}\n"
        text += f"__global__ void direct(int* out) {{ *out = {use}; }}\nvoid host(int* out) {{ show<{use}><<<1, 1>>>(out); }}\n"
        yield Case(f"specialisations/of_libraries/{name}", text)
