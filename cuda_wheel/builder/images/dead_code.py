"""Have nvJitLink remove unused code, and check that it removed nothing that is needed."""

from __future__ import annotations

from collections.abc import Collection

from cuda_wheel.runtime.formats.cubin import Cubin

__all__ = ["is_whole", "keeping"]


def keeping(symbols: Collection[str]) -> list[str]:
    """Return the nvJitLink options that remove what LTO-IR does not use, except for these variables."""
    return ["-optimize-unused-variables", *([f"-variables-used={','.join(symbols)}"] if symbols else [])]


def is_whole(cubin: Cubin, kernels: Collection[str], variables: Collection[str]) -> bool:
    """Return whether machine code contains all these kernels and variables."""
    return cubin.kernels.keys() >= set(kernels) and cubin.variables.keys() | cubin.private >= set(variables)
