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
"""An image's kind, architecture and bytes."""

ImageContent = tuple[Target, str | None, Content]
"""An image's target, the source that it is compiled from if it is relocatable (else None), and its content."""

Form = Literal["whole", "ptx", "lto"]
"""What a job compiles to: complete images, relocatable PTX, or LTO-IR."""


@dataclass(frozen=True)
class Job:
    """One translation unit to compile for one architecture.

    The result is a cubin, PTX or both from one pass of the front end, or relocatable code for a linker.
    """

    library: str
    """Path of NVRTC, or of libNVVM for NVVM IR. The location does not affect the result."""
    root: str
    """The project's folder, which relative include paths start from. It does not affect the images."""
    source: str
    """Project-relative path with "/", as in `__FILE__` and diagnostics."""
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
    host_code: str = "whole"
    """ "whole", "leave-out" or "reject"."""
    kind: str = "cuda"
    """The language: "cuda", "nvvm" or "ptx"."""
    form: Form = "whole"
    instances: tuple[str, ...] = ()
    """Globs over the names of the templates' instances to keep; empty for all."""
    libdevice: str = ""
    """Path of libdevice, which NVVM IR may need. The location does not affect the result."""
    nvvm: str = ""
    """The exact release of libNVVM if that is the compiler; else empty. NVRTC's release is in the toolchain."""
    nvvm_build: str = ""
    """What identifies libNVVM and libdevice exactly, if they are used."""
    system_dirs: tuple[str, ...] = ()
    """Those of `include_dirs` that the project names outside its folder. The locations do not affect the result."""
    missing_headers: tuple[str, ...] = ()
    """Globs over the names of headers that may be missing."""
    absent_headers: tuple[str, ...] = ()
    """The names of those that are missing; the compiler finds them empty."""
    describes: bool = True
    """Whether it is for the module's first architecture, for which the compiler tells the fields of structs; see
    `compile.parameter_layouts`."""

    arch_list: str = ""
    """The value of `__CUDA_ARCH_LIST__`: "750,800" for a module with targets of these architectures. Empty if the job's
    architecture is the only one."""

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
    """Project-relative path."""
    line: int
    last_line: int
    name: str
    reason: str
    """The compiler's message."""

    def __str__(self) -> str:
        """Return the place and what it is: "k.cu:12-40: body of main"."""
        lines = f"{self.line}" if self.last_line == self.line else f"{self.line}-{self.last_line}"
        return f"{self.file}:{lines}: body of {self.name}"


ABSENT = "missing header"
"""How manifests name a header that is not found, and may be missing."""


class AbsentHeader(NamedTuple):
    """A header that is not found, and that was empty."""

    file: str
    """The first file that includes it: a project-relative path, or for a library's header its name."""
    line: int
    name: str
    pattern: str
    """What lists it in `missing-headers`."""

    def __str__(self) -> str:
        """Return the place and the name: "k.cu:1: missing header Eigen/Core"."""
        return f"{self.file}:{self.line}: {ABSENT} {self.name}"


@dataclass(frozen=True)
class Compiled:
    """The result of a job or of a link."""

    cubin: bytes | None
    ptx: bytes | None
    ptx_version_compiled: Version | None
    """The PTX ISA version that the compiler wrote, before it was lowered."""
    kernels: dict[str, tuple[Any, ...]]
    """The parameters of each kernel, by symbol."""
    bounds: dict[str, dict[str, int]]
    """The launch bounds in the source, by kernel symbol."""
    resources: dict[str, dict[str, int]]
    """The resource use that the assembler reported, by kernel symbol."""
    variables: tuple[GlobalInfo, ...]
    names: dict[str, str]
    """The symbol of each name expression."""
    headers: tuple[str, ...] | None
    """Absolute paths of all files that the compiler read beside the source; None if it cannot list them."""
    log: str
    """The compiler's warnings."""
    left_out: tuple[LeftOutCode, ...] = ()
    absent_headers: tuple[AbsentHeader, ...] = ()
    ltoir: bytes | None = None
    declared: tuple[str, ...] = ()
    """The names that the project's files declare and that look like those of a library or of the compiler; by
    `images.variables.identity`."""
    uses_build_time: bool = False
    """Whether `__DATE__`, `__TIME__` or `__TIMESTAMP__` takes part, so that every compilation may differ."""
    names_arch_list: bool = False
    """Whether a file that the compiler read names `__CUDA_ARCH_LIST__`, so that the module's other targets count."""
    parameters: dict[str, tuple[Declared, ...]] = field(default_factory=dict)
    """The declared parameters by symbol, if the compiler was asked for them; () for a kernel without an answer. See
    `compile.parameter_layouts`."""


EMPTY = Compiled(None, None, None, {}, {}, {}, (), {}, (), "")
"""A result without images, kernels or headers."""


@dataclass(frozen=True)
class LinkInput:
    """One input of a link: a compiled source, or a source that is linked as it is."""

    source: str
    """Project-relative path."""
    kind: str
    """The kind of input, as nvJitLink names it."""
    content: bytes
    declared: tuple[str, ...] = ()
    """Those of its `Compiled`."""


@dataclass(frozen=True)
class LinkJob:
    """One module to link for one architecture, into a cubin or PTX."""

    module: str
    arch: str
    real: bool
    lto: bool
    inputs: tuple[LinkInput, ...]
    options: tuple[str, ...]
    """The NVRTC options that the sources are compiled with. Some of them apply to the linker too."""
    lineinfo: bool
    ptx_version: str
    include_dirs: tuple[str, ...]
    """The toolchain's folders, as line information names them. The locations do not affect the result."""
    system_dirs: tuple[str, ...] = ()
    """Those that the project names outside its folder, as line information names them."""
    device_runtime: str = ""
    """What identifies the device runtime library, which is linked if kernels launch kernels."""


BundleRequest = tuple[str, Sequence[tuple[Content, str]], str]
"""What goes into one fatbin: the module's name, each image with the name that tools list it by, and the compression."""


class Fatbin(NamedTuple):
    """A fatbin, and where its images are."""

    content: bytes
    offsets: tuple[int | None, ...]
    """Where each image starts, in bytes; None where compression hides it."""
    compression: Compression = "none"
    """As found in the fatbin."""


@dataclass(frozen=True)
class BuiltModule:
    """The files of a module with all its variants, or of one variant until all are built."""

    manifests: tuple[Manifest, ...]
    """One for each variant, in the order of the settings; one for a module without variants."""
    text: bytes
    """Content of the manifest's file."""
    fatbin: bytes
    """Content of the fatbin's file: the fatbins of all variants."""
    headers: tuple[str, ...] | None
    """Absolute paths, on this machine, of the files that the sources include; None if the compiler cannot list them."""
    uses_build_time: bool = False
    """Whether every build may differ, as in `Compiled`."""

    @property
    def manifest(self) -> Manifest:
        """The first manifest."""
        return self.manifests[0]

    @property
    def name(self) -> str:
        return self.manifests[0].name
