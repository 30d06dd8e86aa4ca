"""Compare a module's files with its manifest."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from hashlib import sha256

from cuda_wheel.inspect.modules import FoundModule
from cuda_wheel.runtime.manifest import MANIFEST_SUFFIX, Image, Manifest, Parameter, Target, Version, dotted
from cuda_wheel.runtime.parts.formats import ptx
from cuda_wheel.runtime.parts.formats.cubin import read_cubin
from cuda_wheel.runtime.parts.formats.fatbin import compression_of, fatbin_of_text

__all__ = ["manifest_differences"]


def manifest_differences(found: FoundModule) -> list[str]:
    """Return where a module's files differ from its manifest, one line each; an empty list if nothing differs.

    The hashes reveal every change since the manifest was written. The target, kernels and parameters that an image
    declares reveal an exchanged image even if the manifest has its hash.
    """
    try:
        content = found.read(found.fatbin)
    except OSError as error:
        return [f"{found.fatbin} cannot be read: {error}"]
    lines = []
    is_companion = found.split is not None and found.split.base is not None
    file = (found.name if is_companion else found.name.rpartition(".")[2]) + MANIFEST_SUFFIX
    if re.split(r"[/\\]", found.location)[-1] != file:
        lines.append(f"{found.location} is the manifest of another module")
    size, carried = _described_size(found), found.manifests[0].specialize
    if carried is not None:
        sources = content[carried.offset : carried.offset + carried.size]
        if sha256(sources).hexdigest() != carried.sha256 or content[size:] != fatbin_of_text(sources):
            lines.append("the sources behind the fatbin differ from the manifest")
    elif len(content) != size:
        lines.append(f"{found.fatbin} has {len(content)} bytes, not {size}")
    for manifest in found.manifests:
        fatbin = content[manifest.fatbin_offset : manifest.fatbin_offset + manifest.fatbin_size]
        macros = f"{manifest.full_name}: " if manifest.variant else ""
        lines += [macros + line for line in _fatbin_differences(manifest, fatbin, bool(lines))]
    return lines


def _described_size(found: FoundModule) -> int:
    """Return the total size in bytes of the fatbins of a module's variants. In the fatbin file, these fatbins follow
    each other without gaps, from the start of the file."""
    end = 0
    for manifest in found.manifests:
        if manifest.fatbin_offset == end:
            end += manifest.fatbin_size
    return end


def _fatbin_differences(manifest: Manifest, fatbin: bytes, differs: bool) -> list[str]:
    """Return the differences between one fatbin and its manifest, one line each.

    `differs`: whether another difference of the module's files is known already. The hash of the whole fatbin is
    compared only if no other difference is known.
    """
    lines: list[str] = []
    for image in manifest.images:
        if image.offset is None:  # compressed: only the whole fatbin can be checked
            lines += _compression_differences(manifest, fatbin)
            break
        lines += _image_differences(image, fatbin[image.offset : image.offset + image.size], manifest)
    if not lines and not differs and sha256(fatbin).hexdigest() != manifest.fatbin_sha256:
        lines.append(f"{manifest.fatbin} differs from the manifest between its images")
    return lines


def _compression_differences(manifest: Manifest, fatbin: bytes) -> Iterator[str]:
    """Yield a message if a fatbin is not compressed in the way that its manifest states, or if it is not a complete
    fatbin. The way matters because older drivers cannot read every compression."""
    try:
        compression = compression_of(fatbin)
    except ValueError:
        yield f"{manifest.fatbin} is not a complete fatbin"
        return
    if compression != manifest.compression:
        yield f'the compression of {manifest.fatbin} is "{compression}", not "{manifest.compression}"'


def _image_differences(image: Image, content: bytes, manifest: Manifest) -> Iterator[str]:
    """Yield a message for each way in which an image differs from the manifest. `content`: the bytes of the image.

    The hash of the bytes is compared. If it is right, what the bytes declare is compared too (except for LTO-IR).
    """
    if sha256(content).hexdigest() != image.sha256:
        yield f"{image} differs from the manifest"
    elif image.kind != "ltoir":
        yield from _contradictions(image, content, manifest)


@dataclass(frozen=True)
class _Contents:
    """Facts that an image's own machine code or PTX declares."""

    target: str
    """Target that the content declares: "sm_90", "compute_90a"."""
    matches_target: bool
    """Whether `target` fits the target that the manifest states for the image. For machine code, the compute
    capabilities must be equal. For PTX, `target` may be lower. A `target` with a suffix, such as "compute_90a", must be
    equal."""
    ptx_version: Version | None
    kernels: Mapping[str, tuple[Parameter, ...]]
    """Symbol of a kernel in the image -> the kernel's parameters."""
    variables: Mapping[str, tuple[str, int]]
    """Symbol of a global variable -> (its memory space, its size in bytes)."""


def _contents(image: Image, content: bytes) -> _Contents:
    """Return what the content of an image declares, such as its kernels. Raises ValueError if the content is
    damaged."""
    if image.kind == "cubin":
        cubin = read_cubin(content)
        matches = divmod(cubin.arch, 10) == image.target.capability
        kernels = {symbol: entry.parameters for symbol, entry in cubin.kernels.items()}
        return _Contents(f"sm_{cubin.arch}", matches, image.ptx_version, kernels, cubin.variables)
    text = ptx.plain(content.decode())
    target = Target.parse(f"compute_{ptx.target(text)}")
    # PTX that a project brings may be for a lower target than the image that is built from it.
    matches = target == image.target if target.suffix else target.capability <= image.target.capability
    return _Contents(str(target), matches, ptx.version(text), ptx.kernels(text), ptx.variables(text))


def _contradictions(image: Image, content: bytes, manifest: Manifest) -> Iterator[str]:
    """Yield a message for each contradiction between what an image's content declares (such as kernels and sizes) and
    what the manifest says. The caller has found that the image's hash is right."""
    try:
        declared = _contents(image, content)
    except ValueError as error:
        yield f"{image} is damaged: {error}"
        return
    if declared.ptx_version is not None and declared.ptx_version != image.ptx_version:
        yield f"{image} is PTX {dotted(declared.ptx_version)}"
    if not declared.matches_target:
        yield f"{image} is for {declared.target}"
    for variable in manifest.globals:
        _, size = declared.variables.get(variable.symbol, ("", variable.size))
        if size != variable.size:
            yield f"{image} has {size} bytes of {variable.symbol}"
    if image.source is not None:  # the image of one source has only some of the kernels
        return
    for kernel in manifest.kernels:
        if str(image.target) in kernel.absent:
            continue
        if kernel.symbol not in declared.kernels:
            yield f"{image} has no kernel {kernel.symbol}"
        elif _layout(declared.kernels[kernel.symbol]) != _layout(kernel.parameters):
            yield f"{image} has other parameters for {kernel.symbol}"


def _layout(parameters: Iterable[Parameter]) -> list[tuple[int, int]]:
    """Return (byte offset, size in bytes) of each kernel parameter, in the order of `parameters`."""
    return [(parameter.offset, parameter.size) for parameter in parameters]
