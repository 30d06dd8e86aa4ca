"""Find the CUDA compilers and headers of this environment, and see that they fit together. Runs in workers only."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from cuda_wheel.build import nvrtc, ptx
from cuda_wheel.build.errors import ToolchainError
from cuda_wheel.loader import Version, dotted, parse_version

__all__ = ["INCLUDE", "Part", "Toolchain", "find_toolchain", "parts"]

INCLUDE = Path(__file__).parent / "include"
"""The freestanding C and C++ headers that stand in for the C library, which NVRTC lacks."""

INSTALL_HINT = 'Add "cuda-wheel[cu12]" or "cuda-wheel[cu13]" to build-system.requires, or pip install it.'

LIBRARIES = ("nvrtc", "nvJitLink", "nvfatbin")
"""cuda.pathfinder's names of the compilers."""

HEADERS = {"cccl": "cuda/std/version", "cudart": "cuda_fp16.h", "nvcc": "crt/host_defines.h"}
"""cuda.pathfinder's names of the header folders, and a header that each brings. Where an earlier folder has that one
already (CUDA 13 puts the last two together), there is nothing to look for: a search would go on to the system's."""

FURTHER_HEADERS = {"curand": "curand_kernel.h"}
"""Likewise, of packages that only some projects ask for: what device code can use of them is in their headers alone."""


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
    libraries: tuple[str, ...]
    """Absolute paths of NVRTC, nvJitLink and nvFatbin."""

    @property
    def name(self) -> str:
        return f"NVRTC {self.nvrtc}"


class Part(NamedTuple):
    """A library or folder of headers: its path, None where it is not installed; how it was found, or why not."""

    name: str
    path: str | None
    found_via: str


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
    return found


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


def _exact_release(library: str, arch: int) -> str | None:
    nothing: nvrtc.Request = {
        "library": library,
        "folder": os.getcwd(),
        "text": b"",
        "name": "version.cu",
        "options": [f"--gpu-architecture=compute_{arch}"],
        "expressions": [],
    }
    return ptx.compiler_release(nvrtc.compile_text(nothing)["ptx"].decode())


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
