"""Call frames that are laid out as XLA's, read at their addresses; no JAX is needed."""

from __future__ import annotations

import pytest

from cuda_wheel.jax.call_frames import header_version

pytestmark = pytest.mark.one_toolchain


def test_the_version_in_a_header() -> None:
    assert header_version("#define XLA_FFI_API_MAJOR 0\n\n#define XLA_FFI_API_MINOR 12\n") == (0, 12)
    assert header_version("nothing") == (0, 0)
