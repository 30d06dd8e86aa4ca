"""The hints about host code, macros and PyTorch: what device code uses and what is declared for the host only."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from cuda_wheel.builder.cxx.demangling.signatures import signature
from cuda_wheel.builder.cxx.function_definitions import function_definitions, masked
from cuda_wheel.builder.cxx.header_names import HINTED_HEADERS
from cuda_wheel.builder.messages.diagnostics import Diagnostic
from cuda_wheel.builder.messages.hint_rules import KERNEL_LAUNCH, Case, needs_architecture, text_at_caret

__all__ = [
    "host_function",
    "host_variable",
    "missing_in_pytorch",
    "overload_for_architecture",
    "undefined_macro",
    "undefined_symbol",
    "unnamed_host_function",
]

# --- host code that device code uses ------------------------------------------------------------------

_CONTAINERS = {
    "vector": "pass a pointer to device memory and the number of elements",
    "string": "pass a pointer to characters in device memory and their number",
    "basic_string": "pass a pointer to characters in device memory and their number",
    "array": "use cuda::std::array, or a struct with a C array",
    "map": "copy it into arrays in device memory",
    "function": "make the kernel a template over the function object",
}
"""Class templates of the standard library for host code, and what a kernel takes in their place."""

_DEVICE_RUNTIME = re.compile(r"cuda(?:GetParameterBuffer|LaunchDevice|CG|CDP|DeviceSynchronize|StreamCreateWith)\w*")
"""Functions of the device runtime library, which launches of kernels in device code call."""

_MARK = "mark it with __device__, or with __host__ __device__ if the host calls it too"


def host_function(match: re.Match[str], diagnostic: Diagnostic, case: Case) -> str:
    """Return the hint for a host function that device code calls."""
    return _host_function(re.sub(r" const$", "", match[1].strip()).replace("_NV_ANON_NAMESPACE::", ""))


def _host_function(name: str) -> str:
    if container := re.match(r"(?:::)?std::(?:__\w+::)*(\w+)(?:<.*)?::", name):
        other = _CONTAINERS.get(container[1], "pass pointers and numbers")
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
    """Return the hint for a symbol that ptxas or nvJitLink does not find."""
    name = signature(match[1]).name
    if _DEVICE_RUNTIME.fullmatch(name):
        return KERNEL_LAUNCH
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
    """Return the hint for a call of a host function without external linkage, which NVRTC 12 does not name."""
    called = ", ".join(f"{name} (line {line})" for name, line in _called_host_functions(case.text))
    which = f"; by their names, these may be: {called}" if called else ""
    return f"device code calls a host function that is static, inline or in an anonymous namespace: {_MARK}{which}"


def _called_host_functions(text: str) -> Iterator[tuple[str, int]]:
    """Yield the functions without a mark for device code whose names occur in functions with such a mark, with their
    lines. A guess from the text."""
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
    """Return a text from `start` to the brace that closes the one before it."""
    depth = 1
    for match in re.finditer(r"[{}]", text[start:]):
        depth += 1 if match[0] == "{" else -1
        if not depth:
            return text[start : start + match.start()]
    return text[start:]


# --- functions of some architectures ------------------------------------------------------------------

_OVERLOADS = (
    ("atomicAdd", r"double \*", 60, "atomicAdd of a double"),
    ("atomicAdd", r"(?:__)?half \*", 70, "atomicAdd of a __half"),
    ("atomicAdd", r"(?:__)?half2 \*", 60, "atomicAdd of a __half2"),
    ("atomicAdd", r"(?:__)?nv_bfloat162? \*", 80, "atomicAdd of a bfloat16"),
    ("atomicAdd", r"float[24] \*", 90, "atomicAdd of a vector of floats"),
    ("atomicCAS", r"unsigned short \*", 70, "atomicCAS of 16 bits"),
    (r"atomic(?:Min|Max)", r"long long \*|unsigned long \*", 35, "the atomic function of 64 bits"),
)
"""Overloads of functions that some architectures lack: the function, its first argument, and the first architecture.
Source: CUDA C++ Programming Guide, "Atomic Functions"."""

_NO_OVERLOADS = (
    (r"atomicAdd", r"(?:unsigned )?long(?: long)? \*", "cast the pointer to unsigned long long*: the sum is the same"),
    (r"atomic(?:Min|Max)", r"(?:float|double) \*", "there is none for floating point: use atomicCAS in a loop"),
    (r"atomic\w+", r"(?:un)?(?:signed )?(?:short|char) \*", "there is none for 8 or 16 bits: use atomicCAS in a loop"),
)
"""Overloads that no architecture has, and what helps."""


def overload_for_architecture(match: re.Match[str], diagnostic: Diagnostic, case: Case) -> str | None:
    """Return the hint for a function that is not declared for the types of its arguments."""
    arguments = re.search(r"argument types are: \((.*)", "\n".join(diagnostic.details))
    if arguments is None:
        return None
    for function, first_argument, first, what in _OVERLOADS:
        if re.fullmatch(function, match[1]) and re.match(first_argument, arguments[1]):
            hint = needs_architecture(what, first, case)
            return hint and f"{hint}, with a loop of atomicCAS for the others"
    for function, first_argument, hint in _NO_OVERLOADS:
        if re.fullmatch(function, match[1]) and re.match(first_argument, arguments[1]):
            return f"{match[1]}: {hint}"
    return None


# --- macros -------------------------------------------------------------------------------------------

_LIBRARIES = re.compile(r"(?:AT|TORCH|C10|CUDA|CUBLAS|CUDNN|PYBIND11)_")
_CAPITALS = re.compile(r"[A-Z][A-Z0-9_]{2,}")


def undefined_macro(match: re.Match[str], diagnostic: Diagnostic, case: Case) -> str | None:
    """Return the hint for an undefined name in capitals, which is probably a macro of the project's own build."""
    name = match[1] if match.groups() else re.match(r"\w*", text_at_caret(diagnostic), re.ASCII)[0]  # type: ignore[index]
    if (
        not _CAPITALS.fullmatch(name)
        or name in HINTED_HEADERS
        or re.match(r"(AT|TORCH|C10|CUDA|CUBLAS|CUDNN|PYBIND11)_", name)
    ):
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
    """Return the hint for a name that PyTorch may have and cuda-wheel's stand-in for it has not."""
    scope, name = match[1], match[2]
    return f"{scope}::{name}: {_GOES_ON}" if _PYTORCH.match(scope) else None
