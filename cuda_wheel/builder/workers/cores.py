"""Tell how many jobs to run at once: as many as the process may use cores, by affinity and by its container's limit."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from cuda_wheel.builder.errors import ConfigError

__all__ = [
    "available_cores",
    "container_limit",
]


def available_cores() -> int:
    """Return how many jobs to run at once: CUDA_WHEEL_JOBS, else the cores that this process may use.

    Raises ConfigError where CUDA_WHEEL_JOBS is no number above 0.
    """
    wanted = os.environ.get("CUDA_WHEEL_JOBS")
    if wanted:
        if not (wanted.isascii() and wanted.isdigit() and int(wanted) > 0):
            raise ConfigError(f"the environment variable CUDA_WHEEL_JOBS must be a number above 0, not {wanted!r}.")
        return int(wanted)
    allowed = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    limit = container_limit()
    # Of a core that is allowed in part that part is used as well, which one job fewer would leave.
    return allowed if limit is None else max(1, min(allowed, math.ceil(limit)))


def container_limit(process: Path = Path("/proc/self")) -> float | None:
    """Return how many cores' time the control groups of a process leave it, such as 1.5; None without a limit.

    `process` is its folder in /proc. A group is bounded by those around it, too, as far as they can be seen.
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
    """Yield the folders of a group and of those around it, in a file system of which `root` is mounted at `point`."""
    try:
        below = PurePosixPath(group).relative_to(root)
    except ValueError:  # the group has another name outside of the container, whose own is what is mounted
        below = PurePosixPath()
    for path in (below, *below.parents):
        yield Path(point, path)


def _limit(folder: Path) -> float | None:
    """Return the cores' time that one group may take; None without a limit."""
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
