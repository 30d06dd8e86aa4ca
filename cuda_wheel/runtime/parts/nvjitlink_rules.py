"""Decide what nvJitLink of a CUDA release can compile and link. Pure functions."""

from ..manifest import Version, dotted

__all__ = ["first_release", "knows", "unlinkable", "why_not_compiled"]


def why_not_compiled(needed: Version, capability: Version, driver: Version, nvjitlink: Version) -> str | None:
    """Return why nvJitLink cannot compile PTX that is too new for the driver, as the end of a sentence; None if it can.

    `needed` is the first CUDA release that reads the PTX.
    """
    if nvjitlink < needed:
        return f" (this one is for {dotted(driver)}), and nvJitLink {dotted(nvjitlink)} is too old too"
    if not knows(nvjitlink, capability):
        return f", and nvJitLink {dotted(nvjitlink)} does not know compute capability {dotted(capability)}"
    if nvjitlink[0] > driver[0]:
        return f", and machine code from nvJitLink {dotted(nvjitlink)} needs a driver for CUDA {nvjitlink[0]}.0"
    return None


def unlinkable(compiler: Version, nvjitlink: Version) -> str | None:
    """Return why nvJitLink cannot link LTO-IR from a compiler of CUDA release `compiler`, "is ..."; None if it can.

    Source: nvJitLink, "Compatibility": the same major version, and no older than the compiler of the LTO-IR.
    """
    if nvjitlink[0] != compiler[0]:
        return f"is LTO-IR of CUDA {dotted(compiler)}, but nvJitLink {dotted(nvjitlink)} has another major version"
    if nvjitlink < compiler:
        return f"is LTO-IR of CUDA {dotted(compiler)}, but nvJitLink {dotted(nvjitlink)} is older"
    return None


_FIRST_RELEASE: dict[Version, Version] = {
    (8, 8): (13, 0), (10, 0): (12, 8), (10, 1): (12, 8), (10, 3): (12, 9), (10, 7): (13, 4), (11, 0): (13, 0),
    (12, 0): (12, 8), (12, 1): (12, 9),
}  # fmt: skip
"""Compute capability that nvJitLink 12.0 does not know -> first CUDA release whose nvJitLink knows it. Source: PTX ISA,
"Release Notes", and the release notes of the CUDA Toolkit."""

_LAST_RELEASE: dict[Version, Version] = {(10, 1): (12, 9)}
"""Compute capability that CUDA renamed -> last CUDA release whose nvJitLink knows the old name. CUDA 13.0 renamed (10,
1) to (11, 0)."""

_OLDEST_OF_13: Version = (7, 5)
"""Lowest compute capability that nvJitLink 13 knows. Source: CUDA 13.0's release notes."""

_NEWEST_IN_TABLE: Version = (13, 5)
"""Newest CUDA release that `_FIRST_RELEASE` and `_LAST_RELEASE` cover. nvJitLink of a later release may know other
GPUs."""


def first_release(capability: Version) -> Version:
    """Return the first CUDA release whose nvJitLink knows a compute capability; (12, 0) if no table has it."""
    return _FIRST_RELEASE.get(capability, (12, 0))


def knows(nvjitlink: Version, capability: Version) -> bool:
    """Return whether nvJitLink of a CUDA release knows a compute capability.

    nvJitLink may crash for one that it does not know: 12.9 does for compute capability 13.0.
    """
    if nvjitlink > _NEWEST_IN_TABLE:  # it reports an unknown GPU itself
        return True
    first = first_release(capability) if capability in _FIRST_RELEASE or capability <= (9, 0) else None
    last = _LAST_RELEASE.get(capability, _NEWEST_IN_TABLE if capability >= _OLDEST_OF_13 else (12, 9))
    return first is not None and first <= nvjitlink <= last
