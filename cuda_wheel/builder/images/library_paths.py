"""Refuse images that contain the path of a library outside the project."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable

from cuda_wheel.builder.errors import CompileError
from cuda_wheel.builder.jobs import Compiled

__all__ = ["check_library_paths"]


def check_library_paths(name: str, folders: Iterable[str], compiled: Compiled, lineinfo: bool = False) -> None:
    """Raise CompileError if an image contains the path of a library outside the project: builds on other machines would
    differ.

    `name` is the name of the source or module in the message; `folders` are the absolute include folders of such
    libraries. NVRTC's LTO-IR is encoded and does not show its strings, so what it is linked into is to be checked too.
    `lineinfo` says whether the image has line information whose paths could not be made independent of this machine.
    """
    for folder in folders:
        path = os.fsencode(folder + os.sep)
        # The line table has the names of folders without a "/" at the end.
        if lineinfo and re.search(re.escape(os.fsencode(folder)) + rb"[/\0]", compiled.cubin or b""):
            raise CompileError(
                f"{name}: the line information of the image would contain paths in {folder}, which lies outside the "
                "project, so that builds on other machines would differ. This happens if the module's CUDA C++ cannot "
                "be linked without its other inputs: set lineinfo = false, or copy the headers into the project."
            )
        # In PTX a string is a list of numbers. What follows the folder in it is the header's name.
        numbers = re.search(rb",\s*".join(b"%d" % byte for byte in path) + rb"((?:,\s*\d+)*)", compiled.ptx or b"")
        if numbers or any(path in content for content in (compiled.cubin, compiled.ltoir) if content):
            text = bytes(map(int, filter(None, numbers[1].split(b",")))) if numbers else b""
            header = text.partition(b"\0")[0].decode(errors="replace") or f"a header in {folder}"
            raise CompileError(
                f"{name}: the image would contain the path of {header}, which __FILE__ gives, as in assert. It "
                f"lies outside the project ({folder}), so that builds on other machines would differ: set defines = "
                "{ NDEBUG = 1 } if it is an assert, or copy the header into the project."
            )
