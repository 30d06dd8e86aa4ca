"""Say what a linker found wrong: its log with the names as they were written, and where the sources mention them."""

from __future__ import annotations

import re

from cuda_wheel.builder.cxx.demangle import signature
from cuda_wheel.builder.sources.modules import SourceModule
from cuda_wheel.runtime.manifest import Target

__all__ = [
    "link_failure",
    "mentions",
]


_SYMBOL = re.compile(r"'([A-Za-z_$][\w$]*)'")


_NOISE = re.compile(
    r"ERROR \d+: (?:finish|complete)$|ERROR [\w ]*: JIT the PTX \(ltoPtx\)$|ERROR in nvvmCompileProgram.*"
    r"|ERROR \w+ \(\d+\) in nvvmCompileProgram callback$",
    re.MULTILINE,
)


_MISSING = re.compile(r"Undefined reference|Unresolved extern")


_NEEDS_LTO = re.compile(r"nvvm input without LTO|without LTO enabled")


_TWICE = re.compile(r"Multiple definition|multiply defined")


_PLACE = re.compile(r"ptxas [^\n]*?, line (\d+); (?:error|fatal)\s*: (.*)\n(?:.*\n)*?.*JIT the PTX \(([^)\n]*)\)")


def link_failure(module: SourceModule, target: Target, nvjitlink: str, error: Exception) -> str:
    """Return what to tell of a module that does not link for a target."""
    log = _NOISE.sub("", _PLACE.sub(r"\3:\1: error: \2", str(error)))
    lines = [line for line in log.splitlines() if line.strip()]
    names = dict.fromkeys(name for line in lines for name in map(_written, _SYMBOL.findall(line)))
    told = [_SYMBOL.sub(lambda match: f"'{_written(match[1])}'", line) for line in lines]
    places = [f"  {name}{where}" for name in names if (where := mentions(name, module))]
    return "\n".join(
        [
            f"{module.label} does not link for {target} with nvJitLink {nvjitlink}:",
            *told,
            *places,
            *_help("\n".join(lines)),
        ]
    )


def _help(log: str) -> list[str]:
    if _MISSING.search(log):
        return [
            'help: a source that defines it has to be among the module\'s sources, extern "C" in both or in neither; '
            "extern names what whoever loads the module is to define"
        ]
    if _TWICE.search(log):
        return ["help: define it in one source, and declare it extern in the others; or make it static, or inline"]
    if "LTOIR arch newer" in log or "SM version specified by .target is higher" in log:
        return [
            "help: LTO-IR and PTX are for their own architecture and later ones: leave the earlier out of architectures"
        ]
    if _NEEDS_LTO.search(log):
        return ['help: LTO-IR, also that in a fatbin, object or library, needs link = "lto"']
    if "bad input" in log or "is machine code for" in log:
        return [
            "help: machine code, in whatever file, is for its own architecture and later ones of that major version: "
            "leave the others out of architectures"
        ]
    if "may need newer version of nvJitLink" in log:
        return ["help: LTO-IR links with an nvJitLink of the same major version that is no older than its compiler"]
    return []


def mentions(name: str, module: SourceModule) -> str:
    """Return where the sources of a module have the last part of a C++ name: ", mentioned at a.cu:3, b.cu:7"."""
    last = name.partition("(")[0].partition("<")[0].rpartition("::")[2]
    word = re.compile(rf"\b{re.escape(last)}\b")
    places = []
    for source in (*module.sources, *module.defaults):
        if source.kind in ("cuda", "nvvm", "ptx"):
            lines = (number for number, line in enumerate(source.text.split("\n"), 1) if word.search(line))
            places += [f"{source.path}:{number}" for number in lines][:3]
        elif last.encode() in source.content:
            places.append(source.path)
    return f", mentioned at {', '.join(places)}" if places else ""


def _written(symbol: str) -> str:
    """Return a symbol as C++: "user_transform(float)"."""
    name, parameters = signature(symbol)
    return name if parameters is None else f"{name}({', '.join(parameters)})"
