"""What users bring to be linked, in one form: `Piece`. Nothing here touches a GPU or a compiler."""

import os
import re
from typing import Any, Literal, NamedTuple, get_args

from ..errors import ImageError
from ..formats.fatbin import FATBIN_MAGIC, LTOIR_MAGIC, OLD_LTOIR_MAGIC
from ..formats.symbols import demangled

__all__ = [
    "Piece",
    "PieceKind",
    "piece_of",
]


PieceKind = Literal["cuda", "ptx", "ltoir", "cubin", "fatbin", "object", "library", "module"]
"""CUDA C++ text, PTX text, LTO-IR, machine code, a fatbin, a host object or an archive of such with device code in it,
and another package's module, whose relocatable images count."""


class Piece(NamedTuple):
    """Something to link: its kind, a name for messages, and its bytes; of a module the name alone."""

    kind: PieceKind
    name: str
    content: bytes
    folder: str | None = None
    """Where CUDA C++ looks for what it includes first; None for a text without a file."""


SUFFIXES: dict[str, PieceKind] = {
    ".cu": "cuda",
    ".cuh": "cuda",
    ".ptx": "ptx",
    ".ltoir": "ltoir",
    ".cubin": "cubin",
    ".fatbin": "fatbin",
    ".o": "object",
    ".obj": "object",
    ".a": "library",
    ".lib": "library",
}


WANTED = (
    "a piece is CUDA C++ or PTX text; LTO-IR, a cubin, a fatbin, an object or an archive as bytes; a path of one; the "
    "dotted name of a module; a cuda.core.ObjectCode; or what numba.cuda.compile returns"
)


_PTX = re.compile(r"^[ \t]*\.version\s+\d+\.\d+", re.MULTILINE)


_COMMENTS = re.compile(r"/\*.*?(?:\*/|\Z)|//[^\n]*", re.DOTALL)


def piece_of(value: Any) -> Piece:
    """Return the piece that `value` is; reads the file of a path.

    Raises ImageError where it is none, or its file cannot be read or is empty.
    """
    if isinstance(value, Piece):
        return _checked(value)
    if isinstance(value, tuple):  # what numba.cuda.compile gives: the code, and the type that the function returns
        if len(value) == 2 and isinstance(value[0], str | bytes | bytearray):
            name = _first_definition(value[0])
            return _of_content(value[0], name)
        raise ImageError(f"a tuple of {len(value)} is no piece: {WANTED}")
    if isinstance(value, os.PathLike):
        return _of_path(os.fsdecode(value))
    if isinstance(value, str):
        return _of_text(value)
    if isinstance(value, bytes | bytearray | memoryview):
        return _of_content(bytes(value), None)
    if hasattr(value, "code") and hasattr(value, "code_type"):
        return _of_object_code(value)
    raise ImageError(f"{type(value).__name__} is no piece: {WANTED}")


def _of_text(text: str) -> Piece:
    """Return the piece of a str: a path by its suffix, a module's dotted name, PTX or CUDA C++."""
    stripped = text.strip().strip("\0")
    if not stripped:
        raise ImageError(f"an empty text is no piece: {WANTED}")
    if "\n" in stripped:
        return _of_content(text, None)
    if os.path.isfile(stripped):
        return _of_path(stripped)
    if not re.search(r"[{};#]", stripped):  # a program in one line has one of these
        dotted = "." in stripped and all(part.isidentifier() for part in stripped.split("."))
        if os.path.splitext(stripped)[1].lower() in SUFFIXES and not (dotted and _is_package(stripped)):
            return _of_path(stripped)  # which says that it is not there
        if dotted:
            return Piece("module", stripped, b"")
        raise ImageError(
            f"{stripped!r} is no program, no file with a known suffix ({' '.join(SUFFIXES)}) and no module's dotted "
            f"name: {WANTED}"
        )
    return _of_content(text, None)


def _is_package(name: str) -> bool:
    """Return whether a dotted name begins as that of a package here: "demo.kernels.lib" may be a module, or a file."""
    from importlib.util import find_spec

    try:
        spec = find_spec(name.partition(".")[0])
    except (ImportError, ValueError):  # a module that hides where it is from
        return False
    return spec is not None and spec.submodule_search_locations is not None


def _of_path(path: str) -> Piece:
    try:
        with open(path, "rb") as file:
            content = file.read()
    except (OSError, ValueError) as error:  # a NUL in a path is a ValueError
        hint = "" if os.path.isabs(path) else f" in {os.getcwd()}"
        shown = path if path.isprintable() else repr(path)
        reason = getattr(error, "strerror", None) or error
        raise ImageError(f"{shown} to link cannot be read{hint}: {reason}") from error
    name = os.path.basename(path)
    if not content:
        raise ImageError(f"{path} to link is empty")
    kind = SUFFIXES.get(os.path.splitext(name)[1].lower()) or _kind_of(content, name)
    return _checked(Piece(kind, name, content, os.path.dirname(os.path.abspath(path)) if kind == "cuda" else None))


def _of_content(content: str | bytes | bytearray, name: str | None) -> Piece:
    data = content.encode(errors="surrogatepass") if isinstance(content, str) else bytes(content)
    kind = _kind_of(data, name or "a piece")
    return _checked(Piece(kind, name or f"piece.{_SUFFIX_OF[kind]}", data))


def _of_object_code(value: Any) -> Piece:
    """Return the piece of a cuda.core.ObjectCode. Source: cuda.core, `ObjectCode`: `code` is bytes or a path."""
    kind, code, name = str(value.code_type), value.code, getattr(value, "name", "")
    if kind not in get_args(PieceKind) or kind in ("cuda", "module"):
        raise ImageError(f"an ObjectCode of type {kind!r} cannot be linked: {WANTED}")
    if isinstance(code, str | os.PathLike):
        of_file = _of_path(os.fsdecode(code))
        return _checked(of_file._replace(kind=kind, name=os.path.basename(name) or of_file.name))  # type: ignore[arg-type]
    return _checked(Piece(kind, os.path.basename(name) or f"object.{_SUFFIX_OF[kind]}", bytes(code)))  # type: ignore[arg-type,index]


_SUFFIX_OF: dict[PieceKind, str] = {
    "cuda": "cu",
    "ptx": "ptx",
    "ltoir": "ltoir",
    "cubin": "cubin",
    "fatbin": "fatbin",
    "object": "o",
    "library": "a",
}


def _kind_of(content: bytes, name: str) -> PieceKind:
    """Return what the bytes are by their beginning, or, of a text, by what it says."""
    if not content.strip(b"\0 \t\r\n"):
        raise ImageError(f"{name} to link is empty")
    if content[:4] == b"\x7fELF":
        return "cubin" if content[18:20] == (190).to_bytes(2, "little") else "object"
    if int.from_bytes(content[:4], "little") == FATBIN_MAGIC:
        return "fatbin"
    if content.startswith((LTOIR_MAGIC, OLD_LTOIR_MAGIC)):
        return "ltoir"
    if content.startswith((b"!<arch>\n", b"!<thin>\n")):
        return "library"
    if content[:2] in (b"\x64\x86", b"\x64\xaa"):  # COFF, by machine: x86-64, ARM64
        return "object"
    try:
        text = content.rstrip(b"\0").decode()
    except UnicodeDecodeError:
        text = "\0"
    if "\0" in text:
        raise ImageError(f"{name} to link begins with {content[:8]!r}, which is nothing known: {WANTED}")
    return "ptx" if _PTX.search(_COMMENTS.sub(" ", text)) else "cuda"


def _checked(piece: Piece) -> Piece:
    """Return the piece, its text without what ends it in C; raise ImageError where its bytes are of another kind."""
    if piece.kind not in get_args(PieceKind):
        kinds = ", ".join(get_args(PieceKind))
        raise ImageError(f"{piece.name} is of kind {piece.kind!r}; the kinds of pieces are {kinds}")
    if piece.kind == "module":
        return piece
    found = _kind_of(piece.content, piece.name)
    if found != piece.kind and not (piece.kind in ("object", "library") and found in ("object", "library")):
        raise ImageError(
            f"{piece.name} to link should be {NAMES[piece.kind]}, but is {NAMES[found]}: it begins with "
            f"{piece.content[:8]!r}"
        )
    content = piece.content.rstrip(b"\0") if piece.kind in ("cuda", "ptx") else piece.content
    return piece._replace(name=os.path.basename(piece.name) or piece.name, content=content)


NAMES: dict[PieceKind, str] = {
    "cuda": "CUDA C++",
    "ptx": "PTX",
    "ltoir": "LTO-IR",
    "cubin": "a cubin",
    "fatbin": "a fatbin",
    "object": "an object file",
    "library": "an archive",
    "module": "a module",
}
"""The kinds in words."""


def _first_definition(code: str | bytes | bytearray) -> str | None:
    """Return a name for what numba.cuda.compile gave: that of the function, where it is PTX; else none."""
    if isinstance(code, str):
        match = re.search(r"\.visible\s+\.func\s+(?:\([^()]*\)\s*)?([\w$]+)", code)
        if match:
            return f"{demangled(match[1])}.ptx"
    return None
