"""Run jobs on a Dask cluster. Its workers need cuda-wheel and the same toolchain as this machine."""

from __future__ import annotations

import asyncio
import os
import pickle
import re
import threading
import warnings
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from dataclasses import replace
from functools import cache, lru_cache
from hashlib import sha256
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple
from uuid import uuid4

from distributed import Client, get_worker
from distributed.versions import VersionMismatchWarning

from cuda_wheel.builder.cluster.job_transfer import NotPortableError, RemoteCall, Versions, linker_release, versions_of
from cuda_wheel.builder.cluster.remote_worker import answer
from cuda_wheel.builder.errors import CompileError, ToolchainError
from cuda_wheel.builder.sources.header_dependencies import reachable
from cuda_wheel.builder.sources.paths import files_below
from cuda_wheel.builder.timing import TimedError, cause_of
from cuda_wheel.builder.toolchain.toolchain import Nvvm, Toolchain
from cuda_wheel.builder.workers.executor import EXECUTOR, FALLBACK, Call, Executor, Queue
from cuda_wheel.builder.workers.worker import WorkerDiedError
from cuda_wheel.runtime.errors import CudaWheelError

__all__ = ["DaskCluster", "files_to_send"]


_COMPUTED_NAME = re.compile(rb"__has_include|^[ \t]*#[ \t]*include(?:_next)?[ \t]+[A-Za-z_]", re.MULTILINE)
"""Matches the word `__has_include` or the start of `#include NAME` with a macro NAME. In a source with a match, the
search for `#include` lines may miss a file that the compiler looks for."""

_FILE_OPTION = re.compile(r"--?(?:I|include|pre-include|pch|use-pch|create-pch)")
"""Matches the beginning of an NVRTC option that names a file or folder: "-I", "--include-path=x", "--pre-include=x.h".
Source: NVRTC, "Supported Compile Options"."""


def files_to_send(
    root: str, source: str, text: bytes, options: Sequence[str], folders: Sequence[str]
) -> Mapping[str, bytes]:
    """Return path -> content of all files of the project in `root` that a source may include.

    The paths are project-relative, with "/". `text` is the content of the source. `folders` are its project-relative
    include folders; the first one is the folder of the source. Raises NotPortableError if the source may read files
    that are not among these.
    """
    if any(map(_FILE_OPTION.match, options)):
        raise NotPortableError
    try:
        contents = {path: Path(path).read_bytes() for path, *_ in reachable(Path(root), source, folders).headers}
        if any(map(_COMPUTED_NAME.search, (text, *contents.values()))):
            own, *searched = folders
            candidates = [entry.path for entry in os.scandir(os.path.join(root, own)) if entry.is_file()]
            candidates += [os.path.join(root, path) for path in files_below(Path(root), searched)]
            contents |= {path: Path(path).read_bytes() for path in candidates}
    except OSError as error:
        raise NotPortableError from error
    files = {os.path.relpath(path, root).replace(os.sep, "/"): content for path, content in contents.items()}
    if any(name.startswith("../") for name in files):
        raise NotPortableError
    return files


CONNECT_SECONDS = 5.0
"""Maximum number of seconds to wait for a connection to the scheduler of the Dask cluster."""

# This is enough for a cluster that starts workers when its load grows. It limits the memory that the inputs of a large
# build take.
MIN_TASKS, MAX_TASKS = 32, 512
"""Minimum and maximum number of Dask tasks that are submitted at one time. Between these limits, the number is twice
the number of threads of the cluster's workers."""

# Each task costs the scheduler, its worker and this process some milliseconds: a tenth of the time to compile a small
# kernel.
TASK_SECONDS = 1.0
"""Limit, in seconds, for the expected duration of a Dask task. A task gets another call only while its calls are
expected to take less."""


_Reply = tuple[bytes, str] | Exception
"""Outcome of one call that was sent to the cluster: (reply, SHA-256 of the reply), as `remote_worker.answer` returns
them. If there is no reply, it is the exception that says why."""


class _UnsentCall(NamedTuple):
    """A call that has not been sent to the cluster yet, and the future for its result."""

    remote: RemoteCall
    future: Future[Any]


class _ClusterError(Exception):
    """The cluster could not run a job, and the reason is not the job: a lost connection, for example.

    The message continues a sentence that begins with "Dask cluster at ADDRESS": "has no workers".
    """


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
        """Pool of threads that each send one Dask task at a time and wait for its result; None before the
        connection."""
        self._queue: Queue[_UnsentCall] = Queue()
        self._most_tasks = 0
        self._width = 0
        """Number of calls that the cluster runs at once: the number of threads of all its workers. It is 0 before the
        connection."""
        self._linker: Future[str] | None = None
        """Future whose result is the exact release of this machine's nvJitLink; None before the first attempt to
        connect."""
        self._own_versions: Versions | None = None
        self._given_up = False
        self._said: set[str] = set()
        """Texts of the warnings that `_warn_once` has shown. Each says why a job runs on this machine and not on the
        cluster."""
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
            with self._lock:
                while self._queue:
                    self._queue.take(None).future.cancel()
            self._threads.shutdown(wait=kind is None)
        if self._client is not None:
            self._client.close()

    @property
    def count(self) -> int:
        """Number of calls that run at once: in the cluster or, before the connection, in `local`."""
        return self._width or self._local.count

    def enqueue(self, call: Call[Any]) -> Future[Any]:
        """Submit a call and return its future, which raises the same errors as that of `Workers.enqueue`."""
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
        future: Future[Any] = Future()
        with self._lock:
            self._queue.put(_UnsentCall(remote, future), call.seconds, call.options)
        self._threads.submit(self._serve)
        return future

    def stop(self, future: Future[Any]) -> None:
        """Cancel a call that waits, or end the worker of this machine that runs it.

        A call that was sent to the cluster is not stopped.
        """
        if not future.cancel():
            self._local.stop(future)

    def _connect(self) -> None:
        self._linker = self._local.submit(linker_release, self._toolchain)  # the threads wait for it
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
        self._width = sum(threads.values())
        self._most_tasks = min(max(MIN_TASKS, 2 * self._width), MAX_TASKS)
        self._threads = ThreadPoolExecutor(self._most_tasks, "cuda-wheel-dask")

    def _give_up(self, reason: str) -> None:
        """Stop using the cluster, and warn of the `reason` unless the cluster was given up before.

        If the constructor's `fallback` is false, raise ToolchainError with the `reason` instead. `reason` continues the
        words "Dask cluster at ADDRESS": "has no workers".
        """
        text = f"Dask cluster at {self._address} ({EXECUTOR}) {reason}"
        if not self._fallback:
            raise ToolchainError(
                f"the {text}. Start it, correct or unset {EXECUTOR}, or set {FALLBACK}=local to build without it."
            )
        with self._lock:
            has_warned, self._given_up = self._given_up, True
        if not has_warned:
            self._warn(f"The {text}: this machine runs its jobs ({FALLBACK}=local).")

    def _serve(self) -> None:
        """Take waiting calls from the queue, run them in one Dask task, and set the result or error of each call's
        future. Do nothing if no call waits."""
        calls = [each for each in self._take() if each.future.set_running_or_notify_cancel()]
        replies = self._send(calls)
        # Those that this machine runs come last: the others need not wait for them.
        for number in sorted(range(len(calls)), key=lambda number: isinstance(replies[number], Exception)):
            future = calls[number].future
            try:
                result = self._result(calls[number], replies[number])
            except BaseException as error:
                future.set_exception(error)
            else:
                future.set_result(result)

    def _take(self) -> list[_UnsentCall]:
        """Remove the calls for one Dask task from the queue and return them; [] if the queue is empty.

        Usually this is one call. Several short calls (see TASK_SECONDS) share a task if enough calls are left for the
        other tasks.
        """
        calls: list[_UnsentCall] = []
        seconds = 0.0
        with self._lock:
            most = max(len(self._queue) // self._most_tasks, 1)
            while self._queue and len(calls) < most and seconds < TASK_SECONDS:
                calls.append(self._queue.take(calls[0].remote.call.options if calls else None))
                seconds += calls[-1].remote.call.seconds
        return calls

    def _send(self, calls: Sequence[_UnsentCall]) -> list[_Reply]:
        """Run calls on the cluster in one Dask task. Return the cluster's reply to each call, in the same order. In
        place of a missing reply, return the exception that says why, such as a _ClusterError."""
        assert self._client is not None
        replies: dict[int, _Reply] = {}
        parcels: dict[int, bytes] = {}
        for number, each in enumerate(calls):
            nvvm = self._nvvm.release if self._nvvm and each.remote.needs_nvvm else ""
            try:
                if self._given_up:
                    raise NotPortableError
                versions = self._versions()._replace(nvvm=nvvm)
                parcels[number] = each.remote.pack(versions, self._timeout, self._memory, self._files)
            except Exception as error:
                replies[number] = error
        if parcels:
            label = calls[next(iter(parcels))].remote.label
            # The scheduler unpickles the task's function, and may lack cuda-wheel: so the function is one of Python's.
            content = pickle.dumps(_CallsWhenUnpickled(list(parcels.values())))
            try:
                task = self._client.submit(pickle.loads, content, key=f"cuda-wheel {label} {uuid4().hex}")
                replies |= zip(parcels, task.result(), strict=True)
            except (Exception, CancelledError, asyncio.CancelledError) as error:
                replies |= dict.fromkeys(parcels, _no_reply(label, error))
        return [replies[number] for number in range(len(calls))]

    def _versions(self) -> Versions:
        """Return this machine's `Versions`. The field `nvvm` is "": it is set for each call that needs libNVVM."""
        if self._own_versions is None:
            assert self._linker is not None
            self._own_versions = versions_of(self._toolchain, self._linker.result(), None)
        return self._own_versions

    def _result(self, waiting: _UnsentCall, reply: _Reply) -> Any:
        """Return the result of the call `waiting`. `reply` is the cluster's reply to the call.

        If the cluster did not run the call, or reports that the source does not compile, run the call on this machine
        instead. Raise any other error in `reply`.
        """
        remote_error = None
        try:
            return self._result_of(waiting.remote, reply)
        except NotPortableError as error:
            self._warn_once(str(error))
        except _ClusterError as error:
            self._give_up(str(error))
        except Exception as error:
            cause = cause_of(error)
            if isinstance(cause, WorkerDiedError) or not isinstance(cause, CompileError):
                raise
            # On this machine, with all files of the project at hand, the same error can say more; and if the error
            # came from a file that was not sent, there is none.
            remote_error = cause
        result = self._local.enqueue(replace(waiting.remote.call, seconds=0.0, headers=None)).result()
        if remote_error is not None:
            label = waiting.remote.label
            self._warn(f"{label} compiles on this machine, but did not on the Dask cluster:\n{remote_error}")
        return result

    def _warn_once(self, text: str) -> None:
        with self._lock:
            is_new = bool(text) and text not in self._said
            self._said.add(text)
        if is_new:
            self._warn(text)

    def _result_of(self, remote: RemoteCall, reply: _Reply) -> Any:
        """Return the result of the call `remote` from the cluster's `reply`. Raise `reply` if it is an exception. Raise
        the call's own error if the reply contains one, and _ClusterError if the reply cannot be read."""
        if isinstance(reply, Exception):
            raise reply
        try:
            return remote.result(*reply, self._hash_file)
        except (CudaWheelError, NotPortableError, TimedError):
            raise
        except Exception as error:
            raise _no_reply(remote.label, error) from error


class _CallsWhenUnpickled:
    """An object that, when it is unpickled, runs the calls in `parcels` and becomes the list of the replies to them."""

    def __init__(self, parcels: list[bytes]) -> None:
        self._parcels = parcels

    def __reduce__(self) -> tuple[Callable[[list[bytes]], list[tuple[bytes, str]]], tuple[list[bytes]]]:
        return _answers_on_worker, (self._parcels,)


def _answers_on_worker(parcels: list[bytes]) -> list[tuple[bytes, str]]:
    """Run calls on a Dask worker, and return (reply, SHA-256 of the reply) for each. `parcels` has one item for each
    call, as `RemoteCall.pack` returns it."""
    worker = get_worker()
    where = f"the Dask worker {worker.address}", worker.local_directory, worker.state.nthreads
    if len(parcels) == 1:
        return [answer(parcels[0], *where)]
    with ThreadPoolExecutor(2) as threads:  # while one compiles, the next is unpacked, and its files are written
        return list(threads.map(lambda parcel: answer(parcel, *where), parcels))


def _no_reply(label: str, error: BaseException) -> _ClusterError:
    failure = _ClusterError(f"did not run {label} ({_describe(error)})")
    failure.__cause__ = error
    return failure


def _hash_file(path: str) -> str | None:
    try:
        return sha256(Path(path).read_bytes()).hexdigest()
    except OSError:
        return None


def _describe(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}".strip(" :")
