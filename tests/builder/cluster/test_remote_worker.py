"""What a worker of a cluster checks before it runs a job, and measures. No cluster is started."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from cuda_wheel.builder.cluster import dask_cluster, remote_worker
from cuda_wheel.builder.cluster.dask_cluster import files_to_send
from cuda_wheel.builder.cluster.job_transfer import (
    RemoteCall,
    UnfitMachineError,
    Versions,
)
from cuda_wheel.builder.cluster.remote_worker import answer
from cuda_wheel.builder.compile.job import compile_job
from cuda_wheel.builder.errors import CompileError, ToolchainError
from cuda_wheel.builder.jobs import Job
from cuda_wheel.builder.timing import TimedError
from cuda_wheel.builder.toolchain.toolchain import Toolchain
from cuda_wheel.builder.workers.executor import Call

pytestmark = pytest.mark.one_toolchain


def test_versions_are_exact(versions: Versions, toolchain: Toolchain) -> None:
    assert versions.nvjitlink.count(".") == 2 and versions.nvjitlink.startswith(toolchain.nvjitlink + ".")


def test_a_different_header_of_the_toolchain_is_an_error(
    make: Callable[..., Job], answered: Callable[[RemoteCall], tuple[bytes, str]]
) -> None:
    call = RemoteCall(Call(compile_job, make("#include <cuda_fp16.h>\n__global__ void k(__half* x) { *x = 1; }")))
    content, digest = answered(call)
    with pytest.raises(UnfitMachineError, match=r"elsewhere cannot .*: its cuda_fp16.h differs from this machine's \("):
        call.result(
            content, digest, lambda path: "another" if path.endswith("cuda_fp16.h") else dask_cluster._hash_file(path)
        )


def test_a_different_cuda_wheel_is_an_error(
    make: Callable[..., Job], versions: Versions, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    call = RemoteCall(Call(compile_job, make()))
    parcel = call.pack(versions, 300, None, files_to_send)
    monkeypatch.setattr(remote_worker, "__version__", "0.0.9")
    content, digest = answer(parcel, "elsewhere", str(tmp_path), 1)
    with pytest.raises(
        UnfitMachineError, match=r"elsewhere cannot .*: it has cuda-wheel 0\.0\.9, and this machine has \d"
    ):
        call.result(content, digest, dask_cluster._hash_file)


def test_a_machine_without_a_toolchain_is_an_error(
    make: Callable[..., Job], answered: Callable[[RemoteCall], tuple[bytes, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    def find() -> None:
        raise ToolchainError("no CUDA toolchain is installed in this environment")

    monkeypatch.setattr(remote_worker, "_find_toolchain", find)
    call = RemoteCall(Call(compile_job, make()))
    content, digest = answered(call)
    with pytest.raises(
        UnfitMachineError, match="elsewhere cannot run this build's jobs: no CUDA toolchain is installed"
    ):
        call.result(content, digest, dask_cluster._hash_file)


def _fail(job: Job) -> None:
    raise CompileError(job.source)


def test_a_timed_call_is_timed_on_the_other_machine(
    make: Callable[..., Job], answered: Callable[[RemoteCall], tuple[bytes, str]]
) -> None:
    call = RemoteCall(Call(compile_job, make(), timed=True))
    result = call.result(*answered(call), dask_cluster._hash_file)
    assert result.value.cubin and "compiling" in {span.name for span in result.times.phases}
    call = RemoteCall(Call(_fail, make(), timed=True))
    with pytest.raises(TimedError) as caught:
        call.result(*answered(call), dask_cluster._hash_file)
    assert isinstance(caught.value.error, CompileError) and 0 <= caught.value.times.seconds < 60
