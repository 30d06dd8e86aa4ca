"""Read the log of a compilation: the resources of each kernel."""

import re

__all__ = ["resources_of"]


def resources_of(log: str) -> dict[str, dict[str, int]]:
    """Return the resources that `ptxas -v` logs, by kernel symbol.

    These are registers per thread, and bytes of static shared memory, stack frame and spills.
    """
    resources: dict[str, dict[str, int]] = {}
    symbol, frame = "", {}
    for line in log.splitlines():
        if match := re.search(r"Function properties for (\S+)", line):
            symbol = match[1]
        elif match := re.search(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads", line):
            frame = dict(zip(("local", "spill_stores", "spill_loads"), map(int, match.groups()), strict=True))
        elif match := re.match(r"ptxas info\s*: Used (\d+) registers(.*)", line):
            shared = re.search(r"(\d+) bytes smem", match[2])
            resources[symbol] = {"registers": int(match[1]), "shared": int(shared[1]) if shared else 0, **frame}
    return resources
