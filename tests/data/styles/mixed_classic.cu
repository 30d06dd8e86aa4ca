// kernels: add
// The first program of every CUDA course.
#include <stdio.h>
#include <stdlib.h>
#include <cuda_runtime.h>
#include "device_launch_parameters.h"

#define N 1024
#define CHECK(call)                                                                                     \
    {                                                                                                   \
        const cudaError_t error = call;                                                                 \
        if (error != cudaSuccess) {                                                                     \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(error));              \
            exit(EXIT_FAILURE);                                                                         \
        }                                                                                               \
    }

__global__ void add(int* a, int* b, int* c)
{
    int i = threadIdx.x + blockIdx.x * blockDim.x;
    if (i < N)
        c[i] = a[i] + b[i];
}

int main(int argc, char** argv)
{
    int *a, *b, *c, size = N * sizeof(int);
    int* host = (int*)malloc(size);
    for (int i = 0; i < N; i++)
        host[i] = rand() % 100;
    CHECK(cudaMalloc((void**)&a, size));
    CHECK(cudaMalloc((void**)&b, size));
    CHECK(cudaMallocManaged(&c, size));
    CHECK(cudaMemcpy(a, host, size, cudaMemcpyHostToDevice));
    cudaEvent_t start, stop;
    cudaEventCreate(&start), cudaEventCreate(&stop);
    cudaEventRecord(start, 0);
    add<<<(N + 255) / 256, 256>>>(a, b, c);
    cudaEventRecord(stop, 0);
    CHECK(cudaDeviceSynchronize());
    float milliseconds;
    cudaEventElapsedTime(&milliseconds, start, stop);
    printf("%f ms, c[%d] = %d\n", milliseconds, argc, c[0]);
    free(host);
    cudaFree(a);
    return 0;
}
