"""Build the images of a project: the entry for front ends that know the files of its wheel.

What compiles is imported only if something has changed since an earlier build.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

from cuda_wheel.builder.cache.whole_builds import WholeBuild, WholeBuilds
from cuda_wheel.builder.scratch import exit_on_signals, unwritable
from cuda_wheel.builder.sources.layout import SBOM
from cuda_wheel.runtime.parts.user_cache import Cache, used_in_place

if TYPE_CHECKING:
    from cuda_wheel.builder.config.settings import Config
    from cuda_wheel.builder.report.reporter import Reporter
    from cuda_wheel.builder.sources.layout import WheelFile

__all__ = ["build_files", "planned_files"]


def build_files(
    root: Path,
    config: Config,
    files: Iterable[WheelFile],
    reporter: Reporter,
    folder: Path,
    in_use: ExitStack | None = None,
) -> dict[str, Path]:
    """Build the project in `root` and return path in the wheel -> file to put there.

    `files` are the files that the wheel has without this build. The new files are written below `folder`, which nobody
    else uses, at their paths in the wheel. The SBOM, which belongs in the wheel's metadata, is written to `folder` as
    `SBOM`, unless the settings disable it; the result does not include it.

    A caller that only reads the files may pass a stack, `in_use`, and close it after reading. Then the outputs of an
    earlier build of the same inputs are not copied, and the result has their paths in the cache.

    Raises ConfigError, ToolchainError or CompileError.
    """
    files, cache = list(files), Cache()
    builds = WholeBuilds(cache, root, config, files)
    kept = builds.find() if reporter.can_repeat else None
    if kept is not None:
        is_safe = in_use is not None and in_use.enter_context(used_in_place(cache.folder))
        provided = _provided(kept, folder, cache.folder if is_safe else None)
        if provided is not None:
            reporter.repeat(kept.shown)
            return provided
    from cuda_wheel.builder.workers.pool import Workers  # start-up time of a kept build

    with exit_on_signals(), Workers(config.timeout, config.memory_limit) as workers:
        if builds.toolchain is None:  # a worker searches for it while this process imports
            workers.search_toolchain()
        from cuda_wheel.builder.full_build import write_outputs  # takes longer than the rest of a kept build

        paths = write_outputs(root, config, files, reporter, folder, cache, workers, builds)
    return {path: folder / path for path in paths}


def _provided(kept: WholeBuild, folder: Path, in_place: str | None) -> dict[str, Path] | None:
    """Return path in the wheel -> file, for the outputs of an earlier build. None if a file is no longer in the cache.

    `kept`: outputs of the earlier build.
    `in_place`: the cache's folder. A file in it is used where it is, as one output. None if all are to be copied.
    `folder`: folder into which files are copied.

    The SBOM is always copied, and is not in the result.
    """
    used = {
        path: name
        for name, path in kept.files.items()
        if in_place and path.startswith(in_place + os.sep) and name != SBOM
    }
    paths: dict[str, Path] = {}
    for name, path in kept.files.items():
        if used.get(path) == name:  # two files of the same content are one in the cache
            paths[name] = Path(path)
            continue
        paths[name] = folder / name
        try:
            paths[name].parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, paths[name])
        except OSError as error:
            if not os.path.exists(path):  # another process removed it
                return None
            raise unwritable(paths[name], error) from error
    paths.pop(SBOM, None)
    return paths if all(map(os.path.exists, used)) else None


def planned_files(root: Path, config: Config, files: Iterable[WheelFile]) -> list[str]:
    """Return the paths in the wheel that `build_files` would return, without building. Raises ConfigError.

    If the loader is vendored, parts of it that only the manifest of a built module shows to be needed are missing.
    """
    from cuda_wheel.builder.sources.modules import select
    from cuda_wheel.builder.wheel.outputs import attaching_packages, known_parts, loader_files, output_paths
    from cuda_wheel.builder.wheel.tuned_tables import tuned_paths

    files = list(files)
    names = [module.name for module in select(config, root, files)]
    packages, tables = attaching_packages(files), tuned_paths(names, files)
    loader = loader_files(config, names, known_parts(config, names, packages, tables, files))
    return output_paths(names, packages) + list(loader) + tables
