"""Find the PTX ISA version that a PTX text needs, by the table in `ptx_forms`.

The assembler alone does not tell: some releases accept a new instruction under an old version that others refuse. What
the table does not know is reported, so that nothing is concluded from it.

The table of what PTX text may contain, and since which PTX ISA version.

A line of FORMS is one form of an instruction: the version that introduced it, its opcodes, and one slot for each
modifier. A slot lists alternatives, of which one must be present; in square brackets it may be absent. A name in a slot
stands for alternatives of ALIASES. "@8.3" marks an alternative that is newer than the form. A form without "@" that
begins with 6.3, the oldest version that is worth declaring, may be older.

A form must not be wider than what the PTX ISA document and the assemblers of all releases accept from its version on: a
modifier that is new for one type has its own line. What is not here is unknown, and then PTX keeps its version. So it
is safe to leave out what no compiler writes, and wrong to add a form that no assembler was asked about:
`scripts/ptx_requirements.py` expands every form and asks them all.

Sources: PTX ISA 9.1, "PTX ISA Notes" of each instruction, directive and special register; ptxas of CUDA 11.7 to 13.5.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import NamedTuple

from cuda_wheel.runtime.manifest import Version, parse_version
from cuda_wheel.runtime.parts.formats import ptx

__all__ = [
    "ALIASES",
    "DIRECTIVES",
    "FORMS",
    "OLDEST",
    "OPERAND_MODIFIERS",
    "PRAGMAS",
    "SPECIAL_REGISTERS",
    "PtxNeeds",
    "instruction_version",
    "requirement",
]


ALIASES = {
    "int": ".u16|.s16|.u32|.s32|.u64|.s64",
    "int32": ".u32|.s32",
    "bits": ".b16|.b32|.b64",
    "plain": ".b16|.b32|.b64|.u16|.u32|.u64|.s16|.s32|.s64|.f32|.f64",
    "narrow": ".b8|.b16|.b32|.u8|.u16|.u32|.s8|.s16|.s32|.f32",
    "b32s": ".b32|.u32|.s32|.f32",
    "b64s": ".b64|.u64|.s64|.f64",
    "round": ".rn|.rz|.rm|.rp",
    "order": ".eq|.ne|.lt|.le|.gt|.ge",
    "unsigned": ".eq|.ne|.lt|.le|.gt|.ge|.lo|.ls|.hi|.hs",
    "compare": ".eq|.ne|.lt|.le|.gt|.ge|.equ|.neu|.ltu|.leu|.gtu|.geu|.num|.nan",
    "bool": ".and|.or|.xor",
    "scope": ".cta|.cluster@7.8|.gpu|.sys",
    "space": ".const|.global|.local|.param|.param::entry@8.3|.shared|.shared::cta@7.8|.shared::cluster@7.8",
    "written": ".global|.local|.param|.shared|.shared::cta@7.8|.shared::cluster@7.8",
    "atomic": ".global|.shared|.shared::cta@7.8|.shared::cluster@7.8",
    "shared": ".shared|.shared::cta@7.8",
    "evict1": ".L1::evict_normal@7.4|.L1::evict_unchanged@7.4|.L1::evict_first@7.4|.L1::evict_last@7.4|.L1::no_allocate@7.4",
    "evict2": ".L2::evict_normal@8.8|.L2::evict_first@8.8|.L2::evict_last@8.8",
    "hint": ".L2::cache_hint@7.4",
    "fetch": ".L2::64B@7.4|.L2::128B@7.4|.L2::256B@7.4",
    "layout": ".row|.col",
    "fp16": ".f16|.f32",
    "byte": ".s8|.u8",
    "nibble": ".s4|.u4",
    "f8": ".e4m3|.e5m2",
    "f8x2": ".e4m3x2|.e5m2x2",
    "small": ".e4m3|.e5m2|.e3m2|.e2m3|.e2m1",
    "smallx2": ".e2m1x2|.e2m3x2|.e3m2x2",
    "smallx4": ".e4m3x4|.e5m2x4|.e2m3x4|.e3m2x4|.e2m1x4",
    "dim": ".2d|.1d|.3d|.4d|.5d",
    "bytes": ".mbarrier::complete_tx::bytes",
    "group": ".cta_group::1|.cta_group::2",
    "times": ".x1|.x2|.x4|.x8|.x16|.x32|.x64|.x128",
    "reduce": ".and|.or|.xor|.add|.inc|.dec|.min|.max",
    "n16": "|".join(f".m64n{n}k16" for n in range(8, 257, 8)),
    "n8": "|".join(f".m64n{n}k8" for n in range(8, 257, 8)),
    "n32": "|".join(f".m64n{n}k32" for n in range(8, 257, 8)),
    "n64": "|".join(f".m64n{n}k64" for n in range(8, 257, 8)),
    "whole32": "|".join(f".m64n{n}k32" for n in (8, 16, 24, *range(32, 257, 16))),
    "whole64": "|".join(f".m64n{n}k64" for n in (8, 16, 24, *range(32, 257, 16))),
    "n256": "|".join(f".m64n{n}k256" for n in (8, 16, 24, *range(32, 257, 16))),
    "tile": ".tile|.im2col|.tile::gather4@8.6|.im2col::w@8.6|.im2col::w::128@8.6",
    "buffer": "|".join(f".collector::a::{use}" for use in ("fill", "use", "lastuse", "discard")),
    "buffers": "|".join(f".collector::b{n}::{use}" for n in range(4) for use in ("fill", "use", "lastuse", "discard")),
}

FORMS = """
# integers
6.3 add,sub,min,max int
6.3 add,sub .sat .s32
8.0 add .u16x2|.s16x2
8.0 min,max .u16x2|.s16x2
8.0 min,max .relu .s16x2|.s32
6.3 add,sub .cc .u32|.s32|.u64|.s64
6.3 addc,subc [.cc] .u32|.s32|.u64|.s64
6.3 mul .hi|.lo int
6.3 mul .wide .u16|.s16|.u32|.s32
6.3 mad .hi|.lo int
6.3 mad .wide .u16|.s16|.u32|.s32
6.3 mad .hi .sat .s32
6.3 mad .hi|.lo .cc .u32|.s32|.u64|.s64
6.3 madc .hi|.lo [.cc] .u32|.s32|.u64|.s64
6.3 mul24,mad24 .hi|.lo int32
6.3 mad24 .hi .sat .s32
6.3 sad,div,rem int
6.3 abs,neg .s16|.s32|.s64
6.3 popc,clz,brev .b32|.b64
6.3 bfind [.shiftamt] .u32|.s32|.u64|.s64
6.3 fns .b32
6.3 bfe .u32|.s32|.u64|.s64
6.3 bfi .b32|.b64
7.6 szext .clamp|.wrap .u32|.s32
7.6 bmsk .clamp|.wrap .b32
6.3 dp4a int32 int32
6.3 dp2a .lo|.hi int32 int32
6.3 vadd,vsub,vabsdiff,vmin,vmax int32 int32 int32 [.sat] [.add|.min|.max]
6.3 vadd2,vsub2,vavrg2,vabsdiff2,vmin2,vmax2,vadd4,vsub4,vavrg4,vabsdiff4,vmin4,vmax4 int32 int32 int32 [.sat|.add]
6.3 vset,vset2,vset4 int32 int32 .eq|.ne|.lt|.le|.gt|.ge [.add]

# floating point
6.3 add,sub,mul [round] [.ftz] [.sat] .f32
6.3 add,sub,mul [round] .f64
8.6 add,sub,mul [round] [.ftz] .f32x2
6.3 add,sub,mul [.rn] [.ftz] [.sat] .f16|.f16x2
7.8 add,sub,mul [.rn] .bf16|.bf16x2
8.6 add,sub [round] [.sat] .f32 .f16|.bf16
6.3 mad,fma round [.ftz] [.sat] .f32
6.3 mad,fma round .f64
8.6 fma round [.ftz] .f32x2
6.3 fma .rn [.ftz] [.sat] .f16|.f16x2
7.0 fma .rn [.ftz] .relu .f16|.f16x2
7.0 fma .rn [.relu] .bf16|.bf16x2
8.1 fma .rn .oob [.relu] .f16|.f16x2|.bf16|.bf16x2
8.6 fma round [.sat] .f32 .f16|.bf16
6.3 abs,neg [.ftz] .f32
6.3 abs,neg .f64
6.3 neg [.ftz] .f16|.f16x2
6.5 abs [.ftz] .f16|.f16x2
7.0 abs,neg .bf16|.bf16x2
6.3 min,max [.ftz] .f32
7.0 min,max [.ftz] .NaN .f32
7.2 min,max [.ftz] [.NaN] .xorsign .abs .f32
6.3 min,max .f64
7.0 min,max [.ftz] [.NaN] .f16|.f16x2
7.0 min,max [.NaN] .bf16|.bf16x2
7.2 min,max [.ftz] [.NaN] .xorsign .abs .f16|.f16x2
7.2 min,max [.NaN] .xorsign .abs .bf16|.bf16x2
6.3 div .approx|.full [.ftz] .f32
6.3 div,rcp,sqrt round [.ftz] .f32
6.3 div,rcp,sqrt round .f64
6.3 rcp,sqrt,rsqrt,sin,cos,lg2,ex2 .approx [.ftz] .f32
6.3 rcp,rsqrt .approx .ftz .f64
6.3 rsqrt .approx .f64
7.0 tanh .approx .f32
7.0 tanh,ex2 .approx .f16|.f16x2
7.8 tanh .approx .bf16|.bf16x2
7.8 ex2 .approx .ftz .bf16|.bf16x2
6.3 testp .finite|.infinite|.number|.notanumber|.normal|.subnormal .f32|.f64
6.3 copysign .f32|.f64

# comparison and selection
6.3 set .eq|.ne [bool] .u32|.s32|.f32|.f16|.bf16@7.8 bits
6.3 set order [bool] .u32|.s32|.f32|.f16|.bf16@7.8 .s16|.s32|.s64
6.3 set unsigned [bool] .u32|.s32|.f32 .u16|.u32|.u64
6.3 set order [bool] .f16|.bf16@7.8 .u16|.u32|.u64
6.3 set compare [bool] [.ftz] .u32|.s32|.f32|.f16 .f32
6.3 set compare [bool] .u32|.s32|.f32|.f16|.bf16@7.8 .f64
7.8 set compare [bool] .bf16 .f16|.f32
6.3 set compare [bool] [.ftz] .f16 .f16
6.3 set compare [bool] [.ftz] .f16x2 .f16x2
6.5 set compare [bool] [.ftz] .u16|.u32|.s16|.s32 .f16
6.5 set compare [bool] [.ftz] .u32|.s32 .f16x2
7.8 set compare [bool] .u16|.u32|.s16|.s32 .bf16
7.8 set compare [bool] .bf16x2|.u32|.s32 .bf16x2
6.3 setp .eq|.ne [bool] bits
6.3 setp order [bool] .s16|.s32|.s64
6.3 setp unsigned [bool] .u16|.u32|.u64
6.3 setp compare [bool] [.ftz] .f32|.f16|.f16x2
6.3 setp compare [bool] .f64|.bf16@7.8|.bf16x2@7.8
6.3 selp plain
6.3 slct plain .s32
6.3 slct [.ftz] plain .f32

# logic and shifts
6.3 and,or,xor,not .pred|.b16|.b32|.b64
6.3 cnot bits
6.3 shl bits
6.3 shr .b16|.b32|.b64|.u16|.u32|.u64|.s16|.s32|.s64
6.3 shf .l|.r .clamp|.wrap .b32
6.3 lop3 [.or@8.2|.and@8.2] .b32
6.3 prmt .b32 [.f4e|.b4e|.rc8|.ecl|.ecr|.rc16]

# moves and conversions
6.3 mov .pred|.b16|.b32|.b64|.b128@8.3|.u16|.u32|.u64|.s16|.s32|.s64|.f32|.f64
6.3 cvta [.to] .const|.global|.local|.param@7.7|.param::entry@8.3|.shared|.shared::cta@7.8|.shared::cluster@7.8 .u32|.u64
6.3 isspacep .const|.global|.local|.param@7.7|.param::entry@8.3|.shared|.shared::cta@7.8|.shared::cluster@7.8
7.8 mapa,getctarank [.shared::cluster] .u32|.u64
6.3 cvt [.sat] .u8|.u16|.u32|.u64|.s8|.s16|.s32|.s64 .u8|.u16|.u32|.u64|.s8|.s16|.s32|.s64
6.3 cvt .rni|.rzi|.rmi|.rpi [.ftz] [.sat] .u8|.u16|.u32|.u64|.s8|.s16|.s32|.s64 .f16|.f32|.f64
6.3 cvt .rn|.rz|.rm|.rp [.sat] .f16|.f32|.f64 .u8|.u16|.u32|.u64|.s8|.s16|.s32|.s64
6.3 cvt [.ftz] [.sat] .f32 .f16|.f32
6.3 cvt [.ftz] [.sat] .f64 .f32
6.3 cvt [.sat] .f64 .f16|.f64
6.3 cvt [.sat] .f16 .f16
6.3 cvt round [.ftz] [.sat] .f16 .f32
6.3 cvt round [.sat] .f16 .f64
6.3 cvt round [.ftz] [.sat] .f32 .f64
6.3 cvt .rni|.rzi|.rmi|.rpi [.ftz] [.sat] .f32 .f32
6.3 cvt .rni|.rzi|.rmi|.rpi [.sat] .f16 .f16
6.3 cvt .rni|.rzi|.rmi|.rpi [.sat] .f64 .f64
7.1 cvt .f32 .bf16
7.8 cvt .ftz .f32 .bf16
7.0 cvt .rn|.rz [.relu] .f16 .f32
7.0 cvt .rn|.rz [.relu] .f16x2|.bf16|.bf16x2 .f32
8.1 cvt .rn|.rz [.relu] .satfinite .f16|.f16x2|.bf16|.bf16x2 .f32
8.7 cvt .rs [.relu] [.satfinite] .f16x2|.bf16x2 .f32
7.8 cvt round .bf16 int
7.8 cvt .rn|.rz|.rm|.rp .bf16 .f16|.f64
7.8 cvt .rni|.rzi|.rmi|.rpi .bf16 .bf16
7.8 cvt .rni|.rzi|.rmi|.rpi int .bf16
7.8 cvt .f16|.f64 .bf16
7.0 cvt .rna .tf32 .f32
8.1 cvt .rna .satfinite .tf32 .f32
7.8 cvt .rn|.rz [.relu] .tf32 .f32
8.6 cvt .rn|.rz .satfinite [.relu] .tf32 .f32
7.8 cvt .rn .satfinite [.relu] f8x2 .f32|.f16x2
7.8 cvt .rn [.relu] .f16x2 f8x2
9.1 cvt .rn .satfinite [.relu] f8x2 .bf16x2
8.6 cvt .rn .satfinite [.relu] smallx2 .f32
9.1 cvt .rn .satfinite [.relu] smallx2 .f16x2|.bf16x2
8.6 cvt .rn [.relu] .f16x2 smallx2
8.7 cvt .rs [.relu] .satfinite smallx4 .f32
8.6 cvt .rz|.rp [.satfinite] .ue8m0x2 .f32|.bf16x2
8.6 cvt .rn .bf16x2 .ue8m0x2
9.1 cvt .rn .satfinite [.relu] [.scaled::n2::ue8m0] .s2f6x2 .f32|.bf16x2
9.1 cvt .rn [.satfinite] [.relu] [.scaled::n2::ue8m0] .bf16x2 .s2f6x2
6.5 cvt .pack .sat .u16|.s16 .s32
6.5 cvt .pack .sat .u2|.s2|.u4|.s4|.u8|.s8 .s32 .b32

# memory
6.3 ld [.weak] [space] [.ca|.cg|.cs|.lu|.cv] [hint] [fetch] [.v2|.v4] narrow
6.3 ld [.weak] [space] [.ca|.cg|.cs|.lu|.cv] [hint] [fetch] [.v2] b64s
8.3 ld [.weak] [space] [.ca|.cg|.cs|.lu|.cv] [hint] [fetch] .b128
6.3 ld [.weak] [space] [evict1] [hint] [fetch] [.v2|.v4] narrow
6.3 ld [.weak] [space] [evict1] [hint] [fetch] [.v2] b64s
8.3 ld [.weak] [space] [evict1] [hint] [fetch] .b128
8.8 ld [.weak] [.global] [evict1] [evict2] [hint] [fetch] .v4 b64s
8.8 ld [.weak] [.global] [evict1] [evict2] [hint] [fetch] .v8 b32s
6.3 ld .volatile [.global|.shared|.shared::cta@7.8|.shared::cluster@7.8] [.v2|.v4] narrow
6.3 ld .volatile [.global|.shared|.shared::cta@7.8|.shared::cluster@7.8] [.v2] b64s
9.1 ld,st .volatile .local [.v2|.v4] narrow
9.1 ld,st .volatile .local [.v2] b64s
6.3 ld .relaxed|.acquire scope [atomic] [evict1] [hint] [fetch] [.v2|.v4] narrow
6.3 ld .relaxed|.acquire scope [atomic] [evict1] [hint] [fetch] [.v2] b64s
8.4 ld .relaxed|.acquire scope [atomic] [evict1] [hint] [fetch] .b128
8.2 ld,st .mmio .relaxed .sys [.global] narrow
8.2 ld,st .mmio .relaxed .sys [.global] b64s
6.3 ld .global [.ca|.cg|.cs] .nc [hint] [fetch] [.v2|.v4] narrow
6.3 ld .global [.ca|.cg|.cs] .nc [hint] [fetch] [.v2] b64s
8.3 ld .global [.ca|.cg|.cs] .nc [hint] [fetch] .b128
6.3 ld .global .nc [evict1] [hint] [fetch] [.v2|.v4] narrow
6.3 ld .global .nc [evict1] [hint] [fetch] [.v2] b64s
8.3 ld .global .nc [evict1] [hint] [fetch] .b128
8.8 ld .global .nc [evict1] [evict2] [hint] [fetch] .v4 b64s
8.8 ld .global .nc [evict1] [evict2] [hint] [fetch] .v8 b32s
6.3 ldu [.global] [.v2|.v4] narrow
6.3 ldu [.global] [.v2] b64s
6.3 st [.weak] [written] [.wb|.cg|.cs|.wt] [hint] [.v2|.v4] narrow
6.3 st [.weak] [written] [.wb|.cg|.cs|.wt] [hint] [.v2] b64s
8.3 st [.weak] [written] [.wb|.cg|.cs|.wt] [hint] .b128
6.3 st [.weak] [written] [evict1] [hint] [.v2|.v4] narrow
6.3 st [.weak] [written] [evict1] [hint] [.v2] b64s
8.3 st [.weak] [written] [evict1] [hint] .b128
8.8 st [.weak] [.global] [evict1] [evict2] [hint] .v4 b64s
8.8 st [.weak] [.global] [evict1] [evict2] [hint] .v8 b32s
6.3 st .volatile [.global|.shared|.shared::cta@7.8|.shared::cluster@7.8] [.v2|.v4] narrow
6.3 st .volatile [.global|.shared|.shared::cta@7.8|.shared::cluster@7.8] [.v2] b64s
6.3 st .relaxed|.release scope [atomic] [evict1] [hint] [.v2|.v4] narrow
6.3 st .relaxed|.release scope [atomic] [evict1] [hint] [.v2] b64s
8.4 st .relaxed|.release scope [atomic] [evict1] [hint] .b128
8.1 st .async [.weak] [.shared::cluster] bytes [.v2|.v4] .b32|.u32|.s32|.f32
8.1 st .async [.weak] [.shared::cluster] bytes [.v2] .b64|.u64|.s64|.f64
8.7 st .async [.mmio] .release .gpu|.sys [.global] .b16|.b32|.u16|.u32|.s16|.s32|.f32
8.7 st .async [.mmio] .release .gpu|.sys [.global] b64s
8.6 st .bulk [.weak] [.shared::cta]
6.3 prefetch [.global|.local] .L1|.L2
7.4 prefetch .global .L2::evict_last|.L2::evict_normal
8.0 prefetch [.const|.param] .tensormap
6.3 prefetchu .L1
7.4 applypriority [.global] .L2::evict_normal
7.4 discard [.global] .L2
7.4 createpolicy .fractional .L2::evict_last|.L2::evict_normal|.L2::evict_first|.L2::evict_unchanged [.L2::evict_first|.L2::evict_unchanged] .b64
7.4 createpolicy .range [.global] .L2::evict_last|.L2::evict_normal|.L2::evict_first|.L2::evict_unchanged [.L2::evict_first|.L2::evict_unchanged] .b64
7.4 createpolicy .cvt .L2 .b64

# asynchronous copies
7.0 cp .async .ca|.cg shared .global [hint] [fetch]
7.0 cp .async .commit_group|.wait_group|.wait_all
7.0 cp .async .mbarrier .arrive [.noinc] [shared] .b64
8.0 cp .async .bulk .shared::cluster .global bytes [.multicast::cluster] [hint]
8.6 cp .async .bulk .shared::cta .global bytes [hint]
8.0 cp .async .bulk .shared::cluster .shared::cta bytes
8.0 cp .async .bulk .global .shared::cta .bulk_group [hint] [.cp_mask@8.6]
8.0 cp .async .bulk .prefetch .L2 .global [hint]
8.0 cp .async .bulk .commit_group
8.0 cp .async .bulk .wait_group [.read]
8.0 cp .async .bulk .tensor dim .shared::cluster .global [tile] bytes [.multicast::cluster] [.cta_group::1@8.6|.cta_group::2@8.6] [hint]
8.6 cp .async .bulk .tensor dim .shared::cta .global [tile] bytes [group] [hint]
8.0 cp .async .bulk .tensor dim .global .shared::cta [.tile|.tile::scatter4@8.6|.im2col_no_offs] .bulk_group [hint]
8.0 cp .async .bulk .prefetch .tensor dim .L2 .global [tile] [hint]
8.0 cp .reduce .async .bulk .shared::cluster .shared::cta bytes .and|.or|.xor .b32
8.0 cp .reduce .async .bulk .shared::cluster .shared::cta bytes .add .u32|.s32|.u64
8.0 cp .reduce .async .bulk .shared::cluster .shared::cta bytes .inc|.dec .u32
8.0 cp .reduce .async .bulk .shared::cluster .shared::cta bytes .min|.max .u32|.s32
8.0 cp .reduce .async .bulk .global .shared::cta .bulk_group [hint] .and|.or|.xor .b32|.b64
8.0 cp .reduce .async .bulk .global .shared::cta .bulk_group [hint] .add .u32|.s32|.u64|.f32|.f64
8.0 cp .reduce .async .bulk .global .shared::cta .bulk_group [hint] .inc|.dec .u32
8.0 cp .reduce .async .bulk .global .shared::cta .bulk_group [hint] .min|.max .u32|.s32|.u64|.s64|.f16|.bf16
8.0 cp .reduce .async .bulk .global .shared::cta .bulk_group [hint] .add .noftz .f16|.bf16
8.0 cp .reduce .async .bulk .tensor dim .global .shared::cta reduce [.tile|.im2col_no_offs] .bulk_group [hint]
9.1 multimem .cp .async .bulk .global .shared::cta .bulk_group [.cp_mask]
8.3 tensormap .replace .tile .global_address [.global|.shared::cta] .b1024 .b64
8.3 tensormap .replace .tile .rank|.box_dim|.global_dim|.element_stride|.elemtype|.interleave_layout|.swizzle_mode|.fill_mode [.global|.shared::cta] .b1024 .b32
8.3 tensormap .replace .tile .global_stride [.global|.shared::cta] .b1024 .b64
8.6 tensormap .replace .tile .swizzle_atomicity [.global|.shared::cta] .b1024 .b32
8.3 tensormap .cp_fenceproxy .global .shared::cta .tensormap::generic .release scope .sync .aligned

# synchronisation
6.3 bar [.cta@7.8] .sync|.arrive
6.3 bar [.cta@7.8] .red .popc .u32
6.3 bar [.cta@7.8] .red .and|.or .pred
6.3 bar .warp .sync
6.3 barrier [.cta@7.8] .sync|.arrive [.aligned]
6.3 barrier [.cta@7.8] .red .popc [.aligned] .u32
6.3 barrier [.cta@7.8] .red .and|.or [.aligned] .pred
7.8 barrier .cluster .arrive [.release@8.0|.relaxed@8.0] [.aligned]
7.8 barrier .cluster .wait [.acquire@8.0] [.aligned]
6.3 membar .cta|.gl|.sys
7.5 membar,fence .proxy .alias
6.3 fence [.sc|.acq_rel] scope
6.3 fence scope .sc|.acq_rel
8.6 fence .acquire|.release scope
8.6 fence .acquire .sync_restrict::shared::cluster .cluster
8.6 fence .release .sync_restrict::shared::cta .cluster
8.0 fence .mbarrier_init .release .cluster
8.0 fence .proxy .async
8.0 fence .proxy .async .global|.shared::cta|.shared::cluster
8.3 fence .proxy .tensormap::generic .acquire|.release scope
8.6 fence .proxy .async::generic .acquire .sync_restrict::shared::cluster .cluster
8.6 fence .proxy .async::generic .release .sync_restrict::shared::cta .cluster
6.3 atom [.relaxed|.acquire|.release|.acq_rel] [scope] [atomic] .and|.or|.xor [hint] .b32|.b64
6.3 atom [.relaxed|.acquire|.release|.acq_rel] [scope] [atomic] .exch [hint] .b32|.b64
6.3 atom [.relaxed|.acquire|.release|.acq_rel] [scope] [atomic] .cas .b16|.b32|.b64
8.4 atom [.relaxed|.acquire|.release|.acq_rel] [scope] [atomic] .cas|.exch .b128
6.3 atom [.relaxed|.acquire|.release|.acq_rel] [scope] [atomic] .add [hint] .u32|.s32|.u64|.f32|.f64
6.3 atom [.relaxed|.acquire|.release|.acq_rel] [scope] [atomic] .inc|.dec [hint] .u32
6.3 atom [.relaxed|.acquire|.release|.acq_rel] [scope] [atomic] .min|.max [hint] .u32|.s32|.u64|.s64
6.3 atom [.relaxed|.acquire|.release|.acq_rel] [scope] [atomic] .add .noftz [hint] .f16|.f16x2|.bf16@7.8|.bf16x2@7.8
8.1 atom [.relaxed|.acquire|.release|.acq_rel] [scope] [.global] .add [hint] .v2|.v4 .f32
8.1 atom [.relaxed|.acquire|.release|.acq_rel] [scope] [.global] .add|.min|.max .noftz [hint] .v2|.v4|.v8 .f16|.bf16
8.1 atom [.relaxed|.acquire|.release|.acq_rel] [scope] [.global] .add|.min|.max .noftz [hint] .v2|.v4 .f16x2|.bf16x2
6.3 red [.relaxed|.release] [scope] [atomic] .and|.or|.xor [hint] .b32|.b64
6.3 red [.relaxed|.release] [scope] [atomic] .add [hint] .u32|.s32|.u64|.f32|.f64
6.3 red [.relaxed|.release] [scope] [atomic] .inc|.dec [hint] .u32
6.3 red [.relaxed|.release] [scope] [atomic] .min|.max [hint] .u32|.s32|.u64|.s64
6.3 red [.relaxed|.release] [scope] [atomic] .add .noftz [hint] .f16|.f16x2|.bf16@7.8|.bf16x2@7.8
8.1 red [.relaxed|.release] [scope] [.global] .add [hint] .v2|.v4 .f32
8.1 red [.relaxed|.release] [scope] [.global] .add|.min|.max .noftz [hint] .v2|.v4|.v8 .f16|.bf16
8.1 red [.relaxed|.release] [scope] [.global] .add|.min|.max .noftz [hint] .v2|.v4 .f16x2|.bf16x2
6.3 atom,red atomic scope .and|.or|.xor .b32|.b64
6.3 atom atomic scope .exch|.cas .b32|.b64
6.3 atom,red atomic scope .add .u32|.s32|.u64|.f32|.f64
6.3 atom,red atomic scope .inc|.dec .u32
6.3 atom,red atomic scope .min|.max .u32|.s32|.u64|.s64
6.3 atom .and|.or|.xor|.exch|.cas .relaxed|.acquire|.release|.acq_rel scope [atomic] .b32|.b64
6.3 atom .add .relaxed|.acquire|.release|.acq_rel scope [atomic] .u32|.s32|.u64|.f32|.f64
6.3 atom .min|.max .relaxed|.acquire|.release|.acq_rel scope [atomic] .u32|.s32|.u64|.s64
6.3 red .and|.or|.xor .relaxed|.release scope [atomic] .b32|.b64
6.3 red .add .relaxed|.release scope [atomic] .u32|.s32|.u64|.f32|.f64
8.1 red .async .relaxed .cluster [.shared::cluster] bytes .inc|.dec .u32
8.1 red .async .relaxed .cluster [.shared::cluster] bytes .min|.max .u32|.s32
8.1 red .async .relaxed .cluster [.shared::cluster] bytes .and|.or|.xor .b32
8.1 red .async .relaxed .cluster [.shared::cluster] bytes .add .u32|.s32|.u64
8.7 red .async [.mmio] .release .gpu|.sys [.global] .add .u32|.s32|.u64|.s64
6.3 shfl .sync .up|.down|.bfly|.idx .b32
6.3 vote .sync .all|.any|.uni .pred
6.3 vote .sync .ballot .b32
6.3 match .any|.all .sync .b32|.b64
6.3 activemask .b32
7.0 redux .sync .add|.min|.max .u32|.s32
7.0 redux .sync .and|.or|.xor .b32
8.6 redux .sync .min|.max [.abs] [.NaN] .f32
8.0 elect .sync
7.8 griddepcontrol .launch_dependents|.wait
7.0 mbarrier .init|.inval [shared] .b64
8.0 mbarrier .expect_tx|.complete_tx [.shared|.shared::cta|.shared::cluster] .b64
8.0 mbarrier .expect_tx|.complete_tx .relaxed .cta|.cluster [.shared|.shared::cta|.shared::cluster] .b64
7.0 mbarrier .arrive|.arrive_drop [shared] .b64
7.0 mbarrier .arrive|.arrive_drop .noComplete [shared] .b64
8.0 mbarrier .arrive|.arrive_drop .noComplete .release .cta [shared] .b64
8.0 mbarrier .arrive|.arrive_drop .shared::cluster .b64
8.0 mbarrier .arrive|.arrive_drop .expect_tx [.shared|.shared::cta|.shared::cluster] .b64
8.0 mbarrier .arrive|.arrive_drop [.expect_tx] .release|.relaxed@8.6 .cta|.cluster [.shared|.shared::cta|.shared::cluster] .b64
7.0 mbarrier .test_wait [shared] .b64
7.1 mbarrier .test_wait .parity [shared] .b64
7.8 mbarrier .try_wait [.parity] [shared] .b64
8.0 mbarrier .test_wait|.try_wait [.parity] .acquire|.relaxed@8.6 .cta|.cluster [shared] .b64
7.0 mbarrier .pending_count .b64
8.6 clusterlaunchcontrol .try_cancel .async [.shared::cta] bytes [.multicast::cluster::all] .b128
8.6 clusterlaunchcontrol .query_cancel .is_canceled .pred .b128
8.6 clusterlaunchcontrol .query_cancel .get_first_ctaid .v4 .b32 .b128
8.6 clusterlaunchcontrol .query_cancel .get_first_ctaid::x|.get_first_ctaid::y|.get_first_ctaid::z .b32 .b128
8.1 multimem .ld_reduce [.weak] [.global] .min|.max .u32|.s32|.u64|.s64
8.1 multimem .ld_reduce .relaxed|.acquire scope [.global] .min|.max .u32|.s32|.u64|.s64
8.1 multimem .ld_reduce [.weak] [.global] .add .u32|.s32|.u64|.f32|.f64
8.1 multimem .ld_reduce .relaxed|.acquire scope [.global] .add .u32|.s32|.u64|.f32|.f64
8.1 multimem .ld_reduce [.weak] [.global] .and|.or|.xor .b32|.b64
8.1 multimem .ld_reduce .relaxed|.acquire scope [.global] .and|.or|.xor .b32|.b64
8.1 multimem .ld_reduce [.weak] [.global] .add .v2|.v4 .f32
8.1 multimem .ld_reduce .relaxed|.acquire scope [.global] .add .v2|.v4 .f32
8.1 multimem .ld_reduce [.weak] [.global] .add|.min|.max [.v2|.v4|.v8] .f16|.bf16
8.1 multimem .ld_reduce .relaxed|.acquire scope [.global] .add|.min|.max [.v2|.v4|.v8] .f16|.bf16
8.1 multimem .ld_reduce [.weak] [.global] .add|.min|.max [.v2|.v4] .f16x2|.bf16x2
8.1 multimem .ld_reduce .relaxed|.acquire scope [.global] .add|.min|.max [.v2|.v4] .f16x2|.bf16x2
8.2 multimem .ld_reduce [.weak] [.global] .add .acc::f32 [.v2|.v4|.v8] .f16|.bf16
8.2 multimem .ld_reduce .relaxed|.acquire scope [.global] .add .acc::f32 [.v2|.v4|.v8] .f16|.bf16
8.2 multimem .ld_reduce [.weak] [.global] .add .acc::f32 [.v2|.v4] .f16x2|.bf16x2
8.2 multimem .ld_reduce .relaxed|.acquire scope [.global] .add .acc::f32 [.v2|.v4] .f16x2|.bf16x2
8.6 multimem .ld_reduce [.weak] [.global] .add|.min|.max .v4|.v8 .e4m3|.e5m2
8.6 multimem .ld_reduce .relaxed|.acquire scope [.global] .add|.min|.max .v4|.v8 .e4m3|.e5m2
8.6 multimem .ld_reduce [.weak] [.global] .add|.min|.max [.v2|.v4|.v8] .e4m3x2|.e5m2x2
8.6 multimem .ld_reduce .relaxed|.acquire scope [.global] .add|.min|.max [.v2|.v4|.v8] .e4m3x2|.e5m2x2
8.6 multimem .ld_reduce [.weak] [.global] .add|.min|.max [.v2|.v4] .e4m3x4|.e5m2x4
8.6 multimem .ld_reduce .relaxed|.acquire scope [.global] .add|.min|.max [.v2|.v4] .e4m3x4|.e5m2x4
8.6 multimem .ld_reduce [.weak] [.global] .add .acc::f16 .v4|.v8 .e4m3|.e5m2
8.6 multimem .ld_reduce .relaxed|.acquire scope [.global] .add .acc::f16 .v4|.v8 .e4m3|.e5m2
8.6 multimem .ld_reduce [.weak] [.global] .add .acc::f16 [.v2|.v4|.v8] .e4m3x2|.e5m2x2
8.6 multimem .ld_reduce .relaxed|.acquire scope [.global] .add .acc::f16 [.v2|.v4|.v8] .e4m3x2|.e5m2x2
8.6 multimem .ld_reduce [.weak] [.global] .add .acc::f16 [.v2|.v4] .e4m3x4|.e5m2x4
8.6 multimem .ld_reduce .relaxed|.acquire scope [.global] .add .acc::f16 [.v2|.v4] .e4m3x4|.e5m2x4
8.1 multimem .st [.weak] [.global] .b32|.b64|.u32|.s32|.u64|.s64|.f32|.f64
8.1 multimem .st .relaxed|.release scope [.global] .b32|.b64|.u32|.s32|.u64|.s64|.f32|.f64
8.1 multimem .st [.weak] [.global] .v2|.v4 .f32
8.1 multimem .st .relaxed|.release scope [.global] .v2|.v4 .f32
8.1 multimem .st [.weak] [.global] [.v2|.v4|.v8] .f16|.bf16
8.1 multimem .st .relaxed|.release scope [.global] [.v2|.v4|.v8] .f16|.bf16
8.1 multimem .st [.weak] [.global] [.v2|.v4] .f16x2|.bf16x2
8.1 multimem .st .relaxed|.release scope [.global] [.v2|.v4] .f16x2|.bf16x2
8.6 multimem .st [.weak] [.global] .v4|.v8 .e4m3|.e5m2
8.6 multimem .st .relaxed|.release scope [.global] .v4|.v8 .e4m3|.e5m2
8.6 multimem .st [.weak] [.global] [.v2|.v4|.v8] .e4m3x2|.e5m2x2
8.6 multimem .st .relaxed|.release scope [.global] [.v2|.v4|.v8] .e4m3x2|.e5m2x2
8.6 multimem .st [.weak] [.global] [.v2|.v4] .e4m3x4|.e5m2x4
8.6 multimem .st .relaxed|.release scope [.global] [.v2|.v4] .e4m3x4|.e5m2x4
8.1 multimem .red [.global] .min|.max .u32|.s32|.u64|.s64
8.1 multimem .red .relaxed|.release scope [.global] .min|.max .u32|.s32|.u64|.s64
8.1 multimem .red [.global] .add .u32|.s32|.u64|.f32|.f64
8.1 multimem .red .relaxed|.release scope [.global] .add .u32|.s32|.u64|.f32|.f64
8.1 multimem .red [.global] .and|.or|.xor .b32|.b64
8.1 multimem .red .relaxed|.release scope [.global] .and|.or|.xor .b32|.b64
8.1 multimem .red [.global] .add .v2|.v4 .f32
8.1 multimem .red .relaxed|.release scope [.global] .add .v2|.v4 .f32
8.1 multimem .red [.global] .add [.v2|.v4|.v8] .f16|.bf16
8.1 multimem .red .relaxed|.release scope [.global] .add [.v2|.v4|.v8] .f16|.bf16
8.1 multimem .red [.global] .add [.v2|.v4] .f16x2|.bf16x2
8.1 multimem .red .relaxed|.release scope [.global] .add [.v2|.v4] .f16x2|.bf16x2

# matrices
6.3 wmma .load .a|.b .sync .aligned layout .m16n16k16|.m8n32k16|.m32n8k16 [.global|.shared|.shared::cta@7.8] .f16|.s8|.u8|.bf16@7.0
7.0 wmma .load .a|.b .sync .aligned layout .m16n16k8 [.global|.shared|.shared::cta@7.8] .tf32
7.0 wmma .load .a|.b .sync .aligned layout .m8n8k4 [.global|.shared|.shared::cta@7.8] .f64
6.3 wmma .load .a .sync .aligned .row .m8n8k32 [.global|.shared|.shared::cta@7.8] nibble
6.3 wmma .load .b .sync .aligned .col .m8n8k32 [.global|.shared|.shared::cta@7.8] nibble
6.3 wmma .load .a .sync .aligned .row .m8n8k128 [.global|.shared|.shared::cta@7.8] .b1
6.3 wmma .load .b .sync .aligned .col .m8n8k128 [.global|.shared|.shared::cta@7.8] .b1
6.3 wmma .load .c .sync .aligned layout .m16n16k16|.m8n32k16|.m32n8k16 [.global|.shared|.shared::cta@7.8] .f16|.f32|.s32
7.0 wmma .load .c .sync .aligned layout .m16n16k8 [.global|.shared|.shared::cta@7.8] .f32
7.0 wmma .load .c .sync .aligned layout .m8n8k4 [.global|.shared|.shared::cta@7.8] .f64
6.3 wmma .load .c .sync .aligned layout .m8n8k32|.m8n8k128 [.global|.shared|.shared::cta@7.8] .s32
6.3 wmma .store .d .sync .aligned layout .m16n16k16|.m8n32k16|.m32n8k16 [.global|.shared|.shared::cta@7.8] .f16|.f32|.s32
7.0 wmma .store .d .sync .aligned layout .m16n16k8 [.global|.shared|.shared::cta@7.8] .f32
7.0 wmma .store .d .sync .aligned layout .m8n8k4 [.global|.shared|.shared::cta@7.8] .f64
6.3 wmma .store .d .sync .aligned layout .m8n8k32|.m8n8k128 [.global|.shared|.shared::cta@7.8] .s32
6.3 wmma .mma .sync .aligned layout layout .m16n16k16|.m8n32k16|.m32n8k16 fp16 fp16
6.3 wmma .mma .sync .aligned layout layout .m16n16k16|.m8n32k16|.m32n8k16 .s32 .s8 .s8 .s32 [.satfinite]
6.3 wmma .mma .sync .aligned layout layout .m16n16k16|.m8n32k16|.m32n8k16 .s32 .u8 .u8 .s32 [.satfinite]
7.0 wmma .mma .sync .aligned layout layout .m16n16k16|.m8n32k16|.m32n8k16 .f32 .bf16 .bf16 .f32
7.0 wmma .mma .sync .aligned layout layout .m16n16k8 .f32 .tf32 .tf32 .f32
7.0 wmma .mma .sync .aligned layout layout .m8n8k4 [round] .f64 .f64 .f64 .f64
7.0 wmma .mma .sync .aligned layout layout .m8n8k4 .f64 .f64 .f64 .f64 round
6.3 wmma .mma .sync .aligned .row .col .m8n8k32 .s32 .s4 .s4 .s32 [.satfinite]
6.3 wmma .mma .sync .aligned .row .col .m8n8k32 .s32 .u4 .u4 .s32 [.satfinite]
6.3 wmma .mma .xor|.and@7.1 .popc .sync .aligned .row .col .m8n8k128 .s32 .b1 .b1 .s32
6.4 mma .sync .aligned .m8n8k4 layout layout .f16 .f16 .f16 .f16
6.4 mma .sync .aligned .m8n8k4 layout layout .f32 .f16 .f16 fp16
6.5 mma .sync .aligned .m16n8k8 .row .col .f16 .f16 .f16 .f16
6.5 mma .sync .aligned .m16n8k8 .row .col .f32 .f16 .f16 .f32
7.0 mma .sync .aligned .m16n8k16 .row .col .f16 .f16 .f16 .f16
7.0 mma .sync .aligned .m16n8k16 .row .col .f32 .f16 .f16 .f32
7.0 mma .sync .aligned .m16n8k4 .row .col .f32 .tf32 .tf32 .f32
7.0 mma .sync .aligned .m16n8k8 .row .col .f32 .tf32 .tf32 .f32
7.0 mma .sync .aligned .m16n8k8|.m16n8k16 .row .col .f32 .bf16 .bf16 .f32
8.4 mma .sync .aligned .m16n8k32 .row .col .f32 f8 f8 .f32
8.7 mma .sync .aligned .m16n8k16 .row .col .f32 f8 f8 .f32
8.7 mma .sync .aligned .m16n8k16|.m16n8k32 .row .col .f16 f8 f8 .f16
8.7 mma .sync .aligned .m16n8k32 .row .col .kind::f8f6f4 .f32 small small .f32
8.7 mma .sync .aligned .m16n8k32 .row .col .kind::f8f6f4 .f16 small small .f16
8.7 mma .sync .aligned .m16n8k64 .row .col .kind::mxf4 .block_scale [.scale_vec::2X] .f32 .e2m1 .e2m1 .f32 .ue8m0
8.7 mma .sync .aligned .m16n8k64 .row .col .kind::mxf4nvf4 .block_scale .scale_vec::2X .f32 .e2m1 .e2m1 .f32 .ue8m0
8.7 mma .sync .aligned .m16n8k64 .row .col .kind::mxf4nvf4 .block_scale .scale_vec::4X .f32 .e2m1 .e2m1 .f32 .ue4m3
9.1 mma .sync .aligned .m16n8k64 .row .col .kind::mxf4nvf4 .block_scale .scale_vec::4X .f32 .e2m1 .e2m1 .f32 .ue8m0
8.7 mma .sync .aligned .m16n8k32 .row .col .kind::mxf8f6f4 .block_scale [.scale_vec::1X] .f32 small small .f32 .ue8m0
7.0 mma .sync .aligned .m8n8k4 .row .col .f64 .f64 .f64 .f64
7.8 mma .sync .aligned .m16n8k4|.m16n8k8|.m16n8k16 .row .col .f64 .f64 .f64 .f64
6.5 mma .sync .aligned .m8n8k16 .row .col [.satfinite] .s32 byte byte .s32
7.0 mma .sync .aligned .m16n8k16|.m16n8k32 .row .col [.satfinite] .s32 byte byte .s32
6.5 mma .sync .aligned .m8n8k32 .row .col [.satfinite] .s32 nibble nibble .s32
7.0 mma .sync .aligned .m16n8k32|.m16n8k64 .row .col [.satfinite] .s32 nibble nibble .s32
7.0 mma .sync .aligned .m8n8k128|.m16n8k128|.m16n8k256 .row .col .s32 .b1 .b1 .s32 .xor|.and@7.1 .popc
7.1 mma .sp|.sp::ordered_metadata@8.5 .sync .aligned .m16n8k16|.m16n8k32 .row .col .f16 .f16 .f16 .f16
7.1 mma .sp|.sp::ordered_metadata@8.5 .sync .aligned .m16n8k16|.m16n8k32 .row .col .f32 .f16 .f16 .f32
7.1 mma .sp|.sp::ordered_metadata@8.5 .sync .aligned .m16n8k16|.m16n8k32 .row .col .f32 .bf16 .bf16 .f32
7.1 mma .sp|.sp::ordered_metadata@8.5 .sync .aligned .m16n8k8|.m16n8k16 .row .col .f32 .tf32 .tf32 .f32
8.4 mma .sp|.sp::ordered_metadata@8.5 .sync .aligned .m16n8k64 .row .col .f32 f8 f8 .f32
7.1 mma .sp|.sp::ordered_metadata@8.5 .sync .aligned .m16n8k32|.m16n8k64 .row .col [.satfinite] .s32 byte byte .s32
7.1 mma .sp|.sp::ordered_metadata@8.5 .sync .aligned .m16n8k64|.m16n8k128 .row .col [.satfinite] .s32 nibble nibble .s32
6.5 ldmatrix .sync .aligned .m8n8 .x1|.x2|.x4 [.trans] [shared] .b16
8.6 ldmatrix .sync .aligned .m16n16 .x1|.x2 .trans [.shared|.shared::cta] .b8
8.6 ldmatrix .sync .aligned .m8n16 .x1|.x2|.x4 [.shared|.shared::cta] .b8x16 .b6x16_p32|.b4x16_p64
8.6 ldmatrix .sync .aligned .m16n16 .x1|.x2 .trans [.shared|.shared::cta] .b8x16 .b6x16_p32|.b4x16_p64
7.8 stmatrix .sync .aligned .m8n8 .x1|.x2|.x4 [.trans] [.shared|.shared::cta] .b16
8.6 stmatrix .sync .aligned .m16n8 .x1|.x2|.x4 .trans [.shared|.shared::cta] .b8
7.8 movmatrix .sync .aligned .m8n8 .trans .b16
8.0 wgmma .mma_async .sync .aligned n16 .f16|.f32 .f16 .f16
8.0 wgmma .mma_async .sync .aligned n16 .f32 .bf16 .bf16
8.0 wgmma .mma_async .sync .aligned n8 .f32 .tf32 .tf32
8.0 wgmma .mma_async .sync .aligned n32 .f16|.f32 f8 f8
8.0 wgmma .mma_async .sync .aligned whole32 [.satfinite] .s32 .s8 .s8
8.0 wgmma .mma_async .sync .aligned whole32 [.satfinite] .s32 .u8 .u8
8.4 wgmma .mma_async .sync .aligned whole32 [.satfinite] .s32 .u8 .s8
8.4 wgmma .mma_async .sync .aligned whole32 [.satfinite] .s32 .s8 .u8
8.0 wgmma .mma_async .sync .aligned n256 .s32 .b1 .b1 .and .popc
8.2 wgmma .mma_async .sp .sync .aligned n32 .f16|.f32 .f16 .f16
8.2 wgmma .mma_async .sp .sync .aligned n32 .f32 .bf16 .bf16
8.2 wgmma .mma_async .sp .sync .aligned n16 .f32 .tf32 .tf32
8.2 wgmma .mma_async .sp .sync .aligned n64 .f16|.f32 f8 f8
8.2 wgmma .mma_async .sp .sync .aligned whole64 [.satfinite] .s32 .s8 .s8
8.2 wgmma .mma_async .sp .sync .aligned whole64 [.satfinite] .s32 .u8 .u8
8.4 wgmma .mma_async .sp .sync .aligned whole64 [.satfinite] .s32 .u8 .s8
8.4 wgmma .mma_async .sp .sync .aligned whole64 [.satfinite] .s32 .s8 .u8
8.0 wgmma .fence|.commit_group|.wait_group .sync .aligned
8.0 setmaxnreg .inc|.dec .sync .aligned .u32
8.6 tcgen05 .alloc group .sync .aligned [.shared::cta] .b32
8.6 tcgen05 .dealloc group .sync .aligned .b32
8.6 tcgen05 .relinquish_alloc_permit group .sync .aligned
8.6 tcgen05 .fence::before_thread_sync|.fence::after_thread_sync
8.6 tcgen05 .wait::ld|.wait::st .sync .aligned
8.6 tcgen05 .commit group .mbarrier::arrive::one [.shared::cluster] [.multicast::cluster] .b64
8.6 tcgen05 .ld .sync .aligned .16x64b|.16x128b|.16x256b|.32x32b|.16x32bx2 times [.pack::16b] .b32
8.6 tcgen05 .st .sync .aligned .16x64b|.16x128b|.16x256b|.32x32b|.16x32bx2 times [.unpack::16b] .b32
8.6 tcgen05 .cp group .128x256b|.4x256b|.128x128b
8.6 tcgen05 .cp group .128x256b|.4x256b|.128x128b .b8x16 .b6x16_p32|.b4x16_p64
8.6 tcgen05 .cp group .64x128b .warpx2::02_13|.warpx2::01_23
8.6 tcgen05 .cp group .64x128b .warpx2::02_13|.warpx2::01_23 .b8x16 .b6x16_p32|.b4x16_p64
8.6 tcgen05 .cp group .32x128b .warpx4
8.6 tcgen05 .cp group .32x128b .warpx4 .b8x16 .b6x16_p32|.b4x16_p64
8.6 tcgen05 .shift group .down
8.6 tcgen05 .mma [.sp] group .kind::f16|.kind::tf32|.kind::f8f6f4|.kind::i8 [.ashift] [buffer]
8.6 tcgen05 .mma [.sp] group .kind::mxf8f6f4 .block_scale .scale_vec::1X [buffer]
8.6 tcgen05 .mma [.sp] group .kind::mxf4 .block_scale .scale_vec::2X [buffer]
# the document says 8.6 of the next; the assemblers of 12.9 and 13.0 alone refuse it before 8.8
8.8 tcgen05 .mma [.sp] group .kind::mxf8f6f4|.kind::mxf4 .block_scale [buffer]
8.7 tcgen05 .mma [.sp] group .kind::mxf4nvf4 .block_scale .scale_vec::2X|.scale_vec::4X [buffer]
8.8 tcgen05 .mma [.sp] group .kind::mxf8f6f4|.kind::mxf4|.kind::mxf4nvf4 .block_scale .block16|.block32 [buffer]
8.6 tcgen05 .mma .ws [.sp] .cta_group::1 .kind::f16|.kind::tf32|.kind::f8f6f4|.kind::i8 [buffers]

# textures and surfaces
6.3 tex [.base|.level|.grad] .1d|.2d|.3d|.a1d|.a2d .v4 .u32|.s32|.f32|.f16 .s32|.f32
6.3 tex [.base|.level|.grad] .1d|.2d|.3d|.a1d|.a2d .v2 .f16x2 .s32|.f32
6.3 tex [.base|.level|.grad] .cube|.acube .v4 .u32|.s32|.f32|.f16 .f32
6.3 tex [.base|.level|.grad] .cube|.acube .v2 .f16x2 .f32
6.3 tld4 .r|.g|.b|.a .2d|.a2d|.cube|.acube .v4 .u32|.s32|.f32 .f32
6.3 txq .width|.height|.depth|.channel_data_type|.channel_order|.normalized_coords|.array_size|.num_mipmap_levels|.num_samples .b32
6.3 suld .b .1d|.2d|.3d|.a1d|.a2d [.ca|.cg|.cs|.cv] [.v2|.v4] .b8|.b16|.b32|.b64 .trap|.clamp|.zero
6.3 sust .b .1d|.2d|.3d|.a1d|.a2d [.wb|.cg|.cs|.wt] [.v2|.v4] .b8|.b16|.b32|.b64 .trap|.clamp|.zero
6.3 sust .p .1d|.2d|.3d [.v2|.v4] .b32 .trap|.clamp|.zero
6.3 suq .width|.height|.depth|.channel_data_type|.channel_order|.array_size .b32

# control flow and the rest
6.3 bra,call,ret [.uni]
6.3 brx .idx [.uni]
6.3 exit,trap,brkpt
6.3 nanosleep .u32
6.3 pmevent [.mask]
7.3 stacksave,stackrestore,alloca .u32|.u64
"""

DIRECTIVES = {
    "6.3": ".entry .func .visible .extern .weak .common .param .reg .local .shared .global .const .align .ptr .alias "
    ".maxnreg .maxntid .reqntid .minnctapersm .maxnctapersm .pragma .section .callprototype .calltargets .branchtargets "
    ".texref .samplerref .surfref .attribute .managed .v2 .v4 .pred .b8 .b16 .b32 .b64 .u8 .u16 .u32 .u64 .s8 .s16 .s32 "
    ".s64 .f16 .f16x2 .f32 .f64",
    "6.4": ".noreturn",
    "7.8": ".reqnctapercluster .explicitcluster .maxclusterrank",
    "8.0": ".unified",
    "8.3": ".b128",
    "9.0": ".blocksareclusters .abi_preserve .abi_preserve_control",
}
"""Words that begin with a dot and are no modifiers of an instruction."""

SPECIAL_REGISTERS = {
    "6.3": "%tid %ntid %laneid %warpid %nwarpid %ctaid %nctaid %smid %nsmid %gridid %lanemask_eq %lanemask_le "
    "%lanemask_lt %lanemask_ge %lanemask_gt %clock %clock_hi %clock64 %globaltimer %globaltimer_lo %globaltimer_hi "
    "%total_smem_size %dynamic_smem_size "
    + " ".join(f"%envreg{n}" for n in range(32))
    + " "
    + " ".join(f"%pm{n} %pm{n}_64" for n in range(8)),
    "7.6": "%reserved_smem_offset_begin %reserved_smem_offset_end %reserved_smem_offset_cap %reserved_smem_offset_0 "
    "%reserved_smem_offset_1",
    "7.8": "%is_explicit_cluster %clusterid %nclusterid %cluster_ctaid %cluster_nctaid %cluster_ctarank "
    "%cluster_nctarank",
    "8.0": "%current_graph_exec",
    "8.1": "%aggr_smem_size",
}

PRAGMAS = {"6.3": "nounroll", "8.3": "used_bytes_mask", "9.0": "enable_smem_spilling frequency"}

OPERAND_MODIFIERS = {
    "6.3": ".x .y .z .w .r .g .b .a .b0 .b1 .b2 .b3 .h0 .h1",
    "8.0": ".unified",
}
"""Words that begin with a dot and stand behind an operand."""


OLDEST: Version = (6, 3)
"""PTX of CUDA 10.0, the oldest release whose driver is worth reaching."""


class PtxNeeds(NamedTuple):
    """What a PTX text needs."""

    version: Version
    """The lowest PTX ISA version that all known words allow."""
    word: str
    """The word that needs this version; "" where none needs more than OLDEST."""
    unknown: str
    """A word that the table does not know, of which nothing can be said; "" if there is none."""


class _Form(NamedTuple):
    pattern: re.Pattern[str]
    version: Version
    newer: Mapping[str, Version]
    """The modifiers of the form that are newer than it."""


_COMMENT = re.compile(r'("(?:\\[^\n]|[^"\\\n])*"?)|/\*.*?(?:\*/|\Z)|//[^\n]*', re.DOTALL)

_PRAGMA = re.compile(r'\.pragma\s*"\s*(\w*)[^"\n]*"')

_STRING = re.compile(r'"(?:\\[^\n]|[^"\\\n])*"?')

_UNTERMINATED = re.compile(
    r"\.(?:loc\s+\d+\s+\d+\s+\d+"
    r"(?P<inlined>\s*,\s*function_name\s+[\w$.]+(?:\s*\+\s*\d+)?\s*,\s*inlined_at\s+\d+\s+\d+\s+\d+)?"
    r"|file\s+\d+(?:\s*,\s*\d+\s*,\s*\d+)?|version\s+\d+\.\d+|address_size\s+\d+"
    r"|target\s+sm_\w+(?:\s*,\s*(?:debug|texmode_\w+|map_f64_to_f32))*|section\s+\.debug_\w+\s*\{(?P<section>[^{}]*)\})"
)
"""Directives that end without a semicolon; strings are blank."""

_BRACES = re.compile(r"\{([^;{}]*)\}")
"""The elements of a vector or of an initialiser. A block contains a semicolon."""

_MASK = re.compile(r"[\s{,=]0[xX][fF0]+U?\s*\(\s*(\d)?")
"""The operator mask(); its group is the first digit of a number. Source: PTX ISA, "Initializers"."""

_NUMBERED = tuple((re.compile(rf"%(?:{kind})\d+"), f"%{kind}") for kind in ("r", "rd", "p", "rs|f|fd|h|hh|b|rq"))
"""The compiler's registers, by the kinds that a rule of `_OPERAND_RULES` tells apart, and what stands for each."""

_STATEMENT = re.compile(
    r"\s*(?:[\w$%]+\s*:(?!:)\s*)*(?:@\s*!?\s*[\w$%]+\s*)?(?P<opcode>[A-Za-z_]\w*)?(?P<modifiers>(?:\s*\.\w+(?:::\w+)*)*)"
)
"""Labels, a predicate, and the word that says what the statement is. A directive has no opcode."""

_WORD = re.compile(r"\.[A-Za-z_][\w:]*")

_REGISTER = re.compile(r"%[A-Za-z_$][\w$]*")

_SMALL_PARAMETERS = 4352
"""The size in bytes that a kernel's parameters may have together before PTX ISA 8.1. Source: PTX ISA, ".entry"."""


class _OperandRule(NamedTuple):
    instruction: re.Pattern[str]
    operands: re.Pattern[str]
    version: Version
    what: str


_THIRD_COMMA = r"(?:[^,]*,){3}"

_OPERAND_RULES: dict[str, tuple[_OperandRule, ...]] = {
    opcode: tuple(_OperandRule(re.compile(a), re.compile(b), version, what) for a, b, version, what in rules)
    for opcodes, rules in {
        "min max": [(r".*\.f32$", _THIRD_COMMA, (8, 8), "with three inputs")],
        "mbarrier": [
            (r"mbarrier\.arrive(?!.*\.(?:noComplete|expect_tx))", r"[^,]*,[^,]*,", (7, 8), "with a count"),
            (r"mbarrier\.arrive", r"\s*_\s*,", (7, 1), "with the destination _"),
        ],
        # A register of 32 bits is the size of the source; anything else may be the predicate that ignores the source.
        "cp": [(r"cp\.async\.c[ag]\.", _THIRD_COMMA + r"(?!\s*(?:%r\d|\d))", (7, 5), "with a predicate")],
        "tex tld4": [("", r"[^\[]*\|", (7, 1), "with a predicate as a destination")],
        "tensormap": [
            (r".*\.elemtype", r"[^,]*,\s*(?:1[3-5]|0[xX])", (8, 7), "with the element type 13, 14 or 15"),
            (r".*\.swizzle_mode", r"[^,]*,\s*(?:4|0)", (8, 8), "with the swizzle mode 4"),
        ],
        "tcgen05": [(r"tcgen05\.commit", r"[^,]*,\s*\d", (9, 4), "with a number as the mask")],
        "st": [(r"st\.bulk", r"[^,]*,(?!\s*(?:%rd\d|\d))", (9, 0), "with a size of 32 bits")],
    }.items()
    for opcode in opcodes.split()
}
"""What the operands of an instruction need, by opcode. Source: PTX ISA, "PTX ISA Notes" of each."""

_TARGET_RULES = ((re.compile(r"cvt\..*\.e[45]m[23]x2\b"), frozenset({"89"}), (8, 1)),)
"""Instructions that a target got later than others. Source: PTX ISA, "cvt"."""


def requirement(text: str, arch: str) -> PtxNeeds:
    """Return what a PTX text for `arch` ("90a") needs; comments and strings do not matter."""
    version, word, unknown = OLDEST, "", ""
    for candidate, needed in _words(text, arch):
        if needed is None:
            unknown = unknown or candidate
        elif needed > version:
            version, word = needed, candidate
    return PtxNeeds(version, word, unknown)


def _words(text: str, arch: str) -> Iterator[tuple[str, Version | None]]:
    """Yield what a text contains, each with the version that it needs; None where that is not known."""
    if "//" in text or "/*" in text:  # normalised text has no comments, and the search takes long
        text = _COMMENT.sub(lambda match: match[1] or " ", text)
    pragmas = _PRAGMA.findall(text)
    yield from ((f'.pragma "{pragma}"', _words_of("pragmas").get(pragma)) for pragma in pragmas)
    text = _STRING.sub(" ", text)
    if text.count(".pragma") != len(pragmas):
        yield ".pragma", None
    text = _distinct(text)
    for symbol, parameters in ptx.kernels(text).items():
        if parameters and parameters[-1].offset + parameters[-1].size > _SMALL_PARAMETERS:
            yield f"the size of the parameters of {symbol}", (8, 1)
    for match in _MASK.finditer(text):
        yield "mask()", (7, 3) if match[1] else (7, 1)
    for match in _UNTERMINATED.finditer(text):
        yield from _debug_needs(match)
    yield from _statements(_UNTERMINATED.sub(" ", text), arch)


def _distinct(text: str) -> str:
    """Return a text with one of those statements that differ in the numbers of registers alone.

    These are most statements of a large text. What stands between two semicolons is kept or left out as a whole;
    declarations of registers are kept.
    """
    general = text
    for register, kind in _NUMBERED:
        general = register.sub(kind, general)
    pairs = zip(general.split(";"), text.split(";"), strict=True)
    return ";".join({each if ".reg" in each else form: each for form, each in pairs}.values())


def _debug_needs(match: re.Match[str]) -> Iterator[tuple[str, Version]]:
    """Yield what debugging directives need. Source: PTX ISA, ".loc" and ".section"."""
    if match["inlined"]:
        yield ".loc with inlined_at", (7, 2)
    if ":" in (match["section"] or ""):
        yield "a label in .section", (7, 2)
    if "-" in (match["section"] or ""):
        yield "a difference or negative number in .section", (7, 5)


def _statements(text: str, arch: str) -> Iterator[tuple[str, Version | None]]:
    """Yield what the statements of a text contain; it has no strings and no directives that end without a semicolon."""
    shorter = _BRACES.sub(_without_elements, text)
    while shorter != text:
        text, shorter = shorter, _BRACES.sub(_without_elements, shorter)
    instructions: set[str] = set()
    behind_operands: set[str] = set()
    directives: list[str] = []
    for statement in re.split("[;{}]", text):
        match = _STATEMENT.match(statement)
        assert match is not None  # all of its parts may be absent
        opcode, modifiers = match["opcode"], match["modifiers"]
        if opcode:
            instructions.add(opcode + modifiers)
            operands = statement[match.end() :]
            if "." in operands:
                behind_operands.update(_WORD.findall(operands))
            if ":" in operands:  # a modifier that is split by white space
                yield " ".join(statement.split())[:80], None
            if opcode in _OPERAND_RULES:
                yield from _operand_needs(opcode, modifiers, operands)
        elif modifiers:
            directives.append(statement[match.start("modifiers") :])
        elif match.end() < len(statement):
            yield " ".join(statement.split())[:80], None
    for instruction in sorted("".join(each.split()) for each in instructions):
        yield instruction, instruction_version(instruction, arch)
    for kind, words in ("operands", behind_operands), ("directives", _WORD.findall(" ".join(directives))):
        yield from ((word, _words_of(kind).get(word)) for word in dict.fromkeys(words))
    yield from _registers(text, " ".join(directives))


def _without_elements(match: re.Match[str]) -> str:
    """Return what stands for elements in braces; an empty block stays one."""
    return " 0 " if match[1].strip() else ";"


def _operand_needs(opcode: str, modifiers: str, operands: str) -> Iterator[tuple[str, Version]]:
    instruction = "".join((opcode + modifiers).split())
    for rule in _OPERAND_RULES[opcode]:
        if rule.instruction.match(instruction) and rule.operands.match(operands):
            yield f"{instruction} {rule.what}", rule.version


def _registers(text: str, directives: str) -> Iterator[tuple[str, Version | None]]:
    """Yield the special registers; a register that the text declares is none."""
    declared = set(_REGISTER.findall(directives))
    numbered = {name.rstrip("0123456789") for name in set(_REGISTER.findall(text)) - declared}
    if numbered <= declared:
        return
    special = _words_of("registers")
    for name in sorted(set(_REGISTER.findall(text)) - declared):
        if name in special or name.rstrip("0123456789") not in declared:
            yield name, special.get(name)


@cache
def instruction_version(instruction: str, arch: str) -> Version | None:
    """Return the PTX ISA version that an instruction with its modifiers needs, or None if the table lacks it."""
    modifiers = ["." + each for each in instruction.split(".")[1:]]
    needed = [
        max([form.version, *(form.newer[each] for each in modifiers if each in form.newer)])
        for form in _forms(instruction.split(".")[0])
        if form.pattern.fullmatch(instruction)
    ]
    later = [version for pattern, archs, version in _TARGET_RULES if arch in archs and pattern.match(instruction)]
    return max([min(needed), *later]) if needed else None


@cache
def _lines() -> dict[str, list[str]]:
    """Return the lines of the table of instructions by opcode."""
    lines: dict[str, list[str]] = {}
    for line in FORMS.splitlines():
        if line and not line.startswith("#"):
            for opcode in line.split()[1].split(","):
                lines.setdefault(opcode, []).append(line)
    return lines


@cache
def _forms(opcode: str) -> list[_Form]:
    """Return the forms of an instruction. Those of all instructions would take half a second to compile."""
    forms = []
    for line in _lines().get(opcode, ()):
        version, _, *slots = line.split()
        pattern = re.escape(opcode) + "".join(_slot_pattern(slot) for slot in slots)
        newer = {name: parse_version(since) for slot in slots for name, since in slot_alternatives(slot) if since}
        forms.append(_Form(re.compile(pattern), parse_version(version), newer))
    return forms


def slot_alternatives(slot: str) -> list[tuple[str, str]]:
    """Return the alternatives of a form's slot, each with the version that it needs, or ""."""
    names = slot.strip("[]")
    return [(name, since) for name, _, since in (each.partition("@") for each in ALIASES.get(names, names).split("|"))]


def _slot_pattern(slot: str) -> str:
    names = "|".join(re.escape(name) for name, _ in slot_alternatives(slot))
    return f"(?:{names})" + "?" * slot.startswith("[")


@cache
def _words_of(kind: str) -> dict[str, Version]:
    """Return the words of one of the smaller tables, with their versions."""
    tables: dict[str, Mapping[str, str]] = {
        "directives": DIRECTIVES,
        "registers": SPECIAL_REGISTERS,
        "pragmas": PRAGMAS,
        "operands": OPERAND_MODIFIERS,
    }
    return {word: parse_version(version) for version, words in tables[kind].items() for word in words.split()}
