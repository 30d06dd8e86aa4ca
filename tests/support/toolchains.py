"""The installed toolchain, and a function that compiles a source with it."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, wait
from contextlib import suppress
from dataclasses import replace
from importlib.metadata import distributions
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from cuda_wheel.builder.cache.known_toolchain import remember_toolchain, toolchain_environment
from cuda_wheel.builder.compile.job import compile_job
from cuda_wheel.builder.compile.nvrtc_request import nvrtc_request
from cuda_wheel.builder.errors import ToolchainError
from cuda_wheel.builder.jobs import Compiled, Job, LinkJob
from cuda_wheel.builder.toolchain.find import find_toolchain
from cuda_wheel.builder.toolchain.nvrtc import compile_text
from cuda_wheel.builder.toolchain.toolchain import Toolchain
from cuda_wheel.builder.workers.executor import Call, shared_options
from cuda_wheel.builder.workers.pool import Workers
from cuda_wheel.runtime.parts.user_cache import Cache
from tests.support.shared_folders import Share

if TYPE_CHECKING:
    from cuda_wheel.builder.toolchain.nvrtc import NvrtcResult


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


class _SeparateWorkers(Workers):
    """Workers each of which serves one set of compiler options, as in a build: the options of a program can change later
    programs of its process. Those of the latest sets wait for more, for a new worker takes as long as five small files."""

    _SETS = 4

    def __init__(self, timeout: float, memory: int | None, count: int | None = None) -> None:
        super().__init__(timeout, memory, count)
        self._settings = (timeout, memory, count)
        self._by_options: dict[tuple[str, ...], tuple[Workers, list[Future[Any]]]] = {}
        """Compiler options -> the workers that serve them and the calls that they have not answered; the latest last."""

    def submit(self, function: Callable[[Any], Any], argument: Any) -> Future[Any]:
        if isinstance(argument, Job | LinkJob):
            options = shared_options(argument.options, argument.lineinfo)
        elif isinstance(argument, dict) and "options" in argument:  # a request to NVRTC
            options = tuple(argument["options"])
        else:
            return super().submit(function, argument)
        workers, calls = self._by_options.pop(options, None) or (Workers(*self._settings), [])
        if len(self._by_options) == self._SETS:
            self._close(next(iter(self._by_options)))
        self._by_options[options] = (workers, calls)
        call = workers.enqueue(Call(function, argument, options))
        calls[:] = [call, *(each for each in calls if not each.done())]
        return call

    def _close(self, options: tuple[str, ...]) -> None:
        workers, calls = self._by_options.pop(options)
        wait(calls)
        workers.__exit__(None, None, None)

    def __exit__(self, *error: Any) -> None:
        for options in list(self._by_options):
            self._close(options)
        super().__exit__(*error)


@pytest.fixture(scope="session")
def workers():
    with _SeparateWorkers(timeout=300, memory=8 << 30) as workers:
        yield workers


@pytest.fixture(scope="session")
def toolchain(workers: Workers, extra: str) -> Toolchain:
    return workers.submit(find_toolchain, None).result()


@pytest.fixture(scope="session")
def known_toolchain(share: Share) -> Path | None:
    """Return a cache that has the toolchain of this environment and nothing else; None if no toolchain is installed. If
    the toolchain is not whole, the cache is empty, and the tests that need it say what is missing.

    The search for the toolchain takes a quarter of the time of a small build, and hundreds of tests build.
    """
    if installed_extra() is None:
        return None

    def fill(folder: Path) -> None:
        with suppress(ToolchainError), Workers(timeout=300, memory=None, count=1) as workers:
            found = workers.submit(find_toolchain, None).result()
            remember_toolchain(Cache(str(folder)), toolchain_environment(), found)

    return share("known-toolchain", fill)


@pytest.fixture
def job_of(toolchain: Toolchain, tmp_path: Path) -> Callable[..., Job]:
    """Return a function that returns the job of a source for one architecture; `changes` replace its fields."""

    def make(text: str, arch: str = "80", root: Path = tmp_path, **changes: Any) -> Job:
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
        return replace(job, **changes)

    return make


@pytest.fixture
def compiled(workers: Workers, job_of: Callable[..., Job]) -> Callable[..., Compiled]:
    """Return a function that compiles a source for one architecture; `changes` replace fields of its job."""

    def compile(text: str, arch: str = "80", **changes: Any) -> Compiled:
        return workers.submit(compile_job, job_of(text, arch, **changes)).result()

    return compile


@pytest.fixture
def nvrtc_alone(workers: Workers, job_of: Callable[..., Job]) -> Callable[..., NvrtcResult]:
    """Return a function that has NVRTC compile a source to machine code in one call, with all variables."""

    def compile(text: str, arch: str = "80", **changes: Any) -> NvrtcResult:
        request = nvrtc_request(job_of(text, arch, **changes))
        options = [f"--gpu-architecture=sm_{arch}", "--ptxas-options=-v", *request["options"][1:]]
        result: NvrtcResult = workers.submit(compile_text, {**request, "options": options}).result()
        assert not result["error"], result["log"]
        return result

    return compile
