"""See to it that what linkers are given is sound, and tell what their words come to.

nvJitLink 12.9 and 13.5 and driver 580's linker die of a cubin that is cut short, and take what is defined twice for
success, or die of it. So both are looked for before they get to see anything.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import NamedTuple

from ..errors import LinkError
from ..formats import elf, ptx
from ..formats.fatbin import whole_fatbin
from ..formats.symbols import demangled
from ..manifest import Target, Version
from ..rules import unsupported
from .inputs import NAMES
from .linkers import Input
from .strategy import OPAQUE, Mode, Unit, names_of

__all__ = [
    "Failure",
    "Symbols",
    "doubled",
    "inspect",
    "ptx_arch",
    "refuse_doubles",
    "refuse_mismatches",
    "silent_failures",
    "symbols_in",
    "symbols_of",
]


_SILENT = r"Multiple definition of '|Unresolved extern variable '|Undefined reference to '"


_UNDEFINED = r"(?:Unresolved extern (?:function|variable)|Undefined reference to) '([^']+)'"


_DOUBLE = r"Multiple definition of '([^']+)'|Linking globals named '([^']+)': symbol multiply defined"


_NOT_ENABLED = r"nvvm input without LTO|without LTO enabled"


_DAMAGED = r"bad input|INVALID_INPUT|INCORRECT_INPUT_TYPE|parse Malformed|parse Invalid|Internal error|archive format"


_OUTDATED_WORDS = r"newer version of nvJitLink|Unsupported \.version|IR_VERSION_MISMATCH|UNSUPPORTED_PTX_VERSION"
"""The words of nvJitLink 12.9 and 13.5, and of driver 580's linker: patterns, compiled when one of them fails, for that
takes longer than to link."""


def ptx_arch(unit: Unit) -> str | None:
    """Return the architecture that a unit's PTX is for; None of a unit without, and where the text does not say."""
    with suppress(ValueError, KeyError):
        return ptx.target(unit.forms["ptx"].decode(errors="replace"))
    return None


def inspect(unit: Unit, capability: Version) -> None:
    """Raise LinkError where one of a unit's forms is damaged, or not for the GPU."""
    reason = None
    if "cubin" in unit.forms:
        try:
            cubin = elf.read_cubin(unit.forms["cubin"])
        except ValueError as error:
            raise LinkError(f"{unit.name} is a damaged cubin: {error}") from None
        reason = unsupported(Target(*divmod(cubin.arch, 10), "", True), capability)
        if not reason and not cubin.relocatable:  # nvJitLink would leave it out without a word
            reason = "is finished machine code, and cannot be linked: compile it as relocatable device code (-rdc=true)"
    elif "fatbin" in unit.forms and not whole_fatbin(unit.forms["fatbin"]):
        raise LinkError(f"{unit.name} is a damaged fatbin: it is cut short")
    elif "ptx" in unit.forms and len(unit.forms) == 1:
        arch = ptx_arch(unit)
        reason = arch and unsupported(Target.parse(f"compute_{arch}"), capability)
    if reason:
        raise LinkError(f"{unit.name} {reason}")


class Symbols(NamedTuple):
    """What a unit defines for others, what it defines unless others do, and what others have to define."""

    defined: frozenset[str]
    weak: frozenset[str]
    wanted: frozenset[str]


def symbols_of(unit: Unit, given: Input) -> Symbols | None:
    """Return what a unit defines and asks for, of which `given` is what the linker is given; None where neither that
    nor another form says."""
    known = symbols_in(given.kind, given.content)
    return known or (symbols_in("ptx", unit.forms["ptx"]) if "ptx" in unit.forms else None)


def symbols_in(kind: str, content: bytes) -> Symbols | None:
    """Return what PTX or a cubin defines and asks for; None of any other kind."""
    if kind == "cubin":
        cubin = elf.read_cubin(content)
        return Symbols(cubin.defined, cubin.weak, cubin.wanted)
    return Symbols(*ptx.symbols(content.decode(errors="replace"))) if kind == "ptx" else None


def refuse_doubles(symbols: Mapping[str, Symbols | None]) -> None:
    """Raise LinkError where two units define one symbol; `symbols` are those of each.

    nvJitLink 12.9 and 13.5 take that of PTX and cubins for success, say so on standard error alone, and may crash at
    the next such link.
    """
    for symbol, names in doubled(symbols).items():
        raise LinkError(_double_message(symbol, names))


def doubled(symbols: Mapping[str, Symbols | None]) -> dict[str, list[str]]:
    """Return what several of these define, by symbol: their names, in their order."""
    owners: dict[str, list[str]] = {}
    for name, its in symbols.items():
        for symbol in sorted(its.defined) if its else ():
            owners.setdefault(symbol, []).append(name)
    return {symbol: names for symbol, names in owners.items() if len(names) > 1}


def _double_message(symbol: str, names: Sequence[str]) -> str:
    by = " and by ".join(names)
    return f"{_shown(symbol)} is defined twice: by {by}. Leave one of them out, or make its definition static."


def refuse_mismatches(texts: Mapping[str, str], extern: Mapping[str, str]) -> None:
    """Raise LinkError where a function takes or returns other sizes where it is defined than where it is called, as far
    as PTX tells; `texts` are that of each unit, `extern` declarations by symbol.

    C++ names hold the parameters' types, so that others are other symbols; `extern "C"` names do not, and no linker
    looks at more than the name.
    """
    wanted: dict[str, tuple[str, ptx.Prototype]] = {}
    for name, text in texts.items():
        known = ptx.prototypes(text)
        wanted |= {symbol: (name, known[symbol]) for symbol in ptx.symbols(text).wanted if symbol in known}
    for name, text in texts.items():
        known, shared = ptx.prototypes(text), ptx.symbols(text)
        for symbol in sorted(wanted.keys() & known.keys() & (shared.defined | shared.weak)):
            caller, prototype = wanted[symbol]
            if known[symbol] != prototype:
                declared = f"; its declaration: {extern[symbol]}" if symbol in extern else ""
                raise LinkError(
                    f"{_shown(symbol)} is another function in {name} than {caller} calls: it is {known[symbol]} there, "
                    f"and {prototype} here{declared}"
                )


def silent_failures(words: str) -> str:
    """Return the lines in which a linker tells of an error that it took for none; "" where there is none.

    nvJitLink 12.9 and 13.5 make a variable that nobody defines the module's own, and take one of two definitions.
    """
    return "\n".join(line for line in words.splitlines() if re.search(_SILENT, line))


class Failure(NamedTuple):
    """A link that a linker refused: what it was given, by what name it goes, and what it said."""

    units: Sequence[Unit]
    target: Target
    mode: Mode
    linker: str
    words: str
    crashed: bool

    def message(self, extern: Mapping[str, str], ask_symbols: Callable[[], Mapping[str, Symbols | None]]) -> str:
        """Return the linker's words, and before them what they come to.

        `extern` are declarations of what is left to others, by symbol; `ask_symbols` gives each unit's symbols, as far
        as they are known, which may take compiling it.
        """
        words, everything = self.words, names_of(self.units)
        missing = list(dict.fromkeys(match[1] for match in re.finditer(_UNDEFINED, words)))
        doubles = list(dict.fromkeys(match[1] or match[2] for match in re.finditer(_DOUBLE, words)))
        told = []
        if missing or doubles:
            known = ask_symbols()
            told += [self._missing_message(symbol, extern, known) for symbol in missing]
            for symbol in doubles:
                names = [name for name, symbols in known.items() if symbols and symbol in symbols.defined]
                names += [f"one of {everything}"] * (not names) + ["another piece"] * (len(names) < 2)
                told.append(_double_message(symbol, names))
        elif "LTOIR arch newer than target arch" in words:
            told.append(
                f"the LTO-IR of one of {self._of_kind('ltoir', 'cuda')} is for a newer GPU than {self.target}: "
                f"compile it for compute_{self.target.arch} or lower"
            )
        elif re.search(_NOT_ENABLED, words):
            told.append(f"one of {self._of_kind(*OPAQUE)} holds LTO-IR: jit=JitOptions(lto=True) links it")
        elif self.crashed:
            told.append(f"one of {self._of_kind(*OPAQUE)} is damaged, or defines what another piece defines")
        elif re.search(_DAMAGED, words):
            told.append(f"one of {everything} is damaged, or for another GPU than {self.target}")
        elif re.search(_OUTDATED_WORDS, words):
            told.append(
                f"one of {everything} is of a newer CUDA release than {self.linker}: a newer one, or an older form "
                "of that piece, helps"
            )
        mode = "with LTO" if self.mode == "lto" else "without LTO"
        return "\n".join([*told, f"{self.linker} cannot link {everything} for {self.target}, {mode}:", words])

    def _of_kind(self, *kinds: str) -> str:
        return names_of(unit for unit in self.units if any(kind in unit.forms for kind in kinds))

    def _missing_message(self, symbol: str, extern: Mapping[str, str], known: Mapping[str, Symbols | None]) -> str:
        wanting = [name for name, symbols in known.items() if symbols and symbol in symbols.wanted] or ["a piece"]
        declaration = extern.get(symbol, "")
        lines = [f"{' and '.join(wanting)} needs {_shown(symbol)}, which no piece defines"]
        if declaration and declaration != _shown(symbol):
            lines[0] += f"; its declaration: {declaration}"
        for name, symbols in known.items():
            if symbols is None:
                lines.append(f"  {name}: of {NAMES.get(self._kind(name), 'its kind')} it is not known what it defines")  # type: ignore[call-overload]
                continue
            defines = sorted(symbols.defined | symbols.weak)
            lines.append(f"  {name} defines {', '.join(map(_shown, defines)) or 'nothing'}")
            for other in defines:
                if demangled(other) == symbol:
                    lines.append(f'  help: put extern "C" before {symbol} in {name}: there it has a C++ name, {other}')
                elif other == demangled(symbol):
                    lines.append(f'  help: take extern "C" from {other} in {name}: it is asked for as C++, {symbol}')
                elif demangled(other) == demangled(symbol) != symbol:
                    lines.append(
                        f"  help: the parameters of {demangled(other)} in {name} are others: {other}, not {symbol}"
                    )
        return "\n".join(lines)

    def _kind(self, name: str) -> str:
        return next(iter(next(unit for unit in self.units if unit.name == name).forms))


def _shown(symbol: str) -> str:
    """Return a symbol as people know it: with its C++ name, where that is another."""
    name = demangled(symbol)
    return symbol if name == symbol else f"{name} ({symbol})"
