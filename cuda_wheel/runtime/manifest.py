"""What a wheel says of its modules, and which of their images suit a GPU and driver: targets, the manifest, the rules.

Like `loader`, which reads and loads what this describes, it imports the standard library alone and may be copied with
it. Pure: it needs no GPU.
"""

import json
import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, NamedTuple, TypeVar

from .digest import sha256_of
from .errors import ImageError

__all__ = [
    "FORMAT",
    "LARGEST",
    "MANIFEST_SUFFIX",
    "PARAMETERS",
    "External",
    "GlobalInfo",
    "Image",
    "KernelInfo",
    "Kind",
    "Manifest",
    "Parameter",
    "Space",
    "Target",
    "Version",
    "dotted",
    "image_to_json",
    "kernel_names",
    "parse_version",
]


FORMAT = 1
"""The manifest format that this file writes; it reads every format up to this one."""


MANIFEST_SUFFIX = ".fatbin.json"


LARGEST = 64 << 20
"""Bytes that a manifest may have. A kernel takes some 2,000, with seven targets."""


Version = tuple[int, int]


T = TypeVar("T")


# The records below are named tuples and not dataclasses, and annotations are not postponed: either would cost
# milliseconds at import, and this file is on the way from the start of a process to its first kernel.


def parse_version(text: str, what: str = "version") -> Version:
    """Return (major, minor) of a dotted version such as "12.2"; later parts are ignored.

    Raises ValueError where `text` is not of that form.
    """
    major, _, rest = text.partition(".")
    minor = rest.partition(".")[0]
    # isdigit() is false of the empty text.
    if not (major.isdigit() and minor.isdigit() and text.isascii() and len(major) < 6 and len(minor) < 6):
        raise ValueError(f"{what} {text!r} is not of the form MAJOR.MINOR")
    return int(major), int(minor)


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
        """Return the target that `text` ("sm_86", "compute_100f") names; ValueError for another form."""
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
        """The number and suffix alone: "90a"."""
        return f"{self.major}{self.minor}{self.suffix}"

    @property
    def capability(self) -> Version:
        return self.major, self.minor

    def __str__(self) -> str:
        return ("sm_" if self.real else "compute_") + self.arch


Kind = Literal["cubin", "ptx", "ltoir"]
"""Machine code, PTX text, or what a compiler gives for optimisation at link time."""


class Image(NamedTuple):
    """One compiled form of a module, or of one source of a module that is to be linked.

    Sizes and offsets are in bytes.
    """

    kind: Kind
    target: Target
    ptx_version: Version | None
    """The PTX ISA version that the text declares; None for what is no PTX."""
    ptx_version_compiled: Version | None
    """The PTX ISA version that the compiler stamped, before lowering; None for what is no PTX."""
    driver: Version
    """The first CUDA release whose driver reads the image; for LTO-IR, what a linker makes of it."""
    offset: int | None
    """Where the image starts in the fatbin; None in a compressed fatbin, where it cannot be cut out."""
    size: int
    sha256: str
    resources: Mapping[str, Mapping[str, int]]
    """Per kernel symbol: "max_threads" in a block, "min_blocks" on a multiprocessor and "cluster_blocks", where the
    source sets such bounds; for machine code also what the assembler reported: "registers" of a thread, and bytes of
    "shared" and "local" memory, "spill_stores" and "spill_loads", and the module's "constant" memory."""
    source: str | None = None
    """The source of which this is the relocatable form, for linking; None for an image that can be loaded."""

    def __str__(self) -> str:
        version = "" if self.ptx_version is None else f" (PTX {dotted(self.ptx_version)})"
        return f"{self.kind} {self.target}{version}" + (f" of {self.source}" if self.source else "")


class Parameter(NamedTuple):
    """One kernel parameter: its PTX type ("u64", "f32", "b8" for a struct), its offset and size in bytes, and its C++
    type ("const float*"; "void*" where no more is known than that it is a pointer, and "" where not even that).

    The C++ type is that of the kernel's symbol. That of an `extern "C"` kernel says none: its types are what the source
    text says for certain, a struct's or other name of the project ("Pair*") as it is written there."""

    type: str
    offset: int
    size: int
    cpp: str = ""


class KernelInfo(NamedTuple):
    """A kernel as the manifest knows it: its C++ name or name expression, and its symbol in the images."""

    name: str
    symbol: str
    parameters: tuple[Parameter, ...]
    absent: tuple[str, ...] = ()
    """Targets of the images that do not have it ("sm_75"), where the project allows that."""


PARAMETERS = 32_764
"""Bytes that a kernel's parameters may take. Source: CUDA C++ Programming Guide, "__global__ Function Parameters"."""


Space = Literal["global", "constant", "managed"]


class GlobalInfo(NamedTuple):
    """A variable in device memory: its C++ name, its symbol in the images, where it lies, and its size in bytes."""

    name: str
    symbol: str
    space: Space
    size: int


class External(NamedTuple):
    """What a module declares and leaves to whoever links it: its C++ name, its symbol, and its declaration, as C++ or,
    where that is not known, as PTX has it ('extern "C" float user_transform(float x)')."""

    name: str
    symbol: str
    declaration: str


class Manifest(NamedTuple):
    """Everything the loader may know of a module without opening its fatbin."""

    name: str
    fatbin: str
    """File name of the fatbin, in the manifest's own folder."""
    fatbin_size: int
    fatbin_sha256: str
    toolchain: Mapping[str, str]
    """Versions of the compilers: "nvrtc" (MAJOR.MINOR.BUILD), "nvjitlink" and "nvfatbin" (MAJOR.MINOR)."""
    sources: tuple[str, ...]
    options: tuple[str, ...]
    images: tuple[Image, ...]
    kernels: tuple[KernelInfo, ...]
    globals: tuple[GlobalInfo, ...] = ()
    """The `__device__`, `__constant__` and `__managed__` variables."""
    host_code: tuple[str, ...] = ()
    """What of the sources was left out, a text each: "k.cu:12-40: function main"."""
    extern: tuple[External, ...] = ()
    """What the relocatable images need beside themselves."""

    @property
    def relocatable(self) -> tuple[Image, ...]:
        """The images that are for linking."""
        return tuple(image for image in self.images if image.source is not None)

    @property
    def cuda(self) -> Version:
        """The CUDA release of the compiler that made the images."""
        return parse_version(self.toolchain["nvrtc"])

    def to_json(self) -> str:
        """Return the manifest file's text: the same manifest gives the same text, everywhere.

        It has its own SHA-256 in it: that of the text where this is empty.
        """
        document = {
            "format": FORMAT,
            "name": self.name,
            "fatbin": {"file": self.fatbin, "size": self.fatbin_size, "sha256": self.fatbin_sha256},
            "toolchain": dict(self.toolchain),
            "sources": self.sources,
            "options": self.options,
            "host_code": self.host_code,
            "images": [image_to_json(image) for image in self.images],
            "kernels": [
                kernel._asdict() | {"parameters": [parameter._asdict() for parameter in kernel.parameters]}
                for kernel in self.kernels
            ],
            "globals": [variable._asdict() for variable in self.globals],
            "extern": [external._asdict() for external in self.extern],
            "sha256": "",
        }
        text = json.dumps(document, indent=1, sort_keys=True, ensure_ascii=False) + "\n"
        return text.replace('\n "sha256": ""', f'\n "sha256": "{sha256_of(text.encode())}"')  # one space: the outermost

    @classmethod
    def from_json(cls, text: str | bytes, where: str, check: bool = True) -> "Manifest":
        """Return the manifest that `text` holds. `where` names its file in messages.

        Raises ImageError where the text is not a manifest of a format that this version reads, and, unless `check` is
        False, where it does not have the SHA-256 that it says. Who changes a manifest on purpose can change that as
        well: so nothing of it is trusted to be possible.
        """
        content = text.encode(errors="surrogatepass") if isinstance(text, str) else text

        def make(document: dict[str, Any]) -> Manifest:
            manifest, digest = _manifest_of(document), _sha256(document["sha256"])
            if check and sha256_of(content.replace(digest.encode(), b"")) != digest:
                raise ImageError(
                    f"{where} is damaged: it does not have the SHA-256 that it names. Reinstall the package that holds "
                    f"{manifest.name}."
                )
            return manifest

        return _read(content, where, make)


def kernel_names(text: str | bytes, where: str) -> list[str]:
    """Return the names of the kernels in a manifest, whose text and place are as for `Manifest.from_json`.

    Of a package with many modules that is all that is needed when it is imported. Raises ImageError likewise, as far as
    it looks.
    """

    def names(document: dict[str, Any]) -> list[str]:
        return [_text(kernel["name"]) for kernel in document["kernels"]]

    return _read(text, where, names)


def _read(text: str | bytes, where: str, make: Callable[[dict[str, Any]], T]) -> T:
    """Return what is made of a manifest's JSON object."""
    try:
        if len(text) > LARGEST:
            raise ValueError(f"{len(text)} bytes are more than the {LARGEST} that one may have")
        # Other encodings than UTF-8, which json.loads would guess at in bytes, are damage.
        document = json.loads(text if isinstance(text, str) else text.decode())
        form = document["format"]
        if type(form) is int and form > FORMAT:
            raise ImageError(
                f"{where} was made by a newer cuda-wheel (format {form}); this one reads up to {FORMAT}. "
                "Upgrade cuda-wheel to load it."
            )
        if type(form) is not int or form < 1:
            raise ValueError(f"format {form!r}")
        return make(document)
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        told = f"{type(error).__name__}: {error}"
        told = told if len(told) < 300 else told[:300] + "..."
        raise ImageError(f"{where} is not a cuda-wheel manifest: {told}") from error


def _text(value: object) -> str:
    # Names reach terminals and the driver: no control characters, no lone surrogates.
    if not isinstance(value, str) or not value or not value.isprintable():
        raise ValueError(f"{value!r} is not a text")
    return value


def _symbol(value: object) -> str:
    """Return a name as PTX has them. Source: PTX ISA, "Identifiers"; other compilers' have dots too."""
    text = _text(value)
    if not text.isascii() or not text.translate(_AS_LETTERS).isidentifier():
        raise ValueError(f"{value!r} is not a symbol")
    return text


_AS_LETTERS = str.maketrans("$%.", "___")


def _sha256(value: object) -> str:
    if not isinstance(value, str) or len(value) != 64 or value.strip("0123456789abcdef"):
        raise ValueError(f"{value!r} is not a SHA-256")
    return value


def image_to_json(image: Image) -> dict[str, Any]:
    """Return the image as the JSON object that manifests and `cuda-wheel inspect --json` hold."""
    return {
        "kind": image.kind,
        "target": str(image.target),
        "ptx_version": image.ptx_version and dotted(image.ptx_version),
        "ptx_version_compiled": image.ptx_version_compiled and dotted(image.ptx_version_compiled),
        "driver": dotted(image.driver),
        "offset": image.offset,
        "size": image.size,
        "sha256": image.sha256,
        "resources": {symbol: dict(figures) for symbol, figures in image.resources.items()},
        "source": image.source,
    }


def _manifest_of(document: dict[str, Any]) -> Manifest:
    def items(value: object) -> list[Any]:
        if not isinstance(value, list):
            raise ValueError(f"{value!r} is not a list")
        return value

    def texts(value: object) -> tuple[str, ...]:
        return tuple(map(_text, items(value)))

    def count(value: object, least: int = 0) -> int:
        if type(value) is not int or not least <= value < 1 << 48:
            raise ValueError(f"{value!r} is not a size")
        return value

    def version(value: str | None) -> Version | None:
        return None if value is None else parse_version(value)

    def figures(value: dict[str, Any]) -> dict[str, int]:
        if not "".join(value).isprintable():
            raise ValueError(f"{value!r} has names that are no texts")
        return {name: count(number) for name, number in value.items()}

    def image(item: dict[str, Any]) -> Image:
        kind: Kind = item["kind"]
        target = Target.parse(item["target"])
        if kind not in ("cubin", "ptx", "ltoir") or target.real != (kind == "cubin"):
            raise ValueError(f"a {kind!r} image for {target}")
        found = Image(
            kind=kind,
            target=target,
            ptx_version=version(item["ptx_version"]),
            ptx_version_compiled=version(item["ptx_version_compiled"]),
            driver=parse_version(item["driver"]),
            offset=None if item["offset"] is None else count(item["offset"]),
            size=count(item["size"], 1),
            sha256=_sha256(item["sha256"]),
            resources={_text(symbol): figures(its) for symbol, its in item["resources"].items()},
            source=None if item["source"] is None else _text(item["source"]),
        )
        if (found.ptx_version is None) != (kind != "ptx"):
            raise ValueError(f"{found} with PTX version {found.ptx_version}")
        if kind == "ltoir" and found.source is None:
            raise ValueError(f"{found} that is not for linking")
        return found

    def parameters(value: object) -> tuple[Parameter, ...]:
        found = tuple(
            Parameter(
                type=_text(item["type"]),
                offset=count(item["offset"]),
                size=count(item["size"], 1),
                cpp="" if item["cpp"] == "" else _text(item["cpp"]),
            )
            for item in items(value)
        )
        end = 0
        for each in found:
            if not end <= each.offset <= each.offset + each.size <= PARAMETERS:
                raise ValueError(f"a parameter of {each.size} bytes at {each.offset}, after {end}")
            end = each.offset + each.size
        return found

    def kernel(item: dict[str, Any]) -> KernelInfo:
        return KernelInfo(
            name=_text(item["name"]),
            symbol=_symbol(item["symbol"]),
            parameters=parameters(item["parameters"]),
            absent=texts(item["absent"]),
        )

    def variable(item: dict[str, Any]) -> GlobalInfo:
        space: Space = item["space"]
        if space not in ("global", "constant", "managed"):
            raise ValueError(f"a variable in {space!r} memory")
        return GlobalInfo(_text(item["name"]), _symbol(item["symbol"]), space, count(item["size"]))

    def external(item: dict[str, Any]) -> External:
        return External(_text(item["name"]), _symbol(item["symbol"]), _text(item["declaration"]))

    fatbin = _text(document["fatbin"]["file"])
    if fatbin != os.path.basename(fatbin) or "\\" in fatbin or fatbin in (".", ".."):
        raise ValueError(f"fatbin file {fatbin!r} is not a plain file name")
    toolchain = {_text(key): _text(value) for key, value in document["toolchain"].items()}
    parse_version(toolchain["nvrtc"])
    manifest = Manifest(
        name=_text(document["name"]),
        fatbin=fatbin,
        fatbin_size=count(document["fatbin"]["size"], 1),
        fatbin_sha256=_sha256(document["fatbin"]["sha256"]),
        toolchain=toolchain,
        sources=texts(document["sources"]),
        options=texts(document["options"]),
        host_code=texts(document["host_code"]),
        images=tuple(map(image, items(document["images"]))),
        kernels=tuple(map(kernel, items(document["kernels"]))),
        globals=tuple(map(variable, items(document["globals"]))),
        extern=tuple(map(external, items(document["extern"]))),
    )
    _check_images(manifest)
    for infos in (manifest.kernels, manifest.globals):
        _check_once("symbol", [info.symbol for info in infos])
    return manifest


def _check_images(manifest: Manifest) -> None:
    """Raise ValueError where a module's images cannot be those of one fatbin, or its kernels of these images."""
    images = manifest.images
    targets = {str(image.target) for image in images}
    _check_once("image", [(image.kind, image.target, image.source) for image in images])
    for kernel in manifest.kernels:
        if not targets.issuperset(kernel.absent):
            raise ValueError(f"{kernel.name} is absent from {', '.join(kernel.absent)}, and the images are for others")
    places = {(image.offset, image.size, image.sha256) for image in images if image.offset is not None}
    if places and any(image.offset is None for image in images):
        raise ValueError("some images have a place in the fatbin, and others have none")
    end = 0
    for start, size, _ in sorted(places):  # of the same bytes, two images have the same place
        if start < end or start + size > manifest.fatbin_size:
            raise ValueError(
                f"an image of {size} bytes at {start}, after {end}, in a fatbin of {manifest.fatbin_size} bytes"
            )
        end = start + size


def _check_once(what: str, found: Sequence[object]) -> None:
    if len(set(found)) < len(found):
        twice = next(each for each in found if found.count(each) > 1)
        raise ValueError(f"the {what} {twice!r} stands twice")


def dotted(version: Version) -> str:
    """Return a version as people write it: "12.2"."""
    return f"{version[0]}.{version[1]}"
