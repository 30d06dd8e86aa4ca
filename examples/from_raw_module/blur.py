"""From CuPy's RawModule(code=...) to cuda_wheel.compile, on CuPy's arrays: `python blur.py`.

    cupy.RawModule(code=SOURCE, options=("-DRADIUS=2",), name_expressions=["blur<float>"]).get_function("blur<float>")
    kernel((grid,), (block,), (x, y, numpy.int32(n)))

becomes

    cuda_wheel.compile(SOURCE, defines={"RADIUS": 2}, instantiate=["blur<float>"])["blur<float>"]
    kernel.launch(grid, block, x, y, n)

The arguments are converted to what the kernel declares and checked, a source needs no `extern "C"`, and the compiled
code is kept for the next processes. It needs a toolchain (`pip install "cuda-wheel[cu13]"`) and CuPy.
"""

import sys

import cuda_wheel

SOURCE = """
template <typename T>
__global__ void blur(const T* x, T* y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    T sum = 0;
    for (int k = -RADIUS; k <= RADIUS; ++k)
        sum += x[min(max(i + k, 0), n - 1)];
    y[i] = sum / (2 * RADIUS + 1);
}
"""
N, RADIUS = 10_000, 2


def compiled():
    """Return the module for the current GPU: compiled by the first process, then read from the cache."""
    return cuda_wheel.compile(SOURCE, name="blur", defines={"RADIUS": RADIUS}, instantiate=["blur<float>"])


def main():
    import cupy

    module = compiled()
    # The second one is compiled now: nothing named it before.
    for name, dtype in (("blur<float>", cupy.float32), ("blur<double>", cupy.float64)):
        x = cupy.random.random(N).astype(dtype)
        y = cupy.empty_like(x)
        module[name].launch(-(-N // 256), 256, x, y, N)  # on CuPy's current stream
        padded = cupy.pad(x, RADIUS, mode="edge")
        expected = sum(padded[k : k + N] for k in range(2 * RADIUS + 1)) / (2 * RADIUS + 1)
        error = float(abs(y - expected).max())
        print(f"{name}: largest error {error:.2g}")
        if not error < 1e-5:
            return 1
    try:
        module["blur<float>"].launch(-(-N // 256), 256, x, y, N)
    except cuda_wheel.ArgumentError as refused:  # x and y are of float64 now
        print(refused)
        return 0
    return 1


if __name__ == "__main__":
    sys.exit(main())
