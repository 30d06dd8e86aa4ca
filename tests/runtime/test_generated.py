"""Launch functions are generated once for equal types, and their source is printed on request."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from cuda_wheel.runtime.launching import launcher_of
from tests.support.array_libraries import cupy_array
from tests.support.driver import Driver
from tests.support.launches import (
    saxpy,
    takes,
)

pytestmark = pytest.mark.one_toolchain


def test_generated_source_is_printed_if_asked_for(
    driver: Driver, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    takes("float*").launch(1, 1, 8)
    assert not capsys.readouterr().err
    monkeypatch.setenv("CUDA_WHEEL_PRINT_GENERATED", "1")
    kernel = takes("float*")
    kernel.launch(1, 1, 8)
    kernel.bind(1, 1, 8)()
    printed = capsys.readouterr().err
    for function in ("launch", "bound_maker"):
        assert f"# cuda-wheel generated {function} for k:\ndef {function}(" in printed


X, Y = 0x1000, 0x2000


@pytest.fixture
def driver(use: Callable[..., Driver]) -> Driver:
    return use((9, 0))


def test_the_same_types_are_generated_once(driver: Driver) -> None:
    kernel = saxpy()
    codes = {kernel.bind(grid, 1, 2.0, X, Y, grid).__code__ for grid in range(1, 20)}
    assert len(codes) == 1
    assert kernel.bind(1, 1, 2.0, cupy_array(X), Y, 1).__code__ not in codes
    assert launcher_of(kernel).launch is not None
