"""Run a link whose units, target and strategies are decided: compile, check, link, and keep the result in the cache.

Explain a failed link by the linker's log.
"""

import json
import re
import time
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import NamedTuple

from ...errors import LinkError
from ...jit import JitOptions
from ...manifest import Target, Version, dotted, sha256_of
from ..cuda_libraries import driver_build, nvjitlink_build
from ..floating_point import FloatingPoint
from ..formats.cubin import Symbols, demangled
from ..formats.ptx import without_contraction
from ..nvjitlink import code_and_log, nvjitlink_options
from ..user_cache import Cache
from .cuda_compiler import compile_cuda, may_use_build_time, nvrtc_build, nvrtc_options
from .inputs import KIND_LABELS, InputKind
from .linkers import (
    Cause,
    LinkerInput,
    LinkerOutput,
    RefusedError,
    causes,
    duplicate_symbols,
    link_by_driver,
    link_by_nvjitlink,
    link_by_nvjitlink_in_child,
    undefined_symbols,
    unreported_errors,
)
from .strategy import (
    CODE_KINDS,
    CONTAINER_KINDS,
    LinkUnit,
    Mode,
    Strategy,
    check_duplicates,
    check_prototypes,
    displayed,
    duplicate_error,
    names_of,
    symbols_of,
)

__all__ = ["LinkFailure", "Linked", "PreparedLink"]


KnownSymbols = Mapping[str, Symbols | None]
"""Name of a unit (a program to link) -> the symbols that the unit defines and uses; None if they are unknown."""


class LinkFailure(NamedTuple):
    """A link that failed in the linker."""

    units: Sequence[LinkUnit]
    target: Target
    mode: Mode
    linker: str
    log: str
    crashed: bool

    def message(self, extern: Mapping[str, str], read_symbols: Callable[[], KnownSymbols]) -> str:
        """Return an explanation, followed by the linker's log.

        `extern` is symbol -> declaration of what modules use and leave to others to define. `read_symbols` returns the
        symbols of the units; it may have to compile them.
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

    def _names_with(self, *kinds: InputKind) -> str:
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
    """Return [hint] if two symbols differ only in C++ mangling or in parameters: "scale" and "_Z5scalef". Else return
    [].

    `symbol` is a symbol that no unit defines; `other` is one that the unit `name` defines.
    """
    if demangled(other) == symbol:
        return [f'put extern "C" before {symbol} in {name}: its symbol there is the C++ one, {other}']
    if other == demangled(symbol):
        return [f'remove extern "C" from {other} in {name}: the caller declares it as C++, {symbol}']
    if demangled(other) == demangled(symbol) != symbol:
        return [f"{demangled(other)} in {name} has other parameters: {other}, not {symbol}"]
    return []


FORMAT = "2"
"""Version of the layout of cache entries. Every cache key contains it, so an entry of another layout is never read."""

_READS_FILES = re.compile(rb"include|\bimport\b|embed|\?\?/")
"""Pattern of CUDA C++ that may read other files: "include", "import", "embed", or the trigraph "??/" (a backslash,
which may join two lines). Lines that end in a backslash must be joined before the search."""

_SPLICE = re.compile(rb"\\\r?\n")


class Linked(NamedTuple):
    """The result of a link, and how it was linked."""

    cubin: bytes
    ptx: str | None
    """PTX of the linked program, if it was requested; else None."""
    target: Target
    mode: Mode
    """"lto": optimised across the pieces (inputs of the link) that have LTO-IR. "ptx": linked from PTX and machine
    code, without LTO."""
    linker: str
    """Linker that was used: "nvJitLink 12.9" or "the driver's"."""
    why: str
    """Why this mode and this linker were chosen, in one sentence: "LTO: every piece has LTO-IR"."""
    log: str
    """NVRTC's log, if it compiled a piece (an input of the link), and then the linker's log. The linker's log lists
    each kernel's resources if `JitOptions.verbose` is set."""
    errors: str
    """Error log of the linker, separate from `log`. It may contain warnings, although the link succeeded."""
    seconds: float
    """Wall time in seconds: of the link, or of reading its result from the cache. It includes compiling CUDA C++,
    unless an earlier call of `PreparedLink.digest` has done that."""
    linker_seconds: float | None
    """Seconds that the driver's linker reports (CU_JIT_WALL_TIME); None for nvJitLink or a cached result."""
    cached: bool
    """Whether the result was read from the user's cache, without a new link."""
    pieces: tuple[str, ...]

    def __repr__(self) -> str:
        return f"<Linked for {self.target}: {', '.join(self.pieces)}; {self.why}>"


class _Inputs(NamedTuple):
    """Inputs of a linker, and NVRTC's log for those that it compiled."""

    inputs: list[LinkerInput]
    log: str


class PreparedLink:
    """A link for one target, with the strategies that may work, best first."""

    def __init__(
        self,
        units: Sequence[LinkUnit],
        target: Target,
        strategies: tuple[Strategy, ...],
        releases: tuple[Version | None, Version | None],
        device: int | None,
        options: JitOptions,
    ) -> None:
        """`releases` are the CUDA releases of nvJitLink and the driver; None where there is none."""
        self._units = units
        self._target = target
        self._strategies = strategies
        self._nvjitlink, self._driver = releases
        self._device = device
        self._options = options

    def digest(self) -> str:
        """Return the cache key of this link: links with other inputs, linker or options have another."""
        return self._key(self._strategies[0], self._best_inputs.inputs, False)

    def run(self, extern: Mapping[str, str], want_ptx: bool) -> Linked:
        """Return the result of the best strategy that works; with `want_ptx`, also the PTX of the linked program.

        `extern` is symbol -> declaration, for messages. Raises LinkError.
        """
        strategy = self._strategies[0]
        if want_ptx and not strategy.whole:
            raise LinkError(f"only a link of LTO-IR alone can return PTX, and this one is not: {strategy.why}")
        for following in (*self._strategies[1:], None):
            try:
                return self._link(strategy, extern, want_ptx)
            except RefusedError as error:
                if not error.outdated or following is None or want_ptx:
                    raise LinkError(self._explanation(strategy, error, extern)) from None
                strategy = self._fallback(strategy, following, str(error))
        raise AssertionError("unreachable")

    def _explanation(self, strategy: Strategy, error: RefusedError, extern: Mapping[str, str]) -> str:
        linker = self._linker_name(strategy) + (" linker" if strategy.linker == "driver" else "")
        failure = LinkFailure(self._units, self._target, strategy.mode, linker, str(error), error.crashed)
        return failure.message(extern, self._read_symbols)

    def _fallback(self, refused: Strategy, following: Strategy, log: str) -> Strategy:
        """Return the strategy `following`, to be tried after the linker refused the strategy `refused`.

        Its new `why` quotes the first error in `log`, the log of the refused link.
        """
        first = next((line for line in log.splitlines() if "rror" in line or "fatal" in line), log)
        linker = "the driver's linker" if following.linker == "driver" else "nvJitLink"
        return following._replace(why=f"PTX by {linker}: {self._linker_name(refused)} refused it ({first.strip()})")

    def _link(self, strategy: Strategy, extern: Mapping[str, str], want_ptx: bool) -> Linked:
        started = time.perf_counter()
        inputs, compiler_log = self._inputs(strategy)
        check_duplicates({unit.name: symbols_of(unit, each) for unit, each in zip(self._units, inputs, strict=True)})
        cache, key = Cache(), self._key(strategy, inputs, want_ptx)
        is_kept = self._linker_build(strategy) is not None
        entry = cache.read(key, _from_entry) if is_kept else None
        if entry is None:
            check_prototypes(self._texts(inputs), extern)
            output = self._run_linker(strategy, inputs, False)
            errors = unreported_errors(f"{output.log}\n{output.errors}")
            if errors:
                raise RefusedError("\n".join(errors))
            text = self._run_linker(strategy, inputs, True).code.decode() if want_ptx else None
            if is_kept:
                cache.put(key, _to_entry(output, text))
        else:
            output, text = entry
        return Linked(
            cubin=output.code,
            ptx=text,
            target=self._target,
            mode=strategy.mode,
            linker=self._linker_name(strategy),
            why=strategy.why,
            log="\n".join(filter(None, (compiler_log, output.log))),
            errors=output.errors,
            seconds=time.perf_counter() - started,
            linker_seconds=output.seconds,
            cached=entry is not None,
            pieces=tuple(unit.name for unit in self._units),
        )

    def _texts(self, inputs: Sequence[LinkerInput]) -> dict[str, str]:
        """Return unit name -> PTX of the unit, for each unit that has PTX.

        `inputs` has one linker input for each unit, in the order of the units. PTX in `inputs` is preferred to the
        unit's own. If the link has several units, CUDA C++ without PTX is compiled to PTX first.
        """
        texts = {}
        for unit, given in zip(self._units, inputs, strict=True):
            code = given.content if given.kind == "ptx" else unit.forms.get("ptx")
            if code is None and "cuda" in unit.forms and len(self._units) > 1:
                code, _ = self._compiled(unit, False)
            if code is not None:
                texts[unit.name] = code.decode(errors="replace")
        return texts

    def _run_linker(self, strategy: Strategy, inputs: Sequence[LinkerInput], want_ptx: bool) -> LinkerOutput:
        if strategy.linker == "driver":
            return link_by_driver(inputs, self._target, self._options, self._device)
        containers = any(each.kind in CONTAINER_KINDS for each in inputs)
        linker = link_by_nvjitlink_in_child if containers else link_by_nvjitlink
        return linker(inputs, self._nvjitlink_options(strategy), want_ptx)

    def _nvjitlink_options(self, strategy: Strategy) -> list[str]:
        """Return nvJitLink's command-line options for a strategy. Only a link with LTO gets floating-point options.

        LTO-IR needs these options, but PTX was compiled with them already.
        """
        options = [f"-arch={self._target}", *nvjitlink_options(self._options)]
        if strategy.mode == "ptx":
            return options
        # The units have the same, or none: `strategies` allows no other link with LTO.
        chosen = next((unit.floating_point for unit in self._units if unit.floating_point), FloatingPoint())
        return [*options, "-lto", *chosen.lto_options()]

    def _inputs(self, strategy: Strategy) -> _Inputs:
        return self._best_inputs if strategy is self._strategies[0] else self._compiled_inputs(strategy)

    @cached_property
    def _best_inputs(self) -> _Inputs:
        """Linker inputs for the first strategy, which is the best one. They are made once, for both `digest` and
        `run`."""
        # Else a unit whose code the user's cache does not keep would be compiled twice.
        return self._compiled_inputs(self._strategies[0])

    def _compiled_inputs(self, strategy: Strategy) -> _Inputs:
        """Return one linker input for each unit, in the order of the units, and NVRTC's log.

        CUDA C++ is compiled by NVRTC: to LTO-IR for a strategy with LTO, else to PTX.
        """
        inputs, logs = [], []
        lto = strategy.mode == "lto"
        kinds = ("ltoir", *CODE_KINDS[::-1]) if lto else CODE_KINDS
        for unit in self._units:
            kind: str = next(kind for kind in kinds if kind in unit.forms)
            if kind == "cuda":
                kind = "ltoir" if lto else "ptx"
                content, log = self._compiled(unit, lto)
                logs.append(log)
            else:
                content = unit.forms[kind]  # type: ignore[index]
            if kind == "ptx" and unit.floating_point and not unit.floating_point.assembler_fma:
                content = without_contraction(content.decode(errors="surrogateescape")).encode(errors="surrogateescape")
            inputs.append(LinkerInput(kind, unit.name, content))
        return _Inputs(inputs, "\n".join(filter(None, logs)))

    def _compiled(self, unit: LinkUnit, lto: bool) -> tuple[bytes, str]:
        """Compile a unit's CUDA C++ with NVRTC: to LTO-IR with `lto`, else to PTX. Return (code, log).

        The result is kept in the user's cache, with three exceptions: the source may read other files; it may read the
        time of its compilation (`__TIME__`); the exact build of NVRTC is unknown.
        """
        text = unit.forms["cuda"]
        floating_point = unit.floating_point or FloatingPoint()
        arguments = (text, unit.name, unit.folder, self._target, lto, self._options, floating_point)
        build = nvrtc_build()
        # A spliced line could hide a directive.
        if build is None or _READS_FILES.search(_SPLICE.sub(b"", text)) or may_use_build_time([text]):
            return compile_cuda(*arguments)
        cache, key = Cache(), self._compiled_key(unit, lto, build)
        entry = cache.read(key, code_and_log)
        if entry is not None:
            return entry
        code, log = compile_cuda(*arguments)
        cache.put(key, log.encode() + b"\0" + code)
        return code, log

    def _compiled_key(self, unit: LinkUnit, lto: bool, build: str) -> str:
        """Return the cache key of the code that NVRTC compiles from a unit's CUDA C++: LTO-IR with `lto`, else PTX.

        The source must read no other file and no clock. `build` identifies the exact build of NVRTC.
        """
        options = nvrtc_options(lto, self._options, unit.floating_point or FloatingPoint())
        # The key covers the source itself only, not what it includes.
        return Cache.key("cuda", FORMAT, sha256_of(unit.forms["cuda"]), unit.name, str(self._target), build, *options)

    def _key(self, strategy: Strategy, inputs: Sequence[LinkerInput], want_ptx: bool) -> str:
        """Return the cache key of a link, made of everything that decides its result, such as the contents of `inputs`.

        With `want_ptx`, the result contains the PTX of the linked program too.
        """
        linker = (strategy.linker, repr(self._linker_build(strategy)))
        options = (*self._nvjitlink_options(strategy), repr(self._options.optimization_level))
        contents = (f"{kind} {name} {sha256_of(content)}" for kind, name, content in inputs)
        return Cache.key("link", FORMAT, strategy.mode, *linker, str(self._target), *options, repr(want_ptx), *contents)

    def _linker_build(self, strategy: Strategy) -> str | None:
        """Return the identifier of the linker's exact build; None if it is unknown."""
        if strategy.linker == "driver":
            build = driver_build()
            return None if build is None else f"{self._driver} {build}"
        return nvjitlink_build()

    def _linker_name(self, strategy: Strategy) -> str:
        return "the driver's" if strategy.linker == "driver" else f"nvJitLink {dotted(self._nvjitlink or (0, 0))}"

    def _read_symbols(self) -> dict[str, Symbols | None]:
        """Return unit name -> symbols of the unit, or None if its symbols are unknown. CUDA C++ is first compiled to
        PTX, from which the symbols are read."""
        known = {}
        for unit in self._units:
            kind: str
            kind, content = next(iter(unit.forms.items()))
            if kind == "cuda":
                kind, content = "ptx", self._compiled(unit, False)[0]
            known[unit.name] = symbols_of(unit, LinkerInput(kind, unit.name, content))
        return known


def _to_entry(output: LinkerOutput, ptx: str | None) -> bytes:
    head = {"log": output.log, "errors": output.errors, "ptx": ptx}
    return json.dumps(head).encode() + b"\0" + output.code


def _from_entry(content: bytes) -> tuple[LinkerOutput, str | None]:
    head, _, code = content.partition(b"\0")
    record = json.loads(head)
    return LinkerOutput(code, record["log"], record["errors"], None), record["ptx"]
