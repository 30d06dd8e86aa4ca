"""Read the wheel and the sdist that the wrapped back end built, and write them again with other files.

The same inputs give the same bytes: files are in a fixed order, and have fixed times and permissions. Source: the
specifications of the binary and the source distribution format, packaging.python.org.
"""

from __future__ import annotations

import csv
import gzip
import hashlib
import io
import os
import re
import shutil
import tarfile
import time
import zlib
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

from cuda_wheel.builder.errors import ConfigError
from cuda_wheel.builder.scratch import unwritable
from cuda_wheel.inspect.wheel_checks import encoded_hash

__all__ = ["WheelContents", "read_contents", "sdist_paths", "write_sdist", "write_wheel"]


@dataclass(frozen=True)
class WheelContents:
    """The files of a wheel, and where an installer puts them."""

    metadata: str
    """Name of the folder with the metadata: "demo-1.0.dist-info"."""
    files: Mapping[str, str]
    """Path below site-packages -> name in the archive, for what is installed there, without metadata. The two differ
    for a wheel with both pure and platform-specific files: "demo/a.py" -> "demo-1.0.data/purelib/demo/a.py"."""
    names: frozenset[str]
    """Names in the archive of all files."""


_INSTALLED = re.compile(r"[^/]+\.data/(?:purelib|platlib)/(.+)")
"""Matches the name in the archive of a file that is installed to site-packages, and is not at its place below it."""


def read_contents(archive: ZipFile, back_end: str) -> WheelContents:
    """Return the contents of a wheel that `back_end` built. Raises ConfigError if it has not one folder of metadata."""
    names = [info.filename for info in archive.infolist() if not info.is_dir()]
    folders = [name.partition("/")[0] for name in names if re.fullmatch(r"[^/]+\.dist-info/RECORD", name)]
    if len(folders) != 1:
        raise ConfigError(
            f"the build back end {back_end} built {Path(str(archive.filename)).name}, which is not a valid wheel: it "
            f"has {len(folders)} files *.dist-info/RECORD."
        )
    files = {}
    for name in names:
        moved = _INSTALLED.fullmatch(name)
        if moved:
            files[moved[1]] = name
        elif not name.partition("/")[0].endswith((".dist-info", ".data")):
            files[name] = name
    return WheelContents(folders[0], files, frozenset(names))


# --- the wheel --------------------------------------------------------------------------------------

_EARLIEST = 315532800
"""The earliest time that a zip archive can have: 1980-01-01, as a Unix timestamp."""


def write_wheel(
    archive: ZipFile,
    contents: WheelContents,
    added: Mapping[str, Path],
    sbom: Path | None,
    removed: Collection[str],
    path: Path,
) -> None:
    """Write a wheel again, with other files. Raises ConfigError if it cannot be written.

    `added`: path below site-packages -> file to add. `sbom`: file to add to the metadata. `removed`: names in the
    archive of files to leave out.
    """
    record = f"{contents.metadata}/RECORD"
    prefixes = _prefixes(contents)
    new = {_beside(prefixes, place): file for place, file in added.items()}
    new |= {f"{contents.metadata}/sboms/{sbom.name}": sbom} if sbom else {}
    names = sorted((contents.names - {record, *removed}) | new.keys(), key=lambda name: (".dist-info/" in name, name))
    rows = []
    with _written(path) as temporary, ZipFile(temporary, "w", ZIP_DEFLATED) as wheel:
        for name in names:
            if name in new:
                with new[name].open("rb") as stream:
                    rows.append(_add(wheel, name, stream, os.fstat(stream.fileno()).st_size))
            else:
                info = archive.getinfo(name)
                is_executable = bool(info.external_attr >> 16 & 0o111)
                with archive.open(info) as stream:
                    rows.append(_add(wheel, name, stream, info.file_size, is_executable))
        text = io.StringIO()
        csv.writer(text, lineterminator="\n").writerows([*rows, (record, "", "")])
        content = text.getvalue().encode()
        _add(wheel, record, io.BytesIO(content), len(content))


def _prefixes(contents: WheelContents) -> dict[str, str]:
    """Return folder below site-packages -> what precedes its path in the archive: "" or "demo-1.0.data/purelib/". If a
    folder has files in several places of the archive, it is the least; "" is the least of all."""
    found: dict[str, str] = {}
    for place, name in contents.files.items():
        prefix, folder = name.removesuffix(place), place
        while folder := folder.rpartition("/")[0]:
            found[folder] = min(found.get(folder, prefix), prefix)
    return found


def _beside(prefixes: Mapping[str, str], path: str) -> str:
    """Return the name in the archive for a new file that is to be installed at `path`: beside the files of its package,
    or of the package above it, which an installer may put into another folder than the rest."""
    folder = path
    while folder := folder.rpartition("/")[0]:
        if folder in prefixes:
            return prefixes[folder] + path
    return path


def _add(wheel: ZipFile, name: str, stream: IO[bytes], size: int, is_executable: bool = False) -> tuple[str, str, str]:
    """Add a file to a wheel, and return its row of RECORD."""
    info = ZipInfo(name, time.gmtime(max(_timestamp(_EARLIEST), _EARLIEST))[:6])
    info.compress_type, info.create_system = ZIP_DEFLATED, 3  # Unix, on every system
    info.external_attr = (0o100755 if is_executable else 0o100644) << 16
    info.file_size = size
    digest = hashlib.sha256()
    with wheel.open(info, "w") as target:
        while chunk := stream.read(1 << 20):
            digest.update(chunk)
            target.write(chunk)
    return name, f"sha256={encoded_hash(digest.digest())}", str(size)


def _timestamp(default: int) -> int:
    """Return SOURCE_DATE_EPOCH, or `default` if it is not set to a number."""
    value = os.environ.get("SOURCE_DATE_EPOCH", "")
    return int(value) if value.isascii() and value.isdecimal() else default


@contextmanager
def _written(path: Path) -> Iterator[Path]:
    """Yield the path of a temporary file, and rename it to `path` when the `with` block has written it. Raises
    ConfigError if it cannot be written."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            yield temporary
            temporary.replace(path)
        finally:
            temporary.unlink(missing_ok=True)
    except OSError as error:
        raise unwritable(path, error) from error


# --- the sdist --------------------------------------------------------------------------------------


def sdist_paths(sdist: Path, back_end: str) -> set[str]:
    """Return the paths of an sdist's files below its top folder. Raises ConfigError if `sdist` is none."""
    try:
        with tarfile.open(sdist, "r:gz") as archive:
            return {member.name.partition("/")[2] for member in archive if not member.isdir()}
    except (OSError, tarfile.TarError, EOFError, zlib.error) as error:
        raise ConfigError(
            f"the build back end {back_end} built {sdist.name}, which cannot be read: {error}."
        ) from error


def write_sdist(sdist: Path, added: Mapping[str, Path], path: Path) -> None:
    """Write an sdist again with more files: path below its top folder -> file. Without any, copy it. Raises ConfigError
    if it cannot be written."""
    with _written(path) as temporary:
        if not added:
            shutil.copyfile(sdist, temporary)
            return
        with (
            tarfile.open(sdist, "r:gz") as archive,
            temporary.open("wb") as stream,
            gzip.GzipFile("", "wb", fileobj=stream, mtime=_timestamp(0)) as compressed,
            tarfile.open(fileobj=compressed, mode="w", format=tarfile.PAX_FORMAT) as target,
        ):
            members = archive.getmembers()
            top = members[0].name.partition("/")[0]
            for member in members:
                target.addfile(member, archive.extractfile(member) if member.isreg() else None)
            # As old as what the back end itself wrote, so that the same inputs give the same bytes if they do so there.
            mtime = next((int(each.mtime) for each in members if each.name == f"{top}/PKG-INFO"), _timestamp(0))
            for name, file in sorted(added.items()):
                info = tarfile.TarInfo(f"{top}/{name}")
                info.size, info.mtime, info.mode = file.stat().st_size, mtime, 0o644
                with file.open("rb") as content:
                    target.addfile(info, content)
