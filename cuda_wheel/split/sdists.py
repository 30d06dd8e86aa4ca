"""Say in an sdist that extras and requirements of wheels of its version may be others than its own.

The base has extras for its companions. The sdist has none, nor has the whole wheel that is built from it. Installers
may take the sdist's metadata for those of every wheel, except the fields that it lists as `Dynamic`. Sources: "Core
metadata" and "Source distribution format" of the PyPA specifications, and PEP 643.
"""

from __future__ import annotations

import gzip
import io
import re
import tarfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from email.message import Message
from email.parser import HeaderParser
from pathlib import Path

from cuda_wheel.inspect.archive import metadata_file
from cuda_wheel.runtime.errors import ImageError
from cuda_wheel.split.wheels import normalized, with_fields

__all__ = ["dynamic_sdist", "static_sdist"]

_FIELDS = ("Provides-Extra", "Requires-Dist")
"""Fields of the base's metadata that `cuda-wheel split` changes."""


def dynamic_sdist(path: Path, wheel: Path) -> bytes:
    """Return the content of the sdist at `path` with `Dynamic` for the fields that a base adds to the metadata of
    `wheel`. The content is unchanged if PKG-INFO needs nothing more.

    The same sdist gives the same bytes, on every machine with the same zlib. Raises ImageError if `path` is no sdist,
    or one of another name or version than `wheel`.
    """
    of_wheel = HeaderParser().parsestr((metadata_file(wheel, "METADATA") or b"").decode(errors="surrogateescape"))
    text, fields = _pkg_info(path)
    names = [f"{normalized(each['Name'] or '')} {each['Version']}" for each in (fields, of_wheel)]
    if names[0] != names[1]:
        raise ImageError(
            f"{path} is the sdist of {names[0]}, and {wheel.name} is of {names[1]}: give the sdist of the wheel."
        )
    missing = _not_dynamic(fields)
    if not missing:
        return path.read_bytes()
    changed = with_fields(text, [f"Dynamic: {field}" for field in missing])
    written = io.BytesIO()
    with (
        _opened(path) as (archive, mtime),
        gzip.GzipFile("", "wb", fileobj=written, mtime=mtime) as compressed,
        tarfile.open(fileobj=compressed, mode="w", format=tarfile.PAX_FORMAT) as target,
    ):
        place = _place_of_pkg_info(path, archive)
        for member in archive.getmembers():
            content = archive.extractfile(member) if member.isreg() else None
            if member is place:
                member.size, content = len(changed), io.BytesIO(changed)
                # uv_build writes the size here too, and it would overrule `member.size`.
                member.pax_headers = {key: value for key, value in member.pax_headers.items() if key != "size"}
            target.addfile(member, content)
    return written.getvalue()


def static_sdist(folder: Path, base: str) -> Path | None:
    """Return the path of the sdist in a folder that belongs to a base of the file name `base`, and whose metadata say
    that no wheel has other extras. None if there is none, or it cannot be read."""
    path = folder / f"{'-'.join(base.split('-')[:2])}.tar.gz"
    try:
        return path if path.is_file() and _not_dynamic(_pkg_info(path)[1]) else None
    except ImageError:
        return None


def _not_dynamic(fields: Message) -> list[str]:
    """Return which of _FIELDS PKG-INFO promises for all wheels. Before version 2.2, metadata promise nothing."""
    if tuple(map(int, fields["Metadata-Version"].split("."))) < (2, 2):
        return []
    dynamic = {each.strip().lower() for each in fields.get_all("Dynamic", [])}
    return [field for field in _FIELDS if field.lower() not in dynamic]


def _pkg_info(path: Path) -> tuple[str, Message]:
    """Return the text of an sdist's PKG-INFO, and its fields."""
    with _opened(path) as (archive, _):
        stream = archive.extractfile(_place_of_pkg_info(path, archive))
        assert stream is not None  # it is a regular file
        text = stream.read().decode(errors="surrogateescape")
    fields = HeaderParser().parsestr(text)
    if not re.fullmatch(r"\d+\.\d+", fields["Metadata-Version"] or "", re.ASCII) or not (
        fields["Name"] and fields["Version"]
    ):
        raise ImageError(f"{path} is not a valid sdist: its PKG-INFO lacks Metadata-Version, Name or Version.")
    return text, fields


def _place_of_pkg_info(path: Path, archive: tarfile.TarFile) -> tarfile.TarInfo:
    """Return the entry of PKG-INFO in the sdist's top folder. setuptools writes another one below it, which no
    installer reads."""
    found = [each for each in archive.getmembers() if each.isreg() and re.fullmatch(r"[^/]+/PKG-INFO", each.name)]
    if len(found) != 1:
        raise ImageError(f"{path} is not a valid sdist: it contains {len(found)} files PKG-INFO in its top folder.")
    return found[0]


@contextmanager
def _opened(path: Path) -> Iterator[tuple[tarfile.TarFile, int]]:
    """Yield an sdist as an archive, and the time in seconds in its gzip header. Raises ImageError if it is none."""
    try:
        with gzip.open(path) as stream, tarfile.open(fileobj=stream, mode="r:") as archive:
            yield archive, stream.mtime or 0
    except (OSError, tarfile.TarError, EOFError, zlib.error) as error:
        raise ImageError(f"{path} is not a valid sdist, which is a .tar.gz file: {error}.") from error
