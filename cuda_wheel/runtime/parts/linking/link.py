"""Link pieces to machine code, or to a loaded module: the entry points.

A piece is one value to link, such as PTX, a path or a module's name. `inputs` recognises pieces. They become units
here: one for each piece, or for each source of a module. `strategy` checks units and decides how to link, and
`prepared_link` runs the link.
"""

import itertools
import struct
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

from ...driver import device_and_driver, load_library
from ...errors import DriverError, ImageError, LinkError
from ...files import ModuleFiles, files_and_manifest, read_image
from ...jit import Jit, JitOptions
from ...manifest import GlobalInfo, Image, KernelInfo, MacroValue, Manifest, Target, Version, dotted, sha256_of
from ...module import Module, once
from ..compile_log import resources_of
from ..cuda_libraries import nvjitlink_version
from ..floating_point import FloatingPoint, floating_point
from ..formats import ptx as ptx_format
from ..formats.cubin import Cubin, demangled, read_cubin
from ..permission import check_permission
from .cuda_compiler import nvrtc_version
from .inputs import InputKind, LinkInput, link_input_of
from .prepared_link import Linked, PreparedLink
from .strategy import LinkUnit, check_unit, ptx_arch, relocatable_group, strategies

__all__ = ["LinkParts", "Linked", "distinct_names", "link", "load_linked", "read_pieces"]


class LinkParts(NamedTuple):
    """The units of a link, and the manifest and linked images of each piece that is a module."""

    units: list[LinkUnit]
    modules: list[tuple[Manifest, tuple[Image, ...]]]
    # A manifest contains the SHA-256 of the code, and the types, which cannot be read from the code.
    digests: tuple[str, ...]
    """SHA-256 of each linked module's manifest, in the order of `modules`. The manifest depends on the module's code
    and on the types of its kernels' parameters."""

    @property
    def extern(self) -> dict[str, str]:
        """Symbol -> declaration of what the modules use and leave to others to define."""
        return {external.symbol: external.declaration for manifest, _ in self.modules for external in manifest.extern}


def read_pieces(
    pieces: Sequence[LinkInput],
    capability: Version,
    reader: Version | None,
    device: int | None,
    options: Sequence[str] | None = None,
) -> LinkParts:
    """Return the units of these pieces for a GPU; `reader` is the newest CUDA release whose PTX a linker here reads.

    `options` are the floating-point options of the pieces that are not modules; None means those of the first module.
    """
    units: list[LinkUnit] = []
    modules: list[tuple[Manifest, tuple[Image, ...]]] = []
    digests: list[str] = []
    for piece in pieces:
        if piece.kind == "module":
            files, manifest = files_and_manifest(piece.name, device, dict(piece.variant))
            images, found = _module_units(files, manifest, capability, reader)
            modules.append((manifest, images))
            digests.append(files.digest)
            units.extend(found)
        else:
            units.append(LinkUnit(piece.name, {piece.kind: piece.content}, folder=piece.folder))
    if not units:
        raise LinkError("there is nothing to link: the list of pieces is empty")
    if options is None:
        options = modules[0][0].options if modules else ()
    units = _with_arithmetic(units, floating_point(options))
    return LinkParts(distinct_names(units), modules, tuple(digests))


def _with_arithmetic(units: Sequence[LinkUnit], others: FloatingPoint) -> list[LinkUnit]:
    """Return the units (programs to link) with floating-point options. A unit without such options gets `others`,
    unless it consists of machine code only."""
    return [
        unit if unit.floating_point or unit.forms.keys() == {"cubin"} else unit._replace(floating_point=others)
        for unit in units
    ]


def distinct_names(units: Sequence[LinkUnit]) -> list[LinkUnit]:
    """Return the units with distinct names: a second "piece.ptx" becomes "piece-2.ptx"."""
    taken: set[str] = set()
    renamed = []
    for unit in units:
        stem, dot, suffix = unit.name.rpartition(".")
        numbered = (f"{stem or suffix}-{count}{dot}{suffix if stem else ''}" for count in itertools.count(2))
        name = next(name for name in itertools.chain([unit.name], numbered) if name not in taken)
        taken.add(name)
        renamed.append(unit._replace(name=name))
    return renamed


def _module_units(
    files: ModuleFiles, manifest: Manifest, capability: Version, reader: Version | None
) -> tuple[tuple[Image, ...], list[LinkUnit]]:
    """Return (images, units) of a module for a GPU of compute capability `capability`. `images`: relocatable images
    that this GPU can use. `units`: one unit (program to link) for each source of these images.

    `reader`: CUDA release of the newest PTX that a linker here reads. Raise LinkError if there is no relocatable image
    for the GPU.
    """
    name = manifest.name
    if not manifest.relocatable:
        raise LinkError(
            f"{name} has no relocatable images, so that nothing can be linked to it: its author can set "
            "`relocatable = true` in its table in pyproject.toml"
        )
    images = tuple(
        image for kind in ("ltoir", "ptx") for image in relocatable_group(manifest, kind, capability, reader)
    )
    if not images:
        targets = ", ".join(sorted({str(image.target) for image in manifest.relocatable}))
        raise LinkError(
            f"{name} has relocatable images for {targets} only, and none of these suits compute capability "
            f"{dotted(capability)}: its author can add a lower target to architectures"
        )
    units = []
    for source in dict.fromkeys(image.source for image in images):
        by_kind = {image.kind: image for image in images if image.source == source}
        forms: dict[InputKind, bytes] = {kind: read_image(files, manifest, image) for kind, image in by_kind.items()}
        if "ptx" in forms:
            forms["ptx"] = forms["ptx"].rstrip(b"\0")
        label = f"{name}:{str(source).rpartition('/')[2]}"
        driver = by_kind["ptx"].driver if "ptx" in by_kind else None
        units.append(LinkUnit(label, forms, manifest.cuda, driver, floating_point=floating_point(manifest.options)))
    return images, units


def link(
    pieces: Sequence[Any],
    *,
    device: int | None = None,
    arch: str | None = None,
    jit: JitOptions = JitOptions(),  # noqa: B008 - immutable
    ptx: bool = False,
) -> Linked:
    """Return the machine code that these pieces link to; `load` lists what a piece may be.

    The code is for GPU number `device`, else the current context's GPU, else GPU 0; or for `arch`, such as "90" or
    "90a", which needs nvJitLink and no GPU. With `ptx`, the result also has the PTX of the linked program, which only a
    link of LTO-IR alone makes. Results are kept in the user's cache.

    Raises LinkError if the pieces do not link, or if `jit` or CUDA_WHEEL_JIT=error forbids to link; ImageError if a
    value cannot be a piece; and DriverError if a driver is needed and there is none.
    """
    jit.check()
    found = _pieces(pieces)
    _check_permission(found, device, jit)
    suffix = ""
    if arch is None:
        capability, driver = device_and_driver(device)
    else:
        try:
            asked = Target.parse(f"sm_{arch}")
        except ValueError:
            raise ValueError(f"arch must be a compute capability such as '90' or '90a', not {arch!r}") from None
        capability, suffix, driver = asked.capability, asked.suffix, None
        if jit.linker == "driver":
            driver = device_and_driver(device)[1]
        elif nvjitlink_version() is None:
            with suppress(DriverError):  # the error that follows says that there is no driver
                driver = device_and_driver(device)[1]
    parts = read_pieces(found, capability, _newest_reader(driver), device, jit.floating_point)
    return _prepare(parts.units, capability, suffix, driver, device, jit).run(parts.extern, ptx)


def load_linked(
    name: str, pieces: Sequence[Any], device: int | None, jit: JitOptions, variant: Mapping[str, MacroValue]
) -> Module:
    """Return the module `name`, or one of its variants, linked with these pieces and loaded; see `load`."""
    jit.check()
    found = [LinkInput("module", name, b"", variant=tuple(sorted(variant.items()))), *_pieces(pieces)]
    _check_permission(found, device, jit)
    capability, driver = device_and_driver(device)
    parts = read_pieces(found, capability, _newest_reader(driver), device, jit.floating_point)
    prepared = _prepare(parts.units, capability, "", driver, device, jit)

    def load() -> Module:
        linked = prepared.run(parts.extern, False)
        image = Image(
            kind="cubin",
            target=linked.target,
            ptx_version=None,
            ptx_version_compiled=None,
            driver=driver,
            offset=None,
            size=len(linked.cubin),
            sha256=sha256_of(linked.cubin),
            resources=resources_of(linked.log),
        )
        handle = load_library(linked.cubin, lambda: f"loading {name}, linked with {', '.join(linked.pieces)}")
        manifest = _linked_manifest(parts, linked)
        return Module(manifest, image, "link", handle, Jit(jit, linked.seconds, linked.log), linked)

    return once(("linked", name, parts.digests, prepared.digest()), load)


def _pieces(values: Any) -> list[LinkInput]:
    if isinstance(values, str | bytes) or not isinstance(values, Iterable):
        raise ImageError(f"pieces to link must be a list, not {type(values).__name__}: [...]")
    return [link_input_of(value) for value in values]


def _check_permission(pieces: Sequence[LinkInput], device: int | None, options: JitOptions) -> None:
    what = f"{', '.join(piece.name for piece in pieces)} must be linked"
    help = "Link the sources when a wheel is built: sources = [...] of the module's table in pyproject.toml."
    check_permission(options, what, help, device, LinkError)


def _newest_reader(driver: Version | None) -> Version | None:
    """Return the CUDA release of the newest PTX that a linker on this machine reads; None without a linker. `driver`:
    the driver's CUDA release; None without a driver."""
    nvjitlink = nvjitlink_version()
    usable = nvjitlink if nvjitlink and (driver is None or nvjitlink[0] <= driver[0]) else None
    return max(filter(None, (usable, driver)), default=None)


def _prepare(
    units: Sequence[LinkUnit],
    capability: Version,
    suffix: str,
    driver: Version | None,
    device: int | None,
    options: JitOptions,
) -> PreparedLink:
    for unit in units:
        check_unit(unit, capability)
    nvjitlink = nvjitlink_version()
    nvrtc = nvrtc_version() if any("cuda" in unit.forms for unit in units) else None
    chosen = strategies(units, nvjitlink, nvrtc, driver, options, capability)
    target = _target(capability, suffix, units)
    return PreparedLink(units, target, chosen, (nvjitlink, driver), device, options)


def _target(capability: Version, suffix: str, units: Sequence[LinkUnit]) -> Target:
    """Return the target of the link: `capability` with the suffix "a", "f" or "".

    The suffix is the strongest that `suffix`, or the PTX of one of the `units` (programs to link), asks for. "a" is
    stronger than "f", and "f" is stronger than "".
    """
    own = [Target.parse(f"sm_{arch}") for arch in map(ptx_arch, units) if arch]
    suffixes = {target.suffix for target in own if target.capability == capability or target.suffix == "f"}
    best = max({suffix, *suffixes}, key=lambda each: " fa".index(each or " "))
    return Target(*capability, best, True)


def _linked_manifest(parts: LinkParts, linked: Linked) -> Manifest:
    """Return the manifest for the result of a link. It is the first module's manifest without images, but with the
    kernels and variables of everything that was linked."""
    cubin = read_cubin(linked.cubin)
    variables: dict[str, GlobalInfo] = {}
    for manifest, _ in parts.modules:
        variables |= {info.symbol: info for info in manifest.globals if info.symbol not in variables}
    for symbol, variable in cubin.variables.items():
        variables.setdefault(symbol, GlobalInfo(demangled(symbol), symbol, *variable))
    return parts.modules[0][0]._replace(
        kernels=tuple(_linked_kernels(parts, linked, cubin)),
        globals=tuple(variables.values()),
        images=(),
        long_size=_long_size(parts),
    )


def _linked_kernels(parts: LinkParts, linked: Linked, cubin: Cubin) -> Iterable[KernelInfo]:
    """Return the kernels of everything that was linked. A kernel is described by the manifest of a module, else by the
    PTX of a unit (program to link), else by the linked cubin."""
    kernels: dict[str, KernelInfo] = {}
    for manifest, images in parts.modules:
        targets = {str(image.target) for image in images}
        for info in manifest.kernels:
            is_absent = targets & set(info.absent) and info.symbol not in cubin.kernels
            kernels.setdefault(info.symbol, info._replace(absent=(str(linked.target),) if is_absent else ()))
    for unit in _other_units(parts):
        if "ptx" in unit.forms:
            for symbol, parameters in ptx_format.kernels(unit.forms["ptx"].decode(errors="replace")).items():
                kernels.setdefault(symbol, KernelInfo(demangled(symbol), symbol, parameters))
    for symbol, entry in cubin.kernels.items():
        kernels.setdefault(symbol, KernelInfo(demangled(symbol), symbol, entry.parameters))
    return kernels.values()


def _long_size(parts: LinkParts) -> int | None:
    """Return the size of C++ `long` in bytes if it is known and the same for everything that was linked; else None."""
    sizes = {manifest.long_size for manifest, _ in parts.modules}
    sizes |= {struct.calcsize("l") if "cuda" in unit.forms else None for unit in _other_units(parts)}
    return sizes.pop() if len(sizes) == 1 else None


def _other_units(parts: LinkParts) -> list[LinkUnit]:
    """Return the units (programs to link) that do not come from modules."""
    modules = {manifest.name for manifest, _ in parts.modules}
    return [unit for unit in parts.units if unit.name.partition(":")[0] not in modules]
