"""Explain why a link failed: the linker's log, and what it means for the pieces."""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from ..formats.symbols import Symbols, demangled
from ..manifest import Target
from .checks import displayed, duplicate_error
from .inputs import KIND_LABELS, PieceKind
from .nvjitlink_messages import Cause, causes, duplicate_symbols, undefined_symbols
from .strategy import CONTAINER_KINDS, LinkUnit, Mode, names_of

__all__ = ["LinkFailure"]

KnownSymbols = Mapping[str, Symbols | None]
"""The symbols of each unit by its name; None where they are unknown."""


class LinkFailure(NamedTuple):
    """A link that a linker refused."""

    units: Sequence[LinkUnit]
    target: Target
    mode: Mode
    linker: str
    log: str
    crashed: bool

    def message(self, extern: Mapping[str, str], read_symbols: Callable[[], KnownSymbols]) -> str:
        """Return an explanation, followed by the linker's log.

        `extern` are the declarations of symbols that modules leave to their users. `read_symbols` returns the symbols
        of the units; it may have to compile them.
        """
        mode = "with LTO" if self.mode == "lto" else "without LTO"
        head = f"{self.linker} cannot link {names_of(self.units)} for {self.target}, {mode}:"
        return "\n".join([*self._explanations(extern, read_symbols), head, self.log])

    def _explanations(self, extern: Mapping[str, str], read_symbols: Callable[[], KnownSymbols]) -> list[str]:
        undefined, duplicates = undefined_symbols(self.log), duplicate_symbols(self.log)
        if undefined or duplicates:
            known = read_symbols()
            return [
                *(self._undefined(symbol, extern, known) for symbol in undefined),
                *(self._duplicate(symbol, known) for symbol in duplicates),
            ]
        everything, found = names_of(self.units), causes(self.log)
        if Cause.LTOIR_FOR_NEWER_GPU in found:
            return [
                f"the LTO-IR of one of {self._names_with('ltoir', 'cuda')} is for a newer GPU than {self.target}: "
                f"compile it for compute_{self.target.arch} or lower"
            ]
        if Cause.NEEDS_LTO in found:
            return [f"one of {self._names_with(*CONTAINER_KINDS)} holds LTO-IR: jit=JitOptions(lto=True) links it"]
        if self.crashed:
            return [f"one of {self._names_with(*CONTAINER_KINDS)} is damaged, or defines what another piece defines"]
        if Cause.BAD_INPUT in found or Cause.DAMAGED in found:
            return [f"one of {everything} is damaged, or is for another GPU than {self.target}"]
        if Cause.NEWER_LTOIR in found or Cause.NEWER_PTX in found:
            return [
                f"one of {everything} comes from a newer CUDA release than {self.linker}: use a newer linker, or an "
                "older form of that piece"
            ]
        return []

    def _names_with(self, *kinds: PieceKind) -> str:
        return names_of(unit for unit in self.units if any(kind in unit.forms for kind in kinds))

    def _duplicate(self, symbol: str, known: KnownSymbols) -> str:
        names = [name for name, symbols in known.items() if symbols and symbol in symbols.defined]
        names += [f"one of {names_of(self.units)}"] * (not names)
        return duplicate_error(symbol, names + ["another piece"] * (len(names) < 2))

    def _undefined(self, symbol: str, extern: Mapping[str, str], known: KnownSymbols) -> str:
        users = [name for name, symbols in known.items() if symbols and symbol in symbols.undefined] or ["a piece"]
        lines = [f"{' and '.join(users)} needs {displayed(symbol)}, which no piece defines"]
        declaration = extern.get(symbol, "")
        if declaration and declaration != displayed(symbol):
            lines[0] += f"; its declaration: {declaration}"
        for name, symbols in known.items():
            if symbols is None:
                lines.append(f"  {name}: the symbols of {self._kind_label(name)} are unknown")
                continue
            defines = sorted(symbols.defined | symbols.weak)
            lines.append(f"  {name} defines {', '.join(map(displayed, defines)) or 'nothing'}")
            lines += [f"  help: {each}" for other in defines for each in _near_miss(symbol, other, name)]
        return "\n".join(lines)

    def _kind_label(self, name: str) -> str:
        return KIND_LABELS[next(iter(next(unit for unit in self.units if unit.name == name).forms))]


def _near_miss(symbol: str, other: str, name: str) -> list[str]:
    """Return what to change where `other`, which the unit `name` defines, differs from a symbol by mangling alone."""
    if demangled(other) == symbol:
        return [f'put extern "C" before {symbol} in {name}: its symbol there is the C++ one, {other}']
    if other == demangled(symbol):
        return [f'remove extern "C" from {other} in {name}: the caller declares it as C++, {symbol}']
    if demangled(other) == demangled(symbol) != symbol:
        return [f"{demangled(other)} in {name} has other parameters: {other}, not {symbol}"]
    return []
