"""Time files beside nvcc, for the default targets: `python benchmarks/third_party/times.py TIMES.json [KEY ...]`.

cuda-wheel builds each file for its default `architectures`, as `measure.py` does, with one worker and without caches;
`nvcc -fatbin` compiles it for the same targets, one after the other. Both run on one core. Of cuda-wheel, the time of
the file's jobs counts, and the whole build with its plan, the start of its worker and the fatbin is shown too. Only
files that both compile count. It needs what `judge.py` needs but cuobjdump. TIMES.json gets one record for each file,
and a summary is printed.

Options: those of `measure.py`, --torch-include and --64-bit as for `judge.py`.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))  # run from a checkout, without installing it

from corpus import Source
from judge import judging_options, nvcc_arguments
from measure import chosen, first_error, in_parallel, in_process, run

TARGETS = {"75": "sm_75,compute_75", "80": "sm_80", "90": "sm_90", "100": "sm_100,compute_100", "120": "sm_120"}
"""The code that `architectures = ["default"]` stands for, by compute capability, as nvcc's option names it."""


@dataclass(frozen=True)
class Times:
    """How one file was compiled by both."""

    key: str
    ours: str
    nvcc: str
    seconds: float = 0.0
    """Wall-clock seconds of cuda-wheel's build, without the start of Python."""
    compile_seconds: float = 0.0
    """Those of its jobs."""
    nvcc_seconds: float = 0.0


def times(source: Source, options: argparse.Namespace) -> Times:
    """Compile one file with both compilers."""
    outcome = in_process(source, options)
    if outcome.result != "compiled":
        return Times(source.key, outcome.result, "")
    codes = [f"-gencode=arch=compute_{each},code=[{code}]" for each, code in TARGETS.items()]
    with tempfile.TemporaryDirectory() as scratch:
        command = ["nvcc", *nvcc_arguments(source, options), "-fatbin", *codes, "-o", os.path.join(scratch, "fatbin")]
        began = time.perf_counter()
        try:
            status, output, errors = run(command, options.limit * 2, source.package.home(options.corpus))
        except TimeoutError:
            return Times(source.key, outcome.result, "timeout", outcome.seconds, outcome.compile_seconds)
        seconds = round(time.perf_counter() - began, 2)
    result = (first_error(errors + output) or "failed") if status else "compiled"
    return Times(source.key, outcome.result, result, outcome.seconds, outcome.compile_seconds, seconds)


def summary(found: Sequence[Times]) -> Iterator[str]:
    """Yield the lines of a summary."""
    both = [each for each in found if each.ours == each.nvcc == "compiled"]
    yield f"{len(both)} files of {len(found)} compile with both"
    for what, seconds in (("its jobs", "compile_seconds"), ("its whole build", "seconds")):
        ratios = {each.key: getattr(each, seconds) / each.nvcc_seconds for each in both}
        slower = sorted((ratio, key) for key, ratio in ratios.items() if ratio > 1)
        median = statistics.median(ratios.values()) if ratios else 0
        yield f"{what}: median {median:.2f} of nvcc's time; {len(slower)} files are slower than with nvcc"
        yield from (f"{ratio:6.2f} {key}" for ratio, key in reversed(slower))


def main() -> None:
    os.environ["CUDA_WHEEL_JOBS"] = "1"
    options = judging_options()
    options.architecture = options.architecture or ["default"]
    found: dict[str, Times] = {}

    def received(each: Times) -> None:
        found[each.key] = each
        print(f"{each.seconds:7.2f} {each.nvcc_seconds:7.2f} {each.ours:12} {each.nvcc[:40]:12} {each.key}", flush=True)
        text = json.dumps([asdict(found[source.key]) for source in options.every if source.key in found], indent=1)
        options.result.write_text(text + "\n", encoding="utf-8")

    in_parallel(chosen(options.every, options.keys, set()), options, times, received)
    print("\n".join(summary(list(found.values()))))


if __name__ == "__main__":
    main()
