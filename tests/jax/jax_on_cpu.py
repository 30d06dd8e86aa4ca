"""JAX with two CPU devices, and the marks of the tests that run it on them."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import pytest

__all__ = ["MARKS", "assert_close", "jax", "jnp"]

os.environ.setdefault("XLA_FLAGS", "--xla_force_host_platform_device_count=2")  # for shard_map

jax = pytest.importorskip("jax", reason="JAX is not installed")

import jax.numpy as jnp  # noqa: E402

MARKS = [
    pytest.mark.one_toolchain,
    pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning"),  # JAX's own
    pytest.mark.usefixtures("on_cpu"),
]


def assert_close(found: Any, wanted: Any) -> None:
    """Compare two arrays: the same element type and shape, and nearly the same numbers."""
    assert found.dtype == wanted.dtype and found.shape == wanted.shape
    np.testing.assert_allclose(np.asarray(found), np.asarray(wanted), 1e-5, 1e-6)
