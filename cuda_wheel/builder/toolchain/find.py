"""Find the CUDA compilers and headers of this environment, and check that they match. Runs in worker processes only.

`cuda.bindings` and `cuda.pathfinder` are imported inside functions: they are slow to import, and may be missing.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from cuda_wheel.builder.errors import ToolchainError
from cuda_wheel.builder.images import ptx_text
from cuda_wheel.builder.toolchain import nvrtc, nvvm
from cuda_wheel.builder.toolchain.builds import library_build
from cuda_wheel.builder.toolchain.headers import choose_headers, header_parts
from cuda_wheel.builder.toolchain.packages import cuda_folders
from cuda_wheel.builder.toolchain.places import way_to
from cuda_wheel.builder.toolchain.records import LIBRARIES, Nvvm, Toolchain, ToolchainPart
from cuda_wheel.runtime.manifest import Version, dotted, parse_version

__all__ = ["find_nvvm", "find_toolchain", "libdevice_beside", "toolchain_parts"]

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
        from cuda.pathfinder import load_nvidia_dynamic_lib
    except ImportError as error:
        return [ToolchainPart("cuda-bindings", None, str(error))]
    parts = []
    for library in LIBRARIES:
        try:
            loaded = load_nvidia_dynamic_lib(library)
            parts.append(ToolchainPart(library, str(loaded.abs_path), _way(loaded)))
        except RuntimeError:
            parts.append(ToolchainPart(library, None, "not found"))
    compiler = parts[0].path
    return [*parts, *header_parts(compiler, nvrtc.version(compiler) if compiler else None), *_nvvm_parts()]


def _way(loaded: Any) -> str:
    """Return how cuda.pathfinder found a library. It names every folder of `sys.path` "site-packages" in a worker."""
    folder = next((each for each in cuda_folders() if str(loaded.abs_path).startswith(each + os.sep)), None)
    return str(loaded.found_via) if folder is None else way_to(folder)


def _nvvm_parts() -> list[ToolchainPart]:
    from cuda.pathfinder import load_nvidia_dynamic_lib

    missing = "not found; only NVVM IR needs it"
    try:
        loaded = load_nvidia_dynamic_lib("nvvm")
    except RuntimeError:
        return [ToolchainPart("nvvm", None, missing), ToolchainPart("libdevice", None, missing)]
    library, found_via = str(loaded.abs_path), _way(loaded)
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
    libraries = (library, *(str(load_nvidia_dynamic_lib(name).abs_path) for name in LIBRARIES[1:]))
    _check_releases((release, linker, fatbin), libraries, cuda.bindings)
    headers = choose_headers(library, release, INSTALL_HINT)
    supported = tuple(nvrtc.supported(library))
    exact = _exact_nvrtc_release(library, supported[-1]) or dotted(release)
    builds = tuple(map(library_build, libraries))
    include_dirs = tuple(dict.fromkeys(each.folder for each in headers))
    return Toolchain(exact, dotted(linker), dotted(fatbin), supported, include_dirs, libraries, headers, builds)


def _not_installed(reason: str) -> ToolchainError:
    return ToolchainError(f"no CUDA toolchain is installed in this environment ({reason}). {INSTALL_HINT}")


def _check_releases(releases: Sequence[Version], libraries: Sequence[str], bindings: Any) -> None:
    """Raise ToolchainError if the releases of NVRTC, nvJitLink, nvFatbin and cuda-bindings do not work together."""
    release, linker, fatbin = releases
    named = [
        f"{name} {dotted(each)} ({path})"
        for name, each, path in zip(("NVRTC", "nvJitLink", "nvFatbin"), releases, libraries, strict=True)
    ]
    if linker < release or linker[0] != release[0] or fatbin[0] != release[0]:
        raise ToolchainError(
            f"{named[0]}, {named[1]} and {named[2]} do not work together: "
            "they need the same major version, and nvJitLink must not be older than NVRTC. "
            "Require one cuda-wheel extra only, and let it choose their versions."
        )
    if parse_version(bindings.__version__)[0] != release[0]:
        raise ToolchainError(
            f"cuda-bindings is {bindings.__version__} ({os.path.dirname(bindings.__file__)}), but the NVRTC that it "
            f"finds is {dotted(release)} ({libraries[0]}): this environment contains two toolchains. Require one "
            "cuda-wheel extra only."
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
