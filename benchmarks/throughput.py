"""Measure launches as programs make them: a training step, and threads on two streams.

`python benchmarks/throughput.py WHEEL [ROUNDS]`: WHEEL is a wheel of `fixtures/saxpy`. The benchmark needs a GPU and
PyTorch; nvcc, Ninja and a host compiler for C++.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import torch
from _extensions import pytorch_extension, tvm_ffi_module
from _interleave import compare
from _results import Goal, Result
from launch import kernel_of

__all__ = ["measure"]

PARAMETERS = 300
SIZES = [1024 * (1 + index % 10) for index in range(PARAMETERS)]
RATE = 1e-3
THREADS, LAUNCHES = 8, 400
CPP, LAUNCH = "C++ extension of PyTorch", "kernel.launch"
LIMIT = (
    "a launch takes the time that the tables of single launches show. Threads of Python share one lock, Python's own, "
    "which both contenders let go during the driver's call."
)

Step = Callable[[], object]


@cache
def _model() -> list[tuple[Any, Any]]:
    """Return a gradient and a parameter of each size."""
    return [(torch.ones(size, device="cuda"), torch.zeros(size, device="cuda")) for size in SIZES]


def _steps(kernel: Any) -> dict[str, Callable[[], Step]]:
    """Return, for each contender, the function that makes one step: a launch for each parameter."""

    def ours() -> Step:
        def step() -> None:
            for gradient, parameter in _model():
                n = parameter.numel()
                kernel.launch(-(-n // 256), 256, RATE, gradient, parameter, n)

        return step

    def bound() -> Step:
        launches = [
            kernel.bind(-(-parameter.numel() // 256), 256, RATE, gradient, parameter, parameter.numel())
            for gradient, parameter in _model()
        ]

        def step() -> None:
            for launch in launches:
                launch()

        return step

    def each(function: Callable[[], Callable[..., Any]]) -> Callable[[], Step]:
        def prepare() -> Step:
            call = function()

            def step() -> None:
                for gradient, parameter in _model():
                    call(RATE, gradient, parameter)

            return step

        return prepare

    return {
        CPP: each(lambda: pytorch_extension().saxpy.default),
        LAUNCH: ours,
        "kernel.bind, for each parameter": bound,
        "tvm-ffi": each(lambda: tvm_ffi_module().saxpy_tensors),
        "PyTorch's parameter.add_(gradient, alpha=)": each(lambda: lambda a, x, y: y.add_(x, alpha=a)),
    }


def _per_launch(prepare: Callable[[], Step]) -> Callable[[], float]:
    """Return a contender that times a step, to the end of its last kernel, in microseconds for each launch."""
    prepared = cache(prepare)

    def contender() -> float:
        step = prepared()
        torch.cuda.synchronize()
        before = time.perf_counter_ns()
        step()
        torch.cuda.synchronize()
        return (time.perf_counter_ns() - before) / PARAMETERS / 1e3

    return contender


@cache
def _streams() -> list[Any]:
    return [torch.cuda.Stream() for _ in range(2)]


def _in_threads(count: int, launch: Callable[[Any, Any], object]) -> float:
    """Return the time of one launch, in microseconds, of as many in each of `count` threads at once.

    Each thread has tensors of its own; the threads take the two streams in turn.
    """
    barrier = threading.Barrier(count + 1)

    def work(index: int) -> None:
        x, y = torch.ones(1024, device="cuda"), torch.zeros(1024, device="cuda")
        with torch.cuda.stream(_streams()[index % 2]):
            launch(x, y)
            torch.cuda.synchronize()
            barrier.wait()
            for _ in range(LAUNCHES):
                launch(x, y)
        barrier.wait()

    threads = [threading.Thread(target=work, args=(index,)) for index in range(count)]
    for thread in threads:
        thread.start()
    barrier.wait()
    before = time.perf_counter_ns()
    barrier.wait()
    elapsed = time.perf_counter_ns() - before
    for thread in threads:
        thread.join()
    torch.cuda.synchronize()
    return elapsed / (count * LAUNCHES) / 1e3


def _threads(kernel: Any, rounds: int | None) -> Result:
    @cache
    def cpp() -> Callable[[Any, Any], object]:
        operator = pytorch_extension().saxpy.default
        return lambda x, y: operator(RATE, x, y)

    @cache
    def ours() -> Callable[[Any, Any], object]:
        return lambda x, y: kernel.launch(4, 256, RATE, x, y, 1024)

    contenders: dict[str, Callable[[], float]] = {}
    for name, launch in ((CPP, cpp), (LAUNCH, ours)):
        contenders[f"{name}, 1 thread"] = lambda launch=launch: _in_threads(1, launch())  # type: ignore[misc]
        contenders[f"{name}, {THREADS} threads"] = lambda launch=launch: _in_threads(THREADS, launch())  # type: ignore[misc]
    goal = Goal(f"{LAUNCH}, {THREADS} threads", f"{CPP}, {THREADS} threads", 1.5, limit=LIMIT)
    return _with_rate(
        compare(
            f"Launches from {THREADS} threads, on two streams",
            f"The time from the first of {LAUNCHES} launches in each thread to the last, divided by their number. The "
            "threads share a kernel; half of them launch on one stream, half on the other.",
            contenders,
            rounds or 30,
            "µs",
            warm_up=2,
            digits=2,
            goals=[goal],
        )
    )


def _with_rate(result: Result) -> Result:
    """Add the launches per second to a result in microseconds."""
    lines = [["contender", "launches per second"]]
    lines += [[name, f"{1e6 / result.median(name):,.0f}"] for name in result.values]
    return replace(result, details=lines)


def measure(wheel: Path, rounds: int | None = None) -> list[Result]:
    kernel = kernel_of(wheel)
    contenders = {name: _per_launch(prepare) for name, prepare in _steps(kernel).items()}
    step = compare(
        f"A training step of {PARAMETERS} launches",
        f"`parameter += rate * gradient` for {PARAMETERS} parameters of ten sizes, one launch each, to the end of the "
        "last: the time of one launch.",
        contenders,
        rounds or 40,
        "µs",
        warm_up=3,
        digits=2,
        goals=[Goal(LAUNCH, CPP, 1.5, limit=LIMIT)],
    )
    return [_with_rate(step), _threads(kernel, rounds)]


if __name__ == "__main__":
    measure(Path(sys.argv[1]), *map(int, sys.argv[2:]))
