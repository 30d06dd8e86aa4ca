"""Find CUDA's device runtime library (cudadevrt), with which kernels launch kernels.

It lies beside the headers of the CUDA runtime, in the same package, so that its release is that of the headers.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from functools import cache
from hashlib import sha256

__all__ = ["device_runtime_build", "device_runtime_library"]

_HEADER = "cuda_device_runtime_api.h"

_FILES = ("lib/libcudadevrt.a", "lib64/libcudadevrt.a", "lib/x64/cudadevrt.lib", "lib/cudadevrt.lib")
"""The library from the root of a package or toolkit, on Linux and Windows."""


def device_runtime_library(folders: Iterable[str]) -> str | None:
    """Return the path of the library that belongs to the headers in one of these folders; None if there is none."""
    for folder in folders:
        if os.path.isfile(os.path.join(folder, _HEADER)):
            root = os.path.dirname(os.path.abspath(folder))
            paths = (os.path.join(root, *name.split("/")) for name in _FILES)
            found = next(filter(os.path.isfile, paths), None)
            if found is not None:
                return found
    return None


@cache
def device_runtime_build(folders: tuple[str, ...]) -> str:
    """Return what identifies the library that belongs to the headers in these folders; "" if there is none."""
    path = device_runtime_library(folders)
    if path is None:
        return ""
    with open(path, "rb") as file:
        return sha256(file.read()).hexdigest()
