"""A file compiles whole or is an error; bodies of host functions are left out where a module asks, and no kernel changes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from cuda_wheel.builder.compile.edited_source import LEFT_OUT_OPTIONS
from cuda_wheel.builder.compile.nvrtc_request import nvrtc_request
from cuda_wheel.builder.cxx.demangling import signature
from cuda_wheel.builder.errors import CompileError
from cuda_wheel.builder.jobs import Compiled, Job
from cuda_wheel.builder.rewriting.blocks import SourceBlocks
from cuda_wheel.builder.rewriting.constants import project_code
from cuda_wheel.builder.rewriting.leaving_out import BODY, LeftOutBodies, Refusal
from cuda_wheel.builder.rewriting.project_texts import LocatedError, changed_files
from cuda_wheel.builder.toolchain.nvrtc import compile_text
from cuda_wheel.builder.workers.pool import Workers

Compile = Callable[..., Compiled]

KERNELS = """
#include <cuda_runtime.h>
template <class T> __global__ void fill(T* p, T v) { p[threadIdx.x] = v; }
__global__ void plain(int* p) { *p = 1; }
"""


def kernels(result: Compiled) -> set[str]:
    return {signature(symbol).name for symbol in result.kernels}


LEFT_OUT = """
int main() { library::log << "start"; plain<<<1, 1>>>(nullptr); return library::code(); }
static inline int helper(int n) { library::check(n); return n; }
namespace { void hidden() { library::hidden(); } }
struct Host { Host(); ~Host(); int count() const; int n; };
Host::Host() : n(1) { library::open(this); }
Host::~Host() { library::close(this); }
int Host::count() const { return library::count(n); }
[[noreturn]] void fail() { library::fail(); }
bool operator==(const Host& a, const Host& b) { return library::equal(a, b); }
extern "C" __host__ void run(float* p) { fill<<<1, 32>>>(p, 2.0f); }
"""


def test_a_file_compiles_whole_or_the_error_says_where_who_sees_it_and_what_helps(compiled: Compile) -> None:
    with pytest.raises(CompileError) as failure:
        compiled(f"{KERNELS}void log() {{\n  library::log(1);\n}}\nvoid f(float* p) {{ fill<<<1, 1>>>(p, 1.f); }}\n")
    message = str(failure.value)
    assert 'k.cu:6:3: error: name followed by "::" must be a class or namespace name' in message
    assert message.count(": error: ") == 1
    assert "only host code does not compile" in message
    assert "k.cu:5-7: body of log" in message
    assert "include-dirs" in message
    assert 'host-code = "leave-out"' in message


def test_an_error_that_device_code_sees_proposes_no_leaving_out(compiled: Compile) -> None:
    for text in (
        "__device__ int f() { return library::n; }\n__global__ void k(int* p) { *p = f(); }",
        "struct S { library::Mat m; int x; };\n__global__ void k(S* s) { s->x = 1; }",
        "constexpr int f() { return library::n; }\nvoid g() { library::f(); }",
    ):
        with pytest.raises(CompileError, match="library") as failure:
            compiled(KERNELS + text)
        assert "only host code" not in str(failure.value)
        assert "leave-out" not in str(failure.value)


def test_an_error_in_host_code_that_cannot_be_left_out_says_why_and_what_helps(compiled: Compile) -> None:
    with pytest.raises(CompileError) as failure:
        compiled(KERNELS + "void f(float* p) { fill<float><<<1, 1>>>(p, library::value()); }")
    message = str(failure.value)
    assert "only host code" not in message
    assert "system-include-dirs" in message
    reason = "f launches fill<float>, which the module's instantiate does not name"
    assert f'host-code = "leave-out" alone is not enough: {reason}.' in message


def test_bodies_of_host_functions_are_left_out_and_every_kernel_stays(compiled: Compile) -> None:
    result = compiled(KERNELS + LEFT_OUT, host_code="leave-out")
    assert kernels(result) == {"fill<float>", "plain"}
    assert [str(code) for code in result.left_out] == [
        "k.cu:6: body of main",
        "k.cu:7: body of helper",
        "k.cu:8: body of hidden",
        "k.cu:10: body of Host",
        "k.cu:11: body of Host",
        "k.cu:12: body of count",
        "k.cu:13: body of fail",
        "k.cu:14: body of operator",
    ]
    assert all("library" in code.reason or "::" in code.reason for code in result.left_out)
    without = "\n".join("" if "library" in line else line for line in (KERNELS + LEFT_OUT).split("\n"))
    assert compiled(without).ptx == result.ptx


def test_a_body_in_a_header_is_left_out_too(compiled: Compile, tmp_path: Path) -> None:
    (tmp_path / "inner").mkdir()
    (tmp_path / "inner/deep.h").write_text(
        "#pragma once\n__device__ int two() { return 2; }\ninline void log() {\n library::log(1); }\n"
    )
    (tmp_path / "outer.h").write_text('#pragma once\n#include "inner/deep.h"\n')
    text = (
        '#include "outer.h"\n#include "inner/deep.h"\n__global__ void k(int* p) { *p = two(); }\nvoid f() { log(); }\n'
    )
    result = compiled(text, host_code="leave-out")
    assert kernels(result) == {"k"}
    assert list(map(str, result.left_out)) == ["inner/deep.h:3-4: body of log"]
    assert {Path(path).name for path in result.headers or ()} >= {"outer.h", "deep.h"}


DEVICE = {
    "the marker": "__device__ int f() { return library::n; }",
    "both markers": "__host__ __device__ int f() { return library::n; }",
    "an attribute": "__attribute__((device)) int f() { return library::n; }",
    "an attribute at another place": "int __attribute__((device)) f() { return library::n; }",
    "a macro of the file": "#define FN __host__ __device__\nFN int f() { return library::n; }",
    "a macro that is pasted": "#define A(x) __##x##__\nA(device) int f() { return library::n; }",
    "a macro that an option defines": "OPTION int f() { return library::n; }",
    "a macro of a library's header": '#include "marks.h"\nMARK int f() { return library::n; }',
    "another declaration": "__device__ int f();\nint f() { return library::n; }",
    "a later declaration": "int f() { return library::n; }\n__host__ __device__ int f();",
    "the class": "struct S { __device__ int g(); };\nint S::g() { return library::n; }\n__device__ int f() { return S().g(); }",
    "an explicit specialisation": "template <class T> __device__ int f() { return 1; }\n"
    "template <> __device__ int f<int>() { return library::n; }",
    "a pragma that suppresses warnings": "#pragma nv_exec_check_disable\n__host__ __device__ int f() { return library::n; }",
    "constexpr": "constexpr int f() { return library::n; }",
    "a deduced type": "__device__ int f() { return 1; } auto g() { return library::n; }\nusing T = decltype(g());",
    "a lambda": "__device__ auto f = [] __device__ { return library::n; };",
    "device code inside": "__device__ int f() { return 1; }\n"
    "void g() { auto l = [] __device__ { return 1; }; library::run(l); }",
    "a template": "template <class T> int g(T) { return library::n; }\nint f() { return g(1); }",
    "a declaration": "library::Mat g(library::Mat m);\ntemplate <class T, class = void> struct has { static const int v = 0; };\n"
    "template <class T> struct has<T, decltype(void(g(T())))> { static const int v = 1; };\n"
    "__device__ int f() { return has<int>::v; }",
    "a variable": "int pick(...); library::Mat m;\n__device__ int f() { return sizeof(m); }",
}


MARKED = {
    name: text.replace("return library::n;", "BODY")
    for name, text in DEVICE.items()
    if "library::Mat" not in text
    and "template <class T> int g" not in text
    and "[]" not in text
    and "auto g" not in text
}


def test_the_compiler_refuses_what_stands_in_for_a_body_in_all_device_code(
    job_of: Callable[..., Job], workers: Workers
) -> None:
    """However a function is marked, and whatever warnings are suppressed."""
    options = ("--define-macro=OPTION=__host__ __device__", "-w", "--diag-suppress=20037,20039,20040")
    for name, text in {
        **MARKED,
        "a host function": "int f() { BODY }",
        "a member": "struct S { S(); }; S::S() { BODY }",
    }.items():
        text = text.replace('#include "marks.h"', "#define MARK __host__ __device__").replace("BODY", BODY)
        request = nvrtc_request(job_of(text))
        result = workers.submit(
            compile_text, {**request, "options": [*request["options"], *options, *LEFT_OUT_OPTIONS]}
        ).result()
        assert bool(result["error"]) == (name not in ("a host function", "a member")), (name, result["log"])


@pytest.mark.every_toolchain
@pytest.mark.thorough
@pytest.mark.parametrize("text", DEVICE.values(), ids=list(DEVICE))
def test_no_device_function_loses_its_body(text: str, compiled: Compile, tmp_path: Path) -> None:
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib/marks.h").write_text("#define MARK __host__ __device__\n")
    text = f"{KERNELS}{text}\n__global__ void k(int* p) {{ *p = sizeof(int); }}\n"
    options = ("--std=c++17", "--include-path=lib", "--define-macro=OPTION=__host__ __device__")
    for instantiate in ((), ("fill<int>",)):
        with pytest.raises(CompileError):
            compiled(text, host_code="leave-out", options=options, instantiate=instantiate)


LOST = {
    "the launch": "void f(float* p) { library::x(); fill<<<1, 1>>>(p, 1.f); }",
    "an instance that is not named": "void f(float* p) { library::x(); fill<double><<<1, 1>>>(nullptr, 1.); }",
    "a type of the body": "void f(float* p) { library::x(); using T = int; fill<T><<<1, 1>>>(nullptr, 1); }",
    "an address": "void f() { auto k = library::wrap(&fill<double>); }",
    "a function": "template <class T> void run(T* p) { fill<<<1, 1>>>(p, T()); }\nint main() { library::x(); run<double>(nullptr); }",
    "a function of functions": "template <class T> void run(T* p) { fill<<<1, 1>>>(p, T()); }\n"
    "template <class T> void more(T* p) { run(p); }\nint main() { library::x(); more<double>(nullptr); }",
    "a macro": "#define RUN(T) fill<T><<<1, 1>>>(nullptr, T())\nint main() { library::x(); RUN(double); }",
    "a macro that pastes": "#define RUN(n) fi##n<double><<<1, 1>>>(nullptr, 1.)\nint main() { library::x(); RUN(ll); }",
    "a kernel that a macro defines": "#define KERNEL(n) template <class T> __global__ void n(T* p) { *p = 1; }\nKERNEL(made) int x;\n"
    "int main() { library::x(); made<double><<<1, 1>>>(nullptr); }",
    "an operator": "struct Q {}; template <class T> void operator|(Q, T* p) { fill<<<1, 1>>>(p, T()); }\n"
    "Q q; void f(double* p) { library::x(); q | p; }",
    "an operator of a class": "struct Q { template <class T> void operator<<(T* p) { fill<<<1, 1>>>(p, T()); } };\n"
    "Q q; void f(double* p) { library::x(); q << p; }",
    "a call operator": "template <class T> struct Run { void operator()(T* p) { fill<<<1, 1>>>(p, T()); } };\n"
    "using Gemm = Run<double>; void f(double* p) { library::x(); Gemm gemm; gemm(p); }",
    "a conversion": "template <class T> struct Run { operator int() { fill<<<1, 1>>>((T*)nullptr, T()); return 1; } };\n"
    "Run<double> make(); void f() { library::x(); int n = make(); }",
    "a constructor": "template <class T> struct Run { Run() { fill<<<1, 1>>>((T*)nullptr, T()); } };\n"
    "typedef Run<double> R; struct H { R* r; }; void f() { library::x(); R r; }",
    "a virtual function out of the class": "template <class T> struct Run { virtual void go(); };\n"
    "template <class T> void Run<T>::go() { fill<<<1, 1>>>((T*)nullptr, T()); }\n"
    "void f() { library::x(); Run<double> r; }",
    "a type of a function": "template <class T> struct Run { Run run() { fill<<<1, 1>>>((T*)nullptr, T()); return *this; } };\n"
    "Run<double> make(); void f() { library::x(); make().run(); }",
    "a partial specialisation": "template <class T> struct P { void go() {} };\n"
    "template <class T> struct P<T*> { void go() { fill<<<1, 1>>>((T*)nullptr, T()); } };\n"
    "void f() { library::x(); P<double*>().go(); }",
    "a partial specialisation after its use": "template <class T> struct P { static void go(T) {} };\n"
    "template <class T> void run(T t) { P<T>::go(t); }\n"
    "template <class T> struct P<T*> { static void go(T* p) { fill<<<1, 1>>>(p, T()); } };\n"
    "void f(double* p) { library::x(); run(p); }",
    "an iterator of a loop": "struct E {}; E made(); template <class T> struct I { T* p; int operator*();\n"
    "bool operator!=(I) { fill<<<1, 1>>>(p, T()); return false; } I& operator++() { return *this; } };\n"
    "I<double> begin(E); I<double> end(E);\nvoid f() { library::x(); for (int i : made()) {} }",
    "a function with a deduced type": "template <class T> struct Run { void go() { fill<<<1, 1>>>((T*)nullptr, T()); } };\n"
    "auto made() { return Run<double>(); }\nvoid f() { library::x(); made().go(); }",
    "a default argument": "template <class T> int run(T* p) { fill<<<1, 1>>>(p, T()); return 1; }\n"
    "template <class T> void with(T, int n = run<T>(nullptr)) {}\nvoid f() { library::x(); with(1.0); }",
    "a generic lambda": "auto run = [](auto* p) { fill<<<1, 1>>>(p, *p); };\nvoid f(double* p) { library::x(); run(p); }",
    "a header": '#include "launch.h"\nvoid f(double* p) { library::x(); launcher::go(p); }',
    "a parameter's type": "template <class T> struct Run { void go() { fill<<<1, 1>>>((T*)nullptr, T()); } };\n"
    "void f(Run<double>& r) { library::x(); r.go(); }",
    "a field's type": "template <class T> struct Run { void go() { fill<<<1, 1>>>((T*)nullptr, T()); } };\n"
    "struct Host { void f(); Run<double> r; };\nvoid Host::f() { library::x(); r.go(); }",
    "a function that is declared later": "template <class T> void dispatch(T t) { launch_it(t); } struct My {};\n"
    "template <class T> void launch_it(T t) { fill<<<1, 1>>>((T*)nullptr, t); }\n"
    "void f() { library::x(); dispatch(My()); }",
    "a class that is defined later": "template <class T> struct Run; template <class T> void go() { Run<T>().go(); }\n"
    "template <class T> struct Run { void go() { fill<<<1, 1>>>((T*)nullptr, T()); } };\n"
    "void f() { library::x(); go<double>(); }",
    "an alias of the kernel": "template <class T> auto alias = &fill<T>;\nvoid f(double* p) { library::x(); auto k = alias<double>; }",
    "a device variable": "template <class T> __device__ T table;\nvoid f() { library::x(&table<double>); }",
    "the second of two variables": "template <class T> struct Run { Run(int); void go() { fill<<<1, 1>>>((T*)nullptr, T()); } };\n"
    "int n; Run<double> a(n), b(n); void f() { library::x(); b.go(); }",
    "a kernel of another namespace": "namespace other { template <class T> __global__ void fill(T* p, T v) { *p = v; } }\n"
    "void f(float* p) { library::x(); using other::fill; fill<float><<<1, 1>>>(p, 1.f); }",
}


def reason_of(text: str, instantiate: tuple[str, ...]) -> str:
    """Return why the body with the first mention of the library cannot be left out, without a compiler: macros are not
    expanded but for the markers."""
    for name in ("global", "device"):
        text = text.replace(f"__{name}__", f"__attribute__(({name}))")
    files = {"k.cu": SourceBlocks(text.encode())}
    line = text[: text.index("library::")].count("\n") + 1
    column = text.index("library::") - text.rfind("\n", 0, text.index("library::"))
    bodies = LeftOutBodies(files, project_code(files.values()), instantiate)
    bodies.add([bodies.body_of(LocatedError((("k.cu", line, column),), "undefined"))])
    try:
        bodies.check(changed_files(files, "k.cu", bodies.marked(), lambda *each: None)["k.cu"])
    except Refusal as refusal:
        return refusal.reason.text
    return ""


@pytest.mark.one_toolchain
def test_a_body_that_may_instantiate_a_kernel_is_not_left_out() -> None:
    for name, text in LOST.items():
        if "#define" not in text and "#include" not in text:
            for instantiate in ((), ("fill<float>",)):
                reason = reason_of(KERNELS + text, instantiate)
                assert " may instantiate " in reason or " launches " in reason or name == "a device variable", name
    assert reason_of(KERNELS + "void f() { library::f(); plain<<<1, 1>>>(nullptr); }", ()) == ""
    assert (
        reason_of(KERNELS + "void f(float* p) { library::f(); fill<float><<<1, 1>>>(p, 1.f); }", ("fill<float>",)) == ""
    )
    caller = "void run(float* p) { fill<<<1, 1>>>(p, 1.f); }\nvoid f() { library::f(); run(nullptr); }"
    assert reason_of(KERNELS + caller, ()) == ""  # run is compiled, whoever calls it
    deduced = "void f(float* p) { library::f(); fill<<<1, 1>>>(p, 1.f); }"
    assert reason_of(KERNELS + deduced, ("fill<float>",)).startswith("f launches the kernel template fill: only")
    hidden = "struct V {}; namespace n { struct V {}; }\nvoid f() { library::x(); using n::V; fill<V><<<1, 1>>>(nullptr, {}); }"
    assert reason_of(KERNELS + hidden, ("fill<V>",)) == "f names fill<V>, which may mean something else after using"
    variable = LOST["a device variable"]
    assert reason_of(KERNELS + variable, ()) == ("f uses &table<double>, which the module's instantiate does not name")
    assert reason_of(KERNELS + variable, ("&table<double>",)) == ""
    deduced = "template <class T> __device__ T table;\nvoid f() { library::x(table); }"
    assert reason_of(KERNELS + deduced, ()).startswith("f uses the variable template table: only")
    pointer = "void f() { library::x(); void (*g)(float*, float) = fill<float>; }"
    assert reason_of(KERNELS + pointer, ("fill<float>",)) == (
        "f names fill<float>, and float may mean something else there"
    )
    other = "namespace std { template <class T> void fill(T, T); template <class T> struct vector { void f() { fill(T(), T()); } }; }"
    assert reason_of(f"{other}\n{KERNELS}void f() {{ library::f(); std::vector<int> v; v.fill(); }}", ()) == ""


@pytest.mark.one_toolchain
@pytest.mark.parametrize(
    ("test", "late"),
    [
        ("void_t<decltype(sizeof(T))>", "struct I { int n; };"),
        ("void_t<decltype(late(*(T*)nullptr))>", "int late(I&);"),
    ],
)
def test_a_body_that_may_use_a_template_first_is_not_left_out(test: str, late: str) -> None:
    """A class template is instantiated once: what it is depends on what is declared where it is used first."""
    text = (
        "struct I;\ntemplate <class T, class = void> struct is { static const int v = 1; };\n"
        f"template <class T> struct is<T, {test}> {{ static const int v = 2; }};\n%s"
        f"template <class T> int through() {{ return is<T>::v; }}\nvoid f() {{ library::f(); %s }}\n{late}\n"
        "__global__ void k(int* p) { *p = is<I>::v; }\n"
    )
    for use in ("(void)is<I>::v;", "through<I>();"):
        assert "may be declared after f" in reason_of(text % ("", use), ())
    friend = "template <class T> struct Declares { friend int late(T&) { return 1; } };\n"
    assert "late" in reason_of(text % (friend, "Declares<I> d;"), ())
    assert reason_of(text % ("", "int n = 1;"), ()) == ""
    special = text.split("\n")[2]  # now after the template that uses it
    text = text.replace(f"{special}\n", "").replace("void f()", f"{special}\nvoid f()")
    assert "may be declared after f" in reason_of(text % ("", "through<I>();"), ())


@pytest.mark.every_toolchain
@pytest.mark.thorough
@pytest.mark.parametrize("text", LOST.values(), ids=list(LOST))
def test_no_instance_of_a_kernel_is_lost(text: str, compiled: Compile, tmp_path: Path) -> None:
    (tmp_path / "launch.h").write_text(
        "namespace launcher { template <class T> void go(T* p) { fill<<<1, 1>>>(p, T()); } }\n"
    )
    for instantiate in ((), ("fill<float>",)):
        with pytest.raises(CompileError) as failure:
            compiled(KERNELS + text, host_code="leave-out", instantiate=instantiate)
        assert 'name followed by "::" must be a class or namespace name' in str(failure.value)
        assert "cannot be left out" in str(failure.value)


@pytest.mark.parametrize(
    "launch",
    [
        "fill<float><<<1, 1>>>(p, library::value());",
        "::fill<float> <<<1, 1>>>(p, library::value());",
        "library::launch(fill<float>, p);",
        "FILL(float); library::f();",
    ],
)
def test_a_launch_that_is_named_with_its_arguments_can_be_left_out(launch: str, compiled: Compile) -> None:
    text = f"{KERNELS}#define FILL(T) fill<T><<<1, 1>>>(p, 1)\nvoid f(float* p) {{ {launch} }}\n"
    result = compiled(text, host_code="leave-out", instantiate=("fill<float>",))
    assert kernels(result) == {"fill<float>", "plain"}
    assert [code.name for code in result.left_out] == ["f"]


@pytest.mark.parametrize(
    ("text", "instance"),
    [
        ("void f(float* p) { library::x(); fill<float><<<1, 1>>>(p, 1.f); }", "fill<float>"),
        pytest.param(
            "template <class T> __device__ T table;\nvoid f() { library::x(&table<double>); }",
            "&table<double>",
            marks=pytest.mark.slow,
        ),
    ],
)
def test_a_kernel_that_instantiate_would_have_to_name_is_data_of_the_error(
    text: str, instance: str, compiled: Compile
) -> None:
    for host_code in ("whole", "leave-out"):
        with pytest.raises(CompileError) as failure:
            compiled(KERNELS + text, host_code=host_code)
        assert failure.value.unnamed_instances == ((instance,) if host_code == "leave-out" else ())
    result = compiled(KERNELS + text, host_code="leave-out", instantiate=(instance,))
    assert [code.name for code in result.left_out] == ["f"]


@pytest.mark.parametrize(
    "text",
    [
        "int f() { return library::n; }\n__host__ __device__ int f();",
        *(
            pytest.param(text, marks=pytest.mark.slow)
            for text in (
                "int f() { return library::n; }\n__device__ int f();",
                "__device__ int f();\nint f() { return library::n; }",
                "struct S { __device__ int f(); };\nint S::f() { return library::n; }",
            )
        ),
    ],
)
def test_a_function_that_another_declaration_marks_is_not_left_out_and_the_error_says_why(
    text: str, compiled: Compile
) -> None:
    with pytest.raises(CompileError) as failure:
        compiled(KERNELS + text, host_code="leave-out")
    reason = "f: device code may call it, as another declaration marks it"
    assert f"note: it cannot be left out: {reason}." in str(failure.value)


def test_a_mistake_in_device_code_is_not_hidden_by_what_is_left_out(compiled: Compile) -> None:
    text = KERNELS + "void f() { library::x(); }\n__global__ void k(int* p) { *p = missing; }\n"
    with pytest.raises(CompileError) as failure:
        compiled(text, host_code="leave-out")
    assert 'error: identifier "missing" is undefined' in str(failure.value)
    assert str(failure.value).count(": error: ") == 1


def test_a_header_that_is_not_found_is_never_left_out(compiled: Compile) -> None:
    for name in ("<library/host.h>", '"project/config.h"'):
        with pytest.raises(CompileError, match="cannot open source file"):
            compiled(f"#include {name}\n{KERNELS}", host_code="leave-out")
