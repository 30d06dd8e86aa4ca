"""Name the files that decide the result of a job independently of where they are installed."""

from __future__ import annotations

import os

from cuda_wheel.builder.jobs import Compiled, Job
from cuda_wheel.builder.sources.header_dependencies import option_folders
from cuda_wheel.builder.sources.paths import below

__all__ = ["OUTSIDE", "Place", "contains_project_path", "path_of", "place_of"]


Place = tuple[int, str]
"""A file as the number of its include folder and its path in there: an isolated build installs the toolchain in a new
folder each time. The number counts `Job.include_dirs` from their end, as -1; 0 is the project, and OUTSIDE is neither:
the path is then relative to the project, or absolute if an option names its folder so."""

OUTSIDE = 1


def contains_project_path(job: Job, compiled: Compiled) -> bool:
    """Return whether an image contains the path of the project's folder, so that builds in other folders differ."""
    root = os.fsencode(job.root)
    return any(root in content for content in (compiled.cubin, compiled.ptx, compiled.ltoir) if content)


def place_of(path: str, job: Job) -> Place:
    """Return the place of a file that a job read or looked for."""
    for folder in job.include_dirs:
        if os.path.isabs(folder) and path.startswith(folder + os.sep):
            # From the end, because the first folder is among the toolchain's once more.
            return -1 - job.include_dirs[::-1].index(folder), os.path.relpath(path, folder)
    own = below(path, job.root)
    if own is not None:
        return 0, own
    named = [os.path.normpath(folder) for folder in option_folders(job.options) if os.path.isabs(folder)]
    if any(path.startswith(folder + os.sep) for folder in named):
        return OUTSIDE, path
    is_near = os.path.splitdrive(path)[0] == os.path.splitdrive(job.root)[0]
    return OUTSIDE, os.path.relpath(path, job.root) if is_near else path


def path_of(place: Place, job: Job) -> str:
    """Return the absolute path of a place for a job, which may come from another machine."""
    number, below = place
    if number == OUTSIDE:
        return os.path.normpath(os.path.join(job.root, below))
    return f"{job.root if number == 0 else job.include_dirs[number]}{os.sep}{below}"  # not os.path.join: thousands
