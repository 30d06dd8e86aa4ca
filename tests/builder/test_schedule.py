"""No core is idle, the longest jobs go first, and workers are not replaced to save little time."""

from __future__ import annotations

import heapq
import json
import subprocess
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cuda_wheel.builder.jobs import Job
from cuda_wheel.builder.schedule import Durations, time_needed
from cuda_wheel.builder.workers.executor import REPLACE_WORKER_SECONDS, Call, Queue
from cuda_wheel.builder.workers.pool import Workers
from cuda_wheel.runtime.parts.user_cache import Cache

pytestmark = pytest.mark.one_toolchain

Run = Callable[..., subprocess.CompletedProcess[str]]
Jobs = list[tuple[float, tuple[str, ...] | None]]

SECONDS = st.floats(0.01, 100)
OPTIONS = st.sampled_from([("a",), ("b",), ("c",), None])


def done(jobs: Jobs, cores: int) -> tuple[float, int]:
    """Return how long all jobs take in the order of a queue, and how often a worker is replaced."""
    queue: Queue[tuple[float, tuple[str, ...] | None]] = Queue()
    for each in jobs:
        queue.put(each, *each)
    free = [(0.0, number) for number in range(cores)]
    served: dict[int, tuple[str, ...] | None] = {}
    replaced = 0
    while queue:
        at, worker = heapq.heappop(free)
        seconds, options = queue.take(served.get(worker))
        replaced += None not in (options, served.get(worker)) and options != served.get(worker)
        served[worker] = options or served.get(worker)
        heapq.heappush(free, (at + seconds, worker))
    return max(at for at, _ in free), replaced


@given(st.lists(SECONDS, min_size=1, max_size=7), st.integers(1, 3))
def test_the_longest_first_takes_at_most_a_third_longer_than_the_best_order(each: list[float], cores: int) -> None:
    """Source: R. L. Graham, Bounds on Multiprocessing Timing Anomalies, 1969."""

    def ends(choice: tuple[int, ...]) -> float:
        return max(sum(seconds for seconds, core in zip(each, choice, strict=True) if core == n) for n in range(cores))

    best = min(map(ends, product(range(cores), repeat=len(each))))
    took, _ = done([(seconds, ("a",)) for seconds in each], cores)
    assert took <= best * (4 / 3 - 1 / (3 * cores)) + 1e-9
    assert time_needed(each, cores) <= best + 1e-9


@given(st.lists(st.tuples(SECONDS, OPTIONS), min_size=1, max_size=40), st.integers(1, 8))
def test_no_core_is_idle_while_a_job_waits(jobs: Jobs, cores: int) -> None:
    took, _ = done(jobs, cores)
    longest = max(seconds for seconds, _ in jobs)
    assert took <= sum(seconds for seconds, _ in jobs) / cores + longest * (1 - 1 / cores) + 1e-9


@given(
    st.lists(st.tuples(st.floats(0.01, REPLACE_WORKER_SECONDS), OPTIONS), min_size=1, max_size=40), st.integers(1, 4)
)
def test_workers_are_not_replaced_to_save_little_time(jobs: Jobs, cores: int) -> None:
    """Each worker has each set of options at most once."""
    _, replaced = done(jobs, cores)
    assert replaced <= cores * len({options for _, options in jobs} - {None})


def test_waiting_calls_run_the_longest_first_and_can_be_cancelled() -> None:
    with Workers(timeout=60, memory=None, count=1) as workers:
        workers.submit(len, ()).result()
        order: list[int] = []
        futures = []
        workers.enqueue(Call(eval, "__import__('time').sleep(0.5)", seconds=9))
        for number, seconds in enumerate([1.0, 3.0, 2.0, 4.0]):
            future = workers.enqueue(Call(len, (), seconds=seconds))
            future.add_done_callback(lambda _, number=number: order.append(number))
            futures.append(future)
        assert futures[1].cancel()
        assert [future.result() for future in futures if not future.cancelled()] == [0, 0, 0]
    assert order == [1, 3, 2, 0]


# --- how long jobs take -----------------------------------------------------------------------------


def job(source: str, text: bytes = b"", arch: str = "80", **others: Any) -> Job:
    return Job("nvrtc", ".", source, text, arch, True, False, (), (), (), False, "auto", **others)


@pytest.mark.slow
def test_a_job_that_took_long_begins_first_whatever_its_size(make_project, cuda_wheel: Run, tmp_path: Path) -> None:
    files = {
        f"demo/{name}.cu": f"__global__ void {name}(int* x) {{ *x = 1; }}\n//{'/' * length}\n"
        for name, length in {"a": 10, "b": 10_000, "c": 1000}.items()
    }
    project = make_project('[tool.cuda-wheel]\narchitectures = "80-real"\n', **files)
    assert order(cuda_wheel, project, tmp_path / "sizes") == ["b", "c", "a"]
    durations = Durations(Cache(str(tmp_path / "records")))
    for name, took in {"a": 70.0, "b": 60.0, "c": 80.0}.items():
        durations.record(f"demo.{name}", job(f"demo/{name}.cu"), took)
    durations.save()
    assert order(cuda_wheel, project, tmp_path / "records") == ["c", "a", "b"]


def order(cuda_wheel: Run, project: Path, cache: Path) -> list[str]:
    """Return the modules of a project in the order in which one worker compiled them."""
    trace = project.parent / "trace.json"
    environ = {"CUDA_WHEEL_CACHE_DIR": str(cache), "CUDA_WHEEL_JOBS": "1", "CUDA_WHEEL_TIMINGS": str(trace)}
    result = cuda_wheel("build", project, "-o", project.parent / "out", **environ)
    assert result.returncode == 0, result.stdout
    events = [event for event in json.loads(trace.read_text())["traceEvents"] if event["name"] == "compiling"]
    events.sort(key=lambda event: event["ts"])
    return [event["args"]["module"].removeprefix("demo.") for event in events]


def test_durations_are_recorded_for_sources_and_settings_not_for_content(tmp_path: Path) -> None:
    cache = Cache(str(tmp_path))
    durations = Durations(cache)
    assert not durations.expected("m", job("a.cu"))[1]
    assert durations.expected("m", job("a.cu", bytes(9000)))[0] > durations.expected("m", job("a.cu", bytes(10)))[0] > 0
    durations.record("m", job("a.cu"), 3.0)
    assert cache.entries() == []
    durations.save()
    durations = Durations(cache)
    assert durations.expected("m", job("a.cu")) == (3.0, True)
    assert durations.expected("m", job("a.cu", b"edited")) == (3.0, True)
    assert durations.expected("m", job("a.cu", arch="90")) == (3.0, False)  # the best estimate
    assert durations.expected("m", job("a.cu", form="lto"))[0] != 3.0
    assert durations.expected("other", job("a.cu"))[0] != 3.0
    durations.record("m", job("a.cu", arch="90"), 5.0)
    assert durations.expected("m", job("a.cu")) == (3.0, True)
    assert Durations(None).expected("m", job("a.cu"))[1] is False


def test_an_error_in_the_build_cancels_waiting_jobs() -> None:
    with pytest.raises(KeyError), Workers(timeout=60, memory=None, count=1) as workers:
        workers.submit(eval, "__import__('time').sleep(60)")
        waiting = workers.submit(len, ())
        raise KeyError
    assert waiting.cancelled()
