"""Read the source files of a module: CUDA C++, NVVM IR, PTX, and what nvJitLink links."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Literal

from cuda_wheel.builder.errors import ConfigError
from cuda_wheel.builder.sources.paths import leads_out

__all__ = ["COMPILED", "KINDS", "Source", "SourceKind", "read_source_file"]

SourceKind = Literal["cuda", "nvvm", "ptx", "ltoir", "cubin", "fatbin", "object", "library"]
"""CUDA C++ and NVVM IR, which are compiled; PTX, which is compiled too if it is not linked; and what nvJitLink accepts
as it is. The words are nvJitLink's."""

KINDS: dict[str, SourceKind] = {
    ".cu": "cuda", ".ll": "nvvm", ".bc": "nvvm", ".ptx": "ptx", ".ltoir": "ltoir", ".cubin": "cubin",
    ".fatbin": "fatbin", ".o": "object", ".obj": "object", ".a": "library", ".lib": "library",
}  # fmt: skip
"""Kinds of sources by the suffix of their files."""

COMPILED = ("cuda", "nvvm")
"""The kinds that can be compiled to LTO-IR and relocatable PTX."""

_TEXT_SUFFIXES = (".cu", ".ll", ".ptx")


@dataclass(frozen=True)
class Source:
    """A source file of a module: its project-relative path with "/", its kind and its content."""

    path: str
    kind: SourceKind
    content: bytes

    @property
    def text(self) -> str:
        return self.content.decode(errors="surrogateescape")


def read_source_file(root: Path, path: str, module: str) -> Source:
    """Return a source of a module; raises ConfigError if its kind is unknown or its content is not of that kind."""
    kind = KINDS.get(PurePosixPath(path).suffix)
    if kind is None:
        raise ConfigError(f"{module}: {path} is not a source file: its name must end with {', '.join(KINDS)}.")
    content = _read(root, path)
    if kind not in COMPILED:
        from cuda_wheel.builder.images.device_files import faulty  # few modules have such sources

        fault = faulty(kind, content)
        if fault is not None:
            raise ConfigError(f"{path} {fault}.")
    return Source(path, kind, content)


def _read(root: Path, source: str) -> bytes:
    """Return the content of a source, without the byte-order mark, which NVRTC refuses.

    Raises ConfigError if the source cannot be read, lies outside the project, or is not valid text where it must be.
    """
    if leads_out(root / source, root):
        raise ConfigError(
            f"{source} is for the wheel, but lies outside the project ({os.path.realpath(root / source)}): copy it "
            f"into {root.name}, so that its sdist has it too."
        )
    if (root / source).exists() and not (root / source).is_file():
        raise ConfigError(f"{source} is not a regular file: put the source itself there.")
    try:
        content = (root / source).read_bytes()
    except OSError as error:
        raise ConfigError(f"{source} cannot be read: {error.strerror or error}.") from error
    return _checked_text(source, content) if source.endswith(_TEXT_SUFFIXES) else content


def _checked_text(source: str, content: bytes) -> bytes:
    content = content.removeprefix(b"\xef\xbb\xbf")
    try:
        content.decode()
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise ConfigError(f"{source}:{line}: is not UTF-8: {error.reason}. Save the file as UTF-8.") from error
    content = content.removesuffix(b"\0") if source.endswith(".ptx") else content  # compilers end PTX with a NUL
    if b"\0" in content:
        line = content.count(b"\n", 0, content.index(b"\0")) + 1
        raise ConfigError(f"{source}:{line}: contains a NUL byte, at which the compiler would stop reading. Remove it.")
    return content
