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


class HeaderGroup(NamedTuple):
    """A group of headers that are installed together: a row of the table `toolchain_headers`."""

    title: str
    """Its name in messages."""
    header: str
    """A header that its folder contains, relative to the folder."""
    is_needed: bool
    """Whether every build needs it. Of the others device code needs only the headers, not the libraries."""
    has_own_releases: bool
    """Whether it has releases of its own, of which many work with one release of CUDA: the project chooses."""
    pathfinder: str | None
    """cuda.pathfinder's name of it in the lowest release that an extra allows, which raises RuntimeError for names that
    it does not know: "cutlass" is known from 1.6 on. Its "mathdx" is another package, libmathdx."""
    cuda_12: tuple[str, ...]
    """Its folders below a folder of packages of CUDA 12, in search order."""
    cuda_13: tuple[str, ...]
    """The same for CUDA 13 and later; "{major}" is CUDA's major version."""


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
"""The groups of headers by name, in search order. If the folder of an earlier group contains the header of a later one,
the compiler finds it there: CUDA 13 puts "cudart" and "crt" in one."""

HEADERS = {name: group.header for name, group in HEADER_GROUPS.items() if group.is_needed}
"""Name of each group that every build needs -> a header that its folder contains."""

CCCL_OF_CUDA_12: dict[int, Version] = {row["minor"]: row["cccl"] for row in _TABLE["cccl of cuda 12"]}
"""Minor release of CUDA 12, since nvFatbin exists -> CCCL's version. CUDA 13.X has CCCL 3.X."""


class Headers(NamedTuple):
    """A group of headers of a toolchain."""

    name: str
    """A key of `HEADER_GROUPS`."""
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
