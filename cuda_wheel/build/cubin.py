"""Read what a cubin says of itself: it is an ELF file."""

from __future__ import annotations

import struct

__all__ = ["constant_bytes"]


def constant_bytes(cubin: bytes) -> int:
    """Return the size of a module's `__constant__` variables, all together: of the section of constant bank 3.

    Source: System V ABI, "Object Files"; CUDA Binary Utilities, where `cuobjdump -elf` shows that section. ValueError
    where it is no such file.
    """
    try:
        sections_at, *_, entry, count, names_index = struct.unpack_from("<QIHHHHHH", cubin, 0x28)
        headers = [struct.unpack_from("<IIQQQQ", cubin, sections_at + index * entry) for index in range(count)]
        names_at = headers[names_index][4]
        for name, _, _, _, _, size in headers:
            start = names_at + name
            if cubin[start : cubin.index(b"\0", start)] == b".nv.constant3":
                return int(size)
    except (struct.error, IndexError, ValueError, OverflowError) as error:
        raise ValueError(f"not a cubin: {error}") from error
    return 0
