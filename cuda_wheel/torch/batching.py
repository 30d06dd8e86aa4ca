"""The rule by which `torch.vmap` calls an operator that has no rule of its own: for one element after the other."""

from collections.abc import Callable, Sequence
from typing import Any

from cuda_wheel.operators.declarations import InputArgument
from cuda_wheel.runtime.errors import ArgumentError

__all__ = ["one_after_the_other"]


def one_after_the_other(
    operator: str, inputs: Sequence[InputArgument], outputs: int, call: Callable[..., Any]
) -> Callable[..., Any]:
    """Return a rule for `torch.library.register_vmap` that calls an operator by `call` for each element of a batch, and
    stacks its results."""

    def rule(info: Any, in_dims: Sequence[Any], *args: Any) -> tuple[Any, Any]:
        import torch

        for each, dim in zip(inputs, in_dims, strict=False):
            if each.written and dim is None:
                raise ArgumentError(
                    f"{operator}: torch.vmap maps other inputs but not {each.name}, which each element would write: "
                    f"expand {each.name} first"
                )
        if info.batch_size == 0 and outputs:
            raise ArgumentError(f"{operator}: torch.vmap over a dimension of size 0 cannot tell the outputs' shapes")
        results = [
            call(*(_part(each, dim, index) for each, dim in zip(args, in_dims, strict=False)))
            for index in range(info.batch_size)
        ]
        if outputs == 0:
            return None, None
        if outputs == 1:
            return torch.stack(results), 0
        return tuple(map(torch.stack, zip(*results, strict=True))), (0,) * outputs

    return rule


def _part(value: Any, dim: Any, index: int) -> Any:
    """Return an argument for one element of a batch, whose dimension in the argument is `dim`, None if it has none."""
    if isinstance(value, (list, tuple)):
        dims = dim if isinstance(dim, (list, tuple)) else [dim] * len(value)
        return [_part(each, of, index) for each, of in zip(value, dims, strict=True)]
    return value if dim is None or not hasattr(value, "select") else value.select(dim, index)
