"""Launches of kernels that were compiled from Python functions: what the languages' kernels share."""

from collections.abc import Sequence
from typing import Any

from ...arguments import value_text
from ...errors import ArgumentError

__all__ = ["INTERFACE_TYPES", "blocks_of", "nothing_fits"]

INTERFACE_TYPES = {"b1": "bool", "f2": "float16", "f4": "float32", "f8": "float64"} | {
    f"{kind[0]}{size}": f"{kind}{8 * size}" for kind in ("int", "uint") for size in (1, 2, 4, 8)
}
"""Type in `__cuda_array_interface__`, without the byte order -> name of the element type: "f4" -> "float32"."""


def blocks_of(kernel: str, grid: Any) -> tuple[int, ...]:
    """Return the numbers of blocks of a grid, one to three; raises ArgumentError that names the kernel."""
    try:
        blocks = tuple(map(int, grid)) if hasattr(grid, "__len__") else (int(grid),)
    except (TypeError, ValueError):
        blocks = ()
    if not 1 <= len(blocks) <= 3 or min(blocks) < 0:
        raise ArgumentError(f"{kernel}: grid must be one to three numbers of 0 and more, not {value_text(grid)}")
    return blocks


def nothing_fits(kernel: str, language: str, asked: str, compiled: Sequence[str]) -> str:
    """Return the message for arguments that a kernel was not compiled for.

    `kernel`: the module's name and the kernel's. `compiled`: what it was compiled for, the nearest to `asked` first.
    """
    listed = "".join(f"\n  {each}" for each in compiled[:5])
    more = f"\n  and {len(compiled) - 5} more" if len(compiled) > 5 else ""
    return (
        f"{kernel} was not compiled for {asked}. It was compiled for, the nearest first:{listed}{more}\n"
        f"Add what is missing to arguments of its [[tool.cuda-wheel.{language}]], and build the wheel again."
    )
