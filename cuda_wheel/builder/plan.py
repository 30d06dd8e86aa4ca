"""Decide which compiler calls, with which options, make which images. Nothing is compiled here."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from pathlib import Path

from cuda_wheel.builder.config.architectures import language_targets, settle, tile_targets
from cuda_wheel.builder.config.compiler_options import read_options
from cuda_wheel.builder.config.settings import Config
from cuda_wheel.builder.config.values import Architectures
from cuda_wheel.builder.errors import ConfigError
from cuda_wheel.builder.jobs import Compiled, Form, Job, LinkInput, LinkJob
from cuda_wheel.builder.sources.modules import SourceModule
from cuda_wheel.builder.sources.paths import system_folders
from cuda_wheel.builder.sources.source_files import COMPILED, NVVM_KINDS, Source
from cuda_wheel.builder.toolchain.headers import device_library_builds
from cuda_wheel.builder.toolchain.nvrtc import ENABLE_TILE, FORM_OPTIONS
from cuda_wheel.builder.toolchain.toolchain import Nvvm, PythonCompiler, Tileiras, Toolchain
from cuda_wheel.runtime.manifest import Target, Version, dotted, parse_version
from cuda_wheel.runtime.parts.triton.signatures import KERNEL, read_type

__all__ = [
    "Link",
    "ModulePlan",
    "Plan",
    "cuda_sources",
    "make_link_job",
    "make_plan",
    "modules_by_job",
    "targets_of",
    "worker_options",
]


@dataclass(frozen=True)
class Link:
    """One link: makes one image for one target from all sources of a module."""

    target: Target
    lto: bool
    inputs: tuple[Job | Source, ...]
    """Inputs of the link, one for each source of the module: the job that compiles the source, or the source itself if
    it needs no compilation, such as PTX."""
    options: tuple[str, ...]
    """NVRTC options with which the sources are compiled, without include folders and target."""


@dataclass(frozen=True)
class ModulePlan:
    """One module's targets, in the order of its images, and the jobs and links that make the images."""

    module: SourceModule
    targets: tuple[Target, ...]
    """Targets of the images that can be loaded as they are; () for a module that has only code to link at run time."""
    options: tuple[str, ...]
    """Compiler options as they are written to the manifest: with project-relative paths, and without the target."""
    jobs: tuple[Job, ...]
    """All jobs of the module: for loadable images, for its links, and for linking at run time. Each job compiles one
    source for one architecture."""
    system_dirs: tuple[str, ...] = ()
    """Absolute paths of the folders that the setting `system-include-dirs` names."""
    links: tuple[Link, ...] = ()
    """Links that make the loadable images, one for each target. () for a module with `link = "none"`, whose jobs make
    the images, and for a module that is only linked at run time."""
    relocatable: tuple[Job, ...] = ()
    """Jobs whose results are images in the wheel for linking at run time, in the order of these images."""

    @property
    def all_targets(self) -> tuple[Target, ...]:
        """The targets of the loadable images; for a module without any, the virtual targets of the relocatable ones."""
        return self.targets or tuple(dict.fromkeys(Target.parse(f"compute_{job.arch}") for job in self.relocatable))


@dataclass(frozen=True)
class Plan:
    """Everything that a build will do."""

    toolchain: Toolchain
    compress: str
    ptx_version: str
    modules: tuple[ModulePlan, ...]
    nvvm: Nvvm | None = None
    """Compiler of NVVM IR; None if no module has a source in NVVM IR."""
    python_compilers: Mapping[str, PythonCompiler] = field(default_factory=dict)
    """Language of kernels in Python, such as "triton" -> its compiler, for those that the modules have."""
    tileiras: Tileiras | None = None
    """Assembler of CUDA Tile kernels; None if no module has one."""

    def compression(self, module: ModulePlan) -> str:
        """Return the compression of a module's fatbin.

        It is "none" where the loader must read single images from the fatbin: for a module with code for linking at run
        time, and for CUDA Tile kernels, of whose images the driver would not choose by the host.
        """
        return "none" if module.relocatable or module.module.is_tile else self.compress


def make_plan(
    config: Config,
    modules: Sequence[SourceModule],
    root: Path,
    toolchain: Toolchain,
    installed_gpus: Callable[[], Iterable[Version]],
    nvvm: Nvvm | None = None,
    python_compilers: Mapping[str, PythonCompiler] | None = None,
    tileiras: Tileiras | None = None,
) -> Plan:
    """Return the plan for `modules` of the project in `root`.

    `installed_gpus` returns the compute capabilities of this machine's GPUs; it is called for "native" only. `nvvm` is
    required if libNVVM compiles a source of a module, `tileiras` if one has CUDA Tile kernels, and `python_compilers`
    needs the compiler of each language of kernels in Python that a module has. Raises ConfigError for architectures
    that the toolchain cannot compile for or that the module cannot be linked for, and for settings that CUDA Tile
    kernels cannot have.
    """

    @cache  # most modules have the project's
    def targets_of_module(architectures: Architectures, language: str, is_tile: bool) -> tuple[Target, ...]:
        if is_tile and tileiras is not None:
            entries, where = architectures.entries, architectures.where
            targets = settle(entries, toolchain.supported, installed_gpus, where, toolchain.name)
            return tile_targets(entries, targets, where, tileiras.supported, f"tileiras {tileiras.release}")
        return targets_of(architectures, language, toolchain, installed_gpus)

    plans, compilers = [], python_compilers or {}
    for module in modules:
        if module.is_tile and not module.language and tileiras is not None:
            _check_tile(module, toolchain, tileiras)
        targets = targets_of_module(module.settings.architectures, module.language, module.is_tile)
        plans.append(_ModulePlanner(config, module, root, toolchain, nvvm, compilers, tileiras, targets).plan())
    return Plan(toolchain, config.compress, config.ptx_version, tuple(plans), nvvm, compilers, tileiras)


def targets_of(
    architectures: Architectures,
    language: str,
    toolchain: Toolchain,
    installed_gpus: Callable[[], Iterable[Version]],
) -> tuple[Target, ...]:
    """Return the targets of a module with these architectures, whose kernels in Python are in a language ("" without
    such kernels); `installed_gpus` and the errors are those of `make_plan`."""
    entries, where = architectures.entries, architectures.where
    targets = settle(entries, toolchain.supported, installed_gpus, where, toolchain.name)
    return language_targets(language, entries, targets, where) if language else targets


@dataclass(frozen=True)
class _ModulePlanner:
    """Plans one module for `targets`. `nvvm` and `tileiras` are the compiler of NVVM IR and the assembler of CUDA Tile
    kernels, None if no module needs them; `python_compilers`: see `Plan`."""

    config: Config
    module: SourceModule
    root: Path
    toolchain: Toolchain
    nvvm: Nvvm | None
    python_compilers: Mapping[str, PythonCompiler]
    tileiras: Tileiras | None
    targets: Sequence[Target]

    def plan(self) -> ModulePlan:
        targets = self.targets
        _check_descriptors(self.module, targets)
        is_linked = self.module.settings.link != "none"
        if self.module.ready and is_linked:
            _check_virtual(self.module, targets)
        whole = self._whole_jobs() if self.module.ready and not is_linked else []
        links = [self._link(target) for target in targets] if self.module.ready and is_linked else []
        linked = [each for link in links for each in link.inputs if isinstance(each, Job)]
        relocatable = self._relocatable_jobs() if self.module.relocatable else []
        return ModulePlan(
            module=self.module,
            targets=tuple(targets) if self.module.ready else (),
            options=self._manifest_options(),
            jobs=tuple(dict.fromkeys((*whole, *linked, *relocatable))),
            system_dirs=self._system_dirs,
            links=tuple(links),
            relocatable=tuple(relocatable),
        )

    def _whole_jobs(self) -> list[Job]:
        """Return the jobs of a module that is not linked, one for each architecture. The module has one source. A job
        makes machine code, PTX or both, as the targets for its architecture require."""
        (source,) = self.module.sources
        kinds: dict[str, set[bool]] = {}
        for target in self.targets:
            kinds.setdefault(target.arch, set()).add(target.real)
        return [
            self._job(source, arch, "whole", cubin=True in real, ptx=False in real, ptx_version=self.config.ptx_version)
            for arch, real in kinds.items()
        ]

    def _link(self, target: Target) -> Link:
        # nvJitLink produces PTX from LTO-IR only.
        form: Form = "lto" if self.module.settings.link == "lto" or not target.real else "ptx"
        inputs = (
            self._relocatable_job(source, target.arch, form) if source.kind in COMPILED else source
            for source in (*self.module.sources, *self.module.defaults)
        )
        return Link(target, form == "lto", tuple(inputs), self._options)

    def _relocatable_jobs(self) -> list[Job]:
        """Return the jobs whose results go into the wheel for linking at run time. For each architecture and source,
        one job makes LTO-IR and one PTX."""
        archs = dict.fromkeys(target.arch for target in self.targets)
        forms: tuple[Form, ...] = ("lto", "ptx")
        return [
            self._relocatable_job(source, arch, form)
            for arch in archs
            for form in forms
            for source in self.module.sources
        ]

    def _relocatable_job(self, source: Source, arch: str, form: Form) -> Job:
        """Return the job that compiles a source to relocatable code, i.e. PTX or LTO-IR that is to be linked.

        PTX that goes into the wheel gets the PTX ISA version that the setting `ptx-version` asks for. PTX that is only
        linked in this build keeps the compiler's version.
        """
        is_shipped = form == "ptx" and self.module.relocatable
        ptx_version = self.config.ptx_version if is_shipped else "as-compiled"
        return self._job(source, arch, form, cubin=False, ptx=form == "ptx", ptx_version=ptx_version)

    def _job(self, source: Source, arch: str, form: Form, cubin: bool, ptx: bool, ptx_version: str) -> Job:
        settings = self.module.settings
        system_dirs = self._system_dirs if source.kind == "cuda" else ()
        # `#include "x"` looks in the including file's folder first, as in every C++ compiler. NVRTC receives the source
        # as a string and knows no such folder.
        folders = dict.fromkeys([posixpath.dirname(source.path) or ".", *settings.include_dirs])
        job = Job(
            library=self.toolchain.libraries[0],
            root=str(self.root),
            source=source.path,
            text=source.content,
            kind=source.kind,
            form=form,
            arch=arch,
            cubin=cubin,
            ptx=ptx,
            options=self._options,
            include_dirs=self.toolchain.include_folders(folders, system_dirs),
            instantiate=_instantiations(self.module, source),
            lineinfo=False,
            ptx_version=ptx_version,
            system_dirs=system_dirs,
            describes=arch == self.targets[0].arch,
        )
        if self.module.is_tile and self.tileiras is not None:
            release = f"{self.tileiras.release} {self.tileiras.build}"
            job = replace(job, tileiras=release, tileiras_program=self.tileiras.program)
        if source.kind == "cuda":
            return replace(
                job,
                instances=settings.instances,
                lineinfo=settings.lineinfo,
                host_code=settings.host_code,
                missing_headers=settings.missing_headers,
                arch_list=self._arch_list,
            )
        compiler = self.python_compilers.get(source.kind)
        if compiler is not None:
            release = f"{compiler.release} {compiler.build}"
            options = worker_options(source.kind)
            job = replace(job, options=options, variant=self.module.variant, python_compiler=release)
        if self.nvvm is None or (compiler is not None and source.kind not in NVVM_KINDS):
            return job
        job = replace(job, library=self.nvvm.library, libdevice=self.nvvm.libdevice)
        if source.kind in NVVM_KINDS:
            job = replace(job, nvvm=self.nvvm.release, nvvm_build=self.nvvm.build)
        return job

    @cached_property
    def _system_dirs(self) -> tuple[str, ...]:
        return system_folders(self.root, self.module.settings.system_include_dirs)

    @cached_property
    def _arch_list(self) -> str:
        """Return the value of nvcc's macro `__CUDA_ARCH_LIST__` for the targets: "750,900" for sm_75 and sm_90a. It has
        each architecture once, without its letter, in ascending order."""
        numbers = {int(target.arch.rstrip("af")) for target in self.targets}
        return ",".join(f"{number}0" for number in sorted(numbers))

    @cached_property
    def _options(self) -> tuple[str, ...]:
        """Return the compiler options from the settings `std`, `defines` and `options`: all but the include folders and
        the target."""
        settings = self.module.settings
        defines = (f"--define-macro={name}={value}" for name, value in settings.defines)
        tile = (ENABLE_TILE,) if self.module.is_tile else ()
        return (f"--std={settings.std}", *tile, *defines, *read_options(settings.options, "options").arguments)

    def _manifest_options(self) -> tuple[str, ...]:
        settings = self.module.settings
        if self.module.language:
            return ()  # they are in the variant
        return (
            *self._options,
            *(f"--include-path={folder}" for folder in settings.include_dirs),
            *(["--generate-line-info"] if settings.lineinfo else []),
            *({"none": (), "ptx": FORM_OPTIONS["ptx"], "lto": FORM_OPTIONS["lto"]}[settings.link]),
        )


def _check_descriptors(module: SourceModule, targets: Sequence[Target]) -> None:
    """Raise ConfigError if a Triton kernel with tensor descriptors has targets before and after their introduction."""
    types = map(read_type, dict(module.variant).values() if module.language == KERNEL else ())
    if not any(type_ is not None and type_.block for type_ in types):
        return
    early = [str(target) for target in targets if target.capability < FIRST_WITH_TENSOR_MAPS]
    if early and len(early) < len(targets):
        late = ", ".join(str(target) for target in targets if str(target) not in early)
        kernel = dict(module.variant)[KERNEL]
        raise ConfigError(
            f"{module.settings.architectures.where} has {', '.join(early)} and {late}, and {kernel} has tensor "
            "descriptors, which are other parameters before compute capability 9.0: give its "
            "[[tool.cuda-wheel.triton]] architectures that are all before 9.0 or all from 9.0 on, such as "
            '["90-real", "100-real"].'
        )


FIRST_WITH_TENSOR_MAPS: Version = (9, 0)
"""First compute capability for which Triton's tensor descriptors are tensor maps."""


def worker_options(language: str) -> tuple[str, ...]:
    """Return the options of jobs for kernels in a language of Python functions, such as "triton".

    No compiler gets them: a worker serves one set of options, and by these, no worker loads both Triton and NVRTC.
    """
    return (f"--{language}",)


def cuda_sources(module: SourceModule) -> list[Source]:
    """Return a module's sources in CUDA C++, including those of `extern-default`."""
    return [source for source in (*module.sources, *module.defaults) if source.kind == "cuda"]


def _instantiations(module: SourceModule, source: Source) -> tuple[str, ...]:
    """Return the name expressions in the setting `instantiate` that the job for `source` instantiates.

    The text of `source` must contain the name of the expression's template. If no source contains this name, the
    module's first CUDA source instantiates the expression.
    """

    if not module.settings.instantiate:
        return ()

    def mentions(source: Source, expression: str) -> bool:
        name = expression.partition("<")[0].rpartition("::")[2].strip().lstrip("&")
        return re.search(rf"\b{re.escape(name)}\b", source.text) is not None

    # If no source contains the name, a header may define the template.
    cuda = cuda_sources(module)
    return tuple(
        expression
        for expression in module.settings.instantiate
        if source in ([each for each in cuda if mentions(each, expression)] or cuda[:1])
    )


def _check_virtual(module: SourceModule, targets: Sequence[Target]) -> None:
    """Raise ConfigError if a target is virtual (PTX) and a source of the module cannot become LTO-IR: nvJitLink makes
    PTX from nothing else."""
    virtual = next((target for target in targets if not target.real), None)
    linked = (*module.sources, *module.defaults)
    other = next((each for each in linked if each.kind not in (*COMPILED, "ltoir")), None)
    if virtual is not None and other is not None:
        archs = [target.arch for target in targets if target.real] or [target.arch for target in targets]
        real = ", ".join(f'"{arch}-real"' for arch in archs)
        raise ConfigError(
            f"{module.name} cannot have PTX for {virtual}: nvJitLink produces PTX from LTO-IR only, and {other.path} "
            f"cannot become LTO-IR. Name real targets only, such as architectures = [{real}]."
        )


_FIRST_NVRTC: Version = (13, 3)
"""First release of NVRTC that compiles CUDA Tile kernels. Source: NVRTC, "Tile Programming"."""


def _check_tile(module: SourceModule, toolchain: Toolchain, tileiras: Tileiras) -> None:
    """Raise ConfigError for compilers that cannot compile CUDA Tile kernels in C++, and for settings that a module with
    such kernels cannot have."""
    settings = module.settings
    source = next(source for source in (*module.sources, *module.defaults) if source.is_tile)
    nvrtc = parse_version(toolchain.nvrtc)
    if not _FIRST_NVRTC <= nvrtc <= parse_version(tileiras.release):
        raise ConfigError(
            f"{source.path} has CUDA Tile kernels (__tile_global__), which need NVRTC {dotted(_FIRST_NVRTC)} or later, "
            f"and a tileiras of the same release or later; {toolchain.name} and tileiras {tileiras.release} "
            f'({tileiras.program}) are installed: name "cuda-wheel[cu13]", and "nvidia-cuda-nvrtc" and '
            '"nvidia-cuda-tileiras" of one release, such as ==13.5.*, in build-system.requires.'
        )
    debug = next((each for each in settings.options if each in ("-G", "--device-debug")), None)
    refused = {
        "several sources": len(module.sources) > 1,
        f'link = "{settings.link}"': settings.link != "none",
        "relocatable = true": settings.relocatable,
        "extern": bool(settings.extern),
        "instances": bool(settings.instances),
        "lineinfo = true, because line information of tileiras contains absolute paths": settings.lineinfo,
        f"the option {debug}": debug is not None,
    }
    what = next((name for name, is_set in refused.items() if is_set), None)
    if what is not None:
        raise ConfigError(
            f"{source.path} has CUDA Tile kernels, which become whole images: the module {module.name} cannot have "
            f"{what}. Leave it out, if need be in a [[tool.cuda-wheel.module]] table of its own."
        )


def modules_by_job(plans: Iterable[ModulePlan]) -> dict[Job, list[ModulePlan]]:
    """Return job -> the modules that need its result."""
    modules: dict[Job, list[ModulePlan]] = {}
    for module in plans:
        for job in module.jobs:
            modules.setdefault(job, []).append(module)
    return modules


def make_link_job(plan: Plan, module: ModulePlan, link: Link, results: Mapping[Job, Compiled]) -> LinkJob:
    """Return the job for a link of a module. `results` must have the result of every job in `link.inputs`."""
    form = "ltoir" if link.lto else "ptx"
    inputs = []
    for each in link.inputs:
        if isinstance(each, Job):
            inputs.append(LinkInput(each.source, form, getattr(results[each], form) or b"", results[each].declared))
        else:
            inputs.append(LinkInput(each.path, each.kind, each.content))
    return LinkJob(
        module=module.module.name,
        arch=link.target.arch,
        real=link.target.real,
        lto=any(each.kind == "ltoir" for each in inputs),
        inputs=tuple(inputs),
        options=link.options,
        lineinfo=module.module.settings.lineinfo,
        ptx_version=plan.ptx_version,
        include_dirs=plan.toolchain.header_folders,
        system_dirs=module.system_dirs,
        device_libraries=device_library_builds(plan.toolchain.include_dirs),
    )
