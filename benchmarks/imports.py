"""Measure the time of imports on top of Python's own start: `python benchmarks/imports.py [ROUNDS]`.

The first comparison is `import cuda_wheel`. The second shows what imports inside functions save: each contender adds
a module to the imports at the start that cuda-wheel imports only when a function first needs it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

from _interleave import compare
from _process import run
from _results import Goal, Result

__all__ = ["measure"]

LOADING = "import cuda_wheel.runtime.loading"
IMPORTS = {"Python alone": "pass", "import cuda_wheel": "import cuda_wheel"}
EARLY_IMPORTS = {
    "cuda_wheel.runtime.loading": LOADING,
    "and launching": f"{LOADING}, cuda_wheel.runtime.launching",
    "and linking": f"{LOADING}, cuda_wheel.runtime.parts.linking.link",
    "and attaching": f"{LOADING}, cuda_wheel.runtime.parts.attach",
    "and the JIT's options": f"{LOADING}, cuda_wheel.runtime.jit",
    "and cuda.bindings' driver": f"{LOADING}, cuda.bindings.driver",
    "and nvJitLink's bindings": f"{LOADING}, cuda.bindings.nvjitlink",
    "and cuda.pathfinder": f"{LOADING}, cuda.pathfinder",
    "and rich": f"{LOADING}, rich.console, rich.table",
}
"""Programs that import the loader's core, and one module more that it imports at first use."""


def measure(rounds: int | None = None) -> list[Result]:
    goal = Goal(
        "import cuda_wheel", "Python alone", more=5, limit="the modules of the standard library that it imports."
    )
    about = "Each contender is a whole process, which ends after the import."
    return [
        compare("Import", about, _contenders(IMPORTS), rounds or 30, goals=[goal], warm_up=3),
        compare(
            "Imports at first use",
            f"{about} The differences are what imports inside functions save a program that does not need the module.",
            _contenders(EARLY_IMPORTS),
            rounds or 30,
            warm_up=3,
        ),
    ]


def _contenders(programs: Mapping[str, str]) -> dict[str, Callable[[], float]]:
    return {name: partial(_milliseconds, program) for name, program in programs.items()}


def _milliseconds(program: str) -> float:
    return run([sys.executable, "-c", program], Path.cwd()).seconds * 1000


if __name__ == "__main__":
    measure(int(sys.argv[1]) if len(sys.argv) > 1 else None)
