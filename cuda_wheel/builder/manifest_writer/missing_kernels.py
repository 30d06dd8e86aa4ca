"""Errors and warnings about kernels that a module's sources define and its images lack, with reasons and remedies."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping

from cuda_wheel.builder.config.compiler_options import defined_macros, read_options
from cuda_wheel.builder.config.names import TABLE
from cuda_wheel.builder.cxx.demangling import signature
from cuda_wheel.builder.cxx.kernel_scan import ScannedKernel, function_definitions, kernels_in, masked, open_namespaces
from cuda_wheel.builder.cxx.tokens import FalseBranches
from cuda_wheel.builder.jobs import AbsentHeader, Compiled, Job, LeftOutCode
from cuda_wheel.builder.plan import ModulePlan, cuda_sources
from cuda_wheel.builder.sources.source_files import Source

__all__ = [
    "absent_header_warnings",
    "absent_headers",
    "early_error",
    "left_out_code",
    "left_out_warnings",
    "missing_kernel_warnings",
    "no_kernel",
    "plain_name",
    "suggested_instances",
]


def early_error(module: ModulePlan, job: Job, result: Compiled) -> str | None:
    """Return the error that a module has no kernel, if the first finished job proves it; else None.

    The jobs for the module's other targets then need not be compiled.
    """
    if job.form != "whole" or module.links or module.relocatable:
        return None
    scanned = (kernel for source in cuda_sources(module.module) for kernel in kernels_in(source.text))
    if result.kernels or any(not kernel.template for kernel in scanned):  # which another target may have
        return None
    return no_kernel(module, result.left_out)


def plain_name(symbol: str) -> str:
    """Return a kernel's name without scope and template arguments: "scale" for "ns::scale<float>"."""
    return signature(symbol).name.partition("<")[0].rpartition("::")[2]


def left_out_code(results: Mapping[str, Compiled]) -> list[LeftOutCode]:
    """Return the host code that was left out for at least one architecture, sorted by file and line.

    `results` is architecture -> merged result.
    """
    return sorted({code for result in results.values() for code in result.left_out})


def absent_headers(results: Mapping[str, Compiled]) -> list[AbsentHeader]:
    """Return the missing headers that were empty for at least one architecture, sorted by file and line.

    `results` is architecture -> merged result.
    """
    return sorted({each for result in results.values() for each in result.absent_headers})


def absent_header_warnings(results: Mapping[str, Compiled]) -> list[str]:
    """Return a warning for each header that is missing and was treated as an empty file."""
    return [
        f'{each.file}:{each.line}: warning: {each.name} is not found, and empty: missing-headers has "{each.pattern}"'
        for each in absent_headers(results)
    ]


def left_out_warnings(results: Mapping[str, Compiled]) -> list[str]:
    """Return a warning for each host function whose body was left out."""
    return [
        f"{code.file}:{code.line}: warning: body of {code.name} is left out, as host code: {code.reason}"
        for code in left_out_code(results)
    ]


def no_kernel(module: ModulePlan, left_out: Collection[LeftOutCode]) -> str:
    """Return the error message for a module without kernels; `left_out` is the host code that was left out of it."""
    sources = cuda_sources(module.module)
    templates, others = _seeming_kernels(module)
    on_demand = module.module.on_demand  # there is no table to edit
    text = f"{module.module.label} has no kernel: it compiles to an empty image."
    if left_out:
        # A launch may be there, or in what that would have called.
        text += " What does not compile of its host code was left out:\n"
        text += "".join(f"{code}: {code.reason}\n" for code in left_out)
    if templates:
        text += f" It has templates: {', '.join(templates)}. Nothing {'else ' if left_out else ''}launches them, so "
        if on_demand:
            text += f"name their instances, such as: instantiate=[{_instances(module)}]"
        else:
            text += f"the module's instantiate has to name their instances, such as:\n{_table(module)}"
    if others:
        text += f" It seems to define {', '.join(others)}: is that inside an #if whose condition is false?"
    if not sources and any(source.kind == "nvvm" for source in module.module.sources):
        text += " In NVVM IR, !nvvm.annotations says which functions are kernels."
    if sources and not (templates or others or on_demand):
        text += (
            " A kernel is marked __global__, and a template is compiled only if a launch or the module's instantiate "
            f'names it; a file of helper functions can be left out: sources = ["!{sources[0].path}"].'
        )
    return text


def _seeming_kernels(module: ModulePlan) -> tuple[list[str], list[str]]:
    """Return (kernel templates, other kernels) that the module's sources seem to define.

    Each kernel is given as its name and line: "scale (line 12)". A template in a false branch of an `#if` is among the
    other kernels.
    """
    templates: list[str] = []
    others: list[str] = []
    for source in cuda_sources(module.module):
        excluded = FalseBranches(source.text, _defined(module))
        for kernel in kernels_in(source.text):
            found = templates if kernel.template and kernel.line not in excluded else others
            found.append(_located(source, kernel, module))
    return templates, others


def _defined(module: ModulePlan) -> frozenset[str]:
    """Return the names of the macros that a module's settings `defines` and `options` define."""
    settings = module.module.settings
    options = read_options(settings.options, "options").arguments
    return defined_macros(options) | {name for name, _ in settings.defines}


def _located(source: Source, kernel: ScannedKernel, module: ModulePlan) -> str:
    place = f"line {kernel.line}" if len(module.module.paths) == 1 else f"{source.path}:{kernel.line}"
    return f"{kernel.name} ({place})"


def missing_kernel_warnings(module: ModulePlan, results: Mapping[str, Compiled]) -> list[str]:
    """Return a warning for each kernel that a source seems to define and no image has; `results` is architecture ->
    merged result.

    There is none for templates whose instances the project chooses or a program requests on demand, and none for a
    module without any kernel: such a module is an error, or has device functions only.
    """
    names = {plain_name(symbol) for result in results.values() for symbol in result.kernels}
    if not names:
        return []
    settings = module.module.settings
    are_chosen = bool(settings.instances) or settings.specialize or module.module.on_demand
    left_out = left_out_code(results)
    return [text for source in cuda_sources(module.module) for text in _missing_in(source, names, left_out, are_chosen)]


def _missing_in(source: Source, names: Collection[str], left_out: Iterable[LeftOutCode], are_chosen: bool) -> list[str]:
    left_out_lines = [range(each.line, each.last_line + 1) for each in left_out if each.file == source.path]
    return [
        f"{source.path}:{kernel.line}: warning: no image has the kernel {_likely_reason(kernel)}"
        for kernel in kernels_in(source.text)
        if kernel.name not in names
        and not any(kernel.line in lines for lines in left_out_lines)
        and not (are_chosen and kernel.template)
    ]


def _likely_reason(kernel: ScannedKernel) -> str:
    if kernel.template:
        return f"template {kernel.name}: name its instantiations in the module's instantiate."
    return f"{kernel.name}: is it inside an #if whose condition is false?"


# --- instances to name ------------------------------------------------------------------------------


def _table(module: ModulePlan) -> str:
    return f'[[{TABLE}.module]]\nname = "{module.module.name}"\ninstantiate = [{_instances(module)}]'


def _instances(module: ModulePlan) -> str:
    """Return suggested name expressions for a module's kernel templates, quoted and separated by commas, as in a TOML
    or Python list."""
    sources, defined = cuda_sources(module.module), _defined(module)
    instances = [each for source in sources for each in suggested_instances(source.text, defined)]
    return ", ".join(json.dumps(each, ensure_ascii=False) for each in instances)


def suggested_instances(text: str, defined: Collection[str]) -> list[str]:
    """Return a name expression for each kernel template of a text, with arguments that fit its parameters:
    "ns::scale<float, 16>".

    Templates inside an `#if` that is false are left out; only the text itself and `defined` (names) are taken to define
    macros.
    """
    plain = masked(text)
    excluded = FalseBranches(text, defined)
    names = {kernel.name for kernel in kernels_in(text) if kernel.template and kernel.line not in excluded}
    found: dict[str, str] = {}
    for each in function_definitions(plain) if names else ():
        parameters = re.match(r"\s*template\s*<", each.head)
        if each.name in names and parameters and "__global__" in each.head:
            inside = each.head[parameters.end() : _closing(each.head, parameters.end())]
            scope = "".join(f"{name}::" for name in open_namespaces(plain, each.body - 1))
            found.setdefault(each.name, f"{scope}{each.name}<{', '.join(_arguments(inside))}>")
    return list(found.values())


def _closing(text: str, start: int) -> int:
    """Return the offset in `text` of the ">" that closes a "<". `start` is the offset after the "<". If no ">" closes
    the "<", return the length of the text."""
    depth = 1
    for match in re.finditer(r"[<>]", text[start:]):
        depth += 1 if match[0] == "<" else -1
        if not depth:
            return start + match.start()
    return len(text)


def _arguments(parameters: str) -> Iterator[str]:
    """Yield a sample argument for each template parameter in the text `parameters`: "float" and "16" for "typename T,
    int N".

    Stops before the first parameter that has a default or is a pack (`typename... T`).
    """
    for parameter in re.split(r",(?![^<>]*>)", parameters):
        if "=" in parameter or "..." in parameter or not parameter.strip():
            return
        if re.match(r"\s*(?:typename|class)\b", parameter):
            yield "float"
        else:
            yield "true" if re.match(r"\s*bool\b", parameter) else "16"
