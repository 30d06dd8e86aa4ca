"""Random terrain: a device function for kernels of Numba, and a kernel that calls a device function of Numba."""

from importlib.resources import files

import cuda_wheel

NOISE = str(files(__name__) / "noise.fatbin")
"""The file with the device function `noise`, `float32(float32, float32)`, for `numba.cuda.jit(link=[NOISE])`."""


def shape(heights, profile):
    """Replace each height of an array of floats on the GPU by what `profile` returns.

    `profile` is what numba.cuda.compile(..., device=True, abi="c", ...) returns for a
    function of that name.
    """
    kernel = cuda_wheel.load("terrain_demo.shape", link=[profile])["shape"]
    kernel.launch(-(-heights.size // 256), 256, heights, heights.size)
