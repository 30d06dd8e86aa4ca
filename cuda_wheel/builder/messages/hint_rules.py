"""The hints that depend on the source and on how it was compiled. Pure functions.

Tables of well-known headers: which headers declare which names, and which are for host code only.

The names of headers, functions, words and instructions for which there are hints.
"""

from __future__ import annotations

import difflib
import posixpath
import re
from collections.abc import Callable, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import NamedTuple

from cuda_wheel.builder.cxx.kernel_scan import kernels_in
from cuda_wheel.builder.messages.diagnostics import Diagnostic

__all__ = [
    "BUILT_IN",
    "DEVICE_LIBRARIES",
    "FOREIGN_HEADERS",
    "HINTED_HEADERS",
    "HOST_HEADERS",
    "HOST_NAMES",
    "KERNEL_LAUNCH",
    "NEWER_NAMES",
    "ONE_ARCHITECTURE",
    "REMOVED_NAMES",
    "STANDARD_OF",
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


_HOST_HEADERS = (
    "vector string map unordered_map set unordered_set list deque queue stack memory iostream ostream istream fstream "
    "sstream iomanip thread mutex future condition_variable filesystem regex random stdexcept exception typeinfo "
    "typeindex any locale format print system_error execution shared_mutex unistd.h sys/time.h omp.h mpi.h"
)

HOST_HEADERS = tuple(_HOST_HEADERS.split())
"""Standard headers, and others, that have no form for device code."""


def _header_of(names: Mapping[str, str]) -> dict[str, str]:
    """Return the header of each name, from the names of each header separated by spaces."""
    return {name: header for header, declared in names.items() for name in declared.split()}


_INTEGER_TYPES = "uint8_t uint16_t uint32_t uint64_t int8_t int16_t int32_t int64_t uintptr_t"

_DEVICE_HEADERS = _header_of(
    {
        "cuda_fp16.h": "__half __half2 half half2 __half_raw",
        "cuda_bf16.h": "__nv_bfloat16 __nv_bfloat162 nv_bfloat16 nv_bfloat162",
        "cuda_fp8.h": "__nv_fp8_e4m3 __nv_fp8_e5m2",
        "cuComplex.h": "cuComplex cuFloatComplex cuDoubleComplex",
        "cfloat": "FLT_MAX FLT_MIN FLT_EPSILON DBL_MAX DBL_MIN DBL_EPSILON",
        "cstdint": _INTEGER_TYPES,
    }
)

HINTED_HEADERS = _DEVICE_HEADERS | _header_of(
    {
        "cooperative_groups.h": "cooperative_groups",
        "cuda_runtime.h": "cudaGridDependencySynchronize cudaTriggerProgrammaticLaunchCompletion",
        "mma.h": "nvcuda wmma",
        "climits": "INT_MAX INT_MIN UINT_MAX LLONG_MAX CHAR_BIT",
        "cmath": "M_PI INFINITY NAN",
    }
)
"""The headers to suggest for undefined names."""


# --- headers ------------------------------------------------------------------------------------------

DEVICE_LIBRARIES = (
    (
        r"curand_\w+\.h",
        '<{0}> is in a separate package: add "{curand}" to build-system.requires, and install it in the environment of '
        "editable installs",
    ),
    (
        r"(?:cutlass|cute)/.*",
        '<{0}> is in a separate package: add "nvidia-cutlass" to build-system.requires, and install it in the '
        "environment of editable installs; or name the include folder of your copy of CUTLASS in system-include-dirs",
    ),
    (
        r"(?:cufftdx|cublasdx|curanddx|cusolverdx|nvcompdx)(?:\.hpp|/.*)|commondx/.*",
        '<{0}> is in a separate package: add "nvidia-mathdx" to build-system.requires, and install it in the '
        "environment of editable installs",
    ),
    (
        r"nvshmem\w*(?:\.h|/.*)",
        '<{0}> is in a separate package: add "{nvshmem}" to build-system.requires. cuda-wheel does not link its device '
        "library: functions that are not inline need nvcc",
    ),
    (
        r"(?:torch|ATen|c10|THC)/.*",
        '<{0}> is read from PyTorch, whose device code is not part of cuda-wheel: add "torch" to '
        "build-system.requires, and install it in the environment of editable installs; or name the folder of its "
        "headers (.../torch/include) in system-include-dirs. Not every release has each header",
    ),
)
"""Headers for device code that are not part of the toolkit: a pattern of their names, and the hint."""

FOREIGN_HEADERS = (
    *DEVICE_LIBRARIES,
    (
        r"(?:pybind11|nanobind)/.*|Python\.h",
        "<{0}> is a host header: move the kernels to a .cu file that does not include it, and call them from Python",
    ),
    (
        r"(?:cublas|cufft|cusparse|cusolver|cudnn|nccl|nvjpeg|npp|nvml|nvToolsExt|cufile|curand)\w*\.h",
        "<{0}> is the header of a host library: call the library from Python, or from an extension module",
    ),
    (
        r"helper_(?:cuda|functions|math|string|timer|image)\.h",
        "<{0}> is part of NVIDIA's cuda-samples: copy it into the project",
    ),
    (
        "|".join(map(re.escape, HOST_HEADERS)),
        "<{0}> is a host header: move the device code to a file that does not include it",
    ),
)
"""Headers that a project does not contain itself: a pattern of their names, and the hint."""

# --- functions, variables and words -------------------------------------------------------------------

_HOST_NAMES = (
    "vector string map unordered_map set list deque queue stack function cout cerr endl ostream mutex lock_guard "
    "thread shared_ptr unique_ptr make_unique make_shared runtime_error logic_error exception to_string stringstream "
    "format any"
)
HOST_NAMES = frozenset(_HOST_NAMES.split())
"""Names in namespace std that libcu++ does not have."""

REMOVED_NAMES = {
    "__shfl": "__shfl_sync(mask, ...)",
    "__shfl_up": "__shfl_up_sync(mask, ...)",
    "__shfl_down": "__shfl_down_sync(mask, ...)",
    "__shfl_xor": "__shfl_xor_sync(mask, ...)",
    "__any": "__any_sync(mask, ...)",
    "__all": "__all_sync(mask, ...)",
    "__ballot": "__ballot_sync(mask, ...)",
    "tex1D": "a cudaTextureObject_t",
    "tex2D": "a cudaTextureObject_t",
    "__mul24": "a plain product",
    "__synchthreads": "__syncthreads()",
}
"""Names of older CUDA releases, and what replaces them."""

NEWER_NAMES = (
    (r"__reduce_\w+_sync", 80),
    (
        r"__cluster\w*|cudaGridDependencySynchronize|cudaTriggerProgrammaticLaunchCompletion|this_cluster|cluster_group",
        90,
    ),
    (r"__(?:match_any|match_all)_sync|__nanosleep", 70),
)
"""Names that are declared for some architectures only: a pattern, and the first architecture."""

_BUILT_IN = (
    "threadIdx blockIdx blockDim gridDim warpSize __syncthreads __syncwarp __threadfence __threadfence_block __ldg "
    "atomicAdd atomicSub atomicMax atomicMin atomicExch atomicCAS atomicAnd atomicOr atomicXor __popc __clz __ffs "
    "__shfl_sync __shfl_down_sync __shfl_up_sync __shfl_xor_sync __ballot_sync __any_sync __all_sync __activemask "
    "__global__ __device__ __shared__ __constant__ __restrict__ __launch_bounds__ __forceinline__"
)
BUILT_IN = tuple(_BUILT_IN.split())
"""Names that CUDA C++ declares without a header."""

STANDARD_OF = {"concept": 20, "requires": 20, "consteval": 20, "constinit": 20, "co_await": 20, "char8_t": 20}
"""The C++ standard that introduced a keyword."""

# --- instructions -------------------------------------------------------------------------------------

ONE_ARCHITECTURE = (("wgmma", "90a"), ("setmaxnreg", "90a"), ("tcgen05", "100a"))
"""Starts of instructions that exist for one architecture only, and that architecture."""


class Case(NamedTuple):
    """What hints may depend on: the text of the source, and how it was compiled.

    `searched` are the project's folders of headers; `find` returns the paths of the project's files of a name; `cuda`
    is the major version of the compiler; `missing_headers` are the patterns of that key.
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
"""A function that returns the hint for a message, given its match; None if there is none."""

# --- headers ------------------------------------------------------------------------------------------


def missing_header(match: re.Match[str], diagnostic: Diagnostic, case: Case) -> str:
    """Return the hint for a header that the compiler does not find: where it is, or what helps without it."""
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
    """Return the pattern of `missing-headers` for a library's header and its others: "Eigen/*" for "Eigen/Core"."""
    folder, slash, _ = name.partition("/")
    return f"{folder}/*" if slash and folder.strip(".") else name


def _in_another_folder(name: str, case: Case) -> str | None:
    """Return the hint for a header that is in the project, but in no folder that is searched."""
    relative = name.lstrip("./")
    paths = [path for path in case.find(posixpath.basename(name)) if f"/{path}".endswith(f"/{relative}")]
    if not paths:
        return None
    folder = posixpath.normpath(paths[0][: -len(relative)] or ".")
    return f'{paths[0]} is in none of the folders that are searched ({_searched(case)}): add "{folder}" to include-dirs'


def _listed_header(name: str, case: Case, table: Sequence[tuple[str, str]]) -> str | None:
    """Return the hint for a header whose name a table contains."""
    hint = next((hint for pattern, hint in table if re.fullmatch(pattern, name)), None)
    curand = "nvidia-curand-cu12" if case.cuda < 13 else "nvidia-curand"
    return hint and hint.format(name, curand=curand, nvshmem=f"nvidia-nvshmem-cu{case.cuda}")


def _searched(case: Case) -> str:
    return ", ".join(folder if folder != "." else "the project's folder" for folder in case.searched)


# --- functions and variables --------------------------------------------------------------------------


def no_member_of_std(match: re.Match[str], diagnostic: Diagnostic, case: Case) -> str:
    """Return the hint for a name that namespace std does not have in device code."""
    name = match[1]
    if name in HOST_NAMES:
        return f"std::{name} is for host code: use pointers, arrays, or what libcu++ has in cuda::std"
    return f"use cuda::std::{name} if libcu++ has it: include its header as <cuda/std/...>"


def undefined_name(match: re.Match[str], diagnostic: Diagnostic, case: Case) -> str | None:
    """Return the hint for an undefined identifier."""
    name = match[1]
    if name in STANDARD_OF:
        return needs_standard(STANDARD_OF[name], case)
    if name in REMOVED_NAMES:
        return f"CUDA no longer has {name}: use {REMOVED_NAMES[name]}"
    for pattern, first in NEWER_NAMES:
        if re.fullmatch(pattern, name):
            return needs_architecture(name, first, case)
    if name in HINTED_HEADERS:
        return f"#include <{HINTED_HEADERS[name]}> declares {name}"
    if re.fullmatch(r"cuda[A-Z]\w*|cu[A-Z]\w*", name):
        return f"{name} is a host function: call it on the host, with cuda.bindings or cuda.core"
    folded = {known.casefold().strip("_"): known for known in BUILT_IN}
    near = difflib.get_close_matches(name.casefold().strip("_"), folded, n=1, cutoff=0.85)
    return f"did you mean {folded[near[0]]}?" if near else None


def needs_architecture(what: str, first: int, case: Case) -> str | None:
    """Return the hint for what needs an architecture from `first` on; None if it is compiled for one."""
    if int(re.sub(r"\D", "", case.arch)) >= first:
        return None
    return (
        f"{what} needs compute capability {first // 10}.{first % 10}: give the module its own "
        f"[[tool.cuda-wheel.module]] table with architectures from {first} on, or guard the code with "
        f"#if __CUDA_ARCH__ >= {first}0"
    )


def needs_standard(standard: int, case: Case) -> str | None:
    """Return the hint for what needs a C++ standard; None if the source is compiled with it."""
    return f'this is C++{standard}: set std = "c++{standard}"' if int(case.std[3:]) < standard else None


def newer_syntax(match: re.Match[str], diagnostic: Diagnostic, case: Case) -> str | None:
    """Return the hint for a syntax error whose cause may be the syntax of a newer standard."""
    shown = "\n".join(diagnostic.details[:1])
    word = re.match(r"\w*", text_at_caret(diagnostic))
    if word is not None and word[0] in STANDARD_OF:
        return needs_standard(STANDARD_OF[word[0]], case)
    for syntax, standard in (("<=>", 20), ("if constexpr", 17), ("auto [", 17), ("auto& [", 17), ("auto&& [", 17)):
        if syntax in shown:
            return needs_standard(standard, case)
    return needs_standard(17, case) if re.search(r"namespace \w+::", shown) else None


def text_at_caret(diagnostic: Diagnostic) -> str:
    """Return the source line that a diagnostic shows, from the caret on."""
    for shown, caret in zip(diagnostic.details, diagnostic.details[1:], strict=False):
        if caret.strip() == "^":
            return shown[len(caret) - 1 :]
    return ""


# --- ptxas --------------------------------------------------------------------------------------------


def requires_target(match: re.Match[str], diagnostic: Diagnostic, case: Case) -> str | None:
    """Return the hint for an instruction that ptxas accepts for other targets."""
    instruction, first, suffix = match.groups()
    return (
        _one_architecture(instruction)
        or needs_architecture(instruction, int(first), case)
        or _only_for(instruction, first + suffix)
    )


def instruction_not_supported(match: re.Match[str], diagnostic: Diagnostic, case: Case) -> str:
    """Return the hint for an instruction that the target lacks."""
    return _one_architecture(match[1]) or (
        f'sm_{case.arch} does not have {match[1]}: it needs a newer architecture, or the variant with "a" or "f" '
        f'(architectures = ["{re.sub("[af]", "", case.arch)}a-real"])'
    )


def _one_architecture(instruction: str) -> str | None:
    return next(
        (_only_for(instruction, arch) for start, arch in ONE_ARCHITECTURE if instruction.startswith(start)), None
    )


def _only_for(what: str, arch: str) -> str:
    return (
        f'{what} is for sm_{arch} only: set architectures = ["{arch}-real"] in the module\'s own '
        f"[[tool.cuda-wheel.module]] table, or guard the code with #if __CUDA_ARCH_FEAT_SM{arch.rstrip('af')}_ALL and "
        "add other code for other architectures"
    )


def matrix_fragment(match: re.Match[str], diagnostic: Diagnostic, case: Case) -> str:
    """Return the hint for a fragment of nvcuda::wmma that is not declared."""
    first = 80 if re.search(r"double|bfloat16|tf32", match[1]) else 75 if re.search(r"experimental", match[1]) else 70
    return (
        needs_architecture("this matrix fragment", first, case) or "no matrix fragment has this shape and these types"
    )


def shared_memory(match: re.Match[str], diagnostic: Diagnostic, case: Case) -> str:
    """Return the hint for too many bytes of static shared memory."""
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
    """Return the hint for a name expression in `instantiate` that is not a kernel."""
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
