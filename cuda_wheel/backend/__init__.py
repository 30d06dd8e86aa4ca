"""A build back end (PEP 517, PEP 660) that wraps another one, named by `backend` in `[tool.cuda-wheel]`.

The wrapped back end builds the wheel, and compiled modules are added to it. Requirements, metadata and editable
installs are the wrapped back end's own; modules of an editable install are compiled on load.

A front end imports this package before it asks anything: what only builds need is imported inside functions.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from cuda_wheel.runtime.errors import CudaWheelError

try:
    import cuda_wheel.builder  # noqa: F401 - checks that it is of the version of cuda-wheel
except CudaWheelError as error:
    raise SystemExit(f"cuda-wheel: {error}") from None

__all__ = [
    "build_sdist",
    "build_wheel",
    "get_requires_for_build_editable",
    "get_requires_for_build_sdist",
    "get_requires_for_build_wheel",
]

Options = Mapping[str, Any] | None
"""Settings that the user gives the front end for the build (`-C`). All are for the wrapped back end."""

_OPTIONAL = ("build_editable", "prepare_metadata_for_build_editable", "prepare_metadata_for_build_wheel")
"""Hooks that a back end may lack. A front end looks for the attribute, so this module has those that the wrapped back
end has."""


def build_wheel(wheel_directory: str, config_settings: Options = None, metadata_directory: str | None = None) -> str:
    """Build the wheel of the project in the working directory, and return the name of the file."""
    from cuda_wheel.backend.builds import complete_wheel
    from cuda_wheel.backend.wrapped import clean_errors, wrapped_here
    from cuda_wheel.builder.scratch import scratch

    with clean_errors(), scratch() as folder:
        back_end = wrapped_here()
        name: str = back_end.run("build_wheel", str(folder), config_settings, metadata_directory)
        complete_wheel(back_end, folder / name, Path(wheel_directory))
        return name


def build_sdist(sdist_directory: str, config_settings: Options = None) -> str:
    """Build the sdist of the project in the working directory, and return the name of the file."""
    from cuda_wheel.backend.builds import complete_sdist
    from cuda_wheel.backend.wrapped import clean_errors, wrapped_here
    from cuda_wheel.builder.scratch import scratch

    with clean_errors(), scratch() as folder:
        back_end = wrapped_here()
        name: str = back_end.run("build_sdist", str(folder), config_settings)
        complete_sdist(back_end, folder / name, Path(sdist_directory))
        return name


def get_requires_for_build_wheel(config_settings: Options = None) -> list[str]:
    """Return what the wrapped back end requires to build a wheel, beside `build-system.requires`."""
    return _requirements("get_requires_for_build_wheel", config_settings)


def get_requires_for_build_sdist(config_settings: Options = None) -> list[str]:
    """Return what the wrapped back end requires to build an sdist, beside `build-system.requires`."""
    return _requirements("get_requires_for_build_sdist", config_settings)


def get_requires_for_build_editable(config_settings: Options = None) -> list[str]:
    """Return what the wrapped back end requires for an editable install, beside `build-system.requires`."""
    return _requirements("get_requires_for_build_editable", config_settings)


def _requirements(hook: str, config_settings: Options) -> list[str]:
    from cuda_wheel.backend.wrapped import clean_errors, wrapped_here

    with clean_errors():
        back_end = wrapped_here()
        return list(back_end.run(hook, config_settings)) if back_end.has(hook) else []


def __getattr__(name: str) -> Callable[..., Any]:
    if name not in _OPTIONAL:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from cuda_wheel.backend.wrapped import clean_errors, wrapped_here

    try:
        has_hook = wrapped_here().has(name)
    except CudaWheelError:
        has_hook = True  # the call of the hook reports the error
    if not has_hook:
        raise AttributeError(f"the wrapped back end has no hook {name!r}")

    def hook(*arguments: Any, **named: Any) -> Any:  # front ends name some of the arguments
        with clean_errors():
            return wrapped_here().run(name, *arguments, **named)

    return hook
