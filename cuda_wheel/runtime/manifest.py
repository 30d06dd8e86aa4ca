"""Describe a module (targets, images, kernels, variables, structs, variants), and read the description from a manifest.

A manifest is one JSON object of UTF-8, in lines:

    {"format": 4, "cuda_wheel": "0.1.0", "size": 812, "sha256": "...", "module":
    {...}
    , "kernels": [
    [...],
    [...]
    ]}

- The first line has the format number, the version of cuda-wheel that wrote the file, the bytes of the second line, and
  the SHA-256 of the first three lines, computed with that value empty.
- The second line, the head, describes the module without its kernels: "blocks" has the size and SHA-256 of each line of
  kernels, and "variants" the variants. A module without variants is one with a single variant that has no macros. A
  variant has what differs from the other variants; what is the same for all stands once, beside "variants".
- Each other line, a block, is a list of kernels, with each one's place among the variant's kernels ("index") and its
  resources in each image. A variant with few kernels has one block. Of a variant with many, a kernel is in the block
  that the hash of its short name tells, so that a program reads only those that it asks for.

`docs/reference/manifest.schema.json` is the JSON schema; `cuda_wheel.builder.manifest_writer.text` writes manifests.
This file imports nothing that needs a GPU.
"""

import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from math import prod
from typing import Any, Literal, NamedTuple, TypeVar, overload

from .digest import sha256_of
from .errors import ImageError, UnknownVariantError

__all__ = [
    "FORMAT",
    "LARGEST",
    "MANIFEST_SUFFIX",
    "PARAMETERS",
    "RESERVED",
    "TABLE_SUFFIX",
    "Carried",
    "Compression",
    "External",
    "Field",
    "GlobalInfo",
    "Image",
    "KernelInfo",
    "Kernels",
    "Kind",
    "MacroValue",
    "Macros",
    "Manifest",
    "ManifestFile",
    "Parameter",
    "Space",
    "Struct",
    "Target",
    "Variant",
    "Version",
    "all_manifests",
    "block_number",
    "dotted",
    "full_name",
    "macro_text",
    "parse_version",
    "read_macros",
    "same_macros",
    "unscoped",
    "without_spaces",
]

FORMAT = 4
"""The number of the only manifest format that this version reads and writes."""

MANIFEST_SUFFIX = ".fatbin.json"

TABLE_SUFFIX = ".tuned.json"
"""The end of the name of a module's table of tuned choices, which begins with the module's."""

LARGEST = 64 << 20
"""The most bytes that a manifest may have. A kernel with seven targets takes about 1,000."""

PARAMETERS = 32_764
"""The most bytes that a kernel's parameters may take. Source: CUDA C++ Programming Guide, "__global__ Function
Parameters"."""

MOST_FIELDS = PARAMETERS
"""The most fields that a struct may have, with those of its structs: as many as a kernel's parameters have bytes."""

Kind = Literal["cubin", "ptx", "ltoir"]
"""Machine code, PTX text, or the compiler's intermediate code for link-time optimisation (LTO-IR)."""

Space = Literal["global", "constant", "managed"]

Compression = Literal["none", "lz4", "zstd"]
"""How the images in a fatbin are compressed."""

T = TypeVar("T")

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


MacroValue = str | int | float | bool
"""A macro's value as the project writes it. The compiler gets it as text, and a bool as 1 or 0."""

Variant = tuple[tuple[str, MacroValue], ...]
"""The macros of a variant: names and values, sorted by name."""

Macros = tuple[tuple[str, str], ...]
"""Macros as the compiler gets them, sorted by name. Equal macros mean the same variant."""

RESERVED = ("device", "jit", "link", "name")
"""The parameters of `load`, which no macro of a variant can be called."""


def macro_text(value: MacroValue) -> str:
    """Return a macro's value as the compiler gets it: "1" for True, "4" for 4 and for "4"."""
    return str(int(value)) if isinstance(value, bool) else str(value)


def full_name(name: str, variant: Variant) -> str:
    """Return a module's name, and the macros of its variant: "demo.update[MATH_TYPE=double, NUM_MODES=4]"."""
    return f"{name}[{', '.join(f'{macro}={macro_text(value)}' for macro, value in variant)}]" if variant else name


def same_macros(macros: Mapping[str, Any] | Variant) -> Macros:
    """Return macros in the form in which equal ones are equal."""
    pairs = macros.items() if isinstance(macros, Mapping) else macros
    return tuple(sorted((name, macro_text(value)) for name, value in pairs))


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
        from .parts.dtypes import dtype  # only for programs that ask

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
    variant: Variant = ()
    """The macros that tell this variant of the module from the others; empty for a module without variants."""
    fatbin_offset: int = 0
    """Where the fatbin starts in its file, in bytes. A variant's fatbin comes after those of the variants before it."""
    specialize: Carried | None = None
    """The sources, if what was not foreseen may be compiled from them on the user's machine."""

    @property
    def full_name(self) -> str:
        """The name, and the macros of the variant: "demo.update[MATH_TYPE=double, NUM_MODES=4]"."""
        return full_name(self.name, self.variant)

    @property
    def relocatable(self) -> tuple[Image, ...]:
        """The images that must be linked before they can be loaded."""
        return tuple(image for image in self.images if image.source is not None)

    @property
    def cuda(self) -> Version:
        """The CUDA release of the compiler."""
        return parse_version(self.toolchain["nvrtc"])

    @classmethod
    def from_json(cls, text: str | bytes, where: str, check: bool = True) -> "Manifest":
        """Return the manifest that `text` holds, of a module without variants. `where` names its file in messages.

        Raises ImageError if the text is not a manifest in this format or, unless `check` is False, if it is not what
        its SHA-256s say. Whoever changes a manifest on purpose can change those too, so every value is checked. Raises
        UnknownVariantError for a module with variants.
        """
        file = _file_of_text(text, where, check)
        if () not in file.variants:
            raise UnknownVariantError(f"{where} has variants: name the macros of one")
        return file.manifest((), whole=True)


# --- reading a manifest -----------------------------------------------------------------------------
#
# One reader for each record. They raise ValueError, LookupError, TypeError or AttributeError for bad input, which
# `_checked` turns into one message.

USUAL_SIZE = 1 << 16
"""Bytes that are read at once. Most manifests, and nearly all heads, have fewer."""

_START = f'{{"format": {FORMAT}, '.encode()
_MIDDLE = b'\n, "kernels": [\n'
_BETWEEN = b",\n"
_END = b"\n]}\n"


class ManifestFile:
    """A manifest's file: its head, which is read and checked at once, and its blocks, which are read when needed.

    `read` returns bytes of the file, from an offset on and up to a size; `where` names the file in messages. With
    `check`, the SHA-256 of all that is read is checked. Raises ImageError for a file that is no manifest in this format
    or is damaged; so do all methods.
    """

    name: str
    """The module's name."""
    digest: str
    """The SHA-256 of the file's head, which has those of all blocks: two manifests that differ have different ones."""
    variants: dict[Macros, dict[str, Any]]
    """What describes each variant, by its macros. A module without variants has one, without macros."""

    def __init__(self, read: Callable[[int, int], bytes], where: str, check: bool = True) -> None:
        self.where = where
        self._read = read
        self._check = check
        self._start = read(0, USUAL_SIZE)
        if not self._start.startswith(_START):
            raise _other_format(self._start, where)
        _checked(where, self._read_head)

    def _read_head(self) -> None:
        first = self._start.partition(b"\n")[0]
        line = json.loads(first.decode() + "null}")
        size, digest = _count(line["size"], 1), _sha256(line["sha256"])
        end = len(first) + 1 + size
        place = end + len(_MIDDLE)
        _check_size(place)
        if place > len(self._start):
            self._start = self._read(0, place)
        text = self._start[:place]
        if len(text) < place:
            raise ValueError(f"it ends after {len(text)} bytes, before its kernels")
        self.digest = sha256_of(text.replace(digest.encode(), b"", 1))
        if self._check and self.digest != digest:
            raise _damaged(self.where)
        if text[end:] != _MIDDLE:
            raise ValueError(f"its kernels do not start at {place}")
        head = json.loads(text[len(first) + 1 : end].decode())
        self._blocks = []
        for size, digest in head["blocks"]:
            self._blocks.append((place, _count(size, 1), _sha256(digest)))
            place += size + len(_BETWEEN)
        _check_size(place)
        self.name, self._head = printable(head["name"]), head
        self.variants = {same_macros(read_macros(record["macros"])): record for record in head["variants"]}
        if not self.variants or len(self.variants) < len(head["variants"]):
            raise ValueError("a variant appears twice, or there is none")

    def manifest(self, macros: Macros, whole: bool = False) -> Manifest:
        """Return the manifest of the variant with these macros.

        If there are many kernels, they are read when they are asked for, unless `whole`. Raises KeyError if there is no
        such variant.
        """
        record = self.variants[macros]
        return _checked(self.where, lambda: _manifest({**self._head, **record}, self, whole))

    def kernel_names(self) -> list[str] | None:
        """Return the names of the module's kernels; None if it has variants. Checks only what it reads."""
        if () not in self.variants:
            return None
        record = self.variants[()]
        return _checked(self.where, lambda: [printable(row["name"]) for row in self.rows(record["kernels"]["blocks"])])

    @property
    def specialize(self) -> Carried | None:
        """Where the module's sources are, if what was not foreseen may be compiled from them."""
        return _checked(self.where, lambda: _optional(_carried, self._head["specialize"]))

    def rows(self, numbers: Sequence[int]) -> list[dict[str, Any]]:
        """Return the kernels in the blocks with these numbers, as JSON objects, in their order."""
        found: list[dict[str, Any]] = []
        for number in numbers:
            place, size, digest = self._blocks[_count(number)]
            text = self._start[place : place + size]
            text = text if len(text) == size else self._read(place, size)
            if len(text) < size:
                raise ValueError(f"it ends after {place + len(text)} bytes, before the end of its kernels")
            if self._check and sha256_of(text) != digest:
                raise ImageError(
                    f"{self.where} is damaged, or was changed after it was loaded: {size} bytes from {place} on do not "
                    "have the SHA-256 that it contains. Start the program again; if that does not help, reinstall the "
                    "package."
                )
            found += json.loads(text.decode())
        return sorted(found, key=lambda row: int(row["index"])) if len(numbers) > 1 else found

    def check_end(self, text: bytes) -> None:
        """Raise ImageError if `text`, that of the whole file, has anything but blocks after the head."""
        places = [place + size for place, size, _ in self._blocks]
        if places and len(text) < places[-1] + len(_END):
            raise ImageError(f"{self.where} is not a cuda-wheel manifest: it ends after {len(text)} bytes")
        between = all(text[place : place + len(_BETWEEN)] == _BETWEEN for place in places[:-1])
        if not (places and between and text[places[-1] :] == _END):
            raise _damaged(self.where)


class Kernels(Sequence[KernelInfo]):
    """The kernels of a variant, whose blocks are read when they are asked for; every use may raise ImageError.

    `document` describes the variant.
    """

    def __init__(self, file: ManifestFile, document: Mapping[str, Any]) -> None:
        self._file = file
        self._document = document
        self._count = _count(document["kernels"]["count"])
        self._blocks: list[int] = document["kernels"]["blocks"]
        self._targets = {image["target"] for image in document["images"]}
        self._structs: Mapping[str, Struct] | None = None
        self._near: dict[int, list[KernelInfo]] = {}
        self._rows: list[dict[str, Any]] | None = None
        self._made: dict[int, KernelInfo] = {}

    @property
    def are_few(self) -> bool:
        """Whether all kernels are in one block."""
        return len(self._blocks) == 1

    def near(self, short_name: str) -> list[KernelInfo]:
        """Return kernels among which are all that have a short name, or a full name with that short name."""
        number = block_number(short_name, len(self._blocks))
        if number not in self._near:
            self._near[number] = _checked(
                self._file.where, lambda: list(map(self._kernel, self._file.rows(self._blocks[number : number + 1])))
            )
        return self._near[number]

    def resources(self, at: int) -> Mapping[str, Mapping[str, int]]:
        """Return the resources of image number `at`, by kernel symbol."""
        found = {row["symbol"]: row["resources"][at] for row in self._all_rows()}
        used = {symbol: figures for symbol, figures in found.items() if figures is not None}
        return _resources({**self._document["images"][at]["resources"], **used})

    def _all_rows(self) -> list[dict[str, Any]]:
        if self._rows is None:
            rows = self._file.rows(self._blocks)
            if [row["index"] for row in rows] != list(range(self._count)):
                raise ValueError(f"it has {len(rows)} kernels, not {self._count}, or some appear twice")
            self._rows = rows
        return self._rows

    def _kernel(self, row: Mapping[str, Any]) -> KernelInfo:
        index = row["index"]
        if index not in self._made:
            if self._structs is None:
                self._structs = _structs(dict(self._document["structs"]))
            kernel = _kernel(row, self._structs)
            if not self._targets.issuperset(kernel.absent):
                raise ValueError(
                    f"{kernel.name} is absent from {', '.join(kernel.absent)}, but not all are images here"
                )
            self._made[index] = kernel
        return self._made[index]

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[KernelInfo]:
        return iter(_checked(self._file.where, lambda: list(map(self._kernel, self._all_rows()))))

    @overload
    def __getitem__(self, index: int) -> KernelInfo: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[KernelInfo, ...]: ...
    def __getitem__(self, index: int | slice) -> KernelInfo | tuple[KernelInfo, ...]:
        return tuple(self)[index]


class _Resources(Mapping[str, Mapping[str, int]]):
    """The resources of an image, all read when one is asked for."""

    def __init__(self, kernels: Kernels, at: int) -> None:
        self._kernels = kernels
        self._at = at

    def _all(self) -> Mapping[str, Mapping[str, int]]:
        return _checked(self._kernels._file.where, lambda: self._kernels.resources(self._at))

    def __getitem__(self, symbol: str) -> Mapping[str, int]:
        return self._all()[symbol]

    def __iter__(self) -> Iterator[str]:
        return iter(self._all())

    def __len__(self) -> int:
        return len(self._all())


def all_manifests(text: str | bytes, where: str) -> tuple[Manifest, ...]:
    """Return the manifests of all variants in a module's file, or the one of a module without variants.

    `where` names the file in messages. Raises ImageError as `Manifest.from_json` does, also if a variant appears twice
    or if the fatbins of two variants overlap.
    """
    file = _file_of_text(text, where, True)
    manifests = tuple(file.manifest(macros, whole=True) for macros in file.variants)
    _checked(where, lambda: _check_variants(manifests))
    return manifests


def block_number(short_name: str, blocks: int) -> int:
    """Return which of a variant's blocks has the kernels with a short name."""
    if blocks == 1:
        return 0
    return int(sha256_of(short_name.encode(errors="surrogatepass"))[:12], 16) % blocks


def _file_of_text(text: str | bytes, where: str, check: bool) -> ManifestFile:
    content = text.encode(errors="surrogatepass") if isinstance(text, str) else text
    _checked(where, lambda: _check_size(len(content)))
    file = ManifestFile(lambda offset, size: content[offset : offset + size], where, check)
    file.check_end(content)
    return file


def _checked(where: str, read: Callable[[], T]) -> T:
    """Return what `read` returns; raises ImageError where the readers below find bad input."""
    try:
        return read()
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        reason = f"{type(error).__name__}: {error}"
        reason = reason if len(reason) < 300 else reason[:300] + "..."
        raise ImageError(f"{where} is not a cuda-wheel manifest: {reason}") from error


def _check_size(size: int) -> None:
    if size > LARGEST:
        raise ValueError(f"it has {size} bytes, more than the {LARGEST} that a manifest may have")


def _damaged(where: str) -> ImageError:
    return ImageError(
        f"{where} is damaged: its SHA-256 is not the one that it contains. Reinstall the package that holds it."
    )


def _other_format(start: bytes, where: str) -> ImageError:
    """Return the error for a file that does not start as a manifest of this format."""
    from re import MULTILINE, search  # only for an error

    text = start.decode(errors="replace")
    # Formats 1 and 2 had one key a line; all others have the number first.
    number = search(r'(?:\A\{|^ )"format": (\d{1,9}),', text, MULTILINE)
    if number is None or int(number[1]) in (0, FORMAT):
        return ImageError(f"{where} is not a cuda-wheel manifest: it starts with {start[:40]!r}")
    writer = search(r'\A[^\n]*"cuda_wheel": "([\w.+!-]{1,64})"', text)
    version = f"cuda-wheel {writer[1]}" if writer else "a version of cuda-wheel before its first release"
    if int(number[1]) < FORMAT:
        help = "Build the package again with the installed version of cuda-wheel."
    elif writer:
        help = f"Install {version} or later to load it."
    else:
        version, help = "a later version of cuda-wheel", "Upgrade cuda-wheel to load it."
    return ImageError(
        f"{where} was written by {version}, in manifest format {number[1]}; this version reads format {FORMAT} only. "
        f"{help}"
    )


def _manifest(document: Mapping[str, Any], file: ManifestFile, whole: bool) -> Manifest:
    """Return the manifest that a JSON object describes, the head of a file with what differs in one variant."""
    fatbin, kernels = document["fatbin"], Kernels(file, document)
    toolchain = {printable(key): printable(value) for key, value in document["toolchain"].items()}
    parse_version(toolchain["nvrtc"])
    whole = whole or kernels.are_few
    images = _list_of(_image, document["images"])
    manifest = Manifest(
        name=file.name,
        fatbin=_file_name(fatbin["file"]),
        fatbin_size=_count(fatbin["size"], 1),
        fatbin_sha256=_sha256(fatbin["sha256"]),
        toolchain=toolchain,
        sources=_list_of(printable, document["sources"]),
        options=_list_of(printable, document["options"]),
        host_code=_list_of(printable, document["host_code"]),
        images=tuple(
            image._replace(resources=kernels.resources(at) if whole else _Resources(kernels, at))
            for at, image in enumerate(images)
        ),
        kernels=tuple(kernels) if whole else kernels,
        globals=_list_of(_variable, document["globals"]),
        extern=_list_of(_external, document["extern"]),
        long_size=_optional(_count, document["long_size"]),
        compression=fatbin["compression"],
        variant=read_macros(document["macros"]),
        fatbin_offset=_count(fatbin["offset"]),
        specialize=_optional(_carried, document["specialize"]),
    )
    _check_images(manifest)
    if whole:
        _check_unique("symbol", [info.symbol for info in manifest.kernels])
    _check_unique("symbol", [info.symbol for info in manifest.globals])
    return manifest


def _carried(item: Mapping[str, Any]) -> Carried:
    return Carried(_count(item["offset"]), _count(item["size"]), _sha256(item["sha256"]))


def read_macros(macros: Mapping[str, Any]) -> Variant:
    """Return the variant in a JSON object; raises ValueError or AttributeError for another one."""
    for name, value in macros.items():
        is_value = isinstance(value, int | float) or (isinstance(value, str) and value and value.isprintable())
        if not (name.isidentifier() and name.isascii() and is_value):
            raise ValueError(f"{name!r} with the value {value!r} is not a macro")
    return tuple(sorted(macros.items()))


def _check_variants(manifests: Sequence[Manifest]) -> None:
    """Raise ValueError for manifests that are not those of the variants of one module."""
    end = 0
    for manifest in manifests:
        if not manifest.variant and len(manifests) > 1:
            raise ValueError("one of several variants has no macros")
        if manifest.fatbin_offset < end or manifest.fatbin != manifests[0].fatbin:
            raise ValueError(f"the fatbin of {manifest.full_name} does not follow the one before it")
        end = manifest.fatbin_offset + manifest.fatbin_size


def _image(item: dict[str, Any]) -> Image:
    kind: Kind = item["kind"]
    target = Target.parse(item["target"])
    if kind not in ("cubin", "ptx", "ltoir") or target.real != (kind == "cubin"):
        raise ValueError(f"a {kind!r} image cannot have the target {target}")
    ptx, compiled = (_optional(parse_version, item[key]) for key in ("ptx_version", "ptx_version_compiled"))
    driver, source = parse_version(item["driver"]), _optional(printable, item["source"])
    place = _optional(_count, item["offset"]), _count(item["size"], 1), _sha256(item["sha256"])
    image = Image(kind, target, ptx, compiled, driver, *place, {}, source)
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


def _structs(items: dict[str, Any]) -> dict[str, Struct]:
    """Return a manifest's structs by their keys. A struct that contains itself is a KeyError."""
    found: dict[str, Struct] = {}
    counts: dict[str, int] = {}

    def struct_of(key: str) -> Struct:
        if key not in found:
            item = items.pop(key)
            name, size = printable(item["name"]), _count(item["size"], 1)
            found[key] = Struct(name, size, _list_of(lambda each: field_of(each, size), item["fields"]))
            counts[key] = sum(counts[each["struct"]] if "struct" in each else 1 for each in item["fields"])
            if counts[key] > MOST_FIELDS:  # whoever expands them would need too long
                raise ValueError(f"the struct {name} has {counts[key]} fields with those of its structs")
        return found[key]

    def field_of(item: dict[str, Any], size: int) -> Field:
        struct = struct_of(item["struct"]) if "struct" in item else None
        type_ = _number_type(item["type"]) if struct is None else struct.name
        shape = _list_of(lambda count: _count(count, 1), item.get("shape", []))
        if len(shape) > 32:  # NumPy's limit
            raise ValueError(f"a field has {len(shape)} dimensions")
        field = Field(printable(item["name"]), type_, _count(item["offset"], 0), shape, struct)
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


def _kernel(item: Mapping[str, Any], structs: Mapping[str, Struct]) -> KernelInfo:
    parameters = _list_of(lambda each: _parameter(each, structs), item["parameters"])
    end = 0
    for each in parameters:
        if not end <= each.offset <= each.offset + each.size <= PARAMETERS:
            raise ValueError(f"a parameter of {each.size} bytes starts at {each.offset}, the one before ends at {end}")
        end = each.offset + each.size
    absent = _list_of(printable, item["absent"])
    return KernelInfo(printable(item["name"]), _symbol(item["symbol"]), parameters, absent)


def _parameter(item: dict[str, Any], structs: Mapping[str, Struct]) -> Parameter:
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
    """Raise ValueError if the images cannot be those of one fatbin."""
    images = manifest.images
    _check_unique("image", [(image.kind, image.target, image.source) for image in images])
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
