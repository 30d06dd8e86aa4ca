"""Run jobs on a Dask cluster. Its workers need cuda-wheel and the same toolchain as this machine."""

from __future__ import annotations

import asyncio
import pickle
import threading
import warnings
from collections.abc import Callable
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from dataclasses import replace
from functools import cache, lru_cache
from hashlib import sha256
from pathlib import Path
from types import TracebackType
from typing import Any
from uuid import uuid4

from distributed import Client, get_worker
from distributed.versions import VersionMismatchWarning

from cuda_wheel.builder.cluster.environment_versions import Versions, linker_release, versions_of
from cuda_wheel.builder.cluster.parcel import NotPortableError, RemoteCall
from cuda_wheel.builder.cluster.project_files import files_to_send
from cuda_wheel.builder.cluster.remote_worker import answer
from cuda_wheel.builder.errors import CompileError, ToolchainError
from cuda_wheel.builder.timing import TimedError, cause_of
from cuda_wheel.builder.toolchain.records import Nvvm, Toolchain
from cuda_wheel.builder.workers.executor import EXECUTOR, FALLBACK, Call, Executor
from cuda_wheel.builder.workers.worker import WorkerDiedError
from cuda_wheel.runtime.errors import CudaWheelError

__all__ = ["DaskCluster"]

CONNECT_SECONDS = 5.0
"""How long to wait for the cluster's scheduler."""

MIN_CALLS, MAX_CALLS = 32, 512
"""Bounds on the number of calls that are sent at once. Between them it is twice what the cluster's workers run at once:
a cluster that adapts to its load sees enough work, and the inputs of a large build are not all in memory at once."""


class _ClusterError(Exception):
    """The cluster could not run a job, for reasons that have nothing to do with the job."""


class DaskCluster(Executor):
    """An executor that sends calls about one job to a cluster, and all others to `local`; a context manager.

    Calls that could have another result on another machine go to `local` too. The first call about a job opens the
    connection. If the cluster cannot be used, `enqueue` or its futures raise ToolchainError or, with `fallback`, it
    calls `warn` once and sends all calls to `local`.
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
        """One thread waits for each call that is sent."""
        self._width = 0
        """How many calls the cluster runs at once; 0 before the connection."""
        self._versions: Versions | None = None
        self._given_up = False
        self._lock = threading.Lock()
        self._files = lru_cache(maxsize=64)(files_to_send)  # the jobs of one source need the same files
        self._hash_file = cache(_hash_file)

    def __enter__(self) -> DaskCluster:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._threads is not None:
            # After an error nobody waits for the running calls, which end with the client or with `local`.
            self._given_up = self._given_up or kind is not None
            self._threads.shutdown(wait=kind is None, cancel_futures=True)
        if self._client is not None:
            self._client.close()

    @property
    def count(self) -> int:
        """How many calls run at once, as far as known."""
        return self._width or self._local.count

    def enqueue(self, call: Call[Any]) -> Future[Any]:
        """Return the future of a call, which raises as `Workers.enqueue` says."""
        try:
            remote = RemoteCall(call)
        except ValueError:
            return self._local.enqueue(call)
        if self._threads is None and not self._given_up:
            try:
                self._connect()
            except _ClusterError as error:
                self._give_up(str(error))
        if self._threads is None:
            return self._local.enqueue(call)
        return self._threads.submit(self._run, remote, call)

    def stop(self, future: Future[Any]) -> None:
        """Cancel a call, or end the worker of this machine that runs it. A call that was sent runs on."""
        self._local.stop(future)

    def _connect(self) -> None:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", VersionMismatchWarning)
            try:
                self._client = Client(f"tcp://{self._address}", timeout=CONNECT_SECONDS, set_as_default=False)
                threads = self._client.nthreads()
            except Exception as error:
                raise _ClusterError(f"cannot be reached ({_describe(error)})") from error
        for warning in caught:
            if issubclass(warning.category, VersionMismatchWarning):
                self._warn(f"The Dask cluster at {self._address} and this machine differ. {warning.message}")
        if not threads:
            if self._fallback:
                raise _ClusterError("has no workers")
            self._warn(f"The Dask cluster at {self._address} has no workers: the build waits for one.")
        nvjitlink = self._local.submit(linker_release, self._toolchain).result()
        self._versions = versions_of(self._toolchain, nvjitlink, None)
        self._width = sum(threads.values())
        self._threads = ThreadPoolExecutor(min(max(MIN_CALLS, 2 * self._width), MAX_CALLS), "cuda-wheel-dask")

    def _give_up(self, reason: str) -> None:
        """Stop using the cluster. Raises ToolchainError without `fallback`."""
        text = f"Dask cluster at {self._address} ({EXECUTOR}) {reason}"
        if not self._fallback:
            raise ToolchainError(
                f"the {text}. Start it, correct or unset {EXECUTOR}, or set {FALLBACK}=local to build without it."
            )
        with self._lock:
            has_warned, self._given_up = self._given_up, True
        if not has_warned:
            self._warn(f"The {text}: this machine runs its jobs ({FALLBACK}=local).")

    def _run(self, remote: RemoteCall, call: Call[Any]) -> Any:
        """Return the result of a call, from the cluster if possible."""
        remote_error = None
        if not self._given_up:
            try:
                return self._run_on_cluster(remote)
            except NotPortableError:
                pass
            except _ClusterError as error:
                self._give_up(str(error))
            except Exception as error:
                cause = cause_of(error)
                if isinstance(cause, WorkerDiedError) or not isinstance(cause, CompileError):
                    raise
                # On this machine, with all files of the project at hand, the same error can say more; and if the error
                # came from a file that was not sent, there is none.
                remote_error = cause
        result = self._local.enqueue(replace(call, seconds=0.0, headers=None)).result()
        if remote_error is not None:
            self._warn(f"{remote.label} compiles on this machine, but did not on the Dask cluster:\n{remote_error}")
        return result

    def _run_on_cluster(self, remote: RemoteCall) -> Any:
        """Return the cluster's result of a call. Raises as `RemoteCall.result`, and _ClusterError without a result."""
        assert self._client is not None and self._versions is not None
        nvvm = self._nvvm.release if self._nvvm and remote.needs_nvvm else ""
        parcel = remote.pack(self._versions._replace(nvvm=nvvm), self._timeout, self._memory, self._files)
        key = f"cuda-wheel {remote.label} {uuid4().hex}"
        try:
            # The scheduler unpickles the task's function, and may lack cuda-wheel: so the function is one of Python's.
            content, digest = self._client.submit(
                pickle.loads, pickle.dumps(_CallWhenUnpickled(parcel)), key=key
            ).result()
            return remote.result(content, digest, self._hash_file)
        except (CudaWheelError, NotPortableError, TimedError):
            raise
        except (Exception, CancelledError, asyncio.CancelledError) as error:
            raise _ClusterError(f"did not run {remote.label} ({_describe(error)})") from error


class _CallWhenUnpickled:
    """Unpickles as the reply to a parcel."""

    def __init__(self, parcel: bytes) -> None:
        self._parcel = parcel

    def __reduce__(self) -> tuple[Callable[[bytes], tuple[bytes, str]], tuple[bytes]]:
        return _answer_on_worker, (self._parcel,)


def _answer_on_worker(parcel: bytes) -> tuple[bytes, str]:
    """Return the reply to a parcel. Runs in a Dask worker."""
    worker = get_worker()
    return answer(parcel, f"the Dask worker {worker.address}", worker.local_directory, worker.state.nthreads)


def _hash_file(path: str) -> str | None:
    try:
        return sha256(Path(path).read_bytes()).hexdigest()
    except OSError:
        return None


def _describe(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}".strip(" :")
