// What nvcc includes before every file, as far as device code sees it: read first where host code was taken out.
#ifndef CUDA_WHEEL_DETAIL_HOST_CODE_H
#define CUDA_WHEEL_DETAIL_HOST_CODE_H

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define CUDART_VERSION (__CUDACC_VER_MAJOR__ * 1000 + __CUDACC_VER_MINOR__ * 10)
#define CUDA_VERSION CUDART_VERSION

typedef unsigned char u_char;
typedef unsigned short ushort;
typedef unsigned int uint;
typedef unsigned long ulong;

namespace std {}

#endif
