"""Time of `import cuda_wheel` over Python's own start: `python benchmarks/imports.py [ROUNDS]`."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

from _interleave import compare
from _process import run
from _results import Goal, Result

__all__ = ["measure"]


def measure(rounds: int | None = None) -> list[Result]:
    def milliseconds(program: str) -> float:
        return run([sys.executable, "-c", program], Path.cwd()).seconds * 1000

    contenders: dict[str, Callable[[], float]] = {
        "Python alone": partial(milliseconds, "pass"),
        "import cuda_wheel": partial(milliseconds, "import cuda_wheel"),
    }
    goal = Goal("import cuda_wheel", "Python alone", more=5, limit="what of Python's own library it imports.")
    about = "A whole process each, which ends at once."
    return [compare("Import", about, contenders, rounds or 30, goals=[goal], warm_up=3)]


if __name__ == "__main__":
    measure(int(sys.argv[1]) if len(sys.argv) > 1 else None)
