"""Choose how pieces are linked: with LTO or without, by nvJitLink or by the driver. Pure functions.

Check the units of a link before a linker gets them.

nvJitLink 12.9 and 13.5 and the linker of driver 580 crash on a cubin that is cut short. Where a symbol has two
definitions, they report success or crash.
"""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Literal, NamedTuple

from ...errors import LinkError, to_add
from ...jit import JitOptions
from ...manifest import Image, Manifest, Target, Version, dotted
from ...rules import ZSTD_DRIVER, doubt, unsupported
from ..floating_point import FloatingPoint
from ..formats import ptx
from ..formats.cubin import Symbols, demangled, read_cubin
from ..formats.fatbin import compression_of, whole_fatbin
from ..nvjitlink_rules import knows, unlinkable
from .inputs import KIND_LABELS, InputKind
from .linkers import LinkerInput

__all__ = [
    "CODE_KINDS",
    "CONTAINER_KINDS",
    "LinkUnit",
    "LinkerName",
    "Mode",
    "Strategy",
    "check_duplicates",
    "check_prototypes",
    "check_unit",
    "displayed",
    "duplicate_definitions",
    "duplicate_error",
    "names_of",
    "ptx_arch",
    "relocatable_group",
    "strategies",
    "symbols_in",
    "symbols_of",
]


Mode = Literal["lto", "ptx"]

LinkerName = Literal["nvjitlink", "driver"]


class LinkUnit(NamedTuple):
    """A program to link, in each form in which it is available: a piece, or one source of a module."""

    name: str
    forms: Mapping[InputKind, bytes]
    """Kind of code -> the unit's code of that kind: "ptx" -> PTX, "ltoir" -> LTO-IR. Kinds that the unit lacks are
    absent."""
    compiler: Version | None = None
    """CUDA release of the compiler that wrote the unit's LTO-IR; None if it is unknown."""
    driver: Version | None = None
    """First CUDA release that reads the unit's PTX; None if it is unknown."""
    folder: str | None = None
    """Folder of the unit's CUDA C++ file: NVRTC looks for headers there first. None without such a file."""
    floating_point: FloatingPoint | None = None
    """Options of the unit's compiler for floating-point arithmetic, such as fused multiply-add. None for machine
    code."""


class Strategy(NamedTuple):
    """A way to link: which forms of the units, by which linker, and why."""

    mode: Mode
    linker: LinkerName
    why: str
    whole: bool = False
    """Whether every unit is linked as LTO-IR, so that nvJitLink can return the PTX of the linked program."""


CODE_KINDS: tuple[InputKind, ...] = ("cubin", "ptx", "fatbin", "object", "library", "cuda")
"""Kinds of code that a link without LTO accepts. Such a link uses the first of these kinds that a unit has."""

CONTAINER_KINDS: tuple[InputKind, ...] = ("fatbin", "object", "library")
"""Kinds of code that are containers, with content that only a linker can read."""


def strategies(
    units: Sequence[LinkUnit],
    nvjitlink: Version | None,
    nvrtc: Version | None,
    driver: Version | None,
    options: JitOptions = JitOptions(),  # noqa: B008 - immutable
    capability: Version | None = None,
) -> tuple[Strategy, ...]:
    """Return the ways in which these units can be linked here, best first.

    `nvjitlink` and `nvrtc` are the CUDA releases of the installed libraries, `driver` that of the driver that will load
    the result; None where there is none. `capability` is the GPU's; None means one that every linker knows. LTO is
    first where every unit allows it. LTO is also possible where some units are machine code alone and others LTO-IR
    alone. LTO is impossible where units differ in floating-point options: nvJitLink takes one set of them for a link.
    PTX keeps those that it was compiled with.

    Raises LinkError with the reasons where there is no way.
    """
    if nvrtc is None:
        _check_no_cuda(units)
    against_nvjitlink = _why_not_nvjitlink(nvjitlink, driver, capability) or _too_compressed(
        units, nvjitlink, "nvJitLink is"
    )
    against_lto = {unit.name: _why_not_lto(unit, nvjitlink, nvrtc) for unit in units}
    candidates = [
        _with_lto(units, against_nvjitlink, against_lto, options),
        *_without_lto(units, (nvjitlink, nvrtc, driver), against_nvjitlink, against_lto, options),
    ]
    possible = [each for each in candidates if isinstance(each, Strategy)]
    chosen = tuple(each for each in possible if options.linker in (None, each.linker))
    if not chosen:
        reasons = [each for each in candidates if isinstance(each, str)]
        if options.linker == "driver" and _lto_only(units):
            reasons.append("the driver's linker, which JitOptions asks for, does not take LTO-IR")
        elif possible:
            reasons.append(f"JitOptions(linker={options.linker!r}) forbids the other linker")
        raise LinkError(f"there is no way to link {names_of(units)} here:" + "".join(f"\n  {each}" for each in reasons))
    return chosen


def _check_no_cuda(units: Sequence[LinkUnit]) -> None:
    for unit in units:
        if "cuda" in unit.forms:
            advice = "pip install nvidia-cuda-nvrtc-cu12, or nvidia-cuda-nvrtc for CUDA 13"
            raise LinkError(
                f"{unit.name} is CUDA C++, and NVRTC, which compiles it, is not installed here: "
                f"{to_add('NVRTC', advice)}. PTX and LTO-IR need no compiler."
            )


def _with_lto(
    units: Sequence[LinkUnit],
    against_nvjitlink: str | None,
    against_lto: Mapping[str, str | None],
    options: JitOptions,
) -> Strategy | str:
    """Return the strategy for a link with LTO. If LTO is impossible or forbidden, return the reason, a string.

    `against_nvjitlink`: why nvJitLink cannot link here at all; None if it can.
    `against_lto`: unit name -> why this unit cannot be linked with LTO; None if it can.
    """
    if options.lto is False:
        return "LTO: JitOptions(lto=False) forbids it"
    differing = _why_not_one_arithmetic(units)
    if differing:
        return f"LTO: {differing}"
    without_ltoir = [reason for reason in against_lto.values() if reason]
    if not against_nvjitlink and not without_ltoir:
        return Strategy("lto", "nvjitlink", "LTO: every piece has LTO-IR", whole=True)
    lto_only = _lto_only(units)
    # Of a unit that is LTO-IR alone, which nvJitLink cannot read.
    blocking = next(filter(None, (against_lto[unit.name] for unit in lto_only)), None)
    some_ltoir = len(without_ltoir) < len(units) or _have_kind(units, CONTAINER_KINDS)
    why_not = blocking or against_nvjitlink
    if not why_not and some_ltoir and (options.lto or lto_only):
        return Strategy("lto", "nvjitlink", f"LTO of the pieces that have LTO-IR; {' and '.join(without_ltoir)}")
    return f"LTO: {why_not or without_ltoir[0]}"


def _without_lto(
    units: Sequence[LinkUnit],
    releases: tuple[Version | None, Version | None, Version | None],
    against_nvjitlink: str | None,
    against_lto: Mapping[str, str | None],
    options: JitOptions,
) -> list[Strategy | str]:
    """Return two strategies without LTO: one for nvJitLink, then one for the driver's linker.

    In place of a strategy that is impossible, the list has the reason, a string. If `options` or the units forbid every
    link without LTO, the list has one item, the reason.
    `releases`: CUDA releases of nvJitLink, NVRTC and the driver; None for each that is missing.
    `against_nvjitlink`: why nvJitLink cannot link here at all; None if it can.
    `against_lto`: unit name -> why this unit cannot be linked with LTO; None if it can.
    """
    nvjitlink, nvrtc, driver = releases
    if options.lto:
        return ["PTX: JitOptions(lto=True) forbids it"]
    if lto_only := _lto_only(units):
        return [f"PTX: {lto_only[0].name} is LTO-IR alone"]
    no_lto = against_nvjitlink or _why_not_one_arithmetic(units) or next(filter(None, against_lto.values()), None)
    why = "JitOptions(lto=False) asks for it" if options.lto is False else no_lto or "LTO is preferred"
    too_new = against_nvjitlink or _too_new(units, nvrtc, nvjitlink, "nvJitLink is")
    by_nvjitlink: Strategy | str = (
        f"PTX by nvJitLink: {too_new}" if too_new else Strategy("ptx", "nvjitlink", f"PTX: {why}")
    )
    what = "the driver is for CUDA"
    no_driver = "there is no driver"
    if driver is not None:
        no_driver = _too_compressed(units, driver, what) or _too_new(units, nvrtc, driver, what) or ""
    if no_driver:
        return [by_nvjitlink, f"PTX by the driver's linker: {no_driver}"]
    why = too_new or ("JitOptions asks for it" if options.linker == "driver" else why)
    return [by_nvjitlink, Strategy("ptx", "driver", f"PTX by the driver's linker: {why}")]


def _lto_only(units: Sequence[LinkUnit]) -> list[LinkUnit]:
    """Return the units that exist as LTO-IR alone, which only a link with LTO accepts."""
    return [unit for unit in units if not _have_kind([unit], CODE_KINDS)]


def _have_kind(units: Sequence[LinkUnit], kinds: Sequence[InputKind]) -> bool:
    """Return whether any of the units has code of one of these kinds, such as "ptx"."""
    return any(kind in unit.forms for unit in units for kind in kinds)


def _why_not_nvjitlink(nvjitlink: Version | None, driver: Version | None, capability: Version | None) -> str | None:
    if nvjitlink is None:
        advice = "pip install nvidia-nvjitlink-cu12, or nvidia-nvjitlink for CUDA 13"
        return f"nvJitLink is not installed ({to_add('nvJitLink', advice)})"
    if driver is not None and nvjitlink[0] > driver[0]:
        return (
            f"the output of nvJitLink {dotted(nvjitlink)} needs a driver for CUDA {nvjitlink[0]}.0, and this one is "
            f"for {dotted(driver)}"
        )
    if capability is not None and not knows(nvjitlink, capability):
        return f"nvJitLink {dotted(nvjitlink)} does not know compute capability {dotted(capability)}"
    return None


def _why_not_lto(unit: LinkUnit, nvjitlink: Version | None, nvrtc: Version | None) -> str | None:
    """Return why a unit cannot be linked with LTO; None if it can. The reason names the unit: "a is machine code, not
    LTO-IR".

    `nvjitlink` and `nvrtc` are the CUDA releases of these libraries; None for a library that is not installed.
    """
    if "ltoir" in unit.forms:
        reason = unit.compiler and nvjitlink and unlinkable(unit.compiler, nvjitlink)
        return f"{unit.name} {reason}" if reason else None
    if "cuda" in unit.forms:
        reason = nvrtc and nvjitlink and unlinkable(nvrtc, nvjitlink)
        return f"{unit.name}, compiled by NVRTC {dotted(nvrtc)}, {reason}" if nvrtc and reason else None
    kind = next(kind for kind in CODE_KINDS if kind in unit.forms)
    return f"{unit.name} is {'machine code' if kind == 'cubin' else KIND_LABELS[kind]}, not LTO-IR"


def _why_not_one_arithmetic(units: Sequence[LinkUnit]) -> str | None:
    """Return why the units cannot be linked with LTO together, if two of them have different floating-point options
    (`FloatingPoint.of_link`); else None.

    The reason names both units. Machine code has no such options and is not compared.
    """
    computing = [(unit.name, unit.floating_point) for unit in units if unit.floating_point]
    for name, other in computing[1:]:
        first, chosen = computing[0]
        # nvJitLink takes one set of these options for a link.
        if other.of_link != chosen.of_link:
            return f"{first} and {name} differ in floating-point options ({chosen}; {other})"
    return None


def _too_compressed(units: Sequence[LinkUnit], reader: Version | None, what: str) -> str | None:
    """Return why a linker cannot read the `units`, if one of them is a fatbin compressed with zstd; None if it can.

    `reader`: CUDA release of the linker. None means that any unit can be read.
    `what`: names the linker in the message. "nvJitLink is" -> "a is a fatbin compressed with zstd, which linkers before
    CUDA 12.4 do not read, and nvJitLink is 12.2".
    """
    for unit in units:
        # nvJitLink 12.0 crashes on such a fatbin; 12.1 to 12.3 read its compressed bytes as PTX.
        if reader is not None and reader < ZSTD_DRIVER and _is_zstd(unit.forms.get("fatbin")):
            needs = f"linkers before CUDA {dotted(ZSTD_DRIVER)} do not read, and {what} {dotted(reader)}"
            return f"{unit.name} is a fatbin compressed with zstd, which {needs}"
    return None


def _is_zstd(fatbin: bytes | None) -> bool:
    try:
        return fatbin is not None and compression_of(fatbin) == "zstd"
    except ValueError:  # a form that only the linker knows
        return False


def _too_new(units: Sequence[LinkUnit], nvrtc: Version | None, reader: Version | None, what: str) -> str | None:
    """Return why a linker cannot read the `units`, if the PTX of one of them is too new; None if it can.

    `nvrtc`: CUDA release of NVRTC, which compiles units of CUDA C++ to PTX.
    `reader`: CUDA release of the linker. None means that any unit can be read.
    `what`: names the linker in the message. "nvJitLink is" -> "a is PTX of CUDA 13.0, and nvJitLink is 12.9".
    """
    for unit in units:
        needs = nvrtc if "cuda" in unit.forms else unit.driver
        if reader is not None and needs is not None and reader < needs:
            return f"{unit.name} is PTX of CUDA {dotted(needs)}, and {what} {dotted(reader)}"
    return None


def names_of(units: Iterable[LinkUnit]) -> str:
    return ", ".join(unit.name for unit in units)


def relocatable_group(manifest: Manifest, kind: str, capability: Version, reader: Version | None) -> tuple[Image, ...]:
    """Return a module's relocatable images of one kind to link for a GPU: all of the highest target that the GPU can
    run.

    For PTX, targets that a linker of the CUDA release `reader` can read come before all others.
    """
    suitable = [
        image for image in manifest.relocatable if image.kind == kind and unsupported(image.target, capability) is None
    ]
    if not suitable:
        return ()
    readable = [image for image in suitable if kind != "ptx" or reader is None or image.driver <= reader]
    best = max(
        (image.target for image in readable or suitable),
        key=lambda target: (target.capability, " fa".index(target.suffix or " ")),
    )
    return tuple(image for image in suitable if image.target == best)


def ptx_arch(unit: LinkUnit) -> str | None:
    """Return the architecture that a unit's PTX declares; None where it declares none or the unit has no PTX."""
    with suppress(ValueError, KeyError):
        return ptx.target(unit.forms["ptx"].decode(errors="replace"))
    return None


def check_unit(unit: LinkUnit, capability: Version) -> None:
    """Raise LinkError where one of a unit's forms is damaged, or is not for the GPU."""
    reason = None
    if "cubin" in unit.forms:
        try:
            cubin = read_cubin(unit.forms["cubin"])
        except ValueError as error:
            raise LinkError(f"{unit.name} is a damaged cubin: {error}") from None
        reason = unsupported(cubin.target, capability) or doubt(cubin.target, capability)
        if not reason and not cubin.relocatable:  # nvJitLink would ignore it silently
            reason = "is finished machine code, which cannot be linked: compile it as relocatable code (-rdc=true)"
    elif "fatbin" in unit.forms and not whole_fatbin(unit.forms["fatbin"]):
        raise LinkError(f"{unit.name} is a damaged fatbin: it is cut short")
    elif "ptx" in unit.forms and len(unit.forms) == 1:
        arch = ptx_arch(unit)
        reason = arch and unsupported(Target.parse(f"compute_{arch}"), capability)
    if reason:
        raise LinkError(f"{unit.name} {reason}")


def symbols_of(unit: LinkUnit, given: LinkerInput) -> Symbols | None:
    """Return a unit's symbols, read from its linker input or else from its PTX; None if neither is PTX or a cubin."""
    known = symbols_in(given.kind, given.content)
    return known or (symbols_in("ptx", unit.forms["ptx"]) if "ptx" in unit.forms else None)


def symbols_in(kind: str, content: bytes) -> Symbols | None:
    """Return the symbols of PTX or a cubin; None for any other kind."""
    if kind == "cubin":
        return read_cubin(content).symbols
    return ptx.symbols(content.decode(errors="replace")) if kind == "ptx" else None


def check_duplicates(symbols: Mapping[str, Symbols | None]) -> None:
    """Raise LinkError if two units define the same symbol; `symbols` is unit name -> its symbols, None if unknown.

    nvJitLink 12.9 and 13.5 report success for that in PTX and cubins. They print an error on standard error only, and
    may crash at the next such link.
    """
    for symbol, names in duplicate_definitions(symbols).items():
        raise LinkError(duplicate_error(symbol, names))


def duplicate_definitions(symbols: Mapping[str, Symbols | None]) -> dict[str, list[str]]:
    """Return symbol -> names of the units that define it, for each symbol with several strong definitions."""
    owners: dict[str, list[str]] = {}
    for name, found in symbols.items():
        for symbol in sorted(found.defined) if found else ():
            owners.setdefault(symbol, []).append(name)
    return {symbol: names for symbol, names in owners.items() if len(names) > 1}


def duplicate_error(symbol: str, names: Sequence[str]) -> str:
    by = " and by ".join(names)
    return f"{displayed(symbol)} is defined twice: by {by}. Leave one of them out, or make its definition static."


def check_prototypes(texts: Mapping[str, str], extern: Mapping[str, str]) -> None:
    """Raise LinkError if a unit calls a function with parameters or a result of other sizes than its definition has.

    `texts` is unit name -> PTX, `extern` symbol -> declaration to quote. A mangled C++ symbol contains the types of the
    parameters: a mismatch is an undefined symbol. An `extern "C"` symbol does not, and linkers compare only symbols.
    """
    called: dict[str, tuple[str, ptx.Prototype]] = {}
    prototypes = {name: ptx.prototypes(text) for name, text in texts.items()}
    symbols = {name: ptx.symbols(text) for name, text in texts.items()}
    for name, known in prototypes.items():
        called |= {symbol: (name, known[symbol]) for symbol in symbols[name].undefined if symbol in known}
    for name, known in prototypes.items():
        for symbol in sorted(called.keys() & known.keys() & (symbols[name].defined | symbols[name].weak)):
            caller, prototype = called[symbol]
            if known[symbol] != prototype:
                declared = f"; its declaration: {extern[symbol]}" if symbol in extern else ""
                raise LinkError(
                    f"{displayed(symbol)} has another signature in {name} than in {caller}, which calls it: "
                    f"{known[symbol]}, not {prototype}{declared}"
                )


def displayed(symbol: str) -> str:
    """Return a symbol for messages: "scale (_Z5scalef)" if it is mangled, else the symbol alone."""
    name = demangled(symbol)
    return symbol if name == symbol else f"{name} ({symbol})"
