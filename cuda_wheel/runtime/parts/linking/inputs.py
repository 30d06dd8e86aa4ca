"""Recognise what users pass to be linked or loaded, and represent it as a `LinkInput`. Needs no GPU and no compiler."""

import os
import re
from typing import Any, Literal, NamedTuple, get_args

from ...errors import ImageError
from ...manifest import Variant
from ..formats.cubin import demangled
from ..formats.kinds import LINKABLE_SUFFIXES, binary_kind

__all__ = ["KIND_LABELS", "InputKind", "LinkInput", "link_input_of"]


InputKind = Literal["cuda", "ptx", "ltoir", "cubin", "fatbin", "object", "library", "module"]
"""Kind of a link input: CUDA C++ text, PTX text, LTO-IR, machine code, a fatbin, a host object with device code, an
archive of such objects, or another package's module (its relocatable images are linked)."""

KIND_LABELS: dict[InputKind, str] = {
    "cuda": "CUDA C++",
    "ptx": "PTX",
    "ltoir": "LTO-IR",
    "cubin": "a cubin",
    "fatbin": "a fatbin",
    "object": "an object file",
    "library": "an archive",
    "module": "a module",
}
"""Kind of a link input -> its name in error messages: "ltoir" -> "LTO-IR"."""


class LinkInput(NamedTuple):
    """A piece: one value to link. `name` is for messages; a module has only its dotted name, and no content."""

    kind: InputKind
    name: str
    content: bytes
    folder: str | None = None
    """Folder in which NVRTC looks for headers first, if this input is CUDA C++ from a file; else None."""
    variant: Variant = ()
    """Macros of the variant to link, if the piece (this input) is a module with variants; else ()."""


_SUFFIXES: dict[str, InputKind] = {".cu": "cuda", ".cuh": "cuda", **LINKABLE_SUFFIXES}

_SUFFIX_OF: dict[InputKind, str] = {
    "cuda": "cu",
    "ptx": "ptx",
    "ltoir": "ltoir",
    "cubin": "cubin",
    "fatbin": "fatbin",
    "object": "o",
    "library": "a",
}
"""Kind of a piece (a value to link) -> file suffix in the piece's default name: "library" -> "a" for "piece.a"."""

_ACCEPTED = (
    "a piece is CUDA C++ or PTX text; LTO-IR, a cubin, a fatbin, an object or an archive as bytes; a path of one; the "
    "dotted name of a module; a cuda.core.ObjectCode; or what numba.cuda.compile returns"
)

_PTX = re.compile(r"^[ \t]*\.version\s+\d+\.\d+", re.MULTILINE)

_COMMENTS = re.compile(r"/\*.*?(?:\*/|\Z)|//[^\n]*", re.DOTALL)


def link_input_of(value: Any) -> LinkInput:
    """Return a value as a piece, with its file's content if it is a path.

    Raises ImageError if the value cannot be linked, or if its file is empty or cannot be read.
    """
    if isinstance(value, LinkInput):
        return _checked(value)
    if isinstance(value, tuple):  # from numba.cuda.compile: the code, and the return type of the function
        if len(value) == 2 and isinstance(value[0], str | bytes | bytearray):
            return _from_content(value[0], _name_of_numba_code(value[0]))
        raise ImageError(f"cannot link a tuple of {len(value)}: {_ACCEPTED}")
    if isinstance(value, os.PathLike):
        return _from_path(os.fsdecode(value))
    if isinstance(value, str):
        return _from_string(value)
    if isinstance(value, bytes | bytearray | memoryview):
        return _from_content(bytes(value), None)
    if hasattr(value, "code") and hasattr(value, "code_type"):
        return _from_object_code(value)
    raise ImageError(f"cannot link {type(value).__name__}: {_ACCEPTED}")


def _from_string(text: str) -> LinkInput:
    """Return the piece (a value to link) that `text` means. `text`: a path, a module's dotted name, PTX text or CUDA
    C++ text."""
    stripped = text.strip().strip("\0")
    if not stripped:
        raise ImageError(f"cannot link an empty string: {_ACCEPTED}")
    if "\n" in stripped:
        return _from_content(text, None)
    if os.path.isfile(stripped):
        return _from_path(stripped)
    if not re.search(r"[{};#]", stripped):  # a program on one line has one of these
        dotted = "." in stripped and all(part.isidentifier() for part in stripped.split("."))
        if os.path.splitext(stripped)[1].lower() in _SUFFIXES and not (dotted and _is_package(stripped)):
            return _from_path(stripped)  # raises the error that the file does not exist
        if dotted:
            return LinkInput("module", stripped, b"")
        raise ImageError(
            f"{stripped!r} is not a program, a file with a known suffix ({' '.join(_SUFFIXES)}) or a module's dotted "
            f"name: {_ACCEPTED}"
        )
    return _from_content(text, None)


def _is_package(name: str) -> bool:
    """Return whether a dotted name begins with an installed package. If so, "demo.kernels.a" means a module of `demo`.
    If not, it means a file with the suffix ".a"."""
    from importlib.util import find_spec  # few names need it, and it imports much

    try:
        spec = find_spec(name.partition(".")[0])
    except (ImportError, ValueError):  # a module without a spec
        return False
    return spec is not None and spec.submodule_search_locations is not None


def _from_path(path: str) -> LinkInput:
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
    kind = _SUFFIXES.get(os.path.splitext(name)[1].lower()) or _kind_of(content, name)
    return _checked(LinkInput(kind, name, content, os.path.dirname(os.path.abspath(path)) if kind == "cuda" else None))


def _from_content(content: str | bytes | bytearray, name: str | None) -> LinkInput:
    data = content.encode(errors="surrogatepass") if isinstance(content, str) else bytes(content)
    kind = _kind_of(data, name or "a piece")
    return _checked(LinkInput(kind, name or f"piece.{_SUFFIX_OF[kind]}", data))


def _from_object_code(value: Any) -> LinkInput:
    """Return a piece (a value to link) from `value`, a cuda.core.ObjectCode. `value.code` is the content as bytes, or
    the path of a file. Raise ImageError if an ObjectCode of this type cannot be linked. Source: cuda.core,
    `ObjectCode`."""
    kind, code, name = str(value.code_type), value.code, getattr(value, "name", "")
    if kind not in get_args(InputKind) or kind in ("cuda", "module"):
        raise ImageError(f"an ObjectCode of type {kind!r} cannot be linked: {_ACCEPTED}")
    if isinstance(code, str | os.PathLike):
        piece = _from_path(os.fsdecode(code))
        return _checked(piece._replace(kind=kind, name=os.path.basename(name) or piece.name))  # type: ignore[arg-type]
    return _checked(LinkInput(kind, os.path.basename(name) or f"object.{_SUFFIX_OF[kind]}", bytes(code)))  # type: ignore[arg-type,index]


def _kind_of(content: bytes, name: str) -> InputKind:
    """Return the kind of `content`. Text is "ptx" or "cuda"; for a binary, the first bytes decide.

    Raise ImageError if `content` is empty or of no known kind. The error message begins with `name`: "a.cu to link is
    empty".
    """
    if not content.strip(b"\0 \t\r\n"):
        raise ImageError(f"{name} to link is empty")
    kind = binary_kind(content)
    if kind is not None:
        return kind
    try:
        text = content.rstrip(b"\0").decode()
    except UnicodeDecodeError:
        text = "\0"
    if "\0" in text:
        raise ImageError(f"{name} to link begins with {content[:8]!r}, which no kind does: {_ACCEPTED}")
    return "ptx" if _PTX.search(_COMMENTS.sub(" ", text)) else "cuda"


def _checked(piece: LinkInput) -> LinkInput:
    """Return a piece (a value to link) with the last part of its path as its name, and without NULs at the end of text.
    A module is returned unchanged. Raise ImageError if the content is not of the kind `piece.kind`."""
    if piece.kind not in get_args(InputKind):
        kinds = ", ".join(get_args(InputKind))
        raise ImageError(f"{piece.name} is of kind {piece.kind!r}; the kinds of pieces are {kinds}")
    if piece.kind == "module":
        return piece
    found = _kind_of(piece.content, piece.name)
    if found != piece.kind and not (piece.kind in ("object", "library") and found in ("object", "library")):
        raise ImageError(
            f"{piece.name} to link should be {KIND_LABELS[piece.kind]}, but is {KIND_LABELS[found]}: it begins with "
            f"{piece.content[:8]!r}"
        )
    content = piece.content.rstrip(b"\0") if piece.kind in ("cuda", "ptx") else piece.content
    return piece._replace(name=os.path.basename(piece.name) or piece.name, content=content)


def _name_of_numba_code(code: str | bytes | bytearray) -> str | None:
    """Return a name for the code that numba.cuda.compile returned: "FUNCTION.ptx" for PTX; None for LTO-IR, or if PTX
    has no visible function."""
    if isinstance(code, str):
        match = re.search(r"\.visible\s+\.func\s+(?:\([^()]*\)\s*)?([\w$]+)", code)
        if match:
            return f"{demangled(match[1])}.ptx"
    return None
