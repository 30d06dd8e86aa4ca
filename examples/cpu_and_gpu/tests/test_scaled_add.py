from importlib.metadata import version
from importlib.util import find_spec

import demo
import pytest
import torch

SCHEMA = "demo::scaled_add(Tensor x, Tensor y, float scale=1.) -> Tensor"
no_cpu = pytest.mark.skipif(not find_spec("demo_cpu"), reason="demo-cpu is not installed")
no_gpu = pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU")
cpu = pytest.param("cpu", marks=no_cpu)
cuda = pytest.param("cuda", marks=no_gpu)


def tensors(device):
    x = torch.arange(20.0, device=device).reshape(4, 5).t()
    return x.requires_grad_(), (x.detach() + 7).contiguous().requires_grad_()


def test_both_wheels_have_one_version_and_one_schema():
    assert str(demo.scaled_add.default._schema) == SCHEMA
    if find_spec("demo_cpu"):
        assert version("demo") == version("demo-cpu")


@pytest.mark.parametrize("device", [cpu, cuda])
def test_values_and_gradients(device):
    x, y = tensors(device)
    result = demo.scaled_add(x, y, 0.5)
    assert result.equal(x + 0.5 * y) and result.device == x.device
    grad_x, grad_y = torch.autograd.grad(result.sum(), (x, y))
    assert grad_x.eq(1).all() and grad_y.eq(0.5).all()
    assert demo.scaled_add(x[:0], y[:0]).shape == (0, 4)
    with pytest.raises((RuntimeError, ValueError), match="the same shape"):
        demo.scaled_add(x, y[:1])


@pytest.mark.parametrize("device", [cpu, cuda])
def test_pytorchs_checks_of_operators(device):
    torch.library.opcheck(demo.scaled_add.default, (*tensors(device), 0.5))


@pytest.mark.parametrize("device", [cpu, cuda])
def test_compiled(device):
    x, y = tensors(device)
    tripled = lambda x, y: demo.scaled_add(x, y, 2.0) * 3  # noqa: E731
    compiled = torch.compile(tripled, fullgraph=True, backend="aot_eager")
    result = compiled(x, y)
    assert result.equal((x + 2 * y) * 3)
    assert torch.autograd.grad(result.sum(), y)[0].eq(6).all()
