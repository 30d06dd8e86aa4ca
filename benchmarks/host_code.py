"""Measure how long a file takes to compile with its host code, compared with its kernels alone and with nvcc.

`cpu.py` runs it. All contenders use one core and compile for the same targets.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from _interleave import compare
from _peers import Peers
from _process import run
from _results import Goal, Result

from cuda_wheel.builder.compile.job import compile_job
from cuda_wheel.builder.jobs import Job
from cuda_wheel.builder.toolchain.find import find_toolchain
from cuda_wheel.builder.toolchain.records import INCLUDE, STAND_INS, Toolchain
from cuda_wheel.builder.workers.pool import Workers

__all__ = ["measure"]

WITH, ALONE, NVCC = "with host code", "kernels alone", "nvcc -fatbin"
REAL, VIRTUAL = ("80", "90", "120"), "80"

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
FILES = {
    "one kernel": (SCALE + SCALE_HOST, SCALE),
    "12 instances of a template": (NORM + NORM_HOST, NORM + NORM_INSTANCES),
    "CUB": (REDUCE + REDUCE_HOST, REDUCE),
}
"""The text of each file with its host code, and of the same kernels written without."""


def measure(peers: Peers, rounds: int | None = None) -> Iterator[Result]:
    with Workers(timeout=600, memory=8 << 30, count=1) as workers, tempfile.TemporaryDirectory() as scratch:
        toolchain = workers.submit(find_toolchain, None).result()
        for name, texts in FILES.items():
            yield _measured(name, texts, workers, toolchain, peers, Path(scratch), rounds or 5)


def _measured(
    name: str, texts: tuple[str, str], workers: Workers, toolchain: Toolchain, peers: Peers, folder: Path, rounds: int
) -> Result:
    kernels: dict[str, set[str]] = {}

    def ours(which: str, text: str) -> float:
        started = time.perf_counter()
        results = [workers.submit(compile_job, job).result() for job in _jobs(text, toolchain, folder)]
        seconds = time.perf_counter() - started
        kernels[which] = {symbol for result in results for symbol in result.kernels}
        return seconds

    def nvccs() -> float:
        (folder / "k.cu").write_text(texts[0])
        targets = [f"-gencode=arch=compute_{arch},code=sm_{arch}" for arch in REAL]
        targets.append(f"-gencode=arch=compute_{VIRTUAL},code=compute_{VIRTUAL}")
        cost = run([peers.nvcc, "-fatbin", "-std=c++17", *targets, "k.cu", "-o", "k.fatbin"], folder, **peers.environ)
        return cost.seconds

    contenders = {ALONE: lambda: ours(ALONE, texts[1]), WITH: lambda: ours(WITH, texts[0]), NVCC: nvccs}
    about = f"Seconds to compile for {', '.join(f'sm_{arch}' for arch in REAL)} and compute_{VIRTUAL}, on one core."
    goals = [Goal(WITH, ALONE, 1.2), Goal(WITH, NVCC, 1.0)]
    result = compare(f"A file with host code: {name}", about, contenders, rounds, "s", digits=2, goals=goals)
    assert kernels[WITH] == kernels[ALONE], f"{name}: other kernels with host code: {kernels}"
    return result


def _jobs(text: str, toolchain: Toolchain, folder: Path) -> Iterator[Job]:
    folders = ("", str(INCLUDE), *STAND_INS, *toolchain.include_dirs)
    job = Job(
        library=toolchain.libraries[0],
        root=str(folder),
        source="k.cu",
        text=text.encode(),
        arch="",
        cubin=True,
        ptx=False,
        options=("--std=c++17",),
        include_dirs=folders,
        instantiate=(),
        lineinfo=False,
        ptx_version="auto",
    )
    for arch in REAL:
        yield replace(job, arch=arch, ptx=arch == VIRTUAL)
