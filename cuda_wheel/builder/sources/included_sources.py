"""Find the `.cu` files that other sources include: they are headers, and no modules of their own."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from cuda_wheel.builder.sources.include_graph import visit
from cuda_wheel.builder.sources.includes import includes

__all__ = ["included_sources", "reached"]

_INCLUDE = re.compile(rb'^[ \t]*#[ \t]*include[ \t]*[<"]([^>"\n]+)[>"]', re.MULTILINE)
_SOURCE = re.compile(rb'\.cu[>"]')


def included_sources(root: Path, sources: Mapping[str, Sequence[str]], note: Callable[[str], object]) -> dict[str, str]:
    """Return those of the sources that another one includes, directly or through headers, with the first that does.

    `sources` are project-relative paths with their include folders. `note` gets each path where a header was looked
    for, existing or not. Of sources that include each other, the first by name counts as including, so that one
    remains.
    """
    found = {source: set(reached(root, source, folders, note)) & sources.keys() for source, folders in sources.items()}
    others_of = {source: others - {source} for source, others in found.items()}
    everything = set().union(*others_of.values())
    tops = [source for source in sorted(sources) if source not in everything]
    covered = set(tops).union(*(others_of[source] for source in tops))
    for source in sorted(sources):  # what is left includes each other
        if source not in covered:
            tops.append(source)
            covered |= {source, *others_of[source]}
    includers = {other: source for source in sorted(others_of, reverse=True) for other in others_of[source]}
    return {other: source for other, source in sorted(includers.items()) if other not in tops}


def reached(root: Path, source: str, folders: Sequence[str], note: Callable[[str], object]) -> Iterator[str]:
    """Yield the project-relative paths of all files that a source includes and that are found in the project."""

    def is_file(path: str) -> bool:
        note(path)
        return (root / path).is_file()

    def included(path: str) -> Iterator[str]:
        try:
            text = (root / path).read_bytes() if (root / path).is_file() else b""
        except OSError:  # reading the source raises the error
            text = b""
        names = list(map(os.fsdecode, _INCLUDE.findall(text)))
        if _SOURCE.search(text):  # rare; and only what is no comment may turn a source into a header
            certain = {each.name for each in includes(text) if not each.is_test}
            names = [name for name in names if not name.endswith(".cu") or name in certain]
        for name in names:
            places = (os.path.normpath(os.path.join(folder, name)) for folder in (os.path.dirname(path), *folders))
            found = next((place for place in places if not os.path.isabs(place) and is_file(place)), None)
            if found is not None:
                yield found.replace(os.sep, "/")

    yield from visit([source], included)
