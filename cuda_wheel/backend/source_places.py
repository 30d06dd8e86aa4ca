"""Find where the files of a wheel lie in the source tree, and which sources of its packages the wheel lacks.

The back end that built the wheel says nothing of this. A file of the wheel is a file of the project with the same name
and content; an empty one only if its folder has the same name too. A folder of the wheel is the folder of the project
that has the most of its files, below it too, at the same places; of several such folders, the one whose path ends most
like that of the folder in the wheel.
"""

from __future__ import annotations

import os
import zlib
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from cuda_wheel.builder.config.names import TABLE
from cuda_wheel.builder.errors import ConfigError
from cuda_wheel.runtime.manifest import TABLE_SUFFIX

__all__ = ["PACKED", "Content", "Places", "find_places", "project_tree"]

Content = tuple[int, int]
"""Size of a file, and its CRC-32."""

PACKED = (".cu", TABLE_SUFFIX)
"""Suffixes of the files that belong to the wheel even if the wrapped back end leaves them out: they are compiled, or
added to it."""

_RESULTS = ("build", "dist", "target", "node_modules")
"""Names of folders beside pyproject.toml with the results of builds."""


@dataclass(frozen=True)
class Places:
    """Where files of a wheel lie in the project. All paths are relative, with "/"."""

    sources: Mapping[str, str]
    """Path in the wheel -> path in the project."""
    generated: tuple[str, ...]
    """Paths in the wheel of files that are no files of the project."""
    left_out: tuple[str, ...]
    """Folders of the project with files that are not searched, because the wheel has none of their Python files."""


def project_tree(root: Path) -> list[str]:
    """Return the paths of a project's files, sorted. Hidden folders, virtual environments and folders with the results
    of builds are left out."""
    found: list[str] = []
    for parent, folders, names in os.walk(root):
        here = os.path.relpath(parent, root).replace(os.sep, "/")
        folders[:] = [
            each
            for each in folders
            if not each.startswith(".")
            and each != "__pycache__"
            and not os.path.exists(os.path.join(parent, each, "pyvenv.cfg"))
            and not (here == "." and each in _RESULTS and not os.path.exists(os.path.join(root, each, "__init__.py")))
        ]
        found += names if here == "." else [f"{here}/{name}" for name in names]
    return sorted(found)


def find_places(
    root: Path, wheel: Mapping[str, Content], tree: Sequence[str], needs_no_place: Callable[[str], bool]
) -> Places:
    """Return where the files of a wheel lie in the project in `root`, and the sources that the wheel lacks.

    `wheel`: path in the wheel -> content, without metadata. `tree`: the project's files. `needs_no_place` returns
    whether the settings exclude or name a file of the project, so that its place does not matter. Raises ConfigError if
    several places of another source are equally likely.
    """
    copies = _identical_files(root, wheel, tree)
    counts = _count_common(copies)
    folders = {_parent(path) for path in wheel}
    places = {folder: _best(counts[folder], folder) for folder in sorted(folders | _parents(folders))}
    sources, generated = {}, []
    for path in wheel:
        found = _own_place(path, copies.get(path, ()), places)
        if len(found) == 1:
            sources[path] = found[0]
        elif path.endswith(PACKED[0]) and not any(map(needs_no_place, found)):
            raise _unclear(path, found)
        else:
            generated.append(path)
    taken = set(sources.values())
    wanted = [path for path in tree if path.endswith(PACKED) and path not in taken and not needs_no_place(path)]
    missing, left_out = _missing(tree, wanted, places, taken)
    return Places({**sources, **missing}, tuple(generated), left_out)


def _parent(path: str) -> str:
    """Return the folder of a relative path; "" if it has none."""
    return path.rpartition("/")[0]


def _parents(folders: Iterable[str]) -> set[str]:
    """Return all folders above those in `folders`; "" is not among them."""
    found = set()
    for folder in folders:
        while folder := _parent(folder):
            found.add(folder)
    return found


def _identical_files(root: Path, wheel: Mapping[str, Content], tree: Iterable[str]) -> dict[str, list[str]]:
    """Return path in the wheel -> files of the project with the same name and content."""
    named: dict[str, list[str]] = defaultdict(list)
    names = {path.rpartition("/")[2] for path in wheel}
    for path in tree:
        if path.rpartition("/")[2] in names:
            named[path.rpartition("/")[2]].append(path)

    @cache
    def checksum(path: str) -> int:
        return zlib.crc32((root / path).read_bytes())

    def is_same(path: str, place: str, content: Content) -> bool:
        if not content[0] and not _common_end(_parent(path), _parent(place)):
            return False
        try:
            return os.path.getsize(root / place) == content[0] and checksum(place) == content[1]
        except OSError:  # a link to nothing, or a file that nobody may read
            return False

    found = {
        path: [each for each in named[path.rpartition("/")[2]] if is_same(path, each, content)]
        for path, content in wheel.items()
    }
    return {path: copies for path, copies in found.items() if copies}


def _count_common(copies: Mapping[str, Iterable[str]]) -> dict[str, dict[str, int]]:
    """Return folder of the wheel -> folder of the project -> number of files that both have at the same place below
    them. `copies` is the result of `_identical_files`."""
    counts: dict[str, dict[str, int]] = defaultdict(lambda: defaultdict(int))
    for path, sources in copies.items():
        for source in sources:
            inside, outside = _parent(path), _parent(source)
            counts[inside][outside] += 1
            while inside and outside and inside.rpartition("/")[2] == outside.rpartition("/")[2]:
                inside, outside = _parent(inside), _parent(outside)
                counts[inside][outside] += 1
    return counts


def _best(counts: Mapping[str, int], folder: str) -> tuple[str, ...]:
    """Return the folders of the project that are the most likely places of a folder of the wheel; several if they are
    equally likely. `counts`: folder of the project -> number of common files."""
    ranks = {source: (count, _common_end(source, folder)) for source, count in counts.items()}
    best = max(ranks.values(), default=None)
    return tuple(sorted(source for source, rank in ranks.items() if rank == best))


def _common_end(one: str, other: str) -> int:
    """Return the number of folders at the end that two paths have in common: 1 for "src/demo" and "demo"."""
    pairs = zip(reversed(one.split("/")), reversed(other.split("/")), strict=False)
    return next((number for number, (a, b) in enumerate(pairs) if a != b), min(one.count("/"), other.count("/")) + 1)


def _own_place(path: str, copies: Iterable[str], places: Mapping[str, tuple[str, ...]]) -> list[str]:
    """Return the most likely ones of the files of the project that are identical with a file of the wheel.

    `places`: folder of the wheel -> its most likely places.
    """
    copies = list(copies)
    beside = [each for each in copies if _parent(each) in places[_parent(path)]]
    ends = {each: _common_end(each, path) for each in beside or copies}
    return [each for each, length in ends.items() if length == max(ends.values())]


def _missing(
    tree: Iterable[str], wanted: Iterable[str], places: Mapping[str, tuple[str, ...]], taken: Iterable[str]
) -> tuple[dict[str, str], tuple[str, ...]]:
    """Return path in the wheel -> file of the project, for those of the `wanted` files that lie in the place of a
    package, and the folders that are left out (see `Places`).

    `places`: folder of the wheel -> its most likely places. `taken`: the project's files that the wheel has.
    """
    folder_of: dict[str, list[str]] = defaultdict(list)
    for folder, sources in places.items():
        for source in sources:
            folder_of[source].append(folder)
    has_python = {_parent(path) for path in tree if path.endswith(".py")}
    is_used = {_parent(path) for path in taken}
    found: dict[str, str] = {}
    left_out = set()
    for path in wanted:
        for source in _upwards(path):
            packages = [each for each in folder_of[source] if each]
            rest = path[len(source) + 1 :] if source else path
            if len(packages) > 1 or any(len(places[each]) > 1 for each in packages):
                raise _unclear(path, [f"{each}/{rest}" for each in packages] if len(packages) > 1 else [path])
            if packages:
                found[f"{packages[0]}/{rest}"] = path
                break
            if source in has_python - is_used:  # such as tests that the wheel does not have
                left_out.add(source)
                break
    return found, tuple(sorted(each for each in left_out if _is_in_package(each, folder_of)))


def _upwards(path: str) -> Iterator[str]:
    """Yield the folders that contain a file, the nearest first; "" is the last."""
    while path:
        path = _parent(path)
        yield path


def _is_in_package(folder: str, folder_of: Mapping[str, list[str]]) -> bool:
    """Return whether a folder of the project lies in the place of a package."""
    return any(any(folder_of.get(each, ())) for each in _upwards(folder))


def _unclear(path: str, found: Iterable[str]) -> ConfigError:
    """Return the error for a source whose place is not known. `path`: its path in the wheel or the project."""
    places = ", ".join(found)
    if not places:
        return ConfigError(
            f"the wheel that the wrapped back end built has {path}, and no file of the project has its content. "
            "cuda-wheel compiles the project's own files: put the source into the project, or keep it out of the wheel."
        )
    return ConfigError(
        f"it is not clear where {path} belongs: {places}. Remove what is there twice, or give the module its name and "
        f"its sources in a [[{TABLE}.module]] table, and exclude the file with sources of [{TABLE}]."
    )
