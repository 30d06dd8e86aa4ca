"""Measure builds on many cores, and on a Dask cluster of this machine. `gpu.py` runs it, for its machines have the
cores.

Every build is a whole process, `cuda-wheel build`, with an empty cache. It needs cuda-wheel with a toolchain, and for
the cluster the package distributed; no GPU. Without `gpu.py`: `python benchmarks/cores.py FILE.json [--only dask]`.
"""

from __future__ import annotations

import argparse
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

from cuda_wheel.builder.workers.pool import available_cores

__all__ = ["measure", "measure_dask"]

FILES = 2000
"""One job each."""
CLUSTER_FILES, CLUSTER_KERNELS, TARGETS = 250, 6, ("75-real", "80-real", "90-real", "87-virtual")
"""1,000 jobs: one for each file and target."""
WORKERS = (8, 4, 2, 1)
"""From the shortest build to the longest, so that one that is too long is known early."""
START_SECONDS, BUILD_SECONDS = 60, 240
"""How long a cluster may take to start, and one build."""
BYTECODE = {"PYTHONDONTWRITEBYTECODE": ""}
"""As installed packages have it, also where the sources of this repository are run."""
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
    times: dict[str, list[float]] = {_workers(count): [] for count in sorted(WORKERS)}
    with tempfile.TemporaryDirectory() as scratch:
        project, warm_up = Path(scratch, "project"), Path(scratch, "warm-up")
        scale.make(project, CLUSTER_FILES, CLUSTER_KERNELS, TARGETS)
        scale.make(warm_up, 10, 2, TARGETS)
        alone = _build(project, CUDA_WHEEL_JOBS=str(max(WORKERS)))
        _progress("without a cluster", alone)
        for _ in range(rounds or 1):
            for count in WORKERS:
                name = _workers(count)
                with _cluster(Path(scratch), count) as address:
                    executor = f"dask://{address}"
                    _progress(f"{name}, warm-up", _build(warm_up, CUDA_WHEEL_EXECUTOR=executor))
                    built = _build(project, CUDA_WHEEL_EXECUTOR=executor)
                _progress(name, built)
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
        goals=[Goal(name, first, 1.11, limit="the start of the build, before its first job.") for name in others],
        notes=[f"Without a cluster, with {max(WORKERS)} jobs at a time: {alone.seconds:.1f} s."],
    )
    show(result)
    return [result]


def _workers(count: int) -> str:
    return f"{count} workers" if count > 1 else "1 worker"


def _progress(name: str, built: Built) -> None:
    print(f"{name}: {built.seconds:.1f} s, of which its own process ran {built.own:.1f} s", flush=True)


def _ratio(jobs: Sequence[float], own: Sequence[float]) -> str:
    return f"{sum(jobs) / sum(own):.0f}"


def _build(project: Path, **environ: str) -> Built:
    """Build the images of a project with an empty cache."""
    with tempfile.TemporaryDirectory() as folder:
        output, figures = Path(folder, "out"), Path(folder, "figures")
        environ = BYTECODE | {"CUDA_WHEEL_CACHE_DIR": str(Path(folder, "cache"))} | environ
        try:
            command = [sys.executable, "-c", BUILD, project, output, figures]
            cost = run(command, Path(folder), BUILD_SECONDS, **environ)
        except subprocess.SubprocessError as error:
            raise RuntimeError(f"{error}\n{_end_of(getattr(error, 'stdout', None))}") from error
        own, workers = json.loads(figures.read_text())
        files = sorted(path for path in output.rglob("*") if path.is_file())
        outputs = {path.relative_to(output).as_posix(): sha256(path.read_bytes()).hexdigest() for path in files}
    assert outputs
    return Built(cost.seconds, own, workers, outputs)


def _end_of(output: bytes | None) -> str:
    return (output or b"").decode(errors="replace")[-3000:]


@contextmanager
def _cluster(folder: Path, workers: int) -> Iterator[str]:
    """Yield the address of a scheduler with so many workers. Raises RuntimeError with their output if they do not
    start."""
    place, log = (folder / f"{name}-{time.monotonic_ns()}" for name in ("scheduler.json", "log"))
    common = ["--host", "127.0.0.1", "--no-dashboard", "--scheduler-file", str(place)]
    scheduler = ["distributed.cli.dask_scheduler", "--port", "0", *common]
    worker = ["distributed.cli.dask_worker", "--no-nanny", "--nthreads", "1", "--local-directory", str(folder)]
    environ = os.environ | BYTECODE | {"CUDA_WHEEL_CACHE_DIR": str(folder / "worker-cache")}
    processes: list[subprocess.Popen[bytes]] = []

    def start(command: list[str]) -> None:
        with log.open("ab") as output:
            processes.append(
                subprocess.Popen(
                    [sys.executable, "-m", *command], cwd=folder, env=environ, stdout=output, stderr=output
                )
            )

    try:
        start(scheduler)
        end = time.monotonic() + START_SECONDS
        while not (place.exists() and place.stat().st_size):  # the scheduler opens it, then writes once
            if processes[0].poll() is not None or time.monotonic() > end:
                raise RuntimeError(f"the scheduler does not start:\n{_end_of(log.read_bytes())}")
            time.sleep(0.05)
        for _ in range(workers):
            start([*worker, *common])
        from distributed import Client

        address = json.loads(place.read_text())["address"]
        try:
            with Client(address, timeout=START_SECONDS) as client:
                client.wait_for_workers(workers, timeout=START_SECONDS)
        except (OSError, TimeoutError) as error:
            raise RuntimeError(f"the workers do not start ({error}):\n{_end_of(log.read_bytes())}") from error
        yield address.removeprefix("tcp://")
    finally:
        for process in processes:
            process.kill()
            process.wait()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("output", type=Path, help="the JSON file to write")
    sections = {"cores": measure, "dask": measure_dask}
    parser.add_argument("--only", choices=sections, nargs="+", default=list(sections))
    arguments = parser.parse_args()
    used, results = (
        versions("cuda-wheel", "distributed"),
        [each for name in arguments.only for each in sections[name]()],
    )
    Report("Builds on many cores", "benchmarks/cores.py", machine(), used, results).write(arguments.output)


if __name__ == "__main__":
    main()
