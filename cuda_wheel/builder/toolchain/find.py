"""Find the CUDA compilers and headers of this environment, and see that they fit together. Runs in workers only."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path

from cuda_wheel.builder.errors import ToolchainError
from cuda_wheel.builder.images import ptx_text
from cuda_wheel.builder.toolchain import nvrtc, nvvm
from cuda_wheel.builder.toolchain.records import FURTHER_HEADERS, HEADERS, LIBRARIES, Nvvm, Part, Toolchain
from cuda_wheel.runtime.manifest import Version, dotted, parse_version

__all__ = [
    "find_nvvm",
    "find_toolchain",
    "parts",
]


INSTALL_HINT = 'Add "cuda-wheel[cu12]" or "cuda-wheel[cu13]" to build-system.requires, or pip install it.'


NVVM_HINTS = {
    12: 'Add "nvidia-cuda-nvcc-cu12>=12.9,<13" (cuda-wheel[cu12] has it) to build-system.requires, or pip install it.',
    13: 'Add "nvidia-nvvm>=13,<14" to build-system.requires, or pip install it.',
}
"""What brings libNVVM and libdevice, by the toolchain's major version. The package for CUDA 13 is 75 MB to download and
177 MB installed, too much for the many projects that have no NVVM IR."""


def parts(_: None = None) -> list[Part]:
    """Return every part of a toolchain, there or not."""
    try:
        from cuda.pathfinder import load_nvidia_dynamic_lib, locate_nvidia_header_directory
    except ImportError as error:
        return [Part("cuda-bindings", None, str(error))]
    found = []
    for library in LIBRARIES:
        try:
            loaded = load_nvidia_dynamic_lib(library)
            found.append(Part(library, str(loaded.abs_path), str(loaded.found_via)))
        except RuntimeError:
            found.append(Part(library, None, "not found"))
    for name, header in HEADERS.items():
        earlier = next((part for part in found if part.path and Path(part.path, header).is_file()), None)
        located = None if earlier else locate_nvidia_header_directory(name)
        if earlier is not None:
            found.append(earlier._replace(name=header))
        elif located is not None and located.abs_path is not None:
            found.append(Part(header, located.abs_path, str(located.found_via)))
        else:
            found.append(Part(header, None, "not found"))
    return [*found, *_optional_parts()]


def _optional_parts() -> list[Part]:
    from cuda.pathfinder import load_nvidia_dynamic_lib

    unneeded = "not found; only NVVM IR needs it"
    try:
        loaded = load_nvidia_dynamic_lib("nvvm")
    except RuntimeError:
        return [Part("nvvm", None, unneeded), Part("libdevice", None, unneeded)]
    library, via = str(loaded.abs_path), str(loaded.found_via)
    libdevice = _libdevice(library)
    return [Part("nvvm", library, via), Part("libdevice", libdevice, via if libdevice else unneeded)]


def find_toolchain(_: None = None) -> Toolchain:
    """Return the compilers and headers of this environment; raises ToolchainError where one is missing."""
    try:
        import cuda.bindings
        from cuda.bindings import nvfatbin, nvjitlink
        from cuda.pathfinder import load_nvidia_dynamic_lib, locate_nvidia_header_directory
    except ImportError as error:
        raise ToolchainError(f"no CUDA toolchain is installed in this environment ({error}). {INSTALL_HINT}") from error
    try:
        compiler = load_nvidia_dynamic_lib("nvrtc")
        linker, fatbin = nvjitlink.version(), nvfatbin.version()
    except RuntimeError as error:
        reason = str(error).strip().splitlines()[0].partition(":")[0]
        raise ToolchainError(
            f"no CUDA toolchain is installed in this environment ({reason}). {INSTALL_HINT}"
        ) from error
    library = str(compiler.abs_path)
    release = nvrtc.version(library)
    if linker < release or linker[0] != release[0] or fatbin[0] != release[0]:
        raise ToolchainError(
            f"NVRTC {dotted(release)}, nvJitLink {dotted(linker)} and nvFatbin {dotted(fatbin)} do not fit "
            "together: one major version, and nvJitLink no older than NVRTC, is what works. "
            "Ask for one cuda-wheel extra only, and let it choose their versions."
        )
    if parse_version(cuda.bindings.__version__)[0] != release[0]:
        raise ToolchainError(
            f"cuda-bindings is {cuda.bindings.__version__}, but the NVRTC that it finds is {dotted(release)}: this "
            "environment holds two toolchains. Ask for one cuda-wheel extra only."
        )
    include_dirs: list[str] = []
    for name, header in HEADERS.items():
        if any(Path(folder, header).is_file() for folder in include_dirs):
            continue
        located = locate_nvidia_header_directory(name)
        if located is None or located.abs_path is None or not Path(located.abs_path, header).is_file():
            raise ToolchainError(f"{header} of CUDA {dotted(release)} is not installed. {INSTALL_HINT}")
        if compiler.found_via == "site-packages" != located.found_via:
            raise ToolchainError(
                f"NVRTC {dotted(release)} is a package of this environment, and {header} is not: it was found in "
                f"{located.abs_path}, which may be of another release. {INSTALL_HINT}"
            )
        include_dirs.append(located.abs_path)
    include_dirs += _further(include_dirs, compiler.found_via)
    _check_header_release(include_dirs, release)
    supported = tuple(nvrtc.supported(library))
    libraries = (library, *(str(load_nvidia_dynamic_lib(name).abs_path) for name in LIBRARIES[1:]))
    exact = _exact_release(library, supported[-1]) or dotted(release)
    return Toolchain(exact, dotted(linker), dotted(fatbin), supported, tuple(include_dirs), libraries)


def _further(include_dirs: Sequence[str], found_via: str) -> list[str]:
    """Return the folders of further packages' headers that are installed as the compiler is."""
    from cuda.pathfinder import locate_nvidia_header_directory

    folders = []
    for name, header in FURTHER_HEADERS.items():
        if any(Path(folder, header).is_file() for folder in include_dirs):
            continue  # CUDA 13 puts all into one folder
        located = locate_nvidia_header_directory(name)
        if located is not None and located.abs_path is not None and located.found_via == found_via:
            folders += [located.abs_path] * Path(located.abs_path, header).is_file()
    return folders


def find_nvvm(toolchain: Toolchain) -> Nvvm:
    """Return the compiler of NVVM IR that belongs to a toolchain; raises ToolchainError where there is none.

    It is no part of the toolchain: few projects need it.
    """
    from cuda.pathfinder import load_nvidia_dynamic_lib

    hint = NVVM_HINTS.get(parse_version(toolchain.nvrtc)[0], INSTALL_HINT)
    try:
        loaded = load_nvidia_dynamic_lib("nvvm")
    except RuntimeError as error:
        raise ToolchainError(f"libNVVM, which compiles NVVM IR, is not installed. {hint}") from error
    library = str(loaded.abs_path)
    # How a library was found is not told any more of one that this process has loaded.
    if _is_packaged(toolchain.libraries[0]) and not _is_packaged(library):
        raise ToolchainError(
            f"{toolchain.name} is a package of this environment, and libNVVM is not: it was found in {library}, "
            f"which may be of another release. {hint}"
        )
    libdevice = _libdevice(library)
    if libdevice is None:
        raise ToolchainError(f"libNVVM is in {library}, and libdevice.10.bc, which belongs to it, is not there. {hint}")
    release = _release_of_nvvm(library, libdevice, toolchain.supported[0])
    newest, own = parse_version(toolchain.nvjitlink), parse_version(release or "0.0")
    if release is None or own[0] != newest[0] or own > newest:
        raise ToolchainError(
            f"libNVVM {release or library} and nvJitLink {toolchain.nvjitlink} do not fit together: one major "
            f"version, and nvJitLink no older than libNVVM, is what works. {hint}"
        )
    return Nvvm(library, libdevice, release, nvvm.ir_version(library))


def _is_packaged(library: str) -> bool:
    """Return whether a library is of a Python package, and not of the system."""
    return re.search(r"(?:site|dist)-packages[/\\]nvidia[/\\]", library) is not None


def _libdevice(library: str) -> str | None:
    """Return the path of the libdevice that was installed together with libNVVM; None where there is none."""
    # <root>/nvvm/lib64 and nvvm/bin/x64 in a toolkit, <root>/lib and bin/x86_64 in the packages for CUDA 13.
    above = Path(library).parents
    folders = [folder / below for folder in above[1:3] for below in ("libdevice", "nvvm/libdevice")]
    return next((str(path) for folder in folders if (path := folder / "libdevice.10.bc").is_file()), None)


def _release_of_nvvm(library: str, libdevice: str, arch: int) -> str | None:
    """Return the exact release of a libNVVM; None where it does not compile for the architecture."""
    nothing = (
        f'target datalayout = "{nvvm.DATA_LAYOUT}"\ntarget triple = "{nvvm.TRIPLE}"\n'
        "!nvvmir.version = !{!0}\n!0 = !{i32 2, i32 0}\n"
    )
    request: nvvm.Request = {
        "library": library,
        "libdevice": libdevice,
        "text": nothing.encode(),
        "name": "version.ll",
        "arch": str(arch),
        "lto": False,
        "options": [],
    }
    return ptx_text.compiler_release(nvvm.compile_ir(request)["ptx"].decode())


def _exact_release(library: str, arch: int) -> str | None:
    nothing: nvrtc.Request = {
        "library": library,
        "folder": os.getcwd(),
        "text": b"",
        "name": "version.cu",
        "options": [f"--gpu-architecture=compute_{arch}"],
        "expressions": [],
    }
    return ptx_text.compiler_release(nvrtc.compile_text(nothing)["ptx"].decode())


def _check_header_release(include_dirs: Sequence[str], release: Version) -> None:
    for folder in include_dirs:
        header = Path(folder, "cuda.h")
        if header.is_file():
            match = re.search(rb"#define\s+CUDA_VERSION\s+(\d+)", header.read_bytes())
            found = (int(match[1]) // 1000, int(match[1]) % 1000 // 10) if match else release
            if found[0] != release[0]:
                raise ToolchainError(
                    f"NVRTC is {dotted(release)}, but the headers found first ({header}) are CUDA {dotted(found)}'s. "
                    f"{INSTALL_HINT}"
                )
