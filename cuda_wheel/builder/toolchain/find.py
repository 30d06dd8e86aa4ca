"""Find the CUDA compilers and headers of this environment, and check that they match. Runs in worker processes only.

`cuda.bindings` and `cuda.pathfinder` are imported inside functions: they are slow to import, and may be missing.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from cuda_wheel.builder.errors import ToolchainError
from cuda_wheel.builder.images import ptx_text
from cuda_wheel.builder.toolchain import nvrtc, nvvm
from cuda_wheel.builder.toolchain.builds import library_build
from cuda_wheel.builder.toolchain.records import FURTHER_HEADERS, HEADERS, LIBRARIES, Nvvm, Toolchain, ToolchainPart
from cuda_wheel.runtime.manifest import Version, dotted, parse_version

__all__ = ["find_nvvm", "find_toolchain", "is_packaged", "libdevice_beside", "toolchain_parts"]

INSTALL_HINT = 'Add "cuda-wheel[cu12]" or "cuda-wheel[cu13]" to build-system.requires, or pip install it.'

NVVM_HINTS = {
    12: 'Add "nvidia-cuda-nvcc-cu12>=12.9,<13" (cuda-wheel[cu12] has it) to build-system.requires, or pip install it.',
    13: 'Add "nvidia-nvvm>=13,<14" to build-system.requires, or pip install it.',
}
"""The package that contains libNVVM and libdevice, by the toolchain's major version. The package for CUDA 13 is 75 MB
to download and 177 MB installed: too much for the many projects without NVVM IR."""


# --- every part, installed or not ------------------------------------------------------------------


def toolchain_parts(_: None = None) -> list[ToolchainPart]:
    """Return every part of a toolchain, installed or not."""
    try:
        from cuda.pathfinder import load_nvidia_dynamic_lib, locate_nvidia_header_directory
    except ImportError as error:
        return [ToolchainPart("cuda-bindings", None, str(error))]
    parts = []
    for library in LIBRARIES:
        try:
            loaded = load_nvidia_dynamic_lib(library)
            parts.append(ToolchainPart(library, str(loaded.abs_path), str(loaded.found_via)))
        except RuntimeError:
            parts.append(ToolchainPart(library, None, "not found"))
    for name, header in HEADERS.items():
        earlier = next((part for part in parts if part.path and Path(part.path, header).is_file()), None)
        located = None if earlier else locate_nvidia_header_directory(name)
        if earlier is not None:
            parts.append(earlier._replace(name=header))
        elif located is not None and located.abs_path is not None:
            parts.append(ToolchainPart(header, located.abs_path, str(located.found_via)))
        else:
            parts.append(ToolchainPart(header, None, "not found"))
    return [*parts, *_nvvm_parts()]


def _nvvm_parts() -> list[ToolchainPart]:
    from cuda.pathfinder import load_nvidia_dynamic_lib

    missing = "not found; only NVVM IR needs it"
    try:
        loaded = load_nvidia_dynamic_lib("nvvm")
    except RuntimeError:
        return [ToolchainPart("nvvm", None, missing), ToolchainPart("libdevice", None, missing)]
    library, found_via = str(loaded.abs_path), str(loaded.found_via)
    libdevice = libdevice_beside(library)
    return [
        ToolchainPart("nvvm", library, found_via),
        ToolchainPart("libdevice", libdevice, found_via if libdevice else missing),
    ]


# --- the toolchain ------------------------------------------------------------------------------------


def find_toolchain(_: None = None) -> Toolchain:
    """Return the compilers and headers of this environment.

    Raises ToolchainError if one is missing, or if they are of releases that do not work together.
    """
    try:
        import cuda.bindings
        from cuda.bindings import nvfatbin, nvjitlink
        from cuda.pathfinder import load_nvidia_dynamic_lib
    except ImportError as error:
        raise _not_installed(str(error)) from error
    try:
        compiler = load_nvidia_dynamic_lib("nvrtc")
        linker, fatbin = nvjitlink.version(), nvfatbin.version()
    except RuntimeError as error:
        raise _not_installed(str(error).strip().splitlines()[0].partition(":")[0]) from error
    library = str(compiler.abs_path)
    release = nvrtc.version(library)
    _check_releases(release, linker, fatbin, cuda.bindings.__version__)
    include_dirs = _include_dirs(release, compiler.found_via)
    supported = tuple(nvrtc.supported(library))
    libraries = (library, *(str(load_nvidia_dynamic_lib(name).abs_path) for name in LIBRARIES[1:]))
    exact = _exact_nvrtc_release(library, supported[-1]) or dotted(release)
    builds = tuple(map(library_build, libraries))
    return Toolchain(exact, dotted(linker), dotted(fatbin), supported, tuple(include_dirs), libraries, builds)


def _not_installed(reason: str) -> ToolchainError:
    return ToolchainError(f"no CUDA toolchain is installed in this environment ({reason}). {INSTALL_HINT}")


def _check_releases(release: Version, linker: Version, fatbin: Version, bindings: str) -> None:
    """Raise ToolchainError if the releases of NVRTC, nvJitLink, nvFatbin and cuda-bindings do not work together."""
    if linker < release or linker[0] != release[0] or fatbin[0] != release[0]:
        raise ToolchainError(
            f"NVRTC {dotted(release)}, nvJitLink {dotted(linker)} and nvFatbin {dotted(fatbin)} do not work together: "
            "they need the same major version, and nvJitLink must not be older than NVRTC. "
            "Require one cuda-wheel extra only, and let it choose their versions."
        )
    if parse_version(bindings)[0] != release[0]:
        raise ToolchainError(
            f"cuda-bindings is {bindings}, but the NVRTC that it finds is {dotted(release)}: this environment contains "
            "two toolchains. Require one cuda-wheel extra only."
        )


def _include_dirs(release: Version, found_via: str) -> list[str]:
    """Return the folders of the toolkit's headers, in search order; raises ToolchainError if one is missing or foreign.

    `release` is NVRTC's, and `found_via` is how cuda.pathfinder found it.
    """
    folders: list[str] = []
    for name, header in HEADERS.items():
        if not _contains(folders, header):
            folders.append(_header_folder(name, header, release, found_via))
    for name, header in FURTHER_HEADERS.items():
        located = None if _contains(folders, header) else _located(name)  # CUDA 13 has all headers in one folder
        if located is not None and located.found_via == found_via and _contains([located.abs_path], header):
            folders.append(located.abs_path)
    _check_header_release(folders, release)
    return folders


def _contains(folders: Sequence[str], header: str) -> bool:
    return any(Path(folder, header).is_file() for folder in folders)


def _located(name: str) -> Any:
    """Return cuda.pathfinder's record of a header folder, with its path and how it was found; None if there is none."""
    from cuda.pathfinder import locate_nvidia_header_directory

    located = locate_nvidia_header_directory(name)
    return None if located is None or located.abs_path is None else located


def _header_folder(name: str, header: str, release: Version, found_via: str) -> str:
    located = _located(name)
    if located is None or not _contains([located.abs_path], header):
        raise ToolchainError(f"{header} of CUDA {dotted(release)} is not installed. {INSTALL_HINT}")
    if found_via == "site-packages" != located.found_via:
        raise ToolchainError(
            f"NVRTC {dotted(release)} is a package of this environment, but {header} is not: it was found in "
            f"{located.abs_path} and may be from another release. {INSTALL_HINT}"
        )
    return str(located.abs_path)


def _check_header_release(folders: Sequence[str], release: Version) -> None:
    """Raise ToolchainError if cuda.h is of another major release than NVRTC."""
    for folder in folders:
        header = Path(folder, "cuda.h")
        if header.is_file():
            match = re.search(rb"#define\s+CUDA_VERSION\s+(\d+)", header.read_bytes())
            found = (int(match[1]) // 1000, int(match[1]) % 1000 // 10) if match else release
            if found[0] != release[0]:
                raise ToolchainError(
                    f"NVRTC is {dotted(release)}, but the first headers in the search order ({header}) are from CUDA "
                    f"{dotted(found)}. {INSTALL_HINT}"
                )


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
    from cuda.pathfinder import load_nvidia_dynamic_lib

    hint = NVVM_HINTS.get(parse_version(toolchain.nvrtc)[0], INSTALL_HINT)
    try:
        loaded = load_nvidia_dynamic_lib("nvvm")
    except RuntimeError as error:
        raise ToolchainError(f"libNVVM, which compiles NVVM IR, is not installed. {hint}") from error
    library = str(loaded.abs_path)
    # cuda.pathfinder does not say how it found a library that this process has already loaded.
    if is_packaged(toolchain.libraries[0]) and not is_packaged(library):
        raise ToolchainError(
            f"{toolchain.name} is a package of this environment, but libNVVM is not: it was found in {library} and may "
            f"be from another release. {hint}"
        )
    libdevice = libdevice_beside(library)
    if libdevice is None:
        raise ToolchainError(f"libNVVM is installed ({library}), but its libdevice.10.bc is missing. {hint}")
    release = _exact_nvvm_release(library, libdevice, toolchain.supported[0])
    linker, own = parse_version(toolchain.nvjitlink), parse_version(release or "0.0")
    if release is None or own[0] != linker[0] or own > linker:
        raise ToolchainError(
            f"libNVVM {release or library} and nvJitLink {toolchain.nvjitlink} do not work together: they need the "
            f"same major version, and nvJitLink must not be older than libNVVM. {hint}"
        )
    build = f"{library_build(library)} {library_build(libdevice)}"
    return Nvvm(library, libdevice, release, nvvm.ir_version(library), build)


def is_packaged(library: str) -> bool:
    """Return whether the path of a library is in an installed Python package, not in a system-wide toolkit."""
    return re.search(r"(?:site|dist)-packages[/\\]nvidia[/\\]", library) is not None


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
