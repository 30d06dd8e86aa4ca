"""Give an operator's results the type that `jax.shard_map` checks: over which axes of the mesh their values differ.

JAX 0.6.1 to 0.9 call it `vma`; later ones keep it in a `ManualAxisType`. What a kernel computes differs wherever one of
its inputs does.
"""

from collections.abc import Iterable, Sequence
from typing import Any

__all__ = ["alike", "varying"]


def varying(jax: Any, array: Any) -> frozenset[str]:
    """Return the axes over which an array differs; none outside of `shard_map`, or where that does not check."""
    type_ = jax.typeof(array) if hasattr(jax, "typeof") else None
    found: Iterable[str] = getattr(getattr(type_, "mat", type_), "varying", None) or getattr(type_, "vma", None) or ()
    return frozenset(found)


def alike(jax: Any, arrays: Sequence[Any], axes: frozenset[str] = frozenset()) -> list[Any]:
    """Return the arrays as ones that all differ over the same axes: those of any of them, and `axes`.

    None stays None. The gradient of an array that was the same on all devices is summed over them, as JAX does.
    """
    axes = axes.union(*(varying(jax, each) for each in arrays if each is not None))
    found = []
    for each in arrays:
        missing = tuple(sorted(axes - varying(jax, each))) if axes and each is not None else ()
        if missing and hasattr(jax.lax, "pcast"):
            each = jax.lax.pcast(each, missing, to="varying")
        elif missing:
            each = jax.lax.pvary(each, missing)
        found.append(each)
    return found
