"""Fixtures of PyTorch's operators that run on tensors in host memory."""

from __future__ import annotations

from typing import Any

import pytest

from cuda_wheel.torch import functions as operator_functions
from tests.torch.stand_in_kernels import STREAM, Address


@pytest.fixture
def on_cpu(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let what operators register for GPUs serve tensors in host memory, whose addresses stand-ins can compute with."""
    import torch

    monkeypatch.setattr(operator_functions, "GPU_KEY", "CPU")
    monkeypatch.setattr(operator_functions, "AUTOGRAD_KEY", "AutogradCPU")
    monkeypatch.setattr(torch._C, "_cuda_getCurrentRawStream", lambda device: STREAM, raising=False)
    data_ptr = torch.Tensor.data_ptr

    def address(tensor: Any) -> Address:
        found = Address(data_ptr(tensor))
        found.tensor = tensor
        return found

    monkeypatch.setattr(torch.Tensor, "data_ptr", address)


@pytest.fixture
def name(request: pytest.FixtureRequest) -> str:
    """Return an operator's name that no other test uses."""
    return f"cuda_wheel_tests::op{abs(hash(request.node.nodeid))}"
