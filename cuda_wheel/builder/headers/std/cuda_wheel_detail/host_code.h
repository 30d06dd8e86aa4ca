// What nvcc includes before every file: the CUDA runtime API and parts of the C library. Included first in a file that
// has host code. A macro CUDA_WHEEL_WITHOUT_... leaves out a part that the file does not name; see `rewriting.used_parts`.
#ifndef CUDA_WHEEL_DETAIL_HOST_CODE_H
#define CUDA_WHEEL_DETAIL_HOST_CODE_H

// Says to the other headers that functions of the host may be declared.
#define CUDA_WHEEL_HOST_CODE 1

#include <assert.h>
#ifndef CUDA_WHEEL_WITHOUT_MATH
#include <cmath>
#include <math.h>
#endif
#include <cstddef>
#include <cstdint>
#include <limits>
#include <limits.h>
#ifndef CUDA_WHEEL_WITHOUT_UTILITY
#include <new>
#endif
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef unsigned char u_char;
typedef unsigned short u_short;
typedef unsigned int u_int;
typedef unsigned long u_long;
typedef unsigned short ushort;
typedef unsigned int uint;
typedef unsigned long ulong;
typedef long ssize_t;

#include <cuda_wheel_detail/min_max.h>
#ifdef CUDA_WHEEL_WITHOUT_RUNTIME_API
#include <cuda_wheel_detail/common_runtime_api.h>
#else
#include <cuda_wheel_detail/runtime_api.h>
#endif
#ifndef CUDA_WHEEL_WITHOUT_FUNCTIONAL
#include <functional>
#endif

// C++17 removed the keyword; nvcc only warns about it.
#define register
#include "cuda_wheel_detail/gnu_extensions.h"

namespace std {}
#ifndef CUDA_WHEEL_WITHOUT_MATH
// GCC's <math.h> makes the functions for arguments of two types global ones.
using std::atan2;
using std::fma;
using std::fmax;
using std::fmin;
using std::fmod;
using std::hypot;
using std::ldexp;
using std::pow;
using std::remquo;
using std::scalbln;
using std::scalbn;
#endif

// nvcc does not define it. See `rewriting.front_end.NOT_NVRTC_OPTIONS`.
#ifdef CUDA_WHEEL_NOT_NVRTC
#undef __CUDACC_RTC__
#endif

#endif
