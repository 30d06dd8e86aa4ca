#include <cuda_runtime.h>
#include <device_launch_parameters.h>
#include <stdint.h>
#include <stdio.h>
#include <assert.h>
#include <math.h>
extern "C" __global__ void saxpy(float a, const float* __restrict__ x, float* __restrict__ y, int64_t n) {
  assert(n >= 0);
  int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
  if (i < n) y[i] = fmaf(a, x[i], y[i]) * sqrt(M_PI);
  if (i == 0 && isnan(y[0])) printf("nan at %lld\n", i);
}
