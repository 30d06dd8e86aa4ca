"""Fixtures of PyTorch's operators that run on tensors in host memory."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

import cuda_wheel.torch
from cuda_wheel.torch import functions as operator_functions
from cuda_wheel.torch import module_kernels as kernels_module
from tests.torch.stand_in_kernels import STREAM, Address, Loaded, Make, StandIn


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


@pytest.fixture
def module(monkeypatch: pytest.MonkeyPatch, on_cpu: None) -> Make:
    """Return a function that makes `cuda_wheel.torch.kernels` of a module with these stand-ins."""

    def make(*kernels: StandIn, specialize: Any = None) -> Any:
        loaded: list[str] = []
        named = Loaded({each.name: each for each in kernels})
        manifest = SimpleNamespace(kernels=[each.info for each in kernels], specialize=specialize, platform=None)
        monkeypatch.setattr(kernels_module, "load", lambda module, device, **macros: (loaded.append(module), named)[1])
        monkeypatch.setattr(kernels_module, "read_manifest", lambda *given: manifest)
        monkeypatch.setattr(kernels_module, "long_size", lambda manifest: 8)
        monkeypatch.setattr(kernels_module, "current_device", lambda: 0)
        monkeypatch.setattr(kernels_module, "device_count", lambda: 1)
        found = cuda_wheel.torch.kernels("demo.kernels")
        found.loaded = loaded
        return found

    return make
