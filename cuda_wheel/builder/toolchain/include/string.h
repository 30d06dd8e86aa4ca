// <string.h> for NVRTC: NVRTC predeclares memcpy, memset, size_t and NULL, which is all that device code can use.
#ifndef CUDA_WHEEL_STRING_H
#define CUDA_WHEEL_STRING_H



#endif
