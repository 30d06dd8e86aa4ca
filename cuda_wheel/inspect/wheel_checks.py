"""Check wheels and installed packages against RECORD, and that every program reads the same files from a wheel.

Sources: "Binary distribution format" and "Recording installed projects" of the PyPA specifications; PKWARE's
APPNOTE.TXT, 4.3 to 4.5.

`zipfile` and most installers read the central directory at the end of the archive; installers that unpack while they
download read the headers before each file, and find the end of a file in its compressed data. An archive can show them
different files. So the central directory, the headers and the data must agree here, and each byte must belong to one of
them.
"""

from __future__ import annotations

import csv
import hashlib
import re
import struct
import zipfile
import zlib
from base64 import urlsafe_b64encode
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import BinaryIO, NamedTuple

from cuda_wheel.inspect.archive import member_digest, metadata_file, open_wheel, wheel_members
from cuda_wheel.inspect.modules import FoundModule

__all__ = ["encoded_hash", "installed_differences", "layout_differences", "record_differences"]


# The records of an archive: APPNOTE.TXT, 4.3.7, 4.3.12, 4.3.14 to 4.3.16.
_END = struct.Struct("<4s4H2LH")
_END_64 = struct.Struct("<4sQ2H2L4Q")
_LOCATOR_64 = struct.Struct("<4sLQL")
_CENTRAL = struct.Struct("<4s6H3L5H2L")
_LOCAL = struct.Struct("<4s5H3L2H")

_ENCRYPTED, _STREAMED, _UTF8 = 1 << 0, 1 << 3, 1 << 11
"""Bits in the flags of a file's header: _ENCRYPTED; _STREAMED (the file's sizes follow its data); _UTF8 (its name is in
UTF-8)."""
_STORED, _DEFLATED = 0, 8
"""Compression methods in the header of a file in a zip archive: _STORED (not compressed) and _DEFLATED."""

_ZIP64 = 0x0001
"""Identifier of the zip64 extra field, which has the sizes that do not fit into 32 bits."""
_HARMLESS_FIELDS = (_ZIP64, 0x000A, 0x5455, 0x5855, 0x7855, 0x7875)
"""Identifiers of extra fields in a file's header that do not change the unpacked content: zip64 sizes, and times and
owners for Windows and Unix."""

_BLOCK = 1 << 20
"""Maximum number of bytes of a file that are read or unpacked at a time."""


class _Entry(NamedTuple):
    """A file as the central directory of the archive describes it."""

    name: bytes
    flags: int
    method: int
    crc: int
    compressed: int
    """Size of the file's compressed data in the archive, in bytes."""
    size: int
    """Size of the file's unpacked content, in bytes."""
    offset: int
    """Byte offset in the archive at which the local header of the file (the one before its data) begins."""


class _LayoutError(ValueError):
    """Raised for a record, or data of a file, that is not where it must be in the archive; the message says which."""


def layout_differences(path: Path) -> list[str]:
    """Return where programs may read different files from a wheel, one line each; an empty list if nowhere."""
    with path.open("rb") as file:
        try:
            entries, start = _central_directory(file)
        except _LayoutError as error:
            return [str(error)]
        lines: list[str] = []
        at: int | None = 0
        before = "the start of the archive"
        for entry in sorted(entries, key=lambda each: each.offset):
            label = repr(entry.name.decode(errors="replace"))[1:-1]
            lines += _gap(at, entry.offset, before, label)
            try:
                at, found = _checked(file, entry, label)
                lines += found
            except _LayoutError as error:
                lines.append(f"{label}: {error}")
                at = None
            before = label
        return [*lines, *_gap(at, start, before, "the central directory")]


def _gap(end: int | None, start: int, before: str, name: str) -> list[str]:
    """Return a list with one error message if two neighbours in the archive overlap or have a gap, else an empty list.

    `end`: byte offset at which the first neighbour ends. If it is None (unknown), the list is empty. `start`: byte
    offset at which the second begins. `before` and `name`: names of the first and the second, such as "demo/scale.py"
    or "the central directory".
    """
    if end is None:
        return []
    if start < end:
        return [f"{name} overlaps {before}"]
    return [f"{start - end} bytes after {before} belong to no file"] if start > end else []


def _read(file: BinaryIO, offset: int, layout: struct.Struct, what: str) -> tuple[int, ...]:
    """Return the fields of the zip record at byte `offset`, without the signature.

    `layout`: one of _END, _END_64, _LOCATOR_64, _CENTRAL and _LOCAL. `what`: name of the record, such as "zip64
    locator". Raises _LayoutError if there is no such record: "there is no zip64 locator at byte 90".
    """
    file.seek(offset)
    content = file.read(layout.size)
    signatures = {_END: b"PK\5\6", _END_64: b"PK\6\6", _LOCATOR_64: b"PK\6\7", _CENTRAL: b"PK\1\2", _LOCAL: b"PK\3\4"}
    if len(content) < layout.size or content[:4] != signatures[layout]:
        raise _LayoutError(f"there is no {what} at byte {offset}")
    return layout.unpack(content)[1:]


def _central_directory(file: BinaryIO) -> tuple[list[_Entry], int]:
    """Return the entries of the archive's central directory (one for each file), and the byte offset at which the
    directory begins. Raises _LayoutError if the end of the archive does not have the expected form."""
    end = file.seek(0, 2) - _END.size
    last = _read(file, max(end, 0), _END, "end of the central directory, without a comment or other data behind it,")
    disk, first_disk, here, count, size, start, comment = last
    numbers = {(disk, first_disk, here - count, comment)}
    locator = end - _LOCATOR_64.size
    file.seek(max(locator, 0))
    if locator >= 0 and file.read(4) == b"PK\6\7":
        _, place, disks = _read(file, locator, _LOCATOR_64, "zip64 locator")
        length, _, _, *wide = _read(file, place, _END_64, "zip64 end of the central directory")
        if place + _END_64.size != locator or length != _END_64.size - 12 or disks != 1:
            raise _LayoutError("there is space after the zip64 end of the central directory")
        for narrow, full, limit in (
            (count, wide[3], 0xFFFF),
            (size, wide[4], 0xFFFFFFFF),
            (start, wide[5], 0xFFFFFFFF),
        ):
            if narrow not in (full, limit):
                raise _LayoutError("the two ends of the central directory disagree")
        numbers = {(wide[0], wide[1], wide[2] - wide[3], comment)}
        count, size, start, end = wide[3], wide[4], wide[5], place
    if numbers != {(0, 0, 0, 0)}:
        raise _LayoutError("the end of the central directory names other disks, or has a comment")
    if start + size != end:
        raise _LayoutError(f"the central directory does not end where its end record starts, at byte {end}")
    entries, at = [], start
    for _ in range(count):
        if at >= end:
            raise _LayoutError("the central directory has fewer entries than it says")
        entry, at = _central_entry(file, at)
        entries.append(entry)
    if at != end:
        raise _LayoutError("the central directory has more in it than its entries")
    return entries, start


def _central_entry(file: BinaryIO, at: int) -> tuple[_Entry, int]:
    """Return the central directory's entry at byte offset `at`, and the offset of the next entry. Raises _LayoutError
    if the entry is not as expected."""
    fields = _read(file, at, _CENTRAL, "entry of the central directory")
    _, _, flags, method, _, _, crc, compressed, size, *lengths, disk, _, _, offset = fields
    name, extra, comment = (file.read(length) for length in lengths)
    label = repr(name.decode(errors="replace"))
    if comment or disk:
        raise _LayoutError(f"the central directory's entry of {label} has a comment or names another disk")
    wide = _zip64(extra, label)
    values = []
    for narrow in (size, compressed, offset):
        if narrow == 0xFFFFFFFF:
            if len(wide) < 8:
                raise _LayoutError(f"the central directory's entry of {label} lacks a zip64 size")
            narrow, wide = int.from_bytes(wide[:8], "little"), wide[8:]
        values.append(narrow)
    if wide not in (b"", struct.pack("<QQ", size, compressed)):
        raise _LayoutError(f"the central directory's entry of {label} has two different sizes")
    size, compressed, offset = values
    return _Entry(name, flags, method, crc, compressed, size, offset), at + _CENTRAL.size + sum(lengths)


def _zip64(extra: bytes, label: str) -> bytes:
    """Return the content of the zip64 field (sizes above 32 bits) of a header; b"" if there is no zip64 field.

    `extra`: bytes of all extra fields of the header. `label`: name of the header in error messages. Raises _LayoutError
    for a second zip64 field, a field that is cut short, and a field that is not in _HARMLESS_FIELDS.
    """
    found, at = b"", 0
    while at < len(extra):
        if len(extra) - at < 4:
            raise _LayoutError(f"the extra fields of {label} have no end")
        kind, length = struct.unpack_from("<HH", extra, at)
        content = extra[at + 4 : at + 4 + length]
        if len(content) < length:
            raise _LayoutError(f"the extra fields of {label} have no end")
        if kind not in _HARMLESS_FIELDS or (kind == _ZIP64 and found):
            raise _LayoutError(f"{label} has an extra field 0x{kind:04x}, which some programs read and others do not")
        found = content if kind == _ZIP64 else found
        at += 4 + length
    return found


def _checked(file: BinaryIO, entry: _Entry, label: str) -> tuple[int, list[str]]:
    """Check the header and the data of a file in the archive. Return the byte offset at which the file ends, and a
    message for each problem.

    `entry`: the file's entry in the central directory. `label`: the file's name, with which each message begins. Raises
    _LayoutError for a problem that makes the end of the file unknown.
    """
    _, flags, method, _, _, crc, compressed, size, name_size, extra_size = _read(
        file, entry.offset, _LOCAL, "header of the file"
    )
    name, extra = file.read(name_size), file.read(extra_size)
    start = entry.offset + _LOCAL.size + name_size + extra_size
    wide = _zip64(extra, "its header")
    compressed, size = _local_sizes(compressed, size, wide)
    known = [(entry.crc, entry.compressed, entry.size)]
    if entry.flags & _STREAMED:  # the sizes follow the data
        known.append((0, 0, 0))
    reasons = [*_reasons_against_name(entry)]
    if (name, flags, method) != (entry.name, entry.flags, entry.method) or (crc, compressed, size) not in known:
        reasons.append("its header and the central directory disagree")
    if flags & _ENCRYPTED or method not in (_STORED, _DEFLATED):
        raise _LayoutError("it is encrypted, or compressed in a way that not every installer reads")
    if flags & _STREAMED and method == _STORED and entry.compressed:
        reasons.append("nothing says where its data ends before the central directory")
    reasons += _reasons_against_data(file, start, entry)
    end = start + entry.compressed
    if flags & _STREAMED:
        end = _after_descriptor(file, end, entry, bool(wide))
    return end, [f"{label}: {reason}" for reason in reasons]


def _local_sizes(compressed: int, size: int, wide: bytes) -> tuple[int, int]:
    """Return (compressed size, unpacked size) of a file in bytes, as the header before its data states them.

    `compressed` and `size`: 32-bit fields of this header, in which 0xFFFFFFFF refers to the zip64 field. `wide`:
    content of the zip64 field; b"" if there is none. Raises _LayoutError if `wide` lacks a size, has a wrong length, or
    contradicts the 32-bit fields.
    """
    if wide and len(wide) not in (8, 16):
        raise _LayoutError("its header has zip64 sizes of a wrong length")
    if 0xFFFFFFFF in (size, compressed):
        numbers = [int.from_bytes(wide[at : at + 8], "little") for at in range(0, len(wide), 8)]
        if len(numbers) < [size, compressed].count(0xFFFFFFFF):
            raise _LayoutError("its header lacks a zip64 size")
        size = numbers.pop(0) if size == 0xFFFFFFFF else size
        compressed = numbers.pop(0) if compressed == 0xFFFFFFFF else compressed
    elif wide not in (b"", struct.pack("<QQ", size, compressed)):
        raise _LayoutError("its header has two different sizes")
    return compressed, size


def _reasons_against_name(entry: _Entry) -> Iterator[str]:
    """Yield a message for each reason why programs may unpack the entry to different paths."""
    parts = entry.name.removesuffix(b"/").split(b"/")
    if b"\0" in entry.name or b"\\" in entry.name or any(part in (b"", b".", b"..") for part in parts):
        yield "programs unpack this name to different places"
    if not entry.name.isascii() and not entry.flags & _UTF8:
        yield "its name has other characters than ASCII and is not marked as UTF-8"
    if entry.name.endswith(b"/") and entry.size:
        yield "it has the name of a directory and content"


def _reasons_against_data(file: BinaryIO, start: int, entry: _Entry) -> Iterator[str]:
    """Yield a message for each reason why programs may unpack different content from a file's data.

    `start`: byte offset at which the data begins. `entry`: the file's entry in the central directory, with the sizes
    and the checksum that the data must have.
    """
    size, crc = 0, 0
    try:
        for content in _unpacked(file, start, entry):
            size, crc = size + len(content), zlib.crc32(content, crc)
            if size > entry.size:
                yield "it has more content than the central directory says"
                return
    except _LayoutError as error:
        yield str(error)
    except zlib.error as error:
        yield f"its data is damaged: {error}"
    else:
        if (size, crc) != (entry.size, entry.crc):
            yield "its content differs from the size or the checksum in the central directory"


def _unpacked(file: BinaryIO, start: int, entry: _Entry) -> Iterator[bytes]:
    """Yield the unpacked content of a file in blocks of at most _BLOCK bytes. `start`: byte offset of the file's data.

    Raises _LayoutError if the compressed data does not have exactly `entry.compressed` bytes, and zlib.error if the
    data is damaged.
    """
    file.seek(start)
    stream = zlib.decompressobj(-zlib.MAX_WBITS) if entry.method == _DEFLATED else None
    left = entry.compressed
    while left:
        block = file.read(min(left, _BLOCK))
        if not block:
            raise _LayoutError("its data is cut short")
        left -= len(block)
        if stream is None:
            yield block
            continue
        while block and not stream.eof:
            yield stream.decompress(block, _BLOCK)
            block = stream.unconsumed_tail
        if stream.eof and (left or stream.unused_data):
            count = left + len(stream.unused_data)
            raise _LayoutError(f"{count} bytes after its compressed data belong to no file")
    if stream is None:
        return
    while not stream.eof and (content := stream.decompress(stream.unconsumed_tail, _BLOCK)):
        yield content
    if not stream.eof:
        raise _LayoutError("its compressed data does not end")


def _after_descriptor(file: BinaryIO, end: int, entry: _Entry, is_wide: bool) -> int:
    """Return the byte offset at which the data descriptor of a file ends. The descriptor follows the file's data, and
    contains the checksum and the sizes.

    `end`: byte offset at which the data ends. `is_wide`: True for sizes of 64 bits, False for 32 bits. Raises
    _LayoutError if the descriptor does not have the values of `entry`.
    """
    sizes = struct.pack("<LQQ" if is_wide else "<LLL", entry.crc, entry.compressed, entry.size)
    for expected in (b"PK\7\x08" + sizes, sizes):
        file.seek(end)
        if file.read(len(expected)) == expected:
            return end + len(expected)
    raise _LayoutError("the sizes after its data are not those in the central directory")


ALGORITHMS = ("sha256", "sha384", "sha512")
"""Hash algorithms that RECORD (a wheel's list of its files with their hashes) may use."""

UNRECORDED = re.compile(r"[^/]+\.dist-info/(RECORD|RECORD\.jws|RECORD\.p7s)")
"""Matches the paths, in a wheel, of RECORD and of its signatures. RECORD has no hash for these files."""


def record_differences(path: Path) -> list[str]:
    """Return where a wheel differs from its RECORD, one line each; an empty list if nothing differs.

    RECORD must list every file exactly once, with the right hash and size, and no other file; every
    program must read the same files from the archive. Raises ImageError if `path` is not a wheel.
    """
    content = metadata_file(path, "RECORD")
    if content is None:
        return ["the wheel has no RECORD"]
    try:
        rows = _rows(content)
    except (ValueError, csv.Error) as error:
        return [f"RECORD is not a table of names, hashes and sizes: {error}"]
    recorded = {name: (digest, size) for name, digest, size in rows}
    with open_wheel(path) as archive:
        members = wheel_members(path, archive)
        names = {info.filename for info in members}
        lines = [f"RECORD lists {name} twice" for name, count in Counter(row[0] for row in rows).items() if count > 1]
        lines += [f"RECORD lists {name}, which is not in the wheel" for name in recorded if name not in names]
        lines += layout_differences(path)
        for info in members:
            if not UNRECORDED.fullmatch(info.filename):
                lines += _member_differences(path, archive, info, recorded.get(info.filename))
    return lines


def _rows(content: bytes) -> list[tuple[str, str, str]]:
    """Return the rows of RECORD: (path of a file, hash such as "sha256=...", size in bytes as text). Raises ValueError
    or csv.Error if `content` is not a table of this form."""
    text = content.decode()
    unprintable = next((line for line in text.splitlines() if not line.isprintable()), None)
    if unprintable is not None:  # the names are printed to terminals
        raise ValueError(f"{unprintable!r} is not printable")
    return [(name, digest, size) for name, digest, size in csv.reader(text.splitlines(), strict=True)]


def _member_differences(
    path: Path, archive: zipfile.ZipFile, info: zipfile.ZipInfo, recorded: tuple[str, str] | None
) -> Iterator[str]:
    """Yield a message if RECORD has no row for a file of the wheel, or if the row has no supported hash, a wrong hash
    or a wrong size.

    `recorded`: (hash, size) from the row: ("sha256=...", "512"); None without a row.
    """
    if recorded is None:
        yield f"{info.filename} is not in RECORD"
        return
    algorithm, _, value = recorded[0].partition("=")
    if algorithm not in ALGORITHMS:
        yield f"RECORD has no SHA-256 for {info.filename}"
    elif (encoded_hash(member_digest(path, archive, info, algorithm)), str(info.file_size)) != (value, recorded[1]):
        yield f"{info.filename} differs from RECORD"


def installed_differences(found: Iterable[FoundModule]) -> list[str]:
    """Return which fatbins and manifests of installed modules differ from RECORD, one line each.

    A file is checked only if a RECORD in a parent directory lists it.
    """
    lines: list[str] = []
    hashes_in = cache(_installed_hashes)
    for module in found:
        manifest = Path(module.location).absolute()
        root = next((folder for folder in manifest.parents if hashes_in(folder)), manifest.parent)
        for file in (manifest, manifest.with_name(module.fatbin)):
            recorded = hashes_in(root).get(file.relative_to(root).as_posix())
            if recorded is not None and file.is_file() and _differs(file.read_bytes(), recorded):
                lines.append(f"{file} differs from RECORD")
    return lines


def _installed_hashes(folder: Path) -> dict[str, str]:
    """Return path of a file -> hash in RECORD, such as "sha256=...", for all packages that are installed in a folder.

    `folder`: the folder, such as site-packages. The paths are relative to it. A RECORD that cannot be read is skipped.
    """
    hashes: dict[str, str] = {}
    for record in sorted(folder.glob("*.dist-info/RECORD")):
        with suppress(ValueError, csv.Error, OSError):
            hashes |= {name: digest for name, digest, _ in csv.reader(record.read_text(encoding="utf-8").splitlines())}
    return hashes


def _differs(content: bytes, recorded: str) -> bool:
    """Return whether the hash of a file's content differs from `recorded`, such as "sha256=...". If `recorded` is
    empty, RECORD has no hash for the file, and the result is False."""
    algorithm, _, value = recorded.partition("=")
    if not recorded:  # some installers leave it empty
        return False
    return algorithm not in ALGORITHMS or encoded_hash(hashlib.new(algorithm, content).digest()) != value


def encoded_hash(digest: bytes) -> str:
    """Return a hash as RECORD writes it: in URL-safe base64, without the padding "="."""
    return urlsafe_b64encode(digest).decode().rstrip("=")
