"""Make a worker lead a group of processes, with which the programs that it starts end."""

from __future__ import annotations

import os
import sys
from contextlib import suppress

__all__ = ["lead_group"]


def lead_group() -> None:
    """Make this process lead a group of processes: `kill_group` ends the group. Windows has no such groups."""
    if sys.platform != "win32":
        with suppress(OSError):  # the process leads a session
            os.setpgid(0, 0)
