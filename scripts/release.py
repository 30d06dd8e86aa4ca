"""Check what a release publishes: `python scripts/release.py DIST WHEELS [TAG]`.

DIST has the sdist of each distribution, and the wheel that was built from it. WHEELS has the wheels that were built
from the repository, which must be the same: then nothing is missing from the sdists. TAG is the release's tag in git;
the changelog must have a date for its version.
"""

from __future__ import annotations

import re
import sys
import zipfile
from collections.abc import Iterator
from email.parser import Parser
from pathlib import Path

ROOT = Path(__file__).parents[1]
DISTRIBUTIONS = ("cuda_wheel", "cuda_wheel_builder")
_VERSION = re.compile(r'^__version__ = "([^"]+)"$', re.MULTILINE)


def problems(dist: Path, wheels: Path, tag: str = "", root: Path = ROOT) -> Iterator[str]:
    """Yield a message about each thing that is wrong with the files of a release. `tag` is "" for none."""
    version = _found(_VERSION, (root / "cuda_wheel/__init__.py").read_text(encoding="utf-8"))
    built = {name: f"{name}-{version}-py3-none-any.whl" for name in DISTRIBUTIONS}
    expected = {*built.values(), *(f"{name}-{version}.tar.gz" for name in DISTRIBUTIONS)}
    found = {path.name for path in dist.iterdir()}
    if found != expected:
        yield f"{dist} has {sorted(found)}, not {sorted(expected)}"
        return
    for name, file in built.items():
        wheel = wheels / file
        if not wheel.is_file():
            yield f"{wheels} has no {file}"
            continue
        if (dist / file).read_bytes() != wheel.read_bytes():
            differing = _different(dist / file, wheel)
            yield f"{file} from the sdist differs from the one from the repository: {differing}"
        yield from _metadata_problems(dist / file, f"{name}-{version}.dist-info/METADATA", version)
    if tag:
        yield from _tag_problems(tag, version, (root / "CHANGELOG.md").read_text(encoding="utf-8"))


def _metadata_problems(wheel: Path, file: str, version: str) -> Iterator[str]:
    """Yield messages about the version of a wheel, and about what it requires of the other distribution."""
    with zipfile.ZipFile(wheel) as archive:
        metadata = Parser().parsestr(archive.read(file).decode())
    if metadata["Version"] != version:
        yield f"{wheel.name} has version {metadata['Version']}, cuda_wheel/__init__.py has {version}"
    own = {name.replace("_", "-") for name in DISTRIBUTIONS}
    of_each_other = [each for each in metadata.get_all("Requires-Dist", ()) if re.split(r"[^\w-]", each)[0] in own]
    if not of_each_other:
        yield f"{wheel.name} requires nothing of the other distribution"
    for each in of_each_other:
        if not re.fullmatch(rf"[\w-]+=={re.escape(version)}(;.*)?", each):
            yield f"{wheel.name} requires {each}: expected =={version}, in pyproject.toml"


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
