"""Read a source's text and those of the headers that it includes, but for those of the toolkit and of this package.

PyTorch's own headers are read like the project's: they name what they use of the stand-ins.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path

from cuda_wheel.builder.hostcode.operator_headers import operator_headers
from cuda_wheel.builder.sources.include_graph import is_toolkit_header, visit
from cuda_wheel.builder.toolchain.records import INCLUDE, STAND_INS

__all__ = ["holds_toolkit", "project_texts", "some_project_texts"]

_INCLUDE = re.compile(rb'^[ \t]*#[ \t]*include(?:_next)?\b[ \t]*(?:[<"]([^>"\n]+)[>"])?', re.MULTILINE)

_LIMIT = 1 << 20
"""The size in bytes of texts above which compiling them takes longer than what the names in them could save."""


def project_texts(
    text: bytes, source: str, root: str, folders: Sequence[str], limit: int = _LIMIT
) -> list[bytes] | None:
    """Return a source's text and those of its headers, directly or not; None if they have more than `limit` bytes or
    cannot be told.

    `folders` are the include folders in search order; relative ones start from `root`. Every file of a name in any of
    the folders counts, also those that the compiler skips or finds elsewhere first; but not one that has a stand-in,
    which the compiler finds before it.
    """
    texts, is_known = _read(text, source, root, folders, limit)
    return texts if is_known else None


def some_project_texts(text: bytes, source: str, root: str, folders: Sequence[str]) -> list[bytes]:
    """Return the texts of `project_texts`, or some of them if they are too long or cannot be told."""
    return _read(text, source, root, folders, _LIMIT)[0]


def _read(text: bytes, source: str, root: str, folders: Sequence[str], limit: int) -> tuple[list[bytes], bool]:
    """Return texts, and whether they are all."""
    texts: list[bytes] = []
    is_known = True
    own = [folder for folder in folders if not holds_toolkit(os.path.join(root, folder))]
    after = folders[folders.index(STAND_INS[0]) :] if STAND_INS[0] in folders else ()
    first = [folder for folder in own if folder not in after]

    def included(path: str) -> Iterator[str]:
        nonlocal is_known
        texts.append(Path(path).read_bytes() if texts else text)
        if sum(map(len, texts)) > limit:
            is_known = False
        for name in _INCLUDE.findall(texts[-1]) if is_known else ():
            if not name:  # a macro gives the header's name
                is_known = False
            header = os.fsdecode(name)
            for folder in dict.fromkeys((os.path.dirname(path), *(first if _has_stand_in(header) else own))):
                place = os.path.normpath(os.path.join(root, folder, header))
                if name and os.path.isfile(place):
                    yield place

    visit([os.path.join(root, source)], included)
    return texts, is_known


@lru_cache(maxsize=4096)
def _has_stand_in(header: str) -> bool:
    return header in operator_headers() or any(os.path.isfile(os.path.join(folder, header)) for folder in STAND_INS)


@lru_cache(maxsize=64)
def holds_toolkit(folder: str) -> bool:
    """Return whether a folder holds headers of the toolkit, of CCCL or of this package."""
    marks = ("cuda_fp16.h", "curand_kernel.h", "crt/host_defines.h")
    return (
        folder in (str(INCLUDE), *STAND_INS)
        or is_toolkit_header(os.path.join(folder, "any"))
        or any(os.path.isfile(os.path.join(folder, mark)) for mark in marks)
    )
