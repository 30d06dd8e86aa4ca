"""Say which files an sdist must hold so that a wheel can be built from it, and that they all lie in the project."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from pathlib import Path

from cuda_wheel.builder.config.settings import Config
from cuda_wheel.builder.sources.includes import is_toolkits, reachable
from cuda_wheel.builder.sources.layout import WheelFile
from cuda_wheel.builder.sources.modules import select
from cuda_wheel.builder.sources.paths import files_below, is_inside, outside_error

__all__ = [
    "sdist_files",
]


def sdist_files(config: Config, root: Path, files: Iterable[WheelFile], warn: Callable[[str], None]) -> list[str]:
    """Return all that a build of the project reads, project-relative with "/": the sources of every module, the
    headers that they include, and whatever lies in the folders of headers. No compiler is asked.

    Raises ConfigError as `select` does, and where a header lies outside the project. `warn` is told where that is one
    of the toolkit's, or one that the compiler may never ask for.
    """
    modules = select(config, root, files)
    found = {path for module in modules for path in module.paths}
    for module in modules:
        below = files_below(root, module.settings.include_dirs)
        found.update(path for path in below if is_inside(str(root / path), root))
        cuda = [source.path for source in (*module.sources, *module.defaults) if source.kind == "cuda"]
        for header in (each for path in cuda for each in reachable(root, path, module.settings.include_dirs).headers):
            if is_inside(header.path, root):
                found.add(os.path.relpath(header.path, root).replace(os.sep, "/"))
            elif is_toolkits(header.path):
                warn(
                    f"{header.asked} includes {header.path}, the CUDA toolkit's, by its place on this machine: "
                    "include it by its name alone, so that every toolchain's own is found."
                )
            elif header.conditional:
                warn(f"{header.asked} may include {header.path}, which lies outside the project: no sdist has it.")
            else:
                raise outside_error(header.asked, header.path)
    return sorted(found)
