"""Hints that depend on the source and on how it was compiled. Pure functions.

The table `hinted_names` lists the headers, functions, words and instructions for which there are hints.
"""

from __future__ import annotations

import difflib
import posixpath
import re
from collections.abc import Callable, Sequence
from fnmatch import fnmatchcase
from typing import Any, NamedTuple

from cuda_wheel.builder.cxx.kernel_scan import kernels_in
from cuda_wheel.builder.messages.diagnostics import Diagnostic
from cuda_wheel.builder.tables import read_table

__all__ = [
    "CONTAINERS",
    "DEVICE_LIBRARIES",
    "FOREIGN_HEADERS",
    "HINTED_HEADERS",
    "KERNEL_LAUNCH",
    "NO_OVERLOADS",
    "OVERLOADS",
    "Case",
    "Rule",
    "header_pattern",
    "instruction_not_supported",
    "matrix_fragment",
    "missing_header",
    "needs_architecture",
    "needs_standard",
    "newer_syntax",
    "no_member_of_std",
    "not_a_kernel",
    "requires_target",
    "shared_memory",
    "text_at_caret",
    "undefined_name",
]


_HINT_FOR_HEADERS = [{"headers": str, "hint": str}]

_TABLE = read_table(
    "hinted_names",
    {
        "declared in": {str: [str]},
        "host headers": [str],
        "device libraries": _HINT_FOR_HEADERS,
        "foreign headers": _HINT_FOR_HEADERS,
        "host names in std": [str],
        "removed": {str: str},
        "newer": [{"names": str, "architecture": int}],
        "built in": [str],
        "standard of keyword": {str: int},
        "one architecture": {str: str},
        "containers": {str: str},
        "overloads": [{"function": str, "argument": str, "architecture": int, "what": str}],
        "no overloads": [{"function": str, "argument": str, "hint": str}],
    },
)

HINTED_HEADERS = {name: header for header, names in _TABLE["declared in"].items() for name in names}
"""Name that the compiler reports as undefined -> the header that declares the name."""

CONTAINERS: dict[str, str] = _TABLE["containers"]
"""Class template of the standard library, such as "vector", that device code cannot use -> advice what to pass to a
kernel instead."""

OVERLOADS: tuple[dict[str, Any], ...] = _TABLE["overloads"]
"""Overloads of functions that older architectures lack, one dictionary each.

"function": regular expression for the function's name.
"argument": regular expression for the type of the function's first argument.
"architecture": first architecture that has the overload, such as 80.
"what": description of the overload.
"""

NO_OVERLOADS: tuple[dict[str, Any], ...] = _TABLE["no overloads"]
"""Overloads that a function has on no architecture, one dictionary each.

"function": regular expression for the function's name.
"argument": regular expression for the type of the function's first argument.
"hint": what to use instead.
"""

DEVICE_LIBRARIES = tuple((each["headers"], each["hint"]) for each in _TABLE["device libraries"])
"""Libraries for device code that the CUDA toolkit does not contain, as (regular expression of their headers' names,
hint)."""

FOREIGN_HEADERS = (
    *DEVICE_LIBRARIES,
    *((each["headers"], each["hint"]) for each in _TABLE["foreign headers"]),
    (
        "|".join(map(re.escape, _TABLE["host headers"])),
        "<{0}> is a host header: move the device code to a file that does not include it",
    ),
)
"""(regular expression of header names, hint) for headers that projects include but seldom contain. These headers
belong to `DEVICE_LIBRARIES`, to other libraries, or to the host's system."""


class Case(NamedTuple):
    """The source of an error, and how it was compiled.

    `text` is the source's text, `arch` is like "90a", and `std` like "c++17". `searched` are the project-relative
    include folders. `find` returns the project-relative paths of the project's files with a file name. `cuda` is the
    major version of the compiler. `macros` returns (place, value) for each place where the project's own build defines
    a macro. `missing_headers` are the globs in that setting.
    """

    text: str
    arch: str
    std: str
    searched: tuple[str, ...]
    find: Callable[[str], list[str]]
    cuda: int
    macros: Callable[[str], Sequence[tuple[str, str]]] = lambda name: ()
    missing_headers: tuple[str, ...] = ()


Rule = Callable[[re.Match[str], Diagnostic, Case], "str | None"]
"""Function of (match, diagnostic, case). It returns a hint for the diagnostic, or None. `match` is the match of the
rule's regular expression in the diagnostic's message."""

# --- headers ------------------------------------------------------------------------------------------


def missing_header(match: re.Match[str], diagnostic: Diagnostic, case: Case) -> str:
    """Return the hint for a header that the compiler does not find: the folder where it is, or how to do without it."""
    name = match[1]
    if any(fnmatchcase(name, pattern) for pattern in case.missing_headers):
        return (
            f"missing-headers lists {name}, which cannot be empty here: a file tests for it with __has_include, or "
            "another file of this name is found. Put #if __has_include(...) around the include"
        )
    return (
        _in_another_folder(name, case)
        or _listed_header(name, case, DEVICE_LIBRARIES)
        or (_listed_header(name, case, FOREIGN_HEADERS) or _nowhere(case)) + _without_header(name)
    )


def _nowhere(case: Case) -> str:
    return (
        f"no file of the project has this name; the folders searched (include-dirs) are: {_searched(case)}. If a "
        "library outside the project has it, name the library's folder in system-include-dirs"
    )


def _without_header(name: str) -> str:
    return f'; if only host code needs it, set missing-headers = ["{header_pattern(name)}"], which makes it empty'


def header_pattern(name: str) -> str:
    """Return the glob for `missing-headers` that matches a header and the others of its library: "Eigen/*" for
    "Eigen/Core"."""
    folder, slash, _ = name.partition("/")
    return f"{folder}/*" if slash and folder.strip(".") else name


def _in_another_folder(name: str, case: Case) -> str | None:
    """Return the hint for a missing header `name` that is in the project, but in a folder that is not searched. Return
    None if no file of the project has this name."""
    relative = name.lstrip("./")
    paths = [path for path in case.find(posixpath.basename(name)) if f"/{path}".endswith(f"/{relative}")]
    if not paths:
        return None
    folder = posixpath.normpath(paths[0][: -len(relative)])
    return f'{paths[0]} is in none of the folders that are searched ({_searched(case)}): add "{folder}" to include-dirs'


def _listed_header(name: str, case: Case, table: Sequence[tuple[str, str]]) -> str | None:
    """Return the hint for a missing header `name`; None if no row of `table` matches.

    A row is (regular expression of header names, hint). The first row whose expression matches the whole name gives the
    hint. `case` tells the CUDA version for package names in the hint.
    """
    hint = next((hint for pattern, hint in table if re.fullmatch(pattern, name)), None)
    curand = "nvidia-curand-cu12" if case.cuda < 13 else "nvidia-curand"
    packages = {"curand": curand, "nvshmem": f"nvidia-nvshmem-cu{case.cuda}", "cupy": f"cupy-cuda{case.cuda}x"}
    return hint and hint.format(name, **packages)


def _searched(case: Case) -> str:
    return ", ".join(folder if folder != "." else "the project's folder" for folder in case.searched)


# --- functions and variables --------------------------------------------------------------------------


def no_member_of_std(match: re.Match[str], diagnostic: Diagnostic, case: Case) -> str:
    """Return the hint for a name in namespace std that does not exist in device code."""
    name = match[1]
    if name in _TABLE["host names in std"]:  # which libcu++ does not have
        return f"std::{name} is for host code: use pointers, arrays, or what libcu++ has in cuda::std"
    return f"use cuda::std::{name} if libcu++ has it: include its header as <cuda/std/...>"


def undefined_name(match: re.Match[str], diagnostic: Diagnostic, case: Case) -> str | None:
    """Return the hint for an undefined identifier, such as the header that declares it; None if nothing is known about
    it."""
    name = match[1]
    if name in _TABLE["standard of keyword"]:
        return needs_standard(_TABLE["standard of keyword"][name], case)
    if name in _TABLE["removed"]:
        return f"CUDA no longer has {name}: use {_TABLE['removed'][name]}"
    for newer in _TABLE["newer"]:
        if re.fullmatch(newer["names"], name):
            return needs_architecture(name, newer["architecture"], case)
    if name in HINTED_HEADERS:
        return f"#include <{HINTED_HEADERS[name]}> declares {name}"
    if re.fullmatch(r"cuda[A-Z]\w*|cu[A-Z]\w*", name):
        return f"{name} is a host function: call it on the host, with cuda.bindings or cuda.core"
    folded = {known.casefold().strip("_"): known for known in _TABLE["built in"]}
    near = difflib.get_close_matches(name.casefold().strip("_"), folded, n=1, cutoff=0.85)
    return f"did you mean {folded[near[0]]}?" if near else None


def needs_architecture(what: str, first: int, case: Case) -> str | None:
    """Return the hint that `what` needs architecture `first` (such as 80) or later; None if the source is compiled for
    one."""
    if int(re.sub(r"\D", "", case.arch)) >= first:
        return None
    return (
        f"{what} needs compute capability {first // 10}.{first % 10}: give the module its own "
        f"[[tool.cuda-wheel.module]] table with architectures from {first} on, or guard the code with "
        f"#if __CUDA_ARCH__ >= {first}0"
    )


def needs_standard(standard: int, case: Case) -> str | None:
    """Return the hint that the code needs a C++ standard (17 for C++17) or later; None if the source is compiled with
    one."""
    return f'this is C++{standard}: set std = "c++{standard}"' if int(case.std[3:]) < standard else None


def newer_syntax(match: re.Match[str], diagnostic: Diagnostic, case: Case) -> str | None:
    """Return the hint for a syntax error that a newer C++ standard may remove; None if the line shows no newer
    syntax."""
    shown = "\n".join(diagnostic.details[:1])
    word = re.match(r"\w*", text_at_caret(diagnostic))
    if word is not None and word[0] in _TABLE["standard of keyword"]:
        return needs_standard(_TABLE["standard of keyword"][word[0]], case)
    for syntax, standard in (("<=>", 20), ("if constexpr", 17), ("auto [", 17), ("auto& [", 17), ("auto&& [", 17)):
        if syntax in shown:
            return needs_standard(standard, case)
    return needs_standard(17, case) if re.search(r"namespace \w+::", shown) else None


def text_at_caret(diagnostic: Diagnostic) -> str:
    """Return the part of a diagnostic's source line that begins at the caret; "" if it shows no caret."""
    for shown, caret in zip(diagnostic.details, diagnostic.details[1:], strict=False):
        if caret.strip() == "^":
            return shown[len(caret) - 1 :]
    return ""


# --- ptxas --------------------------------------------------------------------------------------------


def requires_target(match: re.Match[str], diagnostic: Diagnostic, case: Case) -> str | None:
    """Return the hint for an instruction that ptxas accepts only for later or specific targets."""
    instruction, first, suffix = match.groups()
    return (
        _one_architecture(instruction)
        or needs_architecture(instruction, int(first), case)
        or _only_for(instruction, first + suffix)
    )


def instruction_not_supported(match: re.Match[str], diagnostic: Diagnostic, case: Case) -> str:
    """Return the hint for an instruction that the target does not have."""
    return _one_architecture(match[1]) or (
        f'sm_{case.arch} does not have {match[1]}: it needs a newer architecture, or the variant with "a" or "f" '
        f'(architectures = ["{re.sub("[af]", "", case.arch)}a-real"])'
    )


def _one_architecture(instruction: str) -> str | None:
    archs = _TABLE["one architecture"].items()
    return next((_only_for(instruction, arch) for start, arch in archs if instruction.startswith(start)), None)


def _only_for(what: str, arch: str) -> str:
    return (
        f'{what} is for sm_{arch} only: set architectures = ["{arch}-real"] in the module\'s own '
        f"[[tool.cuda-wheel.module]] table, or guard the code with #if __CUDA_ARCH_FEAT_SM{arch.rstrip('af')}_ALL and "
        "add other code for other architectures"
    )


def matrix_fragment(match: re.Match[str], diagnostic: Diagnostic, case: Case) -> str:
    """Return the hint for an `nvcuda::wmma::fragment` with a shape and types that are not declared for the
    architecture."""
    first = 80 if re.search(r"double|bfloat16|tf32", match[1]) else 75 if re.search(r"experimental", match[1]) else 70
    return (
        needs_architecture("this matrix fragment", first, case) or "no matrix fragment has this shape and these types"
    )


def shared_memory(match: re.Match[str], diagnostic: Diagnostic, case: Case) -> str:
    """Return the hint for a kernel whose static shared memory exceeds the limit."""
    return (
        f"the kernel has {int(match[1], 16)} bytes of __shared__ variables, more than the limit of {int(match[2], 16)}"
        ": use extern __shared__ memory for larger arrays; the launch sets its size"
    )


# --- symbols and kernels ------------------------------------------------------------------------------

KERNEL_LAUNCH = (
    'a kernel that launches kernels must be linked with the device runtime library: set link = "ptx" or "lto" in a '
    "[[tool.cuda-wheel.module]] table for this source, with real targets only, or launch from the host"
)


def not_a_kernel(match: re.Match[str], diagnostic: Diagnostic, case: Case) -> str | None:
    """Return the hint for a name expression in `instantiate` that names no kernel; None if there is nothing to
    suggest."""
    expression, reason = match[1], match[2]
    base = expression.partition("<")[0].strip()
    kernels = list(dict.fromkeys(kernel.name for kernel in kernels_in(case.text)))
    unqualified = base.rpartition("::")[2]
    if "non-__global__" in reason:
        return f"{base} is not a __global__ function: instantiate lists kernels"
    if unqualified in kernels:
        wrong_arguments = "<" in expression or "intended" in reason
        return f"{base} exists, but its template arguments are wrong or missing" if wrong_arguments else None
    near = difflib.get_close_matches(unqualified, kernels, n=1, cutoff=0.5)
    if near:
        return f"did you mean {near[0]}?"
    return f"the kernels of this file are {', '.join(kernels)}" if kernels else None
