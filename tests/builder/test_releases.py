"""The tables of what NVIDIA released, against what its compilers and assemblers say of themselves."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from cuda_wheel.builder.compile.job import compile_job
from cuda_wheel.builder.jobs import Job
from cuda_wheel.builder.releases import GPUS, RELEASES, first_reading
from cuda_wheel.runtime.manifest import parse_version

PTX_ISA = {release.cuda: release.ptx_isa for release in RELEASES}


def test_everything_grows_with_the_release() -> None:
    for column in zip(*RELEASES, strict=True):
        known = [value for value in column if value is not None]
        assert known == sorted(known)
    assert [gpu.capability for gpu in GPUS] == sorted({gpu.capability for gpu in GPUS})


def test_a_version_is_read_by_the_first_release_that_has_it() -> None:
    assert [first_reading(version, (99, 0)) for version in [(6, 3), (8, 4), (8, 5), (9, 5), (9, 9)]] == [
        (10, 0), (12, 4), (12, 5), (13, 5), (99, 0),
    ]  # fmt: skip


def test_the_installed_compiler_writes_the_version_that_the_table_has(workers, toolchain) -> None:
    text = b"__global__ void k() {}"
    job = Job(toolchain.libraries[0], ".", "k.cu", text, "90", False, True, (), (), (), False, "as-compiled")
    compiled = workers.submit(compile_job, job).result()
    assert compiled.ptx_version_compiled == PTX_ISA[parse_version(toolchain.nvrtc)]


@pytest.mark.parametrize("release", ["12.0", "12.2", "12.4", "12.8"])
def test_an_assembler_reads_the_version_that_the_table_has_and_none_newer(release: str, ptxas, tmp_path: Path) -> None:
    path = tmp_path / "future.ptx"
    path.write_text(".version 19.9\n.target sm_80\n.address_size 64\n")
    current = re.search(r"current version is '([\d.]+)'", ptxas(release, path, "80"))
    assert parse_version(current[1]) == PTX_ISA[parse_version(release)]


def test_every_gpu_was_known_to_the_compiler_before_it_was_left_behind(toolchain) -> None:
    compiler = parse_version(toolchain.nvrtc)
    for gpu in GPUS:
        if gpu.first <= compiler and (gpu.last is None or compiler < (13, 0)):
            assert gpu.capability[0] * 10 + gpu.capability[1] in toolchain.supported, gpu
