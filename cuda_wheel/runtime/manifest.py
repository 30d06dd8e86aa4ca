"""Describe a module: targets, images, kernels and variables, and read them from the manifest in a wheel.

Importing this file needs the standard library only. It needs no GPU.

Versions of CUDA, drivers and the PTX ISA, and of the manifest format.

Describe the structs that kernels take, and read them from a manifest.

The manifest of a module with many kernels: the kernels are in blocks, so that a program reads those it asks for.

The text is one JSON object, in lines: the format and the SHA-256 of the second line; the rest of the manifest, with the
sizes and SHA-256 of the blocks; then one line for each block. A block is a list of kernels, each with its place among
all kernels ("index") and its resources in each image. A kernel is in the block that the hash of its short name tells.
"""

import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from math import prod
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeVar, overload

from .digest import sha256_of
from .errors import ImageError, UnknownVariantError

if TYPE_CHECKING:
    from .parts.variants import Variant
__all__ = [
    "BLOCK",
    "FORMAT",
    "LARGEST",
    "MANIFEST_SUFFIX",
    "PARAMETERS",
    "START",
    "Blocks",
    "Carried",
    "Compression",
    "External",
    "Field",
    "GlobalInfo",
    "Image",
    "KernelInfo",
    "Kind",
    "Manifest",
    "Parameter",
    "Space",
    "Struct",
    "Target",
    "Version",
    "carried_of",
    "check_digest",
    "dotted",
    "folded",
    "head_of",
    "is_intact",
    "kernel_of",
    "manifest_of",
    "parse_version",
    "printable",
    "read_checked",
    "read_document",
    "read_manifest",
    "structs_in",
    "structs_of",
    "unfolded",
    "unscoped",
    "without_spaces",
]


FORMAT = 3
"""The newest manifest format that this version reads and writes: 1 is plain, 2 has variants, 3 blocks of kernels."""

Version = tuple[int, int]
"""(major, minor)"""


def parse_version(text: str, what: str = "version") -> Version:
    """Return (major, minor) of a dotted version such as "12.2"; later parts are ignored.

    Raises ValueError if `text` has another form.
    """
    major, _, rest = text.partition(".")
    minor = rest.partition(".")[0]
    # isdigit() is false for the empty string.
    if not (major.isdigit() and minor.isdigit() and text.isascii() and len(major) < 6 and len(minor) < 6):
        raise ValueError(f"{what} {text!r} does not have the form MAJOR.MINOR")
    return int(major), int(minor)


def dotted(version: Version) -> str:
    """Return a version as text: "12.2"."""
    return f"{version[0]}.{version[1]}"


MOST_FIELDS = 32_764
"""The most fields that a struct may have, with those of its structs: as many as a kernel's parameters have bytes."""


class Field(NamedTuple):
    """A field of a struct: its name, its type, its offset in bytes and, for an array, the length of each dimension.

    The type is NumPy's of a number, without the byte order ("f4", "u8" for a pointer), or the C++ name of a struct.
    """

    name: str
    type: str
    offset: int
    shape: tuple[int, ...] = ()
    struct: "Struct | None" = None
    """The struct, if the type is one."""


class Struct(NamedTuple):
    """A struct: its C++ name, its size in bytes and its fields; those of its bases are its own. Fields of a union
    overlap."""

    name: str
    size: int
    fields: tuple[Field, ...]


def structs_of(
    items: dict[str, Any],
    printable: Callable[[object], str],
    count_of: Callable[[object, int], int],
    list_of: Callable[[Callable[[Any], Any], object], tuple[Any, ...]],
) -> dict[str, Struct]:
    """Return a manifest's structs by their keys. A struct that contains itself is a KeyError.

    The readers of names, of numbers with their least value, and of lists are those of `manifest`, which imports this
    file. They raise what `manifest.read_document` expects.
    """
    found: dict[str, Struct] = {}
    counts: dict[str, int] = {}

    def struct_of(key: str) -> Struct:
        if key not in found:
            item = items.pop(key)
            name, size = printable(item["name"]), count_of(item["size"], 1)
            found[key] = Struct(name, size, list_of(lambda each: field_of(each, size), item["fields"]))
            counts[key] = sum(counts[each["struct"]] if "struct" in each else 1 for each in item["fields"])
            if counts[key] > MOST_FIELDS:  # whoever expands them would need too long
                raise ValueError(f"the struct {name} has {counts[key]} fields with those of its structs")
        return found[key]

    def field_of(item: dict[str, Any], size: int) -> Field:
        struct = struct_of(item["struct"]) if "struct" in item else None
        type_ = _number_type(item["type"]) if struct is None else struct.name
        shape = list_of(lambda count: count_of(count, 1), item.get("shape", []))
        if len(shape) > 32:  # NumPy's limit
            raise ValueError(f"a field has {len(shape)} dimensions")
        field = Field(printable(item["name"]), type_, count_of(item["offset"], 0), shape, struct)
        end = field.offset + (struct.size if struct else int(type_[1:] or 1)) * prod(shape)
        if end > size:
            raise ValueError(f"the field {field.name} ends at {end} in a struct of {size} bytes")
        return field

    while items:
        struct_of(next(iter(items)))
    return found


def _number_type(value: object) -> str:
    if value not in ("?", "f2", "f4", "f8", *(f"{sign}{size}" for sign in "iu" for size in "1248")):
        raise ValueError(f"{value!r} is not the type of a field")
    return str(value)


MANIFEST_SUFFIX = ".fatbin.json"

LARGEST = 64 << 20
"""The most bytes that a manifest may have. A kernel with seven targets takes about 2,000."""

PARAMETERS = 32_764
"""The most bytes that a kernel's parameters may take. Source: CUDA C++ Programming Guide, "__global__ Function
Parameters"."""

Kind = Literal["cubin", "ptx", "ltoir"]
"""Machine code, PTX text, or the compiler's intermediate code for link-time optimisation (LTO-IR)."""

Space = Literal["global", "constant", "managed"]

Compression = Literal["none", "lz4", "zstd"]
"""How the images in a fatbin are compressed."""

T = TypeVar("T")


# The records are NamedTuples instead of dataclasses, and annotations are not postponed: both would cost milliseconds at
# import, between the start of a process and its first kernel.


class Target(NamedTuple):
    """What an image is compiled for: `sm_90a` (real: machine code) or `compute_75` (virtual: PTX).

    `suffix` is "" (portable), "f" (one family) or "a" (one compute capability).
    """

    major: int
    minor: int
    suffix: str
    real: bool

    @classmethod
    def parse(cls, text: str) -> "Target":
        """Return the target named by `text` ("sm_86", "compute_100f"); raises ValueError for another form."""
        prefix, _, number = text.partition("_")
        suffix = number[-1:] if number[-1:] in ("a", "f") else ""
        digits = number.removesuffix(suffix)
        if prefix not in ("sm", "compute") or not (
            digits.isascii() and digits.isdigit() and 1 < len(digits) < 6 and digits[0] != "0"
        ):
            raise ValueError(f"{text!r} is not a target such as sm_90 or compute_90")
        return cls(int(digits[:-1]), int(digits[-1]), suffix, prefix == "sm")

    @property
    def arch(self) -> str:
        """The number and suffix without the prefix: "90a"."""
        return f"{self.major}{self.minor}{self.suffix}"

    @property
    def capability(self) -> Version:
        return self.major, self.minor

    def __str__(self) -> str:
        return ("sm_" if self.real else "compute_") + self.arch


class Image(NamedTuple):
    """One compiled form of a module, or of one source of a module that is still to be linked.

    Sizes and offsets are in bytes.
    """

    kind: Kind
    target: Target
    ptx_version: Version | None
    """The PTX ISA version in the text; None if the image is not PTX."""
    ptx_version_compiled: Version | None
    """The PTX ISA version that the compiler wrote, before lowering; None if the image is not PTX."""
    driver: Version
    """The first CUDA release whose driver reads the image, compressed as it is, or for LTO-IR the cubin linked from
    it."""
    offset: int | None
    """Where the image starts in the fatbin; None in a compressed fatbin, whose images cannot be cut out."""
    size: int
    sha256: str
    resources: Mapping[str, Mapping[str, int]]
    """By kernel symbol: "max_threads" per block, "min_blocks" per multiprocessor and "cluster_blocks", if the source
    sets these bounds; for machine code also what the assembler reported: "registers" per thread, and bytes of "shared"
    and "local" memory, "spill_stores" and "spill_loads", and the module's "constant" memory."""
    source: str | None = None
    """The source of a relocatable image, which must be linked; None if the image can be loaded."""

    def __str__(self) -> str:
        version = "" if self.ptx_version is None else f" (PTX {dotted(self.ptx_version)})"
        return f"{self.kind} {self.target}{version}" + (f" of {self.source}" if self.source else "")


class Parameter(NamedTuple):
    """One kernel parameter: its PTX type ("u64", "f32", "b8" for a struct), its offset and size in bytes, and its C++
    type ("const float*"; "void*" for a pointer to an unknown type, "" if nothing is known).

    The C++ type comes from the kernel's symbol. The symbol of an `extern "C"` kernel has no types; the type is then
    what the source text or the compiler says, and a name that the project defines may lack its namespace ("Pair*").
    """

    type: str
    offset: int
    size: int
    cpp: str = ""
    name: str = ""
    """As in the source; "" if it has none or it is not known."""
    struct: "Struct | None" = None
    """The fields of a struct; None for other types, and for a struct whose fields are not known."""

    @property
    def dtype(self) -> Any:
        """The NumPy dtype of the argument, with the struct's fields and padding; None if the type is not known.

        The dtype of a pointer is that of an address, uint64. Raises ImportError without NumPy.
        """
        from .parts.structs import dtype  # only for programs that ask

        return dtype(self)

    @property
    def cpp_or_ptx_type(self) -> str:
        """The C++ type if it is known, else the PTX type (".f32"), or a struct's size ("16 bytes")."""
        is_unknown_struct = self.type == "b8" and not self.cpp
        return f"{self.size} bytes" if is_unknown_struct else self.cpp or f".{self.type}"


class KernelInfo(NamedTuple):
    """A kernel in the manifest: its C++ name or name expression, its symbol in the images, and its parameters."""

    name: str
    symbol: str
    parameters: tuple[Parameter, ...]
    absent: tuple[str, ...] = ()
    """Targets of the images without this kernel ("sm_75"), if the project allows that."""

    @property
    def short_name(self) -> str:
        """The name without its scope and without spaces."""
        return without_spaces(unscoped(self.name))

    @property
    def parameter_list(self) -> str:
        """The types of the parameters, as in C++: "const float*, int"."""
        return ", ".join(parameter.cpp_or_ptx_type for parameter in self.parameters)


def unscoped(name: str) -> str:
    """Return the last part of a qualified name: "scale" for "ns::scale", "gemm<a::T>" for "ns::gemm<a::T>"."""
    plain, bracket, arguments = name.partition("<")
    return plain.rpartition("::")[2] + bracket + arguments


def without_spaces(name: str) -> str:
    """Return a name as it is compared: "gemm<float,16>" and "gemm<float, 16>" are the same."""
    return "".join(name.split())


class GlobalInfo(NamedTuple):
    """A variable in device memory: its C++ name, its symbol in the images, its memory space, and its size in bytes."""

    name: str
    symbol: str
    space: Space
    size: int


class External(NamedTuple):
    """A symbol that a module declares and whoever links it defines: its C++ name, its symbol, and its declaration, in
    C++, or in PTX if the C++ declaration is unknown ('extern "C" float user_transform(float x)')."""

    name: str
    symbol: str
    declaration: str


class Carried(NamedTuple):
    """Where the sources of a module are in its fatbin's file, in bytes; of size 0 in a source tree, which has them."""

    offset: int
    size: int
    sha256: str


class Manifest(NamedTuple):
    """All that the loader knows about a module before it opens the fatbin."""

    name: str
    fatbin: str
    """Name of the file with the fatbin, in the same folder as the manifest."""
    fatbin_size: int
    fatbin_sha256: str
    toolchain: Mapping[str, str]
    """Versions of the compilers: "nvrtc" (MAJOR.MINOR.BUILD), "nvjitlink" and "nvfatbin" (MAJOR.MINOR)."""
    sources: tuple[str, ...]
    options: tuple[str, ...]
    images: tuple[Image, ...]
    kernels: Sequence[KernelInfo]
    """A tuple; of a module with many kernels that is loaded, a sequence that reads them when they are asked for."""
    globals: tuple[GlobalInfo, ...] = ()
    """The `__device__`, `__constant__` and `__managed__` variables."""
    host_code: tuple[str, ...] = ()
    """The parts of the sources that were left out, one string each: "k.cu:12-40: function main"."""
    extern: tuple[External, ...] = ()
    """The symbols that the relocatable images need from elsewhere."""
    long_size: int | None = None
    """The bytes of a C++ `long` in the images: 8, or 4 if they were built on Windows; None if that is not known."""
    compression: Compression = "none"
    variant: "Variant" = ()
    """The macros that tell this variant of the module from the others; empty for a module without variants."""
    fatbin_offset: int = 0
    """Where the fatbin starts in its file, in bytes. A variant's fatbin comes after those of the variants before it."""
    specialize: Carried | None = None
    """The sources, if what was not foreseen may be compiled from them on the user's machine."""

    @property
    def full_name(self) -> str:
        """The name, and the macros of the variant: "demo.update[MATH_TYPE=double, NUM_MODES=4]"."""
        if not self.variant:
            return self.name
        from .parts.variants import full_name  # only for a module with variants

        return full_name(self.name, self.variant)

    @property
    def relocatable(self) -> tuple[Image, ...]:
        """The images that must be linked before they can be loaded."""
        return tuple(image for image in self.images if image.source is not None)

    @property
    def cuda(self) -> Version:
        """The CUDA release of the compiler."""
        return parse_version(self.toolchain["nvrtc"])

    def to_json(self) -> str:
        """Return the text of the manifest's file; equal manifests give equal text on every machine.

        The text contains its own SHA-256, computed with that field empty. For a variant, it is an index of that one.
        """
        from .manifest_text import manifests_to_json  # nothing that only loads writes a manifest

        return manifests_to_json([self])

    @classmethod
    def from_json(cls, text: str | bytes, where: str, check: bool = True) -> "Manifest":
        """Return the manifest that `text` holds, of a module without variants. `where` names its file in messages.

        Raises ImageError if the text is not a manifest in a format that this version reads or, unless `check` is
        False, if its SHA-256 differs from the one that it contains. Whoever changes a manifest on purpose can change
        that SHA-256 too, so every value is checked. Raises UnknownVariantError for an index of variants.
        """
        return read_manifest(text.encode(errors="surrogatepass") if isinstance(text, str) else text, where, check)[0]


# --- reading a manifest's JSON ----------------------------------------------------------------------
#
# One reader for each record. They raise ValueError, LookupError, TypeError or AttributeError for bad input, which
# read_document turns into one message.


def read_manifest(content: bytes, where: str, check: bool) -> tuple[Manifest, str]:
    """Return what `Manifest.from_json` returns, and a SHA-256 that other manifests do not have."""

    def read(document: dict[str, Any]) -> tuple[Manifest, str]:
        if "variants" in document:
            raise UnknownVariantError(f"{where} has variants: name the macros of one")
        manifest = manifest_of(document)
        check_digest(document, content, where, check)
        return manifest, document["sha256"] if check else sha256_of(content)

    return read_document(content, where, read)


def read_document(text: str | bytes, where: str, read: Callable[[dict[str, Any]], T]) -> T:
    """Return what `read` returns for the JSON object in a manifest; raises ImageError."""
    return read_checked(where, lambda: read(_parsed(text, where)))


def read_checked(where: str, read: Callable[[], T]) -> T:
    """Return what `read` returns; raises ImageError where the readers below find bad input."""
    try:
        return read()
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        reason = f"{type(error).__name__}: {error}"
        reason = reason if len(reason) < 300 else reason[:300] + "..."
        raise ImageError(f"{where} is not a cuda-wheel manifest: {reason}") from error


def _parsed(text: str | bytes, where: str) -> dict[str, Any]:
    if len(text) > LARGEST:
        raise ValueError(f"it has {len(text)} bytes, more than the {LARGEST} that a manifest may have")
    # Any encoding but UTF-8 is damage; json.loads would guess the encoding of bytes.
    document: dict[str, Any] = json.loads(text if isinstance(text, str) else text.decode())
    found_format = document["format"]
    if type(found_format) is not int or found_format < 1:
        raise ValueError(f"its format is {found_format!r}")
    if found_format > FORMAT:
        from .explanations import newer_format  # only for an error

        raise newer_format(where, found_format)
    if found_format < 3:
        return document

    return unfolded(document)


def check_digest(document: dict[str, Any], content: bytes, where: str, check: bool) -> None:
    """Raise ImageError if `check` and the SHA-256 in a manifest is not that of its content."""
    digest, intact = _sha256(document["sha256"]), not check
    if check and document["format"] < 3:
        intact = sha256_of(content.replace(digest.encode(), b"")) == digest
    elif check:
        intact = is_intact(content)
    if not intact:
        from .explanations import damaged_manifest  # only for an error

        raise damaged_manifest(where, printable(document["name"]))


def manifest_of(document: dict[str, Any]) -> Manifest:
    """Return the manifest in a JSON object, for `read_document`."""
    fatbin, structs = document["fatbin"], structs_in(document)
    toolchain = {printable(key): printable(value) for key, value in document["toolchain"].items()}
    parse_version(toolchain["nvrtc"])
    manifest = Manifest(
        name=printable(document["name"]),
        fatbin=_file_name(fatbin["file"]),
        fatbin_size=_count(fatbin["size"], 1),
        fatbin_sha256=_sha256(fatbin["sha256"]),
        toolchain=toolchain,
        sources=_list_of(printable, document["sources"]),
        options=_list_of(printable, document["options"]),
        host_code=_list_of(printable, document["host_code"]),
        images=_list_of(_image, document["images"]),
        kernels=_list_of(lambda item: kernel_of(item, structs), document["kernels"]),
        globals=_list_of(_variable, document["globals"]),
        extern=_list_of(_external, document["extern"]),
        long_size=_optional(_count, document.get("long_size")),
        specialize=_optional(carried_of, document.get("specialize")),
    )
    # Manifests without this key have no compression but zstd.
    is_compressed = any(image.offset is None for image in manifest.images)
    manifest = manifest._replace(compression=fatbin.get("compression", "zstd" if is_compressed else "none"))
    _check_images(manifest)
    for infos in (manifest.kernels, manifest.globals):
        _check_unique("symbol", [info.symbol for info in infos])
    return manifest


def carried_of(item: dict[str, Any]) -> Carried:
    return Carried(_count(item["offset"]), _count(item["size"]), _sha256(item["sha256"]))


def _image(item: dict[str, Any]) -> Image:
    kind: Kind = item["kind"]
    target = Target.parse(item["target"])
    if kind not in ("cubin", "ptx", "ltoir") or target.real != (kind == "cubin"):
        raise ValueError(f"a {kind!r} image cannot have the target {target}")
    ptx, compiled = (_optional(parse_version, item[key]) for key in ("ptx_version", "ptx_version_compiled"))
    driver, source = parse_version(item["driver"]), _optional(printable, item["source"])
    place = _optional(_count, item["offset"]), _count(item["size"], 1), _sha256(item["sha256"])
    image = Image(kind, target, ptx, compiled, driver, *place, _resources(item["resources"]), source)
    if (image.ptx_version is None) != (kind != "ptx"):
        raise ValueError(f"{image} has the PTX version {image.ptx_version}")
    if kind == "ltoir" and image.source is None:
        raise ValueError(f"{image} has no source, but LTO-IR must be linked")
    return image


def _resources(kernels: dict[str, dict[str, Any]]) -> Mapping[str, Mapping[str, int]]:
    for symbol, figures in kernels.items():
        printable(symbol)
        if not "".join(figures).isprintable():
            raise ValueError(f"{figures!r} has names that are not printable")
        for figure in figures.values():
            _count(figure)
    return kernels


def structs_in(document: Mapping[str, Any]) -> "Mapping[str, Struct]":
    if not document.get("structs"):
        return {}

    return structs_of(dict(document["structs"]), printable, _count, _list_of)


def kernel_of(item: dict[str, Any], structs: "Mapping[str, Struct]") -> KernelInfo:
    parameters = _list_of(lambda each: _parameter(each, structs), item["parameters"])
    end = 0
    for each in parameters:
        if not end <= each.offset <= each.offset + each.size <= PARAMETERS:
            raise ValueError(f"a parameter of {each.size} bytes starts at {each.offset}, the one before ends at {end}")
        end = each.offset + each.size
    absent = _list_of(printable, item["absent"])
    return KernelInfo(printable(item["name"]), _symbol(item["symbol"]), parameters, absent)


def _parameter(item: dict[str, Any], structs: "Mapping[str, Struct]") -> Parameter:
    parameter = Parameter(
        type=printable(item["type"]),
        offset=_count(item["offset"]),
        size=_count(item["size"], 1),
        cpp="" if item["cpp"] == "" else printable(item["cpp"]),
        name=printable(item["name"]) if "name" in item else "",
        struct=structs[item["struct"]] if "struct" in item else None,
    )
    if parameter.struct is not None and parameter.struct.size != parameter.size:
        raise ValueError(f"a parameter of {parameter.size} bytes is a struct of {parameter.struct.size}")
    return parameter


def _variable(item: dict[str, Any]) -> GlobalInfo:
    space: Space = item["space"]
    if space not in ("global", "constant", "managed"):
        raise ValueError(f"a variable has the memory space {space!r}")
    return GlobalInfo(printable(item["name"]), _symbol(item["symbol"]), space, _count(item["size"]))


def _external(item: dict[str, Any]) -> External:
    return External(printable(item["name"]), _symbol(item["symbol"]), printable(item["declaration"]))


def _list_of(read: Callable[[Any], T], value: object) -> tuple[T, ...]:
    if not isinstance(value, list):
        raise ValueError(f"{value!r} is not a list")
    return tuple(map(read, value))


def _optional(read: Callable[[Any], T], value: object) -> T | None:
    return None if value is None else read(value)


def printable(value: object) -> str:
    # Names go to terminals and to the driver: no control characters, no lone surrogates.
    if not isinstance(value, str) or not value or not value.isprintable():
        raise ValueError(f"{value!r} is not a printable string")
    return value


_SYMBOL_CHARACTERS = str.maketrans("$%.", "___")


def _symbol(value: object) -> str:
    """Return a symbol. Source: PTX ISA, "Identifiers"; other compilers write dots too."""
    text = printable(value)
    if not text.isascii() or not text.translate(_SYMBOL_CHARACTERS).isidentifier():
        raise ValueError(f"{value!r} is not a symbol")
    return text


def _file_name(value: object) -> str:
    text = printable(value)
    if text != os.path.basename(text) or "\\" in text or text in (".", ".."):
        raise ValueError(f"fatbin file {text!r} is not a file name without a folder")
    return text


def _sha256(value: object) -> str:
    if not isinstance(value, str) or len(value) != 64 or value.strip("0123456789abcdef"):
        raise ValueError(f"{value!r} is not a SHA-256")
    return value


def _count(value: object, least: int = 0) -> int:
    if type(value) is not int or not least <= value < 1 << 48:
        raise ValueError(f"{value!r} is not a size in bytes, or not of at least {least}")
    return value


def _check_images(manifest: Manifest) -> None:
    """Raise ValueError if the images cannot be those of one fatbin, or a kernel names an image that is not there."""
    images = manifest.images
    targets = {str(image.target) for image in images}
    _check_unique("image", [(image.kind, image.target, image.source) for image in images])
    for kernel in manifest.kernels:
        if not targets.issuperset(kernel.absent):
            raise ValueError(f"{kernel.name} is absent from {', '.join(kernel.absent)}, but not all are images here")
    places = {(image.offset, image.size, image.sha256) for image in images if image.offset is not None}
    if places and any(image.offset is None for image in images):
        raise ValueError("some images have an offset in the fatbin, others have none")
    if manifest.compression not in (("none",) if places or not images else ("lz4", "zstd")):
        raise ValueError(f"the compression of {len(places)} images with an offset is {manifest.compression!r}")
    end = 0
    for start, size, _ in sorted(places):  # images with the same bytes have the same place
        if start < end or start + size > manifest.fatbin_size:
            raise ValueError(
                f"an image of {size} bytes starts at {start}, where the one before ends at {end} and the fatbin at "
                f"{manifest.fatbin_size}"
            )
        end = start + size


def _check_unique(what: str, values: Sequence[object]) -> None:
    if len(set(values)) < len(values):
        repeated = next(each for each in values if values.count(each) > 1)
        raise ValueError(f"the {what} {repeated!r} appears twice")


BLOCK = 1 << 14
"""The usual size of a block, in bytes."""

START = '{"format": 3, "sha256": "'
"""What the text starts with."""

_MIDDLE = ', "blocks": ['


def folded(document: Mapping[str, Any], keys: Sequence[str], size: int) -> str | None:
    """Return the text of a manifest whose plain text has `size` bytes; None if its kernels cannot be told apart so.

    `document` is the manifest as a JSON object, without format and SHA-256; `keys` are its kernels' short names.
    """
    kernels = document["kernels"]
    names = set(keys)
    if any(item["symbol"] != key and item["symbol"] in names for item, key in zip(kernels, keys, strict=True)):
        return None  # one kernel's symbol is another's name: the symbol counts, and may be in another block
    symbols = {item["symbol"] for item in kernels}
    rows: list[list[Any]] = [[] for _ in range(-(-size // BLOCK))]
    for index, (item, key) in enumerate(zip(kernels, keys, strict=True)):
        resources = [image["resources"].get(item["symbol"]) for image in document["images"]]
        rows[_number(key, len(rows))].append(item | {"index": index, "resources": resources})
    lines = [_line(block) for block in rows]
    others = [
        image | {"resources": {key: value for key, value in image["resources"].items() if key not in symbols}}
        for image in document["images"]
    ]
    sizes = [[len(line.encode()), sha256_of(line.encode())] for line in lines]
    return _assembled(_line({**document, "kernels": len(kernels), "images": others, "blocks": sizes}), lines)


def _line(value: object) -> str:
    return json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"))


def _number(key: str, blocks: int) -> int:
    """Return the number of the block that has the kernels with a short name."""
    return int(sha256_of(key.encode(errors="surrogatepass"))[:12], 16) % blocks


def _assembled(head: str, blocks: Sequence[str]) -> str:
    digest = sha256_of(head.encode(errors="surrogatepass"))
    return f'{START}{digest}", "manifest":\n{head}\n{_MIDDLE}\n' + ",\n".join(blocks) + "\n]}\n"


def unfolded(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return the manifest as one JSON object with all kernels, from the object that the text is."""
    head, kernels = document["manifest"], [row for block in document["blocks"] for row in block]
    kernels.sort(key=lambda row: row["index"])
    if [row["index"] for row in kernels] != list(range(head["kernels"])):
        raise ValueError(f"it has {len(kernels)} kernels, not {head['kernels']}")
    images = [
        image | {"resources": _resources_manifest_blocks(image, kernels, at)} for at, image in enumerate(head["images"])
    ]
    return {**head, "format": document["format"], "sha256": document["sha256"], "kernels": kernels, "images": images}


def _resources_manifest_blocks(
    image: Mapping[str, Any], kernels: Sequence[Mapping[str, Any]], at: int
) -> dict[str, Any]:
    found = {row["symbol"]: row["resources"][at] for row in kernels if row["resources"][at] is not None}
    return {**image["resources"], **found}


def is_intact(content: bytes) -> bool:
    """Return whether every line has the SHA-256 that the text says."""
    text = content.decode()
    head, *lines = text.split("\n")[1:-2]
    blocks = [line.removesuffix(",") for line in lines[1:]]
    sizes = [[len(line.encode()), sha256_of(line.encode())] for line in blocks]
    return text == _assembled(head, blocks) and json.loads(head)["blocks"] == sizes


def head_of(start: bytes, check: bool) -> tuple[dict[str, Any], int, bool] | None:
    """Return the manifest without kernels, the place of the first block in bytes, and whether it is intact.

    `start` is the start of the text; the result is None if it ends before the first block. With `check` false, it is
    taken as intact.
    """
    parts = start.split(b"\n", 3)
    if len(parts) < 4:
        return None
    first, head, middle, _ = parts
    intact = not check or _assembled(head.decode(), []).encode().startswith(b"\n".join((first, head, middle)))
    return json.loads(head), len(first) + len(head) + len(middle) + 3, intact


class Blocks(Sequence[Any]):
    """The kernels of a manifest in blocks, which are read when they are asked for.

    `read` returns the bytes of the manifest's file from an offset on; `make` returns the kernel in a row of a block.
    Both raise ImageError; so does every use of the sequence.
    """

    def __init__(self, head: Mapping[str, Any], start: int, read: Any, make: Any) -> None:
        self._count = head["kernels"]
        self._places = []
        for size, digest in head["blocks"]:
            self._places.append((start, size, digest))
            start += size + 2  # ",\n"
        self._read = read
        self._make = make
        self._rows: dict[int, list[Any]] = {}
        self._kernels: dict[int, Any] = {}

    def near(self, key: str) -> list[Any]:
        """Return kernels among which are all that have a short name, or a full name with that short name."""
        return [self._kernel(row) for row in self._block(_number(key, len(self._places)))]

    def resources(self, image: Mapping[str, Any], at: int) -> dict[str, Any]:
        """Return the resources of all kernels in image number `at`, which is `image` in the manifest."""
        return _resources_manifest_blocks(image, self._all_rows(), at)

    def _block(self, number: int) -> list[Any]:
        if number not in self._rows:
            self._rows[number] = self._read(*self._places[number])
        return self._rows[number]

    def _all_rows(self) -> list[Any]:
        rows = [row for number in range(len(self._places)) for row in self._block(number)]
        return sorted(rows, key=lambda row: row["index"])

    def _kernel(self, row: Mapping[str, Any]) -> Any:
        index = row["index"]
        if index not in self._kernels:
            self._kernels[index] = self._make(row)
        return self._kernels[index]

    def __len__(self) -> int:
        return int(self._count)

    def __iter__(self) -> Iterator[Any]:
        return map(self._kernel, self._all_rows())

    @overload
    def __getitem__(self, index: int) -> Any: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Any, ...]: ...
    def __getitem__(self, index: int | slice) -> Any:
        return tuple(self)[index]
