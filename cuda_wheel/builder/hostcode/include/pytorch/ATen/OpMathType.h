// at::opmath_type<T>: the type that arithmetic on T is done in.
#ifndef CUDA_WHEEL_PYTORCH_OP_MATH_TYPE_H
#define CUDA_WHEEL_PYTORCH_OP_MATH_TYPE_H

#include <c10/util/BFloat16.h>
#include <c10/util/Float8_e4m3fn.h>
#include <c10/util/Float8_e4m3fnuz.h>
#include <c10/util/Float8_e5m2.h>
#include <c10/util/Float8_e5m2fnuz.h>
#include <c10/util/Float8_e8m0fnu.h>
#include <c10/util/Half.h>
#include <c10/util/complex.h>
#include <cstdint>

namespace c10 {
enum class ScalarType : int8_t;
}

namespace at {

template <typename T>
struct OpMathType {
  using type = T;
};
#define CUDA_WHEEL_COMPUTES_IN(T, wider) \
  template <>                            \
  struct OpMathType<T> {                 \
    using type = wider;                  \
  };
CUDA_WHEEL_COMPUTES_IN(at::Half, float)
CUDA_WHEEL_COMPUTES_IN(at::BFloat16, float)
CUDA_WHEEL_COMPUTES_IN(at::Float8_e5m2, float)
CUDA_WHEEL_COMPUTES_IN(at::Float8_e4m3fn, float)
CUDA_WHEEL_COMPUTES_IN(at::Float8_e5m2fnuz, float)
CUDA_WHEEL_COMPUTES_IN(at::Float8_e4m3fnuz, float)
CUDA_WHEEL_COMPUTES_IN(at::Float8_e8m0fnu, float)
CUDA_WHEEL_COMPUTES_IN(c10::complex<Half>, c10::complex<float>)
#undef CUDA_WHEEL_COMPUTES_IN

template <typename T>
using opmath_type = typename OpMathType<T>::type;

c10::ScalarType toOpMathType(const c10::ScalarType type);

}

#endif
