// What nvcc includes before every file, as far as device code sees it: read first where host code was taken out.
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

// C++17 gave the keyword up; nvcc merely warns of it.
#define register
// GCC's way to allow an extension, such as a nameless struct, without a warning.
#define __extension__

namespace std {}

#endif
