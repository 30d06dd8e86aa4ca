"""Records of a module (targets, images, kernels, variables, variants), and reading them from its manifest.

`docs/reference/manifest.schema.json` is the JSON schema; `builder.manifest_writer.text` writes manifests.
"""

import json
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeVar

from .errors import ImageError, has, need

if TYPE_CHECKING:
    from .parts.dtypes import Struct

__all__ = [
    "BETWEEN",
    "END",
    "FORMAT",
    "LARGEST",
    "MANIFEST_SUFFIX",
    "PARAMETERS",
    "TABLE_SUFFIX",
    "Carried",
    "Compression",
    "External",
    "GlobalInfo",
    "Image",
    "KernelInfo",
    "Kind",
    "MacroValue",
    "Macros",
    "Manifest",
    "ManifestFile",
    "Parameter",
    "PythonParameter",
    "Space",
    "Target",
    "Variant",
    "Version",
    "check_size",
    "checked",
    "count",
    "damaged",
    "dotted",
    "full_name",
    "kernel_of",
    "macro_text",
    "manifest_of_record",
    "parse_version",
    "printable",
    "python_language",
    "resources_of",
    "same_macros",
    "sha256_of",
    "structs_of",
    "unscoped",
    "without_spaces",
]

FORMAT = 4
"""The only manifest format that this version reads and writes."""

MANIFEST_SUFFIX = ".fatbin.json"

TABLE_SUFFIX = ".tuned.json"
"""Suffix of the file name of the table that `cuda-wheel tune` writes for a module."""

LARGEST = 64 << 20
"""Maximum size of a manifest in bytes."""

PARAMETERS = 32_764
"""Maximum bytes of a kernel's parameters. Source: CUDA C++ Programming Guide, "__global__ Function Parameters"."""

Kind = Literal["cubin", "ptx", "ltoir"]
"""Kind of an image: machine code, PTX text, or the compiler's code for link-time optimisation (LTO-IR)."""

Space = Literal["global", "constant", "managed"]

Compression = Literal["none", "lz4", "zstd"]
"""Compression of the images in a fatbin."""

T = TypeVar("T")

Version = tuple[int, int]
"""(major, minor) of CUDA, the PTX ISA or a compute capability."""


def parse_version(text: str, what: str = "version") -> Version:
    """Return (major, minor) of a version such as "12.2" or "12.2.1"; raises ValueError for another form."""
    major, _, rest = text.partition(".")
    minor = rest.partition(".")[0]
    if not (major.isdigit() and minor.isdigit() and text.isascii() and len(major) < 6 and len(minor) < 6):
        raise ValueError(f"{what} {text!r} does not have the form MAJOR.MINOR")
    return int(major), int(minor)


def dotted(version: Version) -> str:
    """Return a version as text: "12.2"."""
    return f"{version[0]}.{version[1]}"


MacroValue = str | int | float | bool
"""Value of a macro in the project's settings; the compiler gets a bool as 1 or 0."""

Variant = tuple[tuple[str, MacroValue], ...]
"""(name, value) of each macro of a variant, sorted by name: (("N", 4),)."""

Macros = tuple[tuple[str, str], ...]
"""(name, value as the compiler gets it) of each macro, sorted by name: (("N", "4"),)."""


def macro_text(value: MacroValue) -> str:
    """Return a macro's value as the compiler gets it: "1" for True, "4" for 4 and for "4"."""
    return str(int(value)) if isinstance(value, bool) else str(value)


def full_name(name: str, variant: Variant) -> str:
    """Return a module's name, and the macros of its variant: "demo.update[MATH_TYPE=double, NUM_MODES=4]"."""
    return f"{name}[{', '.join(f'{macro}={macro_text(value)}' for macro, value in variant)}]" if variant else name


def same_macros(macros: Mapping[str, Any] | Variant) -> Macros:
    """Return macros in the form that is equal for the same variant: 4 and "4" are the same value."""
    pairs = macros.items() if isinstance(macros, Mapping) else macros
    return tuple(sorted((name, macro_text(value)) for name, value in pairs))


def python_language(variants: Sequence[Variant]) -> str:
    """Return the key of kernels in variants of Python kernels, else ""; see `parts.python_kernels.signatures`."""
    pairs = ((name, str(value).partition(":")[2]) for variant in variants[:1] for name, value in variant)
    return next((name for name, text in pairs if name in ("triton", "numba", "tile") and text.isidentifier()), "")


# NamedTuples instead of dataclasses, and no postponed annotations: both would cost milliseconds at import.


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
        """Return the target "sm_86" or "compute_100f"; raises ValueError for another form."""
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
    """One compiled form of a module, or of a source that is still to be linked. Sizes and offsets are in bytes."""

    kind: Kind
    target: Target
    ptx_version: Version | None
    """PTX ISA version that the PTX states; None if the image is not PTX."""
    ptx_version_compiled: Version | None
    """PTX ISA version before the build lowered it to `ptx_version`; None if the image is not PTX."""
    driver: Version
    """First CUDA release whose driver reads the image (for LTO-IR: the cubin linked from it) and its compression."""
    offset: int | None
    """Byte offset of the image in the fatbin; None in a compressed fatbin."""
    size: int
    sha256: str
    resources: Mapping[str, Mapping[str, int]]
    """Kernel symbol -> resource -> value. Bounds of the source: "max_threads" (per block), "min_blocks" (per
    multiprocessor), "cluster_blocks". For machine code also "registers" per thread, and bytes: "shared", "local",
    "constant", "spill_stores", "spill_loads"."""
    source: str | None = None
    """Source file of a relocatable image, which must be linked; None if the image can be loaded."""
    host: str = ""
    """System of the programs that run a CUDA Tile image: "linux-x86_64"; "" for other images."""

    def __str__(self) -> str:
        version = "" if self.ptx_version is None else f" (PTX {dotted(self.ptx_version)})"
        part = f" of {self.source}" if self.source else f" for {self.host}" if self.host else ""
        return f"{self.kind} {self.target}{version}{part}"


class Parameter(NamedTuple):
    """A kernel parameter: PTX type ("u64", "f32", "b8" for a struct), offset and size in bytes, and C++ type.

    The C++ type ("const float*"; "void*" for a pointer to an unknown type, "" if nothing is known) comes from the
    kernel's symbol. For `extern "C"`, it comes from the source, and a project's type may lack its namespace ("Pair*").
    """

    type: str
    offset: int
    size: int
    cpp: str = ""
    name: str = ""
    """Name in the source; "" if it has none or is unknown."""
    struct: "Struct | None" = None
    """Fields of the struct; None for other types, and for a struct with unknown fields."""

    @property
    def dtype(self) -> Any:
        """NumPy dtype of the argument, with a struct's fields and padding, uint64 for a pointer; None if unknown.

        Raises ImportError without NumPy.
        """
        need("structs")
        from .parts.dtypes import dtype  # rare

        return dtype(self)

    @property
    def cpp_or_ptx_type(self) -> str:
        """The C++ type if it is known, else the PTX type (".f32"), or a struct's size ("16 bytes")."""
        is_unknown_struct = self.type == "b8" and not self.cpp
        return f"{self.size} bytes" if is_unknown_struct else self.cpp or f".{self.type}"


PythonParameter = tuple[str, str, MacroValue | None]
"""(name, kind, default) of a parameter of a kernel written in Python; see `parts.python_kernels`."""


class KernelInfo(NamedTuple):
    """A kernel in the manifest: its C++ name or name expression, its symbol in the images, and its parameters."""

    name: str
    symbol: str
    parameters: tuple[Parameter, ...]
    absent: tuple[str, ...] = ()
    """Targets ("sm_75") whose images lack this kernel; () unless the project allows absent kernels."""
    python: tuple[PythonParameter, ...] = ()
    """Parameters of the Python function; () for a kernel that was not written in Python."""

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
    """A symbol that a module declares and other linked code defines. The declaration is C++, or PTX if that is unknown:
    'extern "C" float user_transform(float x)'."""

    name: str
    symbol: str
    declaration: str


class Carried(NamedTuple):
    """Place of a module's sources in its fatbin's file, in bytes; size 0 in a source tree, which has the files."""

    offset: int
    size: int
    sha256: str


class Manifest(NamedTuple):
    """All that the loader knows about a module before it opens the fatbin."""

    name: str
    fatbin: str
    """File name of the fatbin, in the same folder as the manifest."""
    fatbin_size: int
    fatbin_sha256: str
    toolchain: Mapping[str, str]
    """Compiler -> version: "nvrtc" (MAJOR.MINOR.BUILD), "nvjitlink" and "nvfatbin" (MAJOR.MINOR)."""
    sources: tuple[str, ...]
    options: tuple[str, ...]
    images: tuple[Image, ...]
    kernels: Sequence[KernelInfo]
    """The module's kernels. If a loaded module has many, each is read on access."""
    globals: tuple[GlobalInfo, ...] = ()
    """The `__device__`, `__constant__` and `__managed__` variables."""
    host_code: tuple[str, ...] = ()
    """Parts of the sources, such as host code, that were removed before compiling: "k.cu:12-40: function main"."""
    extern: tuple[External, ...] = ()
    """Symbols that the relocatable images use and that other linked code must define."""
    long_size: int | None = None
    """Bytes of a C++ `long` in the images: 8, or 4 if built on Windows; None if unknown."""
    compression: Compression = "none"
    variant: Variant = ()
    """Macros of this variant of the module; empty for a module without variants."""
    fatbin_offset: int = 0
    """Byte offset of this variant's fatbin in the file `fatbin`, which holds the fatbins of all variants."""
    specialize: Carried | None = None
    """Place of the sources if the user may compile missing variants and template instances; else None."""

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


# --- reading a manifest ---
#
# A load trusts what has the right SHA-256, and checks what could end the process or lead out of the package: types,
# sizes and names. `cuda_wheel.builder.manifest_reader` checks every value.

USUAL_SIZE = 1 << 16
"""Bytes to read first from a manifest. Most manifests, and nearly all heads, are smaller."""

BETWEEN, END = b",\n", b"\n]}\n"
"""Bytes in a manifest between two blocks of kernels, and after the last block."""

_START = f'{{"format": {FORMAT}, '.encode()
_MIDDLE = b'\n, "kernels": [\n'

try:  # now: a process that loads kernels later then does not wait for it
    _own_sha256: Any = __import__("_sha2" if sys.version_info >= (3, 12) else "_sha256").sha256
except ImportError:  # this Python was built without it
    _own_sha256 = None


def sha256_of(content: bytes) -> str:
    """Return the hexadecimal SHA-256 of `content`."""
    # OpenSSL is faster per byte, but its import takes longer than the rest of a load, unless it is imported already.
    if len(content) < 1 << 18 and _own_sha256 is not None and "hashlib" not in sys.modules:
        return str(_own_sha256(content).hexdigest())
    from hashlib import sha256

    return sha256(content).hexdigest()


class ManifestFile:
    """A manifest's file: a head, read at once, and blocks of kernels, read when needed.

    `read(offset, size)` returns bytes of the file; `where` names it in messages; `check` says whether to compare the
    SHA-256. This and all methods raise ImageError for a file in another format, and for a damaged one.
    """

    name: str
    """Dotted name of the module."""
    digest: str
    """SHA-256 of the head (all but the kernels), which contains the SHA-256 of every block of kernels."""
    head: dict[str, Any]
    """JSON object of the module, without its kernels."""
    variants: dict[Macros, dict[str, Any]]
    """Macros -> JSON object of the variant. A module without variants has one entry, with the key ()."""
    blocks: list[tuple[int, int, str]]
    """(byte offset, size in bytes, SHA-256) of each block of kernels."""

    def __init__(self, read: Callable[[int, int], bytes], where: str, check: bool = True) -> None:
        self.where = where
        self._read = read
        self._check = check
        self._made: dict[Macros, Manifest] = {}
        self._start = read(0, USUAL_SIZE)
        if not self._start.startswith(_START):
            raise _other_format(self._start, where)
        checked(where, self._read_head)

    def _read_head(self) -> None:
        first = self._start.partition(b"\n")[0]
        line = json.loads(first.decode() + "null}")
        size, digest = count(line["size"], 1), str(line["sha256"])
        end = len(first) + 1 + size
        place = end + len(_MIDDLE)
        check_size(place)
        if place > len(self._start):
            self._start = self._read(0, place)
        text = self._start[:place]
        if len(text) < place:
            raise ValueError(f"it ends after {len(text)} bytes, before its kernels")
        self.digest = sha256_of(text.replace(digest.encode(), b"", 1))
        if (self._check and self.digest != digest) or text[end:] != _MIDDLE:
            raise damaged(self.where)
        head = json.loads(text[len(first) + 1 : end].decode())
        self.blocks = []
        for size, digest in head["blocks"]:
            self.blocks.append((place, count(size, 1), digest))
            place += size + len(BETWEEN)
        check_size(place)
        self.name, self.head = head["name"], head
        self.variants = {same_macros(record["macros"]): {**head, **record} for record in head["variants"]}

    def manifest(self, macros: Macros) -> Manifest:
        """Return the manifest of the variant with these macros, with all its kernels. It is made once."""
        if macros not in self._made:
            self._made[macros] = checked(self.where, lambda: self._manifest(self.variants[macros]))
        return self._made[macros]

    def _manifest(self, record: Mapping[str, Any]) -> Manifest:
        rows, structs = self.all_rows(record), structs_of(record)
        kernels = tuple([kernel_of(row, structs) for row in rows])
        resources = [resources_of(record, at, rows) for at in range(len(record["images"]))]
        return manifest_of_record(record, kernels, resources)

    def all_rows(self, record: Mapping[str, Any]) -> list[dict[str, Any]]:
        """Return all kernels of the variant that `record` describes, as JSON objects."""
        rows, total = self.rows(record["kernels"]["blocks"]), record["kernels"]["count"]
        if [row["index"] for row in rows] != list(range(total)):
            raise ValueError(f"it has {len(rows)} kernels, not {total}, or some appear twice")
        return rows

    def rows(self, numbers: Sequence[int]) -> list[dict[str, Any]]:
        """Return the kernels in the blocks with these numbers, as JSON objects, in their order."""
        found: list[dict[str, Any]] = []
        for number in numbers:
            place, size, digest = self.blocks[number]
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


def checked(where: str, read: Callable[[], T]) -> T:
    """Return what `read` returns; raises ImageError if it finds that the file `where` is no manifest."""
    try:
        return read()
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        reason = f"{type(error).__name__}: {error}"
        reason = reason if len(reason) < 300 else reason[:300] + "..."
        raise ImageError(f"{where} is not a cuda-wheel manifest: {reason}") from error


def damaged(where: str) -> ImageError:
    """Return the error for a manifest that was changed."""
    return ImageError(
        f"{where} is damaged: its SHA-256 is not the one that it contains. Reinstall the package that holds it."
    )


def _other_format(start: bytes, where: str) -> ImageError:
    """Return the error for a file in another format. `start`: its first bytes. `where`: its name in the message."""
    if not has("suggestions"):
        return ImageError(f"{where} is not a cuda-wheel manifest in format {FORMAT}: it starts with {start[:40]!r}")
    from .parts.suggestions import other_format  # only for an error

    return ImageError(other_format(start, where, FORMAT))


def manifest_of_record(
    record: Mapping[str, Any], kernels: Sequence[KernelInfo], resources: Sequence[Mapping[str, Mapping[str, int]]]
) -> Manifest:
    """Return the manifest that a JSON object describes, with these kernels and the resources of each image."""
    fatbin = record["fatbin"]
    return Manifest(
        name=record["name"],
        fatbin=_file_name(fatbin["file"]),
        fatbin_size=count(fatbin["size"], 1),
        fatbin_sha256=fatbin["sha256"],
        toolchain=record["toolchain"],
        sources=tuple(_list(record["sources"])),
        options=tuple(_list(record["options"])),
        host_code=tuple(_list(record["host_code"])),
        images=tuple(map(_image, _list(record["images"]), resources)),
        kernels=kernels,
        globals=tuple(
            GlobalInfo(printable(each["name"]), printable(each["symbol"]), each["space"], count(each["size"]))
            for each in _list(record["globals"])
        ),
        extern=tuple(External(**each) for each in _list(record["extern"])),
        long_size=record["long_size"],
        compression=fatbin["compression"],
        variant=tuple(sorted(record["macros"].items())),
        fatbin_offset=count(fatbin["offset"]),
        specialize=record["specialize"] and Carried(**record["specialize"]),
    )


def _image(item: Mapping[str, Any], resources: Mapping[str, Mapping[str, int]]) -> Image:
    versions = item["ptx_version"], item["ptx_version_compiled"]
    ptx, compiled = [None if each is None else parse_version(each) for each in versions]
    driver, sha256 = parse_version(item["driver"]), item["sha256"]
    offset, size = item["offset"], count(item["size"], 1)
    offset = None if offset is None else count(offset)
    kind, target = item["kind"], Target.parse(item["target"])
    if kind not in ("cubin", "ptx", "ltoir") or target.real != (kind == "cubin"):
        raise ValueError(f"a {kind!r} image cannot have the target {target}")
    where = item["source"], printable(item.get("host", ""))
    return Image(kind, target, ptx, compiled, driver, offset, size, sha256, resources, *where)


def resources_of(record: Mapping[str, Any], at: int, rows: Sequence[Mapping[str, Any]]) -> dict[str, dict[str, int]]:
    """Return the resources of image number `at`, by symbol, from a variant's JSON object and its kernels'."""
    used = {row["symbol"]: row["resources"][at] for row in rows}
    return {**record["images"][at]["resources"], **{key: value for key, value in used.items() if value is not None}}


def structs_of(record: Mapping[str, Any]) -> Mapping[str, "Struct"]:
    """Return the structs of a variant's parameters by their keys, of which `record` is the JSON object."""
    if not record["structs"] or not has("structs"):
        return {}
    from .parts.dtypes import read_structs  # rare

    return read_structs(record["structs"])


def kernel_of(row: Mapping[str, Any], structs: Mapping[str, "Struct"]) -> KernelInfo:
    """Return the kernel that a JSON object describes."""
    parameters, end = [], 0
    for each in _list(row["parameters"]):
        start, size = count(each["offset"]), count(each["size"], 1)
        if not end <= start <= PARAMETERS - size:  # the launch writes them into memory
            raise ValueError(f"a parameter of {size} bytes starts at {start}, the one before ends at {end}")
        end = start + size
        struct = structs[each["struct"]] if "struct" in each and structs else None
        texts = printable(each["cpp"]), printable(each.get("name", ""))
        parameters.append(Parameter(printable(each["type"]), start, size, *texts, struct))
    python = tuple((printable(name), kind, default) for name, kind, default in row.get("python", ()))
    return KernelInfo(
        printable(row["name"]), printable(row["symbol"]), tuple(parameters), tuple(_list(row["absent"])), python
    )


def _list(value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise ValueError(f"{value!r} is not a list")
    return value


def printable(value: object) -> str:
    """Return a text without control characters and lone surrogates; raises ValueError for anything else."""
    if not isinstance(value, str) or not value.isprintable():
        raise ValueError(f"{value!r} is not a printable string")
    return value


def _file_name(value: object) -> str:
    text = printable(value)
    if text != os.path.basename(text) or "\\" in text or text in ("", ".", ".."):
        raise ValueError(f"fatbin file {text!r} is not a file name without a folder")
    return text


def check_size(size: int) -> None:
    """Raise ValueError for more bytes than a manifest may have."""
    if size > LARGEST:
        raise ValueError(f"it has {size} bytes, more than the {LARGEST} that a manifest may have")


def count(value: object, least: int = 0) -> int:
    """Return a number of bytes; raises ValueError for anything else."""
    if type(value) is not int or not least <= value < 1 << 48:
        raise ValueError(f"{value!r} is not a size in bytes, or not of at least {least}")
    return value
