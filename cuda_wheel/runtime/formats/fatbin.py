"""Recognise fatbins and LTO-IR by their first bytes."""

__all__ = [
    "whole_fatbin",
]


FATBIN_MAGIC = 0xBA55ED50
"""Source: `fatbinary_section.h` of the CUDA toolkit."""


LTOIR_MAGIC = b"\xedCN\x7f"
"""What NVRTC 12 and 13 begin LTO-IR with."""


OLD_LTOIR_MAGIC = b"BC\xc0\xde"
"""What LLVM bitcode begins with."""


def whole_fatbin(content: bytes) -> bool:
    """Return whether a fatbin has all the bytes that its header tells of. Source: as for FATBIN_MAGIC."""
    header, body = int.from_bytes(content[6:8], "little"), int.from_bytes(content[8:16], "little")
    return header >= 16 and header + body <= len(content)
