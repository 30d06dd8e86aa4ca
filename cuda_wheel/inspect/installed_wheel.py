"""Find the wheel that installed modules came from on a package index, and compare the installed files with it.

Attestations are of files that were published, so what is installed is checked through its wheel. Sources: "Recording
installed projects" and "Binary distribution format" of the PyPA specifications.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from cuda_wheel.inspect.archive import file_digests
from cuda_wheel.inspect.modules import FoundModule
from cuda_wheel.inspect.package_index import IndexFile, listed_files, project_url
from cuda_wheel.runtime.errors import CudaWheelError

__all__ = ["Installation", "differences_from_wheel", "find_installation", "find_wheel"]


@dataclass(frozen=True)
class Installation:
    """An installed distribution."""

    root: Path
    """Folder with its packages and metadata, such as site-packages."""
    name: str
    version: str
    tags: frozenset[str]
    """Tags of the wheel that it came from: {"py3-none-any"}."""


def find_installation(modules: Iterable[FoundModule]) -> Installation:
    """Return the distribution that installed these modules; raises CudaWheelError if it is not exactly one."""
    found = {_metadata_folder(Path(module.location).absolute()) for module in modules}
    folder = found.pop()
    if folder is None or found:
        reason = "no RECORD lists some modules" if None in (folder, *found) else "several distributions installed these"
        raise CudaWheelError(f"--publisher needs a wheel or one installed package: {reason}.")
    with suppress(OSError, UnicodeDecodeError):
        metadata, wheel = ((folder / name).read_text(encoding="utf-8") for name in ("METADATA", "WHEEL"))
        names, versions = (re.findall(rf"^{key}: *(\S+)\s*$", metadata, re.MULTILINE) for key in ("Name", "Version"))
        tags = re.findall(r"^Tag: *([\w.-]+)\s*$", wheel, re.MULTILINE)
        if names and versions and tags:  # the first: a description may have lines of this form too
            return Installation(folder.parent, names[0], versions[0], frozenset(tags))
    raise CudaWheelError(f"{folder} does not say which wheel was installed.")


def _metadata_folder(manifest: Path) -> Path | None:
    """Return the metadata folder (*.dist-info) whose RECORD lists an installed file; None if there is none."""
    for parent in manifest.parents:
        for record in sorted(parent.glob("*.dist-info/RECORD")):
            with suppress(OSError, ValueError, csv.Error):
                rows = csv.reader(record.read_text(encoding="utf-8").splitlines())
                if manifest.relative_to(parent).as_posix() in {row[0] for row in rows if row}:
                    return record.parent
    return None


def find_wheel(installation: Installation, index: str) -> IndexFile:
    """Return the wheel of an installed distribution on the index with the URL `index`; raises CudaWheelError if the
    index has none, or several that fit."""
    from packaging.utils import InvalidWheelFilename, parse_wheel_filename
    from packaging.version import InvalidVersion, Version

    url = project_url(installation.name, index)
    fitting = []
    for file in listed_files(url):
        with suppress(InvalidWheelFilename, InvalidVersion):
            _, version, _, tags = parse_wheel_filename(file.name)
            if version == Version(installation.version) and {*map(str, tags)} == installation.tags:
                fitting.append(file)
    if len(fitting) != 1:
        what = f"{installation.name} {installation.version} ({', '.join(sorted(installation.tags))})"
        raise CudaWheelError(f"{url} has {len(fitting) or 'no'} wheels that fit the installed {what}; one is needed.")
    return fitting[0]


def differences_from_wheel(installation: Installation, wheel: Path) -> list[str]:
    """Return where installed files differ from those of their wheel, one line each.

    Compared are all files but those that installers put elsewhere (NAME.data) or write themselves (RECORD). In the
    folders of the wheel's files, there must be no others, except for bytecode.
    """
    root, digests = installation.root, file_digests(wheel)
    lines = []
    for name, digest in digests.items():
        place = name.partition("/")[0]
        if place.endswith(".data") or (place.endswith(".dist-info") and name == f"{place}/RECORD"):
            continue
        try:
            content = (root / name).read_bytes()
        except OSError as error:
            lines.append(f"{name} cannot be read: {error.strerror or error}")
            continue
        if sha256(content).hexdigest() != digest:
            lines.append(f"{name} differs from the wheel")
    folders = {name.rpartition("/")[0] for name in digests}
    for folder in sorted(each for each in folders if each and not each.split("/")[0].endswith((".dist-info", ".data"))):
        present = (f"{folder}/{path.name}" for path in (root / folder).glob("*") if not path.is_dir())
        lines += [f"{name} is not in the wheel" for name in sorted(present) if name not in digests]
    return lines
