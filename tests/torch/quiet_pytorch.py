"""PyTorch, imported so that warnings of its own do not become errors, and the marks of the tests that run it."""

from __future__ import annotations

import warnings

import pytest

__all__ = ["MARKS", "FlopCounterMode", "Tensor", "torch"]

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # PyTorch's own; as errors, they would interrupt its imports
    import torch._dynamo
    import torch.testing._internal.optests
    from torch import Tensor
    from torch.utils.flop_counter import FlopCounterMode

MARKS = [
    pytest.mark.one_toolchain,
    pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning"),  # PyTorch's own
]
