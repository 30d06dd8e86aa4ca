"""Measure calls of PyTorch operators that are Python functions, beside the C++ extension that they replace.

`python benchmarks/torch_functions.py WHEEL [ROUNDS]`: WHEEL is a wheel of `examples/torch_functions`. Both run the same
kernels on small arrays, so that the time is the host's. The extension needs nvcc, Ninja and a host compiler.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from functools import cache, partial
from pathlib import Path
from typing import Any

import torch
from _interleave import compare
from _kernels import FIXTURES
from _results import Goal, Result
from launch import LAUNCHES, microseconds
from startup import installed

__all__ = ["measure"]

OURS, CPP = "a Python function", "C++ extension"
SOURCE = FIXTURES.parent / "examples/torch_functions/src/torch_functions_demo/extension.cu"

CASES: dict[str, tuple[str, float, Callable[[], tuple[Any, ...]]]] = {
    "nearest": ("one launch, chosen by type and dimensions", 1.5, lambda: (_rand(64, 3), _rand(64, 3))),
    "blend": (
        "one launch, with a number of half precision and a null pointer",
        1.5,
        lambda: (_rand(64).half(), None, 0.5),
    ),
    "row_sums": ("one launch, with accessors by value", 1.5, lambda: (_rand(32, 32),)),
    "dropout": ("one launch, with two outputs and a random state", 1.5, lambda: (_rand(64), 0.5, True)),
    "scale_all": (
        "one launch, with a list of eight tensors in a struct",
        1.5,
        lambda: ([_rand(64) for _ in range(8)], 1.0),
    ),
    "normalise": ("two launches, and two operations of PyTorch", 1.25, lambda: (_rand(64),)),
    "above": ("two launches, a prefix sum, and a size read back", 1.25, lambda: (_rand(64), 0.0)),
}
"""Function -> what a call does, the goal as a multiple of the extension's time, and its arguments."""


def _rand(*shape: int) -> Any:
    return torch.randn(*shape, device="cuda")


@cache
def extension() -> Any:
    """Build the C++ extension, once for each process, as setuptools' builds of extensions do."""
    from torch.utils.cpp_extension import load

    major, minor = torch.cuda.get_device_capability()
    os.environ["TORCH_CUDA_ARCH_LIST"] = f"{major}.{minor}"
    folder = tempfile.mkdtemp()
    flags = ["-O3", "-DNDEBUG"]
    return load("torch_functions_cpp", [str(SOURCE)], flags, flags, build_directory=folder)


def measure(wheel: Path, rounds: int | None = None) -> Iterator[Result]:
    with installed(wheel) as site:
        sys.path.insert(0, str(site))
        try:
            yield from map(partial(_measured, rounds=rounds), CASES)
        finally:
            sys.path.remove(str(site))


def _measured(name: str, rounds: int | None) -> Result:
    what, goal, arguments = CASES[name]

    def ours() -> Any:
        import torch_functions_demo

        return torch_functions_demo

    def calls(functions: Callable[[], Any]) -> Callable[[], float]:
        return microseconds(lambda: partial(getattr(functions(), name), *arguments()))

    contenders = {OURS: calls(ours), CPP: calls(extension)}
    about = f"The host's time for one call, of {LAUNCHES} in a row: {what}."
    goals = [Goal(OURS, CPP, goal)]
    return compare(f"A host function: {name}", about, contenders, rounds or 40, "µs", warm_up=3, digits=2, goals=goals)


if __name__ == "__main__":
    list(measure(Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else None))
