"""Cache results that depend on a request and on the files that were read for it, as ccache's direct mode does.

Which files a compilation reads is known only after it ran. So there are two entries: the request's entry lists the
files of its latest run, and the result's key is made from the request and the present state of these files. After an
edit the key differs, and nothing is found. Jobs, modules and compile on load use this.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from cuda_wheel.runtime.user_cache.cache import Cache

__all__ = ["DependencyCache", "Recorded"]

Files = TypeVar("Files")
T = TypeVar("T")


@dataclass(frozen=True)
class Recorded(Generic[Files]):
    """A request, the files that a run of it read, and their present state. Files and state are JSON values."""

    request: str
    """A cache key that stands for everything but the files."""
    files: Files
    state: Any

    def result_key(self, *facts: str) -> str:
        """Return the key of the result, which may depend on further facts."""
        return Cache.key(self.request, *facts, json.dumps(self.state))


class DependencyCache(Generic[Files]):
    """Results by request and files. `parse_files` checks and converts the parsed JSON of the files."""

    def __init__(self, cache: Cache, parse_files: Callable[[Any], Files]) -> None:
        self._cache = cache
        self._parse_files = parse_files

    def recorded(self, request: str, state_of: Callable[[Files], Any]) -> Iterator[Recorded[Files]]:
        """Yield the files of the request's latest run in each cache folder, with their present state.

        Another project, or another user of the read-only folder, may have read other files for the same request.
        """
        for files in self._cache.found(request, lambda entry: self._parse_files(json.loads(entry))):
            yield Recorded(request, files, state_of(files))

    def has(self, recorded: Recorded[Files], *facts: str) -> bool:
        """Return whether there is a result for the files' present state. Only reading it shows whether it is intact."""
        return self._cache.has(recorded.result_key(*facts))

    def read(self, recorded: Recorded[Files], parse: Callable[[bytes], T], *facts: str) -> T | None:
        """Return the parsed result for the files' present state; None if there is none or it is damaged."""
        return self._cache.read(recorded.result_key(*facts), parse)

    def put(self, recorded: Recorded[Files], entry: bytes, *facts: str) -> None:
        """Store the result of a run that read the recorded files."""
        self._cache.put(recorded.request, json.dumps(recorded.files).encode())
        self._cache.put(recorded.result_key(*facts), entry)
