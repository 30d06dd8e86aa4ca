"""Calls of the ported functions, each beside the original's: what `compare.py` compares and times.

`cases(name, original, port, home)` yields those of a package. `original` is its extension, built with nvcc, `port` the
module of this folder, and `home` the folder of its sources. The inputs are small, so that the time is the host's; those
that are not timed have odd sizes, other element types, no elements or strides.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

__all__ = ["Case", "cases"]

DEVICE = "cuda"
"""Where the arguments are made."""


@dataclass(frozen=True)
class Case:
    """One call, of the original and of the port."""

    name: str
    theirs: Callable[..., Any]
    ours: Callable[..., Any]
    arguments: Callable[[], Sequence[Any]]
    """Makes the arguments, equal ones at each call."""
    launches: int = 0
    """Kernel launches of a call that is timed; 0: it is not timed."""
    is_racy: bool = False
    """Whether threads write the same memory in any order, so that two calls of the original may differ."""
    differentiates: bool = False
    """Whether the port is called for its gradient, which takes a GPU also without data."""
    by_time: bool = False
    """Whether the result depends on the second in which the function is called."""


def cases(name: str, original: Any, port: Any, home: Path) -> Iterator[Case]:
    """Yield the calls of a package; raises KeyError for an unknown one."""
    return CASES[name](original, port, home)


def on_gpu(*values: Any, dtype: Any = None) -> Tensor:
    return torch.tensor(*values, dtype=dtype, device=DEVICE)


def random(*shape: int, dtype: Any = torch.float, seed: int = 0) -> Tensor:
    """Return numbers from 0 to 1, the same at each call."""
    numbers = torch.rand(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.double)
    return numbers.to(DEVICE, dtype)


def whole(*shape: int, low: int = -8, high: int = 8, dtype: Any = torch.float, seed: int = 0) -> Tensor:
    """Return whole numbers, whose sums are exact in any order."""
    numbers = torch.randint(low, high, shape, generator=torch.Generator().manual_seed(seed))
    return numbers.to(DEVICE, dtype)


def of_knn_cuda(original: Any, port: Any, home: Path) -> Iterator[Case]:
    def case(k: int, dim: int, references: int, queries: int, launches: int = 0) -> Case:
        return Case(
            f"knn, {k} of {references} for {queries}, {dim} dimensions",
            original.knn,
            port.knn,
            lambda: (random(dim, references), random(dim, queries, seed=1), k),
            launches,
        )

    yield case(2, 5, 10, 10, launches=3)
    for sizes in (
        (2, 5, 11, 11),
        (10, 5, 100, 100),
        (10, 5, 101, 101),
        (1, 1, 17, 3),
        (400, 5, 1000, 1000),
        (400, 5, 1001, 1001),
        (400, 5, 30001, 50),
    ):
        yield case(*sizes)


SQUARES = [[-1, -1], [-1, 1], [1, 1], [1, -1], [-2, -2], [-2, 2], [2, 2], [2, -2]]


def of_torch_cluster(original: Any, port: Any, home: Path) -> Iterator[Case]:
    def both(what: str, function: str, arguments: Callable[[], Sequence[Any]], **more: Any) -> Case:
        name = f"{function}{what and ', '}{what}"
        return Case(name, getattr(original, function), getattr(port, function), arguments, **more)

    def pointers(*ends: int) -> Tensor:
        return on_gpu(ends)

    floats = torch.float, torch.double, torch.half

    def of_floats(dtype: Any) -> Iterator[Case]:
        kind, is_timed = str(dtype).removeprefix("torch."), dtype == torch.float

        def squares() -> Tensor:
            return on_gpu(SQUARES, dtype=dtype)

        def centres() -> Tensor:
            return on_gpu([[-1, 0], [1, 0], [-2, 0], [2, 0]], dtype=dtype)

        once = {"launches": 1} if is_timed else {}
        yield both(kind, "fps", lambda: (squares(), pointers(0, 4, 8), on_gpu([0.5, 0.5]), False), **once)
        yield both(f"{kind}, one ratio", "fps", lambda: (squares(), pointers(0, 4, 8), on_gpu(0.5), False))
        yield both(
            f"{kind}, random start",
            "fps",
            lambda: (random(2001, 3, dtype=dtype), pointers(0, 1000, 2001), on_gpu(0.3), True),
        )
        yield both(
            f"{kind}, strides", "fps", lambda: (random(3, 500, dtype=dtype).t(), pointers(0, 500), on_gpu(0.5), True)
        )
        for cosine in (False, True):
            yield both(
                f"{kind}{', cosine' * cosine}",
                "knn",
                lambda cosine=cosine: (squares(), centres(), None, None, 2, cosine, 1),
                **({} if cosine else once),
            )
            yield both(
                f"{kind}{', cosine' * cosine}, examples",
                "knn",
                lambda cosine=cosine: (
                    random(1001, 3, dtype=dtype),
                    random(301, 3, dtype=dtype, seed=1),
                    pointers(0, 400, 402, 1001),
                    pointers(0, 99, 200, 301),
                    7,
                    cosine,
                    1,
                ),
            )
        yield both(kind, "nearest", lambda: (squares(), centres(), pointers(0, 4, 8), pointers(0, 2, 4)), **once)
        yield both(
            f"{kind}, strides",
            "nearest",
            lambda: (
                random(4, 300, dtype=dtype).t(),
                random(4, 3000, dtype=dtype, seed=1).t(),
                pointers(0, 100, 300),
                pointers(0, 2000, 3000),
            ),
        )

    for dtype in floats:
        yield from of_floats(dtype)
    for dtype in (*floats, torch.bfloat16):
        kind = str(dtype).removeprefix("torch.")
        yield both(
            kind,
            "radius",
            lambda dtype=dtype: (
                on_gpu(SQUARES, dtype=dtype), on_gpu(SQUARES, dtype=dtype), None, None, 2.1, 4, 1, False
            ),
            launches=int(dtype == torch.float),
        )  # fmt: skip
        yield both(
            f"{kind}, examples",
            "radius",
            lambda dtype=dtype: (
                random(1001, 3, dtype=dtype),
                random(1001, 3, dtype=dtype),
                pointers(0, 400, 1001),
                pointers(0, 400, 1001),
                0.3,
                32,
                1,
                True,
            ),
        )
    for dtype in (*floats, torch.uint8, torch.int8, torch.short, torch.int, torch.long):
        kind = str(dtype).removeprefix("torch.")
        yield both(
            kind,
            "grid",
            lambda dtype=dtype: (
                whole(999, 2, low=0, high=100, dtype=dtype),
                on_gpu([5, 7], dtype=dtype),
                on_gpu([0, 0], dtype=dtype),
                on_gpu([100, 100], dtype=dtype),
            ),
            launches=int(dtype == torch.float),
        )
        yield both(
            f"{kind}, own limits",
            "grid",
            lambda dtype=dtype: (
                whole(2, 99, low=0, high=100, dtype=dtype).t(),
                on_gpu([5, 7], dtype=dtype),
                None,
                None,
            ),
        )
        yield both(
            f"{kind}, weighted",
            "graclus",
            lambda dtype=dtype: (*graph(61), weights(61, dtype)),
            is_racy=True,
            launches=5 if dtype == torch.float else 0,
        )
    yield both("", "graclus", lambda: (*graph(61), None), is_racy=True)
    yield both("2,000 nodes", "graclus", lambda: (*graph(2000), None), is_racy=True)
    yield both("", "random_walk", lambda: (*graph(61), torch.arange(61, device=DEVICE), 10, 1.0, 1.0), launches=1)
    yield both("no steps", "random_walk", lambda: (*graph(61), torch.arange(61, device=DEVICE), 0, 1.0, 1.0))
    yield both(
        "by rejection",
        "random_walk",
        lambda: (*graph(61), torch.arange(61, device=DEVICE), 10, 0.5, 2.0),
        by_time=True,
    )


def graph(nodes: int) -> tuple[Tensor, Tensor]:
    """Return a symmetric graph without loops: where each node's neighbours begin, and the neighbours."""
    edges = torch.randint(0, nodes, (2, 3 * nodes), generator=torch.Generator().manual_seed(0))
    matrix = torch.zeros(nodes, nodes, dtype=torch.bool)
    matrix[edges[0], edges[1]] = True
    matrix = (matrix | matrix.t()) & ~torch.eye(nodes, dtype=torch.bool)
    rowptr = torch.cat((torch.zeros(1, dtype=torch.long), matrix.sum(1).cumsum(0)))
    return rowptr.to(DEVICE), matrix.nonzero()[:, 1].contiguous().to(DEVICE)


def weights(nodes: int, dtype: Any) -> Tensor:
    return whole(graph(nodes)[1].numel(), low=1, high=9, dtype=dtype)


def lengths(clouds: int, points: int, seed: int) -> Tensor:
    return whole(clouds, low=1, high=points + 1, dtype=torch.long, seed=seed)


def clouds(D: int, n: int = 3, p1: int = 33, p2: int = 50, dtype: Any = torch.float) -> tuple[Tensor, ...]:
    p1_, p2_ = random(n, p1, D, dtype=dtype), random(n, p2, D, dtype=dtype, seed=1)
    return p1_, p2_, lengths(n, p1, 2), lengths(n, p2, 3)


def strided(made: Sequence[Tensor]) -> Sequence[Tensor]:
    p1, p2, lengths1, lengths2 = made
    return p1[:, 1::2, ::2], p2[:, 1::2, ::2], lengths1 // 3, lengths2 // 3


def of_cubes(original: Any, port: Any) -> Iterator[Case]:
    def cubes(what: str, arguments: Callable[[], Sequence[Any]], launches: int = 0) -> Case:
        return Case(f"marching_cubes, {what}", original.marching_cubes, port.marching_cubes, arguments, launches)

    def sphere(size: int) -> Tensor:
        axis = torch.linspace(-1, 1, size, device=DEVICE)
        return (axis[:, None, None] ** 2 + axis[:, None] ** 2 + axis**2).sqrt()

    yield cubes("a sphere", lambda: (sphere(8), 0.7), launches=3)
    yield cubes("random", lambda: (random(13, 7, 9), 0.3))
    yield cubes("strides", lambda: (random(13, 7, 9).permute(2, 0, 1)[1:, ::2], 0.3))
    yield cubes("none", lambda: (random(4, 5, 6), 2.0))
    yield cubes("large", lambda: (sphere(70), 0.9))


def of_ball_query(original: Any, port: Any) -> Iterator[Case]:
    def ball(what: str, arguments: Callable[[], Sequence[Any]], launches: int = 0) -> Case:
        return Case(f"ball_query, {what}", original.ball_query, port.ball_query, arguments, launches)

    yield ball("small", lambda: (*clouds(3), 8, 0.4, False), launches=1)
    yield ball("cube", lambda: (*clouds(3), 8, 0.4, True))
    yield ball("radius 0.1", lambda: (*clouds(5, p1=700), 4, 0.1, False))
    yield ball("strides", lambda: (*strided(clouds(6)), 8, 0.6, False))
    yield ball("no clouds", lambda: (*clouds(3, n=0), 8, 0.4, False))


def of_pytorch3d(original: Any, port: Any, home: Path) -> Iterator[Case]:
    port.face_table = face_table(home / "pytorch3d/csrc/marching_cubes/tables.h")

    def knn(what: str, arguments: Callable[[], Sequence[Any]], launches: int = 0) -> Case:
        name = f"knn_points_idx, {what}"
        return Case(name, original.knn_points_idx, port.knn_points_idx, arguments, launches)

    yield knn("D 3, K 4", lambda: (*clouds(3), 2, 4, -1), launches=1)
    yield knn("D 10, K 8", lambda: (*clouds(10), 2, 8, -1), launches=1)
    for D, K in ((1, 1), (3, 1), (8, 4), (8, 5), (3, 32), (2, 33), (32, 2), (33, 2), (5, 60)):
        for dtype in (torch.float, torch.double):
            yield knn(
                f"D {D}, K {K}, {dtype}", lambda D=D, K=K, dtype=dtype: (*clouds(D, dtype=dtype), 1 + K % 2, K, -1)
            )
    for version in (0, 1, 2, 3):
        yield knn(f"version {version}", lambda version=version: (*clouds(6), 2, 3, version))
    yield knn("no clouds", lambda: (*clouds(3, n=0), 2, 4, -1))
    yield knn("no points", lambda: (random(3, 0, 3), random(3, 50, 3), on_gpu([0] * 3), lengths(3, 50, 3), 2, 4, -1))
    yield knn("strides", lambda: (*strided(clouds(6)), 2, 4, -1))

    def gradient(points: Callable[..., Tensor], norm: int) -> Sequence[Any]:
        idxs = whole(3, 33, 4, low=0, high=50, dtype=torch.long)
        grads = whole(3, 33, 4, seed=5) if points is whole else random(3, 33, 4, seed=5)
        return points(3, 33, 3), points(3, 50, 3, seed=1), lengths(3, 33, 2), lengths(3, 50, 3), idxs, norm, grads

    def backward(what: str, points: Callable[..., Tensor], norm: int, **more: Any) -> Case:
        function = "knn_points_backward"
        arguments = lambda: gradient(points, norm)  # noqa: E731
        return Case(f"{function}, {what}", getattr(original, function), getattr(port, function), arguments, **more)

    yield backward("whole numbers", whole, 2, launches=1)
    yield backward("whole numbers, norm 1", whole, 1)
    yield backward("random", random, 2, is_racy=True)

    def differentiated(p1: Tensor, p2: Tensor, *rest: Any) -> Any:
        p1, p2 = p1.requires_grad_(), p2.requires_grad_()
        _, dists = port.knn_points_idx(p1, p2, *rest)
        return torch.autograd.grad(dists, (p1, p2), torch.ones_like(dists))

    def differentiated_original(
        p1: Tensor, p2: Tensor, lengths1: Tensor, lengths2: Tensor, norm: int, *rest: Any
    ) -> Any:
        idxs, dists = original.knn_points_idx(p1, p2, lengths1, lengths2, norm, *rest)
        return original.knn_points_backward(p1, p2, lengths1, lengths2, idxs, norm, torch.ones_like(dists))

    yield Case(
        "knn_points_idx, its gradient",
        differentiated_original,
        differentiated,
        lambda: (whole(3, 33, 3), whole(3, 50, 3, seed=1), lengths(3, 33, 2), lengths(3, 50, 3), 2, 4, -1),
        differentiates=True,
    )
    yield from of_cubes(original, port)
    yield from of_ball_query(original, port)


def face_table(header: Path) -> Tensor:
    """Return the package's table of cubes, in which X is 255."""
    text = header.read_text(encoding="utf-8")
    start = text.index("{", text.index("_FACE_TABLE"))
    cells = re.findall(r"X|\d+", text[start : text.index("};", start)])
    return torch.tensor([255 if cell == "X" else int(cell) for cell in cells], dtype=torch.int32).reshape(256, 16)


def of_apex_amp(original: Any, port: Any, home: Path) -> Iterator[Case]:
    def flag() -> Tensor:
        return torch.zeros(1, dtype=torch.int32, device=DEVICE)

    def tensors(sizes: Sequence[int], dtype: Any) -> list[Tensor]:
        return [random(size, dtype=dtype, seed=seed) for seed, size in enumerate(sizes)]

    def scale(what: str, sizes: Sequence[int], chunk: int, kinds: Sequence[Any], **more: Any) -> Case:
        def arguments() -> Sequence[Any]:
            scaled = [torch.zeros(size, dtype=kinds[1], device=DEVICE) for size in sizes]
            return chunk, flag(), [tensors(sizes, kinds[0]), scaled], 0.3

        name = f"multi_tensor_scale, {what}"
        return Case(name, original.multi_tensor_scale, port.multi_tensor_scale, arguments, **more)

    def l2norm(what: str, sizes: Sequence[int], chunk: int, dtype: Any, per_tensor: bool, **more: Any) -> Case:
        def arguments() -> Sequence[Any]:
            return chunk, flag(), [tensors(sizes, dtype)], per_tensor

        name = f"multi_tensor_l2norm, {what}{', of each' * per_tensor}"
        return Case(name, original.multi_tensor_l2norm, port.multi_tensor_l2norm, arguments, **more)

    kinds = torch.float, torch.half, torch.bfloat16
    usual, odd = 2048 * 32, (3333, 2048 * 32 + 1, 1, 777, 100_003)
    yield scale("20 tensors", [1000] * 20, usual, kinds[:1] * 2, launches=1)
    yield scale("180 tensors", [64] * 180, usual, kinds[:1] * 2, launches=3)
    for source in kinds:
        for target in kinds:
            yield scale(f"odd, {source} to {target}", odd, usual, (source, target))
    yield scale("many chunks", odd, 96, kinds[:1] * 2)
    yield scale("a tensor without elements", [5, 0, 7], usual, kinds[:1] * 2)

    def channels_last() -> Sequence[Any]:
        source = random(2, 3, 5, 7).to(memory_format=torch.channels_last)
        return usual, flag(), [[source], [torch.zeros_like(source)]], 0.3

    def infinite() -> Sequence[Any]:
        return usual, flag(), [[on_gpu([1.0, float("inf")])], [on_gpu([0.0, 0.0])]], 0.3

    for what, arguments in (("channels last", channels_last), ("infinite", infinite)):
        yield Case(f"multi_tensor_scale, {what}", original.multi_tensor_scale, port.multi_tensor_scale, arguments)
    for per_tensor in (False, True):
        yield l2norm("20 tensors", [1000] * 20, usual, torch.float, per_tensor, launches=2)
        for dtype in kinds:
            yield l2norm(f"odd, {dtype}", odd, usual, dtype, per_tensor)
        yield l2norm("many chunks", odd, 96, torch.float, per_tensor)
        yield l2norm("300 tensors", [70] * 300, usual, torch.half, per_tensor)


def of_apex_transducer(original: Any, port: Any, home: Path) -> Iterator[Case]:
    def lengths() -> tuple[Tensor, Tensor]:
        return on_gpu([9, 5, 7], dtype=torch.int), on_gpu([6, 4, 3], dtype=torch.int)

    def offsets() -> Tensor:
        f_len, g_len = lengths()
        return (f_len * g_len).cumsum(0)

    def forward(
        what: str,
        hidden: int,
        dtype: Any = torch.float,
        opt: int = 1,
        packed: bool = False,
        relu: bool = False,
        dropout: bool = False,
        tile: int = 4,
        **more: Any,
    ) -> Case:
        def arguments() -> Sequence[Any]:
            f, g = random(3, 9, hidden, dtype=dtype) - 0.5, random(3, 6, hidden, dtype=dtype, seed=1) - 0.5
            total = 9 * 6 + 5 * 4 + 7 * 3
            return f, g, *lengths(), offsets(), total * packed, opt, packed, relu, dropout, 0.3, tile

        return Case(f"forward, {what}", original.forward, port.forward, arguments, **more)

    yield forward("dropout", 64, relu=True, dropout=True, launches=1)
    yield forward("no mask", 64, launches=1)
    for dtype in (torch.float, torch.half, torch.double):
        for packed in (False, True):
            what = f"{dtype}{', packed' * packed}"
            yield forward(f"{what}, simple", 70, dtype, opt=0, packed=packed)
            yield forward(f"{what}, tile 1", 70, dtype, packed=packed, tile=1)
            for tile in (2, 4):
                yield forward(f"{what}, tile {tile}, dropout", 33, dtype, 1, packed, False, True, tile)
                yield forward(f"{what}, tile {tile}, dropout and relu", 200, dtype, 1, packed, True, True, tile)

    def backward(what: str, hidden: int, dtype: Any, packed: bool, masked: bool, **more: Any) -> Case:
        def arguments() -> Sequence[Any]:
            shape = (9 * 6 + 5 * 4 + 7 * 3, hidden) if packed else (3, 9, 6, hidden)
            inputs = [random(*shape, dtype=dtype)]
            if masked:
                inputs.append(whole(*shape, low=0, high=2, dtype=torch.uint8))
            return inputs, *lengths(), offsets(), 9, 6, packed, 1.5 if masked else 1.0

        return Case(f"backward, {what}", original.backward, port.backward, arguments, **more)

    yield backward("masked", 64, torch.float, False, True, launches=1)
    for dtype in (torch.float, torch.half, torch.double):
        for packed in (False, True):
            for masked in (False, True):
                for hidden in (64, 33):
                    what = f"{dtype}, {hidden}{', packed' * packed}{', masked' * masked}"
                    yield backward(what, hidden, dtype, packed, masked)


CASES: dict[str, Callable[[Any, Any, Path], Iterator[Case]]] = {
    "knn_cuda": of_knn_cuda,
    "torch_cluster": of_torch_cluster,
    "pytorch3d": of_pytorch3d,
    "apex_amp": of_apex_amp,
    "apex_transducer": of_apex_transducer,
}
