"""Learn during a build how long calls of unknown duration take, from those that are done."""

from __future__ import annotations

__all__ = ["Pace"]


class Pace:
    """How the durations of calls compare with estimates from the size of their sources.

    Two sources of the same size may differ a hundredfold, by what they include. The jobs of one source for several
    targets take about as long as each other.
    """

    def __init__(self) -> None:
        self._sources: dict[str, tuple[float, float]] = {}
        """The sums of the seconds estimated and taken, for each source that has a call which is done."""
        self._all = (0.0, 0.0)
        """The same for all sources: there may be thousands."""

    def call_done(self, source: str, estimated: float, taken: float) -> None:
        """Take the seconds of a call into account that compiled a source, or a list of them."""
        sums = self._sources.get(source, (0.0, 0.0))
        self._sources[source] = sums[0] + estimated, sums[1] + taken
        self._all = self._all[0] + estimated, self._all[1] + taken

    def factor(self, source: str) -> float | None:
        """Return by how much to multiply the estimate of a call; None before any call is done."""
        estimated, taken = self._sources.get(source, self._all)
        return taken / estimated if estimated else None
