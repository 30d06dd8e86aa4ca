// <cub/util_allocator.cuh>: CUB's cache of device memory, for host code.
#ifndef CUDA_WHEEL_CUB_ALLOCATOR
#define CUDA_WHEEL_CUB_ALLOCATOR

#include <cub/util_namespace.cuh>
#include <driver_types.h>
#include <stddef.h>

CUB_NAMESPACE_BEGIN

struct CachingDeviceAllocator {
  static constexpr unsigned int INVALID_BIN = static_cast<unsigned int>(-1);
  static constexpr size_t INVALID_SIZE = static_cast<size_t>(-1);

  CachingDeviceAllocator(unsigned int bin_growth, unsigned int min_bin = 1, unsigned int max_bin = INVALID_BIN,
                         size_t max_cached_bytes = INVALID_SIZE, bool skip_cleanup = false);
  CachingDeviceAllocator(bool skip_cleanup = false, bool debug = false);
  ~CachingDeviceAllocator();
  cudaError_t SetMaxCachedBytes(size_t max_cached_bytes);
  cudaError_t DeviceAllocate(int device, void** pointer, size_t bytes, cudaStream_t active_stream = nullptr);
  cudaError_t DeviceAllocate(void** pointer, size_t bytes, cudaStream_t active_stream = nullptr);
  cudaError_t DeviceFree(int device, void* pointer);
  cudaError_t DeviceFree(void* pointer);
  cudaError_t FreeAllCached();
};

CUB_NAMESPACE_END

#endif
