"""The records of a build: jobs, links and bundles, and their results. Imports no compiler."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

from cuda_wheel.runtime.manifest import Compression, GlobalInfo, Kind, Manifest, Target, Version
from cuda_wheel.runtime.parts.dtypes import Struct

__all__ = [
    "ABSENT",
    "EMPTY",
    "AbsentHeader",
    "BuiltModule",
    "BundleRequest",
    "Compiled",
    "Content",
    "Declared",
    "Fatbin",
    "Form",
    "ImageContent",
    "Job",
    "LeftOutCode",
    "LinkInput",
    "LinkJob",
]

Content = tuple[Kind, str, bytes]
"""Kind, architecture and bytes of an image."""

ImageContent = tuple[Target, str | None, Content]
"""Target of an image, the source that it is compiled from if it is relocatable (else None), and the image's content."""

Form = Literal["whole", "ptx", "lto"]
"""What a job compiles to: complete images, relocatable PTX, or LTO-IR."""


@dataclass(frozen=True)
class Job:
    """One translation unit to compile for one architecture.

    The result is a cubin, PTX or both from one pass of the front end, or relocatable code for a linker.
    """

    library: str
    """Path of NVRTC, or of libNVVM for NVVM IR. It does not affect the result."""
    root: str
    """Absolute path of the project's folder, which relative include paths start from. It does not affect the images."""
    source: str
    """Project-relative path of the source with "/", as in `__FILE__` and diagnostics."""
    text: bytes
    arch: str
    cubin: bool
    ptx: bool
    options: tuple[str, ...]
    include_dirs: tuple[str, ...]
    """Include folders: project-relative ones first, then absolute ones."""
    instantiate: tuple[str, ...]
    lineinfo: bool
    ptx_version: str
    """PTX ISA version: "auto", "as-compiled" or MAJOR.MINOR."""
    host_code: str = "whole"
    """Treatment of host code: "whole", "leave-out" or "reject"."""
    kind: str = "cuda"
    """Language of the source: "cuda", "nvvm" or "ptx"."""
    form: Form = "whole"
    instances: tuple[str, ...] = ()
    """Globs for the names of template instances to keep; empty to keep all."""
    libdevice: str = ""
    """Path of libdevice, which NVVM IR may need. It does not affect the result."""
    nvvm: str = ""
    """Exact release of libNVVM if it compiles the source; else "". The toolchain holds NVRTC's release."""
    nvvm_build: str = ""
    """Identifier of the exact builds of libNVVM and libdevice; "" if they are not used."""
    system_dirs: tuple[str, ...] = ()
    """The include folders among `include_dirs` that are outside the project. Their paths do not affect the result."""
    missing_headers: tuple[str, ...] = ()
    """Globs for the names of headers that may be missing."""
    absent_headers: tuple[str, ...] = ()
    """Names of the headers that are missing, which the compiler finds empty."""
    describes: bool = True
    """Whether the job is for the module's first architecture, for which the compiler reports the fields of structs; see
    `compile.parameter_layouts`."""

    arch_list: str = ""
    """Value of `__CUDA_ARCH_LIST__`: "750,800" for a module with these architectures; "" if the job's architecture is
    the only one."""

    @property
    def target_name(self) -> str:
        """The target, such as "sm_80"; "compute_80" only for a job that produces no machine code."""
        return f"{'sm' if self.cubin else 'compute'}_{self.arch}"


class Declared(NamedTuple):
    """A kernel parameter as the source declares it: its name, its C++ type, and its fields; "" and None for what is not
    known."""

    name: str
    type: str
    struct: Struct | None = None


class LeftOutCode(NamedTuple):
    """A host function whose body was left out of a source, because it does not compile."""

    file: str
    """Project-relative path of the file."""
    line: int
    last_line: int
    name: str
    reason: str
    """Message of the compiler for the code that is left out."""

    def __str__(self) -> str:
        """Return the place and what it is: "k.cu:12-40: body of main"."""
        lines = f"{self.line}" if self.last_line == self.line else f"{self.line}-{self.last_line}"
        return f"{self.file}:{lines}: body of {self.name}"


ABSENT = "missing header"
"""Text by which manifests name a header that is missing and may be."""


class AbsentHeader(NamedTuple):
    """A header that is not found, and that was empty."""

    file: str
    """First file that includes the header: project-relative path, or for a library's header the header's name."""
    line: int
    name: str
    pattern: str
    """Glob in `missing-headers` that the header matches; "" if none does."""

    def __str__(self) -> str:
        """Return the place and the name: "k.cu:1: missing header Eigen/Core"."""
        return f"{self.file}:{self.line}: {ABSENT} {self.name}"


@dataclass(frozen=True)
class Compiled:
    """The result of a job or of a link."""

    cubin: bytes | None
    ptx: bytes | None
    ptx_version_compiled: Version | None
    """PTX ISA version that the compiler wrote, before lowering."""
    kernels: dict[str, tuple[Any, ...]]
    """Kernel symbol -> the kernel's parameters."""
    bounds: dict[str, dict[str, int]]
    """Kernel symbol -> launch bound -> its value in the source."""
    resources: dict[str, dict[str, int]]
    """Kernel symbol -> resource -> amount reported by the assembler."""
    variables: tuple[GlobalInfo, ...]
    names: dict[str, str]
    """Name expression -> symbol."""
    headers: tuple[str, ...] | None
    """Absolute paths of all files that the compiler read besides the source; None if it cannot list them."""
    log: str
    """Warnings of the compiler."""
    left_out: tuple[LeftOutCode, ...] = ()
    absent_headers: tuple[AbsentHeader, ...] = ()
    ltoir: bytes | None = None
    declared: tuple[str, ...] = ()
    """Names declared in the project's files that look like names of a library or of the compiler, in the form of
    `images.variables.identity`."""
    uses_build_time: bool = False
    """Whether the source uses `__DATE__`, `__TIME__` or `__TIMESTAMP__`, so that every compilation may differ."""
    names_arch_list: bool = False
    """Whether a file that the compiler read contains `__CUDA_ARCH_LIST__`, so that the module's other targets affect
    the result."""
    parameters: dict[str, tuple[Declared, ...]] = field(default_factory=dict)
    """Kernel symbol -> the declared parameters, if the compiler was asked for them; () for a kernel that it does not
    describe. See `compile.parameter_layouts`."""


EMPTY = Compiled(None, None, None, {}, {}, {}, (), {}, (), "")
"""A result without images, kernels or headers."""


@dataclass(frozen=True)
class LinkInput:
    """One input of a link: a compiled source, or a source that is linked as it is."""

    source: str
    """Project-relative path of the source."""
    kind: str
    """Kind of input, in nvJitLink's terms."""
    content: bytes
    declared: tuple[str, ...] = ()
    """`declared` of the source's `Compiled`."""


@dataclass(frozen=True)
class LinkJob:
    """One module to link for one architecture, into a cubin or PTX."""

    module: str
    arch: str
    real: bool
    lto: bool
    inputs: tuple[LinkInput, ...]
    options: tuple[str, ...]
    """NVRTC options that the sources are compiled with. Some also apply to the linker."""
    lineinfo: bool
    ptx_version: str
    include_dirs: tuple[str, ...]
    """Folders of the toolchain's headers as they appear in line information. Their paths do not affect the result."""
    system_dirs: tuple[str, ...] = ()
    """Include folders outside the project, as they appear in line information."""
    device_runtime: str = ""
    """SHA-256 of the device runtime library, which is linked if kernels launch kernels; "" if there is none."""


BundleRequest = tuple[str, Sequence[tuple[Content, str]], str]
"""Contents of one fatbin: the module's name; the images, each with the name that tools list it by; and the
compression."""


class Fatbin(NamedTuple):
    """A fatbin, and where its images are."""

    content: bytes
    offsets: tuple[int | None, ...]
    """Byte offset of each image; None where compression hides it."""
    compression: Compression = "none"
    """Compression that the fatbin uses."""


@dataclass(frozen=True)
class BuiltModule:
    """The files of a module with all its variants, or of one variant until all are built."""

    manifests: tuple[Manifest, ...]
    """Manifest of each variant, in the order of the settings; a single one for a module without variants."""
    text: bytes
    """Content of the manifest file."""
    fatbin: bytes
    """Content of the fatbin file: the fatbins of all variants."""
    headers: tuple[str, ...] | None
    """Absolute paths on this machine of the files that the sources include; None if the compiler cannot list them."""
    uses_build_time: bool = False
    """Whether every build may differ; see `Compiled.uses_build_time`."""

    @property
    def manifest(self) -> Manifest:
        """The first manifest."""
        return self.manifests[0]

    @property
    def name(self) -> str:
        return self.manifests[0].name
