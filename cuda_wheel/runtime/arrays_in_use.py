"""Wait for arrays that their libraries still compute, and keep those that they may free before a launch has ended.

A launch with arrays of PyTorch and CuPy runs on the current stream of their library, and their allocators hand out
freed memory in the order of that stream. For other arrays, a launch waits for the work that computes them, and keeps
them until it has ended. The GPU waits, not the host; nothing here runs in a thread or in a callback of the driver.
"""

import atexit
import gc
from collections import deque
from threading import Lock
from typing import Any, NamedTuple

from .arguments import Kept
from .dlpack import NO_WAIT, Exported, export
from .driver import check_result, cuda_driver, device_with_context, is_forked
from .streams import LEGACY, is_capturing, relaxed_capture, same_stream

__all__ = ["LIMIT", "export_for", "keep", "release", "wait_for"]

LIMIT = 1000
"""The number of launches to keep arrays for. The next one waits for the oldest."""


class _Mark(NamedTuple):
    """An event that is recorded, and the address of its context."""

    event: Any
    context: int


_kept: deque[tuple[_Mark, list[Any]]] = deque()
"""The arrays of the launches that may still run, each with the event after it, in the order of the launches."""

_free_events: dict[int, list[Any]] = {}
"""Events to record again, by the address of their context."""

_releasing = Lock()
"""Held by whoever releases arrays. That may run Python code of any kind, which may come back here."""


def wait_for(stream: int, producer: int) -> None:
    """Let what is queued on `stream` from now on start after what is queued on `producer` now.

    If a graph is captured on `stream`, and `producer` takes no part in it, the host waits: a graph runs later, and
    cannot contain a wait for work outside of it. Raises DriverError.
    """
    if same_stream(stream, producer):
        return
    driver = cuda_driver()
    doing = "waiting for the stream of an array"
    if is_capturing(stream) and not is_capturing(producer):
        with relaxed_capture():
            check_result(driver.cuStreamSynchronize(producer), doing)
        return
    event, context = _recorded(producer)
    check_result(driver.cuStreamWaitEvent(stream, event, 0), doing)
    _free_events[context].append(event)  # the wait is for this record, whatever is recorded later


def export_for(array: Any, stream: int) -> Exported:
    """Return an array as its library exports it by DLPack, after letting a stream wait for the work that computes it.

    Nothing is waited for if a graph is captured on the stream, or if it is `dlpack.NO_WAIT`: a producer would make the
    graph depend on work outside of it. Only JAX's arrays are, by the host. Raises what `dlpack.export` raises.
    """
    if stream != NO_WAIT and not is_capturing(stream):
        return export(array, stream or LEGACY)
    if not hasattr(array, "block_until_ready"):
        return export(array, NO_WAIT)
    with relaxed_capture():
        array.block_until_ready()
        return export(array, None)  # JAX takes the number for a stream


def keep(arrays: Kept, stream: int) -> None:
    """Keep these arrays until what is queued on a stream now has ended, and empty the list.

    A captured launch runs whenever its graph does: arrays of a graph are its owner's to keep. Raises DriverError.
    """
    if is_capturing(stream):
        arrays.clear()
        return
    if not _started:
        _start()
    release()
    mark = _recorded(stream)
    _kept.append((mark, [array for array, _ in arrays]))
    producers = {producer for _, producer in arrays if producer is not None and not same_stream(stream, producer)}
    arrays.clear()
    for producer in producers:
        check_result(cuda_driver().cuStreamWaitEvent(producer, mark.event, 0), "letting the stream of an array wait")
    if len(_kept) > LIMIT:
        release(wait=len(_kept) - LIMIT)


def release(wait: int = 0) -> None:
    """Release the arrays of launches that have ended; wait for the `wait` oldest ones."""
    if not _kept or is_forked() or not _releasing.acquire(blocking=False):
        return  # in a forked process, the driver cannot be asked
    try:
        with relaxed_capture():  # others may ask nothing of events while this thread captures a graph
            while _kept and _has_ended(_kept[0][0].event, wait > 0):
                event, context = _kept.popleft()[0]
                _free_events[context].append(event)
                wait -= 1
    finally:
        _releasing.release()


def _has_ended(event: Any, wait: bool) -> bool:
    """Return whether what was queued before an event has ended, after waiting for it if asked to.

    After an error of the GPU, which ends all work, it has.
    """
    driver = cuda_driver()
    if wait:
        driver.cuEventSynchronize(event)
        return True
    return int(driver.cuEventQuery(event)[0]) != int(driver.CUresult.CUDA_ERROR_NOT_READY)


def _recorded(stream: int) -> _Mark:
    """Return an event that is recorded on a stream."""
    driver = cuda_driver()
    current = check_result(driver.cuCtxGetCurrent(), "getting the context")
    if not int(current):
        device_with_context()
        current = check_result(driver.cuCtxGetCurrent(), "getting the context")
    context = int(current)
    free = _free_events.setdefault(context, [])
    event = free.pop() if free else None
    if event is None or driver.cuEventRecord(event, stream)[0]:  # refused if its context was reset
        flags = driver.CUevent_flags.CU_EVENT_DISABLE_TIMING
        event = check_result(driver.cuEventCreate(flags), "creating an event")
        check_result(driver.cuEventRecord(event, stream), "recording an event on a stream")
    return _Mark(event, context)


_started: list[bool] = []
"""Not empty once arrays were kept."""


def _start() -> None:
    _started.append(True)
    # Without them, the arrays of the last launch would be kept until the next one.
    gc.callbacks.append(_after_collection)
    atexit.register(_finish)  # runs before what the arrays' libraries registered when they were imported


def _after_collection(phase: str, info: Any) -> None:
    if phase == "stop" and _kept:
        release()


def _finish() -> None:
    """Wait for the launches whose arrays are kept: at exit, their libraries free their memory."""
    gc.callbacks.remove(_after_collection)
    release(wait=len(_kept))
