"""Timing on a simulated GPU, which works through a queue while the host goes on."""

from __future__ import annotations

import time
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from cuda_wheel.runtime.errors import DriverError
from cuda_wheel.tuning.tuner import MINIMUM_FLUSH, GpuTimer
from tests.support.driver import Driver, Result

pytestmark = pytest.mark.one_toolchain

OK = Result.CUDA_SUCCESS


class Queue:
    """A GPU with one queue of work. Times are in seconds; only calls take any."""

    def __init__(self, driver: Driver, l2: int) -> None:
        self.host = self.gpu = 0.0
        self.events: dict[int, float] = {}
        self.freed: list[int] = []
        self.fails = False
        driver.CUdevice_attribute = SimpleNamespace(
            **vars(driver.CUdevice_attribute), CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE=4
        )  # type: ignore[misc]
        answers = driver.cuDeviceGetAttribute
        calls: dict[str, Callable[..., Any]] = {
            "cuDeviceGetAttribute": lambda which, device: (OK, l2) if which == 4 else answers(which, device),
            "cuEventCreate": lambda flags: (OK, len(self.events) + self.events.setdefault(len(self.events), 0)),
            "cuEventRecord": self.record,
            "cuEventSynchronize": lambda event: self.wait(self.events[event]),
            "cuEventElapsedTime": lambda start, end: (OK, (self.events[end] - self.events[start]) * 1000),
            "cuEventDestroy": lambda event: (OK,),
            "cuMemAlloc": self.allocate,
            "cuMemFree": lambda address: (OK, self.freed.append(address)),
            "cuMemsetD8Async": self.memset,
            "cuCtxSynchronize": lambda: (Result.CUDA_ERROR_ILLEGAL_ADDRESS,) if self.fails else self.wait(self.gpu),
        }
        for name, call in calls.items():
            setattr(driver, name, call)

    def work(self, seconds: float, host: float = 0.0) -> None:
        """Enqueue work; it starts when the host has enqueued it and the GPU has done all before it."""
        self.host += host
        self.gpu = max(self.gpu, self.host) + seconds

    def wait(self, until: float) -> tuple[Any, ...]:
        self.host = max(self.host, until)
        return (OK,)

    def record(self, event: int, stream: int) -> tuple[Any, ...]:
        assert stream == 0
        self.work(0, host=1e-6)
        self.events[event] = self.gpu
        return (OK,)

    def allocate(self, size: int) -> tuple[Any, ...]:
        self.size = size
        return OK, 0x1000

    def memset(self, address: int, value: int, size: int, stream: int) -> tuple[Any, ...]:
        assert (address, size, stream) == (0x1000, self.size, 0)
        self.work(size / 2e12, host=1e-6)
        return (OK,)


def test_the_time_is_the_gpus_and_not_the_hosts(use: Callable[..., Driver], monkeypatch: pytest.MonkeyPatch) -> None:
    queue = Queue(use((9, 0)), 50 << 20)
    monkeypatch.setattr(time, "perf_counter", lambda: queue.host)
    timer = GpuTimer()
    assert queue.size == 100 << 20 and (timer.gpu, timer.capability, timer.device) == ("Stand-in", (9, 0), 0)
    for gpu, host in ((5e-6, 1e-6), (5e-6, 300e-6), (1e-3, 300e-6), (5e-6, 60e-6)):
        launch = lambda gpu=gpu, host=host: queue.work(gpu, host)  # noqa: E731
        flushes = timer.flushes(launch)
        assert timer.seconds(launch, flushes) == pytest.approx(gpu, abs=1e-9), (gpu, host)
    assert timer.flushes(lambda: queue.work(1, 1)) == 64  # a launch that waits is not hidden at any price
    assert timer.seconds(lambda: None, 1) == pytest.approx(0)
    timer.close()
    assert queue.freed == [0x1000]


def test_a_small_cache_is_covered_too_and_a_dead_gpu_is_noticed(use: Callable[..., Driver]) -> None:
    driver = use((9, 0), (8, 0))
    queue = Queue(driver, 1 << 20)
    driver.context.device = 1
    timer = GpuTimer()
    assert queue.size == MINIMUM_FLUSH and timer.device == 1 and timer.capability == (8, 0) and timer.is_usable()
    queue.fails = True
    assert not timer.is_usable()
    with pytest.raises(DriverError, match="waiting for the GPU: the driver returned CUDA_ERROR_ILLEGAL_ADDRESS"):
        timer.finish()
