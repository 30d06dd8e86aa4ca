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
"""Kind, architecture and bytes of an image: `("cubin", "90a", b"...")`."""

ImageContent = tuple[Target, str | None, Content]
"""Target of an image; project-relative path of its source if the image is relocatable code for linking at run time,
else None; and the image's `Content`."""

Form = Literal["whole", "ptx", "lto"]
"""Output of a job: "whole" for loadable images, "ptx" for relocatable PTX, "lto" for LTO-IR."""


@dataclass(frozen=True)
class Job:
    """One translation unit to compile for one architecture.

    The result is a cubin, PTX or both from one pass of the front end, or relocatable code for a linker.
    """

    library: str
    """Path of NVRTC, or of libNVVM for NVVM IR. It does not affect the result."""
    root: str
    """Absolute path of the project's folder. Relative include folders are relative to it. It does not affect the
    images."""
    source: str
    """Project-relative path of the source with "/", as in `__FILE__` and diagnostics."""
    text: bytes
    arch: str
    cubin: bool
    ptx: bool
    options: tuple[str, ...]
    include_dirs: tuple[str, ...]
    """Include folders in search order: the project's as project-relative paths, all others as absolute paths."""
    instantiate: tuple[str, ...]
    lineinfo: bool
    ptx_version: str
    """Wanted PTX ISA version: MAJOR.MINOR, "as-compiled", or "auto" for the lowest one that is proven equal."""
    host_code: str = "whole"
    """Value of the setting `host-code`: "whole" compiles host code too, "leave-out" leaves out the bodies of host
    functions that do not compile, "reject" makes host code an error."""
    kind: str = "cuda"
    """Language of the source: "cuda", "nvvm" or "ptx"."""
    form: Form = "whole"
    instances: tuple[str, ...] = ()
    """Globs for the names of template instances to keep; empty to keep all."""
    libdevice: str = ""
    """Path of libdevice, which NVVM IR may need; "" for a source in CUDA C++. It does not affect the result."""
    nvvm: str = ""
    """Exact release of libNVVM if it compiles the source; "" for other sources. (NVRTC's release is in `Toolchain`.)"""
    nvvm_build: str = ""
    """Identifier of the exact builds of libNVVM and libdevice; "" for sources that libNVVM does not compile."""
    system_dirs: tuple[str, ...] = ()
    """Absolute paths of the folders that the setting `system-include-dirs` names. `include_dirs` contains them too. The
paths do not affect the result."""
    missing_headers: tuple[str, ...] = ()
    """Globs for names in `#include` directives: the compiler reads an empty file for a missing header that matches
    one."""
    absent_headers: tuple[str, ...] = ()
    """Names of headers that are known to be missing. The compiler reads an empty file for each."""
    describes: bool = True
    """True if the job is for the module's first architecture. The fields of struct parameters are determined for that
    one only, unless they may depend on the architecture; see `compile.struct_layouts`."""

    arch_list: str = ""
    """Value of the macro `__CUDA_ARCH_LIST__`: "750,800" for a module with the architectures 7.5 and 8.0. With "", the
    macro has the job's own architecture only."""

    @property
    def target_name(self) -> str:
        """Name of the target: "sm_80" for a job that produces a cubin, "compute_80" for any other."""
        return f"{'sm' if self.cubin else 'compute'}_{self.arch}"


class Declared(NamedTuple):
    """A kernel parameter as the source declares it.

    `name` and `type` (in C++) are "" if unknown. `struct` describes the fields of a struct; None for other types and
    for a struct whose fields are unknown.
    """

    name: str
    type: str
    struct: Struct | None = None


class LeftOutCode(NamedTuple):
    """A host function whose body was left out of a source because the body does not compile."""

    file: str
    """Project-relative path of the file."""
    line: int
    last_line: int
    name: str
    reason: str
    """The compiler's error message for the body."""

    def __str__(self) -> str:
        """Return the place and the function's name: "k.cu:12-40: body of main"."""
        lines = f"{self.line}" if self.last_line == self.line else f"{self.line}-{self.last_line}"
        return f"{self.file}:{lines}: body of {self.name}"


ABSENT = "missing header"
"""Words before the name of a missing header in a manifest's entry "k.cu:1: missing header Eigen/Core"."""


class AbsentHeader(NamedTuple):
    """A missing header in place of which the compiler read an empty file."""

    file: str
    """First file that includes the header: a project-relative path or, for a file of a library, its name in
    `#include`."""
    line: int
    name: str
    pattern: str
    """Glob in the setting `missing-headers` that matches the name; "" if none does."""

    def __str__(self) -> str:
        """Return the place and the name: "k.cu:1: missing header Eigen/Core"."""
        return f"{self.file}:{self.line}: {ABSENT} {self.name}"


@dataclass(frozen=True)
class Compiled:
    """The result of a job or of a link."""

    cubin: bytes | None
    ptx: bytes | None
    ptx_version_compiled: Version | None
    """PTX ISA version as compiled, before `images.lowering` replaced it by a lower one; None if the code was never
    PTX."""
    kernels: dict[str, tuple[Any, ...]]
    """Kernel symbol -> the kernel's parameters."""
    bounds: dict[str, dict[str, int]]
    """Kernel symbol -> launch bound -> value: `{"k": {"max_threads": 256, "min_blocks": 2}}`. Kernels without bounds
    are not included."""
    resources: dict[str, dict[str, int]]
    """Kernel symbol -> resource -> amount that the assembler reports: `{"k": {"registers": 32}}`."""
    variables: tuple[GlobalInfo, ...]
    names: dict[str, str]
    """Name expression -> symbol."""
    headers: tuple[str, ...] | None
    """Absolute paths of all files that the compiler read besides the source; None if it cannot list them."""
    log: str
    """Warnings of the compiler or linker; "" if there are none."""
    left_out: tuple[LeftOutCode, ...] = ()
    absent_headers: tuple[AbsentHeader, ...] = ()
    ltoir: bytes | None = None
    declared: tuple[str, ...] = ()
    """Names declared in the project's own files that look like names of a library or of the compiler, as
    `images.variables.identity` writes them. Variables with these names are kept; others that look so are removed."""
    uses_build_time: bool = False
    """Whether the source uses `__DATE__`, `__TIME__` or `__TIMESTAMP__`, so that every compilation may differ."""
    names_arch_list: bool = False
    """Whether a file that the compiler read contains `__CUDA_ARCH_LIST__`, so that the module's other targets affect
    the result."""
    parameters: dict[str, tuple[Declared, ...]] = field(default_factory=dict)
    """Kernel symbol -> the parameters as the source declares them; () for a kernel that the compiler does not describe.
    Empty if no kernel needs such a description; see `compile.struct_layouts`."""


EMPTY = Compiled(None, None, None, {}, {}, {}, (), {}, (), "")
"""A result without images, kernels or headers."""


@dataclass(frozen=True)
class LinkInput:
    """One input of a link: the code that a source was compiled to, or a file that is linked without compiling it."""

    source: str
    """Project-relative path of the source."""
    kind: str
    """Kind of the content: "ltoir", "ptx", "cubin", "fatbin", "object" or "library", as nvJitLink names them."""
    content: bytes
    declared: tuple[str, ...] = ()
    """`Compiled.declared` of a compiled source; () for a file that is linked without compiling it."""


@dataclass(frozen=True)
class LinkJob:
    """One module to link for one architecture, into a cubin or PTX."""

    module: str
    arch: str
    real: bool
    lto: bool
    inputs: tuple[LinkInput, ...]
    options: tuple[str, ...]
    """NVRTC options that the sources are compiled with. Those about floating-point arithmetic and ptxas also apply to
    the link."""
    lineinfo: bool
    ptx_version: str
    include_dirs: tuple[str, ...]
    """Absolute paths of the toolchain's header folders. They are replaced by "cuda/" in line information, and do not
    affect the result."""
    system_dirs: tuple[str, ...] = ()
    """Absolute paths of the folders that the setting `system-include-dirs` names. They are replaced by "system/" in
    line information."""
    device_runtime: str = ""
    """SHA-256 of CUDA's device runtime library, which is linked if kernels launch kernels; "" if it is not
    installed."""


BundleRequest = tuple[str, Sequence[tuple[Content, str]], str]
"""What goes into one fatbin: the module's name; the images, each with the file name that tools such as cuobjdump show
for it; and the compression."""


class Fatbin(NamedTuple):
    """The bytes of a fatbin, and the places of the images in it."""

    content: bytes
    offsets: tuple[int | None, ...]
    """Byte offset of each image in the order of the request; None for an image that is compressed."""
    compression: Compression = "none"
    """Compression that the fatbin uses."""


@dataclass(frozen=True)
class BuiltModule:
    """The manifest and fatbin of a module: of all its variants together, or of one variant before they are joined."""

    manifests: tuple[Manifest, ...]
    """Manifest of each variant, in the order of the settings; a single one for a module without variants."""
    text: bytes
    """Content of the manifest file."""
    fatbin: bytes
    """Content of the fatbin file: the fatbins of all variants."""
    headers: tuple[str, ...] | None
    """Absolute paths on this machine of the files that the sources include; None if the compiler cannot list them."""
    uses_build_time: bool = False
    """Whether a source uses the time of the build, so that every build may differ; see `Compiled.uses_build_time`."""

    @property
    def manifest(self) -> Manifest:
        """Manifest of the first variant, or of the module if it has no variants."""
        return self.manifests[0]

    @property
    def name(self) -> str:
        return self.manifests[0].name
