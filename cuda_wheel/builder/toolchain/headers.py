"""Find CUDA's headers, read their releases, and choose those that match NVRTC's release.

Headers may be anywhere in the environment: in Python packages and in toolkits. `release_of` reads the release of the
headers in a folder, `fits` decides whether NVRTC can use them, and `choose_headers` takes the first folder of each
group that fits. Further functions return the files that a build used as its toolchain: with paths for messages, without
them for manifests. Libraries of device code are in the same package as their headers, and so have their release: CUDA's
device runtime library (cudadevrt), with which kernels launch kernels, and NVSHMEM's device library.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from hashlib import sha256
from typing import NamedTuple

from cuda_wheel.builder.errors import ToolchainError
from cuda_wheel.builder.toolchain.packages import SearchRoot, cuda_folders, header_folders, search_roots
from cuda_wheel.builder.toolchain.toolchain import (
    CCCL_OF_CUDA_12,
    HEADER_GROUPS,
    HEADERS,
    LIBRARIES,
    Headers,
    Toolchain,
    ToolchainPart,
)
from cuda_wheel.runtime.manifest import Version, dotted

__all__ = [
    "HeaderRelease",
    "choose_headers",
    "device_library",
    "device_library_builds",
    "fits",
    "header_parts",
    "header_versions",
    "is_spread_out",
    "needed",
    "other_libraries",
    "release_of",
    "taken_files",
]


class HeaderRelease(NamedTuple):
    """The release of a group of headers, and the file that it was read from."""

    version: tuple[int, ...]
    """Release of the headers: CUDA's (major, minor) for CUDA's own headers; CUDA's (major,) for a package of cuRAND;
    the group's (major, minor, patch) for CCCL and groups with their own releases."""
    source: str
    """Absolute path of the file from which the release was read."""

    def __str__(self) -> str:
        return ".".join(map(str, self.version))


def fits(group: str, release: HeaderRelease, nvrtc: Version) -> bool:
    """Return whether NVRTC of a release (major, minor) can use headers of another release.

    CUDA's own headers must have NVRTC's MAJOR.MINOR; CCCL's headers check that too. CCCL is released more often: a
    release supports two major versions of CUDA, and no CUDA that is newer than itself. Source: CCCL, README, "Platform
    Support".
    """
    if HEADER_GROUPS[group].has_own_releases:
        return True
    if group != "cccl":
        return release.version == nvrtc[: len(release.version)]
    return release.version >= _included_cccl(nvrtc) and 0 <= release.version[0] - (nvrtc[0] - 10) <= 1


def needed(group: str, nvrtc: Version) -> str:
    """Return in words which release of a header group NVRTC of a release needs: "CUDA 12.9", "CCCL 2.8 or newer"."""
    return f"CCCL {dotted(_included_cccl(nvrtc))} or newer" if group == "cccl" else f"CUDA {dotted(nvrtc)}"


def _included_cccl(nvrtc: Version) -> Version:
    """Return the version (major, minor) of CCCL in the CUDA toolkit of the release `nvrtc`: (2, 8) for (12, 9). NVRTC
    of this release cannot use an older CCCL. If the version is not known, return a lower bound."""
    major, minor = nvrtc
    if major == 13:
        return 3, minor
    known = [each for each in CCCL_OF_CUDA_12 if each <= minor] if major == 12 else []
    return CCCL_OF_CUDA_12[max(known)] if known else (major - 10, 0)


def release_of(group: str, folder: str, root: SearchRoot) -> HeaderRelease | None:
    """Return the release of a header group in `folder`, which is in the search root `root`; None if no file contains
    it."""
    readers = {
        **{"cccl": _cccl, "cudart": _cudart, "crt": _crt, "curand": _curand},
        **{"cudnn": _cudnn, "cupy": _cupy, "cutlass": _cutlass, "mathdx": _mathdx, "nvshmem": _nvshmem},
        **{"pytorch": _pytorch},
    }
    return readers[group](folder, root)


def _cudart(folder: str, root: SearchRoot) -> HeaderRelease | None:
    """Return the release of CUDA's headers in `folder`, from the macro in cuda_runtime_api.h or the one in cuda.h. None
    if both macros are missing, or if they name different releases. `root` is unused."""
    found = [
        HeaderRelease((number // 1000, number % 1000 // 10), path)
        for name, macro in (("cuda_runtime_api.h", "CUDART_VERSION"), ("cuda.h", "CUDA_VERSION"))
        if (number := _macro(path := os.path.join(folder, name), macro)) is not None
    ]
    return found[0] if len({each.version for each in found}) == 1 else None


def _cccl(folder: str, root: SearchRoot) -> HeaderRelease | None:
    for parts, macro, patches in (
        (("cuda", "std", "__cccl", "version.h"), "CCCL_VERSION", 1000),
        (("cub", "version.cuh"), "CUB_VERSION", 100),
    ):
        path = os.path.join(folder, *parts)
        number = _macro(path, macro)
        if number is not None:
            rest, patch = divmod(number, patches)
            return HeaderRelease((*divmod(rest, 1000), patch), path)
    return None


def _crt(folder: str, root: SearchRoot) -> HeaderRelease | None:
    """Return the release of the compiler's own headers in `folder`, such as crt/host_defines.h. None if it is not
    found.

    The release is that of the Python package or toolkit with the headers; failing that, of CUDA's headers in `folder`.
    `root` is the folder of packages, or the toolkit, that contains `folder`.
    """
    # These headers have no version macro.
    found = _package("nvidia_cuda_nvcc", "nvidia_cuda_crt", file="crt/host_defines.h", folder=folder, root=root)
    if found is not None:
        name, path = found
        return _numbers(name.partition("-")[2], path)
    return _installed(root) or _cudart(folder, root)


def _curand(folder: str, root: SearchRoot) -> HeaderRelease | None:
    found = _package("nvidia_curand", file="curand_kernel.h", folder=folder, root=root)
    if found is None:
        return _cudart(folder, root)
    name, path = found
    major = re.search(r"_cu(\d+)-", name) or re.search(r"[/\\]cu(\d+)[/\\]include$", folder)
    return None if major is None else HeaderRelease((int(major[1]),), path)


def _cudnn(folder: str, root: SearchRoot) -> HeaderRelease | None:
    return _three_macros(os.path.join(folder, "cudnn_version.h"), "CUDNN_{}", ("MAJOR", "MINOR", "PATCHLEVEL"))


def _cupy(folder: str, root: SearchRoot) -> HeaderRelease | None:
    path = os.path.join(os.path.dirname(os.path.dirname(folder)), "_version.py")  # the headers have no version macro
    version = re.search(r"^__version__ = ['\"](\d+)\.(\d+)\.(\d+)", _text(path), re.MULTILINE)
    return HeaderRelease(tuple(map(int, version.groups())), path) if version else None


def _cutlass(folder: str, root: SearchRoot) -> HeaderRelease | None:
    return _three_macros(os.path.join(folder, "cutlass", "version.h"), "CUTLASS_{}", ("MAJOR", "MINOR", "PATCH"))


def _mathdx(folder: str, root: SearchRoot) -> HeaderRelease | None:
    """Return the release of the MathDx headers in `folder`, read from the metadata of their Python package. None if no
    package contains the headers. `root` is the folder of packages that contains `folder`."""
    # The headers themselves contain only the releases of MathDx's parts.
    found = _package("nvidia_mathdx", file="commondx/commondx_version.hpp", folder=folder, root=root)
    version = re.match(r"[a-z_]+-(\d+)\.(\d+)\.(\d+)", found[0]) if found else None
    return HeaderRelease(tuple(map(int, version.groups())), found[1]) if found and version else None


def _nvshmem(folder: str, root: SearchRoot) -> HeaderRelease | None:
    path = os.path.join(folder, "non_abi", "nvshmem_version.h")
    return _three_macros(path, "NVSHMEM_VENDOR_{}_VERSION", ("MAJOR", "MINOR", "PATCH"))


def _pytorch(folder: str, root: SearchRoot) -> HeaderRelease | None:
    names = ("torch/headeronly/version.h", "torch/csrc/api/include/torch/version.h")  # the second before PyTorch 2.9
    found = (
        _three_macros(os.path.join(folder, name), "TORCH_VERSION_{}", ("MAJOR", "MINOR", "PATCH")) for name in names
    )
    return next(filter(None, found), None)


def _three_macros(path: str, name: str, parts: tuple[str, str, str]) -> HeaderRelease | None:
    numbers = [_macro(path, name.format(part)) for part in parts]
    return None if None in numbers else HeaderRelease(tuple(number or 0 for number in numbers), path)


def _package(*names: str, file: str, folder: str, root: SearchRoot) -> tuple[str, str] | None:
    """Return (name of the metadata folder, path of RECORD) of the installed Python package that contains `file` in
    `folder`. None if there is no such package.

    `names`: possible beginnings of the package's name, such as "nvidia_cuda_nvcc".
    `root`: the folder of packages, or the toolkit, that contains `folder`. For a toolkit, the result is None.
    """
    if not root.has_packages:
        return None
    listed = os.path.relpath(os.path.join(folder, *file.split("/")), root.folder).replace(os.sep, "/")
    for each in sorted(os.listdir(root.folder)):
        if each.startswith(names) and each.endswith(".dist-info"):
            path = os.path.join(root.folder, each, "RECORD")
            if f"\n{listed}," in "\n" + _text(path):
                return each, path
    return None


def _installed(root: SearchRoot) -> HeaderRelease | None:
    """Return the release of the compiler's own headers in the toolkit `root`, as conda or NVIDIA's installer recorded
    it there. Return None if `root` contains no record."""
    meta = os.path.join(root.folder, "conda-meta")
    for name in sorted(os.listdir(meta)) if os.path.isdir(meta) else ():
        match = re.fullmatch(r"cuda-(?:crt|nvcc)-dev_[\w-]+?-(\d+\.\d+\.[\w.]+)-[\w.]+\.json", name)
        if match is not None:
            return _numbers(match[1], os.path.join(meta, name))
    path = os.path.join(root.folder, "version.json")
    match = re.search(r'"cuda_(?:crt|nvcc)"[^}]*"version"\s*:\s*"([\d.]+)"', _text(path))
    return None if match is None else _numbers(match[1], path)


def _numbers(version: str, path: str) -> HeaderRelease | None:
    match = re.match(r"(\d+)\.(\d+)", version)
    return None if match is None else HeaderRelease((int(match[1]), int(match[2])), path)


def _macro(path: str, name: str) -> int | None:
    """Return the value of the macro `name` in the header at `path`, if it is a number. None if the header is missing,
    or does not define the macro as a number."""
    match = re.search(rf"^[ \t]*#[ \t]*define[ \t]+{name}[ \t]+(\d+)", _text(path), re.MULTILINE)
    return None if match is None else int(match[1])


def _text(path: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()
    except OSError:
        return ""


class _Folder(NamedTuple):
    """A folder that contains one or more header groups."""

    path: str
    found_via: str
    releases: Mapping[str, HeaderRelease | None]
    """Name of a header group -> its release, or None if that is unknown. All groups in the folder are included, because
    the compiler finds all of them there."""

    def misfits(self, nvrtc: Version) -> list[str]:
        """Return the header groups in the folder that NVRTC of release `nvrtc` cannot use, or whose release is
        unknown."""
        return [name for name, release in self.releases.items() if release is None or not fits(name, release, nvrtc)]

    def headers(self, name: str) -> Headers:
        """Return the toolchain's record of a header group in the folder."""
        release = self.releases[name]
        return Headers(name, str(release or ""), self.path, self.found_via, release.source if release else "")


def choose_headers(library: str, nvrtc: Version, hint: str) -> tuple[Headers, ...]:
    """Return the header groups that are installed and fit NVRTC, in search order.

    Each group is taken from a folder that an earlier group was taken from, or else from the first folder in which every
    group fits NVRTC's release `nvrtc`; `library` is NVRTC's path. Raises ToolchainError if there is no such folder for
    a group that every build needs; the message ends with `hint`.
    """
    chosen: list[Headers] = []
    taken: list[_Folder] = []
    for name, group in HEADER_GROUPS.items():
        folder = next((each for each in taken if name in each.releases), None)
        candidates = [] if folder else list(_folders(name, library, nvrtc[0]))
        folder = folder or next((each for each in candidates if not each.misfits(nvrtc)), None)
        if folder is not None:
            chosen.append(folder.headers(name))
            taken.append(folder)
        elif group.is_needed:
            raise ToolchainError(_refusal(name, library, nvrtc, candidates, hint))
    return tuple(chosen)


def header_parts(library: str | None, nvrtc: Version | None, major: int) -> list[ToolchainPart]:
    """Return the header groups that every build needs, installed or not, each with one folder.

    A folder that does not fit NVRTC's release `nvrtc` is returned only if none fits. `library` is the path of NVRTC;
    `library` and `nvrtc` are None without NVRTC. `major` is the major version of CUDA, 0 if it is not known.
    """
    parts: list[ToolchainPart] = []
    for name, header in HEADERS.items():
        majors = (major,) if major else (13, 12)
        folders = [each for number in majors for each in _folders(name, library or "", number)]
        folder = min(folders, key=lambda each: bool(nvrtc and each.misfits(nvrtc)), default=None)
        if folder is None:
            parts.append(ToolchainPart(header, None, "not found"))
        else:
            foreign = "; not of NVRTC's release" if nvrtc is not None and folder.misfits(nvrtc) else ""
            release = str(folder.releases[name] or "") or None
            parts.append(ToolchainPart(header, folder.path, folder.found_via + foreign, release))
    return parts


def _folders(name: str, library: str, major: int) -> Iterator[_Folder]:
    """Yield every folder of this environment that contains the header group `name`, in search order. `library` is
    NVRTC's path, "" without NVRTC; `major` is the major version of CUDA."""
    seen = set()
    for root in search_roots(library):
        for path in header_folders(root, name, major):
            if os.path.isfile(os.path.join(path, HEADER_GROUPS[name].header)) and os.path.realpath(path) not in seen:
                seen.add(os.path.realpath(path))
                yield _folder(path, root)
    known_as = HEADER_GROUPS[name].pathfinder
    if known_as is None:
        return
    try:
        from cuda.pathfinder import locate_nvidia_header_directory  # inside: slow to import, and may be missing

        located = locate_nvidia_header_directory(known_as)  # also where the system's loader finds a toolkit
    except (ImportError, OSError, RuntimeError):  # OSError: the process that asks the system's loader took too long
        return
    if located is not None and located.abs_path is not None and os.path.realpath(located.abs_path) not in seen:
        path = str(located.abs_path)
        if os.path.isfile(os.path.join(path, HEADER_GROUPS[name].header)):
            yield _folder(path, SearchRoot(os.path.dirname(path), False, str(located.found_via)))


def _folder(path: str, root: SearchRoot) -> _Folder:
    names = [name for name, group in HEADER_GROUPS.items() if os.path.isfile(os.path.join(path, group.header))]
    return _Folder(path, root.found_via, {name: release_of(name, path, root) for name in names})


def _refusal(name: str, library: str, nvrtc: Version, folders: list[_Folder], hint: str) -> str:
    start = f"NVRTC {dotted(nvrtc)} ({library}) needs {HEADER_GROUPS[name].header} of {needed(name, nvrtc)}"
    if not folders:
        return f"{start}, which is not installed. {hint}"
    lines = [f"\n  {folder.path} ({folder.found_via}): {_described(folder, nvrtc)}" for folder in folders]
    return f"{start}, and these folders have another:{''.join(lines)}\n{hint}"


def _described(folder: _Folder, nvrtc: Version) -> str:
    """Return error text: which headers in a folder do not fit NVRTC's release, and the headers' releases: "cuda_fp16.h
    is of CUDA 12.8, says /.../cuda.h"."""
    texts = []
    for name in folder.misfits(nvrtc):
        release = folder.releases[name]
        what = "CCCL" if name == "cccl" else "CUDA"
        known = f"{what} {release}, says {release.source}" if release else "of unknown release: no file names one"
        texts.append(f"{HEADER_GROUPS[name].header} is {'of ' if release else ''}{known}")
    return "; ".join(texts)


_CCCL = ("cuda", "cub", "thrust", "nv")
"""Names of the subfolders of an include folder that contain CCCL's headers, such as "cub" for cub/cub.cuh. An include
folder of a CUDA 12 toolkit contains CUDA's own headers too, outside these subfolders."""


def header_versions(toolchain: Toolchain, headers: Sequence[str] | None) -> dict[str, str]:
    """Return name in manifests -> release, for the toolchain's headers that a module uses: {"cccl": "2.8.2", "cutlass":
    "4.2.0", "headers": "12.9"}.

    `headers` are the absolute paths of all files that the module includes; None if they are not known.
    """
    used = {"cccl", "headers"} if headers is None else _used_groups(toolchain, headers)
    own = {name: name for name, group in HEADER_GROUPS.items() if group.has_own_releases}
    releases = {"cudart": "headers", "cccl": "cccl", **own}
    named = {releases[each.name]: each.release for each in toolchain.headers if each.name in releases}
    return {name: named[name] for name in sorted(named) if name in used}


def _used_groups(toolchain: Toolchain, headers: Sequence[str]) -> set[str]:
    """Return the header groups that contain any of the files `headers` (absolute paths). The groups are named as in
    manifests: "headers" (CUDA's own), "cccl", "cutlass"."""
    shared = {each.folder for each in toolchain.headers if each.name in HEADERS}  # a toolkit's, with everything in it
    own_folders = {each.folder: each.name for each in toolchain.headers if HEADER_GROUPS[each.name].has_own_releases}
    others = own_folders | dict.fromkeys(shared)
    used = set()
    for path in headers:
        folder = next((each for each in toolchain.include_dirs if path.startswith(each + os.sep)), None)
        if folder is not None:
            first = path[len(folder) + 1 :].partition(os.sep)[0]
            used.add(others.get(folder) or ("cccl" if first in _CCCL else "headers"))
    return used


def other_libraries(toolchain: Toolchain, versions: Mapping[str, str]) -> list[str]:
    """Return the libraries with their own releases whose headers a module uses, in words: "CUTLASS 4.2.0
    (/.../include)".

    `versions` are those in the module's manifest.
    """
    used = [each for each in toolchain.headers if HEADER_GROUPS[each.name].has_own_releases and each.name in versions]
    return [f"{HEADER_GROUPS[each.name].title} {each.release} ({each.folder})" for each in used]


def taken_files(toolchain: Toolchain) -> dict[str, str]:
    """Return "NAME RELEASE" -> absolute path, of a toolchain's libraries and folders of headers: {"nvrtc 12.9.86":
    "/.../libnvrtc.so.12"}.

    The path of a folder is followed by how it was found, in parentheses.
    """
    versions = (toolchain.nvrtc, toolchain.nvjitlink, toolchain.nvfatbin)
    libraries = zip(LIBRARIES, versions, toolchain.libraries, strict=True)
    files = {f"{name} {version}": path for name, version, path in libraries}
    folders = {f"{HEADER_GROUPS[each.name].title} {each.release}": each for each in toolchain.headers}
    return files | {name: f"{each.folder} ({each.found_via})" for name, each in folders.items()}


def is_spread_out(toolchain: Toolchain) -> bool:
    """Return whether a toolchain's files are in several folders of packages or several toolkits."""
    paths = [*toolchain.libraries, *(each.folder for each in toolchain.headers)]
    try:
        common = os.path.commonpath(paths)
    except ValueError:  # several drives of Windows
        return True
    toolkit = [common] if os.path.isdir(os.path.join(common, "include")) else []
    return not any(all(path.startswith(folder + os.sep) for path in paths) for folder in (*cuda_folders(), *toolkit))


# --- libraries of device code -------------------------------------------------------------------------

_DEVICE_LIBRARIES = {
    "cudadevrt": (
        "cuda_device_runtime_api.h",
        ("lib/libcudadevrt.a", "lib64/libcudadevrt.a", "lib/x64/cudadevrt.lib", "lib/cudadevrt.lib"),
    ),
    "nvshmem_device": ("nvshmem.h", ("lib/libnvshmem_device.a",)),
}
"""Name of a library of device code -> (header beside which it is installed, possible paths of the library on Linux and
Windows, relative to the parent of the include folder)."""


def device_library(name: str, folders: Iterable[str]) -> str | None:
    """Return the path of the library "cudadevrt" or "nvshmem_device" that belongs to the headers in one of the folders;
    None if there is none."""
    header, libraries = _DEVICE_LIBRARIES[name]
    for folder in folders:
        if os.path.isfile(os.path.join(folder, header)):
            root = os.path.dirname(os.path.abspath(folder))
            paths = (os.path.join(root, *library.split("/")) for library in libraries)
            found = next(filter(os.path.isfile, paths), None)
            if found is not None:
                return found
    return None


@cache
def device_library_builds(folders: tuple[str, ...]) -> str:
    """Return the SHA-256 of each library of device code that belongs to the headers in these folders, with a space
    between them."""
    builds = []
    for name in _DEVICE_LIBRARIES:
        path = device_library(name, folders)
        if path is not None:
            with open(path, "rb") as file:
                builds.append(sha256(file.read()).hexdigest())
    return " ".join(builds)
