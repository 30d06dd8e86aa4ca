"""Jobs for tests of clusters, and the versions of this machine."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from cuda_wheel.builder.cluster import remote_worker
from cuda_wheel.builder.cluster.dask_cluster import files_to_send
from cuda_wheel.builder.cluster.job_transfer import RemoteCall, Versions, linker_release, versions_of
from cuda_wheel.builder.cluster.remote_worker import answer
from cuda_wheel.builder.jobs import Job
from cuda_wheel.builder.toolchain.toolchain import Toolchain
from cuda_wheel.builder.workers.pool import Workers

Make = Callable[..., Job]


@pytest.fixture(scope="session")
def known_toolchain() -> None:
    """Let the cache of each test be empty: the search for the toolchain runs on the cluster too."""


@pytest.fixture
def make(toolchain: Toolchain, tmp_path: Path) -> Make:
    """Return a function that makes a job of the project in `tmp_path / "project"`."""
    root = tmp_path / "project"
    root.mkdir()

    def make(text: str = "__global__ void k() {}", files: dict[str, str] | None = None, **changes: Any) -> Job:
        for name, content in {"demo/k.cu": text, **(files or {})}.items():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(content)
        job = Job(
            library=toolchain.libraries[0],
            root=str(root),
            source="demo/k.cu",
            text=text.encode(),
            arch="80",
            cubin=True,
            ptx=False,
            options=("--std=c++17",),
            include_dirs=toolchain.include_folders(("demo", "include")),
            instantiate=(),
            lineinfo=False,
            ptx_version="auto",
        )
        return replace(job, **changes)

    return make


@pytest.fixture(scope="module")
def versions(workers: Workers, toolchain: Toolchain) -> Versions:
    return versions_of(toolchain, workers.submit(linker_release, toolchain).result(), None)


@pytest.fixture
def answered(versions: Versions, tmp_path: Path) -> Callable[[RemoteCall], tuple[bytes, str]]:
    """Return a function that returns the reply to a call of a machine called "elsewhere", which is this one."""
    return lambda call: answer(call.pack(versions, 300, 8 << 30, files_to_send), "elsewhere", str(tmp_path), 1)


@pytest.fixture(scope="module", autouse=True)
def no_pool_left() -> Iterator[None]:
    """Close the pools that `answer` keeps until its process ends."""
    pools: list[Workers] = []
    original = remote_worker._pool

    def pool(*arguments: Any) -> Workers:
        if (found := original(*arguments)) not in pools:
            pools.append(found)
        return found

    remote_worker._pool = pool  # type: ignore[assignment]
    yield
    remote_worker._pool = original
    original.cache_clear()
    for each in pools:
        each.__exit__(None, None, None)
