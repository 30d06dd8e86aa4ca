// The checks of arguments in ATen/TensorUtils.h.
#ifndef CUDA_WHEEL_PYTORCH_TENSOR_CHECKS_H
#define CUDA_WHEEL_PYTORCH_TENSOR_CHECKS_H

#include <cuda_wheel_detail/pytorch/tensor.h>

#define TORCH_CHECK_TENSOR_ALL(cond, ...) TORCH_CHECK((cond)._is_all_true().item<bool>(), __VA_ARGS__);

namespace at {
struct TensorArg {
    const Tensor& tensor;
    const char* name;
    int pos;
    TensorArg(const Tensor&, const char* name, int pos);
    TensorArg(Tensor&&, const char* name, int pos) = delete;
    const Tensor* operator->() const;
    const Tensor& operator*() const;
};
struct TensorGeometry {
    TensorGeometry();
    explicit TensorGeometry(c10::IntArrayRef sizes);
    explicit TensorGeometry(const TensorBase&);
    int64_t dim() const;
    int64_t size(int64_t) const;
    c10::IntArrayRef sizes() const;
    int64_t stride(int64_t) const;
    c10::IntArrayRef strides() const;
    int64_t storage_offset() const;
    int64_t numel() const;
    bool is_contiguous() const;
    TensorGeometry transpose(int64_t, int64_t);

    void* cuda_wheel_layout[9] = {};
};
struct TensorGeometryArg {
    TensorGeometry tensor;
    const char* name;
    int pos;
    TensorGeometryArg(TensorArg);
    TensorGeometryArg(TensorGeometry, const char* name, int pos);
    const TensorGeometry* operator->() const;
    const TensorGeometry& operator*() const;
};
using CheckedFrom = const char*;
void checkDim(CheckedFrom, const Tensor&, const char* name, int pos, int64_t dim);
void checkDim(CheckedFrom, const TensorGeometryArg&, int64_t dim);
void checkDimRange(CheckedFrom, const TensorGeometryArg&, int64_t first, int64_t last);
void checkSameDim(CheckedFrom, const TensorGeometryArg&, const TensorGeometryArg&);
void checkContiguous(CheckedFrom, const TensorGeometryArg&);
void checkAllContiguous(CheckedFrom, c10::ArrayRef<TensorArg>);
void checkSize(CheckedFrom, const TensorGeometryArg&, c10::IntArrayRef);
void checkSize(CheckedFrom, const TensorGeometryArg&, int64_t dim, int64_t size);
void checkNumel(CheckedFrom, const TensorGeometryArg&, int64_t);
void checkSameNumel(CheckedFrom, const TensorArg&, const TensorArg&);
void checkAllSameNumel(CheckedFrom, c10::ArrayRef<TensorArg>);
void checkScalarType(CheckedFrom, const TensorArg&, c10::ScalarType);
void checkScalarTypes(CheckedFrom, const TensorArg&, c10::ArrayRef<c10::ScalarType>);
void checkSameGPU(CheckedFrom, const TensorArg&, const TensorArg&);
void checkAllSameGPU(CheckedFrom, c10::ArrayRef<TensorArg>);
void checkSameType(CheckedFrom, const TensorArg&, const TensorArg&);
void checkAllSameType(CheckedFrom, c10::ArrayRef<TensorArg>);
void checkSameSize(CheckedFrom, const TensorArg&, const TensorArg&);
void checkAllSameSize(CheckedFrom, c10::ArrayRef<TensorArg>);
void checkDefined(CheckedFrom, const TensorArg&);
void checkAllDefined(CheckedFrom, c10::ArrayRef<TensorArg>);
void checkBackend(CheckedFrom, c10::ArrayRef<Tensor>, c10::Backend);
void checkDeviceType(CheckedFrom, c10::ArrayRef<Tensor>, c10::DeviceType);
void checkLayout(CheckedFrom, const Tensor&, c10::Layout);
void checkLayout(CheckedFrom, c10::ArrayRef<Tensor>, c10::Layout);
void* maybe_data_ptr(const Tensor&);
void check_dim_size(const Tensor&, int64_t dim, int64_t dim_size, int64_t size);
namespace native {
bool canUse32BitIndexMath(const TensorBase&, int64_t max_elem = 0x7fffffff);
}
namespace detail {
std::vector<int64_t> defaultStrides(c10::IntArrayRef);
std::optional<std::vector<int64_t>> computeStride(c10::IntArrayRef, c10::IntArrayRef, c10::IntArrayRef);
} // namespace detail
} // namespace at

#endif
