"""Return hints for the most common errors, from a table of rules: a compiler's message, and the hint. Pure functions.

This module also has the rules for host code, macros and PyTorch; `hint_rules` has the others.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from typing import Any

from cuda_wheel.builder.cxx.demangling import signature
from cuda_wheel.builder.cxx.kernel_scan import function_definitions, masked
from cuda_wheel.builder.messages.diagnostics import Diagnostic
from cuda_wheel.builder.messages.hint_rules import (
    CONTAINERS,
    HINTED_HEADERS,
    KERNEL_LAUNCH,
    NO_OVERLOADS,
    OVERLOADS,
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
    text_at_caret,
    undefined_name,
)

__all__ = [
    "MAX_HINTS",
    "hints",
    "host_function",
    "host_variable",
    "missing_in_pytorch",
    "overload_for_architecture",
    "undefined_macro",
    "undefined_symbol",
    "unnamed_host_function",
]


# --- host code that device code uses ------------------------------------------------------------------

_DEVICE_RUNTIME = re.compile(r"cuda(?:GetParameterBuffer|LaunchDevice|CG|CDP|DeviceSynchronize|StreamCreateWith)\w*")
"""Matches the name of a function in CUDA's device runtime library. Device code calls these functions to launch
kernels."""

_MARK = "mark it with __device__, or with __host__ __device__ if the host calls it too"


def host_function(match: re.Match[str], diagnostic: Diagnostic, case: Case) -> str:
    """Return the hint for a host function that device code calls."""
    return _host_function(re.sub(r" const$", "", match[1].strip()).replace("_NV_ANON_NAMESPACE::", ""))


def _host_function(name: str) -> str:
    if container := re.match(r"(?:::)?std::(?:__\w+::)*(\w+)(?:<.*)?::", name):
        other = CONTAINERS.get(container[1], "pass pointers and numbers")
        word = "string" if container[1] == "basic_string" else container[1]
        return f"std::{word} is for host code, as a parameter of a kernel too: {other}"
    if re.fullmatch(r"cuda[A-Z]\w*|cu[A-Z]\w*", name):
        return f"{name} is a host function: call it on the host, with cuda.bindings or cuda.core"
    if name.startswith("std::"):
        return f"{name} is a host function: use cuda::{name} if libcu++ has it, or a function of CUDA's math library"
    return f"device code calls {name}, which is a host function: {_MARK}"


def host_variable(match: re.Match[str], diagnostic: Diagnostic, case: Case) -> str:
    """Return the hint for a host variable that device code uses."""
    return (
        f"{match[1]} is a variable of the host: mark it with __device__ or __constant__, make it constexpr, or pass "
        "its value to the kernel"
    )


def undefined_symbol(match: re.Match[str], diagnostic: Diagnostic, case: Case) -> str:
    """Return the hint for a symbol that ptxas or nvJitLink reports as undefined."""
    name = signature(match[1]).name
    if _DEVICE_RUNTIME.fullmatch(name):
        return KERNEL_LAUNCH
    if name.startswith("nvshmem"):
        table = 'set link = "lto" in the module\'s table, and name real targets only'
        return f"{name} is in NVSHMEM's device library: {table}"
    if name.startswith(("std::", "cuda")):
        return _host_function(name)
    plain = re.sub(r"<.*", "", name).rpartition("::")[2]
    if any(each.name == plain for each in function_definitions(masked(case.text))):
        return _host_function(name)
    a_function = "" if "variable" in match[0] else f"if it is a host function, {_MARK}; "
    return (
        f"this file declares {name} and does not define it for device code: {a_function}include the definition; or add "
        "the file that defines it to the module's sources, to link them; or list it in extern, if the program "
        "that loads the module defines it"
    )


def unnamed_host_function(match: re.Match[str], diagnostic: Diagnostic, case: Case) -> str:
    """Return the hint for a call of a host function without external linkage. NVRTC 12 does not name it, so the hint
    lists the functions that it may be."""
    called = ", ".join(f"{name} (line {line})" for name, line in _called_host_functions(case.text))
    which = f"; by their names, these may be: {called}" if called else ""
    return f"device code calls a host function that is static, inline or in an anonymous namespace: {_MARK}{which}"


def _called_host_functions(text: str) -> Iterator[tuple[str, int]]:
    """Yield (name, 1-based line) of each host function that device code seems to call.

    This is a guess from `text`, a CUDA source. The function has no `__device__`, `__global__` or `constexpr`, and its
    name occurs in the body of a device function.
    """
    plain = masked(text)
    host: dict[str, int] = {}
    device_bodies = []
    for each in function_definitions(plain):
        if re.search(r"\b(__device__|__global__)\b", each.head):
            device_bodies.append(_body(plain, each.body))
        elif "constexpr" not in each.head and each.head.strip():
            host.setdefault(each.name, each.line)
    called = {word for body in device_bodies for word in re.findall(r"\b\w+\b", body)}
    yield from ((name, line) for name, line in host.items() if name in called)


def _body(text: str, start: int) -> str:
    """Return the text between two braces. `start` is the offset in `text` after the opening brace. The returned text
    ends before the closing brace, or at the end of `text` if there is none."""
    depth = 1
    for match in re.finditer(r"[{}]", text[start:]):
        depth += 1 if match[0] == "{" else -1
        if not depth:
            return text[start : start + match.start()]
    return text[start:]


# --- functions of some architectures ------------------------------------------------------------------


def overload_for_architecture(match: re.Match[str], diagnostic: Diagnostic, case: Case) -> str | None:
    """Return the hint for a call of a function that has no overload for the types of the arguments; None if neither
    `OVERLOADS` nor `NO_OVERLOADS` lists it."""
    arguments = re.search(r"argument types are: \((.*)", "\n".join(diagnostic.details))
    if arguments is None:
        return None

    def first(overloads: Iterable[dict[str, Any]]) -> dict[str, Any] | None:
        rows = (row for row in overloads if re.fullmatch(row["function"], match[1]))
        return next((row for row in rows if re.match(row["argument"], arguments[1])), None)

    if row := first(OVERLOADS):
        hint = needs_architecture(row["what"], row["architecture"], case)
        return hint and f"{hint}, with a loop of atomicCAS for the others"
    return f"{match[1]}: {row['hint']}" if (row := first(NO_OVERLOADS)) else None


# --- macros -------------------------------------------------------------------------------------------

_LIBRARIES = re.compile(r"(?:AT|TORCH|C10|CUDA|CUBLAS|CUDNN|PYBIND11)_")
_CAPITALS = re.compile(r"[A-Z][A-Z0-9_]{2,}")


def undefined_macro(match: re.Match[str], diagnostic: Diagnostic, case: Case) -> str | None:
    """Return the hint for an undefined name in capitals, probably a macro that the project's own build defines; None
    for other names."""
    name = match[1] if match.groups() else re.match(r"\w*", text_at_caret(diagnostic), re.ASCII)[0]  # type: ignore[index]
    if not _CAPITALS.fullmatch(name) or name in HINTED_HEADERS or _LIBRARIES.match(name):
        return None
    is_used_as_a_value = bool(match.groups())
    found = case.macros(name)
    if found:
        place, value = found[0]
        return f"{place} passes the macro {name}: set defines = {{ {name} = {_toml(value)} }}"
    value = '"..."' if is_used_as_a_value else '""'
    return f"{name} looks like a macro that the project's own build defines: set defines = {{ {name} = {value} }}"


def _toml(value: str) -> str:
    return value if re.fullmatch(r"\d+", value) else json.dumps(value)


# --- PyTorch ------------------------------------------------------------------------------------------

_PYTORCH = re.compile(r"(?:::)?(?:torch|at|c10|caffe2|THC\w*|pybind11)\b(?:::|$)")
_GOES_ON = (
    "cuda-wheel's stand-in for PyTorch's header lacks it. If only host code needs it, put that "
    "function between #ifndef __CUDACC_RTC__ and #endif, or into a .cpp file; and please report it"
)


def missing_in_pytorch(match: re.Match[str], diagnostic: Diagnostic, case: Case) -> str | None:
    """Return the hint for a name that is missing in PyTorch's namespaces, probably because cuda-wheel's stand-in header
    lacks it; None for other namespaces."""
    scope, name = match[1], match[2]
    return f"{scope}::{name}: {_GOES_ON}" if _PYTORCH.match(scope) else None


# The first errors often cause the later ones.
MAX_HINTS = 4
"""Maximum number of hints in the error message of one compilation. The hints are for the first errors."""

_MARK_IT_OR_MOVE_IT = (
    "mark {0} that device code uses with {1}; move code that only the host uses to Python or to another file"
)

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
    (r"is considered a host function", _MARK_IT_OR_MOVE_IT.format("a function", "__device__")),
    (
        r"explicitly marked as a __host__ function",
        _MARK_IT_OR_MOVE_IT.format("a function", "__device__, or __host__ __device__"),
    ),
    (
        r"is considered a host variable",
        _MARK_IT_OR_MOVE_IT.format("a variable", "__device__ or __constant__, or constexpr"),
    ),
    (r"calling a __host__ function", _MARK_IT_OR_MOVE_IT.format("a function", "__device__, or __host__ __device__")),
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
    (
        r"This file needs C\+\+20 features",
        'CUDA Tile kernels need C++20: set std = "c++20", if need be in the table of the module alone',
    ),
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
"""Rules for hints, in the order in which they are tried, each as (regular expression, hint).

The expression is searched for in the compiler's error message. The hint is a text, with {0} for group 1 of the match
and {1} for group 2, or a function that returns the text.
"""

_COMPILED_RULES = tuple((re.compile(pattern), hint) for pattern, hint in _RULES)


def hints(diagnostics: Iterable[Diagnostic], case: Case) -> list[str]:
    """Return "help: ..." for each error that has a hint, in the order of the errors, without duplicates, at most
    MAX_HINTS."""
    found = [_hint(each, case) for each in diagnostics if each.severity == "error"]
    return list(dict.fromkeys(f"help: {hint}" for hint in found if hint))[:MAX_HINTS]


def _hint(diagnostic: Diagnostic, case: Case) -> str | None:
    """Return the hint of the first rule that matches a diagnostic's message and has a hint for it; None if there is no
    such rule."""
    for pattern, rule in _COMPILED_RULES:
        match = pattern.search(diagnostic.message)
        if match:
            hint = rule.format(*match.groups()) if isinstance(rule, str) else rule(match, diagnostic, case)
            if hint:
                return hint
    return None
