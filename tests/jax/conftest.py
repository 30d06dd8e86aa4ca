"""A fixture of JAX's operators that run on arrays in host memory."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from cuda_wheel.jax import handler as registration
from tests.jax.host_kernels import launch_on_cpu


@pytest.fixture
def on_cpu(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Let programs run on the CPU, and launch kernels there."""
    import jax

    monkeypatch.setitem(registration.PLATFORMS, "cpu", launch_on_cpu)
    with jax.default_device(jax.devices("cpu")[0]):
        yield
