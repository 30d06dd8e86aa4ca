"""What is repeated until it would have broken: bounded in `nox -s tests`, in full in `nox -s soak`."""

from __future__ import annotations

import os

__all__ = ["SOAK", "amount"]

SOAK = bool(os.environ.get("CUDA_WHEEL_SOAK"))
"""Whether this is the full run."""


def amount(bounded: int, full: int) -> int:
    """Return how often to do what the full run does `full` times."""
    return full if SOAK else bounded
