// at::globalContext(): PyTorch's settings and generators.
#ifndef CUDA_WHEEL_PYTORCH_CONTEXT_H
#define CUDA_WHEEL_PYTORCH_CONTEXT_H

#include <cuda_wheel_detail/pytorch/tensor_options.h>

struct cudaDeviceProp;
namespace at {
class Context {
  public:
    const Generator& defaultGenerator(c10::Device);
    c10::Allocator* getPinnedMemoryAllocator(std::optional<c10::DeviceType> = std::nullopt);
    bool hasCUDA() const;
    bool hasCuDNN() const;
    bool hasMKL() const;
    bool deterministicAlgorithms() const;
    bool deterministicAlgorithmsWarnOnly() const;
    void alertNotDeterministic(const char*);
    bool deterministicCuDNN() const;
    bool benchmarkCuDNN() const;
    bool userEnabledCuDNN() const;
    bool allowTF32CuBLAS() const;
    bool allowTF32CuDNN() const;
    bool allowFP16ReductionCuBLAS() const;
    bool allowBF16ReductionCuBLAS() const;
    void setAllowTF32CuBLAS(bool);
    void lazyInitDevice(c10::DeviceType);
    void lazyInitCUDA();
    cudaDeviceProp* getCurrentDeviceProperties() const;
    cudaDeviceProp* getDeviceProperties(int) const;

    CUDA_WHEEL_HOST_OBJECT;
};
Context& globalContext();
bool hasCUDA();
int getNumGPUs();
namespace detail {
const Generator& getDefaultCPUGenerator();
Generator createCPUGenerator(uint64_t seed = 0);
} // namespace detail
} // namespace at

#endif
