"""Run compiler calls in worker processes that may crash, hang or eat memory without harm to the build.

Each worker is a fresh interpreter that compiles in its main thread: there NVRTC manages its own stack, which it does
not elsewhere, and front ends of several processes run side by side, which those of several threads do not. A worker
serves one set of compiler options only: NVRTC 13.1 to 13.4 let one program's options spoil a later one of its process
(https://github.com/NVIDIA/warp/issues/1944).
"""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any, TypeVar

from cuda_wheel.build.errors import CompileError, ConfigError
from cuda_wheel.build.worker_process import GREETING

__all__ = ["Workers", "available_cores"]

T = TypeVar("T")

_CHILD = "import sys; sys.path[:] = {path!r}; from cuda_wheel.build.worker_process import serve; serve({memory!r})"


def available_cores() -> int:
    """Return how many jobs to run at once: CUDA_WHEEL_JOBS, else the cores that this process may use."""
    wanted = os.environ.get("CUDA_WHEEL_JOBS")
    if wanted:
        if not (wanted.isascii() and wanted.isdigit() and int(wanted) > 0):
            raise ConfigError(f"the environment variable CUDA_WHEEL_JOBS must be a number above 0, not {wanted!r}.")
        return int(wanted)
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class Workers:
    """A pool of worker processes; a context manager. Workers start when first needed.

    `timeout` is in seconds for one call, `memory` in bytes of address space for one worker (not on Windows).
    """

    def __init__(self, timeout: float, memory: int | None, count: int | None = None) -> None:
        self._timeout = timeout
        self._memory = memory
        self._threads = ThreadPoolExecutor(count or available_cores(), thread_name_prefix="cuda-wheel")
        self._mine = threading.local()
        self._all: set[_Worker] = set()
        self._closed = False

    def __enter__(self) -> Workers:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._closed = True
        if kind is not None:  # nobody waits for the calls under way
            for worker in list(self._all):
                worker.kill()
        self._threads.shutdown(wait=True, cancel_futures=True)
        for worker in self._all:
            worker.end()

    def submit(self, function: Callable[[Any], T], argument: Any, flavour: tuple[str, ...] | None = None) -> Future[T]:
        """Return the future of `function(argument)`, called in a worker that has seen no other `flavour`.

        None is for calls that any worker may serve. The future raises what the function raised, and CompileError where
        the call took too long or killed its worker.
        """
        return self._threads.submit(self._call, function, argument, flavour)

    def _call(self, function: Callable[[Any], T], argument: Any, flavour: tuple[str, ...] | None) -> T:
        worker: _Worker | None = getattr(self._mine, "worker", None)
        if worker is not None and None not in (flavour, worker.flavour) and worker.flavour != flavour:
            self._drop(worker)
            worker = None
        if worker is None:
            worker = self._mine.worker = _Worker(self._memory)
            self._all.add(worker)
            if self._closed:
                worker.kill()
        worker.flavour = worker.flavour if flavour is None else flavour
        try:
            result: T = worker.call(function, argument, self._timeout)
            return result
        except _Died:
            self._drop(worker)
            raise

    def _drop(self, worker: _Worker) -> None:
        worker.kill()
        worker.end()
        self._all.discard(worker)
        self._mine.worker = None


def _without_driver() -> dict[str, str]:
    """Return environment variables that keep a process from the CUDA driver.

    NVRTC loads and starts it where it finds it: that takes longer than compiling a small kernel, at times much longer,
    and what is compiled must not depend on it. The first library of that name that the loader meets decides.
    """
    variables = {"CUDA_VISIBLE_DEVICES": "-1"}
    if sys.platform == "linux":
        folders = [str(Path(__file__).parent / "no_driver"), os.environ.get("LD_LIBRARY_PATH", "")]
        variables["LD_LIBRARY_PATH"] = os.pathsep.join(filter(None, folders))
    return variables


class _Died(CompileError):
    """The worker ended before it answered."""


class _Worker:
    """The parent's end of one worker process."""

    def __init__(self, memory: int | None) -> None:
        self.flavour: tuple[str, ...] | None = None
        self._greeted = False
        self._stderr = tempfile.TemporaryFile()  # noqa: SIM115 - `end` closes it
        # The child gets this process's sys.path, which a build front end may have changed since start, but for entries
        # that depend on the current folder: it works in the project's, whose files are not for import.
        path = [*(entry for entry in sys.path if os.path.isabs(entry)), str(Path(__file__).parents[2])]
        self._process = subprocess.Popen(
            # No site: sys.path is known already, and what start-up files there are need not run again.
            [sys.executable, "-S", "-c", _CHILD.format(path=path, memory=memory)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._stderr,
            env=os.environ | _without_driver(),
        )

    def call(self, function: Callable[[Any], Any], argument: Any, timeout: float) -> Any:
        process = self._process
        assert process.stdin is not None and process.stdout is not None
        expired = threading.Event()

        def expire() -> None:
            expired.set()
            process.kill()

        timer = threading.Timer(timeout, expire)
        timer.daemon = True
        timer.start()
        try:
            if not self._greeted:
                while not (line := process.stdout.readline()).endswith(GREETING):
                    if not line:
                        raise EOFError
                self._greeted = True
            pickle.dump((function, argument), process.stdin)
            process.stdin.flush()
            good, answer = pickle.load(process.stdout)
        except (EOFError, OSError, pickle.UnpicklingError) as error:
            process.kill()
            raise _Died(self._obituary(timeout if expired.is_set() else None)) from error
        finally:
            timer.cancel()
        if good:
            return answer
        raise answer

    def _obituary(self, timeout: float | None) -> str:
        if timeout is not None:
            return f"the compiler was stopped after {timeout:g} s, the timeout of one compile job"
        status = self._process.wait()
        try:
            how = f"killed by {signal.Signals(-status).name}" if status < 0 else f"exit status {status}"
        except ValueError:
            how = f"exit status {status}"
        self._stderr.seek(0)
        last_words = self._stderr.read().decode(errors="replace").strip()[-2000:]
        return f"the compiler process died ({how})" + (f":\n{last_words}" if last_words else "")

    def kill(self) -> None:
        self._process.kill()

    def end(self) -> None:
        """Let the process end and free what belongs to it."""
        assert self._process.stdin is not None and self._process.stdout is not None
        with suppress(OSError):
            self._process.stdin.close()
        try:
            self._process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process.stdout.close()
        self._stderr.close()
