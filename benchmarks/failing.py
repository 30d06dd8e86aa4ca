"""Measure how long a file that does not compile takes until its error is known, compared with the same file without the
mistake.

`cpu.py` runs it. One architecture, one core. A module whose first target fails is not compiled for its others, so this
is what a failing build adds.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from functools import partial

from _interleave import compare
from _results import Goal, Result

from cuda_wheel.builder.compile.job import compile_job
from cuda_wheel.builder.errors import CompileError
from cuda_wheel.builder.jobs import Job
from cuda_wheel.builder.toolchain.find import find_toolchain
from cuda_wheel.builder.workers.pool import Workers

__all__ = ["measure"]

COMPILES = "no mistake"
LIMIT = (
    "Of a kernel that compiles in 80 ms, each reading of the headers takes half as long: to find all errors, and "
    "to see whether left-out parts of the stand-ins help, if an error does not name what is unknown. The message that "
    "host code can be left out takes the search of the preprocessed text in Python, 0.1 s of a core, and a compilation "
    "that proves it."
)

SMALL_EXTENSION = """
#include <torch/extension.h>
#include <cuda_fp16.h>
template <typename T, int ROWS, int COLUMNS>
__global__ void product(T* out, const T* a, const T* b, int n)
{
    float sums[ROWS][COLUMNS] = {};
    for (int k = threadIdx.x; k < n; k += blockDim.x) {
#pragma unroll
        for (int i = 0; i < ROWS; i++)
#pragma unroll
            for (int j = 0; j < COLUMNS; j++)
                sums[i][j] += static_cast<float>(a[i * n + k]) * static_cast<float>(b[k * COLUMNS + j]);
    }
#pragma unroll
    for (int i = 0; i < ROWS; i++)
#pragma unroll
        for (int j = 0; j < COLUMNS; j++)
            out[i * COLUMNS + j] = static_cast<T>(expf(sums[i][j]) * rsqrtf(sums[i][j]));
}
template <typename T>
void launch(torch::Tensor out, torch::Tensor a, torch::Tensor b)
{
    T *x = out.data_ptr<T>(), *y = a.data_ptr<T>(), *z = b.data_ptr<T>();
    product<T, 2, 4><<<1, 64>>>(x, y, z, a.size(1));
    product<T, 4, 4><<<1, 64>>>(x, y, z, a.size(1));
    product<T, 4, 8><<<1, 64>>>(x, y, z, a.size(1));
    product<T, 8, 8><<<1, 64>>>(x, y, z, a.size(1));
}
template void launch<float>(torch::Tensor, torch::Tensor, torch::Tensor);
template void launch<double>(torch::Tensor, torch::Tensor, torch::Tensor);
"""

MANY_TEMPLATES = (
    """
#include <cuda_runtime.h>
template <int N, int M> struct Sum {
    template <typename T> __device__ static T of(const T* x) { return x[N % 7] * M + Sum<N - 1, M>::template of<T>(x); }
};
template <int M> struct Sum<0, M> {
    template <typename T> __device__ static T of(const T* x) { return x[0]; }
};
template <typename T, int M> __global__ void sum(T* x) { *x = Sum<400, M>::template of<T>(x); }
void launch(float* x, double* y)
{
"""
    + "".join(f"    sum<float, {m}><<<1, 1>>>(x); sum<double, {m}><<<1, 1>>>(y);\n" for m in range(8))
    + "}\n"
)

SMALL_FILE = """
#include <cuda_runtime.h>
#include <cstdio>
#include <vector>
__global__ void scale(float* x, float a, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        x[i] *= a;
}
int main()
{
    std::vector<float> h(9);
    float* d;
    cudaMalloc(&d, 36);
    scale<<<1, 9>>>(d, 2, 9);
    cudaMemcpy(h.data(), d, 36, cudaMemcpyDeviceToHost);
    std::printf("%f", h[0]);
}
"""

FILES = {
    "a small PyTorch extension": SMALL_EXTENSION,
    "many templates": MANY_TEMPLATES,
    "a small kernel with host code": SMALL_FILE,
}

MISTAKES = {
    "an unknown library in a host function": "void host() { library::log(1); }\n",
    "an unknown type of a host function": "Unknown host(Unknown x) { return x; }\n",
    "an unknown name in the last kernel": "__global__ void last(float* x) { *x = unknown; }\n",
    "the last instance of the last kernel": (
        "template <typename T> __global__ void last(T x) { x.f(); }\ntemplate __global__ void last<int>(int);\n"
    ),
    "twelve host functions": "".join(f"void host{i}() {{ library{i}::log(1); }}\n" for i in range(12)),
}


def measure(rounds: int | None = None) -> Iterator[Result]:
    with Workers(timeout=600, memory=8 << 30, count=1) as workers, tempfile.TemporaryDirectory() as scratch:
        toolchain = workers.submit(find_toolchain, None).result()
        folders = ("", *toolchain.header_folders)

        def seconds(text: str, fails: bool) -> float:
            job = Job(
                toolchain.libraries[0], scratch, "k.cu", text.encode(), "80", True, True, ("--std=c++17",), folders,
                (), False, "auto",
            )  # fmt: skip
            taken, error = workers.submit(compiled, job).result()
            assert (error != "") == fails, error
            return taken

        for name, text in FILES.items():
            contenders = {COMPILES: partial(seconds, text, False)}
            contenders |= {mistake: partial(seconds, text + line, True) for mistake, line in MISTAKES.items()}
            yield compare(
                f"A file that does not compile: {name}",
                "Seconds of a core until the images or the errors of one target (sm_80 and its PTX) are known.",
                contenders,
                rounds or 3,
                "s",
                digits=2,
                goals=[Goal(mistake, COMPILES, 1.5, limit=LIMIT) for mistake in MISTAKES],
            )


def compiled(job: Job) -> tuple[float, str]:
    """Compile a job. Return the seconds of a core that it takes, with those of its child processes, and the text of its
    error. Runs in a worker."""
    before, error = os.times(), ""
    try:
        compile_job(job)
    except CompileError as raised:
        error = str(raised)
    return sum(os.times()[:4]) - sum(before[:4]), error
