"""Find the CUDA compilers of this environment, check that they match, and identify their exact builds.

Runs in worker processes only. An environment with PyTorch has NVRTC and nvJitLink of CUDA 13 beside the toolchain of
`cuda-wheel[cu12]`. So all compilers are chosen from one major version of CUDA, and every worker makes the same choice.
Their functions return MAJOR.MINOR only; the exact build is read from the library files.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

from cuda_wheel.builder.errors import ToolchainError
from cuda_wheel.builder.images import ptx_text
from cuda_wheel.builder.toolchain import nvrtc, nvvm
from cuda_wheel.builder.toolchain.headers import choose_headers, header_parts
from cuda_wheel.builder.toolchain.packages import TOOLCHAIN_VARIABLE, header_folders, how_found, search_roots
from cuda_wheel.builder.toolchain.toolchain import HEADERS, INCLUDE, LIBRARIES, Nvvm, Toolchain, ToolchainPart
from cuda_wheel.runtime.manifest import Version, dotted, parse_version
from cuda_wheel.runtime.parts.cuda_libraries import (
    build_id,
    files_of,
    library_release,
    load_library,
    packaged_libraries,
)

__all__ = [
    "Compilers",
    "Library",
    "chosen_compilers",
    "find_library",
    "find_nvvm",
    "find_other_library",
    "find_toolchain",
    "install_hint",
    "installed",
    "libdevice_beside",
    "library_build",
    "toolchain_parts",
]


def library_build(path: str) -> str:
    """Return an identifier of the content of a library, and of the libraries that it loads from its own folder.

    It does not depend on paths and times, because an isolated build installs the toolchain in a new folder each time.
    """
    return " ".join(map(_build, files_of(path)))


def _build(path: str) -> str:
    with open(path, "rb") as file:
        build = build_id(file)
        if build is None:  # as on Windows
            file.seek(0)
            build = sha256(file.read()).hexdigest()
        return f"{os.fstat(file.fileno()).st_size}-{build}"


_LABELS = {"nvrtc": "NVRTC", "nvJitLink": "nvJitLink", "nvfatbin": "nvFatbin"}


class Library(NamedTuple):
    """An installed library of the CUDA toolkit."""

    path: str
    """Absolute path of the library file."""
    found_via: str
    """How the library was found, such as "site-packages", "PYTHONPATH", "conda" or "CUDA_PATH"."""


class Compilers(NamedTuple):
    """The installed compilers of one major version of CUDA; some may be missing."""

    major: int
    libraries: Mapping[str, Library]
    """Name in `LIBRARIES`, such as "nvrtc" -> the installed library. A library that is not installed has no key."""

    @property
    def extra(self) -> str:
        return f"cu{self.major}"

    @property
    def missing(self) -> list[str]:
        """Names of the compilers, and paths of the headers, that every build needs and that are not installed."""
        absent = [_LABELS[name] for name in LIBRARIES if name not in self.libraries]
        found = search_roots(self.libraries["nvrtc"].path if "nvrtc" in self.libraries else "")
        for name, header in HEADERS.items():
            folders = [folder for root in found for folder in header_folders(root, name, self.major)]
            if not any(os.path.isfile(os.path.join(folder, header)) for folder in folders):
                absent.append(header)
        return absent

    @property
    def is_whole(self) -> bool:
        """Whether all compilers are installed. Headers do not count, because they may be in places that only
        cuda.pathfinder knows."""
        return all(name in self.libraries for name in LIBRARIES)

    def __str__(self) -> str:
        named = [f"{_LABELS[name]} ({self.libraries[name].path})" for name in LIBRARIES if name in self.libraries]
        return f"CUDA {self.major}: {', '.join(named)}"


def chosen_compilers() -> Compilers:
    """Return the compilers that builds in this environment use, all of them installed.

    Of several complete toolchains it is the one that `TOOLCHAIN_VARIABLE` names, else the only one that also has all
    headers, else the one in the first folder of `sys.path`. Raises ToolchainError if no toolchain is complete, or if
    none of these rules chooses one.
    """
    return _choice()[0]


def _choice() -> tuple[Compilers, str]:
    """Return the compilers that builds use, and `Toolchain.choice`; see `chosen_compilers`."""
    wanted = os.environ.get(TOOLCHAIN_VARIABLE, "")
    if wanted and wanted not in ("cu12", "cu13"):
        raise ToolchainError(f'{TOOLCHAIN_VARIABLE} must be "cu12" or "cu13", not "{wanted}"')
    found = [each for each in installed() if wanted in ("", each.extra)]
    whole = [each for each in found if each.is_whole]
    if not whole:
        raise ToolchainError(_incomplete(found, wanted))
    first = whole if len(whole) == 1 else _in_first_folder([each for each in whole if not each.missing] or whole)
    if len(first) > 1:
        raise ToolchainError(
            f"this environment contains {len(first)} toolchains:{_lines(first)}\n"
            f"Set the environment variable {TOOLCHAIN_VARIABLE} to {' or '.join(each.extra for each in first)}."
        )
    others = [f"CUDA {each.major}" for each in installed() if each.is_whole and each != first[0]]
    if not others:
        return first[0], ""
    if wanted:
        why = f"{TOOLCHAIN_VARIABLE} is {wanted}"
    elif sum(not each.missing for each in whole) == 1:
        why = "the others lack headers" if len(others) > 1 else "the other lacks headers"
    else:
        why = "it is in the folder that comes first on sys.path"
    return first[0], f"CUDA {first[0].major} and not {' or '.join(others)}: {why}"


def find_library(name: str) -> str | None:
    """Return the absolute path of a library in `LIBRARIES` that builds use; None if no toolchain can be chosen."""
    try:
        return chosen_compilers().libraries[name].path
    except ToolchainError:
        return None


def find_other_library(name: str, major: int) -> Library | None:
    """Return a library that only some builds need, such as "nvvm"; None if it is not found.

    In Python packages, only those for CUDA's major version `major` are searched; elsewhere, the release is not checked.
    """
    for each, folder, path in packaged_libraries(name):
        if each == major:
            return Library(path, how_found(folder))
    return _outside_of_packages(name)


@cache
def installed() -> tuple[Compilers, ...]:
    """Return the compilers of each major version of CUDA in this environment, the newest first.

    Conda environments and toolkits are searched only if no folder of packages has a complete toolchain, because that
    search is slow.
    """
    found: dict[int, dict[str, Library]] = {}
    for name in LIBRARIES:
        for major, folder, path in packaged_libraries(name):
            found.setdefault(major, {}).setdefault(name, Library(path, how_found(folder)))
    wanted = os.environ.get(TOOLCHAIN_VARIABLE, "")
    compilers = _sorted(found)
    if not any(each.is_whole and not each.missing and wanted in ("", each.extra) for each in compilers):
        for name in LIBRARIES:
            library = _outside_of_packages(name)
            release = library and re.search(r"(?:\.so\.|64_|_)(\d\d)", os.path.basename(os.path.realpath(library.path)))
            if library and release:
                found.setdefault(int(release[1]), {}).setdefault(name, library)
        compilers = _sorted(found)
    return compilers


def _sorted(found: Mapping[int, Mapping[str, Library]]) -> tuple[Compilers, ...]:
    return tuple(Compilers(major, found[major]) for major in sorted(found, reverse=True))


def _outside_of_packages(name: str) -> Library | None:
    """Return the library `name` that cuda.pathfinder finds in conda environments and toolkits. Return None if it finds
    none, or if cuda.pathfinder is not installed.

    In a worker process, cuda.pathfinder does not search Python packages.
    """
    try:
        from cuda.pathfinder import load_nvidia_dynamic_lib  # inside: slow to import, and may be missing

        loaded = load_nvidia_dynamic_lib(name)
    except (ImportError, OSError, RuntimeError):
        return None
    return Library(str(loaded.abs_path), str(loaded.found_via))


def _in_first_folder(compilers: Sequence[Compilers]) -> list[Compilers]:
    """Return those of `compilers` whose NVRTC is in the package folder that comes first on `sys.path`. Several
    toolchains may share that folder. Return all of `compilers` if none of them has its NVRTC in a package folder."""
    numbers = [_folder_number(each) for each in compilers]
    return [each for each, number in zip(compilers, numbers, strict=True) if number == min(numbers)]


def _folder_number(compilers: Compilers) -> int:
    """Return the index of the package folder that contains the toolchain's NVRTC. The index counts only package folders
    with an NVRTC, in the order of `sys.path`. Return the number of these folders if none of them contains this
    NVRTC."""
    folders = list(dict.fromkeys(folder for _, folder, _ in packaged_libraries("nvrtc")))
    path = compilers.libraries["nvrtc"].path
    return next((number for number, each in enumerate(folders) if path.startswith(each + os.sep)), len(folders))


def _incomplete(found: Sequence[Compilers], wanted: str) -> str:
    """Return the error message for an environment without a complete toolchain. `found` are the incomplete toolchains
    in it; `wanted` is the value of the environment variable in `TOOLCHAIN_VARIABLE`, "" if it is not set."""
    if not found:
        why = f" ({TOOLCHAIN_VARIABLE} is {wanted})" if wanted else ""
        return f"no CUDA toolchain is installed in this environment{why}. {install_hint(wanted)}"
    lines = "".join(f"\n  {each}; missing: {', '.join(each.missing)}" for each in found)
    return f"the CUDA toolchain in this environment is not complete:{lines}\n{install_hint(found[0].extra)}"


def _lines(compilers: Sequence[Compilers]) -> str:
    return "".join(f"\n  {each}" for each in compilers)


def install_hint(extra: str, release: Version | None = None) -> str:
    """Return a sentence on how to install a toolchain: `extra` is "cu12" or "cu13", or "" for either.

    With a release of CUDA 13, the sentence pins that release, so that the parts to install match the installed NVRTC.
    """
    if not extra:
        return 'Run pip install "cuda-wheel[cu12]" (or [cu13]), or add that to build-system.requires.'
    named = f'"cuda-wheel[{extra}]"'
    if release is None or release[0] == 12:  # all packages that cu12 allows are of CUDA 12.9
        return f"Run pip install {named}, or add {named} to build-system.requires."
    return (
        f'Run pip install {named} "cuda-toolkit=={dotted(release)}.*", which installs every part of that release, or '
        "add both to build-system.requires."
    )


# No extra of cuda-wheel installs the package for CUDA 13. It is 75 MB to download and 177 MB installed, too much for
# the many projects without NVVM IR.
NVVM_HINTS = {
    12: 'Add "nvidia-cuda-nvcc-cu12>=12.9,<13" (cuda-wheel[cu12] has it) to build-system.requires, or pip install it.',
    13: 'Add "cuda-toolkit[nvvm]>=13" to build-system.requires, or pip install it.',
}
"""Major version of CUDA -> sentence that says which package to install for libNVVM and libdevice."""


# --- every part, installed or not ------------------------------------------------------------------


def toolchain_parts(_: None = None) -> list[ToolchainPart]:
    """Return every part of the toolchain that builds use, installed or not, for `cuda-wheel doctor`.

    If none can be chosen, these are the parts of all toolchains in the environment. The argument is unused: a function
    that a worker calls takes one.
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

    Raises ToolchainError if one of them is missing, does not load, or does not match the others' releases. The argument
    is unused: a function that a worker calls takes one.
    """
    _check_headers()
    compilers, choice = _choice()
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
    return Toolchain(exact, dotted(linker), dotted(fatbin), supported, include_dirs, libraries, headers, builds, choice)


def _check_headers() -> None:
    """Raise ToolchainError if the stand-in headers are missing. In a checkout, a script has to generate them;
    installing cuda-wheel does so too."""
    folder = INCLUDE.parent
    if not (folder / "pytorch/torch/extension.h").is_file():
        raise ToolchainError(
            f"{folder} lacks the headers that installing cuda-wheel writes. In a checkout, run: "
            "python scripts/stand_in_headers.py"
        )


def _loaded_release(compilers: Compilers, name: str) -> Version:
    """Load the compiler `name`, one of `LIBRARIES`, and return its release (major, minor). Return (major, 0) if the
    library gives no release. Raises ToolchainError if the library cannot be loaded."""
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
    """Return the exact release, such as "12.9.86", of the NVRTC at the path `library`. It is read from PTX that this
    NVRTC generates for the architecture `arch`; None if the PTX does not contain it."""
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
    """Return the libNVVM that matches a toolchain; raises ToolchainError if none is installed, or if its release does
    not match.

    It is not part of `Toolchain`, because few projects need it.
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
    """Return the absolute path of the libdevice.10.bc that was installed with a libNVVM; None if there is none."""
    # <root>/nvvm/lib64 and nvvm/bin/x64 in a toolkit, <root>/lib and bin/x86_64 in the packages for CUDA 13.
    above = Path(library).parents
    folders = [folder / below for folder in above[1:3] for below in ("libdevice", "nvvm/libdevice")]
    return next((str(path) for folder in folders if (path := folder / "libdevice.10.bc").is_file()), None)


def _exact_nvvm_release(library: str, libdevice: str, arch: int) -> str | None:
    """Return the exact release, such as "12.9.86", of the libNVVM at the path `library`. It is read from PTX that this
    libNVVM generates for the architecture `arch`; None if libNVVM cannot compile for `arch`."""
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
