"""The kernels, each an ordinary function with `numba.cuda.jit`."""
