"""The installed toolchain, and a function that compiles a source with it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from importlib.metadata import distributions
from pathlib import Path

import pytest

from cuda_wheel.builder.compile.job import compile_job
from cuda_wheel.builder.jobs import Compiled, Job
from cuda_wheel.builder.toolchain.find import find_toolchain
from cuda_wheel.builder.toolchain.records import Toolchain
from cuda_wheel.builder.workers.pool import Workers


def installed_extra() -> str | None:
    """Return the extra whose toolchain is installed: "cu12", "cu13" or None."""
    names = {distribution.metadata["Name"].lower() for distribution in distributions()}
    if "nvidia-cuda-nvrtc-cu12" in names:
        return "cu12"
    return "cu13" if "nvidia-cuda-nvrtc" in names else None


@pytest.fixture(scope="session")
def extra() -> str:
    """Return the extra whose toolchain is installed; fail if there is none."""
    extra = installed_extra()
    if extra is None:
        pytest.fail("no toolchain is installed: run the tests through nox, or install cuda-wheel[cu12]")
    return extra


@pytest.fixture(scope="session")
def workers():
    with Workers(timeout=300, memory=8 << 30) as workers:
        yield workers


@pytest.fixture(scope="session")
def toolchain(workers: Workers, extra: str) -> Toolchain:
    return workers.submit(find_toolchain, None).result()


@pytest.fixture
def compiled(workers: Workers, toolchain: Toolchain, tmp_path: Path) -> Callable[..., Compiled]:
    """Return a function that compiles a source for one architecture; `changes` replace fields of its job."""

    def compile(text: str, arch: str = "80", root: Path = tmp_path, **changes: object) -> Compiled:
        job = Job(
            library=toolchain.libraries[0],
            root=str(root),
            source="k.cu",
            text=text.encode(),
            arch=arch,
            cubin=True,
            ptx=True,
            options=("--std=c++17",),
            include_dirs=("", *toolchain.header_folders),
            instantiate=(),
            lineinfo=False,
            ptx_version="auto",
        )
        return workers.submit(compile_job, replace(job, **changes)).result()

    return compile
