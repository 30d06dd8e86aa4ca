"""Say which files a build took as its toolchain: with paths for its messages, without them for manifests."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

from cuda_wheel.builder.toolchain.header_releases import INDEPENDENT
from cuda_wheel.builder.toolchain.packages import cuda_folders
from cuda_wheel.builder.toolchain.records import LIBRARIES, Toolchain

__all__ = ["header_versions", "other_libraries", "several_places", "taken_files"]

_CCCL = ("cuda", "cub", "thrust", "nv")
"""The folders that CCCL consists of. A toolkit of CUDA 12 has them beside CUDA's own headers."""

_LABELS = {
    **{"cccl": "CCCL", "cudart": "headers of CUDA", "crt": "compiler's headers of CUDA", "curand": "cuRAND of CUDA"},
    **{"cutlass": "CUTLASS", "mathdx": "MathDx", "nvshmem": "NVSHMEM", "pytorch": "PyTorch"},
}


def header_versions(toolchain: Toolchain, headers: Sequence[str] | None) -> dict[str, str]:
    """Return, for a manifest, the releases of those of the toolchain's headers that a module uses: {"cccl": "2.8.2",
    "cutlass": "4.2.0", "headers": "12.9"}.

    `headers` are the absolute paths of all files that the module includes; None if they are not known.
    """
    used = {"cccl", "headers"} if headers is None else set()
    others = {each.folder: each.name for each in toolchain.headers if each.name in INDEPENDENT}
    for path in headers or ():
        folder = next((each for each in toolchain.include_dirs if path.startswith(each + os.sep)), None)
        if folder is not None:
            first = path[len(folder) + 1 :].partition(os.sep)[0]
            used.add(others.get(folder) or ("cccl" if first in _CCCL else "headers"))
    releases = {"cudart": "headers", "cccl": "cccl", **dict(zip(INDEPENDENT, INDEPENDENT, strict=True))}
    named = {releases[each.name]: each.release for each in toolchain.headers if each.name in releases}
    return {name: named[name] for name in sorted(named) if name in used}


def other_libraries(toolchain: Toolchain, versions: Mapping[str, str]) -> list[str]:
    """Return what a build says about the libraries beside CUDA's own whose headers a module uses: "CUTLASS 4.2.0
    (/.../include)". `versions` are those in the module's manifest."""
    used = [each for each in toolchain.headers if each.name in INDEPENDENT and each.name in versions]
    return [f"{_LABELS[each.name]} {each.release} ({each.folder})" for each in used]


def taken_files(toolchain: Toolchain) -> dict[str, str]:
    """Return the absolute paths of a toolchain's libraries and folders of headers, each with its release."""
    versions = (toolchain.nvrtc, toolchain.nvjitlink, toolchain.nvfatbin)
    libraries = zip(LIBRARIES, versions, toolchain.libraries, strict=True)
    files = {f"{name} {version}": path for name, version, path in libraries}
    folders = {f"{_LABELS[each.name]} {each.release}": each for each in toolchain.headers}
    return files | {name: f"{each.folder} ({each.found_via})" for name, each in folders.items()}


def several_places(toolchain: Toolchain) -> bool:
    """Return whether a toolchain's files are not all in one folder of packages or in one toolkit."""
    paths = [*toolchain.libraries, *(each.folder for each in toolchain.headers)]
    try:
        common = os.path.commonpath(paths)
    except ValueError:  # several drives of Windows
        return True
    toolkit = [common] if os.path.isdir(os.path.join(common, "include")) else []
    return not any(all(path.startswith(folder + os.sep) for path in paths) for folder in (*cuda_folders(), *toolkit))
