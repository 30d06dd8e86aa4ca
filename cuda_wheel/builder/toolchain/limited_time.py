"""Compile a source in a copy of this process, which can be interrupted and whose state is lost. Runs in workers only.

NVRTC's front end cannot be interrupted: the callback of nvrtcSetFlowCallback is called only when it has ended (12.9,
13.0 and 13.5). And the options of a program can change later programs of the same process (scripts/option_leaks.py):
after one with debugging information, NVRTC 12.9 and 13.5 optimise the next ones differently.
"""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
from typing import TYPE_CHECKING

from cuda_wheel.builder.toolchain.nvrtc import compile_text

if TYPE_CHECKING:
    from cuda_wheel.builder.toolchain.nvrtc import NvrtcRequest, NvrtcResult

__all__ = ["compile_apart"]

_PARENT_DEATH_SIGNAL = 1
"""PR_SET_PDEATHSIG of Linux's prctl: the signal that a process gets when its parent ends."""

_CHILD = """
import pickle, sys
sys.path[:], request = pickle.load(sys.stdin.buffer)
from cuda_wheel.builder.toolchain.nvrtc import compile_text
pickle.dump(compile_text(request), sys.stdout.buffer)
"""


def compile_apart(request: NvrtcRequest, seconds: int = 0) -> NvrtcResult | None:
    """Return the result of compiling a source in a process that compiles nothing afterwards.

    None after so many seconds, or if the compiler crashes. With 0 seconds there is no limit.
    """
    if sys.platform == "win32":  # a process cannot be copied
        return _compile_in_new_process(request, seconds)
    receiver, sender = os.pipe()
    child = os.fork()
    if not child:
        _send(request, sender, seconds)
    os.close(sender)
    with os.fdopen(receiver, "rb") as stream:
        answer = stream.read()
    _, status = os.waitpid(child, 0)
    result: NvrtcResult | None = pickle.loads(answer) if status == 0 else None
    return result


def _compile_in_new_process(request: NvrtcRequest, seconds: int) -> NvrtcResult | None:
    command, input_ = [sys.executable, "-S", "-c", _CHILD], pickle.dumps((sys.path, request))
    try:
        done = subprocess.run(command, input=input_, capture_output=True, timeout=seconds or None, check=False)
    except subprocess.TimeoutExpired:
        return None
    result: NvrtcResult | None = pickle.loads(done.stdout) if done.returncode == 0 else None
    return result


def _send(request: NvrtcRequest, sender: int, seconds: int) -> None:
    """Write the result of a request to a pipe and end this process, at the latest after so many seconds."""
    status = 1
    try:
        if sys.platform == "linux":
            import ctypes

            ctypes.CDLL(None).prctl(_PARENT_DEATH_SIGNAL, signal.SIGKILL)
        if sys.platform != "win32":
            signal.signal(signal.SIGALRM, signal.SIG_DFL)
            signal.alarm(seconds)
        with os.fdopen(sender, "wb") as stream:
            pickle.dump(compile_text(request), stream)
        status = 0
    finally:
        os._exit(status)
