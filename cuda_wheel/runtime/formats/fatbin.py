"""Recognise a fatbin, and check that all of it is there."""

__all__ = ["FATBIN_MAGIC", "whole_fatbin"]

FATBIN_MAGIC = (0xBA55ED50).to_bytes(4, "little")
"""The first bytes of a fatbin. Source: `fatbinary_section.h` of the CUDA toolkit."""


def whole_fatbin(content: bytes) -> bool:
    """Return whether a fatbin has all the bytes that its header promises. Source: as for FATBIN_MAGIC."""
    header, body = int.from_bytes(content[6:8], "little"), int.from_bytes(content[8:16], "little")
    return header >= 16 and header + body <= len(content)
