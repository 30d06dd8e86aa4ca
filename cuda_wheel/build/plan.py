"""Say what a build will do: which compiler calls, with which options, make which images. Pure; runs nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from cuda_wheel.build.architectures import settle
from cuda_wheel.build.compiler import Job
from cuda_wheel.build.config import Config
from cuda_wheel.build.modules import SourceModule
from cuda_wheel.build.toolchain import INCLUDE, Toolchain
from cuda_wheel.loader import Target, Version

__all__ = ["ModulePlan", "Plan", "make_plan"]


@dataclass(frozen=True)
class ModulePlan:
    """One module's targets, in the order of its images, and the jobs that make them."""

    module: SourceModule
    targets: tuple[Target, ...]
    options: tuple[str, ...]
    """What the manifest shows: project-relative, without the target."""
    jobs: tuple[Job, ...]


@dataclass(frozen=True)
class Plan:
    """Everything a build will do."""

    toolchain: Toolchain
    compress: str
    modules: tuple[ModulePlan, ...]


def make_plan(
    config: Config,
    modules: Sequence[SourceModule],
    root: Path,
    toolchain: Toolchain,
    installed_gpus: Callable[[], Iterable[Version]],
) -> Plan:
    """Return the plan for `modules` of the project in `root`; raises ConfigError for architectures that cannot be."""
    plans = tuple(_module_plan(config, module, root, toolchain, installed_gpus) for module in modules)
    return Plan(toolchain, config.compress, plans)


def _module_plan(
    config: Config,
    module: SourceModule,
    root: Path,
    toolchain: Toolchain,
    installed_gpus: Callable[[], Iterable[Version]],
) -> ModulePlan:
    settings = module.settings
    wanted = settings.architectures
    targets = settle(wanted.entries, toolchain.supported, installed_gpus, wanted.where, toolchain.name)
    options = (
        f"--std={settings.std}",
        *(f"--define-macro={name}={value}" for name, value in settings.defines),
        *settings.options,
    )
    # As every C++ compiler: `#include "x"` looks beside the file first. NVRTC is given text, and knows no such place.
    own = dict.fromkeys([str(PurePosixPath(module.source).parent), *settings.include_dirs])
    jobs = tuple(
        Job(
            library=toolchain.libraries[0],
            root=str(root),
            source=module.source,
            text=module.text,
            arch=arch,
            cubin=any(target.real for target in targets if target.arch == arch),
            ptx=not all(target.real for target in targets if target.arch == arch),
            options=options,
            include_dirs=(*own, str(INCLUDE), *toolchain.include_dirs),
            instantiate=settings.instantiate,
            lineinfo=settings.lineinfo,
            ptx_version=config.ptx_version,
            host_code=settings.host_code,
        )
        for arch in dict.fromkeys(target.arch for target in targets)
    )
    shown = (*options, *(f"--include-path={folder}" for folder in settings.include_dirs))
    return ModulePlan(module, targets, shown + (("--generate-line-info",) if settings.lineinfo else ()), jobs)
