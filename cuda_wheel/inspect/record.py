"""Check the files of wheels and installed packages against RECORD.

Sources: "Binary distribution format" and "Recording installed projects" of the PyPA specifications.
"""

from __future__ import annotations

import csv
import hashlib
import re
import zipfile
from base64 import urlsafe_b64encode
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path

from cuda_wheel.inspect.archive import member_digest, metadata_file, open_wheel, wheel_members
from cuda_wheel.inspect.archive_layout import layout_differences
from cuda_wheel.inspect.found_modules import FoundModule

__all__ = ["installed_differences", "record_differences"]

ALGORITHMS = ("sha256", "sha384", "sha512")
"""The accepted hash algorithms: RECORD must use SHA-256 or better."""

UNRECORDED = re.compile(r"[^/]+\.dist-info/(RECORD|RECORD\.jws|RECORD\.p7s)")
"""The files for which RECORD has no hash."""


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
    """Return the rows of RECORD: name, hash and size. Raises ValueError or csv.Error if it has another form."""
    text = content.decode()
    unprintable = next((line for line in text.splitlines() if not line.isprintable()), None)
    if unprintable is not None:  # the names are printed to terminals
        raise ValueError(f"{unprintable!r} is not printable")
    return [(name, digest, size) for name, digest, size in csv.reader(text.splitlines(), strict=True)]


def _member_differences(
    path: Path, archive: zipfile.ZipFile, info: zipfile.ZipInfo, recorded: tuple[str, str] | None
) -> Iterator[str]:
    """Yield how a file of a wheel differs from its hash and size in RECORD."""
    if recorded is None:
        yield f"{info.filename} is not in RECORD"
        return
    algorithm, _, value = recorded[0].partition("=")
    if algorithm not in ALGORITHMS:
        yield f"RECORD has no SHA-256 for {info.filename}"
    elif (_encoded(member_digest(path, archive, info, algorithm)), str(info.file_size)) != (value, recorded[1]):
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
    """Return the recorded hashes of the distributions installed in a folder, by path."""
    hashes: dict[str, str] = {}
    for record in sorted(folder.glob("*.dist-info/RECORD")):
        with suppress(ValueError, csv.Error, OSError):
            hashes |= {name: digest for name, digest, _ in csv.reader(record.read_text(encoding="utf-8").splitlines())}
    return hashes


def _differs(content: bytes, recorded: str) -> bool:
    algorithm, _, value = recorded.partition("=")
    if not recorded:  # some installers leave it empty
        return False
    return algorithm not in ALGORITHMS or _encoded(hashlib.new(algorithm, content).digest()) != value


def _encoded(digest: bytes) -> str:
    """Return a hash in RECORD's encoding: base64 for URLs, without padding."""
    return urlsafe_b64encode(digest).decode().rstrip("=")
