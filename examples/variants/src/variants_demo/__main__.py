"""Run each variant on this machine's GPU and compare it with NumPy: `python -m variants_demo`."""

import sys

import numpy as np
from cuda.core import Device, LegacyPinnedMemoryResource

import variants_demo

VARIANTS = [("float", 1), ("float", 2), ("double", 1), ("double", 2), ("double", 3)]
N = 1000


def array(size, dtype):
    """Return a buffer that both NumPy and the GPU can reach, and the NumPy array over it."""
    buffer = LegacyPinnedMemoryResource().allocate(size * np.dtype(dtype).itemsize)
    return buffer, np.from_dlpack(buffer).view(dtype)


def main():
    device = Device()
    device.set_current()
    stream = device.create_stream()
    for real, degree in VARIANTS:
        dtype = {"float": np.float32, "double": np.float64}[real]
        x_buffer, x = array(N, dtype)
        y_buffer, y = array(N, dtype)
        x[:] = np.linspace(-1, 1, N)
        coefficients = np.arange(1, degree + 2, dtype=dtype)
        module = variants_demo.polynomial(REAL=real, DEGREE=degree)
        module["polynomial"].launch(-(-N // 256), 256, x_buffer, y_buffer, N, coefficients, stream=stream)
        stream.sync()
        error = abs(y - np.polynomial.Polynomial(coefficients)(x.astype(np.float64))).max()
        print(f"{module!r}: largest error {error:.3g}")
        if not error <= 16 * np.finfo(dtype).eps:
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
