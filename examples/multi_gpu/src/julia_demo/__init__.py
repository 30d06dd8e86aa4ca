"""One image by all GPUs of the machine: each computes a band of rows."""

import cupy
import numpy as np

import cuda_wheel

C, LIMIT = -0.8 + 0.156j, 256


def bands(height, gpus):
    """Return the first row of each GPU's band, and the height."""
    return [height * gpu // gpus for gpu in range(gpus + 1)]


def start(height, width, gpus):
    """Let GPUs 0 to gpus - 1 compute a band of rows each.

    Returns the bands, on their GPUs, before they are done.
    """
    kernel = cuda_wheel.load("julia_demo.julia")["julia"]  # loaded once, for all GPUs
    edges = bands(height, gpus)
    parts = []
    for gpu in range(gpus):
        first, rows = edges[gpu], edges[gpu + 1] - edges[gpu]
        with cupy.cuda.Device(gpu):
            part = cupy.empty((rows, width), cupy.int32)
            grid = -(-width // 32), -(-rows // 8)
            numbers = (first, rows, height, width, C.real, C.imag, LIMIT)
            kernel.launch(grid, (32, 8), part, *numbers)
        # the launch has returned: the next GPU starts while this one computes
        parts.append(part)
    return parts


def julia(height, width, gpus):
    """Return the steps of each pixel, as an array of NumPy."""
    image = np.empty((height, width), np.int32)
    for part, first in zip(start(height, width, gpus), bands(height, gpus), strict=False):
        with part.device:
            image[first : first + len(part)] = cupy.asnumpy(part)
    return image
