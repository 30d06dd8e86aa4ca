"""The records of an installed toolchain, and the names of the libraries and headers that it consists of."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from cuda_wheel.runtime.manifest import Version

__all__ = [
    "FURTHER_HEADERS",
    "HEADERS",
    "HOST_LIBRARIES",
    "INCLUDE",
    "LIBRARIES",
    "STAND_INS",
    "Headers",
    "Nvvm",
    "Toolchain",
    "ToolchainPart",
]


INCLUDE = Path(__file__).parents[1] / "headers" / "std"
"""The folder of freestanding C and C++ headers that replace those of the C library, which NVRTC lacks."""

STAND_INS = tuple(str(INCLUDE.parent / name) for name in ("cuda", "pytorch", "libraries"))
"""The folders of stand-in headers: they declare what host code uses of CUDA's libraries, of PyTorch and of others.

They come before the toolchain's folders. A header of PyTorch that has no stand-in is read from the PyTorch of the build
environment: those with algorithms for device code, so that a kernel computes what that release computes."""

HOST_LIBRARIES = STAND_INS[-1]
"""The folder of the stand-ins of {fmt}, spdlog and nanobind. A project often holds a copy of them, which NVRTC cannot
compile and which takes seconds to read, so this folder comes before the project's."""

LIBRARIES = ("nvrtc", "nvJitLink", "nvfatbin")
"""cuda.pathfinder's names of the compilers."""

HEADERS = {"cccl": "cuda/std/version", "cudart": "cuda_fp16.h", "crt": "crt/host_defines.h"}
"""The groups of headers that every build needs, in search order, each with a header that its folder contains. If the
folder of an earlier group contains that header, the compiler finds it there: CUDA 13 puts the last two in one."""

FURTHER_HEADERS = {
    "curand": "curand_kernel.h",
    "cutlass": "cutlass/cutlass.h",
    "mathdx": "commondx/commondx_version.hpp",
    "nvshmem": "nvshmem.h",
    "pytorch": "ATen/core/TensorBase.h",
    "cudnn": "cudnn_version.h",
}
"""The same for packages that only some projects need. Device code needs only their headers, not their libraries. Of
cuDNN's, only the version is read: its functions and types are stand-ins."""


class Headers(NamedTuple):
    """A group of headers of a toolchain."""

    name: str
    """A key of `HEADERS` or `FURTHER_HEADERS`."""
    release: str
    """ "12.9", of CUDA; for CCCL its own, "2.8.2"."""
    folder: str
    """The absolute folder in which the compiler finds them."""
    found_via: str
    """How the folder was found: "site-packages", "PYTHONPATH", "CUDA_HOME"."""
    source: str
    """The absolute path of the file that names the release."""


@dataclass(frozen=True)
class Toolchain:
    """The CUDA compilers of one environment. `nvrtc` is the exact release ("12.9.86"), the others are MAJOR.MINOR."""

    nvrtc: str
    nvjitlink: str
    nvfatbin: str
    supported: tuple[int, ...]
    """The architectures that nvrtcGetSupportedArchs returns: 75 for sm_75 and compute_75."""
    include_dirs: tuple[str, ...]
    """Absolute folders of the toolkit's and CCCL's headers, in search order."""
    libraries: tuple[str, ...]
    """Absolute paths of NVRTC, nvJitLink and nvFatbin."""
    headers: tuple[Headers, ...] = ()
    """The groups of headers in `include_dirs`, with their releases."""
    builds: tuple[str, ...] = ()
    """What identifies each of these libraries exactly: two patches of one MAJOR.MINOR compile differently."""

    @property
    def header_folders(self) -> tuple[str, ...]:
        """The absolute folders that every CUDA source is compiled with: this package's headers, then `include_dirs`."""
        return (str(INCLUDE), *STAND_INS, *self.include_dirs)

    def include_folders(self, own: Iterable[str], system: Sequence[str] = ()) -> tuple[str, ...]:
        """Return the folders that a CUDA source is compiled with, in search order; `own` are the project's.

        The folders `system` of libraries outside the project come before those of `FURTHER_HEADERS`, since a project
        may name a copy of its own, and after the others: what they have of the toolkit is of another release.
        """
        needed = {each.folder for each in self.headers if each.name in HEADERS}
        further = {each.folder for each in self.headers} - needed
        first = [folder for folder in self.header_folders if folder not in further]
        return (HOST_LIBRARIES, *own, *first, *system, *(each for each in self.include_dirs if each in further))

    @property
    def name(self) -> str:
        """The compiler's name and release: "NVRTC 12.9.86"."""
        return f"NVRTC {self.nvrtc}"


class Nvvm(NamedTuple):
    """The compiler of NVVM IR: absolute paths of libNVVM and of libdevice, its library of functions in bitcode."""

    library: str
    libdevice: str
    release: str
    """The exact release: "12.9.86"."""
    ir: Version
    """The newest version of NVVM IR that it reads."""
    build: str = ""
    """What identifies the library and libdevice exactly."""


class ToolchainPart(NamedTuple):
    """A library, file or folder of headers. `path` is None if it is not installed; `found_via` says how it was found,
    or why it was not."""

    name: str
    path: str | None
    found_via: str
    release: str | None = None
    """Of headers; None if nothing names it."""
