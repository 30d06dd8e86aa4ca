"""Say which kernels and variables a module has, of what its jobs gave: the part of a manifest that launches need."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase

from cuda_wheel.build.compiler import Compiled
from cuda_wheel.build.errors import CompileError, ConfigError
from cuda_wheel.build.kernel_scan import ScannedKernel, kernels_in
from cuda_wheel.build.mangled import signature
from cuda_wheel.build.parameter_types import agree, parameter_types
from cuda_wheel.build.plan import ModulePlan
from cuda_wheel.loader import GlobalInfo, KernelInfo, Parameter

__all__ = ["kernel_table", "unseen", "variable_table"]


def kernel_table(module: ModulePlan, parts: Mapping[str, Compiled]) -> tuple[KernelInfo, ...]:
    """Return the kernels of a module, by symbol, from what its jobs gave by architecture.

    Raises CompileError where there is none, where images differ in a kernel's parameters, and where one lacks a kernel
    that `optional-kernels` does not name; ConfigError where a kernel has two names.
    """
    symbols = sorted({symbol for part in parts.values() for symbol in part.kernels})
    if not symbols:
        raise CompileError(_no_kernel(module))
    names = _names(list(parts.values()))
    plain = any(not symbol.startswith("_Z") for symbol in symbols)
    read = parameter_types(_text(module), _macros(module)) if plain else {}
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


def unseen(module: ModulePlan, parts: Mapping[str, Compiled]) -> list[str]:
    """Return a warning for each kernel that the source seems to define and that no image has, if they have others."""
    source = module.module.source
    names = {_plain(symbol) for part in parts.values() for symbol in part.kernels}
    if not names:
        return []  # an error, which tells more
    left_out = [
        range(int(match[1]), int(match[2] or match[1]) + 1)
        for text in {text for part in parts.values() for text in part.blanked}
        if (match := re.match(re.escape(source) + r":(\d+)(?:-(\d+))?: ", text))
    ]
    return [
        f"{source}:{kernel.line}: warning: no image has the kernel {_described(kernel)}"
        for kernel in _scanned(module)
        if kernel.name not in names and not any(kernel.line in lines for lines in left_out)
    ]


def _described(kernel: ScannedKernel) -> str:
    if kernel.template:
        return f"template {kernel.name}: name its instantiations in the module's instantiate."
    return f"{kernel.name}: is it inside an #if that is not met?"


def _scanned(module: ModulePlan) -> list[ScannedKernel]:
    return kernels_in(_text(module))


def _text(module: ModulePlan) -> str:
    return module.module.text.decode(errors="surrogateescape")


def _macros(module: ModulePlan) -> frozenset[str]:
    """Return the macros that the compiler's options define."""
    return frozenset(re.findall(r"(?:-D|--define-macro)[= \n]?(\w+)", "\n".join(module.options)))


def _plain(symbol: str) -> str:
    """Return a kernel's name without scope and template arguments."""
    return signature(symbol).name.partition("<")[0].rpartition("::")[2]


def _no_kernel(module: ModulePlan) -> str:
    text = f"{module.module.source} holds no kernel: it compiles to an empty image."
    scanned = _scanned(module)
    templates = ", ".join(f"{kernel.name} (line {kernel.line})" for kernel in scanned if kernel.template)
    others = ", ".join(f"{kernel.name} (line {kernel.line})" for kernel in scanned if not kernel.template)
    if templates:
        text += f" It has templates: {templates}. Name their instantiations in the module's instantiate."
    if others:
        text += f" It seems to define {others}: is that inside an #if that is not met?"
    if not scanned:
        text += (
            " A template is compiled only where it is named in the module's instantiate; a file of helpers can be left "
            "out by sources."
        )
    return text


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
    for target in module.targets:
        parameters = parts[target.arch].kernels.get(symbol)
        if parameters is None:
            absent.append(str(target))
            continue
        layouts.setdefault(tuple(each[:3] for each in parameters), []).append(str(target))
        pointers.update(index for index, each in enumerate(parameters) if each.cpp)
    if len(layouts) > 1:
        told = "".join(f"\n  {', '.join(targets)}: {_layout(layout)}" for layout, targets in layouts.items())
        raise CompileError(
            f"the kernel {expression or written.name} of {module.module.source} has other parameters in some images "
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
        has = ", ".join(str(target) for target in module.targets if str(target) not in kernel.absent)
        lines.append(f"{kernel.name} is in the image of {has}, and not of {', '.join(kernel.absent)}")
    names = ", ".join(f'"{kernel.name}"' for kernel in kernels)
    return (
        f"some images of {module.module.source} lack kernels that others have:\n  " + "\n  ".join(lines) + "\n"
        "An #if with __CUDA_ARCH__ around a kernel does that. Define it for every target, with an empty body where it "
        f"cannot work; or choose other architectures; or allow it: optional-kernels = [{names}]."
    )
