// c10::cuda::compat: mathematical functions overloaded for float and double, by CUDA's.
#ifndef CUDA_WHEEL_PYTORCH_CUDA_MATH_COMPAT_H
#define CUDA_WHEEL_PYTORCH_CUDA_MATH_COMPAT_H

#include <c10/macros/Macros.h>
#include <cmath>

namespace c10 {
namespace cuda {
namespace compat {

#define CUDA_WHEEL_COMPAT_1(name, of_float, of_double)                                    \
  inline C10_HOST_DEVICE float name(float x) { return ::of_float(x); }                    \
  inline C10_HOST_DEVICE double name(double x) { return ::of_double(x); }
#define CUDA_WHEEL_COMPAT_2(name, of_float, of_double)                                    \
  inline C10_HOST_DEVICE float name(float x, float y) { return ::of_float(x, y); }        \
  inline C10_HOST_DEVICE double name(double x, double y) { return ::of_double(x, y); }
CUDA_WHEEL_COMPAT_1(abs, fabsf, fabs)
CUDA_WHEEL_COMPAT_1(exp, expf, exp)
CUDA_WHEEL_COMPAT_1(ceil, ceilf, ceil)
CUDA_WHEEL_COMPAT_1(floor, floorf, floor)
CUDA_WHEEL_COMPAT_1(log, logf, log)
CUDA_WHEEL_COMPAT_1(log1p, log1pf, log1p)
CUDA_WHEEL_COMPAT_1(sqrt, sqrtf, sqrt)
CUDA_WHEEL_COMPAT_1(rsqrt, rsqrtf, rsqrt)
CUDA_WHEEL_COMPAT_1(tan, tanf, tan)
CUDA_WHEEL_COMPAT_1(tanh, tanhf, tanh)
CUDA_WHEEL_COMPAT_1(normcdf, normcdff, normcdf)
CUDA_WHEEL_COMPAT_2(copysign, copysignf, copysign)
CUDA_WHEEL_COMPAT_2(max, fmaxf, fmax)
CUDA_WHEEL_COMPAT_2(min, fminf, fmin)
CUDA_WHEEL_COMPAT_2(pow, powf, pow)
#undef CUDA_WHEEL_COMPAT_1
#undef CUDA_WHEEL_COMPAT_2

inline C10_HOST_DEVICE void sincos(float x, float* sine, float* cosine) { ::sincosf(x, sine, cosine); }
inline C10_HOST_DEVICE void sincos(double x, double* sine, double* cosine) { ::sincos(x, sine, cosine); }

}
}
}

#endif
