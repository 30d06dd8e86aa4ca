"""Compile CUDA C++ for a link, with NVRTC."""

import ctypes
import os
import re
from functools import partial
from typing import Any

from ..errors import LinkError
from ..jit.compiling import JitOptions
from ..jit.cuda_libraries import library_release, open_library, read_output
from ..jit.floating_point import FloatingPoint
from ..jit.library_builds import loaded_build
from ..manifest import Target, Version, dotted

__all__ = ["compile_cuda", "nvrtc_build", "nvrtc_options", "nvrtc_version"]


def nvrtc_version() -> Version | None:
    """Return the CUDA release of the NVRTC that is installed here, or None."""
    return library_release(open_library("nvrtc"), "nvrtc")


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
    library = open_library("nvrtc")
    if library is None:
        raise LinkError(f"{name} needs NVRTC, which is not installed")
    library.nvrtcGetErrorString.restype = ctypes.c_char_p
    arch = _compute_arch(library, target)
    folders = [folder] if folder else []
    if b"include" in text:
        folders += _header_folders()
    options_given = [
        f"-arch=compute_{arch}",
        *nvrtc_options(lto, options, floating_point),
        *(f"-I{path}" for path in folders),
    ]
    arguments = (ctypes.c_char_p * len(options_given))(*map(os.fsencode, options_given))
    program, check = ctypes.c_void_p(), partial(_check, library)
    check(library.nvrtcCreateProgram(ctypes.byref(program), text, name.encode(errors="replace"), 0, None, None))
    try:
        result = library.nvrtcCompileProgram(program, len(arguments), arguments)
        output = read_output(library, "nvrtcGetProgramLog", program, check).rstrip(b"\0\n ")
        log = re.sub(r"^(\S[^(\n]*)\((\d+)\): ", r"\1:\2: ", output.decode(errors="replace"), flags=re.MULTILINE)
        if result:
            raise LinkError(f"{name} does not compile for compute_{arch}:\n{log or _error_name(library, result)}")
        code = read_output(library, "nvrtcGetLTOIR" if lto else "nvrtcGetPTX", program, check)
    finally:
        library.nvrtcDestroyProgram(ctypes.byref(program))
    return (code if lto else code.rstrip(b"\0")), log


def _compute_arch(library: Any, target: Target) -> str:
    """Return the newest architecture that NVRTC knows and the GPU runs."""
    count = ctypes.c_int()
    _check(library, library.nvrtcGetNumSupportedArchs(ctypes.byref(count)))
    supported = (ctypes.c_int * count.value)()
    _check(library, library.nvrtcGetSupportedArchs(supported))
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


def _check(library: Any, result: int) -> None:
    if result:
        raise LinkError(f"NVRTC answered {_error_name(library, result)}")


def _error_name(library: Any, result: int) -> str:
    name: bytes = library.nvrtcGetErrorString(result)
    return name.decode()
