"""Decide how many jobs run at once: one for each core that the CPU affinity and the container's limit allow."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from cuda_wheel.builder.errors import ConfigError

__all__ = ["available_cores", "container_limit"]


def available_cores() -> int:
    """Return how many jobs run at once: CUDA_WHEEL_JOBS, else the number of cores that this process may use.

    Raises ConfigError if CUDA_WHEEL_JOBS is not a positive number.
    """
    setting = os.environ.get("CUDA_WHEEL_JOBS")
    if setting:
        if not (setting.isascii() and setting.isdigit() and int(setting) > 0):
            raise ConfigError(f"the environment variable CUDA_WHEEL_JOBS must be a number above 0, not {setting!r}.")
        return int(setting)
    allowed = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    limit = container_limit()
    # Round up: one job fewer would leave a part of the allowed time unused.
    return allowed if limit is None else max(1, min(allowed, math.ceil(limit)))


def container_limit(process: Path = Path("/proc/self")) -> float | None:
    """Return the CPU limit of a process's control groups in cores, such as 1.5; None without a limit.

    `process` is its folder in /proc. The limits of the enclosing groups apply too, as far as they are visible.
    """
    try:
        memberships = (process / "cgroup").read_text(errors="replace").splitlines()
        mounts = (process / "mountinfo").read_text(errors="replace").splitlines()
    except OSError:  # not Linux
        return None
    groups = {}
    for line in memberships:  # "4:cpu,cpuacct:/docker/1f0" in version 1, "0::/docker/1f0" in version 2
        _, controllers, group = line.split(":", 2)
        if not controllers or "cpu" in controllers.split(","):
            groups["cgroup" if controllers else "cgroup2"] = group
    limits = []
    for line in mounts:
        # "34 31 0:29 ROOT POINT rw,relatime ... - cgroup cgroup rw,cpu". Source: proc(5).
        front, _, back = line.partition(" - ")
        kind, _, options = back.split(" ", 2)
        if kind in groups and (kind == "cgroup2" or "cpu" in options.split(",")):
            root, point = front.split(" ")[3:5]
            limits += [limit for folder in _folders(groups[kind], root, point) if (limit := _limit(folder)) is not None]
    return min(limits, default=None)


def _folders(group: str, root: str, point: str) -> Iterator[Path]:
    """Yield the folders of a group and of its enclosing groups. `root` of their file system is mounted at `point`."""
    try:
        below = PurePosixPath(group).relative_to(root)
    except ValueError:  # the name is that outside of the container, and the container's own group is mounted
        below = PurePosixPath()
    for path in (below, *below.parents):
        yield Path(point, path)


def _limit(folder: Path) -> float | None:
    """Return the CPU limit of one group in cores; None without a limit."""
    try:
        if (folder / "cpu.max").is_file():  # version 2: "150000 100000", or "max 100000"
            quota, period = (folder / "cpu.max").read_text().split()
        else:  # version 1: -1 for no limit
            quota, period = ((folder / f"cpu.cfs_{name}_us").read_text().strip() for name in ("quota", "period"))
    except (OSError, ValueError):
        return None
    if not re.fullmatch(r"[1-9]\d*", quota) or not re.fullmatch(r"[1-9]\d*", period):
        return None
    return int(quota) / int(period)
