"""Collect the project's files that a job on another machine needs."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from cuda_wheel.builder.cluster.parcel import NotPortableError
from cuda_wheel.builder.sources.include_graph import reachable
from cuda_wheel.builder.sources.paths import files_below

__all__ = ["files_to_send"]

_COMPUTED_NAME = re.compile(rb"__has_include|^[ \t]*#[ \t]*include(?:_next)?[ \t]+[A-Za-z_]", re.MULTILINE)
"""What may look for files that no `#include "x"` names."""

_FILE_OPTION = re.compile(r"--?(?:I|include|pre-include|pch|use-pch|create-pch)")
"""NVRTC's options that name files or folders. Source: NVRTC, "Supported Compile Options"."""


def files_to_send(
    root: str, source: str, text: bytes, options: Sequence[str], folders: Sequence[str]
) -> Mapping[str, bytes]:
    """Return the files of the project in `root` that a source may include, by project-relative path with "/".

    `text` is the content of the source, `folders` its project-relative include folders, its own first. Raises
    NotPortableError if the source may read other files.
    """
    if any(map(_FILE_OPTION.match, options)):
        raise NotPortableError
    try:
        contents = {path: Path(path).read_bytes() for path, *_ in reachable(Path(root), source, folders).headers}
        if any(map(_COMPUTED_NAME.search, (text, *contents.values()))):
            own, *searched = folders
            candidates = [entry.path for entry in os.scandir(os.path.join(root, own)) if entry.is_file()]
            candidates += [os.path.join(root, path) for path in files_below(Path(root), searched)]
            contents |= {path: Path(path).read_bytes() for path in candidates}
    except OSError as error:
        raise NotPortableError from error
    files = {os.path.relpath(path, root).replace(os.sep, "/"): content for path, content in contents.items()}
    if any(name.startswith("../") for name in files):
        raise NotPortableError
    return files
