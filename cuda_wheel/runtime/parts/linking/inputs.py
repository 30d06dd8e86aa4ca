"""Recognise what users pass to be linked or loaded, and represent it as a `Piece`. Needs no GPU and no compiler.

Load machine code, PTX or a fatbin without a manifest; its kernels come from the driver or from the code itself.
"""

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal, NamedTuple, get_args

from ... import registry
from ...digest import sha256_of
from ...driver import check_result, cuda_driver, device_and_driver, device_with_context, load_library
from ...errors import DriverError, ImageError
from ...jit import JitOptions, floating_point, load_compiled, load_ptx
from ...loading import try_to_load
from ...manifest import GlobalInfo, Image, KernelInfo, Manifest, Parameter, Space, Target, Variant, Version, dotted
from ...module import Module
from ...rules import How, doubt, unsupported
from ..formats import ptx
from ..formats.cubin import check_cubin, demangled
from ..formats.fatbin import whole_fatbin
from ..formats.kinds import LINKABLE_SUFFIXES, binary_kind

__all__ = ["KIND_LABELS", "Piece", "PieceKind", "kernels_of_library", "load_code", "piece_of"]


PieceKind = Literal["cuda", "ptx", "ltoir", "cubin", "fatbin", "object", "library", "module"]
"""CUDA C++ text, PTX text, LTO-IR, machine code, a fatbin, a host object or an archive of host objects with device code
in them, and another package's module, whose relocatable images are linked."""

KIND_LABELS: dict[PieceKind, str] = {
    "cuda": "CUDA C++",
    "ptx": "PTX",
    "ltoir": "LTO-IR",
    "cubin": "a cubin",
    "fatbin": "a fatbin",
    "object": "an object file",
    "library": "an archive",
    "module": "a module",
}
"""What messages call the kinds."""


class Piece(NamedTuple):
    """Something to link: its kind, a name for messages, and its bytes. A module has a name only."""

    kind: PieceKind
    name: str
    content: bytes
    folder: str | None = None
    """Where CUDA C++ looks for headers first; None for a text without a file."""
    variant: Variant = ()
    """The macros of the variant to link, of a module with variants."""


_SUFFIXES: dict[str, PieceKind] = {".cu": "cuda", ".cuh": "cuda", **LINKABLE_SUFFIXES}

_SUFFIX_OF: dict[PieceKind, str] = {
    "cuda": "cu",
    "ptx": "ptx",
    "ltoir": "ltoir",
    "cubin": "cubin",
    "fatbin": "fatbin",
    "object": "o",
    "library": "a",
}
"""The suffix in the name of a piece that has no name of its own."""

_ACCEPTED = (
    "a piece is CUDA C++ or PTX text; LTO-IR, a cubin, a fatbin, an object or an archive as bytes; a path of one; the "
    "dotted name of a module; a cuda.core.ObjectCode; or what numba.cuda.compile returns"
)

_PTX = re.compile(r"^[ \t]*\.version\s+\d+\.\d+", re.MULTILINE)

_COMMENTS = re.compile(r"/\*.*?(?:\*/|\Z)|//[^\n]*", re.DOTALL)


def piece_of(value: Any) -> Piece:
    """Return the piece that a value is, after reading its file if it is a path.

    Raises ImageError where it cannot be a piece, or where its file cannot be read or is empty.
    """
    if isinstance(value, Piece):
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


def _from_string(text: str) -> Piece:
    """Return the piece of a string: a path by its suffix, a module's dotted name, PTX or CUDA C++."""
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
            return Piece("module", stripped, b"")
        raise ImageError(
            f"{stripped!r} is not a program, a file with a known suffix ({' '.join(_SUFFIXES)}) or a module's dotted "
            f"name: {_ACCEPTED}"
        )
    return _from_content(text, None)


def _is_package(name: str) -> bool:
    """Return whether a dotted name begins with an installed package: "demo.kernels.lib" may be a module or a file."""
    from importlib.util import find_spec  # few names need it, and it imports much

    try:
        spec = find_spec(name.partition(".")[0])
    except (ImportError, ValueError):  # a module without a spec
        return False
    return spec is not None and spec.submodule_search_locations is not None


def _from_path(path: str) -> Piece:
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
    return _checked(Piece(kind, name, content, os.path.dirname(os.path.abspath(path)) if kind == "cuda" else None))


def _from_content(content: str | bytes | bytearray, name: str | None) -> Piece:
    data = content.encode(errors="surrogatepass") if isinstance(content, str) else bytes(content)
    kind = _kind_of(data, name or "a piece")
    return _checked(Piece(kind, name or f"piece.{_SUFFIX_OF[kind]}", data))


def _from_object_code(value: Any) -> Piece:
    """Return the piece of a cuda.core.ObjectCode. Source: cuda.core, `ObjectCode`: `code` is bytes or a path."""
    kind, code, name = str(value.code_type), value.code, getattr(value, "name", "")
    if kind not in get_args(PieceKind) or kind in ("cuda", "module"):
        raise ImageError(f"an ObjectCode of type {kind!r} cannot be linked: {_ACCEPTED}")
    if isinstance(code, str | os.PathLike):
        piece = _from_path(os.fsdecode(code))
        return _checked(piece._replace(kind=kind, name=os.path.basename(name) or piece.name))  # type: ignore[arg-type]
    return _checked(Piece(kind, os.path.basename(name) or f"object.{_SUFFIX_OF[kind]}", bytes(code)))  # type: ignore[arg-type,index]


def _kind_of(content: bytes, name: str) -> PieceKind:
    """Return the kind of binary that the first bytes tell, or the kind of text."""
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


def _checked(piece: Piece) -> Piece:
    """Return the piece, a text without its final NUL; raise ImageError where its content is of another kind."""
    if piece.kind not in get_args(PieceKind):
        kinds = ", ".join(get_args(PieceKind))
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
    """Return a name for what numba.cuda.compile returned: that of the function in PTX, None for LTO-IR."""
    if isinstance(code, str):
        match = re.search(r"\.visible\s+\.func\s+(?:\([^()]*\)\s*)?([\w$]+)", code)
        if match:
            return f"{demangled(match[1])}.ptx"
    return None


ENUMERATES = (12, 4)
"""The first CUDA release whose driver lists a library's kernels and their parameters. Source: CUDA Driver API,
cuLibraryEnumerateKernels and cuKernelGetParamInfo, in the release notes of 12.4."""


def load_code(
    code: Any,
    *,
    device: int | None = None,
    jit: JitOptions = JitOptions(),  # noqa: B008 - immutable
) -> Module:
    """Return the module of a cubin, PTX or a fatbin: bytes, PTX text, or the path of a file.

    The GPU is number `device`, else the current context's, else number 0. A kernel's name is its C++ name, if that can
    be read from its symbol, or the symbol. PTX has the types of the parameters; machine code has only their sizes, so a
    parameter takes any number of that size. The driver compiles PTX; `Module.jit` describes the compilation.
    `JitOptions.floating_point` decides whether it may contract products and sums; machine code and fatbins take no such
    option.

    The kernels of a fatbin come from the driver, which must be for CUDA 12.4 or later, in the current context. If there
    is none, GPU 0's primary context becomes current.

    Raises ImageError for other code, and for code that is damaged or for another GPU; DriverError if the driver is too
    old for the fatbin or cannot compile the PTX: the message then holds the compiler's log.
    """
    jit.check()
    piece = piece_of(code)
    if piece.kind not in ("cubin", "ptx", "fatbin"):
        what = KIND_LABELS[piece.kind]
        raise ImageError(
            f"{piece.name} is {what}, not a cubin, PTX or a fatbin: link([...]) turns it into machine code"
        )
    if jit.floating_point is not None and piece.kind != "ptx":
        raise ImageError(
            f"{piece.name} is {KIND_LABELS[piece.kind]}, which keeps the floating-point options that it was compiled "
            "with: leave JitOptions.floating_point out"
        )
    capability, driver = device_and_driver(device)
    digest = sha256_of(piece.content)
    if piece.kind == "ptx":
        return registry.once(("code", piece.name, digest, jit), lambda: _of_ptx(piece, digest, capability, driver, jit))
    if piece.kind == "cubin":
        # One GPU may refuse what another accepts.
        key = ("code", piece.name, digest, capability)
        return registry.once(key, lambda: _of_cubin(piece, digest, capability, driver, device))
    if driver < ENUMERATES:
        raise DriverError(
            f"the driver is for CUDA {dotted(driver)}, and only drivers for {dotted(ENUMERATES)} or later list the "
            "kernels of a fatbin: update it, or load PTX or a cubin"
        )
    return registry.once(("code", piece.name, digest, jit), lambda: _of_fatbin(piece, digest, capability, driver, jit))


def _of_ptx(piece: Piece, digest: str, capability: Version, driver: Version, jit: JitOptions) -> Module:
    text = ptx.plain(piece.content.decode(errors="replace"))
    try:
        version, target = ptx.version(text), Target.parse(f"compute_{ptx.target(text)}")
    except ValueError as error:
        raise ImageError(f"{piece.name} is damaged PTX: {error}") from None
    reason = unsupported(target, capability)
    if reason:
        raise ImageError(f"{piece.name} {reason}")
    kernels = [KernelInfo(demangled(symbol), symbol, parameters) for symbol, parameters in ptx.kernels(text).items()]
    image = _image(piece, digest, target, driver, version)
    manifest = _manifest(piece, kernels, ptx.variables(text))
    if not floating_point(jit.floating_point or ()).assembler_fma:
        text = ptx.without_contraction(piece.content.decode(errors="surrogateescape"))
        piece = piece._replace(content=text.encode(errors="surrogateescape"))
    return load_ptx(manifest, image, piece.content + b"\0", jit)


def _of_cubin(piece: Piece, digest: str, capability: Version, driver: Version, device: int | None) -> Module:
    try:
        cubin = check_cubin(piece.content)
    except ValueError as error:
        raise ImageError(f"{piece.name} is a damaged cubin: {error}") from None
    target = Target(*divmod(cubin.arch, 10), "", True)
    reason = unsupported(target, capability)
    if reason:
        raise ImageError(f"{piece.name} {reason}")
    kernels = [KernelInfo(demangled(symbol), symbol, entry.parameters) for symbol, entry in cubin.kernels.items()]
    manifest = _manifest(piece, kernels, cubin.variables)
    image = _image(piece, digest, target, driver, None)

    def load_cubin() -> Module:
        return Module(manifest, image, "native", load_library(piece.content, f"loading {piece.name}"))

    unsure = doubt(target, capability)
    return try_to_load(load_cubin, f"{piece.name} is {unsure}", device) if unsure else load_cubin()


def _of_fatbin(piece: Piece, digest: str, capability: Version, driver: Version, jit: JitOptions) -> Module:
    """Return the module of a fatbin; the driver chooses machine code in it, or compiles its PTX."""
    if not whole_fatbin(piece.content):
        raise ImageError(f"{piece.name} is a damaged fatbin: it is cut short")
    handle, kernels, compiled = load_compiled(piece.content, f"loading {piece.name}", jit, kernels_of_library)
    how: How = "jit" if compiled.log else "native"
    image = _image(piece, digest, Target(*capability, "", how == "native"), driver, None)
    return Module(_manifest(piece, kernels, {}), image, how, handle, compiled if how == "jit" else None)


def kernels_of_library(handle: int) -> list[KernelInfo]:
    """Return the kernels of a loaded library as the driver lists them, with offset and size of their parameters.

    Raises DriverError.
    """
    driver = cuda_driver()
    device_with_context()  # without a context, the driver lists no parameters
    try:
        count = check_result(driver.cuLibraryGetKernelCount(handle), "counting kernels")
        kernels = check_result(driver.cuLibraryEnumerateKernels(count, handle), "listing kernels") if count else []
        found = []
        for kernel in kernels:
            name: bytes = check_result(driver.cuKernelGetName(kernel), "getting a kernel's name")
            symbol = name.decode(errors="replace")
            found.append(KernelInfo(demangled(symbol), symbol, tuple(_parameters(kernel))))
    except RuntimeError as error:  # cuda.bindings does not find the function in the driver
        raise DriverError(f"the driver cannot list the kernels of a library: {error}") from error
    return found


def _parameters(kernel: Any) -> Iterator[Parameter]:
    driver = cuda_driver()
    index = 0
    while True:
        result = driver.cuKernelGetParamInfo(kernel, index)
        if int(result[0]) == int(driver.CUresult.CUDA_ERROR_INVALID_VALUE):  # after the last parameter
            return
        check_result(result, "getting a kernel's parameters")
        _, offset, size = result
        # "b8" with more than one byte is a struct; with one byte it is a number.
        yield Parameter(f"b{8 * size}" if size in (2, 4, 8) else "b8", offset, size)
        index += 1


def _image(piece: Piece, digest: str, target: Target, driver: Version, version: Version | None) -> Image:
    kind: Literal["cubin", "ptx"] = "cubin" if target.real else "ptx"
    return Image(kind, target, version, version, driver, None, len(piece.content), digest, {})


def _manifest(piece: Piece, kernels: Sequence[KernelInfo], variables: Mapping[str, tuple[Space, int]]) -> Manifest:
    """Return a manifest with what is known of the code."""
    infos = (GlobalInfo(demangled(symbol), symbol, space, size) for symbol, (space, size) in variables.items())
    return Manifest(
        name=piece.name,
        fatbin=piece.name,
        fatbin_size=len(piece.content),
        fatbin_sha256="",
        toolchain={},
        sources=(piece.name,),
        options=(),
        images=(),
        kernels=tuple(kernels),
        globals=tuple(infos),
    )
