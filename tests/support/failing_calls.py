"""Calls about a job that hang or crash. Workers import this module quickly, unlike a test module."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cuda_wheel.builder.jobs import Job


def hang(call: tuple[str, Job]) -> None:
    """Take longer than any test waits."""
    time.sleep(300)


def abort(call: tuple[str, Job]) -> None:
    """Die by SIGABRT."""
    os.abort()
