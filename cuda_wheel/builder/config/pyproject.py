"""Read a project's pyproject.toml, and the settings in it."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from cuda_wheel.builder.config.settings import TABLE, Config
from cuda_wheel.builder.errors import ConfigError

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

__all__ = ["is_concerned", "read_config", "read_pyproject"]


def read_config(root: Path, environ: Mapping[str, str], modules: Sequence[Mapping[str, Any]] = ()) -> Config:
    """Return the settings of the project in the folder `root`; `modules`, if any, replace its module tables.

    Raises ConfigError.
    """
    project = read_pyproject(root)
    tools = project.get("tool", {})
    misspelt = [f"tool.{name}" for name in ("cuda_wheel", "cudawheel", "cuda") if name in tools]
    misspelt += [name for name in ("cuda-wheel", "cuda_wheel") if name in project]
    if misspelt and "cuda-wheel" not in tools:
        raise ConfigError(
            f"pyproject.toml has a table [{misspelt[0]}], which cuda-wheel does not read: rename it to [{TABLE}]."
        )
    table = tools.get("cuda-wheel", {})
    return Config.from_table(table | {"module": list(modules)} if modules else table, environ)


def is_concerned(project: Mapping[str, Any]) -> bool:
    """Return whether the project of a pyproject.toml is built with cuda-wheel."""
    requires = project.get("build-system", {}).get("requires", [])
    return "cuda-wheel" in project.get("tool", {}) or any(
        isinstance(item, str) and re.match(r"cuda[-_.]wheel\b", item, re.IGNORECASE) for item in requires
    )


def read_pyproject(root: Path) -> dict[str, Any]:
    """Return the content of the project's pyproject.toml; raises ConfigError if it is missing or not valid TOML."""
    path = root / "pyproject.toml"
    try:
        with path.open("rb") as stream:
            project = tomllib.load(stream)
    except FileNotFoundError:
        raise ConfigError(f"{root} is not a Python project: it has no pyproject.toml.") from None
    except (OSError, ValueError, RecursionError) as error:  # invalid TOML also raises the latter two
        raise ConfigError(f"{path} cannot be read: {error}") from error
    for name in ("build-system", "project", "tool"):
        if not isinstance(project.get(name, {}), dict):
            raise ConfigError(f"{path} cannot be read: {name} must be a table.")
    return project
