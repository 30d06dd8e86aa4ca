"""Check the units of a link before a linker gets them.

nvJitLink 12.9 and 13.5 and the linker of driver 580 crash on a cubin that is cut short. Where a symbol has two
definitions, they report success or crash.
"""

from collections.abc import Mapping, Sequence
from contextlib import suppress

from ..errors import LinkError
from ..formats import ptx
from ..formats.cubin import read_cubin
from ..formats.fatbin import whole_fatbin
from ..formats.symbols import Symbols, demangled
from ..manifest import Target, Version
from ..rules import doubt, unsupported
from .linker_io import LinkerInput
from .strategy import LinkUnit

__all__ = [
    "check_duplicates",
    "check_prototypes",
    "check_unit",
    "displayed",
    "duplicate_definitions",
    "duplicate_error",
    "ptx_arch",
    "symbols_in",
    "symbols_of",
]


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
    """Return the symbols of a unit, read from what the linker is given or from its PTX; None where neither says."""
    known = symbols_in(given.kind, given.content)
    return known or (symbols_in("ptx", unit.forms["ptx"]) if "ptx" in unit.forms else None)


def symbols_in(kind: str, content: bytes) -> Symbols | None:
    """Return the symbols of PTX or a cubin; None for any other kind."""
    if kind == "cubin":
        return read_cubin(content).symbols
    return ptx.symbols(content.decode(errors="replace")) if kind == "ptx" else None


def check_duplicates(symbols: Mapping[str, Symbols | None]) -> None:
    """Raise LinkError where two units define one symbol; `symbols` are those of each unit by name.

    nvJitLink 12.9 and 13.5 report success for that in PTX and cubins. They print an error on standard error only, and
    may crash at the next such link.
    """
    for symbol, names in duplicate_definitions(symbols).items():
        raise LinkError(duplicate_error(symbol, names))


def duplicate_definitions(symbols: Mapping[str, Symbols | None]) -> dict[str, list[str]]:
    """Return the names of the units that define each symbol that more than one defines, in their order."""
    owners: dict[str, list[str]] = {}
    for name, found in symbols.items():
        for symbol in sorted(found.defined) if found else ():
            owners.setdefault(symbol, []).append(name)
    return {symbol: names for symbol, names in owners.items() if len(names) > 1}


def duplicate_error(symbol: str, names: Sequence[str]) -> str:
    by = " and by ".join(names)
    return f"{displayed(symbol)} is defined twice: by {by}. Leave one of them out, or make its definition static."


def check_prototypes(texts: Mapping[str, str], extern: Mapping[str, str]) -> None:
    """Raise LinkError where a unit calls a function whose definition has parameters or a result of other sizes.

    `texts` is the PTX of each unit by name, `extern` the declarations to quote by symbol. A C++ symbol holds the types
    of the parameters, so that a mismatch is an undefined symbol; an `extern "C"` symbol does not, and linkers compare
    nothing but symbols.
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
    """Return a symbol for a message: after its C++ name, if it has another."""
    name = demangled(symbol)
    return symbol if name == symbol else f"{name} ({symbol})"
