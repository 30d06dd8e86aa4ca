"""Check what a release publishes: `python scripts/release.py DIST WHEEL [TAG]`.

DIST has the sdist and the wheel that was built from it. WHEEL was built from the repository and must be the same: then
nothing is missing from the sdist. TAG is the release's tag in git; the changelog must have a date for its version.
"""

from __future__ import annotations

import re
import sys
import zipfile
from collections.abc import Iterator
from email.parser import Parser
from pathlib import Path

ROOT = Path(__file__).parents[1]
_VERSION = re.compile(r'^__version__ = "([^"]+)"$', re.MULTILINE)


def problems(dist: Path, wheel: Path, tag: str = "", root: Path = ROOT) -> Iterator[str]:
    """Yield a message about each thing that is wrong with the files of a release. `tag` is "" for none."""
    version = _found(_VERSION, (root / "cuda_wheel/__init__.py").read_text(encoding="utf-8"))
    expected = {f"cuda_wheel-{version}-py3-none-any.whl", f"cuda_wheel-{version}.tar.gz"}
    found = {path.name for path in dist.iterdir()}
    if found != expected:
        yield f"{dist} has {sorted(found)}, not {sorted(expected)}"
        return
    built = dist / min(expected)
    if built.read_bytes() != wheel.read_bytes():
        yield f"{built.name} from the sdist differs from the one from the repository: {_different(built, wheel)}"
    with zipfile.ZipFile(built) as archive:
        metadata = Parser().parsestr(archive.read(f"cuda_wheel-{version}.dist-info/METADATA").decode())
    if metadata["Version"] != version:
        yield f"the wheel's metadata has version {metadata['Version']}, cuda_wheel/__init__.py has {version}"
    if tag:
        yield from _tag_problems(tag, version, (root / "CHANGELOG.md").read_text(encoding="utf-8"))


def _tag_problems(tag: str, version: str, changelog: str) -> Iterator[str]:
    if tag != f"v{version}":
        yield f"the tag is {tag}, but the version in cuda_wheel/__init__.py is {version}: expected v{version}"
    heading = _found(re.compile(r"^## (.+)$", re.MULTILINE), changelog)
    if not re.fullmatch(rf"{re.escape(version)} \(\d{{4}}-\d\d-\d\d\)", heading):
        yield f"CHANGELOG.md begins with {heading}, not with {version} and the date of the release"


def _found(pattern: re.Pattern[str], text: str) -> str:
    match = pattern.search(text)
    return match[1] if match else ""


def _different(one: Path, other: Path) -> list[str]:
    """Return the names of the files in two wheels that are missing in one or have different contents."""
    with zipfile.ZipFile(one) as first, zipfile.ZipFile(other) as second:
        files = [{each.filename: each.CRC for each in archive.infolist()} for archive in (first, second)]
    return sorted(name for name in files[0].keys() | files[1].keys() if files[0].get(name) != files[1].get(name))


if __name__ == "__main__":
    found = list(problems(Path(sys.argv[1]), Path(sys.argv[2]), *sys.argv[3:]))
    sys.exit("\n".join(found) or 0)
