"""Measure how long a file takes to compile with its host code, compared with its kernels alone and with nvcc.

`cpu.py` runs it. All contenders use one core and compile for the same targets.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from _interleave import compare
from _peers import Peers
from _process import run
from _results import Goal, Result

from cuda_wheel.builder.compile.job import compile_job
from cuda_wheel.builder.jobs import Job
from cuda_wheel.builder.toolchain.find import find_toolchain
from cuda_wheel.builder.toolchain.toolchain import Toolchain
from cuda_wheel.builder.workers.pool import Workers

__all__ = ["measure"]

WITH, ALONE, NVCC = "with host code", "kernels alone", "nvcc -fatbin"
REAL, VIRTUAL = ("80", "90", "120"), "80"
LIMIT = (
    "NVRTC's front end reads what host code includes once for each target, of the runtime API and of PyTorch's headers "
    "only what the file names: about 5 ms of a core for calls of the runtime API, 10 ms for <vector> or <string>, and "
    "60 ms for tensors. A small kernel takes 40 ms in all."
)

SCALE = """
__global__ void scale(float* x, float factor, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        x[i] = sinf(x[i]) * factor;
}
"""
SCALE_HOST = """
#include <cstdio>
#include <cstdlib>
#include <vector>
void scaled(std::vector<float>& values, float factor)
{
    float* x = nullptr;
    size_t bytes = values.size() * sizeof(float);
    if (cudaMalloc(&x, bytes) != cudaSuccess) {
        std::fprintf(stderr, "no memory\\n");
        std::abort();
    }
    cudaMemcpy(x, values.data(), bytes, cudaMemcpyHostToDevice);
    int n = static_cast<int>(values.size());
    scale<<<(n + 255) / 256, 256>>>(x, factor, n);
    cudaMemcpy(values.data(), x, bytes, cudaMemcpyDeviceToHost);
    cudaFree(x);
}
"""
NORM = """
#include <cuda_fp16.h>
template <typename T, int WIDTH>
__global__ void norm(T* out, const T* in, int n)
{
    __shared__ float partial[WIDTH];
    float sum = 0;
    for (int i = threadIdx.x; i < n; i += WIDTH)
        sum += static_cast<float>(in[i]) * static_cast<float>(in[i]);
    partial[threadIdx.x] = sum;
    __syncthreads();
    for (int half = WIDTH / 2; half > 0; half /= 2) {
        if (threadIdx.x < half)
            partial[threadIdx.x] += partial[threadIdx.x + half];
        __syncthreads();
    }
    for (int i = threadIdx.x; i < n; i += WIDTH)
        out[i] = static_cast<T>(static_cast<float>(in[i]) * rsqrtf(partial[0] / n));
}
"""
NORM_TYPES, NORM_WIDTHS = ("float", "double", "__half"), (64, 128, 256, 512)
NORM_INSTANCES = "".join(
    f"template __global__ void norm<{each}, {width}>({each}*, const {each}*, int);\n"
    for each in NORM_TYPES
    for width in NORM_WIDTHS
)
NORM_HOST = """
#include <stdexcept>
#include <string>
template <typename T>
void launch(void* out, const void* in, int n, int width, cudaStream_t stream)
{
    switch (width) {
#define CASE(WIDTH) case WIDTH: return norm<T, WIDTH><<<1, WIDTH, 0, stream>>>((T*)out, (const T*)in, n)
    CASE(64); CASE(128); CASE(256); CASE(512);
    default: throw std::runtime_error("no kernel of width " + std::to_string(width));
    }
}
template void launch<float>(void*, const void*, int, int, cudaStream_t);
template void launch<double>(void*, const void*, int, int, cudaStream_t);
template void launch<__half>(void*, const void*, int, int, cudaStream_t);
"""
REDUCE = """
#include <cub/block/block_reduce.cuh>
__global__ void reduce(float* x)
{
    using Reduce = cub::BlockReduce<float, 128>;
    __shared__ typename Reduce::TempStorage storage;
    float sum = Reduce(storage).Sum(x[threadIdx.x]);
    if (threadIdx.x == 0)
        x[0] = sum;
}
"""
REDUCE_HOST = """
#include <iostream>
int main()
{
    float* x;
    cudaMalloc(&x, 128 * sizeof(float));
    reduce<<<1, 128>>>(x);
    std::cout << cudaGetErrorString(cudaDeviceSynchronize()) << std::endl;
}
"""
LAYER_NORM = """
template <typename T>
__device__ T block_sum(T value)
{
    __shared__ T partial[32];
    for (int offset = 16; offset > 0; offset /= 2)
        value += __shfl_down_sync(0xffffffff, value, offset);
    if (threadIdx.x % 32 == 0)
        partial[threadIdx.x / 32] = value;
    __syncthreads();
    T sum = 0;
    for (int warp = 0; warp < blockDim.x / 32; warp++)
        sum += partial[warp];
    __syncthreads();
    return sum;
}
template <typename T, bool HAS_WEIGHT>
__global__ void layer_norm(T* out, const T* in, const T* weight, int columns, T epsilon)
{
    const T* row = in + blockIdx.x * columns;
    T sum = 0, squares = 0;
    for (int i = threadIdx.x; i < columns; i += blockDim.x) {
        sum += row[i];
        squares += row[i] * row[i];
    }
    T mean = block_sum(sum) / columns;
    T scale = T(1) / static_cast<T>(sqrt(static_cast<double>(block_sum(squares) / columns - mean * mean + epsilon)));
    for (int i = threadIdx.x; i < columns; i += blockDim.x)
        out[blockIdx.x * columns + i] = (row[i] - mean) * scale * (HAS_WEIGHT ? weight[i] : T(1));
}
template <typename T>
__global__ void gradient(T* result, const T* out, const T* in, const T* weight, int columns)
{
    const T* row = in + blockIdx.x * columns;
    T sum = 0;
    for (int i = threadIdx.x; i < columns; i += blockDim.x)
        sum += out[blockIdx.x * columns + i] * row[i] * weight[i];
    T mean = block_sum(sum) / columns;
    for (int i = threadIdx.x; i < columns; i += blockDim.x)
        result[blockIdx.x * columns + i] = out[blockIdx.x * columns + i] * weight[i] - row[i] * mean;
}
"""
LAYER_NORM_INSTANCES = "".join(
    f"template __global__ void layer_norm<{each}, {has}>({each}*, const {each}*, const {each}*, int, {each});\n"
    for each in ("float", "double", "int")
    for has in ("true", "false")
) + "".join(
    f"template __global__ void gradient<{each}>({each}*, const {each}*, const {each}*, const {each}*, int);\n"
    for each in ("float", "double", "int")
)
LAYER_NORM_HOST = """
#define DISPATCH(...) \\
    AT_DISPATCH_FLOATING_TYPES_AND(at::ScalarType::Int, x.scalar_type(), "layer_norm", [&] { __VA_ARGS__; })
torch::Tensor forward(torch::Tensor x, c10::optional<torch::Tensor> weight, double epsilon)
{
    TORCH_CHECK(x.is_cuda() && x.dim() == 2, "x must be a matrix on the GPU, not ", x.sizes());
    auto out = torch::empty_like(x);
    auto stream = at::cuda::getCurrentCUDAStream();
    const int columns = x.size(1);
    if (weight.has_value()) {
        DISPATCH((layer_norm<scalar_t, true><<<x.size(0), 256, 0, stream>>>(out.data_ptr<scalar_t>(),
            x.data_ptr<scalar_t>(), weight->data_ptr<scalar_t>(), columns, static_cast<scalar_t>(epsilon))));
    } else {
        DISPATCH((layer_norm<scalar_t, false><<<x.size(0), 256, 0, stream>>>(out.data_ptr<scalar_t>(),
            x.data_ptr<scalar_t>(), nullptr, columns, static_cast<scalar_t>(epsilon))));
    }
    C10_CUDA_KERNEL_LAUNCH_CHECK();
    return out;
}
torch::Tensor backward(torch::Tensor out, torch::Tensor x, torch::Tensor weight)
{
    auto result = torch::empty_like(x);
    DISPATCH(gradient<scalar_t><<<x.size(0), 256>>>(result.data_ptr<scalar_t>(), out.data_ptr<scalar_t>(),
        x.data_ptr<scalar_t>(), weight.data_ptr<scalar_t>(), x.size(1)));
    return result;
}
PYBIND11_MODULE(TORCH_EXTENSION_NAME, m)
{
    m.def("forward", &forward);
    m.def("backward", &backward);
}
"""
PYTORCH_HEADERS = (
    "#include <torch/extension.h>\n#include <ATen/cuda/CUDAContext.h>\n#include <c10/cuda/CUDAException.h>\n"
)


class File(NamedTuple):
    """A file with host code."""

    text: str
    alone: str
    """The same kernels, written without host code."""
    needs_pytorch: bool = False
    """Whether nvcc would need PyTorch's headers."""


FILES = {
    "one kernel": File(SCALE + SCALE_HOST, SCALE),
    "12 instances of a template": File(NORM + NORM_HOST, NORM + NORM_INSTANCES),
    "CUB": File(REDUCE + REDUCE_HOST, REDUCE),
    "a PyTorch extension": File(
        PYTORCH_HEADERS + LAYER_NORM + LAYER_NORM_HOST, LAYER_NORM + LAYER_NORM_INSTANCES, needs_pytorch=True
    ),
}


def measure(peers: Peers, rounds: int | None = None) -> Iterator[Result]:
    with Workers(timeout=600, memory=8 << 30, count=1) as workers, tempfile.TemporaryDirectory() as scratch:
        toolchain = workers.submit(find_toolchain, None).result()
        for name, file in FILES.items():
            yield _measured(name, file, workers, toolchain, peers, Path(scratch), rounds or 5)


def _measured(
    name: str, file: File, workers: Workers, toolchain: Toolchain, peers: Peers, folder: Path, rounds: int
) -> Result:
    kernels: dict[str, set[str]] = {}

    def ours(which: str, text: str) -> float:
        started = time.perf_counter()
        results = [workers.submit(compile_job, job).result() for job in _jobs(text, toolchain, folder)]
        seconds = time.perf_counter() - started
        kernels[which] = {symbol for result in results for symbol in result.kernels}
        return seconds

    def nvccs() -> float:
        (folder / "k.cu").write_text(file.text)
        targets = [f"-gencode=arch=compute_{arch},code=sm_{arch}" for arch in REAL]
        targets.append(f"-gencode=arch=compute_{VIRTUAL},code=compute_{VIRTUAL}")
        cost = run([peers.nvcc, "-fatbin", "-std=c++17", *targets, "k.cu", "-o", "k.fatbin"], folder, **peers.environ)
        return cost.seconds

    contenders = {ALONE: lambda: ours(ALONE, file.alone), WITH: lambda: ours(WITH, file.text)}
    contenders |= {} if file.needs_pytorch else {NVCC: nvccs}
    about = f"Seconds to compile for {', '.join(f'sm_{arch}' for arch in REAL)} and compute_{VIRTUAL}, on one core."
    goals = [Goal(WITH, ALONE, 1.2, limit=LIMIT), Goal(WITH, NVCC, 1.0)]
    result = compare(f"A file with host code: {name}", about, contenders, rounds, "s", digits=2, goals=goals)
    assert kernels[WITH] == kernels[ALONE], f"{name}: other kernels with host code: {kernels}"
    return result


def _jobs(text: str, toolchain: Toolchain, folder: Path) -> Iterator[Job]:
    job = Job(
        library=toolchain.libraries[0],
        root=str(folder),
        source="k.cu",
        text=text.encode(),
        arch="",
        cubin=True,
        ptx=False,
        options=("--std=c++17",),
        include_dirs=("", *toolchain.header_folders),
        instantiate=(),
        lineinfo=False,
        ptx_version="auto",
    )
    for arch in REAL:
        yield replace(job, arch=arch, ptx=arch == VIRTUAL)
