// at::Tensor with its methods, and the factories and functions whose signatures the lists of operator_names.h cannot say.
#ifndef CUDA_WHEEL_PYTORCH_TENSOR_H
#define CUDA_WHEEL_PYTORCH_TENSOR_H

#include <ATen/core/TensorAccessor.h>
#include <cuda_wheel_detail/pytorch/operator_names.h>
#include <cuda_wheel_detail/pytorch/tensor_options.h>

namespace torch {
namespace autograd {
struct Node;
struct AutogradMeta;
} // namespace autograd
} // namespace torch

namespace at {

class Tensor;
using TensorList = c10::ArrayRef<Tensor>;
using ITensorListRef = c10::ArrayRef<Tensor>;
using OptionalTensorRef = const Tensor*;

// An argument of an operator: any value, or a braced list of values, as IntArrayRef, Scalar, optional<T> and the like accept.
// Only what an operator returns decides which kernels a file has; its arguments need not be told apart.
struct cuda_wheel_argument {
    cuda_wheel_argument();
    template <class T>
    cuda_wheel_argument(const T&);
    cuda_wheel_argument(std::initializer_list<cuda_wheel_argument>);
};

#define CUDA_WHEEL_PYTORCH_ARGUMENTS \
    cuda_wheel_argument = {}, cuda_wheel_argument = {}, cuda_wheel_argument = {}, cuda_wheel_argument = {}, cuda_wheel_argument = {}
#define CUDA_WHEEL_PYTORCH_MANY_ARGUMENTS                                                                           \
    CUDA_WHEEL_PYTORCH_ARGUMENTS, CUDA_WHEEL_PYTORCH_ARGUMENTS, cuda_wheel_argument = {}, cuda_wheel_argument = {}, \
    cuda_wheel_argument = {}, cuda_wheel_argument = {}

namespace indexing {
enum class TensorIndexType { None, Ellipsis, SymInt, Boolean, Slice, Tensor };
constexpr std::nullopt_t None = std::nullopt;
struct EllipsisIndexType final {};
constexpr EllipsisIndexType Ellipsis{};
struct Slice {
    Slice(std::optional<c10::SymInt> start = std::nullopt, std::optional<c10::SymInt> stop = std::nullopt,
          std::optional<c10::SymInt> step = std::nullopt);

    void* cuda_wheel_layout[3] = {};
};
struct TensorIndex {
    TensorIndex(std::nullopt_t);
    TensorIndex(EllipsisIndexType);
    TensorIndex(const char*);
    TensorIndex(c10::SymInt);
    template <class T, class = typename std::enable_if<std::is_arithmetic<T>::value>::type>
    TensorIndex(T);
    TensorIndex(Slice);
    TensorIndex(Tensor);

    void* cuda_wheel_layout[7] = {};
};
} // namespace indexing

struct TensorImpl : c10::intrusive_ptr_target {
    c10::IntArrayRef sizes() const;
    c10::IntArrayRef strides() const;
    int64_t dim() const;
    int64_t numel() const;
    int64_t size(int64_t) const;
    int64_t stride(int64_t) const;
    int64_t storage_offset() const;
    size_t itemsize() const;
    bool is_empty() const;
    bool is_cpu() const;
    bool is_cuda() const;
    bool storage_initialized() const;
    bool dtype_initialized() const noexcept;
    c10::Device device() const;
    c10::Layout layout() const;
    caffe2::TypeMeta dtype() const;
    c10::DispatchKeySet key_set() const;
    const void* data() const;
    void* mutable_data();
    const c10::Storage& storage() const;
    const c10::Storage& unsafe_storage() const;
    bool has_storage() const;
    void set_storage_keep_dtype(c10::Storage);
    bool is_contiguous(c10::MemoryFormat = c10::MemoryFormat::Contiguous) const;
    bool requires_grad() const;
    void bump_version();
    void set_sizes_contiguous(c10::IntArrayRef);
    void set_sizes_and_strides(c10::IntArrayRef, c10::IntArrayRef);
    void set_storage_offset(int64_t);
};
} // namespace at
namespace c10 {
using at::TensorImpl;
struct UndefinedTensorImpl;
} // namespace c10

namespace at {

class TensorBase {
  public:
    TensorBase();
    explicit TensorBase(c10::intrusive_ptr<TensorImpl, c10::UndefinedTensorImpl>);
    TensorBase(const TensorBase&);
    ~TensorBase() noexcept;
    TensorBase& operator=(const TensorBase&) &;

    int64_t dim() const;
    int64_t ndimension() const;
    int64_t numel() const;
    int64_t size(int64_t) const;
    int64_t stride(int64_t) const;
    c10::IntArrayRef sizes() const;
    c10::IntArrayRef strides() const;
    int64_t storage_offset() const;
    c10::SymInt sym_size(int64_t) const;
    c10::SymInt sym_stride(int64_t) const;
    c10::SymInt sym_numel() const;
    c10::SymIntArrayRef sym_sizes() const;
    c10::SymIntArrayRef sym_strides() const;
    size_t nbytes() const;
    size_t itemsize() const;
    int64_t element_size() const;
    bool defined() const;
    void reset();
    bool is_same(const TensorBase&) const noexcept;
    size_t use_count() const noexcept;
    std::string toString() const;
    bool is_contiguous(c10::MemoryFormat = c10::MemoryFormat::Contiguous) const;
    bool is_non_overlapping_and_dense() const;
    c10::MemoryFormat suggest_memory_format(bool channels_last_strides_exact_match = false) const;
    c10::DispatchKeySet key_set() const;
    c10::ScalarType scalar_type() const;
    caffe2::TypeMeta dtype() const;
    c10::Layout layout() const;
    c10::Device device() const;
    c10::DeviceIndex get_device() const;
    c10::TensorOptions options() const;
    bool has_storage() const;
    const c10::Storage& storage() const;
    bool is_alias_of(const TensorBase&) const;
#define CUDA_WHEEL_PYTORCH_IS(name) bool is_##name() const;
    CUDA_WHEEL_PYTORCH_IS(complex) CUDA_WHEEL_PYTORCH_IS(floating_point) CUDA_WHEEL_PYTORCH_IS(signed)
    CUDA_WHEEL_PYTORCH_IS(conj) CUDA_WHEEL_PYTORCH_IS(neg) CUDA_WHEEL_PYTORCH_IS(cpu) CUDA_WHEEL_PYTORCH_IS(cuda)
    CUDA_WHEEL_PYTORCH_IS(hip) CUDA_WHEEL_PYTORCH_IS(xpu) CUDA_WHEEL_PYTORCH_IS(xla) CUDA_WHEEL_PYTORCH_IS(mps)
    CUDA_WHEEL_PYTORCH_IS(hpu) CUDA_WHEEL_PYTORCH_IS(ipu) CUDA_WHEEL_PYTORCH_IS(mtia) CUDA_WHEEL_PYTORCH_IS(lazy)
    CUDA_WHEEL_PYTORCH_IS(privateuseone) CUDA_WHEEL_PYTORCH_IS(sparse) CUDA_WHEEL_PYTORCH_IS(sparse_csr)
    CUDA_WHEEL_PYTORCH_IS(mkldnn) CUDA_WHEEL_PYTORCH_IS(vulkan) CUDA_WHEEL_PYTORCH_IS(metal)
    CUDA_WHEEL_PYTORCH_IS(quantized) CUDA_WHEEL_PYTORCH_IS(meta) CUDA_WHEEL_PYTORCH_IS(inference)
    CUDA_WHEEL_PYTORCH_IS(nested) CUDA_WHEEL_PYTORCH_IS(leaf) CUDA_WHEEL_PYTORCH_IS(view)
#undef CUDA_WHEEL_PYTORCH_IS
    TensorImpl* unsafeGetTensorImpl() const;
    TensorImpl* unsafeReleaseTensorImpl();
    const c10::intrusive_ptr<TensorImpl, c10::UndefinedTensorImpl>& getIntrusivePtr() const;

    void* data_ptr() const;
    const void* const_data_ptr() const;
    void* mutable_data_ptr() const;
    template <class T>
    T* data_ptr() const;
    template <class T, typename std::enable_if<!std::is_const<T>::value, int>::type = 0>
    const T* const_data_ptr() const;
    template <class T, typename std::enable_if<std::is_const<T>::value, int>::type = 0>
    typename std::add_const<typename std::remove_const<T>::type>::type* const_data_ptr() const;
    template <class T>
    T* mutable_data_ptr() const;
    template <class T, size_t N>
    TensorAccessor<T, N> accessor() const&;
    template <class T, size_t N>
    TensorAccessor<T, N> accessor() && = delete;
    template <class T, size_t N, template <class U> class Traits = DefaultPtrTraits, class index_t = int64_t>
    GenericPackedTensorAccessor<T, N, Traits, index_t> generic_packed_accessor() const&;
    template <class T, size_t N, template <class U> class Traits = DefaultPtrTraits, class index_t = int64_t>
    GenericPackedTensorAccessor<T, N> generic_packed_accessor() && = delete;
    template <class T, size_t N, template <class U> class Traits = DefaultPtrTraits>
    PackedTensorAccessor32<T, N, Traits> packed_accessor32() const&;
    template <class T, size_t N, template <class U> class Traits = DefaultPtrTraits>
    PackedTensorAccessor32<T, N, Traits> packed_accessor32() && = delete;
    template <class T, size_t N, template <class U> class Traits = DefaultPtrTraits>
    PackedTensorAccessor64<T, N, Traits> packed_accessor64() const&;
    template <class T, size_t N, template <class U> class Traits = DefaultPtrTraits>
    PackedTensorAccessor64<T, N, Traits> packed_accessor64() && = delete;

    bool requires_grad() const;
    const std::shared_ptr<torch::autograd::Node>& grad_fn() const;
    template <class F>
    unsigned register_hook(F&& hook) const;
    void remove_hook(unsigned) const;
    int64_t output_nr() const;
    int64_t _version() const;
    void retain_grad() const;
    bool retains_grad() const;
    void set_data(const TensorBase&) const;
    const std::string& name() const;
    void print() const;
    void share_memory_();

  protected:
    void* impl_;
};

class Tensor : public TensorBase {
  public:
    Tensor();
    explicit Tensor(c10::intrusive_ptr<TensorImpl, c10::UndefinedTensorImpl>);
    Tensor(const Tensor&);
    Tensor(Tensor&&);
    explicit Tensor(const TensorBase&);
    Tensor(TensorBase&&);
    Tensor& operator=(const TensorBase&) & noexcept;
    Tensor& operator=(TensorBase&&) & noexcept;
    Tensor& operator=(const Tensor&) & noexcept;
    Tensor& operator=(Tensor&&) & noexcept;
    Tensor& operator=(const c10::Scalar&) &&;
    Tensor& operator=(const Tensor&) &&;
    Tensor& operator=(Tensor&&) &&;
    static Tensor wrap_tensor_impl(c10::intrusive_ptr<TensorImpl, c10::UndefinedTensorImpl>);

#define CUDA_WHEEL_PYTORCH_METHOD(name) Tensor name(CUDA_WHEEL_PYTORCH_ARGUMENTS) const;
#define CUDA_WHEEL_PYTORCH_WIDE_METHOD(name) Tensor name(CUDA_WHEEL_PYTORCH_MANY_ARGUMENTS) const;
#define CUDA_WHEEL_PYTORCH_IN_PLACE_METHOD(name) Tensor& name(CUDA_WHEEL_PYTORCH_ARGUMENTS) const;
#define CUDA_WHEEL_PYTORCH_PAIR_METHOD(name) std::tuple<Tensor, Tensor> name(CUDA_WHEEL_PYTORCH_ARGUMENTS) const;
#define CUDA_WHEEL_PYTORCH_VECTOR_METHOD(name) std::vector<Tensor> name(CUDA_WHEEL_PYTORCH_ARGUMENTS) const;
    CUDA_WHEEL_PYTORCH_BOTH(CUDA_WHEEL_PYTORCH_METHOD)
    CUDA_WHEEL_PYTORCH_BOTH_FREE(CUDA_WHEEL_PYTORCH_METHOD)
    CUDA_WHEEL_PYTORCH_BOTH_WIDE(CUDA_WHEEL_PYTORCH_WIDE_METHOD)
    CUDA_WHEEL_PYTORCH_METHODS(CUDA_WHEEL_PYTORCH_WIDE_METHOD)
    CUDA_WHEEL_PYTORCH_BOTH_IN_PLACE(CUDA_WHEEL_PYTORCH_IN_PLACE_METHOD)
    CUDA_WHEEL_PYTORCH_METHODS_IN_PLACE(CUDA_WHEEL_PYTORCH_IN_PLACE_METHOD)
    CUDA_WHEEL_PYTORCH_BOTH_PAIRS(CUDA_WHEEL_PYTORCH_PAIR_METHOD)
    CUDA_WHEEL_PYTORCH_BOTH_VECTORS(CUDA_WHEEL_PYTORCH_VECTOR_METHOD)
#undef CUDA_WHEEL_PYTORCH_METHOD
#undef CUDA_WHEEL_PYTORCH_WIDE_METHOD
#undef CUDA_WHEEL_PYTORCH_IN_PLACE_METHOD
#undef CUDA_WHEEL_PYTORCH_PAIR_METHOD
#undef CUDA_WHEEL_PYTORCH_VECTOR_METHOD

    Tensor contiguous(c10::MemoryFormat = c10::MemoryFormat::Contiguous) const;
    c10::MaybeOwned<Tensor> expect_contiguous(c10::MemoryFormat = c10::MemoryFormat::Contiguous) const&;
    Tensor to(CUDA_WHEEL_PYTORCH_MANY_ARGUMENTS) const;
    Tensor toType(c10::ScalarType) const;
    Tensor toBackend(c10::Backend) const;
    Tensor cpu() const;
    Tensor cuda() const;
    Tensor hip() const;
    Tensor meta() const;
    Tensor conj() const;
    Tensor detach() const;
    Tensor& detach_() const;
    Tensor& fill_(CUDA_WHEEL_PYTORCH_ARGUMENTS) const;
    Tensor& zero_() const;
    const Tensor& resize_(cuda_wheel_argument, CUDA_WHEEL_PYTORCH_ARGUMENTS) const;
    const Tensor& resize_as_(const Tensor&, CUDA_WHEEL_PYTORCH_ARGUMENTS) const;
    const Tensor& as_strided_(cuda_wheel_argument, CUDA_WHEEL_PYTORCH_ARGUMENTS) const;
    const Tensor& sparse_resize_(cuda_wheel_argument, CUDA_WHEEL_PYTORCH_ARGUMENTS) const;
    std::tuple<Tensor, Tensor, Tensor> svd(bool some = true, bool compute_uv = true) const;
    c10::Scalar item() const;
    template <class T>
    T item() const;
    DeprecatedTypeProperties& type() const;
    bool is_variable() const noexcept;
    Tensor tensor_data() const;
    Tensor variable_data() const;
    Tensor data() const;
    template <class T>
    T* data() const;
    using TensorBase::size;
    using TensorBase::stride;
    template <class T, size_t N, template <class U> class Traits = DefaultPtrTraits, class index_t = int64_t>
    GenericPackedTensorAccessor<T, N, Traits, index_t> packed_accessor() const&;
    template <class T, size_t N, template <class U> class Traits = DefaultPtrTraits, class index_t = int64_t>
    GenericPackedTensorAccessor<T, N, Traits, index_t> packed_accessor() && = delete;

    // One tensor without a dimension; a tuple of values and indices along one.
#define CUDA_WHEEL_PYTORCH_EXTREMUM(name)                                            \
    Tensor name() const;                                                             \
    Tensor name(const Tensor&) const;                                                \
    std::tuple<Tensor, Tensor> name(int64_t dimension, bool keepdim = false) const;
    CUDA_WHEEL_PYTORCH_EXTREMUM(max)
    CUDA_WHEEL_PYTORCH_EXTREMUM(min)
    CUDA_WHEEL_PYTORCH_EXTREMUM(median)
    CUDA_WHEEL_PYTORCH_EXTREMUM(nanmedian)
#undef CUDA_WHEEL_PYTORCH_EXTREMUM
    Tensor where(const Tensor& condition, cuda_wheel_argument other) const;
    bool allclose(const Tensor&, CUDA_WHEEL_PYTORCH_ARGUMENTS) const;
    bool equal(const Tensor&) const;
    bool is_nonzero() const;
    bool is_same_size(const Tensor&) const;
    bool is_coalesced() const;
    bool is_pinned(std::optional<c10::Device> = std::nullopt) const;
    bool is_set_to(const Tensor&) const;
    int64_t sparse_dim() const;
    int64_t dense_dim() const;
    int64_t _nnz() const;
    Tensor _indices() const;
    Tensor _values() const;
    void record_stream(c10::Stream) const;

    Tensor index(c10::ArrayRef<indexing::TensorIndex>) const;
    Tensor index(std::initializer_list<indexing::TensorIndex>) const;
    Tensor index(const c10::List<std::optional<Tensor>>&) const;
    Tensor& index_put_(c10::ArrayRef<indexing::TensorIndex>, const Tensor&);
    Tensor& index_put_(c10::ArrayRef<indexing::TensorIndex>, const c10::Scalar&);
    Tensor& index_put_(std::initializer_list<indexing::TensorIndex>, const Tensor&);
    Tensor& index_put_(std::initializer_list<indexing::TensorIndex>, const c10::Scalar&);
    Tensor& index_put_(const c10::List<std::optional<Tensor>>&, const Tensor&, bool accumulate = false) const;

    Tensor operator[](const c10::Scalar&) const;
    Tensor operator[](const Tensor&) const;
    Tensor operator[](int64_t) const;
    Tensor operator~() const;
    Tensor operator-() const;
#define CUDA_WHEEL_PYTORCH_ASSIGN(op) \
    Tensor& operator op(const Tensor&); \
    Tensor& operator op(const c10::Scalar&);
    CUDA_WHEEL_PYTORCH_ASSIGN(+=)
    CUDA_WHEEL_PYTORCH_ASSIGN(-=)
    CUDA_WHEEL_PYTORCH_ASSIGN(*=)
    CUDA_WHEEL_PYTORCH_ASSIGN(/=)
#undef CUDA_WHEEL_PYTORCH_ASSIGN
    Tensor& operator&=(const Tensor&);
    Tensor& operator|=(const Tensor&);
    Tensor& operator^=(const Tensor&);

    const Tensor& set_requires_grad(bool) const;
    const Tensor& requires_grad_(bool requires_grad = true) const;
    Tensor& mutable_grad() const;
    const Tensor& grad() const;
    const Tensor& _base() const;
    void backward(const Tensor& gradient = {}, std::optional<bool> retain_graph = std::nullopt, bool create_graph = false,
                  std::optional<TensorList> inputs = std::nullopt) const;
};

std::ostream& operator<<(std::ostream&, const Tensor&);
#define CUDA_WHEEL_PYTORCH_OPERATOR(op)                   \
    Tensor operator op(const Tensor&, const Tensor&);     \
    Tensor operator op(const Tensor&, const c10::Scalar&); \
    Tensor operator op(const c10::Scalar&, const Tensor&);
CUDA_WHEEL_PYTORCH_OPERATOR(+)
CUDA_WHEEL_PYTORCH_OPERATOR(-)
CUDA_WHEEL_PYTORCH_OPERATOR(*)
CUDA_WHEEL_PYTORCH_OPERATOR(/)
CUDA_WHEEL_PYTORCH_OPERATOR(%)
CUDA_WHEEL_PYTORCH_OPERATOR(&)
CUDA_WHEEL_PYTORCH_OPERATOR(|)
CUDA_WHEEL_PYTORCH_OPERATOR(^)
CUDA_WHEEL_PYTORCH_OPERATOR(<)
CUDA_WHEEL_PYTORCH_OPERATOR(<=)
CUDA_WHEEL_PYTORCH_OPERATOR(>)
CUDA_WHEEL_PYTORCH_OPERATOR(>=)
CUDA_WHEEL_PYTORCH_OPERATOR(==)
CUDA_WHEEL_PYTORCH_OPERATOR(!=)
#undef CUDA_WHEEL_PYTORCH_OPERATOR
Tensor operator!(const Tensor&);

} // namespace at

namespace torch {
using at::Tensor;
using at::TensorList;
namespace indexing = at::indexing;
} // namespace torch

#endif
