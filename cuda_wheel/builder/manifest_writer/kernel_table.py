"""List the kernels and variables of a module for its manifest, and check that all images have the same kernels."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from itertools import combinations, islice, pairwise, starmap
from typing import NamedTuple

from cuda_wheel.builder.config.compiler_options import defined_macros
from cuda_wheel.builder.cxx.demangling import signature
from cuda_wheel.builder.cxx.parameter_types import agree, parameter_names, parameter_types
from cuda_wheel.builder.errors import CompileError, ConfigError
from cuda_wheel.builder.images.ptx_text import matches_instance
from cuda_wheel.builder.jobs import Compiled, Declared
from cuda_wheel.builder.manifest_writer.missing_kernels import left_out_code, no_kernel, plain_name
from cuda_wheel.builder.plan import ModulePlan, cuda_sources
from cuda_wheel.runtime.manifest import GlobalInfo, KernelInfo, Parameter
from cuda_wheel.runtime.parts.python_kernels.signatures import kernel_path, module_and_function

__all__ = [
    "LackingKernelsError",
    "Names",
    "kernel_table",
    "lacking_kernels_help",
    "matches",
    "shortest_globs",
    "variable_table",
]


Names = tuple[str, ...]
"""All names of one kernel, such as its C++ name and its symbol. A glob matches the kernel if it matches at least one of
the names."""

_EXACT_NAMES, _EXACT_GLOBS, _EXACT_CANDIDATES = 100, 3, 40
"""Limits of the exhaustive search for the fewest globs: number of names, of globs to choose, and of candidate globs.

The candidates are the globs with the most matches. A greedy search is made if there are more names, or if no set of
globs within the limits matches all names.
"""

_MOST_PAIRS = 2_000
"""Maximum number of (beginning, end) pairs that are tried as globs "BEGINNING*END"."""


def matches(name: str, pattern: str) -> bool:
    """Return whether a glob matches a name. White space is ignored: "k<float,16>" and "k<float, 16>" are the same."""
    return fnmatchcase(_unspaced(name), _unspaced(pattern))


def shortest_globs(wanted: Collection[Names], others: Collection[Names]) -> list[str]:
    """Return globs, sorted, that match all kernels of `wanted` and none of `others`.

    The globs are built from beginnings, ends and inner words of names. Their number is minimal for up to 100 names if 3
    globs are enough; else it is near the minimum. Of globs that match equally many names, one with fewer parts is
    preferred, then one with more text, because it matches fewer names that are added later. A kernel that no glob with
    "*" covers is listed by a name that is not also a name in `others`, if it has one.
    """
    forbidden = {_unspaced(name) for names in others for name in names}
    literals = {names: next((name for name in names if _unspaced(name) not in forbidden), names[0]) for names in wanted}
    texts = {_unspaced(name): _escaped(name) for name in literals.values()}
    covered = _useful(_candidates(sorted(texts)), texts, forbidden)
    globs, left = _fewest(covered, set(texts))
    return sorted([*(glob.text for glob in globs), *(texts[name] for name in left)])


def _unspaced(text: str) -> str:
    return "".join(text.split())


def _escaped(text: str) -> str:
    return re.sub(r"([*?[])", r"[\1]", text)


class _Glob(NamedTuple):
    """A glob START*, *MIDDLE*, *END or START*END; the unused parts are ""."""

    start: str
    middle: str
    end: str

    @property
    def text(self) -> str:
        middle = f"{_escaped(self.middle)}*" if self.middle else ""
        return f"{_escaped(self.start)}*{middle}{_escaped(self.end)}"

    @property
    def rank(self) -> tuple[int, int, int, str]:
        """Sort key among globs that match equally many names; the glob with the greatest key is preferred."""
        return -sum(map(bool, self)), -bool(self.middle), sum(map(len, self)), self.text

    def matches(self, name: str) -> bool:
        start, middle, end = self
        is_long_enough = len(name) >= len(start) + len(end)
        return is_long_enough and name.startswith(start) and name.endswith(end) and middle in name


def _candidates(names: Sequence[str]) -> list[_Glob]:
    """Return globs, each of which may match several of `names`; `names` must be sorted. The globs are built from the
    beginnings, ends and inner words of the names."""
    starts = _common_starts(names)
    ends = [text[::-1] for text in _common_starts(sorted(name[::-1] for name in names))]
    inner = dict.fromkeys(text for name in names for text in _inner_words(name))
    pairs = ((start, end) for start in sorted(starts, key=len) for end in sorted(ends, key=len))
    return [
        *(_Glob(start, "", "") for start in starts),
        *(_Glob("", "", end) for end in ends),
        *(_Glob("", text, "") for text in inner),
        *(_Glob(start, "", end) for start, end in islice(pairs, _MOST_PAIRS)),
    ]


def _common_starts(names: Sequence[str]) -> list[str]:
    """Return the beginnings that neighbours in the sorted list `names` share, each cut back to the start of a word.

    "_" counts both as part of a word and as a separator: a shared "a::b_c" gives "a::" and "a::b_". "a::b_c" itself is
    returned too if there are at most _EXACT_NAMES names. "" is never returned.
    """
    found: dict[str, None] = {}
    for first, second in pairwise(names):
        length = next((index for index, (a, b) in enumerate(zip(first, second, strict=False)) if a != b), len(first))
        common = first[:length]
        cut = (re.sub(r"\w*$", "", common), re.sub(r"[A-Za-z0-9]*$", "", common))
        found |= dict.fromkeys((*cut, *([common] if len(names) <= _EXACT_NAMES else [])))
    return [text for text in found if text]


def _inner_words(name: str) -> Iterator[str]:
    """Yield each run of one to four words that has a separator on both sides, with these separators. A separator is any
    character but a letter or digit.

    "k<float,16>" gives "<float,", "<float,16>" and ",16>". The run "k<" is not yielded: no separator is before "k".
    """
    ends = [match.start() for match in re.finditer(r"[^A-Za-z0-9]", name)]
    for index, start in enumerate(ends):
        for end in ends[index + 1 : index + 5]:
            yield name[start : end + 1]


def _useful(
    candidates: Sequence[_Glob], names: Collection[str], forbidden: Collection[str]
) -> dict[_Glob, frozenset[str]]:
    """Return glob -> the names in `names` that it matches, for the useful globs among `candidates`.

    A useful glob matches at least two of `names` and none of `forbidden`. If several globs match the same names, only
    the one with the greatest `_Glob.rank` is included.
    """
    lines = "\n".join(["", *forbidden, ""])  # one search in this text replaces one in each name
    best: dict[frozenset[str], _Glob] = {}
    for glob in dict.fromkeys(candidates):
        start, middle, end = glob
        if middle in lines and f"\n{start}" in lines and f"{end}\n" in lines and any(map(glob.matches, forbidden)):
            continue
        matched = frozenset(filter(glob.matches, names))
        if len(matched) > 1 and (matched not in best or glob.rank > best[matched].rank):
            best[matched] = glob
    return {glob: matched for matched, glob in best.items()}


def _fewest(covered: Mapping[_Glob, frozenset[str]], names: set[str]) -> tuple[list[_Glob], set[str]]:
    """Choose few globs of `covered` (glob -> the names that it matches) that together match most or all of `names`.
    Return (these globs, the names that none of them matches)."""
    if len(names) <= _EXACT_NAMES:
        widest = [glob for glob in covered if not any(covered[glob] < other for other in covered.values())]
        widest = sorted(widest, key=lambda glob: (len(covered[glob]), glob.rank), reverse=True)[:_EXACT_CANDIDATES]
        for count in range(1, _EXACT_GLOBS + 1):
            whole = [
                each for each in combinations(widest, count) if names <= set().union(*(covered[it] for it in each))
            ]
            if whole:
                return [*max(whole, key=lambda globs: sorted(glob.rank for glob in globs))], set()
    chosen, left = [], set(names)
    while covered:
        glob = max(covered, key=lambda glob: (len(covered[glob] & left), glob.rank))
        if len(covered[glob] & left) < 2:
            break
        chosen.append(glob)
        left -= covered[glob]
    return chosen, left


class LackingKernelsError(CompileError):
    """Some images of a module lack kernels that other images have.

    `lacking` are the names and symbols of these kernels, without those that `optional-kernels` names; `others` are
    those of the module's other kernels.
    """

    def __init__(self, text: str, lacking: tuple[Names, ...], others: tuple[Names, ...]) -> None:
        super().__init__(text)
        self.args = text, lacking, others  # all, to be unpickled: a worker may raise it
        self.lacking, self.others = lacking, others

    def __str__(self) -> str:
        return str(self.args[0])


def kernel_table(module: ModulePlan, results: Mapping[str, Compiled]) -> tuple[KernelInfo, ...]:
    """Return the kernels of a module, sorted by symbol; `results` is architecture -> merged result.

    Raises CompileError if the module has no kernel and no relocatable image, or if a kernel's parameters differ between
    images; LackingKernelsError if an image lacks a kernel that `optional-kernels` does not name; ConfigError if
    `instantiate` names a kernel twice, or if a glob of `instances` matches no kernel.
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
    """Raise ConfigError if a glob in the module's setting `instances` matches none of `symbols`, the symbols of the
    module's kernels. A glob that begins with "!" is not checked."""
    for pattern in module.module.settings.instances:
        if not pattern.startswith("!") and not any(matches_instance(symbol, pattern) for symbol in symbols):
            names = ", ".join(signature(symbol).name for symbol in symbols[:8])
            raise ConfigError(f"{module.module.name}: {pattern!r} in instances matches no kernel; kept are {names}.")


def _is_optional(kernel: KernelInfo, patterns: Sequence[str]) -> bool:
    return any(matches(text, pattern) for pattern in patterns for text in (kernel.name, kernel.symbol))


def _names(kernels: Sequence[KernelInfo]) -> tuple[Names, ...]:
    return tuple((kernel.name, kernel.symbol) for kernel in kernels)


def variable_table(results: Mapping[str, Compiled]) -> tuple[GlobalInfo, ...]:
    """Return the variables of a module, sorted by symbol; `results` is architecture -> merged result.

    Variables whose size or state space differs between images are left out.
    """
    found: dict[str, set[GlobalInfo]] = {}
    for result in results.values():
        for variable in result.variables:
            found.setdefault(variable.symbol, set()).add(variable)
    return tuple(next(iter(same)) for _, same in sorted(found.items()) if len(same) == 1)


# --- one kernel ------------------------------------------------------------------------------------

Layout = tuple[tuple[str, int, int], ...]
"""(PTX type, offset in bytes, size in bytes) of each parameter of a kernel."""


def _names_by_symbol(results: Sequence[Compiled]) -> dict[str, str]:
    """Return symbol -> name expression, for the kernels and variables that the setting `instantiate` names. Raises
    ConfigError if two expressions name the same symbol."""
    names: dict[str, str] = {}
    for expression, symbol in (pair for result in results for pair in result.names.items()):
        other = names.setdefault(symbol, expression)
        if other != expression:
            raise ConfigError(f"instantiate names one kernel twice, as {other!r} and as {expression!r}: remove one.")
    return names


def _declared_types(module: ModulePlan) -> tuple[dict[str, tuple[str, ...]], dict[str, tuple[str, ...]]]:
    """Return (kernel name -> C++ types of its parameters, kernel name -> names of its parameters), both read from the
    text of the module's CUDA sources.

    Both dictionaries lack the kernels whose declaration is ambiguous.
    """
    macros = defined_macros(module.options)
    text = "\n".join(source.text for source in cuda_sources(module.module))
    return parameter_types(text, macros), parameter_names(text, macros)


def _with_declared(kernel: KernelInfo, results: Mapping[str, Compiled], names: tuple[str, ...] | None) -> KernelInfo:
    """Return `kernel` with the names, C++ types and struct fields of its parameters added.

    `results`: architecture -> result, with what the compiler reported about the parameters.
    `names`: names of the parameters as read from the source text, or None if they are unknown.

    If the compiler's reports are missing or differ between architectures, only `names` are added. If these are None
    too, `kernel` is returned unchanged.
    """
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
    """Return the manifest's record of the kernel `symbol`. Raises CompileError if its parameters differ between images.

    `expression`: name expression in the setting `instantiate` that names the kernel, or None.
    `results`: architecture -> merged result.
    `declared`: C++ types of the kernel's parameters as read from the source text, or None if they are unknown.
    """
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
    python = next((each for result in results.values() if (each := result.python)), ())
    if python:
        name = module_and_function(kernel_path(module.module.variant))[1]
    return KernelInfo(name, symbol, _with_types(parameters, demangled.parameters, declared), absent, python)


def _with_types(
    parameters: tuple[Parameter, ...], demangled: Sequence[str] | None, declared: tuple[str, ...] | None
) -> tuple[Parameter, ...]:
    """Return the parameters with their C++ types added, if the types are known.

    `demangled`: types in the kernel's mangled symbol, or None if the symbol is not mangled.
    `declared`: types as read from the source text, or None if they are unknown. They are used only if `demangled` is
    None and the types are compatible with the PTX types of the parameters.
    """
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
    """Return the help text for all modules with a LackingKernelsError, with one list of globs for `optional-kernels`.

    `rest` are the kernels of the modules without this error, which the globs must not match.
    """
    lacking = {names for error in errors for names in error.lacking}
    others = {*rest, *(names for error in errors for names in error.others)}
    globs = ", ".join(json.dumps(glob, ensure_ascii=False) for glob in shortest_globs(lacking, others - lacking))
    return (
        "An #if with __CUDA_ARCH__ around a kernel causes this. Define the kernel for every target, with an empty body "
        f"where it cannot work; or choose other architectures; or allow it: optional-kernels = [{globs}]."
    )
