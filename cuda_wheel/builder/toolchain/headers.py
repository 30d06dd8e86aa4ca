"""Choose the folders of headers that belong to NVRTC's release, wherever in this environment they are."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from cuda_wheel.builder.errors import ToolchainError
from cuda_wheel.builder.toolchain.header_releases import HeaderRelease, fits, needed, release_of
from cuda_wheel.builder.toolchain.places import Place, header_folders, places
from cuda_wheel.builder.toolchain.records import FURTHER_HEADERS, HEADERS, Headers, ToolchainPart
from cuda_wheel.runtime.manifest import Version, dotted

__all__ = ["choose_headers", "header_parts"]

_ALL_HEADERS = {**HEADERS, **FURTHER_HEADERS}

_PATHFINDER_NAMES = {"cccl": "cccl", "cudart": "cudart", "crt": "nvcc", "curand": "curand", "nvshmem": "nvshmem"}
"""cuda.pathfinder's names of the groups, those that its lowest release here knows.

It raises RuntimeError for others: "cutlass" is known from 1.6 on. Its "mathdx" is another package, libmathdx.
"""


class _Folder(NamedTuple):
    """A folder that has a group of headers."""

    path: str
    found_via: str
    releases: Mapping[str, HeaderRelease | None]
    """Of every group that the folder has: the compiler finds them all."""

    def misfits(self, nvrtc: Version) -> list[str]:
        """Return the groups that do not belong to NVRTC's release, or may not."""
        return [name for name, release in self.releases.items() if release is None or not fits(name, release, nvrtc)]

    def headers(self, name: str) -> Headers:
        """Return the record of a group."""
        release = self.releases[name]
        return Headers(name, str(release or ""), self.path, self.found_via, release.source if release else "")


def choose_headers(library: str, nvrtc: Version, hint: str) -> tuple[Headers, ...]:
    """Return the groups of headers in search order.

    Of each group, the first folder is taken in which everything belongs to the release of the NVRTC at the path
    `library`. Raises ToolchainError if there is none; the message ends with `hint`.
    """
    chosen: list[Headers] = []
    taken: list[_Folder] = []
    for name in _ALL_HEADERS:
        folder = next((each for each in taken if name in each.releases), None)
        candidates = [] if folder else list(_folders(name, library, nvrtc[0]))
        folder = folder or next((each for each in candidates if not each.misfits(nvrtc)), None)
        if folder is not None:
            chosen.append(folder.headers(name))
            taken.append(folder)
        elif name in HEADERS:
            raise ToolchainError(_refusal(name, library, nvrtc, candidates, hint))
    return tuple(chosen)


def header_parts(library: str | None, nvrtc: Version | None, major: int) -> list[ToolchainPart]:
    """Return the groups of headers that every build needs, installed or not.

    Those that do not belong to NVRTC's release are returned only if there are no others. `library` is the path of
    NVRTC, or None without one; `major` is the major version of CUDA, 0 if it is not known.
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
    """Yield every folder of this environment that has a group of headers, in the order of preference."""
    seen = set()
    for place in places(library):
        for path in header_folders(place, name, major):
            if os.path.isfile(os.path.join(path, _ALL_HEADERS[name])) and os.path.realpath(path) not in seen:
                seen.add(os.path.realpath(path))
                yield _folder(path, place)
    if name not in _PATHFINDER_NAMES:
        return
    try:
        from cuda.pathfinder import locate_nvidia_header_directory  # inside: slow to import, and may be missing
    except ImportError:
        return
    located = locate_nvidia_header_directory(_PATHFINDER_NAMES[name])  # also where the system's loader finds a toolkit
    if located is not None and located.abs_path is not None and os.path.realpath(located.abs_path) not in seen:
        path = str(located.abs_path)
        if os.path.isfile(os.path.join(path, _ALL_HEADERS[name])):
            yield _folder(path, Place(os.path.dirname(path), False, str(located.found_via)))


def _folder(path: str, place: Place) -> _Folder:
    names = [name for name, header in _ALL_HEADERS.items() if os.path.isfile(os.path.join(path, header))]
    return _Folder(path, place.found_via, {name: release_of(name, path, place) for name in names})


def _refusal(name: str, library: str, nvrtc: Version, folders: list[_Folder], hint: str) -> str:
    start = f"NVRTC {dotted(nvrtc)} ({library}) needs {_ALL_HEADERS[name]} of {needed(name, nvrtc)}"
    if not folders:
        return f"{start}, which is not installed. {hint}"
    lines = [f"\n  {folder.path} ({folder.found_via}): {_described(folder, nvrtc)}" for folder in folders]
    return f"{start}, and these folders have another:{''.join(lines)}\n{hint}"


def _described(folder: _Folder, nvrtc: Version) -> str:
    """Return what does not belong to NVRTC's release in a folder."""
    texts = []
    for name in folder.misfits(nvrtc):
        release = folder.releases[name]
        what = "CCCL" if name == "cccl" else "CUDA"
        known = f"{what} {release}, says {release.source}" if release else "of unknown release: no file names one"
        texts.append(f"{_ALL_HEADERS[name]} is {'of ' if release else ''}{known}")
    return "; ".join(texts)
