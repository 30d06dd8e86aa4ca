"""Compare a module's files with what its manifest says."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from hashlib import sha256

from cuda_wheel.inspect.modules import Found
from cuda_wheel.runtime.formats import elf, ptx
from cuda_wheel.runtime.formats.fatbin import whole_fatbin
from cuda_wheel.runtime.manifest import MANIFEST_SUFFIX, Image, Manifest, Parameter, Target, dotted

__all__ = [
    "differences",
]


def differences(found: Found) -> list[str]:
    """Return what of a module is not as its manifest says, one line each; nothing where all is well.

    Hashes show what was changed since the manifest was written; what an image says of its target, kernels and their
    parameters shows what was exchanged, though the manifest has its hash.
    """
    manifest = found.manifest
    try:
        fatbin = found.read(manifest.fatbin)
    except OSError as error:
        return [f"{manifest.fatbin} cannot be read: {error}"]
    wrong = []
    if re.split(r"[/\\]", found.where)[-1] != manifest.name.rpartition(".")[2] + MANIFEST_SUFFIX:
        wrong.append(f"the manifest in {found.where} is another module's")
    if len(fatbin) != manifest.fatbin_size:
        wrong.append(f"{manifest.fatbin} has {len(fatbin)} bytes, not {manifest.fatbin_size}")
    for image in manifest.images:
        if image.offset is None:  # compressed: only the whole can be checked
            wrong += [] if whole_fatbin(fatbin) else [f"{manifest.fatbin} is no whole fatbin"]
            break
        content = fatbin[image.offset : image.offset + image.size]
        if sha256(content).hexdigest() != image.sha256:
            wrong.append(f"{image} is not what the manifest says")
        elif image.kind != "ltoir":
            wrong += _contradictions(image, content, manifest)
    if not wrong and sha256(fatbin).hexdigest() != manifest.fatbin_sha256:
        wrong.append(f"{manifest.fatbin} differs between its images")
    return wrong


def _contradictions(image: Image, content: bytes, manifest: Manifest) -> Iterator[str]:
    """Yield what machine code or PTX says of itself and the manifest says otherwise."""
    kernels: Mapping[str, tuple[Parameter, ...]]
    variables: Mapping[str, tuple[str, int]]
    try:
        if image.kind == "cubin":
            cubin = elf.read_cubin(content)
            target, fits = f"sm_{cubin.arch}", divmod(cubin.arch, 10) == image.target.capability
            kernels = {symbol: entry.parameters for symbol, entry in cubin.kernels.items()}
            variables = cubin.variables
        else:
            text = ptx.plain(content.decode())
            own, version = Target.parse(f"compute_{ptx.target(text)}"), ptx.version(text)
            # Somebody's own PTX may be for less than the image that is made of it.
            fits = own == image.target if own.suffix else own.capability <= image.target.capability
            target, kernels, variables = str(own), ptx.kernels(text), ptx.variables(text)
            if version != image.ptx_version:
                yield f"{image} is PTX {dotted(version)}"
    except ValueError as error:
        yield f"{image} is damaged: {error}"
        return
    if not fits:
        yield f"{image} is for {target}"
    for variable in manifest.globals:
        _, size = variables.get(variable.symbol, ("", variable.size))
        if size != variable.size:
            yield f"{image} has {size} bytes of {variable.symbol}"
    if image.source is not None:  # one source's part of the kernels
        return
    for kernel in manifest.kernels:
        if str(image.target) in kernel.absent:
            continue
        if kernel.symbol not in kernels:
            yield f"{image} has no kernel {kernel.symbol}"
        elif _places(kernels[kernel.symbol]) != _places(kernel.parameters):
            yield f"{image} has other parameters for {kernel.symbol}"


def _places(parameters: Iterable[Parameter]) -> list[tuple[int, int]]:
    return [(parameter.offset, parameter.size) for parameter in parameters]
