// RECORD_FUNCTION and its kin, which mark ranges for the profiler.
#ifndef CUDA_WHEEL_PYTORCH_RECORD_FUNCTION_H
#define CUDA_WHEEL_PYTORCH_RECORD_FUNCTION_H

#include <cuda_wheel_detail/pytorch/ivalue.h>

namespace at {
struct RecordFunction {
    template <class... Args>
    explicit RecordFunction(const Args&...);
    ~RecordFunction();

    CUDA_WHEEL_HOST_OBJECT;
};
} // namespace at

#define RECORD_FUNCTION(name, ...) at::RecordFunction C10_CONCATENATE(record_function_, __LINE__)(name, ##__VA_ARGS__)
#define RECORD_USER_SCOPE(name) at::RecordFunction C10_CONCATENATE(record_function_, __LINE__)(name)
#define RECORD_TORCHSCRIPT_FUNCTION(name, ...) RECORD_FUNCTION(name, ##__VA_ARGS__)

#endif
