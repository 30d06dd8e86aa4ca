"""The results of jobs are in memory up to a limit, and above it in files."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path

import pytest

from cuda_wheel.builder.cache.job_results import JobResults
from cuda_wheel.builder.jobs import EMPTY, Compiled, Job

pytestmark = pytest.mark.one_toolchain


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
