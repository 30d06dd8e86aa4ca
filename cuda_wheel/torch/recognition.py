"""Recognise an operator's call with tensors like those of the call before, by one call of PyTorch's compiled guards.

`torch.compile` decides with these guards whether compiled code serves a call. They compare the class of each tensor,
its dispatch keys (with the modes and transforms that are active in the thread), element type, GPU, number of dimensions
and `requires_grad`, which all takes as long as reading three attributes in Python. They are not documented: without
them, calls take longer.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

__all__ = ["Recognised", "Recogniser", "is_below_autograd"]


def is_below_autograd(torch: Any) -> bool:
    """Return whether the thread is inside a kernel of PyTorch's dispatcher for which autograd has seen the call."""
    # Of the keys of autograd, such as AutogradCUDA, this is the part that is excluded for all kinds of tensors.
    key = torch._C.DispatchKey.AutogradFunctionality
    return bool(torch._C._dispatch_tls_is_dispatch_key_excluded(key))


class Recognised(NamedTuple):
    """Facts about an earlier call of an operator, and a test for calls with tensors like those of the earlier call. A
    call that passes the test uses the facts and need not compute them again."""

    matches: Callable[..., bool]
    """Function (tensors of a call) that returns whether they are like those of the earlier call: in class, dispatch
    keys, element type, GPU, number of dimensions and `requires_grad`. It must not be called with a nested tensor, which
    would crash the process."""
    key: Any
    """Value of the variable `_key` of the operator's generated function in the earlier call. It has the GPUs and
    element types of the tensors."""
    device: int
    """Index of the GPU of the tensors in the earlier call; -1 in `Recogniser.NOTHING`."""
    has_optional: bool
    """Whether the tensors include the operator's optional ones; False if these were missing in the earlier call."""
    requires_grad: bool
    """Whether any tensor of the earlier call has `requires_grad` set."""
    is_below_autograd: bool
    """Whether the earlier call was made inside a kernel of PyTorch's dispatcher for which autograd has seen the
    call."""


class Recogniser:
    """Makes the `Recognised` of an operator when two calls in a row have tensors of the same kinds."""

    MOST = 64
    """Maximum number of guards (compiled comparisons of a call's tensors) that are made for one operator."""

    NOTHING = Recognised(lambda *tensors: False, None, -1, True, False, False)
    """The `Recognised` of an operator for which `note` has not made one yet. Its test fails for all tensors."""

    def __init__(self, namespace: dict[str, Any]) -> None:
        """`namespace` has the global names of the operator's generated functions. The newest `Recognised` is `_seen`
        there, as a tuple."""
        self._namespace = namespace
        self._last: Any = None
        self._made: dict[Any, Recognised] = {}
        """What `note` compares of a call's tensors -> the `Recognised` that was made for such a call."""
        self._set(self.NOTHING)

    def note(self, key: Any, device: int, has_optional: bool, *tensors: Any) -> None:
        """Recognise calls with tensors like these from now on, if the call before had such tensors too.

        `key` and `device` are those of this call, whose tensors are plain ones: not nested, and of PyTorch's own
        classes. Calls with sparse tensors are not noted.
        """
        # Where the tensors change all the time, each call would pay for another guard.
        if len(self._made) >= self.MOST:
            return
        import torch

        is_given_twice = len({*map(id, tensors)}) < len(tensors)
        if is_given_twice or not all(each.layout is torch.strided for each in tensors):  # which guards refuse
            return
        # Guards compare all of this. The key sets of the thread differ inside autocast, inference mode and the like.
        thread = torch._C._dispatch_tls_local_include_set(), torch._C._dispatch_tls_local_exclude_set()
        keys = [each.raw_repr() for each in (*thread, *map(torch._C._dispatch_keys, tensors))]
        kinds = (key, device, has_optional, *keys)
        kinds += tuple((type(each), each.dim(), each.requires_grad) for each in tensors)
        if kinds != self._last:
            self._last = kinds
            return
        # Training and validation, for example, have their own kinds of tensors in turn.
        if kinds not in self._made:
            self._made[kinds] = self._recognised(torch, key, device, has_optional, tensors)
        if self._made[kinds] is not self.NOTHING:
            self._set(self._made[kinds])

    def _recognised(
        self, torch: Any, key: Any, device: int, has_optional: bool, tensors: tuple[Any, ...]
    ) -> Recognised:
        """Return a `Recognised` for calls like one with these arguments of `note`. If PyTorch's guards do not recognise
        its tensors, return `NOTHING`."""
        dynamic = [[None] * each.dim() for each in tensors]
        try:
            from torch._C._dynamo.guards import TensorGuards

            guards = TensorGuards(*tensors, dynamic_dims_sizes=dynamic, dynamic_dims_strides=dynamic)
            matches = guards.check
            is_recognised = matches(*tensors)
        except (ImportError, TypeError):  # another version of PyTorch
            self.MOST = 0
            return self.NOTHING
        if not is_recognised:
            return self.NOTHING
        requires_grad = any(each.requires_grad for each in tensors)
        return Recognised(matches, key, device, has_optional, requires_grad, is_below_autograd(torch))

    def _set(self, recognised: Recognised) -> None:
        # As a plain tuple, which Python unpacks in a fifth of the time.
        self._namespace["_seen"] = tuple(recognised)
