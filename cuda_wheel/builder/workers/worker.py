"""Start a worker process and call functions in it: the parent's side of `worker_process`."""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import IO, Any, TypeVar

from cuda_wheel.builder.errors import CompileError, ConfigError
from cuda_wheel.builder.scratch import new_folder
from cuda_wheel.builder.timing import TimedError, Times, now, worker_name
from cuda_wheel.builder.toolchain.nvrtc import scratch_file
from cuda_wheel.builder.workers.worker_process import GREETING, kill_group

__all__ = ["Worker", "WorkerDiedError", "WorkerTimeoutError"]

T = TypeVar("T")

_CHILD = "import sys; sys.path[:] = {path!r}; from cuda_wheel.builder.workers.worker_process import serve; "
_CHILD += "serve({memory!r}, {began!r}, {folder!r})"


def _without_driver() -> dict[str, str]:
    """Return environment variables (name -> value) that keep a process from loading the CUDA driver."""
    # NVRTC loads and initialises the driver if it finds one. This takes longer than compiling a small kernel, sometimes
    # much longer, and a compilation must not depend on the driver. The dynamic loader uses the first library with the
    # driver's name on its search path, which is the one in the folder `no_driver`.
    variables = {"CUDA_VISIBLE_DEVICES": "-1"}
    if sys.platform == "linux":
        folders = [str(Path(__file__).parent / "no_driver"), os.environ.get("LD_LIBRARY_PATH", "")]
        variables["LD_LIBRARY_PATH"] = os.pathsep.join(filter(None, folders))
    return variables


def _fast_allocation() -> dict[str, str]:
    """Return environment variables (name -> value) that make glibc allocate memory faster; {} except on Linux."""
    # NVRTC allocates many small blocks, and glibc caches only seven freed blocks of each size. Caching all of them and
    # using large pages saves a sixth of the time to compile a large source. Other C libraries ignore the variable. The
    # user's own settings come last, and so take precedence.
    tunables = ["glibc.malloc.tcache_count=65535", "glibc.malloc.hugetlb=1", os.environ.get("GLIBC_TUNABLES", "")]
    return {"GLIBC_TUNABLES": ":".join(filter(None, tunables))} if sys.platform == "linux" else {}


def _small_reservations() -> dict[str, str]:
    """Return environment variables (name -> value) that keep a free-threaded Python from reserving 1 GiB of addresses.

    Its allocator reserves them at its start, and `memory-limit` counts addresses. Source: mimalloc, "Environment
    Options": a number of KiB.
    """
    return {"MIMALLOC_ARENA_RESERVE": os.environ.get("MIMALLOC_ARENA_RESERVE", "65536")}


class WorkerDiedError(CompileError):
    """The worker process ended, or sent something unreadable, before it answered."""


class WorkerTimeoutError(WorkerDiedError):
    """The worker process was killed because a call took too long."""


class Worker:
    """One worker process, which starts when this object is created.

    `memory` is the limit on its address space in bytes (not on Windows); None for no limit. Call `end` or `leave` last.
    """

    def __init__(self, memory: int | None) -> None:
        self.options: tuple[str, ...] | None = None
        """Compiler options of the calls that the worker has served; None if it has served no call with options."""
        self._is_killed = False
        self._greeted = False
        """Whether the worker's `GREETING` was read from the pipe. After the greeting, the process writes only
        answers."""
        self._unread = 0
        """Number of calls sent by `prepare` whose answers have not been read from the pipe yet. These answers arrive
        before the answer to the next call, and are dropped."""
        self._memory = memory
        self._folder = None
        with suppress(ConfigError):  # most calls need no temporary files
            self._folder = new_folder()
        self._stderr = os.fdopen(scratch_file(), "w+b")
        # The child gets the present sys.path of this process, which a build front end may have changed, without the
        # entries relative to the current folder: a worker runs in the project, whose files are not for import.
        path = [*(entry for entry in sys.path if os.path.isabs(entry)), str(Path(__file__).parents[3])]
        self._process = subprocess.Popen(
            # Without site: sys.path is already known, and start-up files need not run again.
            [
                sys.executable,
                "-S",
                "-c",
                _CHILD.format(path=path, memory=memory, began=time.time(), folder=self.folder),
            ],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._stderr,
            env=os.environ | _without_driver() | _fast_allocation() | _small_reservations(),
        )

    def prepare(self, function: Callable[[Any], Any], argument: Any) -> None:
        """Start `function(argument)` in the worker without waiting; its result is ignored."""
        assert self._process.stdin is not None
        with suppress(OSError):  # the next `call` reports a worker that died
            self._process.stdin.write(_request(function, argument, False))
            self._process.stdin.flush()
            self._unread += 1

    def call(self, function: Callable[[Any], T], argument: Any, timeout: float) -> T:
        """Return what `function(argument)` returns in the worker, or raise what it raises there.

        Raises WorkerTimeoutError if it takes more than `timeout` seconds, and WorkerDiedError if the worker dies.
        """
        succeeded, value, _ = self.answer(function, argument, timeout)
        if not succeeded:
            raise value
        result: T = value
        return result

    def answer(
        self, function: Callable[[Any], Any], argument: Any, timeout: float, is_timed: bool = False
    ) -> tuple[bool, Any, Times | None]:
        """Return whether `function(argument)` succeeded in the worker, its result or exception, and its times (None
        unless `is_timed`).

        Raises WorkerTimeoutError if there is no answer after `timeout` seconds, and WorkerDiedError if the worker dies;
        if `is_timed`, inside a TimedError.
        """
        request = _request(function, argument, is_timed)
        process = self._process
        assert process.stdin is not None and process.stdout is not None
        printed = os.fstat(self._stderr.fileno()).st_size
        expired = threading.Event()
        began = now()

        def expire() -> None:
            expired.set()
            self._kill_process()

        timer = threading.Timer(timeout, expire)
        timer.daemon = True
        timer.start()
        try:
            self._await_greeting(process.stdout)
            process.stdin.write(request)
            process.stdin.flush()
            while self._unread:
                pickle.load(process.stdout)
                self._unread -= 1
            succeeded, value, times = pickle.load(process.stdout)
        except Exception as error:  # unpickling arbitrary bytes raises many kinds of exceptions
            if expired.is_set():
                death: WorkerDiedError = WorkerTimeoutError(_timeout_message(timeout))
            else:
                death = WorkerDiedError(self._death_message(printed))
            raise self._timed(death, began, is_timed) from error
        finally:
            timer.cancel()
            timer.join()  # else it could kill the worker during the next call
        if expired.is_set():  # the answer arrived at the same moment
            raise self._timed(WorkerTimeoutError(_timeout_message(timeout)), began, is_timed)
        return succeeded, value, times

    def _timed(self, error: WorkerDiedError, began: float, is_timed: bool) -> Exception:
        """Return the exception to raise for a worker that did not answer. This is `error`, or if `is_timed`, a
        TimedError that contains `error` and the time since `began`.

        `began`: when the call began, in seconds, as `now` returns it.
        """
        if not is_timed:
            return error
        return TimedError(error, Times(worker_name(self._process.pid), began, now(), (), None))

    def _await_greeting(self, stream: IO[bytes]) -> None:
        """Read and drop the process's output up to the end of its `GREETING`. Raises EOFError if the process ends
        before the greeting."""
        while not self._greeted:
            line = stream.readline()
            if not line:
                raise EOFError
            self._greeted = line.endswith(GREETING)

    def _death_message(self, printed: int) -> str:
        """Return an error message that says how the process ended and what it printed to standard error.

        `printed` is the number of bytes that earlier calls wrote to standard error; these are left out.
        """
        try:
            status = self._process.wait(timeout=1)  # a process closes its pipe shortly before it ends
        except subprocess.TimeoutExpired:
            self._kill_process()
            return "the compiler process sent an unreadable answer; it may have overwritten its own memory"
        try:
            how = f"killed by {signal.Signals(-status).name}" if status < 0 else f"exit status {status}"
        except ValueError:
            how = f"exit status {status}"
        self._stderr.seek(printed)
        output = self._stderr.read().decode(errors="replace").strip()[-2000:]
        lines = [f"the compiler process died ({how})" + ":" * bool(output), output, self._death_help(how)]
        return "\n".join(filter(None, lines))

    def _death_help(self, how: str) -> str:
        """Return the last line of the error message for a process that died: "help: ...". `how` says how it died:
        "killed by SIGSEGV"."""
        if how == "killed by SIGKILL":  # this build sends it only after a timeout, which has its own message
            return (
                "help: the system kills processes when memory runs out; CUDA_WHEEL_JOBS=1 runs one compiler at a time, "
                "and a lower memory-limit stops a compiler that needs too much"
            )
        limit = f" (memory-limit is {self._memory / (1 << 30):g}GiB)" if self._memory is not None else ""
        return (
            f"help: the compiler ran out of memory{limit} or stack, or crashed on a damaged file: make the source "
            "smaller or simpler"
        )

    @property
    def folder(self) -> str | None:
        """Path of the worker's own folder for temporary files, which `end` removes; None if it could not be created."""
        return None if self._folder is None else self._folder.name

    @property
    def has_ended(self) -> bool:
        """Whether the process has ended, or ends soon because it was killed."""
        return self._is_killed or self._process.poll() is not None

    def kill(self) -> None:
        """Kill the process."""
        self._is_killed = True
        self._kill_process()

    def _kill_process(self) -> None:
        """Kill the process, and the assembler that Triton may have started in it."""
        kill_group(self._process.pid)
        self._process.kill()

    def leave(self) -> None:
        """Call `end` in a background thread."""
        threading.Thread(target=self.end, daemon=True).start()

    def close_pipe(self) -> None:
        """Close the pipe for requests; the process then ends by itself."""
        assert self._process.stdin is not None
        with suppress(OSError):
            self._process.stdin.close()

    def end(self) -> None:
        """Close the pipe, wait until the process ends, and release its files."""
        assert self._process.stdout is not None
        self.close_pipe()
        try:
            self._process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            self._kill_process()
            self._process.wait()
        self._process.stdout.close()
        self._stderr.close()
        if self._folder is not None:
            self._folder.cleanup()


def _request(function: Callable[[Any], Any], argument: Any, is_timed: bool) -> bytes:
    """Return what a worker process reads for one call: the length of the pickled call in 8 bytes, and the pickled call.

    With the length, a call that cannot be unpickled does not disturb the next one.
    """
    pickled = pickle.dumps((function, argument, is_timed))
    return len(pickled).to_bytes(8, "little") + pickled


def _timeout_message(timeout: float) -> str:
    return (
        f"the compiler was stopped after {timeout:g} s, the time limit of one compile job (key: timeout)\n"
        "help: if the source is only large, increase timeout; one with hundreds of kernels compiles sooner as several "
        "sources, in parallel; otherwise look for endless templates, macros and constant expressions, and for large "
        "unrolled loops"
    )
