"""Measure a JAX operator beside `jax.numpy.exp`: called from Python, and in a program.

`python benchmarks/jax_operators.py WHEEL [ROUNDS]`: WHEEL is a wheel of `fixtures/saxpy`. The arrays have 1,024
elements. The operator returns a new array; saxpy adds to whatever that contains, which does not matter to its time.

XLA calls an operator's handler, which is in Python. A handler that does nothing shows what the call alone takes.
"""

from __future__ import annotations

import ctypes
import sys
import threading
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from _interleave import compare
from _results import Goal, Result
from launch import kernel_of

import cuda_wheel

__all__ = ["measure"]

OURS, EXP, NOTHING = "the operator", "jax.numpy.exp", "a handler in Python that does nothing"
LIMIT = (
    "XLA launches its own kernels in C++ and calls Python for an operator. A handler that does nothing shows what the "
    "call of Python takes; the rest is to read the addresses of the arrays from XLA's structures, and to launch by "
    "ctypes. The difference between the operator and the operator in `jax.jit` is the function that users call."
)
CALLS = 400
IN_PROGRAM = 50
ELEMENTS = 1024


@cache
def operator_of(wheel: Path) -> Callable[[Any], Any]:
    """Return the operator with a constant factor."""
    return cuda_wheel.jax.operator(
        "benchmarks::saxpy",
        kernel=kernel_of(wheel),
        arguments="a, x, y, n",
        outputs={"y": "x"},
        values={"a": 0.5, "n": lambda x: x.size},
        grid=lambda n: -(-n // 256),
        block=256,
    )


@cache
def doing_nothing() -> tuple[Callable[[Any], Any], list[str]]:
    """Return a function that calls a handler in Python which launches nothing, and a list that has the name of the
    thread in which XLA called the handler, after the first call."""
    import jax
    import jax.ffi

    from cuda_wheel.jax.call_frames import answered_metadata, frame_base, header_version

    version = header_version((Path(jax.ffi.include_dir()) / "xla/ffi/api/c_api.h").read_text())
    threads: list[str] = []

    def handler(frame: int) -> None:
        extension, _ = frame_base(frame)
        if not answered_metadata(extension, version) and not threads:
            is_callers = threading.get_ident() == threading.main_thread().ident
            threads.append("the thread that calls the program" if is_callers else "a thread of XLA's")

    pointer = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)(handler)
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(pointer))  # XLA may call it until the process ends
    capsule = jax.ffi.pycapsule(ctypes.cast(pointer, ctypes.c_void_p))
    for platform in ("CUDA", "cpu"):
        jax.ffi.register_ffi_target("cuda_wheel_benchmark_nothing", capsule, platform=platform, api_version=1)

    def call(x: Any) -> Any:
        return jax.ffi.ffi_call("cuda_wheel_benchmark_nothing", jax.ShapeDtypeStruct(x.shape, x.dtype))(x)

    return jax.jit(call), threads


def microseconds(call: Callable[[Any], Any], calls: int) -> Callable[[], float]:
    """Return a contender that times so many calls in a row, and the end of the last, and returns the time of one."""
    import jax
    import jax.numpy as jnp

    x = jnp.ones(ELEMENTS)

    def contender() -> float:
        call(x).block_until_ready()
        before = time.perf_counter_ns()
        for _ in range(calls - 1):
            call(x)
        jax.block_until_ready(call(x))
        return (time.perf_counter_ns() - before) / calls / 1e3

    return contender


def repeated(call: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Return a program of calls, each of which waits for the one before it."""
    import jax

    def program(x: Any) -> Any:
        for _ in range(IN_PROGRAM):
            x = jax.lax.optimization_barrier(call(x))  # else XLA makes one kernel of all
        return x

    compiled: Callable[[Any], Any] = jax.jit(program)
    return compiled


def measure(wheel: Path, rounds: int | None = None) -> list[Result]:
    """Compare calls from Python, and calls in a program."""
    import jax
    import jax.numpy as jnp

    nothing, threads = doing_nothing()
    nothing(jnp.ones(ELEMENTS)).block_until_ready()
    calls = {
        EXP: jnp.exp,
        "jax.jit(jax.numpy.exp)": jax.jit(jnp.exp),
        OURS: operator_of(wheel),
        "the operator in jax.jit": jax.jit(operator_of(wheel)),
        NOTHING: nothing,
    }
    results = [
        compare(
            "JAX: a call from Python",
            f"One call on 1,024 elements, of {CALLS} in a row. XLA calls the handler in {threads[0]}.",
            {name: microseconds(call, CALLS) for name, call in calls.items()},
            rounds or 40,
            "µs",
            warm_up=3,
            digits=2,
            goals=[Goal(OURS, EXP, 1.3, limit=LIMIT)],
        )
    ]

    def in_program(call: Callable[[Any], Any]) -> Callable[[], float]:
        contender = microseconds(repeated(call), CALLS // IN_PROGRAM)
        return lambda: contender() / IN_PROGRAM

    results.append(
        compare(
            "JAX: a call in a program",
            f"One of {IN_PROGRAM} calls in one program, each of which needs the result of the one before it. XLA may "
            "make a CUDA graph of them, which it launches again without calling Python.",
            {name: in_program(calls[name]) for name in (EXP, OURS)},
            rounds or 40,
            "µs",
            warm_up=3,
            digits=2,
        )
    )
    return results


if __name__ == "__main__":
    measure(Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else None)
