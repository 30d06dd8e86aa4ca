"""What of an ELF file is checked for every reader."""

from __future__ import annotations

import struct

from cuda_wheel.runtime.parts.formats.elf import section_names
from tests.support.linkable import BOTH, compiled


def test_sections_may_overlap() -> None:
    """In nvcc's cubins for Blackwell, the sections with line information overlap."""
    cubin = bytearray(compiled(BOTH, "cubin", "90"))
    (sections,) = struct.unpack_from("<40xQ", cubin)
    for index in (1, 2):  # both now cover the whole file
        struct.pack_into("<QQ", cubin, sections + 64 * (index + 20) + 24, 0, len(cubin))
    section_names(bytes(cubin))
