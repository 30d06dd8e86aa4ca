"""Choose where a build's jobs run: on this machine, or where CUDA_WHEEL_EXECUTOR says."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from importlib.util import find_spec
from typing import TypeVar

from cuda_wheel.builder.config.settings import Config
from cuda_wheel.builder.errors import ConfigError
from cuda_wheel.builder.toolchain.records import Nvvm, Toolchain
from cuda_wheel.builder.workers.executor import Executor

__all__ = [
    "EXECUTOR",
    "FALLBACK",
    "executor",
]


T = TypeVar("T")


EXECUTOR = "CUDA_WHEEL_EXECUTOR"


FALLBACK = "CUDA_WHEEL_EXECUTOR_FALLBACK"


_CLUSTER = re.compile(r"dask://([^/@?#\s]+:\d{1,5})/?")


def executor(
    config: Config, local: Executor, toolchain: Toolchain, nvvm: Nvvm | None, warn: Callable[[str], None]
) -> AbstractContextManager[Executor]:
    """Return who does a build's jobs: `local`, unless the environment names another.

    `toolchain` and `nvvm` are this machine's; `warn` may be called from any thread. Raises ConfigError where the
    environment says what cannot be.
    """
    wanted, fallback = os.environ.get(EXECUTOR), os.environ.get(FALLBACK)
    if not wanted:
        return nullcontext(local)
    cluster = _CLUSTER.fullmatch(wanted)
    if cluster is None:
        raise ConfigError(f"the environment variable {EXECUTOR} must be dask://HOST:PORT, not {wanted!r}.")
    if fallback not in (None, "", "local"):
        raise ConfigError(f'the environment variable {FALLBACK} must be "local", or not be set, not {fallback!r}.')
    if find_spec("distributed") is None:
        raise ConfigError(
            f"{EXECUTOR}={wanted} asks for a Dask cluster, and the package distributed, which talks to it, is not "
            'installed in this environment: add the extra, as in "cuda-wheel[cu12,dask]".'
        )
    from cuda_wheel.builder.cluster.dask_cluster import DaskCluster  # imports what takes a second

    return DaskCluster(
        cluster[1], local, toolchain, nvvm, config.timeout, config.memory_limit, warn, fallback == "local"
    )
