"""Replace the variants of Triton kernels that await the configurations of `triton.autotune` in the source."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from cuda_wheel.builder.config.triton import awaits_configurations, completed
from cuda_wheel.builder.errors import ConfigError
from cuda_wheel.builder.jobs import Configurations, Job
from cuda_wheel.builder.sources.modules import SourceModule
from cuda_wheel.runtime.manifest import Variant
from cuda_wheel.runtime.parts.triton.signatures import KERNEL

__all__ = ["has_configurations", "with_configurations"]


def has_configurations(module: SourceModule) -> bool:
    """Return whether variants of a module await configurations."""
    return module.language == KERNEL and any(map(awaits_configurations, module.settings.variants))


def with_configurations(
    module: SourceModule, root: Path, archs: Sequence[str], read: Callable[[Job], Configurations]
) -> tuple[SourceModule, tuple[str, ...]]:
    """Return a module with a variant for each configuration, and the absolute paths of the files that decided.

    `read` calls `read_configurations` in a worker, for a kernel and each of the architectures `archs` ("90a"). Raises
    ConfigError if the configurations for two architectures differ, or repeat what the settings have; and what `read`
    raises.
    """
    found: dict[str, Sequence[Variant]] = {}
    files: dict[str, None] = {}
    for variant in module.settings.variants:
        kernel = str(dict(variant)[KERNEL])
        if not awaits_configurations(variant) or kernel in found:
            continue
        by_arch = {}
        for arch in archs:
            answer = read(_job(module, variant, root, arch))
            by_arch[arch] = answer.variants
            files.update(dict.fromkeys(answer.files))
        first, *others = by_arch
        other = next((arch for arch in others if by_arch[arch] != by_arch[first]), None)
        if other is not None:
            raise ConfigError(
                f"{kernel}: its triton.autotune lists other configurations for {first} than for {other}: give its "
                "[[tool.cuda-wheel.triton]] architectures for which they are equal, or leave out autotune = true and "
                "list what to compile."
            )
        found[kernel] = by_arch[first]
    variants = completed(module.settings.variants, found)
    return replace(module, settings=replace(module.settings, variants=variants)), tuple(files)


def _job(module: SourceModule, variant: Variant, root: Path, arch: str) -> Job:
    source = module.kernel_source(variant)
    return Job(
        library="",
        root=str(root),
        source=source.path,
        text=source.content,
        arch=arch,
        cubin=False,
        ptx=False,
        options=(),
        include_dirs=(),
        instantiate=(),
        lineinfo=False,
        ptx_version="auto",
        kind="triton",
        variant=((KERNEL, dict(variant)[KERNEL]),),
    )
