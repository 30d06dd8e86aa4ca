"""The driver as a process finds it: forks, contexts and its errors. The driver is a stand-in."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from cuda_wheel.runtime import driver as driver_module
from cuda_wheel.runtime import loading
from cuda_wheel.runtime.errors import DriverError
from tests.support.driver import Driver, Result
from tests.support.launches import (
    kernel_of,
    sent,
    takes,
)
from tests.support.loaded_modules import reset_driver

Use = Callable[..., Driver]


def test_a_forked_process_gets_an_error(built, use: Use, monkeypatch: pytest.MonkeyPatch) -> None:
    built('architectures = "80-real"')
    use((8, 0))
    module = loading.load("demo.fill")
    assert module["fill"].handle
    driver_module.note_fork()
    for act in (lambda: loading.load("demo.fill"), lambda: module["fill"], lambda: driver_module.device_count()):
        with pytest.raises(DriverError, match=r"this process was forked .* 'spawn' or 'forkserver'"):
            act()


def test_a_fork_before_cuda_is_harmless(monkeypatch: pytest.MonkeyPatch) -> None:
    reset_driver()
    driver_module.note_fork()
    assert not driver_module.is_forked()


def test_a_process_forked_after_another_library_used_cuda_gets_an_error(use: Use) -> None:
    use(cuInit=Result.CUDA_ERROR_NOT_INITIALIZED)
    with pytest.raises(DriverError, match="this process was forked"):
        driver_module.device_and_driver()


pytestmark = pytest.mark.one_toolchain


def test_without_a_context_that_of_the_only_gpu_becomes_current(driver: Driver) -> None:
    driver.codes = [Result.CUDA_ERROR_INVALID_CONTEXT]
    assert sent(driver, takes("int", "u32", 4), 5) == b"\5\0\0\0"
    assert driver.context.device == 0 and len(driver.launches) == 2
    assert driver.launches[0] == driver.launches[1]


def test_without_a_context_and_several_gpus_one_must_be_chosen(two: Driver) -> None:
    two.context.device = None
    two.codes = [Result.CUDA_ERROR_INVALID_CONTEXT]
    with pytest.raises(DriverError, match="no CUDA context is current in this thread, and there are several GPUs"):
        kernel_of().launch(1, 1)
    assert len(two.launches) == 1
