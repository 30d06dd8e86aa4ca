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
    "TILE_OPTIONS",
    "TILE_REPORTING_OPTIONS",
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
"""NVRTC's errors about host code, by the names that they have in options of the front end (NVRTC's C++ parser)."""

_TILE_REFUSALS = tuple(f"{name}_tile_enabled" for name in _REFUSALS if name != "no_host_in_jit")
"""Names that these errors have in a compilation with `nvrtc.ENABLE_TILE`."""

# Stand-in headers only declare the functions that these errors are about; the library's own headers define them.
# Therefore `_LIKE_NVCC` makes these errors warnings, and a build does not print the warnings about functions of
# stand-in headers. If device code calls such a function, NVRTC reports another error.
_UNDEFINED = ("decl_with_local_type_but_not_defined", "decl_with_no_linkage_type_but_not_defined", "never_defined")
"""Names of NVRTC's errors about functions that are declared but not defined, and that no other file can define.
Example: a member of `std::vector<T>` for a local type T. The names are those in options of the front end (NVRTC's C++
parser)."""

# nvcc reports an error after these warnings, and NVRTC may not. nvcc reports two more errors, for which NVRTC has no
# such option: for `typeid` and `dynamic_cast` in device code (to turn RTTI off would refuse them in host code too), and
# for a call of a virtual host function in device code.
_MISUSES = ("host_var_read_in_device", "host_var_written_in_device", "host_var_address_taken_in_device")
"""Names of NVRTC's warnings about host variables in device code. As with nvcc, these warnings become errors. The names
are those in options of the front end (NVRTC's C++ parser)."""

# nvcc with GCC also uses a GNU mode of the front end (C++ parser): --gnu_version, --g++. In NVRTC 12.9, 13.0 and 13.5,
# this mode ends in errors: both the mode and NVRTC declare `__int128_t`, and no option prevents that.
# `cuda_wheel_detail/gnu_extensions.h` replaces those of GCC's extensions that macros and functions can express, and
# `rewriting` rewrites others. Statement expressions, `a ?: b`, case ranges, arrays of no length and, before C++20,
# designated initializers stay errors.
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
"""Options with which NVRTC treats a source as nvcc does.

NVRTC then accepts lambdas marked `__device__`, calls of `constexpr` host functions from device code, "$" in names and
`__int128`. It also defines the macros by which sources recognize nvcc.
"""

HOST_CODE_OPTIONS = (*("-Xcudafe", f"--diag_suppress={','.join(_REFUSALS)}"), *_LIKE_NVCC)
"""NVRTC options with which it accepts host code without errors and warnings, and otherwise treats a source as nvcc
does."""

TILE_OPTIONS = ("-Xcudafe", f"--diag_suppress={','.join(_TILE_REFUSALS)}")
"""As the first of HOST_CODE_OPTIONS, in a compilation with `nvrtc.ENABLE_TILE`."""

TILE_REPORTING_OPTIONS = ("-Xcudafe", f"--diag_warning={','.join(_TILE_REFUSALS)}")
"""As the first of REPORTING_OPTIONS, in a compilation with `nvrtc.ENABLE_TILE`."""

REPORTING_OPTIONS = (*("-Xcudafe", f"--diag_warning={','.join(_REFUSALS)}"), *_LIKE_NVCC)
"""NVRTC options with which it accepts host code and prints a warning about it, also for standard library headers.
`is_about_host_code` recognizes these warnings."""

PREAMBLE_OPTION = "--pre-include=cuda_wheel_detail/host_code.h"
"""NVRTC option that reads the preamble, a header, before the source. The preamble declares what nvcc declares: the CUDA
runtime API and parts of the C library."""

# Headers that test for the macro, such as CUTLASS's, may leave out their host code if it is defined. Some headers of
# the toolkit and of CCCL need the macro. The include folder contains headers of the same names that define the macro
# around them, and must therefore be searched first.
NOT_NVRTC_OPTIONS = (
    f"--include-path={STAND_INS[0]}/cuda_wheel_detail/not_nvrtc",
    "--define-macro=CUDA_WHEEL_NOT_NVRTC",
)
"""NVRTC options that hide the macro `__CUDACC_RTC__` from the project's headers. nvcc does not define this macro. The
options must precede all other options."""

# Without these options, the front end (C++ parser) instantiates all templates after an error: 25 s for files with large
# kernels in which it finds the first error after 2 s.
FIRST_ERROR = ("-Xcudafe", "--error_limit=1")
"""NVRTC options that stop a compilation at the first error."""

USED_PARTS_OPTION = "--define-macro=CUDA_WHEEL_USED_PARTS"
"""NVRTC option that leaves out the unused parts of stand-in headers. A part is unused if it declares none of the names
in the project's texts (see the module `used_parts`)."""

# The functions of c10::complex need Thrust's headers, which take longer to compile than many kernels.
COMPLEX_FUNCTIONS = "CUDA_WHEEL_COMPLEX_FUNCTIONS"
"""Name of the macro that makes stand-in headers define the functions of c10::complex, such as `exp`.

Without the macro, a call of `exp` is an error that names the macro. After this error, the build defines the macro and
compiles again.
"""

_HOST_CODE = re.compile(
    rb"<<<|\bcuda[A-Z]\w*\s*\(|\b__host__\b|\bpow\s*\(|"
    rb"#\s*include\s*[<\"](?:torch|ATen|c10|THC|pybind11|cuda_runtime)"
)

CONSTEXPR_CALL = "calling a constexpr __host__ function"
"""Start of NVRTC's error message about a call of a `constexpr` host function in device code. The function's name in
quotes and parentheses follows: ("ns::f")."""


def is_about_host_code(message: str) -> bool:
    """Return whether a warning, with `REPORTING_OPTIONS`, is about host code."""
    return "in JIT mode" in message


def looks_like_host_code(text: bytes) -> bool:
    """Return whether a text probably contains host code, so that compiling it without the preamble is not worth trying.

    A text that does not compile without the preamble is compiled with it, so this saves time and decides nothing else;
    except for `pow`, which has another meaning without the preamble: see `rewriting.expressions.Powers`.
    """
    return _HOST_CODE.search(text) is not None
