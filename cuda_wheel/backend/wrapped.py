"""The build back end that a project wraps: import it and call its hooks, in this process or in one of its own."""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any

from cuda_wheel.builder.config.names import TABLE, WRAPPED, WRAPPER
from cuda_wheel.builder.config.pyproject import read_config
from cuda_wheel.builder.config.settings import Config
from cuda_wheel.builder.errors import ConfigError
from cuda_wheel.builder.sources.paths import leads_out
from cuda_wheel.runtime.errors import CudaWheelError

__all__ = ["WrappedBackEnd", "clean_errors", "wrapped_here"]


class WrappedBackEnd:
    """The back end that `[tool.cuda-wheel]` of the project in `root` names."""

    def __init__(self, root: Path, config: Config) -> None:
        """Check the settings; nothing is imported. Raises ConfigError."""
        self.root = root
        self.config = config
        if not config.backend:
            raise ConfigError(f"{TABLE} has no key backend, which names the back end that {WRAPPER} wraps.")
        for folder in config.backend_path:
            if leads_out(root / folder, root) or not (root / folder).is_dir():
                raise ConfigError(f"{TABLE}.backend-path: {folder} is not a folder of the project.")

    def has(self, hook: str) -> bool:
        """Return whether the back end has a hook. Raises ConfigError if it cannot be imported."""
        return hasattr(self._imported, hook)

    def run(self, hook: str, *arguments: Any, **named: Any) -> Any:
        """Call a hook of the back end in this process, whose working directory must be the project's folder.

        Errors of the back end pass through, after a line that says whose they are. Raises ConfigError if the back end
        cannot be imported or lacks the hook.
        """
        name, function = self.config.backend, getattr(self._imported, hook, None)
        if function is None:
            raise ConfigError(f'{TABLE}.backend = "{name}": {name} has no hook {hook}, so it is not a build back end.')
        # Back ends find their own programs by PATH, and the environment of this interpreter may not be the active one.
        os.environ["PATH"] = os.pathsep.join([os.environ.get("PATH", os.defpath), sysconfig.get_path("scripts")])
        try:
            result = function(*arguments, **named)
        except (Exception, SystemExit) as error:
            if not isinstance(error, SystemExit) or error.code:
                self._blame(hook)
            raise
        sys.stdout.flush()
        return result

    def _blame(self, hook: str) -> None:
        sys.stdout.flush()
        print(
            f"cuda-wheel: {hook} of the build back end {self.config.backend} failed, before any kernel was compiled; "
            "the error is its own.",
            file=sys.stderr,
        )

    def run_alone(self, hook: str, folder: Path) -> Path:
        """Call `build_wheel` or another hook that writes one file to a folder, in a process of its own.

        Return the file. Raises ConfigError, with the output of the process, if the hook fails.
        """
        program = (
            # The project's folder, which Python puts first, may have files with the names of modules.
            "import sys; sys.path[:] = filter(None, sys.path)\n"
            "from cuda_wheel.backend.wrapped import clean_errors, wrapped_here\n"
            "with clean_errors(): wrapped_here().run(*sys.argv[1:])\n"
        )
        # The programs that back ends find by PATH must not be those of another environment.
        paths = [sysconfig.get_path("scripts"), os.environ.get("PATH", os.defpath)]
        environ = os.environ | {"PATH": os.pathsep.join(paths)}
        result = subprocess.run(
            [sys.executable, "-c", program, hook, str(folder)],
            cwd=self.root,
            env=environ,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            check=False,
        )
        files = sorted(folder.iterdir())
        if result.returncode != 0 or len(files) != 1:
            said = result.stdout.strip() or f"it ended with status {result.returncode} and wrote {len(files)} files."
            raise ConfigError(
                f"the build back end {self.config.backend} must build {self.root.name} to know what goes into the "
                f"wheel, and {hook} failed:\n{said}"
            )
        return files[0]

    @cached_property
    def _imported(self) -> Any:
        """The back end: a module, or an object in it. Raises ConfigError."""
        name = self.config.backend
        module, _, path = name.partition(":")
        sys.path[:0] = [str(self.root / folder) for folder in self.config.backend_path]
        try:
            found: Any = importlib.import_module(module)
        except ModuleNotFoundError as error:
            if error.name is None or not f"{module}.".startswith(f"{error.name}."):
                raise ConfigError(f'{TABLE}.backend = "{name}" cannot be imported: {error}.') from error
            if self.config.backend_path:
                raise ConfigError(
                    f'{TABLE}.backend = "{name}": there is no module {error.name} in backend-path '
                    f"({', '.join(self.config.backend_path)}), and none is installed."
                ) from None
            required = f'"{WRAPPED[module]}"' if module in WRAPPED else "its distribution"
            raise ConfigError(
                f'{TABLE}.backend = "{name}": the module {error.name} is not installed. Add {required} to '
                "build-system.requires; for builds without isolation, install it."
            ) from None
        for attribute in filter(None, path.split(".")):
            try:
                found = getattr(found, attribute)
            except AttributeError:
                raise ConfigError(f'{TABLE}.backend = "{name}": {module} has no {path}.') from None
        return found


def wrapped_here() -> WrappedBackEnd:
    """Return the back end that the project in the working directory wraps. Raises ConfigError."""
    root = Path.cwd()
    return WrappedBackEnd(root, read_config(root, os.environ))


@contextmanager
def clean_errors() -> Iterator[None]:
    """Show cuda-wheel's errors as a message without a traceback, and end the process, as front ends expect it."""
    try:
        yield
    except CudaWheelError as error:
        print(f"cuda-wheel: {error}", file=sys.stderr)
        sys.exit(1)
