"""Write the times of a build as a Chrome trace, which Perfetto (https://ui.perfetto.dev) and chrome://tracing show.

Format: "Trace Event Format",
https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from cuda_wheel.builder.timing import Step

__all__ = [
    "chrome_trace",
]


def chrome_trace(steps: Sequence[Step]) -> dict[str, Any]:
    """Return the trace of what a build did, as a JSON object: times in microseconds since its first step began.

    Each worker is a thread, and the build itself, which looks into the cache, is the first. In an event of a step lie
    those of its phases. The name of what failed says so.
    """
    steps = sorted(steps, key=lambda step: step.began)
    workers = ["", *dict.fromkeys(step.worker for step in steps if step.worker)]
    threads = {worker: number for number, worker in enumerate(workers)}
    first = min((step.start.began if step.start else step.began for step in steps), default=0.0)
    events: list[dict[str, Any]] = [
        {
            "ph": "M",
            "name": "thread_name",
            "pid": 1,
            "tid": number,
            "args": {"name": f"worker {worker}" if worker else "build"},
        }
        for worker, number in threads.items()
    ]

    def add(name: str, step: Step, began: float, ended: float) -> None:
        # Each end is rounded by itself: what touches does not overlap, and what is inside stays inside.
        since, until = (round((at - first) * 1e6) for at in (began, ended))
        job = {"module": step.module, "source": ", ".join(step.sources), "target": step.target, "how": step.how}
        place = {"pid": 1, "tid": threads[step.worker]}
        events.append({"ph": "X", "name": name, **place, "ts": since, "dur": until - since, "args": job})

    for step in steps:
        if step.start:
            add(step.start.name, step, step.start.began, step.start.ended)
        what = step.module if not step.target else ", ".join(step.sources)
        failed = "failed" if step.how == "failed" else ""
        add(" ".join(filter(None, (what, step.target, failed))), step, step.began, step.ended)
        for phase in step.phases:
            add(phase.name, step, phase.began, phase.ended)
    return {"traceEvents": events, "displayTimeUnit": "ms"}
