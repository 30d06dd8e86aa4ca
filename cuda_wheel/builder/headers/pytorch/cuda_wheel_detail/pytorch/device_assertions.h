// PyTorch's assertions in device code, without TORCH_USE_CUDA_DSA, as extensions are built: CUDA's own assert.
#ifndef CUDA_WHEEL_PYTORCH_DEVICE_ASSERTIONS_H
#define CUDA_WHEEL_PYTORCH_DEVICE_ASSERTIONS_H

#include <assert.h>
#include <cuda_wheel_detail/pytorch/host_object.h>
#include <stdint.h>

namespace c10 {
namespace cuda {
struct DeviceAssertionsData;

struct CUDAKernelLaunchRegistry {
    static CUDAKernelLaunchRegistry& get_singleton_ref();
    DeviceAssertionsData* get_uvm_assertions_ptr_for_current_device();
    uint32_t insert(const char* file, const char* function, uint32_t line, const char* kernel, int32_t stream);
    bool has_failed() const;
    bool gather_launch_stacktrace = false;
    bool enabled_at_runtime = false;
    const bool do_all_devices_support_managed_memory = false;
    const bool enabled_at_compile_time = false;
    CUDA_WHEEL_HOST_OBJECT;
};
} // namespace cuda
} // namespace c10

#define TORCH_DSA_KERNEL_ARGS \
    [[maybe_unused]] c10::cuda::DeviceAssertionsData *const assertions_data, [[maybe_unused]] uint32_t assertion_caller_id
#define TORCH_DSA_KERNEL_ARGS_PASS assertions_data, assertion_caller_id
#define CUDA_KERNEL_ASSERT2(condition) assert(condition)
#define TORCH_DSA_KERNEL_LAUNCH(kernel, blocks, threads, bytes, stream, ...) \
    kernel<<<blocks, threads, bytes, stream>>>(__VA_ARGS__, static_cast<c10::cuda::DeviceAssertionsData*>(nullptr), 0U)

#endif
