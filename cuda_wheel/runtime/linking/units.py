"""Turn pieces into the units of a link. The relocatable images of a module become one unit for each source."""

import itertools
from collections.abc import Sequence
from typing import NamedTuple

from ..errors import LinkError
from ..files import ModuleFiles, files_and_manifest, read_image
from ..jit.floating_point import FloatingPoint, floating_point
from ..manifest import Image, Manifest, Version, dotted
from .inputs import Piece, PieceKind
from .strategy import LinkUnit, relocatable_group

__all__ = ["LinkParts", "distinct_names", "read_pieces"]


class LinkParts(NamedTuple):
    """The units of a link, and the manifests of the pieces that are modules, with the images taken of each."""

    units: list[LinkUnit]
    modules: list[tuple[Manifest, tuple[Image, ...]]]
    digests: tuple[str, ...]
    """The SHA-256 of each module's manifest, which says more than its code: the types of parameters."""

    @property
    def extern(self) -> dict[str, str]:
        """The declarations, by symbol, of what the modules leave to their users."""
        return {external.symbol: external.declaration for manifest, _ in self.modules for external in manifest.extern}


def read_pieces(
    pieces: Sequence[Piece],
    capability: Version,
    reader: Version | None,
    device: int | None,
    options: Sequence[str] | None = None,
) -> LinkParts:
    """Return the units of these pieces for a GPU; `reader` is the newest CUDA release whose PTX a linker here reads.

    `options` are the floating-point options of the pieces that are no modules; None means those of the first module.
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
    """Return the units; those that are neither modules nor machine code compute as `others`."""
    return [
        unit if unit.floating_point or unit.forms.keys() == {"cubin"} else unit._replace(floating_point=others)
        for unit in units
    ]


def distinct_names(units: Sequence[LinkUnit]) -> list[LinkUnit]:
    """Return the units with a number in each name that an earlier unit has: "piece-2.ptx"."""
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
    """Return a module's relocatable images to link, and a unit for each of its sources."""
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
        forms: dict[PieceKind, bytes] = {kind: read_image(files, manifest, image) for kind, image in by_kind.items()}
        if "ptx" in forms:
            forms["ptx"] = forms["ptx"].rstrip(b"\0")
        label = f"{name}:{str(source).rpartition('/')[2]}"
        driver = by_kind["ptx"].driver if "ptx" in by_kind else None
        units.append(LinkUnit(label, forms, manifest.cuda, driver, floating_point=floating_point(manifest.options)))
    return images, units
