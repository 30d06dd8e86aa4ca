"""What debugging information says of kernels' parameters, and when the compiler is asked for it. Nothing is compiled here.

tests/data/debugging_information.ptx has the sections `.debug_info` and `.debug_abbrev` that NVRTC 12.9 writes for
debugging_information.cu beside it, with --std=c++20 and --device-debug.
"""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from cuda_wheel.builder.compile import struct_layouts
from cuda_wheel.builder.compile.struct_layouts import DebugEntry, debug_entries, declared_parameters, with_parameters
from cuda_wheel.builder.jobs import EMPTY, Compiled, Declared, Job
from cuda_wheel.runtime.manifest import Parameter
from cuda_wheel.runtime.parts.dtypes import Struct

pytestmark = pytest.mark.one_toolchain

RECORDED = (Path(__file__).parents[2] / "data" / "debugging_information.ptx").read_text()

FIELDS = {
    "Tail": "16 {f8 d @0, i1 c @8}",
    "E": "12 {i4 n @0, u1 u @4, u4 b @8}",
}
EXPECTED = {
    "_Z1kIfEvN2ns6ParamsIT_Li3EEE5Tail21E2Ali": [
        "ns::Params<float, 3> params 112 {i4 tag @0, f4 a[3] @4, u8 p @16, i2 m @24, ? flag @26, u8 r @32, i1 c @40, "
        "u8 n @48, i4 i @56, f4 f @56, ns::Params<float, 3>::{unnamed type#1} 48 {f8 q[2, 3] @0} inner @64}",
        "Tail2 tail 24 {f8 d @0, i1 c @8, i1 c2 @16}",
        f"E e {FIELDS['E']}",
        "Al al 32 {i4 a @0}",
        "int n",
    ],
    "_Z4more4Priv2A14Anon4TailRA2_S2_4Long": [
        "Priv priv 12 {i4 x @0, i4 y @4, f4 z @8}",
        "A1 a1 12 {i4 a @0, i4 b @4, f4 c @4, i4 d @8}",
        "Anon anon 8 {f4 x @0, f4 y @4}",
        f"Tail tail {FIELDS['Tail']}",
        " r",
        "Long l 204 {i1 a[200] @0, i2 s @200, i1 b @202}",
    ],
    # Virtual functions and bases, bit-fields, fields of one name, empty structs, numbers that NumPy lacks.
    "_Z6absent1V4Bits4Dup25Empty1W2NU7LastBit10HasVirtual": [
        *("V v", "Bits bits", "Dup2 dup", "Empty ", "W wide", "NU nu", "LastBit last", "HasVirtual h")
    ],
    "c": [
        "float x",
        "const float* y",
        f"E e {FIELDS['E']}",
        "float* const* pp",
        "Tail* t",
        "Neg neg",
        "void* v",
        "const volatile float* cv",
        "Either either 8 {i4 i @0, f4 f[2] @0}",
        f"Deep deep 88 {{i4 m[2, 3] @0, Tail {FIELDS['Tail']} t[2] @24, u8 p @56, u1 u @64, u8 g @72}}",
        "const Tail* const* q",
        "unsigned char b",
        "const void* w",
    ],
}


def spelled(struct: Struct | None) -> str:
    if struct is None:
        return ""
    fields = [
        f"{f'{field.type} {spelled(field.struct)}'.strip()} {field.name}{list(field.shape) or ''} @{field.offset}"
        for field in struct.fields
    ]
    return f"{struct.size} {{{', '.join(fields)}}}"


def test_parameters_have_their_names_types_and_fields() -> None:
    found = declared_parameters(RECORDED)
    told = {
        symbol: [f"{each.type} {each.name}" + f" {spelled(each.struct)}".rstrip() for each in found[symbol]]
        for symbol in EXPECTED
    }
    assert told == EXPECTED
    for declared in [each for parameters in found.values() for each in parameters if each.struct]:
        assert declared.struct and declared.struct.name == declared.type


# --- the format -----------------------------------------------------------------------------------------


def section(name: str, content: bytes, width: int = 8) -> str:
    return f"\t.section\t.debug_{name}\n\t{{\n" + "".join(f".b{width} {byte}\n" for byte in content) + "\t}\n"


def text_of(abbreviations: bytes, entries: bytes, version: int = 2, size: int | None = None) -> str:
    """Return PTX with this information; `size` is the length that its header states."""
    rest = version.to_bytes(2, "little") + bytes(4) + b"\x08" + entries
    length = (len(rest) if size is None else size).to_bytes(4, "little")
    return section("abbrev", abbreviations) + section("info", length + rest)


FORMS = [
    (0x0B, b"\xff", 255),  # DW_FORM_data1 and so on: figure 16 of DWARF 2.0.0
    (0x0C, b"\x01", 1),
    (0x11, b"\x02", 2),
    (0x05, b"\x01\x02", 0x201),
    (0x12, b"\x01\x02", 0x201),
    (0x06, b"\x01\x02\x03\x04", 0x4030201),
    (0x13, b"\x01\x02\x03\x04", 0x4030201),
    (0x0E, b"\x01\x02\x03\x04", 0x4030201),
    *((form, b"\x01\x02\x03\x04\x05\x06\x07\x08", 0x807060504030201) for form in (0x01, 0x07, 0x14)),
    (0x08, b"a\xc3\xa9\0", "aé"),
    (0x08, b"\xff\0", "\N{REPLACEMENT CHARACTER}"),
    (0x08, b"\0", ""),
    (0x0F, b"\x7f", 127),
    (0x0F, b"\x80\x01", 128),
    (0x0F, b"\xe5\x8e\x26", 624485),
    (0x0D, b"\x7f", -1),
    (0x0D, b"\x3f", 63),
    (0x0D, b"\x80\x7f", -128),
    (0x0D, b"\x9b\xf1\x59", -624485),
    (0x09, b"\x02ab", b"ab"),
    (0x0A, b"\x02ab", b"ab"),
    (0x03, b"\x02\0ab", b"ab"),
    (0x04, b"\x02\0\0\0ab", b"ab"),
]


@pytest.mark.parametrize(("form", "content", "value"), FORMS)
def test_an_attribute_of_every_form(form: int, content: bytes, value: object) -> None:
    abbreviations = bytes([1, 0x2E, 0, 3, form, 0x1C, 0x0B, 0, 0, 0])
    entries = debug_entries(text_of(abbreviations, b"\x01" + content + b"\x05"))
    assert entries is not None
    ((offset, entry),) = entries.items()
    assert (offset, entry.tag, entry.attributes, entry.children) == (11, 0x2E, {3: value, 0x1C: 5}, [])
    assert debug_entries(text_of(abbreviations, b"\x01" + content)) is None  # the second attribute is missing
    if form != 0x08:
        assert debug_entries(text_of(abbreviations, b"\x01" + content[:-1])) is None


TREE = bytes([1, 0x11, 1, 0, 0, 2, 0x2E, 1, 0, 0, 3, 0x05, 0, 0, 0, 0])
"""Abbreviations of a unit and a function, which have children, and a parameter, without attributes."""


def test_entries_form_a_tree() -> None:
    entries = debug_entries(text_of(TREE, b"\x01\x02\x03\x03\0\x02\x03\0\x03\0"))
    assert entries is not None
    assert [(offset, entry.tag) for offset, entry in entries.items()] == [
        *((11, 0x11), (12, 0x2E), (13, 5), (14, 5), (16, 0x2E), (17, 5), (19, 5))
    ]
    assert [child.tag for child in entries[11].children] == [0x2E, 0x2E, 5]
    assert entries[12].children == [entries[13], entries[14]] and entries[16].children == [entries[17]]


def test_entries_end_with_the_unit() -> None:
    for entries in (
        text_of(TREE, b"\x03\x03\x03", size=9),
        text_of(TREE, b"\x03\x03\0\x03"),
        text_of(TREE, b"\x03\x03", size=99),
    ):
        found = debug_entries(entries)
        assert found is not None and list(found) == [11, 12]


@pytest.mark.parametrize(
    "text",
    [
        text_of(TREE, b"\x04"),  # no such abbreviation
        text_of(bytes([3, 5, 0, 3, 0x7F, 0, 0, 0]), b"\x03\0"),  # no such form
        text_of(TREE, b"\x03", version=3),
        section("abbrev", TREE) + section("info", b"\x06\0\0\0\x02\0\0\0\0\0"),
        text_of(TREE, b"\x03").replace(".b8 2\n", ".b8 256\n"),
    ],
)
def test_other_information_has_no_entries(text: str) -> None:
    assert debug_entries(text) is None


def test_data_has_every_width_and_form_of_number() -> None:
    text = ".b8 1, 2\n\t.b8 3\n .b16 0x0504, -2\n.b32 label, 7\n.b64 0x1ff, -1\n.b8 4\n"
    assert struct_layouts._content(text) == (
        b"\x01\x02\x03"
        + b"\x04\x05\xfe\xff"
        + bytes(4)
        + b"\x07\0\0\0"
        + b"\xff\x01"
        + bytes(6)
        + b"\xff" * 8
        + b"\x04"
    )


def test_no_cut_or_changed_byte_makes_an_error() -> None:
    lines = RECORDED.splitlines(keepends=True)
    numbers = [number for number, line in enumerate(lines) if re.match(r"\.b8 \d+$", line)]
    for number in numbers[:: max(1, len(numbers) // 60)]:
        for changed in ([*lines[:number], *lines[number + 1 :]], [*lines[:number], ".b8 255\n", *lines[number + 1 :]]):
            declared_parameters("".join(changed))


# --- when the compiler is asked ---------------------------------------------------------------------------


TEXT = 'struct S { int a; }; __global__ void k(S s) {}\nextern "C" __global__ void c(S s, int n) {}\n'
NAMED = "__global__ void named(int n) {}\n"  # of two kernels of one name, the text alone says nothing
IN_STRUCT = Parameter("b8", 0, 8)
REQUEST: Any = {"options": [], "name": "k.cu", "text": b"text", "expressions": ["own<1>"]}


def job_of(text: str = TEXT, **changes: Any) -> Job:
    job = Job("", "/project", "k.cu", text.encode(), "80", True, True, ("-DX=1",), ("/toolkit",), (), False, "auto")
    return replace(job, **changes)


def compiled(headers: tuple[str, ...] | None = (), ptx: bytes = b"", **kernels: tuple[Parameter, ...]) -> Compiled:
    return replace(EMPTY, kernels=kernels, headers=headers, ptx=ptx)


class StandInCompiler:
    """Answers with RECORDED, or an error, also if it is asked for `symbols` that it does not have."""

    def __init__(self, error: str = "", symbols: list[str] | None = None) -> None:
        self.requests: list[Any] = []
        self._error = error
        self._symbols = symbols

    def __call__(self, request: Any) -> Any:
        self.requests.append(request)
        error = self._error or ("an error" if len(request["expressions"]) > 1 and self._symbols is None else "")
        return {"ptx": RECORDED.encode() + b"\xff", "error": error, "symbols": ["_Z3own", *(self._symbols or [])]}


def asked(job: Job, known: Compiled) -> bool:
    compiler = StandInCompiler()
    result = with_parameters(job, REQUEST, known, compiler)
    if not compiler.requests:
        assert result is known
    return bool(compiler.requests)


@pytest.mark.parametrize(
    ("symbol", "parameters", "is_asked"),
    [
        ("_Z1k1S", (IN_STRUCT,), True),
        ("_Z1k6float2", (IN_STRUCT,), False),  # nvcc's own vector, of its size
        ("_Z1k6float4", (IN_STRUCT,), True),  # a type of the project with that name
        ("_Z1k6__half", (Parameter("b8", 0, 2),), False),
        ("_Z1kfP1S", (Parameter("f32", 0, 4), Parameter("u64", 8, 8)), False),
        ("_Z1kR1S", (Parameter("b8", 0, 8),), False),
        ("_Z1kv", (), False),
        ("_Z1kb", (Parameter("b8", 0, 1),), False),
        ("_Z1kPf", (Parameter("b8", 0, 8),), False),
        ("_Z1kf", (Parameter("f32", 0, 4), Parameter("f32", 4, 4)), True),
        ("not_in_the_text", (Parameter("f32", 0, 4),), True),
        ("not_in_the_text", (), False),
        ("c", (IN_STRUCT, Parameter("u32", 8, 4)), True),
    ],
)
def test_the_compiler_is_asked_for_what_symbol_and_text_do_not_say(
    symbol: str, parameters: tuple[Parameter, ...], is_asked: bool
) -> None:
    assert asked(job_of(), compiled(**{symbol: parameters})) is is_asked


def test_an_extern_c_kernel_is_described_by_its_text() -> None:
    known = compiled(c=(Parameter("u64", 0, 8), Parameter("u32", 8, 4)))
    text = 'extern "C" __global__ void c(float* x, TYPE n) {}'
    assert not asked(job_of(text.replace("TYPE", "int")), known)
    assert asked(job_of(text, options=("-DTYPE=int",)), known)
    assert asked(job_of(text.replace("TYPE", "float")), known)  # PTX says otherwise


@pytest.mark.parametrize(
    ("changes", "headers", "is_asked"),
    [
        ({}, (), False),
        ({}, None, True),  # not known which files it reads
        ({"text": TEXT + "#if __CUDA_ARCH__ >= 900\n#endif\n"}, (), True),
        ({"options": ("-DA=__CUDA_ARCH__",)}, (), True),
        ({"options": ("-DSEARCH=1",)}, (), False),
    ],
)
def test_for_later_architectures_the_compiler_is_asked_only_if_a_text_depends_on_them(
    changes: dict[str, Any], headers: tuple[str, ...] | None, is_asked: bool
) -> None:
    known = compiled(headers, _Z1k1S=(IN_STRUCT,))
    assert asked(job_of(**{"describes": False, **changes}), known) is is_asked
    assert asked(job_of(**changes), known)


def test_headers_of_the_project_may_depend_on_the_architecture(tmp_path: Path) -> None:
    header = tmp_path / "a.h"
    header.write_text("NV_IF_TARGET(x)")
    known = compiled((str(header),), _Z1k1S=(IN_STRUCT,))
    assert asked(job_of(describes=False), known)
    assert not asked(job_of(describes=False, include_dirs=(str(tmp_path),)), known)


def test_a_source_of_relocatable_code_is_read_for_what_no_symbol_says() -> None:
    known = replace(compiled(), ltoir=b"")
    for text, is_asked in (
        (TEXT, True),
        ("__global__ void k(float* x) {}", False),
        ("int x;", False),
        (NAMED + NAMED.replace("int", "float"), True),
    ):
        assert asked(job_of(text, form="lto"), known) is is_asked
    result = with_parameters(job_of(form="lto"), REQUEST, known, StandInCompiler())
    assert result.parameters == declared_parameters(RECORDED)


def test_the_answer_is_of_the_kernels_and_the_request_of_the_job() -> None:
    compiler = StandInCompiler()
    known = compiled(c=(IN_STRUCT, Parameter("u32", 8, 4)), other=(IN_STRUCT,))
    options = ["-lineinfo", "-DX=1", "--generate-line-info", "-dlto", "--gpu-architecture=sm_90", "-G", "-lineinfo2"]
    result = with_parameters(job_of(), {**REQUEST, "options": options}, known, compiler)
    with_types, request = compiler.requests
    expected = {
        **REQUEST,
        "options": ["-DX=1", "-lineinfo2", "--gpu-architecture=compute_80", "--device-debug"],
    }
    assert request == expected
    names = [f"cuda_wheel_types_of_a_kernel<decltype({name})>" for name in ("c", "other")]
    text = b"text\ntemplate <class> __global__ void cuda_wheel_types_of_a_kernel() {}\n"
    assert with_types == {**expected, "text": text, "expressions": ["own<1>", *names]}
    assert result == replace(known, parameters={"c": declared_parameters(RECORDED)["c"], "other": ()})
    assert isinstance(result.parameters["c"][0], Declared)


def test_the_namespaces_of_types_come_from_a_symbol() -> None:
    """In CUDA 13, the debugging information has none."""
    known = compiled(c=(IN_STRUCT, Parameter("u32", 8, 4)))
    plain = declared_parameters(RECORDED)["c"]
    types = [each.type for each in plain]
    rest = "3NegPvPVKf6Either4DeepPKPK4TailhPKv"
    for parameters, qualified in (
        (f"fPKfN1a1EEPKPfPNS2_4TailE{rest}", {2: "a::E", 4: "a::Tail*"}),
        (f"fPKfN1a1EEPKPfR4Tail{rest}", {2: "a::E", 4: "Tail&"}),
        ("fPKfN1a1EE", {}),  # of another number of parameters
        ("?", {}),
    ):
        symbol = f"_Z28cuda_wheel_types_of_a_kernelIFv{parameters}EEvv"
        found = with_parameters(job_of(), REQUEST, known, StandInCompiler(symbols=[symbol])).parameters["c"]
        assert [each.type for each in found] == [qualified.get(index, type_) for index, type_ in enumerate(types)]
        assert found[2].struct is not None and found[2].struct.name == found[2].type
        assert [each.name for each in found] == [each.name for each in plain]
    assert with_parameters(job_of(), REQUEST, known, StandInCompiler()).parameters["c"] == plain


@pytest.mark.parametrize("answer", [None, "an error"])
def test_without_an_answer_nothing_is_known(answer: str | None) -> None:
    known = compiled(c=(IN_STRUCT, Parameter("u32", 8, 4)))
    compiler = StandInCompiler(answer) if answer else lambda request: None
    assert with_parameters(job_of(), REQUEST, known, compiler) == replace(known, parameters={"c": ()})


def test_large_code_is_not_asked_for() -> None:
    limit = struct_layouts._LARGEST
    for size in (limit, limit + 1):
        compiler = StandInCompiler()
        known = compiled(ptx=bytes(size), c=(IN_STRUCT, Parameter("u32", 8, 4)))
        result = with_parameters(job_of(), REQUEST, known, compiler)
        assert bool(compiler.requests) is (size == limit)
        assert (result.parameters["c"] == ()) is (size > limit)


# --- single entries ---------------------------------------------------------------------------------------

NAME, SIZE, CONSTANT, COUNT, ENCODING, TYPE = 0x03, 0x0B, 0x1C, 0x37, 0x3E, 0x49
ARRAY, ENUMERATION, POINTER, STRUCT, BASE, TYPEDEF, RANGE = 0x01, 0x04, 0x0F, 0x13, 0x24, 0x16, 0x21


def enumeration(size: int, *values: int) -> DebugEntry:
    return DebugEntry(ENUMERATION, {SIZE: size}, [DebugEntry(0x28, {CONSTANT: value}) for value in values])


@pytest.mark.parametrize(
    ("entry", "number"),
    [
        (DebugEntry(STRUCT, {NAME: "__half", SIZE: 2}), "f2"),
        (DebugEntry(STRUCT, {NAME: "__half", SIZE: 4}), ""),
        (DebugEntry(STRUCT, {NAME: "__nv_bfloat16", SIZE: 2}), ""),
        (DebugEntry(BASE, {SIZE: 4, ENCODING: 4}), "f4"),
        (DebugEntry(BASE, {SIZE: 1, ENCODING: 2}), "?"),
        (DebugEntry(BASE, {SIZE: 1, ENCODING: 8}), "u1"),
        (DebugEntry(BASE, {SIZE: 16, ENCODING: 4}), ""),
        (DebugEntry(BASE, {SIZE: 4, ENCODING: 99}), ""),
        (DebugEntry(BASE, {SIZE: 4, ENCODING: b""}), ""),
        (DebugEntry(BASE, {ENCODING: 5}), ""),
        (DebugEntry(POINTER, {}), "u8"),
        (DebugEntry(0x10, {}), "u8"),
        (enumeration(1, 127), "i1"),
        (enumeration(1, 128), "u1"),
        (enumeration(4, -1, 0x7FFFFFFF), "i4"),
        (DebugEntry(ENUMERATION, {}), ""),
        (DebugEntry(ARRAY, {SIZE: 4}), ""),
    ],
)
def test_the_number_of_an_entry(entry: DebugEntry, number: str) -> None:
    assert struct_layouts._number(entry) == number


def test_the_size_of_a_type() -> None:
    number, alias = DebugEntry(BASE, {SIZE: 4}), DebugEntry(TYPEDEF, {TYPE: 1})
    types = struct_layouts._Types({1: number, 2: alias})
    ranges = [DebugEntry(RANGE, {COUNT: 1}), DebugEntry(RANGE, {COUNT: 3})]
    assert types._size(DebugEntry(ARRAY, {TYPE: 2}, ranges)) == 12
    assert types._size(DebugEntry(POINTER, {})) == 8 and types._size(DebugEntry(POINTER, {SIZE: 4})) == 4
    assert types._size(number) == 4 and types._size(DebugEntry(BASE, {})) == 1 and types._size(None) == 1
    for wrong in (0, -1, b"", None):
        with pytest.raises(struct_layouts._NoFieldsError):
            types._size(DebugEntry(ARRAY, {TYPE: 1}, [DebugEntry(RANGE, {} if wrong is None else {COUNT: wrong})]))


@pytest.mark.parametrize(
    ("entry", "name"),
    [
        (DebugEntry(0x3B, {NAME: "decltype(nullptr)"}), "void"),
        (DebugEntry(STRUCT, {NAME: "_ZN2ns1SE"}), "ns::S"),
        (DebugEntry(STRUCT, {NAME: "V<int,2>"}), "V<int, 2>"),
        (DebugEntry(BASE, {NAME: "unsigned long long"}), "unsigned long long"),
        (DebugEntry(BASE, {NAME: "__int1"}), ""),
        (DebugEntry(STRUCT, {}), ""),
        (DebugEntry(ARRAY, {NAME: "A"}), ""),
    ],
)
def test_the_name_of_a_type(entry: DebugEntry, name: str) -> None:
    assert struct_layouts._type_name(entry) == name


def test_a_member_that_is_not_at_a_constant_offset_has_no_field() -> None:
    assert struct_layouts._member_offset(b"\x23\x85\x02") == 0x105
    for location in (b"\x22\x05", 5, "#5"):
        with pytest.raises(struct_layouts._NoFieldsError):
            struct_layouts._member_offset(location)
