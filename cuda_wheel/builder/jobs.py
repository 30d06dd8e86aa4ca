"""The records of a build: jobs, links and bundles, and their results. Imports no compiler."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from cuda_wheel.runtime.manifest import GlobalInfo, Kind, Manifest, Target, Version

__all__ = [
    "EMPTY",
    "BuiltModule",
    "Bundle",
    "Bundled",
    "Compiled",
    "Content",
    "Form",
    "ImageContent",
    "Job",
    "LinkInput",
    "LinkJob",
]


Content = tuple[Kind, str, bytes]
"""An image's kind, architecture and bytes."""


@dataclass(frozen=True)
class Bundle:
    """Images to pack into one fatbin."""

    name: str
    images: tuple[tuple[Content, str], ...]
    """Each with the name that tools list it by."""
    compress: str


@dataclass(frozen=True)
class Bundled:
    """A fatbin, and where each image starts in it; None where compression hides it."""

    fatbin: bytes
    offsets: tuple[int | None, ...]


Form = Literal["whole", "ptx", "lto"]
"""What a job gives: images that are complete, relocatable PTX, or LTO-IR."""


@dataclass(frozen=True)
class Job:
    """One translation unit for one architecture: gives a cubin, PTX or both from one pass of the front end, or what a
    linker wants."""

    library: str
    """Path of NVRTC, or of libNVVM for its own language. Where that lies decides nothing."""
    root: str
    """Folder that relative include paths start from: the project's. No image depends on it."""
    source: str
    """Project-relative path with "/": what `__FILE__` and diagnostics say."""
    text: bytes
    arch: str
    cubin: bool
    ptx: bool
    options: tuple[str, ...]
    include_dirs: tuple[str, ...]
    """Project-relative folders first, then absolute ones."""
    instantiate: tuple[str, ...]
    lineinfo: bool
    ptx_version: str
    """ "auto", "as-compiled" or MAJOR.MINOR."""
    host_code: str = "auto"
    """ "auto", "keep" or "reject"."""
    kind: str = "cuda"
    """The language: "cuda", "nvvm" or "ptx"."""
    form: Form = "whole"
    libdevice: str = ""
    """Path of libdevice, which NVVM IR may ask for. Where that lies decides nothing."""
    nvvm: str = ""
    """Exact release of libNVVM, where that is the compiler; NVRTC's is the toolchain's."""


@dataclass(frozen=True)
class Compiled:
    """What a job gave. `names` maps name expressions to symbols; `log` holds the compiler's warnings."""

    cubin: bytes | None
    ptx: bytes | None
    ptx_version_compiled: Version | None
    kernels: dict[str, tuple[Any, ...]]
    bounds: dict[str, dict[str, int]]
    """What the source demands of launches, by kernel symbol."""
    resources: dict[str, dict[str, int]]
    """What the assembler reported, by kernel symbol."""
    variables: tuple[GlobalInfo, ...]
    names: dict[str, str]
    headers: tuple[str, ...] | None
    """Absolute paths of all files that the compiler read beside the source; None where it cannot tell."""
    log: str
    absent: tuple[str, ...] = ()
    """Absolute paths in the project where a header that is left out would be, if there were one."""
    blanked: tuple[str, ...] = ()
    """The host code that was left out, in words."""
    ltoir: bytes | None = None


EMPTY = Compiled(None, None, None, {}, {}, {}, (), {}, (), "")
"""What nothing is known of."""


ImageContent = tuple[Target, str | None, Content]
"""An image: its target, the source of one that is for linking, and its content."""


@dataclass(frozen=True)
class BuiltModule:
    """A module's manifest, as it is and as the content of its file, the content of its fatbin, and the files that its
    source includes.

    These are absolute paths, of this machine alone; None where the compiler cannot tell them.
    """

    manifest: Manifest
    text: bytes
    fatbin: bytes
    headers: tuple[str, ...] | None
    absent: tuple[str, ...]
    """Absolute paths where a header that was left out, for there was none, would be."""


@dataclass(frozen=True)
class LinkInput:
    """What one source became, or is: its project-relative path, its kind in nvJitLink's words, and its content."""

    source: str
    kind: str
    content: bytes


@dataclass(frozen=True)
class LinkJob:
    """One module for one architecture: gives a cubin or PTX."""

    module: str
    arch: str
    real: bool
    lto: bool
    inputs: tuple[LinkInput, ...]
    options: tuple[str, ...]
    """NVRTC's, as the sources are compiled with them; those that matter to a linker are."""
    lineinfo: bool
    ptx_version: str
    include_dirs: tuple[str, ...]
    """The toolchain's, as line information names them. Where they lie decides nothing."""
