"""Compare files of the corpus with their kernels alone: `python benchmarks/third_party/kernels_alone.py [KEY ...]`.

Of a file's text, the functions of host code and the includes of host libraries are blanked; the template instances that
the whole file launches are named instead. Both texts are compiled for sm_80 in this process, one after the other, and
the lesser of two processor times counts. A file is left out if its kernels alone do not compile, if they are not the
same kernels, or if they still read PyTorch's stand-ins, through a header of the project.

Options: --corpus FOLDER, --every N takes each Nth file, --limit SECONDS leaves out files that take longer.
"""

from __future__ import annotations

import argparse
import os
import re
import statistics
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))  # run from a checkout, without installing it

from corpus import CORPUS, Source, packages, sources
from measure import settings_of

from cuda_wheel.builder.compile.job import compile_job
from cuda_wheel.builder.config.settings import Config
from cuda_wheel.builder.cxx.demangling.signatures import signature
from cuda_wheel.builder.errors import CompileError
from cuda_wheel.builder.hostcode.blocks import SourceBlocks
from cuda_wheel.builder.hostcode.reach import project_code
from cuda_wheel.builder.jobs import Compiled, Job
from cuda_wheel.builder.plan import make_plan
from cuda_wheel.builder.sources.layout import WheelFile
from cuda_wheel.builder.sources.modules import select
from cuda_wheel.builder.toolchain.find import find_toolchain
from cuda_wheel.builder.toolchain.records import Toolchain
from cuda_wheel.runtime.errors import CudaWheelError

HOST_HEADER = re.compile(
    rb'^[ \t]*#[ \t]*include[ \t]*[<"](?:torch/|ATen/|c10/|THC|pybind11|Python\.h|cuda_runtime|cuda\.h|[a-z_]+>)[^\n]*',
    re.MULTILINE,
)
"""An include of PyTorch's, of pybind11's, of the CUDA runtime API's or of a header of the standard library."""

STAND_INS = "hostcode/include/pytorch/cuda_wheel_detail/pytorch/tensor"


def kernels_alone(text: bytes) -> bytes:
    """Return a source's text with its host functions and host headers blanked."""
    blocks = SourceBlocks(text)
    code = project_code([blocks])
    left = bytearray(text)
    for each in blocks.definitions:
        if (
            each.is_function
            and each.body
            and not each.in_class
            and code.is_host(each)
            and "constexpr" not in each.words
        ):
            left[each.start : each.end] = re.sub(rb"[^\n]", b" ", text[each.start : each.end])
    return HOST_HEADER.sub(b"", bytes(left))


def job_of(source: Source, corpus: Path, toolchain: Toolchain) -> Job:
    """Return the job that compiles a file for sm_80."""
    home = source.package.home(corpus).resolve()
    config = Config.from_table(settings_of(source, home, settings=True))
    with tempfile.TemporaryDirectory() as scratch:
        package = Path(scratch, "__init__.py")
        package.touch()
        modules = select(config, home, [WheelFile(package, "corpus/__init__.py")])
        (job,) = make_plan(config, modules, home, toolchain, lambda: ()).modules[0].jobs
    return job


def timed(job: Job) -> tuple[float, Compiled]:
    """Return the processor time of a job in seconds, and its result."""
    seconds = []
    for _ in range(2):
        began = time.process_time()
        result = compile_job(job)
        seconds.append(time.process_time() - began)
    return min(seconds), result


def ratio(source: Source, corpus: Path, toolchain: Toolchain, limit: float) -> float | str:
    """Return the time of a file by that of its kernels alone, or why there is none."""
    try:
        job = job_of(source, corpus, toolchain)
        os.chdir(job.root)
        whole, result = timed(job)
    except CudaWheelError as error:
        return f"does not compile: {str(error).splitlines()[0]}"
    if whole > limit:
        return f"takes {whole:.0f} s"
    instances = tuple(name for symbol in result.kernels if "<" in (name := signature(symbol).name))
    try:
        alone, kernels = timed(replace(job, text=kernels_alone(job.text), instantiate=instances))
    except CompileError as error:
        return f"its kernels alone do not compile: {str(error).splitlines()[0]}"
    if set(kernels.kernels) != set(result.kernels):
        return "its kernels alone are others"
    if any(STAND_INS in header for header in kernels.headers or ()):
        return "its kernels alone still read PyTorch's stand-ins"
    return whole / alone


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("keys", nargs="*")
    parser.add_argument("--corpus", type=Path, default=CORPUS)
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--limit", type=float, default=20)
    options = parser.parse_args()
    toolchain, corpus, ratios = find_toolchain(None), options.corpus.resolve(), []
    chosen = [each for each in sources(packages()) if not options.keys or any(key in each.key for key in options.keys)]
    for source in chosen[:: options.every]:
        found = ratio(source, corpus, toolchain, options.limit)
        print(f"{found:6.2f}" if isinstance(found, float) else "      ", source.key, end="", flush=True)
        print("" if isinstance(found, float) else f": {found}", flush=True)
        ratios += [found] if isinstance(found, float) else []
    if ratios:
        print(f"{len(ratios)} of {len(chosen[:: options.every])} files: median {statistics.median(ratios):.2f}")


if __name__ == "__main__":
    main()
