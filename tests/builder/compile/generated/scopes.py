"""One name with several meanings in different scopes: which does a launcher use, and which does a kernel?"""

from __future__ import annotations

from collections.abc import Iterator

from tests.builder.compile.generated.case import Case

__all__ = ["scopes"]

KINDS: dict[str, tuple[str, str]] = {
    # name: (a definition of `thing` with the answer N, a constant expression that uses Q::thing)
    "constant": ("constexpr int thing = N;", "Qthing"),
    "alias": ("using thing = Answer<N>;", "Qthing::value"),
    "typedef": ("typedef Answer<N> thing;", "Qthing::value"),
    "field": ("struct thing { char field[N]; };", "(int)sizeof(Qthing::field)"),
    "function": ("__host__ __device__ constexpr int thing() { return N; }", "Qthing()"),
    "unmarked_constexpr_function": ("constexpr int thing() { return N; }", "Qthing()"),
    "class_template": ("template <class T> struct thing { enum { value = N + sizeof(T) }; };", "Qthing<float>::value"),
    "variable_template": ("template <class T> constexpr int thing = N + sizeof(T);", "Qthing<double>"),
    "enumerator": ("enum { thing = N };", "Qthing"),
    "scoped_enumerator": ("enum class thing { value = N };", "(int)Qthing::value"),
    "global": ("__device__ char thing[N];", "(int)sizeof(Qthing)"),
    "overload": ("constexpr int thing(double) { return N; }", "Qthing(1)"),
    "kernel": ("template <int M> __global__ void thing(int* out) { *out = N + M; }", ""),
}

USES = "void host(int* out) { HOST }\n__global__ void direct(int* out) { DEVICE }\n"

PLACES: dict[str, str] = {
    # A(n) defines `thing` with an answer; U(q) uses it in a launcher and a kernel, q before the name
    "qualified": "namespace a { A(1001) } namespace b { A(1002) }\nU(b::)",
    "using_directive": "namespace a { A(1001) } namespace b { A(1002) }\nusing namespace b;\nU()",
    "using_declaration": "namespace a { A(1001) } namespace b { A(1002) }\nusing b::thing;\nU()",
    "namespace_alias": "namespace a { A(1001) } namespace b { A(1002) }\nnamespace c = b;\nU(c::)",
    "inner_namespace": "namespace util { A(1001) }\nnamespace ct { namespace util { A(1002) } namespace ops {\nU(util::)\n} }",
    "outer_namespace": "namespace util { A(1001) }\nnamespace ct { namespace util { A(1002) } namespace ops {\nU(::util::)\n} }",
    "enclosing_namespace": "A(1001)\nnamespace ct { A(1002) namespace ops {\nU()\n} }",
    "global_scope": "A(1001)\nnamespace ct { A(1002) }\nU()",
    "inline_namespace": "namespace lib { namespace v1 { A(1001) } inline namespace v2 { A(1002) } }\nU(lib::)",
    "anonymous_namespace": "namespace lib { namespace { A(1002) } }\nnamespace other { A(1001) }\nU(lib::)",
    "reopened_namespace": "namespace lib { }\nnamespace other { A(1001) }\nnamespace lib { A(1002) }\nnamespace lib { namespace detail {\nU()\n} }",
    "nested_definition": "namespace a { A(1001) }\nnamespace a::b { A(1002) }\nnamespace a::b::c {\nU()\n}",
    "directive_in_namespace": "namespace a { A(1001) } namespace b { A(1002) }\nnamespace c { using namespace a; }\nnamespace d { using namespace b;\nU()\n}",
    "declaration_hides_directive": "namespace a { A(1001) } namespace b { A(1002) }\nnamespace c { using namespace a; using b::thing;\nU()\n}",
    "macro_namespace": "#define OPEN(n) namespace n {\n#define CLOSE }\nOPEN(a) A(1001) CLOSE\nOPEN(b) A(1002) U() CLOSE",
    "macro_redefined": "#define WHERE a::\nnamespace a { A(1001) } namespace b { A(1002) }\n#undef WHERE\n#define WHERE b::\nU(WHERE)",
    "condition": "namespace lib {\n#if 0\nA(1001)\n#elif defined(__CUDACC__)\nA(1002)\n#else\nA(1003)\n#endif\n}\nU(lib::)",
    "ambiguous": "namespace a { A(1001) } namespace b { A(1002) }\nusing namespace a; using namespace b;\nU()",
}


def _uses(kind: str, qualifier: str) -> str:
    use = KINDS[kind][1].replace("Q", qualifier)
    if kind == "kernel":
        return f"void host(int* out) {{ {qualifier}thing<5><<<1, 1>>>(out); }}"
    uses = USES.replace("HOST", f"show<{use}><<<1, 1>>>(out);").replace("DEVICE", f"*out = {use};")
    return uses.strip()


def scopes() -> Iterator[Case]:
    """Yield each kind of name in every second place, such that each place meets half of the kinds."""
    prelude = "template <int N> struct Answer { static constexpr int value = N; };\ntemplate <int N> __global__ void show(int* out) { *out = N; }\n"
    for number, (kind, (definition, _)) in enumerate(KINDS.items()):
        for place, layout in list(PLACES.items())[number % 2 :: 2]:
            text = layout
            for answer in ("1001", "1002", "1003"):
                text = text.replace(f"A({answer})", definition.replace("N", answer))
            for qualifier in ("b::", "c::", "util::", "::util::", "lib::", "WHERE", ""):
                text = text.replace(f"U({qualifier})", _uses(kind, "WHERE " if qualifier == "WHERE" else qualifier))
            yield Case(f"scopes/{kind}/{place}", prelude + text + "\n")
