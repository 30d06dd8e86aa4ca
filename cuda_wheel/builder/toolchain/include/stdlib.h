// <stdlib.h> for NVRTC: NVRTC predeclares malloc, free, abs and their kin, all that device code has of it.
#ifndef CUDA_WHEEL_STDLIB_H
#define CUDA_WHEEL_STDLIB_H

#define EXIT_SUCCESS 0
#define EXIT_FAILURE 1

#endif
