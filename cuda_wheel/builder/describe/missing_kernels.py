"""Say what to do about a module without kernels, and about functions that are launched and are no kernels."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator

from cuda_wheel.builder.config.settings import TABLE
from cuda_wheel.builder.cxx.demangling.signatures import signature
from cuda_wheel.builder.cxx.kernel_scan import ScannedKernel, kernels_in
from cuda_wheel.builder.jobs import Compiled, Job
from cuda_wheel.builder.plan import ModulePlan, cuda_sources
from cuda_wheel.builder.sources.source_files import Source

__all__ = ["launched_functions", "no_kernel", "plain_name", "suggested_instances", "told_early"]


def told_early(module: ModulePlan, job: Job, result: Compiled) -> str | None:
    """Return the error of a module that is certain after the first of its jobs; None if there is none.

    The other targets need not be compiled to know it.
    """
    if job.form != "whole" or module.links or module.relocatable:
        return None
    wrong = launched_functions(module, {plain_name(symbol) for symbol in result.kernels})
    if wrong:
        return wrong
    scanned = (kernel for source in cuda_sources(module.module) for kernel in kernels_in(source.text))
    if result.kernels or any(not kernel.template for kernel in scanned):  # which another target may have
        return None
    return no_kernel(module)


def plain_name(symbol: str) -> str:
    """Return a kernel's name without scope and template arguments."""
    return signature(symbol).name.partition("<")[0].rpartition("::")[2]


def no_kernel(module: ModulePlan) -> str:
    """Return the error of a module that has no kernel."""
    sources = cuda_sources(module.module)
    scanned = [(source, kernel) for source in sources for kernel in kernels_in(source.text)]
    templates = ", ".join(_located(*each, module) for each in scanned if each[1].template)
    others = ", ".join(_located(*each, module) for each in scanned if not each[1].template)
    text = f"{module.module.label} has no kernel: it compiles to an empty image."
    if templates:
        text += (
            f" It has templates: {templates}. Nothing launches them, so the module's instantiate has to name their "
            f"instances, such as:\n{_table(module)}"
        )
    if others:
        text += f" It seems to define {others}: is that inside an #if whose condition is false?"
    if not sources and any(source.kind == "nvvm" for source in module.module.sources):
        text += " In NVVM IR, !nvvm.annotations says which functions are kernels."
    if sources and not scanned:
        text += (
            " A template is compiled only if a launch or the module's instantiate names it; a file of helper functions "
            f'can be left out: sources = ["!{sources[0].path}"].'
        )
    return text


def _located(source: Source, kernel: ScannedKernel, module: ModulePlan) -> str:
    place = f"line {kernel.line}" if len(module.module.paths) == 1 else f"{source.path}:{kernel.line}"
    return f"{kernel.name} ({place})"


# --- instances to name ------------------------------------------------------------------------------

_NOISE = re.compile(r"//[^\n]*|/\*.*?\*/|\"(?:\\.|[^\"\\\n])*\"|^[ \t]*#(?:[^\n\\]|\\.)*", re.DOTALL | re.MULTILINE)

_TEMPLATE = re.compile(
    r"\btemplate\s*<(?P<parameters>(?:[^<>;{}]|<[^<>;{}]*>)*)>(?P<head>[^;{}]*?)\b(?P<name>(?!__)\w+)\s*\([^;{}]*\)\s*\{"
)

_SCOPE = re.compile(r"\bnamespace\s*([\w:]*)\s*\{|[{}]")


def _masked(text: str) -> str:
    """Return a text without comments, strings and directives, with the same lines."""
    return _NOISE.sub(lambda match: "\n" * match[0].count("\n") or " ", text)


def _table(module: ModulePlan) -> str:
    instances = [each for source in cuda_sources(module.module) for each in suggested_instances(source.text)]
    listed = ", ".join(json.dumps(each, ensure_ascii=False) for each in instances)
    return f'[[{TABLE}.module]]\nname = "{module.module.name}"\ninstantiate = [{listed}]'


def suggested_instances(text: str) -> list[str]:
    """Return a name expression for each kernel template of a text, with arguments that fit its parameters."""
    plain = _masked(text)
    names = {kernel.name for kernel in kernels_in(text) if kernel.template}
    found: dict[str, str] = {}
    for match in _TEMPLATE.finditer(plain):
        if match["name"] in names and "__global__" in match["head"]:
            arguments = ", ".join(_arguments(match["parameters"]))
            scope = "".join(f"{each}::" for each in _scope(plain[: match.start()]) if each)
            found.setdefault(match["name"], f"{scope}{match['name']}<{arguments}>")
    return list(found.values())


def _arguments(parameters: str) -> Iterator[str]:
    """Yield an argument for each parameter of a template that has no default."""
    for parameter in re.split(r",(?![^<>]*>)", parameters):
        if "=" in parameter or "..." in parameter or not parameter.strip():
            return
        if re.match(r"\s*(?:typename|class)\b", parameter):
            yield "float"
        else:
            yield "true" if re.match(r"\s*bool\b", parameter) else "16"


def _scope(text: str) -> list[str]:
    """Return the namespaces that are open at the end of a text."""
    open_scopes: list[str] = []
    for match in _SCOPE.finditer(text):
        if match[0] != "}":
            open_scopes.append(match[1] or "")
        elif open_scopes:
            open_scopes.pop()
    return open_scopes


# --- launches of what is no kernel ------------------------------------------------------------------

_LAUNCH = re.compile(r"\b([A-Za-z_]\w*)\s*(?:<(?!<)[^;(){}]*>)?\s*<<<")

_PLAIN_HEAD = re.compile(
    r"\s*(?:template\s*<[^;{}]*>\s*)?(?:(?:static|inline|extern|void|__device__|__host__|__forceinline__|__noinline__)\s*)+"
)
"""The words before the name of a function that leave no room for a macro which means __global__."""


def launched_functions(module: ModulePlan, kernels: Collection[str]) -> str | None:
    """Return the error about functions that are launched and lack `__global__`; None if there are none.

    The compiler checks the code for the device only, and nvcc's error comes from its pass for the host. `kernels` are
    the names of those in the image.
    """
    lines = [
        f"{source.path}:{line}: error: {name} is launched with <<<...>>> (line {launch}), and is no kernel\n"
        f"help: mark {name} with __global__"
        for source in cuda_sources(module.module)
        for name, line, launch in _unmarked(source.text)
        if name not in kernels
    ]
    return "\n\n".join(lines) or None


def _unmarked(text: str) -> Iterator[tuple[str, int, int]]:
    """Yield what a text launches and defines without a mark: the name, its line, and the line of the launch."""
    if "<<<" not in text:
        return
    plain = _masked(text)
    launches: dict[str, int] = {}
    for match in _LAUNCH.finditer(plain):
        launches.setdefault(match[1], plain.count("\n", 0, match.start()) + 1)
    for name, launch in launches.items():
        definitions = list(re.finditer(rf"([^;{{}}]*?)\b{name}\s*\([^;{{}}]*\)\s*(?:noexcept\s*)?\{{", plain))
        is_variable = re.search(rf"[\w>&*\]]\s*[\s&*]{name}\s*[=,);]|\(\s*\*\s*{name}\s*\)", plain)
        if definitions and not is_variable and all(_PLAIN_HEAD.fullmatch(each[1]) for each in definitions):
            yield name, plain.count("\n", 0, definitions[0].start() + len(definitions[0][1])) + 1, launch
