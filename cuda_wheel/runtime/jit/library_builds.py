"""Identify the exact build of a library that compiles: the versions that libraries tell are MAJOR.MINOR only."""

import os
import struct
import sys
from typing import BinaryIO

from .cuda_libraries import files_of, library_path

__all__ = ["build_id", "build_of", "driver_build", "loaded_build"]

_NOTE_SEGMENT, _GNU_BUILD_ID = 4, 3
"""Source: ELF, PT_NOTE and NT_GNU_BUILD_ID. The linker computes the build ID from the library's content."""

_LARGEST_NOTE = 1 << 16


def build_of(path: str) -> str:
    """Return what distinguishes the content of a library from that of every other one.

    This is its size with its build ID or, where it has none as on Windows, with its path and its time of change.
    Raises OSError if it cannot be read.
    """
    with open(path, "rb") as file:
        status = os.fstat(file.fileno())
        build = build_id(file)
    return f"{status.st_size} {build or f'{os.path.realpath(path)} {status.st_mtime_ns}'}"


def build_id(file: BinaryIO) -> str | None:
    """Return the build ID (hexadecimal) of an open library; None if it has none."""
    head = file.read(64)
    if head[:6] != b"\x7fELF\x02\x01":  # not a 64-bit little-endian ELF file
        return None
    try:
        (table,) = struct.unpack_from("<Q", head, 32)
        size, count = struct.unpack_from("<HH", head, 54)
        file.seek(table)
        segments = file.read(size * count)
        for number in range(count):
            kind, _, start, _, _, length = struct.unpack_from("<IIQQQQ", segments, number * size)
            if kind == _NOTE_SEGMENT:
                file.seek(start)
                found = _build_id_note(file.read(min(length, _LARGEST_NOTE)))
                if found is not None:
                    return found.hex()
    except struct.error:  # a damaged file
        pass
    return None


def _build_id_note(notes: bytes) -> bytes | None:
    """Return the build ID among notes; None if it is not there."""
    at = 0
    while at + 12 <= len(notes):
        name_size, size, kind = struct.unpack_from("<III", notes, at)
        name, start = notes[at + 12 : at + 12 + name_size], at + 12 + -(-name_size // 4) * 4
        if kind == _GNU_BUILD_ID and name == b"GNU\0":
            return notes[start : start + size] or None
        at = start + -(-size // 4) * 4
    return None


def loaded_build(library: str) -> str | None:
    """Return what identifies the exact build of an installed library, such as "nvJitLink".

    None if that is unknown: what such a library makes must not be kept.
    """
    path = library_path(library)
    try:
        return None if path is None else "; ".join(map(build_of, files_of(path)))
    except OSError:
        return None


def driver_build() -> str | None:
    """Return what identifies the exact release of the driver that this process has loaded; None if that is unknown."""
    try:
        found = sorted({f"{os.path.basename(os.path.realpath(path))} {build_of(path)}" for path in _driver_libraries()})
    except OSError:
        return None
    return "; ".join(found) or None


def _driver_libraries() -> list[str]:
    """Return the paths of the driver's libraries that are loaded. Their names contain the release, as in 580.65.06."""
    if sys.platform == "win32":
        return [os.path.join(os.environ.get("SYSTEMROOT", "C:\\Windows"), "System32", "nvcuda.dll")]
    with open("/proc/self/maps", encoding="utf-8", errors="surrogateescape") as maps:
        paths = {line.split(maxsplit=5)[5].rstrip("\n") for line in maps if "/libcuda.so" in line}
    return sorted(path for path in paths if os.path.isfile(path))
