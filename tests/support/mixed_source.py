"""The files of a project that mixes host and device code."""

from __future__ import annotations

MIXED = """\
#include <cuda_runtime.h>
#include <cstdio>
#include <vector>
#include "scale.h"

template <typename T> __global__ void add(T* x, T value, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        x[i] = scaled(x[i]) + value;
}

extern "C" __global__ void clear(float* x) { x[threadIdx.x] = LEVEL; }

static void check(cudaError_t error)
{
    if (error != cudaSuccess)
        printf("%s\\n", cudaGetErrorString(error));
}

int main()
{
    std::vector<float> host(1024, 1.0f);
    float* device;
    check(cudaMalloc(&device, host.size() * sizeof(float)));
    clear<<<1, 32>>>(device);
    add<float><<<4, 256>>>(device, 2.0f, 1024);
    check(cudaDeviceSynchronize());
    return 0;
}
"""
HEADER = """\
#pragma once
#include <iostream>
#define LEVEL 3
template <typename T> __device__ T scaled(T x) { return x * FACTOR; }
inline void announce() { std::cout << "scale" << std::endl; }
"""
FILES = {"demo/mixed.cu": MIXED, "demo/scale.h": "#define FACTOR 2\n" + HEADER}
