"""Tables of well-known headers: which headers declare which names, and which are for host code only."""

from __future__ import annotations

import re
from collections.abc import Mapping

__all__ = ["HINTED_HEADERS", "HOST_HEADERS", "HOST_TOOLKIT_HEADERS", "PRE_INCLUDED_HEADERS", "STANDARD_HEADERS"]

_HOST_HEADERS = (
    "vector string map unordered_map set unordered_set list deque queue stack memory iostream ostream istream fstream "
    "sstream iomanip thread mutex future condition_variable filesystem regex random stdexcept exception typeinfo "
    "typeindex any locale format print system_error execution shared_mutex unistd.h sys/time.h omp.h mpi.h"
)

HOST_HEADERS = tuple(_HOST_HEADERS.split())
"""Standard headers, and others, that have no form for device code."""

HOST_TOOLKIT_HEADERS = re.compile(
    r"cuda_runtime(_api)?\.h|cuda_profiler_api\.h|cuda_.*_interop\.h|device_launch_parameters\.h|nvtx3/.*"
    r"|cuda(EGL|GL|VDPAU)(Typedefs)?\.h|cuda(Profiler)?Typedefs\.h|(channel_descriptor|driver_functions)\.h"
    r"|nv(rtc|Fatbin|JitLink|PTXCompiler)\.h|cuda/(buffer|memory_pool|memory_resource|stream|stream_ref)"
    r"|thrust/(?!pair\.h|tuple\.h).*|cub/device/.*"
)
"""Headers of the toolkit that declare host functions. NVRTC itself declares what device code uses of them."""


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
        "mma.h": "nvcuda wmma",
        "climits": "INT_MAX INT_MIN UINT_MAX LLONG_MAX CHAR_BIT",
        "cmath": "M_PI INFINITY NAN",
    }
)
"""The headers to suggest for undefined names."""

PRE_INCLUDED_HEADERS = _DEVICE_HEADERS | _header_of(
    {
        "assert.h": "assert",
        "cuda_device_runtime_api.h": "cudaGetErrorString cudaGetErrorName cudaGetLastError cudaPeekAtLastError "
        "cudaGraphSetConditional cudaDeviceGetAttribute cudaGetDevice",
    }
)
"""The headers to include in place of host headers that would have included them, by the names that they declare."""

STANDARD_HEADERS = _header_of(
    {
        "type_traits": "is_same is_same_v enable_if enable_if_t conditional conditional_t is_integral is_integral_v "
        "decay decay_t integral_constant true_type false_type is_floating_point is_floating_point_v "
        "disjunction disjunction_v conjunction conjunction_v remove_reference remove_reference_t "
        "remove_cv remove_cv_t remove_const void_t is_signed is_unsigned is_signed_v is_unsigned_v "
        "is_pointer is_const make_unsigned make_unsigned_t bool_constant is_trivially_copyable "
        "is_base_of is_base_of_v is_convertible is_convertible_v underlying_type negation negation_v "
        "is_enum is_void is_arithmetic is_arithmetic_v make_signed make_signed_t add_const common_type "
        "common_type_t remove_pointer remove_pointer_t is_class is_empty invoke_result invoke_result_t "
        "alignment_of",
        "limits": "numeric_limits",
        "algorithm": "min max swap sort fill copy clamp lower_bound upper_bound",
        "utility": "pair make_pair move forward declval index_sequence make_index_sequence integer_sequence "
        "exchange make_integer_sequence index_sequence_for",
        "tuple": "tuple make_tuple get tuple_size tuple_element tie apply",
        "array": "array",
        "functional": "plus minus multiplies less greater equal_to",
        "cmath": "abs sqrt pow exp log sin cos tan floor ceil round fabs isnan isinf fma log2 exp2 tanh fmod copysign",
        "cstdint": _INTEGER_TYPES,
        "cstddef": "size_t ptrdiff_t nullptr_t byte max_align_t",
        "complex": "complex",
        "initializer_list": "initializer_list",
        "cstring": "memcpy memset",
        "cstdio": "printf",
    }
)
"""The standard headers by the names that they declare in namespace std."""
