"""NVRTC, nvJitLink and nvFatbin, as one process sees them. Runs in workers only; see `workers`.

Sources go in, bytes come out; nothing here knows of projects, wheels or manifests.
"""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cuda_wheel.build import lowering, ptx
from cuda_wheel.build.errors import CompileError, ConfigError, ToolchainError
from cuda_wheel.loader import Version

__all__ = ["Bundle", "Bundled", "Compiled", "Job", "Toolchain", "bundle", "compile_job", "find_toolchain"]

INCLUDE = Path(__file__).parent / "include"
"""The freestanding C and C++ headers that stand in for the C library, which NVRTC lacks."""

INSTALL_HINT = 'Add "cuda-wheel[cu12]" or "cuda-wheel[cu13]" to build-system.requires, or pip install it.'

HEADERS = {"cccl": "cuda/std/version", "cudart": "cuda_fp16.h", "nvcc": "crt/host_defines.h"}
"""cuda.pathfinder's names of the header folders, and a header that each brings. Where an earlier folder has that one
already (CUDA 13 puts the last two together), there is nothing to look for: a search would go on to the system's."""


@dataclass(frozen=True)
class Toolchain:
    """The CUDA compilers of one environment. `nvrtc` is exact ("12.9.86"), the others MAJOR.MINOR."""

    nvrtc: str
    nvjitlink: str
    nvfatbin: str
    supported: tuple[int, ...]
    """What nvrtcGetSupportedArchs answers: 75 for sm_75 and compute_75."""
    include_dirs: tuple[str, ...]
    """Absolute folders of the toolkit's and CCCL's headers, in search order."""
    found_via: dict[str, str]

    @property
    def name(self) -> str:
        return f"NVRTC {self.nvrtc}"


@dataclass(frozen=True)
class Job:
    """One translation unit for one architecture: gives a cubin, PTX or both from one pass of the front end."""

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


@dataclass(frozen=True)
class Compiled:
    """What a job gave. `names` maps name expressions to symbols; `log` holds the compiler's warnings."""

    cubin: bytes | None
    ptx: bytes | None
    ptx_version_compiled: Version
    kernels: dict[str, tuple[Any, ...]]
    resources: dict[str, dict[str, int]]
    names: dict[str, str]
    log: str


@dataclass(frozen=True)
class Bundle:
    """Images to pack into one fatbin: (kind, architecture, content)."""

    name: str
    images: tuple[tuple[str, str, bytes], ...]
    compress: str


@dataclass(frozen=True)
class Bundled:
    """A fatbin, and where each image starts in it; None where compression hides it."""

    fatbin: bytes
    offsets: tuple[int | None, ...]


# --- the toolchain --------------------------------------------------------------------------------


def find_toolchain(_: None = None) -> Toolchain:
    """Return the compilers and headers of this environment; raises ToolchainError where one is missing."""
    try:
        from cuda.bindings import nvfatbin, nvjitlink, nvrtc
        from cuda.pathfinder import locate_nvidia_header_directory
    except ImportError as error:
        raise ToolchainError(f"the CUDA toolchain is not installed ({error}). {INSTALL_HINT}") from error
    try:
        release = _value(nvrtc.nvrtcVersion())
        supported = _value(nvrtc.nvrtcGetSupportedArchs())
        linker, fatbin = nvjitlink.version(), nvfatbin.version()
    except RuntimeError as error:
        raise ToolchainError(f"{str(error).strip().splitlines()[0]}. {INSTALL_HINT}") from error
    if linker < release or linker[0] != release[0] or fatbin[0] != release[0]:
        raise ToolchainError(
            f"NVRTC {_dotted(release)}, nvJitLink {_dotted(linker)} and nvFatbin {_dotted(fatbin)} do not fit "
            "together: one major version, and nvJitLink no older than NVRTC, is what works. "
            "Ask for one cuda-wheel extra only, and let it choose their versions."
        )
    include_dirs: list[str] = []
    found_via: dict[str, str] = {}
    for name, header in HEADERS.items():
        if any(Path(folder, header).is_file() for folder in include_dirs):
            continue
        located = locate_nvidia_header_directory(name)
        if located is None or located.abs_path is None or not Path(located.abs_path, header).is_file():
            raise ToolchainError(f"{header} of CUDA {_dotted(release)} is not installed. {INSTALL_HINT}")
        include_dirs.append(located.abs_path)
        found_via[name] = located.found_via
    _check_header_release(include_dirs, release)
    exact = ptx.compiler_release(_compile_ptx(nvrtc, f"compute_{supported[-1]}")) or _dotted(release)
    return Toolchain(exact, _dotted(linker), _dotted(fatbin), tuple(supported), tuple(include_dirs), found_via)


def _check_header_release(include_dirs: Sequence[str], release: Version) -> None:
    for folder in include_dirs:
        header = Path(folder, "cuda.h")
        if header.is_file():
            match = re.search(rb"#define\s+CUDA_VERSION\s+(\d+)", header.read_bytes())
            found = (int(match[1]) // 1000, int(match[1]) % 1000 // 10) if match else release
            if found[0] != release[0]:
                raise ToolchainError(
                    f"NVRTC is {_dotted(release)}, but the headers found first ({header}) are CUDA {_dotted(found)}'s. "
                    f"{INSTALL_HINT}"
                )


def _compile_ptx(nvrtc: Any, arch: str) -> str:
    program = _value(nvrtc.nvrtcCreateProgram(b"", b"version.cu", 0, [], []))
    _value(nvrtc.nvrtcCompileProgram(program, 1, [f"--gpu-architecture={arch}".encode()]))
    return _output(nvrtc.nvrtcGetPTXSize, nvrtc.nvrtcGetPTX, program).decode()


# --- compiling ------------------------------------------------------------------------------------


def compile_job(job: Job) -> Compiled:
    """Return the images of one job; raises CompileError with the compiler's log, or ConfigError for its options."""
    from cuda.bindings import nvrtc

    os.chdir(job.root)
    # A real target gives PTX as well, byte for byte what the virtual one would give. With line information the cubin
    # is made from that PTX instead, because NVRTC would write absolute paths into it.
    direct = job.cubin and not job.lineinfo
    options = [f"--gpu-architecture={'sm' if direct else 'compute'}_{job.arch}", *job.options]
    options += [f"--include-path={folder}" for folder in job.include_dirs]
    options += ["--ptxas-options=-v"] if direct else []
    options += ["-lineinfo"] if job.lineinfo else []
    program = _value(nvrtc.nvrtcCreateProgram(job.text, job.source.encode(), 0, [], []))
    try:
        for expression in job.instantiate:
            _value(nvrtc.nvrtcAddNameExpression(program, expression.encode()))
        result = nvrtc.nvrtcCompileProgram(program, len(options), [option.encode() for option in options])[0]
        log = _output(nvrtc.nvrtcGetProgramLogSize, nvrtc.nvrtcGetProgramLog, program).decode(errors="replace")
        if result == nvrtc.nvrtcResult.NVRTC_ERROR_INVALID_OPTION:
            raise ConfigError(f"{job.source}: NVRTC refuses an option: {log.strip()}")
        if result != nvrtc.nvrtcResult.NVRTC_SUCCESS:
            raise CompileError(_without_noise(log, job.include_dirs) or result.name)
        names = {
            expression: _value(nvrtc.nvrtcGetLoweredName(program, expression.encode())).decode()
            for expression in job.instantiate
        }
        text = _output(nvrtc.nvrtcGetPTXSize, nvrtc.nvrtcGetPTX, program).decode()
        cubin = _output(nvrtc.nvrtcGetCUBINSize, nvrtc.nvrtcGetCUBIN, program) if direct else None
    finally:
        nvrtc.nvrtcDestroyProgram(program)
    figures = log
    if job.lineinfo:
        roots = {folder: "cuda/" for folder in job.include_dirs if os.path.isabs(folder)}
        text = ptx.relocate_files(text, roots | {os.getcwd(): "", os.path.realpath(job.root): ""})
        if job.cubin:
            # The assembler would look for the files and note when they were last changed.
            with tempfile.TemporaryDirectory() as nowhere:
                os.chdir(nowhere)
                cubin, figures = assemble(text, job.arch, ("-lineinfo", "-Xptxas=-v"))
                os.chdir(job.root)
    text = ptx.normalise(text)
    lowered = lowering.lower(text, job.ptx_version, job.arch, job.source, _machine_code) if job.ptx else None
    return Compiled(
        cubin=cubin,
        ptx=None if lowered is None else lowered.encode(),
        ptx_version_compiled=ptx.version(text),
        kernels=ptx.kernels(text),
        resources=_resources(figures),
        names=names,
        log=_without_noise(log, job.include_dirs),
    )


def _machine_code(text: str, arch: str) -> bytes:
    # Debug information would hold a copy of the text, its version included.
    return assemble(text, arch, ("-Xptxas=--suppress-debug-info",))[0]


def assemble(text: str, arch: str, options: Sequence[str] = ()) -> tuple[bytes, str]:
    """Return the cubin that nvJitLink makes of PTX, and its log; raises CompileError with the assembler's words."""
    from cuda.bindings import nvjitlink

    arguments = [f"-arch=sm_{arch}", *options]
    content = text.encode()
    handle = nvjitlink.create(len(arguments), arguments)
    try:
        nvjitlink.add_data(handle, nvjitlink.InputType.PTX, content, len(content), "module.ptx")
        nvjitlink.complete(handle)
        cubin = bytearray(nvjitlink.get_linked_cubin_size(handle))
        nvjitlink.get_linked_cubin(handle, cubin)
        log = bytearray(nvjitlink.get_info_log_size(handle))
        if log:
            nvjitlink.get_info_log(handle, log)
    except nvjitlink.nvJitLinkError as error:
        log = bytearray(nvjitlink.get_error_log_size(handle))
        if log:
            nvjitlink.get_error_log(handle, log)
        raise CompileError(_text(log) or str(error)) from error
    finally:
        nvjitlink.destroy(handle)
    return bytes(cubin), _text(log)


_FUNCTION = re.compile(r"Function properties for (\S+)")
_FRAME = re.compile(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads")
_USED = re.compile(r"ptxas info\s*: Used (\d+) registers(.*)")
_SHARED = re.compile(r"(\d+) bytes smem")


def _resources(log: str) -> dict[str, dict[str, int]]:
    """Return what `ptxas -v` says of each kernel: registers, and bytes of static shared memory, stack and spills."""
    resources: dict[str, dict[str, int]] = {}
    symbol, frame = "", {}
    for line in log.splitlines():
        if match := _FUNCTION.search(line):
            symbol = match[1]
        elif match := _FRAME.search(line):
            frame = dict(zip(("local", "spill_stores", "spill_loads"), map(int, match.groups()), strict=True))
        elif match := _USED.match(line):
            shared = _SHARED.search(match[2])
            resources[symbol] = {"registers": int(match[1]), "shared": int(shared[1]) if shared else 0, **frame}
    return resources


_NOISE = (
    "ptxas info",
    "ptxas         .",
    "nvrtc: warning: Architectures prior to",
    "Remark: The warnings can be suppressed",
)
"""How lines begin that tell nobody anything: figures that are read elsewhere; that old targets, which somebody asked
for, are old; and an option that is not ours."""

_DIAGNOSTIC = re.compile(r"(?P<file>\S.*?)\(\d+\): (?P<severity>warning|remark|error|catastrophic error)\b")


def _without_noise(log: str, include_dirs: Sequence[str]) -> str:
    """Return a log without figures, and without warnings about headers that are not the project's.

    Every other compiler keeps quiet about system headers; NVRTC has no way to say that a header is one.
    """
    systems = tuple(folder for folder in include_dirs if os.path.isabs(folder))
    kept = []
    quiet = False
    for line in log.rstrip("\0 \n").splitlines():
        if match := _DIAGNOSTIC.match(line):
            quiet = match["severity"] in ("warning", "remark") and match["file"].startswith(systems)
        if not quiet and not line.startswith(_NOISE):
            kept.append(line)
    return "\n".join(kept).strip("\n")


# --- bundling -------------------------------------------------------------------------------------


def bundle(request: Bundle) -> Bundled:
    """Return the fatbin of a module's images, with each image's place in it, found by search."""
    from cuda.bindings import nvfatbin

    options = ["-compress-mode=size"] if request.compress == "size" else ["-compress=false"]
    handle = nvfatbin.create(options, len(options))
    try:
        for kind, arch, content in request.images:
            if kind == "cubin":
                nvfatbin.add_cubin(handle, content, len(content), arch, request.name)
            else:
                nvfatbin.add_ptx(handle, content + b"\0", len(content) + 1, arch, request.name, "")
        fatbin = bytearray(nvfatbin.size(handle))
        nvfatbin.get(handle, fatbin)
    except nvfatbin.nvFatbinError as error:
        raise ToolchainError(f"nvFatbin cannot bundle {request.name}: {error}") from error
    finally:
        nvfatbin.destroy(handle)
    if request.compress != "none":
        return Bundled(bytes(fatbin), (None,) * len(request.images))
    offsets = []
    for kind, arch, content in request.images:
        offset = fatbin.find(content)
        if offset < 0:
            raise ToolchainError(f"nvFatbin changed the {kind} for {arch} of {request.name}: a case to report")
        offsets.append(offset)
    return Bundled(bytes(fatbin), tuple(offsets))


# --- small things ---------------------------------------------------------------------------------


def _value(result: tuple[Any, ...]) -> Any:
    if int(result[0]) != 0:
        raise ToolchainError(f"NVRTC answered {result[0].name}")
    return result[1] if len(result) == 2 else result[1:]


def _output(size: Any, get: Any, program: Any) -> bytes:
    buffer = bytearray(_value(size(program)))  # never bytes: Python shares short ones, and NVRTC writes into them
    _value(get(program, buffer))
    return bytes(buffer)


def _text(log: bytearray) -> str:
    return log.rstrip(b"\0\n ").decode(errors="replace")


def _dotted(version: Sequence[int]) -> str:
    return ".".join(map(str, version))
