"""Know how long jobs and links took last time, to begin with the longest and to tell how long a build will take."""

from __future__ import annotations

import json
from hashlib import sha256

from cuda_wheel.builder.jobs import Job
from cuda_wheel.builder.plan import Link
from cuda_wheel.runtime.cache import Cache

__all__ = [
    "BUNDLING",
    "FORMAT",
    "Seconds",
]


FORMAT = "seconds 1"
"""Part of every key: records of another layout are other records."""


BUNDLING = {"none": 0.002, "size": 0.2}
"""Seconds to bundle a module, by how it is compressed. Records of that would be written in every build."""


class Seconds:
    """How long jobs and links take, by a record for each module that is kept in `cache`, if there is one.

    A record knows each job and link by its sources' paths, its target and its settings, and not by their content: after
    an edit, what it took before is the best guess.
    """

    def __init__(self, cache: Cache | None) -> None:
        self._cache = cache
        self._records: dict[str, dict[str, float]] = {}
        self._changed: set[str] = set()

    def of(self, module: str, work: Job | Link) -> tuple[float, bool]:
        """Return the seconds that a job or link of a module may take, and whether it is known: from when it was done
        last. Otherwise what its sources took for another target tells, or else their size, which tells little."""
        record = self._record(module)
        exact, loose = _keys(work)
        if exact in record:
            return record[exact], True
        return record[loose] if loose in record else _guess(work), False

    def took(self, module: str, work: Job | Link, seconds: float) -> None:
        """Take note of how long a job or link of a module took."""
        self._record(module).update(dict.fromkeys(_keys(work), round(seconds, 4)))
        self._changed.add(module)

    def keep(self) -> None:
        """Keep what was taken note of."""
        if self._cache:
            for module in sorted(self._changed):
                self._cache.put(_entry(module), json.dumps(self._records[module], sort_keys=True).encode())
        self._changed.clear()

    def _record(self, module: str) -> dict[str, float]:
        if module not in self._records:  # reading one costs little, and a thousand something
            kept = self._cache.read(_entry(module), _understood) if self._cache else None
            self._records[module] = kept or {}
        return self._records[module]


def _entry(module: str) -> str:
    return Cache.key(FORMAT, module)


def _understood(entry: bytes) -> dict[str, float]:
    return {name: float(seconds) for name, seconds in json.loads(entry).items()}


def _keys(work: Job | Link) -> tuple[str, str]:
    """Return what a record knows a job or link by, and what it knows all those of the same sources by."""
    if isinstance(work, Job):
        sources, target, form = [work.source], work.arch, str(work.form)
        settings = repr((work.cubin, work.ptx, work.options, work.instantiate, work.lineinfo, work.ptx_version))
    else:
        sources = [each.source if isinstance(each, Job) else each.path for each in work.inputs]
        target, form = str(work.target), "linked of " + ("lto" if work.lto else "ptx")
        settings = repr(work.options)
    loose = " ".join([form, *sources])
    return f"{target} {loose} {sha256(settings.encode(errors='surrogateescape')).hexdigest()[:16]}", loose


def _guess(work: Job | Link) -> float:
    """Return the seconds that sources of that size take, more or less: measured with files that include little."""
    if isinstance(work, Job):
        return 0.1 + 5e-5 * len(work.text)
    size = sum(len(each.text) if isinstance(each, Job) else len(each.content) for each in work.inputs)
    return 0.05 + 1e-5 * size
