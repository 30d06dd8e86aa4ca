"""Read the source files of a module: CUDA C++, NVVM IR, PTX, and what nvJitLink links.

Files of device code are checked before a linker reads them: nvJitLink ignores what it does not recognise, and several
releases crash or hang on a file that is cut short.
"""

from __future__ import annotations

import os
import re
import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import Literal, cast

from cuda_wheel.builder.cxx.tokens import scan
from cuda_wheel.builder.errors import ConfigError
from cuda_wheel.builder.sources.paths import leads_out
from cuda_wheel.runtime.parts.formats import ptx
from cuda_wheel.runtime.parts.formats.cubin import read_cubin
from cuda_wheel.runtime.parts.formats.elf import ELF_MAGIC, section_names
from cuda_wheel.runtime.parts.formats.fatbin import FATBIN_MAGIC
from cuda_wheel.runtime.parts.formats.kinds import ARCHIVE_MAGIC, LTOIR_MAGIC

__all__ = ["CHECKS", "COMPILED", "KINDS", "Source", "SourceKind", "faulty", "read_python_source", "read_source_file"]


_RELOCATABLE_SECTION, _COMPLETE_SECTION = "__nv_relfatbin", ".nv_fatbin"
"""Names of the two sections of an object file that can contain device code. Code in the first can be linked. Code in
the second cannot; nvcc generates it by default."""


def faulty(kind: str, content: bytes) -> str | None:
    """Return what is wrong with a file's content, to follow the file's name: "is empty"; None if nothing is wrong.

    `kind` is nvJitLink's word for the type of file: "ptx", "ltoir", "cubin", "fatbin", "object" or "library". The
    content of other types is not checked.
    """
    if not content:
        return "is empty"
    check = CHECKS.get(kind)
    try:
        return check(content) if check else None
    except (ValueError, struct.error) as error:
        return f"is not a valid {kind}: {error}"


def _check_ptx(content: bytes) -> None:
    text = content.decode()
    ptx.version(text)
    ptx.target(text)


def _check_ltoir(content: bytes) -> None:
    if not content.startswith(LTOIR_MAGIC):
        raise ValueError("it does not begin as LTO-IR does")


def _check_cubin(content: bytes) -> str | None:
    if read_cubin(content).relocatable:
        return None
    return "is finished machine code, which cannot be linked: compile it as relocatable device code (nvcc -rdc=true)"


def _check_fatbin(content: bytes) -> None:
    magic, _, header, size = struct.unpack_from("<4sHHQ", content)
    if magic != FATBIN_MAGIC:
        raise ValueError("it does not begin as a fatbin does")
    if header + size > len(content):
        raise ValueError(f"it is cut short: {len(content)} of {header + size} bytes")


def _check_object(content: bytes) -> str | None:
    if not content.startswith(ELF_MAGIC):  # a Windows object
        return None
    return _missing_device_code(section_names(content))


def _check_library(content: bytes) -> str | None:
    if not content.startswith(ARCHIVE_MAGIC):
        raise ValueError("it does not begin as a static library does")
    members = list(_members(content))
    if not all(member.startswith(ELF_MAGIC) for member in members):  # a Windows library
        return None
    return _missing_device_code([name for member in members for name in section_names(member)])


def _members(archive: bytes) -> Iterator[bytes]:
    """Yield the content of each file in a static library (`archive`). The library's index and its table of long names
    are left out. Source: ar(5)."""
    at = len(ARCHIVE_MAGIC)
    while at < len(archive):
        name, size = struct.unpack_from("<16s32x10s", archive, at)
        start, end = at + 60, at + 60 + int(size)
        if not start <= end <= len(archive):
            raise ValueError("it is cut short")
        if not name.startswith((b"/ ", b"//", b"/SYM64/")):
            yield archive[start:end]
        at = end + end % 2


def _missing_device_code(sections: list[str]) -> str | None:
    """Return what is wrong with an object file, such as "holds no device code", to follow the file's name in an error
    message. None if the file contains device code that can be linked. `sections`: names of the file's sections."""
    if _RELOCATABLE_SECTION in sections:
        return None
    if _COMPLETE_SECTION in sections:
        return "holds device code that cannot be linked any more: compile it with nvcc -rdc=true"
    return "holds no device code"


CHECKS: dict[str, Callable[[bytes], str | None]] = {
    "ptx": _check_ptx, "ltoir": _check_ltoir, "cubin": _check_cubin, "fatbin": _check_fatbin,
    "object": _check_object, "library": _check_library,
}  # fmt: skip
"""Type of file -> function that checks a file's content. The function returns what is wrong, such as "holds no device
code", or None. For a damaged file, it may raise ValueError or struct.error instead."""


SourceKind = Literal["cuda", "nvvm", "triton", "numba", "tile", "ptx", "ltoir", "cubin", "fatbin", "object", "library"]
"""Kind of a source. "cuda" (CUDA C++), "nvvm" (NVVM IR), and "triton", "numba" and "tile" (Python) are compiled. "ptx"
is compiled or linked. Sources of the other kinds are linked as they are; these words are nvJitLink's own."""

KINDS: dict[str, SourceKind] = {
    ".cu": "cuda", ".ll": "nvvm", ".bc": "nvvm", ".ptx": "ptx", ".ltoir": "ltoir", ".cubin": "cubin",
    ".fatbin": "fatbin", ".o": "object", ".obj": "object", ".a": "library", ".lib": "library",
}  # fmt: skip
"""Suffix of a source's file name, such as ".cu" -> kind of the source."""

NVVM_KINDS = ("nvvm", "numba")
"""Kinds of sources that are compiled by libNVVM: NVVM IR, and Python that a compiler makes NVVM IR of."""

COMPILED = ("cuda", "nvvm")
"""Kinds of sources that can be compiled to LTO-IR and relocatable PTX."""

_TILE = re.compile(rb"\b__tile_global__\b|cuda_tile\.h")

_TEXT_SUFFIXES = (".cu", ".ll", ".ptx", ".py")


@dataclass(frozen=True)
class Source:
    """A source file of a module."""

    path: str
    """Project-relative path of the file, with "/"."""
    kind: SourceKind
    """Kind of the source, which the suffix of the file decides."""
    content: bytes
    """Content of the file. A text file's byte-order mark is removed, and so is the NUL at the end of PTX."""
    module: str = ""
    """Dotted name of the Python module; "" for a source in another language."""

    @cached_property
    def is_tile(self) -> bool:
        """Whether the source has CUDA Tile kernels: it mentions `__tile_global__`, or includes <cuda_tile.h>, outside
        comments and strings."""
        if self.kind != "cuda" or not _TILE.search(self.content):
            return False
        tokens, directives = scan(self.content)
        texts = (*(token.text for token in tokens if token.kind == "word"), *(each.rest for each in directives))
        return any(_TILE.search(text.encode(errors="surrogateescape")) for text in texts)

    @property
    def text(self) -> str:
        """Content as text; bytes that are not UTF-8 become surrogates."""
        return self.content.decode(errors="surrogateescape")


def read_source_file(root: Path, path: str, module: str) -> Source:
    """Return a source file of a module; raises ConfigError if its suffix is unknown or does not fit its content.

    `path` is project-relative; `module` is the module's name, for the error.
    """
    kind = KINDS.get(PurePosixPath(path).suffix)
    if kind is None:
        raise ConfigError(f"{module}: {path} is not a source file: its name must end with {', '.join(KINDS)}.")
    content = _read(root, path)
    if kind not in COMPILED:
        fault = faulty(kind, content)
        if fault is not None:
            raise ConfigError(f"{path} {fault}.")
    return Source(path, kind, content)


def read_python_source(root: Path, path: str, module: str, language: str) -> Source:
    """Return a Python file with kernels in a language such as "triton"; `path` is project-relative, `module` the Python
    module's name. Raises ConfigError if the file cannot be read."""
    return Source(path, cast(SourceKind, language), _read(root, path), module)


def _read(root: Path, source: str) -> bytes:
    """Return the content of the project-relative file `source`. Of a text file (.cu, .ll, .ptx, .py), a byte-order
    mark at the start and, for PTX, a NUL at the end are removed.

    Raises ConfigError if the file cannot be read or is outside the project, and if a text file is not valid.
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


_LFS_POINTER = b"version https://git-lfs.github.com/spec/"
"""Start of the file that Git has in place of one that Git LFS stores. Source: Git LFS Specification, "The Pointer"."""


def _checked_text(source: str, content: bytes) -> bytes:
    """Return the content of a text file without a byte-order mark at its start and, for PTX, without a NUL at its end.
    Raises ConfigError if the content is not UTF-8, contains another NUL or is a pointer of Git LFS. `source` is the
    file's path, for the message."""
    content = content.removeprefix(b"\xef\xbb\xbf")
    try:
        content.decode()
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise ConfigError(f"{source}:{line}: is not UTF-8: {error.reason}. Save the file as UTF-8.") from error
    if content.startswith(_LFS_POINTER):
        raise ConfigError(f"{source} is a pointer of Git LFS, and the file itself was not downloaded: git lfs pull")
    content = content.removesuffix(b"\0") if source.endswith(".ptx") else content  # compilers end PTX with a NUL
    if b"\0" in content:
        line = content.count(b"\n", 0, content.index(b"\0")) + 1
        raise ConfigError(f"{source}:{line}: contains a NUL byte, at which the compiler would stop reading. Remove it.")
    return content
