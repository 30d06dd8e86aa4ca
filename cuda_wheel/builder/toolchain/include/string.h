// <string.h> for NVRTC: NVRTC predeclares memcpy, memset, size_t and NULL, all that device code has of it.
#ifndef CUDA_WHEEL_STRING_H
#define CUDA_WHEEL_STRING_H



#endif
