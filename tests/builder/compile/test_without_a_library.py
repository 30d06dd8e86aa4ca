"""Generated files that use a library which is not found have the kernels that they have with it, or are errors."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from concurrent.futures import Future
from itertools import islice
from pathlib import Path

import pytest

from cuda_wheel.builder.compile.job import compile_job
from cuda_wheel.builder.errors import CompileError
from cuda_wheel.builder.jobs import Compiled, Job
from cuda_wheel.builder.toolchain.toolchain import Toolchain
from cuda_wheel.builder.workers.pool import Workers
from tests.builder.compile.generated.without_a_library import MixedFile, compile_options, mixed_files, write_headers


def job_of(file: MixedFile, with_library: bool, folder: Path, toolchain: Toolchain) -> Job:
    return Job(
        library=toolchain.libraries[0],
        root=str(folder),
        source="k.cu",
        text=(file.reference if with_library else file.text).encode(),
        arch="80",
        cubin=False,
        ptx=True,
        options=compile_options(),
        include_dirs=("", *toolchain.header_folders),
        instantiate=file.instantiate,
        lineinfo=False,
        ptx_version="as-compiled",
        host_code="whole" if with_library else "leave-out",
    )


def compare(files: Iterable[MixedFile], folder: Path, workers: Workers, toolchain: Toolchain) -> Counter[str]:
    """Return how many files gave what; fail for a file that compiles to something else than with the library."""
    write_headers(folder)
    files = list(files)
    tasks = [
        tuple(
            workers.submit(compile_job, job_of(file, with_library, folder, toolchain)) for with_library in (True, False)
        )
        for file in files
    ]
    found: Counter[str] = Counter()
    for file, (reference, alone) in zip(files, tasks, strict=True):
        expected, result = _result(reference), _result(alone)
        if result is None:
            found["error"] += 1
            continue
        assert expected is not None, f"{file.name} compiles only without the library:\n{file.text}"
        assert (result.kernels, result.ptx) == (expected.kernels, expected.ptx), f"{file.name}:\n{file.text}"
        found["left out" if result.left_out else "nothing left out"] += 1
    return found


def _result(task: Future[Compiled]) -> Compiled | None:
    try:
        return task.result()
    except CompileError:
        return None


def test_files_without_a_library_have_the_same_kernels_as_with_it(
    tmp_path: Path, workers: Workers, toolchain: Toolchain
) -> None:
    found = compare(islice(mixed_files(2), 5), tmp_path, workers, toolchain)
    assert min(found["left out"], found["error"], found["nothing left out"]) > 0


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_many_files_without_a_library_have_the_same_kernels_as_with_it(
    tmp_path: Path, workers: Workers, toolchain: Toolchain, request: pytest.FixtureRequest
) -> None:
    """Two toolchains share the files; scripts/without_a_library.py compares a thousand with nvcc."""
    half = request.config.getoption("--cases")
    for number, files in enumerate([islice(mixed_files(2), 5, 25), islice(mixed_files(4), 20)]):
        if half in (None, ("first", "second")[number]):
            found = compare(files, tmp_path, workers, toolchain)
            assert min(found["left out"], found["error"], found["nothing left out"]) > 1
