"""Kernel templates whose instances depend on the type of a host expression, launched in every way."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from tests.builder.compile.generated.case import Case

__all__ = ["launches"]

PRELUDE = """\
template <class T> __global__ void store(T* out, T value) { *out = value; *(int*)(out + 1) = 1000 + sizeof(T); }
template <class... Args> __global__ void fill(int* out, Args... args) { *out = 1000 + 10 * sizeof...(args) + (sizeof(args) + ... + 0); }
template <int N, class T> __global__ void step(T* out) { *out = T(1000 + N); }
template <class T> __global__ void big(T value, int* out) { *out = 2000 + sizeof(value); }
template <class T> __global__ void small(T value, int* out) { *out = 3000 + sizeof(value); }
template <class F> __global__ void run(F f, int* out) { *out = f(1000); }
template <class T> T* pointer(T) { return nullptr; }
template <class T> T plain(T value) { return value; }
"""

VALUES: dict[str, tuple[str, str, str]] = {
    # name: (declarations at namespace scope, statements in the function, expression)
    "int_and_float": ("", "", "1 + 2.0f"),
    "chars": ("", "", "'a' + 'b'"),
    "unsigned_short_and_unsigned": ("", "unsigned short a = 1;", "a * 2u"),
    "shorts": ("", "short a = 1, b = 2;", "a - b"),
    "long_and_unsigned": ("", "", "1L + 2u"),
    "unsigned_and_long_long": ("", "", "2u + 1LL"),
    "conditional": ("", "bool yes = true;", "yes ? 1 : 2.0"),
    "pointer_difference": ("", "float array[4];", "&array[3] - &array[0]"),
    "size": ("", "double d = 0;", "sizeof(d)"),
    "overloads": ("double pick(char); float pick(int); short pick(const char*);", "", "pick('a')"),
    "overloads_by_conversion": (
        "double pick(long double); float pick(unsigned); float pick(float) = delete;",
        "",
        "pick(1u)",
    ),
    "variable_template": ("template <class T> constexpr T three = T(3);", "", "three<float>"),
    "variable_template_specialised": (
        "template <class T> constexpr T three = T(3); template <> constexpr short three<char> = 3;",
        "",
        "three<char>",
    ),
    "unscoped_enumeration": ("enum Color : unsigned char { red };", "", "+red"),
    "scoped_enumeration": ("enum class Color : short { red };", "", "Color::red"),
    "default_template_argument": ("template <class T = double> T zero() { return T(); }", "", "zero<>()"),
    "member_template": (
        "struct Tensor { template <class T> T* data_ptr() const { return nullptr; } };",
        "Tensor t;",
        "*t.data_ptr<unsigned char>()",
    ),
    "member_template_of_dependent": (
        "struct Tensor { template <class T> T* data_ptr() const { return nullptr; } };\n"
        "template <class U, class S> auto first(U u) { return *u.template data_ptr<S>(); }",
        "Tensor t;",
        "(first<Tensor, long long>(t))",
    ),
    "decltype_of_sum": ("", "", "decltype(1 + 2.0f)(3)"),
    "deduced_return": ("auto make() { return 5LL; }", "", "make()"),
    "trailing_return": (
        "template <class A, class B> auto sum(A a, B b) -> decltype(a + b) { return a + b; }",
        "",
        "sum(1u, 2.5)",
    ),
    "conversion_operator": ("struct Id { operator short() const { return 1; } };", "Id id;", "+id"),
    "structured_binding": ("struct Pair { int first; double second; };", "auto [a, b] = Pair{1, 2.0};", "plain(b)"),
    "class_template_deduction": (
        "template <class T> struct Box { T value; Box(T v) : value(v) {} };",
        "Box box(2.5f);",
        "box.value",
    ),
    "deduction_guide": (
        "template <class T> struct Box { T value; template <class U> Box(U u) : value(u) {} };\n"
        "template <class U> Box(U) -> Box<double>;",
        "Box box(1);",
        "box.value",
    ),
    "comma": ("", "", "(1, 2.0f)"),
    "bit_field": ("struct Bits { unsigned low : 3; };", "Bits bits{1};", "+bits.low"),
    "literal_suffix": ("", "", "3ULL"),
    "literal_operator": ('constexpr float operator""_f(long double v) { return float(v); }', "", "2.0_f"),
    "booleans": ("", "", "true + true"),
    "complement": ("", "unsigned char c = 1;", "~c"),
    "chosen_type": (
        "template <bool B, class T, class F> struct choose { using type = T; };\n"
        "template <class T, class F> struct choose<false, T, F> { using type = F; };",
        "",
        "choose<(sizeof(void*) > 8), float, unsigned short>::type(1)",
    ),
    "operator_overload": (
        "struct Meters { float m; }; struct Feet { double f; };\nMeters operator+(Meters, Feet); Feet operator+(Feet, Meters);",
        "Meters m{1}; Feet f{2};",
        "(f + m).f",
    ),
    "references": ("const float& view();", "auto&& v = view();", "plain(v)"),
    "function_pointer": ("typedef double (*Function)(int);", "Function f = nullptr;", "f(1)"),
    "static_member": ("struct Traits { static constexpr unsigned short value = 4; };", "", "plain(Traits::value)"),
    "lambda_result": ("", "auto f = [](int x) { return x * 2u; };", "f(1)"),
    "argument_dependent_lookup": (
        "namespace near { struct Tag {}; float kind(Tag); }\ndouble kind(...);",
        "",
        "kind(near::Tag{})",
    ),
    "hidden_overload": (
        "struct Base { double get(int); }; struct Derived : Base { float get(double); };",
        "Derived d;",
        "d.get(1)",
    ),
    "using_overload": (
        "struct Base { double get(int); }; struct Derived : Base { using Base::get; float get(double); };",
        "Derived d;",
        "d.get(1)",
    ),
    "virtual_call": (
        "struct Shape { virtual float area() const = 0; virtual ~Shape() {} };",
        "const Shape* shape = nullptr;",
        "shape->area()",
    ),
    "member_pointer": ("struct Point { int x; double y; };", "Point p{}; auto m = &Point::y;", "p.*m"),
    "constexpr_branch": (
        "template <int N> auto choose_by() { if constexpr (N > 3) return 1.0f; else return 1; }",
        "",
        "choose_by<4>()",
    ),
    "folded_sum": ("template <class... A> auto sum(A... a) { return (a + ...); }", "", "sum(1, 2.0f, 'c')"),
    "default_argument": ("template <class T = short> T none(T v = T()) { return v; }", "", "none()"),
    "substitution_failure": (
        "template <class T> auto has(int) -> decltype(T::yes, 1.0f); template <class T> int has(...);\nstruct No {};",
        "",
        "has<No>(0)",
    ),
    "constness_overload": ("struct Data { float get() const; double get(); };", "const Data data{};", "data.get()"),
    "qualified_reference_overload": ("struct Data { float get() &; double get() &&; };", "", "Data{}.get()"),
    "nested_alias": (
        "template <class T> struct Vec { using value_type = T; }; template <class T> using Elem = typename Vec<T>::value_type;",
        "",
        "Elem<char>(1)",
    ),
    "immediately_called_lambda": ("", "", "[] { return 2ul; }()"),
    "macro": ("#define VALUE 1\n#undef VALUE\n#define VALUE 1.5f", "", "VALUE"),
    "macro_under_condition": (
        "#if defined(__CUDACC__) && !defined(NOT_HERE)\n#define VALUE 1.5\n#else\n#define VALUE 1\n#endif",
        "",
        "VALUE",
    ),
}

WAYS: dict[str, tuple[str, str]] = {
    # name: (declarations before the function, statements); EXPR is the expression
    "direct": ("", "store<<<1, 1>>>(pointer(EXPR), EXPR);"),
    "function_template": (
        "template <class T> void launch(T value) { T* out = nullptr; store<<<1, 1>>>(out, value); }",
        "launch(EXPR);",
    ),
    "generic_lambda": ("", "auto go = [&](auto value) { store<<<1, 1>>>(pointer(value), value); }; go(EXPR);"),
    "attribute_of_address": (
        "",
        "cudaFuncSetAttribute(store<decltype(plain(EXPR))>, cudaFuncAttributeMaxDynamicSharedMemorySize, 1);",
    ),
    "table": (
        "template <class T> struct Table { static void (*const entries[2])(T*, T); };\n"
        "template <class T> void (*const Table<T>::entries[2])(T*, T) = {store<T>, nullptr};",
        "auto entry = Table<decltype(plain(EXPR))>::entries[0]; entry<<<1, 1>>>(pointer(EXPR), EXPR);",
    ),
    "local_table": (
        "",
        "using T = decltype(plain(EXPR)); void (*table[])(T*, T) = {store, nullptr}; table[0]<<<1, 1>>>(nullptr, EXPR);",
    ),
    "member_template": (
        "struct Launcher { int* out; template <class T> void operator()(T value) const { fill<<<1, 1>>>(out, value); } };",
        "Launcher{nullptr}(EXPR);",
    ),
    "constexpr_branch": (
        "template <class T> void launch(T value) { if constexpr (sizeof(T) > 4) big<<<1, 1>>>(value, (int*)nullptr); else small<<<1, 1>>>(value, (int*)nullptr); }",
        "launch(EXPR);",
    ),
    "parameter_pack": ("", "fill<<<1, 1>>>((int*)nullptr, EXPR, 2, 'c', 3.0f);"),
    "recursive_template": (
        "template <int N, class T> void go(T value) { step<N><<<1, 1>>>(pointer(value)); if constexpr (N > 1) go<N / 2>(value); }",
        "go<8>(EXPR);",
    ),
    "switch_macro": (
        "#define DISPATCH(n, ...) switch (n) { case 16: { constexpr int W = 16; __VA_ARGS__ } break; case 32: { constexpr int W = 32; __VA_ARGS__ } break; default: break; }",
        "int n = 16; DISPATCH(n, { auto go = [&] { step<W><<<1, 1>>>(pointer(EXPR)); }; go(); })",
    ),
    "launch_by_address": (
        "",
        "cudaLaunchKernel((const void*)store<decltype(plain(EXPR))>, dim3(1), dim3(1), nullptr, 0, nullptr);",
    ),
    "device_lambda": (
        "",
        "auto value = EXPR; run<<<1, 1>>>([=] __device__(int i) { return int(i + 2000 + sizeof(value)); }, (int*)nullptr);",
    ),
    "class_template_deduction": (
        "template <class T> struct Later { T value; Later(T v) : value(v) {} void run() { store<<<1, 1>>>(pointer(value), value); } void never() { step<77><<<1, 1>>>(pointer(value)); } };",
        "Later later(EXPR); later.run();",
    ),
    "occupancy": (
        "",
        "int blocks; cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, store<decltype(plain(EXPR))>, 128, 0);",
    ),
    "assigned_pointer": (
        "",
        "using T = decltype(plain(EXPR)); void (*kernel)(T*, T); kernel = &store<T>; if (kernel) kernel<<<1, 1, 0, 0>>>(nullptr, EXPR);",
    ),
    "callback": (
        "template <class F> void with(F f) { f(8.0); f('c'); }",
        "auto outer = EXPR; with([&](auto each) { fill<<<1, 1>>>((int*)nullptr, each, outer); });",
    ),
    "launch_ex": (
        "",
        "cudaLaunchConfig_t config{}; cudaLaunchKernelEx(&config, store<decltype(plain(EXPR))>, pointer(EXPR), EXPR);",
    ),
}

WAYS_OF_EACH_VALUE = 3


def launches() -> Iterator[Case]:
    """Yield each value launched in some of the ways, such that every way meets many values."""
    ways = itertools.cycle(WAYS.items())
    for value, (scope, statements, expression) in VALUES.items():
        for way, (before, launch) in itertools.islice(ways, WAYS_OF_EACH_VALUE):
            body = f"{statements}\n  " if statements else ""
            code = launch.replace("EXPR", expression)
            parts = (PRELUDE, scope, before, f"void host() {{\n  {body}{code}\n}}\n")
            yield Case(f"launches/{value}/{way}", "\n".join(filter(None, parts)))
        next(ways)  # the next value starts with another way
