"""Open wheels as zip archives, read and hash their files, and reject damaged or malicious ones."""

from __future__ import annotations

import hashlib
import re
import zipfile
from collections import Counter
from pathlib import Path

from cuda_wheel.runtime.errors import ImageError

__all__ = [
    "file_digests",
    "member_digest",
    "metadata_file",
    "open_wheel",
    "read_member",
    "wheel_members",
]

MAXIMUM_SIZE, MAXIMUM_RATIO = 1 << 30, 100
"""A wheel is rejected if its unpacked size in bytes is above both limits: MAXIMUM_SIZE, and MAXIMUM_RATIO times the
size of the wheel. Machine code deflates to a tenth of its size."""


def open_wheel(path: Path) -> zipfile.ZipFile:
    """Open a wheel as an archive.

    Raises ImageError if it is damaged, contains two files of one name, or would unpack to files outside the target
    directory or to too many bytes.
    """
    try:
        archive = zipfile.ZipFile(path)
        members = archive.infolist()
    except Exception as error:  # for a damaged archive, zipfile raises whatever the code that it calls raises
        raise _unreadable(path, error) from error
    names = [info.filename for info in members]
    for name in names:
        if name.startswith(("/", "\\")) or name[1:2] == ":" or ".." in name.replace("\\", "/").split("/"):
            raise ImageError(f"{path} is not a valid wheel: {name!r} would be unpacked outside the target directory.")
    folded = Counter(map(str.casefold, names))  # on a case-insensitive file system, one would replace the other
    if len(folded) < len(names):
        duplicate = next(name for name in names if folded[name.casefold()] > 1)
        raise ImageError(f"{path} is not a valid wheel: it contains {duplicate!r} twice.")
    size = sum(info.file_size for info in members)
    if size > max(MAXIMUM_SIZE, MAXIMUM_RATIO * path.stat().st_size):
        raise ImageError(f"{path} would unpack to {size} bytes, which is too much for a wheel of its size.")
    return archive


def wheel_members(path: Path, archive: zipfile.ZipFile) -> list[zipfile.ZipInfo]:
    """Return the files of a wheel, without directories; raises ImageError for a name that a terminal cannot show."""
    unprintable = next((info.filename for info in archive.infolist() if not info.filename.isprintable()), None)
    if unprintable is not None:
        raise ImageError(f"{path} is not a valid wheel: it contains a file with the name {unprintable!r}.")
    return [info for info in archive.infolist() if not info.is_dir()]


def read_member(archive: zipfile.ZipFile, name: str, size: int = -1) -> bytes:
    """Return the content of a file in a wheel, or its first `size` bytes; raises ImageError if it is damaged."""
    try:
        with archive.open(name) as file:
            return file.read(size)
    except Exception as error:  # as in `open_wheel`; also raised for an encrypted file
        raise _unreadable(Path(archive.filename or ""), error) from error


def member_digest(path: Path, archive: zipfile.ZipFile, info: zipfile.ZipInfo, algorithm: str) -> bytes:
    """Return the hash of a file in the wheel at `path`, as bytes; `algorithm` is a name for hashlib. Raises ImageError
    if the file is damaged."""
    digest = hashlib.new(algorithm)
    try:
        with archive.open(info) as file:
            while block := file.read(1 << 20):
                digest.update(block)
    except Exception as error:  # as in `open_wheel`
        raise _unreadable(path, error) from error
    return digest.digest()


def file_digests(path: Path) -> dict[str, str]:
    """Return path in the wheel -> SHA-256 in hexadecimal, for each file of a wheel. Raises ImageError if it is not a
    wheel."""
    with open_wheel(path) as archive:
        return {
            info.filename: member_digest(path, archive, info, "sha256").hex() for info in wheel_members(path, archive)
        }


def metadata_file(path: Path, name: str) -> bytes | None:
    """Return the content of a file of the wheel's metadata, such as "RECORD"; None if there is no such file.

    Raises ImageError if `path` is not a wheel, or has two metadata directories with such a file.
    """
    with open_wheel(path) as archive:
        pattern = re.compile(rf"[^/]+\.dist-info/{re.escape(name)}")
        found = [info.filename for info in wheel_members(path, archive) if pattern.fullmatch(info.filename)]
        if len(found) > 1:
            raise ImageError(f"{path} is not a valid wheel: it contains both {found[0]} and {found[1]}.")
        return read_member(archive, found[0]) if found else None


def _unreadable(path: Path, error: Exception) -> ImageError:
    return ImageError(f"{path} cannot be read as a wheel: {error or type(error).__name__}.")
