"""Records of an installed toolchain, and the names of its libraries and header groups."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from cuda_wheel.builder.errors import ToolchainError
from cuda_wheel.builder.tables import VERSION, read_table
from cuda_wheel.runtime.manifest import Version, dotted, parse_version

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
    "PythonCompiler",
    "Tileiras",
    "Toolchain",
    "ToolchainPart",
    "check_release",
]


INCLUDE = Path(__file__).parents[1] / "headers" / "std"
"""Folder of cuda-wheel's own C and C++ standard headers. They take the place of the C library's headers, because NVRTC
has no C library."""

# PyTorch's headers with device algorithms have no stand-in: they are read from the PyTorch of the build environment, so
# that kernels compute what that release computes.
STAND_INS = tuple(str(INCLUDE.parent / name) for name in ("cuda", "pytorch", "libraries"))
"""Folders of stand-in headers, in this order: for CUDA's libraries, for PyTorch, and for other libraries that host code
uses. They are searched before the toolchain's folders."""

# NVRTC takes seconds to read a copy of such a library.
HOST_LIBRARIES = STAND_INS[-1]
"""Folder of stand-in headers for {fmt}, spdlog and nanobind. It is searched before the project's folders, which often
contain copies of these libraries. NVRTC cannot compile such a copy."""

LIBRARIES = ("nvrtc", "nvJitLink", "nvfatbin")
"""Names of NVRTC, nvJitLink and nvFatbin in cuda.pathfinder, which finds these libraries."""


class HeaderGroup(NamedTuple):
    """Headers that are installed together, such as CCCL's: a row of the table `toolchain_headers`."""

    title: str
    """Name of the group in messages, such as "CCCL"."""
    header: str
    """Path of one header of the group, relative to the group's folder. A folder that contains it contains the group."""
    is_needed: bool
    """Whether every build needs the headers of the group. If False, only a project that includes one of them needs
    them. The group's libraries are never needed, because device code uses only headers."""
    has_own_releases: bool
    """Whether the group has releases of its own, independent of CUDA's, as PyTorch has. Several of them work with one
    release of CUDA, and the project chooses one."""
    # cuda.pathfinder raises RuntimeError for unknown names. It has "cutlass" only from 1.6 on; its "mathdx" is another
    # package, libmathdx.
    pathfinder: str | None
    """Name of the group in cuda.pathfinder, such as "cccl". None if the group is unknown to a release of
    cuda.pathfinder that cuda-wheel's extras allow."""
    cuda_12: tuple[str, ...]
    """Folders in which Python packages for CUDA 12 have the group's headers, relative to site-packages, in search
    order: "nvidia/cuda_runtime/include"."""
    cuda_13: tuple[str, ...]
    """Folders in which Python packages for CUDA 13 or later have the group's headers, relative to site-packages, in
    search order. "{major}" stands for CUDA's major version: "nvidia/cu{major}/include"."""


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
"""Name of a header group, such as "cccl" -> the group; in search order. One folder may contain several groups: that of
CUDA 13 contains "cudart" and "crt"."""

HEADERS = {name: group.header for name, group in HEADER_GROUPS.items() if group.is_needed}
"""Name of a header group that every build needs -> path of the header by which the group is recognised, relative to the
group's folder."""

CCCL_OF_CUDA_12: dict[int, Version] = {row["minor"]: row["cccl"] for row in _TABLE["cccl of cuda 12"]}
"""Minor version of CUDA 12 -> version of the CCCL in that CUDA toolkit: 9 -> (2, 8). The first is 12.4, the first
release with nvFatbin. (CUDA 13.X has CCCL 3.X.)"""


class Headers(NamedTuple):
    """A header group that a toolchain uses: where it is, and its release."""

    name: str
    """Name of the group, a key of `HEADER_GROUPS`."""
    release: str
    """Release of CUDA that the headers are from ("12.9"). For CCCL and groups with their own releases, it is the
    group's release ("2.8.2"). "" if unknown."""
    folder: str
    """Absolute path of the include folder that contains the headers."""
    found_via: str
    """How the folder was found, such as "site-packages", "PYTHONPATH" or "CUDA_HOME"."""
    source: str
    """Absolute path of the file from which the release was read; "" if the release is unknown."""


@dataclass(frozen=True)
class Toolchain:
    """The CUDA compilers of one environment.

    `nvrtc` is the exact release ("12.9.86"); `nvjitlink` and `nvfatbin` are MAJOR.MINOR.
    """

    nvrtc: str
    nvjitlink: str
    nvfatbin: str
    supported: tuple[int, ...]
    """Architectures that NVRTC can compile for, as numbers: 75 stands for sm_75 and compute_75."""
    include_dirs: tuple[str, ...]
    """Absolute include folders of the toolchain's header groups, in search order."""
    libraries: tuple[str, ...]
    """Absolute paths of NVRTC, nvJitLink and nvFatbin, in this order."""
    headers: tuple[Headers, ...] = ()
    """Header groups whose folders are in `include_dirs`, in search order."""
    builds: tuple[str, ...] = ()
    """Identifiers of the exact builds of NVRTC, nvJitLink and nvFatbin, in this order. Two patch releases with the same
    MAJOR.MINOR may compile differently."""
    choice: str = ""
    """Which of several installed toolchains this is, and why: "CUDA 13 and not CUDA 12: it comes first on sys.path". ""
    if there is only one."""

    @property
    def header_folders(self) -> tuple[str, ...]:
        """Absolute include folders of every CUDA source: cuda-wheel's own headers, then `include_dirs`."""
        return (str(INCLUDE), *STAND_INS, *self.include_dirs)

    def include_folders(self, own: Iterable[str], system: Sequence[str] = ()) -> tuple[str, ...]:
        """Return the include folders of a CUDA source in search order; `own` are the project's.

        `system` are folders of libraries outside the project. They come before header groups that only some builds
        need, because a project may name its own copy of such a library, and after header groups that every build needs,
        because what they contain of the CUDA toolkit is of another release.
        """
        needed = {each.folder for each in self.headers if each.name in HEADERS}
        further = {each.folder for each in self.headers} - needed
        first = [folder for folder in self.header_folders if folder not in further]
        return (HOST_LIBRARIES, *own, *first, *system, *(each for each in self.include_dirs if each in further))

    @property
    def name(self) -> str:
        """Name and exact release of the compiler: "NVRTC 12.9.86"."""
        return f"NVRTC {self.nvrtc}"


class Nvvm(NamedTuple):
    """The compiler of NVVM IR: absolute paths of libNVVM, and of libdevice, the bitcode library of mathematical
    functions."""

    library: str
    libdevice: str
    release: str
    """Exact release of libNVVM, such as "12.9.86"."""
    ir: Version
    """Newest version (major, minor) of NVVM IR that libNVVM reads."""
    build: str = ""
    """Identifier of the exact builds of libNVVM and libdevice, without their paths and times."""


class PythonCompiler(NamedTuple):
    """The compiler of a language of kernels in Python, such as Triton, as it is installed in the environment of the
    build."""

    release: str
    """Exact release: "3.6.0"."""
    build: str
    """Identifier of the exact build of its compiler and of its assemblers."""
    packages: tuple[str, ...]
    """Distributions that the compiler consists of, the one with `release` first: ("triton",)."""


def check_release(name: str, release: str, first: Version) -> None:
    """Raise ToolchainError if the release of a compiler of Python kernels is older than `first`, or is not known."""
    with suppress(ValueError):
        if parse_version(release) >= first:
            return
    raise ToolchainError(
        f"{name} {release or 'of an unknown release'} is installed: cuda-wheel needs {dotted(first)} or later."
    )


class Tileiras(NamedTuple):
    """The assembler of Tile IR, which makes the machine code of CUDA Tile kernels."""

    release: str
    """Exact release: "13.5.37"."""
    program: str
    """Absolute path of the program."""
    build: str
    """Identifier of the exact builds of the program, and of the libNVVM and ptxas beside it that it uses."""
    supported: tuple[int, ...]
    """Architectures that it has machine code for, as numbers in ascending order: 80 stands for compute capability
    8.0."""


class ToolchainPart(NamedTuple):
    """A library, file or header group that a toolchain needs, installed or not.

    `path` is None if it is not installed. `found_via` is how it was found ("site-packages"), or why it was not.
    """

    name: str
    path: str | None
    found_via: str
    release: str | None = None
    """Release of a header group; None if it is unknown. Always None for a library or file."""
