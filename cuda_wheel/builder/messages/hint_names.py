"""The names of headers, functions, words and instructions for which there are hints."""

from __future__ import annotations

import re

from cuda_wheel.builder.cxx.header_names import HOST_HEADERS

__all__ = [
    "BUILT_IN",
    "DEVICE_LIBRARIES",
    "FOREIGN_HEADERS",
    "HOST_NAMES",
    "NEWER_NAMES",
    "ONE_ARCHITECTURE",
    "REMOVED_NAMES",
    "STANDARD_OF",
]

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
