"""List the kernels and variables of a module for its manifest, and check that all images have the same kernels."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from itertools import starmap

from cuda_wheel.builder.config.macro_options import defined_macros
from cuda_wheel.builder.cxx.demangling.signatures import signature
from cuda_wheel.builder.cxx.parameter_types import agree, parameter_names, parameter_types
from cuda_wheel.builder.describe.missing_kernels import left_out_code, no_kernel, plain_name
from cuda_wheel.builder.describe.name_globs import Names, matches, shortest_globs
from cuda_wheel.builder.errors import CompileError, ConfigError
from cuda_wheel.builder.images.kernel_removal import matches_instance
from cuda_wheel.builder.jobs import Compiled, Declared
from cuda_wheel.builder.plan import ModulePlan, cuda_sources
from cuda_wheel.runtime.manifest import GlobalInfo, KernelInfo, Parameter

__all__ = [
    "LackingKernelsError",
    "kernel_table",
    "lacking_kernels_help",
    "variable_table",
]


class LackingKernelsError(CompileError):
    """Some images of a module lack kernels; `lacking` and `others` are the names and symbols of its kernels."""

    def __init__(self, text: str, lacking: tuple[Names, ...], others: tuple[Names, ...]) -> None:
        super().__init__(text)
        self.args = text, lacking, others  # all, to be unpickled: a worker may raise it
        self.lacking, self.others = lacking, others

    def __str__(self) -> str:
        return str(self.args[0])


def kernel_table(module: ModulePlan, results: Mapping[str, Compiled]) -> tuple[KernelInfo, ...]:
    """Return the kernels of a module, sorted by symbol, from its merged results by architecture.

    Raises CompileError if there is none, and if a kernel's parameters differ between images; LackingKernelsError if an
    image lacks a kernel that `optional-kernels` does not name; ConfigError if a kernel has two names.
    """
    symbols = sorted({symbol for result in results.values() for symbol in result.kernels})
    if not symbols and not module.relocatable:
        raise CompileError(no_kernel(module, left_out_code(results)))
    names = _names_by_symbol(list(results.values()))
    types, parameter_names = _declared_types(module)
    kernels = []
    for symbol in symbols:
        kernel = _kernel(symbol, names.get(symbol), module, results, types.get(symbol))
        kernels.append(_with_declared(kernel, results, parameter_names.get(plain_name(symbol))))
    patterns = module.module.settings.optional_kernels
    _check_instances(module, symbols)
    lacking = [kernel for kernel in kernels if kernel.absent and not _is_optional(kernel, patterns)]
    if lacking:
        others = [kernel for kernel in kernels if kernel not in lacking]
        raise LackingKernelsError(_lacking(lacking, module), _names(lacking), _names(others))
    return tuple(kernels)


def _check_instances(module: ModulePlan, symbols: Sequence[str]) -> None:
    """Raise ConfigError if a glob in `instances` matches no kernel."""
    for pattern in module.module.settings.instances:
        if not pattern.startswith("!") and not any(matches_instance(symbol, pattern) for symbol in symbols):
            names = ", ".join(signature(symbol).name for symbol in symbols[:8])
            raise ConfigError(f"{module.module.name}: {pattern!r} in instances matches no kernel; kept are {names}.")


def _is_optional(kernel: KernelInfo, patterns: Sequence[str]) -> bool:
    return any(matches(text, pattern) for pattern in patterns for text in (kernel.name, kernel.symbol))


def _names(kernels: Sequence[KernelInfo]) -> tuple[Names, ...]:
    return tuple((kernel.name, kernel.symbol) for kernel in kernels)


def variable_table(results: Mapping[str, Compiled]) -> tuple[GlobalInfo, ...]:
    """Return the variables of a module, sorted by symbol, without those whose size or state space differs between
    images."""
    found: dict[str, set[GlobalInfo]] = {}
    for result in results.values():
        for variable in result.variables:
            found.setdefault(variable.symbol, set()).add(variable)
    return tuple(next(iter(same)) for _, same in sorted(found.items()) if len(same) == 1)


# --- one kernel ------------------------------------------------------------------------------------

Layout = tuple[tuple[str, int, int], ...]
"""The PTX type, offset and size in bytes of each parameter of a kernel."""


def _names_by_symbol(results: Sequence[Compiled]) -> dict[str, str]:
    """Return the name expression of each symbol."""
    names: dict[str, str] = {}
    for expression, symbol in (pair for result in results for pair in result.names.items()):
        other = names.setdefault(symbol, expression)
        if other != expression:
            raise ConfigError(f"instantiate names one kernel twice, as {other!r} and as {expression!r}: remove one.")
    return names


def _declared_types(module: ModulePlan) -> tuple[dict[str, tuple[str, ...]], dict[str, tuple[str, ...]]]:
    """Return the types and the names of kernels' parameters, as far as the sources show them without doubt."""
    macros = defined_macros(module.options)
    text = "\n".join(source.text for source in cuda_sources(module.module))
    return parameter_types(text, macros), parameter_names(text, macros)


def _with_declared(kernel: KernelInfo, results: Mapping[str, Compiled], names: tuple[str, ...] | None) -> KernelInfo:
    """Return a kernel with what the compiler says of its declaration, if it says the same for each architecture that it
    was asked for; else with the `names` of its parameters in the source, if known."""
    answers = {result.parameters[kernel.symbol] for result in results.values() if kernel.symbol in result.parameters}
    declared = next(iter(answers)) if len(answers) == 1 else None
    if declared is None or len(declared) != len(kernel.parameters):
        declared = tuple(Declared(name, "") for name in names or ())
    if len(declared) != len(kernel.parameters):
        return kernel
    pairs = zip(kernel.parameters, declared, strict=True)
    return kernel._replace(parameters=tuple(starmap(_with_declaration, pairs)))


def _with_declaration(parameter: Parameter, declared: Declared) -> Parameter:
    type_ = declared.type if agree((declared.type,), (parameter,)) or declared.struct else ""
    struct = declared.struct if declared.struct and declared.struct.size == parameter.size else None
    if struct is not None and parameter.cpp:
        struct = struct._replace(name=parameter.cpp)
    has_type = parameter.cpp not in ("", "void*")
    return parameter._replace(
        name=declared.name, cpp=parameter.cpp if has_type else type_ or parameter.cpp, struct=struct
    )


def _kernel(
    symbol: str,
    expression: str | None,
    module: ModulePlan,
    results: Mapping[str, Compiled],
    declared: tuple[str, ...] | None,
) -> KernelInfo:
    """Return a kernel's entry. `declared` are its parameter types in the source, if these are certain."""
    demangled = signature(symbol)
    name = expression or demangled.name
    found = {str(target): results[target.arch].kernels.get(symbol) for target in module.all_targets}
    absent = tuple(target for target, parameters in found.items() if parameters is None)
    layouts: dict[Layout, list[str]] = {}
    pointers: set[int] = set()
    for target, parameters in found.items():
        if parameters is not None:
            layouts.setdefault(tuple(each[:3] for each in parameters), []).append(target)
            pointers.update(index for index, each in enumerate(parameters) if each.cpp)
    if len(layouts) > 1:
        raise CompileError(_differing(name, layouts, module))
    (layout,) = layouts
    parameters = tuple(Parameter(*each, "void*" if index in pointers else "") for index, each in enumerate(layout))
    return KernelInfo(name, symbol, _with_types(parameters, demangled.parameters, declared), absent)


def _with_types(
    parameters: tuple[Parameter, ...], demangled: Sequence[str] | None, declared: tuple[str, ...] | None
) -> tuple[Parameter, ...]:
    """Return the parameters with their C++ types: from the symbol, or else from the source if that agrees with the
    compiled code."""
    types = demangled
    if types is None and declared is not None and agree(declared, parameters):
        types = declared
    if types is None or len(types) != len(parameters):
        return parameters
    return tuple(each._replace(cpp=type_ or each.cpp) for each, type_ in zip(parameters, types, strict=True))


# --- errors and warnings -----------------------------------------------------------------------------


def _differing(name: str, layouts: Mapping[Layout, Sequence[str]], module: ModulePlan) -> str:
    listed = "".join(f"\n  {', '.join(targets)}: {_layout_text(layout)}" for layout, targets in layouts.items())
    return (
        f"the kernel {name} of {module.module.label} has other parameters in some images than in others, so no launch "
        f"fits all of them:{listed}\nAn #if with __CUDA_ARCH__ causes this: declare the parameters, and the structs "
        "that they use, alike for every target."
    )


def _layout_text(parameters: Layout) -> str:
    return ", ".join(f".{type_} of {size} bytes at {offset}" for type_, offset, size in parameters) or "none"


def _lacking(kernels: Sequence[KernelInfo], module: ModulePlan) -> str:
    lines = []
    for kernel in kernels:
        present = ", ".join(str(target) for target in module.all_targets if str(target) not in kernel.absent)
        lines.append(f"{kernel.name} is in the image of {present}, and not of {', '.join(kernel.absent)}")
    return f"some images of {module.module.label} lack kernels that others have:\n  " + "\n  ".join(lines)


def lacking_kernels_help(errors: Sequence[LackingKernelsError], rest: Iterable[Names]) -> str:
    """Return what to do about all modules that lack kernels in some images; `rest` are the kernels of other modules."""
    lacking = {names for error in errors for names in error.lacking}
    others = {*rest, *(names for error in errors for names in error.others)}
    globs = ", ".join(json.dumps(glob, ensure_ascii=False) for glob in shortest_globs(lacking, others - lacking))
    return (
        "An #if with __CUDA_ARCH__ around a kernel causes this. Define the kernel for every target, with an empty body "
        f"where it cannot work; or choose other architectures; or allow it: optional-kernels = [{globs}]."
    )
