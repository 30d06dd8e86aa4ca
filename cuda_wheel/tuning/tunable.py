"""Declare what to tune: problems, candidates, and how exact the results must be."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from cuda_wheel.runtime.errors import ArgumentError
from cuda_wheel.runtime.loading import load
from cuda_wheel.runtime.parts.triton.kernels import TritonModule
from cuda_wheel.runtime.parts.triton.tuned import configurations
from cuda_wheel.runtime.parts.tuned_rows import Problem, checked_problem, plain_value, problem_text

__all__ = ["Candidate", "Candidates", "Tunable", "tunable"]

Candidates = Mapping[str, Iterable[Any]] | Iterable[Mapping[str, Any]]
"""What to try. Either key -> list of values, such as {"block": [128, 256], "tile": [4, 8]}: all combinations are tried.
Or a list of candidates: [{"block": 128, "tile": 8}]."""

Setup = Callable[[Problem], tuple[Callable[[Any], object], Any]]
"""Function that the user declares for tuning. It takes a problem and returns two things: a function that launches a
given choice, and the array or arrays that the launch writes its results to."""


@dataclass(frozen=True)
class Candidate:
    """A kernel, in a variant of its module and with parameters, to measure."""

    variant: dict[str, Any]
    """Name of a macro of the module's variant -> value; empty for a module without variants."""
    kernel: str | None
    """Name of the kernel; None if the module has only one kernel."""
    parameters: dict[str, Any]
    """Key of the candidate -> value, such as "block" -> 128, for all keys but "variant" and "kernel". The program
    launches the kernel with these values."""


@dataclass(frozen=True)
class Tunable:
    """A function declared with `tunable`, for which `cuda-wheel tune` measures candidates."""

    function: Setup
    name: str
    """Name of the declared function in the table of tuned choices. Programs pass it to `cuda_wheel.tuned`."""
    module: str
    """Dotted name of the module whose kernels are tried."""
    problems: tuple[Problem, ...]
    candidates: Candidates | Callable[[Problem], Candidates] | None
    """None for the configurations that the Triton kernel `name` was compiled with."""
    rtol: float
    """Relative tolerance of results. If `rtol` and `atol` are both 0, results must be equal bit by bit."""
    atol: float
    """Absolute tolerance: a result may differ from the first candidate's result x by up to `atol` + `rtol` * |x|."""
    rounds: int
    """Number of rounds in which each candidate is timed. A round before them warms up."""

    def __call__(self, problem: Problem) -> tuple[Callable[[Any], object], Any]:
        """Call the declared function, so that a program can use it as if it were not decorated."""
        return self.function(problem)

    def candidates_for(self, problem: Problem) -> list[Candidate]:
        """Return the candidates for a problem; raises ArgumentError if there are none or one appears twice.

        Without `candidates`, raises also what `load` raises.
        """
        given = self.candidates(problem) if callable(self.candidates) else self.candidates
        if given is None:
            given = self._configurations(problem)
        if isinstance(given, Mapping):
            given = [dict(zip(given, values, strict=True)) for values in itertools.product(*given.values())]
        found: list[Candidate] = []
        for each in given:
            candidate = self._candidate(each)
            if candidate in found:
                raise ArgumentError(f"{self.name}: the candidate {each} appears twice")
            found.append(candidate)
        if not found:
            raise ArgumentError(f"{self.name} has no candidates for {problem_text(problem)}")
        return found

    def _configurations(self, problem: Problem) -> list[dict[str, Any]]:
        module: Any = load(self.module)
        if not isinstance(module, TritonModule):
            raise ArgumentError(
                f"{self.name} has no candidates, and {self.module} has no Triton kernels: only for these, candidates "
                "follow from what was compiled"
            )
        kernel = module[self.name]
        names = [name for name, _, _ in kernel.parameters]
        unknown = [key for key in problem if key not in names]
        if unknown:
            raise ArgumentError(
                f"{self.name}: a launch finds its choice by the values of its parameters, and {unknown[0]!r} of the "
                f"problem is none of them: {', '.join(names)}"
            )
        return [{"kernel": self.name, **each} for each in configurations(kernel.parameters, kernel.variants)]

    def _candidate(self, given: Any) -> Candidate:
        if not isinstance(given, Mapping):
            raise ArgumentError(f"{self.name}: a candidate must be a dictionary, not {given!r}")
        variant, kernel = given.get("variant", {}), given.get("kernel")
        if not isinstance(variant, Mapping):
            raise ArgumentError(f"{self.name}: a candidate's variant must have macros and values, not {variant!r}")
        if not isinstance(kernel, str | None):
            raise ArgumentError(f"{self.name}: a candidate's kernel must be a name, not {kernel!r}")
        others = {key: plain_value(key, value) for key, value in given.items() if key not in ("variant", "kernel")}
        return Candidate(dict(variant), kernel, others)


def tunable(
    module: str,
    *,
    problems: Sequence[Mapping[str, int | str]],
    candidates: Candidates | Callable[[Problem], Candidates] | None = None,
    rtol: float = 0.0,
    atol: float = 0.0,
    rounds: int = 25,
    name: str | None = None,
) -> Callable[[Setup], Tunable]:
    """Return a decorator that declares a function for `cuda-wheel tune`; see `cuda_wheel.tuning` for what the function
    does.

    `module` is the dotted name of the module whose kernels are tried. `name` is the name to pass to `cuda_wheel.tuned`,
    by default the function's. Without `candidates`, it is also the name of a Triton kernel, for whose launches the
    table chooses, and all that it was compiled with is tried. Each candidate is timed `rounds` times. Raises
    ArgumentError if there are no problems, if two are equal or differ in their keys or in which values are strings, and
    for negative tolerances or `rounds` below 1.
    """
    checked = [checked_problem(problem) for problem in problems]
    shapes = {tuple(sorted((key, isinstance(value, str)) for key, value in problem.items())) for problem in checked}
    if len(shapes) != 1:
        raise ArgumentError("tunable needs at least one problem, and all problems need the same sizes and strings")
    twice = [problem for number, problem in enumerate(checked) if problem in checked[:number]]
    if twice:
        raise ArgumentError(f"the problem {problem_text(twice[0])} appears twice")
    if rounds < 1 or not (rtol >= 0 and atol >= 0):
        raise ArgumentError("rounds must be 1 or more, and rtol and atol 0 or more")

    def declare(function: Setup) -> Tunable:
        own = name or function.__name__
        return Tunable(function, own, module, tuple(checked), candidates, rtol, atol, rounds)

    return declare
