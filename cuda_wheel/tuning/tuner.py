"""Try the candidates of a tunable: check each one's result, time those that are right, and choose one."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any, Protocol

from ..runtime.choosing.choices import Choice
from ..runtime.choosing.tuning_table import Problem, Row, problem_text
from ..runtime.errors import CudaWheelError, describe_error
from ..runtime.manifest import Version
from .results import Results
from .tunable import Tunable

__all__ = ["Measured", "Timer", "Trial", "tune"]

SAME = 1.01
"""The first candidate that is at most this factor slower than the fastest is chosen, so that tables change only for a
reason."""

LEAST = 0.5e-6
"""Seconds by which a candidate must be slower than nothing. An empty kernel takes longer."""


class Timer(Protocol):
    """What `Bench` does; tests replace it."""

    gpu: str
    capability: Version
    device: int

    def finish(self) -> None: ...
    def is_usable(self) -> bool: ...
    def covers(self, launch: Callable[[], object]) -> int: ...
    def seconds(self, launch: Callable[[], object], covers: int) -> float: ...


@dataclass
class Trial:
    """A candidate, and its time (seconds) or why it was left out."""

    choice: Choice
    reason: str | None = None
    seconds: float = 0.0


@dataclass(frozen=True)
class Measured:
    """The trials for one problem, in the order of the candidates."""

    problem: Problem
    trials: Sequence[Trial]
    best: Trial
    row: Row


def tune(tunable: Tunable, timer: Timer) -> Iterator[Measured]:
    """Yield what was measured for each problem.

    Raises CudaWheelError if the first candidate, which is the reference, fails or is no reference, if nothing can be
    measured, and if a candidate makes the GPU unusable.
    """
    for problem in tunable.problems:
        what = f"{tunable.name} for {problem_text(problem)}"
        launch, results = _set_up(tunable, problem, what)
        trials = [
            Trial(Choice(tunable.module, each.variant, each.kernel, each.parameters, problem, timer.gpu, timer.device))
            for each in tunable.candidates_for(problem)
        ]
        _check(tunable, what, launch, results, trials, timer)
        right = [trial for trial in trials if trial.reason is None]
        _time(tunable, what, launch, right, timer)
        fastest = min(trial.seconds for trial in right)
        best = next(trial for trial in right if trial.seconds <= fastest * SAME)
        yield Measured(problem, trials, best, _row(tunable, problem, best, trials[0], timer))


def _set_up(tunable: Tunable, problem: Problem, what: str) -> tuple[Callable[[Choice], object], Results]:
    returned = tunable(dict(problem))
    if not isinstance(returned, tuple) or len(returned) != 2 or not callable(returned[0]):
        raise CudaWheelError(
            f"{what}: the function must return a function that launches a candidate, and its result arrays; it "
            f"returned {returned!r:.200}"
        )
    return returned[0], Results(returned[1])


def _check(
    tunable: Tunable,
    what: str,
    launch: Callable[[Choice], object],
    results: Results,
    trials: Sequence[Trial],
    timer: Timer,
) -> None:
    """Run each candidate once and compare its results with the first one's; set the reasons of those left out."""
    timer.finish()
    start = results.read()

    def run(choice: Choice) -> list[bytes]:
        choice.kernel  # noqa: B018 - loads it, which may compile it
        results.write(start)
        timer.finish()
        launch(choice)
        timer.finish()
        return results.read()

    first, *others = trials
    label = first.choice.label
    try:
        reference, again = run(first.choice), run(first.choice)
    except Exception as error:
        raise CudaWheelError(
            f"{what}: the first candidate ({label}) is the reference, and it fails: {describe_error(error)}"
        ) from error
    if reference == start:
        raise CudaWheelError(
            f"{what}: the first candidate ({label}) leaves the result arrays as they were, so nothing can be "
            "compared. Return arrays that do not have the results yet."
        )
    difference = results.difference(reference, again, tunable.rtol, tunable.atol)
    if difference is not None:
        raise CudaWheelError(
            f"{what}: two runs of the first candidate ({label}) differ, so it is no reference. In the second, "
            f"{difference}. Set rtol or atol, if that is rounding."
        )
    for trial in others:
        try:
            found = run(trial.choice)
        except Exception as error:
            if not timer.is_usable():
                raise CudaWheelError(
                    f"{what}: the candidate {trial.choice.label} made the GPU unusable for this process, so nothing "
                    f"more can be measured: {describe_error(error)}. Mend it or leave it out."
                ) from error
            trial.reason = describe_error(error)
        else:
            trial.reason = results.difference(reference, found, tunable.rtol, tunable.atol)


def _time(
    tunable: Tunable, what: str, launch: Callable[[Choice], object], trials: Sequence[Trial], timer: Timer
) -> None:
    """Time the candidates in turns, each round in another order, so that a change of the GPU's clock meets them all."""
    calls: list[Any] = [lambda choice=trial.choice: launch(choice) for trial in trials]
    covers = [timer.covers(call) for call in calls]
    samples: list[list[float]] = [[] for _ in calls]
    for turn in range(tunable.rounds + 1):
        for place in range(len(calls)):
            number = (place + turn) % len(calls)
            taken = timer.seconds(calls[number], covers[number])
            if turn:  # the first round warms up
                samples[number].append(taken)
    nothing = median(timer.seconds(lambda: None, 1) for _ in range(9))
    for trial, taken_times in zip(trials, samples, strict=True):
        trial.seconds = median(taken_times)
        if trial.seconds < nothing + LEAST:
            raise CudaWheelError(
                f"{what}: nothing can be measured. The default stream has no work from the candidate "
                f"{trial.choice.label}: it launches nothing, or on a stream that does not wait for the default stream."
            )


def _row(tunable: Tunable, problem: Problem, best: Trial, first: Trial, timer: Timer) -> Row:
    choice = best.choice
    times = (float(f"{trial.seconds * 1e6:.3g}") for trial in (best, first))  # more digits would change in every run
    what = (tunable.name, timer.gpu, timer.capability, problem)
    return Row(*what, choice.variant, choice.kernel_name, choice.parameters, *times)
