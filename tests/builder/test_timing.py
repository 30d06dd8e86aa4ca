"""Workers measure their calls: results and errors arrive with their times."""

from __future__ import annotations

import pytest

from cuda_wheel.builder.errors import CompileError, ToolchainError
from cuda_wheel.builder.timing import PRECOMPILING, Span, TimedError, Times, phase
from cuda_wheel.builder.workers.executor import Call
from cuda_wheel.builder.workers.pool import Workers


def _raise_in_a_phase(error: type[Exception]) -> None:
    with phase("compiling"):
        raise error("no")


class UnpicklableError(Exception):
    """An exception that cannot be pickled."""

    def __reduce__(self) -> str:
        raise TypeError


def test_the_first_timed_call_of_a_worker_has_the_start_of_the_process() -> None:
    with Workers(timeout=60, memory=None, count=1) as workers:
        assert workers.submit(len, (1,)).result() == 1
        results = [workers.enqueue(Call(len, (1, 2), timed=True)).result() for _ in range(2)]
    assert [each.value for each in results] == [2, 2]
    first, second = (each.times for each in results)
    assert first.worker == second.worker and first.ended <= second.began
    assert first.start is not None and first.start.name == "starting" and second.start is None
    assert first.start.began <= first.start.ended <= first.began


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (CompileError, CompileError),
        (ValueError, ValueError),
        (MemoryError, CompileError),
        (UnpicklableError, ToolchainError),
    ],
)
def test_the_error_of_a_timed_call_arrives_with_the_times(
    error: type[Exception], expected: type[Exception], workers: Workers
) -> None:
    with pytest.raises(expected, match=r"no|needed more memory than"):
        workers.submit(_raise_in_a_phase, error).result()
    with pytest.raises(TimedError) as caught:
        workers.enqueue(Call(_raise_in_a_phase, error, timed=True)).result()
    assert type(caught.value.error) is expected
    assert str(caught.value) == str(caught.value.error)
    times = caught.value.times
    assert [span.name for span in times.phases] == ["compiling"]
    assert times.began <= times.phases[0].began <= times.ended


def test_the_seconds_of_a_call_exclude_precompiling() -> None:
    spans = (Span("compiling", 1.0, 2.0), Span(PRECOMPILING, 2.0, 5.0), Span("compiling", 5.0, 6.0))
    assert Times("w", 1.0, 6.0, spans, None).seconds == 2.0
