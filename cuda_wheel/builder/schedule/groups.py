"""The record of jobs that can share precompiled headers."""

from __future__ import annotations

from typing import NamedTuple

__all__ = [
    "Group",
]


class Group(NamedTuple):
    """What a job has in common with others: `key` tells these jobs, `jobs` how many they are; `text` is the beginning
    of this one's source, which differs from theirs in comments and white space at most."""

    key: str
    text: bytes
    jobs: int
