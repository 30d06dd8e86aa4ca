"""Identify the exact builds of a toolchain's libraries. Their interfaces tell MAJOR.MINOR only."""

from __future__ import annotations

import os
from hashlib import sha256

from cuda_wheel.runtime.jit.cuda_libraries import files_of
from cuda_wheel.runtime.jit.library_builds import build_id

__all__ = ["library_build"]


def library_build(path: str) -> str:
    """Return what identifies the content of a library, wherever it is installed, and of what it loads from its folder.

    An isolated build installs the toolchain in a new folder each time, so paths and times take no part.
    """
    return " ".join(map(_build, files_of(path)))


def _build(path: str) -> str:
    with open(path, "rb") as file:
        build = build_id(file)
        if build is None:  # as on Windows
            file.seek(0)
            build = sha256(file.read()).hexdigest()
        return f"{os.fstat(file.fileno()).st_size}-{build}"
