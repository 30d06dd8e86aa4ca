"""Tables of NVIDIA's CUDA releases, with their PTX ISA and driver versions, and of GPUs."""

from __future__ import annotations

from typing import NamedTuple

from cuda_wheel.runtime.manifest import Version, dotted
from cuda_wheel.runtime.rules import TEGRA

__all__ = ["AS_OF", "GPUS", "RELEASES", "Gpu", "Release", "first_reading"]

AS_OF = "2026-11-22"
"""The date of these tables. Whoever edits them sets it."""


class Release(NamedTuple):
    """A CUDA release."""

    cuda: Version
    ptx_isa: Version
    """The newest PTX ISA version that it accepts."""
    branch: int | None
    """The branch of its driver; None if not published yet."""


RELEASES = (
    Release((10, 0), (6, 3), 410),
    Release((10, 1), (6, 4), 418),
    Release((10, 2), (6, 5), 440),
    Release((11, 0), (7, 0), 450),
    Release((11, 1), (7, 1), 455),
    Release((11, 2), (7, 2), 460),
    Release((11, 3), (7, 3), 465),
    Release((11, 4), (7, 4), 470),
    Release((11, 5), (7, 5), 495),
    Release((11, 6), (7, 6), 510),
    Release((11, 7), (7, 7), 515),
    Release((11, 8), (7, 8), 520),
    Release((12, 0), (8, 0), 525),
    Release((12, 1), (8, 1), 530),
    Release((12, 2), (8, 2), 535),
    Release((12, 3), (8, 3), 545),
    Release((12, 4), (8, 4), 550),
    Release((12, 5), (8, 5), 555),
    Release((12, 6), (8, 5), 560),
    Release((12, 7), (8, 6), 565),
    Release((12, 8), (8, 7), 570),
    Release((12, 9), (8, 8), 575),
    Release((13, 0), (9, 0), 580),
    Release((13, 1), (9, 1), 590),
    Release((13, 2), (9, 2), 595),
    Release((13, 3), (9, 3), 610),
    Release((13, 4), (9, 4), 615),
    Release((13, 5), (9, 5), None),
)
"""In ascending order. Sources: PTX ISA, "Release Notes"; CUDA Toolkit Release Notes, "CUDA Toolkit and Corresponding
Driver Versions"; nvidia-ml-py's version numbers for 12.7, which was released as a driver only, and for 13.4."""


class Gpu(NamedTuple):
    """A generation of GPUs of one compute capability."""

    name: str
    examples: str
    capability: Version
    first: Version
    """The CUDA release whose driver was the first to support it."""
    last: Version | None = None
    """The CUDA release whose driver was the last to support it; None if newer drivers still do."""

    @property
    def is_tegra(self) -> bool:
        return self.capability in TEGRA

    @property
    def drivers(self) -> str:
        """The drivers that support it, in words: "CUDA 12.8 and later"."""
        return f"CUDA {dotted(self.first)} " + (f"to {dotted(self.last)}" if self.last else "and later")

    def is_supported_by(self, driver: Version) -> bool:
        """Return whether the driver of a CUDA release supports the GPU."""
        return self.first <= driver and (self.last is None or driver <= self.last)


GPUS = (
    Gpu("Maxwell", "GTX 750", (5, 0), (6, 5), (13, 0)),
    Gpu("Maxwell", "GTX 980, M40", (5, 2), (7, 0), (13, 0)),
    Gpu("Pascal", "P100", (6, 0), (8, 0), (13, 0)),
    Gpu("Pascal", "GTX 1080, P40", (6, 1), (8, 0), (13, 0)),
    Gpu("Volta", "V100", (7, 0), (9, 0), (13, 0)),
    Gpu("Turing", "RTX 2080, T4", (7, 5), (10, 0)),
    Gpu("Ampere", "A100", (8, 0), (11, 0)),
    Gpu("Ampere", "RTX 3090, A10", (8, 6), (11, 1)),
    Gpu("Ampere", "Jetson Orin", (8, 7), (11, 4)),
    Gpu("Ada", "RTX 4090, L4", (8, 9), (11, 8)),
    Gpu("Hopper", "H100, H200", (9, 0), (11, 8)),
    Gpu("Blackwell", "B200", (10, 0), (12, 8)),
    Gpu("Blackwell", "B300", (10, 3), (12, 9)),
    Gpu("Rubin", "R200", (10, 7), (13, 4)),
    Gpu("Blackwell", "Jetson Thor", (11, 0), (13, 0)),
    Gpu("Blackwell", "RTX 5090", (12, 0), (12, 8)),
    Gpu("Blackwell", "GB10", (12, 1), (12, 9)),
)
"""In ascending order. Sources: CUDA GPU Compute Capability (developer.nvidia.com/cuda-gpus); CUDA Toolkit Release
Notes, "New Features" of each first release; the notice that driver 580 is the last for Maxwell, Pascal and Volta."""


def first_reading(ptx_version: Version, compiler: Version) -> Version:
    """Return the first CUDA release that accepts a PTX ISA version; for a version newer than the table, the release of
    the compiler that wrote it."""
    return next((release.cuda for release in RELEASES if release.ptx_isa >= ptx_version), compiler)
