"""Say which kernels and variables a module has, of what its jobs gave: the part of a manifest that launches need."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from fnmatch import fnmatchcase

from cuda_wheel.builder.cxx.demangle import signature
from cuda_wheel.builder.cxx.kernels import ScannedKernel, kernels_in
from cuda_wheel.builder.cxx.parameter_types import agree, parameter_types
from cuda_wheel.builder.errors import CompileError, ConfigError
from cuda_wheel.builder.images import ptx_text
from cuda_wheel.builder.jobs import Compiled, Content
from cuda_wheel.builder.messages.link_errors import mentions
from cuda_wheel.builder.plan import ModulePlan
from cuda_wheel.builder.sources.modules import Source
from cuda_wheel.runtime.formats.ptx import symbols
from cuda_wheel.runtime.manifest import External, GlobalInfo, KernelInfo, Parameter, Target

__all__ = [
    "external_table",
    "kernel_table",
    "unseen",
    "variable_table",
]


def kernel_table(module: ModulePlan, parts: Mapping[str, Compiled]) -> tuple[KernelInfo, ...]:
    """Return the kernels of a module, by symbol, from what its jobs gave by architecture.

    Raises CompileError where there is none, where images differ in a kernel's parameters, and where one lacks a kernel
    that `optional-kernels` does not name; ConfigError where a kernel has two names.
    """
    symbols = sorted({symbol for part in parts.values() for symbol in part.kernels})
    if not symbols and not module.relocatable:
        raise CompileError(_no_kernel(module))
    names = _names(list(parts.values()))
    plain = any(not symbol.startswith("_Z") for symbol in symbols)
    read = parameter_types("\n".join(source.text for source in _cuda(module)), _macros(module)) if plain else {}
    kernels = [_kernel(symbol, names.get(symbol), module, parts, read.get(symbol)) for symbol in symbols]
    patterns = module.module.settings.optional_kernels
    lost = [
        kernel
        for kernel in kernels
        if kernel.absent
        and not any(_matches(text, pattern) for pattern in patterns for text in (kernel.name, kernel.symbol))
    ]
    if lost:
        raise CompileError(_lost(lost, module))
    return tuple(kernels)


def _matches(text: str, pattern: str) -> bool:
    return fnmatchcase("".join(text.split()), "".join(pattern.split()))  # "k<float,16>" and "k<float, 16>" are one


def variable_table(parts: Mapping[str, Compiled]) -> tuple[GlobalInfo, ...]:
    """Return the variables of a module, by symbol; without those whose size or place is not the same in all images."""
    found: dict[str, set[GlobalInfo]] = {}
    for part in parts.values():
        for variable in part.variables:
            found.setdefault(variable.symbol, set()).add(variable)
    return tuple(next(iter(same)) for _, same in sorted(found.items()) if len(same) == 1)


def external_table(module: ModulePlan, contents: Sequence[tuple[Target, str | None, Content]]) -> tuple[External, ...]:
    """Return what a module leaves to whoever links it, by symbol, of its images.

    Raises CompileError where that is something that `extern` does not name; ConfigError where that names what is none.
    """
    codes = [(source, content.decode()) for _, source, (kind, _, content) in contents if source and kind == "ptx"]
    texts = [(source, symbols(text)) for source, text in codes]
    own = {symbol: source for source, its in texts for symbol in sorted(its.defined | its.weak)}
    found = {symbol: its for _, text in codes for symbol, its in ptx_text.undefined(text).items() if symbol not in own}
    wanted = module.module.settings.extern
    externals = []
    for symbol, declaration in sorted(found.items()):
        written = signature(symbol)
        if written.parameters is not None:
            declaration = f"{written.name}({', '.join(written.parameters)})"
        elif written.name == symbol:
            declaration = _declared(symbol, module) or declaration
        externals.append(External(written.name, symbol, declaration))
    unnamed = [external for external in externals if not {external.name, external.symbol} & set(wanted)]
    if unnamed:
        names = ", ".join(f'"{external.name}"' for external in unnamed)
        told = "".join(f"\n  {external.declaration}{mentions(external.name, module.module)}" for external in unnamed)
        raise CompileError(
            f"{module.module.label} uses what none of its sources defines:{told}\nAdd the source that does, or leave "
            f"it to whoever loads the module: extern = [{names}]."
        )
    for name in wanted:
        if not any(name in (external.name, external.symbol) for external in externals):
            definer = next((source for symbol, source in own.items() if name in (symbol, signature(symbol).name)), None)
            if definer is not None:
                raise ConfigError(
                    f'{module.module.name} has extern = ["{name}"], and does not leave that to others: {definer} '
                    "defines it. Take it out of extern; or put its definition into a file of its own and name that in "
                    "extern-default, not in sources."
                )
            known = (
                f"it leaves {', '.join(external.name for external in externals)}" if externals else "it leaves nothing"
            )
            raise ConfigError(
                f'{module.module.name} has extern = ["{name}"], and does not leave that to others: {known}. Declare '
                "and use it, and define it nowhere."
            )
    return tuple(externals)


def _declared(name: str, module: ModulePlan) -> str | None:
    """Return the declaration of an `extern "C"` function as the text has it, without what only a compiler asks for."""
    call = re.compile(rf"(?<![\w$]){re.escape(name)}\s*\([^()]*\)\s*$")
    statements = (match for source in _cuda(module) for match in _STATEMENT.finditer(source.text))
    for statement in statements:
        match = call.search(statement[1]) if statement[2] == ";" else None
        if match is not None:
            head = re.split(r"[^\w:<>,\s*&]", statement[1][: match.start()])[-1]
            words = " ".join(f"{head}{match[0]}".split())
            if head.strip():
                return 'extern "C" ' + re.sub(r"\b(?:extern|__device__|__noinline__|__forceinline__)\s+", "", words)
    return None


_STATEMENT = re.compile(r"([^;{}]*)([;{}]|\Z)")
"""A text up to what ends it, be it the end of all."""


def unseen(module: ModulePlan, parts: Mapping[str, Compiled]) -> list[str]:
    """Return a warning for each kernel that the source seems to define and that no image has, if they have others."""
    names = {_plain(symbol) for part in parts.values() for symbol in part.kernels}
    if not names:
        return []  # an error, which tells more, or a module of functions for others
    blanked = {text for part in parts.values() for text in part.blanked}
    return [text for source in _cuda(module) for text in _unseen(source, names, blanked)]


def _unseen(source: Source, names: Collection[str], blanked: Collection[str]) -> list[str]:
    left_out = [
        range(int(match[1]), int(match[2] or match[1]) + 1)
        for text in blanked
        if (match := re.match(re.escape(source.path) + r":(\d+)(?:-(\d+))?: ", text))
    ]
    return [
        f"{source.path}:{kernel.line}: warning: no image has the kernel {_described(kernel)}"
        for kernel in kernels_in(source.text)
        if kernel.name not in names and not any(kernel.line in lines for lines in left_out)
    ]


def _described(kernel: ScannedKernel) -> str:
    if kernel.template:
        return f"template {kernel.name}: name its instantiations in the module's instantiate."
    return f"{kernel.name}: is it inside an #if that is not met?"


def _cuda(module: ModulePlan) -> list[Source]:
    return [source for source in (*module.module.sources, *module.module.defaults) if source.kind == "cuda"]


def _macros(module: ModulePlan) -> frozenset[str]:
    """Return the macros that the compiler's options define."""
    return frozenset(re.findall(r"(?:-D|--define-macro)[= \n]?(\w+)", "\n".join(module.options)))


def _plain(symbol: str) -> str:
    """Return a kernel's name without scope and template arguments."""
    return signature(symbol).name.partition("<")[0].rpartition("::")[2]


def _no_kernel(module: ModulePlan) -> str:
    text = f"{module.module.label} holds no kernel: it compiles to an empty image."
    scanned = [(source, kernel) for source in _cuda(module) for kernel in kernels_in(source.text)]
    templates = ", ".join(_placed(*each, module) for each in scanned if each[1].template)
    others = ", ".join(_placed(*each, module) for each in scanned if not each[1].template)
    if templates:
        text += f" It has templates: {templates}. Name their instantiations in the module's instantiate."
    if others:
        text += f" It seems to define {others}: is that inside an #if that is not met?"
    if not _cuda(module):
        nvvm = any(source.kind == "nvvm" for source in module.module.sources)
        text += " Of NVVM IR, !nvvm.annotations says which functions are kernels." if nvvm else ""
    elif not scanned:
        text += (
            " A template is compiled only where it is named in the module's instantiate; a file of helpers can be left "
            "out by sources."
        )
    return text


def _placed(source: Source, kernel: ScannedKernel, module: ModulePlan) -> str:
    place = f"line {kernel.line}" if len(module.module.paths) == 1 else f"{source.path}:{kernel.line}"
    return f"{kernel.name} ({place})"


def _names(parts: Sequence[Compiled]) -> dict[str, str]:
    """Return the name expressions by symbol."""
    names: dict[str, str] = {}
    for expression, symbol in (pair for part in parts for pair in part.names.items()):
        other = names.setdefault(symbol, expression)
        if other != expression:
            raise ConfigError(f"instantiate names one kernel twice, as {other!r} and as {expression!r}: leave one out.")
    return names


def _kernel(
    symbol: str,
    expression: str | None,
    module: ModulePlan,
    parts: Mapping[str, Compiled],
    read: tuple[str, ...] | None,
) -> KernelInfo:
    """Return what is known of a kernel; `read` are its parameters' types by the text, if they are certain there."""
    written = signature(symbol)
    layouts: dict[tuple[tuple[str, int, int], ...], list[str]] = {}
    absent = []
    pointers: set[int] = set()
    for target in module.all_targets:
        parameters = parts[target.arch].kernels.get(symbol)
        if parameters is None:
            absent.append(str(target))
            continue
        layouts.setdefault(tuple(each[:3] for each in parameters), []).append(str(target))
        pointers.update(index for index, each in enumerate(parameters) if each.cpp)
    if len(layouts) > 1:
        told = "".join(f"\n  {', '.join(targets)}: {_layout(layout)}" for layout, targets in layouts.items())
        raise CompileError(
            f"the kernel {expression or written.name} of {module.module.label} has other parameters in some images "
            f"than in others, so that no launch suits all of them:{told}\nAn #if with __CUDA_ARCH__ does that: let the "
            "parameters, and the structs that they are, be the same for every target."
        )
    (layout,) = layouts
    described = tuple(Parameter(*each, "void*" if index in pointers else "") for index, each in enumerate(layout))
    types = written.parameters
    if types is None and read is not None and agree(read, described):
        types = read
    if types is not None and len(types) == len(described):
        described = tuple(each._replace(cpp=type_ or each.cpp) for each, type_ in zip(described, types, strict=True))
    return KernelInfo(expression or written.name, symbol, described, tuple(absent))


def _layout(parameters: tuple[tuple[str, int, int], ...]) -> str:
    return ", ".join(f".{type_} of {size} bytes at {offset}" for type_, offset, size in parameters) or "none"


def _lost(kernels: Sequence[KernelInfo], module: ModulePlan) -> str:
    lines = []
    for kernel in kernels:
        has = ", ".join(str(target) for target in module.all_targets if str(target) not in kernel.absent)
        lines.append(f"{kernel.name} is in the image of {has}, and not of {', '.join(kernel.absent)}")
    names = ", ".join(f'"{kernel.name}"' for kernel in kernels)
    return (
        f"some images of {module.module.label} lack kernels that others have:\n  " + "\n  ".join(lines) + "\n"
        "An #if with __CUDA_ARCH__ around a kernel does that. Define it for every target, with an empty body where it "
        f"cannot work; or choose other architectures; or allow it: optional-kernels = [{names}]."
    )
