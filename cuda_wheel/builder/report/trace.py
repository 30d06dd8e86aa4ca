"""Convert the times of a build to a Chrome trace, which Perfetto (https://ui.perfetto.dev) and chrome://tracing show.

Format: "Trace Event Format",
https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from cuda_wheel.builder.timing import Span, Step
from cuda_wheel.builder.toolchain.headers import taken_files
from cuda_wheel.builder.toolchain.toolchain import Toolchain

__all__ = ["chrome_trace"]


def chrome_trace(steps: Sequence[Step], toolchain: Toolchain | None = None) -> dict[str, Any]:
    """Return the trace of a build as a JSON object; times are in microseconds since the first step began.

    Each worker is a thread; thread 0 is the build's own process, which looks up the cache. The event of a step contains
    the events of its phases. The name of a failed step ends in "failed". The paths of the `toolchain` are metadata of
    the trace.
    """
    steps = sorted(steps, key=lambda step: step.times.began)
    workers = ["", *dict.fromkeys(step.times.worker for step in steps if step.times.worker)]
    threads = {worker: number for number, worker in enumerate(workers)}
    origin = min((step.times.start.began if step.times.start else step.times.began for step in steps), default=0.0)
    events = [_thread_name(worker, number) for worker, number in threads.items()]
    events += [_event(span, step, threads[step.times.worker], origin) for step in steps for span in _spans(step)]
    return {"traceEvents": events, "displayTimeUnit": "ms", "otherData": taken_files(toolchain) if toolchain else {}}


def _thread_name(worker: str, number: int) -> dict[str, Any]:
    name = f"worker {worker}" if worker else "build"
    return {"ph": "M", "name": "thread_name", "pid": 1, "tid": number, "args": {"name": name}}


def _spans(step: Step) -> Iterator[Span]:
    """Yield the time spans that a trace shows for a step: the start of its worker process if this was the worker's
    first step, the step itself, and each of its phases."""
    if step.times.start:
        yield step.times.start
    sources = ", ".join(step.sources) if step.target else step.module
    name = " ".join(filter(None, (sources, step.target, "failed" if step.how == "failed" else "")))
    yield Span(name, step.times.began, step.times.ended)
    yield from step.times.phases


def _event(span: Span, step: Step, thread: int, origin: float) -> dict[str, Any]:
    # Both ends are rounded, not the duration: then adjacent events do not overlap, and nested events stay nested.
    began, ended = (round((time - origin) * 1e6) for time in (span.began, span.ended))
    args = {"module": step.module, "source": ", ".join(step.sources), "target": step.target, "how": step.how}
    return {"ph": "X", "name": span.name, "pid": 1, "tid": thread, "ts": began, "dur": ended - began, "args": args}
