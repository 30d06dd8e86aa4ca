"""The pages of omniserve's caches: its functions take tables of their addresses, as integers.

A table is the beginning of a tensor whose end holds the pages, so that they live as long as it does. Kernels read a
table beyond its end, without using what they read there: there is room between the two.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from cases import DEVICE, random, whole

__all__ = ["Fill", "memory_of", "quantized", "table"]

ROOM = 1024
"""Numbers between a table and its pages."""

Fill = Callable[[Tensor], None]
"""Writes the pages' first contents: (pages, bytes) in host memory, as int8."""


def table(batch: int, blocks: int, size: int, fill: Fill) -> Tensor:
    """Return the addresses of the pages for keys and values, (batch, 2, blocks), in a shuffled order; `size` is that of
    a page in bytes, a multiple of 16."""
    count = batch * 2 * blocks
    begin = count + ROOM + count % 2
    memory = torch.zeros(begin + count * size // 8, dtype=torch.long)
    fill(memory[begin:].view(torch.int8).view(count, size))
    memory = memory.to(DEVICE)
    order = torch.randperm(count, generator=torch.Generator().manual_seed(9))
    memory[:count] = (memory.data_ptr() + begin * 8 + order * size).to(DEVICE)
    return memory[:count].view(batch, 2, blocks)


def memory_of(arguments: Sequence[Any]) -> list[Any]:
    """Return the arguments with the pages in the place of their addresses, which differ from process to process."""
    tables = [isinstance(each, Tensor) and each.dtype == torch.long and each.dim() == 3 for each in arguments]
    return [each._base[each.numel() :] if is_table else each for each, is_table in zip(arguments, tables, strict=True)]


def quantized(heads: int, tokens: int, size_per_token: int, more: int = 0) -> tuple[int, Fill]:
    """Return the size of a page, and what fills pages with numbers, their scales and their zeros, and `more` bytes."""
    data, scales = tokens * size_per_token, heads * tokens

    def fill(pages: Tensor) -> None:
        count = len(pages)
        pages[:, :data] = whole(count, data, low=-128, high=128, dtype=torch.int8).cpu()
        factors = torch.cat([random(count, scales) / 16 + 0.01, random(count, scales, seed=1) * 15], 1)
        pages[:, data : data + 4 * scales] = factors.half().cpu().view(torch.int8)

    return data + 4 * scales + more, fill
