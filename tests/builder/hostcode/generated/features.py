"""Language features of host code and of kernels, one in each file, beside kernels that must come out unchanged."""

from __future__ import annotations

from collections.abc import Iterator

from tests.builder.hostcode.generated.case import Case

__all__ = ["features"]

KERNELS = """\
template <class T> __global__ void typed(T* out) { *out = T(1001); }
__global__ void plain(int* out) { *out = 1002; }
"""

HOST: dict[str, str] = {
    # host code that launches typed<...>, so that a function that is left out loses a kernel
    "virtual_functions": "struct base { virtual void run(float*) = 0; virtual ~base() {} };\nstruct derived final : base { void run(float* p) override { typed<<<1, 1>>>(p); } };\nbase* make() { return new derived; }",
    "exceptions": "struct failure { const char* what; };\nvoid host(float* p) noexcept(false) { try { typed<<<1, 1>>>(p); if (cudaGetLastError() != cudaSuccess) throw failure{\"no\"}; } catch (const failure& f) { throw; } catch (...) { } }",
    "function_try_block": "struct holder { int x; holder(float* p) try : x(1) { typed<<<1, 1>>>(p); } catch (...) { } };\nvoid host(float* p) { holder h(p); }",
    "dynamic_cast": "struct base { virtual ~base() {} }; struct derived : base { float* p; };\nvoid host(base* b) { if (auto d = dynamic_cast<derived*>(b)) typed<<<1, 1>>>(d->p); }",
    "static_local": "void host(float* p) { static bool once = [&] { typed<<<1, 1>>>(p); return true; }(); (void)once; }",
    "static_local_of_class": "struct pool { pool(); ~pool(); float* get(); };\nvoid host() { static pool p; typed<<<1, 1>>>(p.get()); }",
    "thread_local": "thread_local float* current = nullptr;\nvoid host() { typed<<<1, 1>>>(current); }",
    "global_with_constructor": "struct pool { pool(); ~pool(); float* get(); };\nstatic pool shared_pool;\npool& other = shared_pool;\nvoid host() { typed<<<1, 1>>>(other.get()); }",
    "global_initialised_by_launch": "static int started = (typed<<<1, 1>>>((float*)nullptr), 1);",
    "global_initialised_by_lambda": "static int started = [] { typed<<<1, 1>>>((float*)nullptr); return 1; }();",
    "constructor_launches": "struct starter { starter(float* p) { typed<<<1, 1>>>(p); } };\nstarter start((float*)nullptr);",
    "extern_c": 'extern "C" void host(float* p) { typed<<<1, 1>>>(p); }\nextern "C" { int other(void); __global__ void c_kernel(int* out) { *out = 1003; } }',
    "main": "int main(int argc, char** argv) { float* p; cudaMalloc(&p, 4); typed<<<1, 1>>>(p); cudaDeviceSynchronize(); return argc > 1 && argv[1][0]; }",
    "c_variadic": "#include <cstdarg>\nvoid host(const char* format, ...) { va_list list; va_start(list, format); float* p = va_arg(list, float*); va_end(list); typed<<<1, 1>>>(p); }",
    "default_arguments": "void host(float* p = nullptr, int blocks = 1 << 3, cudaStream_t stream = 0) { typed<<<blocks, 1, 0, stream>>>(p); }\nvoid other() { host(); }",
    "operator_new": "void host() { float* p = new float[4]; typed<<<1, 1>>>(p); delete[] p; }",
    "friend_template": "template <class T> class box { T* p = nullptr; template <class U> friend void launch(box<U>&); };\ntemplate <class U> void launch(box<U>& b) { typed<<<1, 1>>>(b.p); }\nvoid host() { box<float> b; launch(b); }",
    "friend_defined_inside": "template <class T> struct box { T* p; friend void launch(box b) { typed<<<1, 1>>>(b.p); } };\nvoid host() { launch(box<float>{}); }",
    "nested_classes": "struct outer { struct inner { template <class T> struct innermost { void run(T* p) { typed<<<1, 1>>>(p); } }; }; };\nvoid host() { outer::inner::innermost<float>().run(nullptr); }",
    "class_out_of_line": "namespace ns { struct P; }\nstruct ns::P { float* p; void run() { typed<<<1, 1>>>(p); } };",
    "member_out_of_line": "namespace ns { template <class T> struct P { void run(T* p); }; }\ntemplate <class T> void ns::P<T>::run(T* p) { typed<<<1, 1>>>(p); }\nvoid host() { ns::P<float>().run(nullptr); }",
    "kernel_out_of_line": "namespace ns { template <class T> __global__ void late(T* out); }\nvoid host(float* p) { ns::late<<<1, 1>>>(p); }\ntemplate <class T> __global__ void ns::late(T* out) { *out = T(1004); }",
    "explicit_instantiation": "template <class T> void launch(T* p) { typed<<<1, 1>>>(p); }\ntemplate void launch<float>(float*);\ntemplate void launch(double*);",
    "extern_template": "template <class T> void launch(T* p) { typed<<<1, 1>>>(p); }\nextern template void launch<float>(float*);\nvoid host(float* p) { launch(p); }",
    "extern_template_kernel": "extern template __global__ void typed<float>(float*);\nvoid host(float* p) { typed<<<1, 1>>>(p); }",
    "class_explicit_instantiation": "template <class T> struct L { void a(T* p) { typed<<<1, 1>>>(p); } void b() { typed<<<1, 1>>>((T**)nullptr); } };\ntemplate struct L<float>;",
    "unused_member_of_template": "template <class T> struct L { void a(T* p) { typed<<<1, 1>>>(p); } void b() { typed<<<1, 1>>>((T**)nullptr); } };\nvoid host(float* p) { L<float> l; l.a(p); }",
    "virtual_member_of_template": "template <class T> struct L { virtual void a(T* p) { typed<<<1, 1>>>(p); } virtual ~L() {} };\nvoid host() { new L<float>; }",
    "unevaluated_launch": "template <class T> auto launch(T* p) { typed<<<1, 1>>>(p); return 1; }\nusing R = decltype(launch((float*)nullptr));\nconstexpr int n = sizeof(launch((double*)nullptr));",
    "unevaluated_address": "constexpr int n = sizeof(&typed<float>);\nusing T = decltype(&typed<double>);",
    "address_as_template_argument": "template <void (*K)(float*)> void launch(float* p) { K<<<1, 1>>>(p); }\nvoid host(float* p) { launch<typed<float>>(p); launch<&typed<float>>(p); }",
    "address_as_auto_argument": "template <auto K> void launch(float* p) { K<<<1, 1>>>(p); }\nvoid host(float* p) { launch<&typed<float>>(p); }",
    "address_in_global_table": "typedef void (*Kernel)(float*);\nstatic const Kernel kernels[] = {typed<float>, nullptr};\nvoid host(float* p) { kernels[0]<<<1, 1>>>(p); }",
    "address_in_global_table_unused": "typedef void (*Kernel)(float*);\nstatic const Kernel kernels[] = {typed<float>, nullptr};",
    "address_in_struct": "struct entry { const char* name; void (*kernel)(float*); };\nconst entry entries[] = {{\"typed\", typed<float>}, {nullptr, nullptr}};\nvoid host(int i, float* p) { entries[i].kernel<<<1, 1>>>(p); }",
    "address_as_void": "void host() { const void* k = (const void*)typed<float>; const void* l = reinterpret_cast<const void*>(&typed<double>); cudaFuncAttributes a; cudaFuncGetAttributes(&a, k); cudaFuncGetAttributes(&a, l); }",
    "address_chosen": "void host(bool b, float* p) { auto k = b ? typed<float> : nullptr; k<<<1, 1>>>(p); }",
    "address_returned": "template <class T> auto choose() { return &typed<T>; }\nvoid host(float* p) { choose<float>()<<<1, 1>>>(p); }",
    "address_passed": "template <class... P> void launch(void (*kernel)(P...), P... p) { kernel<<<1, 1>>>(p...); }\nvoid host(float* p) { launch(typed<float>, p); launch(plain, (int*)nullptr); }",
    "address_deduced": "template <class T> void launch(void (*kernel)(T*), T* p) { kernel<<<1, 1>>>(p); }\nvoid host(double* p) { launch(&typed, p); }",
    "template_template": "template <template <class> class Op> struct L { static void run(float* p) { typed<<<1, 1>>>((typename Op<float>::type*)p); } };\ntemplate <class T> struct widen { using type = double; };\nvoid host(float* p) { L<widen>::run(p); }",
    "type_list": "template <class... T> struct list {};\ntemplate <class... T> void each(list<T...>) { (typed<<<1, 1>>>((T*)nullptr), ...); }\nvoid host() { each(list<float, short, char>()); }",
    "tag_dispatch": "struct small {}; struct large {};\ntemplate <class T> void go(T* p, small) { typed<<<1, 1>>>(p); }\ntemplate <class T> void go(T* p, large) { typed<<<1, 1>>>((double*)p); }\nvoid host(float* p) { go(p, large()); }",
    "curiously_recurring": "template <class D> struct base { void run() { static_cast<D*>(this)->impl(); } };\nstruct derived : base<derived> { void impl() { typed<<<1, 1>>>((float*)nullptr); } };\nvoid host() { derived().run(); }",
    "integer_sequence": "template <int... I> struct seq {};\ntemplate <int N, int... I> struct make : make<N - 1, N - 1, I...> {};\ntemplate <int... I> struct make<0, I...> { using type = seq<I...>; };\ntemplate <int N> __global__ void numbered(int* out) { *out = 3000 + N; }\ntemplate <int... I> void all(seq<I...>) { (numbered<I><<<1, 1>>>(nullptr), ...); }\nvoid host() { all(make<4>::type()); }",
    "recursive_dispatch": "template <int N> __global__ void numbered(int* out) { *out = 3000 + N; }\ntemplate <int N> void go(int n, int* p) { if (n == N) numbered<N><<<1, 1>>>(p); else if constexpr (N > 1) go<N / 2>(n, p); }\nvoid host(int n, int* p) { go<32>(n, p); }",
    "recursive_class": "template <int N> __global__ void numbered(int* out) { *out = 3000 + N; }\ntemplate <int N> struct go { static void run(int* p) { numbered<N><<<1, 1>>>(p); go<N - 1>::run(p); } };\ntemplate <> struct go<0> { static void run(int*) {} };\nvoid host(int* p) { go<3>::run(p); }",
    "nested_generic_lambdas": "template <int N> struct width { static constexpr int value = N; };\ntemplate <int N, class T> __global__ void both(T* out) { *out = T(3000 + N); }\ntemplate <class F> void widths(int n, F f) { if (n > 1) f(width<2>()); else f(width<1>()); }\ntemplate <class F> void types(bool b, F f) { if (b) f(0.0f); else f(0); }\nvoid host(int n, void* p) { widths(n, [&](auto w) { types(n > 2, [&](auto t) { using T = decltype(t); both<decltype(w)::value, T><<<1, 1>>>((T*)p); }); }); }",
    "template_lambda_macro": "#define BOOL_SWITCH(C, NAME, ...) [&] { if (C) { constexpr static bool NAME = true; return __VA_ARGS__(); } else { constexpr static bool NAME = false; return __VA_ARGS__(); } }()\ntemplate <bool A, bool B> __global__ void flags(int* out) { *out = 3000 + A + 2 * B; }\nvoid host(bool a, bool b, int* p) { BOOL_SWITCH(a, A, [&] { BOOL_SWITCH(b, B, [&] { flags<A, B><<<1, 1>>>(p); }); }); }",
    "dispatch_macro": "#define CASE(E, T, ...) case E: { using scalar_t = T; return __VA_ARGS__(); }\n#define DISPATCH(TYPE, NAME, ...) [&] { switch (TYPE) { CASE(0, float, __VA_ARGS__) CASE(1, double, __VA_ARGS__) default: return; } }()\nvoid host(int type, void* p) { DISPATCH(type, \"typed\", ([&] { typed<scalar_t><<<1, 1>>>((scalar_t*)p); })); }",
    "launch_in_macro": "#define LAUNCH(kernel, ...) do { kernel<<<1, 1>>>(__VA_ARGS__); cudaError_t e = cudaGetLastError(); if (e != cudaSuccess) { (void)cudaGetErrorString(e); } } while (0)\nvoid host(float* p) { LAUNCH(typed, p); LAUNCH(typed<double>, nullptr); }",
    "names_pasted": "#define MAKE(N, T) void host_##N(T* p) { typed<<<1, 1>>>(p); }\nMAKE(f, float) MAKE(d, double)",
    "kernel_by_macro": "#define KERNEL(N, T) __global__ void made_##N(T* out) { *out = T(3001); } void host_##N(T* p) { made_##N<<<1, 1>>>(p); }\nKERNEL(f, float) KERNEL(d, double)\n#undef KERNEL\n#define KERNEL(N, T) __global__ void other_##N(T* out) { *out = T(3002); }\nKERNEL(i, int)",
    "kernel_by_include": '#define T float\n#define NAME from_float\n#include "kernel.inc"\n#undef T\n#undef NAME\n#define T double\n#define NAME from_double\n#include "kernel.inc"',
    "kernel_under_condition": "#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800\n__global__ void newer(int* out) { *out = 3001; }\n#else\n__global__ void older(int* out) { *out = 3002; }\n#endif",
    "static_kernel": "static __global__ void hidden(int* out) { *out = 3001; }\nvoid host(int* p) { hidden<<<1, 1>>>(p); }",
    "static_kernel_unused": "static __global__ void hidden(int* out) { *out = 3001; }",
    "static_template_kernel": "template <class T> static __global__ void hidden(T* out) { *out = T(3001); }\nvoid host(int* p) { hidden<<<1, 1>>>(p); }",
    "anonymous_kernel": "namespace { __global__ void hidden(int* out) { *out = 3001; } struct tag {}; template <class T> __global__ void hidden_typed(T*) {} }\nvoid host(int* p) { hidden<<<1, 1>>>(p); hidden_typed<<<1, 1>>>((tag*)p); }",
    "anonymous_kernel_unused": "namespace { __global__ void hidden(int* out) { *out = 3001; } }",
    "inline_kernel": "inline __global__ void shared_one(int* out) { *out = 3001; }\nvoid host(int* p) { shared_one<<<1, 1>>>(p); }",
    "inline_kernel_unused": "inline __global__ void shared_one(int* out) { *out = 3001; }",
    "static_member_kernel": "struct holder { static __global__ void member(int* out); template <class T> static void run(T* p) { typed<<<1, 1>>>(p); } };\nvoid host(short* p) { holder::run(p); }",
    "kernel_declared_only": "__global__ void elsewhere(int*);\nvoid host(int* p) { elsewhere<<<1, 1>>>(p); }",
    "kernel_declared_and_defined": "__global__ void later(int*);\nvoid host(int* p) { later<<<1, 1>>>(p); }\n__global__ void later(int* out) { *out = 3001; }",
    "overloaded_kernels": "__global__ void same(int* out) { *out = 3001; }\n__global__ void same(float* out) { *out = 3002; }\ntemplate <class T> __global__ void same(T* out) { *out = T(3003); }\nvoid host(char* p, float* q) { same<<<1, 1>>>(p); same<<<1, 1>>>(q); same<float><<<1, 1>>>(q); }",
    "specialised_kernel": "template <> __global__ void typed(float* out) { *out = 3001.0f; }\nvoid host(float* p, int* q) { typed<<<1, 1>>>(p); typed<<<1, 1>>>(q); }",
    "specialised_kernel_unused": "template <> __global__ void typed<float>(float* out) { *out = 3001.0f; }",
    "specialised_kernel_scoped": "namespace ns { template <class T> __global__ void inner(T* out) { *out = T(3001); } }\ntemplate <> __global__ void ns::inner<float>(float* out) { *out = 3002; }\nvoid host(float* p, int* q) { ns::inner<<<1, 1>>>(p); ns::inner<<<1, 1>>>(q); }",
    "launch_bounds": "template <int N> __global__ void __launch_bounds__(N * 32, 2) bounded(int* out) { *out = 3000 + N; }\nvoid host(int* p) { bounded<4><<<1, 128>>>(p); }",
    "default_template_arguments": "template <class T, int N = 4, class A = T> __global__ void defaults(T* out) { *out = T(3000 + N + sizeof(A)); }\nvoid host(float* p) { defaults<<<1, 1>>>(p); defaults<float, 8><<<1, 1>>>(p); }",
    "default_kernel_arguments": "template <class T> __global__ void defaults(T* out, T value = T(3001)) { *out = value; }\nvoid host(float* p) { defaults<<<1, 1>>>(p); }",
    "partial_arguments": "template <int N, class T, class U> __global__ void partial(T* out, U v) { *out = T(3000 + N + sizeof(U)); }\nvoid host(float* p) { partial<4><<<1, 1>>>(p, 'c'); partial<4, float, long><<<1, 1>>>(p, 'c'); }",
    "pack_of_types": "template <class... A> __global__ void pack(int* out, A... a) { *out = 3000 + sizeof...(A); }\ntemplate <class... A> void forward(A... a) { pack<<<1, 1>>>(nullptr, a...); pack<A...><<<1, 1>>>(nullptr, a...); }\nvoid host() { forward(1, 2.0f); forward(); pack<int><<<1, 1>>>(nullptr, 1, 2.0f); }",
    "array_decay": "template <class T> __global__ void taken(T p) { *(int*)p = 3000 + sizeof(T); }\nvoid host() { float a[4]; taken<<<1, 1>>>(a); const char* s = \"x\"; taken<<<1, 1>>>((const char*)s == s ? (char*)nullptr : nullptr); }",
    "const_pointers": "template <class T> __global__ void read(const T* p, T* out) { *out = *p; }\ntemplate <class T> __global__ void any(T* p, int* out) { *out = 3000 + sizeof(*p); }\nvoid host(const float* p, float* q, int* o) { read<<<1, 1>>>(p, q); read<<<1, 1>>>(q, q); any<<<1, 1>>>(p, o); any<<<1, 1>>>(q, o); }",
    "references_and_moves": "template <class T> T&& forward_it(T& t) { return static_cast<T&&>(t); }\ntemplate <class T> void launch(T&& t) { typed<<<1, 1>>>(forward_it<T>(t)); }\nvoid host(float* p) { launch(p); launch((double*)nullptr); }",
    "lambda_device": "template <class F> __global__ void run(F f, int* out) { *out = f(1); }\nvoid host(int* p, int k) { run<<<1, 1>>>([=] __device__(int x) { return x + k + 3001; }, p); auto g = [k] __host__ __device__(int x) { return x * k + 3002; }; run<<<1, 1>>>(g, p); }",
    "lambda_device_in_template": "template <class F> __global__ void run(F f, int* out) { *out = f(1); }\ntemplate <class T> void launch(T k, int* p) { run<<<1, 1>>>([=] __device__(int x) { return int(x + k + 3000 + sizeof(T)); }, p); }\nvoid host(int* p) { launch(1, p); launch(2.0f, p); }",
    "lambda_device_generic": "template <class F> __global__ void run(F f, float* out) { *out = f(1.0f); }\nvoid host(float* p) { run<<<1, 1>>>([] __device__(auto x) { return x + 3001; }, p); }",
    "lambda_device_in_member": "template <class F> __global__ void run(F f, int* out) { *out = f(1); }\nstruct holder { int k; void go(int* p) { auto self = *this; run<<<1, 1>>>([=] __device__(int x) { return x + self.k + 3001; }, p); } };",
    "lambda_device_passed_on": "template <class F> __global__ void run(F f, int* out) { *out = f(1); }\ntemplate <class F> void each(int* p, F f) { run<<<1, 1>>>(f, p); }\nvoid host(int* p) { each(p, [] __device__(int x) { return x + 3001; }); each(p, [] __device__(int x) { return x + 3002; }); }",
    "functor": "template <class F> __global__ void run(F f, int* out) { *out = f(1); }\nstruct add { int k; __host__ __device__ int operator()(int x) const { return x + k + 3001; } };\nvoid host(int* p) { run<<<1, 1>>>(add{2}, p); }",
    "functor_overloads": "template <class F> __global__ void run(F f, int* out) { *out = f(1); }\nstruct both { __device__ int operator()(int x) const { return x + 3001; } int operator()(double x) const { return 0; } };\nvoid host(int* p) { run<<<1, 1>>>(both(), p); }",
    "constant_variables": "__constant__ float weights[4];\n__constant__ int limit = 3001;\n__device__ float scratch[8];\n__global__ void uses(float* out) { *out = weights[threadIdx.x] + limit + scratch[0]; }\nvoid host(const float* p) { cudaMemcpyToSymbol(weights, p, 16); int v = 1; cudaMemcpyToSymbol(limit, &v, 4); float* q; cudaGetSymbolAddress((void**)&q, scratch); typed<<<1, 1>>>(q); }",
    "static_device_variables": "static __constant__ int a = 3001; static __device__ int b[2] = {3002, 3003};\nnamespace { __device__ int c = 3004; }\n__global__ void uses(int* out) { *out = a + b[threadIdx.x] + c; }\nvoid host(int* p) { cudaMemcpyToSymbol(a, p, 4); cudaMemcpyFromSymbol(p, b, 8); }",
    "managed_variable": "__managed__ int total = 3001;\n__global__ void uses() { total += 3002; }\nint host() { uses<<<1, 1>>>(); return total; }",
    "device_variable_template": "template <class T> __device__ T shared_value = T(3001);\n__global__ void uses(float* out) { *out = shared_value<float>; }",
    "shared_memory": "template <class T> __global__ void uses(T* out) { extern __shared__ char raw[]; T* s = (T*)raw; __shared__ T fixed[32]; fixed[threadIdx.x] = *out; __syncthreads(); *out = s[0] + fixed[0] + T(3001); }\nvoid host(float* p) { uses<<<1, 32, 128>>>(p); }",
    "host_and_device_function": "__host__ __device__ int both(int x) { return x + 3001; }\n__global__ void uses(int* out) { *out = both(*out); }\nint host() { return both(2); }",
    "overloads_by_space": "__host__ int f(int x) { return x; }\n__device__ int f(int x);\n",
    "host_device_by_macro": "#ifdef __CUDACC__\n#define HD __host__ __device__\n#else\n#define HD\n#endif\nHD inline int both(int x) { return x + 3001; }\n__global__ void uses(int* out) { *out = both(*out); }",
    "device_by_architecture": "__host__ __device__ int both(int x) {\n#ifdef __CUDA_ARCH__\n  return x + 3001;\n#else\n  return missing_on_device(x);\n#endif\n}\n__global__ void uses(int* out) { *out = both(*out); }",
    "constexpr_host": "constexpr int power(int b, int e) { return e == 0 ? 1 : b * power(b, e - 1); }\ntemplate <int N> __global__ void sized(int* out) { *out = 3000 + N; }\n__global__ void uses(int* out) { constexpr int n = power(2, 11); *out = n + power(*out, 2); }\nvoid host(int* p) { sized<power(2, 5)><<<1, 1>>>(p); }",
    "constexpr_lambda": "constexpr auto twice = [](int x) { return 2 * x; };\ntemplate <int N> __global__ void sized(int* out) { *out = 3000 + N; }\nvoid host(int* p) { sized<twice(21)><<<1, 1>>>(p); }",
    "constexpr_array_lookup": "constexpr int sizes[] = {16, 32, 64};\ntemplate <int N> __global__ void sized(int* out) { *out = 3000 + N; }\nvoid host(int* p) { sized<sizes[1]><<<1, 1>>>(p); }",
    "enum_arguments": "enum class mode : int { fast, exact = 7 };\ntemplate <mode M> __global__ void moded(int* out) { *out = 3000 + int(M); }\nvoid host(mode m, int* p) { switch (m) { case mode::fast: moded<mode::fast><<<1, 1>>>(p); break; case mode::exact: moded<mode::exact><<<1, 1>>>(p); break; } }",
    "comparison_in_argument": "template <bool B> __global__ void flag(int* out) { *out = 3000 + B; }\ntemplate <int N> void launch(int* p) { flag<(N > 4)><<<1, 1>>>(p); flag<(N >> 1 == 4)><<<1, 1>>>(p); flag<N == 8><<<1, 1>>>(p); }\nvoid host(int* p) { launch<8>(p); }",
    "launch_configuration": "void host(float* p, cudaStream_t s, int n) { dim3 grid((n + 255) / 256, n > 4 ? 2 : 1), block{32, 8}; typed<float><<<grid, block, n * sizeof(float), s>>>(p); typed<<<dim3(n >> 2), {1, 1, 1}>>>((double*)p); typed<float> <<<1, 1>>> (p); typed < short > <<< 1 , 1 >>> (nullptr); }",
    "occupancy": "void host(float* p) { int grid, block; cudaOccupancyMaxPotentialBlockSize(&grid, &block, typed<float>); typed<<<grid, block>>>(p); }",
    "cooperative_launch": "void host(float* p) { void* args[] = {&p}; cudaLaunchCooperativeKernel((void*)typed<float>, 1, 1, args); cudaLaunchCooperativeKernel(typed<double>, dim3(1), dim3(1), args, 0, 0); }",
    "dynamic_parallelism_absent": "__global__ void parent(int* out) { *out = 3001; }\nvoid host(int* p) { parent<<<1, 1>>>(p); }",
    "deprecated_attributes": "[[deprecated(\"old\")]] void old(float* p) { typed<<<1, 1>>>(p); }\n[[nodiscard]] int wanted(); [[maybe_unused]] static int unused_one; [[noreturn]] void stop();\n[[gnu::cold]] [[unknown::attribute]] void cold();",
    "gnu_attributes": '__attribute__((noinline, unused)) static void host(float* p) { typed<<<1, 1>>>(p); }\nstruct __attribute__((packed)) odd { char c; int i; };\n__attribute__((visibility("default"))) void exported();\n__global__ void uses(int* out) { *out = 3000 + sizeof(odd); }',
    "gnu_statement_expression": "#define CHECK(x) ({ cudaError_t e = (x); e == cudaSuccess; })\nvoid host(float* p) { if (CHECK(cudaGetLastError())) typed<<<1, 1>>>(p); }",
    "gnu_typeof": "void host(float* p) { __typeof__(p) q = p; typed<<<1, 1>>>(q); }",
    "gnu_zero_array": "struct message { int n; float data[0]; };\n__global__ void uses(int* out) { *out = 3000 + sizeof(message); }",
    "gnu_flexible_array": "struct message { int n; float data[]; };\n__global__ void uses(int* out) { *out = 3000 + sizeof(message); }",
    "gnu_conditional": "void host(int n, float* p) { int m = n ?: 4; typed<<<m, 1>>>(p); }",
    "gnu_case_range": "void host(int n, float* p) { switch (n) { case 1 ... 4: typed<<<1, 1>>>(p); } }",
    "gnu_assembly": 'void host(float* p) { __asm__ __volatile__("" ::: "memory"); typed<<<1, 1>>>(p); }',
    "gnu_builtins": "void host(float* p, unsigned n) { if (__builtin_expect(n > 1, 0)) typed<<<__builtin_popcount(n), 1>>>(p); }",
    "gnu_designated": "struct options { int a, b; };\nvoid host(float* p) { options o = {.a = 1, .b = 2}; typed<<<o.a, o.b>>>(p); }",
    "gnu_variable_length_array": "void host(int n, float* p) { int sizes[n]; sizes[0] = 1; typed<<<sizes[0], 1>>>(p); }",
    "gnu_int128": "__int128 wide(__int128 x) { return x * x; }\nvoid host(float* p) { typed<<<1, 1>>>(p); }",
    "gnu_function_name": "void log(const char*);\nvoid host(float* p) { log(__PRETTY_FUNCTION__); log(__FUNCTION__); log(__func__); typed<<<1, 1>>>(p); }",
    "pragmas": "#pragma GCC diagnostic push\n#pragma GCC diagnostic ignored \"-Wall\"\n#pragma once\n#pragma omp parallel\n#pragma nv_diag_suppress 177\nvoid host(float* p) { int unused; typed<<<1, 1>>>(p); }\n#pragma GCC diagnostic pop",
    "unroll": "#define UNROLL _Pragma(\"unroll\")\n__global__ void uses(int* out) { UNROLL for (int i = 0; i < 4; ++i) out[i] = 3000 + i;\n#pragma unroll 2\nfor (int i = 4; i < 8; ++i) out[i] = 3000 + i; }",
    "alternative_tokens": "void host(bool a, bool b, float* p) <% if (a and not b or a xor b) typed<<<1, 1>>>(p); int q<:2:>; %>",
    "missing_return": "int host(float* p) { typed<<<1, 1>>>(p); }",
    "string_to_char_pointer": "void log(char*);\nvoid host(float* p) { log((char*)\"x\"); char* q = \"y\"; typed<<<1, 1>>>(p); }",
    "narrowing": "void host(int n, float* p) { float a[] = {float(n)}; unsigned b[]{1, 2}; char c = 300; typed<<<1, 1>>>(p); }",
    "unnamed_types": "struct { int a; } one; enum { first = 3001, second };\ntypedef struct { float x, y; } point;\n__global__ void uses(point* out, int* n) { out->x = 1; *n = second; }\nvoid host(point* p, int* n) { uses<<<1, 1>>>(p, n); typed<<<1, 1>>>(&p->x); }",
    "bit_fields_and_unions": "union bits { float f; unsigned u; struct { unsigned m : 23, e : 8, s : 1; }; };\n__global__ void uses(bits* b) { b->e = 127; b->u += 3001; }",
    "builtin_vectors": "__global__ void uses(float4* out) { *out = make_float4(1, 2, 3, 4); }\nvoid host(float4* p) { uses<<<1, 1>>>(p); typed<<<1, 1>>>(&p->x); float2 a = make_float2(1, 2); int3 b{1, 2, 3}; (void)a; (void)b; }",
    "inner_function_declaration": "void host(float* p) { void other(int); extern int limit; other(limit); typed<<<1, 1>>>(p); }",
    "old_macros_of_runtime": "void host(float* p) { cudaEvent_t a; cudaEventCreate(&a); cudaEventRecord(a, 0); typed<<<1, 1>>>(p); cudaEventSynchronize(a); float ms; cudaEventElapsedTime(&ms, a, a); cudaDeviceProp prop; cudaGetDeviceProperties(&prop, 0); cudaMemcpy(p, p, 4, cudaMemcpyDeviceToDevice); }",
    "device_identifiers": "struct Tensor { int _device; int device() const { return _device; } int __x; };\nint _device = 0, device_ = 1, my__device = 2, global = 3, host_ = 4, shared = 5;\nvoid host(Tensor __restrict_like, float* p) { typed<<<1, 1>>>(p); }",
    "wmma_directive": "#include <mma.h>\nusing namespace nvcuda::wmma;\n__global__ void uses(half* a, float* c) { fragment<matrix_a, 16, 16, 16, half, row_major> f; fragment<accumulator, 16, 16, 16, float> acc; fill_fragment(acc, 0.0f); load_matrix_sync(f, a, 16); store_matrix_sync(c, acc, 16, mem_row_major); }\nvoid host(float* p) { typed<<<1, 1>>>(p); }",
    "half_precision": "#include <cuda_fp16.h>\nvoid host(half* p, __half2* q) { typed<<<1, 1>>>(p); }\n__global__ void uses(half* p) { *p = __hadd(*p, __float2half(1.0f)) ; }",
}

LEXING: dict[str, str] = {
    "launch_in_comment": "// typed<<<1, 1>>>((float*)p);\n/* plain<<<1, 1>>>(p); typed<double><<<1, 1>>>(q); */",
    "launch_in_string": 'const char* help = "typed<float><<<1, 1>>>(p)";',
    "launch_in_raw_string": 'const char* source = R"cuda(\n__global__ void inner(int* out) { *out = 4001; }\nvoid host() { typed<<<1, 1>>>((float*)0); }\n)cuda";',
    "raw_string_with_quote": 'const char* a = R"(" )"; const char* b = R"x(*/ " )")x";\nvoid host(float* p) { typed<<<1, 1>>>(p); }',
    "host_in_comment": "/* __host__ std::vector<int> <<< */\n// #error not this\n// static_assert(false)",
    "marker_in_string": 'const char* marker = "__global__ void fake(int*) { }"; const char c = \'"\'; const char d = \'\\\'\';\nvoid host(float* p) { typed<<<1, 1>>>(p); }',
    "line_continuation": "// a comment that continues \\\nvoid not_code(float* p) { typed<<<1, 1>>>(p); }\n#define LONG(p) \\\n  typed<<<1, 1>>>(p) /* inside \\\n  comment */\nvoid host(double* p) { LONG(p); }",
    "marker_split_by_continuation": "__glo\\\nbal__ void broken_name(int* out) { *out = 4001; }",
    "digit_separators": "void host(float* p) { int n = 1'000'000; typed<<<n / 1'000'000, 1>>>(p); }",
    "shifts_and_templates": "template <class T> struct box { T t; };\nbox<box<box<int>>> nested;\ntemplate <int N> __global__ void sized(int* out) { *out = 4000 + N; }\nvoid host(int n, int* p) { int m = n >> 1 << 2; bool b = n == m || n >= 2; sized<(16 >> 2)><<<m >> 1, b>>>(p); box<box<int>> q{}; (void)q; }",
    "comparison_chain": "void host(int a, int b, float* p) { bool c = a < b && b > (a); bool d = a < b; if (c == d) typed<<<1, 1>>>(p); }",
    "initialisers_with_commas": "struct pair { int a; float b; };\nint a = 1, b = (2, 3), c[] = {1, 2, 3}; pair d = {1, 2.0f}, e{3, 4.0f};\nauto f = [](int x, int y) { return x + y; }, g = f;\nvoid host(float* p) { typed<<<a, b>>>(p); }",
    "directives_in_condition": "#if 0\n__global__ void never(int*) {}\n'unbalanced\n#elif 1\n__global__ void always(int* out) { *out = 4001; }\n#else\n#error not reached\n#endif",
    "nested_conditions": "#ifdef A\n#if B\n#error A and B\n#endif\n__global__ void with_a(int*) {}\n#else\n#ifndef B\n__global__ void without(int* out) { *out = 4002; }\n#endif\n#endif",
    "macro_named_like_marker": "#define GLOBAL __global__\n#define VOID void\nGLOBAL VOID made(int* out) { *out = 4001; }\n#define KERNEL(name) __global__ void name(int* out)\nKERNEL(other) { *out = 4002; }",
    "macro_argument_with_launch": "#define RUN(...) __VA_ARGS__\nvoid host(float* p) { RUN(typed<<<1, 1>>>(p)); RUN(typed<double><<<1, 1>>>(nullptr);) }",
    "stringified_launch": "#define TEXT(...) #__VA_ARGS__\nconst char* text = TEXT(typed<<<1, 1>>>((short*)p));\nvoid host(float* p) { typed<<<1, 1>>>(p); }",
    "operator_names": "struct v { bool operator<(v) const; bool operator>(v) const; v operator<<(int) const; v operator>>(int) const; void operator()(float* p) { typed<<<1, 1>>>(p); } };\nvoid host(v a, v b) { bool c = a<b; a<<1; a>>1; bool d = a < b > c; (void)d; a(nullptr); }",
    "attributes_before_marker": "[[maybe_unused]] static __device__ int helper(int x) { return x + 4001; }\n__launch_bounds__(64) __global__ void bounded(int* out) { *out = helper(*out); }\nvoid __global__ reversed(int* out) { *out = 4002; }\nextern \"C\" __global__ __launch_bounds__(32, 4) void linked(int* out) { *out = 4003; }",
    "namespace_forms": "namespace a::b::c { __global__ void deep(int* out) { *out = 4001; } }\ninline namespace v1 { __global__ void versioned(int* out) { *out = 4002; } }\nnamespace [[maybe_unused]] d { namespace e = a::b; }\nvoid host(int* p) { d::e::c::deep<<<1, 1>>>(p); versioned<<<1, 1>>>(p); v1::versioned<<<1, 1>>>(p); }",
    "trailing_return_kernel": "__global__ auto trailing(int* out) -> void { *out = 4001; }\nauto host(float* p) -> void { typed<<<1, 1>>>(p); }",
    "conversion_and_literals": "struct s { explicit operator bool() const; template <class T> operator T*() const { return nullptr; } };\nvoid host(s x) { float* p = x; if (x) typed<<<1, 1>>>(p); auto t = 1.0e+5f, u = 0x1p3, w = u8\"x\"[0] + 0.0; (void)t; (void)u; (void)w; }",
    "unicode": "/* größer → */ const char* text = \"größer\"; int größe = 1;\nvoid host(float* p) { typed<<<größe, 1>>>(p); }",
    "windows_line_ends": "void host(float* p)\r\n{\r\n#define X \\\r\n 1\r\n  typed<<<X, 1>>>(p);\r\n}\r",
    "include_forms": "#define HEADER <cstdint>\n#include HEADER\n#include /* comment */ <cstddef>\n# include \"extra.h\"\nstd::uint32_t n;",
    "has_include": "#if __has_include(\"extra.h\")\n#include \"extra.h\"\n__global__ void found(int* out) { *out = 4001; }\n#endif\n#if __has_include(\"absent.h\")\n#error absent.h is there\n#else\n__global__ void absent(int* out) { *out = 4002; }\n#endif",
    "counter": "#define PASTE(a, b) a##b\n#define NAME(a, b) PASTE(a, b)\n__global__ void NAME(numbered, __COUNTER__)(int* out) { *out = 4001; }\n__global__ void NAME(numbered, __COUNTER__)(int* out) { *out = 4002; }",
    "line_directive": "#line 100 \"other.cu\"\nvoid host(float* p) { typed<<<1, 1>>>(p); }\ntemplate <int N> __global__ void at(int* out) { *out = 4000 + N; }\nvoid lines(int* p) { at<__LINE__><<<1, 1>>>(p); }",
}

STANDARDS: dict[str, str] = {
    "version_branch": "#if __cplusplus >= 202002L\n__global__ void twenty(int* out) { *out = 5020; }\n#elif __cplusplus >= 201703L\n__global__ void seventeen(int* out) { *out = 5017; }\n#elif __cplusplus >= 201402L\n__global__ void fourteen(int* out) { *out = 5014; }\n#else\n#error too old\n#endif",
    "feature_branch": "#ifdef __cpp_concepts\n__global__ void concepts(int* out) { *out = 5001; }\n#endif\n#ifdef __cpp_if_constexpr\n__global__ void branches(int* out) { *out = 5002; }\n#endif\n#ifdef __cpp_exceptions\n__global__ void exceptions(int* out) { *out = 5003; }\n#endif\n#ifdef __cpp_rtti\n__global__ void rtti(int* out) { *out = 5004; }\n#endif",
    "concepts": "template <class T> concept Small = sizeof(T) <= 4;\ntemplate <class T> void launch(T* p) { plain<<<1, 1>>>((int*)p); }\ntemplate <Small T> void launch(T* p) { typed<<<1, 1>>>(p); }\nvoid host() { launch((float*)nullptr); launch((double*)nullptr); }",
    "requires_branch": "template <class T> void launch(T t) { if constexpr (requires { t.go(); }) typed<<<1, 1>>>((float*)nullptr); else typed<<<1, 1>>>((double*)nullptr); }\nstruct can { void go(); };\nvoid host() { launch(can()); launch(1); }",
    "template_lambda": "void host() { auto go = []<class T>(T* p) { typed<T><<<1, 1>>>(p); }; go((float*)nullptr); go.template operator()<short>(nullptr); }",
    "class_template_argument": "struct size { int n; };\ntemplate <size S> __global__ void sized(int* out) { *out = 5000 + S.n; }\nvoid host(int* p) { sized<size{7}><<<1, 1>>>(p); }",
    "structured_bindings": "struct pair { float* a; double* b; };\nvoid host(pair p) { auto [x, y] = p; typed<<<1, 1>>>(x); typed<<<1, 1>>>(y); }",
    "branch_at_compile_time": "template <class T> void launch(T* p) { if constexpr (sizeof(T) == 4) typed<<<1, 1>>>(p); else typed<<<1, 1>>>((float*)p); }\nvoid host(double* p) { launch(p); }",
    "fold": "template <class... T> void launch(T*... p) { (typed<<<1, 1>>>(p), ...); }\nvoid host(float* p, short* q) { launch(p, q); }",
    "inline_variable": "inline int blocks = 2;\nstruct options { static inline int threads = 3; };\nvoid host(float* p) { typed<<<blocks, options::threads>>>(p); }",
    "init_statement": "void host(float* p) { if (int n = 2; n > 1) typed<<<n, 1>>>(p); switch (int m = 1; m) { case 1: typed<<<m, 1>>>((short*)p); } }",
    "generic_lambda": "void host(float* p) { auto go = [](auto q) { typed<<<1, 1>>>(q); }; go(p); }",
    "init_capture": "void host(float* p) { auto go = [q = p + 1] { typed<<<1, 1>>>(q); }; go(); }",
    "variable_template": "template <class T> constexpr T scale = T(2);\nvoid host(float* p) { typed<<<scale<int>, 1>>>(p); }",
    "three_way": "struct version { int n; auto operator<=>(const version&) const = default; };\nvoid host(version a, version b, float* p) { if (a < b) typed<<<1, 1>>>(p); }",
    "consteval": "consteval int square(int x) { return x * x; }\ntemplate <int N> __global__ void sized(int* out) { *out = 5000 + N; }\nvoid host(int* p) { sized<square(5)><<<1, 1>>>(p); }",
    "designated": "struct options { int a = 1, b = 2; };\nvoid host(float* p) { options o{.b = 3}; typed<<<o.a, o.b>>>(p); }",
    "using_enum": "enum class mode { fast = 5001 };\nvoid host(int* p) { using enum mode; typed<<<int(fast), 1>>>(p); }",
    "auto_parameters": "void launch(auto* p) { typed<<<1, 1>>>(p); }\nvoid host(float* p) { launch(p); launch((short*)nullptr); }",
    "register_and_old_words": "void host(float* p) { register int n = 1; typed<<<n, 1>>>(p); }",
    "dynamic_exception_specification": "void host(float* p) throw() { typed<<<1, 1>>>(p); }",
}

PREDEFINED = (
    "__NVCC__ __CUDACC__ __CUDACC_RTC__ __CUDACC_EXTENDED_LAMBDA__ __CUDACC_RELAXED_CONSTEXPR__ __CUDACC_RDC__ __CUDACC_DEBUG__ "
    "__CUDA_ARCH__ __CUDA_ARCH_LIST__ __linux__ __unix__ __x86_64__ __LP64__ __GNUC__ __clang__ _MSC_VER _WIN32 __STDC__ "
    "__EXCEPTIONS __GXX_RTTI NDEBUG _GNU_SOURCE __CUDACC_VER_MAJOR__ CUDART_VERSION CUDA_VERSION __SIZEOF_INT128__ __CHAR_BIT__ __BYTE_ORDER__ "
    "__cpp_exceptions __cpp_rtti NULL INT_MAX FLT_MAX M_PI __has_include __has_builtin __has_attribute __COUNTER__ __FAST_MATH__ __OPTIMIZE__"
).split()

HEADERS = {
    "kernel.inc": "__global__ void NAME(T* out) { *out = T(3001); }\ninline void launch(T* p) { NAME<<<1, 1>>>(p); }\n",
    "extra.h": "#pragma once\ninline int extra() { return 1; }\n",
}


def features() -> Iterator[Case]:
    """Yield each feature; those that depend on the standard in each standard."""
    for folder, cases in (("host", HOST), ("lexing", LEXING)):
        for name, code in cases.items():
            headers = {header: text for header, text in HEADERS.items() if header in code}
            yield Case(f"{folder}/{name}", f"{KERNELS}{code}\n", headers)
    for name, code in STANDARDS.items():
        for standard in ("c++14", "c++17", "c++20"):
            yield Case(f"standards/{name}/{standard}", f"{KERNELS}{code}\n", standard=standard)
    for name in PREDEFINED:
        text = f"#ifdef {name}\n__global__ void defined_(int* out) {{ *out = 6001; }}\n#else\n__global__ void undefined_(int* out) {{ *out = 6002; }}\n#endif\nvoid host() {{}}\n"
        yield Case(f"predefined/{name}", text)
