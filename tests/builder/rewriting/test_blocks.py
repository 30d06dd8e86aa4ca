"""Functions and variables are found by brackets; what is not clear is no definition, and its neighbours are still found."""

from __future__ import annotations

import pytest

from cuda_wheel.builder.cxx.tokens import scan
from cuda_wheel.builder.rewriting.blocks import SourceBlocks, definitions

pytestmark = pytest.mark.one_toolchain


def names(text: str) -> list[str]:
    return [block.name for block in SourceBlocks(text.encode()).definitions]


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("int f(int n) { return n; }", "f"),
        ("__global__ void __launch_bounds__(128) k(int* p) {}", "k"),
        ("__attribute__((noinline)) int f();", "f"),
        ("template <class T, int N = (1 < 2)> T* ns::S<T>::get(T a) const noexcept { return a; }", "get"),
        ("template <> int f<int>(int) { return 1; }", "f"),
        ("auto f(int n) -> decltype(n) { return n; }", "f"),
        ("bool operator()(int a) const { return a; }", "operator"),
        ("bool operator==(S a, S b) { return true; }", "operator"),
        ("operator float() const { return 1; }", "operator"),
        ("decltype(1) f(int n);", "f"),
        ("const float limit = f(2);", "limit"),
        ("const int table[] = {1, 2};", "table"),
        ("S value{1, 2};", "value"),
        ("struct Forward;", "Forward"),
        ("using T = int;", "T"),
        ("enum class E : char { a, b };", "E"),
        ("unsigned bits : 3;", "bits"),
        ("static_assert(sizeof(int) == 4, \"\");", "static_assert"),
    ],
)  # fmt: skip
def test_a_definition_has_its_unqualified_name(text: str, name: str) -> None:
    assert names(text) == [name]


def test_namespaces_and_classes_are_entered_and_bodies_are_not() -> None:
    text = """
    namespace a::b { inline namespace { int in_namespace; } }
    extern "C" { void c_function(); }
    struct S : Base<int> { public: int member; void method() { struct Local { int hidden; }; } private: int other; };
    template <class T> class Template { T inside; };
    enum E { not_entered };
    void f() { int hidden; }
    """
    expected = ["in_namespace", "c_function", "member", "method", "other", "inside", "E", "f"]
    assert [name for name in names(text) if name] == expected
    blocks = {block.name: block for block in SourceBlocks(text.encode()).definitions if block.name}
    assert [name for name in expected if blocks[name].in_class] == ["member", "method", "other", "inside"]


def test_a_class_is_one_declaration_where_its_members_are_not_asked_for() -> None:
    tokens, _ = scan(b"namespace n { struct S { int a; void f() {} } s; int b; }")
    whole = list(definitions(tokens, into_classes=False))
    assert [(block.tokens[0].text, block.tokens[-2].text) for block in whole] == [("struct", "s"), ("int", "b")]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("const int a = f(x, y), *b = nullptr, c[2] = {1, 2}, d(3);", {"a", "b", "c", "d"}),
        ("const std::map<int, float> only = made(1, 2);", {"only"}),
        ("int f(int a, int b);", {"f"}),
        ("using T = std::pair<int, int>;", {"T"}),
    ],
)
def test_a_declaration_has_the_names_of_all_its_variables(text: str, expected: set[str]) -> None:
    (block,) = SourceBlocks(text.encode()).definitions
    assert block.names == expected


@pytest.mark.parametrize(
    ("text", "is_function", "has_body", "is_template"),
    [
        ("int f(int n);", True, False, False),
        ("template <class T> int f() { return 1; }", True, True, True),
        ('Name first("a", 1);', False, False, False),
        ("int n = f();", False, False, False),
        ("S::S(int n) : a{n}, b(n) { run(); }", True, True, False),
        ("auto l = [](int n) { return n; };", False, False, False),
    ],
)
def test_a_function_is_no_variable(text: str, is_function: bool, has_body: bool, is_template: bool) -> None:
    (block,) = SourceBlocks(text.encode()).definitions
    assert (block.is_function, bool(block.body), block.is_template) == (is_function, has_body, is_template)


def test_the_body_of_a_constructor_is_not_that_of_its_first_member() -> None:
    (block,) = SourceBlocks(b"S::S(int n) : a{n}, b{n} { run(); }").definitions
    assert [token.text for token in block.body] == ["{", "run", "(", ")", ";", "}"]
    assert "run" not in block.words and {"S", "a", "b"} <= block.words


def test_branches_that_share_a_bracket_hide_no_later_definition() -> None:
    text = "#if A\nvoid f(int) {\n#elif B\nvoid f(long) {\n#else\nvoid f() {\n#endif\n}\nint after;\n"
    assert names(text) == ["f", "after"]
    assert names("#if A\nint a;\n#else\nint b;\n#endif\nint c;\n") == ["a", "b", "c"]
    assert names("#ifdef A\nvoid f() {\n#endif\n#ifdef A\n}\n#endif\n") == ["f"]


def test_unmatched_brackets_raise_no_error() -> None:
    for text in ("}}}} int a;", "void f() { (", "struct S {", "template <", "int f(] {}", "#endif\n#else\n#if\n"):
        SourceBlocks(text.encode())
    assert names("} int a;") == ["a"]


TEXT = "int a;\n  // é\n\u00e9\u00e9 int b;\n\nvoid f() {\n}"


def test_places_are_lines_and_columns_of_characters_from_1() -> None:
    blocks = SourceBlocks(TEXT.encode())
    content = TEXT.encode()
    assert content[blocks.offset(3, 4) :].startswith(b"int b")  # two bytes for each é
    assert content[blocks.offset(2, None) :].startswith(b"//")
    assert content[blocks.offset(2, 1) :].startswith(b"  //")
    for line in (0, 7, 1 << 40):
        assert blocks.offset(line, 1) == len(content)
    for number, line in enumerate(TEXT.split("\n"), 1):
        start = blocks.offset(number, 1)
        assert blocks.line(start) == number == blocks.line(start + len(line.encode()))


def test_a_place_leads_to_its_token_and_definition() -> None:
    blocks = SourceBlocks(TEXT.encode())
    f = blocks.definitions[-1]
    assert blocks.definition_at(blocks.offset(5, 6)) is f is blocks.definition_at(f.end - 1)
    assert blocks.definition_at(f.end) is None
    assert blocks.definition_at(blocks.offset(4, 1)) is None
    assert blocks.tokens[blocks.token_at(blocks.offset(5, 2))].text == "f"
    assert blocks.token_at(len(TEXT.encode())) == len(blocks.tokens)
