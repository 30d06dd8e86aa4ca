"""Build the images of a project: what every front end calls, with the files that its wheel holds."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any, TypeVar

from cuda_wheel.builder.cache import known_toolchain
from cuda_wheel.builder.cache.compile_cache import CompileCache
from cuda_wheel.builder.cluster.executor import executor
from cuda_wheel.builder.config.settings import Config
from cuda_wheel.builder.describe.coverage import deciding, gaps
from cuda_wheel.builder.errors import ConfigError
from cuda_wheel.builder.execute import execute
from cuda_wheel.builder.jobs import BuiltModule
from cuda_wheel.builder.plan import Plan, make_plan
from cuda_wheel.builder.report.reporter import Reporter
from cuda_wheel.builder.scratch import ending_in_order
from cuda_wheel.builder.sources.includes import is_toolkits
from cuda_wheel.builder.sources.layout import WheelFile
from cuda_wheel.builder.sources.modules import SourceModule, needs_nvvm, one_module, select
from cuda_wheel.builder.sources.paths import files_below, is_inside, outside_error
from cuda_wheel.builder.toolchain.find import find_nvvm, find_toolchain
from cuda_wheel.builder.toolchain.records import INCLUDE, Toolchain
from cuda_wheel.builder.wheel.outputs import (
    attaching_packages,
    loader_files,
    module_files,
    output_paths,
    stub_files,
    write,
)
from cuda_wheel.builder.wheel.sbom import SBOM, Document, Materials, merged, sbom_path
from cuda_wheel.builder.workers.pool import Workers
from cuda_wheel.runtime.cache import Cache
from cuda_wheel.runtime.driver import device_and_driver, device_count
from cuda_wheel.runtime.errors import DriverError
from cuda_wheel.runtime.manifest import Manifest, Version

if TYPE_CHECKING:
    from cuda_wheel.builder.preview import Preview

__all__ = [
    "build_files",
    "build_module",
    "planned_files",
    "preview_files",
]


T = TypeVar("T")


def build_files(root: Path, config: Config, files: Iterable[WheelFile], reporter: Reporter, folder: Path) -> list[str]:
    """Write what a build adds to the wheel of the project in `root`, which has `files`, and return the paths there.

    It is written below `folder`, each module's files as soon as it is built: all together may be more than memory
    holds. The SBOM, which goes into the wheel's metadata, is written there too, as `SBOM`, unless the settings turn it
    off. Of a build that fails, something may be left there.

    Raises ConfigError, ToolchainError or CompileError.
    """
    files = list(files)
    modules, packages = select(config, root, files), attaching_packages(files)

    def keep(module: BuiltModule, made_of: Document) -> Document:
        write(module_files(module), folder)
        return made_of

    documents = _build(root, config, modules, reporter, keep)
    names = [module.name for module in modules]
    write(stub_files(config, names, packages, folder) | loader_files(config, names), folder)
    write({SBOM: merged(documents)} if config.sbom else {}, folder)
    return output_paths(config, names, packages)


def build_module(
    root: Path, table: Mapping[str, Any], environ: Mapping[str, str], reporter: Reporter
) -> tuple[dict[str, bytes], list[str]]:
    """Return the files of one module, by path, with its part of the SBOM, and the absolute paths of all that they were
    made from.

    `table` is a `[[tool.cuda-wheel.module]]` that names its sources; what it does not say, the project's own
    `[tool.cuda-wheel]` does, if there is one. Nothing is written. Raises as `build_files`.
    """
    config, module = one_module(root, table, environ)
    ((built, made_of),) = _build(root, config, [module], reporter, lambda *its: its)
    headers = _perhaps_read(root, module) if built.headers is None else built.headers
    inputs = [*(str(root / path) for path in module.paths), *headers]
    part = {sbom_path(module.name): json.dumps(made_of).encode()}
    return module_files(built) | loader_files(config, [module.name]) | part, inputs


def _perhaps_read(root: Path, module: SourceModule) -> list[str]:
    """Return the files of the project that a compiler, which cannot tell, might have read: absolute paths."""
    folders = [*(str(PurePosixPath(path).parent) for path in module.paths), *module.settings.include_dirs]
    return [str(root / path) for path in files_below(root, folders)]


def _build(
    root: Path,
    config: Config,
    modules: Sequence[SourceModule],
    reporter: Reporter,
    keep: Callable[[BuiltModule, Document], T],
) -> list[T]:
    """Return what `keep` makes of each module, which it gets as soon as it is built, with what it was made of."""
    with ending_in_order(), Workers(config.timeout, config.memory_limit) as workers:
        kept = Cache()
        plan = _plan(root, config, modules, workers, _toolchain(workers, kept, keep=True))
        astray = _finder_of_astray(root, (str(INCLUDE), *plan.toolchain.include_dirs))
        selected = {module.name: module for module in modules}
        materials = Materials(root, config, plan.toolchain, plan.nvvm)

        def take(module: BuiltModule) -> tuple[Manifest, str | None, T]:
            headers = module.headers
            if headers is None:
                headers = (*_perhaps_read(root, selected[module.manifest.name]), *materials.installed_headers())
            made_of = materials.of(module.manifest, headers)
            return deciding(module.manifest), astray(module.headers or ()), keep(module, made_of)

        with executor(config, workers, plan.toolchain, plan.nvvm, reporter.warning) as chosen:
            built = execute(plan, chosen, reporter, CompileCache(kept, plan.toolchain), take)
    if not any("native" in module.settings.architectures.entries for module in modules):
        short = gaps(manifest for manifest, _, _ in built)
        if short:
            reporter.warning(short)
    for manifest, header, _ in built:
        if header is not None:
            raise outside_error(", ".join(manifest.sources), header)
    return [its for _, _, its in built]


def _toolchain(workers: Workers, cache: Cache, keep: bool) -> Toolchain:
    """Return the toolchain of this environment; where it is not known yet, it may be remembered."""
    environment = known_toolchain.environment()
    toolchain = known_toolchain.recall(cache, environment)
    if toolchain is None:
        toolchain = workers.submit(find_toolchain, None).result()
        if keep:
            known_toolchain.keep(cache, environment, toolchain)
    return toolchain


def _plan(root: Path, config: Config, modules: Sequence[SourceModule], workers: Workers, toolchain: Toolchain) -> Plan:
    nvvm = workers.submit(find_nvvm, toolchain).result() if needs_nvvm(modules) else None
    return make_plan(config, modules, root, toolchain, _installed_gpus, nvvm)


def preview_files(root: Path, config: Config, files: Iterable[WheelFile]) -> Preview:
    """Return what `build_files` would do. Nothing is compiled, and nothing written; what the cache has of it counts as
    used. Raises ConfigError or ToolchainError."""
    from cuda_wheel.builder.preview import preview  # no build needs it

    modules = select(config, root, files)
    with ending_in_order(), Workers(config.timeout, config.memory_limit) as workers:
        cache = Cache()
        plan = _plan(root, config, modules, workers, _toolchain(workers, cache, keep=False))
        return preview(plan, CompileCache(cache, plan.toolchain), workers.count)


def _finder_of_astray(root: Path, toolchains: tuple[str, ...]) -> Callable[[Iterable[str]], str | None]:
    """Return a function that finds, among the headers of a module, one that no sdist would have."""

    @cache
    def is_astray(path: str) -> bool:  # modules share most headers, and to look where links lead to takes long
        return not path.startswith(toolchains) and not is_inside(path, root) and not is_toolkits(path)

    return lambda headers: next(filter(is_astray, headers), None)


def planned_files(root: Path, config: Config, files: Iterable[WheelFile]) -> list[str]:
    """Return the paths of what `build_files` would return, without building; raises ConfigError."""
    files = list(files)
    return output_paths(config, [module.name for module in select(config, root, files)], attaching_packages(files))


def _installed_gpus() -> list[Version]:
    try:
        return [device_and_driver(device)[0] for device in range(device_count())]
    except DriverError as error:
        raise ConfigError(
            f'architectures = "native" asks the GPUs of this machine, and there is none to ask: {error}. '
            "Name the targets instead."
        ) from error
