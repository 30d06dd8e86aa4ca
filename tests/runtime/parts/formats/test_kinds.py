"""The kinds of device code, told by their first bytes: what compilers write, and what only looks like it."""

from __future__ import annotations

from typing import get_args

import pytest

from cuda_wheel.runtime.parts.formats.kinds import LINKABLE_SUFFIXES, BinaryKind, LinkableKind, binary_kind
from tests.support.linkable import BOTH, compiled, fatbin

ELF = b"\x7fELF\x02\x01\x01" + bytes(9) + b"\x01\x00"
"""The start of a relocatable ELF file, up to its machine. Source: System V ABI, "Object Files"."""

KINDS = [
    (ELF + b"\xbe\x00", "cubin"),  # EM_CUDA is 190
    (ELF + b"\x3e\x00", "object"),  # x86-64
    (ELF + b"\xb7\x00", "object"),  # AArch64
    (ELF + b"\xbe\x01", "object"),  # a machine of which only the low byte is that of EM_CUDA
    (b"\x7fELF", "object"),  # cut short
    (b"\x50\xed\x55\xba\x01\x00\x10\x00", "fatbin"),
    (b"\xedCN\x7f", "ltoir"),
    (b"BC\xc0\xde", "ltoir"),
    (b"!<arch>\n/               0", "library"),
    (b"!<thin>\n/               0", "library"),
    (b"\x64\x86\x05\x00", "object"),  # COFF for x86-64
    (b"\x64\xaa\x05\x00", "object"),  # COFF for ARM64
    (b"MZ\x90\x00", None),  # a Windows program, which nothing links
    (b"\xba\x55\xed\x50", None),  # a fatbin's magic number with its bytes in another order
    (b"//\n.version 8.0\n", None),
    (b" \x7fELF", None),
    (b"!<arch>", None),
    (b"", None),
]


@pytest.mark.one_toolchain
@pytest.mark.parametrize(("content", "kind"), KINDS)
def test_the_first_bytes_tell_the_kind(content: bytes, kind: BinaryKind | None) -> None:
    assert binary_kind(content) == kind


def test_what_the_installed_compilers_write_is_recognised() -> None:
    cubin = compiled(BOTH, "cubin", "90")
    assert binary_kind(cubin) == "cubin"
    assert binary_kind(compiled(BOTH, "ltoir")) == "ltoir"
    assert binary_kind(compiled(BOTH, "ptx")) is None
    for options in ("-compress=false", "-compress-all"):
        assert binary_kind(fatbin(cubin, options)) == "fatbin"


@pytest.mark.one_toolchain
def test_every_kind_that_nvjitlink_takes_has_a_suffix_and_all_but_ptx_first_bytes() -> None:
    assert {*LINKABLE_SUFFIXES.values()} == {*get_args(LinkableKind)} == {"ptx", *get_args(BinaryKind)}
    assert {kind for _, kind in KINDS if kind} == {*get_args(BinaryKind)}
    names = {suffix: LINKABLE_SUFFIXES[suffix] for suffix in (".o", ".obj", ".a", ".lib")}
    assert names == {".o": "object", ".obj": "object", ".a": "library", ".lib": "library"}
