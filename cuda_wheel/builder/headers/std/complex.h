// <complex.h> for host code: in C++, std::complex.
#ifndef CUDA_WHEEL_COMPLEX_H
#define CUDA_WHEEL_COMPLEX_H

#include <complex>

#endif
