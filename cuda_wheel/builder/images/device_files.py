"""Check files of device code before a linker reads them.

nvJitLink ignores what it does not recognise, and several releases crash or hang on a file that is cut short.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator

from cuda_wheel.runtime.formats import ptx
from cuda_wheel.runtime.formats.cubin import read_cubin
from cuda_wheel.runtime.formats.elf import ELF_MAGIC, section_names
from cuda_wheel.runtime.formats.fatbin import FATBIN_MAGIC
from cuda_wheel.runtime.formats.kinds import ARCHIVE_MAGIC, LTOIR_MAGIC

__all__ = ["CHECKS", "faulty"]

_RELOCATABLE_SECTION, _COMPLETE_SECTION = "__nv_relfatbin", ".nv_fatbin"
"""The sections of an object with device code: what can be linked, and what cannot, as nvcc compiles it by default."""


def faulty(kind: str, content: bytes) -> str | None:
    """Return what is wrong with a file of a kind (nvJitLink's word), to follow its name; None if nothing is."""
    if not content:
        return "is empty"
    check = CHECKS.get(kind)
    try:
        return check(content) if check else None
    except (ValueError, struct.error) as error:
        return f"is not a valid {kind}: {error}"


def _check_ptx(content: bytes) -> None:
    text = content.decode()
    ptx.version(text)
    ptx.target(text)


def _check_ltoir(content: bytes) -> None:
    if not content.startswith(LTOIR_MAGIC):
        raise ValueError("it does not begin as LTO-IR does")


def _check_cubin(content: bytes) -> str | None:
    if read_cubin(content).relocatable:
        return None
    return "is finished machine code, which cannot be linked: compile it as relocatable device code (nvcc -rdc=true)"


def _check_fatbin(content: bytes) -> None:
    magic, _, header, size = struct.unpack_from("<4sHHQ", content)
    if magic != FATBIN_MAGIC:
        raise ValueError("it does not begin as a fatbin does")
    if header + size > len(content):
        raise ValueError(f"it is cut short: {len(content)} of {header + size} bytes")


def _check_object(content: bytes) -> str | None:
    if not content.startswith(ELF_MAGIC):  # a Windows object
        return None
    return _missing_device_code(section_names(content))


def _check_library(content: bytes) -> str | None:
    if not content.startswith(ARCHIVE_MAGIC):
        raise ValueError("it does not begin as a static library does")
    members = list(_members(content))
    if not all(member.startswith(ELF_MAGIC) for member in members):  # a Windows library
        return None
    return _missing_device_code([name for member in members for name in section_names(member)])


def _members(archive: bytes) -> Iterator[bytes]:
    """Yield the files in a library, without its index and its table of long names. Source: ar(5)."""
    at = len(ARCHIVE_MAGIC)
    while at < len(archive):
        name, size = struct.unpack_from("<16s32x10s", archive, at)
        start, end = at + 60, at + 60 + int(size)
        if not start <= end <= len(archive):
            raise ValueError("it is cut short")
        if not name.startswith((b"/ ", b"//", b"/SYM64/")):
            yield archive[start:end]
        at = end + end % 2


def _missing_device_code(sections: list[str]) -> str | None:
    if _RELOCATABLE_SECTION in sections:
        return None
    if _COMPLETE_SECTION in sections:
        return "holds device code that cannot be linked any more: compile it with nvcc -rdc=true"
    return "holds no device code"


CHECKS: dict[str, Callable[[bytes], str | None]] = {
    "ptx": _check_ptx, "ltoir": _check_ltoir, "cubin": _check_cubin, "fatbin": _check_fatbin,
    "object": _check_object, "library": _check_library,
}  # fmt: skip
