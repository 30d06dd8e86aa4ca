"""Say what is wrong with files of device code before a linker meets them.

nvJitLink passes over what it does not understand, and several releases of it crash or hang on a file that is cut short.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator

from cuda_wheel.runtime.formats import ptx
from cuda_wheel.runtime.formats.elf import read_cubin, section_names
from cuda_wheel.runtime.formats.fatbin import FATBIN_MAGIC, LTOIR_MAGIC, OLD_LTOIR_MAGIC

__all__ = [
    "faulty",
]


RELOCATABLE, COMPLETE = "__nv_relfatbin", ".nv_fatbin"
"""The sections of an object with device code: what can be linked, and what cannot, as nvcc compiles it by default."""


def faulty(kind: str, content: bytes) -> str | None:
    """Return what is wrong with a file of a kind, in nvJitLink's words, to follow its name; None if nothing is."""
    if not content:
        return "is empty"
    check = CHECKS.get(kind)
    try:
        return check(content) if check else None
    except (ValueError, struct.error) as error:
        return f"is no {kind} that a linker can read: {error}"


def _ptx(content: bytes) -> None:
    text = content.decode()
    ptx.version(text)
    ptx.target(text)


def _ltoir(content: bytes) -> None:
    if content[:4] not in (LTOIR_MAGIC, OLD_LTOIR_MAGIC):
        raise ValueError("it does not begin as LTO-IR does")


def _cubin(content: bytes) -> str | None:
    if read_cubin(content).relocatable:
        return None
    return "is finished machine code, and cannot be linked: compile it as relocatable device code (nvcc -rdc=true)"


def _fatbin(content: bytes) -> None:
    magic, _, header, size = struct.unpack_from("<IHHQ", content)
    if magic != FATBIN_MAGIC:
        raise ValueError("it does not begin as a fatbin does")
    if header + size > len(content):
        raise ValueError(f"it is cut short: of {header + size} bytes it has {len(content)}")


def _object(content: bytes) -> str | None:
    if content[:4] != b"\x7fELF":  # one of Windows
        return None
    return _without_device_code(section_names(content))


def _library(content: bytes) -> str | None:
    if content[:8] != b"!<arch>\n":
        raise ValueError("it does not begin as a library does")
    members = list(_members(content))
    if not all(member.startswith(b"\x7fELF") for member in members):  # one of Windows
        return None
    return _without_device_code([name for member in members for name in section_names(member)])


def _members(archive: bytes) -> Iterator[bytes]:
    """Yield the files of a library, but for its index and its table of long names. Source: ar(5)."""
    at = 8
    while at < len(archive):
        name, size = struct.unpack_from("<16s32x10s", archive, at)
        start, end = at + 60, at + 60 + int(size)
        if not start <= end <= len(archive):
            raise ValueError("it is cut short")
        if not name.startswith((b"/ ", b"//", b"/SYM64/")):
            yield archive[start:end]
        at = end + end % 2


def _without_device_code(sections: list[str]) -> str | None:
    if RELOCATABLE in sections:
        return None
    if COMPLETE in sections:
        return "holds device code that cannot be linked any more: compile it with nvcc -rdc=true"
    return "holds no device code"


CHECKS: dict[str, Callable[[bytes], str | None]] = {
    "ptx": _ptx, "ltoir": _ltoir, "cubin": _cubin, "fatbin": _fatbin, "object": _object, "library": _library,
}  # fmt: skip
