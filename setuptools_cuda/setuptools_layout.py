"""Find the files that setuptools puts into a project's wheel."""

from __future__ import annotations

import os
import sys
from contextlib import redirect_stdout
from importlib import import_module
from pathlib import Path

from setuptools import Distribution
from setuptools.errors import BaseError

from cuda_wheel.builder.config.pyproject import read_pyproject
from cuda_wheel.builder.errors import ConfigError
from cuda_wheel.builder.sources.layout import DEVICE_SOURCES, Layout, WheelFile
from cuda_wheel.builder.sources.source_files import KINDS
from cuda_wheel.builder.wheel.outputs import TYPED
from cuda_wheel.runtime.errors import describe_error
from cuda_wheel.runtime.manifest import TABLE_SUFFIX

__all__ = ["files_of", "wheel_layout"]

LEGACY = "setuptools.build_meta:__legacy__"
"""The build back end of a project that names none. Source: PEP 517, "Source trees"."""


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
    """Return the files of the project in `root`, from its pyproject.toml, setup.cfg and setup.py, which is run as for a
    build. Raises ConfigError."""
    working_directory, path, arguments = Path.cwd(), sys.path[:], sys.argv[:]
    os.chdir(root)
    try:
        if (root / "setup.py").is_file():
            distribution = _of_script(root)
        else:
            distribution = Distribution()
            distribution.parse_config_files()
        distribution.set_defaults()  # type: ignore[attr-defined]
        return Layout(files_of(distribution))
    except (BaseError, ValueError, OSError) as error:
        raise ConfigError(f"setuptools cannot determine the packages of {root.name}: {error}") from error
    finally:
        os.chdir(working_directory)
        sys.path[:], sys.argv[:] = path, arguments


def _of_script(root: Path) -> Distribution:
    """Return the distribution that a project's setup.py describes, configured; nothing is built. Raises ConfigError."""
    core = import_module("distutils.core")  # setuptools' own, which it lets stand for Python's
    backend = read_pyproject(root).get("build-system", {}).get("build-backend", LEGACY)
    if backend == LEGACY:  # whose builds let setup.py import from its folder
        sys.path.insert(0, str(root))
    try:
        with redirect_stdout(sys.stderr):
            distribution: Distribution = core.run_setup("setup.py", ["--quiet"], stop_after="config")
    except (Exception, SystemExit) as error:  # whatever the script raises
        raise ConfigError(
            f"{root / 'setup.py'} says what goes into the wheel, and it cannot be run here: {describe_error(error)}. "
            "Install in this environment what it needs (build-system.requires)."
        ) from error
    return distribution
