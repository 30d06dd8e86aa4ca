"""Build the modules of a project: plan them, build or reuse them, and write what goes into the wheel.

Also: predict what a build would do, which of it is cached, and how long the rest takes.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, closing, nullcontext
from dataclasses import dataclass
from functools import cache, partial
from importlib.util import find_spec
from pathlib import Path, PurePosixPath
from typing import Any, Literal

from cuda_wheel.builder.cache.compile_cache import CompileCache
from cuda_wheel.builder.cache.known_toolchain import recall_toolchain, remember_toolchain, toolchain_environment
from cuda_wheel.builder.cache.whole_builds import WholeBuilds
from cuda_wheel.builder.config.architectures import first_capability
from cuda_wheel.builder.config.names import TABLE
from cuda_wheel.builder.config.settings import Config, ignored_options
from cuda_wheel.builder.errors import ConfigError
from cuda_wheel.builder.execute import PlanRunner
from cuda_wheel.builder.jobs import ABSENT, BuiltModule, Compiled, Configurations, Job
from cuda_wheel.builder.manifest_writer.coverage import deciding, gaps
from cuda_wheel.builder.manifest_writer.packing import joined
from cuda_wheel.builder.plan import (
    Link,
    ModulePlan,
    Plan,
    make_link_job,
    make_plan,
    modules_by_job,
    targets_of,
    worker_options,
)
from cuda_wheel.builder.report.notes import unneeded_folders
from cuda_wheel.builder.report.reporter import Reporter
from cuda_wheel.builder.schedule import BUNDLING_SECONDS, time_needed
from cuda_wheel.builder.scratch import exit_on_signals
from cuda_wheel.builder.sources.autotune import has_configurations, with_configurations
from cuda_wheel.builder.sources.header_dependencies import is_toolkit_header
from cuda_wheel.builder.sources.header_search import is_listed
from cuda_wheel.builder.sources.layout import SBOM, WheelFile
from cuda_wheel.builder.sources.modules import SourceModule, needs_nvvm, one_module, select, variants_of
from cuda_wheel.builder.sources.paths import files_below, is_inside, outside_error
from cuda_wheel.builder.sources.pytorch_options import pytorch_note
from cuda_wheel.builder.toolchain.toolchain import Nvvm, PythonCompiler, Tileiras, Toolchain
from cuda_wheel.builder.wheel.outputs import (
    attaching_packages,
    carried_sources,
    known_parts,
    loader_files,
    module_files,
    module_parts,
    output_paths,
    stub_files,
    write_new,
)
from cuda_wheel.builder.wheel.sbom import Document, Materials, merged, sbom_path
from cuda_wheel.builder.wheel.tuned_tables import TunedTables, tuned_file
from cuda_wheel.builder.workers.executor import EXECUTOR, FALLBACK, Call, Executor, WorkerFunction
from cuda_wheel.builder.workers.pool import Workers
from cuda_wheel.runtime.driver import device_and_driver, device_count
from cuda_wheel.runtime.errors import DriverError
from cuda_wheel.runtime.manifest import Manifest, Version
from cuda_wheel.runtime.parts.user_cache import Cache

__all__ = [
    "Preview",
    "PreviewedModule",
    "Task",
    "build_module",
    "preview",
    "preview_files",
    "write_outputs",
]


_CLUSTER = re.compile(r"dask://([^/@?#\s]+:\d{1,5})/?")

FIND_NVVM: WorkerFunction[Nvvm] = WorkerFunction("cuda_wheel.builder.toolchain.find:find_nvvm")

FIND_PYTHON_COMPILER: WorkerFunction[PythonCompiler] = WorkerFunction(
    "cuda_wheel.builder.toolchain.python_compilers:find_python_compiler"
)
READ_CONFIGURATIONS: WorkerFunction[Configurations] = WorkerFunction(
    "cuda_wheel.builder.compile.triton_kernels:read_configurations"
)

FIND_TILEIRAS: WorkerFunction[Tileiras] = WorkerFunction("cuda_wheel.builder.toolchain.tileiras:find_tileiras")


@dataclass(frozen=True)
class Task:
    """One job or link of a build."""

    what: Literal["compile", "link"]
    sources: tuple[str, ...]
    target: str
    form: str
    """For a job, its output: "whole" (images that can be loaded without a link), "ptx" (relocatable PTX) or "lto"
    (LTO-IR). For a link, the kind of code that it joins: "ptx" or "lto"."""
    cached: bool | None
    """Whether the cache has the result. None for a link if this is unknown, because the cache lacks the result of a job
    that the link needs."""
    seconds: float
    """Expected duration in seconds if the result is not cached."""
    known: bool
    """True if `seconds` was measured when this task last ran, False if it is an estimate."""


@dataclass(frozen=True)
class PreviewedModule:
    """A module (or one variant of it) and its tasks. A job that several modules need is among the tasks of each."""

    name: str
    tasks: tuple[Task, ...]


@dataclass(frozen=True)
class Preview:
    """What a build would do."""

    toolchain: str
    modules: tuple[PreviewedModule, ...]
    tasks: tuple[Task, ...]
    """All tasks of the build. A job that several modules need is listed once."""
    cores: int
    """Number of tasks that the build would run at once."""
    seconds: float
    """Expected duration of the build in seconds, without the search for the toolchain."""


def preview(plan: Plan, cache: CompileCache, cores: int) -> Preview:
    """Return what a build of `plan` would do with this cache if `cores` tasks run at once. Nothing is compiled."""
    results: dict[Job, Compiled] = {}
    jobs: dict[Job, Task] = {}
    for job, modules in modules_by_job(plan.modules).items():
        result = cache.load_job(job)
        if result is not None:
            results[job] = result
        seconds, known = cache.durations.expected(modules[0].module.name, job)
        jobs[job] = Task("compile", (job.source,), job.target_name, job.form, result is not None, seconds, known)
    previewed = []
    tasks = [*jobs.values()]
    durations = [task.seconds for task in tasks if not task.cached]
    for module in plan.modules:
        links = [_link_task(plan, module, link, results, cache) for link in module.links]
        tasks += links
        durations.append(sum(task.seconds for task in links if not task.cached) + BUNDLING_SECONDS[plan.compress])
        previewed.append(PreviewedModule(module.module.full_name, (*(jobs[job] for job in module.jobs), *links)))
    return Preview(plan.toolchain.name, tuple(previewed), tuple(tasks), cores, time_needed(durations, cores))


def _link_task(plan: Plan, module: ModulePlan, link: Link, results: dict[Job, Compiled], cache: CompileCache) -> Task:
    cached = None
    if all(each in results for each in link.inputs if isinstance(each, Job)):
        cached = cache.load_link(make_link_job(plan, module, link, results)) is not None
    seconds, known = cache.durations.expected(module.module.name, link)
    form = "lto" if link.lto else "ptx"
    return Task("link", module.module.paths, str(link.target), form, cached, seconds, known)


def write_outputs(
    root: Path,
    config: Config,
    files: Sequence[WheelFile],
    reporter: Reporter,
    folder: Path,
    cache: Cache,
    workers: Workers,
    builds: WholeBuilds,
) -> list[str]:
    """Build the modules of a project, write the files for its wheel below `folder`, and return their paths in the
    wheel.

    `builds` stores the outputs for later builds. `builds.toolchain` is used if it is not None; else the workers search
    for the toolchain. For the other parameters and the errors see `project.build_files`.

    The files of a module are written as soon as the module is built, because all together may be larger than memory. A
    build that fails may leave files below `folder`.
    """
    looked_for: set[str] = set()
    modules = select(config, root, files, reporter.warning, looked_for.add)
    packages, names = attaching_packages(files), [module.name for module in modules]
    tables = TunedTables(names, files, reporter.warning)
    parts = known_parts(config, names, packages, tables.files, files)
    toolchain = builds.toolchain or _new_toolchain(workers, cache)
    modules = _with_configurations(root, modules, workers, toolchain)
    plan = _plan(root, config, modules, workers, toolchain)
    compile_cache = CompileCache(cache, plan.toolchain)
    assembly = _Assembly(root, config, modules, plan, reporter)
    documents: dict[str, Document] = {}
    with (
        _chosen_executor(config, workers, plan, reporter.warning) as executor,
        closing(PlanRunner(plan, executor, reporter, compile_cache).run()) as built,
    ):
        for variant in built:
            module = assembly.add(variant)
            del variant
            if module is not None:
                tables.check(module)
                parts.update(module_parts(config, module))
                write_new(module_files(module), folder)
                documents[module.name] = assembly.document(module)
            del module
    assembly.check()
    write_new(tables.files, folder)
    loader = loader_files(config, names, parts)
    write_new(stub_files(config, names, packages, folder, reporter.warning) | loader, folder)
    write_new({SBOM: merged([documents[name] for name in names])} if config.sbom else {}, folder)
    paths = output_paths(names, packages) + list(loader) + list(tables.files)
    inputs = None if plan.nvvm or plan.python_compilers or plan.tileiras else compile_cache.inputs(plan.modules)
    sources = [path for module in modules for path in module.paths]
    kept = [*paths, SBOM] if config.sbom else paths
    builds.keep(plan.toolchain, inputs, sources, looked_for, folder, kept, reporter.shown)
    return paths


def build_module(
    root: Path, table: Mapping[str, Any], environ: Mapping[str, str], reporter: Reporter
) -> tuple[dict[str, bytes], list[str]]:
    """Return the files of one module, and the absolute paths of all files that these depend on.

    The files are path in the wheel -> content, and include the module's part of the SBOM. `table` is a
    `[[tool.cuda-wheel.module]]` that names its sources. A table of tuned choices beside the first source, if there is
    one, is checked and returned too. The project's `[tool.cuda-wheel]`, if there is one, provides all other settings.
    Nothing is written. Raises the errors of `project.build_files`.
    """
    config, module = one_module(root, table, environ)
    tuned = tuned_file(root / module.paths[0], module.name)
    tables = TunedTables([module.name], tuned, reporter.warning)
    cache = Cache()
    with exit_on_signals(), Workers(config.timeout, config.memory_limit) as workers:
        toolchain = recall_toolchain(cache, toolchain_environment()) or _new_toolchain(workers, cache)
        plan = _plan(root, config, [module], workers, toolchain)
        compile_cache = CompileCache(cache, plan.toolchain)
        assembly = _Assembly(root, config, [module], plan, reporter)
        with _chosen_executor(config, workers, plan, reporter.warning) as executor:
            variants = PlanRunner(plan, executor, reporter, compile_cache).run()
            (built,) = filter(None, map(assembly.add, variants))
    assembly.check()
    tables.check(built)
    headers = _possible_headers(root, module) if built.headers is None else built.headers
    inputs = [*(str(root / path) for path in module.paths), *headers, *(str(file.source) for file in tuned)]
    part = {sbom_path(module.name): json.dumps(assembly.document(built)).encode()}
    parts = module_parts(config, built) | known_parts(config, [module.name], {}, tables.files)
    return module_files(built) | tables.files | loader_files(config, [module.name], parts) | part, inputs


def preview_files(root: Path, config: Config, files: Iterable[WheelFile]) -> Preview:
    """Return what `project.build_files` would do, without compiling or writing anything.

    Cache entries that the build would use are marked as used now. Raises ConfigError or ToolchainError.
    """
    modules = select(config, root, files)
    with exit_on_signals(), Workers(config.timeout, config.memory_limit) as workers:
        cache = Cache()
        toolchain = recall_toolchain(cache, toolchain_environment()) or workers.toolchain()
        modules = _with_configurations(root, modules, workers, toolchain)
        plan = _plan(root, config, modules, workers, toolchain)
        return preview(plan, CompileCache(cache, plan.toolchain), workers.count)


class _Assembly:
    """Joins the built variants of each module, and reports what is wrong with the modules and their settings.

    The constructor reports what can be known before the build, such as settings without effect; `check` the rest.
    """

    def __init__(
        self, root: Path, config: Config, modules: Sequence[SourceModule], plan: Plan, reporter: Reporter
    ) -> None:
        self._root = root
        self._modules = {module.name: module for module in modules}
        self._header_folders = plan.toolchain.header_folders
        self._reporter = reporter
        self._system_dirs = {each.module.name: each.system_dirs for each in plan.modules}
        self._outside_header = _outside_header_finder(root, plan.toolchain.header_folders)
        self._materials = Materials(root, config, plan.toolchain, plan.nvvm, plan.python_compilers, plan.tileiras)
        self._variants: dict[str, list[BuiltModule]] = {}
        """Module name -> the variants of the module that are built so far. A module is removed when its last variant is
        built."""
        self._manifests: dict[str, list[Manifest]] = {}
        """Module name -> manifest of each variant, for modules whose variants are all built. The manifests contain only
        what decides which GPUs and drivers a variant supports."""
        self._outside: dict[str, str] = {}
        """Module name -> absolute path of the first undeclared header outside the project that the module reads. An
        sdist of the project would lack this header. A module without such a header has no entry."""
        self._absent: set[str] = set()
        """Names of missing headers that were treated as empty: the compiler read an empty file in place of each."""
        unneeded = dict.fromkeys(folder for module in modules for folder in module.unneeded)
        for line in [
            *ignored_options(module.settings for module in modules),
            *unneeded_folders(plan.toolchain, unneeded),
            *pytorch_note([module.name for module in modules if module.got_pytorch_macros]),
            *(
                f"{each.module.full_name}: the LTO-IR for linking depends on where the headers of system-include-dirs "
                "are, so builds on other machines differ."
                for each in plan.modules
                if each.relocatable and each.system_dirs
            ),
        ]:
            reporter.warning(line)

    def add(self, built: BuiltModule) -> BuiltModule | None:
        """Add a built variant. Return the module if all its variants are built now, else None.

        This object keeps no reference to the images of a module that it returned.
        """
        module = self._modules[built.name]
        variants = self._variants.setdefault(module.name, [])
        variants.append(built)
        order = [each.variant for each in variants_of(module)]
        if len(variants) < len(order):
            return None
        del self._variants[module.name]
        variants.sort(key=lambda each: order.index(each.manifest.variant))
        # The wheel has the sources too if the module is to be compiled for what no variant foresees.
        carry = partial(carried_sources, self._root, module, toolchain=self._header_folders)
        whole = joined(variants, carry if module.settings.specialize else None)
        if found := self._outside_header(whole.headers or (), self._system_dirs[module.name]):
            self._outside[module.name] = found
        self._manifests[module.name] = list(map(deciding, whole.manifests))
        recorded = (text.partition(f": {ABSENT} ") for each in whole.manifests for text in each.host_code)
        self._absent.update(name for _, found, name in recorded if found)
        return whole

    def document(self, module: BuiltModule) -> Document:
        """Return a module's part of the SBOM."""
        headers = module.headers
        if headers is None:
            possible = _possible_headers(self._root, self._modules[module.name])
            headers = (*possible, *self._materials.installed_headers())
        return self._materials.of(module, headers, self._system_dirs[module.name])

    def check(self) -> None:
        """Warn of current GPUs for which there is no image, and of `missing-headers` patterns without effect.

        Raises ConfigError if a module includes a header that no sdist would contain. Call it when all modules are
        built.
        """
        modules = self._modules.values()
        # Of current GPUs that get no image, unless the project builds for this machine's GPUs.
        if not any("native" in module.settings.architectures.entries for module in modules):
            languages = {module.name: "tile" if module.is_tile else module.language for module in modules}
            for language in sorted({*languages.values()}):
                names = [name for name, each in languages.items() if each == language]
                warning = gaps([each for name in names for each in self._manifests[name]], first_capability(language))
                if warning:
                    self._reporter.warning(warning)
        for pattern in dict.fromkeys(each for module in modules for each in module.settings.missing_headers):
            if not any(is_listed(name, [pattern]) for name in self._absent):
                self._reporter.warning(
                    f'{TABLE}.missing-headers: "{pattern}" matches no header that is missing: leave it out.'
                )
        for name, module in self._modules.items():
            if name in self._outside:
                raise outside_error(", ".join(module.paths), self._outside[name])


def _possible_headers(root: Path, module: SourceModule) -> list[str]:
    """Return the absolute paths of all project files that a compiler may have read for a module. These are the files in
    the folders of the module's sources, in its include folders, and in all their subfolders."""
    # Needed if the compiler does not list the headers that it read.
    folders = [*(str(PurePosixPath(path).parent) for path in module.paths), *module.settings.include_dirs]
    return [str(root / path) for path in files_below(root, folders)]


def _new_toolchain(workers: Workers, cache: Cache) -> Toolchain:
    """Search for the toolchain of this environment, store it in the cache for later builds, and return it."""
    workers.search_toolchain()
    if not os.environ.get(EXECUTOR):  # a build on this machine: little else of it is cached
        workers.prepare(workers.count - 1)
    if os.environ.get(EXECUTOR) and find_spec("distributed") is not None:
        import cuda_wheel.builder.cluster.dask_cluster  # noqa: F401 (takes a second, while the worker searches)
    toolchain = workers.toolchain()
    workers.load_compilers(toolchain.libraries[0])
    remember_toolchain(cache, toolchain_environment(), toolchain)
    return toolchain


def _with_configurations(
    root: Path, modules: Iterable[SourceModule], workers: Workers, toolchain: Toolchain
) -> tuple[SourceModule, ...]:
    """Return the modules, with a variant for each configuration where the settings have `autotune`. Raises ConfigError,
    CompileError and ToolchainError."""

    def read(job: Job) -> Configurations:
        found: Configurations = workers.enqueue(Call(READ_CONFIGURATIONS, job, worker_options(job.kind))).result()
        return found

    completed = []
    for module in modules:
        if has_configurations(module):
            targets = targets_of(module.settings.architectures, module.language, toolchain, _installed_gpus)
            module, _ = with_configurations(module, root, [*dict.fromkeys(each.arch for each in targets)], read)
        completed.append(module)
    return tuple(completed)


def _plan(root: Path, config: Config, modules: Sequence[SourceModule], workers: Workers, toolchain: Toolchain) -> Plan:
    nvvm = None
    if needs_nvvm(modules):
        nvvm = workers.submit(FIND_NVVM, toolchain).result()
    languages = sorted({module.language for module in modules} - {""})
    found = [workers.enqueue(Call(FIND_PYTHON_COMPILER, each, worker_options(each))) for each in languages]
    compilers = {language: each.result() for language, each in zip(languages, found, strict=True)}
    tileiras = None
    if any(module.is_tile for module in modules):
        tileiras = workers.submit(FIND_TILEIRAS, toolchain).result()
    variants = [variant for module in modules for variant in variants_of(module)]
    return make_plan(config, variants, root, toolchain, _installed_gpus, nvvm, compilers, tileiras)


def _chosen_executor(
    config: Config, local: Executor, plan: Plan, warn: Callable[[str], None]
) -> AbstractContextManager[Executor]:
    """Return the executor for a build's jobs: `local`, unless an environment variable chooses a Dask cluster. Raises
    ConfigError if the variable is invalid or the package `distributed` is missing.

    `config` gives the cluster its time and memory limits. `plan` gives the cluster its compilers. `warn` is called with
    each warning, from any thread.
    """
    requested, fallback = os.environ.get(EXECUTOR), os.environ.get(FALLBACK)
    if not requested:
        return nullcontext(local)
    cluster = _CLUSTER.fullmatch(requested)
    if cluster is None:
        raise ConfigError(f"the environment variable {EXECUTOR} must be dask://HOST:PORT, not {requested!r}.")
    if fallback not in (None, "", "local"):
        raise ConfigError(f'the environment variable {FALLBACK} must be "local" or unset, not {fallback!r}.')
    if find_spec("distributed") is None:
        raise ConfigError(
            f"{EXECUTOR}={requested} needs the package distributed, which is not installed in this environment: add "
            'the extra "dask", as in "cuda-wheel[cu12,dask]".'
        )
    from cuda_wheel.builder.cluster.dask_cluster import DaskCluster  # imports distributed, which takes a second

    limits = config.timeout, config.memory_limit
    return DaskCluster(cluster[1], local, plan.toolchain, plan.nvvm, *limits, warn, fallback == "local")


def _outside_header_finder(
    root: Path, toolchains: tuple[str, ...]
) -> Callable[[Iterable[str], Iterable[str]], str | None]:
    """Return a function that finds a module's first undeclared header outside the project.

    The function takes the absolute paths of the headers and of the module's `system-include-dirs`. It returns the path
    of the header, or None. It ignores headers in `root` (the project's folder), in a CUDA toolkit, in the
    `system-include-dirs`, and in the folders `toolchains`.
    """

    @cache
    def is_outside(path: str) -> bool:  # modules share most headers, and resolving links takes long
        return not path.startswith(toolchains) and not is_inside(path, root) and not is_toolkit_header(path)

    def first_outside(headers: Iterable[str], system_dirs: Iterable[str]) -> str | None:
        libraries = tuple(folder + os.sep for folder in system_dirs)
        return next((path for path in headers if is_outside(path) and not path.startswith(libraries)), None)

    return first_outside


def _installed_gpus() -> list[Version]:
    try:
        return [device_and_driver(device)[0] for device in range(device_count())]
    except DriverError as error:
        raise ConfigError(
            f'architectures = "native" needs a GPU in this machine, and none can be used: {error}. Name the targets '
            "instead."
        ) from error
