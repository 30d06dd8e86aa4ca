"""Build modules: plan them, take from the cache what it has, run the rest, and write what goes into the wheel.

Predict what a build would do: its jobs and links, which of them the cache has, and how long the others take.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any, Generic, Literal, NamedTuple, TypeVar

from cuda_wheel.builder.cache.compile_cache import CompileCache
from cuda_wheel.builder.cache.known_toolchain import recall_toolchain, remember_toolchain, toolchain_environment
from cuda_wheel.builder.cluster.dask_cluster import choose_executor, import_early
from cuda_wheel.builder.config.settings import TABLE, Config, ignored_options
from cuda_wheel.builder.errors import ConfigError
from cuda_wheel.builder.execute import execute
from cuda_wheel.builder.jobs import ABSENT, BuiltModule, Compiled, FinishedModule, Job
from cuda_wheel.builder.manifest_writer.coverage import deciding, gaps
from cuda_wheel.builder.manifest_writer.packing import finished_module
from cuda_wheel.builder.plan import Link, ModulePlan, Plan, make_link_job, make_plan, modules_by_job
from cuda_wheel.builder.report.progress import unneeded_folders
from cuda_wheel.builder.report.reporter import Reporter
from cuda_wheel.builder.schedule import BUNDLING_SECONDS, time_needed
from cuda_wheel.builder.scratch import exit_on_signals
from cuda_wheel.builder.sources.header_dependencies import is_toolkit_header
from cuda_wheel.builder.sources.header_search import is_listed
from cuda_wheel.builder.sources.layout import SBOM, WheelFile
from cuda_wheel.builder.sources.modules import SourceModule, needs_nvvm, one_module, select, variants_of
from cuda_wheel.builder.sources.paths import files_below, is_inside, outside_error
from cuda_wheel.builder.sources.pytorch_options import pytorch_note
from cuda_wheel.builder.toolchain.toolchain import Toolchain
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
from cuda_wheel.builder.workers.executor import EXECUTOR
from cuda_wheel.builder.workers.pool import LocalWorkers
from cuda_wheel.runtime.errors import DriverError
from cuda_wheel.runtime.manifest import Manifest, Version
from cuda_wheel.runtime.parts.user_cache import Cache

if TYPE_CHECKING:
    from cuda_wheel.builder.cache.files import Place
__all__ = [
    "Built",
    "Outputs",
    "Preview",
    "PreviewedModule",
    "Task",
    "build_modules",
    "one_built_module",
    "preview",
    "previewed",
    "write_outputs",
]


@dataclass(frozen=True)
class Task:
    """One job or link of a build."""

    what: Literal["compile", "link"]
    sources: tuple[str, ...]
    target: str
    form: str
    """ "whole", or the relocatable form that is compiled or linked: "ptx" or "lto"."""
    cached: bool | None
    """None for a link of sources that must be compiled first: it is cached if they compile to the same code as before.
    """
    seconds: float
    """The expected duration if it is not in the cache."""
    known: bool
    """Whether `seconds` is the duration of the last run; else it is an estimate."""


@dataclass(frozen=True)
class PreviewedModule:
    """A module and its tasks. A job that several modules need is in each of them."""

    name: str
    tasks: tuple[Task, ...]


@dataclass(frozen=True)
class Preview:
    """What a build would do."""

    toolchain: str
    modules: tuple[PreviewedModule, ...]
    tasks: tuple[Task, ...]
    """Each task once."""
    cores: int
    """How many tasks would run at once."""
    seconds: float
    """The expected duration of the build on these cores, after the toolchain is found."""


def preview(plan: Plan, cache: CompileCache, cores: int) -> Preview:
    """Return what a build would do with this cache on so many cores. Nothing is compiled."""
    results: dict[Job, Compiled] = {}
    jobs: dict[Job, Task] = {}
    for job, modules in modules_by_job(plan).items():
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


T = TypeVar("T")


class Outputs(NamedTuple):
    """What a build has written, and what decided it."""

    paths: list[str]
    """The paths in the wheel."""
    read: list[str]
    """The project-relative paths of all sources."""
    looked_for: set[str]
    """The project-relative paths where headers were looked for, to find the `.cu` files among them."""
    toolchain: Toolchain
    inputs: dict[Place, str | None] | None
    """The hash of each file that decides the images; None if that is not known for all of them."""


def write_outputs(
    root: Path,
    config: Config,
    files: Sequence[WheelFile],
    reporter: Reporter,
    folder: Path,
    cache: Cache,
    workers: LocalWorkers,
    toolchain: Toolchain | None,
) -> Outputs:
    """Build the modules of a project and write what its wheel gets below `folder`; see `project.build_files`.

    `toolchain` is that of this environment, if it is known; else it is the one that `workers` find.

    Each module's files are written as soon as it is built: all together may be larger than memory. A build that fails
    may leave files there.
    """
    looked_for: set[str] = set()
    modules = select(config, root, files, reporter.warning, looked_for.add)
    packages, names = attaching_packages(files), [module.name for module in modules]
    tables = TunedTables(names, files, reporter.warning)
    parts = known_parts(names, packages, tables.files)

    def write_module(module: FinishedModule, document: Document) -> Document:
        tables.check(module)
        parts.update(module_parts(config, module))
        write_new(module_files(module), folder)
        return document

    toolchain = toolchain or _new_toolchain(workers, cache)
    built = build_modules(root, config, modules, reporter, write_module, cache, workers, toolchain)
    write_new(tables.files, folder)
    loader = loader_files(config, names, parts)
    write_new(stub_files(config, names, packages, folder, reporter.warning) | loader, folder)
    write_new({SBOM: merged(built.values)} if config.sbom else {}, folder)
    paths = output_paths(names, packages) + list(loader) + list(tables.files)
    sources = [path for module in modules for path in module.paths]
    return Outputs(paths, sources, looked_for, built.toolchain, built.inputs)


def one_built_module(
    root: Path, table: Mapping[str, Any], environ: Mapping[str, str], reporter: Reporter
) -> tuple[dict[str, bytes], list[str]]:
    """Build one module; see `project.build_module`."""
    config, module = one_module(root, table, environ)
    tuned = tuned_file(root / module.paths[0], module.name)
    tables = TunedTables([module.name], tuned, reporter.warning)
    cache = Cache()
    with exit_on_signals(), LocalWorkers(config.timeout, config.memory_limit) as workers:
        toolchain = recall_toolchain(cache, toolchain_environment()) or _new_toolchain(workers, cache)
        found = build_modules(root, config, [module], reporter, lambda *pair: pair, cache, workers, toolchain)
    ((built, document),) = found.values
    tables.check(built)
    headers = _possible_headers(root, module) if built.headers is None else built.headers
    inputs = [*(str(root / path) for path in module.paths), *headers, *(str(file.source) for file in tuned)]
    part = {sbom_path(module.name): json.dumps(document).encode()}
    parts = module_parts(config, built) | known_parts([module.name], {}, tables.files)
    return module_files(built) | tables.files | loader_files(config, [module.name], parts) | part, inputs


def previewed(root: Path, config: Config, files: Iterable[WheelFile]) -> Preview:
    """Return what a build would do; see `project.preview_files`."""

    modules = select(config, root, files)
    with exit_on_signals(), LocalWorkers(config.timeout, config.memory_limit) as workers:
        cache = Cache()
        toolchain = recall_toolchain(cache, toolchain_environment()) or workers.toolchain()
        plan = _plan(root, config, modules, workers, toolchain)
        return preview(plan, CompileCache(cache, plan.toolchain), workers.count)


@dataclass(frozen=True)
class Built(Generic[T]):
    """The modules of a build, and what decided them."""

    values: list[T]
    """What became of each module."""
    toolchain: Toolchain
    inputs: dict[Place, str | None] | None
    """As in `Outputs`."""


class _Consumed(NamedTuple):
    """What remains of a built module when its images are no longer in memory."""

    manifests: tuple[Manifest, ...]
    """Of its variants, without kernels: the part that decides the coverage."""
    outside_header: str | None
    """A header that no sdist would contain."""
    absent_headers: tuple[str, ...]
    """The names of the headers that were missing, as `missing-headers` allows."""
    value: Any


def build_modules(
    root: Path,
    config: Config,
    modules: Sequence[SourceModule],
    reporter: Reporter,
    consume: Callable[[FinishedModule, Document], T],
    cache: Cache,
    workers: LocalWorkers,
    toolchain: Toolchain,
) -> Built[T]:
    """Return what `consume` returns for each module and its part of the SBOM, as soon as the module is built."""
    plan = _plan(root, config, modules, workers, toolchain)
    compile_cache = CompileCache(cache, plan.toolchain)
    unneeded = dict.fromkeys(folder for module in modules for folder in module.unneeded)
    for line in [
        *ignored_options(module.settings for module in modules),
        *unneeded_folders(plan.toolchain, unneeded),
        *pytorch_note([module.name for module in modules if module.got_pytorch_macros]),
        *(
            f"{each.module.full_name}: the LTO-IR for linking depends on where the headers of system-include-dirs are, "
            "so builds on other machines differ."
            for each in plan.modules
            if each.relocatable and each.system_dirs
        ),
    ]:
        reporter.warning(line)
    outside_header = _outside_header_finder(root, plan.toolchain.header_folders)
    system_dirs = {each.module.name: each.system_dirs for each in plan.modules}
    by_name = {module.name: module for module in modules}
    materials = Materials(root, config, plan.toolchain, plan.nvvm)

    def consume_module(module: FinishedModule) -> _Consumed:
        headers = module.headers
        if headers is None:
            headers = (*_possible_headers(root, by_name[module.name]), *materials.installed_headers())
        system = system_dirs[module.name]
        document = materials.of(module, headers, system)
        manifests = tuple(map(deciding, module.manifests))
        recorded = (text.partition(f": {ABSENT} ") for each in module.manifests for text in each.host_code)
        absent = tuple(name for _, found, name in recorded if found)
        return _Consumed(manifests, outside_header(module.headers or (), system), absent, consume(module, document))

    unfinished = _Unfinished(root, modules, plan.toolchain.header_folders, consume_module)
    with choose_executor(config, workers, plan.toolchain, plan.nvvm, reporter.warning) as chosen:
        finished = execute(plan, chosen, reporter, compile_cache, unfinished.add)
    built = [module for module in finished if module is not None]
    _warn_of_gaps(modules, built, reporter)
    for pattern in _unmatched_patterns(modules, built):
        reporter.warning(f'{TABLE}.missing-headers: "{pattern}" matches no header that is missing: leave it out.')
    for module in built:
        if module.outside_header is not None:
            raise outside_error(", ".join(module.manifests[0].sources), module.outside_header)
    inputs = None if plan.nvvm else compile_cache.inputs(plan.modules)
    return Built([module.value for module in built], plan.toolchain, inputs)


class _Unfinished:
    """The modules of a build whose variants are not all built yet."""

    def __init__(
        self,
        root: Path,
        modules: Iterable[SourceModule],
        toolchain: tuple[str, ...],
        consume: Callable[[FinishedModule], _Consumed],
    ) -> None:
        self._root = root
        self._modules = {module.name: module for module in modules}
        self._toolchain = toolchain
        self._order = {name: [each.variant for each in variants_of(module)] for name, module in self._modules.items()}
        self._built: dict[str, list[BuiltModule]] = {}
        self._consume = consume

    def add(self, built: BuiltModule) -> _Consumed | None:
        """Add a module or a variant; return what `consume` returns for a module whose variants are complete now."""
        name = built.manifest.name
        variants = self._built.setdefault(name, [])
        variants.append(built)
        order = self._order[name]
        if len(variants) < len(order):
            return None
        del self._built[name]
        variants.sort(key=lambda each: order.index(each.manifest.variant))
        module = self._modules[name]
        if not module.settings.specialize:
            return self._consume(finished_module(variants))
        carry = partial(carried_sources, self._root, module, toolchain=self._toolchain)
        return self._consume(finished_module(variants, carry))


def _warn_of_gaps(modules: Iterable[SourceModule], built: Iterable[_Consumed], reporter: Reporter) -> None:
    """Warn of current GPUs that get no image, unless the project builds for this machine's GPUs."""
    if not any("native" in module.settings.architectures.entries for module in modules):
        warning = gaps(manifest for module in built for manifest in module.manifests)
        if warning:
            reporter.warning(warning)


def _unmatched_patterns(modules: Iterable[SourceModule], built: Iterable[_Consumed]) -> list[str]:
    """Return the patterns of `missing-headers` by which no module lacks a header."""
    absent = {name for module in built for name in module.absent_headers}
    patterns = dict.fromkeys(each for module in modules for each in module.settings.missing_headers)
    return [pattern for pattern in patterns if not any(is_listed(name, [pattern]) for name in absent)]


def _possible_headers(root: Path, module: SourceModule) -> list[str]:
    """Return the absolute paths of the project's files that a compiler may have read that cannot list them."""
    folders = [*(str(PurePosixPath(path).parent) for path in module.paths), *module.settings.include_dirs]
    return [str(root / path) for path in files_below(root, folders)]


def _new_toolchain(workers: LocalWorkers, cache: Cache) -> Toolchain:
    """Return the toolchain of an environment that is not known yet, and remember it in the cache."""
    workers.search_toolchain()
    if not os.environ.get(EXECUTOR):  # a build on this machine: little else of it is cached
        workers.prepare(workers.count - 1)
    import cuda_wheel.builder.execute  # noqa: F401 (while the worker searches)

    import_early()
    toolchain = workers.toolchain()
    workers.load_compilers(toolchain.libraries[0])
    remember_toolchain(cache, toolchain_environment(), toolchain)
    return toolchain


def _plan(
    root: Path, config: Config, modules: Sequence[SourceModule], workers: LocalWorkers, toolchain: Toolchain
) -> Plan:
    nvvm = None
    if needs_nvvm(modules):
        from cuda_wheel.builder.toolchain.find import find_nvvm  # only for NVVM IR

        nvvm = workers.submit(find_nvvm, toolchain).result()
    variants = [variant for module in modules for variant in variants_of(module)]
    return make_plan(config, variants, root, toolchain, _installed_gpus, nvvm)


def _outside_header_finder(
    root: Path, toolchains: tuple[str, ...]
) -> Callable[[Iterable[str], Iterable[str]], str | None]:
    """Return a function that returns the first of a module's headers that is outside the project, all toolkits and the
    module's folders of other libraries."""

    @cache
    def is_outside(path: str) -> bool:  # modules share most headers, and resolving links takes long
        return not path.startswith(toolchains) and not is_inside(path, root) and not is_toolkit_header(path)

    def first_outside(headers: Iterable[str], system_dirs: Iterable[str]) -> str | None:
        libraries = tuple(folder + os.sep for folder in system_dirs)
        return next((path for path in headers if is_outside(path) and not path.startswith(libraries)), None)

    return first_outside


def _installed_gpus() -> list[Version]:
    from cuda_wheel.runtime.driver import device_and_driver, device_count  # only for "native"

    try:
        return [device_and_driver(device)[0] for device in range(device_count())]
    except DriverError as error:
        raise ConfigError(
            f'architectures = "native" needs a GPU in this machine, and none can be used: {error}. Name the targets '
            "instead."
        ) from error
