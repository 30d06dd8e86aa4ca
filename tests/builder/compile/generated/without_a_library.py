"""Files that use a library which the compiler does not find, at random: in host functions, and where kernels see it.

The reference of each is the same file with the library. With `host-code = "leave-out"`, a file has the kernels of its
reference, or is an error.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import count
from pathlib import Path

__all__ = ["HEADERS", "MixedFile", "compile_options", "mixed_files", "write_headers"]

LIBRARY = """
#pragma once
namespace library {
struct Mat { int n; __host__ __device__ constexpr Mat(int n = 3) : n(n) {} };
struct Log { template <class T> Log& operator<<(const T&) { return *this; } };
static Log log;
template <class... A> int f(A&&...) { return 1; }
template <class... A> __host__ __device__ constexpr int g(A...) { return 1; }
}
#define LIBRARY_CHECK(x) do { if (!(x)) library::f(0); } while (0)
#define LIBRARY_DEVICE __host__ __device__
"""

HEADERS = {
    "library.h": LIBRARY,
    "marks.h": "#pragma once\n#define HEADER_MARK __host__ __device__\n#define HEADER_GLOBAL __global__ void\n",
}


def write_headers(folder: Path) -> None:
    """Write the headers that the files include, and the library's, which only the references do."""
    for name, text in HEADERS.items():
        (folder / name).write_text(text, encoding="utf-8")


def compile_options() -> tuple[str, ...]:
    """Return the options with which NVRTC and nvcc compile the files."""
    return ("--std=c++17", "--define-macro=OPTION_MARK=__host__ __device__")


_MARKS = (
    *("__device__", "__host__ __device__", "static __device__ __forceinline__", "__attribute__((device))"),
    *(
        "FILE_MARK",
        "HEADER_MARK",
        "OPTION_MARK",
        "PASTED(device)",
        "constexpr",
        "__device__ constexpr",
        "LIBRARY_DEVICE",
    ),
)

_STATEMENTS = (
    "library::f(1);",
    'library::log << "text" << 1;',
    "auto m = library::Mat(3); m.n++;",
    "LIBRARY_CHECK(true);",
    "for (int i = library::f(); i < 3; i++) {}",
    "library::Mat m; library::f(m);",
    "if (library::f()) { library::f(2); } else { library::f(3); }",
    "using M = library::Mat; M m(2);",
    "auto l = [&](auto x) { return library::f(x); }; l(1);",
    "static_assert(sizeof(library::Mat) > 1);",
    "struct Local { library::Mat m; int go() { return library::f(m); } }; Local().go();",
)
"""What does not compile in a host function without the library."""


@dataclass(frozen=True)
class MixedFile:
    """A file, the same with the library, and the instances that the module names."""

    name: str
    text: str
    instantiate: tuple[str, ...]

    @property
    def for_nvcc(self) -> str:
        """The reference with explicit instantiations, which nvcc needs, and with the macro that an option defines."""
        instances = (
            f"template __global__ void {each}({each.partition('<')[2].rstrip('>')}*);" for each in self.instantiate
        )
        return "\n".join(("#define OPTION_MARK __host__ __device__", self.reference, *instances, ""))

    @property
    def reference(self) -> str:
        """The file with the library; its lines are the same."""
        return '#include "library.h"' + self.text


class _Writer:
    """Writes the parts of one file; each has names and numbers of its own."""

    def __init__(self, generator: random.Random) -> None:
        self.random = generator
        self.number = count(1000, 7)
        self.instantiate: list[str] = []

    def bad(self, chance: float) -> str:
        """Return a statement that does not compile, or nothing."""
        return self.random.choice(_STATEMENTS) if self.random.random() < chance else ""

    def type(self) -> str:
        return self.random.choice(("float", "double", "int", "short"))

    def device_function(self) -> str:
        """Return a kernel that calls a function, which is marked in one of many ways."""
        n, bad = next(self.number), self.random.random() < 0.2
        mark = self.random.choice(_MARKS)
        value = f"{n} + library::g(2) - 1" if bad else str(n)
        body = f"{{ return {value}; }}"
        form = self.random.choice(
            ("plain", "plain", "declared", "later", "member", "specialised", "template", "pragma")
        )
        text = {
            "plain": f"{mark} int f{n}() {body}\n",
            "declared": f"{mark.replace('static ', '')} int f{n}();\nint f{n}() {body}\n",
            "later": f"int f{n}() {body}\n{mark.replace('static ', '')} int f{n}();\n",
            "member": f"struct S{n} {{ {mark.replace('static ', '')} int go(); }};\nint S{n}::go() {body}\n"
            f"__device__ int f{n}() {{ return S{n}().go(); }}\n",
            "specialised": f"template <class T> __device__ int t{n}() {{ return 1; }}\n"
            f"template <> {mark.replace('static ', '')} int t{n}<int>() {body}\n"
            f"__device__ int f{n}() {{ return t{n}<int>(); }}\n",
            "template": f"template <class T> {mark} int t{n}(T) {body}\n__device__ int f{n}() {{ return t{n}(1); }}\n",
            "pragma": f"#pragma nv_exec_check_disable\n{mark} int f{n}() {body}\n",
        }[form]
        kernel = self.random.choice(("__global__ void", "HEADER_GLOBAL", "__attribute__((global)) void"))
        return f"{text}{kernel} d{n}(int* p) {{ *p = f{n}(); }}\n"

    def trait(self) -> str:
        """Return a kernel that depends on whether a host function, a type or an overload exists."""
        n, other = next(self.number), next(self.number)
        declared = self.random.choice(
            (
                f"int probe{n}(int) {{ {self.bad(0.7)} return 1; }}",
                f"inline int probe{n}(int, int = 2);\ninline int probe{n}(int, int) {{ {self.bad(0.7)} return 1; }}",
                f"auto probe{n}(int) {{ {self.bad(0.7)} return 1; }}",
                f"constexpr int probe{n}(int) {{ {self.bad(0.4)} return 1; }}",
                f"library::Mat probe{n}(int);",
                f"library::Mat variable{n}; int probe{n}(int);",
                f"int probe{n}(int, library::Mat = 3);",
                f"template <class T> int probe{n}(T) {{ {self.bad(0.7)} return 1; }}",
                f"struct Type{n} {{ int n; {self.random.choice(('', 'library::Mat m;'))} }}; int probe{n}(int);",
            )
        )
        test = self.random.choice((f"decltype((void)probe{n}(T()))", f"void_t<decltype(probe{n}(T()))>"))
        return (
            f"{declared}\ntemplate <class T, class = void> struct has{n} {{ static const int v = {n}; }};\n"
            f"template <class T> struct has{n}<T, {test}> {{ static const int v = {other}; }};\n"
            f"__global__ void s{n}(int* p) {{ *p = has{n}<int>::v; }}\n"
        )

    def first_use(self) -> str:
        """Return a kernel that depends on where a template is used first, which may be in a host function."""
        n, other = next(self.number), next(self.number)
        use = f"void u{n}() {{ {self.bad(0.9)} (void)t{n}<I{n}>::v; }}\n" if self.random.random() < 0.8 else ""
        if self.random.random() < 0.5:
            test, late = "void_t<decltype(sizeof(T))>", f"struct I{n} {{ int n; }};\n"
        else:
            test, late = f"void_t<decltype(late{n}(*(T*)nullptr))>", f"int late{n}(I{n}&);\n"
        return (
            f"struct I{n};\ntemplate <class T, class = void> struct t{n} {{ static const int v = {n}; }};\n"
            f"template <class T> struct t{n}<T, {test}> {{ static const int v = {other}; }};\n"
            f"{use}{late}__global__ void w{n}(int* p) {{ *p = t{n}<I{n}>::v; }}\n"
        )

    def overload(self) -> str:
        """Return a kernel whose overload may be one that does not compile."""
        n, other = next(self.number), next(self.number)
        return (
            self.random.choice(
                (
                    f"__device__ int pick{n}(long) {{ return {n}; }}\n"
                    f"LIBRARY_DEVICE int pick{n}(int) {{ return {other}; }}\n",
                    f"__device__ int pick{n}(long) {{ return {n}; }}\n"
                    f"__device__ int pick{n}(int, library::Mat = 2) {{ return {other}; }}\n",
                    f"template <class T> __device__ int pick{n}(T) {{ return {n}; }}\n"
                    f"template <> LIBRARY_DEVICE int pick{n}<int>(int) {{ return {other}; }}\n",
                    f"struct B{n} {{ __device__ operator int() const {{ return {n}; }} }};\n"
                    f"__device__ int pick{n}(int) {{ return B{n}(); }}\nbool operator==(B{n}, int) {{ {self.bad(0.8)} return true; }}\n",
                )
            )
            + f"__global__ void o{n}(int* p) {{ *p = pick{n}(3); }}\n"
        )

    def launch(self) -> str:
        """Return a kernel template, and host functions that launch it in one of many ways, in which code may fail."""
        n, t, bad, other = next(self.number), self.type(), self.bad(0.7), self.bad(0.3)
        k, use = f"k{n}", self.random.choice((f"k{n}<<<1, 1>>>(p)", f"k{n}<T><<<1, 32>>>(p)"))
        kernel = f"template <class T> __global__ void {k}(T* p) {{ *p = T({n}); }}\n"
        host = f"template <class T> void go{n}(T* p) {{ {other} {use}; }}\n"
        ways = {
            "deduced": f"void run{n}({t}* p) {{ {bad} {k}<<<1, 1>>>(p); }}\n",
            "explicit": f"void run{n}({t}* p) {{ {bad} {k}<{t}><<<1, 1>>>(p); }}\n",
            "local type": f"void run{n}({t}* p) {{ {bad} using T = {t}; {use}; }}\n",
            "alias": f"using A{n} = {t};\nvoid run{n}({t}* p) {{ {bad} {k}<A{n}><<<1, 1>>>(p); }}\n",
            "template": f"{host}void run{n}({t}* p) {{ {bad} go{n}(p); }}\n",
            "templates": f"{host}template <class T> void more{n}(T* p) {{ go{n}(p); }}\nvoid run{n}({t}* p) {{ {bad} more{n}(p); }}\n",
            "macro": f"#define RUN{n}(T) {k}<T><<<1, 1>>>((T*)nullptr)\nvoid run{n}() {{ {bad} RUN{n}({t}); }}\n",
            "operator": f"struct Q{n} {{}};\ntemplate <class T> void operator|(Q{n}, T* p) {{ {use}; }}\n"
            f"void run{n}({t}* p) {{ {bad} Q{n}() | p; }}\n",
            "member operator": f"template <class T> struct Q{n} {{ void operator()(T* p) {{ {use}; }} operator bool() const {{ return true; }} }};\n"
            f"typedef Q{n}<{t}> G{n}; struct H{n} {{ G{n} g; }};\nvoid run{n}(H{n}& h) {{ {bad} h.g(nullptr); }}\n",
            "conversion": f"template <class T> struct Q{n} {{ operator int() const {{ T* p = nullptr; {use}; return 1; }} }};\n"
            f"Q{n}<{t}> make{n}();\nvoid run{n}() {{ {bad} int x = make{n}(); }}\n",
            "constructor": f"template <class T> struct Q{n} {{ Q{n}() {{ T* p = nullptr; {use}; }} }};\n"
            f"void run{n}() {{ {bad} Q{n}<{t}> q; }}\n",
            "virtual": f"template <class T> struct Q{n} {{ virtual void go(); }};\ntemplate <class T> void Q{n}<T>::go() {{ T* p = nullptr; {use}; }}\n"
            f"void run{n}() {{ {bad} Q{n}<{t}> q; }}\n",
            "lambda": f"auto l{n} = [](auto* p) {{ {k}<<<1, 1>>>(p); }};\nvoid run{n}({t}* p) {{ {bad} l{n}(p); }}\n",
            "default argument": f"{host}template <class T> int d{n}() {{ go{n}((T*)nullptr); return 1; }}\n"
            f"void with{n}(int x = d{n}<{t}>()) {{}}\nvoid run{n}() {{ {bad} with{n}(); }}\n",
            "found by arguments": f"template <class T> void dispatch{n}(T t) {{ late{n}(t); }}\nstruct My{n} {{}};\n"
            f"template <class T> void late{n}(T) {{ {t}* p = nullptr; {k}<<<1, 1>>>(p); }}\nvoid run{n}() {{ {bad} dispatch{n}(My{n}()); }}\n",
            "later class": f"template <class T> struct Q{n};\ntemplate <class T> void first{n}() {{ Q{n}<T>().go(); }}\n"
            f"template <class T> struct Q{n} {{ void go() {{ T* p = nullptr; {use}; }} }};\nvoid run{n}() {{ {bad} first{n}<{t}>(); }}\n",
            "address": f"template <class F> void take{n}(F) {{}}\nvoid run{n}() {{ {bad} take{n}(&{k}<{t}>); }}\n",
            "variable": f"template <class T> __device__ T v{n} = {n};\nvoid run{n}() {{ {bad} (void)&v{n}<{t}>; {k}<<<1, 1>>>(({t}*)nullptr); }}\n",
            "inline kernel": f"inline __global__ void i{n}(int* p) {{ *p = {n}; }}\nvoid run{n}(int* p) {{ {bad} i{n}<<<1, 1>>>(p); }}\n",
            "other scope": f"namespace s{n} {{ template <class T> __global__ void {k}(T* p) {{ *p = T({n + 1}); }} }}\n"
            f"void run{n}({t}* p) {{ {bad} using namespace s{n}; s{n}::{k}<{t}><<<1, 1>>>(p); }}\n",
            "class": f"{host}class C{n} {{ void run({t}* p) {{ {bad} go{n}(p); }} }};\n",
            "caller": f"static void run{n}({t}* p) {{ {k}<<<1, 1>>>(p); }}\nint call{n}() {{ {bad} run{n}(nullptr); return 1; }}\n",
            "static kernel": f"static __global__ void i{n}(int* p) {{ *p = {n}; }}\nvoid run{n}(int* p) {{ {bad} i{n}<<<1, 1>>>(p); }}\n",
        }
        chosen = self.random.choice(tuple(ways))
        named = self.random.choice(((), (), (f"{k}<{t}>",), (f"{k}<{t}>",), (f"{k}<{self.type()}>",)))
        if "template" in kernel:
            self.instantiate += named
        if self.random.random() < 0.15:
            kernel = f"#define KERNEL{n}(name) {kernel.replace(k, 'name').strip()}\nKERNEL{n}({k})\n"
        return kernel + ways[chosen]

    def host(self) -> str:
        """Return host code in which something fails, and that no kernel depends on."""
        n = next(self.number)
        return self.random.choice(
            (
                f"void h{n}() {{ {self.bad(1)} }}\n",
                f"static inline int h{n}(int x) {{ {self.bad(1)} return x; }}\n",
                f"struct H{n} {{ H{n}(); int go() const; int n; }};\nH{n}::H{n}() : n(1) {{ {self.bad(0.8)} }}\n"
                f"int H{n}::go() const {{ {self.bad(0.8)} return n; }}\n",
                f"namespace {{ void h{n}(const char* text) {{ {self.bad(1)} }} }}\n",
                f"__global__ void p{n}(int* p) {{ *p = {n}; }}\nint h{n}() {{ {self.bad(1)} p{n}<<<1, 1>>>(nullptr); return 0; }}\n",
                f'extern "C" void h{n}(int* p) {{\n#if 1\n  {self.bad(1)}\n#else\n  nothing }}\n#endif\n}}\n',
                f"struct E{n} {{}};\nbool operator==(const E{n}& a, const E{n}& b) {{ {self.bad(1)} return true; }}\n",
            )
        )


def mixed_files(seed: int) -> Iterator[MixedFile]:
    """Yield files without end; equal seeds give equal files."""
    for index in count():
        writer = _Writer(random.Random(f"{seed} {index}"))
        parts: tuple[Callable[[], str], ...] = (
            *(writer.host, writer.host, writer.launch, writer.launch, writer.launch),
            *(writer.device_function, writer.trait, writer.overload, writer.first_use),
        )
        chosen = [part() for part in writer.random.choices(parts, k=writer.random.randint(1, 3))]
        head = '\n#include <cuda_runtime.h>\n#include "marks.h"\n#define FILE_MARK __host__ __device__\n#define PASTED(x) __##x##__\n'
        head += "template <class...> using void_t = void;\n__global__ void plain(int* p) { *p = 1; }\n"
        yield MixedFile(f"{seed}/{index}", head + "".join(chosen), tuple(dict.fromkeys(writer.instantiate)))
