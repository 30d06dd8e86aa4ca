"""The build hook `cuda`: compiles a project's `.cu` files into its wheel."""

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

__all__ = ["CudaBuildHook"]

HATCHLING_KEYS = {"dependencies", "require-runtime-dependencies", "require-runtime-features", "enable-by-default"}
"""What hatchling itself reads in every hook's table."""


class CudaBuildHook(BuildHookInterface[Any]):
    """Puts each module's fatbin and manifest into a standard wheel, and takes its sources out.

    Where it is switched on for sdists too, it sees that they hold all that a wheel is built from. An editable install
    gets nothing: its modules compile when they are loaded.
    """

    PLUGIN_NAME = "cuda"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        self._until_finalized = ExitStack()
        steps = {"sdist": self._complete, "wheel": self._build}
        if version == "editable" or self.target_name not in steps:
            return
        from cuda_wheel.runtime.errors import CudaWheelError

        try:
            steps[self.target_name](build_data)
        except CudaWheelError as error:
            self._until_finalized.close()
            self.app.abort(f"cuda-wheel: {error}")
        except BaseException:
            self._until_finalized.close()
            raise

    def _read_config(self) -> Config:
        from cuda_wheel.builder.config.pyproject import read_config
        from cuda_wheel.builder.errors import ConfigError

        misplaced = sorted(set(self.config) - HATCHLING_KEYS)
        if misplaced:
            raise ConfigError(
                "the table of the hook cuda takes no options of its own: "
                f"move {', '.join(misplaced)} to [tool.cuda-wheel]."
            )
        return read_config(Path(self.root), os.environ)

    def _complete(self, build_data: dict[str, Any]) -> None:
        from cuda_wheel.builder.wheel.sdist import sdist_files
        from hatch_cuda.layout import wheel_files

        root = Path(self.root)
        for path in sdist_files(self._read_config(), root, wheel_files(root), self.app.display_warning):
            # Even where .gitignore, whose syntax this is, names it.
            build_data["artifacts"].append("/" + re.sub(r"([*?!#\\\[\] ])", r"\\\1", path))

    def _build(self, build_data: dict[str, Any]) -> None:
        from cuda_wheel.builder.project import build_files
        from cuda_wheel.builder.report.progress import ProgressReporter
        from cuda_wheel.builder.scratch import scratch
        from cuda_wheel.builder.sources.layout import DEVICE_SOURCES
        from cuda_wheel.builder.sources.modules import named_sources
        from cuda_wheel.builder.wheel.sbom import SBOM
        from hatch_cuda.layout import wheel_files

        root = Path(self.root)
        config = self._read_config()
        # Outside the project, so that the source tree stays as it is, and file by file: hatchling takes a folder that
        # merges with a package for a second copy of its files.
        folder = self._until_finalized.enter_context(scratch())
        with ProgressReporter(self.app.display_info, self.app.display_warning) as reporter:
            for path in build_files(root, config, wheel_files(root), reporter, folder):
                build_data["force_include"][str(folder / path)] = path
        if config.sbom and "sbom_files" in build_data:
            build_data["sbom_files"].append(str(folder / SBOM))
        elif config.sbom:  # hatchling before 1.28, which knows no such thing
            metadata = f"{self.build_config.builder.artifact_project_id}.dist-info"
            build_data["force_include"][str(folder / SBOM)] = f"{metadata}/sboms/{SBOM}"
        if config.exclude_sources:
            self._leave_out(DEVICE_SOURCES, named_sources(config, root))

    def _leave_out(self, suffixes: tuple[str, ...], sources: set[Path]) -> None:
        """Keep files out of the wheel, however they came to be selected: by package, as artifact, or forced."""
        builder = self.build_config.builder
        selected = builder.recurse_included_files

        def filtered() -> Iterator[Any]:
            for file in selected():
                if not file.distribution_path.endswith(suffixes) and Path(os.path.realpath(file.path)) not in sources:
                    yield file

        builder.recurse_included_files = filtered

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        self._until_finalized.close()
