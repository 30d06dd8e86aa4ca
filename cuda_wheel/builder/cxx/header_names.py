"""Tables of well-known headers: which headers declare which names, and which are for host code only."""

from __future__ import annotations

from collections.abc import Mapping

__all__ = ["HINTED_HEADERS", "HOST_HEADERS"]

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
