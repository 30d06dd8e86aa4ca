"""The records of an installed toolchain, and the libraries and headers that it consists of."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from cuda_wheel.runtime.manifest import Version

__all__ = [
    "INCLUDE",
    "Nvvm",
    "Part",
    "Toolchain",
]


INCLUDE = Path(__file__).parent / "include"
"""The freestanding C and C++ headers that stand in for the C library, which NVRTC lacks."""


LIBRARIES = ("nvrtc", "nvJitLink", "nvfatbin")
"""cuda.pathfinder's names of the compilers."""


HEADERS = {"cccl": "cuda/std/version", "cudart": "cuda_fp16.h", "nvcc": "crt/host_defines.h"}
"""cuda.pathfinder's names of the header folders, and a header that each brings. Where an earlier folder has that one
already (CUDA 13 puts the last two together), there is nothing to look for: a search would go on to the system's."""


FURTHER_HEADERS = {"curand": "curand_kernel.h"}
"""Likewise, of packages that only some projects ask for: what device code can use of them is in their headers alone."""


@dataclass(frozen=True)
class Toolchain:
    """The CUDA compilers of one environment. `nvrtc` is exact ("12.9.86"), the others MAJOR.MINOR."""

    nvrtc: str
    nvjitlink: str
    nvfatbin: str
    supported: tuple[int, ...]
    """What nvrtcGetSupportedArchs answers: 75 for sm_75 and compute_75."""
    include_dirs: tuple[str, ...]
    """Absolute folders of the toolkit's and CCCL's headers, in search order."""
    libraries: tuple[str, ...]
    """Absolute paths of NVRTC, nvJitLink and nvFatbin."""

    @property
    def name(self) -> str:
        return f"NVRTC {self.nvrtc}"


class Nvvm(NamedTuple):
    """The compiler of NVVM IR: absolute paths of libNVVM and of libdevice, its library of functions in bitcode."""

    library: str
    libdevice: str
    release: str
    """Exact: "12.9.86"."""
    ir: Version
    """The version of NVVM IR that it reads."""


class Part(NamedTuple):
    """A library, file or folder of headers: its path, None where it is not installed; how it was found, or why not."""

    name: str
    path: str | None
    found_via: str
