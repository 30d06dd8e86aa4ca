"""Every error is a CudaWheelError; a part that is not there says what to write."""

from __future__ import annotations

import pytest

import cuda_wheel
from cuda_wheel.runtime import errors

pytestmark = pytest.mark.one_toolchain


def test_every_error_is_a_cuda_wheel_error() -> None:
    from cuda_wheel.builder.errors import CompileError, ConfigError, ToolchainError

    for error in (
        cuda_wheel.DriverError, cuda_wheel.ImageError, cuda_wheel.NoImageError, cuda_wheel.UnknownKernelError,
        CompileError, ConfigError, ToolchainError,
    ):  # fmt: skip
        assert issubclass(error, cuda_wheel.CudaWheelError)


@pytest.mark.parametrize(
    ("error", "text"),
    [(ValueError("no"), "ValueError: no"), (ValueError(), "ValueError"), (KeyError("k"), "KeyError: 'k'")],
)
def test_an_error_in_a_message(error: Exception, text: str) -> None:
    assert errors.describe_error(error) == text


def test_a_part_that_is_not_there_is_an_error_that_says_what_to_write(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(errors.PARTS, "juggling", "three balls")
    assert errors.has("variants") and not errors.has("juggling")
    errors.need("variants")
    with pytest.raises(cuda_wheel.CudaWheelError, match=r'"?juggling.*three balls.*loader-parts = \["juggling"\]'):
        errors.need("juggling")
