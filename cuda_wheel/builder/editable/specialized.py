"""Compile a variant or an instance that no wheel has, from the sources that one carries: for one GPU, and cached."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from hashlib import sha256
from typing import Any

from cuda_wheel.builder.editable.kept_modules import Opened, Work, kept_module
from cuda_wheel.builder.scratch import scratch
from cuda_wheel.builder.sources.modules import one_module, specialized
from cuda_wheel.builder.wheel.carried_sources import unpack_sources
from cuda_wheel.runtime.manifest import Version
from cuda_wheel.runtime.variants.macro_values import same_macros

__all__ = ["specialize"]


def specialize(
    carried: bytes, macros: Mapping[str, Any], instance: str | None, ask_capability: Callable[[], Version]
) -> tuple[bytes, bytes]:
    """Return the manifest and fatbin of a module, compiled for the compute capability of the GPU in use.

    `carried` are its sources, `macros` those of the variant, and `instance` is the name expression of the template
    instance to compile; None for those that the build compiles. Raises ConfigError, ToolchainError or CompileError.
    """

    @contextmanager
    def opened() -> Iterator[Opened]:
        with scratch() as folder:
            config, module = one_module(folder, unpack_sources(carried, folder), {})
            yield folder, config, specialized(module, macros, instance)

    identity = f"carried {sha256(carried).hexdigest()} {same_macros(macros)!r} {instance!r}"
    return kept_module(Work(identity, (), opened, is_temporary=True), ask_capability)
