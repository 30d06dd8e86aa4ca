"""Open wheels as zip archives, and refuse damaged or malicious ones."""

from __future__ import annotations

import zipfile
from collections import Counter
from pathlib import Path

from cuda_wheel.runtime.errors import ImageError

__all__ = [
    "opened",
    "unpacked",
    "unreadable",
]


def opened(path: Path) -> zipfile.ZipFile:
    """Return a wheel as an archive. Raises ImageError for one that is damaged, or made to do harm when it is
    unpacked."""
    try:
        archive = zipfile.ZipFile(path)
        members = archive.infolist()
    except Exception as error:  # zipfile lets through whatever its parts raise of a damaged archive
        raise unreadable(path, error) from error
    names = [info.filename for info in members]
    for name in names:
        if name.startswith(("/", "\\")) or name[1:2] == ":" or ".." in name.replace("\\", "/").split("/"):
            raise ImageError(f"{path} is no wheel: {name!r} in it would be outside the folder that it is unpacked to.")
    folded = Counter(map(str.casefold, names))  # where case does not count, one would replace the other
    if len(folded) < len(names):
        twice = next(name for name in names if folded[name.casefold()] > 1)
        raise ImageError(f"{path} is no wheel: it has {twice!r} twice.")
    size = sum(info.file_size for info in members)
    if size > max(BOMB_SIZE, BOMB_RATIO * path.stat().st_size):
        raise ImageError(f"{path} would unpack to {size} bytes, which is more than a wheel of its size can hold.")
    return archive


BOMB_SIZE, BOMB_RATIO = 1 << 30, 100
"""A wheel that unpacks to more bytes than this, and to more than so many times its own size, is none. (Machine code
deflates to a tenth.)"""


def unpacked(archive: zipfile.ZipFile, name: str, size: int = -1) -> bytes:
    """Return the content of a file in a wheel, or its first `size` bytes; raises ImageError where it is damaged."""
    try:
        with archive.open(name) as file:
            return file.read(size)
    except Exception as error:  # as in `opened`; also for what is encrypted
        raise unreadable(Path(archive.filename or ""), error) from error


def unreadable(path: Path, error: Exception) -> ImageError:
    """Return the error of a wheel that zipfile fails to read."""
    return ImageError(f"{path} cannot be read as a wheel: {error or type(error).__name__}.")
