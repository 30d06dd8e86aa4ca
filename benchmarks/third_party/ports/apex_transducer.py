"""Apex's transducer joint (NVIDIA): the forward pass with dropout, and the backward pass, as the package has them.

The kernel receives at::PhiloxCudaState by value. Instances are chosen by the element type, the size of a tile and
whether there is a mask; those of the backward pass also by whether the memory is aligned for loads of 8 bytes.
"""

import ctypes

import torch
from torch import Tensor

import cuda_wheel.torch
from cuda_wheel.torch import PhiloxState, operator, philox

kernels = cuda_wheel.torch.kernels("ported_apex_transducer.transducer_joint_kernel")


def require(condition: bool, what: str = "Input mismatch") -> None:
    if not condition:  # torch._check takes a microsecond
        raise ValueError(what)


@operator("ported_apex_transducer::forward", random=True, non_contiguous="refuse", outputs="sum, mask")
def joint(
    f: Tensor,
    g: Tensor,
    f_len: Tensor,
    g_len: Tensor,
    batch_offset: Tensor | None,
    packed_batch: int,
    opt: int,
    pack_output: bool,
    relu: bool,
    dropout: bool,
    dropout_prob: float,
    tile_size: int,
) -> tuple[Tensor, Tensor]:
    require(opt in (0, 1), f"Got an invalid optimization level {opt}")
    (batch, max_f, hidden), max_g = f.shape, g.size(1)
    masked = dropout or relu
    shape = (packed_batch, hidden) if pack_output else (batch, max_f, max_g, hidden)
    sum = f.new_empty(shape)
    mask = f.new_empty(shape if masked else 0, dtype=torch.uint8)
    threads = min(128, -(-hidden // 32) * 32)
    if opt == 0:
        kernels["transducer_joint_forward", f.dtype, "OffsetCalFwd"].launch(
            (max_g, max_f, batch), threads, f, g, f_len, g_len, batch_offset, max_f, max_g, hidden, pack_output, sum
        )
        return sum, mask
    require(tile_size in (1, 2, 4), f"Expected tileSize to be in [1, 2, 4], but got {tile_size}")
    state = philox(tile_size * tile_size) if masked else PhiloxState()
    keep = 1 - ctypes.c_float(dropout_prob).value  # the host function subtracts a float
    grid = -(-max_g // tile_size) * -(-hidden // threads), -(-max_f // tile_size), batch
    sizes = max_f, max_g, hidden, threads
    kernel = kernels["transducer_joint_tiled_forward", f.dtype, tile_size, tile_size, 4, "OffsetCalFwd", masked]
    kernel.launch(
        grid,
        threads,
        f,
        g,
        f_len,
        g_len,
        batch_offset,
        *sizes,
        pack_output,
        relu,
        dropout,
        keep,
        state,
        sum,
        mask if masked else None,
    )
    return sum, mask


def forward(f, g, f_len, g_len, batch_offset, packed_batch, opt, pack_output, relu, dropout, *rest) -> list[Tensor]:
    # The package passes a tensor on the CPU as the offset that is not needed, and a tensor with a number as the size.
    offset, size = (batch_offset, int(packed_batch)) if pack_output else (None, 0)
    sum, mask = joint(f, g, f_len, g_len, offset, size, opt, pack_output, relu, dropout, *rest)
    return [sum, mask] if dropout or relu else [sum]


@operator("ported_apex_transducer::backward", non_contiguous="refuse", outputs="f_grad, g_grad")
def joint_gradient(
    grad: Tensor,
    mask: Tensor | None,
    f_len: Tensor,
    g_len: Tensor,
    batch_offset: Tensor | None,
    max_f_len: int,
    max_g_len: int,
    pack_output: bool,
    scale: float,
) -> tuple[Tensor, Tensor]:
    batch, hidden = f_len.size(0), grad.size(-1)
    f_grad, g_grad = grad.new_empty(batch, max_f_len, hidden), grad.new_empty(batch, max_g_len, hidden)
    largest = max(1, -(-max(max_f_len, max_g_len) // 32))
    warps = min(32, max(2, 1 << (largest.bit_length() - 1)))  # every GPU runs 32 warps in a block
    sum_type = torch.double if grad.dtype == torch.double else torch.float
    vector = 8 // grad.itemsize
    is_aligned = grad.storage_offset() * grad.itemsize % 8 == 0
    masked = mask is not None
    if vector > 1 and hidden % vector == 0 and is_aligned:
        instance = "transducer_joint_combined_vec_backward", grad.dtype, sum_type, "unsigned long", vector
    else:
        vector, instance = 1, ("transducer_joint_combined_backward", grad.dtype, sum_type)
    kernels[(*instance, "OffsetCalBwd", masked)].launch(
        (-(-hidden // (32 * vector)), max_f_len + max_g_len, batch),
        (32, warps),
        grad,
        mask,
        f_len,
        g_len,
        batch_offset,
        max_f_len,
        max_g_len,
        hidden,
        pack_output,
        scale,
        f_grad,
        g_grad,
        shared_memory=warps * 32 * sum_type.itemsize,
    )
    return f_grad, g_grad


def backward(inputs, f_len, g_len, batch_offset, max_f_len, max_g_len, pack_output, scale) -> list[Tensor]:
    mask = inputs[1] if len(inputs) == 2 else None
    offset = batch_offset if pack_output else None
    return list(joint_gradient(inputs[0], mask, f_len, g_len, offset, max_f_len, max_g_len, pack_output, scale))
