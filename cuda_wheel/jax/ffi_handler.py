"""The handler that XLA calls to run operators: a callback of ctypes.

It raises nothing, since C cannot take an exception: it returns XLA's error objects.

At exit, Python ends a daemon thread as soon as that asks for Python's lock. Inside XLA's C++ code, this ends the
process with an error. So a handler holds the thread that calls it before: there it waits without the lock.
"""

import ctypes
import os
import sys
import threading
import time
import traceback
from collections.abc import Callable
from typing import Any

from ..runtime.errors import ArgumentError, CudaWheelError
from .call_frames import Api, CallFrame, HandlerError, answered_metadata, api_at, frame_base, read_frame
from .guarded_code import guarded

__all__ = ["close", "handler"]

CANCELLED, INVALID_ARGUMENT, FAILED_PRECONDITION, INTERNAL, UNAVAILABLE = 1, 3, 9, 13, 14
"""Values of XLA_FFI_Error_Code."""

LONGEST_HOLD = 10.0
"""Seconds that a thread is held at exit. If XLA waits for it, the exit takes so long."""

_kept: list[Any] = []
"""The callbacks: XLA may call them as long as the process lives."""

_state = {"closed": False}
"""Whether the interpreter is ending."""

_held: list[int] = []
"""The threads that wait in a handler for the process to end."""

_never = threading.Lock()
_never.acquire()


def close(seconds: float = 0.25) -> None:
    """Let handlers launch nothing from now on, because the interpreter is ending, and hold the threads that call them.

    Daemon threads may still run programs. Waits until as many are held, or none came for so long.
    """
    _state["closed"] = True
    daemons = len([each for each in threading.enumerate() if each.daemon])
    held, end = 0, time.monotonic() + seconds
    while held < daemons and time.monotonic() < end:
        time.sleep(0.001)
        if len(_held) > held:
            held, end = len(_held), time.monotonic() + seconds


def _refuse_at_exit(api: Api) -> int:
    """Return an error object of XLA; in all threads but the main one, only after time enough for the process to end."""
    if threading.get_ident() != threading.main_thread().ident:
        _held.append(threading.get_ident())
        _never.acquire(timeout=LONGEST_HOLD)
    return api.error("the Python interpreter is ending: cuda-wheel launches no kernels any more", UNAVAILABLE)


def handler(run: Callable[[Api, CallFrame], None], version: tuple[int, int]) -> Any:
    """Return a function for XLA, as a ctypes pointer, that calls `run` and returns what it raises as an error object.

    `version` is that of XLA's FFI: the handler says that it is of this version, because JAX 0.5 accepts no other. XLA
    may call it in any of its threads, and in several at a time. It is never freed.
    """
    apis: dict[int, Api] = {}  # by address: XLA's functions do not move

    def call(frame: int) -> int | None:
        extension, address = frame_base(frame)
        if extension and answered_metadata(extension, version):
            return None
        api = apis.get(address) or _api(address, apis)
        if _state["closed"]:
            return _refuse_at_exit(api)
        run(api, read_frame(frame))
        return None

    def callback(frame: int) -> int | None:
        try:
            return call(frame)
        except BaseException as error:
            try:
                return _returned(error, frame, apis)
            except BaseException:  # such as a second Ctrl-C
                return _returned(RuntimeError("an error while an error was reported"), frame, apis)

    pointer = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)(guarded(callback))
    # One reference more than Python will ever release: at exit, it would free the function before XLA's threads end.
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(pointer))
    _kept.append(pointer)
    return pointer


def _api(address: int, apis: dict[int, Api]) -> Api:
    """Return XLA's functions; end the process if they are not known, since no error can be returned."""
    api = api_at(address)
    if api is None:
        print("cuda_wheel.jax does not know this version of XLA, and cannot return an error to it", file=sys.stderr)
        os.abort()
    apis[address] = api
    return api


def _returned(error: BaseException, frame: int, apis: dict[int, Api]) -> int:
    """Return the error object of XLA for an exception."""
    if isinstance(error, HandlerError):
        return error.address
    api = _api(frame_base(frame)[1], apis)
    if isinstance(error, ArgumentError):
        return api.error(str(error), INVALID_ARGUMENT)
    if isinstance(error, CudaWheelError):
        return api.error(f"{type(error).__name__}: {error}", FAILED_PRECONDITION)
    if isinstance(error, KeyboardInterrupt):
        return api.error("KeyboardInterrupt", CANCELLED)
    place = "".join(traceback.format_exception(error)[-2:])
    return api.error(f"internal error in cuda-wheel; please report it: {place}", INTERNAL)
