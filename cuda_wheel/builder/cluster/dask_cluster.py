"""Do a build's jobs on a Dask cluster, whose workers have cuda-wheel and the same toolchain as this machine."""

from __future__ import annotations

import asyncio
import pickle
import threading
import warnings
from collections.abc import Callable
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from functools import cache, lru_cache
from hashlib import sha256
from pathlib import Path
from types import TracebackType
from typing import Any, TypeVar
from uuid import uuid4

from distributed import Client, get_worker
from distributed.versions import VersionMismatchWarning

from cuda_wheel.builder.cluster.executor import EXECUTOR, FALLBACK
from cuda_wheel.builder.cluster.portable import (
    Call,
    NotPortable,
    Versions,
    answer,
    files_of,
    linker_release,
    versions_of,
)
from cuda_wheel.builder.errors import CompileError, ToolchainError
from cuda_wheel.builder.schedule.groups import Group
from cuda_wheel.builder.toolchain.records import Nvvm, Toolchain
from cuda_wheel.builder.workers.executor import Executor
from cuda_wheel.builder.workers.worker import Died
from cuda_wheel.runtime.errors import CudaWheelError

__all__ = [
    "DaskCluster",
]


T = TypeVar("T")


PATIENCE = 5.0
"""Seconds that a cluster may take to answer."""


AT_ONCE = 32, 512
"""How many jobs are under way at once, at least and at most; between them, twice what the cluster's workers do at once.
A cluster that grows with its work sees enough of it, and a large build is not all in memory at once."""


class _Lost(Exception):
    """The cluster could not do a job, for reasons of its own."""


class DaskCluster:
    """An executor; a context manager. What is about no job, or would come out otherwise elsewhere, `local` does.

    Nobody talks to the cluster before there is a job for it. Where it cannot be used, `submit` or its futures raise
    ToolchainError or, with `fallback`, `warn` is told and `local` does the jobs.
    """

    def __init__(
        self,
        address: str,
        local: Executor,
        toolchain: Toolchain,
        nvvm: Nvvm | None,
        timeout: float,
        memory: int | None,
        warn: Callable[[str], None],
        fallback: bool,
    ) -> None:
        self._address = address
        self._local = local
        self._toolchain = toolchain
        self._nvvm = nvvm
        self._timeout = timeout
        self._memory = memory
        self._warn = warn
        self._fallback = fallback
        self._client: Client | None = None
        self._threads: ThreadPoolExecutor | None = None
        self._width = 0
        self._versions: Versions | None = None
        self._given_up = False
        self._lock = threading.Lock()
        self._files = lru_cache(maxsize=64)(files_of)  # a source's jobs share them
        self._hash = cache(_hash)

    def __enter__(self) -> DaskCluster:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._threads is not None:
            # After an error nobody waits for the jobs under way, which end with the client or with `local`.
            self._given_up = self._given_up or kind is not None
            self._threads.shutdown(wait=kind is None, cancel_futures=True)
        if self._client is not None:
            self._client.close()

    @property
    def count(self) -> int:
        """How many calls are done at once, as far as is known."""
        return self._width or self._local.count

    def submit(
        self,
        function: Callable[[Any], T],
        argument: Any,
        flavour: tuple[str, ...] | None = None,
        seconds: float = 0.0,
        group: Group | None = None,
    ) -> Future[T]:
        """Return the future of `function(argument)`, which raises as that of `Workers.submit` does."""
        try:
            call = Call(function, argument)
        except ValueError:
            return self._local.submit(function, argument, flavour, seconds, group)
        if self._threads is None and not self._given_up:
            try:
                self._connect()
            except _Lost as lost:
                self._give_up(str(lost))
        if self._threads is None:
            return self._local.submit(function, argument, flavour, seconds, group)
        return self._threads.submit(self._call, call, function, argument, flavour)

    def _connect(self) -> None:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", VersionMismatchWarning)
            try:
                self._client = Client(f"tcp://{self._address}", timeout=PATIENCE, set_as_default=False)
                threads = self._client.nthreads()
            except Exception as error:
                raise _Lost(f"cannot be reached ({_words(error)})") from error
        for each in caught:
            if issubclass(each.category, VersionMismatchWarning):
                self._warn(f"The Dask cluster at {self._address} and this machine differ. {each.message}")
        if not threads:
            if self._fallback:
                raise _Lost("has no workers")
            self._warn(f"The Dask cluster at {self._address} has no workers: the build waits for some.")
        nvjitlink = self._local.submit(linker_release, self._toolchain).result()
        self._versions = versions_of(self._toolchain, nvjitlink, None)
        self._width = sum(threads.values())
        least, most = AT_ONCE
        self._threads = ThreadPoolExecutor(min(max(least, 2 * self._width), most), "cuda-wheel-dask")

    def _give_up(self, reason: str) -> None:
        """Use the cluster no more; raises ToolchainError where nobody said what to do then."""
        text = f"Dask cluster at {self._address} ({EXECUTOR}) {reason}"
        if not self._fallback:
            raise ToolchainError(
                f"the {text}. Start it, correct or unset {EXECUTOR}, or set {FALLBACK}=local to go on without it."
            )
        with self._lock:
            told, self._given_up = self._given_up, True
        if not told:
            self._warn(f"The {text}: this machine does its jobs ({FALLBACK}=local).")

    def _call(self, call: Call, function: Callable[[Any], T], argument: Any, flavour: tuple[str, ...] | None) -> T:
        refusal = None
        if not self._given_up:
            try:
                result: T = self._elsewhere(call, flavour)
                return result
            except (NotPortable, _Lost) as error:
                if isinstance(error, _Lost):
                    self._give_up(str(error))
            except Died:
                raise
            except CompileError as error:
                # Here, with all of the project's files at hand, the same error says more; and should one of them have
                # been missing there, there is none.
                refusal = error
        result = self._local.submit(function, argument, flavour).result()
        if refusal is not None:
            self._warn(f"{call.label} compiles on this machine, but did not on the Dask cluster:\n{refusal}")
        return result

    def _elsewhere(self, call: Call, flavour: tuple[str, ...] | None) -> Any:
        """Return what the cluster made of a call; raises _Lost where it made nothing, and as `Call.result` does."""
        assert self._client is not None and self._versions is not None
        versions = self._versions._replace(nvvm=self._nvvm.release if self._nvvm and call.needs_nvvm else "")
        parcel = call.parcel(versions, flavour, self._timeout, self._memory, self._files)
        key = f"cuda-wheel {call.label} {uuid4().hex}"
        try:
            # The scheduler reads what a task calls, and need not have cuda-wheel: what it gets to see is Python's.
            content, digest = self._client.submit(pickle.loads, pickle.dumps(_Task(parcel)), key=key).result()
            return call.result(content, digest, self._hash)
        except (CudaWheelError, NotPortable):
            raise
        except (Exception, CancelledError, asyncio.CancelledError) as error:
            raise _Lost(f"did not do {call.label} ({_words(error)})") from error


class _Task:
    """A call that is made when it is unpickled."""

    def __init__(self, parcel: bytes) -> None:
        self._parcel = parcel

    def __reduce__(self) -> tuple[Callable[[bytes], tuple[bytes, str]], tuple[bytes]]:
        return _work, (self._parcel,)


def _work(parcel: bytes) -> tuple[bytes, str]:
    """Return what a Dask worker makes of a call."""
    worker = get_worker()
    return answer(parcel, f"the Dask worker {worker.address}", worker.local_directory, worker.state.nthreads)


def _hash(path: str) -> str | None:
    try:
        return sha256(Path(path).read_bytes()).hexdigest()
    except OSError:
        return None


def _words(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}".strip(" :")
