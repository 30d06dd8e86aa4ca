"""The host functions of `extension.cu`, in Python: each is an operator of PyTorch."""

import ctypes

import torch
from torch import Tensor

import cuda_wheel.torch

kernels = cuda_wheel.torch.kernels("torch_functions_demo.extension")


def blocks(n, size=256):
    return (n + size - 1) // size


# The kernel by type and by a size.


@cuda_wheel.torch.operator("torch_functions_demo::nearest")
def nearest(points: Tensor, queries: Tensor) -> Tensor:
    """Return for each query the number of the nearest point: (count, dimensions) both."""
    n, dimensions = points.shape
    m = queries.size(0)
    if queries.size(1) != dimensions:
        raise ValueError("points and queries must have the same dimensions")
    index = points.new_empty(m, dtype=torch.int64)
    kernel = kernels["nearest_kernel", points.dtype, dimensions]
    kernel.launch(blocks(m, 128), 128, points, queries, index, n, m)
    return index


# Two launches, PyTorch's prefix sum between them, and a size that is read back.


@cuda_wheel.torch.operator("torch_functions_demo::above")
def above(x: Tensor, threshold: float) -> Tensor:
    """Return the elements of a float32 tensor above a threshold, in their order."""
    n = x.numel()
    if n == 0:
        return x.new_empty(0)
    marks = x.new_empty(n, dtype=torch.int32)
    kernels["mark_kernel"].launch(blocks(n), 256, x, marks, threshold, n)
    places = marks.cumsum(0)
    found = x.new_empty(cuda_wheel.torch.read_size(places[-1]))
    kernels["collect_kernel"].launch(blocks(n), 256, x, marks, places, found, n)
    return found


# A list of tensors whose addresses are in a struct.

LISTED = 8


class TensorList(ctypes.Structure):
    _fields_ = [
        ("addresses", ctypes.c_void_p * LISTED),
        ("sizes", ctypes.c_int64 * LISTED),
        ("count", ctypes.c_int32),
    ]


@cuda_wheel.torch.operator("torch_functions_demo::scale_all", writes="tensors")
def scale_all(tensors: list[Tensor], factor: float) -> None:
    """Multiply float32 tensors by a factor, in place."""
    for first in range(0, len(tensors), LISTED):
        part = tensors[first : first + LISTED]
        sizes = [each.numel() for each in part]
        fields = {"addresses": part, "sizes": sizes, "count": len(part)}
        listed = cuda_wheel.torch.packed(TensorList, **fields)
        kernels["scale_kernel"].launch(64, 256, listed, factor)


# Accessors by value: a tensor with its sizes and strides.


@cuda_wheel.torch.operator(
    "torch_functions_demo::row_sums",
    read_only="x",
    non_contiguous="pass",
)
def row_sums(x: Tensor) -> Tensor:
    """Return the sums of the rows of a tensor of any strides."""
    rows = x.size(0)
    sums = x.new_empty(rows)
    kernels["row_sums_kernel", x.dtype].launch(blocks(rows, 128), 128, x, sums)
    return sums


# Random numbers, a flag that no kernel sees, an output that may be empty.


@cuda_wheel.torch.operator("torch_functions_demo::dropout", random=True)
def dropout(
    x: Tensor,
    probability: float = 0.5,
    train: bool = True,
) -> tuple[Tensor, Tensor]:
    """Return x with elements that are zero by chance, and where they are not."""
    if not train or probability == 0:
        return x.clone(), x.new_empty(0, dtype=torch.bool)
    n = x.numel()
    y, kept = torch.empty_like(x), x.new_empty(x.shape, dtype=torch.bool)
    state = cuda_wheel.torch.philox(4)
    numbers = (n, probability, state.seed, state.offset)
    kernels["dropout_kernel"].launch(blocks(n), 256, x, y, kept, *numbers)
    return y, kept


# A number of half precision by value; a missing tensor is a null pointer.


@cuda_wheel.torch.operator("torch_functions_demo::blend")
def blend(x: Tensor, y: Tensor | None, weight: float) -> Tensor:
    """Return x + weight * y, or x + weight without y."""
    n = x.numel()
    result = torch.empty_like(x)
    kernels["blend_kernel"].launch(blocks(n), 256, x, y, result, weight, n)
    return result


# Derivatives in reverse and forward mode.


def backward(grad_y, x, y):
    length = x.square().sum().sqrt()
    return (grad_y - y * (grad_y * y).sum()) / length


def jvp(tangent_x, x, y):
    length = x.square().sum().sqrt()
    return (tangent_x - y * (tangent_x * y).sum()) / length


@cuda_wheel.torch.operator(
    "torch_functions_demo::normalise",
    outputs="y",
    backward=backward,
    jvp=jvp,
)
def normalise(x: Tensor) -> Tensor:
    """Return x divided by its Euclidean length."""
    n = x.numel()
    squares, y = torch.empty_like(x), torch.empty_like(x)
    kernels["square_kernel"].launch(blocks(n), 256, x, squares, n)
    total = squares.sum().sqrt()
    kernels["divide_kernel"].launch(blocks(n), 256, x, total, y, n)
    return y
