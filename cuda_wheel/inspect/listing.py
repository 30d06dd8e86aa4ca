"""Describe a module's kernels and variables, one line each."""

from __future__ import annotations

from cuda_wheel.builder.cxx.demangle import signature
from cuda_wheel.inspect.modules import Found
from cuda_wheel.runtime.formats import ptx
from cuda_wheel.runtime.manifest import KernelInfo, Manifest, Parameter

__all__ = [
    "described",
    "offered",
]


def described(manifest: Manifest) -> list[str]:
    """Return the kernels and variables of a module, one line each: "k(const float*, int): at most 256 threads"."""
    lines = []
    for kernel in manifest.kernels:
        facts = [_bounds(kernel, manifest)] + ([f"not in {', '.join(kernel.absent)}"] if kernel.absent else [])
        told = "; ".join(filter(None, facts))
        lines.append(f"{kernel.name}({', '.join(map(_type, kernel.parameters))})" + (f": {told}" if told else ""))
    lines += [f"{each.name}: {each.space} variable, {each.size} bytes" for each in manifest.globals]
    lines += [f"{each.name}: for whoever links it to define, {each.declaration}" for each in manifest.extern]
    return lines


def offered(found: Found) -> list[str]:
    """Return the functions and variables that a module defines for those who link it, one line each: "f(float): for
    others to call". Raises OSError where its fatbin cannot be read."""
    texts = [image for image in found.manifest.relocatable if image.kind == "ptx" and image.offset is not None]
    if not texts:
        return []
    fatbin = found.read(found.manifest.fatbin)
    first = [image for image in texts if image.target == texts[0].target]
    shared: dict[str, None] = {}
    for image in first:
        start = image.offset or 0
        content = fatbin[start : start + image.size].decode(errors="replace")
        shared |= dict.fromkeys(sorted(ptx.symbols(content).defined))
    known = {kernel.symbol for kernel in found.manifest.kernels} | {each.symbol for each in found.manifest.globals}
    written = (signature(symbol) for symbol in shared if symbol not in known)
    return [
        f"{name}{'' if types is None else '(' + ', '.join(types) + ')'}: for others to link with"
        for name, types in written
    ]


def _type(parameter: Parameter) -> str:
    """Return a parameter's C++ type; where it is not known, its type in PTX."""
    if parameter.cpp:
        return parameter.cpp
    return f".b8[{parameter.size}]" if parameter.type == "b8" else f".{parameter.type}"


_BOUNDS = {
    "max_threads": "at most {} threads in a block",
    "min_blocks": "at least {} blocks on a multiprocessor",
    "cluster_blocks": "at most {} blocks in a cluster",
}


def _bounds(kernel: KernelInfo, manifest: Manifest) -> str:
    """Return a kernel's launch bounds in words, of all images where they are not the same."""
    told = []
    for key, words in _BOUNDS.items():
        figures = {image.resources.get(kernel.symbol, {}).get(key) for image in manifest.images}
        numbers = " or ".join(str(number) for number in sorted(number for number in figures if number is not None))
        told += [words.format(numbers)] if numbers else []
    return ", ".join(told)
