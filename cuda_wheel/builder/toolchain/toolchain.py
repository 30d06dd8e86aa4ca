"""An installed toolchain, and the names of the libraries and headers that it consists of."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from cuda_wheel.builder.tables import VERSION, read_table
from cuda_wheel.runtime.manifest import Version

__all__ = [
    "CCCL_OF_CUDA_12",
    "HEADERS",
    "HEADER_GROUPS",
    "HOST_LIBRARIES",
    "INCLUDE",
    "LIBRARIES",
    "STAND_INS",
    "HeaderGroup",
    "Headers",
    "Nvvm",
    "Toolchain",
    "ToolchainPart",
]


INCLUDE = Path(__file__).parents[1] / "headers" / "std"
"""Folder of freestanding C and C++ headers, which replace those of the C library, which NVRTC lacks."""

STAND_INS = tuple(str(INCLUDE.parent / name) for name in ("cuda", "pytorch", "libraries"))
"""Folders of stand-in headers, which declare what host code uses of CUDA's libraries, of PyTorch and of others.

They come before the toolchain's folders. A PyTorch header without a stand-in is read from the build environment's
PyTorch: headers with device algorithms, so that kernels compute what that release computes.
"""

HOST_LIBRARIES = STAND_INS[-1]
"""Folder of stand-ins for {fmt}, spdlog and nanobind. It comes before the project's folders, because a project often
has a copy of these libraries, which NVRTC cannot compile and which takes seconds to read."""

LIBRARIES = ("nvrtc", "nvJitLink", "nvfatbin")
"""cuda.pathfinder's names of the compiler libraries."""


class HeaderGroup(NamedTuple):
    """A group of headers that are installed together: a row of the table `toolchain_headers`."""

    title: str
    """Name in messages."""
    header: str
    """Path of a header in the group, relative to the group's folder."""
    is_needed: bool
    """Whether every build needs the group. If not, those projects do that include its headers; device code needs no
    library of it."""
    has_own_releases: bool
    """Whether the group has its own releases, several of which work with one CUDA release, so that the project
    chooses."""
    pathfinder: str | None
    """Name in cuda.pathfinder, in the lowest release that an extra allows, which raises RuntimeError for unknown names:
    "cutlass" exists from 1.6 on. None if it has no name; its "mathdx" is another package, libmathdx."""
    cuda_12: tuple[str, ...]
    """Folders of the group relative to a folder of CUDA 12 packages, in search order."""
    cuda_13: tuple[str, ...]
    """Folders of the group relative to a folder of packages for CUDA 13 or later, in search order; "{major}" is CUDA's
    major version."""


_TABLE = read_table(
    "toolchain_headers",
    {
        "groups": {
            str: {
                "title": str,
                "header": str,
                "needed": bool,
                "own releases": bool,
                "pathfinder?": str,
                "cuda 12": [str],
                "cuda 13": [str],
            }
        },
        "cccl of cuda 12": [{"minor": int, "cccl": VERSION}],
    },
)

HEADER_GROUPS = {
    name: HeaderGroup(
        row["title"],
        row["header"],
        row["needed"],
        row["own releases"],
        row.get("pathfinder"),
        row["cuda 12"],
        row["cuda 13"],
    )
    for name, row in _TABLE["groups"].items()
}
"""Group name -> header group, in search order. If an earlier group's folder contains a header of a later group, the
compiler finds it there: CUDA 13 puts "cudart" and "crt" in one folder."""

HEADERS = {name: group.header for name, group in HEADER_GROUPS.items() if group.is_needed}
"""Name of each group that every build needs -> a header in its folder."""

CCCL_OF_CUDA_12: dict[int, Version] = {row["minor"]: row["cccl"] for row in _TABLE["cccl of cuda 12"]}
"""Minor release of CUDA 12, from the first with nvFatbin -> CCCL version. CUDA 13.X has CCCL 3.X."""


class Headers(NamedTuple):
    """A group of headers of a toolchain."""

    name: str
    """Key of `HEADER_GROUPS`."""
    release: str
    """Release of CUDA, "12.9"; for CCCL its own, "2.8.2"."""
    folder: str
    """Absolute folder in which the compiler finds the headers."""
    found_via: str
    """How the folder was found: "site-packages", "PYTHONPATH", "CUDA_HOME"."""
    source: str
    """Absolute path of the file with the release."""


@dataclass(frozen=True)
class Toolchain:
    """The CUDA compilers of one environment. `nvrtc` is the exact release ("12.9.86"), the others are MAJOR.MINOR."""

    nvrtc: str
    nvjitlink: str
    nvfatbin: str
    supported: tuple[int, ...]
    """Architectures that NVRTC supports, as numbers: 75 for sm_75 and compute_75."""
    include_dirs: tuple[str, ...]
    """Absolute folders of the toolkit's and CCCL's headers, in search order."""
    libraries: tuple[str, ...]
    """Absolute paths of NVRTC, nvJitLink and nvFatbin."""
    headers: tuple[Headers, ...] = ()
    """Header groups in `include_dirs`, with their releases."""
    builds: tuple[str, ...] = ()
    """Identifier of each library's exact build; two patch releases of one MAJOR.MINOR may compile differently."""

    @property
    def header_folders(self) -> tuple[str, ...]:
        """The absolute folders that every CUDA source is compiled with: this package's headers, then `include_dirs`."""
        return (str(INCLUDE), *STAND_INS, *self.include_dirs)

    def include_folders(self, own: Iterable[str], system: Sequence[str] = ()) -> tuple[str, ...]:
        """Return the folders that a CUDA source is compiled with, in search order; `own` are the project's.

        The folders `system` of libraries outside the project come before those of groups that not every build needs,
        since a project may name a copy of its own, and after the others: what they have of the toolkit is of another
        release.
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
    """Exact release: "12.9.86"."""
    ir: Version
    """Newest NVVM IR version that libNVVM reads."""
    build: str = ""
    """Identifier of the exact builds of libNVVM and libdevice."""


class ToolchainPart(NamedTuple):
    """A library, file or folder of headers. `path` is None if it is not installed; `found_via` says how it was found,
    or why it was not."""

    name: str
    path: str | None
    found_via: str
    release: str | None = None
    """Release of the headers; None if unknown, or if the part has no release."""
