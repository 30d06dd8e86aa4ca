"""Remember how long jobs and links took, to begin with the longest and to estimate the duration of a build."""

from __future__ import annotations

import json
from collections.abc import Iterable
from functools import lru_cache
from hashlib import sha256

from cuda_wheel.builder.jobs import Job
from cuda_wheel.builder.plan import Link
from cuda_wheel.builder.sources.header_dependencies import header_bytes
from cuda_wheel.runtime.parts.user_cache import Cache

__all__ = ["BUNDLING_SECONDS", "FORMAT", "Durations", "time_needed"]


FORMAT = "seconds 1"
"""Version of the layout of the records of durations in the cache. It is part of the cache key of each record."""

BUNDLING_SECONDS = {"none": 0.002, "speed": 0.005, "balance": 0.02, "size": 0.2}
"""Setting of the fatbin's compression -> expected seconds to bundle one module. Actual durations of bundling are not
recorded, because then every build would write records."""


class Durations:
    """The durations of earlier jobs and links: one record for each module, stored in `cache` (if it is not None).

    A record identifies jobs and links by the paths of their sources, their target and their settings, not by content:
    after an edit, the earlier duration is the best estimate.
    """

    def __init__(self, cache: Cache | None) -> None:
        self._cache = cache
        self._records: dict[str, dict[str, float]] = {}
        self._changed: set[str] = set()

    def expected(self, module: str, work: Job | Link) -> tuple[float, bool]:
        """Return the expected seconds of a job or link of a module, and whether exactly this work was measured.

        Without such a measurement, the seconds are the latest duration of the same sources for another target or with
        other settings or, without that too, a poor estimate from the sizes of the sources and of their headers.
        """
        record = self._record(module)
        exact, loose = _keys(work)
        if exact in record:
            return record[exact], True
        return record[loose] if loose in record else _estimate(work), False

    def guessed(self, module: str, work: Job | Link) -> str:
        """Return an identifier of a job's or link's sources if `expected` estimates its duration from their sizes.

        Return "" if a duration of these sources is recorded.
        """
        _, loose = _keys(work)
        return "" if loose in self._record(module) else loose

    def record(self, module: str, work: Job | Link, seconds: float) -> None:
        """Record the duration of a job or link of a module."""
        self._record(module).update(dict.fromkeys(_keys(work), round(seconds, 4)))
        self._changed.add(module)

    def save(self) -> None:
        """Write the changed records to the cache."""
        if self._cache:
            for module in sorted(self._changed):
                self._cache.put(_entry(module), json.dumps(self._records[module], sort_keys=True).encode())
        self._changed.clear()

    def _record(self, module: str) -> dict[str, float]:
        if module not in self._records:  # each is read when first needed: a build may have a thousand modules
            cached = self._cache.read(_entry(module), _parse) if self._cache else None
            self._records[module] = cached or {}
        return self._records[module]


def _entry(module: str) -> str:
    """Return the key under which the cache stores the record of a module's durations."""
    return Cache.key(FORMAT, module)


def _parse(entry: bytes) -> dict[str, float]:
    return {name: float(seconds) for name, seconds in json.loads(entry).items()}


def _keys(work: Job | Link) -> tuple[str, str]:
    """Return (exact key, loose key) of a job or link, for its module's record of durations. Both keys name the sources
    and the form (such as "lto"). Only the exact key also names the target and the settings."""
    if isinstance(work, Job):
        sources, target, form = [work.source], work.arch, str(work.form)
        settings = repr(
            (work.cubin, work.ptx, work.options, work.instantiate, work.instances, work.lineinfo, work.ptx_version)
        )
    else:
        sources = [part.source if isinstance(part, Job) else part.path for part in work.inputs]
        target, form = str(work.target), "linked of " + ("lto" if work.lto else "ptx")
        settings = repr(work.options)
    loose = " ".join([form, *sources])
    return f"{target} {loose} {sha256(settings.encode(errors='surrogateescape')).hexdigest()[:16]}", loose


_MOST_HEADERS = 1 << 20
"""Maximum number of header bytes that count in the estimate of a duration. CUB's headers, for example, have some
megabytes and take about a second to compile."""


@lru_cache(maxsize=4096)  # most sources have their includes in common with others
def _header_bytes(text: bytes, root: str, folders: tuple[str, ...]) -> int:
    try:
        return header_bytes(text, root, folders, _MOST_HEADERS)
    except OSError:
        return 0


def _estimate(work: Job | Link) -> float:
    """Return the expected seconds of a job or link that was never measured. They are estimated from the sizes of its
    sources. For a job, the sizes of the included headers count too."""
    if isinstance(work, Job):
        return (
            0.1 + 5e-5 * len(work.text) + 1.2 * _header_bytes(work.text, work.root, work.include_dirs) / _MOST_HEADERS
        )
    size = sum(len(part.text) if isinstance(part, Job) else len(part.content) for part in work.inputs)
    return 0.05 + 1e-5 * size


def time_needed(seconds: Iterable[float], cores: int) -> float:
    """Return a lower bound, in seconds, on the time that jobs of the durations `seconds` take on `cores` cores.

    If longer jobs start before shorter ones, the actual time is seldom much longer than this bound.
    """
    durations = list(seconds)
    return max(sum(durations) / cores, max(durations, default=0.0))
