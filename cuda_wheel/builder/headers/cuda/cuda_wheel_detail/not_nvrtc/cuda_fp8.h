// <cuda_fp8.h> where files with host code do not see NVRTC's macro: the header asks for it, and is read with it.
#ifdef __CUDACC_RTC__
#include_next <cuda_fp8.h>
#else
#define __CUDACC_RTC__ 1
#include_next <cuda_fp8.h>
#undef __CUDACC_RTC__
#endif
