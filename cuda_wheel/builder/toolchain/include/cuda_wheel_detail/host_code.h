// What nvcc includes before every file: the CUDA runtime API and parts of the C library. Included first in a file that
// has host code.
#ifndef CUDA_WHEEL_DETAIL_HOST_CODE_H
#define CUDA_WHEEL_DETAIL_HOST_CODE_H

// Says to the other headers that functions of the host may be declared.
#define CUDA_WHEEL_HOST_CODE 1

#include <assert.h>
#include <limits>
#include <limits.h>
#include <math.h>
#include <new>
#include <stdint.h>
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

#include <cuda_wheel_detail/runtime_api.h>

// C++17 removed the keyword; nvcc only warns about it.
#define register
// GCC's keyword that allows an extension, such as a nameless struct, without a warning.
#define __extension__

namespace std {}

#endif
