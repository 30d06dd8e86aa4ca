"""What a running plan keeps: the time left is estimated honestly, also of the first build, whose durations nobody knows;
the results of jobs are in memory up to a limit, and above it in files."""

from __future__ import annotations

import tempfile
from concurrent.futures import Future
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from cuda_wheel.builder.full_build import build_module
from cuda_wheel.builder.jobs import EMPTY, Compiled, Job
from cuda_wheel.builder.plan_state import JobResults, TaskQueue
from cuda_wheel.builder.report.reporter import SilentReporter
from cuda_wheel.builder.timing import Step, Timed, Times
from tests.support.projects import KERNEL, write_files

pytestmark = pytest.mark.one_toolchain


def end(queue: TaskQueue, call: Future[Any], seconds: float) -> None:
    call.set_result(Timed(None, Times("worker", 1.0, 1.0 + seconds, (), None)))
    queue.handle_next()


def test_a_guess_is_corrected_by_what_is_done() -> None:
    queue = TaskQueue()

    def submit(seconds: float, guessed: str = "") -> Future[Any]:
        return queue.add(Future(), lambda future: None, seconds, guessed)

    heavy = [submit(0.1, "cub.cu") for _ in range(4)]
    light = [submit(0.1, "light.cu") for _ in range(4)]
    known = submit(2.0)
    assert queue.seconds_left([], 2) is None  # nothing is known of guesses yet
    end(queue, heavy[0], 1.5)
    assert queue.seconds_left([], 2) == pytest.approx((3 * 1.5 + 4 * 1.5 + 2) / 2)
    end(queue, light[0], 0.05)
    assert queue.seconds_left([1.0], 2) == pytest.approx((3 * 1.5 + 3 * 0.05 + 2 + 1) / 2)
    light[1].set_exception(ValueError("a failed call tells nothing of others"))
    queue.handle_next()
    end(queue, known, 50.0)  # nor does one whose duration was known
    assert queue.seconds_left([], 2) == pytest.approx((3 * 1.5 + 2 * 0.05) / 2)


class Reports(SilentReporter):
    """A reporter that records, for each estimate, how many steps were finished before."""

    def __init__(self) -> None:
        self.finished = 0
        self.finished_before: list[int] = []

    def step_finished(self, step: Step) -> None:
        self.finished += 1

    def time_remaining(self, seconds: float) -> None:
        self.finished_before.append(self.finished)


def test_a_first_build_reports_no_time_before_its_first_job_and_a_second_one_does(tmp_path: Path) -> None:
    root = write_files(tmp_path, **{"src/k.cu": KERNEL})
    table = {"name": "src.k", "sources": ["src/k.cu"], "architectures": ["75-real", "80-real"]}
    first, second = Reports(), Reports()
    build_module(root, table, {}, first)
    write_files(tmp_path, **{"src/k.cu": KERNEL + "// edited\n"})
    build_module(root, table, {}, second)
    assert first.finished_before and min(first.finished_before) > 0
    assert second.finished_before[0] == 0


def job(number: int) -> Job:
    return Job("nvrtc", ".", f"{number}.cu", b"", "80", True, False, (), (), (), False, "auto")


def result(number: int) -> Compiled:
    return replace(EMPTY, cubin=bytes([number]) * 100, log=str(number))


def test_results_above_the_limit_are_in_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))

    def file_count() -> int:
        return len([path for path in tmp_path.rglob("*") if path.is_file()])

    with JobResults(limit=250) as results:
        for number in range(5):
            results.put(job(number), result(number))
        assert file_count() == 3
        assert {each: results[each] for each in results} == {job(number): result(number) for number in range(5)}
        for number in (4, 0, 0):  # dropping twice is allowed
            results.drop(job(number))
        assert file_count() == 2
        results.put(job(5), result(5))  # fits into memory again
        assert file_count() == 2
        assert list(results) == [job(1), job(2), job(3), job(5)]
    assert not list(tmp_path.iterdir())
