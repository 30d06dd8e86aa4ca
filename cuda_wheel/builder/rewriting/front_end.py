"""NVRTC's options for sources that contain host code.

NVRTC's front end is nvcc's: it parses, type-checks and instantiates host code, and generates no code for it. It refuses
host code only by errors that can be suppressed ("... host functions are not allowed in JIT mode"). Then a launch
instantiates a kernel template as with nvcc, and calling a host function from device code is an error as with nvcc.
Tried with NVRTC 12.9, 13.0 and 13.5.
"""

from __future__ import annotations

import re

from cuda_wheel.builder.toolchain.toolchain import STAND_INS

__all__ = [
    "COMPLEX_FUNCTIONS",
    "CONSTEXPR_CALL",
    "FIRST_ERROR",
    "HOST_CODE_OPTIONS",
    "NOT_NVRTC_OPTIONS",
    "PREAMBLE_OPTION",
    "REPORTING_OPTIONS",
    "USED_PARTS_OPTION",
    "is_about_host_code",
    "looks_like_host_code",
]


_REFUSALS = (
    "unannotated_function_in_jit",
    "unannotated_variable_in_jit",
    "unannotated_static_data_member_in_jit",
    "no_host_in_jit",
    "host_closure_class_in_jit",
)
"""The front end's names of NVRTC's errors about host code."""

_UNDEFINED = ("decl_with_local_type_but_not_defined", "decl_with_no_linkage_type_but_not_defined", "never_defined")
"""The front end's names of errors about functions that only the same file could define, such as a member of
`std::vector<T>` for a local type T: stand-ins declare what the library's headers define. These become warnings, and a
build prints none about stand-ins. If device code calls such a function, another error follows."""

_MISUSES = ("host_var_read_in_device", "host_var_written_in_device", "host_var_address_taken_in_device")
"""The front end's names of warnings about host variables in device code. nvcc reports an error after them; NVRTC may
not.

Two errors of nvcc have no such option: `typeid` and `dynamic_cast` in device code (NVRTC does not check, and turning
RTTI off would refuse them in host code too), and a call of a virtual host function.
"""

_LIKE_NVCC = (
    *("-Xcudafe", f"--diag_warning={','.join(_UNDEFINED)}"),
    *("-Xcudafe", f"--diag_error={','.join(_MISUSES)}"),
    *("-Xcudafe", "--extended-lambda"),
    *("-Xcudafe", "--relaxed_constexpr"),
    *("-Xcudafe", "--dollar"),
    *("-Xcudafe", "--pending_instantiations=1200"),  # as deep as templates may nest with GCC
    "--device-int128",
    *("--define-macro=__NVCC__=1", "--define-macro=__CUDACC_EXTENDED_LAMBDA__=1"),
    "--define-macro=__CUDACC_RELAXED_CONSTEXPR__=1",
)
"""The options with which NVRTC accepts lambdas marked `__device__`, calls of `constexpr` host functions from device
code, "$" in names and `__int128`, as nvcc does, and nvcc's macros that sources ask for.

The front end's GNU mode (--gnu_version, --g++), which nvcc uses with GCC, ends in errors in NVRTC 12.9, 13.0 and 13.5:
both the mode and NVRTC predeclare `__int128_t`, and no option suppresses that. Of GCC's extensions,
`cuda_wheel_detail/gnu_extensions.h` has what macros and functions can express, and `rewriting` writes others in
another way; statement expressions, `a ?: b`, case ranges, arrays of no length and, before C++20, designated
initializers stay errors."""

HOST_CODE_OPTIONS = (*("-Xcudafe", f"--diag_suppress={','.join(_REFUSALS)}"), *_LIKE_NVCC)
"""NVRTC options that make it accept host code."""

REPORTING_OPTIONS = (*("-Xcudafe", f"--diag_warning={','.join(_REFUSALS)}"), *_LIKE_NVCC)
"""NVRTC options that make it warn about host code, including that in standard library headers; see
`is_about_host_code`."""

PREAMBLE_OPTION = "--pre-include=cuda_wheel_detail/host_code.h"
"""NVRTC option that declares, before a source, what nvcc declares: the CUDA runtime API and parts of the C library."""

NOT_NVRTC_OPTIONS = (
    f"--include-path={STAND_INS[0]}/cuda_wheel_detail/not_nvrtc",
    "--define-macro=CUDA_WHEEL_NOT_NVRTC",
)
"""NVRTC options, to be put before all others, with which the project's headers do not see the macro `__CUDACC_RTC__`,
as with nvcc. Headers that test for it may leave out their host code; CUTLASS's do. The folder contains versions of the
toolkit's and CCCL's headers that need the macro."""

FIRST_ERROR = ("-Xcudafe", "--error_limit=1")
"""NVRTC options that stop a compilation at the first error. Otherwise, the front end instantiates all templates after
an error: 25 s for files with large kernels whose first error is found in 2 s."""

USED_PARTS_OPTION = "--define-macro=CUDA_WHEEL_USED_PARTS"
"""NVRTC option that marks a compilation without those declarations of stand-in headers that the source does not use, as
found by `used_parts`."""

COMPLEX_FUNCTIONS = "CUDA_WHEEL_COMPLEX_FUNCTIONS"
"""Macro with which the stand-in headers define the functions of c10::complex; without it, an error about a call names
the macro. The functions need Thrust's headers, which take longer to compile than many kernels, so the macro is defined
only for sources that call them."""

_HOST_CODE = re.compile(
    rb"<<<|\bcuda[A-Z]\w*\s*\(|\b__host__\b|\bpow\s*\(|"
    rb"#\s*include\s*[<\"](?:torch|ATen|c10|THC|pybind11|cuda_runtime)"
)

CONSTEXPR_CALL = "calling a constexpr __host__ function"
"""Start of NVRTC's error about a call of a `constexpr` host function in device code. The function's name follows, in
parentheses and quotes."""


def is_about_host_code(message: str) -> bool:
    """Return whether a warning, with `REPORTING_OPTIONS`, is about host code."""
    return "in JIT mode" in message


def looks_like_host_code(text: bytes) -> bool:
    """Return whether a text probably contains host code, so that compiling it without the preamble is not worth trying.

    A text that does not compile without the preamble is compiled with it, so this saves time and decides nothing else;
    except for `pow`, which has another meaning without the preamble: see `rewriting.expressions.Powers`.
    """
    return _HOST_CODE.search(text) is not None
