#include <cuda_fp16.h>
#include <cfloat>
#include <cmath>
#include <algorithm>
#include <limits>
template <typename T>
__global__ void softmax(const T* in, T* out, int n) {
  float top = -std::numeric_limits<float>::infinity(), low = -FLT_MAX, sum = 0;
  for (int i = 0; i < n; ++i) top = std::max(std::max(top, low), static_cast<float>(in[i]));
  for (int i = 0; i < n; ++i) sum += std::exp(static_cast<float>(in[i]) - top);
  for (int i = 0; i < n; ++i) out[i] = static_cast<T>(std::exp(static_cast<float>(in[i]) - top) / sum);
}
template __global__ void softmax<__half>(const __half*, __half*, int);
