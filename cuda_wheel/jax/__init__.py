"""JAX operators."""

from .array_operators import operator

__all__ = ["operator"]
