"""NVIDIA's CUDA releases, with their PTX ISA and driver versions, and GPUs: the table `cuda_releases`."""

from __future__ import annotations

import re
from typing import NamedTuple

from cuda_wheel.builder.tables import VERSION, read_table
from cuda_wheel.runtime.manifest import Version, dotted
from cuda_wheel.runtime.rules import TEGRA

__all__ = ["AS_OF", "GPUS", "RELEASES", "Gpu", "Release", "driver_hint", "first_reading", "gpu_hint"]

_TABLE = read_table(
    "cuda_releases",
    {
        "as of": str,
        "releases": [{"cuda": VERSION, "ptx": VERSION, "driver?": int}],
        "gpus": [{"name": str, "examples": str, "capability": VERSION, "first": VERSION, "last?": VERSION}],
    },
)

AS_OF: str = _TABLE["as of"]
"""Date up to which the table `cuda_releases` is complete: "2026-11-22". Whoever edits the table updates the date
too."""


class Release(NamedTuple):
    """A CUDA release."""

    cuda: Version
    ptx_isa: Version
    """Newest PTX ISA version that the CUDA release accepts."""
    branch: int | None
    """Branch of the driver that NVIDIA published with the CUDA release, such as 580. None if the driver is not
    published yet."""


RELEASES = tuple(Release(each["cuda"], each["ptx"], each.get("driver")) for each in _TABLE["releases"])
"""All CUDA releases in the table `cuda_releases`, in ascending order."""


class Gpu(NamedTuple):
    """A generation of GPUs of one compute capability."""

    name: str
    examples: str
    capability: Version
    first: Version
    """CUDA release of the first driver that supports the GPU."""
    last: Version | None = None
    """CUDA release of the last driver that supports the GPU; None if the newest driver supports it."""

    @property
    def is_tegra(self) -> bool:
        return self.capability in TEGRA

    @property
    def drivers(self) -> str:
        """The drivers that support the GPU, in words: "CUDA 12.8 and later"."""
        return f"CUDA {dotted(self.first)} " + (f"to {dotted(self.last)}" if self.last else "and later")

    def is_supported_by(self, driver: Version) -> bool:
        """Return whether a driver supports the GPU. `driver` is the CUDA release that the driver came with."""
        return self.first <= driver and (self.last is None or driver <= self.last)


GPUS = tuple(
    Gpu(each["name"], each["examples"], each["capability"], each["first"], each.get("last")) for each in _TABLE["gpus"]
)
"""All generations of GPUs in the table `cuda_releases`, in ascending order of compute capability."""


def gpu_hint(text: str) -> str:
    """Return what a name of a GPU may mean, for the end of a message: " (RTX 4090 is sm_89)"; "" for other text.

    Known are the generations, such as "hopper", and the examples of `GPUS`, also without their first word.
    """
    wanted = re.sub(r"[^a-z0-9]", "", text.lower().removeprefix("sm_"))
    for gpu in GPUS:
        for example in gpu.examples.split(", "):
            if wanted in (re.sub(r"\W", "", each.lower()) for each in (example, example.partition(" ")[2] or example)):
                return f" ({example} is {_sm(gpu)})"
    found = [_sm(gpu) for gpu in GPUS if gpu.name.lower() == wanted]
    found = found or [_sm(gpu) for gpu in GPUS if wanted and wanted == "".join(map(str, gpu.capability))]
    return f" ({text} is {', '.join(found)})" if found else ""


def _sm(gpu: Gpu) -> str:
    return "sm_{}{}".format(*gpu.capability)


def driver_hint(text: str) -> str:
    """Return for which CUDA the driver is whose own version a text begins with, for the end of a message: " (drivers
    from 535 on are for CUDA 12.2)"; "" for other text, such as "12.2", and for versions older than the table's."""
    number = re.match(r"(?:driver\s*[<>=]*\s*)?[rR]?(\d{3})(?!\d)", text)
    older = [each for each in RELEASES if number and each.branch is not None and each.branch <= int(number[1])]
    return f" (drivers from {older[-1].branch} on are for CUDA {dotted(older[-1].cuda)})" if older else ""


def first_reading(ptx_version: Version, compiler: Version) -> Version:
    """Return the first CUDA release that accepts a PTX ISA version.

    For a version newer than the table, return `compiler`, the release of the compiler that wrote the PTX.
    """
    return next((release.cuda for release in RELEASES if release.ptx_isa >= ptx_version), compiler)
