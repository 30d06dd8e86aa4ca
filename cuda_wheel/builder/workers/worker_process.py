"""The worker process: answers calls, one after the other in its main thread, until nobody asks any more."""

from __future__ import annotations

import os
import pickle
import queue
import signal
import site
import sys
import threading
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import IO, Any

__all__ = [
    "GREETING",
    "serve",
    "started",
]


GREETING = b"cuda-wheel worker\n"
"""What a worker says first. Whatever stands before it, somebody's start-up files have printed."""


started: tuple[float, float] | None = None
"""From when to when this process started, in seconds since 1970; None where it is no worker, or was asked already."""


def serve(memory: int | None, began: float, folder: str | None) -> None:
    """Answer calls from standard input on standard output until the input ends.

    `memory` is in bytes of address space; this process was called for at `began`, in seconds since 1970; `folder` is
    its own, for temporary files.
    """
    global started
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's to answer
    _search_sys_path()
    _hide_folder()
    if folder is not None:
        os.environ["TMPDIR"] = folder
    _go_first()
    if memory is not None:
        _limit(memory)
    calls: queue.SimpleQueue[tuple[Callable[[Any], Any], Any]] = queue.SimpleQueue()
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what a compiler prints must not get among the answers
    answers.write(GREETING)
    answers.flush()
    started = began, time.time()
    threading.Thread(target=_listen, args=(os.fdopen(os.dup(0), "rb"), calls, folder), daemon=True).start()
    while True:
        function, argument = calls.get()
        try:
            answer = pickle.dumps((True, function(argument)))
        except MemoryError as error:
            answer = pickle.dumps((False, _too_much(memory, error)))
        except Exception as error:
            answer = pickle.dumps((False, _picklable(error)))
        answers.write(answer)
        answers.flush()


def _too_much(memory: int | None, error: MemoryError) -> Exception:
    from cuda_wheel.builder.errors import CompileError

    limit = "the system has" if memory is None else f"memory-limit ({memory / (1 << 30):g}GiB)"
    too_much = CompileError(
        f"the compiler needed more than {limit}\nhelp: make the source smaller, or memory-limit larger"
    )
    too_much.__dict__.update(error.__dict__)  # its times
    return too_much


def _listen(stream: IO[bytes], calls: queue.SimpleQueue[tuple[Callable[[Any], Any], Any]], folder: str | None) -> None:
    """Pass on what the parent asks. When it ends, however it does, this process ends too, in the midst of a compile."""
    while True:
        try:
            calls.put(pickle.load(stream))
        except EOFError:
            if folder is not None:
                _remove(folder)  # the parent may have been killed
            os._exit(0)
        except Exception as error:
            calls.put((_raise, _picklable(error)))


def _remove(folder: str) -> None:
    try:
        os.rmdir(folder)
    except OSError:  # it is not empty
        import shutil

        shutil.rmtree(folder, ignore_errors=True)


def _raise(error: Exception) -> None:
    raise error


def _go_first() -> None:
    """Have the system end this process before the build's own, and others, where memory runs out."""
    try:
        with open("/proc/self/oom_score_adj", "w") as file:
            file.write("1000")
    except OSError:  # not Linux
        pass


def _limit(memory: int) -> None:
    if sys.platform == "win32":
        return  # it has no such limit
    import resource

    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    allowed = memory if hard == resource.RLIM_INFINITY else min(memory, hard)
    resource.setrlimit(resource.RLIMIT_AS, (allowed, hard))


def _hide_folder() -> None:
    """Have NVRTC name the folder that it works in by a name that is the same in every build.

    It writes that name into debug information, and believes PWD as long as it leads to the folder.
    """
    os.environ.pop("PWD", None)
    if os.path.isdir("/proc/self/cwd"):
        os.environ["PWD"] = "/proc/self/cwd"


def _search_sys_path() -> None:
    """Let cuda.pathfinder find what is on `sys.path`, and no other environment's.

    It looks in `site.getsitepackages()`, where pip's isolated builds (an overlay put on `sys.path`) and PYTHONPATH
    do not show, and which without `site` names the base environment's. This process is ours, so we may say so.
    """
    holders = [entry for entry in sys.path if os.path.isdir(os.path.join(entry, "nvidia"))]
    site.getsitepackages = lambda prefixes=None: list(dict.fromkeys(holders))


def _picklable(error: Exception) -> Exception:
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:
        from cuda_wheel.builder.errors import ToolchainError

        return ToolchainError(f"{type(error).__name__}: {error}")
    return error
