"""Find the folders that can have CUDA's compilers and headers: folders of Python packages, and toolkits.

Compilers and headers may be in different folders: `PYTHONPATH` and `pip install --target` add folders of packages, as
does a virtual environment over another; conda and NVIDIA's installers make toolkits, which environment variables name.
"""

from __future__ import annotations

import glob
import os
import platform
import sys
from collections.abc import Iterator
from typing import NamedTuple

from cuda_wheel.builder.toolchain.toolchain import HEADER_GROUPS

__all__ = [
    "TOOLCHAIN_VARIABLE",
    "TOOLKIT_VARIABLES",
    "SearchRoot",
    "cuda_folders",
    "header_folders",
    "how_found",
    "is_cuda_package",
    "search_roots",
]


def cuda_folders() -> list[str]:
    """Return the folders of `sys.path` that contain CUDA's packages, CUTLASS's, PyTorch's or CuPy's, in its order.

    Relative entries are left out, because the workers, which search for the toolchain, have another working directory.
    """
    entries = filter(os.path.isabs, sys.path)
    names = ("cuda", "nvidia", "cutlass_library", "torch/include", "cupy/_core/include")
    return [entry for entry in entries if any(os.path.isdir(os.path.join(entry, name)) for name in names)]


def is_cuda_package(name: str) -> bool:
    """Return whether `name` is that of the metadata folder of a CUDA package, of PyTorch or of CuPy, in a folder of
    `sys.path`: "nvidia_cuda_nvrtc_cu12-12.9.86.dist-info"."""
    return name.endswith(".dist-info") and name.startswith(("nvidia_", "cuda_", "torch-", "cupy_cuda", "cupy-"))


TOOLKIT_VARIABLES = ("CONDA_PREFIX", "CUDA_PATH", "CUDA_HOME")
"""Environment variables that may contain the root folder of a CUDA toolkit, in the order in which cuda.pathfinder reads
them."""

TOOLCHAIN_VARIABLE = "CUDA_WHEEL_TOOLCHAIN"
"""Environment variable that chooses between the toolchains of an environment. Its value is the name of an extra of
cuda-wheel: "cu12" or "cu13"."""


class SearchRoot(NamedTuple):
    """A folder of Python packages (`has_packages`), or the root of a toolkit."""

    folder: str
    has_packages: bool
    found_via: str


def search_roots(library: str) -> list[SearchRoot]:
    """Return the folders of packages and the toolkits to search for headers; those with NVRTC come first.

    `library` is NVRTC's absolute path, "" without NVRTC.
    """
    packages = [SearchRoot(folder, True, how_found(folder)) for folder in cuda_folders()]
    own = [root for root in packages if library.startswith(root.folder + os.sep)]
    beside = [] if own else [SearchRoot(root, False, f"beside {os.path.basename(library)}") for root in _roots(library)]
    named = [SearchRoot(root, False, name) for name, root in _named_toolkits()]
    if os.path.isdir(os.path.join(sys.prefix, "conda-meta")):
        named.append(SearchRoot(sys.prefix, False, "conda"))
    return list({root.folder: root for root in reversed([*own, *beside, *packages, *named])}.values())[::-1]


def how_found(folder: str) -> str:
    """Return why a folder is on `sys.path`: "site-packages", "PYTHONPATH" or, for any other reason, "sys.path"."""
    if os.path.basename(folder) in ("site-packages", "dist-packages"):
        return "site-packages"
    written = filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))
    return "PYTHONPATH" if folder in map(os.path.abspath, written) else "sys.path"


def _named_toolkits() -> Iterator[tuple[str, str]]:
    for name in TOOLKIT_VARIABLES:
        root = os.environ.get(name)
        if root:
            yield name, os.path.abspath(root)


def _roots(library: str) -> Iterator[str]:
    """Yield possible roots of the CUDA toolkit that contains the library at the path `library`, nearest first. A root
    has a subfolder "include". It is at most three levels above the library's own folder. For a path with symbolic
    links, the roots of the resolved path follow."""
    for path in dict.fromkeys((library, os.path.realpath(library))):
        # ROOT/lib64/x.so, ROOT/bin/x64/x.dll, ROOT/targets/x86_64-linux/lib/x.so, /usr/lib/x86_64-linux-gnu/x.so
        above = os.path.dirname(os.path.dirname(path))
        for _ in range(3):
            if os.path.isdir(os.path.join(above, "include")):
                yield above
            above = os.path.dirname(above)


def header_folders(root: SearchRoot, group: str, major: int) -> list[str]:
    """Return the existing folders in which a search root can have the header group `group`, in search order.

    `major` is the major version of CUDA.
    """
    if root.has_packages:
        below = HEADER_GROUPS[group].cuda_13 if major > 12 else HEADER_GROUPS[group].cuda_12
        folders = [os.path.join(root.folder, *each.format(major=major).split("/")) for each in below]
    else:
        toolkits = (root.folder, os.path.join(root.folder, "Library"))
        folders = [folder for toolkit in toolkits for folder in _includes(toolkit)]
        if group == "cccl":  # in its own folder since CUDA 13
            folders = [each for folder in folders for each in (os.path.join(folder, "cccl"), folder)]
    return list(filter(os.path.isdir, folders))


def _includes(root: str) -> list[str]:
    """Return the folders in which the toolkit in the folder `root` may have its headers. Folders for this machine's
    processor come before those for other processors."""
    machine = platform.machine().lower()
    own = (machine, "sbsa") if machine == "aarch64" else (machine, "x64")
    root = glob.escape(root)
    targets = glob.glob(os.path.join(root, "targets", "*", "include")) + glob.glob(
        os.path.join(root, "include", "targets", "*")
    )
    return [
        os.path.join(root, "include"),
        *sorted(targets, key=lambda path: (not any(f"{os.sep}{name}" in path for name in own), path)),
    ]
