"""Link device code on the user's machine: a library's kernels with what their user brings, or pieces alone.

Pieces become units, `link_choice` decides how these are linked, `link_checks` sees to it that they are sound, `linkers`
links them. The loader imports this file once somebody links.
"""

import itertools
import json
import re
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

from .. import digest as digest_module
from .. import driver as driver_module
from .. import files as files_module
from .. import jit as jit_module
from .. import registry
from ..cache import Cache
from ..driver import device_and_driver
from ..errors import DriverError, ImageError, LinkError
from ..formats import elf, ptx
from ..formats.symbols import demangled
from ..jit import Jit, JitOptions, nvjitlink_options, resources_of
from ..manifest import GlobalInfo, Image, KernelInfo, Manifest, Target, Version, dotted
from ..module import Module
from ..nvjitlink import nvjitlink_version
from .checks import Failure, Symbols, inspect, ptx_arch, refuse_doubles, refuse_mismatches, silent_failures, symbols_of
from .inputs import Piece, piece_of
from .linkers import (
    Input,
    Output,
    RefusedError,
    compile_cuda,
    link_by_driver,
    link_by_nvjitlink,
    link_by_nvjitlink_apart,
    nvrtc_options,
    nvrtc_version,
)
from .strategy import CODE, OPAQUE, Mode, Unit, Way, relocatable_group, ways

__all__ = [
    "Linked",
    "link",
    "load_linked",
]


FORMAT = "1"
"""Part of every key: entries of another layout are other entries."""


class Linked(NamedTuple):
    """What was linked, and how."""

    cubin: bytes
    ptx: str | None
    """The PTX on the way to it, where that was asked for."""
    target: Target
    mode: Mode
    """ "lto": optimised across the pieces that have LTO-IR; "ptx": linked from PTX and machine code."""
    linker: str
    """ "nvJitLink 12.9", or "the driver's"."""
    why: str
    """Why this mode and linker, in a sentence."""
    log: str
    """What the linker said, with each kernel's resources where `JitOptions.verbose` asks for them."""
    errors: str
    """What it said in its error log, though it succeeded."""
    seconds: float
    """What compiling and linking took (wall time); of a cached result, finding it."""
    linker_seconds: float | None
    """What the driver's linker says that it took (CU_JIT_WALL_TIME); nvJitLink does not say."""
    cached: bool
    """Whether the result was there from before."""
    pieces: tuple[str, ...]

    def __repr__(self) -> str:
        return f"<Linked for {self.target}: {', '.join(self.pieces)}; {self.why}>"


class _Parts(NamedTuple):
    """What pieces came to: the units, and the manifests of those that are modules, with the images that were taken."""

    units: list[Unit]
    modules: list[tuple[Manifest, tuple[Image, ...]]]


def _parts(pieces: Sequence[Piece], capability: Version, reads: Version | None, device: int | None) -> _Parts:
    parts = _Parts([], [])
    for piece in pieces:
        if piece.kind == "module":
            manifest, units, images = _module_units(piece.name, capability, reads, device)
            parts.modules.append((manifest, images))
            parts.units.extend(units)
        else:
            parts.units.append(Unit(piece.name, {piece.kind: piece.content}, folder=piece.folder))
    if not parts.units:
        raise LinkError("there is nothing to link: no piece was given")
    return parts._replace(units=_distinct(parts.units))


def _distinct(units: Sequence[Unit]) -> list[Unit]:
    """Return the units with a number in a name that another has already: "piece-2.ptx"."""
    taken: set[str] = set()
    made = []
    for unit in units:
        stem, dot, suffix = unit.name.rpartition(".")
        numbered = (f"{stem or suffix}-{count}{dot}{suffix if stem else ''}" for count in itertools.count(2))
        name = next(name for name in itertools.chain([unit.name], numbered) if name not in taken)
        taken.add(name)
        made.append(unit._replace(name=name))
    return made


def _module_units(
    name: str, capability: Version, reads: Version | None, device: int | None
) -> tuple[Manifest, list[Unit], tuple[Image, ...]]:
    """Return a module's manifest, its relocatable images by source, and those of them that were taken."""
    files, manifest = files_module.files_and_manifest(name, device)
    if not manifest.relocatable:
        raise LinkError(
            f"{name} has no relocatable images, so that nothing can be linked to it: its maker can set "
            "`relocatable = true` in its table in pyproject.toml"
        )
    groups = {kind: relocatable_group(manifest, kind, capability, reads) for kind in ("ltoir", "ptx")}
    images = groups["ltoir"] + groups["ptx"]
    if not images:
        has = ", ".join(sorted({str(image.target) for image in manifest.relocatable}))
        raise LinkError(
            f"{name} has relocatable images for {has} only, and none of these suits compute capability "
            f"{dotted(capability)}: its maker can add a lower target to architectures"
        )
    units = []
    for source in dict.fromkeys(image.source for image in images):
        its = {image.kind: image for image in images if image.source == source}
        forms: dict[str, bytes] = {kind: files_module.read_image(files, manifest, image) for kind, image in its.items()}
        if "ptx" in forms:
            forms["ptx"] = forms["ptx"].rstrip(b"\0")
        label = f"{name}:{str(source).rpartition('/')[2]}"
        units.append(Unit(label, forms, manifest.cuda, its["ptx"].driver if "ptx" in its else None))
    return manifest, units, images


def _target(capability: Version, suffix: str, units: Sequence[Unit]) -> Target:
    """Return what to link for: the suffix of the GPU's own features where PTX asks for it."""
    own = [Target.parse(f"sm_{arch}") for arch in map(ptx_arch, units) if arch]
    suffixes = {target.suffix for target in own if target.capability == capability or target.suffix == "f"}
    best = max({suffix, *suffixes}, key=lambda each: " fa".index(each or " "))
    return Target(*capability, best, True)


def link(
    pieces: Sequence[Any],
    *,
    device: int | None = None,
    arch: str | None = None,
    jit: JitOptions = JitOptions(),  # noqa: B008 - immutable
    ptx: bool = False,
) -> Linked:
    """Return the machine code that the pieces are linked to; `load` says what a piece may be.

    It is for the GPU number `device`, else the current context's, else number 0; or for `arch`, such as "90" or "90a",
    which takes no GPU, but nvJitLink. With `ptx` the PTX on the way to it is returned too, which only optimisation at
    link time gives. Results are kept in the user's cache.

    Raises LinkError where the pieces do not link, ImageError for what is no piece, DriverError where a driver is needed
    and there is none.
    """
    jit.check()
    made = _pieces_of(pieces)
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
            with suppress(DriverError):  # that there is none is told with all other reasons
                driver = device_and_driver(device)[1]
    parts = _parts(made, capability, _reads(driver), device)
    job = _Job.prepared(parts.units, capability, suffix, driver, device, jit)
    return job.run(_extern_of(parts), ptx)


def load_linked(name: str, pieces: Sequence[Any], device: int | None, jit: JitOptions) -> Module:
    """Return the module `name`, linked with the pieces and loaded; `load` tells more."""
    jit.check()
    made = [Piece("module", name, b""), *_pieces_of(pieces)]
    capability, driver = device_and_driver(device)
    parts = _parts(made, capability, _reads(driver), device)
    job = _Job.prepared(parts.units, capability, "", driver, device, jit)

    def make() -> Module:
        linked = job.run(_extern_of(parts), False)
        image = Image(
            kind="cubin",
            target=linked.target,
            ptx_version=None,
            ptx_version_compiled=None,
            driver=driver,
            offset=None,
            size=len(linked.cubin),
            sha256=digest_module.sha256_of(linked.cubin),
            resources=resources_of(linked.log),
        )
        handle = driver_module.load_library(linked.cubin, f"loading {name}, linked with {', '.join(linked.pieces)}")
        manifest = _linked_manifest(parts, linked)
        return Module(manifest, image, "link", handle, Jit(jit, linked.seconds, linked.log), linked)

    return registry.once(("linked", name, job.digest()), make)


def _pieces_of(values: Any) -> list[Piece]:
    if isinstance(values, str | bytes) or not isinstance(values, Iterable):
        raise ImageError(f"pieces to link come in a list, [...], and not as {type(values).__name__}")
    return [piece_of(value) for value in values]


def _reads(driver: Version | None) -> Version | None:
    """Return the newest CUDA release whose PTX some linker here takes."""
    linker = nvjitlink_version()
    usable = linker if linker and (driver is None or linker[0] <= driver[0]) else None
    return max(filter(None, (usable, driver)), default=None)


def _extern_of(parts: _Parts) -> dict[str, str]:
    """Return the declarations of what the modules leave to whoever links them, by symbol."""
    return {external.symbol: external.declaration for manifest, _ in parts.modules for external in manifest.extern}


def _linked_manifest(parts: _Parts, linked: Linked) -> Manifest:
    """Return the first module's manifest, with the kernels and variables of everything that was linked."""
    base = parts.modules[0][0]
    here = str(linked.target)
    symbols = elf.read_cubin(linked.cubin)
    kernels: dict[str, KernelInfo] = {}
    variables: dict[str, GlobalInfo] = {}
    for manifest, images in parts.modules:
        targets = {str(image.target) for image in images}
        for info in manifest.kernels:
            absent = (here,) if targets & set(info.absent) and info.symbol not in symbols.kernels else ()
            kernels.setdefault(info.symbol, info._replace(absent=absent))
        variables |= {info.symbol: info for info in manifest.globals if info.symbol not in variables}
    for unit in parts.units:
        if "ptx" in unit.forms and unit.name.partition(":")[0] not in {each.name for each, _ in parts.modules}:
            for symbol, parameters in ptx.kernels(unit.forms["ptx"].decode(errors="replace")).items():
                kernels.setdefault(symbol, KernelInfo(demangled(symbol), symbol, parameters))
    for symbol, entry in symbols.kernels.items():
        kernels.setdefault(symbol, KernelInfo(demangled(symbol), symbol, entry.parameters))
    for symbol, variable in symbols.variables.items():
        variables.setdefault(symbol, GlobalInfo(demangled(symbol), symbol, *variable))
    return base._replace(kernels=tuple(kernels.values()), globals=tuple(variables.values()), images=())


class _Job(NamedTuple):
    """A link that was decided on, for one target."""

    units: Sequence[Unit]
    target: Target
    ways: tuple[Way, ...]
    nvjitlink: Version | None
    nvrtc: Version | None
    driver: Version | None
    device: int | None
    options: JitOptions
    first: list[tuple[list[Input], str]]
    """What the best way's linker is given, and what the compiler said, once that is known."""

    @classmethod
    def prepared(
        cls,
        units: Sequence[Unit],
        capability: Version,
        suffix: str,
        driver: Version | None,
        device: int | None,
        options: JitOptions,
    ) -> "_Job":
        for unit in units:
            inspect(unit, capability)
        nvjitlink = nvjitlink_version()
        nvrtc = nvrtc_version() if any("cuda" in unit.forms for unit in units) else None
        chosen = ways(units, nvjitlink, nvrtc, driver, options, capability)
        return cls(units, _target(capability, suffix, units), chosen, nvjitlink, nvrtc, driver, device, options, [])

    def digest(self) -> str:
        """Return what tells this link from all others in this process."""
        inputs, _ = self._inputs(self.ways[0])
        return self._key(self.ways[0], inputs, False)

    def run(self, extern: Mapping[str, str], want_ptx: bool) -> Linked:
        """Return what the best way that works gives. `extern` has declarations by symbol, for messages."""
        way = self.ways[0]
        if want_ptx and not way.whole:
            raise LinkError(f"PTX comes of a link of LTO-IR alone, and this is another: {way.why}")
        for next_way in (*self.ways[1:], None):
            try:
                return self._link(way, extern, want_ptx)
            except RefusedError as error:
                words = str(error)
                if not error.outdated or next_way is None or want_ptx:
                    linker = f"{self._linker_name(way)} linker" if way.linker == "driver" else self._linker_name(way)
                    failure = Failure(self.units, self.target, way.mode, linker, words, error.crashed)
                    raise LinkError(failure.message(extern, self._symbols)) from None
                first = next((line for line in words.splitlines() if "rror" in line or "fatal" in line), words)
                linker = "the driver's linker" if next_way.linker == "driver" else "nvJitLink"
                way = next_way._replace(why=f"PTX by {linker}: {self._linker_name(way)} refused it ({first.strip()})")
        raise AssertionError("unreachable")

    def _link(self, way: Way, extern: Mapping[str, str], want_ptx: bool) -> Linked:
        started = time.perf_counter()
        inputs, compiler_log = self._inputs(way)
        refuse_doubles({unit.name: symbols_of(unit, each) for unit, each in zip(self.units, inputs, strict=True)})
        cache, key = Cache(), self._key(way, inputs, want_ptx)
        output, text = cache.read(key, _recalled) or (None, None)
        cached = output is not None
        if output is None:
            refuse_mismatches(self._texts(inputs), extern)
            output = self._run_linker(way, inputs, False)
            failures = silent_failures(f"{output.log}\n{output.errors}")
            if failures:
                raise RefusedError(failures)
            text = self._run_linker(way, inputs, True).code.decode() if want_ptx else None
            cache.put(key, _record(output, text))
        return Linked(
            cubin=output.code,
            ptx=text,
            target=self.target,
            mode=way.mode,
            linker=self._linker_name(way),
            why=way.why,
            log="\n".join(filter(None, (compiler_log, output.log))),
            errors=output.errors,
            seconds=time.perf_counter() - started,
            linker_seconds=None if cached else output.seconds,
            cached=cached,
            pieces=tuple(unit.name for unit in self.units),
        )

    def _texts(self, inputs: Sequence[Input]) -> dict[str, str]:
        """Return the PTX of each unit that has any, or that it can be made of."""
        texts = {}
        for unit, given in zip(self.units, inputs, strict=True):
            code = given.content if given.kind == "ptx" else unit.forms.get("ptx")
            if code is None and "cuda" in unit.forms and len(self.units) > 1:
                code, _ = self._compiled(unit, False)
            if code is not None:
                texts[unit.name] = code.decode(errors="replace")
        return texts

    def _run_linker(self, way: Way, inputs: Sequence[Input], want_ptx: bool) -> Output:
        if way.linker == "driver":
            return link_by_driver(inputs, self.target, self.options, self.device)
        apart = any(each.kind in OPAQUE for each in inputs)
        by = link_by_nvjitlink_apart if apart else link_by_nvjitlink
        return by(inputs, self.target, way.mode == "lto", self.options, want_ptx)

    def _inputs(self, way: Way) -> tuple[list[Input], str]:
        """Return what the linker is given of each unit, compiled where it is CUDA C++, and what the compiler said."""
        if way is self.ways[0] and self.first:  # what includes files is not kept, and compiling it takes a while
            return self.first[0]
        inputs, logs = [], []
        for unit in self.units:
            kinds = ("ltoir", *CODE[::-1]) if way.mode == "lto" else CODE
            kind = next(kind for kind in kinds if kind in unit.forms)
            content = unit.forms[kind]
            if kind == "cuda":
                kind = "ltoir" if way.mode == "lto" else "ptx"
                content, log = self._compiled(unit, way.mode == "lto")
                logs.append(log)
            inputs.append(Input(kind, unit.name, content))
        made = inputs, "\n".join(filter(None, logs))
        if way is self.ways[0]:
            self.first.append(made)
        return made

    def _compiled(self, unit: Unit, lto: bool) -> tuple[bytes, str]:
        """Return what NVRTC makes of CUDA C++, kept where the text is all that decides it."""
        text = unit.forms["cuda"]
        arguments = (text, unit.name, unit.folder, self.target, lto, self.options)
        # What is included may change, and so may the time; a spliced line hides neither.
        if _DEPENDS.search(text.replace(b"\\\n", b"").replace(b"\\\r\n", b"")):
            return compile_cuda(*arguments)
        parts = (
            digest_module.sha256_of(text),
            unit.name,
            str(self.target),
            repr(self.nvrtc),
            *nvrtc_options(lto, self.options),
        )
        cache, key = Cache(), Cache.key("cuda", FORMAT, *parts)
        kept = cache.read(key, jit_module.code_and_log)
        if kept is not None:
            return kept
        code, log = compile_cuda(*arguments)
        cache.put(key, log.encode() + b"\0" + code)
        return code, log

    def _key(self, way: Way, inputs: Sequence[Input], want_ptx: bool) -> str:
        by = ("driver", repr(self.driver)) if way.linker == "driver" else ("nvJitLink", repr(self.nvjitlink))
        options = (*nvjitlink_options(self.options), repr(self.options.optimization_level))
        contents = (f"{kind} {name} {digest_module.sha256_of(content)}" for kind, name, content in inputs)
        return Cache.key("link", FORMAT, way.mode, *by, str(self.target), *options, repr(want_ptx), *contents)

    def _linker_name(self, way: Way) -> str:
        return "the driver's" if way.linker == "driver" else f"nvJitLink {dotted(self.nvjitlink or (0, 0))}"

    def _symbols(self) -> dict[str, Symbols | None]:
        """Return what each unit defines and asks for, as far as it is known; of CUDA C++, as its PTX says."""
        known = {}
        for unit in self.units:
            kind, content = next(iter(unit.forms.items()))
            if kind == "cuda":
                kind, content = "ptx", self._compiled(unit, False)[0]
            known[unit.name] = symbols_of(unit, Input(kind, unit.name, content))
        return known


_DEPENDS = re.compile(rb"include|__DATE__|__TIME__|__TIMESTAMP__|\bimport\b|embed")
"""What makes a text's meaning depend on more than itself."""


def _record(output: Output, text: str | None) -> bytes:
    head = {"log": output.log, "errors": output.errors, "ptx": text}
    return json.dumps(head).encode() + b"\0" + output.code


def _recalled(kept: bytes) -> tuple[Output, str | None]:
    head, _, code = kept.partition(b"\0")
    said = json.loads(head)
    return Output(code, said["log"], said["errors"], None), said["ptx"]
