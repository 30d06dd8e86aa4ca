"""Measure builds on many cores, and on a Dask cluster of this machine. `gpu.py` runs it, for its machines have the
cores.

Every build is a whole process, `cuda-wheel build`, with an empty cache. It needs cuda-wheel with a toolchain, and for
the cluster the package distributed; no GPU. Without `gpu.py`: `python benchmarks/cores.py FILE.json`.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

import scale
from _interleave import show
from _process import run
from _results import Goal, Report, Result, machine, versions

from cuda_wheel.builder.workers.cores import available_cores

__all__ = ["measure", "measure_dask"]

FILES = 2000
"""One job each."""
CLUSTER_FILES, CLUSTER_KERNELS, TARGETS = 250, 12, ("75-real", "80-real", "90-real", "87-virtual")
"""1,000 jobs: one for each file and target."""
WORKERS = (1, 2, 4, 8)
BUILD = """
import json, resource, sys
from cuda_wheel.cli.main import main
status = main(["build", sys.argv[1], "-o", sys.argv[2]])
usages = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
print(json.dumps([usage.ru_utime + usage.ru_stime for usage in usages]), file=open(sys.argv[3], "w"))
sys.exit(status)
"""


class Built(NamedTuple):
    """One build."""

    seconds: float
    own: float
    """The processors' time of the build's own process, in seconds."""
    workers: float
    """The same of its workers."""
    outputs: dict[str, str]
    """The SHA-256 of each output."""


def measure(rounds: int | None = None) -> list[Result]:
    """Measure a build of many files on more and more cores."""
    most = available_cores()
    counts = [count for count in (2, 4, 8, 16, 32, 64) if count < most] + [most]
    times: dict[str, list[float]] = {f"{count} cores": [] for count in counts}
    own: dict[str, list[float]] = {name: [] for name in times}
    jobs: dict[str, list[float]] = {name: [] for name in times}
    with tempfile.TemporaryDirectory() as scratch:
        project = Path(scratch, "project")
        scale.make(project, FILES, 1, ("80-real",))
        outputs: set[str] = set()
        for _ in range(rounds or 1):
            for count, name in zip(counts, times, strict=True):
                built = _build(project, CUDA_WHEEL_JOBS=str(count))
                times[name].append(built.seconds * count)
                own[name].append(1000 * built.own / FILES)
                jobs[name].append(1000 * built.workers / FILES)
                outputs.add(json.dumps(built.outputs, sort_keys=True))
    assert len(outputs) == 1, "the outputs depend on the number of cores"
    first, last = f"{counts[0]} cores", f"{counts[-1]} cores"
    title = f"A build of {FILES:,} files"
    results = [
        Result(
            f"{title}: cores",
            "Wall-clock time multiplied by the number of cores: if it stays the same, twice the cores take half the "
            "time. A small kernel for each file and one target each: many short jobs.",
            "s",
            times,
            first,
            goals=[Goal(last, first, 1.11, limit="cores that share caches and clocks, and the build's own process.")],
        ),
        Result(
            f"{title}: the build's own process",
            "The processors' time that it takes for each job, to plan, to send jobs to workers, to hash and describe "
            "their results. It runs on about one core, so the ratio of these two tables is the number of cores from "
            f"which it is the bound: {_ratio(jobs[last], own[last])} here.",
            "ms",
            own,
            digits=3,
        ),
        Result(f"{title}: its workers", "Likewise.", "ms", jobs, digits=2),
    ]
    for result in results:
        show(result)
    return results


def measure_dask(rounds: int | None = None) -> list[Result]:
    """Measure a build on Dask clusters of more and more worker processes."""
    times: dict[str, list[float]] = {f"{count} workers": [] for count in WORKERS}
    with tempfile.TemporaryDirectory() as scratch:
        project, warm_up = Path(scratch, "project"), Path(scratch, "warm-up")
        scale.make(project, CLUSTER_FILES, CLUSTER_KERNELS, TARGETS)
        scale.make(warm_up, 10, 2, TARGETS)
        alone = _build(project, CUDA_WHEEL_JOBS=str(max(WORKERS)))
        for _ in range(rounds or 1):
            for count, name in zip(WORKERS, times, strict=True):
                with _cluster(Path(scratch), count) as address:
                    _build(warm_up, CUDA_WHEEL_EXECUTOR=f"dask://{address}")
                    built = _build(project, CUDA_WHEEL_EXECUTOR=f"dask://{address}")
                assert built.outputs == alone.outputs, "the cluster's outputs differ from those of this machine"
                times[name].append(built.seconds * count)
    first, *others = times
    result = Result(
        "A Dask cluster",
        f"{CLUSTER_FILES * len(TARGETS):,} jobs of {CLUSTER_KERNELS} small kernels: wall-clock time of the whole "
        "build multiplied by the number of worker processes, of one thread each, on the same machine. The outputs are "
        "those of a build without a cluster, byte for byte.",
        "s",
        times,
        first,
        goals=[
            Goal(name, first, 1.11, limit="the build's own process, which packs and checks all calls.")
            for name in others
        ],
        notes=[f"Without a cluster, with {max(WORKERS)} jobs at a time: {alone.seconds:.1f} s."],
    )
    show(result)
    return [result]


def _ratio(jobs: Sequence[float], own: Sequence[float]) -> str:
    return f"{sum(jobs) / sum(own):.0f}"


def _build(project: Path, **environ: str) -> Built:
    """Build the images of a project with an empty cache."""
    with tempfile.TemporaryDirectory() as folder:
        output, figures = Path(folder, "out"), Path(folder, "figures")
        environ = {"CUDA_WHEEL_CACHE_DIR": str(Path(folder, "cache"))} | environ
        cost = run([sys.executable, "-c", BUILD, project, output, figures], Path(folder), **environ)
        own, workers = json.loads(figures.read_text())
        files = sorted(path for path in output.rglob("*") if path.is_file())
        outputs = {path.relative_to(output).as_posix(): sha256(path.read_bytes()).hexdigest() for path in files}
    assert outputs
    return Built(cost.seconds, own, workers, outputs)


@contextmanager
def _cluster(folder: Path, workers: int) -> Iterator[str]:
    """Yield the address of a scheduler with so many workers."""
    place = folder / f"scheduler-{time.monotonic_ns()}.json"
    common = ["--host", "127.0.0.1", "--no-dashboard", "--scheduler-file", str(place)]
    commands = [["distributed.cli.dask_scheduler", "--port", "0", *common]]
    worker = ["--no-nanny", "--nthreads", "1", "--local-directory", str(folder), *common]
    commands += [["distributed.cli.dask_worker", *worker]] * workers
    environ = os.environ | {"CUDA_WHEEL_CACHE_DIR": str(folder / "worker-cache")}
    processes = []
    try:
        for command in commands:
            processes.append(
                subprocess.Popen(
                    [sys.executable, "-m", *command],
                    cwd=folder,
                    env=environ,
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                )
            )
            while not place.exists():
                if processes[0].poll() is not None:
                    raise RuntimeError("the scheduler has ended: is the package distributed complete?")
                time.sleep(0.05)
        from distributed import Client

        address = json.loads(place.read_text())["address"]
        with Client(address) as client:
            client.wait_for_workers(workers, timeout=60)
        yield address.removeprefix("tcp://")
    finally:
        for process in processes:
            process.kill()
            process.wait()


def main() -> None:
    used, results = versions("cuda-wheel", "distributed"), [*measure(), *measure_dask()]
    Report("Builds on many cores", "benchmarks/cores.py", machine(), used, results).write(Path(sys.argv[1]))


if __name__ == "__main__":
    main()
