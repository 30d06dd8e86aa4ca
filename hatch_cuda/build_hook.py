"""The build hook `cuda`, or `cuda-wheel`: compile a project's `.cu` files into its wheel. Find that wheel's files.

hatchling imports this module in every environment with cuda-wheel: what only builds need is imported inside functions.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

if TYPE_CHECKING:
    from cuda_wheel.builder.config.settings import Config
    from cuda_wheel.builder.sources.layout import Layout, WheelFile

__all__ = ["CudaBuildHook", "CudaWheelBuildHook", "check_options", "wheel_files", "wheel_layout"]

HATCHLING_KEYS = {"dependencies", "require-runtime-dependencies", "require-runtime-features", "enable-by-default"}
"""The keys that hatchling itself reads from the table of every hook."""


class CudaBuildHook(BuildHookInterface[Any]):
    """Adds each module's fatbin and manifest to a standard wheel, and leaves its sources out.

    If the hook is enabled for sdists too, it adds all files that are needed to build a wheel. It does nothing for an
    editable install, whose modules are compiled on load.
    """

    PLUGIN_NAME = "cuda"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        self._cleanup = ExitStack()
        if version == "editable" or self.target_name not in ("sdist", "wheel"):
            return
        root = Path(self.root)
        with self._clean_errors():
            from cuda_wheel.builder.project import build_files
            from cuda_wheel.builder.report.reporter import ProgressReporter
            from cuda_wheel.builder.scratch import scratch
            from cuda_wheel.builder.sources.layout import SBOM
            from cuda_wheel.runtime.manifest import TABLE_SUFFIX

            config = self._read_config()
            if self.target_name == "sdist":
                self._add_sources(config, build_data)
                return
            # In a folder outside the project, so that the source tree stays unchanged; and file by file, because
            # hatchling would treat a folder that merges with a package as a second copy of the package's files.
            folder = self._cleanup.enter_context(scratch())
            # A wheel that is not reproducible has the permissions of its files, which are private in the cache.
            in_use = self._cleanup if self.build_config.reproducible else None
            with ProgressReporter(self.app.display_info, self.app.display_warning) as reporter:
                built = build_files(root, config, wheel_files(root), reporter, folder, in_use)
            for path, file in built.items():
                if not path.endswith(TABLE_SUFFIX):  # hatchling includes these files itself
                    build_data["force_include"][str(file)] = path
            if config.sbom:
                self._add_sbom(folder / SBOM, build_data)
            if config.exclude_sources:
                self._exclude(config)

    @contextmanager
    def _clean_errors(self) -> Iterator[None]:
        """Remove temporary files after an error; show cuda-wheel's errors as hatchling's, without a traceback."""
        from cuda_wheel.runtime.errors import CudaWheelError

        try:
            yield
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
        check_options(self.PLUGIN_NAME, self.config)
        return read_config(Path(self.root), os.environ)

    def _add_sources(self, config: Config, build_data: dict[str, Any]) -> None:
        from cuda_wheel.builder.wheel.sdist import sdist_files

        root = Path(self.root)
        for path in sdist_files(config, root, wheel_files(root), self.app.display_warning):
            # Files that .gitignore excludes are added only as artifacts. The patterns have the syntax of .gitignore.
            build_data["artifacts"].append("/" + re.sub(r"([*?!#\\\[\] ])", r"\\\1", path))

    def _add_sbom(self, file: Path, build_data: dict[str, Any]) -> None:
        if "sbom_files" in build_data:
            build_data["sbom_files"].append(str(file))
        else:  # hatchling before 1.28
            metadata = f"{self.build_config.builder.artifact_project_id}.dist-info"
            build_data["force_include"][str(file)] = f"{metadata}/sboms/{file.name}"

    def _exclude(self, config: Config) -> None:
        """Keep CUDA sources and headers out of the wheel, even those that hatchling lists as artifacts or
        force-included files. The sources that `config` names are kept out too, whatever their suffix."""
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
    """The build hook `cuda` under the name of the distribution, "cuda-wheel", which users try first."""

    PLUGIN_NAME = "cuda-wheel"


def check_options(hook: str, table: Mapping[str, Any]) -> None:
    """Raise ConfigError if the table of the hook has settings of its own."""
    from cuda_wheel.builder.errors import ConfigError

    misplaced = sorted(set(table) - HATCHLING_KEYS)
    if misplaced:
        raise ConfigError(
            f"the table of the hook {hook} has no options of its own: move {', '.join(misplaced)} to [tool.cuda-wheel]."
        )


def wheel_files(root: Path) -> list[WheelFile]:
    """Return the files that hatchling selects for the wheel of the project in `root`, before any build hook runs."""
    from hatchling.builders.wheel import WheelBuilder

    from cuda_wheel.builder.errors import ConfigError
    from cuda_wheel.builder.sources.layout import WheelFile

    try:
        included = list(WheelBuilder(str(root)).recurse_included_files())
    except (ValueError, TypeError, OSError) as error:
        raise ConfigError(f"hatchling cannot determine the files of {root.name}: {error}") from error
    return [WheelFile(Path(file.path), file.distribution_path.replace("\\", "/")) for file in included]


def wheel_layout(root: Path) -> Layout:
    """Return the files of the wheel of the project in `root`, without module tables from elsewhere."""
    from hatchling.builders.wheel import WheelBuilder

    from cuda_wheel.builder.sources.layout import Layout

    files = wheel_files(root)
    hooks = WheelBuilder(str(root)).config.hook_config
    ours = [each.PLUGIN_NAME for each in (CudaBuildHook, CudaWheelBuildHook) if each.PLUGIN_NAME in hooks]
    for hook in ours:
        check_options(hook, hooks[hook])
    note = (
        "pyproject.toml does not enable the build hook, so that a wheel of this project would have no kernels: add the "
        "table [tool.hatch.build.targets.wheel.hooks.cuda]"
    )
    return Layout(files, note="" if ours else note)
