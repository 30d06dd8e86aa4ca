// PyTorch's assertions in device code, without TORCH_USE_CUDA_DSA, as extensions are built: CUDA's own assert.
#ifndef CUDA_WHEEL_PYTORCH_DEVICE_ASSERTIONS_H
#define CUDA_WHEEL_PYTORCH_DEVICE_ASSERTIONS_H

#include <assert.h>
#include <cuda_wheel_detail/pytorch/cuda_errors.h>

namespace c10 {
namespace cuda {
struct DeviceAssertionsData;
}
} // namespace c10

#define TORCH_DSA_KERNEL_ARGS \
    [[maybe_unused]] c10::cuda::DeviceAssertionsData *const assertions_data, [[maybe_unused]] uint32_t assertion_caller_id
#define TORCH_DSA_KERNEL_ARGS_PASS assertions_data, assertion_caller_id
#define CUDA_KERNEL_ASSERT2(condition) assert(condition)
#define TORCH_DSA_KERNEL_LAUNCH(kernel, blocks, threads, bytes, stream, ...) \
    kernel<<<blocks, threads, bytes, stream>>>(__VA_ARGS__, static_cast<c10::cuda::DeviceAssertionsData*>(nullptr), 0U)

#endif
