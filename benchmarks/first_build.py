"""Measure builds with an empty cache, compared with nvcc run by Ninja, with CMake run by scikit-build-core, and with
the time of the jobs alone. `cpu.py` runs it."""

from __future__ import annotations

import json
import tempfile
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

from _interleave import compare, show
from _kernels import SOURCES, TARGETS, make_project
from _peers import Peers, cmake_project, ninja_project
from _process import Cost, build_wheel
from _results import Goal, Result

from cuda_wheel.builder.workers.pool import available_cores

__all__ = ["measure"]

OURS = "cuda-wheel"
NINJA = "nvcc, Ninja"
CMAKE = "nvcc, CMake, scikit-build-core"
JOBS = "the jobs' own times ÷ cores"
ROUNDS = 4


def measure(peers: Peers, rounds: int | None = None) -> list[Result]:
    rounds, cores = rounds or ROUNDS, available_cores()
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        trace, output = folder / "trace.json", folder / "out"
        ours, with_cmake = make_project(folder / "ours"), cmake_project(folder / "cmake")

        # Try every setting of nvcc and Ninja once and compare with the fastest.
        settings: dict[str, tuple[Path, int, float]] = {}
        for jobs, threads in dict.fromkeys([(cores, 1), (1, cores), (cores, 0)]):
            project = ninja_project(folder / f"ninja-{jobs}-{threads}", peers.nvcc, threads)
            seconds = peers.run_ninja(project, jobs).seconds
            settings[f"`-j{jobs}` and `--threads {threads}`"] = project, jobs, seconds
        best = min(settings, key=lambda name: settings[name][2])
        tried = ", ".join(f"{name} {seconds:.1f} s" for name, (_, _, seconds) in settings.items())
        alone = _ninja_seconds(folder / f"ninja-{cores}-1")

        costs: dict[str, list[Cost]] = defaultdict(list)
        busy: list[float] = []

        def recorded(name: str, run: Callable[[], Cost]) -> Callable[[], float]:
            def contender() -> float:
                costs[name].append(run())
                return costs[name][-1].seconds

            return contender

        def build() -> Cost:
            cost = build_wheel(ours, output, CUDAARCHS=TARGETS, CUDA_WHEEL_TIMINGS=str(trace))
            busy.append(sum(_job_seconds(trace).values()) / cores)
            return cost

        whole = compare(
            "The first build",
            f"The {len(SOURCES)} kernels of the fixtures that need no linking, for 6 GPUs and with PTX: each build "
            "is a whole process with empty caches. `cuda-wheel` and CMake build a wheel, Ninja only the fatbins.",
            {
                NINJA: recorded(NINJA, lambda: peers.run_ninja(*settings[best][:2])),
                OURS: recorded(OURS, build),
                CMAKE: recorded(CMAKE, lambda: peers.run_cmake(with_cmake, output)),
            },
            rounds,
            "s",
            digits=2,
            goals=[
                Goal(
                    OURS,
                    NINJA,
                    times=0.95,
                    limit="the compiler's front end, which runs for each target.",
                )
            ],
            notes=[f"nvcc and Ninja run with the fastest of these settings, each tried once: {tried}."],
        )
        ours_alone, timeline = _job_seconds(trace), _timeline(trace, whole.values[OURS][-1])
    details = [["file", "nvcc, s", "cuda-wheel, s"]]
    details += [[name, f"{alone[name]:.2f}", f"{ours_alone[f'demo.{name}']:.2f}"] for name in SOURCES]
    processors = Result(
        "The first build: processors' time",
        "User and system time of all processes in the same runs. The second table has the seconds for each file, "
        "one target after the other: for nvcc with one thread, and for our jobs, while the other cores were busy "
        "too.",
        "s",
        {name: [cost.cpu for cost in costs[name][-rounds:]] for name in whole.values},
        NINJA,
        digits=2,
        details=details,
    )
    schedule = Result(
        "The first build: the schedule",
        "The whole process in the same runs, compared with the time of its compiling, linking, lowering and "
        "bundling divided by the number of cores. The second table is the timeline of the last of them.",
        "s",
        {JOBS: busy[-rounds:], OURS: whole.values[OURS]},
        JOBS,
        digits=2,
        details=timeline,
        goals=[
            Goal(
                OURS,
                JOBS,
                times=1.06,
                limit=(
                    "hatchling, the start of the workers with their compilers, and idle cores at the end, because "
                    "a job cannot be divided."
                ),
            )
        ],
    )
    show(processors)
    show(schedule)
    return [whole, processors, schedule]


def _job_events(trace: Path) -> list[dict[str, Any]]:
    """Read the workers' steps from a build's trace, without the start of the workers and without phases."""
    events: list[dict[str, Any]] = json.loads(trace.read_text())["traceEvents"]
    work = [event for event in events if event["ph"] == "X" and event["tid"] and event["name"] != "starting"]
    steps = []
    ended: dict[int, int] = defaultdict(int)
    for event in sorted(work, key=lambda event: (event["ts"], -event["dur"])):
        if event["ts"] + event["dur"] > ended[event["tid"]]:  # otherwise it is a phase inside a step
            ended[event["tid"]] = event["ts"] + event["dur"]
            steps.append(event)
    return steps


def _job_seconds(trace: Path) -> dict[str, float]:
    """Read the workers' seconds for each module from a build's trace."""
    seconds: dict[str, float] = defaultdict(float)
    for event in _job_events(trace):
        seconds[event["args"]["module"]] += event["dur"] / 1e6
    return seconds


def _timeline(trace: Path, whole: float) -> list[list[str]]:
    """Return the parts of a build that took `whole` seconds, as a table. The trace begins with the first worker."""
    steps = _job_events(trace)
    ends = {step["tid"]: (step["ts"] + step["dur"]) / 1e6 for step in steps}
    first, idle, last = min(step["ts"] for step in steps) / 1e6, min(ends.values()), max(ends.values())
    parts = {
        "Python, hatchling and the settings, before the first worker starts; the wheel, after the last one is done": (
            whole - last
        ),
        "the first worker starts and searches for the toolchain, while the others load the compilers; the plan": first,
        "all workers run jobs": idle - first,
        "some workers have no more job": last - idle,
    }
    return [["part", "s"], *([part, f"{seconds:.2f}"] for part, seconds in parts.items())]


def _ninja_seconds(folder: Path) -> dict[str, float]:
    """Read the seconds for each output from Ninja's log. Its format: start and end (ms), time, output, hash."""
    seconds = {}
    for line in (folder / ".ninja_log").read_text().splitlines()[1:]:
        start, end, _, output, _ = line.split("\t")
        seconds[Path(output).stem] = (int(end) - int(start)) / 1000
    return seconds
