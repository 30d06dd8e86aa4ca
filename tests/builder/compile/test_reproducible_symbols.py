"""Names that the compiler makes up are the same in every process."""

from __future__ import annotations

from pathlib import Path

import pytest

from cuda_wheel.builder.compile.job import compile_job
from cuda_wheel.builder.jobs import Job
from cuda_wheel.builder.toolchain.toolchain import Toolchain
from cuda_wheel.builder.workers.pool import Workers

TEXT = "namespace { __device__ int nameless[4]; __global__ void inner(int* x) { *x = nameless[*x]; } }\n"
"""Without a symbol that others can see, NVRTC takes the number of the process for the names."""


@pytest.mark.parametrize("form", ["whole", "ptx", "lto"])
def test_symbols_without_linkage_do_not_depend_on_the_process(form: str, tmp_path: Path, toolchain: Toolchain) -> None:
    job = Job(
        toolchain.libraries[0], str(tmp_path), "k.cu", TEXT.encode(), "80", form == "whole", form != "lto", (), (), (),
        False, "as-compiled", form=form,  # type: ignore[arg-type]
    )  # fmt: skip
    results = []
    for _ in range(2):
        with Workers(timeout=300, memory=None, count=1) as workers:  # a new process
            results.append(workers.submit(compile_job, job).result())
    first, second = results
    assert form == "lto" or b"_GLOBAL__N__" in (first.ptx or b"")
    assert (first.ptx, first.cubin, first.ltoir) == (second.ptx, second.cubin, second.ltoir)
