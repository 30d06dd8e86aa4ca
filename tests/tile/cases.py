"""cuTile kernels, each of which a launch treats in another way."""

import cuda.tile as ct

HALF = 0.5


def halved(tile):
    return tile * HALF


@ct.kernel
def add(x, y, out, BLOCK: ct.Constant[int]):
    at = ct.bid(0)
    x_tile = ct.load(x, index=(at,), shape=(BLOCK,))
    ct.store(out, index=(at,), tile=x_tile + ct.load(y, index=(at,), shape=(BLOCK,)))


@ct.kernel
def scale(x, factor, out, HALVE: ct.Constant[bool] = False):
    at = ct.bid(0)
    tile = ct.load(x, index=(at,), shape=(128,)) * factor
    if HALVE:
        tile = halved(tile)
    ct.store(out, index=(at,), tile=tile)


@ct.kernel(occupancy=2)
def product(a, b, c, M: ct.Constant[int], N: ct.Constant[int], K: ct.Constant[int]):
    row, column = ct.bid(0), ct.bid(1)
    total = ct.full((M, N), 0, dtype=ct.float32)
    for at in range(ct.num_tiles(a, axis=1, shape=(M, K))):
        left = ct.load(a, index=(row, at), shape=(M, K), padding_mode=ct.PaddingMode.ZERO)
        right = ct.load(b, index=(at, column), shape=(K, N), padding_mode=ct.PaddingMode.ZERO)
        total = ct.mma(left, right, total)
    ct.store(c, index=(row, column), tile=ct.astype(total, c.dtype))


@ct.kernel
def wide(x: ct.IndexedWithInt64, out):
    at = ct.bid(0)
    ct.store(out, index=(at,), tile=ct.load(x, index=(at,), shape=(64,)) + 1)


@ct.kernel
def pairs(xs: tuple, out):
    ct.store(out, index=(0,), tile=ct.load(xs[0], index=(0,), shape=(64,)))
