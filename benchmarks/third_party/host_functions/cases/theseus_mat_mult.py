"""Calls of theseus' products with batches of sparse matrices in CSR format: all indices are inside of the matrix."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor

from cases import Case, random, whole


def csr(pattern: Tensor, dtype: torch.dtype) -> tuple[Tensor, Tensor]:
    starts = torch.cat([pattern.new_zeros(1, dtype=torch.long), pattern.sum(1).cumsum(0)])
    return starts.to(dtype), pattern.nonzero()[:, 1].to(dtype).contiguous()


def matrix(rows: int, columns: int, share: float = 0.3) -> Tensor:
    return random(rows, columns, seed=rows) < share


def values(batch: int, pattern: Tensor, seed: int = 0) -> Tensor:
    return whole(batch, int(pattern.sum()), dtype=torch.double, seed=seed)


def cases() -> Iterator[Case]:
    i32, i64, f64 = torch.int, torch.long, torch.double
    for batch, rows, columns in ((1, 1, 1), (4, 30, 20), (17, 8, 33), (50, 100, 70)):
        size = f"{batch} {rows} {columns}"

        def square(b: int = batch, r: int = rows, c: int = columns) -> list[object]:
            m = matrix(r, c)
            product = (m.t().double() @ m.double()) > 0
            return [b, *csr(m, i32), values(b, m), *csr(product, i32)]

        yield Case("mult_MtM", square, size)
        for dtype in (i32, i64):

            def times(b: int = batch, r: int = rows, c: int = columns, d: torch.dtype = dtype) -> list[object]:
                m = matrix(r, c)
                return [b, c, *csr(m, d), values(b, m), random(b, c, dtype=f64)]

            def transposed(b: int = batch, r: int = rows, c: int = columns, d: torch.dtype = dtype) -> list[object]:
                m = matrix(r, c)
                return [b, c, *csr(m, d), values(b, m), whole(b, r, dtype=f64, seed=1)]

            yield Case("mat_vec", times, f"{size} {dtype}")
            yield Case("tmat_vec", transposed, f"{size} {dtype}")

        def damping(b: int = batch, n: int = rows) -> list[object]:
            m = matrix(n, n)
            own, a, c = random(b, int(m.sum()), dtype=f64), random(b, dtype=f64, seed=1), random(b, dtype=f64, seed=2)
            return [b, n, *csr(m, i32), own, a, c]

        yield Case("apply_damping", damping, size)

    def arguments(r: int = 6, c: int = 6, share: float = 0.5, dtype: torch.dtype = i32) -> list[object]:
        m = matrix(r, c, share)
        return [2, c, *csr(m, dtype), random(2, int(m.sum()), dtype=f64), random(2, c, dtype=f64)]

    def changed(place: int, value: object) -> list[object]:
        made = arguments()
        made[place] = value
        return made

    for function in ("mat_vec", "tmat_vec"):
        yield Case(function, lambda: arguments(share=0), "matrix of zeros")
        yield Case(function, lambda: changed(0, 3), "other batch size: refused")
        yield Case(function, lambda: changed(5, random(2, 6)), "float vector: refused")
        yield Case(function, lambda: changed(3, arguments(dtype=i64)[3]), "two types of indices: refused")
        yield Case(function, lambda: changed(2, random(7)), "float indices: refused")
        yield Case(function, lambda: changed(5, random(2, 6, dtype=f64).cpu()), "on the CPU: refused")
    yield Case("tmat_vec", lambda: changed(5, random(2, 9, dtype=f64)), "other length: refused")
    yield Case("mult_MtM", lambda: [2, *arguments()[2:5], *arguments(dtype=i64)[2:4]], "long indices: refused")
    yield Case(
        "mult_MtM", lambda: [2, *arguments()[2:4], arguments()[4].float(), *arguments()[2:4]], "float values: refused"
    )
    yield Case(
        "apply_damping",
        lambda: [*arguments()[:5], random(2, dtype=f64), random(3, dtype=f64)],
        "other batch size: refused",
    )
