"""The errors of a build, each named for what the user must change."""

from __future__ import annotations

from collections.abc import Iterable

from cuda_wheel.runtime.errors import CudaWheelError

__all__ = ["CompileError", "ConfigError", "ToolchainError"]


class ConfigError(CudaWheelError):
    """The project's settings or files are wrong; the message names the key or file."""


class CompileError(CudaWheelError):
    """A kernel does not compile, or the compiler crashed; the message contains the compiler's log.

    `unnamed_instances` are the name expressions that the module's `instantiate` must list before the host code that
    uses them can be left out.
    """

    def __init__(self, message: str, unnamed_instances: Iterable[str] = ()) -> None:
        super().__init__(message)
        self.unnamed_instances = tuple(dict.fromkeys(unnamed_instances))


class ToolchainError(CudaWheelError):
    """The CUDA compilers or their headers are missing or incompatible with each other."""
