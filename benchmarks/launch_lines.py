"""Measure each line of the function that launches a kernel: `python benchmarks/launch_lines.py WHEEL [ROUNDS]`.

WHEEL is a wheel of `fixtures/saxpy`. The function is cut after each of its lines in turn; the time of a line is the
difference of two cuts. The benchmark needs a GPU.
"""

from __future__ import annotations

import ast
import ctypes
import io
import os
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import redirect_stderr
from itertools import pairwise
from pathlib import Path
from typing import Any
from unittest.mock import patch

from _interleave import show
from _results import Result
from launch import BLOCK, GRID, addresses, kernel_of

from cuda_wheel.runtime.launching import launcher_of

__all__ = ["measure"]

CALLS = 2000
WIDTH = 110
DRIVER, CTYPES = "the driver", "ctypes, for a C function that does nothing"


def measure(wheel: Path, rounds: int | None = None) -> list[Result]:
    return [lines_of(kernel_of(wheel), rounds or 60)]


def lines_of(kernel: Any, rounds: int) -> Result:
    """Return the time of each line of `kernel.launch`, for addresses and NumPy's numbers."""
    launcher = launcher_of(kernel)
    arguments = addresses()
    for _ in range(3):  # the function remembers the configuration and the types of earlier launches
        launcher.launch(GRID, BLOCK, *arguments)
    namespace = dict(launcher.functions.namespace)  # before the function is generated again, which forgets
    lines, functions = _cuts(_source(launcher), namespace)
    nothing = ctypes.PyDLL(None)._Py_IsFinalizing if sys.version_info < (3, 13) else ctypes.PyDLL(None).Py_IsFinalizing
    does_nothing = ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.cast(nothing, ctypes.c_void_p).value)
    slot = namespace["last"][3][0]

    calls: list[Callable[[], object]] = [_empty, *(_call(function, arguments) for function in functions)]
    calls.append(lambda: does_nothing(*slot.call))
    times: list[list[float]] = [[] for _ in calls]
    for round_ in range(rounds + 1):
        for call, measured in zip(calls, times, strict=True):
            elapsed = _nanoseconds(call)
            if round_:  # the first adapts Python's bytecode
                measured.append(elapsed)
    *cumulative, through_ctypes = (statistics.median(each) for each in times)
    through_ctypes -= cumulative[0]
    spent = [after - before for before, after in pairwise(cumulative)]
    details, driver = [["line", "ns"]], 0.0
    for line, elapsed in zip(lines, spent, strict=True):
        if "launch_kernel" in line:
            driver = elapsed - through_ctypes
            details.append([f"`{line}`: {CTYPES}", f"{through_ctypes:.0f}"])
            details.append([f"`{line}`: {DRIVER}", f"{driver:.0f}"])
        else:
            details.append([f"`{line}`", f"{max(elapsed, 0):.0f}"])
    total = cumulative[-1] - cumulative[0]
    result = Result(
        "A launch: where the time goes",
        "`kernel.launch` of `fixtures/saxpy` with addresses and NumPy's numbers, line by line, in the order of the "
        "function that cuda-wheel generates. Each time is the difference of two medians; a few nanoseconds are noise.",
        "ns",
        {"kernel.launch": [total], "of that, the driver": [driver], "ctypes": [through_ctypes]}
        | {"the rest, Python": [total - driver - through_ctypes]},
        "kernel.launch",
        0,
        details=details,
    )
    show(result)
    return result


def _source(launcher: Any) -> str:
    """Return the source of the launch function, as CUDA_WHEEL_PRINT_GENERATED=1 prints it."""
    printing = {"CUDA_WHEEL_PRINT_GENERATED": "1"}
    with patch.dict(os.environ, printing), redirect_stderr(io.StringIO()) as printed:
        launcher.functions.launch()
    return printed.getvalue()


def _cuts(source: str, namespace: dict[str, Any]) -> tuple[list[str], list[Callable[..., Any]]]:
    """Return the lines of a launch function, and the function cut after each; the first is its signature alone."""
    (function,) = ast.parse(source).body
    assert isinstance(function, ast.FunctionDef)
    declarations, *statements = function.body
    statements = list(_on_the_way(statements))
    lines, functions = ["the call, with its signature"], [_cut(function, [declarations, ast.Pass()], namespace)]
    taken = False
    for count, statement in enumerate(statements, 1):
        text = ast.unparse(statement).partition("\n")[0]
        lines.append(text if len(text) <= WIDTH else text[:WIDTH] + " …")
        taken = taken or text == "slot = slots.pop()"
        body = [declarations, *statements[:count]]
        if taken and not text.startswith("slots.append"):
            body += ast.parse("slots.append(slot)").body  # or the next call would have to make a slot
        functions.append(_cut(function, body, namespace))
    return lines, functions


def _on_the_way(statements: list[ast.stmt]) -> Iterator[ast.stmt]:
    """Yield the statements of a launch without errors; `try` itself takes no time."""
    for statement in statements:
        if isinstance(statement, ast.Try):
            yield from _on_the_way(statement.body)
        else:
            yield statement


def _cut(function: ast.FunctionDef, body: list[ast.stmt], namespace: dict[str, Any]) -> Callable[..., Any]:
    cut = ast.FunctionDef(
        "cut", function.args, body, [], **({"type_params": []} if sys.version_info >= (3, 12) else {})
    )
    module = ast.fix_missing_locations(ast.Module([cut], []))
    made: dict[str, Any] = {}
    exec(compile(module, "<cut>", "exec"), namespace, made)
    result: Callable[..., Any] = made["cut"]
    return result


def _call(function: Callable[..., Any], arguments: tuple[Any, ...]) -> Callable[[], object]:
    a, x, y, n = arguments
    return lambda: function(GRID, BLOCK, a, x, y, n)


def _empty() -> None:
    """What a call of a function takes that does nothing."""


def _nanoseconds(call: Callable[[], object]) -> float:
    from cuda.bindings import driver

    driver.cuCtxSynchronize()
    total, many = 0, range(400)  # as many launches as the driver's queue holds without waiting
    for _ in range(CALLS // 400):
        before = time.perf_counter_ns()
        for _ in many:
            call()
        total += time.perf_counter_ns() - before
        driver.cuCtxSynchronize()
    return total / CALLS


if __name__ == "__main__":
    measure(Path(sys.argv[1]), *map(int, sys.argv[2:]))
