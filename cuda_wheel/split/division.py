"""Decide which images of a module stay in the base and which go into companions, and bundle each part again."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from hashlib import sha256

from cuda_wheel.builder.jobs import BundleRequest, Fatbin
from cuda_wheel.builder.manifest_reader import all_manifests, digest_of
from cuda_wheel.builder.manifest_writer.text import manifest_text
from cuda_wheel.inspect.modules import FoundModule
from cuda_wheel.runtime.errors import ImageError
from cuda_wheel.runtime.manifest import Carried, Image, KernelInfo, Manifest, Version
from cuda_wheel.runtime.parts.companions import Companion, Split
from cuda_wheel.runtime.parts.formats.fatbin import fatbin_of_text
from cuda_wheel.runtime.rules import unsupported

__all__ = [
    "DividedModule",
    "ModuleFile",
    "capabilities_of",
    "divide",
    "extra_of",
    "name_of_companion",
    "package_of",
    "reduced",
]

Bundle = Callable[[BundleRequest], Fatbin]


@dataclass(frozen=True)
class ModuleFile:
    """The files of a module, or of its part in a companion."""

    fatbin: bytes
    manifest: bytes


@dataclass(frozen=True)
class DividedModule:
    """A module whose machine code lies in companions."""

    name: str
    base: ModuleFile
    companions: Mapping[Version, ModuleFile]
    """Compute capability -> what the companion for it has of the module."""
    only_in_companion: frozenset[Version]
    """Compute capabilities of companions for which the base has no PTX."""


def extra_of(capability: Version) -> str:
    """Return the extra for a compute capability: "sm90"."""
    return f"sm{capability[0]}{capability[1]}"


def name_of_companion(distribution: str, capability: Version) -> str:
    """Return the name of a companion: "demo-cuda-sm90"."""
    return f"{distribution}-cuda-{extra_of(capability)}"


def package_of(companion: str) -> str:
    """Return the name of the package with a companion's files: "demo_cuda_sm90"."""
    return companion.replace("-", "_").replace(".", "_")


def _is_moved(image: Image) -> bool:
    """Return whether an image goes into a companion. What is linked on the user's machine stays in the base."""
    return image.kind == "cubin" and image.source is None


def divide(found: FoundModule, distribution: str, version: str, bundle: Bundle) -> DividedModule | None:
    """Return a module divided into base and companions. None if all of it stays in the base: it has no machine code, or
    nothing else, so that the base could load it nowhere.

    `distribution` and `version` are those of the wheel, the first normalized. `bundle` makes fatbins. Raises ImageError
    if the module is divided already, or its images cannot be told apart.
    """
    if found.split is not None:
        raise ImageError(f"{found.location} is divided already: give the whole wheel, as the build back end made it.")
    capabilities = capabilities_of(found)
    if not capabilities:
        return None
    content = found.read(found.fatbin)
    images = [image for manifest in found.manifests for image in manifest.images]
    parts = {
        capability: _part(found, content, bundle, f"{found.name}.fatbin", partial(_is_for, capability))
        for capability in capabilities
    }
    companions, files = [], {}
    for capability, (manifests, fatbin) in parts.items():
        name = name_of_companion(distribution, capability)
        text = _text(manifests, Split(name, version, distribution, ()))
        files[capability] = ModuleFile(fatbin, text)
        moved = [image for manifest in manifests for image in manifest.images]
        companions.append(
            Companion(
                extra_of(capability),
                name,
                package_of(name),
                tuple(sorted({image.target for image in moved})),
                max(image.driver for image in moved),
                digest_of(text, name),
            )
        )
    split = Split(distribution, version, None, tuple(companions))
    base = _with_sources(found, content, bundle, lambda image: not _is_moved(image), split)
    virtual = [image.target for image in images if image.kind == "ptx" and image.source is None]
    only = (each for each in capabilities if all(unsupported(target, each) for target in virtual))
    return DividedModule(found.name, base, files, frozenset(only))


def capabilities_of(found: FoundModule) -> list[Version]:
    """Return the compute capabilities for which a module has machine code that can be taken out, sorted. The list is
    empty for a module that has nothing else. Raises ImageError if its images cannot be told apart."""
    if any(all(map(_is_moved, manifest.images)) for manifest in found.manifests):
        return []
    images = [image for manifest in found.manifests for image in manifest.images]
    capabilities = sorted({image.target.capability for image in images if _is_moved(image)})
    if capabilities and any(image.offset is None for image in images):
        raise ImageError(
            f"{found.location}: the fatbin is compressed, so its images cannot be told apart. Build the wheel with "
            'compress = "none", the default; wheels are compressed themselves.'
        )
    return capabilities


def reduced(found: FoundModule, capability: Version, bundle: Bundle) -> ModuleFile:
    """Return a module with no other machine code than that for GPUs of one compute capability.

    Its machine code may be for a lower compute capability of the same major version. `bundle` makes fatbins.
    """
    lower = [each for each in capabilities_of(found) if each[0] == capability[0] and each <= capability]

    def is_kept(image: Image) -> bool:
        return not _is_moved(image) or image.target.capability in lower[-1:]

    return _with_sources(found, found.read(found.fatbin), bundle, is_kept, None)


def _with_sources(
    found: FoundModule, content: bytes, bundle: Bundle, is_kept: Callable[[Image], bool], split: Split | None
) -> ModuleFile:
    """Return the part of a module that takes its place, with the sources that it carries."""
    manifests, fatbin = _part(found, content, bundle, found.fatbin, is_kept)
    carried = found.manifests[0].specialize
    if carried is not None and carried.size:
        sources = content[carried.offset : carried.offset + carried.size]
        fatbin += fatbin_of_text(sources)
        place = Carried(len(fatbin) - len(sources), len(sources), carried.sha256)
        manifests = [each._replace(specialize=place) for each in manifests]
    return ModuleFile(fatbin, _text(manifests, split))


def _is_for(capability: Version, image: Image) -> bool:
    return _is_moved(image) and image.target.capability == capability


def _part(
    found: FoundModule, content: bytes, bundle: Bundle, file: str, is_kept: Callable[[Image], bool]
) -> tuple[list[Manifest], bytes]:
    """Return the manifests of a part of a module, and the fatbins of its variants, one after the other.

    `content` is the content of the module's fatbin file, `file` the name of the part's.
    """
    manifests, fatbins = [], b""
    for manifest in found.manifests:
        images = [image for image in manifest.images if is_kept(image)]
        if not images:
            raise ImageError(f"{found.location}: {manifest.full_name} lacks targets that another variant has.")
        codes = [_content(content, manifest, image, found.location) for image in images]
        request = [
            ((image.kind, image.target.arch, code), image.source or manifest.full_name)
            for image, code in zip(images, codes, strict=True)
        ]
        fatbin = bundle((manifest.full_name, request, "none"))
        placed = [image._replace(offset=offset) for image, offset in zip(images, fatbin.offsets, strict=True)]
        manifests.append(
            manifest._replace(
                fatbin=file,
                fatbin_offset=len(fatbins),
                fatbin_size=len(fatbin.content),
                fatbin_sha256=sha256(fatbin.content).hexdigest(),
                images=tuple(placed),
                kernels=_kernels(manifest, images),
                specialize=None,
            )
        )
        fatbins += fatbin.content
    return manifests, fatbins


def _content(content: bytes, manifest: Manifest, image: Image, where: str) -> bytes:
    start = manifest.fatbin_offset + (image.offset or 0)
    code = content[start : start + image.size]
    if sha256(code).hexdigest() != image.sha256:
        raise ImageError(f"{where}: the SHA-256 of {image} is not the one in the manifest. Build the wheel again.")
    return code


def _kernels(manifest: Manifest, images: Iterable[Image]) -> tuple[KernelInfo, ...]:
    """Return the kernels of a manifest, each absent only from targets of these images."""
    targets = {str(image.target) for image in images}
    return tuple(
        kernel._replace(absent=tuple(each for each in kernel.absent if each in targets)) for kernel in manifest.kernels
    )


def _text(manifests: Sequence[Manifest], split: Split | None) -> bytes:
    text = manifest_text(*manifests, split=split).encode()
    all_manifests(text, f"the manifest of {manifests[0].name}")  # a wheel must not have one that no loader reads
    return text
