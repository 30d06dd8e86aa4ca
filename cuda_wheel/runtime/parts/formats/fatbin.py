"""Recognise a fatbin, check that it is complete, find its compression, and make a fatbin that contains text."""

from collections.abc import Iterator

from ...manifest import Compression

__all__ = ["FATBIN_MAGIC", "compression_of", "fatbin_of_text", "only_machine_code", "whole_fatbin"]


FATBIN_MAGIC = (0xBA55ED50).to_bytes(4, "little")
"""First bytes of a fatbin. Source: `fatbinary_section.h` of the CUDA toolkit."""

_LZ4, _ZSTD = 0x2000, 0x8000
"""Two bits in a fatbin entry's flags. The first means compressed by LZ4, the second by Zstandard. nvFatbin 12.9 and
13.5 write them in each of their compression modes."""

_SMALLEST_HEADER = 48
"""Minimum size in bytes of a fatbin entry's header. The header's flags end there."""


def whole_fatbin(content: bytes) -> bool:
    """Return whether a fatbin is at least as long as its header says. Source: as for FATBIN_MAGIC."""
    header, body = int.from_bytes(content[6:8], "little"), int.from_bytes(content[8:16], "little")
    return header >= 16 and header + body <= len(content)


def compression_of(content: bytes) -> Compression:
    """Return how a fatbin is compressed: "zstd" if any of its entries is, else "lz4" if any is, else "none".

    Raises ValueError for a fatbin that is cut short or has an entry of unknown form.
    """
    flags = 0
    for _, found in _entries(content):
        flags |= found
    return "zstd" if flags & _ZSTD else "lz4" if flags & _LZ4 else "none"


def only_machine_code(content: bytes) -> bool:
    """Return whether a fatbin certainly contains nothing that a driver could compile: cubins, and texts for no driver.

    False for a fatbin that is cut short or has an entry of unknown form.
    """
    try:
        return all(kind in (_CUBIN_KIND, _TEXT_KIND) for kind, _ in _entries(content))
    except ValueError:
        return False


def _entries(content: bytes) -> Iterator[tuple[int, int]]:
    """Yield the kind of each entry of a fatbin, and its flags for compression. Raises ValueError."""
    if not content.startswith(FATBIN_MAGIC) or not whole_fatbin(content):
        raise ValueError("it is not a complete fatbin")

    def number(at: int, size: int) -> int:
        return int.from_bytes(content[at : at + size], "little")

    place = number(6, 2)
    end = place + number(8, 8)
    while place < end:
        header, payload, compressed = number(place + 4, 4), number(place + 8, 8), number(place + 16, 4)
        found = number(place + 40, 8) & (_LZ4 | _ZSTD)
        if header < _SMALLEST_HEADER or place + header + payload > end or bool(compressed) != bool(found):
            raise ValueError(f"the entry at byte {place} has an unknown form")
        yield number(place, 2), found
        place += header + payload


_CUBIN_KIND = 2
"""Kind of a fatbin entry with machine code. nvFatbin 12.9 and 13.0 write it for cubins, 1 for PTX and 8 for LTO-IR."""

_TEXT_KIND = 0x1000
"""Kind of a fatbin entry with text instead of code: a number in its header. NVIDIA's tools do not use this number:
cuobjdump reports an unknown kind and continues."""

_TEXT_NAME = b"sources\0"


def fatbin_of_text(text: bytes) -> bytes:
    """Return a fatbin whose only entry, at its end, is a text; its length must be a multiple of 8 (ValueError).

    cuobjdump reads a file of several fatbins only if each byte belongs to one. It wants a known architecture in each
    entry too. Fields as in what nvFatbin writes.
    """
    if len(text) % 8:
        raise ValueError(f"a text of {len(text)} bytes is not padded to a multiple of 8")
    head = _TEXT_KIND.to_bytes(2, "little") + b"\1\1" + (64 + len(_TEXT_NAME)).to_bytes(4, "little")
    head += len(text).to_bytes(8, "little") + bytes(8)  # not compressed
    head += bytes(2) + b"\1\0" + (80).to_bytes(4, "little")  # the entry's version and architecture
    head += (64).to_bytes(4, "little") + (len(_TEXT_NAME) - 1).to_bytes(4, "little") + (0x11).to_bytes(8, "little")
    entry = head.ljust(64, b"\0") + _TEXT_NAME + text
    return FATBIN_MAGIC + b"\1\0\x10\0" + len(entry).to_bytes(8, "little") + entry
