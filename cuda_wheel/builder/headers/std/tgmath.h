// <tgmath.h> for host code: in C++, the overloaded functions of <cmath> and <complex>.
#ifndef CUDA_WHEEL_TGMATH_H
#define CUDA_WHEEL_TGMATH_H

#include <cmath>
#include <complex>

#endif
