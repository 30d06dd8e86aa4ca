"""What can go wrong while building, named for what the user must do differently."""

from __future__ import annotations

from cuda_wheel.runtime.errors import CudaWheelError

__all__ = [
    "CompileError",
    "ConfigError",
    "ToolchainError",
]


class ConfigError(CudaWheelError):
    """The project's settings or files are wrong; the message names the key or file."""


class CompileError(CudaWheelError):
    """A kernel does not compile, or the compiler died of it; the message holds the compiler's log."""


class ToolchainError(CudaWheelError):
    """The CUDA compilers or their headers are missing or do not fit together."""
