"""Find the CUDA compilers and headers of this environment, and check that they match. Runs in worker processes only."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from cuda_wheel.builder.errors import ToolchainError
from cuda_wheel.builder.images import ptx_text
from cuda_wheel.builder.toolchain import nvrtc, nvvm
from cuda_wheel.builder.toolchain.builds import library_build
from cuda_wheel.builder.toolchain.headers import choose_headers, header_parts
from cuda_wheel.builder.toolchain.libraries import (
    Compilers,
    chosen_compilers,
    find_other_library,
    install_hint,
    installed,
)
from cuda_wheel.builder.toolchain.records import LIBRARIES, Nvvm, Toolchain, ToolchainPart
from cuda_wheel.runtime.jit.cuda_libraries import library_release, load_library
from cuda_wheel.runtime.manifest import Version, dotted, parse_version

__all__ = ["find_nvvm", "find_toolchain", "libdevice_beside", "toolchain_parts"]

NVVM_HINTS = {
    12: 'Add "nvidia-cuda-nvcc-cu12>=12.9,<13" (cuda-wheel[cu12] has it) to build-system.requires, or pip install it.',
    13: 'Add "cuda-toolkit[nvvm]>=13" to build-system.requires, or pip install it.',
}
"""The package that contains libNVVM and libdevice, by the toolchain's major version. The package for CUDA 13 is 75 MB
to download and 177 MB installed: too much for the many projects without NVVM IR."""


# --- every part, installed or not ------------------------------------------------------------------


def toolchain_parts(_: None = None) -> list[ToolchainPart]:
    """Return every part of a toolchain, installed or not; of several toolchains, the one that builds use.

    If none can be used, these are the parts of all.
    """
    try:
        chosen: Sequence[Compilers] = [chosen_compilers()]
    except ToolchainError:
        chosen = installed() or [Compilers(0, {})]
    parts = []
    for compilers in chosen:
        libraries = {name: compilers.libraries.get(name) for name in LIBRARIES}
        parts += [ToolchainPart(name, *(found or (None, "not found"))) for name, found in libraries.items()]
        compiler = libraries["nvrtc"] and libraries["nvrtc"].path
        parts += header_parts(compiler, _release(compiler) if compiler else None, compilers.major)
        parts += _nvvm_parts(compilers.major)
    return parts


def _release(compiler: str) -> Version | None:
    try:
        return nvrtc.version(compiler)
    except OSError:
        return None


def _nvvm_parts(major: int) -> list[ToolchainPart]:
    missing = "not found; only NVVM IR needs it"
    found = find_other_library("nvvm", major)
    if found is None:
        return [ToolchainPart("nvvm", None, missing), ToolchainPart("libdevice", None, missing)]
    libdevice = libdevice_beside(found.path)
    return [
        ToolchainPart("nvvm", *found),
        ToolchainPart("libdevice", libdevice, found.found_via if libdevice else missing),
    ]


# --- the toolchain ------------------------------------------------------------------------------------


def find_toolchain(_: None = None) -> Toolchain:
    """Return the compilers and headers of this environment.

    Raises ToolchainError if one is missing or does not load, or if they are of releases that do not work together.
    """
    compilers = chosen_compilers()
    libraries = tuple(compilers.libraries[name].path for name in LIBRARIES)
    release, linker, fatbin = (_loaded_release(compilers, name) for name in LIBRARIES)
    if linker < release:
        raise ToolchainError(
            f"NVRTC {dotted(release)} ({libraries[0]}) and nvJitLink {dotted(linker)} ({libraries[1]}) do not work "
            f"together: nvJitLink must not be older than NVRTC. {install_hint(compilers.extra, release)}"
        )
    headers = choose_headers(libraries[0], release, install_hint(compilers.extra, release))
    supported = tuple(nvrtc.supported(libraries[0]))
    exact = _exact_nvrtc_release(libraries[0], supported[-1]) or dotted(release)
    builds = tuple(map(library_build, libraries))
    include_dirs = tuple(dict.fromkeys(each.folder for each in headers))
    return Toolchain(exact, dotted(linker), dotted(fatbin), supported, include_dirs, libraries, headers, builds)


def _loaded_release(compilers: Compilers, name: str) -> Version:
    """Return the release of one of the compilers; raises ToolchainError if the system cannot load it."""
    path = compilers.libraries[name].path
    try:
        release = library_release(load_library(path), name)
    except (OSError, AttributeError) as error:
        raise ToolchainError(
            f"a toolchain is installed in this environment ({compilers}), but {path} cannot be loaded: {error}. "
            f"Install its package again: {install_hint(compilers.extra)}"
        ) from error
    return release or (compilers.major, 0)


def _exact_nvrtc_release(library: str, arch: int) -> str | None:
    """Return the exact release of NVRTC, which PTX contains: "12.9.86"; None if the PTX does not have it."""
    empty: nvrtc.NvrtcRequest = {
        "library": library,
        "folder": os.getcwd(),
        "text": b"",
        "name": "version.cu",
        "options": [f"--gpu-architecture=compute_{arch}"],
        "expressions": [],
    }
    return ptx_text.compiler_release(nvrtc.compile_text(empty)["ptx"].decode())


# --- libNVVM --------------------------------------------------------------------------------------------


def find_nvvm(toolchain: Toolchain) -> Nvvm:
    """Return the libNVVM that belongs to a toolchain; raises ToolchainError if there is none, or if it does not match.

    It is not part of `Toolchain` because few projects need it.
    """
    major = parse_version(toolchain.nvrtc)[0]
    hint = NVVM_HINTS.get(major, "")
    found = find_other_library("nvvm", major)
    if found is None:
        raise ToolchainError(f"libNVVM, which compiles NVVM IR, is not installed. {hint}")
    library = found.path
    libdevice = libdevice_beside(library)
    if libdevice is None:
        raise ToolchainError(f"libNVVM is installed ({library}), but its libdevice.10.bc is missing. {hint}")
    release = _exact_nvvm_release(library, libdevice, toolchain.supported[0])
    linker, own = parse_version(toolchain.nvjitlink), parse_version(release or "0.0")
    if release is None or own[0] != linker[0] or own > linker:
        raise ToolchainError(
            f"libNVVM {release or ''} ({library}) and nvJitLink {toolchain.nvjitlink} ({toolchain.libraries[1]}) do "
            "not work together: they need the same major version, and nvJitLink must not be older than libNVVM. "
            f"{hint}"
        )
    build = f"{library_build(library)} {library_build(libdevice)}"
    return Nvvm(library, libdevice, release, nvvm.ir_version(library), build)


def libdevice_beside(library: str) -> str | None:
    """Return the path of the libdevice that was installed with a libNVVM; None if there is none."""
    # <root>/nvvm/lib64 and nvvm/bin/x64 in a toolkit, <root>/lib and bin/x86_64 in the packages for CUDA 13.
    above = Path(library).parents
    folders = [folder / below for folder in above[1:3] for below in ("libdevice", "nvvm/libdevice")]
    return next((str(path) for folder in folders if (path := folder / "libdevice.10.bc").is_file()), None)


def _exact_nvvm_release(library: str, libdevice: str, arch: int) -> str | None:
    """Return the exact release of a libNVVM; None if it does not compile for the architecture."""
    empty_module = (
        f'target datalayout = "{nvvm.DATA_LAYOUT}"\ntarget triple = "{nvvm.TRIPLE}"\n'
        "!nvvmir.version = !{!0}\n!0 = !{i32 2, i32 0}\n"
    )
    request: nvvm.NvvmRequest = {
        "library": library,
        "libdevice": libdevice,
        "text": empty_module.encode(),
        "name": "version.ll",
        "arch": str(arch),
        "lto": False,
        "options": [],
    }
    return ptx_text.compiler_release(nvvm.compile_ir(request)["ptx"].decode())
