// PyTorch's CUDA devices: streams, guards, events, the caching allocator and the random generator.
#ifndef CUDA_WHEEL_PYTORCH_CUDA_STREAMS_H
#define CUDA_WHEEL_PYTORCH_CUDA_STREAMS_H

// The layout of a generator's state differs between releases, so that it is PyTorch's own, or incomplete.
#if __has_include(<ATen/cuda/PhiloxCudaState.h>)
#include <ATen/cuda/PhiloxCudaState.h>
#else
namespace at {
struct PhiloxCudaState;
}
#endif
#include <cuda_wheel_detail/pytorch/cuda_errors.h>
#include <cuda_wheel_detail/pytorch/device_guard.h>

namespace c10 {
using CaptureId_t = unsigned long long;
using MempoolId_t = std::pair<CaptureId_t, CaptureId_t>;
namespace cuda {
using c10::CaptureId_t;
using c10::MempoolId_t;

DeviceIndex device_count() noexcept;
DeviceIndex device_count_ensure_non_zero();
DeviceIndex current_device();
void set_device(DeviceIndex, bool force = false);
void device_synchronize();
void warn_or_error_on_sync();
cudaError_t GetDeviceCount(int*);
cudaError_t GetDevice(DeviceIndex*);
cudaError_t SetDevice(DeviceIndex, bool force = false);
cudaError_t MaybeSetDevice(DeviceIndex);
DeviceIndex ExchangeDevice(DeviceIndex);
DeviceIndex MaybeExchangeDevice(DeviceIndex);
void SetTargetDevice();
void memcpy_and_sync(void* target, const void* source, int64_t bytes, cudaMemcpyKind, cudaStream_t);
void stream_synchronize(cudaStream_t);
bool hasPrimaryContext(DeviceIndex);
std::optional<DeviceIndex> getDeviceIndexWithPrimaryContext();

class CUDAStream {
  public:
    enum Unchecked { UNCHECKED };
    explicit CUDAStream(Stream);
    explicit CUDAStream(Unchecked, Stream);
    bool operator==(const CUDAStream&) const noexcept;
    bool operator!=(const CUDAStream&) const noexcept;
    operator cudaStream_t() const;
    operator Stream() const;
    DeviceType device_type() const;
    DeviceIndex device_index() const;
    Device device() const;
    StreamId id() const;
    bool query() const;
    void synchronize() const;
    int priority() const;
    cudaStream_t stream() const;
    Stream unwrap() const;
    bool is_capturing() const;
    StreamData3 pack3() const;
    static CUDAStream unpack3(StreamId, DeviceIndex, DeviceType);
    static std::tuple<int, int> priority_range();

  private:
    void* cuda_wheel_layout[2] = {};
};
CUDAStream getStreamFromPool(bool high_priority = false, DeviceIndex = -1);
CUDAStream getStreamFromPool(int priority, DeviceIndex = -1);
CUDAStream getStreamFromExternal(cudaStream_t, DeviceIndex);
CUDAStream getDefaultCUDAStream(DeviceIndex = -1);
CUDAStream getCurrentCUDAStream(DeviceIndex = -1);
void setCurrentCUDAStream(CUDAStream);
std::ostream& operator<<(std::ostream&, const CUDAStream&);

struct CUDAGuard {
    explicit CUDAGuard(DeviceIndex);
    explicit CUDAGuard(Device);
    CUDAGuard(const CUDAGuard&) = delete;
    CUDAGuard& operator=(const CUDAGuard&) = delete;
    ~CUDAGuard();
    void set_device(Device);
    void reset_device(Device);
    void set_index(DeviceIndex);
    Device original_device() const;
    Device current_device() const;

    void* cuda_wheel_layout[2] = {};
};
struct OptionalCUDAGuard {
    explicit OptionalCUDAGuard();
    explicit OptionalCUDAGuard(std::optional<Device>);
    explicit OptionalCUDAGuard(std::optional<DeviceIndex>);
    OptionalCUDAGuard(const OptionalCUDAGuard&) = delete;
    OptionalCUDAGuard& operator=(const OptionalCUDAGuard&) = delete;
    ~OptionalCUDAGuard();
    void set_device(Device);
    void reset_device(Device);
    void set_index(DeviceIndex);
    std::optional<Device> original_device() const;
    std::optional<Device> current_device() const;
    void reset();

    void* cuda_wheel_layout[3] = {};
};
struct CUDAStreamGuard {
    explicit CUDAStreamGuard(Stream);
    CUDAStreamGuard(const CUDAStreamGuard&) = delete;
    CUDAStreamGuard& operator=(const CUDAStreamGuard&) = delete;
    ~CUDAStreamGuard();
    void reset_stream(Stream);
    CUDAStream original_stream() const;
    CUDAStream current_stream() const;
    Device current_device() const;
    Device original_device() const;

    void* cuda_wheel_layout[8] = {};
};
struct OptionalCUDAStreamGuard {
    explicit OptionalCUDAStreamGuard();
    explicit OptionalCUDAStreamGuard(Stream);
    explicit OptionalCUDAStreamGuard(std::optional<Stream>);
    ~OptionalCUDAStreamGuard();
    void reset_stream(Stream);
    void reset();

    void* cuda_wheel_layout[9] = {};
};
struct CUDAMultiStreamGuard {
    explicit CUDAMultiStreamGuard(ArrayRef<CUDAStream>);
    ~CUDAMultiStreamGuard();

    void* cuda_wheel_layout[5] = {};
};

namespace CUDACachingAllocator {
struct CUDAAllocator : Allocator {
    virtual void* raw_alloc(size_t) = 0;
    virtual void* raw_alloc_with_stream(size_t, cudaStream_t) = 0;
    virtual void raw_delete(void*) = 0;
    virtual void recordStream(const DataPtr&, CUDAStream) = 0;
};
CUDAAllocator* get();
void* raw_alloc(size_t);
void* raw_alloc_with_stream(size_t, cudaStream_t);
void raw_delete(void*);
void init(int device_count);
void emptyCache();
void cacheInfo(DeviceIndex, size_t* largest_block);
void* getBaseAllocation(void*, size_t* size);
void recordStream(const DataPtr&, CUDAStream);
void resetAccumulatedStats(DeviceIndex);
void resetPeakStats(DeviceIndex);
} // namespace CUDACachingAllocator
} // namespace cuda
} // namespace c10

namespace at {
namespace cuda {
using namespace c10::cuda;

struct CUDAEvent {
    CUDAEvent() noexcept;
    CUDAEvent(unsigned int flags) noexcept;
    CUDAEvent(const CUDAEvent&) = delete;
    CUDAEvent(CUDAEvent&&) noexcept;
    CUDAEvent& operator=(const CUDAEvent&) = delete;
    CUDAEvent& operator=(CUDAEvent&&) noexcept;
    ~CUDAEvent();
    operator cudaEvent_t() const;
    cudaEvent_t event() const;
    std::optional<c10::Device> device() const;
    bool isCreated() const;
    c10::DeviceIndex device_index() const;
    bool query() const;
    void record();
    void recordOnce(const CUDAStream&);
    void record(const CUDAStream&);
    void block(const CUDAStream&);
    float elapsed_time(const CUDAEvent&) const;
    void synchronize() const;

    CUDA_WHEEL_HOST_OBJECT;
};

bool check_device(c10::ArrayRef<Tensor>);
namespace detail {
const Generator& getDefaultCUDAGenerator(c10::DeviceIndex = -1);
Generator createCUDAGenerator(c10::DeviceIndex = -1);
} // namespace detail
} // namespace cuda

struct CUDAGeneratorImpl : c10::GeneratorImpl {
    CUDAGeneratorImpl(c10::DeviceIndex = -1);
    void set_current_seed(uint64_t) override;
    uint64_t current_seed() const override;
    uint64_t seed() override;
    void set_offset(uint64_t);
    uint64_t get_offset() const;
    void set_philox_offset_per_thread(uint64_t);
    uint64_t philox_offset_per_thread() const;
    PhiloxCudaState philox_cuda_state(uint64_t increment);
    std::pair<uint64_t, uint64_t> philox_engine_inputs(uint64_t increment);
    static c10::DeviceType device_type();
};

} // namespace at

#endif
