"""Mistakes that must be an error and never another kernel: in code that device code uses, and in what a file demands."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from tests.builder.compile.generated.case import Case

__all__ = ["mistakes"]

KERNELS = """\
__global__ void plain(int* out) { *out = 1001; }
template <class T> __global__ void typed(T* out) { *out = T(ns::kind(T()) + ns::trait<T>::id); }
void host(float* f, int* i) { typed<<<1, 1>>>(f); typed<<<1, 1>>>(i); plain<<<1, 1>>>(i); }
"""

PRIMARY = """\
namespace ns {
template <class T> __host__ __device__ int kind(T) { return 2001; }
template <class T> struct trait { static constexpr int id = 2011; };
"""

MISTAKES = {
    "undeclared_name": "return missing_name;",
    "undeclared_function": "return missing_function(1);",
    "undeclared_type": "Missing m; return 1;",
    "wrong_argument": "const char* p = 1.5; return *p;",
    "too_many_arguments": "return __popc(1, 2, 3);",
    "missing_semicolon": "int a = 1 return a;",
    "unknown_member": "struct S { int x; } s{}; return s.y;",
    "const_assignment": "const int a = 1; a = 2; return a;",
    "false_assertion": 'static_assert(sizeof(int) == 8, "wrong size"); return 1;',
    "missing_namespace": "return absent::value;",
}

PLACES = {
    "host_device_overload": "__host__ __device__ int kind(float) { BODY }",
    "host_device_specialisation": "template <> __host__ __device__ int kind(float) { BODY }",
    "device_overload": "__device__ int kind(float) { BODY }",
    "trait_member": "template <> struct trait<float> { static __host__ __device__ constexpr int make() { BODY } static constexpr int id = 2012; };",
    "constexpr_overload": "constexpr int kind(float) { BODY }",
    "operator": "struct half_like { float x; __host__ __device__ operator int() const { BODY } };",
    "marked_by_macro": "#define HD __host__ __device__\nHD inline int kind(float) { BODY }",
    "kernel": "__global__ void another(int* out) { auto f = [] { BODY }; *out = f(); }",
    "used_template": "template <class T> __device__ int body() { BODY }\ntemplate <class T> __global__ void another(T* out) { *out = body<T>(); }\ninline void launch(float* p) { another<<<1, 1>>>(p); }",
}

TRAITS = {
    "wrong_base": "template <> struct trait<float> : missing_base { static constexpr int id = 2012; };",
    "wrong_alias": "template <> struct trait<float> { using type = missing_type; static constexpr int id = 2012; };",
    "wrong_value": "template <> struct trait<float> { static constexpr int id = missing_value; };",
    "wrong_field": "template <> struct trait<float> { missing_type x; static constexpr int id = 2012; };",
    "wrong_template": "template <> struct traid<float> { static constexpr int id = 2012; };",
    "wrong_argument": "template <> struct trait<flaot> { static constexpr int id = 2012; };",
    "twice": "template <> struct trait<float> { static constexpr int id = 2012; };\ntemplate <> struct trait<float> { static constexpr int id = 2013; };",
    "after_use": "using used = char[trait<float>::id];\ntemplate <> struct trait<float> { static constexpr int id = 2012; };",
    "no_semicolon": "template <> struct trait<float> { static constexpr int id = 2012; }",
    "unbalanced": "template <> struct trait<float> { static constexpr int id = 2012; ;",
    "wrong_macro": "#define TRAIT(T, N) template <> struct trait<T> { static constexpr int id = N; };\nTRAIT(float)",
    "undefined_macro": "UNDEFINED_TRAIT(float, 2012)",
    "wrong_alias_template": "template <class T> using other = typename trait<T>::missing;\ntemplate <> struct trait<float> { static constexpr int id = sizeof(other<int>); };",
}

DEMANDS = {
    "error_directive": '#error "needs another compiler"',
    "error_directive_under_condition": "#if !defined(NOT_THERE)\n#error needs NOT_THERE\n#endif",
    "error_directive_of_version": "#if CUDART_VERSION < 99000\n#error CUDA 99 is needed\n#endif",
    "false_assertion": 'static_assert(sizeof(long) == 4, "needs 32-bit long");',
    "false_assertion_without_text": "static_assert(1 + 1 == 3);",
    "false_assertion_in_class": 'struct layout { char c; int i; static_assert(sizeof(int) == 2, "layout"); };',
    "false_assertion_in_namespace": 'namespace checks { static_assert(alignof(double) == 1, "alignment"); }',
    "false_assertion_in_template": 'template <class T> struct only_double { static_assert(sizeof(T) == 8, "only double"); static constexpr int id = 1; };\nstatic constexpr int checked = only_double<float>::id;',
    "false_assertion_in_host_class": 'class Stream { void* handle; public: static_assert(sizeof(void*) == 4, "32 bit"); };',
    "missing_header": '#include "not_there.cuh"',
    "missing_header_in_folder": '#include "detail/not_there.h"',
    "missing_header_of_project": "#include <project/kernels_impl.cuh>",
    "unterminated_condition": "#if 1",
    "else_without_if": "#else",
    "undeclared_in_global": "__constant__ int table[missing_size] = {1};",
    "undeclared_in_constant": "constexpr int scale = missing_scale;",
    "unknown_attribute_argument": "__global__ void __launch_bounds__(missing_bound) bounded(int* out) { *out = 1; }",
    "kernel_returns": "__global__ int returns(int* out) { return *out; }",
    "kernel_in_class": "struct holder { __global__ void member(int* out) { *out = 1; } };",
    "unbalanced_brace": "namespace open {",
    "unclosed_string": 'static const char* text = "no end;',
    "device_variable_of_class": "struct made { int x; __device__ made() : x(3) {} };\n__device__ made object;",
}

MISUSES = {
    "host_variable_read": "int counter = 5;\n__global__ void uses(int* out) { *out = counter; }",
    "host_variable_written": "int counter;\n__global__ void uses(int*) { counter = 1; }",
    "host_array": "float table[4] = {1, 2, 3, 4};\n__global__ void uses(float* out) { *out = table[threadIdx.x]; }",
    "host_static_variable": "static double factor = 2.0;\n__device__ double scaled(double x) { return factor * x; }\n__global__ void uses(double* out) { *out = scaled(*out); }",
    "host_address": "int counter;\n__global__ void uses(int** out) { *out = &counter; }",
    "host_const_float": "const float factor = 2.5f;\n__global__ void uses(float* out) { *out = factor; }",
    "host_const_int": "const int factor = 1025;\n__global__ void uses(int* out) { *out = factor; }",
    "host_const_int_by_reference": "const int factor = 1025;\n__device__ int by_reference(const int& x) { return x; }\n__global__ void uses(int* out) { *out = by_reference(factor); }",
    "host_constexpr_array": "constexpr int table[3] = {1025, 1026, 1027};\n__global__ void uses(int* out) { *out = table[1]; }",
    "host_constexpr_array_at_run_time": "constexpr int table[3] = {1025, 1026, 1027};\n__global__ void uses(int* out) { *out = table[threadIdx.x]; }",
    "host_static_member": "struct settings { static int value; };\n__global__ void uses(int* out) { *out = settings::value; }",
    "host_const_member": "struct settings { static const int value = 1025; };\n__global__ void uses(int* out) { *out = settings::value; }",
    "host_constexpr_member": "struct settings { static constexpr float value = 1.25f; };\n__global__ void uses(float* out) { *out = settings::value; }",
    "host_constexpr_object": "struct pair { int a, b; };\nconstexpr pair both{1025, 1026};\n__global__ void uses(int* out) { *out = both.b; }",
    "host_size": "float table[1030];\n__global__ void uses(int* out) { *out = sizeof(table); }",
    "host_type": "short table[3];\n__global__ void uses(int* out) { decltype(table) t; *out = 1000 + sizeof(t[0]) + (sizeof(t) > 1); }",
    "host_reference": "int counter;\nint& alias = counter;\n__global__ void uses(int* out) { *out = alias; }",
    "host_inline_variable": "inline int counter = 1;\n__global__ void uses(int* out) { *out = counter; }",
    "host_inline_constexpr": "inline constexpr int counter = 1025;\n__global__ void uses(int* out) { *out = counter; }",
    "host_variable_template": "template <class T> T counter = T(1);\n__global__ void uses(int* out) { *out = counter<int>; }",
    "host_constexpr_template": "template <class T> constexpr T counter = T(1025);\n__global__ void uses(int* out) { *out = counter<int>; }",
    "host_thread_local": "thread_local int counter;\n__global__ void uses(int* out) { *out = counter; }",
    "host_variable_in_macro": "#ifdef __CUDA_ARCH__\n#define VALUE counter\n#else\n#define VALUE 1\n#endif\nint counter;\n__global__ void uses(int* out) { *out = VALUE; }",
    "host_function": "int helper(int x) { return x + 1; }\n__global__ void uses(int* out) { *out = helper(1); }",
    "host_function_declared": "int helper(int x);\n__global__ void uses(int* out) { *out = helper(1); }",
    "host_function_static": "static inline float helper(float x) { return x + 1; }\n__global__ void uses(float* out) { *out = helper(1); }",
    "host_function_marked": "__host__ int helper(int x) { return x + 1; }\n__global__ void uses(int* out) { *out = helper(1); }",
    "host_function_template": "template <class T> T helper(T x) { return x + 1; }\n__global__ void uses(int* out) { *out = helper(1); }",
    "host_function_of_device_template": "int helper(int x) { return x; }\ntemplate <class T> __device__ T through(T x) { return helper(x); }\n__global__ void uses(int* out) { *out = through(1); }",
    "host_function_of_host_device": "int helper(int x) { return x; }\n__host__ __device__ int both(int x) { return helper(x); }\n__global__ void uses(int* out) { *out = both(1); }",
    "host_function_of_host_device_unused": "int helper(int x) { return x; }\n__host__ __device__ int both(int x) { return helper(x); }\n__global__ void uses(int* out) { *out = 1001; }",
    "host_function_of_host_device_template": "int helper(int x) { return x; }\ntemplate <class T> __host__ __device__ T both(T x) { return helper(x); }\n__global__ void uses(int* out) { *out = both(1); }",
    "host_constexpr_function": "constexpr int helper(int x) { return x + 1024; }\n__global__ void uses(int* out) { *out = helper(1); }",
    "host_constructor": "struct made { int x; made(int v) : x(v) {} };\n__global__ void uses(int* out) { made m(1); *out = m.x; }",
    "host_default_constructor": "struct made { int x = 1025; };\n__global__ void uses(int* out) { made m; *out = m.x; }",
    "host_destructor": "struct made { int x; ~made() {} };\n__global__ void uses(int* out) { made m{1}; *out = m.x; }",
    "host_method": "struct made { int x; int get() const { return x; } };\n__global__ void uses(made m, int* out) { *out = m.get(); }",
    "host_operator": "struct made { int x; };\nmade operator+(made a, made b) { return {a.x + b.x}; }\n__global__ void uses(made* m) { *m = *m + *m; }",
    "host_conversion": "struct made { int x; operator int() const { return x; } };\n__global__ void uses(made m, int* out) { *out = m; }",
    "host_lambda": "auto helper = [](int x) { return x + 1; };\n__global__ void uses(int* out) { *out = helper(1); }",
    "host_new_placement": "struct made { int x; made(); };\n__global__ void uses(made* m) { *m = made(); }",
    "host_virtual": "struct base { virtual int f() { return 1; } };\n__global__ void uses(base* b, int* out) { *out = b->f(); }",
    "host_function_pointer": "int helper(int x) { return x; }\n__global__ void uses(int* out) { int (*f)(int) = helper; *out = f(1); }",
    "device_function_in_host": "__device__ int helper(int x) { return x; }\nint uses() { return helper(1); }",
    "device_variable_in_host": "__device__ int counter;\nint uses() { return counter; }",
    "device_function_in_host_template": "__device__ int helper(int x) { return x; }\ntemplate <class T> T uses(T x) { return helper(x); }\nint calls() { return uses(1); }",
    "function_launched": "void helper(int*) {}\nvoid uses() { helper<<<1, 1>>>(nullptr); }",
    "launch_of_missing_template_argument": "template <class T> __global__ void kernel(int*) {}\nvoid uses(int* p) { kernel<<<1, 1>>>(p); }",
    "launch_of_ambiguous_deduction": "template <class T> __global__ void kernel(T a, T b) {}\nvoid uses() { kernel<<<1, 1>>>(1, 2.0f); }",
    "local_type_in_kernel": "template <class T> __global__ void kernel(T) {}\nvoid uses() { struct local { int x; }; kernel<<<1, 1>>>(local{1}); }",
    "host_lambda_in_kernel": "template <class F> __global__ void kernel(F f, int* out) { *out = f(1); }\nvoid uses(int* p) { kernel<<<1, 1>>>([](int x) { return x; }, p); }",
    "private_type_in_kernel": "template <class T> __global__ void kernel(T) {}\nclass holder { struct hidden { int x; }; void uses() { kernel<<<1, 1>>>(hidden{1}); } };",
    "device_lambda_without_capture_mode": "template <class F> __global__ void kernel(F f, int* out) { *out = f(1); }\nvoid uses(int* p) { int y = 2; kernel<<<1, 1>>>([&] __device__(int x) { return x + y; }, p); }",
    "shared_initialised": "__global__ void kernel(int* out) { __shared__ int s = 1; *out = s; }",
    "shared_in_host": "void uses() { __shared__ int s; (void)s; }",
    "variadic_kernel": "__global__ void kernel(int* out, ...) { *out = 1; }",
    "reference_parameter": "__global__ void kernel(int& out) { out = 1; }",
    "exception_in_device": "__global__ void kernel(int* out) { if (*out) throw 1; }",
    "try_in_device": "__global__ void kernel(int* out) { try { *out = 1; } catch (...) { } }",
    "rtti_in_device": "struct base { virtual ~base(); }; struct derived : base {};\n__global__ void kernel(base* b, int* out) { *out = dynamic_cast<derived*>(b) != nullptr; }",
    "thread_local_in_device": "__global__ void kernel(int* out) { thread_local int x; *out = x; }",
    "static_in_device": "__global__ void kernel(int* out) { static int x = 1025; *out = ++x; }",
    "nothing_wrong": "__global__ void kernel(int* out) { *out = 1; }",
}

HOST_MISTAKES: dict[str, tuple[str, str]] = {
    # name: (a mistake in a host function, the function without it)
    "undeclared_function": ("void report() { missing_function(1); }", "void report() {}"),
    "undeclared_type": ("void report() { missing::Type value; }", "void report() {}"),
    "undeclared_parameter_type": ("void report(missing::Type value) {}", ""),
    "wrong_member": (
        "struct Timer { int t; }; void report() { Timer timer; timer.start(); }",
        "struct Timer { int t; }; void report() {}",
    ),
    "undeclared_return_type": ("missing::Type report() { return {}; }", ""),
    "beside_a_launch": (
        "void report(int* p) { plain<<<1, 1>>>(p); missing::wait(); }",
        "void report(int* p) { plain<<<1, 1>>>(p); }",
    ),
    "beside_a_template_launch": (
        "void report(double* p) { typed<<<1, 1>>>(p); missing::wait(); }",
        "void report(double* p) { typed<<<1, 1>>>(p); }",
    ),
    "launch_of_unknown_type": ("void report() { missing::Type* p; typed<<<1, 1>>>(p); }", "void report() {}"),
    "launch_in_unknown_macro": (
        "void report(double* p) { MISSING_DISPATCH(1, { typed<<<1, 1>>>(p); }); }",
        "void report(double* p) { typed<<<1, 1>>>(p); }",
    ),
    "argument_of_unknown_function": ("void report() { typed<<<1, 1>>>(missing::pointer()); }", "void report() {}"),
    "variable_of_unknown_type": ("missing::Registry registry;", ""),
    "kernel_called_without_configuration": (
        "__global__ void kernel(int*) {}\nvoid uses() { kernel(nullptr); }",
        "__global__ void kernel(int*) {}",
    ),
    "launch_of_wrong_argument": (
        "__global__ void kernel(int*) {}\nvoid uses(float* p) { kernel<<<1, 1>>>(p); }",
        "__global__ void kernel(int*) {}",
    ),
    "launch_without_grid": (
        "__global__ void kernel(int*) {}\nvoid uses(int* p) { kernel<<<>>>(p); }",
        "__global__ void kernel(int*) {}",
    ),
    "unused_template": (
        "template <class T> void report(T x) { missing::wait(1); }",
        "template <class T> void report(T x) {}",
    ),
}


MISTAKES_IN_EACH_PLACE = 5


def mistakes() -> Iterator[Case]:
    """Yield mistakes in each place, by turns in the file and in its header."""
    in_header = itertools.cycle((True, False))
    turn = itertools.cycle(MISTAKES.items())
    for place, code in PLACES.items():
        for mistake, body in itertools.islice(turn, MISTAKES_IN_EACH_PLACE):
            yield _placed(f"mistakes/{place}/{mistake}", code.replace("BODY", body), next(in_header))
        next(turn)
        yield _placed(f"mistakes/{place}/none", code.replace("BODY", "return 2002;"), next(in_header))
    for trait, code in TRAITS.items():
        yield _placed(f"mistakes/trait/{trait}", code, next(in_header))
    for demand, code in DEMANDS.items():
        yield _placed(f"demands/{demand}", "}\n" + code + "\nnamespace ns {", next(in_header))
    for misuse, code in MISUSES.items():
        yield Case(f"misuses/{misuse}", f"{code}\nvoid host(int*) {{}}\n")
    for name, (wrong, right) in HOST_MISTAKES.items():
        base = PRIMARY + "}\n" + KERNELS
        yield Case(f"host_mistakes/{name}", base + wrong + "\n", corrected=base + right + "\n")


def _placed(name: str, code: str, in_header: bool) -> Case:
    text = f"{PRIMARY}{code}\n}}\n"
    if in_header:
        return Case(f"{name}/header", '#include "traits.cuh"\n' + KERNELS, {"traits.cuh": "#pragma once\n" + text})
    return Case(f"{name}/file", text + KERNELS)
