"""Find the installed Python packages of CUDA."""

from __future__ import annotations

import os
import sys

__all__ = ["cuda_folders", "is_cuda_package"]


def cuda_folders() -> list[str]:
    """Return the folders of `sys.path` that contain CUDA packages, or CUTLASS, which may be in a folder of its own.

    Relative entries are left out: the workers, which search for the toolchain, do not have them.
    """
    entries, names = filter(os.path.isabs, sys.path), ("cuda", "nvidia", "cutlass_library")
    return [entry for entry in entries if any(os.path.isdir(os.path.join(entry, name)) for name in names)]


def is_cuda_package(name: str) -> bool:
    """Return whether the name of an entry in such a folder is the metadata folder of a CUDA package."""
    return name.endswith(".dist-info") and name.startswith(("nvidia_", "cuda_"))
