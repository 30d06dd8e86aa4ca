"""Run thousands of short steps in three ways, and compare them with NumPy: `python -m heat_demo`."""

import sys
import time

import numpy as np
from cuda.core import Device, LegacyPinnedMemoryResource

import heat_demo

N, STEPS, RATE = 10_000, 2_000, 0.25
GRID, BLOCK = -(-N // 256), 256


def array():
    """Return a buffer that both NumPy and the GPU can reach, and the NumPy array over it."""
    buffer = LegacyPinnedMemoryResource().allocate(4 * N)
    return buffer, np.from_dlpack(buffer).view(np.float32)


def start():
    """Return the rod at the beginning: hot in the middle."""
    return np.exp(-((np.arange(N, dtype=np.float32) - N / 2) ** 2) / 100)


def expected():
    rod = start()
    for _ in range(STEPS):
        rod[1:-1] += np.float32(RATE) * (rod[:-2] - 2 * rod[1:-1] + rod[2:])
    return rod


def launched(kernel, stream, x, y):
    """Launch each step: all arguments are checked each time."""
    for _ in range(STEPS // 2):
        kernel.launch(GRID, BLOCK, x, y, RATE, N, stream=stream)
        kernel.launch(GRID, BLOCK, y, x, RATE, N, stream=stream)


def bound(kernel, stream, x, y, **attributes):
    """Bind the launch once, and call it with the two addresses; the other arguments stay as they are."""
    step = kernel.bind(GRID, BLOCK, int(x.handle), int(y.handle), RATE, N, stream=stream, **attributes)
    there, back = (int(x.handle), int(y.handle)), (int(y.handle), int(x.handle))
    for _ in range(STEPS // 2):
        step(*there)
        step(*back)


def overlapping(kernel, stream, x, y):
    """As `bound`; a step may start before the one before has ended, and waits for its results in the kernel."""
    bound(kernel, stream, x, y, programmatic=True)


def main():
    device = Device()
    device.set_current()
    stream = device.create_stream()
    kernel = heat_demo.step
    ways = [launched, bound] + [overlapping] * (tuple(device.compute_capability) >= (9, 0))
    x_buffer, x = array()
    y_buffer, y = array()
    right = expected()
    for way in ways:
        for _ in range(2):  # the first time loads the kernel
            x[:] = y[:] = start()
            before = time.perf_counter()
            way(kernel, stream, x_buffer, y_buffer)
            stream.sync()
            elapsed = time.perf_counter() - before
        error = abs(x - right).max()
        print(f"{way.__name__}: {elapsed / STEPS * 1e6:.1f} µs a step, largest error {error:.2g}")
        if not error < 1e-4:
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
