"""The errors of a build, each named for what the user must change."""

from __future__ import annotations

from cuda_wheel.runtime.errors import CudaWheelError

__all__ = ["CompileError", "ConfigError", "ToolchainError"]


class ConfigError(CudaWheelError):
    """The project's settings or files are wrong; the message names the key or file."""


class CompileError(CudaWheelError):
    """A kernel does not compile, or the compiler crashed; the message contains the compiler's log."""


class ToolchainError(CudaWheelError):
    """The CUDA compilers or their headers are missing or incompatible with each other."""
