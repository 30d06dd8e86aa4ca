"""The command `build_cuda`: compile a project's `.cu` files into its build folder."""

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
from cuda_wheel.builder.config.settings import Config
from cuda_wheel.builder.project import build_files, planned_files
from cuda_wheel.builder.report.reporter import ProgressReporter
from cuda_wheel.builder.scratch import scratch
from cuda_wheel.builder.sources.layout import DEVICE_SOURCES, SBOM
from cuda_wheel.builder.sources.modules import named_sources
from cuda_wheel.builder.wheel.outputs import move, write
from cuda_wheel.builder.wheel.sdist import sdist_files
from cuda_wheel.runtime.errors import CudaWheelError
from setuptools_cuda.setuptools_layout import files_of

__all__ = ["BuildCuda", "add_to"]

log = logging.getLogger(__name__)

RECORD = "cuda-wheel-outputs.txt"
"""The file in the build folder that lists the outputs of the latest build, so that the next build can remove them."""

_distributions: WeakSet[Distribution] = WeakSet()
"""Distributions (projects) that `build_cuda` was added to: their command `build` runs it as a step."""


def add_to(distribution: Distribution) -> None:
    """Register `build_cuda`, and make it the last step of `build`, whichever class the project uses for `build`."""
    _distributions.add(distribution)
    distribution.cmdclass[BuildCuda.command_name] = BuildCuda
    step = (BuildCuda.command_name, _is_needed)
    # A class that [tool.setuptools.cmdclass] sets later inherits the steps of setuptools' own class. The class in use
    # now may have its own list of steps.
    for base in (build, distribution.get_command_class("build")):
        if all(name != BuildCuda.command_name for name, _ in base.sub_commands):
            if base is build:
                build.sub_commands.append(step)
            else:
                distribution.cmdclass["build"] = type("build", (base,), {"sub_commands": [*base.sub_commands, step]})


def _is_needed(command: Command) -> bool:
    if command.distribution not in _distributions:
        return False
    command.distribution.cmdclass[BuildCuda.command_name] = BuildCuda  # [tool.setuptools.cmdclass] replaces the table
    return True


@contextmanager
def _clean_errors() -> Iterator[None]:
    """Convert cuda-wheel's errors to one that setuptools prints as a message, without a traceback."""
    try:
        yield
    except CudaWheelError as error:
        raise ExecError(f"cuda-wheel: {error}") from None


class BuildCuda(Command):
    """A command of setuptools' `SubCommand` protocol, which compiles CUDA modules.

    It does nothing for an editable install, whose modules are compiled on load.
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
            with _clean_errors(), scratch() as folder:
                outputs = [] if self._is_left_to_cmake() else self._build(folder)
                self._replace_outputs(outputs, folder)
                if (folder / SBOM).is_file():
                    self._add_sbom((folder / SBOM).read_bytes())

    def _is_left_to_cmake(self) -> bool:
        """Return whether CMake compiles all of the project's kernels, by scikit-build-core's plugin for setuptools.

        This is so if there is a CMakeLists.txt, no package contains a `.cu` file, and [tool.cuda-wheel] lists no
        modules.
        """
        return (
            Path("CMakeLists.txt").is_file()
            and not any(file.source.suffix == ".cu" for file in files_of(self.distribution))
            and not read_config(Path.cwd(), os.environ).module
        )

    def _build(self, folder: Path) -> list[str]:
        """Compile the modules into `folder`, and return the paths of the outputs there."""
        root = Path.cwd()
        config = read_config(root, os.environ)
        with ProgressReporter(log.info, log.warning) as reporter:
            outputs = list(build_files(root, config, files_of(self.distribution), reporter, folder))
        if config.exclude_sources:
            self._remove_sources(config, root)
        return outputs

    def _remove_sources(self, config: Config, root: Path) -> None:
        """Remove the sources and headers that `build_py` copied to the build folder."""
        build_lib = Path(str(self.build_lib))
        for path in build_lib.rglob("*"):
            if path.suffix in DEVICE_SOURCES:
                path.unlink()
        named = named_sources(config, root)
        for file in files_of(self.distribution):
            if Path(os.path.realpath(file.source)) in named:
                (build_lib / file.destination).unlink(missing_ok=True)

    def _replace_outputs(self, outputs: Sequence[str], folder: Path) -> None:
        """Move `outputs` from `folder` to the build folder. First remove the files that an earlier build wrote there:
        their kernels may no longer be in the project.

        `outputs` are paths below `folder`.
        """
        build_lib, record = Path(str(self.build_lib)), Path(str(self.build_base), RECORD)
        if record.is_file():
            allowed = tuple(os.path.realpath(str(path)) + os.sep for path in (self.build_base, self.build_lib))
            for path in map(os.fsdecode, filter(None, record.read_bytes().split(b"\0"))):
                if os.path.realpath(path).startswith(allowed):  # a record in the sources may list any path
                    Path(path).unlink(missing_ok=True)
        write({record.name: b"\0".join(os.fsencode(build_lib / name) for name in outputs)}, record.parent)
        move(outputs, folder, build_lib, aside=record.parent)

    def _add_sbom(self, content: bytes) -> None:
        """Add an SBOM to the wheel. setuptools has no option for that: the method of `bdist_wheel` that writes the file
        WHEEL is replaced by one that writes the SBOM first."""
        command: Any = self.distribution.get_command_obj("bdist_wheel")
        write_wheelfile = command.write_wheelfile

        def write_both(folder: str, *arguments: Any) -> None:
            write({f"sboms/{SBOM}": content}, Path(folder))
            write_wheelfile(folder, *arguments)

        command.write_wheelfile = write_both

    def get_source_files(self) -> list[str]:
        """Return the CUDA sources and headers, relative to the project, which setuptools adds to the sdist."""
        root = Path.cwd()
        files = files_of(self.distribution)
        if self._is_left_to_cmake():
            return []
        device = (file.source for file in files if file.source.suffix in DEVICE_SOURCES)
        with _clean_errors():
            named = sdist_files(read_config(root, os.environ), root, files, log.warning)
        return sorted({*named, *(path.relative_to(root).as_posix() for path in device if path.is_relative_to(root))})

    def get_outputs(self) -> list[str]:
        """Return the files that `run` writes."""
        if self.editable_mode or self._is_left_to_cmake():
            return []
        root = Path.cwd()
        with _clean_errors():
            paths = planned_files(root, read_config(root, os.environ), files_of(self.distribution))
        return [str(Path(str(self.build_lib), path)) for path in paths]

    def get_output_mapping(self) -> dict[str, str]:
        """Return an empty mapping: no output is a copy of a source."""
        return {}
