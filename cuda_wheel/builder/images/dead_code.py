"""Have nvJitLink leave out unused code, and check that nothing needed is missing."""

from __future__ import annotations

from collections.abc import Collection

from cuda_wheel.runtime.formats.elf import read_cubin

__all__ = [
    "is_whole",
    "keeping",
]


def keeping(symbols: Collection[str]) -> list[str]:
    """Return the options of nvJitLink that have it leave out what LTO-IR does not use, but for these variables."""
    return ["-optimize-unused-variables", *([f"-variables-used={','.join(symbols)}"] if symbols else [])]


def is_whole(cubin: bytes, kernels: Collection[str], symbols: Collection[str]) -> bool:
    """Return whether machine code holds all kernels and variables that it is to hold."""
    found = read_cubin(cubin)
    return found.kernels.keys() >= set(kernels) and found.variables.keys() | found.private >= set(symbols)
