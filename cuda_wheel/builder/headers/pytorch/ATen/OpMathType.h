// at::opmath_type<T>: the type that arithmetic on T is done in.
#ifndef CUDA_WHEEL_PYTORCH_OP_MATH_TYPE_H
#define CUDA_WHEEL_PYTORCH_OP_MATH_TYPE_H

#include <c10/util/Exception.h>
#include <cstdint>
#include <cuda_wheel_detail/pytorch/reduced_floats.h>

namespace c10 {
enum class ScalarType : int8_t;
}

namespace at {

#define CUDA_WHEEL_COMPUTES_IN(template_, T, wider) \
  template_ struct T {                               \
    using type = wider;                              \
  };
CUDA_WHEEL_COMPUTES_IN(template <class T>, OpMathType, T)
#define CUDA_WHEEL_COMPUTES_IN_FLOAT(T) CUDA_WHEEL_COMPUTES_IN(template <>, OpMathType<T>, float)
CUDA_WHEEL_COMPUTES_IN_FLOAT(Half)
CUDA_WHEEL_COMPUTES_IN_FLOAT(BFloat16)
CUDA_WHEEL_COMPUTES_IN_FLOAT(Float8_e4m3fn)
CUDA_WHEEL_COMPUTES_IN_FLOAT(Float8_e4m3fnuz)
CUDA_WHEEL_COMPUTES_IN_FLOAT(Float8_e5m2)
CUDA_WHEEL_COMPUTES_IN_FLOAT(Float8_e5m2fnuz)
CUDA_WHEEL_COMPUTES_IN_FLOAT(Float8_e8m0fnu)
CUDA_WHEEL_COMPUTES_IN(template <>, OpMathType<c10::complex<Half>>, c10::complex<float>)
CUDA_WHEEL_COMPUTES_IN(template <>, OpMathType<c10::complex<BFloat16>>, c10::complex<float>)
#undef CUDA_WHEEL_COMPUTES_IN_FLOAT
#undef CUDA_WHEEL_COMPUTES_IN

template <typename T>
using opmath_type = typename OpMathType<T>::type;

c10::ScalarType toOpMathType(const c10::ScalarType type);

}

#endif
