"""Start a worker process, and have it call functions: the parent's end of `worker_process`."""

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
from typing import Any, TypeVar

from cuda_wheel.builder.errors import CompileError, ConfigError
from cuda_wheel.builder.scratch import new_folder
from cuda_wheel.builder.timing import Timed, now, worker_name
from cuda_wheel.builder.toolchain.nvrtc import scratch_file
from cuda_wheel.builder.workers.worker_process import GREETING

__all__ = [
    "Died",
    "Late",
    "Worker",
]


T = TypeVar("T")


_CHILD = "import sys; sys.path[:] = {path!r}; from cuda_wheel.builder.workers.worker_process import serve; "


_CHILD += "serve({memory!r}, {began!r}, {folder!r})"


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


class Died(CompileError):
    """The worker ended before it answered."""


class Late(Died):
    """The worker was ended, because it took too long."""


class Worker:
    """One worker process, which starts at once. `memory` is in bytes of address space (not on Windows).

    `end` or `leave` has to be called last.
    """

    def __init__(self, memory: int | None) -> None:
        self.flavour: tuple[str, ...] | None = None
        self._greeted = False
        self._unread = 0
        self._memory = memory
        self._folder = None
        with suppress(ConfigError):  # most of what a worker does needs none
            self._folder = new_folder()
        self._stderr = os.fdopen(scratch_file(), "w+b")
        # The child gets this process's sys.path, which a build front end may have changed since start, but for entries
        # that depend on the current folder: it works in the project's, whose files are not for import.
        path = [*(entry for entry in sys.path if os.path.isabs(entry)), str(Path(__file__).parents[3])]
        self._process = subprocess.Popen(
            # No site: sys.path is known already, and what start-up files there are need not run again.
            [
                sys.executable,
                "-S",
                "-c",
                _CHILD.format(path=path, memory=memory, began=time.time(), folder=self.folder),
            ],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._stderr,
            env=os.environ | _without_driver(),
        )

    def prepare(self, function: Callable[[Any], Any], argument: Any) -> None:
        """Have a function called whose answer nobody waits for."""
        with suppress(OSError):  # a worker that died is noticed by whoever waits for it
            self._send(function, argument)
            self._unread += 1

    def _send(self, function: Callable[[Any], Any], argument: Any) -> None:
        assert self._process.stdin is not None
        pickle.dump((function, argument), self._process.stdin)
        self._process.stdin.flush()

    def call(self, function: Callable[[Any], T], argument: Any, timeout: float) -> T:
        """Return what `function(argument)` returns there, or raise what it raises.

        Raises Late where it takes more than `timeout` seconds, and Died where it kills the worker.
        """
        process = self._process
        assert process.stdin is not None and process.stdout is not None
        began = now()
        printed = os.fstat(self._stderr.fileno()).st_size
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
            self._send(function, argument)
            while self._unread:
                pickle.load(process.stdout)
                self._unread -= 1
            good, answer = pickle.load(process.stdout)
        except Exception as error:  # whatever pickle makes of what is no answer
            died = Late(_late(timeout)) if expired.is_set() else Died(self._obituary(printed))
            died.__dict__["times"] = Timed(None, worker_name(process.pid), began, now(), (), None)
            raise died from error
        finally:
            timer.cancel()
            timer.join()  # or it could kill the worker while that does the next call
        if expired.is_set():  # just as it answered
            raise Late(_late(timeout))
        if good:
            result: T = answer
            return result
        raise answer

    def _obituary(self, printed: int) -> str:
        """Return how the process ended, and what it printed after so many bytes, which earlier calls did."""
        try:
            status = self._process.wait(timeout=1)  # it closes its pipe a moment earlier
        except subprocess.TimeoutExpired:
            self._process.kill()
            return "the compiler process gave no answer that can be read: it may have written over its own memory"
        try:
            how = f"killed by {signal.Signals(-status).name}" if status < 0 else f"exit status {status}"
        except ValueError:
            how = f"exit status {status}"
        self._stderr.seek(printed)
        last_words = self._stderr.read().decode(errors="replace").strip()[-2000:]
        lines = [f"the compiler process died ({how})" + ":" * bool(last_words), last_words, self._help(how)]
        return "\n".join(filter(None, lines))

    def _help(self, how: str) -> str:
        if how == "killed by SIGKILL":  # not by this build
            return (
                "help: the system does so where memory runs out: CUDA_WHEEL_JOBS=1 has one compiler run at a time, and "
                "a lower memory-limit ends one that takes too much"
            )
        limit = f" (memory-limit is {self._memory / (1 << 30):g}GiB)" if self._memory is not None else ""
        return (
            f"help: a compiler ends so of what is too much for it, be it of memory{limit} or of nesting, or of a "
            "damaged file: make the source smaller or simpler"
        )

    @property
    def folder(self) -> str | None:
        """The worker's own folder for temporary files, which goes with it; None where there can be none."""
        return None if self._folder is None else self._folder.name

    @property
    def has_ended(self) -> bool:
        return self._process.poll() is not None

    def kill(self) -> None:
        self._process.kill()

    def leave(self) -> None:
        """Let the process end, and wait for that in the background."""
        threading.Thread(target=self.end, daemon=True).start()

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
        if self._folder is not None:
            self._folder.cleanup()


def _late(timeout: float) -> str:
    return (
        f"the compiler was stopped after {timeout:g} s, the timeout of one compile job (key: timeout)\n"
        "help: if it only takes its time, a longer timeout lets it end; if not, look for templates, macros and "
        "constant expressions without end, and for large loops that are unrolled"
    )
