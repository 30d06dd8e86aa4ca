"""Tests that repeat until a rare failure would have shown: bounded in `nox -s thorough`, in full in `nox -s soak`."""

from __future__ import annotations

import os

__all__ = ["SLOW", "SOAK", "amount"]

SOAK = bool(os.environ.get("CUDA_WHEEL_SOAK"))
"""Whether this is the full run."""


def amount(bounded: int, full: int) -> int:
    """Return the number of repetitions: `full` in the full run, else `bounded`."""
    return full if SOAK else bounded


SLOW = amount(900, 0)
"""The time limit in seconds, for `pytest.mark.timeout`, of tests that compile for minutes on a loaded machine; 0 is none."""
