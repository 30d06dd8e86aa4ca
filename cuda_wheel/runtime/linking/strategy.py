"""Choose how pieces are linked: as LTO-IR or as PTX and machine code, by nvJitLink or by the driver. Pure functions."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Literal, NamedTuple

from ..errors import LinkError
from ..jit import JitOptions
from ..manifest import Image, Manifest, Version, dotted
from ..rules import knows, unlinkable, unsupported
from .inputs import NAMES

__all__ = [
    "CODE",
    "OPAQUE",
    "LinkerName",
    "Mode",
    "Unit",
    "Way",
    "names_of",
    "relocatable_group",
    "ways",
]


Mode = Literal["lto", "ptx"]


LinkerName = Literal["nvjitlink", "driver"]


class Unit(NamedTuple):
    """One input of a link, in every form that there is of it, by kind."""

    name: str
    forms: Mapping[str, bytes]
    compiler: Version | None = None
    """The CUDA release of the compiler that made its LTO-IR; None where that is not known."""
    driver: Version | None = None
    """The first CUDA release that reads its PTX; None where that is not known."""
    folder: str | None = None


class Way(NamedTuple):
    """A way to link: what is taken of the pieces, by which linker, and why that."""

    mode: Mode
    linker: LinkerName
    why: str
    whole: bool = False
    """Whether all of it is LTO-IR, so that there is PTX of the whole on the way."""


CODE = ("cubin", "ptx", "fatbin", "object", "library", "cuda")
"""Forms that are linked without optimisation, best first."""


OPAQUE = ("fatbin", "object", "library")
"""Containers, of which only a linker knows what is in them."""


def ways(
    units: Sequence[Unit],
    nvjitlink: Version | None,
    nvrtc: Version | None,
    driver: Version | None,
    options: JitOptions = JitOptions(),  # noqa: B008 - immutable
    capability: Version | None = None,
) -> tuple[Way, ...]:
    """Return the ways in which these can be linked here, the best first.

    `nvjitlink` and `nvrtc` are the CUDA releases of what is installed, `driver` that of the driver which is to load the
    result, None for none; `capability` is the GPU's, None for one that all know. Optimisation at link time goes before
    all else where every piece allows it. It also takes what exists as machine code alone beside what exists as LTO-IR
    alone.
    Raises LinkError where there is no way, with the reasons.
    """
    for unit in units:
        if "cuda" in unit.forms and nvrtc is None:
            raise LinkError(
                f"{unit.name} is CUDA C++, and NVRTC, which compiles it, is not installed here: pip install "
                "nvidia-cuda-nvrtc-cu12, or nvidia-cuda-nvrtc for CUDA 13. PTX and LTO-IR need no compiler."
            )
    against_nvjitlink = _why_not_nvjitlink(nvjitlink, driver, capability)
    against_lto = {unit.name: _why_not_lto(unit, nvjitlink, nvrtc) for unit in units}
    missing = {name: reason for name, reason in against_lto.items() if reason}
    without_code = [unit for unit in units if not any(kind in unit.forms for kind in CODE)]
    some_lto = len(missing) < len(units) or any(kind in unit.forms for unit in units for kind in OPAQUE)
    stuck = [unit.name for unit in without_code if against_lto[unit.name]]

    no_lto = against_nvjitlink or next(iter(missing.values()), None)
    found: list[Way] = []
    reasons: list[str] = []
    if options.lto is False:
        reasons.append("LTO: JitOptions(lto=False) forbids it")
    elif not no_lto:
        found.append(Way("lto", "nvjitlink", "LTO: every piece has LTO-IR", whole=True))
    elif not against_nvjitlink and not stuck and some_lto and (options.lto or without_code):
        others = " and ".join(missing.values())
        found.append(Way("lto", "nvjitlink", f"LTO of what has LTO-IR; {others}"))
    else:
        reasons.append(f"LTO: {no_lto}" if not stuck else f"LTO: {against_lto[stuck[0]]}")
    if options.lto:
        reasons.append("PTX: JitOptions(lto=True) forbids it")
    elif without_code:
        reasons.append(f"PTX: {without_code[0].name} is LTO-IR alone")
    else:
        why = "JitOptions(lto=False) asks for it" if options.lto is False else no_lto or "LTO goes before it"
        too_new = against_nvjitlink or _too_new(units, nvrtc, nvjitlink, "nvJitLink")
        if too_new is None:
            found.append(Way("ptx", "nvjitlink", f"PTX: {why}"))
        else:
            reasons.append(f"PTX by nvJitLink: {too_new}")
        old = "there is no driver" if driver is None else _too_new(units, nvrtc, driver, "the driver is for CUDA")
        if old is None:
            by = too_new or ("JitOptions asks for it" if options.linker == "driver" else why)
            found.append(Way("ptx", "driver", f"PTX by the driver's linker: {by}"))
        else:
            reasons.append(f"PTX by the driver's linker: {old}")
    chosen = tuple(way for way in found if options.linker in (None, way.linker))
    if not chosen:
        if options.linker == "driver" and without_code:
            reasons.append("the driver's linker, which JitOptions asks for, takes no LTO-IR")
        elif found:
            reasons.append(f"JitOptions(linker={options.linker!r}) forbids the other linker")
        raise LinkError(f"there is no way to link {names_of(units)} here:" + "".join(f"\n  {each}" for each in reasons))
    return chosen


def _why_not_nvjitlink(nvjitlink: Version | None, driver: Version | None, capability: Version | None) -> str | None:
    if nvjitlink is None:
        return "nvJitLink is not installed (pip install nvidia-nvjitlink-cu12, or nvidia-nvjitlink for CUDA 13)"
    if driver is not None and nvjitlink[0] > driver[0]:
        return (
            f"what nvJitLink {dotted(nvjitlink)} makes needs a driver for CUDA {nvjitlink[0]}.0, and this one is for "
            f"{dotted(driver)}"
        )
    if capability is not None and not knows(nvjitlink, capability):
        return f"nvJitLink {dotted(nvjitlink)} does not know compute capability {dotted(capability)}"
    return None


def _why_not_lto(unit: Unit, nvjitlink: Version | None, nvrtc: Version | None) -> str | None:
    """Return why a unit cannot take part in optimisation at link time."""
    if "ltoir" in unit.forms:
        reason = unit.compiler and nvjitlink and unlinkable(unit.compiler, nvjitlink)
        return f"{unit.name} {reason}" if reason else None
    if "cuda" in unit.forms:
        reason = nvrtc and nvjitlink and unlinkable(nvrtc, nvjitlink)
        return f"{unit.name}, compiled by NVRTC {dotted(nvrtc)}, {reason}" if nvrtc and reason else None
    kind = next(kind for kind in CODE if kind in unit.forms)
    return f"{unit.name} is {'machine code' if kind == 'cubin' else NAMES[kind]}, and no LTO-IR"  # type: ignore[index]


def _too_new(units: Sequence[Unit], nvrtc: Version | None, reader: Version | None, what: str) -> str | None:
    """Return which unit's PTX a linker of a CUDA release does not read, of those of which it is known."""
    for unit in units:
        needs = nvrtc if "cuda" in unit.forms else unit.driver
        if reader is not None and needs is not None and reader < needs:
            return f"{unit.name} is PTX of CUDA {dotted(needs)}, and {what} {dotted(reader)}"
    return None


def names_of(units: Iterable[Unit]) -> str:
    return ", ".join(unit.name for unit in units)


def relocatable_group(manifest: Manifest, kind: str, capability: Version, reads: Version | None) -> tuple[Image, ...]:
    """Return the images of one kind and target to link for a GPU: those of the highest target that suits it, and of
    PTX of one that a linker of CUDA release `reads` takes, if there is any such."""
    suits = [
        image for image in manifest.relocatable if image.kind == kind and unsupported(image.target, capability) is None
    ]
    readable = [image for image in suits if kind != "ptx" or reads is None or image.driver <= reads]
    if not suits:
        return ()
    best = max(
        (image.target for image in readable or suits),
        key=lambda target: (target.capability, " fa".index(target.suffix or " ")),
    )
    return tuple(image for image in suits if image.target == best)
