// <stdio.h> for NVRTC: NVRTC predeclares printf, size_t and NULL, all that device code has of it.
#ifndef CUDA_WHEEL_STDIO_H
#define CUDA_WHEEL_STDIO_H

#define EOF (-1)

#endif
