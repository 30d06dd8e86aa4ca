"""The table of PTX ISA versions says what a PTX text needs, and a text is never lowered past it."""

from __future__ import annotations

import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cuda_wheel.builder.errors import ConfigError
from cuda_wheel.builder.images.lowering import FIRST_PTX_ISA, lower
from cuda_wheel.builder.images.ptx_requirements import OLDEST, instruction_version, ptx_table, requirement
from cuda_wheel.builder.releases import RELEASES
from cuda_wheel.runtime.manifest import Version
from cuda_wheel.runtime.parts.formats import ptx

HEAD = ".version 9.5\n.target sm_90\n.address_size 64\n"
FENCE = "fence.acquire.sync_restrict::shared::cluster.cluster;"


def text(body: str, head: str = HEAD) -> str:
    return (
        f"{head}.visible .entry k(.param .u64 k_param_0)\n{{\n.reg .pred %p<3>;\n.reg .b32 %r<9>;\n{body}\nret;\n}}\n"
    )


def needs(body: str, arch: str = "90") -> Version | None:
    """Return the version that a kernel's body needs, or None if the table lacks a word of it."""
    found = requirement(text(body), arch)
    return None if found.unknown else found.version


@pytest.mark.parametrize(
    ("instruction", "arch", "version"),
    [
        ("add.u32", "75", (6, 3)),
        ("add.sat.s32", "75", (6, 3)),
        ("add.sat.u32", "120f", None),  # newer than the table: two known modifiers do not make a known instruction
        ("add.rn.bf16", "90", (7, 8)),
        ("add.rn.f32x2", "100", (8, 6)),
        ("min.relu.s16x2", "90", (8, 0)),
        ("fence.sc.gpu", "75", (6, 3)),
        ("fence.gpu.sc", "75", (6, 3)),
        ("fence.sc.cluster", "90", (7, 8)),
        ("fence.acquire.gpu", "90", (8, 6)),
        ("fence.acquire.sync_restrict::shared::cluster.cluster", "90", (8, 6)),
        ("fence.proxy.async", "90", (8, 0)),
        ("fence.proxy.tensormap::generic.acquire.gpu", "90", (8, 3)),
        ("mbarrier.arrive.shared.b64", "80", (7, 0)),
        ("mbarrier.arrive.shared::cta.b64", "90", (7, 8)),
        ("mbarrier.arrive.release.cluster.shared::cluster.b64", "90", (8, 0)),
        ("mbarrier.arrive.relaxed.cluster.shared::cluster.b64", "90", (8, 6)),
        ("cp.async.ca.shared.global", "80", (7, 0)),
        ("cp.async.ca.shared.global.L2::128B", "80", (7, 4)),
        ("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes", "90", (8, 0)),
        ("cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes", "90", (8, 6)),
        ("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.noftz.f16", "90", (8, 0)),
        ("red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u32", "90", (8, 1)),
        ("atom.global.add.u32", "75", (6, 3)),
        ("atom.add.release.gpu.u32", "75", (6, 3)),
        ("atom.global.v4.f32.add", "90", None),
        ("atom.global.add.v4.f32", "90", (8, 1)),
        ("atom.global.cas.b128", "90", (8, 4)),
        ("ld.global.L2::cache_hint.u32", "80", (7, 4)),
        ("ld.param::entry.u32", "80", (8, 3)),
        ("ld.volatile.local.u32", "80", (9, 1)),
        ("ld.global.v8.f32", "100", (8, 8)),
        ("mov.b128", "80", (8, 3)),
        ("cvt.rn.satfinite.e4m3x2.f32", "90", (7, 8)),
        ("cvt.rn.satfinite.e4m3x2.f32", "89", (8, 1)),
        ("cvt.rn.bf16x2.ue8m0x2", "100a", (8, 6)),
        ("cvt.rn.bf16x2.e4m3x2", "100f", None),  # of 9.2
        ("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", "80", (7, 0)),
        ("mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32", "89", (8, 4)),
        ("mma.sync.aligned.m16n8k16.row.col.f32.e4m3.e4m3.f32", "89", (8, 7)),
        ("wgmma.mma_async.sync.aligned.m64n64k32.s32.s8.s8", "90a", (8, 0)),
        ("wgmma.mma_async.sync.aligned.m64n64k32.s32.u8.s8", "90a", (8, 4)),
        ("tcgen05.mma.cta_group::1.kind::mxf4.block_scale.scale_vec::2X", "100a", (8, 6)),
        ("tcgen05.mma.cta_group::1.kind::mxf4nvf4.block_scale.scale_vec::2X", "100a", (8, 7)),
        ("tcgen05.mma.cta_group::1.kind::mxf4.block_scale.block32", "100f", (8, 8)),
        ("setmaxnreg.inc.sync.aligned.u32", "90a", (8, 0)),
        ("multimem.ld_reduce.relaxed.gpu.global.add.acc::f32.v4.f16x2", "90", (8, 2)),
        ("clusterlaunchcontrol.query_cancel.is_canceled.pred.b128", "100", (8, 6)),
        ("brx.idx", "75", (6, 3)),
        ("ret", "75", (6, 3)),
        ("add", "75", None),
        ("frobnicate.u32", "75", None),
    ],
)
def test_the_version_of_an_instruction_depends_on_its_modifiers_types_and_target(
    instruction: str, arch: str, version: Version | None
) -> None:
    assert instruction_version(instruction, arch) == version


@pytest.mark.parametrize(
    ("body", "version"),
    [
        ("", (6, 3)),
        (FENCE, (8, 6)),
        (f"@%p1 {FENCE}", (8, 6)),
        (f"@!%p1 {FENCE}", (8, 6)),
        (f"@ ! %p1 {FENCE}", (8, 6)),
        (f"L1: {FENCE}", (8, 6)),
        (f"$L__BB0_1: L2:\n{FENCE}", (8, 6)),
        (f"add.u32 %r1, %r2, %r3; {{ {FENCE} }} add.u32 %r1, %r2, %r3;", (8, 6)),
        (f"{{{FENCE}}}", (8, 6)),
        (f"{{ }} {FENCE}", (8, 6)),
        ("fence\n.acquire\t.sync_restrict::shared::cluster\n.cluster\n;", (8, 6)),
        ("fence/* a */.acquire.sync_restrict::shared::cluster // b\n.cluster;", (8, 6)),
        (f"// {FENCE}\n/* {FENCE} */", (6, 3)),
        (f'.pragma "nounroll";\n.loc 1 2 3\n{FENCE}', (8, 6)),
        (f".loc 1 2 3 {FENCE}", (8, 6)),
        (f".loc 1 2 3, function_name $L__info_string0, inlined_at 1 4 5\n{FENCE}", (8, 6)),
        (".loc 1 2 3, function_name $L__info_string0+17, inlined_at 1 4 5\n", (7, 2)),
        ('.pragma "used_bytes_mask 15";', (8, 3)),
        ('.pragma /* a */ "enable_smem_spilling";', (9, 0)),
        ('.pragma "something_new";', None),
        ("mov.b64 {%r1, %r2}, %rd1;", None),  # %rd1 is not declared
        (".reg .b64 %rd<3>;\nmov.b64 {%r1, %r2}, %rd1;", (6, 3)),
        ("{ .reg .b32 lo, hi; .reg .b64 %d1; mov.b64 {lo, hi}, %d1; }", (6, 3)),
        ("{ .reg .b128 %rq<2>; }", (8, 3)),
        ("mov.u32 %r1, %tid.x;", (6, 3)),
        ("mov.u32 %r1, %cluster_ctarank;", (7, 8)),
        ("mov.u32 %r1, %clock_hi;", (6, 3)),
        ("mov.u32 %r1, %aggr_smem_size;", (8, 1)),
        ("mov.u32 %r1, %something_new;", None),
        (".reg .b32 %cluster_new;\nmov.u32 %r1, %cluster_new;", (6, 3)),
        (".reg .b32 %cluster_new;\n.reg .b32 %other;\nmov.u32 %r1, %cluster_new;", (6, 3)),
        ("mov.u32 %rX1, %r1;", None),  # %rX is not declared
        ("mov.u32 %rX1, %tid.x;", None),
        ("{ bra L1; L1: }", (6, 3)),
        (".reg .b64 %rd<3>;\nmov.b64{%r1, %r2}, %rd1;", (6, 3)),
        ("ld.global.u32 %r1, [k_param_0].unified;", (8, 0)),
        ("ld.global.u32 %r1, [k_param_0].something;", None),
        ("isspacep.shared ::cluster %p1, k_param_0;", None),
        ("isspacep.shared::cluster %p1, k_param_0;", (7, 8)),
        (".something_new 1;", None),
        ("something new;", None),
        ("17;", None),
        ("L: .branchtargets A, B;\nbrx.idx %r1, L;", (6, 3)),
        ("L: .callprototype (.param .b32 _) _ (.param .b64 _) .noreturn;", (6, 4)),
        (".local .align 4 .b8 x[4];", (6, 3)),
        ("min.f32 %r1, %r2, %r3;", (6, 3)),
        ("min.f32 %r1, %r2, %r3, %r4;", (8, 8)),
        ("mbarrier.arrive.shared.b64 %r1, [%r2];", (7, 0)),
        ("mbarrier.arrive.shared.b64 _, [%r2];", (7, 1)),
        ("mbarrier.arrive.shared.b64 %r1, [%r2], 3;", (7, 8)),
        ("mbarrier.arrive.noComplete.shared.b64 %r1, [%r2], 3;", (7, 0)),
        ("cp.async.ca.shared.global [%r1], [k_param_0], 16, %r2;", (7, 0)),
        ("cp.async.ca.shared.global [%r1], [k_param_0], 16, %p1;", (7, 5)),
        ("tex.2d.v4.f32.f32 {%r1, %r2, %r3, %r4}, [t, {%r1, %r2}];", (6, 3)),
        ("tex.2d.v4.f32.f32 {%r1, %r2, %r3, %r4}|%p1, [t, {%r1, %r2}];", (7, 1)),
    ],
)
def test_the_version_does_not_depend_on_how_a_statement_is_written(body: str, version: Version | None) -> None:
    assert needs(body) == version


@pytest.mark.parametrize(
    ("older", "newer", "version"),
    [
        ("cp.async.ca.shared.global [%r1], [%r2], 16, %r3;", "cp.async.ca.shared.global [%r1], [%r2], 16, %p1;", (7, 5)),
        ("st.bulk.shared::cta [%rd1], %rd2, 0;", "st.bulk.shared::cta [%rd1], %r2, 0;", (9, 0)),
        ("tensormap.replace.tile.elemtype.global.b1024.b32 [%rd1], 12;",
         "tensormap.replace.tile.elemtype.global.b1024.b32 [%rd1], 13;", (8, 7)),
        ("mov.u32 %r1, %tid.x;", "mov.u32 %r1, %reserved_smem_offset_0;", (7, 6)),
    ],
)  # fmt: skip
def test_each_of_several_similar_statements_counts(older: str, newer: str, version: Version) -> None:
    registers = ".reg .b64 %rd<9>;\n"
    assert (needs(registers + older, "100") or (99, 0)) < version
    for body in (f"{older}\n{newer}", f"{newer}\n{older}", f"{older}\n{newer}\n{older}"):
        assert needs(registers + body, "100") == version


def test_registers_that_are_declared_one_by_one_are_no_special_registers() -> None:
    body = ".reg .b32 %r10;\n.reg .b32 %r11;\n.reg .b32 %r12;\nmov.b32 %r10, %r11;\nmov.b32 %r11, %r12;"
    assert requirement(f"{HEAD}.func f()\n{{\n{body}\nret;\n}}\n", "90").unknown == ""


@pytest.mark.parametrize(
    ("module", "version"),
    [
        (".visible .entry k()\n.maxntid 256, 1, 1\n.minnctapersm 2\n{ ret; }", (6, 3)),
        (".visible .entry k()\n.reqnctapercluster 2, 1, 1\n{ ret; }", (7, 8)),
        (".visible .entry k() .explicitcluster .maxclusterrank 4 { ret; }", (7, 8)),
        (".visible .entry k() .reqntid 32 .blocksareclusters { ret; }", (9, 0)),
        (".visible .entry k() .reqntid 32 .blocksareclusters{.reg .b32 %r1; ret; }", (9, 0)),
        # The names of special registers, declared as others.
        (".func f() { .reg .b32 %reserved_smem_offset_<2>; mov.b32 %reserved_smem_offset_0, 0; }", (6, 3)),
        (".func f() { .reg .b32 %r1, %reserved_smem_offset_<2>; mov.b32 %reserved_smem_offset_0, %r1; }", (6, 3)),
        (".func f() { .reg .b32 %r1; mov.b32 %r1, %reserved_smem_offset_0; }", (7, 6)),
        (".visible .entry k() .something_new { ret; }", None),
        (".visible .entry k(.param .align 8 .b8 p[4352]) { ret; }", (6, 3)),
        (".visible .entry k(.param .align 8 .b8 p[4353]) { ret; }", (8, 1)),
        (".visible .entry k(.param .b64 a, .param .align 8 .b8 p[4350]) { ret; }", (8, 1)),
        (".func (.param .b32 r) f(.param .b64 a) .noreturn { ret; }", (6, 4)),
        (".extern .func (.param .b32 r) vprintf(.param .b64 a, .param .b64 b);", (6, 3)),
        (".alias a, b;", (6, 3)),
        (".global .attribute(.managed) .u32 x;", (6, 3)),
        (".global .attribute(.unified(1, 2)) .u32 x;", (8, 0)),
        (".global .align 8 .u64 table[2] = {first, second};", (6, 3)),
        (".global .u32 table[2][2] = {{1, 2}, {3, 4}};\n.func f() { " + FENCE + " ret; }", (8, 6)),
        (".global .f32 x[2] = {0f3F800000, 1.5};", (6, 3)),
        (".global .u64 x = generic(y);", (6, 3)),
        (".global .u8 x[2] = {0xFF(y), 0xFF00(y)};", (7, 1)),
        (".global .u8 x[2] = {0xFF(1000), 0xFF00(y)};", (7, 3)),
        ('.file 1 "fence.acquire.gpu;"', (6, 3)),
        ('.file 1 "a", 1234, 17\n.func f() { ' + FENCE + " ret; }", (8, 6)),
        (".section .debug_str\n{\n$L__info_string0:\n.b8 95\n}", (7, 2)),
        (".section .debug_info\n{\n.b32 12\n.b64 first-second\n}", (7, 5)),
        (".section .debug_info { .b32 12 }\n.func f() { " + FENCE + " ret; }", (8, 6)),
    ],
)
def test_the_version_of_directives_and_data(module: str, version: Version | None) -> None:
    found = requirement(HEAD + module, "90")
    assert (None if found.unknown else found.version) == version


def test_the_requirement_names_the_word() -> None:
    found = requirement(text(f"mov.u32 %r1, %cluster_ctarank;\n{FENCE}\nadd.u32 %r1, %r1, %r1;"), "90")
    assert found == ((8, 6), FENCE.rstrip(";"), "")
    assert requirement(text("add.u32 %r1, %r1, %r1; frobnicate.u32 %r1;"), "90").unknown == "frobnicate.u32"
    assert requirement(text(""), "90") == (OLDEST, "", "")


@pytest.mark.parametrize(
    ("module", "version", "word"),
    [
        (".global .u8 x[2] = {0xFF(y), 0xFF00(y)};", (7, 1), "mask()"),
        (
            ".func f() { .loc 1 2 3, function_name $L__info_string0, inlined_at 1 4 5\nret; }",
            (7, 2),
            ".loc with inlined_at",
        ),
        (".section .debug_str { $L__info_string0:\n.b8 95 }", (7, 2), "a label in .section"),
        (".section .debug_info { .b64 first-second }", (7, 5), "a difference or negative number in .section"),
        (".section .debug_info { .b64 -1 }", (7, 5), "a difference or negative number in .section"),
        ('.func f() { .pragma "used_bytes_mask 15"; ret; }', (8, 3), '.pragma "used_bytes_mask"'),
        (
            ".visible .entry k(.param .align 8 .b8 p[4353]) { ret; }",
            (8, 1),
            "the size of the parameters of k",
        ),
        (
            ".func f() { .reg .f32 %f<5>; min\n.f32 %f1, %f2, %f3, %f4; }",
            (8, 8),
            "min.f32 with three inputs",
        ),
        (
            ".func f() { .reg .b32 %r<5>; mbarrier .arrive\t.shared.b64 _, [%r2]; }",
            (7, 1),
            "mbarrier.arrive.shared.b64 with the destination _",
        ),
    ],
)
def test_the_word_is_named_as_the_documents_name_it(module: str, version: Version, word: str) -> None:
    assert requirement(HEAD + module, "90") == (version, word, "")


LONG = "17 " + " ".join(f"{n:03}" for n in range(30))


@pytest.mark.parametrize(
    ("body", "unknown"),
    [
        (".pragma new;", ".pragma"),
        ('.pragma "something_new 1";', '.pragma "something_new"'),
        ("isspacep.shared\n  ::cluster\t%p1, k_param_0;", "isspacep.shared ::cluster %p1, k_param_0"),
        (f"isspacep.shared ::{LONG};", f"isspacep.shared ::{LONG}"[:80]),
        ("17\n  18;", "17 18"),
        (f"{LONG};", LONG[:80]),
        ("mov.u32 %rX1, %tid.x;", "%rX1"),
    ],
)
def test_what_the_table_lacks_is_named_in_one_short_line(body: str, unknown: str) -> None:
    assert requirement(text(body), "90").unknown == unknown


@pytest.mark.parametrize(("arch", "version"), [("89", (8, 1)), ("90", (7, 8))])
def test_an_instruction_that_a_target_got_later_needs_more_there(arch: str, version: Version) -> None:
    body = ".reg .b16 %h<2>;\n.reg .f32 %f<3>;\ncvt.rn.satfinite.e4m3x2.f32 %h1, %f1, %f2;"
    assert requirement(text(body), arch) == (version, "cvt.rn.satfinite.e4m3x2.f32", "")


@pytest.mark.parametrize("head", [".target sm_90", ".target sm_90, debug", ".target sm_90, texmode_independent, debug"])
def test_the_options_of_a_target_do_not_matter(head: str) -> None:
    assert requirement(text(FENCE, f".version 8.8\n{head}\n.address_size 64\n"), "90").version == (8, 6)
    assert requirement(text("", f".version 8.8\n{head}, something_new\n.address_size 64\n"), "90").unknown


# Modifiers in these are all single words, so that white space can stand before each.
KNOWN = {
    "add.u32 %r1, %r2, %r3": (6, 3),
    "redux.sync.add.u32 %r1, %r2, -1": (7, 0),
    "ld.global.L1::evict_last.v2.b32 {%r1, %r2}, [k_param_0]": (7, 4),
    "barrier.cluster.arrive": (7, 8),
    "elect.sync %r1|%p1, -1": (8, 0),
    "lop3.or.b32 %r1|%p1, %r2, %r3, %r4, 1, %p2": (8, 2),
    "fence.acquire.gpu": (8, 6),
}
UNKNOWN = ["frobnicate.u32 %r1", "add.u33 %r1, %r2, %r3", "add", "fence.new.gpu", "mov.u32 %r1, %new_register"]
GAPS = st.sampled_from(["", " ", "\n", "\t\n ", "/* fence.acquire.gpu; */", "// redux.sync.add.u32 }\n", "/*{*/ "])


@given(st.data())
def test_white_space_and_comments_change_nothing(data: st.DataObject) -> None:
    chosen = data.draw(st.lists(st.sampled_from(sorted(KNOWN)), min_size=1, max_size=6))
    body = ""
    for instruction in chosen:
        predicate = data.draw(st.sampled_from(["", "@%p1 ", "@!%p2\n", "L: "]))
        parts = re.split(r"(?=\.[a-zA-Z])|(?<=[ ,])", instruction)
        body += predicate + "".join(part + data.draw(GAPS) for part in parts) + ";" + data.draw(GAPS)
    assert needs(body) == max(KNOWN[each] for each in chosen)


@given(
    st.lists(st.sampled_from(sorted(KNOWN)), max_size=6),
    st.lists(st.sampled_from(UNKNOWN), max_size=1),
    st.sampled_from(sorted(FIRST_PTX_ISA)),
    st.sampled_from([release.ptx_isa for release in RELEASES if release.ptx_isa >= (9, 0)]),
)
def test_nothing_is_lowered_past_its_words_or_its_target(
    chosen: list[str], unknown: list[str], arch: str, compiled: Version
) -> None:
    head = f".version {compiled[0]}.{compiled[1]}\n.target sm_{arch}\n.address_size 64\n"
    before = text("".join(f"{each};\n" for each in chosen + unknown), head)
    lowered = lower(before, "auto", arch, "k.cu", lambda text, arch: b"an assembler that accepts everything")
    if unknown:
        assert lowered == before
        return
    floor = max([FIRST_PTX_ISA[arch], *(KNOWN[each] for each in chosen)])
    assert ptx.version(lowered) == (floor if floor < compiled else compiled)
    assert lowered.replace(f".version {ptx.version(lowered)[0]}.{ptx.version(lowered)[1]}", "") == before.replace(
        f".version {compiled[0]}.{compiled[1]}", ""
    )


def test_the_first_candidate_costs_one_assembly_beside_the_reference() -> None:
    asked = []

    def assemble(text: str, _: str) -> bytes:
        asked.append(ptx.version(text))
        return b"machine code"

    lower(text(FENCE), "auto", "90", "k.cu", assemble)
    assert asked == [(9, 5), (8, 6)]


def test_a_target_that_is_not_known_keeps_its_version() -> None:
    before = text("").replace("sm_90", "sm_150")
    assert lower(before, "auto", "150", "k.cu", lambda text, arch: b"") == before
    with pytest.raises(ConfigError, match="does not know which version compute_150 needs"):
        lower(before, "9.0", "150", "k.cu", lambda text, arch: b"")


@pytest.mark.parametrize(
    ("body", "version", "message"),
    [
        (FENCE, "8.5", r"`fence\.acquire\.sync_restrict::shared::cluster\.cluster` needs 8\.6"),
        (FENCE, "7.8", r"needs 8\.6"),
        ("", "7.0", r"the lowest for this target is 7\.8"),
        ("frobnicate.u32 %r1;", "8.6", r"does not know which version `frobnicate\.u32` needs.*as-compiled"),
    ],
)
def test_an_explicit_version_that_is_too_low_is_refused_in_words(body: str, version: str, message: str) -> None:
    with pytest.raises(
        ConfigError, match=rf"ptx-version {re.escape(version)} does not suit k\.cu for compute_90: .*{message}"
    ):
        lower(text(body), version, "90", "k.cu", lambda text, arch: b"an assembler that accepts everything")


def test_an_explicit_version_that_the_table_allows_is_taken() -> None:
    assert ptx.version(lower(text(FENCE), "8.6", "90", "k.cu", lambda text, arch: b"")) == (8, 6)
    assert ptx.version(lower(text("frobnicate.u32 %r1;"), "9.5", "90", "k.cu", lambda text, arch: b"")) == (9, 5)


def test_every_form_of_the_table_has_a_known_shape() -> None:
    versions = {f"{release.ptx_isa[0]}.{release.ptx_isa[1]}" for release in RELEASES}
    slot = re.compile(r"\[?(?:\.[\w:]+(?:@\d\.\d)?)(?:\|\.[\w:]+(?:@\d\.\d)?)*\]?")
    aliases, forms = ptx_table()["aliases"], ptx_table()["forms"]
    for form in forms:
        version, _, *slots = form.split()
        assert version in versions, form
        for each in slots:
            assert each.strip("[]") in aliases or slot.fullmatch(each), form
            for since in re.findall(r"@(\d\.\d)", aliases.get(each.strip("[]"), each)):
                assert since in versions, form
    unused = set(aliases) - {each.strip("[]") for form in forms for each in form.split()}
    assert not unused
    assert set(ptx_table()["notes"]) <= set(forms)


def test_half_a_megabyte_takes_no_quadratic_time() -> None:
    statements = [f"add.s32 %r{n}, %r{n + 1}, {n};\nld.global.v2.u32 {{%r1, %r2}}, [%r{n}+16];\n" for n in range(9000)]
    long = text("".join(statements))
    assert len(long) > 500_000
    requirement(long, "90")  # compiles what the table needs
    times = []
    for _ in range(5):
        start = time.process_time()
        requirement(long, "90")
        times.append(time.process_time() - start)
    assert min(times) < 2  # seconds: about 0.1 in fact, and minutes if each statement were searched in the whole text
