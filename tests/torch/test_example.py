"""The example `torch_operator` builds, and its declarations fit its kernels; tests/gpu runs it."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.support.projects import ROOT

EXAMPLE = ROOT / "examples/torch_operator"


def test_the_example_builds_and_fits_its_kernels(tmp_path: Path, cuda_wheel, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDAARCHS", "80-real")
    result = cuda_wheel("build", EXAMPLE, "-o", tmp_path)
    assert result.returncode == 0, result.stdout
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    if not torch.version.cuda:
        pytest.skip("a PyTorch without CUDA ends the process at gradients of fake tensors on a GPU")
    shutil.copytree(EXAMPLE / "src/torch_operator_demo", tmp_path / "torch_operator_demo", dirs_exist_ok=True)
    monkeypatch.syspath_prepend(tmp_path)
    import torch_operator_demo
    from torch._subclasses import FakeTensorMode

    with FakeTensorMode():
        x = torch.empty(6, 8, device="cuda", requires_grad=True)
        y, scale = torch_operator_demo.normalise(x)
        assert y.requires_grad and not scale.requires_grad
        grad_x = torch_operator_demo.gradient(y, y, scale)
    assert (y.shape, scale.shape, grad_x.shape) == ((6, 8), (6,), (6, 8))
