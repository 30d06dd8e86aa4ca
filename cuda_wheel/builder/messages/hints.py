"""Give hints for the most common errors, from a table of rules: a compiler's message, and the hint. Pure functions."""

from __future__ import annotations

import re
from collections.abc import Iterable

from cuda_wheel.builder.messages.diagnostics import Diagnostic
from cuda_wheel.builder.messages.hint_rules import (
    KERNEL_LAUNCH,
    Case,
    Rule,
    instruction_not_supported,
    matrix_fragment,
    missing_header,
    needs_architecture,
    needs_standard,
    newer_syntax,
    no_member_of_std,
    not_a_kernel,
    requires_target,
    shared_memory,
    undefined_name,
)
from cuda_wheel.builder.messages.host_hints import (
    host_function,
    host_variable,
    missing_in_pytorch,
    overload_for_architecture,
    undefined_macro,
    undefined_symbol,
    unnamed_host_function,
)

__all__ = ["MAX_HINTS", "hints"]

MAX_HINTS = 4
"""The largest number of hints: the first errors cause the others."""

_MARK = "mark {0} that device code uses with {1}; move code that only the host uses to Python or to another file"

_RULES: tuple[tuple[str, str | Rule], ...] = (
    (r'cannot open source file "([^"]+)"', missing_header),
    (
        r'incomplete (?:class |struct )?(?:type )?"((?:c10::|at::)(?:Float8_\w+|PhiloxCudaState))"',
        '{0} is defined by PyTorch alone: add "torch" to build-system.requires, or name the folder of its headers '
        "(.../torch/include) in system-include-dirs",
    ),
    (
        r"Formal parameter space overflowed \([1-9]\d{6,} bytes",  # CUDA_WHEEL_HOST_OBJECT of the stand-ins
        "a parameter is, or has, an object that only host code can use, such as at::TensorIterator or c10::Error: pass "
        "the values that the kernel needs",
    ),
    (r"is considered a host function", _MARK.format("a function", "__device__")),
    (r"explicitly marked as a __host__ function", _MARK.format("a function", "__device__, or __host__ __device__")),
    (r"is considered a host variable", _MARK.format("a variable", "__device__ or __constant__, or constexpr")),
    (r"calling a __host__ function", _MARK.format("a function", "__device__, or __host__ __device__")),
    (r'identifier "([^"]+)" is undefined in device code', host_function),
    (r'a host variable "([^"]+)" cannot be directly', host_variable),
    (r"Broken module found", unnamed_host_function),
    (
        r"The closure type for a lambda",
        "mark the lambda for device code: [=] __device__ (...) {{ ... }}",
    ),
    (r'no instance of overloaded function "(\w+)" matches', overload_for_architecture),
    (r'(?:namespace|class|struct) "([\w:]+)[^"]*" has no member(?: \w+)? "(\w+)"', missing_in_pytorch),
    (r'identifier "([A-Z][A-Z0-9_]+)" is undefined', undefined_macro),
    (r"no storage class or type specifier", undefined_macro),
    (r'namespace "std" has no member(?: \w+)? "(\w+)"', no_member_of_std),
    (r'namespace "cooperative_groups" has no member "((?:this_)?cluster\w*)"', undefined_name),
    (
        r'(texture|surface)(?: is not a template|" is undefined)',
        "CUDA 12 removed {0} references: pass a cudaTextureObject_t or cudaSurfaceObject_t to the kernel",
    ),
    (r'identifier "(\w+)" is undefined', undefined_name),
    (
        r"(?:is a|are a|feature of|requires) C\+\+(\d\d)(?: or later| feature)?",
        lambda match, diagnostic, case: needs_standard(int(match[1]), case),
    ),
    (
        r"^constexpr constructor calls non-constexpr|in constexpr function is not a literal type",
        "leave out constexpr, which has no effect here (nvcc ignores it with GCC in some cases); with {{fmt}} or "
        'spdlog, set defines = {{ FMT_USE_CONSTEXPR = "0" }}',
    ),
    (
        r'"= default" can only appear on default constructors',
        lambda match, diagnostic, case: needs_standard(20, case),
    ),
    (
        r"inline specifier allowed on function declarations only",
        lambda match, diagnostic, case: needs_standard(17, case),
    ),
    (r"no storage class or type specifier|^expected an? |qualified name is not allowed", newer_syntax),
    (r"__global__ function must have a void return type", "a kernel returns void: write results through a pointer"),
    (
        r"__global__ function or function template cannot be a member",
        "a kernel cannot be a member function: make it a function at namespace scope that takes the object",
    ),
    (
        r"__global__ function cannot have ellipsis",
        "make the kernel a template over its parameter types, and list its instantiations in instantiate",
    ),
    (
        r"does not support exception handling",
        "device code cannot use exceptions: write an error status to memory, or stop with assert or __trap()",
    ),
    (
        r"typeid|<typeinfo> must be included",
        "device code has no run-time type information: use templates or an enum",
    ),
    (r'"(--device-(?:float|int)128)" flag', 'set options = ["{0}"]'),
    (r"device-side kernel launch|_?cudaDeviceSynchronize_deprecated", KERNEL_LAUNCH),
    (
        r"(__cluster_dims__|__block_size__) is not supported for this GPU architecture",
        lambda match, diagnostic, case: needs_architecture(match[1], 90, case),
    ),
    (r'incomplete type "nvcuda::wmma::fragment<([^"]*)>"', matrix_fragment),
    (r"'([^']+)' requires \.target sm_([0-9]{1,4})([af]?)", requires_target),
    (r"'([^']+)' not supported on \.target", instruction_not_supported),
    (r"uses too much shared data \(0x([0-9a-f]{1,16}) bytes, 0x([0-9a-f]{1,16}) max", shared_memory),
    (r"(?:Unresolved extern (?:function|variable)|Undefined reference to) '([^']+)'", undefined_symbol),
    (r"^(.*) \(instantiate\) is not a kernel of this file: (.*)", not_a_kernel),
)
"""A pattern of a message, and its hint: a text with the pattern's groups in braces, or a function."""

_COMPILED_RULES = tuple((re.compile(pattern), hint) for pattern, hint in _RULES)


def hints(diagnostics: Iterable[Diagnostic], case: Case) -> list[str]:
    """Return the hints for errors, in their order and without duplicates: "help: ..."."""
    found = [_hint(each, case) for each in diagnostics if each.severity == "error"]
    return list(dict.fromkeys(f"help: {hint}" for hint in found if hint))[:MAX_HINTS]


def _hint(diagnostic: Diagnostic, case: Case) -> str | None:
    """Return the hint of the first rule that has one."""
    for pattern, rule in _COMPILED_RULES:
        match = pattern.search(diagnostic.message)
        if match:
            hint = rule.format(*match.groups()) if isinstance(rule, str) else rule(match, diagnostic, case)
            if hint:
                return hint
    return None
