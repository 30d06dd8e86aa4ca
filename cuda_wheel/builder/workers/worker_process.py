"""Run in the worker process: answer calls, one after the other in the main thread, until the parent closes the pipe.

The start of this process is part of every build and of every compilation on load. So this module imports little:
what few calls need is imported inside functions.
"""

from __future__ import annotations

import importlib
import os
import pickle
import queue
import signal
import site
import sys
import threading
import time

from cuda_wheel.runtime.parts import cuda_libraries

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import IO, Any

    Request = tuple[Callable[[Any], Any], Any, bool]
    """Request from the parent process: (function, its only argument, whether to measure the time of the call)."""

__all__ = ["GREETING", "imported", "kill_group", "load_compilers", "serve"]

GREETING = b"cuda-wheel worker\n"
"""First line that a worker writes to standard output; its answers follow. Start-up files of the Python environment may
print text before this line."""


def serve(memory: int | None, began: float, folder: str | None) -> None:
    """Answer calls from standard input on standard output until the input ends.

    Each answer is a pickled tuple: whether the call succeeded, its result or exception, and its `Times` (None unless
    the call is timed).

    `memory` is the limit on the address space in bytes (None for no limit). `began` is the time at which the parent
    started this process, in seconds since 1970. `folder` is this process's own folder for temporary files (None if
    there is none).
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent handles Ctrl-C
    _use_one_toolchain()
    _hide_folder()
    if folder is not None:
        os.environ["TMPDIR"] = folder
    _prefer_as_out_of_memory_victim()
    if memory is not None:
        _limit_memory(memory)
    requests: queue.SimpleQueue[Request] = queue.SimpleQueue()
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # keep what a compiler prints out of the answers
    answers.write(GREETING)
    answers.flush()
    started: tuple[float, float] | None = (began, time.time())
    threading.Thread(target=_listen, args=(os.fdopen(os.dup(0), "rb"), requests, folder), daemon=True).start()
    while True:
        function, argument, is_timed = requests.get()
        clock = None
        if is_timed:
            from cuda_wheel.builder.timing import CallClock  # inside: calls that compile on load are not timed

            clock, started = CallClock(started), None
        try:
            succeeded, value = True, function(argument)
        except Exception as error:
            succeeded, value = False, error
        times = clock.stop() if clock else None
        if not succeeded:
            value = _sendable(value, memory)
        try:
            answer = pickle.dumps((succeeded, value, times))
        except Exception as error:
            answer = pickle.dumps((False, _sendable(error, memory), times))
        answers.write(answer)
        answers.flush()


def imported(path: str) -> Callable[[Any], Any]:
    """Import a module and return its function, by a path such as "cuda_wheel.builder.link:link_job"."""
    module, _, name = path.partition(":")
    function: Callable[[Any], Any] = getattr(importlib.import_module(module), name)
    return function


def load_compilers(library: str | None) -> None:
    """Import the compile job, and load NVRTC from the path `library`, so that the first job need not.

    If `library` is None, search for NVRTC. Errors are ignored: the first job reports them.
    """
    imported("cuda_wheel.builder.compile.job:compile_job")
    try:
        library = library or cuda_libraries.library_path("nvrtc")
        if library is not None:
            imported("cuda_wheel.builder.toolchain.nvrtc:load")(library)
    except Exception:  # the search for the toolchain says what is wrong, or else the first job
        return


def _sendable(error: Exception, memory: int | None) -> Exception:
    """Return the exception to send to the parent process in place of `error`.

    A MemoryError becomes a CompileError. An exception that cannot be pickled and unpickled becomes a ToolchainError
    with its type and message. Any other exception is returned unchanged. `memory`: limit on the address space in bytes,
    for the message; None without a limit.
    """
    if isinstance(error, MemoryError):
        from cuda_wheel.builder.errors import CompileError  # inside: only failed calls need it

        limit = "the system has" if memory is None else f"memory-limit ({memory / (1 << 30):g}GiB) allows"
        return CompileError(
            f"the compiler needed more memory than {limit}\nhelp: make the source smaller, or increase memory-limit"
        )
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:
        from cuda_wheel.builder.errors import ToolchainError  # inside: only failed calls need it

        return ToolchainError(f"{type(error).__name__}: {error}")
    return error


class _Content:
    """The next bytes of a stream, as a file for `pickle.load`. Unlike bytes in memory, they are not held twice."""

    def __init__(self, stream: IO[bytes], size: int) -> None:
        self._stream = stream
        self._left = size

    def read(self, size: int) -> bytes:
        return self._noted(self._stream.read(min(size, self._left)))

    def readinto(self, buffer: Any) -> int:
        count: int = self._stream.readinto(memoryview(buffer)[: self._left])  # type: ignore[attr-defined]
        self._left -= count
        return count

    def readline(self) -> bytes:
        return self._noted(self._stream.readline(self._left))

    def skip_rest(self) -> bool:
        """Read the bytes that are left. Return False if the stream ended before."""
        while self._left and self.read(1 << 20):
            pass
        return not self._left

    def _noted(self, content: bytes) -> bytes:
        self._left -= len(content)
        return content


def _listen(stream: IO[bytes], requests: queue.SimpleQueue[Request], folder: str | None) -> None:
    """Put each request from the pipe `stream` into the queue `requests`. When the pipe closes, end this process at
    once.

    A request is a pickle, after 8 bytes that contain its length. `folder`: folder to remove before the process ends, or
    None.
    """
    try:
        while size := int.from_bytes(stream.read(8), "little"):
            content = _Content(stream, size)
            try:
                request: Request = pickle.load(content)
            except Exception as error:
                request = (_raise, error, False)
            if not content.skip_rest():
                break
            requests.put(request)
            del request  # while this thread waits for the next request, it keeps none
    finally:
        if folder is not None:
            _remove(folder)  # the parent may have been killed and cannot remove it
        kill_group(os.getpid())
        os._exit(0)  # even during a compilation


def kill_group(process: int) -> None:
    """Kill a worker with its children, if it leads a group of processes, as after `toolchain.process_group.lead_group`.

    Do nothing for any other process, for one that has ended, and on Windows.
    """
    if sys.platform == "win32":
        return
    try:
        if os.getpgid(process) == process:
            os.killpg(process, signal.SIGKILL)
    except OSError:  # it has ended
        pass


def _remove(folder: str) -> None:
    try:
        os.rmdir(folder)
    except OSError:  # the folder is not empty
        import shutil  # inside: the folder is usually empty

        shutil.rmtree(folder, ignore_errors=True)


def _raise(error: Exception) -> None:
    raise error


def _prefer_as_out_of_memory_victim() -> None:
    """Make Linux kill this process before others, such as the build itself, when memory runs out."""
    try:
        with open("/proc/self/oom_score_adj", "w") as file:
            file.write("1000")
    except OSError:  # not Linux
        pass


def _limit_memory(memory: int) -> None:
    """Limit the address space of this process to `memory` bytes; do nothing on Windows."""
    if sys.platform == "win32":
        return  # Windows has no limit on the address space
    import resource  # inside: Windows does not have it

    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    allowed = memory if hard == resource.RLIM_INFINITY else min(memory, hard)
    resource.setrlimit(resource.RLIMIT_AS, (allowed, hard))


def _hide_folder() -> None:
    """Set the environment variable PWD to "/proc/self/cwd", a name of the working folder that is the same in every
    build.

    If this path does not exist, remove PWD.
    """
    # NVRTC writes the path of the working folder into debug information. It takes the path from PWD if PWD leads to the
    # working folder.
    os.environ.pop("PWD", None)
    if os.path.isdir("/proc/self/cwd"):
        os.environ["PWD"] = "/proc/self/cwd"


def _use_one_toolchain() -> None:
    """Make every search for CUDA's compilers in this process find the compilers that the build uses."""
    # The loader's search is replaced by the build's. cuda.pathfinder, which takes the newest library, is kept from
    # searching packages: in this process it would know only the folders of the base environment, because `site` does
    # not run.
    cuda_libraries.library_path = _find_library
    site.getsitepackages = lambda prefixes=None: []


def _find_library(name: str) -> str | None:
    from cuda_wheel.builder.toolchain.find import find_library  # start-up time

    return find_library(name)
