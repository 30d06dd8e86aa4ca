"""Time files beside nvcc: `python benchmarks/third_party/times.py TIMES.json [KEY ...]`.

cuda-wheel builds each file for its default `architectures`, or for those of --architecture, as `measure.py` does, with
one worker and without caches; `nvcc -fatbin` compiles it for the same targets, one after the other. Both run on one
core. Of cuda-wheel, the time of the file's jobs counts, and the whole build with its plan, the start of its worker and
the fatbin is shown too. Only files that both compile count. It needs what `judge.py` needs but cuobjdump. TIMES.json
gets one record for each file, and a summary is printed.

Options: those of `measure.py` (--resume leaves out the files that TIMES.json has), --torch-include and --64-bit as for
`judge.py`. --stop RATIO stops nvcc when it has taken RATIO times as long as cuda-wheel: with PyTorch's headers it takes
minutes for a file that cuda-wheel compiles in seconds.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))  # run from a checkout, without installing it

from corpus import Source
from judge import judging_options, judging_parser, nvcc_arguments
from measure import chosen, first_error, in_parallel, in_process, read_records, run

from cuda_wheel.builder.config.architectures import settle
from cuda_wheel.builder.toolchain.find import find_toolchain


@dataclass(frozen=True)
class Times:
    """How one file was compiled by both."""

    key: str
    ours: str
    nvcc: str
    """"compiled", "stopped" or the first error."""
    seconds: float = 0.0
    """Wall-clock seconds of cuda-wheel's build, without the start of Python."""
    compile_seconds: float = 0.0
    """Those of its jobs."""
    nvcc_seconds: float = 0.0

    @property
    def ratio(self) -> float:
        """The time of cuda-wheel's jobs, divided by nvcc's, which may have been stopped."""
        return self.compile_seconds / self.nvcc_seconds


def times(source: Source, options: argparse.Namespace) -> Times:
    """Compile one file with both compilers."""
    outcome = in_process(source, options)
    if outcome.result != "compiled":
        return Times(source.key, outcome.result, "")
    with tempfile.TemporaryDirectory() as scratch:
        target = ["-o", os.path.join(scratch, "fatbin")]
        command = ["nvcc", *nvcc_arguments(source, options), "-fatbin", *options.code, *target]
        began = time.perf_counter()
        try:
            limit = min(options.stop * outcome.seconds, options.limit * 2)
            status, output, errors = run(command, limit, source.package.home(options.corpus))
            result = (first_error(errors + output) or "failed") if status else "compiled"
        except TimeoutError:
            result = "stopped"
        seconds = round(time.perf_counter() - began, 2)
    return Times(source.key, outcome.result, result, outcome.seconds, outcome.compile_seconds, seconds)


def nvcc_targets(architectures: Sequence[str]) -> list[str]:
    """Return nvcc's options for the code that entries of `architectures` stand for."""
    supported = find_toolchain().supported
    targets = settle(architectures, supported, lambda: (), "--architecture", "NVRTC")
    codes = {each.arch: ",".join(str(code) for code in targets if code.arch == each.arch) for each in targets}
    return [f"-gencode=arch=compute_{arch},code=[{code}]" for arch, code in codes.items()]


def comparable(found: Iterable[Times]) -> list[Times]:
    """Return the records of the files that both compile, or with which nvcc was stopped."""
    return [each for each in found if each.ours == "compiled" and each.nvcc in ("compiled", "stopped")]


def summary(found: Sequence[Times]) -> Iterator[str]:
    """Yield the lines of a summary."""
    both = comparable(found)
    stopped = sum(each.nvcc == "stopped" for each in both)
    yield f"{len(both)} files of {len(found)} compile with both, or nvcc was stopped ({stopped} files)"
    for what, seconds in (("its jobs", "compile_seconds"), ("its whole build", "seconds")):
        ratios = {each.key: getattr(each, seconds) / each.nvcc_seconds for each in both}
        slower = sorted((ratio, key) for key, ratio in ratios.items() if ratio > 1)
        median = statistics.median(ratios.values()) if ratios else 0
        yield f"{what}: median {median:.2f} of nvcc's time; {len(slower)} files are slower than with nvcc"
        yield from (f"{ratio:6.2f} {key}" for ratio, key in reversed(slower))


def main() -> None:
    os.environ["CUDA_WHEEL_JOBS"] = "1"
    command_line = judging_parser()
    command_line.add_argument("--stop", type=float, default=float("inf"), metavar="RATIO")
    options = judging_options(command_line)
    options.architecture = options.architecture or ["default"]
    options.code = nvcc_targets(options.architecture)
    found = read_records(options.result, Times) if options.resume else {}

    def received(each: Times) -> None:
        found[each.key] = each
        print(f"{each.seconds:7.2f} {each.nvcc_seconds:7.2f} {each.ours:12} {each.nvcc[:40]:12} {each.key}", flush=True)
        text = json.dumps([asdict(found[source.key]) for source in options.every if source.key in found], indent=1)
        options.result.write_text(text + "\n", encoding="utf-8")

    in_parallel(chosen(options.every, options.keys, found.keys()), options, times, received)
    print("\n".join(summary(list(found.values()))))


if __name__ == "__main__":
    main()
