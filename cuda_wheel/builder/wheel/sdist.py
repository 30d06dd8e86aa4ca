"""List the files that an sdist needs so that a wheel can be built from it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from cuda_wheel.builder.config.settings import Config
from cuda_wheel.builder.sources.header_dependencies import is_toolkit_header, reachable
from cuda_wheel.builder.sources.layout import WheelFile
from cuda_wheel.builder.sources.modules import SourceModule, named_sources, select
from cuda_wheel.builder.sources.paths import files_below, is_inside, leads_out, outside_error
from cuda_wheel.runtime.manifest import TABLE_SUFFIX

__all__ = ["files_of_sources", "sdist_files"]


def sdist_files(config: Config, root: Path, files: Iterable[WheelFile], warn: Callable[[str], None]) -> list[str]:
    """Return the files of the project that a build reads, project-relative with "/": the sources of all modules, the
    headers that they include, all files in `include-dirs`, and tables of tuned choices. No compiler runs.

    Raises ConfigError like `select`, and for a header outside the project. Call `warn` instead for a header of the
    CUDA toolkit, and for one whose `#include` is in a conditional block.
    """
    files = list(files)
    modules = select(config, root, files)
    tables = [file.source for file in files if file.destination.endswith(TABLE_SUFFIX)]
    own = [str(path) for path in tables if is_inside(str(path), root)]
    found = {path for module in modules for path in module.paths}
    for module in modules:
        below = files_below(root, module.settings.include_dirs)
        found.update(path for path in below if is_inside(str(root / path), root))
        own += _own_headers(module, root, warn)
    return sorted(found.union(os.path.relpath(path, root).replace(os.sep, "/") for path in own))


def files_of_sources(config: Config, root: Path, files: Iterable[str]) -> list[str]:
    """Return `files`, which are project-relative, and the files of the project that a build reads beside them,
    project-relative with "/" and sorted: what module tables name, headers, and all files in `include-dirs`.

    This is for a front end that does not know the wheel's files when it makes an sdist. Nothing is checked: what is
    wrong with a source, the build of the wheel reports.
    """
    tables = [config.for_module(), *config.module]
    named = {os.path.relpath(path, root).replace(os.sep, "/") for path in named_sources(config, root)}
    found = {path for path in {*files, *named} if (root / path).is_file() and is_inside(str(root / path), root)}
    folders = dict.fromkeys(folder for table in tables for folder in table.include_dirs)
    for path in [each for each in found if each.endswith(".cu")]:
        headers = (header.path for header in reachable(root, path, folders).headers)
        found.update(os.path.relpath(each, root).replace(os.sep, "/") for each in headers if is_inside(each, root))
    below = files_below(root, [folder for folder in folders if not leads_out(root / folder, root)])
    return sorted(found.union(path for path in below if is_inside(str(root / path), root)))


def _own_headers(module: SourceModule, root: Path, warn: Callable[[str], None]) -> Iterator[str]:
    """Yield the absolute path of each header in the project that CUDA sources of the module include, directly or not.

    For a header outside the project, call `warn` with a message, or raise ConfigError. ConfigError is raised if the
    header is not part of a CUDA toolkit and its `#include` is in no conditional block.
    """
    cuda = [source.path for source in (*module.sources, *module.defaults) if source.kind == "cuda"]
    for header in (each for path in cuda for each in reachable(root, path, module.settings.include_dirs).headers):
        if is_inside(header.path, root):
            yield header.path
        elif is_toolkit_header(header.path):
            warn(
                f"{header.included_at} includes {header.path}, a header of the CUDA toolkit, by its path on this "
                "machine. Include it by its name alone, so that every toolchain finds its own."
            )
        elif header.conditional:
            warn(
                f"{header.included_at} may include {header.path}, which lies outside the project: no sdist contains it."
            )
        else:
            raise outside_error(header.included_at, header.path)
