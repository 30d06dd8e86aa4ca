"""The tables of NVIDIA's releases agree with its compilers and assemblers."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from cuda_wheel.builder.compile.job import compile_job
from cuda_wheel.builder.jobs import Job
from cuda_wheel.builder.releases import GPUS, RELEASES, first_reading
from cuda_wheel.runtime.manifest import parse_version

pytestmark = pytest.mark.one_toolchain

PTX_ISA = {release.cuda: release.ptx_isa for release in RELEASES}


def test_the_tables_are_sorted() -> None:
    for column in zip(*RELEASES, strict=True):
        known = [value for value in column if value is not None]
        assert known == sorted(known)
    assert [gpu.capability for gpu in GPUS] == sorted({gpu.capability for gpu in GPUS})


def test_the_first_release_that_accepts_a_ptx_version_is_found() -> None:
    assert [first_reading(version, (99, 0)) for version in [(6, 3), (8, 4), (8, 5), (9, 5), (9, 9)]] == [
        (10, 0), (12, 4), (12, 5), (13, 5), (99, 0),
    ]  # fmt: skip


def test_the_installed_compiler_writes_the_ptx_version_in_the_table(workers, toolchain) -> None:
    text = b"__global__ void k() {}"
    job = Job(toolchain.libraries[0], ".", "k.cu", text, "90", False, True, (), (), (), False, "as-compiled")
    compiled = workers.submit(compile_job, job).result()
    assert compiled.ptx_version_compiled == PTX_ISA[parse_version(toolchain.nvrtc)]


@pytest.mark.parametrize("release", ["12.0", "12.2", "12.4", "12.8"])
def test_the_newest_ptx_version_of_an_assembler_is_in_the_table(release: str, ptxas, tmp_path: Path) -> None:
    path = tmp_path / "future.ptx"
    path.write_text(".version 19.9\n.target sm_80\n.address_size 64\n")
    current = re.search(r"current version is '([\d.]+)'", ptxas(release, path, "80"))
    assert parse_version(current[1]) == PTX_ISA[parse_version(release)]


def test_the_compiler_supports_every_gpu_until_its_last_release(toolchain) -> None:
    compiler = parse_version(toolchain.nvrtc)
    for gpu in GPUS:
        if gpu.first <= compiler and (gpu.last is None or compiler < (13, 0)):
            assert gpu.capability[0] * 10 + gpu.capability[1] in toolchain.supported, gpu
