"""Apex's amp_C (NVIDIA): `multi_tensor_scale` and `multi_tensor_l2norm`, with the package's signatures.

A launch receives the addresses of up to 110 tensors in a struct by value. The plan of the launches depends on the
tensors' sizes alone and is kept for the next call. There is none for sizes that are not known, so that the shapes of
the results have functions of their own. PyTorch's operators take lists of tensors, but no lists of lists, which the
package's functions take: a plain function passes them on.
"""

import ctypes
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import torch
from torch import Tensor

import cuda_wheel.torch
from cuda_wheel.torch import operator, packed

scale_kernels = cuda_wheel.torch.kernels("ported_apex_amp.multi_tensor_scale_kernel")
l2norm_kernels = cuda_wheel.torch.kernels("ported_apex_amp.multi_tensor_l2norm_kernel")

TENSORS = {1: 110, 2: 64}
"""Lists of tensors -> tensors of each that a launch takes."""
BLOCKS = 320


def require(condition: bool, what: str = "Input mismatch") -> None:
    if not condition:  # torch._check takes a microsecond
        raise ValueError(what)


def metadata(depth: int) -> type[ctypes.Structure]:
    tensors = TENSORS[depth]

    class TensorListMetadata(ctypes.Structure):
        _fields_ = (
            ("addresses", ctypes.c_void_p * tensors * depth),
            ("sizes", ctypes.c_int64 * tensors),
            ("block_to_tensor", ctypes.c_uint8 * BLOCKS),
            ("block_to_chunk", ctypes.c_int32 * BLOCKS),
            ("start_tensor_this_launch", ctypes.c_int32),
        )

    return TensorListMetadata


METADATA = {depth: metadata(depth) for depth in TENSORS}


class Launch(NamedTuple):
    tensors: slice
    blocks: int
    metadata: ctypes.Structure
    """All but the addresses."""


@lru_cache
def plan(sizes: tuple[int, ...], chunk_size: int, depth: int) -> list[Launch]:
    """Return the launches for `depth` lists of tensors with these numbers of elements."""
    most = TENSORS[depth]

    def launches() -> Iterator[Launch]:
        first, tensors, chunks = 0, [], []
        for tensor, size in enumerate(sizes):
            of_tensor = -(-size // chunk_size)
            for chunk in range(of_tensor):
                tensors.append(tensor - first)
                chunks.append(chunk)
                is_last = chunk == of_tensor - 1
                if (
                    len(chunks) == BLOCKS
                    or (is_last and tensor - first == most - 1)
                    or (is_last and tensor == len(sizes) - 1)
                ):
                    yield Launch(slice(first, tensor + 1), len(chunks), common(first, tensor + 1, tensors, chunks))
                    first, tensors, chunks = tensor + is_last, [], []

    def common(first: int, end: int, tensors: list[int], chunks: list[int]) -> ctypes.Structure:
        return packed(
            METADATA[depth],
            sizes=sizes[first:end],
            block_to_tensor=tensors,
            block_to_chunk=chunks,
            start_tensor_this_launch=first,
        )

    return list(launches())


def multi_tensor_apply(
    kernel: Any, chunk_size: int, noop_flag: Tensor, lists: Sequence[Sequence[Tensor]], *arguments: Any
) -> None:
    """Launch a kernel on every chunk of the tensors. Its functor, the fourth parameter, is an empty struct."""
    sizes = tuple(map(Tensor.numel, lists[0]))
    for each in lists:
        require(each is lists[0] or tuple(map(Tensor.numel, each)) == sizes, "Size mismatch")
        require(all(map(Tensor.is_contiguous, each)) or all(map(is_dense, each)), "A tensor was not contiguous.")
    for tensors, blocks, common in plan(sizes, chunk_size, len(lists)):
        list_metadata = packed(common, addresses=[each[tensors] for each in lists])
        kernel.launch(blocks, 512, chunk_size, noop_flag, list_metadata, b"\0", *arguments)


def is_dense(tensor: Tensor) -> bool:
    format = {4: torch.channels_last, 5: torch.channels_last_3d}.get(tensor.dim(), torch.contiguous_format)
    return tensor.is_contiguous() or tensor.is_contiguous(memory_format=format)


@operator(
    "ported_apex_amp::scale",
    writes=("noop_flag", "scaled"),
    read_only="tensors",
    non_contiguous="pass",
    fake=lambda *arguments: None,
)
def scale_(chunk_size: int, noop_flag: Tensor, tensors: list[Tensor], scaled: list[Tensor], scale: float) -> None:
    functor = "ScaleFunctor", tensors[0].dtype, scaled[0].dtype
    kernel = scale_kernels["multi_tensor_apply_kernel", "TensorListMetadata<2>", functor, "float"]
    multi_tensor_apply(kernel, chunk_size, noop_flag, (tensors, scaled), scale)


def multi_tensor_scale(chunk_size: int, noop_flag: Tensor, tensor_lists: list[list[Tensor]], scale: float) -> None:
    scale_(chunk_size, noop_flag, *tensor_lists, float(scale))  # the package also passes a tensor with a number


def norms_of(
    chunk_size: int, noop_flag: Tensor, tensors: list[Tensor], per_tensor: bool = False
) -> tuple[Tensor, Tensor]:
    """Make the outputs: the norm of all, and those of each."""
    norm = tensors[0].new_empty(1, dtype=torch.float)
    return norm, norm.new_empty(len(tensors) if per_tensor else 0)


@operator(
    "ported_apex_amp::l2norm",
    writes="noop_flag",
    read_only="tensors",
    non_contiguous="pass",
    outputs="norm, norms",
    fake=norms_of,
)
def l2norm(
    chunk_size: int, noop_flag: Tensor, tensors: list[Tensor], per_tensor: bool = False
) -> tuple[Tensor, Tensor]:
    norm, norms = norms_of(chunk_size, noop_flag, tensors, per_tensor)
    output = norm.new_zeros(320)
    chunks, output_per_tensor = -1, None
    if per_tensor:
        chunks = -(-max(map(Tensor.numel, tensors)) // chunk_size)
        output_per_tensor = norm.new_zeros(len(tensors) * chunks)
    functor = "L2NormFunctor", tensors[0].dtype
    kernel = l2norm_kernels[
        "multi_tensor_apply_kernel", "TensorListMetadata<1>", functor, "float*", "float*", "bool", "int"
    ]
    multi_tensor_apply(kernel, chunk_size, noop_flag, (tensors,), output, output_per_tensor, per_tensor, chunks)
    l2norm_kernels["cleanup"].launch(
        len(tensors) if per_tensor else 1,
        512,
        output,
        output_per_tensor,
        norm,
        norms if per_tensor else None,
        per_tensor,
        chunks,
    )
    return norm, norms


def multi_tensor_l2norm(
    chunk_size: int, noop_flag: Tensor, tensor_lists: list[list[Tensor]], per_tensor: bool | None = None
) -> tuple[Tensor, Tensor]:
    return l2norm(chunk_size, noop_flag, *tensor_lists, bool(per_tensor))
