"""Time files of the corpus beside their kernels alone: `python benchmarks/third_party/alone.py RESULT.json [KEY ...]`.

`kernels_alone.toml` says which lines of a file, and of its project's headers, are host code. Without them, and with the
template instances that the file launches named in `instantiate`, it is a file of the same kernels that was written
without host code. Both are compiled with the options of the package's build for the targets of `TARGETS`, in turn, on
one core. Each compilation has a new worker process, which has compiled another file: nothing is kept of the file itself
from an earlier round. The processor time of the file's jobs counts. KEY selects files whose names contain it.

Both must have the same kernels; how many have the same instructions is counted. It needs cuobjdump and nvdisasm.

Options: --corpus FOLDER (default: what fetch.py writes), --rounds N, --cuobjdump PATH.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from resource import RUSAGE_CHILDREN, RUSAGE_SELF, getrusage
from typing import Any

import tomllib

sys.path.insert(0, str(Path(__file__).parents[1]))
sys.path.insert(0, str(Path(__file__).parents[2]))  # run from a checkout, without installing it

from _interleave import compare
from _results import Goal, Report, Result, collect, machine, versions
from corpus import CORPUS, Source, packages, sources
from machine_code import Code, instructions, likeness, plain_name
from measure import settings_of

from cuda_wheel.builder.compile.job import compile_job
from cuda_wheel.builder.config.settings import Config
from cuda_wheel.builder.cxx.demangling import signature
from cuda_wheel.builder.jobs import Compiled, Job
from cuda_wheel.builder.plan import make_plan
from cuda_wheel.builder.sources.layout import WheelFile
from cuda_wheel.builder.sources.modules import select
from cuda_wheel.builder.toolchain.find import find_toolchain
from cuda_wheel.builder.toolchain.toolchain import Toolchain
from cuda_wheel.builder.workers.pool import Workers

__all__ = ["File", "details_of", "files", "measured"]

WITH, ALONE = "with host code", "kernels alone"
TARGETS = ("80", "90-real", "120-real")
"""Machine code for three architectures, and PTX for the first."""
ABOUT = "Seconds of a core for the machine code of sm_80, sm_90 and sm_120, and PTX of compute_80."
LIST = Path(__file__).parent / "kernels_alone.toml"
WARM_UP = b"""#include <torch/extension.h>
__global__ void fill(float* x) { x[threadIdx.x] = 1; }
void launch(torch::Tensor x) { fill<<<1, 256>>>(x.data_ptr<float>()); }
"""


@dataclass(frozen=True)
class File:
    """A file of the corpus, and how it differs from its kernels alone."""

    key: str
    left_out: Mapping[str, Sequence[Sequence[int]]]
    """The host code in the file and in headers of its project: the first and the last line of each piece, by path."""
    instead: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """Lines in the place of the first lines left out, for what the kernels use of the headers left out; by path."""

    def write_alone(self, home: Path) -> None:
        """Leave host code out of the files in a copy of the project. All other lines keep their numbers."""
        for path, pieces in self.left_out.items():
            lines = (home / path).read_bytes().split(b"\n")
            free = [number - 1 for first, last in pieces for number in range(first, last + 1)]
            instead = [line.encode() for line in self.instead.get(path, ())]
            for number, line in zip(free, [*instead, *[b""] * (len(free) - len(instead))], strict=True):
                lines[number] = line
            (home / path).write_bytes(b"\n".join(lines))


def files() -> list[File]:
    """Return the files of the list."""
    return [File(**table) for table in tomllib.loads(LIST.read_text(encoding="utf-8"))["file"]]


def jobs_of(source: Source, home: Path, toolchain: Toolchain, more: Mapping[str, Any] | None = None) -> list[Job]:
    """Return the jobs that compile a file in a copy of its project, with more settings for its module."""
    table = settings_of(source, home, settings=False, architectures=TARGETS)
    table["module"][0].update(more or {})
    config = Config.from_table(table)
    with tempfile.TemporaryDirectory() as scratch:
        package = Path(scratch, "__init__.py")
        package.touch()
        modules = select(config, home, [WheelFile(package, "corpus/__init__.py")])
        return make_plan(config, modules, home, toolchain, lambda: ()).modules[0].jobs


def names_of(symbols: Sequence[str]) -> list[str]:
    """Return the names of kernels that are compiled only if something names them."""
    named = ((symbol, signature(symbol).name) for symbol in symbols)
    return [name for symbol, name in named if "<" in name or plain_name(symbol) != symbol]


def compiled(jobs: Sequence[Job]) -> tuple[float, list[Compiled]]:
    """Return the seconds of a core that jobs take in a warm worker process, and their results."""

    def seconds() -> float:
        usages = [workers.submit(getrusage, who).result() for who in (RUSAGE_SELF, RUSAGE_CHILDREN)]
        return sum(usage.ru_utime + usage.ru_stime for usage in usages)

    with Workers(timeout=600, memory=8 << 30, count=1) as workers:
        workers.submit(compile_job, replace(jobs[0], text=WARM_UP, instantiate=())).result()
        began = seconds()
        results = [workers.submit(compile_job, job).result() for job in jobs]
        return seconds() - began, results


def measured(file: File, source: Source, toolchain: Toolchain, options: argparse.Namespace) -> Result:
    """Compile a file and its kernels alone in turn."""
    made: dict[str, list[Compiled]] = {}

    def timed(which: str, jobs: Sequence[Job]) -> float:
        seconds, made[which] = compiled(jobs)
        return seconds

    with tempfile.TemporaryDirectory() as scratch:
        home, alone = source.package.home(options.corpus).resolve(), Path(scratch, "alone").resolve()
        shutil.copytree(home, alone, ignore=shutil.ignore_patterns(".git"))
        file.write_alone(alone)
        whole = jobs_of(source, home, toolchain)
        instances = names_of(list(compiled(whole[:1])[1][0].kernels))
        kernels = jobs_of(source, alone, toolchain, {"instantiate": instances})
        contenders = {ALONE: lambda: timed(ALONE, kernels), WITH: lambda: timed(WITH, whole)}
        goals = [Goal(WITH, ALONE, 1.2)]
        result = compare(file.key, ABOUT, contenders, options.rounds, "s", warm_up=0, digits=2, goals=goals)
        details = details_of(made[WITH], made[ALONE], lambda result: _codes(result, Path(scratch), options.cuobjdump))
    return replace(result, details=details)


def details_of(
    whole: Sequence[Compiled], alone: Sequence[Compiled], codes_of: Callable[[Compiled], dict[str, Code]]
) -> list[list[str]]:
    """Return how many kernels there are and how many are identical, as a table; raises ValueError for other kernels.

    The string literals and tables of both may be in another order, so that their addresses differ.
    """
    found: Counter[str] = Counter()
    for one, other in zip(map(codes_of, whole), map(codes_of, alone), strict=True):
        if one.keys() != other.keys():
            raise ValueError(f"other kernels without host code: {sorted(one.keys() ^ other.keys())}")
        found.update(likeness(code, other[name]) for name, code in one.items())
    if found["different"]:
        raise ValueError(f"{found['different']} kernels have other instructions without host code")
    counts = len(whole[0].kernels), found["identical"], found.total()
    return [["kernels", "identical", "compared"], list(map(str, counts))]


def _codes(result: Compiled, folder: Path, cuobjdump: str) -> dict[str, Code]:
    """Return the instructions of each kernel."""
    (folder / "cubin").write_bytes(result.cubin or b"")
    code = instructions(folder / "cubin", cuobjdump)
    return {name: code[name] for name in map(plain_name, result.kernels)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("result", type=Path)
    parser.add_argument("keys", nargs="*")
    parser.add_argument("--corpus", type=Path, default=CORPUS)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--cuobjdump", default="cuobjdump")
    options = parser.parse_intermixed_args()
    listed = {each.key: each for each in sources(packages())}
    toolchain = find_toolchain(None)

    def every() -> Iterator[Result]:
        for file in files():
            if not options.keys or any(key in file.key for key in options.keys):
                yield measured(file, listed[file.key], toolchain, options)

    command = "python benchmarks/third_party/alone.py"
    found = versions("nvidia-cuda-nvrtc-cu12", "nvidia-cuda-nvrtc")
    report = Report("Files and their kernels alone", command, machine(), found)
    collect(report, {"files": every}, (), options.result)


if __name__ == "__main__":
    main()
