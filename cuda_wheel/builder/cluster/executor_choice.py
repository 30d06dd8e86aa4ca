"""Choose where the jobs of a build run: on this machine, or on the Dask cluster that CUDA_WHEEL_EXECUTOR names."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from importlib.util import find_spec

from cuda_wheel.builder.config.settings import Config
from cuda_wheel.builder.errors import ConfigError
from cuda_wheel.builder.toolchain.records import Nvvm, Toolchain
from cuda_wheel.builder.workers.executor import EXECUTOR, FALLBACK, Executor

__all__ = ["choose_executor", "import_early"]

_CLUSTER = re.compile(r"dask://([^/@?#\s]+:\d{1,5})/?")


def import_early() -> None:
    """Import what takes a second and `choose_executor` will need, while workers search for the toolchain."""
    if os.environ.get(EXECUTOR) and find_spec("distributed") is not None:
        import cuda_wheel.builder.cluster.dask_cluster  # noqa: F401


def choose_executor(
    config: Config, local: Executor, toolchain: Toolchain, nvvm: Nvvm | None, warn: Callable[[str], None]
) -> AbstractContextManager[Executor]:
    """Return the executor for a build's jobs: `local`, unless the environment names a cluster.

    `toolchain` and `nvvm` are those of this machine; `warn` may be called from any thread. Raises ConfigError if an
    environment variable is invalid or the package `distributed` is missing.
    """
    requested, fallback = os.environ.get(EXECUTOR), os.environ.get(FALLBACK)
    if not requested:
        return nullcontext(local)
    cluster = _CLUSTER.fullmatch(requested)
    if cluster is None:
        raise ConfigError(f"the environment variable {EXECUTOR} must be dask://HOST:PORT, not {requested!r}.")
    if fallback not in (None, "", "local"):
        raise ConfigError(f'the environment variable {FALLBACK} must be "local" or unset, not {fallback!r}.')
    if find_spec("distributed") is None:
        raise ConfigError(
            f"{EXECUTOR}={requested} needs the package distributed, which is not installed in this environment: add "
            'the extra "dask", as in "cuda-wheel[cu12,dask]".'
        )
    # Inside: this imports distributed, which takes a second.
    from cuda_wheel.builder.cluster.dask_cluster import DaskCluster

    return DaskCluster(
        cluster[1], local, toolchain, nvvm, config.timeout, config.memory_limit, warn, fallback == "local"
    )
