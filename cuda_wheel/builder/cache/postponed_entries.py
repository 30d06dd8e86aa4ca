"""Write entries of the cache in workers: creating files takes long, and the process of a large build has no time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from cuda_wheel.builder.timing import phase
from cuda_wheel.runtime.user_cache.cache import Cache

__all__ = ["PostponedEntries", "write_and_call"]


class PostponedEntries(NamedTuple):
    """Entries to write, and the folder of their cache."""

    folder: str
    entries: Sequence[tuple[str, bytes]]


def write_and_call(request: tuple[PostponedEntries, Callable[[Any], Any], Any]) -> Any:
    """Write entries, and return the result of a function of one argument. Runs in workers only."""
    postponed, function, argument = request
    with phase("caching"):
        Cache(postponed.folder).write_postponed(postponed.entries)
    return function(argument)
