"""Calls of omniserve's attention of one query over pages of quantized keys and values, and of what fills them.

Some heads see all tokens (retrieval), the others only the first and the last ones (streaming), whose pages are a ring.
`single_query_attention` asserts that heads have 128 numbers. It preloads scales of 4 bits without a barrier, and
`apply_bias_rope_update_kv_cache` rotates keys in place that several heads read: such calls are compared as racy ones.
In blocks (`multiblock_switch`), the last of 16 parts must end with the query, or it reads what nothing wrote.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from cases import Case, on_gpu, random, whole
from cases.omniserve_pages import memory_of, quantized, table

ATTENTION, UPDATE, OFFSETS = "single_query_attention", "apply_bias_rope_update_kv_cache", "compute_padding_offsets"

SINK, LOCAL, SINK_BLOCKS, LOCAL_BLOCKS = 64, 128, 1, 3
"""Tokens that streaming heads see first and last, and the pages of 64 for them."""


@dataclass(frozen=True)
class Heads:
    """The heads of a layer."""

    flags: tuple[int, ...] = (1, 0)
    """For each head of keys: whether it is a retrieval head."""
    group: int = 1
    """How many heads of queries share one of keys."""
    size: int = 128

    @property
    def queries(self) -> int:
        return len(self.flags) * self.group

    @property
    def keys(self) -> int:
        return len(self.flags)

    @property
    def kinds(self) -> tuple[int, int]:
        """How many streaming and how many retrieval heads there are."""
        return len(self.flags) - sum(self.flags), sum(self.flags)

    def ranks(self) -> Tensor:
        return on_gpu([self.flags[:n].count(flag) for n, flag in enumerate(self.flags)], dtype=torch.int)

    def qkv(self, tokens: int, dtype: torch.dtype = torch.half) -> Tensor:
        return (random(tokens, (self.queries + 2 * self.keys) * self.size, seed=2) * 2 - 1).to(dtype)

    def table(self, is_retrieval: int, batch: int, blocks: int, tokens: int, bits: int) -> Tensor | None:
        if not (heads := self.kinds[is_retrieval]):
            return None
        return table(batch, blocks, *quantized(heads, tokens, heads * self.size * bits // 8))

    def numbers(self, tokens: int, bits: int) -> list[int]:
        sizes = [self.kinds[kind] * self.size * bits // 8 for kind in (1, 0)]
        return [tokens, *sizes, SINK, LOCAL, SINK_BLOCKS, LOCAL_BLOCKS, self.kinds[1], self.kinds[0]]


def attention(
    history: Sequence[int] = (70, 130, 1),
    heads: Heads = Heads(),
    bits: int = 4,
    zeros: bool = True,
    tokens: int = 64,
    switch: int = 2048,
    has_lengths: bool = True,
    scale: float = 1.0,
    dtype: torch.dtype = torch.half,
) -> list[Any]:
    """`history` has the number of tokens before each query."""
    batch, most = len(history), max(history)
    packed = heads.qkv(batch, dtype).view(batch, -1, heads.size)
    q, k, v = packed.split([heads.queries, heads.keys, heads.keys], 1)
    return [
        q,
        k,
        v,
        heads.table(1, batch, most // tokens + 1, tokens, bits),
        heads.table(0, batch, SINK_BLOCKS + LOCAL_BLOCKS, tokens, bits),
        on_gpu(list(heads.flags), dtype=torch.int),
        heads.ranks(),
        on_gpu([n + 1 for n in history], dtype=torch.int) if has_lengths else None,
        None,
        4096,
        *heads.numbers(tokens, bits),
        most,
        heads.size,
        10000.0,
        scale,
        True,
        bits == 4,
        zeros,
        switch,
    ]


def starts(lengths: Sequence[int]) -> Tensor:
    return on_gpu([0, *torch.tensor(lengths).cumsum(0).tolist()], dtype=torch.int)


def update(
    lengths: Sequence[int] = (70, 130, 1),
    heads: Heads = Heads(),
    bits: int = 4,
    zeros: bool = True,
    tokens: int = 64,
    base: float = 10000.0,
    scale: float = 1.0,
) -> list[Any]:
    batch, most = len(lengths), max(lengths)
    padding = [n * most - sum(lengths[:n]) for n, length in enumerate(lengths) for _ in range(length)]
    return [
        heads.qkv(sum(lengths)),
        on_gpu(list(lengths), dtype=torch.int),
        None,
        on_gpu(padding, dtype=torch.int),
        heads.table(1, batch, -(-most // tokens), tokens, bits),
        heads.table(0, batch, SINK_BLOCKS + LOCAL_BLOCKS, tokens, bits),
        on_gpu(list(heads.flags), dtype=torch.int),
        heads.ranks(),
        heads.queries,
        heads.keys,
        most,
        *heads.numbers(tokens, bits),
        heads.size,
        base,
        scale,
        8192,
        True,
        bits == 4,
        zeros,
    ]


def changed(arguments: list[Any], place: int, value: Any) -> list[Any]:
    arguments[place] = value(arguments[place])
    return arguments


HEADS = {
    "one of both": Heads(),
    "retrieval": Heads((1, 1)),
    "streaming": Heads((0, 0, 0)),
    "groups": Heads((0, 1, 1), group=4),
}


def attentions() -> Iterator[Case]:
    def case(what: str, is_racy: bool = False, **options: Any) -> Case:
        return Case(ATTENTION, lambda o=options: attention(**o), what, is_racy=is_racy, after=memory_of)

    for kind, heads in HEADS.items():
        for bits in (4, 8):
            for zeros in (True, False):
                what, is_racy = f"{kind}, {bits} bits, zeros {zeros}", bits == 4 and zeros
                for history in ((1,), (63, 64, 65), (5, 300, 191, 192)):
                    yield case(f"{what}, {history}", is_racy, history=history, heads=heads, bits=bits, zeros=zeros)
                blocks = {"history": (320, 320), "heads": heads, "bits": bits, "zeros": zeros, "switch": 300}
                yield case(f"{what}, in blocks", is_racy, **blocks)
    yield case("long", history=(2100, 3), switch=4096)
    yield case("long, 8 bits", history=(2100, 3), bits=8, switch=4096)
    yield case("long, in blocks", history=(2560,))
    yield case("pages of 32", True, tokens=32, history=(100, 31), heads=Heads((1, 1)))
    yield case("no lengths", True, has_lengths=False)
    yield case("scaled", True, scale=2.0)
    many = Heads((1, 0) * 8, group=4)
    yield case("many heads", True, history=(40,) * 16, heads=many)

    def slopes(number: int) -> list[Any]:
        return changed(attention(), 8, lambda _: random(number))

    yield Case(ATTENTION, lambda: slopes(2), "slopes that are not used", is_racy=True, after=memory_of)
    yield Case(ATTENTION, lambda: slopes(3), "other slopes: refused")
    yield Case(ATTENTION, lambda: changed(slopes(2), 8, Tensor.half), "half slopes: refused")
    yield Case(ATTENTION, lambda: changed(slopes(2), 8, Tensor.cpu), "slopes on the CPU: refused")
    for place, what in enumerate(("queries", "keys", "values", "a table", "a ring")):
        yield Case(ATTENTION, lambda p=place: changed(attention(), p, Tensor.cpu), f"{what} on the CPU: refused")
    for place, what in ((1, "keys"), (2, "values")):
        columns = lambda t: t.transpose(1, 2).contiguous().transpose(1, 2)  # noqa: E731
        yield Case(ATTENTION, lambda p=place, c=columns: changed(attention(), p, c), f"columns of {what}: refused")
    for place, what in ((3, "table"), (4, "ring")):
        yield Case(
            ATTENTION, lambda p=place: changed(attention(), p, lambda t: t[..., ::2]), f"{what} with gaps: refused"
        )
        yield Case(ATTENTION, lambda p=place: changed(attention(), p, Tensor.int), f"int {what}: refused")
    for place, what in ((5, "flags"), (6, "ranks"), (7, "lengths")):
        yield Case(ATTENTION, lambda p=place: changed(attention(), p, Tensor.long), f"long {what}: refused")
    yield Case(ATTENTION, lambda: changed(attention(), 7, lambda t: t[1:]), "too few lengths: refused")
    yield Case(ATTENTION, lambda: changed(attention(), 7, lambda t: t.repeat(2)[::2]), "lengths with gaps: refused")
    yield Case(ATTENTION, lambda: changed(attention(), 7, Tensor.cpu), "lengths on the CPU: refused")
    for dtype in (torch.float, torch.bfloat16):
        yield Case(ATTENTION, lambda d=dtype: attention(dtype=d), f"{dtype}: refused")
    yield Case(ATTENTION, lambda: changed(attention(), 9, float), "a float as a length: refused")
    yield Case(ATTENTION, lambda: attention()[:-1], "too few arguments: refused")


def updates() -> Iterator[Case]:
    def case(what: str, is_racy: bool = False, **options: Any) -> Case:
        return Case(UPDATE, lambda o=options: update(**o), what, is_racy=is_racy, after=memory_of)

    for kind, heads in HEADS.items():
        for bits in (4, 8):
            for zeros in (True, False):
                for lengths in ((1,), (63, 64, 65), (5, 300, 191, 192)):
                    what = f"{kind}, {bits} bits, zeros {zeros}, {lengths}"
                    yield case(what, heads.group > 1, lengths=lengths, heads=heads, bits=bits, zeros=zeros)
    for size in (64, 256):
        for bits in (4, 8):
            yield case(f"heads of {size}, {bits} bits", heads=Heads((1, 0), size=size), bits=bits)
    yield case("pages of 32", tokens=32, lengths=(100, 31), heads=Heads((1, 1)))
    yield case("another base", base=500000.0)
    yield case("scaled", scale=4.0)
    yield Case(
        UPDATE,
        lambda: changed(update(), 2, lambda _: on_gpu([1, 2, 3], dtype=torch.int)),
        "lengths that are not used",
        after=memory_of,
    )
    yield Case(UPDATE, lambda: changed(update(), 0, Tensor.float), "float: refused")
    for place, what in ((1, "lengths"), (3, "offsets"), (6, "flags"), (7, "ranks")):
        yield Case(UPDATE, lambda p=place: changed(update(), p, Tensor.long), f"long {what}: refused")
    for place, what in ((4, "table"), (5, "ring")):
        yield Case(UPDATE, lambda p=place: changed(update(), p, Tensor.int), f"int {what}: refused")
    yield Case(UPDATE, lambda: changed(update(), 10, float), "a float as a length: refused")
    yield Case(UPDATE, lambda: update()[:-1], "too few arguments: refused")


def cases() -> Iterator[Case]:
    for lengths in ((1,), (3, 5, 2), (300, 1, 256, 511), (4, 0, 7)):
        for more in (0, 9):
            call = lambda n=lengths, m=more: [starts(n), max(n) + m, sum(n)]  # noqa: E731
            yield Case(OFFSETS, call, f"{lengths} and {more}")
    yield Case(OFFSETS, lambda: [starts((3, 4)), 4, 12], "more room than tokens")
    yield Case(OFFSETS, lambda: [starts((3, 4)).long(), 4, 7], "long: refused")
    yield Case(OFFSETS, lambda: [whole(2, 2), 4, 7], "float: refused")
    yield Case(OFFSETS, lambda: [starts((3, 4)), 4, -1], "a negative number of tokens: refused")
    yield Case(OFFSETS, lambda: [starts((3, 4)), 4.0, 7], "a float as a length: refused")
    yield from attentions()
    yield from updates()
