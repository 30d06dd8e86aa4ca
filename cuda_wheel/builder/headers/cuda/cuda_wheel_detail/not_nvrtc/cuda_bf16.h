// <cuda_bf16.h> where files with host code do not see NVRTC's macro: the header asks for it, and is read with it.
#ifdef __CUDACC_RTC__
#include_next <cuda_bf16.h>
#else
#define __CUDACC_RTC__ 1
#include_next <cuda_bf16.h>
#undef __CUDACC_RTC__
#endif
