"""Read which release of CUDA, or of CCCL, a folder of headers belongs to, and decide whether it fits a compiler."""

from __future__ import annotations

import os
import re
from typing import NamedTuple

from cuda_wheel.builder.toolchain.places import Place
from cuda_wheel.runtime.manifest import Version, dotted

__all__ = ["INDEPENDENT", "HeaderRelease", "fits", "needed", "release_of"]


class HeaderRelease(NamedTuple):
    """A release, as a file names it."""

    version: tuple[int, ...]
    """MAJOR.MINOR of CUDA; MAJOR.MINOR.PATCH of CCCL and the `INDEPENDENT` groups. MAJOR of CUDA for cuRAND."""
    source: str
    """The absolute path of the file."""

    def __str__(self) -> str:
        return ".".join(map(str, self.version))


INDEPENDENT = ("cutlass", "mathdx", "nvshmem", "pytorch")
"""The groups with releases of their own, of which many work with one release of CUDA: the project chooses."""

CCCL_OF_CUDA_12 = {4: (2, 3), 5: (2, 4), 6: (2, 5), 8: (2, 7), 9: (2, 8)}
"""CCCL's version in each minor release of CUDA 12 since nvFatbin exists. CUDA 13.X has CCCL 3.X."""


def fits(group: str, release: HeaderRelease, nvrtc: Version) -> bool:
    """Return whether headers of a release work with an NVRTC.

    CUDA's own headers belong to one MAJOR.MINOR release of the compiler; CCCL's headers check that too. CCCL is
    released more often: it supports two major versions of CUDA, and never a CUDA that is newer than itself. Source:
    CCCL, README, "Platform Support".
    """
    if group in INDEPENDENT:
        return True
    if group != "cccl":
        return release.version == nvrtc[: len(release.version)]
    return release.version >= _included_cccl(nvrtc) and 0 <= release.version[0] - (nvrtc[0] - 10) <= 1


def needed(group: str, nvrtc: Version) -> str:
    """Return which release of a group of headers fits an NVRTC: "CUDA 12.9"."""
    return f"CCCL {dotted(_included_cccl(nvrtc))} or newer" if group == "cccl" else f"CUDA {dotted(nvrtc)}"


def _included_cccl(nvrtc: Version) -> Version:
    """Return the oldest version of CCCL that fits: the one of the same toolkit, as far as it is known."""
    major, minor = nvrtc
    if major == 13:
        return 3, minor
    known = [each for each in CCCL_OF_CUDA_12 if each <= minor] if major == 12 else []
    return CCCL_OF_CUDA_12[max(known)] if known else (major - 10, 0)


def release_of(group: str, folder: str, place: Place) -> HeaderRelease | None:
    """Return the release of a group of headers in a folder of a place; None if no file names it."""
    readers = {
        **{"cccl": _cccl, "cudart": _cudart, "crt": _crt, "curand": _curand},
        **{"cutlass": _cutlass, "mathdx": _mathdx, "nvshmem": _nvshmem, "pytorch": _pytorch},
    }
    return readers[group](folder, place)


def _cudart(folder: str, place: Place) -> HeaderRelease | None:
    """Return the release that both of CUDA's own version macros name; None if they differ."""
    found = [
        HeaderRelease((number // 1000, number % 1000 // 10), path)
        for name, macro in (("cuda_runtime_api.h", "CUDART_VERSION"), ("cuda.h", "CUDA_VERSION"))
        if (number := _macro(path := os.path.join(folder, name), macro)) is not None
    ]
    return found[0] if len({each.version for each in found}) == 1 else None


def _cccl(folder: str, place: Place) -> HeaderRelease | None:
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


def _crt(folder: str, place: Place) -> HeaderRelease | None:
    """Return the release of the compiler's own headers, which have no version macro: from the metadata of what
    installed them, or else that of CUDA's headers in the same folder."""
    found = _package("nvidia_cuda_nvcc", "nvidia_cuda_crt", file="crt/host_defines.h", folder=folder, place=place)
    if found is not None:
        name, path = found
        return _numbers(name.partition("-")[2], path)
    return _installed(place) or _cudart(folder, place)


def _curand(folder: str, place: Place) -> HeaderRelease | None:
    found = _package("nvidia_curand", file="curand_kernel.h", folder=folder, place=place)
    if found is None:
        return _cudart(folder, place)
    name, path = found
    major = re.search(r"_cu(\d+)-", name) or re.search(r"[/\\]cu(\d+)[/\\]include$", folder)
    return None if major is None else HeaderRelease((int(major[1]),), path)


def _cutlass(folder: str, place: Place) -> HeaderRelease | None:
    return _three_macros(os.path.join(folder, "cutlass", "version.h"), "CUTLASS_{}", ("MAJOR", "MINOR", "PATCH"))


def _mathdx(folder: str, place: Place) -> HeaderRelease | None:
    """Return MathDx's release, which no header names: from its package. Its parts have further releases."""
    found = _package("nvidia_mathdx", file="commondx/commondx_version.hpp", folder=folder, place=place)
    version = re.match(r"[a-z_]+-(\d+)\.(\d+)\.(\d+)", found[0]) if found else None
    return HeaderRelease(tuple(map(int, version.groups())), found[1]) if found and version else None


def _nvshmem(folder: str, place: Place) -> HeaderRelease | None:
    path = os.path.join(folder, "non_abi", "nvshmem_version.h")
    return _three_macros(path, "NVSHMEM_VENDOR_{}_VERSION", ("MAJOR", "MINOR", "PATCH"))


def _pytorch(folder: str, place: Place) -> HeaderRelease | None:
    names = ("torch/headeronly/version.h", "torch/csrc/api/include/torch/version.h")  # the second before PyTorch 2.9
    found = (
        _three_macros(os.path.join(folder, name), "TORCH_VERSION_{}", ("MAJOR", "MINOR", "PATCH")) for name in names
    )
    return next(filter(None, found), None)


def _three_macros(path: str, name: str, parts: tuple[str, str, str]) -> HeaderRelease | None:
    numbers = [_macro(path, name.format(part)) for part in parts]
    return None if None in numbers else HeaderRelease(tuple(number or 0 for number in numbers), path)


def _package(*names: str, file: str, folder: str, place: Place) -> tuple[str, str] | None:
    """Return the metadata folder of the package that contains a file, and the path of its RECORD."""
    if not place.has_packages:
        return None
    listed = os.path.relpath(os.path.join(folder, *file.split("/")), place.folder).replace(os.sep, "/")
    for each in sorted(os.listdir(place.folder)):
        if each.startswith(names) and each.endswith(".dist-info"):
            path = os.path.join(place.folder, each, "RECORD")
            if f"\n{listed}," in "\n" + _text(path):
                return each, path
    return None


def _installed(place: Place) -> HeaderRelease | None:
    """Return the release of the compiler's headers that conda or NVIDIA's installer has recorded for a toolkit."""
    meta = os.path.join(place.folder, "conda-meta")
    for name in sorted(os.listdir(meta)) if os.path.isdir(meta) else ():
        match = re.fullmatch(r"cuda-(?:crt|nvcc)-dev_[\w-]+?-(\d+\.\d+\.[\w.]+)-[\w.]+\.json", name)
        if match is not None:
            return _numbers(match[1], os.path.join(meta, name))
    path = os.path.join(place.folder, "version.json")
    match = re.search(r'"cuda_(?:crt|nvcc)"[^}]*"version"\s*:\s*"([\d.]+)"', _text(path))
    return None if match is None else _numbers(match[1], path)


def _numbers(version: str, path: str) -> HeaderRelease | None:
    match = re.match(r"(\d+)\.(\d+)", version)
    return None if match is None else HeaderRelease((int(match[1]), int(match[2])), path)


def _macro(path: str, name: str) -> int | None:
    """Return the number that a header defines a macro as; None if it does not."""
    match = re.search(rf"^[ \t]*#[ \t]*define[ \t]+{name}[ \t]+(\d+)", _text(path), re.MULTILINE)
    return None if match is None else int(match[1])


def _text(path: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()
    except OSError:
        return ""
