"""Damaged cubins are rejected before a linker or the driver reads them."""

from __future__ import annotations

import struct

import pytest

import cuda_wheel as package
from cuda_wheel.runtime.parts.formats.cubin import check_cubin, demangled, read_cubin
from tests.support.linkable import BOTH, USER, compiled, piece


def test_a_truncated_cubin_is_rejected() -> None:
    cubin = compiled(BOTH, "cubin", "90")
    read_cubin(cubin)
    for length in range(0, len(cubin), 7):
        with pytest.raises(ValueError, match=r"cut short|begins with|damaged"):
            read_cubin(cubin[:length])


@pytest.mark.parametrize(("at", "size"), [(0, 4), (4, 4), (24, 8), (32, 8), (40, 4), (44, 4)])
def test_a_cubin_whose_sections_point_outside_the_file_is_rejected(at: int, size: int) -> None:
    """Each header has name, type, offset, size, link and info. (System V ABI, "Section header")"""
    cubin = compiled(BOTH, "cubin", "90")
    check_cubin(cubin)
    sections, count = struct.unpack_from("<40xQ12xH", cubin)
    refused = 0
    for index in range(1, count):
        damaged = bytearray(cubin)
        damaged[sections + 64 * index + at + size - 2] ^= 0x40
        try:
            check_cubin(bytes(damaged))
        except ValueError:
            refused += 1
    # A section of unknown type is not checked, nor one without bytes in the file.
    assert refused >= (2 if at == 4 else count - 10)


@pytest.mark.parametrize("attribute", [0x2F, 0x11])
def test_an_attribute_of_a_symbol_that_does_not_exist_is_rejected(attribute: int) -> None:
    """The section `.nv.info` contains attributes: format, attribute and size in four bytes, then the value, which begins
    with the index of a symbol."""
    cubin = bytearray(compiled(BOTH, "cubin", "90"))
    at = cubin.index(struct.pack("<BBH", 4, attribute, 8)) + 4
    cubin[at + 2] ^= 4
    with pytest.raises(ValueError, match=r"its section \.nv\.info refers to a symbol that does not exist"):
        check_cubin(bytes(cubin))


def headers(cubin: bytes, kind: int) -> list[tuple[int, int, int]]:
    """Return, for each section header of a type, its offset and the start and end of its section."""
    sections, count = struct.unpack_from("<40xQ12xH", cubin)
    places = range(sections, sections + 64 * count, 64)
    found = [(place, *struct.unpack_from("<4xI16xQQ", cubin, place)) for place in places]
    return [(place, start, start + size) for place, type_, start, size in found if type_ == kind]


def test_a_symbol_in_a_section_that_does_not_exist_is_rejected() -> None:
    cubin = bytearray(compiled(BOTH, "cubin", "90"))
    ((_, start, end),) = headers(cubin, kind=2)
    for special in (0xFFF1, 0xFFF2):
        struct.pack_into("<H", cubin, end - 24 + 6, special)
        check_cubin(bytes(cubin))
    for at in (start, end - 24):
        damaged = bytearray(cubin)
        damaged[at + 7] ^= 0x20
        with pytest.raises(ValueError, match=r"its section \.symtab is damaged"):
            check_cubin(bytes(damaged))


@pytest.mark.parametrize("arch", ["90", "120"])
def test_flags_that_no_tool_sets_are_rejected(arch: str) -> None:
    cubin = bytearray(compiled(BOTH, "cubin", arch))
    check_cubin(bytes(cubin))
    cubin[48 if cubin[8] >= 8 else 51] ^= 1  # depends on the ABI version
    with pytest.raises(ValueError, match="its header is damaged"):
        check_cubin(bytes(cubin))


def test_a_note_is_checked_whatever_the_type_of_its_section() -> None:
    cubin = bytearray(compiled(BOTH, "cubin", "120"))
    place, start, _ = next(
        each for each in headers(cubin, kind=7) if cubin[each[1] + 12 :].startswith(b"NVIDIA Corp\0")
    )
    for kind in (7, 0x10000007):
        struct.pack_into("<I", cubin, place + 4, kind)
        check_cubin(bytes(cubin))
        cubin[start + 12] ^= 0x20
        with pytest.raises(ValueError, match=r"its section \.note\.nv\.\w+ is damaged"):
            check_cubin(bytes(cubin))
        cubin[start + 12] ^= 0x20


@pytest.mark.parametrize(
    ("symbol", "name"),
    [
        ("_Z5scalef", "scale"),
        ("_ZN2ns5scaleEf", "ns::scale"),
        ("scale", "scale"),
        ("_Z2ttIfET_S0_", "_Z2ttIfET_S0_"),
        ("_ZN2ns2ttIfEET_S1_", "_ZN2ns2ttIfEET_S1_"),
    ],
)
def test_symbols_are_demangled(symbol: str, name: str) -> None:
    assert demangled(symbol) == name


MEMORY = """
__device__ int zeroed[100];
__global__ void shared(int* x)
{
    __shared__ int tile[1024];
    tile[threadIdx.x] = x[threadIdx.x] + zeroed[threadIdx.x];
    __syncthreads();
    x[threadIdx.x] = tile[1023 - threadIdx.x];
}
"""


@pytest.mark.parametrize("arch", ["75", "90", "100", "120"])
def test_sections_without_bytes_in_the_cubin_are_valid(arch: str) -> None:
    cubin = read_cubin(compiled(MEMORY, "cubin", arch))
    assert cubin.relocatable and cubin.variables == {"zeroed": ("global", 400)}
    assert [parameter.size for parameter in cubin.kernels["_Z6sharedPi"].parameters] == [8]
    linked = read_cubin(package.link([piece(MEMORY, "cubin", "memory")], arch="90").cubin)
    assert not linked.relocatable and linked.variables == cubin.variables


@pytest.mark.parametrize("arch", ["75", "80", "90", "90a", "100", "120"])
def test_a_cubin_names_its_gpu(arch: str) -> None:
    assert read_cubin(compiled(USER, "cubin", arch)).arch == int(arch.rstrip("a"))
