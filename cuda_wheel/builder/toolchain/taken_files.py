"""Say which files a build took as its toolchain: with paths for its messages, without them for manifests."""

from __future__ import annotations

import os
from collections.abc import Sequence

from cuda_wheel.builder.toolchain.packages import cuda_folders
from cuda_wheel.builder.toolchain.records import LIBRARIES, Toolchain

__all__ = ["header_versions", "several_places", "taken_files"]

_CCCL = ("cuda", "cub", "thrust", "nv")
"""The folders that CCCL consists of. A toolkit of CUDA 12 has them beside CUDA's own headers."""

_LABELS = {"cccl": "CCCL", "cudart": "headers of CUDA", "crt": "compiler's headers of CUDA", "curand": "cuRAND of CUDA"}


def header_versions(toolchain: Toolchain, headers: Sequence[str] | None) -> dict[str, str]:
    """Return, for a manifest, the releases of those of the toolchain's headers that a module uses: {"cccl": "2.8.2",
    "headers": "12.9"}.

    `headers` are the absolute paths of all files that the module includes; None if they are not known.
    """
    used = set()
    for path in headers or ():
        folder = next((each for each in toolchain.include_dirs if path.startswith(each + os.sep)), None)
        if folder is not None:
            first = path[len(folder) + 1 :].partition(os.sep)[0]
            used.add("cccl" if first in _CCCL else "headers")
    releases = {"cudart": "headers", "cccl": "cccl"}
    named = {releases[each.name]: each.release for each in toolchain.headers if each.name in releases}
    return {name: named[name] for name in sorted(named) if headers is None or name in used}


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
