"""Find the installed Python packages of CUDA."""

from __future__ import annotations

import os
import sys

__all__ = ["cuda_folders", "cuda_package_folders", "is_cuda_package"]

_CUDA_12 = ("cuda_nvrtc", "nvjitlink", "nvfatbin", "cuda_runtime", "cuda_cccl", "cuda_nvcc")
"""Folders below `nvidia` in which the packages for CUDA 12 install their files; those of CUDA 13 share `cu13`."""


def cuda_folders() -> list[str]:
    """Return the folders of `sys.path` that contain CUDA packages, or CUTLASS or PyTorch, which may be elsewhere.

    Relative entries are left out: the workers, which search for the toolchain, do not have them.
    """
    entries, names = filter(os.path.isabs, sys.path), ("cuda", "nvidia", "cutlass_library", "torch/include")
    return [entry for entry in entries if any(os.path.isdir(os.path.join(entry, name)) for name in names)]


def cuda_package_folders() -> list[str]:
    """Return the folders of `sys.path` in which cuda.pathfinder may search for libraries.

    Left out are those with libraries of another major version than cuda-bindings only: cuda.pathfinder prefers CUDA 13
    in any folder to CUDA 12 in an earlier one, such as that of a virtual environment over another.
    """
    folders = [folder for folder in cuda_folders() if os.path.isdir(os.path.join(folder, "nvidia"))]
    major = _bindings_major()
    return [folder for folder in dict.fromkeys(folders) if major is None or major in (_majors(folder) or {major})]


def _majors(folder: str) -> set[str]:
    """Return the major versions of CUDA whose packages are in a folder."""
    names = os.listdir(os.path.join(folder, "nvidia"))
    newer = {name[2:] for name in names if name.startswith("cu") and name[2:].isdigit()}
    return newer | ({"12"} if any(name in names for name in _CUDA_12) else set())


def _bindings_major() -> str | None:
    """Return the major version of the cuda-bindings that Python imports; None without its metadata."""
    for entry in filter(os.path.isabs, sys.path):
        if os.path.isdir(os.path.join(entry, "cuda", "bindings")):
            names = (name.partition("-") for name in os.listdir(entry) if name.endswith(".dist-info"))
            return next((rest.partition(".")[0] for name, _, rest in names if name == "cuda_bindings"), None)
    return None


def is_cuda_package(name: str) -> bool:
    """Return whether the name of an entry in such a folder is the metadata folder of a CUDA package or of PyTorch."""
    return name.endswith(".dist-info") and name.startswith(("nvidia_", "cuda_", "torch-"))
