"""The records of a build: jobs, links and bundles, and their results. Imports no compiler."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

from cuda_wheel.runtime.manifest import (
    Compression,
    GlobalInfo,
    Kind,
    Manifest,
    PythonParameter,
    Target,
    Variant,
    Version,
)
from cuda_wheel.runtime.parts.dtypes import Struct

__all__ = [
    "ABSENT",
    "EMPTY",
    "AbsentHeader",
    "BuiltModule",
    "BundleRequest",
    "Compiled",
    "Configurations",
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


class ImageContent(NamedTuple):
    """An image before it is bundled into a fatbin."""

    target: Target
    source: str | None
    """Project-relative path of the file that was compiled, for relocatable code, which is linked at run time; None for
    a loadable image."""
    content: Content
    host: str = ""
    """Value of `Image.host`."""


Form = Literal["whole", "ptx", "lto"]
"""Output of a job: "whole" for loadable images, "ptx" for relocatable PTX, "lto" for LTO-IR."""


@dataclass(frozen=True)
class Job:
    """One translation unit to compile for one architecture.

    The result is a cubin, PTX or both from one pass of the front end, or relocatable code for a linker.
    """

    library: str
    """Path of the library that compiles the source: NVRTC, or libNVVM for NVVM IR and Numba kernels. The path does not
    affect the result."""
    root: str
    """Absolute path of the project's folder. Relative paths in `include_dirs` are relative to this folder. The path
    affects the result only if an image contains the path; `failures.job_warnings` warns of such an image."""
    source: str
    """Project-relative path of the source, with "/" on every platform. `__FILE__` and diagnostics show this path."""
    text: bytes
    arch: str
    cubin: bool
    ptx: bool
    options: tuple[str, ...]
    include_dirs: tuple[str, ...]
    """Include folders in search order. Folders in the project are project-relative paths, all others absolute paths."""
    instantiate: tuple[str, ...]
    lineinfo: bool
    ptx_version: str
    """Wanted PTX ISA version: a version such as "8.0"; "as-compiled" for the compiler's own version; or "auto" for the
    lowest version with which the assembler gives the same machine code."""
    host_code: str = "whole"
    """Value of the setting `host-code`: "whole" compiles host code too, "leave-out" leaves out the bodies of host
    functions that do not compile, "reject" makes host code an error."""
    kind: str = "cuda"
    """Language of the source: "cuda" (CUDA C++), "nvvm" (NVVM IR), "ptx", or a language of kernels in Python, such as
    "triton"."""
    form: Form = "whole"
    instances: tuple[str, ...] = ()
    """Globs for the names of the template instances to keep; () to keep all instances."""
    libdevice: str = ""
    """Path of libdevice, a library of device functions that NVVM IR may call; "" for a source in CUDA C++. The path
    does not affect the result."""
    nvvm: str = ""
    """Exact release of libNVVM for a source in NVVM IR; "" for a source that libNVVM does not compile. (NVRTC's release
    is in `Toolchain`.)"""
    nvvm_build: str = ""
    """Identifier of the exact builds of libNVVM and libdevice, for a source in NVVM IR; "" for a source that libNVVM
    does not compile."""
    system_dirs: tuple[str, ...] = ()
    """Absolute paths of the folders in the setting `system-include-dirs`. `include_dirs` contains these folders too.
    The result does not depend on where the folders are, unless it is LTO-IR."""
    missing_headers: tuple[str, ...] = ()
    """Globs for names of headers as an `#include` writes them, such as "Eigen/*". If a header is missing and a glob
    matches its name, the compiler reads an empty file instead."""
    absent_headers: tuple[str, ...] = ()
    """Names of headers that are known to be missing. The compiler reads an empty file in place of each."""
    describes: bool = True
    """Whether the job's architecture is the first of its module. If True, the job reports the fields of its kernels'
    struct parameters, if they are needed. If False, it reports needed fields only if they may depend on the
    architecture."""

    arch_list: str = ""
    """Value of the macro `__CUDA_ARCH_LIST__`: "750,800" for a module with the architectures 7.5 and 8.0. If it is "",
    the macro lists only the architecture of the job."""

    variant: Variant = ()
    """For a kernel in Python: the kernel, and what it is compiled for; see
    `runtime.parts.python_kernels.signatures`."""
    python_compiler: str = ""
    """For a kernel in Python: exact release of the language's compiler, and identifier of its build, after a blank; ""
    for a source in another language."""
    tileiras: str = ""
    """For CUDA Tile kernels: exact release of tileiras, and identifier of its build, after a blank; "" for others."""
    tileiras_program: str = ""
    """Path of tileiras; "" for other kernels than CUDA Tile's. The path does not affect the result."""

    @property
    def target_name(self) -> str:
        """Name of the target: "sm_80" for a job that produces a cubin, "compute_80" for any other."""
        return f"{'sm' if self.cubin else 'compute'}_{self.arch}"


class Configurations(NamedTuple):
    """What `triton.autotune` lists for a kernel."""

    variants: tuple[Variant, ...]
    """The constants and options of each configuration, as a variant has them."""
    files: tuple[str, ...]
    """Absolute paths of the files of the project that were read."""


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
    """Project-relative path of the file with the function whose body was left out."""
    line: int
    last_line: int
    name: str
    reason: str
    """The compiler's error message for the body that was left out."""

    def __str__(self) -> str:
        """Return the place and the function's name: "k.cu:12-40: body of main"."""
        lines = f"{self.line}" if self.last_line == self.line else f"{self.line}-{self.last_line}"
        return f"{self.file}:{lines}: body of {self.name}"


ABSENT = "missing header"
"""Text before a missing header's name in a manifest's entry: "k.cu:1: missing header Eigen/Core"."""


class AbsentHeader(NamedTuple):
    """A missing header in place of which the compiler read an empty file."""

    file: str
    """File with the first `#include` of the header: a project-relative path or, for a file of a library, the file's
    path in the library's include folder."""
    line: int
    name: str
    pattern: str
    """Glob in the setting `missing-headers` that matches the header's name; "" if no glob does."""

    def __str__(self) -> str:
        """Return the place and the name: "k.cu:1: missing header Eigen/Core"."""
        return f"{self.file}:{self.line}: {ABSENT} {self.name}"


@dataclass(frozen=True)
class Compiled:
    """The result of a job or of a link."""

    cubin: bytes | None
    ptx: bytes | None
    ptx_version_compiled: Version | None
    """PTX ISA version that the compiler wrote, before `images.lowering` replaced it by a lower one; None if the code
    was never PTX."""
    kernels: dict[str, tuple[Any, ...]]
    """Kernel symbol -> the kernel's parameters, as the PTX or machine code declares them."""
    bounds: dict[str, dict[str, int]]
    """Kernel symbol -> launch bound -> value: `{"k": {"max_threads": 256, "min_blocks": 2}}`. Kernels without bounds
    are not included."""
    resources: dict[str, dict[str, int]]
    """Kernel symbol -> resource -> amount that the assembler reports: `{"k": {"registers": 32}}`."""
    variables: tuple[GlobalInfo, ...]
    names: dict[str, str]
    """Name expression in `Job.instantiate` -> symbol of the kernel or variable that the expression names."""
    headers: tuple[str, ...] | None
    """Absolute paths of all files that the compiler read, without the source; None if the compiler cannot list them."""
    log: str
    """Warnings of the compiler or linker; "" if there are none."""
    left_out: tuple[LeftOutCode, ...] = ()
    absent_headers: tuple[AbsentHeader, ...] = ()
    ltoir: bytes | None = None
    declared: tuple[str, ...] = ()
    """Names of variables that the project's own files declare although the names look like a library's or the
    compiler's, such as "cub::v". `variables` contains these variables, but no others with such names. The names are in
    the form of `images.variables.identity`."""
    uses_build_time: bool = False
    """Whether the source uses `__DATE__`, `__TIME__` or `__TIMESTAMP__`, so that every compilation may differ."""
    names_arch_list: bool = False
    """Whether the source, an option, or a header that the compiler read contains `__CUDA_ARCH_LIST__`. If so, the other
    targets of the module affect the result."""
    python: tuple[PythonParameter, ...] = ()
    """Parameters of the Python function that the kernel was compiled from; () for other sources."""
    hosts: tuple[tuple[str, int], ...] = ()
    """For CUDA Tile kernels: (operating system and processor, size in bytes) of each cubin in `cubin`, which has them
    one after the other; () if `cubin` is one cubin for all of them."""
    assembler: Version | None = None
    """CUDA release of the assembler that made the cubin, if a compiler has one of its own; None if it is the
    toolchain's."""
    parameters: dict[str, tuple[Declared, ...]] = field(default_factory=dict)
    """Kernel symbol -> the kernel's parameters as the source declares them; () if the compiler did not report them. The
    mapping is empty if the compiler was not asked (see `compile.struct_layouts`)."""


EMPTY = Compiled(None, None, None, {}, {}, {}, (), {}, (), "")
"""A `Compiled` (result of a job or link) without images, kernels, headers and warnings."""


@dataclass(frozen=True)
class LinkInput:
    """One input of a link: the code that a source was compiled to, or a file that is linked without compiling it."""

    source: str
    """Project-relative path of the source or linked file. For a library of device code, its file name."""
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
    """NVRTC options with which the sources are compiled. The link uses only those about floating-point arithmetic, and
    those for the assembler ptxas."""
    lineinfo: bool
    ptx_version: str
    include_dirs: tuple[str, ...]
    """Absolute paths of the toolchain's header folders. Line information contains "cuda/" instead of these paths. So
    the paths do not affect the result."""
    system_dirs: tuple[str, ...] = ()
    """Absolute paths of the folders in the setting `system-include-dirs`. Line information contains "system/" instead
    of these paths."""
    device_libraries: str = ""
    """SHA-256 of the installed libraries of device code, CUDA's device runtime library and NVSHMEM's: their content
    affects the result. They are linked only if kernels use them."""


BundleRequest = tuple[str, Sequence[tuple[Content, str]], str]
"""What goes into one fatbin, in this order: the module's name; the images, each with the file name that tools such as
cuobjdump show for it; and the value of the setting `compress`."""


class Fatbin(NamedTuple):
    """The bytes of a fatbin, and the places of the images in it."""

    content: bytes
    offsets: tuple[int | None, ...]
    """Byte offset of each image in `content`, in the order of the images in the `BundleRequest`; None for a compressed
    image."""
    compression: Compression = "none"
    """Compression that nvFatbin used for the images: "none", "lz4" or "zstd"."""


@dataclass(frozen=True)
class BuiltModule:
    """The manifest and fatbin of a module: of all its variants together, or of one variant before they are joined."""

    manifests: tuple[Manifest, ...]
    """Manifest of each variant, in the order of the settings; a single one for a module without variants."""
    text: bytes
    """Content of the module's manifest file."""
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
