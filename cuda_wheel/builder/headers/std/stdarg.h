// <stdarg.h> for NVRTC: NVRTC predeclares va_list and its macros.
#ifndef CUDA_WHEEL_STDARG_H
#define CUDA_WHEEL_STDARG_H



#endif
