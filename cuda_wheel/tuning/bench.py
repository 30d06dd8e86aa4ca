"""Time work on the GPU by CUDA events."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Any

from ..runtime.driver import (
    check_result,
    cuda_driver,
    current_device,
    device_and_driver,
    device_attribute,
    device_name,
)
from ..runtime.errors import DriverError
from ..runtime.manifest import Version

__all__ = ["Bench"]

LEAST_COVER = 64 << 20
"""Bytes that are written before each measurement, at least."""


class Bench:
    """The GPU of the current context, else GPU 0, and what times work on its default stream.

    Before each measurement, the GPU overwrites more memory than its cache has. So the caches are cold, and the GPU is
    busy while the host enqueues the launch: the measured time is the GPU's, and not the host's.
    """

    def __init__(self) -> None:
        """Raises DriverError without a usable GPU."""
        driver = self._driver = cuda_driver()
        device = current_device()
        if device is None:
            device = 0
            context = check_result(driver.cuDevicePrimaryCtxRetain(0), "making a context on GPU 0")
            check_result(driver.cuCtxSetCurrent(context), "making the context of GPU 0 current")
        self.device = device
        self.gpu = device_name(device)
        self.capability: Version = device_and_driver(device)[0]
        self._start, self._end = (check_result(driver.cuEventCreate(0), "making an event") for _ in range(2))
        self._size = max(2 * device_attribute("L2_CACHE_SIZE", device), LEAST_COVER)
        self._memory = int(check_result(driver.cuMemAlloc(self._size), "allocating memory to write"))
        self._cover(1)
        self.finish()
        self._cover_seconds = min(self._events(lambda: self._cover(4)) for _ in range(5)) / 4

    def close(self) -> None:
        """Free the memory and the events."""
        self._driver.cuMemFree(self._memory)
        for event in (self._start, self._end):
            self._driver.cuEventDestroy(event)

    def finish(self) -> None:
        """Wait for all work of the GPU; raises DriverError if it failed."""
        check_result(self._driver.cuCtxSynchronize(), "waiting for the GPU")

    def is_usable(self) -> bool:
        """Return whether the GPU still works: an illegal access ends all work of the process."""
        try:
            self.finish()
        except DriverError:
            return False
        return True

    def covers(self, launch: Callable[[], object]) -> int:
        """Return how often to overwrite the memory, so that this takes longer than enqueuing `launch`. Warms up."""
        host_seconds = []
        for _ in range(3):
            self.finish()
            began = time.perf_counter()
            launch()
            host_seconds.append(time.perf_counter() - began)
        self.finish()
        return min(64, 1 + math.ceil(2 * min(host_seconds) / self._cover_seconds))

    def seconds(self, launch: Callable[[], object], covers: int) -> float:
        """Return the time that the GPU takes for what `launch` enqueues, in seconds."""
        self.finish()
        self._cover(covers)
        return self._events(launch)

    def _cover(self, count: int) -> None:
        for _ in range(count):
            check_result(self._driver.cuMemsetD8Async(self._memory, 0, self._size, 0), "writing memory")

    def _events(self, launch: Callable[[], object]) -> float:
        self._record(self._start)
        launch()
        self._record(self._end)
        check_result(self._driver.cuEventSynchronize(self._end), "waiting for the GPU")
        milliseconds = check_result(self._driver.cuEventElapsedTime(self._start, self._end), "reading the time")
        return float(milliseconds) / 1000

    def _record(self, event: Any) -> None:
        check_result(self._driver.cuEventRecord(event, 0), "recording an event")
