// PyTorch's stable interface: torch::stable::Tensor, its operators, STABLE_TORCH_LIBRARY, and the C functions beneath.
#ifndef CUDA_WHEEL_PYTORCH_STABLE_H
#define CUDA_WHEEL_PYTORCH_STABLE_H

#include <cuda_runtime_api.h>

#include <cuda_wheel_detail/pytorch/dispatch.h>
#include <cuda_wheel_detail/pytorch/tag.h>
#include <cuda_wheel_detail/pytorch/tensor_options.h>
#include <cuda_wheel_detail/pytorch/version.h>

#ifdef TORCH_TARGET_VERSION
#define TORCH_FEATURE_VERSION TORCH_TARGET_VERSION
#else
#define TORCH_FEATURE_VERSION TORCH_ABI_VERSION
#endif
#define TORCH_VERSION_2_10_0 0x020a000000000000ULL
#define TORCH_VERSION_2_11_0 0x020b000000000000ULL
#define TORCH_VERSION_2_12_0 0x020c000000000000ULL
#define TORCH_VERSION_2_13_0 0x020d000000000000ULL
#define TORCH_VERSION_2_14_0 0x020e000000000000ULL

// --- The C interface ---------------------------------------------------------------------------------------------------

using StableIValue = uint64_t;
using AOTITorchError = int32_t;
struct AtenTensorOpaque;
using AtenTensorHandle = AtenTensorOpaque*;
struct TorchLibraryOpaque;
using TorchLibraryHandle = TorchLibraryOpaque*;
struct AtenGeneratorOpaque;
using AtenGeneratorHandle = AtenGeneratorOpaque*;
struct StreamOpaque;
using StreamHandle = StreamOpaque*;
struct DeviceGuardOpaque;
using DeviceGuardHandle = DeviceGuardOpaque*;
extern "C" {
AOTITorchError torch_call_dispatcher(const char* name, const char* overload, StableIValue* stack, uint64_t version);
AOTITorchError aoti_torch_call_dispatcher(const char* name, const char* overload, StableIValue* stack);
AOTITorchError aoti_torch_get_data_ptr(AtenTensorHandle, void**);
AOTITorchError aoti_torch_get_dim(AtenTensorHandle, int64_t*);
AOTITorchError aoti_torch_get_numel(AtenTensorHandle, int64_t*);
AOTITorchError aoti_torch_get_sizes(AtenTensorHandle, int64_t**);
AOTITorchError aoti_torch_get_strides(AtenTensorHandle, int64_t**);
AOTITorchError aoti_torch_get_size(AtenTensorHandle, int64_t, int64_t*);
AOTITorchError aoti_torch_get_stride(AtenTensorHandle, int64_t, int64_t*);
AOTITorchError aoti_torch_get_dtype(AtenTensorHandle, int32_t*);
AOTITorchError aoti_torch_get_layout(AtenTensorHandle, int32_t*);
AOTITorchError aoti_torch_get_device_type(AtenTensorHandle, int32_t*);
AOTITorchError aoti_torch_get_device_index(AtenTensorHandle, int32_t*);
AOTITorchError aoti_torch_delete_tensor_object(AtenTensorHandle);
AOTITorchError aoti_torch_get_current_cuda_stream(int32_t device_index, void** stream);
AOTITorchError torch_get_current_cuda_blas_handle(void** handle);
AOTITorchError torch_set_current_cuda_stream(void* stream, int32_t device_index);
AOTITorchError torch_get_cuda_stream_from_pool(bool high_priority, int32_t device_index, void** stream);
AOTITorchError torch_stream_native_handle(StreamHandle, void** handle);
AOTITorchError torch_delete_generator(AtenGeneratorHandle);
AOTITorchError torch_get_num_threads(uint32_t*);
AOTITorchError torch_get_mutable_data_ptr(AtenTensorHandle, void**);
AOTITorchError torch_get_const_data_ptr(AtenTensorHandle, const void**);
int32_t aoti_torch_layout_strided();
int32_t aoti_torch_memory_format_contiguous_format();
int32_t aoti_torch_memory_format_channels_last();
int32_t aoti_torch_memory_format_preserve_format();
int32_t aoti_torch_device_type_cpu();
int32_t aoti_torch_device_type_cuda();
#define CUDA_WHEEL_PYTORCH_DTYPE(name) int32_t aoti_torch_dtype_##name();
CUDA_WHEEL_PYTORCH_DTYPE(float32) CUDA_WHEEL_PYTORCH_DTYPE(float64) CUDA_WHEEL_PYTORCH_DTYPE(float16)
CUDA_WHEEL_PYTORCH_DTYPE(bfloat16) CUDA_WHEEL_PYTORCH_DTYPE(uint8) CUDA_WHEEL_PYTORCH_DTYPE(int8)
CUDA_WHEEL_PYTORCH_DTYPE(int16) CUDA_WHEEL_PYTORCH_DTYPE(int32) CUDA_WHEEL_PYTORCH_DTYPE(int64)
CUDA_WHEEL_PYTORCH_DTYPE(bool)
#undef CUDA_WHEEL_PYTORCH_DTYPE
} // extern "C"
#define AOTI_TORCH_ERROR_CODE_CHECK(call) TORCH_ERROR_CODE_CHECK(call)
#define STABLE_TORCH_ERROR_CODE_CHECK(call) TORCH_ERROR_CODE_CHECK(call)
#define TORCH_ERROR_CODE_CHECK(call) \
    if ((call) != 0) {               \
        throw std::runtime_error(#call); \
    }

namespace torch {
namespace stable {

namespace detail {
template <class T>
StableIValue from(T);
template <class T>
T to(StableIValue);
void require_success(cudaError_t);
} // namespace detail

// --- Devices and streams -------------------------------------------------------------------------------------------------

namespace accelerator {
using DeviceIndex = int32_t;
using StreamId = int64_t;
class DeviceGuard {
  public:
    explicit DeviceGuard(DeviceIndex);
    ~DeviceGuard();
    void set_index(DeviceIndex);

  private:
    void* cuda_wheel_layout[2] = {};
};
class Stream {
  public:
    explicit Stream(StreamHandle);
    StreamId id() const;
    void* nativeHandle() const;

  private:
    void* cuda_wheel_layout[2] = {};
};
Stream getCurrentStream(DeviceIndex);
DeviceIndex getCurrentDeviceIndex();
} // namespace accelerator
using accelerator::DeviceIndex;
using DeviceType = c10::DeviceType;

class Device {
  public:
    Device(DeviceType, DeviceIndex index = -1);
    Device(const std::string&);
    bool operator==(const Device&) const noexcept;
    bool operator!=(const Device&) const noexcept;
    void set_index(DeviceIndex);
    DeviceType type() const noexcept;
    DeviceIndex index() const noexcept;
    bool has_index() const noexcept;
    bool is_cuda() const noexcept;
    bool is_cpu() const noexcept;

  private:
    DeviceType cuda_wheel_type = {};
    DeviceIndex cuda_wheel_index = {};
};

class Generator {
  public:
    explicit Generator(AtenGeneratorHandle);
    AtenGeneratorHandle get() const;
    Device device() const;

  private:
    std::shared_ptr<AtenGeneratorOpaque> cuda_wheel_layout;
};

// --- Tensors -------------------------------------------------------------------------------------------------------------

class Tensor {
  public:
    Tensor();
    explicit Tensor(AtenTensorHandle);
    Tensor(const Tensor&);
    Tensor(Tensor&&) noexcept;
    Tensor& operator=(const Tensor&);
    Tensor& operator=(Tensor&&) noexcept;
    ~Tensor();
    AtenTensorHandle get() const;
    void* data_ptr() const;
    void* mutable_data_ptr() const;
    const void* const_data_ptr() const;
    template <class T>
    T* mutable_data_ptr() const;
    template <class T>
    const T* const_data_ptr() const;
    const Tensor& set_requires_grad(bool) const;
    int64_t dim() const;
    int64_t numel() const;
    torch::headeronly::IntHeaderOnlyArrayRef sizes() const;
    torch::headeronly::IntHeaderOnlyArrayRef strides() const;
    int64_t size(int64_t) const;
    int64_t stride(int64_t) const;
    bool is_contiguous() const;
    int8_t get_device() const;
    DeviceIndex get_device_index() const;
    bool is_cuda() const;
    bool is_cpu() const;
    bool defined() const;
    bool has_storage() const;
    int64_t storage_offset() const;
    size_t element_size() const;
    c10::ScalarType scalar_type() const;
    Device device() const;
    c10::Layout layout() const;

  private:
    void* cuda_wheel_layout[2] = {};
};

using cuda_wheel_dtype = std::optional<c10::ScalarType>;
using cuda_wheel_layout = std::optional<c10::Layout>;
using cuda_wheel_device = std::optional<Device>;
using cuda_wheel_format = std::optional<c10::MemoryFormat>;
Tensor empty_like(const Tensor&);
Tensor fill_(const Tensor&, double);
Tensor zero_(Tensor&);
Tensor copy_(Tensor&, const Tensor&, std::optional<bool> non_blocking = std::nullopt);
Tensor clone(const Tensor&);
Tensor narrow(Tensor&, int64_t dim, int64_t start, int64_t length);
Tensor pad(const Tensor&, torch::headeronly::IntHeaderOnlyArrayRef, const std::string& mode = "constant", double value = 0.0);
Tensor amax(const Tensor&, int64_t dim, bool keepdim = false);
Tensor amax(const Tensor&, torch::headeronly::IntHeaderOnlyArrayRef dims, bool keepdim = false);
Tensor transpose(const Tensor&, int64_t, int64_t);
Tensor flatten(const Tensor&, int64_t start_dim = 0, int64_t end_dim = -1);
Tensor unsqueeze(const Tensor&, int64_t);
Tensor squeeze(const Tensor&, int64_t);
Tensor select(const Tensor&, int64_t dim, int64_t index);
Tensor matmul(const Tensor&, const Tensor&);
Tensor reshape(const Tensor&, torch::headeronly::IntHeaderOnlyArrayRef);
Tensor view(const Tensor&, torch::headeronly::IntHeaderOnlyArrayRef);
Tensor contiguous(const Tensor&, c10::MemoryFormat = c10::MemoryFormat::Contiguous);
Tensor sum(const Tensor&, std::optional<torch::headeronly::IntHeaderOnlyArrayRef> dim = std::nullopt, bool keepdim = false, cuda_wheel_dtype = std::nullopt);
Tensor& sum_out(Tensor& out, const Tensor&, std::optional<torch::headeronly::IntHeaderOnlyArrayRef> dim = std::nullopt, bool keepdim = false,
                cuda_wheel_dtype = std::nullopt);
Tensor subtract(const Tensor&, const Tensor&, double alpha = 1.0);
Tensor floor_divide(const Tensor&, const Tensor&);
Tensor bitwise_and(const Tensor&, const Tensor&);
Tensor bitwise_or(const Tensor&, const Tensor&);
Tensor bitwise_left_shift(const Tensor&, const Tensor&);
Tensor bitwise_right_shift(const Tensor&, const Tensor&);
Tensor permute(const Tensor&, torch::headeronly::IntHeaderOnlyArrayRef dims);
Tensor index_select(const Tensor&, int64_t dim, const Tensor& index);
bool is_pinned(const Tensor&);
Tensor tensor_from_pyobject(void* object);
void* tensor_to_pyobject(const Tensor&, void* type = nullptr);
Tensor empty(torch::headeronly::IntHeaderOnlyArrayRef, cuda_wheel_dtype = std::nullopt, cuda_wheel_layout = std::nullopt, cuda_wheel_device = std::nullopt,
             std::optional<bool> pin_memory = std::nullopt, cuda_wheel_format = std::nullopt);
Tensor full(torch::headeronly::IntHeaderOnlyArrayRef, double, cuda_wheel_dtype = std::nullopt, cuda_wheel_layout = std::nullopt,
            cuda_wheel_device = std::nullopt, std::optional<bool> pin_memory = std::nullopt);
Tensor new_empty(const Tensor&, torch::headeronly::IntHeaderOnlyArrayRef, cuda_wheel_dtype = std::nullopt, cuda_wheel_layout = std::nullopt,
                 cuda_wheel_device = std::nullopt, std::optional<bool> pin_memory = std::nullopt);
Tensor new_zeros(const Tensor&, torch::headeronly::IntHeaderOnlyArrayRef, cuda_wheel_dtype = std::nullopt, cuda_wheel_layout = std::nullopt,
                 cuda_wheel_device = std::nullopt, std::optional<bool> pin_memory = std::nullopt);
Tensor to(const Tensor&, cuda_wheel_dtype = std::nullopt, cuda_wheel_layout = std::nullopt, cuda_wheel_device = std::nullopt,
          std::optional<bool> pin_memory = std::nullopt, bool non_blocking = false, bool copy = false, cuda_wheel_format = std::nullopt);
Tensor to(const Tensor&, Device, bool non_blocking = false, bool copy = false);
Tensor from_blob(void* data, torch::headeronly::IntHeaderOnlyArrayRef sizes, torch::headeronly::IntHeaderOnlyArrayRef strides, Device, c10::ScalarType, int64_t storage_offset = 0,
                 c10::Layout = c10::Layout::Strided);
template <class F, class = decltype(std::declval<F&>()(static_cast<void*>(nullptr)))>
Tensor from_blob(void* data, torch::headeronly::IntHeaderOnlyArrayRef sizes, torch::headeronly::IntHeaderOnlyArrayRef strides, Device, c10::ScalarType, F deleter,
                 int64_t storage_offset = 0, c10::Layout = c10::Layout::Strided);
uint32_t get_num_threads();
template <class F>
void parallel_for(int64_t begin, int64_t end, int64_t grain_size, const F& f) {
    f(begin, end);
}

// --- Registration --------------------------------------------------------------------------------------------------------

namespace detail {
class StableLibrary {
  public:
    enum class Kind { DEF, IMPL, FRAGMENT };
    StableLibrary& impl(const char* name, void (*)(StableIValue*, uint64_t, uint64_t));
    StableLibrary& def(const char* schema);
    StableLibrary& def(const char* schema, const std::vector<at::Tag>& tags);
    StableLibrary& set_python_module(const char* module, const char* context = "");
};
struct StableTorchLibraryInit {
    StableTorchLibraryInit(StableLibrary::Kind, void (*)(StableLibrary&), const char* name_space, const char* key, const char* file,
                           uint32_t line);
};
template <class F, F* f>
struct boxer {
    static void boxed_fn(StableIValue* stack, uint64_t arguments, uint64_t results);
};
} // namespace detail
} // namespace stable
} // namespace torch
using torch::stable::detail::from;
using torch::stable::detail::to;

#define TORCH_BOX(function)                                                                                    \
    torch::stable::detail::boxer<std::remove_pointer_t<std::remove_reference_t<decltype(function)>>, (function)>::boxed_fn
#define CUDA_WHEEL_PYTORCH_STABLE_LIBRARY(kind, id, ns, key, m)                                                \
    static void C10_CONCATENATE(STABLE_TORCH_LIBRARY_init_##ns##_, id)(torch::stable::detail::StableLibrary&); \
    static torch::stable::detail::StableTorchLibraryInit C10_CONCATENATE(STABLE_TORCH_LIBRARY_static_init_##ns##_, id)( \
        torch::stable::detail::StableLibrary::Kind::kind, &C10_CONCATENATE(STABLE_TORCH_LIBRARY_init_##ns##_, id), #ns, key, \
        __FILE__, __LINE__);                                                                                   \
    void C10_CONCATENATE(STABLE_TORCH_LIBRARY_init_##ns##_, id)(torch::stable::detail::StableLibrary & m)
#define STABLE_TORCH_LIBRARY(ns, m) _STABLE_TORCH_LIBRARY(ns, m, __LINE__)
#define _STABLE_TORCH_LIBRARY(ns, m, uid) CUDA_WHEEL_PYTORCH_STABLE_LIBRARY(DEF, uid, ns, nullptr, m)
#define STABLE_TORCH_LIBRARY_FRAGMENT(ns, m) _STABLE_TORCH_LIBRARY_FRAGMENT(ns, m, __LINE__)
#define _STABLE_TORCH_LIBRARY_FRAGMENT(ns, m, uid) CUDA_WHEEL_PYTORCH_STABLE_LIBRARY(FRAGMENT, uid, ns, nullptr, m)
#define STABLE_TORCH_LIBRARY_IMPL(ns, k, m) _STABLE_TORCH_LIBRARY_IMPL(ns, k, m, __LINE__)
#define _STABLE_TORCH_LIBRARY_IMPL(ns, k, m, uid) CUDA_WHEEL_PYTORCH_STABLE_LIBRARY(IMPL, uid, ns, #k, m)
#define STD_CUDA_CHECK(EXPR)                             \
    do {                                                 \
        ::torch::stable::detail::require_success(EXPR);  \
    } while (0)
#define STD_CUDA_KERNEL_LAUNCH_CHECK() STD_CUDA_CHECK(cudaGetLastError())

#endif
