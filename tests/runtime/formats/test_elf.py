"""Cubins that are cut short or damaged, before anything follows what they say."""

from __future__ import annotations

import struct

import pytest

from cuda_wheel.runtime.formats import elf
from tests.support.linkable import BOTH, compiled


def test_a_cubin_that_is_cut_short_is_told_wherever_the_cut_is() -> None:
    cubin = compiled(BOTH, "cubin", "90")
    elf.read_cubin(cubin)
    for length in range(0, len(cubin), 7):
        with pytest.raises(ValueError, match=r"cut short|begins with|damaged"):
            elf.read_cubin(cubin[:length])


@pytest.mark.parametrize(("at", "size"), [(0, 4), (4, 4), (24, 8), (32, 8), (40, 4), (44, 4)])
def test_a_cubin_whose_sections_point_elsewhere_is_told(at: int, size: int) -> None:
    """Each header has name, type, offset, size, link and info. (System V ABI, "Section header")"""
    cubin = compiled(BOTH, "cubin", "90")
    elf.check_cubin(cubin)
    sections, count = struct.unpack_from("<40xQ12xH", cubin)
    refused = 0
    for index in range(1, count):
        damaged = bytearray(cubin)
        damaged[sections + 64 * index + at + size - 2] ^= 0x40
        try:
            elf.check_cubin(bytes(damaged))
        except ValueError:
            refused += 1
    # Whoever knows no type of a section cannot refuse it, but for those that are followed; nor what takes no place.
    assert refused >= (2 if at == 4 else count - 10)


@pytest.mark.parametrize("attribute", [0x2F, 0x11])
def test_a_figure_of_no_symbol_is_told(attribute: int) -> None:
    """NVIDIA's section `.nv.info` has records of four bytes, format, attribute and size, and a symbol's number."""
    cubin = bytearray(compiled(BOTH, "cubin", "90"))
    at = cubin.index(struct.pack("<BBH", 4, attribute, 8)) + 4
    cubin[at + 2] ^= 4
    with pytest.raises(ValueError, match=r"its section \.nv\.info tells of a symbol that it does not have"):
        elf.check_cubin(bytes(cubin))


def headers(cubin: bytes, kind: int) -> list[tuple[int, int, int]]:
    """Return where the headers of the sections of a type are, and where these begin and end."""
    sections, count = struct.unpack_from("<40xQ12xH", cubin)
    places = range(sections, sections + 64 * count, 64)
    found = [(place, *struct.unpack_from("<4xI16xQQ", cubin, place)) for place in places]
    return [(place, start, start + size) for place, its, start, size in found if its == kind]


def test_a_symbol_of_no_section_is_told() -> None:
    cubin = bytearray(compiled(BOTH, "cubin", "90"))
    ((_, start, end),) = headers(cubin, kind=2)
    for special in (0xFFF1, 0xFFF2):
        struct.pack_into("<H", cubin, end - 24 + 6, special)
        elf.check_cubin(bytes(cubin))
    for at in (start, end - 24):
        damaged = bytearray(cubin)
        damaged[at + 7] ^= 0x20
        with pytest.raises(ValueError, match=r"its section \.symtab is damaged"):
            elf.check_cubin(bytes(damaged))


@pytest.mark.parametrize("arch", ["90", "120"])
def test_flags_that_no_tool_sets_are_told(arch: str) -> None:
    cubin = bytearray(compiled(BOTH, "cubin", arch))
    elf.check_cubin(bytes(cubin))
    cubin[48 if cubin[8] >= 8 else 51] ^= 1  # by the version of the ABI
    with pytest.raises(ValueError, match="its header is damaged"):
        elf.check_cubin(bytes(cubin))


def test_a_note_is_nvidias_whatever_its_section_says() -> None:
    cubin = bytearray(compiled(BOTH, "cubin", "120"))
    place, start, _ = next(
        each for each in headers(cubin, kind=7) if cubin[each[1] + 12 :].startswith(b"NVIDIA Corp\0")
    )
    for kind in (7, 0x10000007):
        struct.pack_into("<I", cubin, place + 4, kind)
        elf.check_cubin(bytes(cubin))
        cubin[start + 12] ^= 0x20
        with pytest.raises(ValueError, match=r"its section \.note\.nv\.\w+ is damaged"):
            elf.check_cubin(bytes(cubin))
        cubin[start + 12] ^= 0x20


def test_sections_may_share_a_place() -> None:
    """As nvcc's cubins for Blackwell with line numbers have them."""
    cubin = bytearray(compiled(BOTH, "cubin", "90"))
    (sections,) = struct.unpack_from("<40xQ", cubin)
    for index in (1, 2):  # no longer where they were: the whole file
        struct.pack_into("<QQ", cubin, sections + 64 * (index + 20) + 24, 0, len(cubin))
    elf.section_names(bytes(cubin))
