"""A project with every kind of step, and a check of its Chrome trace."""

from __future__ import annotations

TABLE = """\
[tool.cuda-wheel]
architectures = ["80", "90-real"]
[[tool.cuda-wheel.module]]
name = "demo.linked"
sources = ["demo/a.cu", "demo/b.cu"]
link = "lto"
"""
FILES = {
    "demo/a.cu": "__device__ int f();\n__global__ void k(int* x) { *x = f(); }\n",
    "demo/b.cu": "__device__ int f() { return 1; }\n",
    "demo/c.cu": "__global__ void c(int* x) { *x = 1; }\n",
    "demo/d.cu": "__global__ void d(int* x) { *x = 1; }\n",
}


def assert_nested(events: list[dict]) -> None:
    """Check that events of one thread are nested or do not overlap; viewers cannot draw anything else."""
    for tid in {event["tid"] for event in events}:
        open_until: list[int] = []
        for event in sorted(
            (event for event in events if event["tid"] == tid), key=lambda event: (event["ts"], -event["dur"])
        ):
            assert event["ts"] >= 0
            assert event["dur"] >= 0
            while open_until and open_until[-1] <= event["ts"]:
                open_until.pop()
            assert not open_until or event["ts"] + event["dur"] <= open_until[-1]
            open_until.append(event["ts"] + event["dur"])
