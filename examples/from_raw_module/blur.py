"""CuPy's RawModule(code=...) by cuda-wheel, on CuPy's arrays: `python blur.py`.

    module = cupy.RawModule(code=SOURCE, options=("-DRADIUS=2",), name_expressions=["blur<float>"])

becomes

    module = cuda_wheel.cupy.RawModule(code=SOURCE, options=("-DRADIUS=2",), name_expressions=["blur<float>"])

All that uses the module stays. The arguments are converted to what the kernel declares and checked, a source needs no
`extern "C"`, other instances are compiled when they are asked for, and the compiled code is kept for the next
processes. It needs a toolchain (`pip install "cuda-wheel[cu13]"`) and CuPy. In a package, the source is a `.cu` file,
the wheel has its machine code, and `RawModule("package.blur")` needs no toolchain.
"""

import sys

import cuda_wheel
from cuda_wheel.cupy import RawModule

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

module = RawModule(code=SOURCE, options=(f"-DRADIUS={RADIUS}",), name_expressions=["blur<float>"])


def main():
    import cupy

    # The second one is compiled now: nothing named it before.
    for name, dtype in (("blur<float>", cupy.float32), ("blur<double>", cupy.float64)):
        x = cupy.random.random(N).astype(dtype)
        y = cupy.empty_like(x)
        module.get_function(name)((-(-N // 256),), (256,), (x, y, cupy.int32(N)))  # on CuPy's current stream
        padded = cupy.pad(x, RADIUS, mode="edge")
        expected = sum(padded[k : k + N] for k in range(2 * RADIUS + 1)) / (2 * RADIUS + 1)
        error = float(abs(y - expected).max())
        print(f"{name}: largest error {error:.2g}")
        if not error < 1e-5:
            return 1
    try:
        module.get_function("blur<float>")((-(-N // 256),), (256,), (x, y, cupy.int32(N)))
    except cuda_wheel.ArgumentError as refused:  # x and y are of float64 now
        print(refused)
        return 0
    return 1


if __name__ == "__main__":
    sys.exit(main())
