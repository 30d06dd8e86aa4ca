"""The command `build_cuda`: compiles a project's `.cu` files into its build folder."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ClassVar
from weakref import WeakSet

from setuptools import Command, Distribution
from setuptools.command.build import build
from setuptools.errors import ExecError

from cuda_wheel.builder.config.pyproject import read_config
from cuda_wheel.builder.project import build_files, planned_files
from cuda_wheel.builder.report.progress import ProgressReporter
from cuda_wheel.builder.scratch import scratch
from cuda_wheel.builder.sources.layout import DEVICE_SOURCES
from cuda_wheel.builder.sources.modules import named_sources
from cuda_wheel.builder.wheel.outputs import move, write
from cuda_wheel.builder.wheel.sbom import SBOM
from cuda_wheel.builder.wheel.sdist import sdist_files
from cuda_wheel.runtime.errors import CudaWheelError
from setuptools_cuda.layout import files_of

__all__ = ["BuildCuda", "add_to"]

log = logging.getLogger(__name__)

RECORD = "cuda-wheel-outputs.txt"
"""The file in the build folder that lists what the latest build wrote, so that the next one can take it away."""


_concerned: WeakSet[Distribution] = WeakSet()
"""The distributions that are built with cuda-wheel."""


def add_to(distribution: Distribution) -> None:
    """Make `build_cuda` known, and the last step of `build`, whatever class the project has for that."""
    _concerned.add(distribution)
    distribution.cmdclass[BuildCuda.command_name] = BuildCuda
    step = (BuildCuda.command_name, _is_needed)
    # setuptools' own class, from which the project's own inherits its steps if it comes to be known later, by
    # [tool.setuptools.cmdclass]; and the one that is known now, if that has steps of its own.
    for base in (build, distribution.get_command_class("build")):
        if all(name != BuildCuda.command_name for name, _ in base.sub_commands):
            if base is build:
                build.sub_commands.append(step)
            else:
                distribution.cmdclass["build"] = type("build", (base,), {"sub_commands": [*base.sub_commands, step]})


def _is_needed(command: Command) -> bool:
    if command.distribution not in _concerned:
        return False
    command.distribution.cmdclass[BuildCuda.command_name] = BuildCuda  # that table replaces all that was there
    return True


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
        self.build_base: str | None = None

    def finalize_options(self) -> None:
        self.set_undefined_options("build_py", ("build_lib", "build_lib"))
        self.set_undefined_options("build", ("build_base", "build_base"))

    def run(self) -> None:
        if not self.editable_mode:
            with _errors_in_words(), scratch() as folder:
                outputs = [] if self._is_left_to_cmake() else self._build(Path.cwd(), folder)
                self._replace_outputs(outputs, folder)
                if (folder / SBOM).is_file():
                    self._add_sbom((folder / SBOM).read_bytes())

    def _is_left_to_cmake(self) -> bool:
        """Return whether CMake compiles all of the project's kernels, and reads the table for itself.

        As with scikit-build-core's plugin: there is no `.cu` file in any package, nor a table for one elsewhere.
        """
        return (
            Path("CMakeLists.txt").is_file()
            and not any(file.source.suffix == ".cu" for file in files_of(self.distribution))
            and not read_config(Path.cwd(), os.environ).module
        )

    def _build(self, root: Path, folder: Path) -> list[str]:
        config = read_config(root, os.environ)
        with ProgressReporter(log.info, log.warning) as reporter:
            outputs = build_files(root, config, files_of(self.distribution), reporter, folder)
        if config.exclude_sources:
            for path in Path(str(self.build_lib)).rglob("*"):
                if path.suffix in DEVICE_SOURCES:
                    path.unlink()
            named = named_sources(config, root)
            for file in files_of(self.distribution):
                if Path(os.path.realpath(file.source)) in named:
                    Path(str(self.build_lib), file.destination).unlink(missing_ok=True)
        return outputs

    def _replace_outputs(self, outputs: Sequence[str], folder: Path) -> None:
        """Move files from `folder` to where they belong, and take away those of an earlier build: it may have left
        images of kernels that are gone."""
        record = Path(str(self.build_base), RECORD)
        if record.is_file():
            own = tuple(os.path.realpath(str(folder)) + os.sep for folder in (self.build_base, self.build_lib))
            for path in map(os.fsdecode, filter(None, record.read_bytes().split(b"\0"))):
                if os.path.realpath(path).startswith(own):  # a record that came with the sources may name anything
                    Path(path).unlink(missing_ok=True)
        paths = [str(Path(str(self.build_lib), name)) for name in outputs]
        write({record.name: b"\0".join(map(os.fsencode, paths))}, record.parent)
        move(outputs, folder, Path(str(self.build_lib)), aside=record.parent)

    def _add_sbom(self, content: bytes) -> None:
        """Have the wheel that is made of this build carry an SBOM. setuptools has no word for one; its command writes
        `WHEEL` last of all into the metadata's folder."""
        command: Any = self.distribution.get_command_obj("bdist_wheel")
        write_wheelfile = command.write_wheelfile

        def write_both(folder: str, *arguments: Any) -> None:
            write({f"sboms/{SBOM}": content}, Path(folder))
            write_wheelfile(folder, *arguments)

        command.write_wheelfile = write_both

    def get_source_files(self) -> list[str]:
        """Return the CUDA sources and headers, relative to the project, so that the sdist has them."""
        root = Path.cwd()
        files = files_of(self.distribution)
        if self._is_left_to_cmake():
            return []
        device = (file.source for file in files if file.source.suffix in DEVICE_SOURCES)
        with _errors_in_words():
            named = sdist_files(read_config(root, os.environ), root, files, log.warning)
        return sorted({*named, *(path.relative_to(root).as_posix() for path in device if path.is_relative_to(root))})

    def get_outputs(self) -> list[str]:
        """Return the files that `run` writes."""
        if self.editable_mode or self._is_left_to_cmake():
            return []
        root = Path.cwd()
        with _errors_in_words():
            paths = planned_files(root, read_config(root, os.environ), files_of(self.distribution))
        return [str(Path(str(self.build_lib), path)) for path in paths]

    def get_output_mapping(self) -> dict[str, str]:
        """Return nothing: no output is a copy of a source."""
        return {}
