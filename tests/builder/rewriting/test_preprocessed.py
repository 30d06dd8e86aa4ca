"""What a function may instantiate is found in preprocessed text: rather more than the compiler instantiates, never less."""

from __future__ import annotations

import pytest

from cuda_wheel.builder.cxx.tokens import scan
from cuda_wheel.builder.rewriting.preprocessed import TranslationUnit, marker, marks_device_code, segments

pytestmark = pytest.mark.one_toolchain

GLOBAL = "__attribute__((global))"
DEVICE = "__attribute__((device))"

KERNELS = f"""
template <class T> {GLOBAL} void fill(T* p) {{ *p = 0; }}
{GLOBAL} void plain(int* p) {{ *p = 1; }}
inline {GLOBAL} void used(int* p) {{ *p = 2; }}
template <class T> {DEVICE} T table;
template <class T> {DEVICE} T twice(T n) {{ return n + n; }}
"""


def body(number: int, content: str) -> str:
    return f"{{ {marker('begin', number)} {content} {marker('end', number)} }}"


def instantiated(declarations: str, use: str) -> set[str]:
    """Return the names in a function's body by whose use a kernel or device variable may be instantiated."""
    unit = TranslationUnit(f"{KERNELS}{declarations}\nvoid f() {body(0, use)}\n".encode())
    block = unit.body(0)
    assert block is not None
    return {block.body[index].text for index in unit.instantiating_names(block.body)}


def test_kernels_and_device_variables_that_need_a_use_are_known() -> None:
    unit = TranslationUnit(KERNELS.encode())
    assert unit.kernels == {"fill": True, "used": False, "table": True}
    assert unit.variables == {"table"}


@pytest.mark.parametrize(
    ("file", "is_own"), [("k.cu", True), ("inc/k.h", True), ("/usr/k.h", False), ("C:/k.h", False), ("__nv_x", False)]
)
def test_device_variables_of_libraries_are_not_counted_and_their_kernels_are(file: str, is_own: bool) -> None:
    unit = TranslationUnit(f'#line 1 "{file}"\n{KERNELS}'.encode())
    assert unit.variables == ({"table"} if is_own else set())
    assert "fill" in unit.kernels


@pytest.mark.parametrize(
    ("declarations", "use", "expected"),
    [
        ("", "plain<<<1, 1>>>(p);", set()),
        ("", "fill<<<1, 1>>>(p); twice(1);", {"fill"}),
        ("", "g(&table<int>);", {"table"}),
        ("template <class T> void run(T* p) { fill<<<1, 1>>>(p); }", "run(p);", {"run"}),
        ("void run(int* p) { fill<<<1, 1>>>(p); }", "run(p);", set()),  # compiled, whoever calls it
        ("inline void run(int* p) { fill<<<1, 1>>>(p); }", "run(p);", set()),
        ("template <class T> void a(T* p) { fill(p); } template <class T> void b(T* p) { a(p); }", "b(p);", {"b"}),
        ("template <class T> struct R { void go(T* p) { fill(p); } }; using A = R<int>;", "A a;", {"A"}),
        ("template <class T> struct R { void fill(T) {} };", "r.fill(1); r->fill(2);", set()),
        ("template <class T> void other(T) {}", "other(1);", set()),
    ],
)
def test_a_name_counts_if_its_use_may_instantiate_a_kernel(declarations: str, use: str, expected: set[str]) -> None:
    assert instantiated(declarations, use) == expected


def test_a_declaration_that_is_used_without_its_name_counts_everywhere() -> None:
    operator = "struct Q {}; template <class T> void operator|(Q, T* p) { fill<<<1, 1>>>(p); }"
    begin = "template <class T> T* begin(T* p) { fill<<<1, 1>>>(p); return p; }"
    for text, is_implicit in (
        (operator, True),
        (begin, True),
        ("template <class T> void run(T* p) { fill(p); }", False),
    ):
        unit = TranslationUnit(f"{KERNELS}{text}".encode())
        assert ("*" in unit.instantiating) == is_implicit


def test_a_function_declared_later_is_found_only_by_an_unqualified_call() -> None:
    later = "template <class T> void late(T* p) { fill<<<1, 1>>>(p); }"
    caller = "template <class T> void run(T* p) { %s }"
    for call, expected in (("late(p);", {"run"}), ("n::late(p);", set()), ("p->late(p);", set())):
        assert instantiated(f"{caller % call}\n{later}", "run(p);") == expected


def test_a_body_is_found_by_its_markers_where_they_are_unique() -> None:
    unit = TranslationUnit(f"void f() {body(0, 'a();')}\nnamespace n {{ void g() {body(1, 'b();')} }}".encode())
    found = [unit.body(number) for number in (0, 1)]
    assert [block.name for block in found if block is not None] == ["f", "g"]
    assert unit.body(2) is None
    for text in (
        f"void f() {body(0, '')}\nvoid g() {body(0, '')}",
        f"struct S {{ void f() {body(0, '')} }};",
        f"void f() {{ {{ {marker('begin', 0)} }} {marker('end', 0)} }}",
        f"void f() {{ {marker('begin', 0)} }}",
    ):
        assert TranslationUnit(text.encode()).body(0) is None


COMPLETE = """
struct I;
template <class T, class = void> struct is { static const int v = 1; };
template <class T> struct is<T, decltype(sizeof(T))> { static const int v = 2; };
"""


@pytest.mark.parametrize(
    ("use", "after", "name"),
    [
        ("(void)is<I>::v;", "struct I { int n; };", "I"),
        ("(void)is<I>::v;", "", None),
        ("int n = 1;", "struct I { int n; };", None),
        ("(void)is<I>::v;", "struct Unrelated { int n; };", None),
    ],
)
def test_a_class_that_is_completed_later_may_change_an_instance(use: str, after: str, name: str | None) -> None:
    unit = TranslationUnit(f"{COMPLETE}\nvoid f() {body(0, use)}\n{after}\n".encode())
    block = unit.body(0)
    assert block is not None
    assert unit.later_meaning(block) == name


def test_markers_of_device_code_are_attributes() -> None:
    for text, expected in {
        f"{DEVICE} int f();": True,
        f"{GLOBAL} void k();": True,
        "__attribute__((__shared__)) int s;": True,
        "__declspec(__device__) int f();": True,
        "__attribute__((noinline, __device__)) int f();": True,
        "__attribute__((host)) int f();": False,
        "int device();": False,
    }.items():
        assert marks_device_code(scan(text.encode())[0]) == expected, text


def test_the_parts_of_a_text_are_those_between_its_line_directives() -> None:
    text = b'#line 1 "k.cu"\nint a;\n#line 7 "C:\\\\a.h"\nint b;\n\n#line 2 "k.cu"\nint c;'
    found = segments(text)
    assert [(part.file, part.line, text[part.start : part.end]) for part in found] == [
        ("k.cu", 1, b"int a;\n"),
        ("C:\\a.h", 7, b"int b;\n\n"),
        ("k.cu", 2, b"int c;"),
    ]
    assert segments(b"int a;\n") == []
