"""Recognise kinds of device code by file name suffix and by the first bytes of the content."""

from typing import Literal

from .elf import ELF_MAGIC, EM_CUDA
from .fatbin import FATBIN_MAGIC

__all__ = ["ARCHIVE_MAGIC", "LINKABLE_SUFFIXES", "LTOIR_MAGIC", "BinaryKind", "LinkableKind", "binary_kind"]


LinkableKind = Literal["ptx", "ltoir", "cubin", "fatbin", "object", "library"]
"""Kind of input for nvJitLink, by nvJitLink's names: PTX text, LTO-IR, machine code, a fatbin, a host object with
device code, or an archive of such objects."""

BinaryKind = Literal["ltoir", "cubin", "fatbin", "object", "library"]
"""Kinds that `binary_kind` recognises by the first bytes: all of `LinkableKind` but PTX, which is text."""

LINKABLE_SUFFIXES: dict[str, LinkableKind] = {
    ".ptx": "ptx", ".ltoir": "ltoir", ".cubin": "cubin", ".fatbin": "fatbin", ".o": "object", ".obj": "object",
    ".a": "library", ".lib": "library",
}  # fmt: skip

LTOIR_MAGIC = (b"\xedCN\x7f", b"BC\xc0\xde")
"""First bytes of LTO-IR as NVRTC 12 and 13 write it, and of LLVM bitcode as older compilers wrote it."""

ARCHIVE_MAGIC = b"!<arch>\n"
"""First bytes of a static library. Source: ar(5)."""

_THIN_ARCHIVE_MAGIC = b"!<thin>\n"

_COFF_MACHINES = (b"\x64\x86", b"\x64\xaa")
"""First bytes of a Windows object file for x86-64 and for ARM64: the file's machine type. Source: PE Format, "Machine
Types"."""


def binary_kind(content: bytes) -> BinaryKind | None:
    """Return the kind of a binary from its first bytes; None for text and for any other content."""
    if content.startswith(ELF_MAGIC):
        return "cubin" if content[18:20] == EM_CUDA.to_bytes(2, "little") else "object"
    if content.startswith(FATBIN_MAGIC):
        return "fatbin"
    if content.startswith(LTOIR_MAGIC):
        return "ltoir"
    if content.startswith((ARCHIVE_MAGIC, _THIN_ARCHIVE_MAGIC)):
        return "library"
    return "object" if content.startswith(_COFF_MACHINES) else None
