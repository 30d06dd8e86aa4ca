"""Say what would help against the commonest errors: rules from what a compiler says to a line of help. Pure."""

from __future__ import annotations

import difflib
import posixpath
import re
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from cuda_wheel.builder.cxx.demangle import signature
from cuda_wheel.builder.cxx.kernels import kernels_in
from cuda_wheel.builder.messages.diagnostics import Diagnostic

__all__ = [
    "Case",
    "hints",
]


MOST = 4
"""How many hints are given at most: the first errors cause the others."""


class Case(NamedTuple):
    """What a hint may depend on: the source's text, and how it was compiled.

    `searched` are the project's folders of headers, `find` returns the project's files of a name, `cuda` is the
    compiler's major version, and `lost` are the headers that were not found and taken for the host's.
    """

    text: str
    arch: str
    std: str
    searched: tuple[str, ...]
    find: Callable[[str], list[str]]
    cuda: int
    lost: tuple[str, ...] = ()


def hints(diagnostics: Iterable[Diagnostic], case: Case) -> list[str]:
    """Return what would help against errors, each once, in their order: "help: ..."."""
    lost = (_elsewhere(name, case) or _foreign(name, case, _DEVICE_LIBRARIES) for name in case.lost)
    found: dict[str, None] = {f"help: {first}": None for first in lost if first is not None}
    for each in diagnostics:
        if each.severity == "error":
            helps = (help(match, each, case) for pattern, help in _RULES if (match := pattern.search(each.message)))
            first = next(filter(None, helps), None)
            if first is not None:
                found[f"help: {first}"] = None
    return list(found)[:MOST]


Help = Callable[[re.Match[str], Diagnostic, Case], "str | None"]


def _says(text: str) -> Help:
    """Return the help that is the same always, but for the groups of the pattern in braces."""
    return lambda match, each, case: text.format(*match.groups())


# --- headers ----------------------------------------------------------------------------------------

_HOST_HEADERS = (
    "vector string map unordered_map set unordered_set list deque queue stack memory iostream ostream istream fstream "
    "sstream iomanip thread mutex future condition_variable filesystem regex random stdexcept exception typeinfo "
    "typeindex any locale format print system_error execution shared_mutex unistd.h sys/time.h omp.h mpi.h"
)
"""Standard headers, and others, that have no form for device code."""


_DEVICE_LIBRARIES = (
    (
        r"curand_\w+\.h",
        '<{0}> comes with a package of its own: add "{curand}" to build-system.requires, and install it for '
        "editable installs",
    ),
    (
        r"(?:cutlass|cute)/.*",
        "CUTLASS is no part of the toolkit: put its include folder into the project and name it in include-dirs",
    ),
    (
        r"nvshmem\w*(?:\.h|/.*)",
        "NVSHMEM has a library for device code, which cuda-wheel does not link: such kernels need nvcc",
    ),
)
"""Headers for device code that are not the toolkit's, by their names, and what helps."""


_FOREIGN = (
    *_DEVICE_LIBRARIES,
    (
        r"(?:torch|ATen|c10)/.*|(?:pybind11|nanobind)/.*|Python\.h",
        "<{0}> is for the host: keep kernels in a .cu file without it, and call them from Python",
    ),
    (
        r"(?:cublas|cufft|cusparse|cusolver|cudnn|nccl|nvjpeg|npp|nvml|nvToolsExt|cufile|curand)\w*\.h",
        "<{0}> is for the host, and so is the library: call that from Python, or from an extension of its own",
    ),
    (r"helper_(?:cuda|functions|math|string|timer|image)\.h", "<{0}> comes with NVIDIA's cuda-samples: copy it"),
    (
        "|".join(map(re.escape, _HOST_HEADERS.split())),
        '<{0}> is for the host: keep device code in a file of its own, or leave host-code at "auto"',
    ),
)
"""Headers that are not the project's to bring, by their names."""


def _missing_header(match: re.Match[str], each: Diagnostic, case: Case) -> str:
    name = match[1]
    nowhere = f"no file of the project has that name; searched (include-dirs): {_searched(case)}"
    return _elsewhere(name, case) or _foreign(name, case, _FOREIGN) or nowhere


def _elsewhere(name: str, case: Case) -> str | None:
    """Return the help where a header is in the project, but in none of the folders that are searched."""
    plain = name.lstrip("./")
    there = [path for path in case.find(posixpath.basename(name)) if f"/{path}".endswith(f"/{plain}")]
    if not there:
        return None
    folder = posixpath.normpath(there[0][: -len(plain)] or ".")
    return (
        f"{there[0]} is in none of the folders that are searched ({_searched(case)}): "
        f'include-dirs = ["{folder}"] adds it'
    )


def _foreign(name: str, case: Case, table: Sequence[tuple[str, str]]) -> str | None:
    """Return the help against a missing header that is in a table by its name."""
    help = next((help for pattern, help in table if re.fullmatch(pattern, name)), None)
    return help and help.format(name, curand="nvidia-curand-cu12" if case.cuda < 13 else "nvidia-curand")


def _searched(case: Case) -> str:
    return ", ".join(folder if folder != "." else "the project's folder" for folder in case.searched)


# --- functions and variables ------------------------------------------------------------------------

_HOST_NAMES = (
    "vector string map unordered_map set list deque queue stack function cout cerr endl ostream mutex lock_guard "
    "thread shared_ptr unique_ptr make_unique make_shared runtime_error logic_error exception to_string stringstream "
    "format any"
)


def _no_member(match: re.Match[str], each: Diagnostic, case: Case) -> str:
    name = match[1]
    if name in _HOST_NAMES.split():
        return f"std::{name} is for the host; device code has pointers, arrays and what libcu++ has in cuda::std"
    return f"device code has cuda::std::{name}, if libcu++ has it: include its header as <cuda/std/...>"


_OTHER_NAMES = {
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
"""Names of older CUDA releases, and what took their place."""


_NEWER_NAMES = (
    (r"__reduce_\w+_sync", 80),
    (
        r"__cluster\w*|cudaGridDependencySynchronize|cudaTriggerProgrammaticLaunchCompletion|this_cluster|cluster_group",
        90,
    ),
    (r"__(?:match_any|match_all)_sync|__nanosleep", 70),
)
"""Names that are declared for some architectures only, and the first of them."""


_HEADERS = {
    name: header
    for header, names in {
        "cuda_fp16.h": "__half __half2 half half2",
        "cuda_bf16.h": "__nv_bfloat16 __nv_bfloat162",
        "cuda_fp8.h": "__nv_fp8_e4m3 __nv_fp8_e5m2",
        "cuComplex.h": "cuComplex cuFloatComplex cuDoubleComplex",
        "cooperative_groups.h": "cooperative_groups",
        "mma.h": "nvcuda wmma",
        "cfloat": "FLT_MAX FLT_MIN FLT_EPSILON DBL_MAX DBL_MIN DBL_EPSILON",
        "climits": "INT_MAX INT_MIN UINT_MAX LLONG_MAX CHAR_BIT",
        "cmath": "M_PI INFINITY NAN",
        "cstdint": "uint8_t uint16_t uint32_t uint64_t int8_t int16_t int32_t int64_t uintptr_t",
    }.items()
    for name in names.split()
}
"""Which header names what."""


_BUILT_IN = [
    "threadIdx",
    "blockIdx",
    "blockDim",
    "gridDim",
    "warpSize",
    "__syncthreads",
    "__syncwarp",
    "__threadfence",
    "__threadfence_block",
    "__ldg",
    "atomicAdd",
    "atomicSub",
    "atomicMax",
    "atomicMin",
    "atomicExch",
    "atomicCAS",
    "atomicAnd",
    "atomicOr",
    "atomicXor",
    "__popc",
    "__clz",
    "__ffs",
    "__shfl_sync",
    "__shfl_down_sync",
    "__shfl_up_sync",
    "__shfl_xor_sync",
    "__ballot_sync",
    "__any_sync",
    "__all_sync",
    "__activemask",
    "__global__",
    "__device__",
    "__shared__",
    "__constant__",
    "__restrict__",
    "__launch_bounds__",
    "__forceinline__",
]


_STANDARDS = {"concept": 20, "requires": 20, "consteval": 20, "constinit": 20, "co_await": 20, "char8_t": 20}
"""Words of newer C++ standards."""


def _undefined(match: re.Match[str], each: Diagnostic, case: Case) -> str | None:
    name = match[1]
    if name in _STANDARDS:
        return _standard(_STANDARDS[name], case)
    if name in _OTHER_NAMES:
        return f"{name} is gone from CUDA; {_OTHER_NAMES[name]} took its place"
    for pattern, first in _NEWER_NAMES:
        if re.fullmatch(pattern, name):
            return _needs(name, first, case)
    if name in _HEADERS:
        return f"#include <{_HEADERS[name]}> declares {name}"
    if re.fullmatch(r"cuda[A-Z]\w*|cu[A-Z]\w*", name):
        return f"{name} is for the host, which calls it by cuda.bindings or cuda.core; device code has no such function"
    folded = {known.casefold().strip("_"): known for known in _BUILT_IN}
    near = difflib.get_close_matches(name.casefold().strip("_"), folded, n=1, cutoff=0.85)
    return f"did you mean {folded[near[0]]}?" if near else None


def _needs(what: str, first: int, case: Case) -> str | None:
    if int(re.sub(r"\D", "", case.arch)) >= first:
        return None
    return (
        f"{what} needs compute capability {first // 10}.{first % 10}: give the module architectures from {first} on "
        f"in a [[tool.cuda-wheel.module]] of its own, or guard the code by #if __CUDA_ARCH__ >= {first}0"
    )


def _standard(standard: int, case: Case) -> str | None:
    return f'that is C++{standard}: std = "c++{standard}"' if int(case.std[3:]) < standard else None


def _source_line(each: Diagnostic) -> str:
    """Return the source line that the compiler shows, from where its caret points."""
    for shown, caret in zip(each.details, each.details[1:], strict=False):
        if caret.strip() == "^":
            return shown[len(caret) - 1 :]
    return ""


def _newer_syntax(match: re.Match[str], each: Diagnostic, case: Case) -> str | None:
    """Return the help against an error that is strange until one knows the standard."""
    shown = "\n".join(each.details[:1])
    word = re.match(r"\w*", _source_line(each))
    if word is not None and word[0] in _STANDARDS:
        return _standard(_STANDARDS[word[0]], case)
    for sign, standard in (("<=>", 20), ("if constexpr", 17), ("auto [", 17), ("auto& [", 17), ("auto&& [", 17)):
        if sign in shown:
            return _standard(standard, case)
    return _standard(17, case) if re.search(r"namespace \w+::", shown) else None


# --- the assembler ----------------------------------------------------------------------------------

_SPECIAL = (("wgmma", "90a"), ("setmaxnreg", "90a"), ("tcgen05", "100a"))
"""Instructions of one architecture's own, and its name."""


def _requires_target(match: re.Match[str], each: Diagnostic, case: Case) -> str | None:
    return _special(match[1]) or _needs(match[1], int(match[2]), case) or _only(match[1], match[2] + match[3])


def _special(instruction: str) -> str | None:
    return next((_only(instruction, arch) for start, arch in _SPECIAL if instruction.startswith(start)), None)


def _only(what: str, arch: str) -> str:
    return (
        f'{what} is for sm_{arch} alone: architectures = ["{arch}-real"], in a [[tool.cuda-wheel.module]] of its own, '
        f"or with other code for others, by #if __CUDA_ARCH_FEAT_SM{arch.rstrip('af')}_ALL"
    )


def _not_supported(match: re.Match[str], each: Diagnostic, case: Case) -> str:
    return _special(match[1]) or (
        f'{match[1]} needs another architecture than sm_{case.arch}: a newer one, or its variant with "a" or "f" '
        f'(architectures = ["{re.sub("[af]", "", case.arch)}a-real"])'
    )


def _fragment(match: re.Match[str], each: Diagnostic, case: Case) -> str:
    first = 80 if re.search(r"double|bfloat16|tf32", match[1]) else 75 if re.search(r"experimental", match[1]) else 70
    return _needs("this matrix fragment", first, case) or "no matrix fragment has this shape and these types"


def _shared(match: re.Match[str], each: Diagnostic, case: Case) -> str:
    return (
        f"{int(match[1], 16)} bytes of __shared__ variables, and a kernel has at most {int(match[2], 16)}: what is "
        "beyond is extern __shared__ memory, whose size the launch gives"
    )


_LAUNCHES = (
    "kernels that launch kernels need the device runtime library, which cuda-wheel does not link: launch from the host"
)


def _unresolved(match: re.Match[str], each: Diagnostic, case: Case) -> str:
    name = signature(match[1]).name
    if name.startswith("cuda"):
        return _LAUNCHES
    return (
        f"{name} is declared here and defined in another file: include the definition; or name that file among the "
        "module's sources, to be linked; or leave it to whoever loads the module, by extern"
    )


def _instantiate(match: re.Match[str], each: Diagnostic, case: Case) -> str | None:
    asked, reason = match[1], match[2]
    base = asked.partition("<")[0].strip()
    kernels = list(dict.fromkeys(kernel.name for kernel in kernels_in(case.text)))
    plain = base.rpartition("::")[2]
    if "non-__global__" in reason:
        return f"{base} is not __global__: instantiate names kernels"
    if plain in kernels:
        return (
            f"{base} is there; its template arguments do not fit, or are missing"
            if "<" in asked or "intended" in reason
            else None
        )
    near = difflib.get_close_matches(plain, kernels, n=1, cutoff=0.5)
    if near:
        return f"did you mean {near[0]}?"
    return f"the kernels here are {', '.join(kernels)}" if kernels else None


# --- the table --------------------------------------------------------------------------------------

_MARK = "mark {0} that device code uses with {1}; what only the host uses belongs into Python or another file"


_RULES: tuple[tuple[re.Pattern[str], Help], ...] = tuple(
    (re.compile(pattern), help if callable(help) else _says(help))
    for pattern, help in (
        (r'cannot open source file "([^"]+)"', _missing_header),
        (r"is considered a host function", _MARK.format("a function", "__device__")),
        (r"explicitly marked as a __host__ function", _MARK.format("a function", "__device__, or __host__ __device__")),
        (r"is considered a host variable", _MARK.format("a variable", "__device__ or __constant__, or constexpr")),
        (r"calling a __host__ function", _MARK.format("a function", "__device__, or __host__ __device__")),
        (r'namespace "std" has no member(?: \w+)? "(\w+)"', _no_member),
        (r'namespace "cooperative_groups" has no member "((?:this_)?cluster\w*)"', _undefined),
        (
            r'(texture|surface)(?: is not a template|" is undefined)',
            "{0} references are gone since CUDA 12: pass a cudaTextureObject_t or cudaSurfaceObject_t to the kernel",
        ),
        (
            r'identifier "(\w+)" is undefined',
            _undefined,
        ),
        (
            r"(?:is a|are a|feature of|requires) C\+\+(\d\d)(?: or later| feature)?",
            lambda match, each, case: _standard(int(match[1]), case),
        ),
        (r'"= default" can only appear on default constructors', lambda match, each, case: _standard(20, case)),
        (r"inline specifier allowed on function declarations only", lambda match, each, case: _standard(17, case)),
        (r"no storage class or type specifier|^expected an? |qualified name is not allowed", _newer_syntax),
        (r'"register" storage class specifier is not allowed', "C++17 has no register: leave the word out"),
        (
            r"__global__ function must have a void return type",
            "a kernel returns nothing: write results through a pointer",
        ),
        (
            r"__global__ function or function template cannot be a member",
            "make it a function at namespace scope that takes the object",
        ),
        (
            r"__global__ function cannot have ellipsis",
            "make it a template of its parameters' types, and name them by instantiate",
        ),
        (
            r"does not support exception handling",
            "device code ends by a status that it writes, by assert or by __trap()",
        ),
        (
            r"typeid|<typeinfo> must be included",
            "device code has no type information at run time: use templates or an enum",
        ),
        (r'"(--device-(?:float|int)128)" flag', 'options = ["{0}"] allows that'),
        (
            r"device-side kernel launch|_?cudaDeviceSynchronize_deprecated",
            _LAUNCHES,
        ),
        (
            r"(__cluster_dims__|__block_size__) is not supported for this GPU architecture",
            lambda match, each, case: _needs(match[1], 90, case),
        ),
        (r'incomplete type "nvcuda::wmma::fragment<([^"]*)>"', _fragment),
        (r"'([^']+)' requires \.target sm_([0-9]{1,4})([af]?)", _requires_target),
        (r"'([^']+)' not supported on \.target", _not_supported),
        (r"uses too much shared data \(0x([0-9a-f]{1,16}) bytes, 0x([0-9a-f]{1,16}) max", _shared),
        (r"(?:Unresolved extern function|Undefined reference to) '([^']+)'", _unresolved),
        (r"^(.*) \(instantiate\) is no kernel of this file: (.*)", _instantiate),
    )
)
"""What a message says, and what helps then."""
