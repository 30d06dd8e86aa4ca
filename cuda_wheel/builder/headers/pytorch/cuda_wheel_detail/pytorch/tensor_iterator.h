// at::TensorIterator: the operands of an elementwise operator, with their common shape. Only host code has one.
#ifndef CUDA_WHEEL_PYTORCH_TENSOR_ITERATOR_H
#define CUDA_WHEEL_PYTORCH_TENSOR_ITERATOR_H

#include <cuda_wheel_detail/pytorch/aten.h>
#include <cuda_wheel_detail/pytorch/parallel.h>

namespace at {

class TensorIteratorConfig;
struct Range;
struct TensorIteratorBase;

struct SplitUntil32Bit {
    struct iterator {
        TensorIteratorBase& operator*() const;
        iterator& operator++();
        bool operator!=(const iterator&) const;
    };
    iterator begin() const;
    iterator end() const;

    CUDA_WHEEL_HOST_OBJECT;
};

struct TensorIteratorBase {
    using PtrVector = SmallVector<char*, 4>;
    using StrideVector = SmallVector<int64_t, 6>;
    using loop2d_t = c10::function_ref<void(char**, const int64_t* strides, int64_t, int64_t)>;

    void build(TensorIteratorConfig&);
    int ndim() const;
    int ntensors() const;
    int noutputs() const;
    int ninputs() const;
    int num_reduce_dims() const;
    int64_t numel() const;
    int64_t num_output_elements() const;
    IntArrayRef shape() const;
    IntArrayRef view_offsets() const;
    IntArrayRef strides(int64_t arg) const;
    StrideVector get_inner_strides() const;
    DimVector invert_perm(IntArrayRef) const;

    void* data_ptr(int64_t arg) const;
    const Tensor& tensor(int64_t arg) const;
    const TensorBase& tensor_base(int64_t arg) const;
    const Tensor& output(int64_t arg = 0) const;
    const Tensor& input(int64_t arg = 0) const;
    const Tensor& maybe_get_output(int64_t arg);
    ScalarType dtype(int64_t arg = 0) const;
    ScalarType input_dtype(int64_t arg = 0) const;
    ScalarType common_dtype() const;
    int64_t element_size(int64_t arg) const;
    Device device(int64_t arg = 0) const;
    c10::DeviceType device_type(int64_t arg = 0) const;
    Scalar original_scalar_value(int64_t arg);
    template <class T>
    T scalar_value(int64_t arg);
    template <class T>
    T original_scalar_value(int64_t arg);

    bool is_contiguous() const;
    bool is_trivial_1d() const;
    bool is_scalar(int64_t arg) const;
    bool is_cpu_scalar(int64_t arg) const;
    bool is_dim_reduced(int dim) const;
    bool is_final_output() const;
    bool should_accumulate() const;
    bool has_contiguous_first_dim() const;
    bool can_use_32bit_indexing() const;
    SplitUntil32Bit with_32bit_indexing() const;

    void remove_operand(int64_t arg);
    void unsafe_replace_operand(int64_t arg, void* data);
    void select_all_keeping_dim(int start_dim, IntArrayRef starts);
    void cast_outputs();
    template <class Loop>
    void for_each(Loop, int64_t grain_size = internal::GRAIN_SIZE);
    template <class Loop>
    void serial_for_each(Loop, Range) const;

    CUDA_WHEEL_HOST_OBJECT;
};

struct TensorIterator : TensorIteratorBase {
    TensorIterator();
    TensorIterator(const TensorIteratorBase&);

    static TensorIterator binary_op(TensorBase& out, const TensorBase& a, const TensorBase& b);
    static TensorIterator binary_float_op(TensorBase& out, const TensorBase& a, const TensorBase& b);
    static TensorIterator comparison_op(TensorBase& out, const TensorBase& a, const TensorBase& b);
    static TensorIterator unary_op(TensorBase& out, const TensorBase& a);
    static TensorIterator unary_float_op(TensorBase& out, const TensorBase& a);
    static TensorIterator nullary_op(TensorBase& out);
    static TensorIterator borrowing_nullary_op(const TensorBase& out);
    static TensorIterator borrowing_binary_op(const TensorBase& out, const TensorBase& a, const TensorBase& b);
    static TensorIterator reduce_op(TensorBase& out, const TensorBase& a);
    static TensorIterator reduce_op(TensorBase& first, TensorBase& second, const TensorBase& a);
};

class TensorIteratorConfig {
  public:
    TensorIterator build();
#define CUDA_WHEEL_PYTORCH_OPERAND(name) TensorIteratorConfig& name(const TensorBase&);
    CUDA_WHEEL_PYTORCH_OPERAND(add_output)
    CUDA_WHEEL_PYTORCH_OPERAND(add_owned_output)
    CUDA_WHEEL_PYTORCH_OPERAND(add_borrowed_output)
    CUDA_WHEEL_PYTORCH_OPERAND(add_input)
    CUDA_WHEEL_PYTORCH_OPERAND(add_const_input)
    CUDA_WHEEL_PYTORCH_OPERAND(add_owned_input)
    CUDA_WHEEL_PYTORCH_OPERAND(add_owned_const_input)
    CUDA_WHEEL_PYTORCH_OPERAND(add_borrowed_input)
    CUDA_WHEEL_PYTORCH_OPERAND(add_borrowed_const_input)
#undef CUDA_WHEEL_PYTORCH_OPERAND
#define CUDA_WHEEL_PYTORCH_SWITCH(name) TensorIteratorConfig& name(bool);
    CUDA_WHEEL_PYTORCH_SWITCH(set_check_mem_overlap)
    CUDA_WHEEL_PYTORCH_SWITCH(check_all_same_dtype)
    CUDA_WHEEL_PYTORCH_SWITCH(check_all_same_device)
    CUDA_WHEEL_PYTORCH_SWITCH(enforce_safe_casting_to_output)
    CUDA_WHEEL_PYTORCH_SWITCH(enforce_linear_iteration)
    CUDA_WHEEL_PYTORCH_SWITCH(promote_inputs_to_common_dtype)
    CUDA_WHEEL_PYTORCH_SWITCH(promote_integer_inputs_to_float)
    CUDA_WHEEL_PYTORCH_SWITCH(is_reduction)
    CUDA_WHEEL_PYTORCH_SWITCH(allow_cpu_scalars)
    CUDA_WHEEL_PYTORCH_SWITCH(cast_common_dtype_to_outputs)
    CUDA_WHEEL_PYTORCH_SWITCH(resize_outputs)
#undef CUDA_WHEEL_PYTORCH_SWITCH
    TensorIteratorConfig& declare_static_dtype_and_device(ScalarType, Device);
    TensorIteratorConfig& declare_static_dtype(ScalarType);
    TensorIteratorConfig& declare_static_device(Device);
    TensorIteratorConfig& declare_static_shape(IntArrayRef);
    TensorIteratorConfig& declare_static_shape(IntArrayRef, IntArrayRef squash_dims);

    CUDA_WHEEL_HOST_OBJECT;
};

} // namespace at

#endif
