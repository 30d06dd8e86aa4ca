// PyTorch's checks of CUDA's error codes.
#ifndef CUDA_WHEEL_PYTORCH_CUDA_ERRORS_H
#define CUDA_WHEEL_PYTORCH_CUDA_ERRORS_H

#ifndef CUDA_WHEEL_WITHOUT_DRIVER_API
#include <cuda.h>
#endif
#include <cuda_runtime_api.h>

#include <c10/cuda/CUDAMacros.h>
#include <cuda_wheel_detail/pytorch/device_assertions.h>
#include <cuda_wheel_detail/pytorch/errors.h>

namespace c10 {
class CUDAError : public Error {
    using Error::Error;
};
namespace cuda {
void c10_cuda_check_implementation(int32_t error, const char* file, const char* function, int line, bool include_device_assertions);
const char* get_cuda_check_suffix() noexcept;
std::string get_cuda_error_help(cudaError_t) noexcept;
std::string c10_retrieve_device_side_assertion_info();
void require_success(cudaError_t);
template <class T>
void require_status(T status);
} // namespace cuda
} // namespace c10

#define CUDA_WHEEL_PYTORCH_REQUIRE(EXPR)                        \
    do {                                                        \
        const cudaError_t cuda_wheel_error = EXPR;              \
        ::c10::cuda::require_success(cuda_wheel_error);         \
    } while (0)
#define CUDA_WHEEL_PYTORCH_STATUS(EXPR)            \
    do {                                           \
        ::c10::cuda::require_status(EXPR);         \
    } while (0)
#define C10_CUDA_CHECK(EXPR) CUDA_WHEEL_PYTORCH_REQUIRE(EXPR)
#define C10_CUDA_CHECK_WARN(EXPR) CUDA_WHEEL_PYTORCH_REQUIRE(EXPR)
#define C10_CUDA_ERROR_HANDLED(EXPR) EXPR
#define C10_CUDA_IGNORE_ERROR(EXPR) CUDA_WHEEL_PYTORCH_REQUIRE(EXPR)
#define C10_CUDA_CLEAR_ERROR() CUDA_WHEEL_PYTORCH_REQUIRE(cudaGetLastError())
#define C10_CUDA_KERNEL_LAUNCH_CHECK() CUDA_WHEEL_PYTORCH_REQUIRE(cudaGetLastError())
#define AT_CUDA_CHECK(EXPR) CUDA_WHEEL_PYTORCH_REQUIRE(EXPR)
#define AT_CUDA_DRIVER_CHECK(EXPR) CUDA_WHEEL_PYTORCH_STATUS(EXPR)
#define AT_CUDA_NVRTC_CHECK(EXPR) CUDA_WHEEL_PYTORCH_STATUS(EXPR)
#define AT_CUDNN_CHECK(EXPR, ...) CUDA_WHEEL_PYTORCH_STATUS(EXPR)
#define TORCH_CUDABLAS_CHECK(EXPR) CUDA_WHEEL_PYTORCH_STATUS(EXPR)
#define TORCH_CUDASPARSE_CHECK(EXPR) CUDA_WHEEL_PYTORCH_STATUS(EXPR)
#define TORCH_CUSOLVER_CHECK(EXPR) CUDA_WHEEL_PYTORCH_STATUS(EXPR)

#endif
