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

from cuda_wheel.build.errors import CompileError, ConfigError
from cuda_wheel.build.nvrtc import scratch_file
from cuda_wheel.build.scratch import new_folder
from cuda_wheel.build.timing import Timed, now, worker_name
from cuda_wheel.build.worker_process import GREETING

__all__ = ["Died", "Late", "Worker"]

T = TypeVar("T")

_CHILD = "import sys; sys.path[:] = {path!r}; from cuda_wheel.build.worker_process import serve; "
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
        self._folder = None
        with suppress(ConfigError):  # most of what a worker does needs none
            self._folder = new_folder()
        self._stderr = os.fdopen(scratch_file(), "w+b")
        # The child gets this process's sys.path, which a build front end may have changed since start, but for entries
        # that depend on the current folder: it works in the project's, whose files are not for import.
        path = [*(entry for entry in sys.path if os.path.isabs(entry)), str(Path(__file__).parents[2])]
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
        except (EOFError, OSError, pickle.UnpicklingError) as error:
            process.kill()
            died = Late(self._obituary(timeout)) if expired.is_set() else Died(self._obituary(None))
            died.__dict__["times"] = Timed(None, worker_name(process.pid), began, now(), (), None)
            raise died from error
        finally:
            timer.cancel()
        if good:
            result: T = answer
            return result
        raise answer

    def _obituary(self, timeout: float | None) -> str:
        if timeout is not None:
            return f"the compiler was stopped after {timeout:g} s, the timeout of one compile job (key: timeout)"
        status = self._process.wait()
        try:
            how = f"killed by {signal.Signals(-status).name}" if status < 0 else f"exit status {status}"
        except ValueError:
            how = f"exit status {status}"
        self._stderr.seek(0)
        last_words = self._stderr.read().decode(errors="replace").strip()[-2000:]
        return f"the compiler process died ({how})" + (f":\n{last_words}" if last_words else "")

    @property
    def folder(self) -> str | None:
        """The worker's own folder for temporary files, which goes with it; None where there can be none."""
        return None if self._folder is None else self._folder.name

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
