"""List a module's kernels, variables and linkable functions as lines of text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from cuda_wheel.builder.cxx.demangling.signatures import signature
from cuda_wheel.inspect.found_modules import FoundModule
from cuda_wheel.runtime.formats import ptx
from cuda_wheel.runtime.manifest import KernelInfo, Manifest, Parameter

__all__ = ["exported_lines", "symbol_lines"]


def symbol_lines(manifests: Sequence[Manifest]) -> list[str]:
    """Return the kernels and variables of a module, and the host functions whose bodies were left out, one line each:
    "k(int): at most 256 threads in a block".

    A line that is not that of all variants says of how many it is.
    """
    counts = Counter(line for manifest in manifests for line in dict.fromkeys(_symbol_lines(manifest)))
    total = len(manifests)
    return [line if count == total else f"{line} (in {count} of {total} variants)" for line, count in counts.items()]


def _symbol_lines(manifest: Manifest) -> list[str]:
    return [
        *(_kernel_line(kernel, manifest) for kernel in manifest.kernels),
        *(f"{variable.name}: {variable.space} variable, {variable.size} bytes" for variable in manifest.globals),
        *(
            f"{function.name}: to be defined by the linking code, {function.declaration}"
            for function in manifest.extern
        ),
        *(f"left out, as host code: {each}" for each in manifest.host_code),
    ]


def _kernel_line(kernel: KernelInfo, manifest: Manifest) -> str:
    types = ", ".join(map(_type, kernel.parameters))
    absent = f"not in {', '.join(kernel.absent)}" if kernel.absent else ""
    notes = filter(None, [_launch_bounds(kernel, manifest), absent])
    return ": ".join(filter(None, [f"{kernel.name}({types})", "; ".join(notes)]))


def exported_lines(found: FoundModule) -> list[str]:
    """Return the functions and variables that other modules can link with, one line each: "f(float): for linking".

    Raises OSError if the fatbin cannot be read.
    """
    known = {kernel.symbol for manifest in found.manifests for kernel in manifest.kernels}
    known |= {variable.symbol for manifest in found.manifests for variable in manifest.globals}
    signatures = (signature(symbol) for symbol in _defined_symbols(found) if symbol not in known)
    return [
        f"{name}{'' if types is None else '(' + ', '.join(types) + ')'}: for linking with other modules"
        for name, types in signatures
    ]


def _defined_symbols(found: FoundModule) -> dict[str, None]:
    """Return the symbols that a module's relocatable PTX defines for its first target, in order."""
    images = [
        (manifest.fatbin_offset + (image.offset or 0), image)
        for manifest in found.manifests
        for image in manifest.relocatable
        if image.kind == "ptx" and image.offset is not None
    ]
    if not images:
        return {}
    fatbin = found.read(found.fatbin)
    symbols: dict[str, None] = {}
    for start, image in images:
        if image.target == images[0][1].target:
            text = fatbin[start : start + image.size].decode(errors="replace")
            symbols |= dict.fromkeys(sorted(ptx.symbols(text).defined))
    return symbols


def _type(parameter: Parameter) -> str:
    """Return a parameter's C++ type, or its PTX type if the C++ type is not known."""
    if parameter.cpp:
        return parameter.cpp
    return f".b8[{parameter.size}]" if parameter.type == "b8" else f".{parameter.type}"


_LAUNCH_BOUNDS = {
    "max_threads": "at most {} threads in a block",
    "min_blocks": "at least {} blocks on a multiprocessor",
    "cluster_blocks": "at most {} blocks in a cluster",
}


def _launch_bounds(kernel: KernelInfo, manifest: Manifest) -> str:
    """Return a kernel's launch bounds; if they differ between images, all values."""
    bounds = []
    for key, text in _LAUNCH_BOUNDS.items():
        values = {image.resources.get(kernel.symbol, {}).get(key) for image in manifest.images}
        numbers = sorted(value for value in values if value is not None)
        if numbers:
            bounds.append(text.format(" or ".join(map(str, numbers))))
    return ", ".join(bounds)
