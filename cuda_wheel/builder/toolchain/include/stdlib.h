// <stdlib.h> for NVRTC: NVRTC predeclares malloc, free, abs and similar functions, which is all that device code can use.
#ifndef CUDA_WHEEL_STDLIB_H
#define CUDA_WHEEL_STDLIB_H

#define EXIT_SUCCESS 0
#define EXIT_FAILURE 1

#endif
