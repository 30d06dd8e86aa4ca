"""Explain why a module does not link: the linker's log with C++ names, where the sources mention them, and help."""

from __future__ import annotations

import re

from cuda_wheel.builder.cxx.demangling.signatures import signature
from cuda_wheel.builder.sources.modules import SourceModule
from cuda_wheel.runtime.linking.nvjitlink_messages import Cause, causes, locate_link_errors
from cuda_wheel.runtime.manifest import Target

__all__ = ["link_failure", "mentions"]

_SYMBOL = re.compile(r"'([A-Za-z_$][\w$]*)'")

_OTHER_GPU = "is machine code for"
"""What this package itself says of a cubin for another GPU, before the linker reads it."""

_HELP = {
    Cause.UNDEFINED: (
        'add a source that defines it to the module\'s sources, with extern "C" in both or in neither; if the user of '
        "the module is to define it, list it in extern"
    ),
    Cause.DUPLICATE: (
        "define it in one source and declare it extern in the others; or make it inline; or rename one if it is a "
        "kernel (static kernels need different names too), else make it static"
    ),
    Cause.LTOIR_FOR_NEWER_GPU: (
        "LTO-IR and PTX are for their own architecture and later ones: remove the earlier ones from architectures"
    ),
    Cause.NEEDS_LTO: 'LTO-IR, also in a fatbin, object or library, needs link = "lto"',
    Cause.BAD_INPUT: (
        "machine code, in whatever file, is for its own architecture and later ones of that major version: remove the "
        "others from architectures"
    ),
    Cause.NEWER_LTOIR: (
        "LTO-IR links with an nvJitLink of the same major version that is not older than the compiler of the LTO-IR"
    ),
}
"""What helps, by cause; that of the first cause in this order is shown."""


def link_failure(module: SourceModule, target: Target, nvjitlink: str, error: Exception) -> str:
    """Return the message for a module that does not link for a target; `error` has the log of nvJitLink's version
    `nvjitlink`."""
    lines = [line for line in locate_link_errors(str(error)).splitlines() if line.strip()]
    names = dict.fromkeys(name for line in lines for name in map(_as_written, _SYMBOL.findall(line)))
    readable = [_SYMBOL.sub(lambda match: f"'{_as_written(match[1])}'", line) for line in lines]
    places = [f"  {name}{where}" for name in names if (where := mentions(name, module))]
    head = f"{module.label} does not link for {target} with nvJitLink {nvjitlink}:"
    return "\n".join([head, *readable, *places, *_help("\n".join(lines))])


def _help(log: str) -> list[str]:
    found = set(causes(log))
    if Cause.PTX_FOR_NEWER_GPU in found:
        found.add(Cause.LTOIR_FOR_NEWER_GPU)
    if _OTHER_GPU in log:
        found.add(Cause.BAD_INPUT)
    return [f"help: {text}" for cause, text in _HELP.items() if cause in found][:1]


def mentions(name: str, module: SourceModule) -> str:
    """Return where a module's sources contain the last part of a C++ name: ", mentioned at a.cu:3, b.cu:7"."""
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


def _as_written(symbol: str) -> str:
    """Return a symbol as C++: "user_transform(float)"."""
    name, parameters = signature(symbol)
    return name if parameters is None else f"{name}({', '.join(parameters)})"
