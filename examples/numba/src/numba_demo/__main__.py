"""Compare each function with PyTorch's own."""

import sys

import torch

import numba_demo


def main() -> None:
    torch.manual_seed(0)
    x, y = torch.randn(2, 98_431, device="cuda")
    assert numba_demo.add(x, y).equal(x + y)
    assert numba_demo.add(x[::2], y[::2]).equal(x[::2] + y[::2])
    matrix = torch.randn(3000, 70, device="cuda")
    for each in (matrix, matrix[:, ::2], matrix.double()):
        torch.testing.assert_close(numba_demo.column_sums(each), each.double().sum(dim=0))
    values = torch.rand(100_000, device="cuda", dtype=torch.float64)
    counts = numba_demo.histogram(values, 64, 0.0, 1.0)
    assert counts.equal(torch.bincount((values * 64).long(), minlength=64).int())
    assert "numba" not in sys.modules
    print("add, column_sums and histogram agree with PyTorch; Numba was not imported")


if __name__ == "__main__":
    main()
