"""Compare files that use a library, compiled without the library, with nvcc's result for the same files with it.

    python scripts/without_a_library.py [--nvcc NVCC] [--count N] [--seed S] [--jobs N]

Needs nvcc, a host compiler, and cuda-wheel with any NVRTC. cuda-wheel compiles each file of
`tests/builder/compile/generated` that uses a library which is not found with `host-code = "leave-out"`; nvcc compiles
the file with the library. If cuda-wheel compiles the file, the kernels must be nvcc's, and must contain the same
numbers, which show the definitions that a kernel uses. Any other result is a defect of cuda-wheel: then the exit status
is 1.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from host_code_facts import compile_with_nvcc

from cuda_wheel.builder.compile.job import compile_job
from cuda_wheel.builder.errors import CompileError
from cuda_wheel.builder.toolchain.find import find_toolchain
from cuda_wheel.builder.workers.pool import Workers
from tests.builder.compile.generated import Case
from tests.builder.compile.generated.answers import answers
from tests.builder.compile.generated.without_a_library import HEADERS, MixedFile, mixed_files, write_headers
from tests.builder.compile.test_without_a_library import job_of


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--nvcc", default="nvcc")
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    files = list(islice(mixed_files(options.seed), options.count))
    counts: Counter[str] = Counter()

    def with_nvcc(file: MixedFile) -> tuple[str, str]:
        return compile_with_nvcc(options.nvcc, file.for_nvcc, Case(file.name, file.text, HEADERS))

    with (
        tempfile.TemporaryDirectory() as folder,
        Workers(timeout=300, memory=8 << 30) as workers,
        ThreadPoolExecutor(options.jobs) as threads,
    ):
        write_headers(Path(folder))
        toolchain = workers.submit(find_toolchain, None).result()
        ours = [workers.submit(compile_job, job_of(file, False, Path(folder), toolchain)) for file in files]
        for file, (ptx, error), task in zip(files, threads.map(with_nvcc, files), ours, strict=True):
            try:
                result = task.result()
            except CompileError:
                counts["cuda-wheel reports an error"] += 1
                continue
            expected, found = answers(ptx), answers((result.ptx or b"").decode())
            same = not error and expected == found
            counts[f"{'the same' if same else 'OTHER'} kernels, {len(result.left_out) or 'no'} bodies left out"] += 1
            if not same:
                print(f"{file.name}: {error or (expected, found)}\n{file.text}", flush=True)
    print("\n".join(f"{name}: {number}" for name, number in sorted(counts.items())))
    sys.exit(int(any(name.startswith("OTHER") for name in counts)))


if __name__ == "__main__":
    main()
