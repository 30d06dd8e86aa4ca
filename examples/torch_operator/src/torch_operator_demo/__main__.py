"""Compare the operator and its gradient with PyTorch's own operators: `python -m torch_operator_demo`."""

import sys

import torch

from torch_operator_demo import normalise


def main():
    x = torch.randn(100, 300, device="cuda", requires_grad=True)
    weights = torch.randn(100, 300, device="cuda")
    y, _ = normalise(x)
    (found,) = torch.autograd.grad((y * weights).sum(), x)
    expected = torch.nn.functional.rms_norm(x, (300,), eps=1e-6)
    (wanted,) = torch.autograd.grad((expected * weights).sum(), x)
    errors = [(y - expected).abs().max().item(), (found - wanted).abs().max().item()]
    print(f"largest error {errors[0]:.2g}, of the gradient {errors[1]:.2g}")
    return int(not max(errors) < 1e-4)


if __name__ == "__main__":
    sys.exit(main())
