"""Compile CUDA C++ for a link, with NVRTC."""

import os
import re
from typing import Any

from ..errors import LinkError
from ..jit.compiling import JitOptions
from ..jit.floating_point import FloatingPoint
from ..jit.library_builds import loaded_build
from ..manifest import Target, Version, dotted

__all__ = ["compile_cuda", "nvrtc_build", "nvrtc_options", "nvrtc_version"]


def nvrtc_version() -> Version | None:
    """Return the CUDA release of the NVRTC that is installed here, or None."""
    try:
        from cuda.bindings import nvrtc

        result, major, minor = nvrtc.nvrtcVersion()
    except (ImportError, RuntimeError):  # no binding, or no library behind it
        return None
    return None if int(result) else (major, minor)


def nvrtc_build() -> str | None:
    """Return what identifies the exact build of the NVRTC that is installed here; None if that is unknown."""
    return loaded_build("nvrtc")


def nvrtc_options(lto: bool, options: JitOptions, floating_point: FloatingPoint) -> list[str]:
    """Return the options for NVRTC that do not depend on the GPU."""
    form = ["-rdc=true", "-std=c++17", *["-dlto"] * lto, *["-lineinfo"] * options.lineinfo]
    return [*form, *floating_point.nvrtc_options()]


def compile_cuda(
    text: bytes,
    name: str,
    folder: str | None,
    target: Target,
    lto: bool,
    options: JitOptions,
    floating_point: FloatingPoint = FloatingPoint(),  # noqa: B008 - immutable
) -> tuple[bytes, str]:
    """Return the LTO-IR, or the relocatable PTX, that NVRTC compiles from CUDA C++, and its log.

    NVRTC looks for headers in `folder`, then among the installed ones of the toolkit and CCCL. Raises LinkError with
    NVRTC's log.
    """
    from cuda.bindings import nvrtc

    arch = _compute_arch(target)
    folders = [folder] if folder else []
    if b"include" in text:
        folders += _header_folders()
    arguments = [
        f"-arch=compute_{arch}",
        *nvrtc_options(lto, options, floating_point),
        *(f"-I{path}" for path in folders),
    ]
    program = _value(nvrtc.nvrtcCreateProgram(text, name.encode(errors="replace"), 0, [], []))
    try:
        result = nvrtc.nvrtcCompileProgram(program, len(arguments), [os.fsencode(argument) for argument in arguments])
        output = _output(nvrtc.nvrtcGetProgramLogSize, nvrtc.nvrtcGetProgramLog, program).rstrip(b"\0\n ")
        log = re.sub(r"^(\S[^(\n]*)\((\d+)\): ", r"\1:\2: ", output.decode(errors="replace"), flags=re.MULTILINE)
        if int(result[0]):
            raise LinkError(f"{name} does not compile for compute_{arch}:\n{log or result[0].name}")
        get = (nvrtc.nvrtcGetLTOIRSize, nvrtc.nvrtcGetLTOIR) if lto else (nvrtc.nvrtcGetPTXSize, nvrtc.nvrtcGetPTX)
        code = _output(*get, program)
    finally:
        nvrtc.nvrtcDestroyProgram(program)
    return (code if lto else code.rstrip(b"\0")), log


def _compute_arch(target: Target) -> str:
    """Return the newest architecture that NVRTC knows and the GPU runs."""
    from cuda.bindings import nvrtc

    supported = _value(nvrtc.nvrtcGetSupportedArchs())
    number = 10 * target.major + target.minor
    if number in supported:
        return target.arch
    older = [arch for arch in supported if arch < number]
    if not older:
        release = dotted(nvrtc_version() or (0, 0))
        raise LinkError(f"NVRTC {release} compiles for {min(supported)} and later, not for {target}")
    return str(max(older))


def _header_folders() -> list[str]:
    """Return the folders of the installed headers of the toolkit and CCCL."""
    try:
        from cuda.pathfinder import find_nvidia_header_directory  # optional: a machine without it has no headers
    except ImportError:
        return []
    found = []
    for name in ("cccl", "cudart", "nvcc"):
        try:
            found.append(find_nvidia_header_directory(name))
        except RuntimeError:  # this release of cuda.pathfinder does not know the name
            continue
    return list(dict.fromkeys(path for path in found if path))


def _output(size: Any, get: Any, program: Any) -> bytes:
    """Return an output of NVRTC's program; `size` and `get` are the two functions that read it."""
    length = _value(size(program))
    if length < 2:  # a NUL alone. Python shares one object for all bytes of length 1, which must not be written to.
        return b""
    buffer: bytes = b" " * length
    _value(get(program, buffer))
    return buffer


def _value(result: tuple[Any, ...]) -> Any:
    if int(result[0]):
        raise LinkError(f"NVRTC answered {result[0].name}")
    return result[1] if len(result) > 1 else None
