"""PTX as NVRTC writes it, in short."""

from __future__ import annotations

__all__ = ["TEXT"]

TEXT = """\
//
// Cuda compilation tools, release 12.9, V12.9.86
//

.version 8.8
.target sm_80
.address_size 64

\t// .globl\tk
.visible .entry k(
\t.param .f32 k_param_0,
\t.param .u64 .ptr .global .align 4 k_param_1,
\t.param .align 8 .b8 k_param_2[24],
\t.param .u16 k_param_3
)
.maxntid 256, 1, 1
{
\t.reg .b32 \t%r<3>;  /* two
   lines */
\tret;
}
.entry empty()
{
\tret;
}
.entry bare
{ ret; }
"""
