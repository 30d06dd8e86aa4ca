"""The command `build_cuda`: compiles a project's `.cu` files into its build folder."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import ClassVar

from setuptools import Command, Distribution
from setuptools.errors import ExecError

from cuda_wheel.build.config import read_config
from cuda_wheel.build.layout import DEVICE_SOURCES
from cuda_wheel.build.outputs import write
from cuda_wheel.build.project import build_files, planned_files
from cuda_wheel.build.sdist import sdist_files
from cuda_wheel.loader import MANIFEST_SUFFIX, CudaWheelError
from cuda_wheel.progress import ProgressReporter
from setuptools_cuda.layout import files_of

__all__ = ["BuildCuda", "add_to"]

log = logging.getLogger(__name__)


def add_to(distribution: Distribution) -> None:
    """Make `build_cuda` known, and the last step of `build`, whatever class the project has for that."""
    base = distribution.get_command_class("build")
    if any(name == BuildCuda.command_name for name, _ in base.sub_commands):
        return
    steps = [*base.sub_commands, (BuildCuda.command_name, None)]
    distribution.cmdclass["build"] = type("build", (base,), {"sub_commands": steps})
    distribution.cmdclass[BuildCuda.command_name] = BuildCuda


@contextmanager
def _errors_in_words() -> Iterator[None]:
    """Turn this project's errors into what setuptools prints as one message, without a traceback."""
    try:
        yield
    except CudaWheelError as error:
        raise ExecError(f"cuda-wheel: {error}") from None


class BuildCuda(Command):
    """setuptools' `SubCommand` protocol for CUDA modules.

    In an editable install it does nothing: modules compile when they are loaded.
    """

    command_name = "build_cuda"
    description = "compile CUDA kernels into fatbins (cuda-wheel)"
    user_options: ClassVar = [("build-lib=", "d", "folder to build into")]

    def initialize_options(self) -> None:
        self.editable_mode = False
        self.build_lib: str | None = None

    def finalize_options(self) -> None:
        self.set_undefined_options("build_py", ("build_lib", "build_lib"))

    def run(self) -> None:
        if not self.editable_mode:
            with _errors_in_words():
                self._build(Path.cwd(), Path(str(self.build_lib)))

    def _build(self, root: Path, folder: Path) -> None:
        config = read_config(root, os.environ)
        with ProgressReporter(log.info, log.warning) as reporter:
            outputs = build_files(root, config, files_of(self.distribution), reporter)
        # An earlier build, in the same folder, may have left images of kernels that are gone.
        for manifest in folder.rglob("*" + MANIFEST_SUFFIX):
            manifest.unlink()
            manifest.with_suffix("").unlink(missing_ok=True)
        if config.exclude_sources:
            for path in folder.rglob("*"):
                if path.suffix in DEVICE_SOURCES:
                    path.unlink()
        write(outputs, folder)

    def get_source_files(self) -> list[str]:
        """Return the CUDA sources and headers, relative to the project, so that the sdist has them."""
        root = Path.cwd()
        files = files_of(self.distribution)
        device = (file.source for file in files if file.source.suffix in DEVICE_SOURCES)
        with _errors_in_words():
            named = sdist_files(read_config(root, os.environ), root, files, log.warning)
        return sorted({*named, *(path.relative_to(root).as_posix() for path in device if path.is_relative_to(root))})

    def get_outputs(self) -> list[str]:
        """Return the files that `run` writes."""
        if self.editable_mode:
            return []
        root = Path.cwd()
        with _errors_in_words():
            paths = planned_files(root, read_config(root, os.environ), files_of(self.distribution))
        return [str(Path(str(self.build_lib), path)) for path in paths]

    def get_output_mapping(self) -> dict[str, str]:
        """Return nothing: no output is a copy of a source."""
        return {}
