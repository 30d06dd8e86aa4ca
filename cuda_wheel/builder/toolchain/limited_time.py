"""Compile a source within a limited time. Runs in worker processes only; see `workers`.

NVRTC's front end cannot be interrupted: the callback of nvrtcSetFlowCallback is called only when it has ended (12.9,
13.0 and 13.5). A copy of the process can be.
"""

from __future__ import annotations

import os
import pickle
import signal
import sys
from typing import TYPE_CHECKING

from cuda_wheel.builder.toolchain.nvrtc import compile_text

if TYPE_CHECKING:
    from cuda_wheel.builder.toolchain.nvrtc import NvrtcRequest, NvrtcResult

__all__ = ["compile_within"]


def compile_within(request: NvrtcRequest, seconds: int) -> NvrtcResult | None:
    """Return the result of compiling a source; None after so many seconds, or if the compiler crashes.

    Where processes cannot be copied, on Windows, this takes as long as it takes.
    """
    if sys.platform == "win32":
        return compile_text(request)
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


def _send(request: NvrtcRequest, sender: int, seconds: int) -> None:
    """Write the result of a request to a pipe and end this process, at the latest after so many seconds."""
    status = 1
    try:
        if sys.platform != "win32":
            signal.signal(signal.SIGALRM, signal.SIG_DFL)  # also ends this process if its parent was killed
            signal.alarm(seconds)
        with os.fdopen(sender, "wb") as stream:
            pickle.dump(compile_text(request), stream)
        status = 0
    finally:
        os._exit(status)
