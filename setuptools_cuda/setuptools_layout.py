"""Find the files that setuptools puts into a project's wheel."""

from __future__ import annotations

import os
from pathlib import Path

from setuptools import Distribution
from setuptools.errors import BaseError

from cuda_wheel.builder.errors import ConfigError
from cuda_wheel.builder.sources.layout import DEVICE_SOURCES, Layout, WheelFile
from cuda_wheel.builder.sources.source_files import KINDS
from cuda_wheel.builder.wheel.outputs import TYPED
from cuda_wheel.runtime.manifest import TABLE_SUFFIX

__all__ = ["files_of", "wheel_layout"]


def files_of(distribution: Distribution) -> list[WheelFile]:
    """Return the files of a configured distribution that a build needs: each package's Python files and stubs, all
    files that may be sources or headers of a module, and tables of tuned choices."""
    build_py = distribution.get_command_obj("build_py")
    build_py.ensure_finalized()
    files = {}
    for package in sorted(distribution.packages or ()):
        folder = Path(build_py.get_package_dir(package)).resolve()
        place = package.replace(".", "/")
        files[f"{place}/__init__.py"] = folder / "__init__.py"
        for parent, folders, names in os.walk(folder):
            folders.sort()
            within = Path(parent).relative_to(folder).as_posix()
            for name in sorted(names):
                is_python = within == "." and (name.endswith((".py", ".pyi")) or name == TYPED)
                if is_python or name.endswith((*KINDS, *DEVICE_SOURCES, TABLE_SUFFIX)):
                    files["/".join(part for part in (place, within, name) if part != ".")] = Path(parent, name)
    for module in distribution.py_modules or ():
        package, _, name = module.rpartition(".")
        path = Path(build_py.get_package_dir(package), f"{name}.py").resolve()
        files.setdefault(module.replace(".", "/") + ".py", path)
    return [WheelFile(source, destination) for destination, source in files.items()]


def wheel_layout(root: Path) -> Layout:
    """Return the files of the project in `root`, from its pyproject.toml and setup.cfg. setup.py is not run. Raises
    ConfigError."""
    working_directory = Path.cwd()
    os.chdir(root)
    try:
        distribution = Distribution()
        distribution.parse_config_files()
        distribution.set_defaults()  # type: ignore[attr-defined]
        return Layout(files_of(distribution))
    except (BaseError, ValueError, OSError) as error:
        raise ConfigError(f"setuptools cannot determine the packages of {root.name}: {error}") from error
    finally:
        os.chdir(working_directory)
