"""Say what a build will do: which compiler calls, with which options, make which images. Pure; runs nothing."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from cuda_wheel.builder.config.architectures import settle
from cuda_wheel.builder.config.settings import Config
from cuda_wheel.builder.errors import ConfigError
from cuda_wheel.builder.jobs import Form, Job
from cuda_wheel.builder.sources.modules import COMPILED, Source, SourceModule
from cuda_wheel.builder.toolchain.options import FORM_OPTIONS
from cuda_wheel.builder.toolchain.records import INCLUDE, Nvvm, Toolchain
from cuda_wheel.runtime.manifest import Target, Version

__all__ = [
    "Link",
    "ModulePlan",
    "Plan",
    "make_plan",
]


@dataclass(frozen=True)
class Link:
    """One image that is linked of a module's sources: of what jobs make of them, or of themselves."""

    target: Target
    lto: bool
    inputs: tuple[Job | Source, ...]
    options: tuple[str, ...]
    """NVRTC's, as the sources are compiled with them."""


@dataclass(frozen=True)
class ModulePlan:
    """One module's targets, in the order of its images, and the jobs that make them."""

    module: SourceModule
    targets: tuple[Target, ...]
    """Of the images that need no linking."""
    options: tuple[str, ...]
    """What the manifest shows: project-relative, without the target."""
    jobs: tuple[Job, ...]
    """What is compiled."""
    links: tuple[Link, ...] = ()
    """What is linked of that, where the module is not of one source."""
    relocatable: tuple[Job, ...] = ()
    """Those whose results are carried for linking, in the order of their images."""

    @property
    def all_targets(self) -> tuple[Target, ...]:
        """The targets of the images, also of those for linking where there are no others."""
        return self.targets or tuple(dict.fromkeys(Target.parse(f"compute_{job.arch}") for job in self.relocatable))


@dataclass(frozen=True)
class Plan:
    """Everything a build will do."""

    toolchain: Toolchain
    compress: str
    ptx_version: str
    modules: tuple[ModulePlan, ...]
    nvvm: Nvvm | None = None
    """The compiler of NVVM IR, where a module has any."""

    def compression(self, module: ModulePlan) -> str:
        """Return how a module's fatbin is compressed: what is for linking has to be cut out of it."""
        return "none" if module.relocatable else self.compress


def make_plan(
    config: Config,
    modules: Sequence[SourceModule],
    root: Path,
    toolchain: Toolchain,
    installed_gpus: Callable[[], Iterable[Version]],
    nvvm: Nvvm | None = None,
) -> Plan:
    """Return the plan for `modules` of the project in `root`; raises ConfigError for architectures that cannot be.

    `nvvm` is needed where one has a source in NVVM IR.
    """
    plans = tuple(_module_plan(config, module, root, toolchain, installed_gpus, nvvm) for module in modules)
    return Plan(toolchain, config.compress, config.ptx_version, plans, nvvm)


def _module_plan(
    config: Config,
    module: SourceModule,
    root: Path,
    toolchain: Toolchain,
    installed_gpus: Callable[[], Iterable[Version]],
    nvvm: Nvvm | None,
) -> ModulePlan:
    settings = module.settings
    wanted = settings.architectures
    targets = settle(wanted.entries, toolchain.supported, installed_gpus, wanted.where, toolchain.name)
    archs = tuple(dict.fromkeys(target.arch for target in targets))
    options = (
        f"--std={settings.std}",
        *(f"--define-macro={name}={value}" for name, value in settings.defines),
        *settings.options,
    )

    def job(source: Source, arch: str, form: Form, cubin: bool, ptx: bool, ptx_version: str) -> Job:
        # As every C++ compiler: `#include "x"` looks beside the file first. NVRTC is given text, and knows no such
        # place.
        own = dict.fromkeys([str(PurePosixPath(source.path).parent), *settings.include_dirs])
        cuda = source.kind == "cuda"
        return Job(
            library=toolchain.libraries[0] if cuda or nvvm is None else nvvm.library,
            libdevice="" if cuda or nvvm is None else nvvm.libdevice,
            nvvm=nvvm.release if source.kind == "nvvm" and nvvm is not None else "",
            root=str(root),
            source=source.path,
            text=source.content,
            kind=source.kind,
            form=form,
            arch=arch,
            cubin=cubin,
            ptx=ptx,
            options=options,
            include_dirs=(*own, str(INCLUDE), *toolchain.include_dirs),
            instantiate=_instantiated(module, source),
            lineinfo=settings.lineinfo and cuda,
            ptx_version=ptx_version,
            host_code=settings.host_code if cuda else "keep",
        )

    def part(source: Source, arch: str, form: Form) -> Job:
        # One job for what is linked here and what is carried for linking. Of that alone PTX need be lowered.
        carried = form == "ptx" and module.relocatable
        ptx_version = config.ptx_version if carried else "as-compiled"
        return job(source, arch, form, cubin=False, ptx=form == "ptx", ptx_version=ptx_version)

    def link(target: Target) -> Link:
        # nvJitLink makes PTX of LTO-IR alone.
        form: Form = "lto" if settings.link == "lto" or not target.real else "ptx"
        inputs = (
            part(source, target.arch, form) if source.kind in COMPILED else source
            for source in (*module.sources, *module.defaults)
        )
        return Link(target, form == "lto", tuple(inputs), options)

    whole: tuple[Job, ...] = ()
    links: tuple[Link, ...] = ()
    if module.ready and settings.link == "none":
        (source,) = module.sources
        whole = tuple(
            job(
                source,
                arch,
                "whole",
                cubin=any(target.real for target in targets if target.arch == arch),
                ptx=not all(target.real for target in targets if target.arch == arch),
                ptx_version=config.ptx_version,
            )
            for arch in archs
        )
    elif module.ready:
        _check_virtual(module, targets)
        links = tuple(link(target) for target in targets)
    forms: tuple[Form, ...] = ("lto", "ptx") if module.relocatable else ()
    relocatable = tuple(part(source, arch, form) for arch in archs for form in forms for source in module.sources)
    linked = (each for link in links for each in link.inputs if isinstance(each, Job))
    shown = (*options, *(f"--include-path={folder}" for folder in settings.include_dirs))
    shown += ("--generate-line-info",) if settings.lineinfo else ()
    shown += {"none": (), "ptx": tuple(FORM_OPTIONS["ptx"]), "lto": tuple(FORM_OPTIONS["lto"])}[settings.link]
    jobs = tuple(dict.fromkeys((*whole, *linked, *relocatable)))
    return ModulePlan(module, targets if module.ready else (), shown, jobs, links, relocatable)


def _instantiated(module: SourceModule, source: Source) -> tuple[str, ...]:
    """Return the name expressions that are for one of a module's sources: those whose template it mentions; those that
    none does, for its header may, are for the first."""

    def mentions(source: Source, expression: str) -> bool:
        name = expression.partition("<")[0].rpartition("::")[2].strip().lstrip("&")
        return re.search(rf"\b{re.escape(name)}\b", source.text) is not None

    cuda = [each for each in (*module.sources, *module.defaults) if each.kind == "cuda"]
    return tuple(
        expression
        for expression in module.settings.instantiate
        if source in ([each for each in cuda if mentions(each, expression)] or cuda[:1])
    )


def _check_virtual(module: SourceModule, targets: Sequence[Target]) -> None:
    """Raise ConfigError where PTX is asked for that cannot be linked."""
    virtual = next((target for target in targets if not target.real), None)
    linked = (*module.sources, *module.defaults)
    other = next((each for each in linked if each.kind not in (*COMPILED, "ltoir")), None)
    if virtual is not None and other is not None:
        real = ", ".join(f'"{target.arch}-real"' for target in targets if target.real)
        raise ConfigError(
            f"{module.name} cannot have PTX for {virtual}: nvJitLink makes that of LTO-IR alone, and {other.path} "
            f"cannot become LTO-IR. Name real targets only, such as architectures = [{real}]."
        )
