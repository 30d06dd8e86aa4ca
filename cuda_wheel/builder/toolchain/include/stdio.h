// <stdio.h> for NVRTC: NVRTC predeclares printf, size_t and NULL, which is all that device code can use.
#ifndef CUDA_WHEEL_STDIO_H
#define CUDA_WHEEL_STDIO_H

#define EOF (-1)

#endif
