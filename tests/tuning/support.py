"""A timer without a GPU, and a package whose kernels can be tuned with it."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.support.loaded_modules import forget_package

__all__ = ["StandInTimer", "package"]


class StandInTimer:
    """Behaves like `GpuTimer`: launches really run, and each takes as long as `cost` says, in microseconds."""

    gpu, capability, device = "Stand-in", (8, 6), 0
    cost: Callable[[], float] = staticmethod(lambda: 10.0)
    """The time of the latest launch."""
    usable = True

    def __init__(self) -> None:
        self.timed: list[int] = []
        self.closed = False

    def close(self) -> None:
        self.closed = True

    def finish(self) -> None: ...

    def is_usable(self) -> bool:
        return self.usable

    def flushes(self, launch: Callable[[], object]) -> int:
        launch()
        return 7

    def seconds(self, launch: Callable[[], object], flushes: int) -> float:
        self.timed.append(flushes)
        if launch() is None:  # as the launch of nothing
            return 2e-6
        return (2 + type(self).cost()) * 1e-6


@pytest.fixture
def package(variants_build: tuple[Path, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Put a copy of the built package with variants on the path, and return the package's folder."""
    shutil.copytree(variants_build[0], tmp_path / "site")
    monkeypatch.syspath_prepend(str(tmp_path / "site"))
    forget_package("demo")
    yield tmp_path / "site/demo"
    forget_package("demo")
