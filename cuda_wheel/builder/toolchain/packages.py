"""Find the installed CUDA packages."""

from __future__ import annotations

import os
import sys

__all__ = [
    "cuda_folders",
    "is_cuda_package",
]


def cuda_folders() -> list[str]:
    """Return the folders of `sys.path` that hold CUDA packages, but for those that depend on the current one: a worker,
    which would look for the toolchain, does not have them."""
    entries, tops = filter(os.path.isabs, sys.path), ("cuda", "nvidia")
    return [entry for entry in entries if any(os.path.isdir(os.path.join(entry, top)) for top in tops)]


def is_cuda_package(name: str) -> bool:
    """Return whether a file of such a folder is what describes a CUDA package."""
    return name.endswith(".dist-info") and name.startswith(("nvidia_", "cuda_"))
