"""The handler that XLA calls to run operators: a callback of ctypes.

It raises nothing, since C cannot take an exception: it returns XLA's error objects.
"""

import ctypes
import os
import sys
import traceback
from collections.abc import Callable
from typing import Any

from ..runtime.errors import ArgumentError, CudaWheelError
from .call_frames import Api, CallFrame, HandlerError, answered_metadata, api_at, frame_base, read_frame
from .guarded_code import guarded

__all__ = ["close", "handler"]

CANCELLED, INVALID_ARGUMENT, FAILED_PRECONDITION, INTERNAL, UNAVAILABLE = 1, 3, 9, 13, 14
"""Values of XLA_FFI_Error_Code."""

_kept: list[Any] = []
"""The callbacks: XLA may call them as long as the process lives."""

_state = {"closed": False}
"""Whether the interpreter is ending."""


def close() -> None:
    """Let all handlers return an error from now on, because the interpreter is ending."""
    _state["closed"] = True


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
            return api.error("the Python interpreter is ending: cuda-wheel launches no kernels any more", UNAVAILABLE)
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
