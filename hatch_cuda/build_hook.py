"""The build hook `cuda`, or `cuda-wheel`: compile a project's `.cu` files into its wheel."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

if TYPE_CHECKING:
    from cuda_wheel.builder.config.settings import Config

__all__ = ["CudaBuildHook", "CudaWheelBuildHook"]

HATCHLING_KEYS = {"dependencies", "require-runtime-dependencies", "require-runtime-features", "enable-by-default"}
"""The keys that hatchling itself reads from the table of every hook."""


class CudaBuildHook(BuildHookInterface[Any]):
    """Adds each module's fatbin and manifest to a standard wheel, and removes its sources.

    If the hook is enabled for sdists too, it adds all files that are needed to build a wheel. It does nothing for an
    editable install, whose modules are compiled on load.
    """

    PLUGIN_NAME = "cuda"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        self._cleanup = ExitStack()
        steps = {"sdist": self._add_sources, "wheel": self._add_images}
        if version == "editable" or self.target_name not in steps:
            return
        from cuda_wheel.runtime.errors import CudaWheelError

        try:
            steps[self.target_name](build_data)
        except CudaWheelError as error:
            self._cleanup.close()
            self.app.abort(f"cuda-wheel: {error}")
        except BaseException:
            self._cleanup.close()
            raise

    def _read_config(self) -> Config:
        from cuda_wheel.builder.config.pyproject import read_config
        from cuda_wheel.builder.errors import ConfigError

        if {CudaBuildHook.PLUGIN_NAME, CudaWheelBuildHook.PLUGIN_NAME} <= self.build_config.hook_config.keys():
            raise ConfigError(
                "pyproject.toml has tables of the hooks cuda and cuda-wheel, which are two names of one hook: remove "
                "one of the tables."
            )
        misplaced = sorted(set(self.config) - HATCHLING_KEYS)
        if misplaced:
            raise ConfigError(
                f"the table of the hook {self.PLUGIN_NAME} has no options of its own: "
                f"move {', '.join(misplaced)} to [tool.cuda-wheel]."
            )
        return read_config(Path(self.root), os.environ)

    def _add_sources(self, build_data: dict[str, Any]) -> None:
        from cuda_wheel.builder.wheel.sdist import sdist_files
        from hatch_cuda.hatch_layout import wheel_files

        root = Path(self.root)
        for path in sdist_files(self._read_config(), root, wheel_files(root), self.app.display_warning):
            # Files that .gitignore excludes are added only as artifacts. The patterns have the syntax of .gitignore.
            build_data["artifacts"].append("/" + re.sub(r"([*?!#\\\[\] ])", r"\\\1", path))

    def _add_images(self, build_data: dict[str, Any]) -> None:
        from cuda_wheel.builder.project import build_files
        from cuda_wheel.builder.report.progress import ProgressReporter
        from cuda_wheel.builder.scratch import scratch
        from cuda_wheel.builder.sources.layout import SBOM
        from cuda_wheel.runtime.parts.tuned_tables import TABLE_SUFFIX
        from hatch_cuda.hatch_layout import wheel_files

        root = Path(self.root)
        config = self._read_config()
        # In a folder outside the project, so that the source tree stays unchanged; and file by file, because hatchling
        # would treat a folder that merges with a package as a second copy of the package's files.
        folder = self._cleanup.enter_context(scratch())
        # A wheel that is not reproducible has the permissions of its files, which are private in the cache.
        in_use = self._cleanup if self.build_config.reproducible else None
        with ProgressReporter(self.app.display_info, self.app.display_warning) as reporter:
            built = build_files(root, config, wheel_files(root), reporter, folder, in_use)
        for path, file in built.items():
            if not path.endswith(TABLE_SUFFIX):  # hatchling includes these files itself
                build_data["force_include"][str(file)] = path
        if config.sbom and "sbom_files" in build_data:
            build_data["sbom_files"].append(str(folder / SBOM))
        elif config.sbom:  # hatchling before 1.28, which has no "sbom_files"
            metadata = f"{self.build_config.builder.artifact_project_id}.dist-info"
            build_data["force_include"][str(folder / SBOM)] = f"{metadata}/sboms/{SBOM}"
        if config.exclude_sources:
            self._exclude(config)

    def _exclude(self, config: Config) -> None:
        """Exclude the sources from the wheel, even if they are artifacts or force-included."""
        from cuda_wheel.builder.sources.layout import DEVICE_SOURCES

        builder = self.build_config.builder
        selected = builder.recurse_included_files
        named: set[Path] = set()
        if config.module:
            from cuda_wheel.builder.sources.modules import named_sources  # only for module tables

            named = named_sources(config, Path(self.root))

        def filtered() -> Iterator[Any]:
            for file in selected():
                if file.distribution_path.endswith(DEVICE_SOURCES):
                    continue
                if not (named and Path(os.path.realpath(file.path)) in named):
                    yield file

        builder.recurse_included_files = filtered

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        self._cleanup.close()


class CudaWheelBuildHook(CudaBuildHook):
    """The same hook under the name of the package, which users try first."""

    PLUGIN_NAME = "cuda-wheel"
