"""Compare the environments of two machines: jobs run on another machine only if its compilers and headers are equal."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

from cuda_wheel.builder.images import ptx_text
from cuda_wheel.builder.toolchain.nvrtc import compile_text
from cuda_wheel.builder.toolchain.options import FORM_OPTIONS
from cuda_wheel.builder.toolchain.records import FURTHER_HEADERS, HEADERS, Nvvm, Toolchain
from cuda_wheel.runtime.jit.nvjitlink import link_code

__all__ = ["Versions", "linker_release", "versions_of"]


class Versions(NamedTuple):
    """Descriptions of all that decides the images besides a job and its files. Machines with equal descriptions produce
    equal images."""

    system: str
    nvrtc: str
    nvjitlink: str
    headers: str
    nvvm: str
    """Empty for jobs that do not need libNVVM."""

    def differences(self, there: Versions) -> str:
        """Return a description of what differs on another machine; empty if nothing does."""
        names = ("the operating system", "NVRTC", "nvJitLink", "the folders of headers", "libNVVM")
        pairs = zip(names, there, self, strict=True)
        return "; ".join(f"{name}: {other} there, {own} here" for name, other, own in pairs if other != own)


def versions_of(toolchain: Toolchain, nvjitlink: str, nvvm: Nvvm | None) -> Versions:
    """Return the versions of an environment. `nvjitlink` is the result of `linker_release` in it."""
    marks = (*HEADERS.values(), *FURTHER_HEADERS.values())
    contents = [", ".join(mark for mark in marks if Path(folder, mark).is_file()) for folder in toolchain.include_dirs]
    headers = "; ".join(f"one with {content}" for content in contents)
    return Versions(sys.platform, toolchain.nvrtc, nvjitlink, headers, "" if nvvm is None else nvvm.release)


def linker_release(toolchain: Toolchain) -> str:
    """Return the exact release of nvJitLink, from the PTX that it writes: its API returns only MAJOR.MINOR.

    Runs in workers only.
    """
    arch = toolchain.supported[0]
    answer = compile_text(
        {
            "library": toolchain.libraries[0],
            "folder": tempfile.gettempdir(),
            "text": b"__global__ void k() {}",
            "name": "version.cu",
            "options": [f"--gpu-architecture=compute_{arch}", *FORM_OPTIONS["lto"]],
            "expressions": [],
        }
    )
    code, _ = link_code([("LTOIR", "version.cu", answer["ltoir"])], [f"-arch=sm_{arch}", "-lto", "-ptx"], True)
    return ptx_text.compiler_release(code.rstrip(b"\0").decode()) or toolchain.nvjitlink
