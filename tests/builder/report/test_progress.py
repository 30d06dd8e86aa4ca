"""The times of a build are in its trace and its last line, and not in its outputs or the cache."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from cuda_wheel.builder.schedule import FORMAT
from cuda_wheel.builder.timing import CallClock, TimedError, phase
from cuda_wheel.builder.workers.executor import Call
from cuda_wheel.builder.workers.pool import Workers
from cuda_wheel.runtime.parts.user_cache import Cache

pytestmark = [pytest.mark.one_toolchain, pytest.mark.usefixtures("two_workers")]

Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.mark.slow
def test_times_do_not_get_into_the_cache_entries(project: Path, cuda_wheel: Run, tmp_path: Path) -> None:
    """Two caches that are filled at different times have the same content except for the recorded durations."""
    keys = [Cache.key(FORMAT, f"demo.{name}") for name in ("linked", "c", "d")]
    records = {Path("cache", key[:2], key[2:]) for key in keys}
    contents = []
    for name in ("one", "two"):
        folder = tmp_path / name
        result = cuda_wheel("build", project, "-o", folder / "out", CUDA_WHEEL_CACHE_DIR=str(folder / "cache"))
        assert result.returncode == 0
        entries = {path.relative_to(folder): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
        assert records < entries.keys()
        contents.append({path: content for path, content in entries.items() if path not in records})
    assert contents[0] == contents[1]


@pytest.mark.parametrize(("function", "argument"), [(os._exit, 1), (bytes, 1 << 44), (int, "x")])
def test_an_error_carries_the_times_of_its_call(function: Callable, argument: object, workers: Workers) -> None:
    """The worker dies, runs out of memory, or raises an error."""
    with pytest.raises(TimedError) as caught:
        workers.enqueue(Call(function, argument, timed=True)).result()
    assert 0 <= caught.value.times.seconds < 60


def test_phases_are_measured_only_in_timed_calls() -> None:
    @phase("doubling")
    def double(number: int) -> int:
        return 2 * number

    assert double(1) == 2
    clock = CallClock()
    result, times = double(3), clock.stop()
    (span,) = times.phases
    assert (result, span.name) == (6, "doubling")
    assert times.began <= span.began <= span.ended <= times.ended
    assert CallClock().stop().phases == ()
