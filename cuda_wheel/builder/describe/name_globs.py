"""Find few globs that match given names and no others."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from itertools import combinations, islice, pairwise
from typing import NamedTuple

__all__ = ["Names", "matches", "shortest_globs"]

Names = tuple[str, ...]
"""The names of one thing, such as a kernel's C++ name and its symbol. A glob matches it if it matches one of them."""

_EXACT_NAMES, _EXACT_GLOBS, _EXACT_CANDIDATES = 100, 3, 40
"""Up to how many names, and from how many candidates, the fewest globs are found if these are at most three."""

_MOST_PAIRS = 2_000
"""How many pairs of a beginning and an end are tried."""


def matches(name: str, pattern: str) -> bool:
    """Return whether a glob matches a name. Spaces do not count: "k<float,16>" and "k<float, 16>" are the same."""
    return fnmatchcase(_unspaced(name), _unspaced(pattern))


def shortest_globs(wanted: Collection[Names], others: Collection[Names]) -> list[str]:
    """Return globs, sorted, that match all of `wanted` and none of `others`.

    They are the fewest that beginnings, ends and words inside of the names give, or, for many names, nearly so. Of
    several that match as many names, the one with fewer parts comes first, and then the one with more text: it matches
    fewer names of the future. A name of `wanted` that is also a name of `others` is written as another of its names.
    """
    forbidden = {_unspaced(name) for names in others for name in names}
    literals = {names: next((name for name in names if _unspaced(name) not in forbidden), names[0]) for names in wanted}
    texts = {_unspaced(name): _escaped(name) for name in literals.values()}
    covered = _useful(_candidates(sorted(texts)), texts, forbidden)
    globs, left = _fewest(covered, set(texts))
    return sorted([*(glob.text for glob in globs), *(texts[name] for name in left)])


def _unspaced(text: str) -> str:
    return "".join(text.split())


def _escaped(text: str) -> str:
    return re.sub(r"([*?[])", r"[\1]", text)


class _Glob(NamedTuple):
    """A glob of one part, or of a beginning and an end."""

    start: str
    middle: str
    end: str

    @property
    def text(self) -> str:
        middle = f"{_escaped(self.middle)}*" if self.middle else ""
        return f"{_escaped(self.start)}*{middle}{_escaped(self.end)}"

    @property
    def rank(self) -> tuple[int, int, int, str]:
        """What orders globs that match equally many names: the highest is best."""
        return -sum(map(bool, self)), -bool(self.middle), sum(map(len, self)), self.text

    def matches(self, name: str) -> bool:
        start, middle, end = self
        is_long_enough = len(name) >= len(start) + len(end)
        return is_long_enough and name.startswith(start) and name.endswith(end) and middle in name


def _candidates(names: Sequence[str]) -> list[_Glob]:
    """Return globs that may match several of the names, which are sorted."""
    starts = _common_starts(names)
    ends = [text[::-1] for text in _common_starts(sorted(name[::-1] for name in names))]
    inner = dict.fromkeys(text for name in names for text in _inner_words(name))
    pairs = ((start, end) for start in sorted(starts, key=len) for end in sorted(ends, key=len))
    return [
        *(_Glob(start, "", "") for start in starts),
        *(_Glob("", "", end) for end in ends),
        *(_Glob("", text, "") for text in inner),
        *(_Glob(start, "", end) for start, end in islice(pairs, _MOST_PAIRS)),
    ]


def _common_starts(names: Sequence[str]) -> list[str]:
    """Return the beginnings that neighbours in a sorted list share: cut to whole words, and for few names as they
    are."""
    found: dict[str, None] = {}
    for first, second in pairwise(names):
        length = next((index for index, (a, b) in enumerate(zip(first, second, strict=False)) if a != b), len(first))
        common = first[:length]
        cut = (re.sub(r"\w*$", "", common), re.sub(r"[A-Za-z0-9]*$", "", common))
        found |= dict.fromkeys((*cut, *([common] if len(names) <= _EXACT_NAMES else [])))
    return [text for text in found if text]


def _inner_words(name: str) -> Iterator[str]:
    """Yield the parts of a name of up to four words, with what separates them from others."""
    ends = [match.start() for match in re.finditer(r"[^A-Za-z0-9]", name)]
    for index, start in enumerate(ends):
        for end in ends[index + 1 : index + 5]:
            yield name[start : end + 1]


def _useful(
    candidates: Sequence[_Glob], names: Collection[str], forbidden: Collection[str]
) -> dict[_Glob, frozenset[str]]:
    """Return the globs that match several names and nothing that is forbidden, each with the names; of those that match
    the same names, the best."""
    lines = "\n".join(["", *forbidden, ""])  # one search in this text replaces one in each name
    best: dict[frozenset[str], _Glob] = {}
    for glob in dict.fromkeys(candidates):
        start, middle, end = glob
        if middle in lines and f"\n{start}" in lines and f"{end}\n" in lines and any(map(glob.matches, forbidden)):
            continue
        matched = frozenset(filter(glob.matches, names))
        if len(matched) > 1 and (matched not in best or glob.rank > best[matched].rank):
            best[matched] = glob
    return {glob: matched for matched, glob in best.items()}


def _fewest(covered: Mapping[_Glob, frozenset[str]], names: set[str]) -> tuple[list[_Glob], set[str]]:
    """Return globs that cover the names, and the names that are left for themselves."""
    if len(names) <= _EXACT_NAMES:
        widest = [glob for glob in covered if not any(covered[glob] < other for other in covered.values())]
        widest = sorted(widest, key=lambda glob: (len(covered[glob]), glob.rank), reverse=True)[:_EXACT_CANDIDATES]
        for count in range(1, _EXACT_GLOBS + 1):
            whole = [
                each for each in combinations(widest, count) if names <= set().union(*(covered[it] for it in each))
            ]
            if whole:
                return [*max(whole, key=lambda globs: sorted(glob.rank for glob in globs))], set()
    chosen, left = [], set(names)
    while covered:
        glob = max(covered, key=lambda glob: (len(covered[glob] & left), glob.rank))
        if len(covered[glob] & left) < 2:
            break
        chosen.append(glob)
        left -= covered[glob]
    return chosen, left
