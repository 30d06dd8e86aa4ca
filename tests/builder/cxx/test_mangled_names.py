"""A mangled symbol is read into nodes by the rules of the Itanium C++ ABI; whatever else it holds is a DemanglingError."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cuda_wheel.builder.cxx.mangled_names import (
    MAX_DEPTH,
    DemanglingError,
    Node,
    SymbolReader,
    join,
    name_node,
    scoped,
    source_name,
)

pytestmark = pytest.mark.one_toolchain

INT, FLOAT, N = name_node("int"), name_node("float"), name_node("n")


def type_of(code: str) -> Node:
    """Return the node of a type from its code."""
    reader = SymbolReader("_Z" + code)
    node = reader.type()
    assert not reader.more()
    return node


# --- nodes ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("identifier", "kind"),
    [
        ("gemm", "name"),
        ("std", "name"),
        ("_private", "name"),
        ("_GLOBAL__N__00000000_4_k_cu__Z2fnf", "unwritten"),
        ("_INTERNAL_0123abcd_4_k_cu__Z2fnf", "unwritten"),
        ("_INTERNAL_0123abc_4_k_cu__Z2fnf", "name"),  # one digit less
        ("__1", "inline"),
        ("__cxx11", "inline"),
        ("_V_300301_SM_800", "inline"),
        ("CUB_200802_SM_800_NS", "inline"),
        ("CUB_helpers", "name"),
        ("__4", "inline"),
        ("__4ever", "name"),
    ],
)
def test_a_name_that_nobody_wrote_has_a_kind_of_its_own(identifier: str, kind: str) -> None:
    assert source_name(identifier) == Node(kind, identifier)


def test_scopes_are_one_flat_node() -> None:
    a, b, c = map(name_node, "abc")
    assert scoped(None, a) == a
    flat = Node("scoped", "", (a, b, c))
    assert scoped(scoped(a, b), c) == flat
    assert scoped(a, scoped(b, c)) == flat


def test_scopes_are_not_nested_without_end() -> None:
    deep = Node("scoped", "", (N,) * (MAX_DEPTH - 1))
    assert len(scoped(deep, N).parts) == MAX_DEPTH
    with pytest.raises(DemanglingError):
        scoped(scoped(deep, N), N)


# --- terminals ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("code", "value"), [("_", 0), ("0_", 1), ("9_", 10), ("A_", 11), ("Z_", 36), ("10_", 37)])
def test_a_sequence_id_counts_from_the_omitted_number_in_base_36(code: str, value: int) -> None:
    assert SymbolReader("_Z" + code).sequence_id() == value


@pytest.mark.parametrize(("code", "value"), [("_", 0), ("0_", 1), ("9_", 10), ("10_", 11)])
def test_an_index_counts_from_the_omitted_number_in_base_10(code: str, value: int) -> None:
    assert SymbolReader("_Z" + code).index() == value


@pytest.mark.parametrize("code", ["", "0", "0x", "5gemm", "x", "9999999999x"])
def test_an_identifier_has_its_length_before_it(code: str) -> None:
    assert SymbolReader("_Z4gemm").identifier() == "gemm"
    with pytest.raises(DemanglingError):
        SymbolReader("_Z" + code).identifier()


# --- types ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("code", "node"),
    [
        ("i", INT),
        ("DF16_", name_node("_Float16")),
        ("DF16b", name_node("std::bfloat16_t")),
        ("Pi", Node("pointer", "*", (INT,))),
        ("Oi", Node("pointer", "&&", (INT,))),
        ("VKi", Node("qualified", " const volatile", (INT,))),
        ("rKi", Node("qualified", " const __restrict__", (INT,))),
        ("U3AS1i", Node("qualified", " AS1", (INT,))),
        ("A4_i", Node("array", "", (INT, name_node("4")))),
        ("A_i", Node("array", "", (INT, name_node("")))),
        ("FfiE", Node("function", "", (FLOAT, INT))),
        ("FfvE", Node("function", "", (FLOAT,))),
        ("KFfiRE", Node("function", " const &", (FLOAT, INT))),
        ("DoFfiE", Node("function", " noexcept", (FLOAT, INT))),
        ("M1nFfiE", Node("member pointer", "", (N, Node("function", "", (FLOAT, INT))))),
        ("Dv4_f", join(FLOAT, " __vector(", "4", ")")),
        ("N1a1nE", Node("scoped", "", (name_node("a"), N))),
        ("St1n", Node("scoped", "", (name_node("std"), N))),
        ("1nIiLi4EE", Node("template", "", (N, INT, name_node("4")))),
        ("1nIJifEE", Node("template", "", (N, Node("arguments", "", (INT, FLOAT))))),
    ],
)
def test_a_type_is_read_by_its_code(code: str, node: Node) -> None:
    assert type_of(code) == node


@pytest.mark.parametrize(
    ("symbol", "last"),
    [
        ("_Z1k1nPKS_S_", "n"),  # S_: n
        ("_Z1k1nPKS_S0_", "const"),  # const n
        ("_Z1k1nPKS_S1_", "*"),  # const n*
        ("_Z1kN1a1nES_", "a"),  # the scope before the whole name
        ("_Z1kN1a1nES0_", "scoped"),
        ("_ZN1a1kE1nS0_", "n"),  # the function itself is none
        ("_Z1k1nIiES_", "n"),  # the template before its instance
        ("_Z1k1nIiES0_", "template"),
    ],
)
def test_a_substitution_is_what_was_read_before_it_in_the_order_of_the_abi(symbol: str, last: str) -> None:
    _, parameters = SymbolReader(symbol).encoding()
    assert parameters is not None
    node = parameters[-1]
    assert last in (node.text.strip(), node.kind)


@pytest.mark.parametrize("symbol", ["_Z1kS_", "_Z1kiS_", "_Z1k1nS0_", "_Z1k1nPS_S9_", "_Z1kT_", "_Z1kIiEvT0_"])
def test_a_reference_to_nothing_is_an_error(symbol: str) -> None:
    """Fundamental types are no substitutions."""
    with pytest.raises(DemanglingError):
        SymbolReader(symbol).encoding()


# --- encodings ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("symbol", "parameters"),
    [
        ("_Z1n", None),  # a variable
        ("_Z1nv", ()),
        ("_Z1nif", (INT, FLOAT)),
        ("_Z1nIiEfT_", (INT,)),  # after the type of the result, which only templates have
        ("_ZN1a1nIiEEfT_", (INT,)),
        ("_ZN1acviIfEEv", ()),  # a conversion has none
    ],
)
def test_an_encoding_is_a_name_and_the_types_of_its_parameters(symbol: str, parameters: object) -> None:
    assert SymbolReader(symbol).encoding()[1] == parameters


def test_template_parameters_within_a_local_name_are_those_of_its_function() -> None:
    """After the local name, those outside of it count again."""
    reader = SymbolReader("_ZZ1fIfEvT_E1nIiE")
    name, _ = reader.encoding()
    assert [part.kind for part in name.parts] == ["call", "template"]
    assert name.parts[0].parts[1:] == (FLOAT,)
    assert reader.template_arguments is None


def test_the_parameters_of_a_lambda_are_auto() -> None:
    _, parameters = SymbolReader("_Z1kIiEvZ1fvEUlT_E_T_").encoding()
    assert parameters is not None
    assert parameters[0].parts[-1] == Node("lambda", "1", (name_node("auto:1"),))
    assert parameters[1] == INT


@pytest.mark.parametrize(
    ("code", "text"),
    [
        ("Li4E", "4"),
        ("Lin4E", "-4"),
        ("Lj4E", "4u"),
        ("Lb1E", "true"),
        ("LDnE", "nullptr"),
        ("Lf3f800000E", "(float)1.0"),
        ("Ldbff0000000000000E", "(double)-1.0"),
    ],
)
def test_a_literal_is_written_as_in_a_source(code: str, text: str) -> None:
    assert SymbolReader("_Z" + code).expression() == name_node(text)


@pytest.mark.parametrize("code", ["Lf3f8E", "Lfn1E", "LiabE", "Lb"])
def test_a_literal_that_its_type_does_not_have_is_an_error(code: str) -> None:
    with pytest.raises(DemanglingError):
        SymbolReader("_Z" + code).expression()


# --- limits ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("piece", ["P", "K", "A1_", "F", "1nI", "N1nI", "DTad", "DTplng", "Dp", "Z1n"])
def test_what_nests_too_deeply_is_an_error(piece: str) -> None:
    with pytest.raises(DemanglingError):
        SymbolReader("_Z1k" + piece * 10_000 + "i").encoding()


def test_real_nesting_is_within_the_limit() -> None:
    assert SymbolReader("_Z1k" + "P" * 60 + "i").encoding()[1]


PIECES = st.sampled_from(
    [*"PKVRONIESTJLXAFMZDU_0123456789ifvjk", "S_", "S0_", "St", "T_", "Dp", "DT", "1a", "Li3E", "pl", "Ul", "Ut", "cv"]
)


@given(st.lists(PIECES, max_size=40).map("".join))
def test_every_other_text_is_an_error_and_nothing_worse(code: str) -> None:
    with suppress(DemanglingError):
        SymbolReader("_Z" + code).encoding()
