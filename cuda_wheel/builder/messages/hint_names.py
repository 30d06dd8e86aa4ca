"""The names of headers, functions, words and instructions for which there are hints."""

from __future__ import annotations

import re

__all__ = [
    "BUILT_IN",
    "DEVICE_LIBRARIES",
    "FOREIGN_HEADERS",
    "HEADER_OF",
    "HOST_NAMES",
    "NEWER_NAMES",
    "ONE_ARCHITECTURE",
    "REMOVED_NAMES",
    "STANDARD_OF",
]

# --- headers ------------------------------------------------------------------------------------------

_HOST_HEADERS = (
    "vector string map unordered_map set unordered_set list deque queue stack memory iostream ostream istream fstream "
    "sstream iomanip thread mutex future condition_variable filesystem regex random stdexcept exception typeinfo "
    "typeindex any locale format print system_error execution shared_mutex unistd.h sys/time.h omp.h mpi.h"
)
"""Standard and other headers that have no form for device code."""

DEVICE_LIBRARIES = (
    (
        r"curand_\w+\.h",
        '<{0}> is in a separate package: add "{curand}" to build-system.requires, and install it in the environment of '
        "editable installs",
    ),
    (
        r"(?:cutlass|cute)/.*",
        "CUTLASS is not part of the CUDA toolkit: copy its include folder into the project and add it to include-dirs",
    ),
    (
        r"nvshmem\w*(?:\.h|/.*)",
        "NVSHMEM kernels need its device library, which cuda-wheel does not link: compile them with nvcc",
    ),
)
"""Headers for device code that are not part of the toolkit: a pattern of their names, and the hint."""

FOREIGN_HEADERS = (
    *DEVICE_LIBRARIES,
    (
        r"(?:torch|ATen|c10)/.*|(?:pybind11|nanobind)/.*|Python\.h",
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
        "|".join(map(re.escape, _HOST_HEADERS.split())),
        '<{0}> is a host header: move the device code to its own file, or leave host-code at "auto"',
    ),
)
"""Headers that a project does not contain itself: a pattern of their names, and the hint."""

HEADER_OF = {
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
"""The header that declares a name."""

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
