"""Read and check a wheel as a whole: every file against RECORD, and the fatbins against the SBOM.

Sources: "Binary distribution format" and "Recording installed projects" of the PyPA specifications; PEP 770.
"""

from __future__ import annotations

import csv
import hashlib
import json
import re
import struct
import zipfile
from base64 import urlsafe_b64encode
from collections import Counter
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

from cuda_wheel.builder.wheel.sbom import SBOM
from cuda_wheel.inspect.archive import opened, unpacked, unreadable
from cuda_wheel.inspect.modules import Found
from cuda_wheel.runtime.errors import ImageError

__all__ = [
    "Sbom",
    "digests",
    "installed_differences",
    "metadata_file",
    "read_sbom",
    "record_differences",
    "sbom_differences",
]


ALGORITHMS = ("sha256", "sha384", "sha512")
"""The hashes that count: RECORD's are SHA-256 or better."""


UNRECORDED = ("RECORD", "RECORD.jws", "RECORD.p7s")
"""The files that RECORD gives no hash of."""


@dataclass(frozen=True)
class Sbom:
    """What a wheel's SBOM says."""

    fatbins: Mapping[str, str]
    """The SHA-256 of each fatbin, by its path in the wheel."""
    made_of: Mapping[str, Mapping[str, str]]
    """What each was made of, by names: the versions of packages, and "sha256:..." of files."""
    packages: Mapping[str, str]
    """The versions of the Python packages among that, by name."""


def digests(path: Path) -> dict[str, str]:
    """Return the SHA-256 of each file of a wheel, by its path there; raises ImageError for what is no wheel."""
    with opened(path) as archive:
        return {info.filename: _digest(path, archive, info, "sha256").hex() for info in _files(path, archive)}


def metadata_file(path: Path, name: str) -> bytes | None:
    """Return a file of the wheel's metadata, such as "RECORD"; None where there is none. Raises ImageError for what is
    no wheel."""
    with opened(path) as archive:
        found = [
            info
            for info in _files(path, archive)
            if re.fullmatch(rf"[^/]+\.dist-info/{re.escape(name)}", info.filename)
        ]
        if len(found) > 1:
            raise ImageError(f"{path} is no wheel: it has {found[0].filename} and {found[1].filename}.")
        return unpacked(archive, found[0].filename) if found else None


def record_differences(path: Path) -> list[str]:
    """Return what of a wheel is not as its RECORD says, one line each: it lists every file once, with a hash and a size
    that are right, and no other; and the archive has room for no other. Raises ImageError for what is no wheel."""
    text = metadata_file(path, "RECORD")
    if text is None:
        return ["there is no RECORD"]
    try:
        rows = list(csv.reader(map(_text, text.decode().splitlines()), strict=True))
        recorded = {name: (digest, size) for name, digest, size in rows}
    except (ValueError, csv.Error) as error:
        return [f"RECORD is not a table of names, hashes and sizes: {error}"]
    with opened(path) as archive:
        infos = _files(path, archive)
        names = {info.filename for info in infos}
        wrong = [f"RECORD lists {name} twice" for name, count in Counter(row[0] for row in rows).items() if count > 1]
        wrong += [f"RECORD lists {name}, which is not there" for name in recorded if name not in names]
        wrong += _unlisted(path, archive)
        for info in infos:
            if re.fullmatch(rf"[^/]+\.dist-info/({'|'.join(map(re.escape, UNRECORDED))})", info.filename):
                continue
            digest, size = recorded.get(info.filename, ("", ""))
            algorithm, _, value = digest.partition("=")
            if info.filename not in recorded:
                wrong.append(f"{info.filename} is not in RECORD")
            elif algorithm not in ALGORITHMS:
                wrong.append(f"RECORD has no SHA-256 of {info.filename}")
            else:
                found = _encoded(_digest(path, archive, info, algorithm))
                if (found, str(info.file_size)) != (value, size):
                    wrong.append(f"{info.filename} is not what RECORD says")
    return wrong


def installed_differences(found: Iterable[Found]) -> list[str]:
    """Return what of installed modules' own files is not as RECORD says, one line each, as far as one near them lists
    them."""
    wrong: list[str] = []
    listed = cache(_listed_in)
    for module in found:
        manifest = Path(module.where).absolute()
        root = next((folder for folder in manifest.parents if listed(folder)), manifest.parent)
        for file in (manifest, manifest.with_name(module.manifest.fatbin)):
            recorded = listed(root).get(file.relative_to(root).as_posix())
            if recorded is not None and file.is_file() and _differs(file.read_bytes(), recorded):
                wrong.append(f"{file} is not what RECORD says")
    return wrong


def _listed_in(folder: Path) -> dict[str, str]:
    """Return the hashes that distributions which are installed in a folder have of their files, by path."""
    found: dict[str, str] = {}
    for record in sorted(folder.glob("*.dist-info/RECORD")):
        with suppress(ValueError, csv.Error, OSError):
            found |= {name: digest for name, digest, _ in csv.reader(record.read_text(encoding="utf-8").splitlines())}
    return found


def _differs(content: bytes, recorded: str) -> bool:
    algorithm, _, value = recorded.partition("=")
    if not recorded:  # as some installers leave it
        return False
    return algorithm not in ALGORITHMS or _encoded(hashlib.new(algorithm, content).digest()) != value


def _encoded(digest: bytes) -> str:
    """Return a hash as RECORD has it."""
    return urlsafe_b64encode(digest).decode().rstrip("=")


def read_sbom(path: Path) -> Sbom | None:
    """Return what a wheel's SBOM says; None where it has none. Raises ImageError for what is no wheel, or no SBOM of
    cuda-wheel's."""
    text = metadata_file(path, f"sboms/{SBOM}")
    if text is None:
        return None
    try:
        return _sbom(json.loads(text))
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        raise ImageError(f"{path}: {SBOM} is not an SBOM of cuda-wheel: {type(error).__name__}: {error}") from error


def sbom_differences(sbom: Sbom, found: Mapping[str, str]) -> list[str]:
    """Return what of a wheel's fatbins is not as its SBOM says, one line each. `found` are the SHA-256 of files, by
    their paths in the wheel; of the fatbins, those that have a manifest count."""
    fatbins = {name for name in found if name.endswith(".fatbin") and f"{name}.json" in found} | set(sbom.fatbins)
    return [
        f"{name} is not what the SBOM says" for name in sorted(fatbins) if sbom.fatbins.get(name) != found.get(name)
    ]


def _files(path: Path, archive: zipfile.ZipFile) -> list[zipfile.ZipInfo]:
    strange = next((info.filename for info in archive.infolist() if not info.filename.isprintable()), None)
    if strange is not None:
        raise ImageError(f"{path} holds a file of the name {strange!r}, which is no wheel's.")
    return [info for info in archive.infolist() if not info.is_dir()]


HEADER = struct.Struct("<26xHH")
"""What an archive has before each file and its name: at the end are the lengths of that and of what further fields
follow it. (PKWARE's APPNOTE.TXT, 4.3.7)"""


def _unlisted(path: Path, archive: zipfile.ZipFile) -> list[str]:
    """Return where a wheel has room for files that its directory does not list, and that others than `zipfile`, which
    read it from its beginning, would find. One line each. Raises ImageError for what is no wheel."""
    taken = [("the beginning", 0, 0)]
    try:
        with path.open("rb") as file:
            for info in sorted(archive.infolist(), key=lambda info: info.header_offset):
                start = file.seek(info.header_offset)
                end = start + HEADER.size + sum(HEADER.unpack(file.read(HEADER.size))) + info.compress_size
                taken.append((info.filename, start, end))
    except Exception as error:  # as in `opened`
        raise unreadable(path, error) from error
    wrong = []
    for (before, _, end), (name, start, _) in pairwise([*taken, ("the directory", archive.start_dir, 0)]):
        if start < end:
            wrong.append(f"{name} begins before the end of {before}")
        elif start - end >= HEADER.size:  # less are the sizes that may follow a file
            wrong.append(f"after {before} there are {start - end} bytes of no file")
    return wrong


def _digest(path: Path, archive: zipfile.ZipFile, info: zipfile.ZipInfo, algorithm: str) -> bytes:
    digest = hashlib.new(algorithm)
    try:
        with archive.open(info) as file:
            while block := file.read(1 << 20):
                digest.update(block)
    except Exception as error:  # as in `opened`
        raise unreadable(path, error) from error
    return digest.digest()


def _sbom(document: Any) -> Sbom:
    names, values, packages = {}, {}, {}
    for component in document["components"]:
        reference, name = _text(component["bom-ref"]), _text(component["name"])
        names[reference] = name
        if component["type"] == "file":
            (digest,) = component["hashes"]
            values[reference] = "sha256:" + _text(digest["content"])
        else:
            values[reference] = _text(component["version"])
        if "purl" in component:
            packages[name] = values[reference]
    made_of = {_text(each["ref"]): each["dependsOn"] for each in document["dependencies"]}
    return Sbom(
        {names[reference]: values[reference].removeprefix("sha256:") for reference in made_of},
        {names[reference]: {names[each]: values[each] for each in its} for reference, its in made_of.items()},
        packages,
    )


def _text(value: object) -> str:
    # What it says reaches terminals.
    if not isinstance(value, str) or not value.isprintable():
        raise ValueError(f"{value!r} is not a text")
    return value
