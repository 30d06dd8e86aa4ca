// c10::IValue: a value of any type that an operator takes, and the smart pointer of custom classes.
#ifndef CUDA_WHEEL_PYTORCH_IVALUE_H
#define CUDA_WHEEL_PYTORCH_IVALUE_H

#include <cuda_wheel_detail/pytorch/tensor.h>

namespace torch {
class CustomClassHolder : public c10::intrusive_ptr_target {};
namespace jit {
using CustomClassHolder = ::torch::CustomClassHolder;
}
} // namespace torch

namespace c10 {
struct IValue {
    IValue();
    template <class T>
    IValue(T);
    bool isNone() const;
    bool isTensor() const;
    bool isDouble() const;
    bool isInt() const;
    bool isBool() const;
    bool isString() const;
    bool isList() const;
    bool isTuple() const;
    bool isTensorList() const;
    bool isIntList() const;
    bool isScalar() const;
    bool isGenericDict() const;
    at::Tensor toTensor() const;
    double toDouble() const;
    int64_t toInt() const;
    bool toBool() const;
    Scalar toScalar() const;
    std::string toStringRef() const;
    std::string_view toStringView() const;
    std::vector<int64_t> toIntVector() const;
    std::vector<double> toDoubleVector() const;
    std::vector<at::Tensor> toTensorVector() const;
    List<int64_t> toIntList() const;
    List<double> toDoubleList() const;
    List<at::Tensor> toTensorList() const;
    List<IValue> toList() const;
    Dict<IValue, IValue> toGenericDict() const;
    Device toDevice() const;
    ScalarType toScalarType() const;
    template <class T>
    intrusive_ptr<T> toCustomClass() const;
    template <class T>
    T to() const;
    template <class T>
    std::optional<T> toOptional() const;

    void* cuda_wheel_layout[2] = {};
};
namespace impl {
using GenericList = List<IValue>;
}
} // namespace c10

namespace torch {
namespace jit {
using c10::IValue;
using Stack = std::vector<c10::IValue>;
} // namespace jit
using c10::Dict;
using c10::IValue;
using c10::List;
} // namespace torch

#endif
