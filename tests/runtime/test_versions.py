"""Versions of CUDA and of PTX as text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cuda_wheel.runtime.manifest import dotted, parse_version

pytestmark = pytest.mark.one_toolchain

NUMBERS = st.integers(0, 99_999)


@given(NUMBERS, NUMBERS, st.sampled_from(["", ".", ".86", ".86.1", ".beta"]))
def test_major_and_minor_are_read_and_the_rest_is_ignored(major: int, minor: int, rest: str) -> None:
    assert parse_version(f"{major}.{minor}{rest}") == (major, minor)
    assert parse_version(dotted((major, minor))) == (major, minor)


@pytest.mark.parametrize(
    "text",
    ["", ".", "12", "12.", ".2", "12.x", "v12.2", "-1.2", "12.-2", " 12.2", "100000.0", "12.100000", "１２.2", "12.²"],
)
def test_what_is_no_version_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="does not have the form") as caught:
        parse_version(text, "the driver's version")
    assert str(caught.value) == f"the driver's version {text!r} does not have the form MAJOR.MINOR"
