// The declarations for device code that nvcc includes before every file. Included first if host code was left out.
#ifndef CUDA_WHEEL_DETAIL_HOST_CODE_H
#define CUDA_WHEEL_DETAIL_HOST_CODE_H

#include <cuda.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#ifndef CUDART_VERSION
#define CUDART_VERSION (__CUDACC_VER_MAJOR__ * 1000 + __CUDACC_VER_MINOR__ * 10)
#endif

typedef unsigned char u_char;
typedef unsigned short ushort;
typedef unsigned int uint;
typedef unsigned long ulong;

// C++17 removed the keyword; nvcc only warns about it.
#define register
// GCC's keyword that allows an extension, such as a nameless struct, without a warning.
#define __extension__

namespace std {}

#endif
